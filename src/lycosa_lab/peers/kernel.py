"""The search of `lycosa_peers`, compiled: the same draws, the same counts, message by message.

`peers.routing` defines how queries travel and what is counted, `peers.buddies` how lists are kept. During a search,
only the asker's state changes, so each walker can be followed to its end separately, and the order of the responses
follows from the number of steps of each. Everything compiled is in this one file, since numba renews its cache only
when the file of a function changes.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

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
    NetworkArrays,
    Outcomes,
    Questions,
    Switches,
    Work,
)

F = TypeVar("F", bound=Callable[..., Any])
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
MAX_ATTEMPTS = 64


def compiled(function: F) -> F:
    return cast("F", numba.njit(cache=True, error_model="numpy")(function))


# ---------------------------------------------------------------- random choices


@compiled
def mix(number: Any) -> Any:
    number = (number ^ (number >> np.uint64(30))) * FIRST
    number = (number ^ (number >> np.uint64(27))) * SECOND
    return number ^ (number >> np.uint64(31))


@compiled
def drawn(start: Any, walker: int, ttl: int, among: int, attempt: int) -> int:
    """As `routing.draw`; `start` is the hash of seed and query."""
    place = (np.uint64(walker) << np.uint64(48)) | (np.uint64(attempt) << np.uint64(32)) | np.uint64(ttl)
    number = mix((start ^ place) + GOLDEN)
    return int(((number >> np.uint64(32)) * np.uint64(among)) >> np.uint64(32))


# ---------------------------------------------------------------- buddy lists and indexes


@compiled
def outranks(node: int, one: int, other: int, lists: BuddyLists) -> bool:
    counts, since = lists.counts[node], lists.since[node]
    if counts[one] != counts[other]:
        return bool(counts[one] > counts[other])
    return bool(since[one] > since[other])


@compiled
def best_first(node: int, lists: BuddyLists, order: Array) -> int:
    """Writes the indices of a list into `order` by rank; returns their number."""
    size = lists.sizes[node]
    for place in range(size):
        at = place
        while at > 0 and outranks(node, place, order[at - 1], lists):
            order[at] = order[at - 1]
            at -= 1
        order[at] = place
    return int(size)


@compiled
def place_of(node: int, peer: int, lists: BuddyLists) -> int:
    for place in range(lists.sizes[node]):
        if lists.peers[node, place] == peer:
            return place
    return -1


@compiled
def remove(node: int, place: int, lists: BuddyLists) -> None:
    last = lists.sizes[node] - 1
    lists.peers[node, place] = lists.peers[node, last]
    lists.counts[node, place] = lists.counts[node, last]
    lists.since[node, place] = lists.since[node, last]
    lists.is_held[node, place] = lists.is_held[node, last]
    lists.was_wanted[node, place] = lists.was_wanted[node, last]
    lists.peers[node, last] = -1
    lists.is_held[node, last] = False
    lists.sizes[node] = last


@compiled
def answered(node: int, peer: int, lists: BuddyLists) -> None:
    """Counts a response, as `BuddyList.answered`."""
    place = place_of(node, peer, lists)
    if place < 0:
        if lists.sizes[node] == lists.peers.shape[1]:
            worst = 0
            for other in range(1, lists.sizes[node]):
                if outranks(node, worst, other, lists):
                    worst = other
            remove(node, worst, lists)
        place = lists.sizes[node]
        lists.sizes[node] += 1
        lists.peers[node, place], lists.counts[node, place] = peer, 0
        lists.is_held[node, place] = lists.was_wanted[node, place] = False
    lists.responses[node] += 1
    lists.counts[node, place] += 1
    lists.since[node, place] = lists.responses[node]


@compiled
def demote(node: int, peer: int, lists: BuddyLists, switches: Switches) -> None:
    """Lowers a buddy's count by 1, as `BuddyList.failed`."""
    place = place_of(node, peer, lists)
    if switches.adapts and place >= 0:
        lists.counts[node, place] -= 1
        if lists.counts[node, place] < 1:
            remove(node, place, lists)


