"""The catalog of a collection: what its archive says, as tables one can ask."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import REFRESH, Change, Fetch, Outcome, Page, Plain, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, key_of

from .connecting import connected
from .events import Attempt, Event, Example, Place, Position, Run, Scores, Stop
from .plain import as_json, spellable
from .queries import Queries
from .schema import MIGRATIONS
from .statements import FIRST_LOOK, WRITES
from .trouble import told_of_catalog

_MOVED_TO = "moved to "  # how a page vanished that has another address now; the address follows

Row = tuple[Any, ...]


class Catalog(Queries):
    """Adds events to the tables; nothing is kept before `commit`.

    Others may keep tables of their own in `connection`: what they wrote is committed together with the rest.
    """

    def __init__(self, path: Path, *, writable: bool, migrations: Sequence[str] = MIGRATIONS):
        self.path = path
        self._waiting: dict[str, list[Row]] = {table: [] for table in WRITES}
        self._new_numbers: dict[Url, int] = {}  # pages that wait
        self._has_failed = False
        with self._told():
            self.connection = connected(path, writable, migrations)
            self._last_number: int = self.connection.execute("SELECT coalesce(max(number), 0) FROM pages").fetchone()[0]
            urls = self.connection.execute("SELECT url FROM pages") if writable else ()
            self._page_keys = {key_of(url) for (url,) in urls}  # most pages are new: these need no look at the table

    def add(self, event: Event, place: Place | None) -> int | None:
        """Takes in an event; returns the number of the page it brought or altered, if it is one to be listed."""
        match event:
            case Visit():
                return self._add_visit(event, place) if event.change is None else self._add_look(event, place)
            case Attempt():
                again = event.candidate.lane == REFRESH
                self._add_fetch(event.candidate.url, event.fetch, 0, place, settled=False, again=again)
            case Example(url=url, good=good, fetch=fetch):
                self._waiting["examples"].append((url, good, fetch.at, fetch.outcome.value, *_columns(place)))
            case Run():
                sql = "INSERT INTO runs VALUES (?, ?, ?, ?, ?, NULL, NULL, ?)"
                seeds, scope = _json(event.seeds), _json(event.scope)
                refresh = _json(event.refresh) if event.refresh else None
                self._execute(sql, event.at, event.strategy, seeds, scope, self._last_number + 1, refresh)
            case Stop():
                sql = "UPDATE runs SET stopped_at = ?, stop_reason = ? WHERE rowid = (SELECT max(rowid) FROM runs)"
                self._execute(sql, event.at, event.reason)
            case Scores():
                self.rescore(event.relevance, event.standing)
        return None

    def add_skips(self, skips: Iterable[Skip], at: float) -> None:
        """The first reason of a URL stays."""
        self._waiting["skips"].extend(
            (key_of(skip.candidate.url), skip.candidate.url, skip.why, skip.candidate.found_on, at) for skip in skips
        )

    def rescore(self, relevance: Mapping[str, float], standing: Mapping[str, float]) -> None:
        """Replaces the relevance and the standing of pages, of each where it is named."""
        with self._told():
            self._flush()
            for column, values in (("relevance", relevance), ("standing", standing)):
                rows = [(value, url) for url, value in values.items()]
                self.connection.executemany(f"UPDATE pages SET {column} = ? WHERE url = ?", rows)

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
            gone_pages = "(SELECT number FROM pages WHERE forgotten(url))"
            ask(f"DELETE FROM links WHERE source IN {gone_pages} OR forgotten(target)")
            ask(f"DELETE FROM new_links WHERE page IN {gone_pages} OR forgotten(target)")
            for table in ("looks", "stale"):
                ask(f"DELETE FROM {table} WHERE page IN {gone_pages}")
            gone = ask("DELETE FROM pages WHERE forgotten(url)").rowcount
            for table in ("fetches", "skips", "examples"):
                ask(f"DELETE FROM {table} WHERE forgotten(url)")
            # as if never found so
            moved = f"vanished_why LIKE '{_MOVED_TO}%' AND forgotten(substr(vanished_why, {len(_MOVED_TO) + 1}))"
            ask(f"DELETE FROM looks WHERE change = 'vanished' AND page IN (SELECT number FROM pages WHERE {moved})")
            ask(f"INSERT OR IGNORE INTO stale SELECT number FROM pages WHERE {moved}")
            ask(f"UPDATE pages SET vanished_at = NULL, vanished_why = '' WHERE {moved}")
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
            ask(
                "UPDATE looks SET file = moved.file, place = moved.place, length = moved.length FROM moved, pages"
                " WHERE pages.number = looks.page AND moved.url = pages.url AND moved.at = looks.at"
                " AND looks.digest IS NOT NULL"  # those that brought a version
            )
            ask("DROP TABLE moved")

    def vacuum(self) -> None:
        """Leaves on the disk no remains of rows that were deleted; everything must be committed."""
        with self._told():
            self.connection.execute("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def clear_stale(self) -> None:
        """The search index knows the newest state of every page."""
        self._flush()
        self._execute("DELETE FROM stale")

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
                *_read(visit, page),
                candidate.depth,
                candidate.found_on,
                candidate.priority,
                _json(candidate.because) if candidate.because else "{}",
                candidate.anchor,
                *_brought(visit, place),
            )
        )
        self._add_links(number, page)
        return number

    def _add_links(self, number: int, page: Page) -> None:
        self._waiting["links"].extend(
            [(number, rank, link.position, link.target, link.anchor, link.rel) for rank, link in enumerate(page.links)]
        )

    def _add_look(self, visit: Visit, place: Place | None) -> int | None:
        """A page that was seen again; returns its number where the search index has to know of it."""
        url, fetch, page = visit.candidate.url, visit.fetch, visit.page
        if key_of(url) not in self._page_keys:
            return self._add_visit(visit, place)  # what was seen before is lost: its records are damaged
        if url in self._new_numbers:
            self._flush()  # it is asked by its URL from here on
        self._add_fetch(url, fetch, page.digest if page else 0, place, settled=True, again=True)
        version = page if visit.is_kept else None
        if version is not None:
            self._flush()  # the version before is to be noted as it was
            self._execute(FIRST_LOOK, url)
            self._add_version(visit, version, place)
        else:
            self._waiting["first_looks"].append((url,))
        waiting = self._waiting
        facts: Row = (None, None, None)
        if version is not None:
            facts = (_signed(version.digest), len(fetch.body), len(version.links))
        brought = _columns(place if version is not None else None)
        change = visit.change.value if visit.change else ""
        waiting["looks"].append((fetch.at, change, fetch.status, *facts, len(visit.new_links), *brought, url))
        told = fetch.outcome in (Outcome.OK, Outcome.UNCHANGED)
        validators = [fetch.header(name) if told else None for name in ("etag", "last-modified")]
        waiting["looked"].append((fetch.at, *validators, url))
        if visit.change is Change.VANISHED:
            waiting["states"].append((fetch.at, _why_vanished(visit), url))
        elif visit.change is Change.RETURNED:
            waiting["states"].append((None, "", url))
        if visit.change not in (Change.CHANGED, Change.VANISHED, Change.RETURNED):
            return None
        waiting["stale"].append((url,))
        return self._number_of(url)

    def _add_version(self, visit: Visit, page: Page, place: Place | None) -> None:
        url = visit.candidate.url
        number = self._number_of(url)
        if number is None:
            return
        self._execute("DELETE FROM links WHERE source = ?", number)
        self._add_links(number, page)
        with self._told():
            (looks,) = self.connection.execute(
                "SELECT coalesce(max(look), 0) FROM looks WHERE page = ?", (number,)
            ).fetchone()
        self._waiting["new_links"].extend((number, looks + 1, target) for target in visit.new_links)
        self._waiting["versions"].append((*_read(visit, page), *_brought(visit, place), url))

    def _number_of(self, url: Url) -> int | None:
        with self._told():
            found = self.connection.execute("SELECT number FROM pages WHERE url = ?", (url,)).fetchone()
        return int(found[0]) if found else None

    def _number(self, url: Url, page: Page) -> int:
        number = self._new_numbers.get(url)
        key = key_of(url)
        if number is None and key not in self._page_keys:
            self._page_keys.add(key)
            self._last_number += 1
            self._new_numbers[url] = self._last_number
            return self._last_number
        if number is None:
            number = self._number_of(url)
            if number is None:
                self._last_number += 1
                self._new_numbers[url] = self._last_number
                return self._last_number
        self._flush()  # its old links may wait
        self._execute("DELETE FROM links WHERE source = ? AND rank >= ?", number, len(page.links))
        return number

    def _add_fetch(
        self, url: Url, fetch: Fetch, digest: int, place: Place | None, *, settled: bool, again: bool = False
    ) -> None:
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
                again,
            )
        )

    def _flush(self) -> None:
        if not any(self._waiting.values()):
            return
        waiting, self._waiting = self._waiting, {table: [] for table in WRITES}
        self._new_numbers = {}
        for table, rows in waiting.items():
            if rows:
                self._insert(table, rows)

    def _insert(self, table: str, rows: list[Row]) -> None:
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN")
        self.connection.execute("SAVEPOINT adding")
        try:
            self.connection.executemany(WRITES[table], rows)
        except UnicodeEncodeError:  # half of a surrogate pair, from a hostile page
            self.connection.execute("ROLLBACK TO adding")
            self.connection.executemany(
                WRITES[table], [tuple(spellable(v) if isinstance(v, str) else v for v in row) for row in rows]
            )
        self.connection.execute("RELEASE adding")

    def _execute(self, sql: str, *values: object) -> None:
        with self._told():
            self.connection.execute(sql, values)


def _columns(place: Place | None) -> tuple[Any, ...]:
    return place if place is not None else (None, None, None)


def _why_vanished(visit: Visit) -> str:
    if visit.fetch.location is not None:
        return f"{_MOVED_TO}{visit.fetch.location}"
    if visit.left_out is not None:
        return str(visit.left_out)
    return visit.fetch.detail or "it could not be had"


def _json(plain: Plain) -> str:
    return as_json(plain).decode()


def _read(visit: Visit, page: Page) -> Row:
    """What was read, in the order of its columns."""
    fetch = visit.fetch
    signatures = _signed(page.digest), _signed(page.fingerprint)
    return page.title, page.language, visit.relevance, *signatures, fetch.at, len(fetch.body)


def _brought(visit: Visit, place: Place | None) -> Row:
    """How it came, in the order of its columns."""
    fetch = visit.fetch
    validators = fetch.header("etag") or "", fetch.header("last-modified") or ""
    return visit.duplicate_of, fetch.status, *_columns(place), *validators, fetch.truncated, visit.standing


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
