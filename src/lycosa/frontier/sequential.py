"""The frontier of simulated crawls: one fetch at a time, no hosts, millions of candidates in memory."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain

import numpy as np
from msgspec.structs import replace

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Host, Skip, SkipReason, Url

from .memory import higher_priority

_MIN_BATCH_EVICTION = 10_000  # limit from which a tenth is evicted at once, since finding the worst scans all
_MAX_STALE = 1_000  # outdated candidates in the queue, in addition to the number of waiting ones
_UNKNOWN = Candidate(Url(""), 0.0)  # stands for a URL that is neither waiting, nor in flight, nor settled
_RUNG_SIZE = 4_096  # candidates; a heap of them fits into the CPU cache


class SequentialFrontier:
    """A fast frontier for one fetch at a time, in a world in memory or a graph. `contracts.Frontier` says what the
    methods without a docstring do.

    It has no hosts: nothing rests or is waited for, and `take` and `hold` ignore the time. It admits everything. URLs
    may be any hashable values; graphs use integers.

    limit: of waiting URLs; beyond it, those of the lowest priority are evicted, among equals the newest; a limit of
        10 000 or more evicts a tenth at once.
    """

    def __init__(self, *, limit: int = 1_000_000):
        self._limit = limit
        self._merge: Callable[[Url, float, float], float] = higher_priority
        self._queue = LadderQueue()  # includes outdated candidates, which are dropped when popped
        # The waiting candidate of every known URL, or None if it is in flight or settled. One table, because in a large
        # graph each look-up in another table would miss the CPU cache.
        self._known: dict[Url, Candidate | None] = {}
        self._waiting_count = 0

    def rank_by(self, strategy: Strategy) -> None:
        """Merges priorities as the strategy does."""
        self._merge = strategy.merge

    def __len__(self) -> int:
        return self._waiting_count

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        known = self._known
        offered: list[Candidate] = []
        for candidate in candidates:
            url = candidate.url
            waiting = known.get(url, _UNKNOWN)
            if waiting is None:
                continue
            if waiting is _UNKNOWN:
                self._waiting_count += 1
            else:
                priority = self._merge(url, waiting.priority, candidate.priority)
                if priority == waiting.priority:
                    continue
                candidate = _offered_again(waiting, candidate, priority)
            known[url] = candidate
            offered.append(candidate)
        self._queue.push(offered)
        if self._waiting_count > self._limit:
            return self._evict()
        if len(self._queue) > 2 * self._waiting_count + _MAX_STALE:
            self._queue = LadderQueue(self._current())
        return []

    def priorities(self) -> list[tuple[Url, float]]:
        """The waiting URLs with their priorities."""
        return [(candidate.url, candidate.priority) for candidate in self._current()]

    def _current(self) -> list[Candidate]:
        known = self._known
        return [candidate for candidate in self._queue if known.get(candidate.url) is candidate]

    def _evict(self) -> list[Skip]:
        excess = self._waiting_count - self._limit
        if self._limit >= _MIN_BATCH_EVICTION:
            excess += self._limit // 10
        best_first = sorted(self._current(), key=lambda candidate: -candidate.priority)
        self._queue, evicted = LadderQueue(best_first[:-excess]), best_first[: -excess - 1 : -1]
        for candidate in evicted:
            del self._known[candidate.url]
        self._waiting_count -= excess
        return [Skip(candidate, SkipReason.EVICTED) for candidate in evicted]

    def take(self, now: float = 0.0) -> Candidate | None:
        known, pop = self._known, self._queue.pop
        while (candidate := pop()) is not None:
            if known.get(candidate.url) is candidate:
                known[candidate.url] = None
                self._waiting_count -= 1
                return candidate
        return None

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        if self._known.get(url) is not None:
            self._waiting_count -= 1
        self._known[url] = None
        return []

    def requeue(self, candidate: Candidate) -> None:
        if self._known.get(candidate.url) is None:
            self._waiting_count += 1
        self._known[candidate.url] = candidate
        self._queue.push([candidate])

    def postpone(self, candidate: Candidate) -> None:
        self.requeue(candidate)

    def clear_waiting(self) -> None:
        self._known = dict.fromkeys(url for url, waiting in self._known.items() if waiting is None)
        self._waiting_count = 0
        self._queue = LadderQueue()

    def is_known(self, url: Url) -> bool:
        return url in self._known

    # There are no hosts to wait for.

    has_delay = False
    slow_in_flight = 0  # URLs in flight on slow hosts

    def hold(self, host: Host, until: float) -> None:
        """Does nothing."""

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        return None

    def release(self, host: Host, now: float) -> None:
        """Does nothing."""

    def claim_address(self, host: Host, address: str) -> bool:
        return True

    def observe(self, host: Host, seconds: float) -> None:
        """Ignores how long the host took to answer."""

    def next_ready_at(self) -> float | None:
        return 0.0 if self._waiting_count else None


def _offered_again(waiting: Candidate, offered: Candidate, priority: float) -> Candidate:
    """The offered candidate, with the failed attempts and redirects of the waiting one that it replaces."""
    if waiting.attempts or waiting.hops:
        return replace(offered, priority=priority, attempts=waiting.attempts, hops=waiting.hops)
    return offered if offered.priority == priority else replace(offered, priority=priority)


class LadderQueue:
    """A ladder queue of candidates: highest priority first, older first among equals.

    The best candidates are in a heap; the others are on rungs, each for a range of priorities, unsorted until their
    turn. A heap of millions would miss the CPU cache at every step of every push and pop. Here, most pushes append to a
    buffer, which is distributed to the rungs when it is full, and each rung is sorted once, by keys that are contiguous
    in memory.
    """

    def __init__(self, candidates: Iterable[Candidate] = ()):
        self._heap: list[tuple[float, int, Candidate]] = []  # minus the priority, order of arrival, candidate
        self._last_order = 0
        self._rungs: list[_Rung] = []  # in the order of their ranges
        self._first_keys: list[float] = []  # the first key of each rung
        self._buffer = _Rung(array("d"), [])
        self._length = 0
        self.push(candidates)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Candidate]:
        """All candidates, older first among equals."""
        heap = (candidate for _, _, candidate in sorted(self._heap))
        return chain(heap, *(rung.candidates for rung in self._rungs), self._buffer.candidates)

    def push(self, candidates: Iterable[Candidate]) -> None:
        heap, buffer, order = self._heap, self._buffer, self._last_order
        border = self._first_keys[0] if self._first_keys else float("inf")
        previous_order = order
        for candidate in candidates:
            key = -candidate.priority
            order += 1
            if key < border or not self._first_keys:
                heappush(heap, (key, order, candidate))
            else:
                buffer.keys.append(key)
                buffer.candidates.append(candidate)
        self._length += order - previous_order
        self._last_order = order
        if len(buffer.candidates) > _RUNG_SIZE:
            self._distribute_buffer()
        if len(heap) > 2 * _RUNG_SIZE:
            heap.sort()
            rung = _Rung(array("d", [key for key, _, _ in heap]), [candidate for _, _, candidate in heap])
            heap.clear()
            self._turn_into_heap(rung)

    def pop(self) -> Candidate | None:
        if not self._heap:
            if not self._rungs:
                return None
            self._distribute_buffer()
            del self._first_keys[0]
            self._turn_into_heap(self._rungs.pop(0))
        self._length -= 1
        return heappop(self._heap)[2]

    def _distribute_buffer(self) -> None:
        """Distributes the buffer to the rungs."""
        if not self._buffer.candidates:
            return
        distributed = self._buffer.in_order()
        self._buffer = _Rung(array("d"), [])
        ends = np.searchsorted(distributed.keys, self._first_keys[1:]).tolist()
        starts = [0, *ends]
        for rung, start, end in zip(self._rungs, starts, [*ends, len(distributed.candidates)], strict=True):
            if start < end:
                rung.keys.extend(distributed.keys[start:end])
                rung.candidates.extend(distributed.candidates[start:end])

    def _turn_into_heap(self, rung: "_Rung") -> None:
        """Turns a rung into the heap, which is empty; what exceeds the size of a rung becomes new rungs."""
        first, *others = rung.in_order().split()
        order = self._last_order
        self._last_order += len(first.candidates)
        numbers = range(order + 1, self._last_order + 1)
        self._heap.extend(zip(first.keys, numbers, first.candidates, strict=True))  # sorted, and so a heap
        self._rungs[:0] = others
        self._first_keys[:0] = [other.keys[0] for other in others]


class _Rung:
    """Candidates with their keys, minus the priorities."""

    __slots__ = ("candidates", "keys")

    def __init__(self, keys: "array[float]", candidates: list[Candidate]):
        self.keys = keys
        self.candidates = candidates

    def in_order(self) -> "_Rung":
        """Sorted by key, older first among equals."""
        order = np.argsort(self.keys, kind="stable")
        keys = array("d", np.asarray(self.keys)[order].tobytes())
        return _Rung(keys, [self.candidates[index] for index in order.tolist()])

    def split(self) -> "list[_Rung]":
        """Consecutive rungs of at most `_RUNG_SIZE` candidates."""
        starts = range(0, len(self.candidates), _RUNG_SIZE)
        return [
            _Rung(self.keys[start : start + _RUNG_SIZE], self.candidates[start : start + _RUNG_SIZE])
            for start in starts
        ]
