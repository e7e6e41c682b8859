"""A priority queue whose cost stays low where it is too large for the processor's caches."""

from array import array
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain

import numpy as np

from lycosa.vocabulary.records import Candidate

_RUNG = 4_096  # candidates; few enough for a heap of them to stay in a cache


class Ladder:
    """Candidates, the highest priority first, and the older of equals: those of the highest are a heap, the others lie
    unsorted on rungs until theirs is reached.

    A heap of millions touches far memory at every step of every push and pop; here a push behind the first rung is an
    append to what is dealt out to the rungs when it is much, and each rung is sorted once, by numbers that lie side by
    side.
    """

    def __init__(self, candidates: Iterable[Candidate] = ()):
        self._near: list[tuple[float, int, Candidate]] = []  # minus the priority, the order of arrival here
        self._last_order = 0
        self._rungs: list[_Rung] = []  # all of one before all of the next
        self._lowest: list[float] = []  # the first key of each rung
        self._undealt = _Rung(array("d"), [])  # of any rung
        self._length = 0
        self.push(candidates)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Candidate]:
        """All of them, the older of equals first."""
        heap = (entry[2] for entry in sorted(self._near))
        return chain(heap, *(rung.candidates for rung in self._rungs), self._undealt.candidates)

    def push(self, candidates: Iterable[Candidate]) -> None:
        near, undealt, order = self._near, self._undealt, self._last_order
        border = self._lowest[0] if self._lowest else float("inf")
        before = order
        for candidate in candidates:
            key = -candidate.priority
            order += 1
            if key < border or not self._lowest:
                heappush(near, (key, order, candidate))
            else:
                undealt.keys.append(key)
                undealt.candidates.append(candidate)
        self._length += order - before
        self._last_order = order
        if len(undealt.candidates) > _RUNG:
            self._deal()
        if len(near) > 2 * _RUNG:
            near.sort()
            rung = _Rung(array("d", [entry[0] for entry in near]), [entry[2] for entry in near])
            near.clear()
            self._climb(rung)

    def pop(self) -> Candidate | None:
        if not self._near:
            if not self._rungs:
                return None
            self._deal()
            del self._lowest[0]
            self._climb(self._rungs.pop(0))
        self._length -= 1
        return heappop(self._near)[2]

    def _deal(self) -> None:
        """Gives every rung its own."""
        if not self._undealt.candidates:
            return
        dealt = self._undealt.in_order()
        self._undealt = _Rung(array("d"), [])
        ends = np.searchsorted(dealt.keys, self._lowest[1:]).tolist()
        starts = [0, *ends]
        for rung, start, end in zip(self._rungs, starts, [*ends, len(dealt.candidates)], strict=True):
            if start < end:
                rung.keys.extend(dealt.keys[start:end])
                rung.candidates.extend(dealt.candidates[start:end])

    def _climb(self, rung: "_Rung") -> None:
        """Makes a rung the heap, which is empty; what is too many becomes rungs again."""
        first, *others = rung.in_order().parts()
        order = self._last_order
        self._last_order += len(first.candidates)
        numbers = range(order + 1, self._last_order + 1)
        self._near.extend(zip(first.keys, numbers, first.candidates, strict=True))  # sorted, and so a heap
        self._rungs[:0] = others
        self._lowest[:0] = [other.keys[0] for other in others]


class _Rung:
    __slots__ = ("candidates", "keys")

    def __init__(self, keys: "array[float]", candidates: list[Candidate]):
        self.keys = keys
        self.candidates = candidates

    def in_order(self) -> "_Rung":
        order = np.argsort(self.keys, kind="stable")
        keys = array("d", np.asarray(self.keys)[order].tobytes())
        return _Rung(keys, [self.candidates[place] for place in order.tolist()])

    def parts(self) -> "list[_Rung]":
        """As many as are enough for none to be larger than one should be."""
        starts = range(0, len(self.candidates), _RUNG)
        return [_Rung(self.keys[start : start + _RUNG], self.candidates[start : start + _RUNG]) for start in starts]
