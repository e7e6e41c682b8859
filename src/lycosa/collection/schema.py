"""The tables of a catalog, by version, and opening a catalog of any version.

A catalog can be rebuilt from the archive, so nothing in it is the only copy. A page with 40 links takes some 4 KB,
nearly all of it in `links`. The queries `parents` and `fetches` have no index and scan whole tables (some 40 MB and a
few hundredths of a second for 10 000 pages), because an index that only `lycosa explain` uses would slow every crawl.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from lycosa.vocabulary.databases import open_database
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import quoted

from .errors import rebuilt_with

# The statements of a migration never change: those of stored catalogs are compared with them.
VERSION_1 = """
CREATE TABLE pages (
    number INTEGER PRIMARY KEY,  -- order of arrival
    url TEXT NOT NULL UNIQUE,
    host TEXT NOT NULL,
    title TEXT NOT NULL,
    language TEXT NOT NULL,
    relevance REAL,
    digest INTEGER NOT NULL,  -- hash of the content
    fingerprint INTEGER NOT NULL,  -- of near-duplicates
    at REAL NOT NULL,  -- of the fetch, seconds since the epoch
    bytes INTEGER NOT NULL,  -- of the body as sent
    depth INTEGER NOT NULL,  -- links from a seed
    found_on TEXT,
    priority REAL NOT NULL,
    because TEXT NOT NULL,  -- JSON: why the strategy gave it this priority
    anchor TEXT NOT NULL,
    duplicate_of TEXT,
    status INTEGER,  -- of HTTP
    file TEXT, place INTEGER, length INTEGER,  -- WARC file, byte offset and length of the record
    etag TEXT NOT NULL,
    last_modified TEXT NOT NULL,
    truncated TEXT NOT NULL
);
CREATE TABLE fetches (
    url TEXT NOT NULL,
    at REAL NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    elapsed REAL NOT NULL,  -- seconds
    detail TEXT NOT NULL,
    digest INTEGER NOT NULL,
    settled INTEGER NOT NULL,  -- 0 where another attempt follows
    file TEXT, place INTEGER, length INTEGER  -- WARC file, byte offset and length of the record
);
CREATE TABLE links (
    source INTEGER NOT NULL,  -- number of the page
    rank INTEGER NOT NULL,  -- 0, 1, 2: order among the links of the page
    position INTEGER NOT NULL,  -- offset of the anchor in the text of the page, in characters
    target TEXT NOT NULL,
    anchor TEXT NOT NULL,
    rel TEXT NOT NULL,
    PRIMARY KEY (source, rank)
) WITHOUT ROWID;
-- key: 64-bit hash of the URL
CREATE TABLE skips (key INTEGER NOT NULL, url TEXT NOT NULL, reason TEXT NOT NULL, found_on TEXT, at REAL NOT NULL);
CREATE UNIQUE INDEX skips_by_key ON skips (key);
CREATE TABLE runs (
    at REAL NOT NULL,
    strategy TEXT NOT NULL,
    seeds TEXT NOT NULL,  -- JSON
    scope TEXT NOT NULL,  -- JSON
    first_page INTEGER NOT NULL,  -- number of the first page that the run may store
    stopped_at REAL,
    stop_reason TEXT
);
CREATE TABLE examples (
    url TEXT NOT NULL UNIQUE,
    good INTEGER NOT NULL,  -- 1 for a positive example, 0 for a negative one
    at REAL NOT NULL,
    outcome TEXT NOT NULL,
    file TEXT, place INTEGER, length INTEGER  -- WARC file, byte offset and length of the record
);
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

VERSION_2 = "ALTER TABLE pages ADD COLUMN standing REAL"

