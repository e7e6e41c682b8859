"""Opens SQLite files that may be untrusted, so that a crafted rollback journal beside one cannot delete other files.

When SQLite opens a database after a crash, it rolls back the transaction in the journal beside it. If the journal ends
in the name of a super-journal, as in a transaction over several databases, SQLite then deletes the file of that name,
whatever it is. Lycosa has no such transactions, so a journal that names a super-journal was not written by Lycosa.
"""

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from .files import open_regular_file, resolved

_SUPER_JOURNAL_END = bytes.fromhex("d9d505f920a163d7")  # the last bytes of a journal that names a super-journal
Mode = Literal[
    "rwc", "rw", "ro", "immutable"
]  # read and write, created if missing; read and write; read; read a file that no process changes


def open_database(
    path: Path, *, mode: Mode, max_value_size: int, timeout: float = 5.0, autocommit: bool = False
) -> sqlite3.Connection:
    """A connection to the database at a path; raises sqlite3.Error, also if its journal names a super-journal.

    max_value_size: bytes. A crafted file of a few pages can claim a value of a gigabyte, by pages that form a cycle.
    timeout: seconds to wait for a lock of another process.
    autocommit: whether each statement is a transaction of its own unless one is begun explicitly.
    """
    _refuse_super_journal(path)
    options = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=timeout,
        isolation_level=None if autocommit else "DEFERRED",
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_value_size)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def has_only_tables(connection: sqlite3.Connection, tables: Mapping[str, str]) -> bool:
    """Whether a database has just these tables, by name and statement: a view or a trigger could do anything.

    Only the indexes that SQLite makes for itself have no statement. Names prove nothing: a trigger may have any.
    """
    sql = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT ?"
    found = connection.execute(sql, (len(tables) + 1,)).fetchall()
    return len(found) == len(tables) and set(found) == {("table", *table) for table in tables.items()}


def _refuse_super_journal(path: Path) -> None:
    try:
        target = resolved(path)  # SQLite follows symbolic links, and looks for the journal beside the target
        if not target.name:
            return
        journal = target.with_name(f"{target.name}-journal")
        with open_regular_file(journal) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_SUPER_JOURNAL_END)))
            names_super_journal = file.read() == _SUPER_JOURNAL_END
    except FileNotFoundError:
        return
    except OSError as error:
        raise sqlite3.DatabaseError(f"its journal cannot be read: {error.strerror}") from None
    if names_super_journal:
        raise sqlite3.DatabaseError("its journal names another file, so it was not written by Lycosa")
