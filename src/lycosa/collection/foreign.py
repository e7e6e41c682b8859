"""WARC files of other programs: the HTML pages in them, as fetches."""

import math
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec.structs import replace

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.key_table import KeySet
from lycosa.vocabulary.late_module import LateModule
from lycosa.vocabulary.media_types import HTML_TYPES, media_type
from lycosa.vocabulary.personal_headers import OTHERS_LEFT_OUT, is_personal_header
from lycosa.vocabulary.records import Fetch, Outcome
from lycosa.vocabulary.urls import normalise, secure_key_of

from .event_records import Decode, Headers
from .warc import CHUNK, next_member

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecordType

fastwarc = LateModule("fastwarc.warc")


def refuse_arc(path: Path, start: bytes) -> None:
    """Raises UsageError, with advice, if a file that starts with these bytes is an ARC file."""
    if start.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            start = zlib.decompressobj(16 + 15).decompress(start, 64)
    if start.startswith(b"filedesc:"):
        new = path.name.partition(".arc")[0] + ".warc.gz"
        raise UsageError(
            f"{path} is an ARC file, the older format; convert it with: warcio recompress {path} {path.with_name(new)}"
        )


_MAX_CHUNKED_RATIO = 8  # bytes sent for each byte of a body, if every chunk has one byte
_MAX_CHUNK_HEADER = 1_000  # bytes of the line before a chunk
_CHUNK_HEADER = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*+(?:;[^\r\n]*+)?+\r?\n")
FIRST_WEB_PAGE = 631_152_000.0  # 1990, in seconds since the epoch


class ForeignFetches:
    """Iterates over the HTML pages (status 200) of a WARC file; `skipped` and `damage` describe what was left out.

    Fetches of a URL for which the file has a request with cookies or the like are personal.

    latest: seconds since the epoch; pages fetched later, or before 1990, are left out.
    """

    def __init__(self, path: Path, *, decode: Decode, max_bytes: int = 1 << 20, latest: float = math.inf):
        self.skipped = 0  # responses that are not HTML pages, or unreadable
        self.damage = ""  # for people; empty if the file is intact
        self._path = path
        self._decode = decode
        self._max_bytes = max_bytes
        self._latest = latest
        _require_warc(path)

    def __iter__(self) -> Iterator[Fetch]:
        held: tuple[int, Fetch] | None = None  # with its offset; yielded one later, as the last record may be truncated
        with self._path.open("rb") as stream:
            personal = self._personal_requests(stream)
            last = 0
            for last, record in self._records(stream, fastwarc.WarcRecordType.any_type):
                if held:
                    yield held[1]
                fetch = self._fetch(record)
                if fetch is not None and secure_key_of(fetch.url) in personal:
                    fetch = replace(fetch, request_headers=(OTHERS_LEFT_OUT,))
                held = (last, fetch) if fetch else None
            if _is_truncated(stream, last):
                self.damage = self.damage or f"{self._path.name} ends in the middle of a record; what is there was read"
                if held and held[0] == last:
                    self.skipped += 1
                    held = None
        if held:
            yield held[1]

    def _personal_requests(self, stream: BinaryIO) -> KeySet:
        """The keys of the URLs that were requested with cookies or the like; requests may follow their responses."""
        found = KeySet()
        for _, record in self._records(stream, fastwarc.WarcRecordType.request):
            try:
                record.parse_http(auto_decode="none")
                is_personal = any(is_personal_header(str(name)) for name, _ in record.http_headers.items())
            except (OSError, ValueError, AttributeError):
                is_personal = True  # who knows what it was
            url = normalise((record.headers.get("WARC-Target-URI") or "").strip("<>"))
            if is_personal and url is not None:
                found.add(secure_key_of(url))
        return found

    def _records(self, stream: BinaryIO, types: "WarcRecordType") -> Iterator[tuple[int, Any]]:
        """Offsets and records; continues after unreadable parts."""
        start: int | None = 0
        while start is not None:
            stream.seek(start)
            last = start
            try:
                for record in fastwarc.ArchiveIterator(stream, parse_http=False, record_types=types):
                    last = record.stream_pos
                    yield last, record
                return
            except OSError:
                self.damage = f"{self._path.name} is damaged; the records that cannot be read were left out"
                start = next_member(stream, last + 1)

    def _fetch(self, record: Any) -> Fetch | None:
        if record.record_type != fastwarc.WarcRecordType.response or not record.is_http:
            return None
        try:
            record.parse_http(auto_decode="none")
            headers = tuple((str(name), str(value)) for name, value in record.http_headers.items())
            body = self._body(record, headers)
            status, reason = record.http_headers.status_code, record.http_headers.reason_phrase or ""
            at = record.record_date.timestamp()
        except (OSError, ValueError, AttributeError, OverflowError):
            self.skipped += 1
            return None
        url = normalise((record.headers.get("WARC-Target-URI") or "").strip("<>"))
        if url is None or status != 200 or not body or not FIRST_WEB_PAGE <= at <= self._latest:
            self.skipped += 1
            return None
        fetch = Fetch(
            url=url,
            outcome=Outcome.OK,
            at=at,
            status=status,
            reason=reason,
            headers=headers,
            body=body[: self._max_bytes],
            truncated="length" if len(body) > self._max_bytes else "",
            address=record.headers.get("WARC-IP-Address") or "",
        )
        if media_type(fetch.header("content-type") or "") not in HTML_TYPES:
            self.skipped += 1
            return None
        encoding = fetch.header("content-encoding")
        if not encoding:
            return replace(fetch, content=fetch.body)
        content, is_truncated = self._decode(fetch.body, encoding, self._max_bytes)
        return replace(fetch, content=content, truncated=fetch.truncated or ("length" if is_truncated else ""))

    def _body(self, record: Any, headers: Headers) -> bytes:
        """The body, up to a byte more than is wanted."""
        max_bytes = self._max_bytes + 1
        if not any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers):
            return bytes(record.reader.read(max_bytes))
        return unchunked(bytes(record.reader.read(_MAX_CHUNKED_RATIO * max_bytes)), max_bytes)


