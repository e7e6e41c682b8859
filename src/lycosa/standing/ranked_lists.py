"""Imports public rank lists, recognised by their first lines, into the authority table.

Plain, gzipped, or a zip of one file. Rows without a host or a rank are skipped and counted; errors name file and line.
"""

import csv
import lzma
import re
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import DamagedTextError, LineTooLongError, chunks, decompressed, numbered_lines
from lycosa.vocabulary.text import counted, printable, whole_number
from lycosa.vocabulary.urls import normalise

from .authority_table import (
    BUCKETS,
    MAX_RANK,
    PAGE_LIST,
    SOURCES,
    TEMPORARY_PREFIX,
    Keys,
    QuantisedRanks,
    RowBuckets,
    SourceFacts,
    key_of_name,
    key_of_page,
    quantised_rank,
    rewrite,
)

DEFAULT_TOP = 10_000_000  # rows of a list that are kept: the first ones, or the URLs with the most linking pages
MAX_LINE = 10_000  # bytes
_BATCH = 65_536  # rows
_MAX_TUPLE = 100_000  # bytes of one row of an SQL dump
_LINK = np.dtype([("key", "<u8"), ("source_page", "<u4")])  # the linked URL, and the page of Wikipedia that links to it
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_KNOWN_LISTS = (
    "Common Crawl domain and host ranks, Majestic Million, Tranco, CrUX, Open PageRank, Wikipedia's externallinks.sql, "
    "or lines of domain,rank with such a header"
)

Progress = Callable[[int], None]  # rows accepted so far


class ImportedList(Struct, frozen=True):
    """The result of an import."""

    source: SourceFacts
    skipped: int  # number of rows without a host or rank


class _Columns(NamedTuple):
    """The format of a list."""

    source: str  # of SOURCES
    separator: str
    name: int  # index of the column with the host or domain
    rank: int  # index of the column with the rank
    has_header: bool = True
    is_reversed: bool = False  # com.example.www
    is_origin: bool = False  # https://www.example.com


def import_list(
    path: Path, table: Path, *, top: int = DEFAULT_TOP, progress: Progress = lambda rows: None
) -> ImportedList:
    """Imports a list into the table, replacing an earlier version of it; the format is detected.

    top: number of rows that are kept: the first ones, or of Wikipedia's links the URLs with the most linking pages.
    """
    start = _first_lines(path)
    if "externallinks" in "\n".join(start) and any(line.startswith(("-- ", "/*", "CREATE", "DROP")) for line in start):
        return _import_dump(path, table, top=top, progress=progress)
    columns = _recognised(path, start)
    skipped = 0

    def fill(buckets: RowBuckets) -> SourceFacts:
        nonlocal skipped
        row_count, largest_rank = 0, 1
        keys: list[int] = []
        quantised_ranks: list[int] = []
        source_index = SOURCES.index(columns.source)
        for number, line in _lines(path):
            if columns.has_header and number == 1:
                continue
            found = _row(line, columns)
            if found is None:
                skipped += bool(line.strip())
                if skipped >= 1_000 and skipped > row_count:
                    raise UsageError(
                        f"{path}:{number}: most lines do not match the first line's format; "
                        f"this one is {printable(line, 80)!r}"
                    )
                continue
            name, rank = found
            keys.append(key_of_name(name) | source_index)  # the list is in the last bits of a key
            quantised_ranks.append(quantised_rank(rank))
            row_count, largest_rank = row_count + 1, max(largest_rank, min(rank, MAX_RANK))
            if len(keys) == _BATCH:
                _add(buckets, keys, quantised_ranks)
                progress(row_count)
            if row_count >= top:
                break
        _add(buckets, keys, quantised_ranks)
        if not row_count:
            raise UsageError(f"{path}: no line has a host and a rank; give one of: {_KNOWN_LISTS}")
        return SourceFacts(
            name=columns.source,
            file=path.name[:200],
            rows=row_count,
            largest_rank=largest_rank,
            imported_at=time.time(),
        )

    facts = rewrite(table, columns.source, fill)
    assert facts is not None
    return ImportedList(facts, skipped)


def _add(buckets: RowBuckets, keys: list[int], quantised_ranks: list[int]) -> None:
    if keys:
        buckets.add(np.array(keys, np.uint64), np.array(quantised_ranks, np.uint16))
    keys.clear()
    quantised_ranks.clear()


