"""The search of `lycosa_peers`, compiled: the same draws, the same counts, message by message.

`lycosa_peers.routing` defines how queries travel and what is counted, `lycosa_peers.buddies` how lists are kept. Each
query asks for one item, and is answered by naming a provider: a peer that has the item. A buddy is a peer that has
answered; a peer may hold the index of another, which is the list of its items. Peers are numbered from 0; an entry of
a buddy list is given by the number of its peer and its index there. `records` describes all arrays. During a search,
only the asker's state changes, so each walker can be followed to its end separately, and the order of the responses
follows from the number of steps of each. Everything compiled is in this one file, since numba renews its cache only
when the file of a function changes.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from lycosa_peers import routing

from .records import (
    BUDDIES,
    HOME,
    INDEXES,
    LINK,
    NOBODY,
    NOWHERE,
    OF_BUDDIES,
    OF_NEIGHBOURS,
    UP,
    WALKING,
    Array,
    BuddyLists,
    KernelOptions,
    NetworkArrays,
    Outcomes,
    PeerQueries,
    Scratch,
)

F = TypeVar("F", bound=Callable[..., Any])
GOLDEN = np.uint64(routing.GOLDEN)
MIX_MULTIPLIER_1, MIX_MULTIPLIER_2 = np.uint64(routing.MIX_MULTIPLIER_1), np.uint64(routing.MIX_MULTIPLIER_2)
MAX_ATTEMPTS = 64  # as `routing.MAX_ATTEMPTS`, which may change: numba's cache would keep the old one


def compiled(function: F) -> F:
    return cast("F", numba.njit(cache=True, error_model="numpy")(function))


# ---------------------------------------------------------------- random choices


@compiled
def splitmix64(number: Any) -> Any:
    """As `routing.splitmix64`."""
    number = (number ^ (number >> np.uint64(30))) * MIX_MULTIPLIER_1
    number = (number ^ (number >> np.uint64(27))) * MIX_MULTIPLIER_2
    return number ^ (number >> np.uint64(31))


@compiled
def draw(query_hash: Any, walker: int, ttl: int, choices: int, attempt: int) -> int:
    """As `routing.draw`; `query_hash` is the hash of seed and query."""
    step = (np.uint64(walker) << np.uint64(48)) | (np.uint64(attempt) << np.uint64(32)) | np.uint64(ttl)
    number = splitmix64((query_hash ^ step) + GOLDEN)
    return int(((number >> np.uint64(32)) * np.uint64(choices)) >> np.uint64(32))


# ---------------------------------------------------------------- buddy lists and indexes


@compiled
def outranks(node: int, one: int, other: int, lists: BuddyLists) -> bool:
    """Whether one entry of a list ranks above another."""
    counts, since = lists.counts[node], lists.since[node]
    if counts[one] != counts[other]:
        return bool(counts[one] > counts[other])
    return bool(since[one] > since[other])


@compiled
def best_first(node: int, lists: BuddyLists, order: Array) -> int:
    """Writes the indices of a list into `order`, the best first; returns their number."""
    size = lists.sizes[node]
    for index in range(size):
        position = index
        while position > 0 and outranks(node, index, order[position - 1], lists):
            order[position] = order[position - 1]
            position -= 1
        order[position] = index
    return int(size)


@compiled
def list_index_of(node: int, peer: int, lists: BuddyLists) -> int:
    """The index of a peer in the list of a node; -1 if it is not a buddy."""
    for index in range(lists.sizes[node]):
        if lists.peers[node, index] == peer:
            return index
    return -1


@compiled
def remove(node: int, index: int, lists: BuddyLists) -> None:
    """Removes an entry; the last one takes its index."""
    last = lists.sizes[node] - 1
    lists.peers[node, index] = lists.peers[node, last]
    lists.counts[node, index] = lists.counts[node, last]
    lists.since[node, index] = lists.since[node, last]
    lists.is_held[node, index] = lists.is_held[node, last]
    lists.was_wanted[node, index] = lists.was_wanted[node, last]
    lists.peers[node, last] = -1
    lists.is_held[node, last] = False
    lists.sizes[node] = last


@compiled
def count_response(node: int, peer: int, lists: BuddyLists) -> None:
    """Counts a response of a peer to a node, as `BuddyList.answered`: adds it to the list, or raises its count."""
    index = list_index_of(node, peer, lists)
    if index < 0:
        if lists.sizes[node] == lists.peers.shape[1]:
            worst = 0
            for other in range(1, lists.sizes[node]):
                if outranks(node, worst, other, lists):
                    worst = other
            remove(node, worst, lists)
        index = lists.sizes[node]
        lists.sizes[node] += 1
        lists.peers[node, index], lists.counts[node, index] = peer, 0
        lists.is_held[node, index] = lists.was_wanted[node, index] = False
    lists.responses[node] += 1
    lists.counts[node, index] += 1
    lists.since[node, index] = lists.responses[node]


@compiled
def demote(node: int, peer: int, lists: BuddyLists, options: KernelOptions) -> None:
    """Lowers a buddy's count by 1, as `BuddyList.failed`."""
    index = list_index_of(node, peer, lists)
    if options.adapts and index >= 0:
        lists.counts[node, index] -= 1
        if lists.counts[node, index] < 1:
            remove(node, index, lists)


