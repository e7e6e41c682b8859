"""The arrays of the compiled search: networks with churn, questions, outcomes, buddy lists."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DOWN, UP, LINK = 0, 1, 2  # kinds of events
HOME, INDEXES, BUDDIES, WALKING, NOWHERE = 0, 1, 2, 3, -1  # where a question was answered
STAGES = {HOME: "home", INDEXES: "indexes", BUDDIES: "buddies", WALKING: "walking", NOWHERE: "nowhere"}
NOBODY, OF_BUDDIES, OF_NEIGHBOURS = 0, 1, 2  # whose indexes are held


class NetworkArrays(NamedTuple):
    """Peers and their neighbours, in order of arrival, and the events of churn."""

    offsets: Array  # start of the neighbours of each peer, including later ones
    neighbours: Array
    degrees: Array  # initial number of them
    is_up: Array  # initially
    times: Array  # of events, in order
    kinds: Array
    ones: Array  # the peer that goes up or down, or is linked
    others: Array  # the peer it is linked to, or -1


class Questions(NamedTuple):
    """Askers, items and times of questions, in order of time, and the holders of each item."""

    askers: Array
    items: Array
    times: Array
    ids: Array  # by which walks are drawn
    holder_offsets: Array  # by item
    holders: Array


class Switches(NamedTuple):
    """The options of an algorithm; see `NodeOptions`."""

    floods: bool
    keeps_buddies: bool
    adapts: bool
    demotes_unreachable: bool
    indexes: int  # NOBODY, OF_BUDDIES, OF_NEIGHBOURS
    buddies: int
    neighbour_indexes: int
    walkers: int
    ttl: int
    flood_ttl: int
    checkpoint: float
    seed: int


class BuddyLists(NamedTuple):
    """The buddy list of every peer, and which of the indexes it wants it holds."""

    sizes: Array
    offsets: Array  # start of each list in `peers`
    peers: Array  # by list and place
    counts: Array
    since: Array
    responses: Array
    is_held: Array  # the index of the buddy, or of the neighbour at that place
    was_wanted: Array  # at the last checkpoint
    have_asked: Array  # peers that began a search of their own


class Outcomes(NamedTuple):
    """The outcome of each question."""

    messages: Array
    detours: Array  # additional messages if responses went back along the path of the query
    paths: Array  # queries sent before the first response; -1 without one
    stages: Array  # where it was found
    providers: Array  # that delivered it; -1
    transfers: Array  # of whole indexes, since the question before
    lists: BuddyLists


class Work(NamedTuple):
    """Scratch arrays: marks of peers, and short lists of them."""

    has: Array  # whether a peer has the item
    knows: Array  # whether it holds an index of a provider
    tried: Array  # in which search last
    seen: Array  # by which flood last
    order: Array  # buddies of the asker, by rank
    ranks: Array  # places of a list, by rank
    indexed: Array  # holders that a peer knows by an index
    named: Array  # providers, in the order in which they were named, or by walker
    lengths: Array  # how often each walker was received
    queue: Array  # messages of a flood: to, from, time to live


def room(peers: int, links: int, switches: Switches) -> Work:
    """New scratch arrays."""
    longest = max(switches.walkers, switches.buddies, switches.neighbour_indexes)
    return Work(
        has=np.zeros(peers, np.bool_),
        knows=np.zeros(peers, np.bool_),
        tried=np.full(peers, -1, np.int64),
        seen=np.full(peers, -1, np.int64),
        order=np.zeros(switches.buddies + 1, np.int64),
        ranks=np.zeros(switches.buddies + 1, np.int64),
        indexed=np.full(longest, -1, np.int64),
        named=np.full(longest, -1, np.int64),
        lengths=np.zeros(switches.walkers, np.int64),
        queue=np.zeros((links + 1 if switches.floods else 1, 3), np.int64),
    )


def no_lists(peers: int, size: int, indexed: int, *, all_have_asked: bool = False) -> BuddyLists:
    """Empty buddy lists; `indexed` is the number of indexes of neighbours that each peer may hold."""
    shape, held = (peers, size), (peers, indexed or size)
    return BuddyLists(
        sizes=np.zeros(peers, np.int32),
        offsets=np.arange(peers) * size,
        peers=np.full(shape, -1, np.int32),
        counts=np.zeros(shape, np.int32),
        since=np.zeros(shape, np.int32),
        responses=np.zeros(peers, np.int32),
        is_held=np.zeros(held, np.bool_),
        was_wanted=np.zeros(held, np.bool_),
        have_asked=np.full(peers, all_have_asked),
    )
