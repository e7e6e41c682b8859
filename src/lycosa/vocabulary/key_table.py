"""Tables of 64-bit keys that take about 12 bytes a key, where a dictionary takes 100."""

import mmap
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHARDS = 32  # by the five highest bits, so that merging copies, and frees, little at a time
_SHARD_SHIFT = 59  # bits
_KEYS_PER_FENCE = 16  # approximately
_MIN_RECENT, _MAX_RECENT = 512, 1_024  # keys in the dictionary of a shard, which takes ten times the memory
_KEYS_PER_RECENT = 32  # in between: one recent key for so many sorted ones
_MIN_MAPPED = 1 << 16  # bytes; larger arrays are mapped by themselves: holes that they leave in the heap stay there
_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
_SENTINEL = np.iinfo(np.int64).max  # follows all keys, with the number 0


class KeyTable:
    """A mapping from signed 64-bit keys to positive integers; all other keys map to 0.

    The latest keys of each shard are in a dictionary, which is merged into sorted arrays when it is full. Keys should
    be hashes, so that the shards are of about equal size: 10 million keys take some 130 MB.

    >>> table = KeyTable()
    >>> table[17] = 3
    >>> table[17] += 1
    >>> table[17], table[18], len(table)
    (4, 0, 1)
    """

    __slots__ = ("_count", "_shards")

    def __init__(self) -> None:
        self.clear()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: int) -> int:
        shard = self._shards[key >> _SHARD_SHIFT]
        number = shard.recent.get(key)
        if number is not None:
            return number
        fences, key_view = shard.fences, shard.key_view  # from here on `_Shard.index`, inlined
        fence = key >> shard.fence_shift & shard.fence_mask
        index = bisect_left(key_view, key, fences[fence], fences[fence + 1])
        return shard.number_view[index] if key_view[index] == key else 0

    def __contains__(self, key: int) -> bool:
        return self[key] > 0

    def __setitem__(self, key: int, number: int) -> None:
        shard = self._shards[key >> _SHARD_SHIFT]
        recent_number = shard.recent.get(key)
        if recent_number is None:
            index = shard.index(key)
            if index >= 0:
                self._count += (number > 0) - (shard.number_view[index] > 0)
                shard.replace(index, number)
                return
        self._count += (number > 0) - (recent_number is not None)
        if number:
            shard.recent[key] = number
            if len(shard.recent) >= shard.max_recent:
                shard.merge()
        elif recent_number is not None:
            del shard.recent[key]

    def increment(self, key: int) -> int:
        """Adds 1 to the number of a key; returns the sum."""
        shard = self._shards[key >> _SHARD_SHIFT]
        number = shard.recent.get(key)
        if number is None:
            index = shard.index(key)
            if index >= 0:
                number = shard.number_view[index] + 1
                self._count += number == 1
                shard.replace(index, number)
                return number
            self._count += 1
            number = 0
        shard.recent[key] = number + 1
        if len(shard.recent) >= shard.max_recent:
            shard.merge()
        return number + 1

    def __iter__(self) -> Iterator[int]:
        """All keys; the table must not change during the iteration."""
        for shard in self._shards:
            yield from shard.recent
            yield from shard.keys[shard.numbers > 0].tolist()

    def numbers(self) -> NDArray[np.int64]:
        """The numbers of all keys, in any order."""
        sorted_numbers = [shard.numbers[shard.numbers > 0].astype(np.int64) for shard in self._shards]
        recent = [np.fromiter(shard.recent.values(), np.int64, len(shard.recent)) for shard in self._shards]
        return np.concatenate([*sorted_numbers, *recent])

    def clear(self) -> None:
        self._count = 0
        self._shards = [_Shard() for _ in range(_SHARDS)]


class KeySet(KeyTable):
    """A set of 64-bit keys."""

    __slots__ = ()

    def __init__(self, keys: Iterable[int] = ()):
        super().__init__()
        self.update(keys)

    def add(self, key: int) -> None:
        self[key] = 1

    def update(self, keys: Iterable[int]) -> None:
        for key in keys:
            self[key] = 1