def _recognised(path: Path, start: list[str]) -> _Columns:
    """The format of a list, recognised by its header or first lines."""
    first = start[0] if start else ""
    header = [field.strip().strip('"#').lower() for field in re.split("[\t,]", first)]
    if "harmonicc_pos" in header and "host_rev" in header:
        is_of_domains = "n_hosts" in header or "domain" in path.name.lower()
        source = "Common Crawl domains" if is_of_domains else "Common Crawl hosts"
        return _Columns(source, "\t", header.index("host_rev"), header.index("harmonicc_pos"), is_reversed=True)
    if "globalrank" in header and "domain" in header:
        return _Columns("Majestic Million", ",", header.index("domain"), header.index("globalrank"))
    if "open page rank" in header and "domain" in header and "rank" in header:
        return _Columns("Open PageRank", ",", header.index("domain"), header.index("rank"))
    if header == ["origin", "rank"]:
        return _Columns("CrUX", ",", 0, 1, is_origin=True)
    if "domain" in header and "rank" in header:
        separator = "\t" if "\t" in first else ","
        return _Columns("ranked domains", separator, header.index("domain"), header.index("rank"))
    rows = [[field.strip().strip('"') for field in re.split("[\t,]", line)] for line in start[:3]]
    separator = "\t" if "\t" in first else ","
    if rows and all(len(row) == 2 for row in rows):
        if [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]:
            return _Columns("Tranco", separator, 1, 0, has_header=False)
        if [row[1] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]:
            return _Columns("ranked domains", separator, 0, 1, has_header=False)
    raise UsageError(
        f"{path}:1: not a list of ranks in a known format: {printable(first, 80)!r}; give one of: {_KNOWN_LISTS}"
    )


def _row(line: str, columns: _Columns) -> tuple[str, int] | None:
    """The name of a host and its rank; None if the line has none."""
    if '"' in line:
        try:
            fields = next(csv.reader([line], delimiter=columns.separator))
        except (csv.Error, StopIteration):
            return None
    else:
        fields = line.split(columns.separator)
    if len(fields) <= max(columns.name, columns.rank):
        return None
    rank, name = whole_number(fields[columns.rank].strip(), maximum=10**12), fields[columns.name].strip().lower()
    if not rank:
        return None
    if columns.is_reversed:
        name = ".".join(reversed(name.split(".")))
    elif columns.is_origin:
        name = name.partition("://")[2].partition(":")[0].rstrip("/")
    host = _host(name)
    return None if host is None else (host, rank)


def _host(name: str) -> str | None:
    """A host name in normalised form."""
    if len(name) <= 253 and _NAME.fullmatch(name):
        return name
    if not name or len(name) > 253 or name.isascii():
        return None
    url = normalise(f"http://{name}/")  # an internationalised name
    return url[7:-1] if url else None


# ---------------------------------------------------------------- the dump of Wikipedia's external links

_TUPLE = re.compile(rb"\((\d{1,12}),(\d{1,12}),'((?:[^'\\]|\\.)*+)',(?:'((?:[^'\\]|\\.)*+)'|NULL)\)")
_ESCAPED = re.compile(rb"\\(.)")


def _import_dump(path: Path, table: Path, *, top: int, progress: Progress) -> ImportedList:
    """Counts the pages of Wikipedia that link to each URL, and ranks the URLs by it."""
    source_index = SOURCES.index(PAGE_LIST)
    skipped = 0

    def fill(buckets: RowBuckets) -> SourceFacts:
        nonlocal skipped
        with TemporaryDirectory(prefix=TEMPORARY_PREFIX, dir=table.parent) as temporary:
            links = RowBuckets(Path(temporary), _LINK)
            link_count, keys, source_pages = 0, list[int](), list[int]()
            for link in _dumped_links(path):
                url = _url_of(link.domain, link.path)
                if url is None:
                    skipped += 1
                    continue
                keys.append(key_of_page(url))
                source_pages.append(link.source_page & 0xFFFF_FFFF)
                link_count += 1
                if len(keys) == _BATCH:
                    links.add(np.array(keys, np.uint64), np.array(source_pages, np.uint32))
                    keys.clear()
                    source_pages.clear()
                    progress(link_count)
            links.add(np.array(keys, np.uint64), np.array(source_pages, np.uint32))
            if not link_count:
                raise UsageError(f"{path}: no links in it; give the dump of the table externallinks, of 2023 or later")
            return _ranked(links, buckets, source_index, top, path)

    facts = rewrite(table, PAGE_LIST, fill)
    assert facts is not None
    return ImportedList(facts, skipped)