def unchunked(data: bytes, limit: int) -> bytes:
    """The first `limit` bytes of a body in chunked transfer encoding, up to the first malformed chunk.

    A body without any chunk is returned as it is. fastwarc is not used, as it reads any length of a chunk header.

    >>> unchunked(b"3\\r\\nbee\\r\\n1; x=y\\r\\ns\\r\\n0\\r\\n\\r\\n", 100), unchunked(b"<p>bees", 3)
    (b'bees', b'<p>')
    """
    parts: list[bytes] = []
    offset = size = 0
    while size < limit:
        header = _CHUNK_HEADER.match(data, offset, offset + _MAX_CHUNK_HEADER)
        if header is None:
            break
        parts.append(data[header.end() : header.end() + int(header[1], 16)])
        if not parts[-1]:
            break
        size += len(parts[-1])
        offset = header.end() + int(header[1], 16) + 2
    return b"".join(parts)[:limit] if parts else data[:limit]


def _require_warc(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            start = stream.read(CHUNK)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    refuse_arc(path, start)
    if start.startswith(b"\x1f\x8b"):
        try:
            start = zlib.decompressobj(16 + 15).decompress(start, 64)
        except zlib.error as error:
            raise UsageError(f"{path} is not a WARC file: it is no whole gzip file") from error
    if not start.startswith((b"WARC/", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x5d\x2a\x4d\x18")):  # zstd, lz4
        raise UsageError(f"{path} is not a WARC file")


def _is_truncated(stream: BinaryIO, last: int) -> bool:
    """Whether the file ends within the gzip member at offset `last`; other compressions are not checked."""
    stream.seek(last)
    unread = stream.read(CHUNK)
    if not unread.startswith(b"\x1f\x8b"):
        return False
    decompressor = zlib.decompressobj(16 + 15)
    try:
        while unread:
            decompressor.decompress(unread, CHUNK * 16)
            if decompressor.eof:
                return False
            unread = decompressor.unconsumed_tail or stream.read(CHUNK)
    except zlib.error:
        pass
    return True
