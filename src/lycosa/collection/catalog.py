"""The catalog of a collection: what its archive says, as tables one can ask."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Fetch, Page, Plain, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, key_of

from .events import Attempt, Event, Example, Place, Position, Run, Scores, Stop
from .plain import as_json, spellable
from .queries import PAGE_COLUMNS, Queries
from .schema import MIGRATIONS, migrate, version_of
from .trouble import told_of_catalog

_KEPT = {"number", "url"}  # what a page keeps when it is fetched again
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in PAGE_COLUMNS.split(", ") if name.strip() not in _KEPT)
_INSERTS = {
    "pages": f"INSERT INTO pages ({PAGE_COLUMNS}) VALUES ({', '.join('?' * 24)})"
    f" ON CONFLICT (url) DO UPDATE SET {_UPDATES}",
    "fetches": "INSERT INTO fetches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "links": "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)",
    "skips": "INSERT OR IGNORE INTO skips VALUES (?, ?, ?, ?, ?)",
    "visited": "DELETE FROM skips WHERE key = ?",  # evicted once, or not to be followed from elsewhere
    "examples": "INSERT OR REPLACE INTO examples VALUES (?, ?, ?, ?, ?, ?, ?)",
}
Row = tuple[Any, ...]


class Catalog(Queries):
    """Adds events to the tables; nothing is kept before `commit`.

    Others may keep tables of their own in `connection`: what they wrote is committed together with the rest.
    """

    def __init__(self, path: Path, *, writable: bool, migrations: Sequence[str] = MIGRATIONS):
        self.path = path
        self._waiting: dict[str, list[Row]] = {table: [] for table in _INSERTS}
        self._new_numbers: dict[Url, int] = {}  # pages that wait
        self._has_failed = False
        with self._told():
            self.connection = _connected(path, writable, migrations)
            self._last_number: int = self.connection.execute("SELECT coalesce(max(number), 0) FROM pages").fetchone()[0]
            urls = self.connection.execute("SELECT url FROM pages") if writable else ()
            self._page_keys = {key_of(url) for (url,) in urls}  # most pages are new: these need no look at the table

    def add(self, event: Event, place: Place | None) -> int | None:
        """Takes in an event; returns the number of the page it brought, if it is one to be listed."""
        match event:
            case Visit():
                return self._add_visit(event, place)
            case Attempt():
                self._add_fetch(event.candidate.url, event.fetch, 0, place, settled=False)
            case Example(url=url, good=good, fetch=fetch):
                self._waiting["examples"].append((url, good, fetch.at, fetch.outcome.value, *_columns(place)))
            case Run():
                sql = "INSERT INTO runs VALUES (?, ?, ?, ?, ?, NULL, NULL)"
                seeds, scope = _json(event.seeds), _json(event.scope)
                self._execute(sql, event.at, event.strategy, seeds, scope, self._last_number + 1)
            case Stop():
                sql = "UPDATE runs SET stopped_at = ?, stop_reason = ? WHERE rowid = (SELECT max(rowid) FROM runs)"
                self._execute(sql, event.at, event.reason)
            case Scores():
                self.rescore(event.relevance)
        return None

    def add_skips(self, skips: Iterable[Skip], at: float) -> None:
        """The first reason of a URL stays."""
        self._waiting["skips"].extend(
            (key_of(skip.candidate.url), skip.candidate.url, skip.reason, skip.candidate.found_on, at) for skip in skips
        )

    def rescore(self, relevance: dict[str, float]) -> None:
        """Replaces the relevance of pages."""
        with self._told():
            self._flush()
            rows = [(value, url) for url, value in relevance.items()]
            self.connection.executemany("UPDATE pages SET relevance = ? WHERE url = ?", rows)

    def put_state(self, key: str, value: Plain) -> None:
        self._execute("INSERT OR REPLACE INTO state VALUES (?, ?)", key, _json(value))

    def position(self) -> Position | None:
        """Up to where in the archive the last commit went."""
        found = self.get_state("position")
        return Position(*found) if found else None

    def commit(self, position: Position | None) -> None:
        """Keeps everything added so far, and that the archive was read up to this position."""
        if self._has_failed:  # SQLite takes back a whole transaction when the disk is full; the position must not stay
            raise CollectionError(
                f"cannot use {self.path}: it could not be written; make room or give access, then go on"
            )
        self.put_state("position", position)
        with self._told():
            self._flush()
            self.connection.commit()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """For those who write to `connection`: what goes wrong is told as ours, and nothing is committed after it."""
        try:
            with told_of_catalog(self.path):
                yield
        except CollectionError:
            self._has_failed = True
            raise

    def _told(self) -> AbstractContextManager[None]:
        return self.watched()

    def close(self) -> None:
        """Leaves without keeping what was not committed."""
        with suppress(sqlite3.Error):
            self.connection.close()

    def forget(self, is_forgotten: Callable[[Url], bool]) -> int:
        """Takes every trace of these URLs out of the tables; returns how many pages went."""
        with self._told():
            self._flush()
            ask = self.connection.execute
            self.connection.create_function("forgotten", 1, lambda url: url is not None and bool(is_forgotten(url)))
            ask(
                "DELETE FROM links WHERE source IN (SELECT number FROM pages WHERE forgotten(url)) OR forgotten(target)"
            )
            gone = ask("DELETE FROM pages WHERE forgotten(url)").rowcount
            for table in ("fetches", "skips", "examples"):
                ask(f"DELETE FROM {table} WHERE forgotten(url)")
            ask("UPDATE pages SET anchor = '' WHERE forgotten(found_on)")  # it is a word of the page where it was found
            for table, column in (("pages", "found_on"), ("pages", "duplicate_of"), ("skips", "found_on")):
                ask(f"UPDATE {table} SET {column} = NULL WHERE forgotten({column})")
            for rowid, seeds in ask("SELECT rowid, seeds FROM runs").fetchall():
                kept = [seed for seed in msgspec.json.decode(seeds) if not is_forgotten(seed)]
                ask("UPDATE runs SET seeds = ? WHERE rowid = ?", (_json(kept), rowid))
            self._last_number = ask("SELECT coalesce(max(number), 0) FROM pages").fetchone()[0]
        self.put_state("indexed_up_to", min(self.indexed_up_to(), self._last_number))
        return gone

    def relocate(self, places: Iterable[tuple[Url, float, Place]]) -> None:
        """Learns where every fetch lies after the archive was rewritten."""
        with self._told():
            self._flush()
            ask = self.connection.execute
            ask(
                "CREATE TEMP TABLE moved"
                " (url TEXT, at REAL, file TEXT, place INTEGER, length INTEGER, PRIMARY KEY (url, at))"
            )
            rows = ((url, at, *place) for url, at, place in places)
            self.connection.executemany("INSERT OR REPLACE INTO moved VALUES (?, ?, ?, ?, ?)", rows)
            for table in ("pages", "fetches", "examples"):
                ask(
                    f"UPDATE {table} SET file = moved.file, place = moved.place, length = moved.length"
                    f" FROM moved WHERE moved.url = {table}.url AND moved.at = {table}.at"
                )
            ask("DROP TABLE moved")

    def vacuum(self) -> None:
        """Leaves on the disk no remains of rows that were deleted; everything must be committed."""
        with self._told():
            self.connection.execute("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def indexed_up_to(self) -> int:
        """The number of the last page known to be in the search index."""
        return int(self.get_state("indexed_up_to") or 0)

    # ------------------------------------------------------------ rows that wait

    def _add_visit(self, visit: Visit, place: Place | None) -> int | None:
        fetch, page, candidate = visit.fetch, visit.page, visit.candidate
        self._waiting["visited"].append((key_of(candidate.url),))
        self._add_fetch(candidate.url, fetch, page.digest if page else 0, place, settled=True)
        if page is None or not visit.is_kept:
            return None
        number = self._number(candidate.url, page)
        self._waiting["pages"].append(
            (
                number,
                candidate.url,
                host_of(candidate.url),
                page.title,
                page.language,
                visit.relevance,
                _signed(page.digest),
                _signed(page.fingerprint),
                fetch.at,
                len(fetch.body),
                candidate.depth,
                candidate.found_on,
                candidate.priority,
                _json(candidate.because) if candidate.because else "{}",
                candidate.anchor,
                visit.duplicate_of,
                fetch.status,
                *_columns(place),
                fetch.header("etag") or "",
                fetch.header("last-modified") or "",
                fetch.truncated,
                visit.standing,
            )
        )
        self._waiting["links"].extend(
            [(number, rank, link.position, link.target, link.anchor, link.rel) for rank, link in enumerate(page.links)]
        )
        return number

    def _number(self, url: Url, page: Page) -> int:
        number = self._new_numbers.get(url)
        key = key_of(url)
        if number is None and key not in self._page_keys:
            self._page_keys.add(key)
            self._last_number += 1
            self._new_numbers[url] = self._last_number
            return self._last_number
        if number is None:
            with self._told():
                found = self.connection.execute("SELECT number FROM pages WHERE url = ?", (url,)).fetchone()
            if found is None:
                self._last_number += 1
                self._new_numbers[url] = self._last_number
                return self._last_number
            number = int(found[0])
        self._flush()  # its old links may wait
        self._execute("DELETE FROM links WHERE source = ? AND rank >= ?", number, len(page.links))
        return number

    def _add_fetch(self, url: Url, fetch: Fetch, digest: int, place: Place | None, *, settled: bool) -> None:
        self._waiting["fetches"].append(
            (
                url,
                fetch.at,
                fetch.outcome.value,
                fetch.status,
                fetch.elapsed,
                fetch.detail,
                _signed(digest),
                settled,
                *_columns(place),
            )
        )

    def _flush(self) -> None:
        if not any(self._waiting.values()):
            return
        waiting, self._waiting = self._waiting, {table: [] for table in _INSERTS}
        self._new_numbers = {}
        for table, rows in waiting.items():
            if rows:
                self._insert(table, rows)

    def _insert(self, table: str, rows: list[Row]) -> None:
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN")
        self.connection.execute("SAVEPOINT adding")
        try:
            self.connection.executemany(_INSERTS[table], rows)
        except UnicodeEncodeError:  # half of a surrogate pair, from a hostile page
            self.connection.execute("ROLLBACK TO adding")
            self.connection.executemany(
                _INSERTS[table], [tuple(spellable(v) if isinstance(v, str) else v for v in row) for row in rows]
            )
        self.connection.execute("RELEASE adding")

    def _execute(self, sql: str, *values: object) -> None:
        with self._told():
            self.connection.execute(sql, values)


def _connected(path: Path, writable: bool, migrations: Sequence[str]) -> sqlite3.Connection:
    name = path.parent
    if not writable and not path.exists():
        raise CollectionError(f"{name} has no catalog; run: lycosa rebuild {name}")
    connection = _opened(path, writable)
    version = version_of(connection)
    if version > len(migrations):
        connection.close()
        raise CollectionError(
            f"the catalog of {name} was written by a newer Lycosa (schema {version}, this one knows {len(migrations)});"
            f" install that one, or run: lycosa rebuild {name}"
        )
    if version < len(migrations) and not writable:
        connection.close()
        _connected(path, True, migrations).close()
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


def _columns(place: Place | None) -> tuple[Any, ...]:
    return place if place is not None else (None, None, None)


def _json(plain: Plain) -> str:
    return as_json(plain).decode()


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
