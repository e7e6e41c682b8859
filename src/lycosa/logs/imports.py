"""Imports access logs: the page views of each file are added to a log, atomically and only once.

A file is read in blocks of lines (`LogText`), a format makes an entry of each line, entries become numbers of users and
pages (`ParsedFile`), and what is left without groups and repetitions is stored. `import_logs` does it for many files.
A group is a user with too many requests for one person: a proxy that many share, or a robot.
"""

import hashlib
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import BLOCK_SIZE, DamagedTextError, LineSplitter, chunks, decompressed, is_gzip
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import normalise, origin_of

from .access_log import FloatArray, Int32Array, Int64Array, Mask, UrlColumn
from .accesses import MAX_PER_DAY, MAX_PER_MINUTE, MINUTES_PER_DAY, Accesses, MinuteCounter, MinuteCounts, find_groups
from .entries import (
    DESCRIPTIONS,
    EXAMPLE_REASONS,
    PAGE,
    DropReason,
    Entry,
    dropped_entry,
    readable_reason,
    redacted_shape,
)
from .formats import FORMATS, SEPARATORS, Format, TableFormat, detect_format
from .log_file import (
    MAX_PER_DAY_SETTING,
    MAX_PER_MINUTE_SETTING,
    MIN_USERS_SETTING,
    ImportedFile,
    LogFile,
    key_path,
    open_log_file,
    user_hash_function,
)
from .page_urls import page_url

# ---------------------------------------------------------------- text

_GZIP_SIZE_MODULUS = 1 << 32  # the trailer of gzip has the size of the text modulo this
MAX_LINE = 1 << 16  # bytes; longer lines are dropped


class LineBlock(NamedTuple):
    """Complete lines without line ends; or none, if everything read so far was imported before."""

    lines: list[bytes]
    known_so_far: bool = False


class LogText:
    """The text of a log file; `size` and `digest` are those of what has been read of it."""

    def __init__(self, path: Path, *, known: Collection[tuple[int, bytes]] = (), progress: Callable[[int], None]):
        self._path = path
        self._known = frozenset(known)  # size and digest of texts seen before
        self._known_sizes = sorted({size for size, _ in self._known if size}, reverse=True)  # not yet reached
        self._progress = progress  # called with the number of bytes of the file read so far
        self._hash = _new_hash()
        self.size = 0

    @property
    def digest(self) -> bytes:
        return self._hash.digest()

    def is_known(self) -> bool:
        """Whether the whole text was imported before, by its size and digest."""
        with self._opened() as file:
            size = _stated_size(file)
            if not any(known % _GZIP_SIZE_MODULUS == size % _GZIP_SIZE_MODULUS for known, _ in self._known):
                return False
            hashed, size = _new_hash(), 0
            for data in chunks(decompressed(file)):
                hashed.update(data)
                size += len(data)
                self._progress(file.tell())
            if (size, hashed.digest()) not in self._known:
                return False
            self.size, self._hash = size, hashed
            return True

    def blocks(self) -> Iterator[LineBlock]:
        """The lines of the text; where a file imported before has grown, the known part is marked as such.

        Reads end at the sizes of known texts, as the digest of the text up to there shows whether it is one of them.
        """
        with self._opened() as file:
            text, splitter = decompressed(file), LineSplitter(longest_line=MAX_LINE)
            for data in chunks(text, self._next_read):
                self._hash.update(data)
                is_first = self.size == 0
                self.size += len(data)
                self._progress(file.tell())
                if lines := splitter.add(data.removeprefix(BOM_UTF8) if is_first else data):
                    yield LineBlock(lines[:-1].split(b"\n"))
                if self._known_sizes and self._known_sizes[-1] == self.size:
                    self._known_sizes.pop()
                    if (self.size, self.digest) in self._known:
                        yield LineBlock([], known_so_far=True)
                        splitter = LineSplitter(longest_line=MAX_LINE)  # drops the beginning of an unfinished line
            if splitter.rest:
                yield LineBlock([splitter.rest])

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            with self._path.open("rb") as file:
                yield file
        except DamagedTextError as error:
            raise LycosaError(
                f"{self._path} is a gzip file that is cut off or damaged ({error}); nothing of it was imported"
            ) from None
        except OSError as error:
            raise UsageError(f"cannot read {self._path}: {error.strerror or error}") from None

    def _next_read(self) -> int:
        while self._known_sizes and self._known_sizes[-1] <= self.size:
            self._known_sizes.pop()
        return min(BLOCK_SIZE, self._known_sizes[-1] - self.size) if self._known_sizes else BLOCK_SIZE


