"""Tables of 64-bit keys that take some twelve bytes a key, where a dictionary takes a hundred."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHARDS = 16  # by the four highest bits, so that merging copies a sixteenth at a time
_FENCES = 256  # within a shard, by the next eight bits
_TO_SHARD, _TO_FENCE = 60, 52
_FEWEST_RECENT, _MOST_RECENT = 1_024, 8_192  # keys of a shard that are in a dictionary; at most a sixteenth of all


class KeyTable:
    """Whole numbers above 0 by 64-bit keys, signed ones; 0 for every other key.

    The latest keys of each shard are in a dictionary, the others in sorted arrays, into which the dictionary is merged
    when it is full. Keys are to be hashes, so that the shards are of about one size: 10 million take some 130 MB.

    >>> table = KeyTable()
    >>> table[17] = 3
    >>> table[17] += 1
    >>> table[17], table[18], len(table)
    (4, 0, 1)
    """

    __slots__ = ("_count", "_shards")

    def __init__(self) -> None:
        self._count = 0
        self._shards = [_Shard() for _ in range(_SHARDS)]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: int) -> int:
        shard = self._shards[key >> _TO_SHARD]
        number = shard.recent.get(key)
        if number is not None:
            return number
        return shard.find(key) if shard.fences else 0

    def __contains__(self, key: int) -> bool:
        return self[key] > 0

    def __setitem__(self, key: int, number: int) -> None:
        shard = self._shards[key >> _TO_SHARD]
        before = shard.recent.get(key)
        if before is None and shard.fences:
            before = shard.replace(key, number)
            if before is not None:
                self._count += (number > 0) - (before > 0)
                return
        self._count += (number > 0) - bool(before)
        if number:
            shard.recent[key] = number
            if len(shard.recent) >= shard.most_recent:
                shard.merge()
        elif before is not None:
            del shard.recent[key]

    def __iter__(self) -> Iterator[int]:
        """Every key; the table must not change meanwhile."""
        for shard in self._shards:
            yield from shard.recent
            yield from shard.keys[shard.numbers > 0].tolist()

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]


class KeySet:
    """A set of 64-bit keys, in a `KeyTable`."""

    __slots__ = ("_table",)

    def __init__(self, keys: Iterable[int] = ()):
        self._table = KeyTable()
        self.update(keys)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, key: int) -> bool:
        return self._table[key] > 0

    def __iter__(self) -> Iterator[int]:
        return iter(self._table)

    def add(self, key: int) -> None:
        self._table[key] = 1

    def update(self, keys: Iterable[int]) -> None:
        for key in keys:
            self._table[key] = 1


class _Shard:
    """Keys that have the highest bits in common."""

    __slots__ = ("fences", "keys", "most_recent", "number_view", "numbers", "recent", "view")

    def __init__(self) -> None:
        self.recent: dict[int, int] = {}
        self.most_recent = _FEWEST_RECENT
        self.keys: NDArray[np.int64] = np.empty(0, np.int64)  # sorted
        self.numbers: NDArray[Any] = np.empty(0, np.uint32)  # 0 where a key was removed
        self.view, self.number_view = self.keys.data, self.numbers.data  # quicker for one element
        self.fences: list[int] = []  # where the keys of each value of the next bits begin; none without arrays

    def find(self, key: int) -> int:
        place = self._place(key)
        return self.number_view[place] if place >= 0 else 0

    def replace(self, key: int, number: int) -> int | None:
        """Gives a key of the arrays another number, and returns the one before; None where it is not there."""
        place = self._place(key)
        if place < 0:
            return None
        before: int = self.number_view[place]
        self._widen(number)
        self.number_view[place] = number
        return before

    def _place(self, key: int) -> int:
        fence = key >> _TO_FENCE & _FENCES - 1
        end = self.fences[fence + 1]
        place = bisect_left(self.view, key, self.fences[fence], end)
        return place if place < end and self.view[place] == key else -1

    def _widen(self, number: int) -> None:
        if number >> 32 and self.numbers.dtype == np.uint32:
            self.numbers = self.numbers.astype(np.uint64)
            self.number_view = self.numbers.data

    def merge(self) -> None:
        """Moves the latest keys to the arrays, and drops those that were removed."""
        order = sorted(self.recent)
        numbers = [self.recent[key] for key in order]
        self._widen(max(numbers))
        new, kept = np.array(order, np.int64), self.numbers > 0
        if not kept.all():
            self.keys, self.numbers = self.keys[kept], self.numbers[kept]
        places = np.searchsorted(self.keys, new)
        self.keys = np.insert(self.keys, places, new)
        self.numbers = np.insert(self.numbers, places, np.array(numbers, self.numbers.dtype))
        self.view, self.number_view = self.keys.data, self.numbers.data
        first = self.keys[0] >> _TO_SHARD << _TO_SHARD
        starts = first + (np.arange(_FENCES, dtype=np.int64) << _TO_FENCE)
        self.fences = [*np.searchsorted(self.keys, starts).tolist(), len(self.keys)]
        self.recent = {}
        self.most_recent = min(max(_FEWEST_RECENT, len(self.keys) // 16), _MOST_RECENT)