@compiled
def indexes_wanted(node: int, network: NetworkArrays, lists: BuddyLists, options: KernelOptions) -> int:
    """The number of indexes that a peer wants; of neighbours only if it ever asked, as `NodeState.index_owners`."""
    if options.indexes == OF_BUDDIES:
        return int(lists.sizes[node])
    if options.indexes == OF_NEIGHBOURS and lists.has_asked[node]:
        return int(min(network.degrees[node], options.neighbour_indexes))
    return 0


@compiled
def owner_of(node: int, index: int, network: NetworkArrays, lists: BuddyLists, options: KernelOptions) -> int:
    """The peer whose index a node may hold as number `index`: a buddy or a neighbour."""
    if options.indexes == OF_BUDDIES:
        return int(lists.peers[node, index])
    return int(network.neighbours[network.offsets[node] + index])


@compiled
def checkpoint(network: NetworkArrays, lists: BuddyLists, options: KernelOptions) -> int:
    """Every peer that is up requests the indexes that are due; returns the number of transfers.

    Indexes of neighbours are due at once, those of buddies at the second checkpoint at which they are wanted.
    """
    transfers, is_up, at_once = 0, network.is_up, options.indexes == OF_NEIGHBOURS
    if options.indexes == NOBODY:
        return 0
    for node in range(len(is_up)):
        is_idle = not lists.has_asked[node] if at_once else lists.sizes[node] == 0  # the usual case; saves a call
        if is_idle or not is_up[node]:
            continue
        for index in range(indexes_wanted(node, network, lists, options)):
            is_due = not lists.is_held[node, index] and (at_once or lists.was_wanted[node, index])
            if is_due and is_up[owner_of(node, index, network, lists, options)]:
                lists.is_held[node, index] = True
                transfers += 1
            lists.was_wanted[node, index] = True
    return transfers


@compiled
def indexed_holders(
    node: int, network: NetworkArrays, lists: BuddyLists, options: KernelOptions, scratch: Scratch, found: Array
) -> int:
    """Writes the owners of held indexes who have the item into `found`, in order; returns their number."""
    wanted, count, by_rank = indexes_wanted(node, network, lists, options), 0, options.indexes == OF_BUDDIES
    if by_rank:
        best_first(node, lists, scratch.rank_order)
    for position in range(wanted):
        index = scratch.rank_order[position] if by_rank else position
        if lists.is_held[node, index]:
            owner = owner_of(node, index, network, lists, options)
            if scratch.has_item[owner]:
                found[count] = owner
                count += 1
    return count


@compiled
def named_by(node: int, network: NetworkArrays, lists: BuddyLists, options: KernelOptions, scratch: Scratch) -> int:
    """The provider that a peer names: itself, or the first in its indexes; -1 for none. The asker lacks the item."""
    if scratch.has_item[node]:
        return node
    return (
        int(scratch.known_holders[0])
        if indexed_holders(node, network, lists, options, scratch, scratch.known_holders)
        else -1
    )


