"""Pages kept compressed, one behind the other: in memory while they are gathered, mapped from a file afterwards."""

import mmap
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Self

import msgspec
import xxhash

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url

_PAGES, _INDEX = "pages.bin", "pages.json"


class PageStore(Mapping[Url, bytes]):
    """The HTML of pages by URL, in the order in which they came; may be read by several processes at once.

    fingerprint: 16 hexadecimal digits that tell these URLs and this HTML from others.

    >>> store = PageStore.of([(Url("http://a.example/"), b"<p>Bees.")])
    >>> store[Url("http://a.example/")], len(store)
    (b'<p>Bees.', 1)
    """

    def __init__(
        self,
        urls: list[Url],
        ends: list[int],
        packed: bytes | bytearray | mmap.mmap,
        fingerprint: str,
        *,
        source: str = "memory",
    ):
        self.fingerprint = fingerprint
        self._source = source  # for the user who must be told of a page that cannot be read
        self._packed = packed
        self._ends = ends
        self._starts = [0, *ends[:-1]]
        self._number = {url: number for number, url in enumerate(urls)}

    @classmethod
    def of(cls, pages: Iterable[tuple[Url, bytes]]) -> Self:
        """Takes the pages in; of two with one URL, the first."""
        packed, lengths, digest = bytearray(), {}, xxhash.xxh3_64()
        for url, html in pages:
            if url not in lengths:
                piece = zlib.compress(html, 3)
                packed += piece
                lengths[url] = len(piece)
                digest.update(f"{url} {len(html)} ".encode())
                digest.update(html)
        return cls(list(lengths), list(accumulate(lengths.values())), packed, digest.hexdigest())

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What `save` wrote there; the pages themselves are read when asked for."""
        index = msgspec.json.decode((folder / _INDEX).read_bytes(), type=_Index)
        with (folder / _PAGES).open("rb") as file:
            size = file.seek(0, 2)
            packed = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        if len(index.urls) != len(index.lengths) or size != sum(index.lengths):
            raise UsageError(f"{folder / _PAGES} does not fit {folder / _INDEX}; make the world again")
        ends = list(accumulate(index.lengths))
        return cls(index.urls, ends, packed, index.fingerprint, source=str(folder / _PAGES))

    def save(self, folder: Path) -> None:
        lengths = [end - start for start, end in zip(self._starts, self._ends, strict=False)]
        (folder / _INDEX).write_bytes(msgspec.json.encode(_Index(list(self._number), lengths, self.fingerprint)))
        with (folder / _PAGES).open("wb") as file:
            file.write(self._packed)

    def number(self, url: Url) -> int | None:
        """The place of a page in the order of all."""
        return self._number.get(url)

    def __getitem__(self, url: Url) -> bytes:
        number = self._number[url]
        try:
            return zlib.decompress(self._packed[self._starts[number] : self._ends[number]])
        except zlib.error as error:
            raise UsageError(f"{self._source}: {url} is damaged ({error}); make the world again") from None

    def __contains__(self, url: object) -> bool:
        return url in self._number

    def __iter__(self) -> Iterator[Url]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)


class _Index(msgspec.Struct):
    urls: list[Url]
    lengths: list[int]
    fingerprint: str