VERSION_3 = """
ALTER TABLE pages ADD COLUMN looked_at REAL;  -- when it was last fetched again; NULL if it never was
ALTER TABLE pages ADD COLUMN vanished_at REAL;  -- when it was found to be gone; NULL while it exists
ALTER TABLE pages ADD COLUMN vanished_why TEXT NOT NULL DEFAULT '';
ALTER TABLE fetches ADD COLUMN again INTEGER NOT NULL DEFAULT 0;  -- 1 for the repeated fetch of a stored page
ALTER TABLE runs ADD COLUMN refresh TEXT;  -- JSON; NULL where the run was a crawl
CREATE TABLE looks (  -- fetch history of the pages that were fetched again, the first fetch included
    page INTEGER NOT NULL,  -- number of the page
    look INTEGER NOT NULL,  -- 1, 2, 3: order of the fetches, which clocks may contradict
    at REAL NOT NULL,
    change TEXT NOT NULL,  -- 'new' for the first fetch, else a Change
    status INTEGER,
    digest INTEGER, bytes INTEGER, links INTEGER,  -- of the new version; NULL if there was none
    new_links INTEGER NOT NULL,  -- number of links that the version before did not have
    file TEXT, place INTEGER, length INTEGER,  -- WARC file, byte offset and length of the record
    PRIMARY KEY (page, look)
) WITHOUT ROWID;
CREATE TABLE new_links (page INTEGER, look INTEGER, target TEXT, PRIMARY KEY (page, look, target)) WITHOUT ROWID;
CREATE TABLE stale (page INTEGER PRIMARY KEY);  -- pages that changed since the search index was last committed
"""

VERSION_4 = """
ALTER TABLE fetches ADD COLUMN left_out TEXT NOT NULL DEFAULT '';  -- LeftOut of a page that was not kept
ALTER TABLE pages ADD COLUMN is_copy INTEGER NOT NULL DEFAULT 0;  -- 1 if it has the text of duplicate_of
ALTER TABLE pages ADD COLUMN links_beyond INTEGER NOT NULL DEFAULT 0;  -- links that were not read, as too many
ALTER TABLE pages ADD COLUMN needs_script INTEGER NOT NULL DEFAULT 0;
"""

# The table of another package in the same file, the frontier, as its CREATE statement without comments.
_FRONTIER = (
    "CREATE TABLE frontier (arrival INTEGER PRIMARY KEY, url TEXT NOT NULL, priority REAL NOT NULL,"
    " candidate BLOB NOT NULL)"
)
_MAX_VALUE_LENGTH = 1 << 28  # bytes of one text or row
_COMMENT = re.compile(r"--[^\n]*")
_BLANK_IN_BRACKETS = re.compile(r"(?<=\() | (?=\))")
_MAX_OBJECTS = 1_000
_PLAIN_INDEX = re.compile(
    r'(?i)(create index "?\w+"? on "?\w+"? ?\([\w", ]+\))?'
)  # of columns; '' for that of a constraint

MIGRATIONS: Sequence[str] = (VERSION_1, VERSION_2, VERSION_3, VERSION_4)  # the n-th migrates from version n to n + 1