def _new_hash() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=16)


def _stated_size(file: BinaryIO) -> int:
    """The size of the text; of a gzip file the last 32 bits of it, and only of its last member."""
    size = os.fstat(file.fileno()).st_size
    if size < 4 or not is_gzip(file):
        return size
    file.seek(-4, os.SEEK_END)
    claimed = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return claimed


# ---------------------------------------------------------------- numbers of users and pages, and parsing

MAX_CACHED = 1 << 19  # users or URLs, as log files spell them, whose numbers are cached
_MAX_CACHED_LENGTH = 256  # bytes of a spelling; nearly all are shorter, and lines may be long
MAX_EXAMPLES = 2  # of dropped lines, for each reason
_NO_USER = {b"": -1, b"-": -1}  # spellings that name nobody
_EARLIEST = 631_152_000.0  # 1990: no log is older
_CLOCK_TOLERANCE = 86_400.0  # seconds that a clock may be ahead
_TOO_LONG = dropped_entry(DropReason.TOO_LONG)


class UserNumbers:
    """A number for every user; new ones follow those of the log. `cache` has the number by the spelling in files.

    stored: the hashes of the users that the log has, in the order of their numbers.
    """

    def __init__(self, stored: Iterable[bytes], hash_user: Callable[[bytes], bytes]):
        self._numbers = {each: number for number, each in enumerate(stored)}
        self.stored_count = len(self._numbers)
        self._hash_user = hash_user
        self.cache = dict(_NO_USER)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, spelling: bytes) -> int:
        """The number of a user, a new one if needed; for spellings that are not in `cache`."""
        if len(self.cache) >= MAX_CACHED:
            self.cache.clear()
            self.cache.update(_NO_USER)
        found = self._numbers.setdefault(self._hash_user(spelling), len(self._numbers))
        if len(spelling) <= _MAX_CACHED_LENGTH:
            self.cache[spelling] = found
        return found

    def new(self) -> list[bytes]:
        """Hashes of the new users, in the order of their numbers."""
        return list(islice(self._numbers, self.stored_count, None))

    def mark_stored(self) -> None:
        """Marks the new users as stored."""
        self.stored_count = len(self._numbers)


class PageNumbers:
    """A number for every page, or a DropReason for URLs that are no pages; new pages follow those that the log has.

    There are two caches, as a URL that the log says is a page need not look like one.

    stored: the pages that the log has, in the order of their numbers.
    site: the origin of URLs that are paths only; None if there is none.
    """

    def __init__(self, stored: Iterable[Url], site: str | None):
        self._numbers = {each: number for number, each in enumerate(stored)}
        self.stored_count = len(self._numbers)
        self._site = site
        self.stated_cache: dict[bytes, int] = {}  # where the log states a content type of pages
        self.guessed_cache: dict[bytes, int] = {}  # where the extension decides

    def number(self, spelling: bytes, *, is_stated: bool) -> int:
        """The number of a page, a new one if needed, or a DropReason; for spellings that are not in the cache.

        is_stated: whether the log states that its content type is one of pages.
        """
        cache = self.stated_cache if is_stated else self.guessed_cache
        if len(cache) >= MAX_CACHED:
            cache.clear()
        url = page_url(spelling, site=self._site, by_extension=not is_stated)
        found = url if isinstance(url, DropReason) else self._numbers.setdefault(url, len(self._numbers))
        if len(spelling) <= _MAX_CACHED_LENGTH:
            cache[spelling] = int(found)
        return int(found)

    def new(self) -> list[Url]:
        """The new pages, in the order of their numbers."""
        return list(islice(self._numbers, self.stored_count, None))

    def mark_stored(self, numbers: Iterable[int]) -> None:
        """Marks the new pages with these numbers as stored, renumbered in this order; the others are dropped."""
        new = self.new()
        for each in new:
            del self._numbers[each]
        for number in numbers:
            self._numbers[new[number - self.stored_count]] = len(self._numbers)
        self.stored_count = len(self._numbers)
        self.stated_cache.clear()
        self.guessed_cache.clear()


