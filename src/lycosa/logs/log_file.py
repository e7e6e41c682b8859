"""The file of an imported log: an SQLite database, which is checked because it may be untrusted.

Columns are stored as blobs, little-endian. Users are identified by a keyed hash. The key is in a file beside
the log that only its owner may read; with it, later imports recognise the same users. Without it nobody, not even the
owner, can find out whether a given address or name is in the log. The table `groups` has the users with too many
requests for one person, such as proxies and robots; `minutes` has the number of requests of each user in each minute.
"""

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lycosa.vocabulary.databases import has_only_tables, open_database
from lycosa.vocabulary.errors import LycosaError, UsageError, cannot_write
from lycosa.vocabulary.files import atomic_write, read_regular_file
from lycosa.vocabulary.text import quoted

from .access_log import AccessLog, Int32Array, UrlColumn
from .accesses import Accesses, MinuteCounts
from .entries import DESCRIPTIONS

APPLICATION_ID = int.from_bytes(b"LyLo", "big")  # in the header of the file
VERSION = 1
_MAX_VALUE_LENGTH = 1_000_000_000  # bytes
TABLES = {
    "settings": "CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "imports": """CREATE TABLE imports (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,  -- of the file
    format TEXT NOT NULL,
    at REAL NOT NULL,
    size INTEGER NOT NULL,  -- of the text, in bytes
    digest BLOB NOT NULL,
    lines INTEGER NOT NULL,
    used INTEGER NOT NULL,
    out_of_order INTEGER NOT NULL,
    dropped TEXT NOT NULL  -- how many lines for which reason, as JSON
)""",
    "users": "CREATE TABLE users (number INTEGER PRIMARY KEY, hashes BLOB NOT NULL)",
    "groups": "CREATE TABLE groups (user INTEGER PRIMARY KEY)",
    "urls": "CREATE TABLE urls (number INTEGER PRIMARY KEY, text BLOB NOT NULL, ends BLOB NOT NULL)",
    "accesses": """CREATE TABLE accesses (
    number INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,  -- milliseconds since the epoch
    last INTEGER NOT NULL,
    users BLOB NOT NULL,
    urls BLOB NOT NULL,
    moments BLOB NOT NULL  -- milliseconds since the epoch
)""",
    "minutes": """CREATE TABLE minutes (
    number INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,  -- minutes since the epoch
    last INTEGER NOT NULL,
    users BLOB NOT NULL,
    minutes BLOB NOT NULL,
    counts BLOB NOT NULL
)""",
}

_BLOB_COLUMNS = {
    "users": ("hashes",),
    "urls": ("text", "ends"),
    "accesses": ("users", "urls", "moments"),
    "minutes": ("users", "minutes", "counts"),
}


@contextmanager
def _open_database(path: Path, *, writable: bool = False) -> Iterator[sqlite3.Connection]:
    """The database of a log; created if it is writable and there is none."""
    if not writable or path.exists():
        _check_header(path)
    with _log_errors(path):
        # Not read-only: SQLite rolls back what a killed import left behind when the file is opened next.
        connection = _connection(path, "rwc" if writable else "rw")
        try:
            if writable:
                _create(connection)
            _check_database(connection, path)
            yield connection
        finally:
            connection.close()


@contextmanager
def _log_errors(path: Path) -> Iterator[None]:
    """Context that raises errors of disk and database as LycosaError."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "locked" in message or "busy" in message:
            raise LycosaError(f"another program is importing into {path}; try again when it is done") from None
        if "unable to open" in message or "readonly" in message:
            raise UsageError(f"cannot write the log {path}: {message}; give access, or another --into") from None
        if "full" in message or "I/O" in message:
            raise LycosaError(f"cannot write the log {path}: {message}; make room") from None
        raise _damaged(path) from None
    except OSError as error:
        raise cannot_write(f"the log {path}", error, advice="name a log that can be written") from None


def _damaged(path: Path) -> UsageError:
    return UsageError(f"the log {path} is damaged; take another copy, or import the files again")


def _connection(path: Path, mode: Literal["rwc", "rw"]) -> sqlite3.Connection:
    connection = open_database(path, mode=mode, max_value_size=_MAX_VALUE_LENGTH, timeout=1.0, autocommit=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _check_header(path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(16)
    except OSError as error:
        raise UsageError(f"cannot read the log {path}: {error.strerror}") from None
    if header and header != b"SQLite format 3\0":
        raise UsageError(f"{path} is not an imported log; make one with: lycosa logs import FILE --into NAME.log")


def _create(connection: sqlite3.Connection) -> None:
    """Creates the tables if there are none."""
    if _has_tables(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    if not _has_tables(connection):  # another program may have made them meanwhile
        for statement in TABLES.values():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None


def _check_database(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses anything but a complete log of this version."""

    def pragma(name: str) -> int:
        (value,) = connection.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    if not _has_tables(connection):
        raise UsageError(f"{path} is empty; make a log with: lycosa logs import FILE --into {quoted(path)}")
    if pragma("application_id") != APPLICATION_ID:
        raise UsageError(
            f"{path} is a database, but not an imported log; make one with: lycosa logs import FILE --into NAME.log"
        )
    if (version := pragma("user_version")) != VERSION:
        raise UsageError(
            f"the log {path} is of version {version}, this Lycosa knows {VERSION}; use the Lycosa that wrote it"
        )
    if pragma("page_count") * pragma("page_size") > path.stat().st_size:
        raise UsageError(f"the log {path} is cut off; take another copy, or import the files again")
    if not has_only_tables(connection, TABLES):
        raise UsageError(f"the log {path} has other tables than a log has; take another copy")
    _check_sizes(connection, path)


def _check_sizes(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses columns larger than the file, which cyclic pages of a crafted database cause."""
    total = 0
    for table, columns in _BLOB_COLUMNS.items():
        bytes_of_row = " + ".join(f"length({column})" for column in columns)
        not_blobs = " + ".join(f"(typeof({column}) <> 'blob')" for column in columns)
        size, wrong = connection.execute(
            f"SELECT coalesce(sum({bytes_of_row}), 0), coalesce(sum({not_blobs}), 0) FROM {table}"
        ).fetchone()
        if wrong:
            raise _damaged(path)
        total += size
    if total > path.stat().st_size:
        raise _damaged(path)


# ---------------------------------------------------------------- hashes of users

KEY_BYTES = 32
HASH_BYTES = 16


def key_path(log: Path) -> Path:
    """The path of the key with which the users of a log are hashed."""
    return log.with_name(f"{log.name}.key")


def user_hash_function(key_file: Path) -> Callable[[bytes], bytes]:
    """The hash of users under a key; a random key is made if there is none."""
    try:
        try:
            key = read_regular_file(key_file, KEY_BYTES)
        except FileNotFoundError:
            if key_file.is_symlink():  # to where another may want it written
                raise
            key = secrets.token_bytes(KEY_BYTES)
            with atomic_write(key_file, private=True) as file:
                file.write(key)
    except OSError as error:
        raise LycosaError(
            f"cannot use the key {key_file}: {error.strerror}; give access or room, or put the right one back"
        ) from None
    if len(key) != KEY_BYTES:
        raise UsageError(f"{key_file} is not the key of a log; put the right one back, or delete it to start over")
    return partial(_keyed_hash, key)


def _keyed_hash(key: bytes, user: bytes) -> bytes:
    return hashlib.blake2b(user, key=key, digest_size=HASH_BYTES).digest()


# ---------------------------------------------------------------- contents

_MAX_TIME = 253_402_300_800_000  # milliseconds since the epoch: the year 10000, which no `datetime` can have
_MAX_INTEGER = 1 << 52
# names in the table `settings`
MIN_USERS_SETTING, MAX_PER_DAY_SETTING, MAX_PER_MINUTE_SETTING = "min_users", "most_a_day", "most_a_minute"


@dataclass(frozen=True)
class ImportedFile:
    """One file that a log was made from."""

    name: str
    format: str
    at: float  # of the import, in seconds since the epoch
    size: int  # of the text, in bytes
    digest: bytes  # of the text
    lines: int  # number of lines, without those imported from the file before it grew
    used: int  # page views stored
    out_of_order: int  # lines whose time is before that of the line before them
    dropped: Mapping[str, int]  # by description of the reason


_IMPORT_COLUMNS = [column.name for column in fields(ImportedFile)]


class LogFile:
    """An open log."""

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path = path
        self.connection = connection

    def settings(self) -> dict[str, int]:
        found = dict(self.connection.execute("SELECT name, value FROM settings"))
        if not all(map(_is_valid_integer, found.values())):
            raise _damaged(self.path)
        return found

    def imports(self) -> list[ImportedFile]:
        rows = self.connection.execute(f"SELECT {', '.join(_IMPORT_COLUMNS)} FROM imports ORDER BY number")
        found = [ImportedFile(*row) for row in rows]
        found = [replace(each, dropped=_dropped_counts(self.path, each.dropped)) for each in found]
        for each in found:
            texts, numbers = (each.name, each.format), (each.size, each.lines, each.used, each.out_of_order)
            is_valid_time = isinstance(each.at, float) and 0 <= each.at < _MAX_TIME / 1000
            if not (is_valid_time and all(isinstance(text, str) for text in texts)):
                raise _damaged(self.path)
            if not all(map(_is_valid_integer, numbers)):
                raise _damaged(self.path)
        return found

    def add(self, imported: ImportedFile) -> None:
        row = asdict(imported) | {"dropped": json.dumps(dict(imported.dropped))}
        names, marks = ", ".join(_IMPORT_COLUMNS), ", ".join(f":{column}" for column in _IMPORT_COLUMNS)
        self.connection.execute(f"INSERT INTO imports ({names}) VALUES ({marks})", row)

    def hashes(self) -> Iterator[bytes]:
        """The hashes of all users, in the order of their numbers."""
        for (blob,) in self.connection.execute("SELECT hashes FROM users ORDER BY number"):
            self._array(blob, f"<V{HASH_BYTES}")
            for start in range(0, len(blob), HASH_BYTES):
                yield blob[start : start + HASH_BYTES]

    def groups(self) -> Int32Array:
        """The users with too many requests for one person: proxies that many share, or robots."""
        numbers = np.array([user for (user,) in self.connection.execute("SELECT user FROM groups")], np.int64)
        if not _within(numbers, 1 << 31):
            raise _damaged(self.path)
        return numbers.astype(np.int32)

    def urls(self) -> UrlColumn:
        texts, ends, length = [], [], 0
        for text, blob in self.connection.execute("SELECT text, ends FROM urls ORDER BY number"):
            ends_in_text, size = self._array(blob, "<i8"), len(self._array(text, "<u1"))
            has_short_url = (np.diff(ends_in_text, prepend=0) < 8).any()
            # Each end is checked by itself as well: differences of huge numbers wrap around.
            if not _within(ends_in_text, size + 1) or has_short_url or ends_in_text[-1:].sum() != size:
                raise _damaged(self.path)
            texts.append(text)
            ends.append(ends_in_text + length)
            length += size
        column = UrlColumn(b"".join(texts), np.concatenate([np.zeros(0, np.int64), *ends]))
        _check_urls(self.path, column)
        return column

    def accesses(self, first: int | None = None, last: int | None = None) -> Accesses:
        """All accesses; with `first` and `last`, in milliseconds, only of the blobs that overlap that period."""
        rows = self.connection.execute(
            "SELECT users, urls, moments FROM accesses "
            "WHERE (?1 IS NULL OR last >= ?1) AND (?2 IS NULL OR first <= ?2) ORDER BY number",
            (first, last),
        ).fetchall()
        return Accesses(*self._arrays(rows, "<i4", "<i4", "<i8"))

    def minutes(self, first: int, last: int) -> MinuteCounts:
        """The counts of the blobs that overlap the period, in minutes since the epoch."""
        rows = self.connection.execute(
            "SELECT users, minutes, counts FROM minutes WHERE last >= ? AND first <= ?", (first, last)
        ).fetchall()
        return MinuteCounts(*self._arrays(rows, "<i4", "<i4", "<i4"))

    def access_log(self) -> AccessLog:
        """All accesses except those of groups, with the pages and users that have any."""
        rows, urls = self.accesses(), self.urls()
        blobs = self.connection.execute("SELECT hashes FROM users")
        count = sum(len(self._array(blob, f"<V{HASH_BYTES}")) for (blob,) in blobs)
        if not (_within(rows.users, count) and _within(rows.pages, len(urls)) and _within(rows.moments, _MAX_TIME)):
            raise _damaged(self.path)
        groups = self.groups()
        if len(groups):
            is_single = np.ones(count, np.bool_)
            is_single[groups[groups < count]] = False
            rows = rows.only(is_single[rows.users])
        return AccessLog.of_columns(urls, count, rows.users, rows.pages, rows.moments / 1000).without_unused()

    def _array(self, blob: object, dtype: str) -> "np.ndarray[Any, Any]":
        if not isinstance(blob, bytes) or len(blob) % np.dtype(dtype).itemsize:
            raise _damaged(self.path)
        return np.frombuffer(blob, dtype)

    def _arrays(self, rows: list[tuple[bytes, bytes, bytes]], *dtypes: str) -> "list[np.ndarray[Any, Any]]":
        for row in rows:
            if len({len(self._array(blob, dtype)) for blob, dtype in zip(row, dtypes, strict=True)}) > 1:
                raise _damaged(self.path)
        return [
            np.concatenate([np.zeros(0, dtype), *(np.frombuffer(row[index], dtype) for row in rows)])
            for index, dtype in enumerate(dtypes)
        ]


@contextmanager
def open_log_file(path: Path, *, writable: bool = False) -> Iterator[LogFile]:
    """Opens a log; created if it is writable and there is none. Refuses files that are no log, or cut off."""
    with _open_database(path, writable=writable) as connection:
        yield LogFile(path, connection)


def open_access_log(path: Path | str, *, min_users: int = 1) -> AccessLog:
    """The accesses of an imported log, without pages read by fewer than `min_users` users.

    If the log was imported with a higher number, that number holds.
    """
    with open_log_file(Path(path)) as log:
        return log.access_log().with_min_users(max(min_users, log.settings().get(MIN_USERS_SETTING, 1)))


def _is_valid_integer(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _MAX_INTEGER


def _within(column: "np.ndarray[Any, np.dtype[Any]]", end: int) -> bool:
    return not len(column) or bool(column.min() >= 0 and column.max() < end)


def _check_urls(path: Path, column: UrlColumn) -> None:
    """Refuses a hostile file: every URL must begin as one, and none may have blanks or control characters."""
    if not len(column):
        return
    text = np.frombuffer(column.text, np.uint8)
    starts = np.concatenate((np.zeros(1, np.int64), column.ends[:-1]))
    begins = text[starts[:, None] + np.arange(7)]
    is_http = (begins == np.frombuffer(b"http://", np.uint8)).all(axis=1)
    is_https = (begins == np.frombuffer(b"https:/", np.uint8)).all(axis=1)
    if not (is_http | is_https).all() or text.min() <= 32 or text.max() >= 127:
        raise _damaged(path)


def _dropped_counts(path: Path, text: object) -> dict[str, int]:
    """The numbers of dropped lines by reason, from their JSON."""
    try:
        counts = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(counts, dict) or not all(
        reason in DESCRIPTIONS.values() and _is_valid_integer(count) for reason, count in counts.items()
    ):
        raise _damaged(path)
    return counts
