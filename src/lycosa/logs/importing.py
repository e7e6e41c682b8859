"""Files of access logs, taken into an imported log: each wholly or not at all, and each once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.urls import normalise, origin_of

from .dropping import SAYS, Drop
from .formats import FORMATS, Format, detected
from .gathering import Example, Gathered, PageNumbers, UserNumbers
from .lines import LogText
from .log_file import A_DAY, A_MINUTE, MIN_USERS, ImportedFile, LogFile, opened
from .people import hashing, key_file_of
from .tables import SEPARATORS, Table
from .taking_in import take_in

FIRST_LINES = 1000  # from which the format is told
TABLE_FORMATS = tuple(SEPARATORS)
EXPECTED = (
    "expected Squid's native access.log, NCSA common or combined, W3C extended with its #Fields line, "
    "or a table together with --columns user=…,url=…,time=…"
)
Count = Callable[[int, int], None]


@dataclass(frozen=True)
class Asked:
    """How files are to be read; None where what the log has, or else the usual, shall hold."""

    site: str | None = None  # the host whose paths a server's log has
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # of a table: what, and the column that has it
    most_a_day: int | None = None
    most_a_minute: int | None = None
    min_users: int | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in (*FORMATS, *TABLE_FORMATS):
            raise UsageError(f"no format {self.format!r}; there are {', '.join((*FORMATS, *TABLE_FORMATS))}")
        if self.format in TABLE_FORMATS and not self.columns:
            raise UsageError(f"a {self.format} needs --columns user=…,url=…,time=…, the names of its columns")
        if self.columns and self.format in FORMATS:
            raise UsageError(f"--columns go with {' or '.join(TABLE_FORMATS)}, not with {self.format}")

    @property
    def says_how_to_read(self) -> bool:
        """Whether anything is said of what the lines of a file mean."""
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
class Outcome:
    """What became of one file."""

    file: ImportedFile
    examples: Sequence[Example] = ()
    known: bool = False  # all of it had been imported before; nothing was added
    grown: bool = False  # a part of it had been; only the rest was added
    new_key: bool = False  # the key was gone: people of before count anew


def import_logs(
    files: Sequence[Path],
    into: Path,
    asked: Asked,
    *,
    now: float,
    count: Count = lambda done, total: None,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Takes files into the log `into`, which is made where there is none.

    Each file is one transaction: whatever happens, it is in the log wholly or not at all. A file without a usable
    line is an error, and not taken in; those before it are, and were told of. `count` hears of megabytes read.
    """
    origin = asked.origin
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file} is not a file" if file.exists() else f"there is no file {file}")
        if into.exists() and file.samefile(into):
            raise UsageError(f"{file} is the log itself; name the files to import")
    sizes = [file.stat().st_size for file in files]
    done = []
    numbers = KnownNumbers(origin)
    for number, file in enumerate(files):
        read = partial(_count_bytes, count, sum(sizes[:number]), sum(sizes))
        done.append(_import(file, into, asked, numbers, now, read))
        tell(done[-1])
    return done


class KnownNumbers:
    """The numbers of the people and pages that a log knows, kept from one file to the next.

    They are read from the log again where another program has imported something meanwhile.
    """

    def __init__(self, origin: str | None):
        self._origin = origin
        self._imports = -1  # files in the log when they were last up to date
        self._users: UserNumbers | None = None
        self._pages: PageNumbers | None = None

    def of(self, log: LogFile, imports: int) -> tuple[UserNumbers, PageNumbers]:
        """Those of a log into which so many files were imported; one more is to follow."""
        if self._users is None or self._pages is None or imports != self._imports:
            self._users = UserNumbers(log.hashes(), hashing(key_file_of(log.path)))
            self._pages = PageNumbers(log.urls(), self._origin)
        self._imports = imports + 1
        return self._users, self._pages

    def read_anew(self) -> None:
        """Nothing was added to the log after all."""
        self._imports = -1


def _count_bytes(count: Count, before: int, total: int, read: int) -> None:
    count((before + read) >> 20, max(total >> 20, 1))


