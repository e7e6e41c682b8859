"""The archive of a collection: a folder of WARC 1.1 files to which every event is appended.

It is the log of the collection, from which catalog and search index can be rebuilt.

An event is a group of records. `recover` removes an unfinished group at the end of the last file, as left by a kill;
`forget` rewrites files without some URLs. Complete records of other programs stay as they are. A capture is a response
that replay tools can show; each has an entry in the CDXJ index beside its file.
"""

import math
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from msgspec import UNSET
from msgspec.structs import replace

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import atomic_write, open_regular_file
from lycosa.vocabulary.records import Fetch, Url
from lycosa.vocabulary.text import quoted

from . import cdxj
from .errors import disk_errors, rebuilt_with
from .event_records import (
    AttemptMetadata,
    Decode,
    EventRecords,
    Metadata,
    NewId,
    VisitMetadata,
    decode_event,
    encode_event,
    groups,
    groups_and_other_records,
    metadata_record,
    time_of,
    url_of,
    url_of_record,
)
from .events import ArchivePosition, Event, RecordLocation, RunStart, Scores, fetch_of
from .warc import CHUNK, DAMAGED, Record, date_of, encode_record, read_records

_FILE_NAME = re.compile(r"[^/\\]*-(\d{5,18})\.warc\.gz")
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9_]+")
_SOFTWARE_FIELD = b"software: lycosa/"  # the warcinfo record of every version starts with it
_GZIP_START = b"\x1f"
_WARCINFO_START = b"WARC/1.1\r\nWARC-Type: warcinfo\r\n"
_MAX_WARCINFO_LENGTH = 1_000  # bytes, well above the length of ours
_FIRST_HEADERS = ["warc-type", "warc-record-id", "warc-date", "warc-target-uri"]
_LAST_HEADERS = ["warc-block-digest", "content-type", "content-length"]


