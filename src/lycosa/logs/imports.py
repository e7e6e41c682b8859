"""Imports access logs: the page views of each file are added to a log, atomically and only once.

A file is read in blocks of lines (`LogText`), a format makes an entry of each line, entries become numbers of users and
pages (`ParsedFile`), and what is left without groups and repetitions is stored. `import_logs` does it for many files.
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

from .access_log import Integers, Numbers, Reals, UrlColumn
from .accesses import MAX_PER_DAY, MAX_PER_MINUTE, MINUTES_PER_DAY, Accesses, MinuteCounts, Minutes, find_groups
from .entries import DESCRIPTIONS, PAGE, REASONS_SHOWN, Drop, Entry, dropped_entry, redacted_shape
from .formats import FORMATS, SEPARATORS, Format, Table, detect_format
from .log_file import A_DAY, A_MINUTE, MIN_USERS, ImportedFile, LogFile, key_path, open_log, user_hash_function
from .page_urls import page_url

# ---------------------------------------------------------------- text

_GZIP_SIZE_MODULUS = 1 << 32  # the trailer of gzip has the size of the text modulo this
MAX_LINE = 1 << 16  # bytes; longer lines are dropped


class Block(NamedTuple):
    """Complete lines without line ends; or none, if everything read so far is known from an earlier import."""

    lines: list[bytes]
    known_so_far: bool = False


class LogText:
    """The text of a log file; `size` and `digest` are those of what has been read of it."""

    def __init__(self, path: Path, *, known: Collection[tuple[int, bytes]] = (), read: Callable[[int], None]):
        self._path = path
        self._known = frozenset(known)  # size and digest of texts seen before
        self._marks = sorted({size for size, _ in self._known if size}, reverse=True)
        self._progress = read  # called with how many bytes of the file have been read
        self._hash = _new_hash()
        self.size = 0

    @property
    def digest(self) -> bytes:
        return self._hash.digest()

    def is_known(self) -> bool:
        """Whether the whole text was imported before, by its size and digest."""
        with self._opened() as file:
            size = _claimed_size(file)
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

    def blocks(self) -> Iterator[Block]:
        """The lines of the text; where a file of before has grown, the part that is known is marked as such.

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
                    yield Block(lines[:-1].split(b"\n"))
                if self._marks and self._marks[-1] == self.size:
                    self._marks.pop()
                    if (self.size, self.digest) in self._known:
                        yield Block([], known_so_far=True)
                        splitter = LineSplitter(longest_line=MAX_LINE)  # without the line that was begun
            if splitter.rest:
                yield Block([splitter.rest])

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
        while self._marks and self._marks[-1] <= self.size:
            self._marks.pop()
        return min(BLOCK_SIZE, self._marks[-1] - self.size) if self._marks else BLOCK_SIZE


def _new_hash() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=16)


def _claimed_size(file: BinaryIO) -> int:
    """The size of the text; of a gzip file the last 32 bits of it, and only of its last member."""
    size = os.fstat(file.fileno()).st_size
    if size < 4 or not is_gzip(file):
        return size
    file.seek(-4, os.SEEK_END)
    claimed = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return claimed


# ---------------------------------------------------------------- numbers of users and pages, and parsing

MAX_CACHED = 1 << 19  # spellings of users or URLs whose numbers are cached
_MAX_CACHED_LENGTH = 256  # bytes of a spelling; nearly all are shorter, and lines may be long
MAX_EXAMPLES = 2  # of dropped lines, for each reason
_NO_USER = {b"": -1, b"-": -1}
_EARLIEST = 631_152_000.0  # 1990: no log is older
_CLOCK_TOLERANCE = 86_400.0  # seconds that a clock may be ahead
_TOO_LONG = dropped_entry(Drop.TOO_LONG)


class UserNumbers:
    """A number for every user; new ones follow those that the log has. `cache` has the number by the spelling."""

    def __init__(self, known: Iterable[bytes], hashed: Callable[[bytes], bytes]):
        self._numbers = {each: number for number, each in enumerate(known)}
        self.known = len(self._numbers)
        self._hashed = hashed
        self.cache = dict(_NO_USER)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, spelling: bytes) -> int:
        if len(self.cache) >= MAX_CACHED:
            self.cache.clear()
            self.cache.update(_NO_USER)
        found = self._numbers.setdefault(self._hashed(spelling), len(self._numbers))
        if len(spelling) <= _MAX_CACHED_LENGTH:
            self.cache[spelling] = found
        return found

    def new(self) -> list[bytes]:
        """Hashes of the new users, in the order of their numbers."""
        return list(islice(self._numbers, self.known, None))

    def keep(self) -> None:
        """Marks the new users as stored."""
        self.known = len(self._numbers)