@compiled
def indexes_wanted(node: int, network: NetworkArrays, lists: BuddyLists, switches: Switches) -> int:
    """The number of indexes that a peer wants; of neighbours only if it ever asked, as `NodeState.index_owners`."""
    if switches.indexes == OF_BUDDIES:
        return int(lists.sizes[node])
    if switches.indexes == OF_NEIGHBOURS and lists.have_asked[node]:
        return int(min(network.degrees[node], switches.neighbour_indexes))
    return 0


@compiled
def owner_of(node: int, place: int, network: NetworkArrays, lists: BuddyLists, switches: Switches) -> int:
    """The owner of the index that a peer may hold at a place."""
    if switches.indexes == OF_BUDDIES:
        return int(lists.peers[node, place])
    return int(network.neighbours[network.offsets[node] + place])


@compiled
def checkpoint(network: NetworkArrays, lists: BuddyLists, switches: Switches) -> int:
    """Every peer that is up requests the indexes that are due; returns the number of transfers."""
    transfers, is_up, at_once = 0, network.is_up, switches.indexes == OF_NEIGHBOURS
    if switches.indexes == NOBODY:
        return 0
    for node in range(len(is_up)):
        is_idle = not lists.have_asked[node] if at_once else lists.sizes[node] == 0  # the usual case; saves a call
        if is_idle or not is_up[node]:
            continue
        for place in range(indexes_wanted(node, network, lists, switches)):
            is_due = not lists.is_held[node, place] and (at_once or lists.was_wanted[node, place])
            if is_due and is_up[owner_of(node, place, network, lists, switches)]:
                lists.is_held[node, place] = True
                transfers += 1
            lists.was_wanted[node, place] = True
    return transfers


@compiled
def indexed_holders(
    node: int, network: NetworkArrays, lists: BuddyLists, switches: Switches, work: Work, found: Array
) -> int:
    """Writes the owners of held indexes who have the item into `found`, in order; returns their number."""
    wanted, many, by_rank = indexes_wanted(node, network, lists, switches), 0, switches.indexes == OF_BUDDIES
    if by_rank:
        best_first(node, lists, work.ranks)
    for at in range(wanted):
        place = work.ranks[at] if by_rank else at
        if lists.is_held[node, place]:
            owner = owner_of(node, place, network, lists, switches)
            if work.has[owner]:
                found[many] = owner
                many += 1
    return many


@compiled
def named_by(node: int, network: NetworkArrays, lists: BuddyLists, switches: Switches, work: Work) -> int:
    """The provider that a peer names: itself, or the first in its indexes; -1 for none. The asker lacks the item."""
    if work.has[node]:
        return node
    return int(work.indexed[0]) if indexed_holders(node, network, lists, switches, work, work.indexed) else -1


@compiled
def mark_knowing(has: Array, knows: Array, sizes: Array, offsets: Array, peers: Array, is_held: Array) -> None:
    """Marks the peers that hold an index of a peer that has the item; `peers` is a ragged array of rows."""
    for node in range(len(knows)):
        begin = offsets[node]
        knows[node] = False
        for place in range(min(sizes[node], is_held.shape[1])):
            if is_held[node, place] and has[peers[begin + place]]:
                knows[node] = True
                break


# ---------------------------------------------------------------- walks and floods


@compiled
def walk(
    start: Any, asker: int, walker: int, ttl: int, has: Array, knows: Array, network: tuple[Array, Array, Array, Array]
) -> tuple[int, int]:
    """The number of receptions of a walker, and the responding peer; -1 if there is none."""
    offsets, neighbours, degrees, is_up = network
    node, came_from, received = asker, -1, 0
    while True:
        begin, among = offsets[node], degrees[node]
        leaves_out = came_from >= 0 and among > 1
        among -= leaves_out
        hop = -1
        if among > 0:
            for attempt in range(MAX_ATTEMPTS):
                hop = neighbours[begin + drawn(start, walker, ttl, among, attempt)]
                if leaves_out and hop == came_from:
                    hop = neighbours[begin + among]
                if is_up[hop]:
                    break
                hop = -1
        if hop < 0:
            return received, -1
        node, came_from = hop, node
        received += 1
        if node != asker and (has[node] or knows[node]):
            return received, node
        if ttl <= 1:
            return received, -1
        ttl -= 1


