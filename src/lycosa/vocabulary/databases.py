"""SQLite files that somebody else may have made, opened so that what lies beside them does not act.

When SQLite opens a file, it rolls back what a killed program left half done: it plays the journal beside the file.
Where that journal ends in the name of another file, as in transactions over several databases, SQLite then deletes that
file, whatever it is. Lycosa has no such transactions, so a journal that names a file is none of its own.
"""

import os
import sqlite3
from pathlib import Path
from typing import Literal

from .files import open_regular_file

_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")  # the last bytes of a journal, behind the name
Mode = Literal[
    "rwc", "rw", "ro", "immutable"
]  # created where there is none; changed; read; read, and changed by nobody


def open_database(
    path: Path, *, mode: Mode, longest_value: int, timeout: float = 5.0, commits_itself: bool = False
) -> sqlite3.Connection:
    """A connection to the database at a path; raises sqlite3.Error, also where a journal of somebody else's is beside.

    longest_value: bytes. A file of a few pages can claim a value of a gigabyte, by pages that lead back to each other.
    timeout: seconds to wait for another program.
    commits_itself: whether statements stand alone unless a transaction is begun.
    """
    _refuse_journal(path)
    options = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=timeout,
        isolation_level=None if commits_itself else "DEFERRED",
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest_value)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _refuse_journal(path: Path) -> None:
    target = path.resolve()  # SQLite follows links to the file, and looks for the journal there
    journal = target.with_name(f"{target.name}-journal")
    try:
        with open_regular_file(journal) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_NAMES_A_FILE)))
            is_ours = file.read() != _NAMES_A_FILE
    except FileNotFoundError:
        return
    except OSError as error:
        raise sqlite3.DatabaseError(f"its journal cannot be read: {error.strerror}") from None
    if not is_ours:
        raise sqlite3.DatabaseError("its journal, which names another file, is not of Lycosa")