class PageNumbers:
    """A number for every page, or a Drop for URLs that are no pages; new pages follow those that the log has.

    There are two caches by spelling, as a URL that the log says is a page needs not look like one.
    """

    def __init__(self, known: Iterable[Url], site: str | None):
        self._numbers = {each: number for number, each in enumerate(known)}
        self.known = len(self._numbers)
        self._site = site
        self.stated_cache: dict[bytes, int] = {}  # where the log states a content type of pages
        self.guessed_cache: dict[bytes, int] = {}  # where the extension decides

    def number(self, spelling: bytes, *, is_stated: bool) -> int:
        cache = self.stated_cache if is_stated else self.guessed_cache
        if len(cache) >= MAX_CACHED:
            cache.clear()
        url = page_url(spelling, site=self._site, by_extension=not is_stated)
        found = url if isinstance(url, Drop) else self._numbers.setdefault(url, len(self._numbers))
        if len(spelling) <= _MAX_CACHED_LENGTH:
            cache[spelling] = int(found)
        return int(found)

    def new(self) -> list[Url]:
        """The new pages, in the order of their numbers."""
        return list(islice(self._numbers, self.known, None))

    def keep(self, read: Iterable[int]) -> None:
        """Marks some of the new pages as stored, numbered in this order; the others are dropped."""
        new = self.new()
        for each in new:
            del self._numbers[each]
        for number in read:
            self._numbers[new[number - self.known]] = len(self._numbers)
        self.known = len(self._numbers)
        self.stated_cache.clear()
        self.guessed_cache.clear()


@dataclass(frozen=True)
class DroppedLine:
    """A line that was dropped, described without any of its contents."""

    line: int
    why: Drop
    shape: str  # of the part that is wrong


@dataclass
class ParsedFile:
    """The page views of one file as columns of numbers, and the number of dropped lines by reason."""

    known_lines: int = 0  # lines before the first of these, imported earlier
    lines: int = 0
    out_of_order: int = 0  # lines whose time is before that of the line before them
    dropped: dict[Drop, int] = field(default_factory=dict)
    examples: list[DroppedLine] = field(default_factory=list)
    minutes: MinuteCounts = field(default_factory=MinuteCounts)
    _blocks: list[Accesses] = field(default_factory=list)
    _before: float = -np.inf  # the time of the last line that had one

    def accesses(self) -> Accesses:
        """All page views in the order of the lines; may be called only once."""
        blocks, self._blocks = self._blocks, []
        return Accesses.joined(*blocks)

    def add(self, lines: Sequence[bytes], read: Format, users: UserNumbers, pages: PageNumbers, *, now: float) -> None:
        """Parses the next lines; a hot loop, as it runs for every line."""
        entries: Iterable[Entry] = map(read, lines)
        if max(map(len, lines), default=0) > MAX_LINE:
            entries = (read(line) if len(line) <= MAX_LINE else _TOO_LONG for line in lines)
        who: list[int] = []
        what: list[int] = []
        when: list[float] = []
        add_who, add_what, add_when = who.append, what.append, when.append
        user_of, stated, guessed = users.cache, pages.stated_cache, pages.guessed_cache
        for user, at, wanted, url in entries:
            number = user_of.get(user)
            add_who(users.number(user) if number is None else number)
            add_when(at)
            if wanted < 0:
                add_what(wanted)
            elif wanted == PAGE:
                page = stated.get(url)
                add_what(pages.number(url, is_stated=True) if page is None else page)
            else:
                page = guessed.get(url)
                add_what(pages.number(url, is_stated=False) if page is None else page)
        self._add(np.array(who, np.int32), np.array(what, np.int32), np.array(when), lines, read, now)

    def _add(
        self,
        who: Numbers,
        what: Numbers,
        when: Reals,
        lines: Sequence[bytes],
        read: Format,
        now: float,
    ) -> None:
        what[(who < 0) & ((what < Drop.NO_USER) | (what >= 0))] = Drop.NO_USER
        timed = (what < Drop.NO_USER) | (what >= 0)
        possible = (when >= _EARLIEST) & (when <= now + _CLOCK_TOLERANCE)
        what[timed & ~possible] = Drop.DATE
        timed &= possible
        moments = np.rint(when[timed] * 1000).astype(np.int64)
        if len(moments):
            self.out_of_order += int((np.diff(when[timed], prepend=self._before) < 0).sum())
            self._before = float(when[timed][-1])
            self.minutes.add(Minutes.of(who[timed], moments))
        for reason, count in zip(*np.unique(what[what < 0], return_counts=True), strict=True):
            why = Drop(int(reason))
            self.dropped[why] = self.dropped.get(why, 0) + int(count)
            if why in REASONS_SHOWN:
                self._add_examples(why, np.flatnonzero(what == reason)[:MAX_EXAMPLES], lines, read)
        self._blocks.append(Accesses(who[timed], what[timed], moments).only(what[timed] >= 0))
        self.lines += len(lines)

    def _add_examples(self, why: Drop, places: Integers, lines: Sequence[bytes], read: Format) -> None:
        shown = sum(example.why == why for example in self.examples)
        for place in places.tolist()[: max(0, MAX_EXAMPLES - shown)]:
            self.examples.append(
                DroppedLine(self.known_lines + self.lines + place + 1, why, _example_of(why, read(lines[place])))
            )