@dataclass(frozen=True)
class DroppedLine:
    """A line that was dropped, described without any of its contents."""

    line: int  # its number in the file, from 1
    why: DropReason
    shape: str  # of the part that is wrong, with its letters and digits masked


@dataclass
class ParsedFile:
    """The page views of one file as columns of numbers, and the number of dropped lines by reason."""

    known_lines: int = 0  # number of lines before the first of these, imported earlier
    lines: int = 0  # number of lines
    out_of_order: int = 0  # lines whose time is before that of the line before them
    dropped: dict[DropReason, int] = field(default_factory=dict)
    examples: list[DroppedLine] = field(default_factory=list)
    minutes: MinuteCounter = field(default_factory=MinuteCounter)  # number of accesses by user and minute
    _blocks: list[Accesses] = field(default_factory=list)
    _last_time: float = -np.inf  # the time of the last line that had one

    def accesses(self) -> Accesses:
        """All page views in the order of the lines; may be called only once."""
        blocks, self._blocks = self._blocks, []
        return Accesses.joined(*blocks)

    def add(self, lines: Sequence[bytes], parse: Format, users: UserNumbers, pages: PageNumbers, *, now: float) -> None:
        """Parses the next lines; a hot loop, as it runs for every line."""
        entries: Iterable[Entry] = map(parse, lines)
        if max(map(len, lines), default=0) > MAX_LINE:
            entries = (parse(line) if len(line) <= MAX_LINE else _TOO_LONG for line in lines)
        user_numbers: list[int] = []
        page_numbers: list[int] = []  # or a DropReason
        times: list[float] = []
        add_user, add_page, add_time = user_numbers.append, page_numbers.append, times.append
        number_of_user, stated, guessed = users.cache, pages.stated_cache, pages.guessed_cache
        for user, at, request_class, url in entries:
            number = number_of_user.get(user)
            add_user(users.number(user) if number is None else number)
            add_time(at)
            if request_class < 0:
                add_page(request_class)
            elif request_class == PAGE:
                page = stated.get(url)
                add_page(pages.number(url, is_stated=True) if page is None else page)
            else:
                page = guessed.get(url)
                add_page(pages.number(url, is_stated=False) if page is None else page)
        self._add(
            np.array(user_numbers, np.int32), np.array(page_numbers, np.int32), np.array(times), lines, parse, now
        )

    def _add(
        self,
        user_numbers: Int32Array,
        page_numbers: Int32Array,
        times: FloatArray,
        lines: Sequence[bytes],
        parse: Format,
        now: float,
    ) -> None:
        page_numbers[(user_numbers < 0) & ((page_numbers < DropReason.NO_USER) | (page_numbers >= 0))] = (
            DropReason.NO_USER
        )
        is_timed = (page_numbers < DropReason.NO_USER) | (page_numbers >= 0)
        is_possible = (times >= _EARLIEST) & (times <= now + _CLOCK_TOLERANCE)
        page_numbers[is_timed & ~is_possible] = DropReason.BAD_DATE
        is_timed &= is_possible
        moments = np.rint(times[is_timed] * 1000).astype(np.int64)
        if len(moments):
            self.out_of_order += int((np.diff(times[is_timed], prepend=self._last_time) < 0).sum())
            self._last_time = float(times[is_timed][-1])
            self.minutes.add(MinuteCounts.of(user_numbers[is_timed], moments))
        for reason, count in zip(*np.unique(page_numbers[page_numbers < 0], return_counts=True), strict=True):
            why = DropReason(int(reason))
            self.dropped[why] = self.dropped.get(why, 0) + int(count)
            if why in EXAMPLE_REASONS:
                self._add_examples(why, np.flatnonzero(page_numbers == reason)[:MAX_EXAMPLES], lines, parse)
        self._blocks.append(
            Accesses(user_numbers[is_timed], page_numbers[is_timed], moments).only(page_numbers[is_timed] >= 0)
        )
        self.lines += len(lines)

    def _add_examples(self, why: DropReason, indices: Int64Array, lines: Sequence[bytes], parse: Format) -> None:
        shown = sum(example.why == why for example in self.examples)
        for index in indices.tolist()[: max(0, MAX_EXAMPLES - shown)]:
            self.examples.append(
                DroppedLine(self.known_lines + self.lines + index + 1, why, _example_of(why, parse(lines[index])))
            )


