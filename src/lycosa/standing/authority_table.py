"""Public lists that rank sites and pages, in one memory-mapped table for all collections of a user.

The file has a header of 4096 bytes, then the sorted keys (64 bits: 61 of a hash, 3 of the list), then the rank of
each, quantised on a logarithmic scale (16 bits). Ten million ranks take 100 MB, of which a lookup reads a few memory
pages.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import msgspec
import numpy as np
import xxhash
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import atomic_write
from lycosa.vocabulary.records import Page, Url
from lycosa.vocabulary.urls import hostname_of, is_node, site_of

from .model import StandingModel

SOURCES = (  # the lists; their index here is the last three bits of a key
    "Common Crawl domains",
    "Common Crawl hosts",
    "Majestic Million",
    "Tranco",
    "CrUX",
    "Open PageRank",
    "Wikipedia external links",
    "ranked domains",
)
PAGE_LIST = "Wikipedia external links"  # the only list of pages; others are of hosts and domains
MAX_RANK = 1 << 30
RANK_WEIGHT = 0.1  # log odds of standing per unit of ln(rank): the weight of a domain's reach, as fitted for links
TEMPORARY_PREFIX = ".authority-"  # prefix of temporary folders used while a list is read
_HEADER_BYTES = 4096  # bytes
_FORMAT = "lycosa authority table, 1"
BUCKETS = 64  # by the first six bits of the keys; one is held in memory at a time
_MAX_QUANTISED = 65_535
_SOURCE_BITS = np.uint64(7)
_ROW = np.dtype([("key", "<u8"), ("code", "<u2")])  # a key, and its quantised rank

Keys = NDArray[np.uint64]
QuantisedRanks = NDArray[np.uint16]


class SourceFacts(Struct, frozen=True):
    """What the table knows of one of its lists."""

    name: str  # of SOURCES
    file: str  # as it was called
    rows: int  # number of rows
    largest_rank: int = field(name="last_rank")
    imported_at: float = field(name="at")  # seconds since the epoch


class _Header(Struct, frozen=True):
    kind: str  # always `_FORMAT`
    rows: int  # number of rows
    digest: str  # of keys and quantised ranks
    sources: tuple[SourceFacts, ...]


class Rank(Struct, frozen=True):
    """The rank of a URL in a list."""

    source: str
    name: str  # of the host, the registered domain, or the URL that is in the list
    rank: int  # exact up to some 3000, within 0.02 % beyond

    def __str__(self) -> str:
        if self.rank <= 3_000:
            return f"rank {self.rank:,} of {self.source} ({self.name})"
        return f"rank {int(float(f'{self.rank:.3g}')):,} or so of {self.source} ({self.name})"


def key_of_name(name: str) -> int:
    """The hash of a host or domain name; its last three bits are left for the list."""
    return int(xxhash.xxh3_64_intdigest(f"n:{name}".encode())) & ~7


def key_of_page(url: str) -> int:
    """The same for a page, whatever its scheme."""
    return int(xxhash.xxh3_64_intdigest(f"u:{url.partition('://')[2]}".encode())) & ~7


def quantised_rank(rank: int) -> int:
    """A rank as 16 bits, on a logarithmic scale; the first is the highest.

    >>> [rank_of_quantised(quantised_rank(rank)) for rank in (1, 2, 999, 3_000)], quantised_rank(MAX_RANK)
    ([1, 2, 999, 3000], 0)
    """
    return round(_MAX_QUANTISED * (1.0 - log(min(max(rank, 1), MAX_RANK)) / log(MAX_RANK)))


def rank_of_quantised(quantised: int) -> int:
    return round(exp((1.0 - quantised / _MAX_QUANTISED) * log(MAX_RANK)))


class AuthorityTable:
    """The table in a file, for lookups; unknown names get the largest rank of all lists."""

    def __init__(self, path: Path):
        self.path = path
        header = _read_header(path)
        self.sources, self.digest, self._rows = header.sources, header.digest, header.rows
        self._sorted_keys: Keys = (
            np.memmap(path, "<u8", "r", _HEADER_BYTES, (self._rows,)) if self._rows else np.empty(0, np.uint64)
        )
        start = _HEADER_BYTES + 8 * self._rows
        self._quantised_ranks: QuantisedRanks = (
            np.memmap(path, "<u2", "r", start, (self._rows,)) if self._rows else np.empty(0, np.uint16)
        )
        self._largest_rank = max((source.largest_rank for source in self.sources), default=1)
        self._has_pages = any(source.name == PAGE_LIST for source in self.sources)
        self._best_rank_of_host = lru_cache(maxsize=50_000)(self._find_best_rank)

    @classmethod
    def load(cls, path: Path) -> "AuthorityTable | None":
        """The table, or None if nothing was imported yet."""
        return cls(path) if path.exists() else None

    def __len__(self) -> int:
        return self._rows

    def ranks(self, url: Url) -> list[Rank]:
        """What the lists say of a page, its host and its registered domain, the best first."""
        found = [
            Rank(source, name, rank_of_quantised(quantised))
            for name, key in _keys_of_url(url)
            for source, quantised in self._entries(key)
        ]
        return sorted(found, key=lambda each: each.rank)

    def value(self, url: Url) -> float:
        """ln(m / rank) by the best rank of a URL, its host or its domain, where m is half the largest rank of all
        lists: 0 in the middle, and -ln 2 for unlisted URLs.
        """
        if is_node(url):  # of a lab graph, where pages are numbers
            return 0.0
        best = self._best_rank_of_host(hostname_of(url))
        if self._has_pages:
            for _, quantised in self._entries(key_of_page(url)):
                best = min(best, rank_of_quantised(quantised))
        return log(self._largest_rank / 2 / min(best, self._largest_rank))

    def _find_best_rank(self, name: str) -> int:
        found = [quantised for each in _names_of_host(name) for _, quantised in self._entries(key_of_name(each))]
        return min(map(rank_of_quantised, found), default=self._largest_rank)

    def _entries(self, key: int) -> Iterator[tuple[str, int]]:
        """The lists that have a key, each with the quantised rank."""
        index = int(self._sorted_keys.searchsorted(np.uint64(key)))
        while index < self._rows and int(self._sorted_keys[index]) & ~7 == key:
            yield SOURCES[int(self._sorted_keys[index]) & 7], int(self._quantised_ranks[index])
            index += 1

    def rows_between(self, first: int, last: int) -> NDArray[Any]:
        """The rows whose keys are at least `first` and at most `last`."""
        start = int(self._sorted_keys.searchsorted(np.uint64(first)))
        end = int(self._sorted_keys.searchsorted(np.uint64(last), side="right"))
        rows = np.empty(end - start, _ROW)
        rows["key"], rows["code"] = self._sorted_keys[start:end], self._quantised_ranks[start:end]
        return rows


def _names_of_host(host: str) -> Iterator[str]:
    """The names under which a host may be listed."""
    yield host
    bare = host.removeprefix("www.")
    if bare != host:
        yield bare
    site = site_of(host) if ":" not in host else host
    if site not in (host, bare):
        yield site


def _keys_of_url(url: Url) -> Iterator[tuple[str, int]]:
    yield url, key_of_page(url)
    for name in _names_of_host(hostname_of(url)):
        yield name, key_of_name(name)


def _read_header(path: Path) -> _Header:
    way_out = "import the lists again: lycosa standing import FILE"
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.read(_HEADER_BYTES).rstrip(b" \n"), type=_Header)
        size = path.stat().st_size
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); give access, or remove it") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a table of ours ({error}); remove it, and {way_out}") from None
    if header.kind != _FORMAT or header.rows < 0 or size != _HEADER_BYTES + 10 * header.rows:
        raise UsageError(f"{path} is damaged or of another version; remove it, and {way_out}")
    return header


class AuthorityStanding:
    """The standing of pages by a model and by the lists: log odds = prediction - theta + 0.1 · ln(m / rank), with m as
    in `AuthorityTable.value`, and theta the prediction at which the model's standing is 0.5."""

    def __init__(self, model: StandingModel, table: AuthorityTable):
        self._model = model
        self._table = table

    def standing(self, page: Page) -> float:
        logit = self._model.prediction(page) - self._model.theta + RANK_WEIGHT * self._table.value(page.url)
        return 1.0 / (1.0 + exp(-logit))


