"""Errors of disks and databases as one line for the user."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.vocabulary.errors import CollectionError


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raises errors of the disk under `path` as CollectionError."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise CollectionError(
            f"cannot use {where}: {error.strerror or error}; make room or give access, then go on"
        ) from error


@contextmanager
def catalog_errors(path: Path) -> Iterator[None]:
    """Raises errors of the database at `path` as CollectionError."""
    name = path.parent
    try:
        yield
    except sqlite3.OperationalError as error:
        what = str(error)
        if "no such table" in what or "no such column" in what or "malformed" in what:
            raise CollectionError(f"the catalog of {name} is damaged ({what}); run: lycosa rebuild {name}") from error
        if "locked" in what:
            raise CollectionError(
                f"the catalog of {name} is in use by another program; try again when it is done"
            ) from error
        raise CollectionError(f"cannot use {path}: {what}; make room or give access, then go on") from error
    except sqlite3.DatabaseError as error:
        raise CollectionError(f"the catalog of {name} is damaged ({error}); run: lycosa rebuild {name}") from error
