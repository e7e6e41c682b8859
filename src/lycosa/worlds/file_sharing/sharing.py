"""Who has what, who is interested in what, and who asked for what: what peers do with files, as columns."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Chance = np.random.Generator


class Rows(Struct, frozen=True):
    """Numbers in rows of any length, row behind row."""

    offsets: Ints  # where each row begins, and where the last one ends
    values: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, number: int) -> Ints:
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def turned(self, size: int) -> "Rows":
        """For each value the rows in which it stands, in order; `size` is one more than the largest value may be."""
        return rows_of(self.values, np.repeat(np.arange(len(self)), self.lengths()), size)


def rows_of(row_numbers: Ints, values: Ints, size: int) -> Rows:
    """Rows out of pairs of a row's number and a value; values of a row keep their order."""
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(row_numbers, minlength=size), out=offsets[1:])
    return Rows(offsets, values[np.argsort(row_numbers, kind="stable")].astype(np.int32))


def distinct_rows(row_numbers: Ints, values: Ints, size: int, width: int) -> Rows:
    """The same, each value once in a row, the smallest first; all values are less than `width`."""
    keys = np.unique(row_numbers.astype(np.int64) * width + values)
    return rows_of(keys // width, keys % width, size)


class Trace(Struct, frozen=True):
    """Downloads in the order of time: who asked, for which item, who gave it, and when."""

    consumers: Ints
    items: Ints
    providers: Ints
    times: Floats  # seconds since the first day

    def __len__(self) -> int:
        return len(self.consumers)

    def of(self, are_kept: NDArray[Any]) -> "Trace":
        return Trace(self.consumers[are_kept], self.items[are_kept], self.providers[are_kept], self.times[are_kept])


class Sharing(Struct, frozen=True):
    """Peers 0, 1, 2, ... and items 0, 1, 2, ...: what each peer has, what it likes, and what was downloaded."""

    libraries: Rows  # items of each peer, sorted
    interests: Rows  # categories of each peer, sorted
    categories: int
    items: int
    trace: Trace
    firsts: Ints | None = None  # item of each category, and the end, where items stand by category

    def __len__(self) -> int:
        """How many peers there are."""
        return len(self.libraries)

    def categories_of(self, items: Ints) -> Ints | None:
        """The category of each of some items; None where items have none."""
        if self.firsts is None:
            return None
        found: Ints = np.searchsorted(self.firsts, items, side="right") - 1
        return found

    def holders(self) -> Rows:
        """The peers that have each item."""
        return self.libraries.turned(self.items)
