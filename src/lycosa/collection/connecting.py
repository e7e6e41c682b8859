"""Opening the database of a catalog, of whatever version it is."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from lycosa.vocabulary.errors import CollectionError

from .schema import migrate, version_of


def connected(path: Path, writable: bool, migrations: Sequence[str]) -> sqlite3.Connection:
    """The catalog at a path, brought to the newest version; whoever only reads it cannot change it."""
    name = path.parent
    if not writable and not path.exists():
        raise CollectionError(f"{name} has no catalog; run: lycosa rebuild {name}")
    connection = _opened(path, writable)
    version = version_of(connection)
    if version > len(migrations):
        connection.close()
        raise CollectionError(
            f"the catalog of {name} was written by a newer Lycosa (schema {version}, this one knows {len(migrations)});"
            f" install that one, or leave out what this one does not understand with: lycosa rebuild {name}"
        )
    if version < len(migrations) and not writable:
        connection.close()
        connected(path, True, migrations).close()
        connection = _opened(path, writable)
    if writable:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 8000")  # pages: hot ones are copied back less often
        migrate(connection, migrations)
    return connection


def _opened(path: Path, writable: bool) -> sqlite3.Connection:
    if writable:
        return sqlite3.connect(path)
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        version_of(connection)
    except sqlite3.OperationalError:
        connection.close()
        if path.with_name(path.name + "-wal").exists():
            raise
        return sqlite3.connect(f"{address}?immutable=1", uri=True)  # a folder in which SQLite cannot make its files
    return connection