class Archive:
    """Appends events and reads them back in order.

    The records of an event are written at once, so that a kill leaves at most one unfinished group, at the end, which
    `recover` truncates. CDXJ entries of the current file are kept in memory, some 100 bytes per response.

    part_of: the archive folder of the collection of which this is a shard. Pages that it has are read from there, and
        the names of files that are written here can be added to it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        software: str,
        clock: Clock,
        decode: Decode,
        writable: bool,
        max_bytes: int = 1 << 30,
        entropy: Callable[[int], bytes] = os.urandom,
        part_of: Path | None = None,
    ):
        self._folder = folder
        self._part_of = part_of
        self._software = software
        self._clock = clock
        self._decode = decode
        self._writable = writable
        self._max_bytes = max_bytes
        self._ids = _record_ids(entropy)
        self._out: BinaryIO | None = None
        self._path: Path | None = None
        self._size = 0
        self._index: cdxj.Entries | None = None  # of the current file; None if no capture was added to it yet
        self._is_index_complete = False  # whether the index file has every capture of the current file until then
        self.unreadable_records: dict[str, int] = {}  # per file, found by reads so far
        self.damaged_bytes: dict[str, int] = {}  # per file, between records, found by reads so far
        if writable:
            with disk_errors(folder):
                folder.mkdir(exist_ok=True)
                for leftover in folder.glob("*.new"):
                    leftover.unlink()
                for finished in self.files()[:-1]:
                    self._index_if_missing(finished)

    # ------------------------------------------------------------ files

    def files(self) -> list[Path]:
        """The WARC files, in the order of writing."""
        return _files_in(self._folder)

    def position(self) -> ArchivePosition | None:
        """The end of the archive; None before the first event."""
        if self._path:
            return ArchivePosition(self._path.name, self._size)
        return end_of_archive(self._folder)

    # ------------------------------------------------------------ writing

    def append(self, event: Event) -> RecordLocation:
        """Appends an event with a single write; returns its location."""
        encoded = encode_event(event, self._ids.__next__)
        with disk_errors(self._folder):
            out, path, warcinfo = self._file()
            fetch = fetch_of(event)
            is_capture = fetch is not None and cdxj.is_capture(fetch)
            if is_capture and self._index is None:
                self._index = self._current_entries(path)
                cdxj.index_path(path).unlink(missing_ok=True)  # about to become outdated
            offset = self._size + len(warcinfo)
            self._write(out, b"".join((warcinfo, *encoded.members)))
        place = RecordLocation(path.name, offset, len(encoded.members[0]))
        if fetch is not None and is_capture and self._index is not None:
            self._index.add(cdxj.entry(fetch, encoded.payload_digest, place))
        return place

    def sync(self) -> None:
        """Flushes everything written to disk."""
        if self._out:
            with disk_errors(self._folder):
                os.fsync(self._out.fileno())

    def close(self) -> None:
        """Finishes the current file; the archive may be appended to again."""
        with disk_errors(self._folder):
            self._finish()
            if self._writable and (files := self.files()):
                self._index_if_missing(files[-1])

    def abandon(self) -> None:
        """Closes the current file without finishing it, as after a kill."""
        if self._out:
            self._out.close()
            self._out = None

    def _file(self) -> tuple[BinaryIO, Path, bytes]:
        """The file to write to, and the warcinfo record that must precede the next group if the file is new."""
        if not self._writable:
            raise CollectionError(f"{self._folder} was opened for reading only")
        if self._size >= self._max_bytes:
            self._finish()
        if self._out and self._path:
            return self._out, self._path, b""
        files = self.files()
        last = files[-1] if files else None
        if last and last.stat().st_size < self._max_bytes and _is_ours(last):
            path, warcinfo = last, b""
            self._is_index_complete = _is_fresh(cdxj.index_path(last), last)
        else:
            path, warcinfo = self._new_file(last)
            self._is_index_complete = False
        self._out, self._path = path.open("ab", buffering=0), path
        self._size = path.stat().st_size
        return self._out, path, warcinfo

    def _new_file(self, last: Path | None) -> tuple[Path, bytes]:
        """The path of the file after `last`, and its warcinfo record."""
        moment = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y%m%d%H%M%S")
        owner = self._part_of or self._folder
        collection = _UNSAFE_CHARACTERS.sub("_", owner.absolute().parent.name) or "lycosa"
        shard = f"-{self._folder.parent.name}" if self._part_of else ""
        if last is None and self._part_of is not None:
            last = next(reversed(_files_in(self._part_of)), None)
        number = _sequence_number(last.name) + 1 if last else 1
        path = self._folder / f"{collection}{shard}-{moment}-{number:05d}.warc.gz"
        fields = f"software: {self._software}\r\nformat: WARC File Format 1.1\r\nisPartOf: {collection}\r\n"
        mime, file_name = "application/warc-fields", f"WARC-Filename: {path.name}"
        return path, encode_record(
            "warcinfo", next(self._ids), date_of(self._clock.now()), mime, fields.encode(), file_name
        )

    def _write(self, out: BinaryIO, data: bytes) -> None:
        unwritten = memoryview(data)
        try:
            while unwritten:
                unwritten = unwritten[out.write(unwritten) :]
        except OSError:
            with suppress(OSError):
                out.truncate(self._size)  # a partial write, because the disk is full
            raise
        self._size += len(data)

    def _finish(self) -> None:
        out, path, index = self._out, self._path, self._index
        self._out, self._path, self._size, self._index = None, None, 0, None
        if out and path:
            with out:
                os.fsync(out.fileno())
            if index is not None:
                cdxj.write(path, index)
            elif self._is_index_complete:
                os.utime(cdxj.index_path(path))  # nothing to index was added, and so it is not outdated

    # ------------------------------------------------------------ reading

    def events(self, after: ArchivePosition | None = None) -> Iterator[tuple[Event, RecordLocation]]:
        """Every event from a position on, without parsed pages; skips damage and records of other programs."""
        for event, place, _ in self.events_with_ends(after):
            yield event, place

    def events_with_ends(
        self, after: ArchivePosition | None = None
    ) -> Iterator[tuple[Event, RecordLocation, ArchivePosition]]:
        """Every event from a position on, and the position after each."""
        for path, group in self._groups(after):
            yield (
                decode_event(group, self._decode),
                _location_of_group(path, group),
                ArchivePosition(path.name, group.end),
            )

    def fetch_locations(self) -> Iterator[tuple[Url, float, RecordLocation]]:
        """URL, time and location of every fetch, in order; cheaper than `events`."""
        for path, group in self._groups(None):
            url = url_of(group.metadata)
            if url is not None:
                yield url, time_of(group.metadata), _location_of_group(path, group)

    def fetch_at(self, place: RecordLocation) -> Fetch:
        """The fetch at a location."""
        fetch = fetch_of(self.event_at(place))
        if fetch is None:
            raise self._catalog_mismatch()
        return fetch

    def event_at(self, place: RecordLocation) -> Event:
        """The event at a location; visits without parsed pages."""
        with self._file_of(place) as stream:
            group = next(groups(stream, place.offset), None)
            if group is None or group.start != place.offset:
                raise self._catalog_mismatch()
            return decode_event(group, self._decode)

    def record_at(self, place: RecordLocation) -> bytes:
        """The compressed bytes of the record at a location."""
        with self._file_of(place) as stream:
            stream.seek(place.offset)
            return stream.read(place.length)

    @contextmanager
    def _file_of(self, place: RecordLocation) -> Iterator[BinaryIO]:
        """Opens the file of a location from the catalog; only WARC files of this archive are opened."""
        if not _FILE_NAME.fullmatch(place.file) or "\0" in place.file or place.offset < 0:
            raise self._catalog_mismatch()
        path = self._folder / place.file
        if self._part_of is not None and not path.exists():
            path = self._part_of / place.file
        with disk_errors(self._folder), open_regular_file(path) as stream:
            yield stream

    def _catalog_mismatch(self) -> CollectionError:
        name = rebuilt_with(self._folder.parent)
        return CollectionError(f"the catalog of {name} does not fit its archive; run: lycosa rebuild {quoted(name)}")

    def _groups(self, after: ArchivePosition | None) -> Iterator[tuple[Path, EventRecords]]:
        for path in self.files():
            if after and _sort_key(path.name) < _sort_key(after.file):
                continue
            start = after.offset if after and path.name == after.file else 0
            unreadable = damaged = 0
            with disk_errors(self._folder), open_regular_file(path) as stream:
                for part in groups_and_other_records(stream, start):
                    if isinstance(part, EventRecords):
                        yield path, part
                    elif part.kind == DAMAGED:
                        damaged += part.length
                    elif part.kind != "warcinfo":
                        unreadable += 1
            if unreadable:
                self.unreadable_records[path.name] = unreadable
            if damaged:
                self.damaged_bytes[path.name] = damaged

    # ------------------------------------------------------------ recovering and forgetting

    def recover(self, committed: ArchivePosition | None) -> None:
        """Truncates an unfinished group at the end of the last file; deletes the file if it has no event.

        Complete records stay, even those of other programs.

        committed: the position up to which the catalog is complete, so that only the rest must be read.
        """
        files = self.files()
        if not files:
            if committed:
                raise self._truncated_archive()
            return
        last = files[-1]
        size = last.stat().st_size
        complete_up_to = committed.offset if committed and committed.file == last.name else 0
        if complete_up_to > size or (committed and _sort_key(committed.file) > _sort_key(last.name)):
            raise self._truncated_archive()
        with disk_errors(self._folder), last.open("r+b") as stream:
            if _is_written_by_lycosa(stream):
                end = _end_of_complete_groups(stream, complete_up_to)
            else:
                end = 0 if _is_torn_within_warcinfo(stream) else size
            if end < size:
                stream.truncate(end)
                os.fsync(stream.fileno())
        if end == 0:
            last.unlink()

    def forget(self, is_forgotten: Callable[[Url], bool]) -> int:
        """Rewrites the files, each atomically, without these URLs; returns the number of removed events. Locations
        change.

        Unknown records are removed if they are about these URLs, and copied otherwise.
        """
        removed = 0
        with disk_errors(self._folder):
            self._finish()
            for path in self.files():
                removed += self._rewrite(path, is_forgotten)
        return removed

    def _rewrite(self, path: Path, is_forgotten: Callable[[Url], bool]) -> int:
        removed = 0
        # The source is closed before it is replaced, as Windows requires.
        with suppress(_UnchangedError), atomic_write(path) as out, path.open("rb") as source:
            removed, changed = _copy_without(source, out, is_forgotten, self._ids.__next__)
            if not removed and not changed:
                raise _UnchangedError
            cdxj.index_path(path).unlink(missing_ok=True)  # outdated from here on
        self._index_if_missing(path)
        return removed

    def _truncated_archive(self) -> CollectionError:
        name = rebuilt_with(self._folder.parent)
        return CollectionError(
            f"the archive of {name} is shorter than its catalog knows; run: lycosa rebuild {quoted(name)}"
        )

    # ------------------------------------------------------------ CDXJ

    def _index_if_missing(self, path: Path) -> None:
        if not _is_fresh(cdxj.index_path(path), path) and _is_ours(path):
            cdxj.write(path, self.cdxj_entries(path))

    def _current_entries(self, path: Path) -> cdxj.Entries:
        """The entries of the current file, before the next event."""
        if self._is_index_complete:
            with suppress(cdxj.DamagedIndexError):
                return cdxj.Entries(cdxj.read(path))
        return cdxj.Entries(self.cdxj_entries(path))

    def cdxj_entries(self, path: Path, end: float = math.inf) -> Iterator[str]:
        """The CDXJ entry of every response in a file, up to an offset, in the order of writing."""
        with open_regular_file(path) as stream:
            for group in groups(stream):
                if group.end > end:
                    return
                fetch = fetch_of(decode_event(group, _undecoded)) if group.response else None
                if group.response and fetch and cdxj.is_capture(fetch):
                    payload_digest = group.response.headers.get("warc-payload-digest", "")
                    yield cdxj.entry(fetch, payload_digest, _location_of_group(path, group))


def _record_ids(entropy: Callable[[int], bytes]) -> Iterator[str]:
    while True:
        digits_of_many = entropy(4096).hex()  # 128 identifiers per system call
        for start in range(0, len(digits_of_many), 32):
            digits = digits_of_many[start : start + 32]
            yield f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


def _undecoded(body: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    """A `Decode` that returns the body as it is, for callers that need headers only."""
    return body, False


def _is_fresh(index: Path, path: Path) -> bool:
    return index.exists() and index.stat().st_mtime_ns >= path.stat().st_mtime_ns


def end_of_archive(folder: Path) -> ArchivePosition | None:
    """The position after the last event of the archive in a folder; None before the first event."""
    files = _files_in(folder)
    return ArchivePosition(files[-1].name, files[-1].stat().st_size) if files else None


def _files_in(folder: Path) -> list[Path]:
    """The WARC files of an archive, in the order of writing."""
    return sorted(
        (path for path in folder.glob("*.warc.gz") if _FILE_NAME.fullmatch(path.name)),
        key=lambda path: _sort_key(path.name),
    )


def _sequence_number(name: str) -> int:
    match = _FILE_NAME.fullmatch(name)
    return int(match[1]) if match else 0


def _sort_key(name: str) -> tuple[int, str]:
    return _sequence_number(name), name


def _is_ours(path: Path) -> bool:
    with open_regular_file(path) as stream:
        return _is_written_by_lycosa(stream)


def _location_of_group(path: Path, group: EventRecords) -> RecordLocation:
    return RecordLocation(path.name, group.start, group.first.length)


# ---------------------------------------------------------------- recovery after a kill


def _is_written_by_lycosa(stream: BinaryIO) -> bool:
    """Whether Lycosa wrote the warcinfo record of this file; only such files are truncated or appended to."""
    first = next(read_records(stream), None)
    return first is not None and first.offset == 0 and first.block.startswith(_SOFTWARE_FIELD)


def _end_of_complete_groups(stream: BinaryIO, complete_up_to: int) -> int:
    """Where to truncate a file of Lycosa so that it ends with a complete group; 0 if no event would remain.

    Unfinished are a torn record, of which only the beginning was written, and a response or revisit of Lycosa, with or
    without its request, without the metadata record that completes it. The file is assumed complete up to
    `complete_up_to` if a record may begin there, or nothing follows.
    """
    size = stream.seek(0, os.SEEK_END)
    end = complete_up_to
    response: Record | None = None  # of an unfinished group
    for each in read_records(stream, complete_up_to if _may_be_torn(stream, complete_up_to) else 0):
        end = each.offset + each.length
        if each.kind in ("response", "revisit") and _has_our_header_order(each):
            response = each
        elif response and not (each.kind == "request" and _is_request_of(each, response)):
            response = None
    if end < size and not _may_be_torn(stream, end):
        return size
    cut = response.offset if response else end
    warcinfo = next(read_records(stream), None)
    return 0 if warcinfo and cut == warcinfo.length else cut


def _is_torn_within_warcinfo(stream: BinaryIO) -> bool:
    """Whether the file contains only the torn beginning of a warcinfo record of Lycosa."""
    stream.seek(0)
    start = stream.read(CHUNK).rstrip(b"\0")
    if (
        len(start) >= _MAX_WARCINFO_LENGTH
        or not _may_be_torn(stream, 0)
        or next(read_records(stream), None) is not None
    ):
        return False
    decompressor, text = zlib.decompressobj(16 + 15), b""
    with suppress(zlib.error):
        for byte in start:  # one at a time, to get all text before the damage
            text += decompressor.decompress(bytes((byte,)))
    return text.startswith(_WARCINFO_START[: len(text)])


def _may_be_torn(stream: BinaryIO, offset: int) -> bool:
    """Whether a torn record of Lycosa may begin at the offset; blocks that did not reach the disk read as zeros."""
    stream.seek(offset)
    return stream.read(1) in (b"", b"\0", _GZIP_START)


def _is_request_of(request: Record, response: Record) -> bool:
    return request.headers.get("warc-concurrent-to") == response.headers.get("warc-record-id")


def _has_our_header_order(record: Record) -> bool:
    names = list(record.headers)
    return names[: len(_FIRST_HEADERS)] == _FIRST_HEADERS and names[-len(_LAST_HEADERS) :] == _LAST_HEADERS


# ---------------------------------------------------------------- forgetting


class _UnchangedError(Exception):
    """Ends the rewriting of a file that has nothing to forget, which then stays as it is."""


def _copy_without(
    source: BinaryIO, out: BinaryIO, is_forgotten: Callable[[Url], bool], new_id: NewId
) -> tuple[int, int]:
    """Copies a file without the forgotten URLs; returns the number of dropped events, and of other changes."""
    removed = changed = 0
    for part in groups_and_other_records(source):
        resume_at = source.tell()  # `groups_and_other_records` continues here
        if isinstance(part, Record):
            if part.kind == DAMAGED:
                changed += 1  # it may be about anything, and so is dropped
            elif _is_about_forgotten(part, is_forgotten):
                changed += 1
            else:
                _copy(source, part.offset, part.offset + part.length, out)
        elif (metadata := _metadata_without(part.metadata, is_forgotten)) is None:
            removed += 1
        elif metadata == part.metadata:
            _copy(source, part.start, part.end, out)
        else:
            changed += 1
            _copy(source, part.start, part.metadata_record.offset, out)
            out.write(metadata_record(metadata, new_id(), part.metadata_record.headers.get("warc-concurrent-to")))
        source.seek(resume_at)
    return removed, changed


def _is_about_forgotten(record: Record, is_forgotten: Callable[[Url], bool]) -> bool:
    url = url_of_record(record)
    return url is not None and is_forgotten(url)


def _metadata_without(metadata: Metadata, is_forgotten: Callable[[Url], bool]) -> Metadata | None:
    """The metadata without the forgotten URLs; None if it is about one of them."""
    url = url_of(metadata)
    if url is not None and is_forgotten(url):
        return None
    match metadata:
        case RunStart():
            # The last seeds are those that sitemaps named; the user gave those before.
            given_count = len(metadata.seeds) - (metadata.sitemap_seed_count or 0)
            given, from_sitemaps = (
                tuple(seed for seed in seeds if not is_forgotten(seed))
                for seeds in (metadata.seeds[:given_count], metadata.seeds[given_count:])
            )
            return replace(metadata, seeds=given + from_sitemaps, sitemap_seed_count=len(from_sitemaps) or UNSET)
        case Scores():
            relevance, standing = (
                {page: value for page, value in values.items() if not is_forgotten(Url(page))}
                for values in (metadata.relevance, metadata.standing)
            )
            return replace(metadata, relevance=relevance, standing=standing)
        case VisitMetadata() | AttemptMetadata():
            if metadata.candidate.found_on and is_forgotten(metadata.candidate.found_on):
                metadata = replace(metadata, candidate=replace(metadata.candidate, found_on=None, anchor=""))
            if metadata.fetch.location and is_forgotten(metadata.fetch.location):
                return None
            if isinstance(metadata, VisitMetadata) and metadata.duplicate_of and is_forgotten(metadata.duplicate_of):
                metadata = replace(metadata, duplicate_of=None)
            if isinstance(metadata, VisitMetadata) and any(map(is_forgotten, metadata.new_links)):
                metadata = replace(
                    metadata, new_links=tuple(link for link in metadata.new_links if not is_forgotten(link))
                )
    return metadata


def _copy(source: BinaryIO, start: int, end: int, out: BinaryIO) -> None:
    source.seek(start)
    while start < end:
        chunk = source.read(min(1 << 20, end - start))
        if not chunk:
            return
        out.write(chunk)
        start += len(chunk)