def _example_of(why: DropReason, entry: Entry) -> str:
    """The invalid part of a line: a date as it is, anything else as its shape."""
    _, at, _, part = entry
    if why in (DropReason.TOO_LONG, DropReason.NO_USER):
        return ""
    return f"{at:.10g} seconds after 1970" if why == DropReason.BAD_DATE else redacted_shape(part)


# ---------------------------------------------------------------- storing

ROWS_PER_BLOB = 1 << 22
URLS_PER_BLOB = 1 << 17  # of at most 2 KB each: far below what SQLite takes as one value


class StoredEntries(NamedTuple):
    """How many lines of a file were used, and how many were dropped."""

    used: int  # page views stored
    dropped: Mapping[str, int]  # lines by description of the reason


def store(
    log: LogFile, parsed: ParsedFile, users: UserNumbers, pages: PageNumbers, settings: Mapping[str, int]
) -> StoredEntries:
    """Writes the page views of a file without those of groups and repeated ones, within the current transaction."""
    for cache in (users.cache, pages.stated_cache, pages.guessed_cache):
        cache.clear()  # frees memory for what follows
    minutes = parsed.minutes.total()
    groups = _all_groups(log, minutes, settings)
    is_single = np.ones(len(users), np.bool_)
    is_single[groups] = False
    _write_minutes(log, minutes.of_users(is_single))
    del minutes
    dropped = {DESCRIPTIONS[why]: parsed.dropped[why] for why in DropReason if why in parsed.dropped}
    views = parsed.accesses().by_time()
    views = _keep_only(views, is_single[views.users], DropReason.GROUP, dropped)
    views = _keep_only(views, views.not_repeated(_stored_in_same_period(views, log)), DropReason.DUPLICATE, dropped)
    log.connection.execute("INSERT INTO users (hashes) VALUES (?)", (b"".join(users.new()),))
    users.mark_stored()
    log.connection.executemany("INSERT OR IGNORE INTO groups (user) VALUES (?)", [(each,) for each in groups.tolist()])
    _write_accesses(log, _write_urls(log, views, pages))
    return StoredEntries(len(views.users), dropped)


def _all_groups(log: LogFile, minutes: MinuteCounts, settings: Mapping[str, int]) -> Int32Array:
    """All groups, known and new; earlier imports of the same days are counted too."""
    known = log.groups()
    if not len(minutes.users):
        return known
    first, last = int(minutes.minutes.min()), int(minutes.minutes.max())
    first -= first % MINUTES_PER_DAY
    last += MINUTES_PER_DAY - 1 - last % MINUTES_PER_DAY
    stored = log.minutes(first, last)
    found = find_groups(
        MinuteCounts.merged([stored, minutes]) if len(stored.users) else minutes,
        max_per_day=settings.get(MAX_PER_DAY_SETTING, MAX_PER_DAY),
        max_per_minute=settings.get(MAX_PER_MINUTE_SETTING, MAX_PER_MINUTE),
    )
    return np.union1d(known, found).astype(np.int32)