@compiled
def mark_index_holders(
    has_item: Array, knows_holder: Array, sizes: Array, offsets: Array, peers: Array, is_held: Array
) -> None:
    """Marks the peers that hold an index of a peer that has the item; `peers` are the owners of the indexes of each
    peer, one peer after the other."""
    for node in range(len(knows_holder)):
        begin = offsets[node]
        knows_holder[node] = False
        for index in range(min(sizes[node], is_held.shape[1])):
            if is_held[node, index] and has_item[peers[begin + index]]:
                knows_holder[node] = True
                break


# ---------------------------------------------------------------- walks and floods


@compiled
def walk(
    query_hash: Any,
    asker: int,
    walker: int,
    ttl: int,
    has_item: Array,
    knows_holder: Array,
    overlay: tuple[Array, Array, Array, Array],
) -> tuple[int, int]:
    """The number of receptions of a walker, and the responding peer; -1 if there is none.

    overlay: the arrays `offsets`, `neighbours`, `degrees` and `is_up` of `NetworkArrays`.
    """
    offsets, neighbours, degrees, is_up = overlay
    node, came_from, received = asker, -1, 0
    while True:
        begin, choices = offsets[node], degrees[node]
        leaves_out = came_from >= 0 and choices > 1
        choices -= leaves_out
        hop = -1
        if choices > 0:
            for attempt in range(MAX_ATTEMPTS):
                hop = neighbours[begin + draw(query_hash, walker, ttl, choices, attempt)]
                if leaves_out and hop == came_from:
                    hop = neighbours[begin + choices]
                if is_up[hop]:
                    break
                hop = -1
        if hop < 0:
            return received, -1
        node, came_from = hop, node
        received += 1
        if node != asker and (has_item[node] or knows_holder[node]):
            return received, node
        if ttl <= 1:
            return received, -1
        ttl -= 1


@compiled
def walks(
    query_hash: Any, asker: int, network: NetworkArrays, lists: BuddyLists, options: KernelOptions, scratch: Scratch
) -> tuple[int, int]:
    """All walkers of a query: writes the receptions of each and the provider named (-1 for none) into `scratch`;
    returns the number of messages, and of return hops."""
    overlay = (network.offsets, network.neighbours, network.degrees, network.is_up)
    messages, return_hops = 0, 0
    for walker in range(options.walkers):
        length, last = walk(query_hash, asker, walker + 1, options.ttl, scratch.has_item, scratch.knows_holder, overlay)
        scratch.walk_lengths[walker] = length
        scratch.named_providers[walker] = -1 if last < 0 else named_by(last, network, lists, options, scratch)
        messages += length
        if last >= 0:
            messages += 1
            return_hops += length - 1
    return messages, return_hops


@compiled
def sort_by_response(scratch: Scratch) -> tuple[int, int]:
    """Sorts the named providers by time of response; returns their number, and the index of the walker of the first, or
    -1."""
    walk_lengths, named_providers = scratch.walk_lengths, scratch.named_providers.copy()
    first, count = -1, 0
    while True:
        next_one = -1
        for walker in range(len(walk_lengths)):
            if named_providers[walker] >= 0 and (next_one < 0 or walk_lengths[walker] < walk_lengths[next_one]):
                next_one = walker
        if next_one < 0:
            return count, first
        first = next_one if first < 0 else first
        scratch.named_providers[count], named_providers[next_one] = named_providers[next_one], -1
        count += 1


@compiled
def path_length_before(first: int, walk_lengths: Array) -> int:
    """Queries sent before this walker's response: walkers move in turn, so those before it have moved once more."""
    path = 0
    for walker in range(len(walk_lengths)):
        path += min(walk_lengths[walker], walk_lengths[first] + (walker < first))
    return path