def _example_of(why: Drop, entry: Entry) -> str:
    """The invalid part of a line: a date as it is, anything else as its shape."""
    _, at, _, part = entry
    if why in (Drop.TOO_LONG, Drop.NO_USER):
        return ""
    return f"{at:.10g} seconds after 1970" if why == Drop.DATE else redacted_shape(part)


# ---------------------------------------------------------------- storing

ROWS_PER_BLOB = 1 << 22
URLS_PER_BLOB = 1 << 17  # of at most 2 KB each: far below what SQLite takes as one value


class StoredEntries(NamedTuple):
    used: int
    dropped: Mapping[str, int]


def store(
    log: LogFile, parsed: ParsedFile, users: UserNumbers, pages: PageNumbers, settings: Mapping[str, int]
) -> StoredEntries:
    """Writes the page views of a file without those of groups and repeated ones, within the current transaction."""
    for cache in (users.cache, pages.stated_cache, pages.guessed_cache):
        cache.clear()  # frees memory for what follows
    minutes = parsed.minutes.total()
    groups = _all_groups(log, minutes, settings)
    single = np.ones(len(users), np.bool_)
    single[groups] = False
    _write_minutes(log, minutes.of_users(single))
    del minutes
    dropped = {DESCRIPTIONS[why]: parsed.dropped[why] for why in Drop if why in parsed.dropped}
    found = parsed.accesses().by_time()
    found = _keep_only(found, single[found.users], Drop.GROUP, dropped)
    found = _keep_only(found, found.not_repeated(_stored_in_same_period(found, log)), Drop.DUPLICATE, dropped)
    log.connection.execute("INSERT INTO users (hashes) VALUES (?)", (b"".join(users.new()),))
    users.keep()
    log.connection.executemany("INSERT OR IGNORE INTO groups (user) VALUES (?)", [(each,) for each in groups.tolist()])
    _write_accesses(log, _write_urls(log, found, pages))
    return StoredEntries(len(found.users), dropped)


def _all_groups(log: LogFile, minutes: Minutes, settings: Mapping[str, int]) -> Numbers:
    """All groups, known and new; earlier imports of the same days are counted too."""
    known = log.groups()
    if not len(minutes.users):
        return known
    first, last = int(minutes.minutes.min()), int(minutes.minutes.max())
    first -= first % MINUTES_PER_DAY
    last += MINUTES_PER_DAY - 1 - last % MINUTES_PER_DAY
    before = log.minutes(first, last)
    found = find_groups(
        Minutes.merged([before, minutes]) if len(before.users) else minutes,
        max_per_day=settings.get(A_DAY, MAX_PER_DAY),
        max_per_minute=settings.get(A_MINUTE, MAX_PER_MINUTE),
    )
    return np.union1d(known, found).astype(np.int32)


def _keep_only(
    found: Accesses, kept: "np.ndarray[tuple[int], np.dtype[np.bool_]]", why: Drop, dropped: dict[str, int]
) -> Accesses:
    removed = len(kept) - int(np.count_nonzero(kept))
    if not removed:
        return found
    dropped[DESCRIPTIONS[why]] = removed
    return found.only(kept)