def _keep_only(views: Accesses, kept: Mask, why: DropReason, dropped: dict[str, int]) -> Accesses:
    """The views for which `kept` is true; the number of the others is added to `dropped`."""
    removed = len(kept) - int(np.count_nonzero(kept))
    if not removed:
        return views
    dropped[DESCRIPTIONS[why]] = removed
    return views.only(kept)


def _stored_in_same_period(views: Accesses, log: LogFile) -> Accesses:
    if not len(views.moments):
        return views
    return log.accesses(int(views.moments[0]), int(views.moments[-1]))


def _write_urls(log: LogFile, views: Accesses, pages: PageNumbers) -> Accesses:
    """Writes the new pages that have views left, numbered after the stored ones; returns the renumbered views."""
    new = pages.new()
    viewed = np.unique(views.pages)
    viewed = viewed[viewed >= pages.stored_count]
    numbers = np.arange(pages.stored_count + len(new), dtype=np.int32)
    numbers[viewed] = pages.stored_count + np.arange(len(viewed), dtype=np.int32)
    for start in range(0, len(viewed), URLS_PER_BLOB):
        part = UrlColumn.of(new[each - pages.stored_count] for each in viewed[start : start + URLS_PER_BLOB].tolist())
        sql = "INSERT INTO urls (text, ends) VALUES (?, ?)"
        log.connection.execute(sql, (part.text, part.ends.astype("<i8").tobytes()))
    pages.mark_stored(viewed.tolist())
    return views._replace(pages=numbers[views.pages])


def _write_accesses(log: LogFile, views: Accesses) -> None:
    for rows_of_blob in _blob_slices(len(views.users)):
        rows = views.only(rows_of_blob)
        blobs = (rows.users.astype("<i4"), rows.pages.astype("<i4"), rows.moments.astype("<i8"))
        log.connection.execute(
            "INSERT INTO accesses (first, last, users, urls, moments) VALUES (?, ?, ?, ?, ?)",
            (int(rows.moments[0]), int(rows.moments[-1]), *(blob.tobytes() for blob in blobs)),
        )


def _write_minutes(log: LogFile, minutes: MinuteCounts) -> None:
    order = np.argsort(minutes.minutes, kind="stable")  # by time, so that a blob covers a short period
    for rows_of_blob in _blob_slices(len(order)):
        rows = MinuteCounts(*(column[order[rows_of_blob]] for column in minutes))
        log.connection.execute(
            "INSERT INTO minutes (first, last, users, minutes, counts) VALUES (?, ?, ?, ?, ?)",
            (int(rows.minutes[0]), int(rows.minutes[-1]), *(column.astype("<i4").tobytes() for column in rows)),
        )


def _blob_slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_PER_BLOB) for start in range(0, rows, ROWS_PER_BLOB))


# ---------------------------------------------------------------- importing

FIRST_LINES = 1000  # from which the format is detected
TABLE_FORMATS = tuple(SEPARATORS)
_EXPECTED_FORMATS = (
    "expected Squid's native access.log, NCSA common or combined, W3C extended with its #Fields line, "
    "or a table together with --columns user=…,url=…,time=…"
)
Progress = Callable[[int, int], None]  # megabytes read, and of how many


