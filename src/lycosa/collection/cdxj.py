"""The CDXJ index beside each WARC file, by which replay tools find a page without reading the file."""

import gzip
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec
from msgspec import Struct

from lycosa.vocabulary.files import atomic_write, open_regular_file
from lycosa.vocabulary.media_types import media_type
from lycosa.vocabulary.records import Fetch

from .events import RecordLocation, is_revisit
from .warc import date_of, gzipped

_WWW = re.compile(r"www\d*\.")
_REMOVE_PUNCTUATION = str.maketrans("", "", "-T:")
_LINES_PER_BLOCK = 500  # compressed together
_MAX_LINE = 1_000_000  # bytes
_SLASHES = re.compile(r"//+")
_MAX_ESCAPES = 10  # a URL of others can be escaped as often as it is long
_NEVER_ESCAPED = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "#%")


def surt(url: str) -> str:
    """The URL as a sort key (SURT), with the host reversed, as replay tools use it.

    >>> surt("http://www.Example.org:8080/A//b/?y=2&x=%7E1")
    'org,example:8080)/a/b?x=~1&y=2'
    """
    scheme, _, rest = url.lower().partition("://")
    authority, _, tail = rest.partition("/")
    host, colon, port = authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    if not colon:
        host, port = authority, ""
    if port == {"http": "80", "https": "443"}.get(scheme):
        port = ""
    if host.startswith("["):
        host = host.strip("[]")
    else:
        host = ",".join(reversed(_WWW.sub("", host, count=1).strip(".").split(".")))
    path, _, query = tail.partition("?")
    if "%" in tail:
        path, query = _minimally_escaped(path), _minimally_escaped(query)
    if "//" in f"/{path}":
        path = _SLASHES.sub("/", f"/{path}")[1:]
    if "&" in query:
        query = "&".join(sorted(query.split("&"), key=lambda pair: pair.partition("=")))
    return f"{host}{':' if port else ''}{port})/{path.rstrip('/')}{'?' if query else ''}{query}"


def _minimally_escaped(text: str) -> str:
    """The text with minimal percent-escapes, even if it was escaped repeatedly, up to `_MAX_ESCAPES` times."""
    plain, escaped = unquote_to_bytes(text), text.encode()
    for _ in range(_MAX_ESCAPES):
        if plain == escaped:
            break
        plain, escaped = unquote_to_bytes(plain), plain
    return quote_from_bytes(plain, _NEVER_ESCAPED).lower()


def is_capture(fetch: Fetch) -> bool:
    """Whether there is a response to replay; a 304 has none, and replay finds the page by its earlier capture."""
    return fetch.status is not None and fetch.status != 304


def entry(fetch: Fetch, payload_digest: str, place: RecordLocation) -> str:
    """One line of the index: sort key, time, and location of the response as JSON."""
    mime = media_type(fetch.header("content-type") or "") or "unk"
    fields = {
        "url": fetch.url,
        "mime": "warc/revisit" if is_revisit(fetch) else mime,
        "status": str(fetch.status),
        "digest": payload_digest,
        "length": str(place.length),
        "offset": str(place.offset),
        "filename": place.file,
    }
    timestamp = date_of(fetch.at)[:19].translate(_REMOVE_PUNCTUATION)
    return f"{surt(fetch.url)} {timestamp} {msgspec.json.encode(fields).decode()}\n"


class Entries:
    """Lines of an index in order of arrival, compressed in blocks, so that those of a long crawl fit in memory."""

    def __init__(self, lines: Iterable[str] = ()):
        self._recent: list[str] = []
        self._blocks: list[bytes] = []
        for each in lines:
            self.add(each)

    def add(self, line: str) -> None:
        self._recent.append(line)
        if len(self._recent) == _LINES_PER_BLOCK:
            self._blocks.append(gzipped("".join(self._recent).encode()))
            self._recent.clear()

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            for line in BytesIO(gzip.decompress(block)):  # `str.splitlines` would also split at U+0085 and the like
                yield line.decode()
        yield from self._recent


def index_path(warc: Path) -> Path:
    """The path of the index of a WARC file."""
    return warc.with_name(warc.name.removesuffix(".warc.gz") + ".cdxj")


class DamagedIndexError(Exception):
    """An index has a line that Lycosa does not write."""


class _Location(Struct):
    """The fields of an entry that say where the response is."""

    filename: str
    offset: str
    length: str


_decode_location = msgspec.json.Decoder(_Location).decode


def read(warc: Path) -> Iterator[str]:
    """The lines of the index of a WARC file; raises DamagedIndexError for one that is no entry of this file."""
    with open_regular_file(index_path(warc)) as file:
        while line := file.readline(_MAX_LINE):
            try:
                _, _, fields = line.split(b" ", 2)
                is_of_this_file = _decode_location(fields).filename == warc.name and line.endswith(b"\n")
                text = line.decode()
            except (ValueError, msgspec.DecodeError) as error:
                raise DamagedIndexError(str(error)) from None
            if not is_of_this_file:
                raise DamagedIndexError(f"an entry is not of {warc.name}")
            yield text


def write(warc: Path, lines: Iterable[str]) -> None:
    """Writes the entries sorted, atomically."""
    with atomic_write(index_path(warc)) as out:
        out.writelines(line.encode() for line in sorted(lines))