def _stored_in_same_period(found: Accesses, log: LogFile) -> Accesses:
    if not len(found.moments):
        return found
    return log.accesses(int(found.moments[0]), int(found.moments[-1]))


def _write_urls(log: LogFile, found: Accesses, pages: PageNumbers) -> Accesses:
    """Writes the new pages that have views left; their numbers follow those of before."""
    new = pages.new()
    read = np.unique(found.pages)
    read = read[read >= pages.known]
    numbers = np.arange(pages.known + len(new), dtype=np.int32)
    numbers[read] = pages.known + np.arange(len(read), dtype=np.int32)
    for start in range(0, len(read), URLS_PER_BLOB):
        part = UrlColumn.of(new[each - pages.known] for each in read[start : start + URLS_PER_BLOB].tolist())
        sql = "INSERT INTO urls (text, ends) VALUES (?, ?)"
        log.connection.execute(sql, (part.text, part.ends.astype("<i8").tobytes()))
    pages.keep(read.tolist())
    return found._replace(pages=numbers[found.pages])


def _write_accesses(log: LogFile, found: Accesses) -> None:
    for place in _blobs(len(found.users)):
        rows = found.only(place)
        blobs = (rows.users.astype("<i4"), rows.pages.astype("<i4"), rows.moments.astype("<i8"))
        log.connection.execute(
            "INSERT INTO accesses (first, last, users, urls, moments) VALUES (?, ?, ?, ?, ?)",
            (int(rows.moments[0]), int(rows.moments[-1]), *(blob.tobytes() for blob in blobs)),
        )


def _write_minutes(log: LogFile, minutes: Minutes) -> None:
    order = np.argsort(minutes.minutes, kind="stable")  # by time, so that a blob covers a short period
    for place in _blobs(len(order)):
        rows = Minutes(*(column[order[place]] for column in minutes))
        log.connection.execute(
            "INSERT INTO minutes (first, last, users, minutes, counts) VALUES (?, ?, ?, ?, ?)",
            (int(rows.minutes[0]), int(rows.minutes[-1]), *(column.astype("<i4").tobytes() for column in rows)),
        )


def _blobs(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_PER_BLOB) for start in range(0, rows, ROWS_PER_BLOB))


# ---------------------------------------------------------------- importing

FIRST_LINES = 1000  # from which the format is detected
TABLE_FORMATS = tuple(SEPARATORS)
EXPECTED = (
    "expected Squid's native access.log, NCSA common or combined, W3C extended with its #Fields line, "
    "or a table together with --columns user=…,url=…,time=…"
)
Count = Callable[[int, int], None]  # done, of how many


@dataclass(frozen=True)
class ImportOptions:
    """How to read files; None means the setting of the log, or else the default."""

    site: str | None = None  # the host whose paths a server's log has
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # of a table: what, and the column that has it
    max_per_day: int | None = None
    max_per_minute: int | None = None
    min_users: int | None = None

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
    grown: bool = False  # a part of it had been; only the rest was added
    new_key: bool = False  # the key was missing: people of before count as new


