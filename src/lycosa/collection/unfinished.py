"""What a kill leaves at the end of a file of ours, told apart from what is whole or of others and therefore stays."""

import os
import zlib
from contextlib import suppress
from typing import BinaryIO

from .warc import CHUNK, Record, records

SOFTWARE = b"software: lycosa/"  # how the warcinfo of every version begins
_GZIP_START = b"\x1f"
_WARCINFO_START = b"WARC/1.1\r\nWARC-Type: warcinfo\r\n"
_LONGEST_WARCINFO = 1_000  # bytes, well above what ours takes
_FIRST_HEADERS = ["warc-type", "warc-record-id", "warc-date", "warc-target-uri"]
_LAST_HEADERS = ["warc-block-digest", "content-type", "content-length"]


def is_begun_by_lycosa(stream: BinaryIO) -> bool:
    """Whether some version of Lycosa began this file; nothing is cut from another, nor added to it."""
    first = next(records(stream), None)
    return first is not None and first.offset == 0 and first.block.startswith(SOFTWARE)


def end_of_whole(stream: BinaryIO, known: int) -> int:
    """Where to cut a file of ours so that nothing unfinished remains at its end; 0 where no event would remain.

    Unfinished is a torn record, and an answer of ours, with its request or without, that no metadata completes. The
    file is taken to be whole up to `known` if a record may begin there, or nothing follows.
    """
    size = stream.seek(0, os.SEEK_END)
    end = known
    answer: Record | None = None  # of a group that nothing has completed yet
    for each in records(stream, known if _may_be_torn(stream, known) else 0):
        end = each.offset + each.length
        if each.kind in ("response", "revisit") and _has_our_form(each):
            answer = each
        elif answer and not (each.kind == "request" and _is_about(each, answer)):
            answer = None
    if end < size and not _may_be_torn(stream, end):
        return size
    cut = answer.offset if answer else end
    warcinfo = next(records(stream), None)
    return 0 if warcinfo and cut == warcinfo.length else cut


def is_torn_within_warcinfo(stream: BinaryIO) -> bool:
    """Whether all there is of a file is the beginning of the record that begins ours."""
    stream.seek(0)
    start = stream.read(CHUNK).rstrip(b"\0")
    if len(start) >= _LONGEST_WARCINFO or not _may_be_torn(stream, 0) or next(records(stream), None) is not None:
        return False
    unpacker, text = zlib.decompressobj(16 + 15), b""
    with suppress(zlib.error):
        for byte in start:  # one by one: what comes before the damage is seen
            text += unpacker.decompress(bytes((byte,)))
    return text.startswith(_WARCINFO_START[: len(text)])


def _may_be_torn(stream: BinaryIO, offset: int) -> bool:
    """Whether a torn record of ours may begin there; what did not come to the disk is zeros."""
    stream.seek(offset)
    return stream.read(1) in (b"", b"\0", _GZIP_START)


def _is_about(request: Record, answer: Record) -> bool:
    return request.headers.get("warc-concurrent-to") == answer.headers.get("warc-record-id")


def _has_our_form(record: Record) -> bool:
    names = list(record.headers)
    return names[: len(_FIRST_HEADERS)] == _FIRST_HEADERS and names[-len(_LAST_HEADERS) :] == _LAST_HEADERS
