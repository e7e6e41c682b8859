"""Reads and writes WARC 1.1: each record is a gzip member, read with its offset, even after damage."""

import hashlib
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from io import SEEK_END
from typing import BinaryIO, NamedTuple

from isal import isal_zlib

from lycosa.vocabulary.text import whole_number

MAX_RECORD = 1 << 27  # bytes; longer records are skipped, which protects against gzip bombs
CHUNK = 1 << 16  # bytes read at once
_MAX_WASTED = 1 << 30  # bytes decompressed from incomplete members in one file; then the rest counts as damaged
DAMAGED = "damaged"  # `Record.kind` of bytes that are not a record
_BASE_32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_DIGIT_PAIRS = [first + second for first in _BASE_32 for second in _BASE_32]  # by their value, 0 to 1023
_RECORD_END = b"\r\n\r\n"
MEMBER_START = re.compile(rb"\x1f\x8b\x08")

_COMPRESSION_LEVEL = 2  # of ISA-L: .045 ms for a page of 15 KB; zlib takes .25 ms for the same size
_GZIP_WINDOW_BITS = 16 + 15  # 15 bits, and 16 for the gzip format


class Record(NamedTuple):
    """One record of a file, a gzip member of its own."""

    offset: int
    length: int  # compressed, in bytes
    kind: str  # its WARC-Type; empty for a complete member that is not a readable record; or DAMAGED
    headers: dict[str, str]  # by lower-case name
    block: bytes


def encode_record(kind: str, record_id: str, date: str, content_type: str, block: bytes, *header_lines: str) -> bytes:
    """One record as a gzip member; `header_lines` are added to those of every record."""
    lines = (
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: {record_id}",
        f"WARC-Date: {date}",
        *header_lines,
        f"WARC-Block-Digest: {sha1_digest(block)}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(block)}",
        "\r\n",
    )
    return gzipped(b"".join(("\r\n".join(lines).encode(), block, _RECORD_END)))


def gzipped(data: bytes) -> bytes:
    """The bytes as one gzip member."""
    return isal_zlib.compress(data, _COMPRESSION_LEVEL, _GZIP_WINDOW_BITS)


def sha1_digest(data: bytes) -> str:
    """The SHA-1 of some bytes in base 32; three times as fast as `base64`."""
    number = int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest())
    return "sha1:" + "".join([_DIGIT_PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)])


@lru_cache(maxsize=4)  # the records of one event have the same time
def date_of(at: float) -> str:
    """Seconds since the epoch as a WARC date."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def one_line(text: str) -> str:
    """The text without line breaks, which would break a header."""
    return text.replace("\r", " ").replace("\n", " ") if "\n" in text or "\r" in text else text


def read_records(stream: BinaryIO, start: int = 0) -> Iterator[Record]:
    """The complete records from an offset on; damage in between is a record of kind DAMAGED, a torn end is skipped."""
    for offset, length, data in _members(stream, start):
        if data is None:
            yield Record(offset, length, DAMAGED, {}, b"")
            continue
        head, _, rest = data.partition(b"\r\n\r\n")
        headers: dict[str, str] = {}
        for line in head.decode("utf-8", "replace").split("\r\n")[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        size = whole_number(headers.get("content-length", "")) if data.startswith(b"WARC/") else None
        if size is not None and size <= len(rest) <= size + len(_RECORD_END):
            yield Record(offset, length, headers.get("warc-type", ""), headers, rest[:size])
        else:
            yield Record(offset, length, "", {}, b"")


def _members(stream: BinaryIO, start: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Offset, compressed length and data of every complete gzip member; the data is empty if it exceeds MAX_RECORD, and
    None for bytes that are not a gzip member.
    """
    offset: int | None = start
    stream.seek(start)
    unread = b""
    wasted = 0  # bytes decompressed from incomplete members
    while offset is not None:
        decompressor = zlib.decompressobj(_GZIP_WINDOW_BITS)
        parts: list[bytes] = []
        size = consumed = 0  # bytes after and before decompression
        try:
            while not decompressor.eof:
                if not unread:
                    unread = stream.read(CHUNK)
                    if not unread:
                        break
                part = decompressor.decompress(unread, CHUNK * 16)
                rest = decompressor.unused_data if decompressor.eof else decompressor.unconsumed_tail
                consumed += len(unread) - len(rest)
                unread = rest
                size += len(part)
                if size <= MAX_RECORD:
                    parts.append(part)
                else:
                    parts.clear()
        except zlib.error:
            consumed = 0
        if consumed == 0 and not unread:
            return
        if decompressor.eof and consumed:
            yield offset, consumed, b"".join(parts)
            offset += consumed
        else:
            wasted += size + CHUNK
            damaged, offset = offset, next_member(stream, offset + 1)
            if wasted > _MAX_WASTED:  # nested members, each of which extends to the end of the file
                yield damaged, stream.seek(0, SEEK_END) - damaged, None
                return
            unread = b""
            if offset is not None:
                yield damaged, offset - damaged, None
                stream.seek(offset)


def next_member(stream: BinaryIO, start: int) -> int | None:
    """The first offset at or after `start` where a record begins."""
    while True:
        stream.seek(start)
        chunk = stream.read(CHUNK)
        for match in MEMBER_START.finditer(chunk):
            offset = start + match.start()
            stream.seek(offset)
            try:
                if zlib.decompressobj(_GZIP_WINDOW_BITS).decompress(stream.read(512), 5) == b"WARC/":
                    return offset
            except zlib.error:
                pass
        if len(chunk) < CHUNK:
            return None
        start += len(chunk) - 2
