"""Neighbours in a network where peers come and go: whoever has too few that are up, gets to know another."""

from typing import Any

import numpy as np

from .kernel import GOLDEN, compiled, mix
from .records import LINK, UP, Array, Network

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
    """Appends the links that are made to `pairs`, each with the number of the event after which it was; how many."""
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
                other = pairs[end >> 1, end & 1]  # so in proportion to its links
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
) -> Network:
    """The overlay of a graph and what becomes of it: links that are made are kept, and used while both ends are up."""
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
    sequence = np.lexsort((np.arange(len(place)), place))  # links come right behind the event that made them
    return Network(
        offsets=bounds,
        neighbours=others[order].astype(np.int32),
        degrees=degrees.astype(np.int32),
        is_up=is_up.copy(),
        times=all_times[sequence],
        kinds=all_kinds[sequence].astype(np.int8),
        ones=ones[sequence].astype(np.int32),
        others=twos[sequence].astype(np.int32),
    )
