"""The file of an atlas: its tables, opening it safely although it is untrusted, and replacing it atomically.

A file is never changed in place: a writer works on a copy, which then replaces it. So readers see a consistent state, a
kill leaves the file as it was, and the single file can be copied and sent.

The tables hold the maps of topics (see `topic_map`): `members` are the pages of a topic, of which some are portals,
tied to one another, while every other page is tied to one portal. `sources` are the collections that pages and
citations are from, `citations` the number of links that one of them has from the pages of one topic to those of
another. A `sketch` stands for the words of a page (see `similarity`); `seed`, `reach` and `similar` say how a map was
drawn (see `draw_map`).
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from lycosa.vocabulary.databases import has_only_tables, open_database
from lycosa.vocabulary.errors import LycosaError, UsageError, cannot_write
from lycosa.vocabulary.files import atomic_write

APPLICATION_ID = int.from_bytes(b"LyMa", "big")  # in the header of the file
VERSION = 1
MAX_FILE = 8 << 30  # bytes
MAX_ROW = 8 << 20  # bytes
MAX_NUMBER = 2_000_000_000  # of a page
_HOW_TO_MAKE = "an atlas is made by: lycosa map build NAME --out ATLAS"
TABLES = {  # by name; a file with any other statement, even another comment, is not an atlas
    "pages": """CREATE TABLE pages (
    number INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    alive_at REAL,  -- when last seen so, in seconds since the epoch
    dead_at REAL,
    links BLOB NOT NULL DEFAULT x'',  -- numbers of the pages it links to, 4 bytes each, lowest byte first
    sketch BLOB  -- of its text
)""",
    "topics": """CREATE TABLE topics (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    drawn_at REAL NOT NULL,
    seed INTEGER NOT NULL,
    reach TEXT NOT NULL,
    similar INTEGER NOT NULL  -- 1 where similar pages are rather tied
)""",
    "sources": "CREATE TABLE sources (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at REAL NOT NULL)",
    "members": """CREATE TABLE members (
    topic INTEGER NOT NULL,
    page INTEGER NOT NULL,
    portal INTEGER,  -- that the page is tied to; NULL for a portal
    rank INTEGER,  -- among the portals; NULL for the others
    source INTEGER NOT NULL,
    PRIMARY KEY (topic, page)
) WITHOUT ROWID""",
    "related": """CREATE TABLE related (
    topic INTEGER NOT NULL,
    met TEXT NOT NULL,  -- the topic from whose pages one is sent to the portals
    PRIMARY KEY (topic, met)
) WITHOUT ROWID""",
    "citations": """CREATE TABLE citations (
    source INTEGER NOT NULL,
    citing TEXT NOT NULL,
    cited TEXT NOT NULL,
    links INTEGER NOT NULL,
    PRIMARY KEY (source, citing, cited)
) WITHOUT ROWID""",
}

TIMESTAMP_COLUMNS = (
    ("pages", "alive_at"),
    ("pages", "dead_at"),
    ("topics", "drawn_at"),
    ("sources", "at"),
)


def open_atlas_file(path: Path) -> sqlite3.Connection:
    """Opens an atlas for reading; UsageError for other or truncated files."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(16)
    except OSError as error:
        raise UsageError(f"cannot read the atlas {path}: {error.strerror}") from None
    if header != b"SQLite format 3\0":
        raise UsageError(f"{path} is not an atlas; name another file ({_HOW_TO_MAKE})")
    if size > MAX_FILE:
        raise UsageError(f"{path} is larger than {MAX_FILE >> 30} GB, which no atlas is")
    with atlas_errors(path):
        connection = _connection(path, "immutable")
        try:
            _check(connection, path, size)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def rewrite_atlas_file(path: Path, *, start: Path | None = None) -> Iterator[sqlite3.Connection]:
    """An atlas for writing, which replaces the file at `path` at the end; on any error the file stays as it was.

    start: the atlas to begin with; by default that at `path`, or an empty one if there is none.
    """
    begin = start if start is not None else path if path.exists() else None
    if begin is not None:
        open_atlas_file(begin).close()
    with atlas_errors(path), _one_writer(path), atomic_write(path, wait=False) as file:
        if begin is not None:
            with begin.open("rb") as before:
                shutil.copyfileobj(before, file, 1 << 20)
            file.flush()
        connection = _connection(Path(file.name), "rw")
        try:
            connection.execute("PRAGMA journal_mode = OFF")  # on failure, the old file is still there
            connection.execute("PRAGMA synchronous = OFF")
            if begin is None:
                _create(connection)
            yield connection
            connection.commit()
        finally:
            connection.close()


@contextmanager
def atlas_errors(path: Path) -> Iterator[None]:
    """Raises errors of disk and database as one line for the user."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # messages of SQLite may quote damaged text
        if "unable to open" in str(error):
            raise UsageError(f"cannot write the atlas {path}: {error}; give access, or another file") from None
        if "full" in str(error) or "I/O" in str(error):
            raise LycosaError(f"cannot write the atlas {path}: {error}; make room") from None
        raise UsageError(f"the atlas {path} is damaged ({error}); take another copy, or build it again") from None
    except OSError as error:
        raise cannot_write(f"the atlas {path}", error, advice="make room, give access, or another file") from None


@contextmanager
def _one_writer(path: Path) -> Iterator[None]:
    try:
        yield
    except BlockingIOError:
        raise LycosaError(f"another program is writing {path}; try again when it is done") from None


def _create(connection: sqlite3.Connection) -> None:
    for statement in TABLES.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _connection(path: Path, mode: Literal["immutable", "rw"]) -> sqlite3.Connection:
    connection = open_database(path, mode=mode, max_value_size=MAX_ROW)
    connection.text_factory = _decode_text
    return connection


def _check(connection: sqlite3.Connection, path: Path, size: int) -> None:
    def pragma(name: str) -> int:
        (value,) = connection.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    if pragma("application_id") != APPLICATION_ID:
        raise UsageError(f"{path} is a database, but not an atlas; name another file ({_HOW_TO_MAKE})")
    if (version := pragma("user_version")) != VERSION:
        raise UsageError(
            f"the atlas {path} is of version {version}, this Lycosa knows {VERSION}; use the Lycosa that wrote it"
        )
    if pragma("page_count") * pragma("page_size") > size:
        raise UsageError(f"the atlas {path} is cut off; take another copy")
    if not has_only_tables(connection, TABLES):
        raise UsageError(f"the atlas {path} has other tables than an atlas has; take another copy")
    (highest,) = connection.execute("SELECT max(number) FROM pages").fetchone()
    if highest is not None and not 0 < highest < MAX_NUMBER:  # links keep numbers in four bytes
        raise UsageError(f"the atlas {path} numbers its pages as none does; take another copy")


def _decode_text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
