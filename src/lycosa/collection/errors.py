"""Turns errors of disks and databases into one-line messages."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO
from pathlib import Path

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.text import quoted

# Parts of messages of SQLite that mean a damaged file; all others are about the disk or other programs.
_DAMAGE_MESSAGES = (
    "no such table",
    "no such column",
    "malformed",
    "Could not decode",
    "user-defined function",
    "too big",
)
SHARDS = "shards"  # folder of the shards of a collection, while several workers crawl
_DISK_ERROR_WAY_OUT = "make room, or where the disk fails copy {name} to another, then go on"


class DamagedRowError(Exception):
    """A row of the catalog that Lycosa cannot have written."""


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raises errors of the disk under `path` as CollectionError."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        way_out = "make room or give access, then go on"
        if error.errno == EIO:
            way_out = _DISK_ERROR_WAY_OUT.format(name=path)
        raise CollectionError(f"cannot use {where}: {error.strerror or error}; {way_out}") from error


@contextmanager
def catalog_errors(path: Path) -> Iterator[None]:
    """Raises errors of the database at `path` as CollectionError."""
    name = rebuilt_with(path.parent)
    try:
        yield
    except sqlite3.OperationalError as error:
        message = str(error)
        if any(phrase in message for phrase in _DAMAGE_MESSAGES):
            raise CollectionError(
                f"the catalog of {name} is damaged ({message}); run: lycosa rebuild {quoted(name)}"
            ) from error
        if "locked" in message:
            raise CollectionError(
                f"the catalog of {name} is in use by another program; try again when it is done"
            ) from error
        way_out = "make room or give access, then go on"
        if "disk I/O error" in message:
            way_out = _DISK_ERROR_WAY_OUT.format(name=name)
        raise CollectionError(f"cannot use {path}: {message}; {way_out}") from error
    except (sqlite3.DatabaseError, DamagedRowError) as error:
        raise CollectionError(
            f"the catalog of {name} is damaged ({error}); run: lycosa rebuild {quoted(name)}"
        ) from error


def rebuilt_with(folder: Path) -> Path:
    """The folder to name in advice to rebuild: of the collection, also for one of its shards."""
    return folder.parent.parent if folder.parent.name == SHARDS else folder