def version_of(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Migrates a catalog to the latest version, each step in a transaction."""
    while version_of(connection) < len(migrations):
        try:
            connection.execute("BEGIN IMMEDIATE")
            version = version_of(connection)  # again, as another process may have migrated it
            if version < len(migrations):
                for statement in _statements(migrations[version]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.commit()
        except sqlite3.Error:
            if connection.in_transaction:
                connection.rollback()
            raise


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; `executescript` would commit the open transaction."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@cache
def _expected_objects(migrations: tuple[str, ...]) -> frozenset[tuple[str, str, str]]:
    """The database objects of a catalog made by these migrations."""
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate(connection, migrations)
        return _objects_in(connection)


def _objects_in(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Type, name and statement of every table, index, view and trigger."""
    # SQLite also takes a BLOB there, and ignores case in types and names: a forged one must not look like another.
    columns = "CAST(type AS TEXT), CAST(name AS TEXT), CAST(coalesce(sql, '') AS TEXT)"
    sql = f"SELECT {columns} FROM sqlite_master LIMIT ?"
    found = connection.execute(sql, (_MAX_OBJECTS + 1,)).fetchall()
    if len(found) > _MAX_OBJECTS:
        raise sqlite3.DatabaseError(f"it has more than {_MAX_OBJECTS} tables, indexes and views")
    return frozenset((kind, name, _normalized(sql)) for kind, name, sql in found)


def _normalized(sql: str) -> str:
    """A statement without comments and in one line, since a catalog has it as its version of Lycosa laid it out.

    >>> _normalized("CREATE TABLE words (\\n    word TEXT  -- in lower case\\n)")
    'CREATE TABLE words (word TEXT)'
    """
    return _BLANK_IN_BRACKETS.sub("", " ".join(_COMMENT.sub(" ", sql).split()))


def check_schema(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Raises sqlite3.DatabaseError if the tables are not those of the catalog's version, or if writing would run code.

    An untrusted catalog may have a view instead of a table, or a trigger, an expression index or a partial index that
    computes for ever. Additional tables, views and indexes of columns are allowed.
    """
    connection.execute("BEGIN")  # another process may be migrating it
    try:
        found, version = _objects_in(connection), version_of(connection)
    finally:
        connection.rollback()
    expected = _expected_objects(tuple(migrations[:version]))
    others = found - expected - {("table", "frontier", _FRONTIER)}
    runs_code = any(
        kind not in ("table", "view", "index")
        or name.lower() == "frontier"
        or (kind == "index" and not _PLAIN_INDEX.fullmatch(sql))
        for kind, name, sql in others
    )
    if not expected <= found or runs_code:
        raise sqlite3.DatabaseError("its tables are not those of a catalog")


def sql_url_test(test: Callable[[Url], bool]) -> Callable[[object], bool]:
    """A test of URLs as a function for SQL: False for every value that is no absolute URL, whatever a row holds."""
    return lambda value: isinstance(value, str) and value.startswith(("http://", "https://")) and bool(test(Url(value)))


def connect(path: Path, *, writable: bool, migrations: Sequence[str]) -> sqlite3.Connection:
    """Opens the catalog at a path and migrates it to the latest version; read-only unless `writable`."""
    name = rebuilt_with(path.parent)
    if not writable and not path.exists():
        raise CollectionError(f"{name} has no catalog; run: lycosa rebuild {quoted(name)}")
    connection = _open(path, writable=writable)
    try:
        version = version_of(connection)
        if version > len(migrations):
            raise CollectionError(
                f"the catalog of {name} was written by a newer Lycosa (schema {version}, this one knows"
                f" {len(migrations)}); install that one, or leave out what this one does not understand with:"
                f" lycosa rebuild {quoted(name)}"
            )
        if version < 0:
            raise sqlite3.DatabaseError(f"its schema version is {version}")
        check_schema(connection, migrations)
        if version == 0 and not writable:
            raise CollectionError(f"the catalog of {name} is empty; run: lycosa rebuild {quoted(name)}")
        if writable:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 8000")  # database pages; copies those written often less
            migrate(connection, migrations)
    except (CollectionError, sqlite3.Error):
        connection.close()
        raise
    if version < len(migrations) and not writable:
        connection.close()
        connect(path, writable=True, migrations=migrations).close()
        return _open(path, writable=False)
    return connection


def _open(path: Path, *, writable: bool) -> sqlite3.Connection:
    if writable:
        return open_database(path, mode="rwc", max_value_size=_MAX_VALUE_LENGTH)
    connection = open_database(path, mode="ro", max_value_size=_MAX_VALUE_LENGTH)
    try:
        version_of(connection)
    except sqlite3.Error as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError) or path.with_name(path.name + "-wal").exists():
            raise
        return open_database(path, mode="immutable", max_value_size=_MAX_VALUE_LENGTH)  # a read-only folder
    return connection