# ---------------------------------------------------------------- writing


class RowBuckets:
    """Rows on their way into a table, sorted into files by the first bits of their keys.

    row: the type of a row: its key, and a value.
    """

    def __init__(self, folder: Path, row: np.dtype[Any] = _ROW):
        self._row = row
        self._paths = [folder / f"{number:02d}" for number in range(BUCKETS)]

    def add(self, keys: Keys, values: NDArray[Any]) -> None:
        _, value = self._row.names or ()
        rows = np.empty(len(keys), self._row)
        rows["key"], rows[value] = keys, values
        numbers = (keys >> np.uint64(58)).astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(BUCKETS + 1))
        for number in range(BUCKETS):
            part = rows[order[ends[number] : ends[number + 1]]]
            if len(part):
                with self._paths[number].open("ab") as file:
                    file.write(part.tobytes())

    def rows(self, number: int) -> NDArray[Any]:
        path = self._paths[number]
        return np.fromfile(path, self._row) if path.exists() else np.empty(0, self._row)


Fill = Callable[[RowBuckets], SourceFacts | None]


def rewrite(path: Path, source: str, fill: Fill) -> SourceFacts | None:
    """Replaces the rows of a list by those that `fill` adds; if it adds none and returns None, the list is removed.

    One of 64 parts of the table is in memory at a time. A kill or an error leaves the table as it was; concurrent
    writers wait for each other.
    """
    source_index = SOURCES.index(source)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            for leftover in path.parent.glob(f"{TEMPORARY_PREFIX}*"):  # of a killed process
                shutil.rmtree(leftover, ignore_errors=True)
            old = AuthorityTable.load(path)
            with TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=path.parent) as temporary:
                folder = Path(temporary)
                buckets = RowBuckets(folder)
                facts = fill(buckets)
                kept = [each for each in (old.sources if old else ()) if each.name != source]
                _write(file, folder, _merged(buckets, old, source_index), [*kept, *([facts] if facts else [])])
    except OSError as error:
        where = error.filename or path
        raise UsageError(f"cannot write {where}: {error.strerror}; make room, or set XDG_DATA_HOME") from None
    return facts