def _import(
    path: Path, into: Path, asked: Asked, numbers: KnownNumbers, now: float, read: Callable[[int], None]
) -> Outcome:
    is_new = not into.exists()
    with opened(into, writable=True) as log:
        log.connection.execute("BEGIN IMMEDIATE")
        try:
            outcome = _within_transaction(log, path, asked, numbers, now, read)
        except BaseException:
            if is_new and not log.imports():
                for each in (into, key_file_of(into)):
                    each.unlink(missing_ok=True)
            raise
        log.connection.execute("COMMIT")
        return outcome


def _within_transaction(
    log: LogFile, path: Path, asked: Asked, numbers: KnownNumbers, now: float, read: Callable[[int], None]
) -> Outcome:
    before = log.imports()
    settings = _set(log, asked)
    text = LogText(path, known=[(each.size, each.digest) for each in before], read=read)
    if text.is_known():
        return Outcome(_known(before, text), known=True)
    new_key = bool(before) and not key_file_of(log.path).exists()
    users, pages = numbers.of(log, len(before))
    gathered, name, part_known = _gather(path, text, asked, users, pages, now)
    if part_known and not gathered.lines:  # packed in several parts, so that its size was not told
        numbers.read_anew()
        return Outcome(_known(before, text), known=True)
    found = take_in(log, gathered, users, pages, settings)
    imported = ImportedFile(
        name=path.name,
        format=name,
        at=now,
        size=text.size,
        digest=text.digest,
        lines=gathered.lines,
        used=found.used,
        out_of_order=gathered.out_of_order,
        dropped=found.dropped,
    )
    log.add(imported)
    return Outcome(imported, tuple(gathered.examples), grown=part_known, new_key=new_key)


def _known(before: Iterable[ImportedFile], text: LogText) -> ImportedFile:
    return next(each for each in before if (each.size, each.digest) == (text.size, text.digest))


def _gather(
    path: Path, text: LogText, asked: Asked, users: UserNumbers, pages: PageNumbers, now: float
) -> tuple[Gathered, str, bool]:
    """The columns of a file's lines, its format, and whether the first of them were known and left out."""
    gathered, part_known = Gathered(), False
    read: Format | None = None
    for block in text.blocks():
        if block.known_so_far:
            gathered, part_known = Gathered(gathered.passed_over + gathered.lines), True
            continue
        if read is None:
            read = _format_of(path, block.lines[:FIRST_LINES], asked)
        gathered.take(block.lines, read, users, pages, now=now)
    if read is None or (sum(gathered.dropped.values()) == gathered.lines and not part_known):
        raise LycosaError(_why_useless(path, gathered))
    return gathered, read.name, part_known


def _format_of(path: Path, lines: Sequence[bytes], asked: Asked) -> Format:
    if asked.columns:
        return Table(asked.columns, lines[0], kind=asked.format, file=str(path))
    name = asked.format or detected(lines)
    if name is None:
        raise LycosaError(f"no usable line in {path}; {EXPECTED}")
    return FORMATS[name]()


def _why_useless(path: Path, gathered: Gathered) -> str:
    said = f"no usable line in {path}"
    if not gathered.lines:
        return f"{said}: it is empty"
    counts = sorted(gathered.dropped.items(), key=lambda each: -each[1])
    said += f", of {gathered.lines}: " + ", ".join(f"{count} {SAYS[why]}" for why, count in counts[:4])
    if counts[0][0] == Drop.NO_HOST:
        return f"{said}; its lines have paths only: name their host with --site https://HOST"
    return f"{said}; {EXPECTED}" if Drop.BROKEN in gathered.dropped else f"{said}; expected page views"


def _set(log: LogFile, asked: Asked) -> dict[str, int]:
    """The log's settings, less what is asked otherwise, which it keeps to from now on."""
    given = {A_DAY: asked.most_a_day, A_MINUTE: asked.most_a_minute, MIN_USERS: asked.min_users}
    for name, value in given.items():
        if value is not None:
            log.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
    return log.settings()
