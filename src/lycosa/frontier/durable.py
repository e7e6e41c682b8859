"""A frontier that survives a kill."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, CheckedUrl, Count, Score, Url

from .host_queues import QueueEntry
from .memory import MemoryFrontier

_TABLE = """
CREATE TABLE IF NOT EXISTS frontier (
    arrival INTEGER PRIMARY KEY,  -- rows come and are looked up by it, so that the table grows at its end
    url TEXT NOT NULL,
    priority REAL NOT NULL,
    candidate BLOB NOT NULL       -- JSON
)"""


class _RetriesAndHops(Struct):
    """The fields of a candidate that its entry has too; decoding these alone is quicker."""

    attempts: Count = 0
    hops: Count = 0


class DurableFrontier(MemoryFrontier):
    """The queue in memory, the candidates in a table of the given database.

    Changes are buffered until `save` writes them; the owner of the connection commits. What is in flight stays in the
    table until it is settled, and so waits again after a kill.
    """

    def __init__(self, connection: sqlite3.Connection, **options: Any):
        super().__init__(**options)
        self._connection = connection
        self._changed: dict[int, Candidate | None] = {}  # None for rows to delete
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Candidate).decode
        connection.execute(_TABLE)
        retries_and_hops_of = msgspec.json.Decoder(_RetriesAndHops).decode
        for arrival, url, priority, candidate in _rows(connection):
            try:
                saved = retries_and_hops_of(candidate)
            except (msgspec.DecodeError, RecursionError, TypeError) as error:
                raise sqlite3.DatabaseError(f"what waits is not as Lycosa writes it: {error}") from None
            retries_and_hops = (saved.attempts, saved.hops) if saved.attempts or saved.hops else None
            self._queue(QueueEntry(-priority, arrival, url, retries_and_hops))
            self._admission.count(url)
            self._last_order = arrival
        self._saved_order = self._last_order  # no later arrival has a row

    def save(self) -> None:
        """Writes what has changed since the last call."""
        gone = [(arrival,) for arrival, candidate in self._changed.items() if candidate is None]
        kept = [
            (arrival, candidate.url, candidate.priority, self._encode(candidate))
            for arrival, candidate in self._changed.items()
            if candidate is not None
        ]
        self._connection.executemany("DELETE FROM frontier WHERE arrival = ?", gone)
        self._connection.executemany("INSERT INTO frontier VALUES (?, ?, ?, ?)", kept)
        self._changed.clear()
        self._saved_order = self._last_order

    def _remember(self, entry: QueueEntry, candidate: Candidate) -> None:
        self._changed[entry.order] = candidate

    def _recall(self, entry: QueueEntry) -> Candidate:
        if candidate := self._changed.get(entry.order):
            return candidate
        rows = self._connection.execute("SELECT candidate FROM frontier WHERE arrival = ?", (entry.order,))
        try:
            return self._decode(rows.fetchone()[0])
        except (
            msgspec.DecodeError,
            RecursionError,
            TypeError,
        ):  # not as it was written: its URL and priority are known
            return Candidate(entry.url, -entry.rank)

    def _forget(self, entry: QueueEntry) -> None:
        if entry.order > self._saved_order:
            del self._changed[entry.order]
        else:
            self._changed[entry.order] = None


def _rows(connection: sqlite3.Connection) -> Iterator[tuple[int, Url, float, Any]]:
    """Every row of the table; raises sqlite3.DatabaseError where one is not as it was written."""
    cursor = connection.execute("SELECT arrival, url, priority, CAST(candidate AS BLOB) FROM frontier")
    while rows := cursor.fetchmany(256):
        try:
            yield from msgspec.convert(rows, list[tuple[Count, CheckedUrl, Score, Any]])
        except msgspec.ValidationError as error:
            raise sqlite3.DatabaseError(f"what waits is not as Lycosa writes it: {error}") from None


def count_waiting(connection: sqlite3.Connection) -> int:
    """The number of URLs that wait in a database, for readers."""
    if not _has_table(connection):
        return 0
    return int(connection.execute("SELECT count(*) FROM frontier").fetchone()[0])


def waiting_urls(connection: sqlite3.Connection) -> Iterator[Url]:
    """The URLs that wait in a database, for readers."""
    rows = connection.execute("SELECT url FROM frontier") if _has_table(connection) else ()
    return (url for (url,) in rows)


def waiting_candidate(connection: sqlite3.Connection, url: Url) -> Candidate | None:
    """The candidate of a URL that waits, for readers; scans the table."""
    if not _has_table(connection):
        return None
    row = connection.execute("SELECT candidate FROM frontier WHERE url = ?", (url,)).fetchone()
    try:
        return msgspec.json.decode(row[0], type=Candidate) if row else None
    except (msgspec.DecodeError, TypeError, RecursionError) as error:
        raise CollectionError(f"what waits is damaged ({error}); run: lycosa rebuild NAME") from None


def best_waiting(
    connection: sqlite3.Connection, *, offset: int = 0, limit: int = 50, host: str | None = None
) -> list[Candidate]:
    """Some of the candidates that wait, the best first, of one host where it is given; for readers, scans the table."""
    if not _has_table(connection):
        return []
    of_host, values = ("", []) if host is None else (f" WHERE {_HOST} = ?", [host])
    rows = connection.execute(
        "SELECT CAST(candidate AS BLOB) FROM frontier WHERE arrival IN"
        f" (SELECT arrival FROM frontier{of_host} ORDER BY priority DESC, arrival LIMIT ? OFFSET ?)"
        " ORDER BY priority DESC, arrival",
        (*values, limit, offset),
    )
    try:
        return [msgspec.json.decode(candidate, type=Candidate) for (candidate,) in rows]
    except (msgspec.DecodeError, TypeError, RecursionError) as error:
        raise CollectionError(f"what waits is damaged ({error}); run: lycosa rebuild NAME") from None


def waiting_hosts(connection: sqlite3.Connection, limit: int = 50) -> list[tuple[str, int, float]]:
    """Hosts with the number of URLs that wait of each and the best of their priorities, most first; scans the table."""
    if not _has_table(connection):
        return []
    sql = f"SELECT {_HOST}, count(*), max(priority) FROM frontier GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
    try:
        return msgspec.convert(connection.execute(sql, (limit,)).fetchall(), list[tuple[str, int, float]])
    except msgspec.ValidationError as error:
        raise CollectionError(f"what waits is damaged ({error}); run: lycosa rebuild NAME") from None


# A normalised URL has neither a user nor a password, and a slash after its host.
_HOST = "substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1)"


def _has_table(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'frontier'").fetchone() is not None