def _ranked(links: RowBuckets, buckets: RowBuckets, source_index: int, top: int, path: Path) -> SourceFacts:
    """Ranks URLs by the number of linking pages: 1 + the number of URLs with a higher count.

    URLs with equal counts are kept or dropped together.
    """
    urls_by_count: dict[int, int] = {}  # number of URLs by the number of pages that link to them
    for number in range(BUCKETS):
        _, counts = _linking_pages(links, number)
        for count, url_count in zip(*(each.tolist() for each in np.unique(counts, return_counts=True)), strict=True):
            urls_by_count[count] = urls_by_count.get(count, 0) + url_count
    rank_by_count, rank = dict[int, int](), 1
    for count in sorted(urls_by_count, reverse=True):
        if rank - 1 + urls_by_count[count] > top:
            break
        rank_by_count[count], rank = rank, rank + urls_by_count[count]
    if not rank_by_count:
        most = max(urls_by_count)
        raise UsageError(
            f"{path}: {counted(urls_by_count[most], 'URL')} of the same rank, more than the {top:,} that are kept; "
            f"say --top {urls_by_count[most]} or more"
        )
    quantised_by_count = {count: quantised_rank(each) for count, each in rank_by_count.items()}
    for number in range(BUCKETS):
        keys, counts = _linking_pages(links, number)
        chosen: Keys = keys[np.isin(counts, list(rank_by_count))] | np.uint64(source_index)
        quantised_ranks: QuantisedRanks = np.array(
            [quantised_by_count[count] for count in counts.tolist() if count in quantised_by_count], np.uint16
        )
        if len(chosen):
            buckets.add(chosen, quantised_ranks)
    return SourceFacts(
        name=SOURCES[source_index],
        file=path.name[:200],
        rows=rank - 1,
        largest_rank=max(rank_by_count.values()),
        imported_at=time.time(),
    )


def _linking_pages(links: RowBuckets, number: int) -> tuple[Keys, NDArray[np.int64]]:
    """The keys in a bucket of links, and how many different pages link to each."""
    rows = links.rows(number)
    rows = rows[np.lexsort((rows["source_page"], rows["key"]))]
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = rows[1:] != rows[:-1]
    return np.unique(rows["key"][is_first], return_counts=True)


class _DumpedLink(NamedTuple):
    """A row of the dump."""

    source_page: int  # of Wikipedia
    domain: bytes  # reversed
    path: bytes


def _dumped_links(path: Path) -> Iterator[_DumpedLink]:
    """The links of a dump."""
    rest = b""
    with _text(path) as text:
        for chunk in chunks(text):
            rest += chunk
            end = 0
            for found in _TUPLE.finditer(rest):
                end = found.end()
                yield _DumpedLink(int(found[2]), found[3], found[4] or b"")
            rest = rest[max(end, len(rest) - _MAX_TUPLE) :]


def _url_of(domain: bytes, path: bytes) -> str | None:
    """The URL of a link: https://org.example.www. and /a is https://www.example.org/a."""
    scheme, _, name = domain.decode("utf-8", "replace").partition("://")
    name, _, port = name.partition(":")
    if scheme not in ("http", "https", "") or not name:
        return None
    host = ".".join(reversed(name.strip(".").split(".")))
    tail = _ESCAPED.sub(rb"\1", path).decode("utf-8", "replace")
    return normalise(f"{scheme or 'https'}://{host}{f':{port}' if port else ''}{tail}")


# ---------------------------------------------------------------- files


# Raised for a damaged member by its way of compression; bzip2 raises an OSError without a number.
_DAMAGED_ZIP = (zipfile.BadZipFile, NotImplementedError, RuntimeError, lzma.LZMAError, zlib.error, EOFError)


@contextmanager
def _text(path: Path) -> Iterator[BufferedIOBase]:
    """The text of a file, decompressed."""
    if not path.is_file():
        raise UsageError(f"{path} is not a file; give a list of ranks")
    try:
        with path.open("rb") as file:
            is_zip = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            if not is_zip:
                yield decompressed(file)
                return
            with zipfile.ZipFile(file) as archive:
                members = [each for each in archive.namelist() if not each.endswith("/")]
                if len(members) != 1:
                    raise UsageError(f"{path}: a zip of {len(members)} files; unpack it, and give the list itself")
                with archive.open(members[0]) as member:
                    yield cast(BufferedIOBase, member)
    except DamagedTextError as damage:
        raise UsageError(f"{path}:{damage.line}: the file is cut short or damaged here ({damage})") from None
    except LineTooLongError as long:
        raise UsageError(
            f"{path}:{long.line}: the line is longer than {MAX_LINE} bytes; is this a list of ranks?"
        ) from None
    except PermissionError:
        raise UsageError(f"{path} cannot be read; give access") from None
    except _DAMAGED_ZIP as error:
        raise UsageError(f"{path}: the zip cannot be read ({error}); unpack it, and give the list itself") from None
    except OSError as error:
        if error.errno is not None:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        raise UsageError(f"{path}: the zip cannot be read ({error}); unpack it, and give the list itself") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with _text(path) as text:
        for number, line in numbered_lines(text, longest_line=MAX_LINE):
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8", "replace").rstrip("\r")


def _first_lines(path: Path) -> list[str]:
    with _text(path) as text:
        start = next(chunks(text, 8192), b"")
    return start.decode("utf-8-sig", "replace").splitlines()[:20]
