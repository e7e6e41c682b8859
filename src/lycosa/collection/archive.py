"""The archive of a collection: a folder of WARC 1.1 files to which everything that happens is appended.

It is the log of the collection. Catalog and search index are folds of it and can be made again from it.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import atomic_write
from lycosa.vocabulary.records import Fetch, Url

from . import cdxj
from .events import Event, Place, Position, fetch_of
from .forgetting import copy_without
from .groups import Decode, Group, about, groups, pack, parts, unpack, when
from .trouble import told
from .unfinished import end_of_whole, is_begun_by_lycosa, is_torn_within_warcinfo
from .warc import date_of, record

_NAME = re.compile(r".*-(\d{5,})\.warc\.gz")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")


class Archive:
    """Appends events and reads them back in their order.

    An event's records go to disk in one write, so that a kill leaves at most one unfinished group, at the very end,
    which `recover` cuts off. CDXJ entries of the file being written are kept in memory, some 100 bytes for each answer.
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
    ):
        self._folder = folder
        self._software = software
        self._clock = clock
        self._decode = decode
        self._writable = writable
        self._max_bytes = max_bytes
        self._ids = _record_ids(entropy)
        self._out: BinaryIO | None = None
        self._path: Path | None = None
        self._size = 0
        self._index = cdxj.Entries()
        self.passed_over: dict[str, int] = {}  # by file: records, kept, that no reading so far could make use of
        if writable:
            with told(folder):
                folder.mkdir(exist_ok=True)
                for leftover in folder.glob("*.new"):
                    leftover.unlink()
                for finished in self.files()[:-1]:
                    self._index_if_missing(finished)

    # ------------------------------------------------------------ files

    def files(self) -> list[Path]:
        """The WARC files in the order in which they were written."""
        return sorted(
            (path for path in self._folder.glob("*.warc.gz") if _NAME.fullmatch(path.name)),
            key=lambda path: _order(path.name),
        )

    def position(self) -> Position | None:
        """The end of what was written; None before the first event."""
        if self._path:
            return Position(self._path.name, self._size)
        files = self.files()
        return Position(files[-1].name, files[-1].stat().st_size) if files else None

    # ------------------------------------------------------------ writing

    def append(self, event: Event) -> Place:
        """Writes an event with one write, and tells where it lies."""
        packed = pack(event, self._ids.__next__)
        with told(self._folder):
            out, path, first = self._file()
            offset = self._size + len(first)
            self._write(out, b"".join((first, *packed.members)))
        place = Place(path.name, offset, len(packed.members[0]))
        fetch = fetch_of(event)
        if fetch and fetch.status is not None:
            self._index.add(cdxj.line(fetch, packed.payload_digest, place))
        return place

    def sync(self) -> None:
        """Returns when everything written is on the disk."""
        if self._out:
            with told(self._folder):
                os.fsync(self._out.fileno())

    def close(self) -> None:
        """Finishes the file being written; the archive may be written again."""
        with told(self._folder):
            self._finish()
            if self._writable and (files := self.files()):
                self._index_if_missing(files[-1])

    def abandon(self) -> None:
        """Lets go of the file being written, unfinished."""
        if self._out:
            self._out.close()
            self._out = None

    def _file(self) -> tuple[BinaryIO, Path, bytes]:
        """The file to write to, and what must precede the next group in it."""
        if not self._writable:
            raise CollectionError(f"{self._folder} was opened for reading only")
        if self._size >= self._max_bytes:
            self._finish()
        if self._out and self._path:
            return self._out, self._path, b""
        files = self.files()
        last = files[-1] if files else None
        if last and last.stat().st_size < self._max_bytes and _is_ours(last):
            self._index = cdxj.Entries(self._entries(last))
            cdxj.path_beside(last).unlink(missing_ok=True)  # it will be out of date
            path, first = last, b""
        else:
            path, first = self._next_path(last)
        self._out, self._path = path.open("ab", buffering=0), path
        self._size = path.stat().st_size
        return self._out, path, first

    def _next_path(self, last: Path | None) -> tuple[Path, bytes]:
        moment = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y%m%d%H%M%S")
        collection = _UNSAFE.sub("_", self._folder.absolute().parent.name) or "lycosa"
        path = self._folder / f"{collection}-{moment}-{_sequence(last.name) + 1 if last else 1:05d}.warc.gz"
        facts = f"software: {self._software}\r\nformat: WARC File Format 1.1\r\nisPartOf: {collection}\r\n"
        mime, named = "application/warc-fields", f"WARC-Filename: {path.name}"
        return path, record("warcinfo", next(self._ids), date_of(self._clock.now()), mime, facts.encode(), named)

    def _write(self, out: BinaryIO, data: bytes) -> None:
        unwritten = memoryview(data)
        try:
            while unwritten:
                unwritten = unwritten[out.write(unwritten) :]
        except OSError:
            with suppress(OSError):
                out.truncate(self._size)  # a disk that is full took only a part
            raise
        self._size += len(data)

    def _finish(self) -> None:
        out, path, index = self._out, self._path, self._index
        self._out, self._path, self._size, self._index = None, None, 0, cdxj.Entries()
        if out and path:
            with out:
                os.fsync(out.fileno())
            cdxj.write(path, index)

    # ------------------------------------------------------------ reading

    def events(self, after: Position | None = None) -> Iterator[tuple[Event, Place]]:
        """Every event from a position on, in order, pages not read; passes over damage and other people's records."""
        for event, place, _ in self.events_with_ends(after):
            yield event, place

    def events_with_ends(self, after: Position | None = None) -> Iterator[tuple[Event, Place, Position]]:
        """Every event from a position on, and the position behind each."""
        for path, group in self._groups(after):
            yield unpack(group, self._decode), _place(path, group), Position(path.name, group.end)

    def places(self) -> Iterator[tuple[Url, float, Place]]:
        """URL, time and place of every fetch, in order; cheaper than `events`."""
        for path, group in self._groups(None):
            url = about(group.note)
            if url is not None:
                yield url, when(group.note), _place(path, group)

    def fetch_at(self, place: Place) -> Fetch:
        """The fetch that lies at a place."""
        with told(self._folder), (self._folder / place.file).open("rb") as stream:
            group = next(groups(stream, place.offset), None)
            fetch = fetch_of(unpack(group, self._decode)) if group and group.start == place.offset else None
        if fetch is None:
            name = self._folder.parent
            raise CollectionError(f"the catalog of {name} does not fit its archive; run: lycosa rebuild {name}")
        return fetch

    def _groups(self, after: Position | None) -> Iterator[tuple[Path, Group]]:
        for path in self.files():
            if after and _order(path.name) < _order(after.file):
                continue
            start = after.offset if after and path.name == after.file else 0
            passed_over = 0
            with told(self._folder), path.open("rb") as stream:
                for part in parts(stream, start):
                    if isinstance(part, Group):
                        yield path, part
                    elif part.kind != "warcinfo":
                        passed_over += 1
            if passed_over:
                self.passed_over[path.name] = passed_over

    # ------------------------------------------------------------ mending and forgetting

    def recover(self, committed: Position | None) -> None:
        """Cuts what a kill left unfinished at the end of a file of ours; takes the file away if no event is in it.

        Whole records stay, whoever wrote them.
        """
        files = self.files()
        if not files:
            if committed:
                raise self._shorter_than_known()
            return
        last = files[-1]
        size = last.stat().st_size
        known = committed.offset if committed and committed.file == last.name else 0
        if known > size or (committed and _order(committed.file) > _order(last.name)):
            raise self._shorter_than_known()
        with told(self._folder), last.open("r+b") as stream:
            if is_begun_by_lycosa(stream):
                end = end_of_whole(stream, known)
            else:
                end = 0 if is_torn_within_warcinfo(stream) else size
            if end < size:
                stream.truncate(end)
                os.fsync(stream.fileno())
        if end == 0:
            last.unlink()

    def forget(self, is_forgotten: Callable[[Url], bool]) -> int:
        """Rewrites the files without these URLs, each at one stroke; returns how many events went. Places move.

        Records that are not understood go where they are about these URLs, and stay as they are where they are not.
        """
        gone = 0
        with told(self._folder):
            self._finish()
            for path in self.files():
                gone += self._rewrite(path, is_forgotten)
        return gone

    def _rewrite(self, path: Path, is_forgotten: Callable[[Url], bool]) -> int:
        gone = 0
        with suppress(_UnchangedError), path.open("rb") as source, atomic_write(path) as out:
            gone, changed = copy_without(source, out, is_forgotten, self._ids.__next__)
            if not gone and not changed:
                raise _UnchangedError
            cdxj.path_beside(path).unlink(missing_ok=True)  # it is out of date from here on, killed or not
        self._index_if_missing(path)
        return gone

    def _shorter_than_known(self) -> CollectionError:
        name = self._folder.parent
        return CollectionError(f"the archive of {name} is shorter than its catalog knows; run: lycosa rebuild {name}")

    # ------------------------------------------------------------ CDXJ

    def _index_if_missing(self, path: Path) -> None:
        if not _is_fresh(cdxj.path_beside(path), path) and _is_ours(path):
            cdxj.write(path, self._scanned(path))

    def _entries(self, path: Path) -> Iterator[str]:
        beside = cdxj.path_beside(path)
        if not _is_fresh(beside, path):
            yield from self._scanned(path)
            return
        with beside.open(encoding="utf-8", newline="\n") as entries:
            yield from entries

    def _scanned(self, path: Path) -> Iterator[str]:
        with path.open("rb") as stream:
            for group in groups(stream):
                if group.answer and (fetch := fetch_of(unpack(group, _as_sent))):
                    payload_digest = group.answer.headers.get("warc-payload-digest", "")
                    yield cdxj.line(fetch, payload_digest, _place(path, group))


class _UnchangedError(Exception):
    """Ends the rewriting of a file in which nothing is to be forgotten: the file stays as it is."""


def _record_ids(entropy: Callable[[int], bytes]) -> Iterator[str]:
    while True:
        drawn = entropy(4096).hex()  # one draw for many: each asks the system
        for start in range(0, len(drawn), 32):
            digits = drawn[start : start + 32]
            yield f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


def _as_sent(body: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    return body, False


def _is_fresh(index: Path, path: Path) -> bool:
    return index.exists() and index.stat().st_mtime_ns >= path.stat().st_mtime_ns


def _sequence(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else 0


def _order(name: str) -> tuple[int, str]:
    return _sequence(name), name


def _is_ours(path: Path) -> bool:
    with path.open("rb") as stream:
        return is_begun_by_lycosa(stream)


def _place(path: Path, group: Group) -> Place:
    return Place(path.name, group.start, group.first.length)