@compiled
def flood(
    query: int, asker: int, network: NetworkArrays, options: KernelOptions, scratch: Scratch
) -> tuple[int, int, int, int]:
    """A flood: messages, return hops, path length to the first response, and the responder; -1 if there is none."""
    flood_queue, head, tail, responses, return_hops, path, first = scratch.flood_queue, 0, 0, 0, 0, -1, -1
    node, came_from, ttl = asker, -1, options.flood_ttl + 1
    while True:
        if scratch.flooded_in_query[node] != query:
            scratch.flooded_in_query[node] = query
            if scratch.has_item[node]:
                responses += 1
                return_hops += options.flood_ttl - ttl
                if first < 0:
                    path, first = tail, node
            elif ttl > 1:
                for place in range(network.offsets[node], network.offsets[node] + network.degrees[node]):
                    peer = network.neighbours[place]
                    if peer != came_from and network.is_up[peer]:
                        flood_queue[tail, 0], flood_queue[tail, 1], flood_queue[tail, 2] = peer, node, ttl - 1
                        tail += 1
        if head == tail:
            return tail + responses, return_hops, path, first
        node, came_from, ttl = flood_queue[head, 0], flood_queue[head, 1], flood_queue[head, 2]
        head += 1


# ---------------------------------------------------------------- searches


@compiled
def first_up(
    count: int, query: int, asker: int, is_up: Array, lists: BuddyLists, options: KernelOptions, scratch: Scratch
) -> int:
    """The first of the named providers that is up; those before it are demoted. -1 where all are down."""
    for index in range(count):
        peer = scratch.named_providers[index]
        if scratch.tried_in_query[peer] == query:
            continue
        scratch.tried_in_query[peer] = query
        if is_up[peer]:
            return int(peer)
        demote(asker, peer, lists, options)
    return -1


@compiled
def ask_buddies(
    query: int, asker: int, network: NetworkArrays, lists: BuddyLists, options: KernelOptions, scratch: Scratch
) -> tuple[int, int, int]:
    """A query to each buddy that was not tried: queries sent, all messages, and the number of named providers."""
    issued, messages, count = 0, 0, 0
    buddy_count = best_first(asker, lists, scratch.asker_order)
    for position in range(buddy_count):
        scratch.asker_order[position] = lists.peers[asker, scratch.asker_order[position]]
    for position in range(buddy_count):
        peer = scratch.asker_order[position]
        if scratch.tried_in_query[peer] == query:
            continue
        issued += 1
        if not network.is_up[peer]:
            if options.demotes_unreachable:
                demote(asker, peer, lists, options)
            continue
        messages += 1
        holder = named_by(peer, network, lists, options, scratch)
        if holder >= 0:
            messages += 1
            scratch.named_providers[count] = holder
            count += 1
    return issued, messages, count


@compiled
def one_search(
    query_hash: Any,
    query: int,
    asker: int,
    network: NetworkArrays,
    lists: BuddyLists,
    options: KernelOptions,
    scratch: Scratch,
) -> tuple[int, int, int, int, int]:
    """One query, by the stages in turn: the asker's own items, its indexes, its buddies, and a flood or walks.

    Returns the number of messages and of return hops, the path length to the first response, the stage at which the
    item was found, and its provider.
    """
    is_up = network.is_up
    if scratch.has_item[asker]:
        return 0, 0, 0, HOME, asker
    count = indexed_holders(asker, network, lists, options, scratch, scratch.named_providers)
    provider = first_up(count, query, asker, is_up, lists, options, scratch)
    if provider >= 0:
        return 0, 0, 0, INDEXES, provider
    issued, messages, path = 0, 0, -1
    if options.keeps_buddies:
        issued, messages, count = ask_buddies(query, asker, network, lists, options, scratch)
        path = issued if count else -1
        provider = first_up(count, query, asker, is_up, lists, options, scratch)
        if provider >= 0:
            return messages, 0, path, BUDDIES, provider
    if options.floods:
        more, return_hops, path, provider = flood(query, asker, network, options, scratch)
        return messages + more, return_hops, path, WALKING if provider >= 0 else NOWHERE, provider
    if options.indexes == OF_BUDDIES:
        mark_index_holders(
            scratch.has_item, scratch.knows_holder, lists.sizes, lists.offsets, lists.peers.ravel(), lists.is_held
        )
    elif options.indexes == OF_NEIGHBOURS:
        mark_index_holders(
            scratch.has_item,
            scratch.knows_holder,
            network.degrees,
            network.offsets,
            network.neighbours,
            lists.is_held,
        )
    more, return_hops = walks(query_hash, asker, network, lists, options, scratch)
    count, first = sort_by_response(scratch)
    if path < 0 and first >= 0:
        path = issued + path_length_before(first, scratch.walk_lengths)
    provider = first_up(count, query, asker, is_up, lists, options, scratch)
    return messages + more, return_hops, path, WALKING if provider >= 0 else NOWHERE, provider