@dataclass(frozen=True)
class ImportOptions:
    """How to read files; None means the setting of the log, or else the default."""

    site: str | None = None  # the host of the paths in a server's log
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # of a table: see `parse_columns`
    max_per_day: int | None = None  # requests of a user; with more, the user is a group
    max_per_minute: int | None = None
    min_users: int | None = None  # pages that fewer users read are left out

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in (*FORMATS, *TABLE_FORMATS):
            raise UsageError(f"no format {self.format!r}; there are {', '.join((*FORMATS, *TABLE_FORMATS))}")
        if self.format in TABLE_FORMATS and not self.columns:
            raise UsageError(f"a {self.format} needs --columns user=…,url=…,time=…, the names of its columns")
        if self.columns and self.format in FORMATS:
            raise UsageError(f"--columns go with {' or '.join(TABLE_FORMATS)}, not with {self.format}")

    @property
    def changes_reading(self) -> bool:
        """Whether any option changes what the lines of a file mean."""
        return self.site is not None or self.format is not None or bool(self.columns)

    @property
    def origin(self) -> str | None:
        if self.site is None:
            return None
        url = normalise(self.site if "://" in self.site else f"https://{self.site}")
        if url is None:
            raise UsageError(f"--site {self.site!r} is no site; write https://HOST")
        return origin_of(url)


@dataclass(frozen=True)
class ImportOutcome:
    """The result of importing one file."""

    file: ImportedFile
    examples: Sequence[DroppedLine] = ()
    known: bool = False  # all of it had been imported before; nothing was added
    grown: bool = False  # its beginning had been imported before; only the rest was added
    new_key: bool = False  # the key was missing, so that users of earlier imports count as new ones


def import_logs(
    files: Sequence[Path],
    into: Path,
    options: ImportOptions,
    *,
    now: float,
    progress: Progress = lambda done, total: None,
    report: Callable[[ImportOutcome], None] = lambda outcome: None,
) -> list[ImportOutcome]:
    """Imports files into the log `into`, which is made if there is none.

    Each file is one transaction: whatever happens, it is in the log wholly or not at all. A file without a usable
    line is an error; those before it stay imported, and were reported.

    progress: called with megabytes read, and of how many.
    report: called with the outcome of each file.
    """
    origin = options.origin
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file} is not a file" if file.exists() else f"there is no file {file}")
        if into.exists() and file.samefile(into):
            raise UsageError(f"{file} is the log itself; name the files to import")
    sizes = [file.stat().st_size for file in files]
    done = []
    numbers = NumberCache(origin)
    for number, file in enumerate(files):
        file_progress = partial(_report_progress, progress, sum(sizes[:number]), sum(sizes))
        done.append(_import_file(file, into, options, numbers, now, file_progress))
        report(done[-1])
    return done


class NumberCache:
    """The numbers of the users and pages of a log, kept in memory from one file to the next.

    They are read from the log again if another program has imported something in between.
    """

    def __init__(self, origin: str | None):
        self._origin = origin
        self._import_count = -1  # files in the log for which the numbers are up to date; -1 to read them again
        self._users: UserNumbers | None = None
        self._pages: PageNumbers | None = None

    def of(self, log: LogFile, import_count: int) -> tuple[UserNumbers, PageNumbers]:
        """The numbers of a log with this number of imported files, before the next import."""
        if self._users is None or self._pages is None or import_count != self._import_count:
            self._users = UserNumbers(log.hashes(), user_hash_function(key_path(log.path)))
            self._pages = PageNumbers(log.urls(), self._origin)
        self._import_count = import_count + 1
        return self._users, self._pages

    def invalidate(self) -> None:
        """Has the numbers read again before the next import, as this one stored nothing."""
        self._import_count = -1


def _report_progress(progress: Progress, earlier_bytes: int, total_bytes: int, read_bytes: int) -> None:
    """Reports progress in megabytes: the bytes of earlier files and those read of the current one."""
    progress((earlier_bytes + read_bytes) >> 20, max(total_bytes >> 20, 1))


def _import_file(
    path: Path, into: Path, options: ImportOptions, numbers: NumberCache, now: float, progress: Callable[[int], None]
) -> ImportOutcome:
    if into.is_dir():
        raise UsageError(f"{into} is a folder; give the name of a log, such as visits.log")
    new_files = [each for each in (into, key_path(into)) if not each.exists()]
    with open_log_file(into, writable=True) as log:
        log.connection.execute("BEGIN IMMEDIATE")
        try:
            outcome = _import_in_transaction(log, path, options, numbers, now, progress)
        except BaseException:
            if into in new_files and not log.imports():
                for each in new_files:
                    each.unlink(missing_ok=True)
            raise
        log.connection.execute("COMMIT")
        return outcome


