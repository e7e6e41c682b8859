"""The tables of an imported log, and how its file is made, opened and checked, whoever made it.

Columns are kept as blobs, lowest byte first.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.unwritable import cannot_write

APPLICATION = int.from_bytes(b"LyLo", "big")  # in the header of the file
VERSION = 1
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


@contextmanager
def connected(path: Path, *, writable: bool = False) -> Iterator[sqlite3.Connection]:
    """The database of a log, made where it is to be written and there is none."""
    if not writable or path.exists():
        _check_header(path)
    with told(path):
        # Not for reading only: what a killed import left behind is undone by whoever opens the file next.
        connection = _connection(path, "rwc" if writable else "rw")
        try:
            if writable:
                _create(connection)
            _check(connection, path)
            yield connection
        finally:
            connection.close()


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What disk and database raise leaves as one line."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        if "locked" in said or "busy" in said:
            raise LycosaError(f"another program is importing into {path}; try again when it is done") from None
        if "unable to open" in said or "readonly" in said:
            raise UsageError(f"cannot write the log {path}: {said}; give access, or another --into") from None
        if "full" in said or "I/O" in said:
            raise LycosaError(f"cannot write the log {path}: {said}; make room") from None
        raise damaged(path) from None
    except OSError as error:
        raise cannot_write(f"the log {path}", error, way_out="make room or give access") from None


def damaged(path: Path) -> UsageError:
    return UsageError(f"the log {path} is damaged; take another copy, or import the files again")


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=1.0)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
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
    """Makes the tables where there are none."""
    if _is_made(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    if not _is_made(connection):  # by another program, meanwhile
        for statement in TABLES.values():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _is_made(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _check(connection: sqlite3.Connection, path: Path) -> None:
    def pragma(name: str) -> int:
        return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex%' LIMIT ?", (len(TABLES) + 1,)
    ).fetchall()
    if not found:
        raise UsageError(f"{path} is empty; make a log with: lycosa logs import FILE --into {path}")
    if pragma("application_id") != APPLICATION:
        raise UsageError(
            f"{path} is a database, but not an imported log; make one with: lycosa logs import FILE --into NAME.log"
        )
    if (version := pragma("user_version")) != VERSION:
        raise UsageError(
            f"the log {path} is of version {version}, this Lycosa knows {VERSION}; use the Lycosa that wrote it"
        )
    if pragma("page_count") * pragma("page_size") > path.stat().st_size:
        raise UsageError(f"the log {path} is cut off; take another copy, or import the files again")
    if dict(found) != TABLES:  # a view or a trigger could do anything
        raise UsageError(f"the log {path} has other tables than a log has; take another copy")