def remove_list(path: Path, source: str) -> None:
    """Removes a list from the table."""
    rewrite(path, source, lambda buckets: None)


def _merged(buckets: RowBuckets, old: AuthorityTable | None, source_index: int) -> Iterator[NDArray[Any]]:
    """The rows of the new table, in the order of their keys, each key with its best quantised rank; the old rows of the
    list that is replaced are left out."""
    for number in range(BUCKETS):
        rows = buckets.rows(number)
        if old is not None:
            before = old.rows_between(number << 58, (number + 1 << 58) - 1)
            rows = np.concatenate((before[before["key"] & _SOURCE_BITS != source_index], rows))
        rows = rows[np.lexsort((-rows["code"].astype(np.int32), rows["key"]))]
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = rows["key"][1:] != rows["key"][:-1]
        yield rows[is_first]


def _write(file: BinaryIO, folder: Path, parts: Iterable[NDArray[Any]], sources: list[SourceFacts]) -> None:
    digest, rows = xxhash.xxh3_128(), 0
    counts = np.zeros(len(SOURCES), np.int64)
    with (folder / "keys").open("w+b") as keys, (folder / "codes").open("w+b") as codes:
        for part in parts:
            for name, column in (("key", keys), ("code", codes)):
                data = part[name].tobytes()
                column.write(data)
                digest.update(data)
            counts += np.bincount((part["key"] & _SOURCE_BITS).astype(np.int64), minlength=len(SOURCES))
            rows += len(part)
        facts = tuple(replace(each, rows=int(counts[SOURCES.index(each.name)])) for each in sources)
        header = msgspec.json.encode(_Header(_FORMAT, rows, digest.hexdigest(), facts))
        assert len(header) < _HEADER_BYTES
        file.write(header.ljust(_HEADER_BYTES))
        for column in (keys, codes):
            column.seek(0)
            shutil.copyfileobj(column, file, 1 << 20)