@compiled
def walks(
    start: Any, asker: int, network: NetworkArrays, lists: BuddyLists, switches: Switches, work: Work
) -> tuple[int, int]:
    """All walkers of a query: writes the receptions of each and the provider named (-1 for none) into `work`; returns
    the number of messages, and of detours."""
    overlay = (network.offsets, network.neighbours, network.degrees, network.is_up)
    messages, detours = 0, 0
    for walker in range(switches.walkers):
        length, last = walk(start, asker, walker + 1, switches.ttl, work.has, work.knows, overlay)
        work.lengths[walker] = length
        work.named[walker] = -1 if last < 0 else named_by(last, network, lists, switches, work)
        messages += length
        if last >= 0:
            messages += 1
            detours += length - 1
    return messages, detours


@compiled
def by_response(work: Work) -> tuple[int, int]:
    """Sorts the named providers by time of response; returns their number, and the walker of the first, or -1."""
    lengths, named = work.lengths, work.named.copy()
    first, many = -1, 0
    while True:
        next_one = -1
        for walker in range(len(lengths)):
            if named[walker] >= 0 and (next_one < 0 or lengths[walker] < lengths[next_one]):
                next_one = walker
        if next_one < 0:
            return many, first
        first = next_one if first < 0 else first
        work.named[many], named[next_one] = named[next_one], -1
        many += 1


@compiled
def path_to(first: int, lengths: Array) -> int:
    """Queries sent before this walker's response: walkers move in turn, so those before it have moved once more."""
    path = 0
    for walker in range(len(lengths)):
        path += min(lengths[walker], lengths[first] + (walker < first))
    return path


@compiled
def flood(mark: int, asker: int, network: NetworkArrays, switches: Switches, work: Work) -> tuple[int, int, int, int]:
    """A flood: messages, detours, path length to the first response, and the responder; -1 if there is none."""
    queue, head, tail, responses, detours, path, first = work.queue, 0, 0, 0, 0, -1, -1
    node, came_from, ttl = asker, -1, switches.flood_ttl + 1
    while True:
        if work.seen[node] != mark:
            work.seen[node] = mark
            if work.has[node]:
                responses += 1
                detours += switches.flood_ttl - ttl
                if first < 0:
                    path, first = tail, node
            elif ttl > 1:
                for place in range(network.offsets[node], network.offsets[node] + network.degrees[node]):
                    peer = network.neighbours[place]
                    if peer != came_from and network.is_up[peer]:
                        queue[tail, 0], queue[tail, 1], queue[tail, 2] = peer, node, ttl - 1
                        tail += 1
        if head == tail:
            return tail + responses, detours, path, first
        node, came_from, ttl = queue[head, 0], queue[head, 1], queue[head, 2]
        head += 1


# ---------------------------------------------------------------- searches


@compiled
def first_up(many: int, mark: int, asker: int, is_up: Array, lists: BuddyLists, switches: Switches, work: Work) -> int:
    """The first of the named providers that is up; those before it are demoted. -1 where all are down."""
    for place in range(many):
        peer = work.named[place]
        if work.tried[peer] == mark:
            continue
        work.tried[peer] = mark
        if is_up[peer]:
            return int(peer)
        demote(asker, peer, lists, switches)
    return -1


@compiled
def ask_buddies(
    mark: int, asker: int, network: NetworkArrays, lists: BuddyLists, switches: Switches, work: Work
) -> tuple[int, int, int]:
    """A query to each buddy that was not tried: queries sent, all messages, and the number of named providers."""
    issued, messages, many = 0, 0, 0
    known = best_first(asker, lists, work.order)
    for at in range(known):
        work.order[at] = lists.peers[asker, work.order[at]]
    for at in range(known):
        peer = work.order[at]
        if work.tried[peer] == mark:
            continue
        issued += 1
        if not network.is_up[peer]:
            if switches.demotes_unreachable:
                demote(asker, peer, lists, switches)
            continue
        messages += 1
        holder = named_by(peer, network, lists, switches, work)
        if holder >= 0:
            messages += 1
            work.named[many] = holder
            many += 1
    return issued, messages, many