@compiled
def advance_time(
    now: float, event: int, next_checkpoint: float, network: NetworkArrays, lists: BuddyLists, options: KernelOptions
) -> tuple[int, float, int]:
    """Processes events and checkpoints up to a time; returns the next event, the next checkpoint, and transfers."""
    transfers = 0
    while True:
        event_at = network.event_times[event] if event < len(network.event_times) else np.inf
        if min(event_at, next_checkpoint) > now:
            return event, next_checkpoint, transfers
        if event_at <= next_checkpoint:
            peer, kind = network.event_peers[event], network.event_kinds[event]
            if kind == LINK:
                network.degrees[peer] += 1
                network.degrees[network.linked_peers[event]] += 1
            else:
                network.is_up[peer] = kind == UP
            event += 1
        else:
            transfers += checkpoint(network, lists, options)
            next_checkpoint += options.checkpoint


@compiled
def search(
    network: NetworkArrays, queries: PeerQueries, options: KernelOptions, outcomes: Outcomes, scratch: Scratch
) -> None:
    """Makes all queries in order, learning buddy lists; writes into `network`, `outcomes` and `scratch`."""
    lists, has_item, event, next_checkpoint = outcomes.lists, scratch.has_item, 0, options.checkpoint
    for query in range(len(queries.askers)):
        event, next_checkpoint, transfers = advance_time(
            queries.times[query], event, next_checkpoint, network, lists, options
        )
        asker, item = queries.askers[query], queries.items[query]
        begin, end = queries.holder_offsets[item], queries.holder_offsets[item + 1]
        for index in range(begin, end):
            has_item[queries.holders[index]] = True
        query_hash = splitmix64((np.uint64(options.seed) ^ queries.ids[query]) + GOLDEN)
        lists.has_asked[asker] = True
        messages, return_hops, path, stage, provider = one_search(
            query_hash, query, asker, network, lists, options, scratch
        )
        outcomes.messages[query], outcomes.return_hops[query] = messages, return_hops
        outcomes.paths[query], outcomes.transfers[query] = path, transfers
        outcomes.stages[query], outcomes.providers[query] = stage, provider
        if provider >= 0 and stage != HOME and options.keeps_buddies:
            count_response(asker, provider, lists)
        for index in range(begin, end):
            has_item[queries.holders[index]] = False


MAX_TRIES = 200  # draws for one link


@compiled
def _add_links(
    links: Array,
    count: int,
    is_up: Array,
    event_times: Array,
    event_kinds: Array,
    event_peers: Array,
    min_neighbours: int,
    seed: Any,
    next_end: Array,
) -> int:
    """Appends new links to `links`, which are pairs of peers with the number of the event that caused them; returns the
    number of links.

    A peer that is up and has fewer than `min_neighbours` neighbours that are up gets another one, drawn with a
    probability proportional to its links. Link n has the ends 2 n and 2 n + 1.

    links: the first `count` rows are given; the rest is room for new ones.
    next_end: room for the next end of the same peer, by end; -1 after the last.
    """
    peer_count = len(is_up)
    live_neighbours = np.zeros(peer_count, np.int64)  # number of neighbours that are up
    first_end = np.full(peer_count, -1, np.int64)  # by peer; the others follow by `next_end`
    for link in range(count):
        for end in range(2):
            peer, other = links[link, end], links[link, 1 - end]
            next_end[2 * link + end], first_end[peer] = first_end[peer], 2 * link + end
            if is_up[other]:
                live_neighbours[peer] += 1
    draw_count = np.uint64(0)
    short_peers = np.zeros(peer_count + 1, np.int64)  # peers that have too few neighbours after an event
    for event in range(-1, len(event_times)):
        short_count = 0
        if event < 0:
            for peer in range(peer_count):
                if is_up[peer] and live_neighbours[peer] < min_neighbours:
                    short_peers[short_count] = peer
                    short_count += 1
        else:
            peer, comes_up = event_peers[event], event_kinds[event] == UP
            if is_up[peer] == comes_up:
                continue
            is_up[peer] = comes_up
            end_number = first_end[peer]
            while end_number >= 0:
                other = links[end_number >> 1, 1 - (end_number & 1)]
                live_neighbours[other] += 1 if comes_up else -1
                if not comes_up and is_up[other] and live_neighbours[other] < min_neighbours:
                    short_peers[short_count] = other
                    short_count += 1
                end_number = next_end[end_number]
            if comes_up and live_neighbours[peer] < min_neighbours:
                short_peers[short_count] = peer
                short_count += 1
        for number in range(short_count):
            peer = short_peers[number]
            tries = 0
            while live_neighbours[peer] < min_neighbours and tries < MAX_TRIES and count < len(links):
                tries += 1
                draw_count += np.uint64(1)
                ends = np.uint64(2 * count)
                end = int(((splitmix64(seed + draw_count * GOLDEN) >> np.uint64(32)) * ends) >> np.uint64(32))
                other = links[end >> 1, end & 1]  # in proportion to its links
                if other == peer or not is_up[other]:
                    continue
                end_number, is_linked = first_end[peer], False
                while end_number >= 0:
                    if links[end_number >> 1, 1 - (end_number & 1)] == other:
                        is_linked = True
                        break
                    end_number = next_end[end_number]
                if is_linked:
                    continue
                links[count, 0], links[count, 1], links[count, 2] = peer, other, event
                next_end[2 * count], first_end[peer] = first_end[peer], 2 * count
                next_end[2 * count + 1], first_end[other] = first_end[other], 2 * count + 1
                live_neighbours[peer] += 1
                live_neighbours[other] += 1
                count += 1
    return count


