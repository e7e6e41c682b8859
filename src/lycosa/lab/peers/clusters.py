"""Whether buddies are of one mind, and how a network of buddies looks from far off."""

import numpy as np

from lycosa.worlds.peer_networks import Floats, Ints, RaggedArray

from .records import Lists

SHUFFLES = 999


def buddy_links(lists: Lists) -> tuple[Ints, Ints]:
    """Every peer and its buddies."""
    are_filled = np.arange(lists.peers.shape[1]) < lists.sizes[:, None]
    return np.nonzero(are_filled)[0], lists.peers[are_filled].astype(np.int64)


def likings(interests: RaggedArray, categories: int) -> Floats:
    """A row for each peer, 1 for what it likes."""
    table = np.zeros((len(interests), categories))
    table[np.repeat(np.arange(len(interests)), interests.lengths()), interests.values] = 1.0
    return table


def shared_interests(links: tuple[Ints, Ints], liked: Floats, *, seed: int) -> tuple[float, float, float]:
    """The share of buddies with an interest in common, what it is by chance, and how likely so large a one is then.

    Chance deals the same interests to peers anew, and leaves their links.
    """
    ones, others = links
    if not len(ones):
        return float("nan"), float("nan"), float("nan")
    agree = (liked @ liked.T) > 0
    measured = float(agree[ones, others].mean())
    chance = np.random.default_rng([seed, 13])
    dealt = np.empty(SHUFFLES)
    for number in range(SHUFFLES):
        places = chance.permutation(len(liked))
        dealt[number] = agree[places[ones], places[others]].mean()
    p = (1 + int((dealt >= measured).sum())) / (1 + SHUFFLES)
    return measured, float(dealt.mean()), p


def projected(links: tuple[Ints, Ints], peers: int) -> Floats:
    """Two coordinates for each peer, near for those with the same buddies: a spectral embedding of who is whose buddy.

    Links count the less the more of them their two ends have, else a few peers that all know would be all one sees.
    """
    ones, others = links
    table = np.zeros((peers, peers))
    table[ones, others] = table[others, ones] = 1.0
    weights = 1.0 / np.sqrt(np.maximum(1.0, table.sum(axis=1)))
    table *= weights[:, None] * weights[None, :]
    _, vectors = np.linalg.eigh(table)
    places: Floats = vectors[:, [-2, -3]] * weights[:, None]  # the last one only tells how many links a peer has
    flip = np.sign(places[np.abs(places).argmax(axis=0), [0, 1]])  # the sign of a vector is anybody's choice
    return places * np.where(flip == 0, 1.0, flip) / max(1e-12, float(np.abs(places).max()))
