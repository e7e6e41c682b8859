"""The arrays of the compiled search: networks with churn, queries, outcomes, buddy lists. Peers are numbered from 0."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DOWN, UP, LINK = 0, 1, 2  # kinds of events: a peer goes down, comes up, or is linked to another
# The stage at which a query was answered: by the asker's own items, by the indexes that it holds of other peers, by its
# buddies (peers that have answered before), by walks or a flood through the neighbours, or not at all.
HOME, INDEXES, BUDDIES, WALKING, NOWHERE = 0, 1, 2, 3, -1
STAGES = {HOME: "home", INDEXES: "indexes", BUDDIES: "buddies", WALKING: "walking", NOWHERE: "nowhere"}
NOBODY, OF_BUDDIES, OF_NEIGHBOURS = 0, 1, 2  # whose indexes are held


class NetworkArrays(NamedTuple):
    """Peers and their neighbours, in order of arrival, and the events of churn."""

    offsets: Array  # start of the neighbours of each peer, including later ones
    neighbours: Array
    degrees: Array  # initial number of them
    is_up: Array  # initially
    event_times: Array  # in order
    event_kinds: Array  # DOWN, UP or LINK
    event_peers: Array  # the peer that goes up or down, or is linked
    linked_peers: Array  # the peer it is linked to; -1 for other events


class PeerQueries(NamedTuple):
    """Askers, items and times of queries, in order of time, and the holders of each item, who have it."""

    askers: Array
    items: Array
    times: Array
    ids: Array  # 64-bit numbers, by which walks are drawn
    holder_offsets: Array  # start of the holders of each item
    holders: Array


class KernelOptions(NamedTuple):
    """The options of an algorithm, by the names of `lycosa_peers.options.NodeOptions`."""

    floods: bool  # forwards a query to all neighbours, instead of walking
    keeps_buddies: bool
    adapts: bool  # lowers the count of a buddy that is down
    demotes_unreachable: bool  # also of one to which a query could not be delivered
    indexes: int  # whose are held: NOBODY, OF_BUDDIES, OF_NEIGHBOURS
    buddies: int  # size of a buddy list
    neighbour_indexes: int  # number of the first neighbours whose indexes are held
    walkers: int  # number of walks of a query
    ttl: int  # time to live of a walker, in hops
    flood_ttl: int  # of a flood
    checkpoint: float  # seconds between two checkpoints, at which peers request indexes
    seed: int  # of the random draws


class BuddyLists(NamedTuple):
    """The buddy list of every peer, and which of the indexes it wants it holds."""

    sizes: Array
    offsets: Array  # start of each list in `peers`
    peers: Array  # the buddies, by list and index; likewise for `counts` and `since`
    counts: Array  # good responses minus failures
    since: Array  # number of the last response that raised the count; lower is older
    responses: Array  # number of good responses that each peer has got
    is_held: Array  # whether the index of the buddy, or of the neighbour, at that place is held
    was_wanted: Array  # at the last checkpoint
    has_asked: Array  # peers that began a search of their own


class Outcomes(NamedTuple):
    """The outcome of each query."""

    messages: Array
    return_hops: Array  # additional messages if responses went back along the path of the query
    paths: Array  # path lengths: QUERY messages sent before the first response; -1 without one
    stages: Array  # at which it was found
    providers: Array  # that delivered it; -1 if nobody did
    transfers: Array  # of whole indexes, since the query before
    lists: BuddyLists


class Scratch(NamedTuple):
    """Arrays for intermediate results, allocated once: marks of peers, and short lists of them."""

    has_item: Array  # whether a peer has the item
    knows_holder: Array  # whether it holds an index of a peer that has the item
    tried_in_query: Array  # number of the last query in which a peer was tried
    flooded_in_query: Array  # number of the last query whose flood reached a peer
    asker_order: Array  # buddies of the asker, the best first
    rank_order: Array  # indices of a list, the best first
    known_holders: Array  # holders that a peer knows by an index
    named_providers: Array  # in the order in which they were named, or by walker
    walk_lengths: Array  # how often each walker was received
    flood_queue: Array  # messages of a flood: receiver, sender, time to live


def new_scratch(peer_count: int, link_count: int, options: KernelOptions) -> Scratch:
    """The arrays for a network of so many peers and links."""
    longest = max(options.walkers, options.buddies, options.neighbour_indexes)
    return Scratch(
        has_item=np.zeros(peer_count, np.bool_),
        knows_holder=np.zeros(peer_count, np.bool_),
        tried_in_query=np.full(peer_count, -1, np.int64),
        flooded_in_query=np.full(peer_count, -1, np.int64),
        asker_order=np.zeros(options.buddies + 1, np.int64),
        rank_order=np.zeros(options.buddies + 1, np.int64),
        known_holders=np.full(longest, -1, np.int64),
        named_providers=np.full(longest, -1, np.int64),
        walk_lengths=np.zeros(options.walkers, np.int64),
        flood_queue=np.zeros((link_count + 1 if options.floods else 1, 3), np.int64),
    )


def empty_lists(peer_count: int, size: int, neighbour_indexes: int, *, all_have_asked: bool = False) -> BuddyLists:
    """Empty buddy lists of up to `size` buddies; `neighbour_indexes` is the number of indexes of neighbours that each
    peer may hold instead of those of its buddies, or 0."""
    list_shape, index_shape = (peer_count, size), (peer_count, neighbour_indexes or size)
    return BuddyLists(
        sizes=np.zeros(peer_count, np.int32),
        offsets=np.arange(peer_count) * size,
        peers=np.full(list_shape, -1, np.int32),
        counts=np.zeros(list_shape, np.int32),
        since=np.zeros(list_shape, np.int32),
        responses=np.zeros(peer_count, np.int32),
        is_held=np.zeros(index_shape, np.bool_),
        was_wanted=np.zeros(index_shape, np.bool_),
        has_asked=np.full(peer_count, all_have_asked),
    )
