"""Whether buddies share interests, and a two-dimensional picture of the network of buddies."""

import numpy as np

from lycosa_lab.worlds.peer_networks import Floats, Ints, RaggedArray

from .records import BuddyLists

SHUFFLES = 999


def buddy_links(lists: BuddyLists) -> tuple[Ints, Ints]:
    """All pairs of a peer and a buddy of it."""
    are_filled = np.arange(lists.peers.shape[1]) < lists.sizes[:, None]
    return np.nonzero(are_filled)[0], lists.peers[are_filled].astype(np.int64)


def interest_matrix(interests: RaggedArray, categories: int) -> Floats:
    """The interests of peers as a matrix of zeros and ones, a row for each peer."""
    table = np.zeros((len(interests), categories))
    table[np.repeat(np.arange(len(interests)), interests.lengths()), interests.values] = 1.0
    return table


def shared_interests(links: tuple[Ints, Ints], liked: Floats, *, seed: int) -> tuple[float, float, float]:
    """The share of buddies with a common interest, its mean under permutation, and the p-value of a permutation test,
    in which interests are permuted among peers and links are fixed.
    """
    ones, others = links
    if not len(ones):
        return float("nan"), float("nan"), float("nan")
    agree = (liked @ liked.T) > 0
    measured = float(agree[ones, others].mean())
    rng = np.random.default_rng([seed, 13])
    dealt = np.empty(SHUFFLES)
    for number in range(SHUFFLES):
        places = rng.permutation(len(liked))
        dealt[number] = agree[places[ones], places[others]].mean()
    p = (1 + int((dealt >= measured).sum())) / (1 + SHUFFLES)
    return measured, float(dealt.mean()), p


def spectral_layout(links: tuple[Ints, Ints], peers: int) -> Floats:
    """Two coordinates for each peer: a spectral embedding of the graph of buddies.

    Links are weighted by the inverse square roots of the degrees of their ends, so that a few hubs do not dominate.
    """
    ones, others = links
    table = np.zeros((peers, peers))
    table[ones, others] = table[others, ones] = 1.0
    weights = 1.0 / np.sqrt(np.maximum(1.0, table.sum(axis=1)))
    table *= weights[:, None] * weights[None, :]
    _, vectors = np.linalg.eigh(table)
    places: Floats = vectors[:, [-2, -3]] * weights[:, None]  # the last one only reflects degrees
    flip = np.sign(places[np.abs(places).argmax(axis=0), [0, 1]])  # the sign of an eigenvector is arbitrary
    return places * np.where(flip == 0, 1.0, flip) / max(1e-12, float(np.abs(places).max()))