@compiled
def one_search(
    start: Any, mark: int, asker: int, network: NetworkArrays, lists: BuddyLists, switches: Switches, work: Work
) -> tuple[int, int, int, int, int]:
    """Home, indexes, buddies, overlay: messages, detours, the path to the first response, the stage at which it was
    found and its provider."""
    is_up = network.is_up
    if work.has[asker]:
        return 0, 0, 0, HOME, asker
    many = indexed_holders(asker, network, lists, switches, work, work.named)
    provider = first_up(many, mark, asker, is_up, lists, switches, work)
    if provider >= 0:
        return 0, 0, 0, INDEXES, provider
    issued, messages, path = 0, 0, -1
    if switches.keeps_buddies:
        issued, messages, many = ask_buddies(mark, asker, network, lists, switches, work)
        path = issued if many else -1
        provider = first_up(many, mark, asker, is_up, lists, switches, work)
        if provider >= 0:
            return messages, 0, path, BUDDIES, provider
    if switches.floods:
        more, detours, path, provider = flood(mark, asker, network, switches, work)
        return messages + more, detours, path, WALKING if provider >= 0 else NOWHERE, provider
    if switches.indexes == OF_BUDDIES:
        mark_knowing(work.has, work.knows, lists.sizes, lists.offsets, lists.peers.ravel(), lists.is_held)
    elif switches.indexes == OF_NEIGHBOURS:
        mark_knowing(work.has, work.knows, network.degrees, network.offsets, network.neighbours, lists.is_held)
    more, detours = walks(start, asker, network, lists, switches, work)
    many, first = by_response(work)
    if path < 0 and first >= 0:
        path = issued + path_to(first, work.lengths)
    provider = first_up(many, mark, asker, is_up, lists, switches, work)
    return messages + more, detours, path, WALKING if provider >= 0 else NOWHERE, provider


@compiled
def pass_time(
    now: float, event: int, due: float, network: NetworkArrays, lists: BuddyLists, switches: Switches
) -> tuple[int, float, int]:
    """Processes events and checkpoints up to a time; returns the next event, the next checkpoint, and transfers."""
    transfers = 0
    while True:
        event_at = network.times[event] if event < len(network.times) else np.inf
        if min(event_at, due) > now:
            return event, due, transfers
        if event_at <= due:
            one, kind = network.ones[event], network.kinds[event]
            if kind == LINK:
                network.degrees[one] += 1
                network.degrees[network.others[event]] += 1
            else:
                network.is_up[one] = kind == UP
            event += 1
        else:
            transfers += checkpoint(network, lists, switches)
            due += switches.checkpoint


@compiled
def search(network: NetworkArrays, questions: Questions, switches: Switches, outcomes: Outcomes, work: Work) -> None:
    """Asks all questions in order, learning buddy lists; writes into its arguments."""
    lists, has, event, due = outcomes.lists, work.has, 0, switches.checkpoint
    for question in range(len(questions.askers)):
        event, due, transfers = pass_time(questions.times[question], event, due, network, lists, switches)
        asker, item = questions.askers[question], questions.items[question]
        begin, end = questions.holder_offsets[item], questions.holder_offsets[item + 1]
        for place in range(begin, end):
            has[questions.holders[place]] = True
        start = mix((np.uint64(switches.seed) ^ questions.ids[question]) + GOLDEN)
        lists.have_asked[asker] = True
        messages, detours, path, stage, provider = one_search(start, question, asker, network, lists, switches, work)
        outcomes.messages[question], outcomes.detours[question] = messages, detours
        outcomes.paths[question], outcomes.transfers[question] = path, transfers
        outcomes.stages[question], outcomes.providers[question] = stage, provider
        if provider >= 0 and stage != HOME and switches.keeps_buddies:
            answered(asker, provider, lists)
        for place in range(begin, end):
            has[questions.holders[place]] = False


TRIES = 200  # draws for one link