def import_logs(
    files: Sequence[Path],
    into: Path,
    options: ImportOptions,
    *,
    now: float,
    count: Count = lambda done, total: None,
    report: Callable[[ImportOutcome], None] = lambda outcome: None,
) -> list[ImportOutcome]:
    """Imports files into the log `into`, which is made if there is none.

    Each file is one transaction: whatever happens, it is in the log wholly or not at all. A file without a usable
    line is an error; those before it stay imported, and were reported.

    count: called with megabytes read, and of how many.
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
        read = partial(_count_bytes, count, sum(sizes[:number]), sum(sizes))
        done.append(_import_file(file, into, options, numbers, now, read))
        report(done[-1])
    return done


class NumberCache:
    """The numbers of the users and pages of a log, kept in memory from one file to the next.

    They are read from the log again if another program has imported something in between.
    """

    def __init__(self, origin: str | None):
        self._origin = origin
        self._imports = -1  # files in the log when they were last up to date
        self._users: UserNumbers | None = None
        self._pages: PageNumbers | None = None

    def of(self, log: LogFile, imports: int) -> tuple[UserNumbers, PageNumbers]:
        """The numbers of a log with this number of imported files, before the next import."""
        if self._users is None or self._pages is None or imports != self._imports:
            self._users = UserNumbers(log.hashes(), user_hash_function(key_path(log.path)))
            self._pages = PageNumbers(log.urls(), self._origin)
        self._imports = imports + 1
        return self._users, self._pages

    def invalidate(self) -> None:
        """Has the numbers read again, because the transaction failed."""
        self._imports = -1


def _count_bytes(count: Count, before: int, total: int, read: int) -> None:
    count((before + read) >> 20, max(total >> 20, 1))


def _import_file(
    path: Path, into: Path, options: ImportOptions, numbers: NumberCache, now: float, read: Callable[[int], None]
) -> ImportOutcome:
    is_new = not into.exists()
    with open_log(into, writable=True) as log:
        log.connection.execute("BEGIN IMMEDIATE")
        try:
            outcome = _within_transaction(log, path, options, numbers, now, read)
        except BaseException:
            if is_new and not log.imports():
                for each in (into, key_path(into)):
                    each.unlink(missing_ok=True)
            raise
        log.connection.execute("COMMIT")
        return outcome


def _within_transaction(
    log: LogFile, path: Path, options: ImportOptions, numbers: NumberCache, now: float, read: Callable[[int], None]
) -> ImportOutcome:
    before = log.imports()
    settings = _update_settings(log, options)
    text = LogText(path, known=[(each.size, each.digest) for each in before], read=read)
    if text.is_known():
        return ImportOutcome(_known(before, text), known=True)
    new_key = bool(before) and not key_path(log.path).exists()
    users, pages = numbers.of(log, len(before))
    parsed, name, part_known = _parse_file(path, text, options, users, pages, now)
    if part_known and not parsed.lines:  # several gzip members: the trailer did not have its size
        numbers.invalidate()
        return ImportOutcome(_known(before, text), known=True)
    found = store(log, parsed, users, pages, settings)
    imported = ImportedFile(
        name=path.name,
        format=name,
        at=now,
        size=text.size,
        digest=text.digest,
        lines=parsed.lines,
        used=found.used,
        out_of_order=parsed.out_of_order,
        dropped=found.dropped,
    )
    log.add(imported)
    return ImportOutcome(imported, tuple(parsed.examples), grown=part_known, new_key=new_key)


def _known(before: Iterable[ImportedFile], text: LogText) -> ImportedFile:
    return next(each for each in before if (each.size, each.digest) == (text.size, text.digest))


def _parse_file(
    path: Path, text: LogText, options: ImportOptions, users: UserNumbers, pages: PageNumbers, now: float
) -> tuple[ParsedFile, str, bool]:
    """The page views of a file, its format, and whether its first lines were known and left out."""
    parsed, part_known = ParsedFile(), False
    read: Format | None = None
    for block in text.blocks():
        if block.known_so_far:
            parsed, part_known = ParsedFile(parsed.known_lines + parsed.lines), True
            continue
        if read is None:
            read = _format_of(path, block.lines[:FIRST_LINES], options)
        parsed.add(block.lines, read, users, pages, now=now)
    if read is None or (sum(parsed.dropped.values()) == parsed.lines and not part_known):
        raise LycosaError(_no_usable_line(path, parsed))
    return parsed, read.name, part_known


def _format_of(path: Path, lines: Sequence[bytes], options: ImportOptions) -> Format:
    if options.columns:
        return Table(options.columns, lines[0], kind=options.format, file=str(path))
    name = options.format or detect_format(lines)
    if name is None:
        raise LycosaError(f"no usable line in {path}; {EXPECTED}")
    return FORMATS[name]()


def _no_usable_line(path: Path, parsed: ParsedFile) -> str:
    message = f"no usable line in {path}"
    if not parsed.lines:
        return f"{message}: it is empty"
    counts = sorted(parsed.dropped.items(), key=lambda each: -each[1])
    message += f", of {parsed.lines}: " + ", ".join(f"{count} {DESCRIPTIONS[why]}" for why, count in counts[:4])
    if counts[0][0] == Drop.NO_HOST:
        return f"{message}; its lines have paths only: name their host with --site https://HOST"
    return f"{message}; {EXPECTED}" if Drop.BROKEN in parsed.dropped else f"{message}; expected page views"


def _update_settings(log: LogFile, options: ImportOptions) -> dict[str, int]:
    """The settings of the log, after those that the options change were stored."""
    given = {A_DAY: options.max_per_day, A_MINUTE: options.max_per_minute, MIN_USERS: options.min_users}
    for name, value in given.items():
        if value is not None:
            log.connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value))
    return log.settings()
