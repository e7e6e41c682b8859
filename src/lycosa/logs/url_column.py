"""Many URLs as one text with the places where each ends: no Python object for a URL nobody asks for."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import xxhash

from lycosa.vocabulary.records import Url

Ends = np.ndarray[tuple[int], np.dtype[np.int64]]


class UrlColumn(Sequence[Url]):
    """URLs by their numbers 0..n-1, and their numbers by their text; each stands in it once."""

    def __init__(self, text: bytes, ends: Ends):
        self.text = text
        self.ends = ends

    @classmethod
    def of(cls, urls: Iterable[str]) -> "UrlColumn":
        parts = [url.encode("utf-8", "surrogatepass") for url in urls]
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), dtype=np.int64)
        return cls(b"".join(parts), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> Url: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Url]: ...
    def __getitem__(self, index: int | slice) -> Url | Sequence[Url]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return Url(self._bytes_at(index % len(self)).decode("utf-8", "surrogatepass"))

    def chosen(self, ids: "np.ndarray[Any, np.dtype[Any]]") -> "UrlColumn":
        """Those with the given numbers, in the given order."""
        parts = [self._bytes_at(each) for each in ids.tolist()]
        lengths = np.diff(self.ends, prepend=np.int64(0))[ids]
        return UrlColumn(b"".join(parts), np.cumsum(lengths, dtype=np.int64))

    def id_of(self, url: str) -> int | None:
        """The number of a URL, or None where it is not among them."""
        sought = url.encode("utf-8", "surrogatepass")
        keys, ids = self._index
        key = np.uint64(xxhash.xxh3_64_intdigest(sought))
        place = int(keys.searchsorted(key))
        while place < len(keys) and keys[place] == key:
            found = int(ids[place])
            if self._bytes_at(found) == sought:
                return found
            place += 1
        return None

    def _bytes_at(self, index: int) -> bytes:
        start = int(self.ends[index - 1]) if index else 0
        return self.text[start : int(self.ends[index])]

    @cached_property
    def _index(self) -> tuple["np.ndarray[Any, np.dtype[np.uint64]]", "np.ndarray[Any, np.dtype[np.int64]]"]:
        """Hashes in order, and whose they are: a dictionary of as many texts would take ten times the memory."""
        digest, text, start = xxhash.xxh3_64_intdigest, self.text, 0
        keys = np.empty(len(self), np.uint64)
        for number, end in enumerate(self.ends.tolist()):
            keys[number] = digest(text[start:end])
            start = end
        order = np.argsort(keys, kind="stable")
        return keys[order], order
