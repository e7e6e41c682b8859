"""What is in the file of an imported log."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .accesses import Accesses
from .dropping import SAYS
from .groups import Minutes
from .log_schema import connected, damaged
from .people import HASH_BYTES
from .readings import Numbers, Readings
from .url_column import UrlColumn

_NEVER = 1 << 52  # milliseconds since the epoch
MIN_USERS, A_DAY, A_MINUTE = "min_users", "most_a_day", "most_a_minute"


@dataclass(frozen=True)
class ImportedFile:
    """One file that a log was made from."""

    name: str
    format: str
    at: float
    size: int
    digest: bytes
    lines: int
    used: int
    out_of_order: int
    dropped: Mapping[str, int]


class LogFile:
    """An open log."""

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path = path
        self.connection = connection

    def settings(self) -> dict[str, int]:
        found = dict(self.connection.execute("SELECT name, value FROM settings"))
        if not all(map(_is_number, found.values())):
            raise damaged(self.path)
        return found

    def imports(self) -> list[ImportedFile]:
        columns = "name, format, at, size, digest, lines, used, out_of_order, dropped"
        rows = self.connection.execute(f"SELECT {columns} FROM imports ORDER BY number")
        found = [ImportedFile(*(*row[:8], _counts(self.path, row[8]))) for row in rows]
        for each in found:
            texts, numbers = (each.name, each.format), (each.size, each.lines, each.used, each.out_of_order)
            is_told = all(isinstance(text, str) for text in texts) and isinstance(each.at, float)
            if not is_told or not all(map(_is_number, numbers)):
                raise damaged(self.path)
        return found

    def add(self, imported: ImportedFile) -> None:
        values = [*astuple(imported)[:-1], json.dumps(dict(imported.dropped))]
        self.connection.execute("INSERT INTO imports VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def hashes(self) -> Iterator[bytes]:
        """Of all users, by their numbers."""
        for (blob,) in self.connection.execute("SELECT hashes FROM users ORDER BY number"):
            self._column(blob, f"<V{HASH_BYTES}")
            for start in range(0, len(blob), HASH_BYTES):
                yield blob[start : start + HASH_BYTES]

    def groups(self) -> Numbers:
        return np.array([user for (user,) in self.connection.execute("SELECT user FROM groups")], np.int32)

    def urls(self) -> UrlColumn:
        texts, ends, length = [], [], 0
        for text, blob in self.connection.execute("SELECT text, ends FROM urls ORDER BY number"):
            these = self._column(blob, "<i8") + length
            length += len(self._column(text, "<u1"))
            if (len(these) and these[-1] != length) or (np.diff(these, prepend=length - len(text)) < 8).any():
                raise damaged(self.path)
            texts.append(text)
            ends.append(these)
        column = UrlColumn(b"".join(texts), np.concatenate([np.zeros(0, np.int64), *ends]))
        _check_urls(self.path, column)
        return column

    def accesses(self, first: int | None = None, last: int | None = None) -> Accesses:
        """All; with `first` and `last`, in milliseconds, those of the blobs that have any of that time."""
        rows = self.connection.execute(
            "SELECT users, urls, moments FROM accesses "
            "WHERE (?1 IS NULL OR last >= ?1) AND (?2 IS NULL OR first <= ?2) ORDER BY number",
            (first, last),
        ).fetchall()
        return Accesses(*self._columns(rows, "<i4", "<i4", "<i8"))

    def minutes(self, first: int, last: int) -> Minutes:
        """Those of the blobs that have any of that time."""
        rows = self.connection.execute(
            "SELECT users, minutes, counts FROM minutes WHERE last >= ? AND first <= ?", (first, last)
        ).fetchall()
        return Minutes(*self._columns(rows, "<i4", "<i4", "<i4"))

    def readings(self) -> Readings:
        """All accesses but those of groups; pages and people of whom none is left are left out."""
        rows, urls = self.accesses(), self.urls()
        blobs = self.connection.execute("SELECT hashes FROM users")
        count = sum(len(self._column(blob, f"<V{HASH_BYTES}")) for (blob,) in blobs)
        if not (_within(rows.users, count) and _within(rows.pages, len(urls)) and _within(rows.moments, _NEVER)):
            raise damaged(self.path)
        groups = self.groups()
        if len(groups):
            single = np.ones(count, np.bool_)
            single[groups[(groups >= 0) & (groups < count)]] = False
            rows = rows.only(single[rows.users])
        return Readings.of_columns(urls, count, rows.users, rows.pages, rows.moments / 1000).without_the_unread()

    def _column(self, blob: object, kind: str) -> "np.ndarray[Any, Any]":
        if not isinstance(blob, bytes) or len(blob) % np.dtype(kind).itemsize:
            raise damaged(self.path)
        return np.frombuffer(blob, kind)

    def _columns(self, rows: list[tuple[bytes, bytes, bytes]], *types: str) -> "list[np.ndarray[Any, Any]]":
        for row in rows:
            if len({len(self._column(blob, kind)) for blob, kind in zip(row, types, strict=True)}) > 1:
                raise damaged(self.path)
        return [
            np.concatenate([np.zeros(0, kind), *(np.frombuffer(row[place], kind) for row in rows)])
            for place, kind in enumerate(types)
        ]


@contextmanager
def opened(path: Path, *, writable: bool = False) -> Iterator[LogFile]:
    """A log, made where it is to be written and there is none; refuses what is no log, or not whole."""
    with connected(path, writable=writable) as connection:
        yield LogFile(path, connection)


def open_readings(path: Path | str, *, min_users: int = 1) -> Readings:
    """Who read what, of a log that `lycosa logs import` made, less pages read by fewer than `min_users` people.

    A log that was imported with a higher number keeps to that.
    """
    with opened(Path(path)) as log:
        least = max(min_users, log.settings().get(MIN_USERS, 1))
        return log.readings().with_at_least(least)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _NEVER


def _within(column: "np.ndarray[Any, np.dtype[Any]]", end: int) -> bool:
    return not len(column) or bool(column.min() >= 0 and column.max() < end)


def _check_urls(path: Path, column: UrlColumn) -> None:
    """Every one begins as a URL does, and none has blanks or control characters: strangers may have made the file."""
    if not len(column):
        return
    text = np.frombuffer(column.text, np.uint8)
    starts = np.concatenate((np.zeros(1, np.int64), column.ends[:-1]))
    begins = text[starts[:, None] + np.arange(7)]
    plain = (begins == np.frombuffer(b"http://", np.uint8)).all(axis=1)
    safe = (begins == np.frombuffer(b"https:/", np.uint8)).all(axis=1)
    if not (plain | safe).all() or text.min() <= 32 or text.max() >= 127:
        raise damaged(path)


def _counts(path: Path, text: object) -> dict[str, int]:
    try:
        counts = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        raise damaged(path) from None
    if not isinstance(counts, dict) or not all(
        reason in SAYS.values() and isinstance(count, int) for reason, count in counts.items()
    ):
        raise damaged(path)
    return counts