def network_of(
    offsets: Array, targets: Array, is_up: Array, events: tuple[Array, Array, Array], *, min_neighbours: int, seed: int
) -> NetworkArrays:
    """The overlay, the network of neighbours, of a graph and its changes: new links are kept, and used while both ends
    are up.

    events: times, kinds and peers of the events of churn, in order of time.
    min_neighbours: neighbours that a peer tries to have up at any time.
    """
    peer_count, (times, kinds, peers_of_events) = len(is_up), events
    sources = np.repeat(np.arange(peer_count), np.diff(offsets))
    are_first = sources < targets
    initial = np.stack([sources[are_first], targets[are_first], np.full(int(are_first.sum()), -2)], axis=1)
    capacity = len(initial) + (8 * min_neighbours * peer_count if len(times) else 0)
    links = np.zeros((capacity, 3), np.int64)
    links[: len(initial)] = initial
    count = len(initial)
    if len(times):
        next_end = np.full(2 * capacity, -1, np.int64)
        count = _add_links(
            links, count, is_up.copy(), times, kinds, peers_of_events, min_neighbours, np.uint64(seed), next_end
        )
    new = links[len(initial) : count]
    at_once = new[:, 2] < 0
    ends = np.concatenate([sources, new[:, :2].ravel()])
    other_ends = np.concatenate([targets, new[:, 1::-1].ravel()])
    order = np.argsort(ends, kind="stable")
    all_offsets = np.zeros(peer_count + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=peer_count), out=all_offsets[1:])
    degrees = np.diff(offsets) + np.bincount(new[at_once, :2].ravel(), minlength=peer_count)
    later = new[~at_once]
    all_times = np.concatenate([times, times[later[:, 2]]])
    all_kinds = np.concatenate([kinds, np.full(len(later), LINK)])
    all_peers = np.concatenate([peers_of_events, later[:, 0]])
    all_linked = np.concatenate([np.full(len(peers_of_events), -1), later[:, 1]])
    cause = np.concatenate([np.arange(len(peers_of_events)), later[:, 2]])
    order_of_events = np.lexsort((np.arange(len(cause)), cause))  # links come right after the event that caused them
    return NetworkArrays(
        offsets=all_offsets,
        neighbours=other_ends[order].astype(np.int32),
        degrees=degrees.astype(np.int32),
        is_up=is_up.copy(),
        event_times=all_times[order_of_events],
        event_kinds=all_kinds[order_of_events].astype(np.int8),
        event_peers=all_peers[order_of_events].astype(np.int32),
        linked_peers=all_linked[order_of_events].astype(np.int32),
    )
