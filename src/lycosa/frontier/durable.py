"""A frontier that survives a kill.

A waiting URL is an entry of the queue of its host: its rank is minus its priority, so that the smallest is taken first,
and its order the number of its arrival, which identifies it. Spilled entries are those that are not in memory; they are
known by their orders, and read from the table when needed.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from lycosa.vocabulary.records import Candidate, CheckedUrl, Count, Score, Url

from .memory import MemoryFrontier
from .spilled import BOOST, QueueEntry, SpilledEntries

_TABLE = """
CREATE TABLE IF NOT EXISTS frontier (
    arrival INTEGER PRIMARY KEY,  -- `QueueEntry.order`: the table grows at its end, and is searched by it
    url TEXT NOT NULL,
    priority REAL NOT NULL,       -- minus the rank: more than that of the candidate if the URL is boosted
    candidate BLOB NOT NULL       -- JSON
)"""


_COLUMNS = "arrival, url, priority, CAST(candidate AS BLOB)"
_BATCH_SIZE = 32  # rows
_PLACEHOLDERS = ", ".join("?" * _BATCH_SIZE)
# The candidate only if it is needed to know its own priority.
_PRIORITY_COLUMNS = f"arrival, url, priority, CASE WHEN priority > {BOOST / 2} THEN CAST(candidate AS BLOB) END"
IN_MEMORY = 30_000  # entries; each takes up to a kilobyte if it is alone on its host


class FrontierRow(NamedTuple):
    """A row of the table."""

    arrival: Count
    url: CheckedUrl
    priority: Annotated[float, Meta(ge=-1e9, le=1e9 + BOOST)]  # minus the rank
    candidate: Any  # JSON, or a `Candidate` that has no row yet


class _RetriesAndHops(Struct):
    """The fields of a candidate that its entry also has; decoding only these is faster."""

    attempts: Count = 0  # failed fetches so far
    hops: Count = 0  # redirects followed to get here


class _Priority(Struct):
    """The priority of a candidate."""

    priority: Score


_decode_retries_and_hops = msgspec.json.Decoder(_RetriesAndHops).decode
_decode_priority = msgspec.json.Decoder(_Priority).decode


class DurableFrontier(MemoryFrontier):
    """A frontier with its candidates in a table of the given database, and the best part of the queue in memory.

    Changes are buffered until `save` writes them; the owner of the connection commits. URLs in flight stay in the table
    until they are settled, and so wait again after a kill.

    A boosted URL is one that the user put first, by itself, its host or a pattern: `BOOST` is added to its priority. A
    host is dormant while none of its waiting URLs is in memory.

    About `in_memory` waiting URLs are in memory as entries of the queue. Each further one takes some 12 bytes, and a
    million of these 20 bytes more, so that a URL that is found again need not be read. This does not affect the order
    in which URLs are taken. With ten million waiting URLs, two have the same 64-bit key with a probability of 3 in a
    million.
    """

    def __init__(self, connection: sqlite3.Connection, *, in_memory: int = IN_MEMORY, **options: Any):
        super().__init__(spilled=SpilledEntries(_folder_of(connection)), in_memory=in_memory, **options)
        self._connection = connection
        self._changed: dict[int, Candidate | None] = {}  # None for rows to delete
        self._prefetched: dict[int, FrontierRow] = {}  # by arrival
        self._prefetched_dormant: dict[int, FrontierRow] = {}  # the best entries of dormant hosts, by arrival
        self._prefetch_used, self._prefetch_size = 0, 1  # rows of dormant hosts: used of the last, and to read next
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Candidate).decode
        connection.execute(_TABLE)
        misranked: list[tuple[QueueEntry, Candidate]] = []
        for row in _rows(connection):
            entry = _entry_of(row)
            if (boost := self._boost_of(row.url)) or row.priority > BOOST / 2:
                saved = self._candidate_of(entry)
                candidate = _without_older_boost(saved) if boost and saved.priority == -entry.rank else saved
                if candidate is not saved or -entry.rank != candidate.priority + boost:
                    misranked.append((entry, candidate))
            self._queue(entry)
            self._admission.count(row.url)
            self._last_order = row.arrival
            self._spill()
        self._saved_order = self._last_order  # later arrivals have no row yet
        for entry, candidate in misranked:
            self._replace_entry(entry, candidate)
            self._spill()

    def save(self) -> None:
        """Writes the changes since the last call."""
        deleted = [(arrival,) for arrival, candidate in self._changed.items() if candidate is None]
        inserted = (  # one at a time, as there may be tens of thousands
            (arrival, candidate.url, self._boosted_priority(candidate), self._encode(candidate))
            for arrival, candidate in self._changed.items()
            if candidate is not None
        )
        self._connection.executemany("DELETE FROM frontier WHERE arrival = ?", deleted)
        sql = "INSERT INTO frontier (arrival, url, priority, candidate) VALUES (?, ?, ?, ?)"
        self._connection.executemany(sql, inserted)
        self._changed.clear()
        self._saved_order = self._last_order

    def sample(self, size: int) -> "WaitingSample":
        """What `waiting_sample` reads after `save`, without writing anything or reading the whole table."""
        assert self._spilled is not None
        entries = {entry.order: entry for entry in (*self._waiting.values(), *self._in_flight.values())}
        orders = np.concatenate([np.fromiter(entries, np.int64, len(entries)), self._spilled.orders()])
        orders.sort()
        interval, chosen = _one_in_so_many(orders, size)
        found: dict[int, tuple[Url, float]] = {}
        for order in chosen:
            if entry := entries.get(order):
                found[order] = entry.url, self._priority_of(entry)
            elif candidate := self._changed.get(order):
                found[order] = candidate.url, candidate.priority
        found.update(_saved_priorities(self._connection, [order for order in chosen if order not in found]))
        return WaitingSample(interval, [found[order] for order in chosen])

    def _boosted_priority(self, candidate: Candidate) -> float:
        return candidate.priority + self._boost_of(candidate.url)

    def _store_candidate(self, entry: QueueEntry, candidate: Candidate) -> None:
        self._changed[entry.order] = candidate

    def _candidate_of(self, entry: QueueEntry) -> Candidate:
        if candidate := self._changed.get(entry.order):
            return candidate
        if row := self._prefetched_dormant.get(entry.order) or self._prefetched.get(entry.order):
            stored = row.candidate
        else:
            rows = self._connection.execute("SELECT candidate FROM frontier WHERE arrival = ?", (entry.order,))
            (stored,) = rows.fetchone() or (None,)
        if isinstance(stored, Candidate):  # prefetched before it was saved
            return stored
        try:
            return self._decode(stored)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):  # damaged
            return Candidate(entry.url, -entry.rank - self._boost_of(entry.url))

    def _delete_candidate(self, entry: QueueEntry) -> None:
        if entry.order > self._saved_order:
            del self._changed[entry.order]
        else:
            self._changed[entry.order] = None

    # ------------------------------------------------------------ what is not in memory

    def _spilled_entries(self) -> Iterable[QueueEntry]:
        if not self._spilled:
            return
        self.save()
        for row in _rows(self._connection):
            if self._spilled.waiting[hash(row.url)] == row.arrival:
                yield _entry_of(row)

    def _prefetch_spilled(self, candidates: Sequence[Candidate]) -> None:
        assert self._spilled is not None
        order_of = self._spilled.waiting
        orders = {order_of[hash(each.url)] for each in candidates}
        orders.discard(0)
        if len(orders) > 1:
            self._prefetched = {row.arrival: row for row in self._rows_of(orders)}

    def _find_spilled(self, url: Url) -> QueueEntry | None:
        assert self._spilled is not None
        order = self._spilled.waiting[hash(url)]
        if not order:
            return None
        if entry := self._spilled.entry_of(url, order):
            return entry
        row = self._prefetched.get(order) or next(self._rows_of([order]), None)
        if row is None:
            raise sqlite3.DatabaseError(f"the frontier has no row {order}")
        return _entry_of(row)

    def _read_back(self, orders: list[int]) -> list[QueueEntry]:
        if len(orders) == 1:  # of a dormant host: its candidate is probably needed next
            rows = self._dormant_row(orders[0])
        else:
            rows = list(self._rows_of(orders))
        entries = sorted(map(_entry_of, rows))
        for entry in entries:
            self._waiting[entry.url] = entry
        return entries

    def _dormant_row(self, order: int) -> list[FrontierRow]:
        """The row of an arrival, empty if there is none; prefetches the rows that are probably needed next."""
        assert self._spilled is not None
        row = self._prefetched_dormant.get(order)
        if row is None:
            # Prefetches more if most of the last rows were used; in some crawls, better links arrive in between.
            was_useful = 2 * self._prefetch_used >= len(self._prefetched_dormant)
            self._prefetch_size = (
                min(2 * self._prefetch_size, _BATCH_SIZE) if was_useful else max(self._prefetch_size // 2, 1)
            )
            next_orders = self._spilled.probable_next(self._prefetch_size - 1)
            self._prefetched_dormant = {row.arrival: row for row in self._rows_of({order, *next_orders})}
            self._prefetch_used = 0
            row = self._prefetched_dormant.get(order)
        self._prefetch_used += 1
        return [] if row is None else [row]

    def _rows_of(self, orders: Iterable[int]) -> Iterator[FrontierRow]:
        """The rows of these arrivals, in any order."""
        saved = []
        for order in orders:
            if candidate := self._changed.get(order):
                yield FrontierRow(order, candidate.url, self._boosted_priority(candidate), candidate)
            else:
                saved.append(order)
        yield from map(FrontierRow._make, _selected(self._connection, saved))

    def _forget_spilled(self) -> None:
        assert self._spilled is not None
        for entry in self._spilled_entries():  # saves first
            self._admission.discount(entry.url)
        in_flight = [entry.order for entry in self._in_flight.values()]  # only these are in memory
        placeholders = ", ".join("?" * len(in_flight))
        self._connection.execute(f"DELETE FROM frontier WHERE arrival NOT IN ({placeholders})", in_flight)
        self._host_queues.forget_spilled()

    def _worst(self, count: int) -> list[QueueEntry]:
        if not self._spilled:
            return super()._worst(count)
        self.save()
        in_flight = {entry.order for entry in self._in_flight.values()}
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM frontier ORDER BY priority, arrival DESC LIMIT ?", (count + len(in_flight),)
        )
        return [_entry_of(row) for row in map(FrontierRow._make, rows) if row.arrival not in in_flight][:count]


def _without_older_boost(candidate: Candidate) -> Candidate:
    """A candidate as it was before an older version boosted it and saved the boosted priority: that mapped priorities
    of 0 to 1 to 0.9 to 1, and added `BOOST` to those of strategies with another scale."""
    boosted = candidate.priority
    priority = round(boosted - BOOST, 9) if boosted > BOOST / 2 else round(10.0 * (boosted - 0.9), 14)
    return replace(candidate, priority=priority)


def _entry_of(row: FrontierRow) -> QueueEntry:
    arrival, url, priority, candidate = row
    try:
        saved = candidate if isinstance(candidate, Candidate) else _decode_retries_and_hops(candidate)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise sqlite3.DatabaseError(f"the frontier is damaged: {error}") from None
    retries_and_hops = (saved.attempts, saved.hops) if saved.attempts or saved.hops else None
    return QueueEntry(-priority, arrival, url, retries_and_hops)


def _folder_of(connection: sqlite3.Connection) -> Path | None:
    """The folder of a database; None for one in memory."""
    _number, _name, path = connection.execute("PRAGMA database_list").fetchone()
    return Path(path).parent if path else None


def _rows(connection: sqlite3.Connection) -> Iterator[FrontierRow]:
    """Every row of the table in order of arrival; raises sqlite3.DatabaseError for a damaged one."""
    cursor = connection.execute(f"SELECT {_COLUMNS} FROM frontier ORDER BY arrival")
    while rows := cursor.fetchmany(256):
        try:
            yield from msgspec.convert(rows, list[FrontierRow])
        except msgspec.ValidationError as error:
            raise sqlite3.DatabaseError(f"the frontier is damaged: {error}") from None


def _selected(
    connection: sqlite3.Connection, arrivals: Sequence[int], columns: str = _COLUMNS
) -> Iterator[tuple[int, Any, Any, Any]]:
    """The rows of these arrivals, in any order.

    No cursor stays open: one that a damaged row left behind would be closed after the database, with a traceback.
    """
    if len(arrivals) == 1:
        yield from connection.execute(f"SELECT {columns} FROM frontier WHERE arrival = ?", arrivals).fetchall()
        return
    select = f"SELECT {columns} FROM frontier WHERE arrival IN ({_PLACEHOLDERS})"
    for start in range(0, len(arrivals), _BATCH_SIZE):
        batch = arrivals[start : start + _BATCH_SIZE]
        yield from connection.execute(select, [*batch, *[None] * (_BATCH_SIZE - len(batch))]).fetchall()


def count_waiting(connection: sqlite3.Connection) -> int:
    """The number of waiting URLs in a database, which may be open for reading only."""
    if not _has_table(connection):
        return 0
    (count,) = connection.execute("SELECT count(*) FROM frontier").fetchone()
    return int(count)


def waiting_urls(connection: sqlite3.Connection) -> Iterator[Url]:
    """The waiting URLs in a database, which may be open for reading only."""
    rows = connection.execute("SELECT url FROM frontier") if _has_table(connection) else ()
    return (url for (url,) in rows)


class WaitingSample(NamedTuple):
    """Some of the waiting URLs with the priorities of their candidates: in order of arrival, one in `interval`."""

    interval: int
    priorities: Sequence[tuple[Url, float]]


def waiting_sample(connection: sqlite3.Connection, size: int) -> WaitingSample:
    """A sample of at most about `size` waiting URLs in a database, which may be open for reading only; scans the table
    if more are waiting.
    """
    if not _has_table(connection):
        return WaitingSample(1, ())
    arrivals = (arrival for (arrival,) in connection.execute("SELECT arrival FROM frontier ORDER BY arrival"))
    interval, chosen = _one_in_so_many(np.fromiter(arrivals, np.int64), size)
    return WaitingSample(interval, [found for _, found in sorted(_saved_priorities(connection, chosen).items())])


def _one_in_so_many(arrivals: NDArray[np.int64], size: int) -> tuple[int, list[int]]:
    """At most `size` of the sorted arrivals, one in so many, and that number."""
    interval = -(-len(arrivals) // size) or 1
    return interval, arrivals[interval - 1 :: interval].tolist()


def _saved_priorities(connection: sqlite3.Connection, arrivals: Sequence[int]) -> dict[int, tuple[Url, float]]:
    """The URLs of these arrivals and the priorities of their candidates, which are read only of boosted ones."""
    rows = _own_priorities(_selected(connection, arrivals, _PRIORITY_COLUMNS))
    return {arrival: (url, priority) for arrival, url, priority in rows}


def waiting_priorities(connection: sqlite3.Connection) -> Iterator[tuple[Url, float]]:
    """All waiting URLs with the priorities of their candidates, in a database, which may be open for reading only."""
    rows = connection.execute(f"SELECT {_PRIORITY_COLUMNS} FROM frontier") if _has_table(connection) else ()
    return ((url, priority) for _, url, priority in _own_priorities(rows))


def _own_priorities(rows: Iterable[tuple[int, Any, Any, Any]]) -> Iterator[tuple[int, Url, float]]:
    """The arrivals and URLs of rows of `_PRIORITY_COLUMNS`, with the priorities that they have without boosts."""
    try:
        for row in rows:
            found = msgspec.convert(row, FrontierRow)
            is_boosted = found.candidate is not None
            yield found.arrival, found.url, _decode_priority(found.candidate).priority if is_boosted else found.priority
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise sqlite3.DatabaseError(f"the frontier is damaged: {error}") from None


def waiting_candidate(connection: sqlite3.Connection, url: Url) -> Candidate | None:
    """The candidate of a waiting URL in a database, which may be open for reading only; scans the table."""
    if not _has_table(connection):
        return None
    row = connection.execute("SELECT candidate FROM frontier WHERE url = ?", (url,)).fetchone()
    try:
        return None if row is None else msgspec.json.decode(*row, type=Candidate)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the frontier is damaged: {error}") from None


def best_waiting(
    connection: sqlite3.Connection, *, offset: int = 0, limit: int = 50, host: str | None = None
) -> list[Candidate]:
    """Waiting candidates, best first, optionally of one host; scans the table."""
    if not _has_table(connection):
        return []
    condition, values = ("", []) if host is None else (f" WHERE {_HOST} = ?", [host])
    rows = connection.execute(
        "SELECT CAST(candidate AS BLOB) FROM frontier WHERE arrival IN"
        f" (SELECT arrival FROM frontier{condition} ORDER BY priority DESC, arrival LIMIT ? OFFSET ?)"
        " ORDER BY priority DESC, arrival",
        (*values, limit, offset),
    )
    try:
        return [msgspec.json.decode(candidate, type=Candidate) for (candidate,) in rows]
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the frontier is damaged: {error}") from None


class HostBacklog(NamedTuple):
    """The waiting URLs of a host."""

    host: str
    waiting: int  # URLs
    best_priority: float  # of the URL that is taken first


def waiting_hosts(connection: sqlite3.Connection, limit: int = 50) -> list[HostBacklog]:
    """Hosts with the number and the best priority of their waiting URLs, most first; scans the table."""
    if not _has_table(connection):
        return []
    # The bare column is that of the row with the maximum, as SQLite documents.
    sql = (
        f"SELECT {_HOST}, count(*), max(priority), CAST(candidate AS BLOB) FROM frontier"
        " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
    )
    try:
        return [
            HostBacklog(host, waiting, msgspec.json.decode(best, type=Candidate).priority)
            for host, waiting, _, best in connection.execute(sql, (limit,))
        ]
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the frontier is damaged: {error}") from None


# Normalised URLs have no user and password, and a slash after the host.
_HOST = "substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1)"


def _has_table(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'frontier'").fetchone() is not None
