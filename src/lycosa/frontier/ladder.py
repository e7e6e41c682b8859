"""A priority queue whose cost stays low where it is too large for the processor's caches."""

from bisect import bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush

from lycosa.vocabulary.records import Candidate

Entry = tuple[float, int, Candidate]  # a key, the order of arrival; the smallest comes first, and the older of equals

_RUNG = 4_096  # entries; few enough for a heap of them to stay in a cache


class Ladder:
    """Entries by key: the smallest are a heap, the others lie unsorted on rungs until theirs is reached.

    A heap of millions touches far memory at every step of every push and pop; here a push behind the first rung is an
    append, and each rung is sorted once.
    """

    def __init__(self, entries: Iterable[Entry] = ()):
        self._near = list(entries)
        self._rungs: list[list[Entry]] = []  # all of one before all of the next
        self._lowest: list[float] = []  # the key of the first entry of each rung
        self._length = len(self._near)
        self._sort()

    def __len__(self) -> int:
        return self._length

    def push(self, entries: Iterable[Entry]) -> None:
        """Takes entries that arrived later than all before."""
        near, rungs, lowest = self._near, self._rungs, self._lowest
        for entry in entries:
            self._length += 1
            if not lowest or entry[0] < lowest[0]:
                heappush(near, entry)
            else:
                rungs[bisect_right(lowest, entry[0]) - 1].append(entry)
        if len(near) > 2 * _RUNG:
            self._sort()

    def pop(self) -> Entry | None:
        if not self._near:
            if not self._rungs:
                return None
            self._near = self._rungs.pop(0)
            del self._lowest[0]
            self._sort()
        self._length -= 1
        return heappop(self._near)

    def _sort(self) -> None:
        near = self._near
        near.sort()  # which makes it a heap
        rungs = [near[start : start + _RUNG] for start in range(_RUNG, len(near), _RUNG)]
        if rungs:
            self._rungs[:0] = rungs
            self._lowest[:0] = [rung[0][0] for rung in rungs]
            del near[_RUNG:]