def _import_in_transaction(
    log: LogFile, path: Path, options: ImportOptions, numbers: NumberCache, now: float, progress: Callable[[int], None]
) -> ImportOutcome:
    earlier = log.imports()
    settings = _update_settings(log, options)
    text = LogText(path, known=[(each.size, each.digest) for each in earlier], progress=progress)
    if text.is_known():
        return ImportOutcome(_earlier_import(earlier, text), known=True)
    new_key = bool(earlier) and not key_path(log.path).exists()
    users, pages = numbers.of(log, len(earlier))
    parsed, format_name, part_known = _parse_file(path, text, options, users, pages, now)
    if part_known and not parsed.lines:  # several gzip members: the trailer did not have its size
        numbers.invalidate()
        return ImportOutcome(_earlier_import(earlier, text), known=True)
    stored = store(log, parsed, users, pages, settings)
    imported = ImportedFile(
        name=path.name,
        format=format_name,
        at=now,
        size=text.size,
        digest=text.digest,
        lines=parsed.lines,
        used=stored.used,
        out_of_order=parsed.out_of_order,
        dropped=stored.dropped,
    )
    log.add(imported)
    return ImportOutcome(imported, tuple(parsed.examples), grown=part_known, new_key=new_key)


def _earlier_import(earlier: Iterable[ImportedFile], text: LogText) -> ImportedFile:
    return next(each for each in earlier if (each.size, each.digest) == (text.size, text.digest))


def _parse_file(
    path: Path, text: LogText, options: ImportOptions, users: UserNumbers, pages: PageNumbers, now: float
) -> tuple[ParsedFile, str, bool]:
    """The page views of a file, its format, and whether its first lines were known and left out."""
    parsed, part_known = ParsedFile(), False
    parse: Format | None = None
    for block in text.blocks():
        if block.known_so_far:
            parsed, part_known = ParsedFile(parsed.known_lines + parsed.lines), True
            continue
        if parse is None:
            parse = _format_of(path, block.lines[:FIRST_LINES], options)
        parsed.add(block.lines, parse, users, pages, now=now)
    if parse is None or (sum(parsed.dropped.values()) == parsed.lines and not part_known):
        raise LycosaError(_no_usable_line(path, parsed))
    return parsed, parse.name, part_known


def _format_of(path: Path, lines: Sequence[bytes], options: ImportOptions) -> Format:
    if options.columns:
        return TableFormat(options.columns, lines[0], format=options.format, file=str(path))
    name = options.format or detect_format(lines)
    if name is None:
        raise LycosaError(f"no usable line in {path}; {_EXPECTED_FORMATS}")
    return FORMATS[name]()


def _no_usable_line(path: Path, parsed: ParsedFile) -> str:
    message = f"no usable line in {path}"
    if not parsed.lines:
        return f"{message}: it is empty"
    counts = sorted(parsed.dropped.items(), key=lambda each: -each[1])
    message += f", of {parsed.lines}: " + ", ".join(
        f"{count} {readable_reason(DESCRIPTIONS[why])}" for why, count in counts[:4]
    )
    if counts[0][0] == DropReason.NO_HOST:
        return f"{message}; its lines have paths only: name their host with --site https://HOST"
    return (
        f"{message}; {_EXPECTED_FORMATS}" if DropReason.BROKEN in parsed.dropped else f"{message}; expected page views"
    )


def _update_settings(log: LogFile, options: ImportOptions) -> dict[str, int]:
    """The settings of the log, after those that the options change were stored."""
    given = {
        MAX_PER_DAY_SETTING: options.max_per_day,
        MAX_PER_MINUTE_SETTING: options.max_per_minute,
        MIN_USERS_SETTING: options.min_users,
    }
    for name, value in given.items():
        if value is not None:
            log.connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value))
    return log.settings()