@compiled
def _upkeep(
    pairs: Array,
    many: int,
    is_up: Array,
    times: Array,
    kinds: Array,
    who: Array,
    least: int,
    seed: Any,
    rows: Array,
) -> int:
    """Appends new links to `pairs`, each with the number of the event that caused it; returns the number of links.

    A peer with fewer than `least` live neighbours gets another one, drawn with probability proportional to its links.
    """
    peers = len(is_up)
    live = np.zeros(peers, np.int64)  # neighbours that are up
    first = np.full(peers, -1, np.int64)  # of a chain through `rows`: the ends of a peer's links
    for link in range(many):
        for end in range(2):
            one, other = pairs[link, end], pairs[link, 1 - end]
            rows[2 * link + end], first[one] = first[one], 2 * link + end
            if is_up[other]:
                live[one] += 1
    draws = np.uint64(0)
    needy = np.zeros(peers + 1, np.int64)
    for event in range(-1, len(times)):
        short = 0
        if event < 0:
            for one in range(peers):
                if is_up[one] and live[one] < least:
                    needy[short] = one
                    short += 1
        else:
            one, came = who[event], kinds[event] == UP
            if is_up[one] == came:
                continue
            is_up[one] = came
            at = first[one]
            while at >= 0:
                other = pairs[at >> 1, 1 - (at & 1)]
                live[other] += 1 if came else -1
                if not came and is_up[other] and live[other] < least:
                    needy[short] = other
                    short += 1
                at = rows[at]
            if came and live[one] < least:
                needy[short] = one
                short += 1
        for number in range(short):
            one = needy[number]
            tries = 0
            while live[one] < least and tries < TRIES and many < len(pairs):
                tries += 1
                draws += np.uint64(1)
                ends = np.uint64(2 * many)
                end = int(((mix(seed + draws * GOLDEN) >> np.uint64(32)) * ends) >> np.uint64(32))
                other = pairs[end >> 1, end & 1]  # in proportion to its links
                if other == one or not is_up[other]:
                    continue
                at, is_known = first[one], False
                while at >= 0:
                    if pairs[at >> 1, 1 - (at & 1)] == other:
                        is_known = True
                        break
                    at = rows[at]
                if is_known:
                    continue
                pairs[many, 0], pairs[many, 1], pairs[many, 2] = one, other, event
                rows[2 * many], first[one] = first[one], 2 * many
                rows[2 * many + 1], first[other] = first[other], 2 * many + 1
                live[one] += 1
                live[other] += 1
                many += 1
    return many


def network_of(
    offsets: Array, targets: Array, is_up: Array, events: tuple[Array, Array, Array], *, least: int, seed: int
) -> NetworkArrays:
    """The overlay of a graph and its changes: new links are kept, and used while both ends are up."""
    peers, (times, kinds, who) = len(is_up), events
    sources = np.repeat(np.arange(peers), np.diff(offsets))
    are_first = sources < targets
    given = np.stack([sources[are_first], targets[are_first], np.full(int(are_first.sum()), -2)], axis=1)
    room = len(given) + (8 * least * peers if len(times) else 0)
    pairs = np.zeros((room, 3), np.int64)
    pairs[: len(given)] = given
    many = len(given)
    if len(times):
        rows = np.full(2 * room, -1, np.int64)
        many = _upkeep(pairs, many, is_up.copy(), times, kinds, who, least, np.uint64(seed), rows)
    made = pairs[len(given) : many]
    at_once = made[:, 2] < 0
    ends = np.concatenate([sources, made[:, :2].ravel()])
    others = np.concatenate([targets, made[:, 1::-1].ravel()])
    order = np.argsort(ends, kind="stable")
    bounds = np.zeros(peers + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=peers), out=bounds[1:])
    degrees = np.diff(offsets) + np.bincount(made[at_once, :2].ravel(), minlength=peers)
    later = made[~at_once]
    all_times = np.concatenate([times, times[later[:, 2]]])
    all_kinds = np.concatenate([kinds, np.full(len(later), LINK)])
    ones, twos = np.concatenate([who, later[:, 0]]), np.concatenate([np.full(len(who), -1), later[:, 1]])
    place = np.concatenate([np.arange(len(who)), later[:, 2]])
    sequence = np.lexsort((np.arange(len(place)), place))  # links come right after the event that caused them
    return NetworkArrays(
        offsets=bounds,
        neighbours=others[order].astype(np.int32),
        degrees=degrees.astype(np.int32),
        is_up=is_up.copy(),
        times=all_times[sequence],
        kinds=all_kinds[sequence].astype(np.int8),
        ones=ones[sequence].astype(np.int32),
        others=twos[sequence].astype(np.int32),
    )