class _Shard:
    """Keys that share their highest bits."""

    __slots__ = (
        "fence_mask",
        "fence_shift",
        "fences",
        "key_view",
        "keys",
        "max_recent",
        "number_view",
        "numbers",
        "recent",
    )

    def __init__(self) -> None:
        self.recent: dict[int, int] = {}
        self.max_recent = _MIN_RECENT
        self.keys: NDArray[np.int64] = np.array([_SENTINEL])  # sorted
        self.numbers: NDArray[Any] = np.zeros(1, np.uint32)  # 0 where a key was removed
        self.key_view, self.number_view = self.keys.data, self.numbers.data  # faster than the array for single elements
        # Fence pointers: for each value of the next highest bits, the index of its first key. The fence of a key is
        # `key >> fence_shift & fence_mask`.
        self.fences = array("I", [0, 0])
        self.fence_shift, self.fence_mask = _SHARD_SHIFT, 0

    def index(self, key: int) -> int:
        """The index of a key in the arrays; -1 if it is not there."""
        fences, fence = self.fences, key >> self.fence_shift & self.fence_mask
        index = bisect_left(self.key_view, key, fences[fence], fences[fence + 1])
        return index if self.key_view[index] == key and index < len(self.key_view) - 1 else -1

    def replace(self, index: int, number: int) -> None:
        if number >> 32:
            self._widen(number)
        self.number_view[index] = number

    def _widen(self, number: int) -> None:
        if number >> 32 and self.numbers.dtype == np.uint32:
            self.numbers = self.numbers.astype(np.uint64)
            self.number_view = self.numbers.data

    def merge(self) -> None:
        """Moves the latest keys to the arrays and drops removed ones."""
        count = len(self.recent)
        keys, numbers = np.fromiter(self.recent, np.int64, count), np.fromiter(self.recent.values(), np.uint64, count)
        order = np.argsort(keys)
        keys, numbers = keys[order], numbers[order]
        self._widen(int(numbers.max()))
        kept = self.numbers > 0
        kept[-1] = True
        has_removed = not kept.all()
        if has_removed:
            self.keys, self.numbers = self.keys[kept], self.numbers[kept]
        places = np.searchsorted(self.keys, keys) + np.arange(count)
        is_old = np.ones(len(self.keys) + count, np.bool_)
        is_old[places] = False
        self.keys, self.numbers = (
            _merged(old, new, places, is_old) for old, new in ((self.keys, keys), (self.numbers, numbers))
        )
        self.key_view, self.number_view = self.keys.data, self.numbers.data
        bits = max(0, (len(self.keys) // _KEYS_PER_FENCE).bit_length() - 1)
        if has_removed or self.fence_shift != _SHARD_SHIFT - bits:
            self.fence_shift, self.fence_mask = _SHARD_SHIFT - bits, (1 << bits) - 1
            self.fences = array("I", self._counts_by_fence(self.keys[:-1]).tobytes())
        else:
            np.frombuffer(self.fences, np.uint32)[:] += self._counts_by_fence(keys)
        self.recent = {}
        self.max_recent = min(max(_MIN_RECENT, len(self.keys) // _KEYS_PER_RECENT), _MAX_RECENT)

    def _counts_by_fence(self, keys: NDArray[np.int64]) -> NDArray[np.uint32]:
        """For each fence, and the end, how many of some keys come before it."""
        counts = np.zeros(self.fence_mask + 2, np.uint32)
        np.bincount(keys >> self.fence_shift & self.fence_mask, minlength=self.fence_mask + 1).cumsum(out=counts[1:])
        return counts


def _merged(old: NDArray[Any], new: NDArray[Any], places: NDArray[np.int64], is_old: NDArray[np.bool_]) -> NDArray[Any]:
    """An array with new elements at these places among the old ones."""
    merged = _new_array(len(is_old), old.dtype)
    merged[places], merged[is_old] = new, old
    return merged


def _new_array(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array for the caller to fill."""
    size = length * dtype.itemsize
    if size < _MIN_MAPPED:
        return np.empty(length, dtype)
    return np.frombuffer(mmap.mmap(-1, size, **_PRIVATE), dtype)
