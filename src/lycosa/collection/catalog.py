"""The catalog of a collection: the events of its archive as SQLite tables that can be queried.

Pages are numbered in order of arrival, from 1. A look is one fetch of a stored page, the first one included; where the
page had changed, it brought a new version. A page is stale if the search index has an older version of it. A fetch is
settled unless another attempt follows, and `again` if it is a look after the first. The column `place` is the byte
offset of the first record of an event in the WARC file `file`. The `rank` of a link is its order among the links of its
page, from 0; its `position` is an offset in the text. `duplicate_of` is an earlier page with nearly the same text; a
copy has exactly that text, and its links are not followed. `links_beyond` is the number of links beyond the limit per
page, which were not read. A page is personal if it was requested with cookies or the like.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.key_table import KeySet
from lycosa.vocabulary.records import (
    REFRESH,
    Change,
    CheckedUrl,
    Fetch,
    JsonValue,
    Link,
    Outcome,
    Page,
    Skip,
    SkipReason,
    Url,
    Visit,
)
from lycosa.vocabulary.urls import host_of, key_of

from .errors import catalog_errors
from .events import ArchivePosition, Attempt, Event, FetchedExample, RecordLocation, RunStart, RunStop, Scores
from .json_text import replace_surrogates, to_json
from .queries import HAS_PERSONAL_PAGES, SITE_SKIPS_KEY, Queries
from .rows import (
    LastLook,
    NewExample,
    NewFetch,
    NewLook,
    NewPage,
    NewRun,
    NewSkip,
    NewTarget,
    Vanishing,
    Version,
    columns_of,
    insert_sql,
    signed,
    update_sql,
)
from .schema import MIGRATIONS, connect, sql_url_test

MAX_STATE = 1 << 27  # bytes of a value of the table `state`; a row cannot have more than twice as many
_MOVED_TO = "moved to "  # prefix of `vanished_why` of a page that was redirected; the new URL follows

_NOWHERE = (None, None, None)  # location of what is not in the archive

Row = tuple[Any, ...]

_PAGE_COLUMNS = columns_of(NewPage, Version)
_REPLACED = [column for column in _PAGE_COLUMNS if column not in ("number", "url")]  # those two never change
_LOOK_COLUMNS = columns_of(NewLook)
_FIRST_LOOK = (  # the first row for a page that is fetched again: its state until then
    f"INSERT OR IGNORE INTO looks (page, look, {', '.join(_LOOK_COLUMNS)}) SELECT number, 1, at, 'new', status,"
    " digest, bytes, (SELECT count(*) FROM links WHERE source = number), 0, file, place, length"
    " FROM pages WHERE url = ?"
)
_WRITE_SQL = {  # by kind of row: a statement, executed for many rows at a time, in this order
    "pages": insert_sql("pages", *_PAGE_COLUMNS)
    + f" ON CONFLICT (url) DO UPDATE SET {', '.join(f'{column} = excluded.{column}' for column in _REPLACED)}",
    "versions": update_sql("pages", *columns_of(Version), key="url"),
    "fetches": insert_sql("fetches", *columns_of(NewFetch)),
    "links": insert_sql("links", "source", "rank", *columns_of(Link), verb="INSERT OR REPLACE"),
    "skips": insert_sql("skips", *columns_of(NewSkip), verb="INSERT OR IGNORE"),  # the first reason stays
    "visited": "DELETE FROM skips WHERE key = ?",  # it may have been evicted, or found by a nofollow link before
    "examples": insert_sql("examples", *columns_of(NewExample), verb="INSERT OR REPLACE"),
    "first_looks": _FIRST_LOOK,
    "looks": f"INSERT INTO looks (page, look, {', '.join(_LOOK_COLUMNS)})"
    " SELECT number, 1 + (SELECT coalesce(max(look), 0) FROM looks WHERE page = number),"
    f" {', '.join('?' for _ in _LOOK_COLUMNS)} FROM pages WHERE url = ?",
    "last_looks": "UPDATE pages SET looked_at = ?, etag = coalesce(?, etag),"
    " last_modified = coalesce(?, last_modified) WHERE url = ?",
    "vanishings": update_sql("pages", *columns_of(Vanishing), key="url"),
    "stale": "INSERT OR IGNORE INTO stale SELECT number FROM pages WHERE url = ?",
    "new_links": insert_sql("new_links", *columns_of(NewTarget), verb="INSERT OR IGNORE"),
}
_INSERT_RUN = insert_sql("runs", *columns_of(NewRun))


class Catalog(Queries):
    """Adds events to the tables; nothing is saved before `commit`.

    Other packages may have tables of their own in `connection`, which are committed together with these.
    """

    def __init__(self, path: Path, *, writable: bool, migrations: Sequence[str] = MIGRATIONS):
        self.path = path
        self._unwritten: dict[str, list[Row]] = {kind: [] for kind in _WRITE_SQL}  # rows by key of `_WRITE_SQL`
        self._new_numbers: dict[Url, int] = {}  # of pages that are not written yet
        self._has_failed = False
        with self._errors():
            self.connection = connect(path, writable=writable, migrations=migrations)
            try:
                self._last_number = self.last_number()
            except CollectionError:
                self.close()
                raise

    @cached_property
    def _page_keys(self) -> KeySet:
        """64-bit hashes of the URLs of all pages, so that new pages, the common case, need no query."""
        return KeySet(map(key_of, self._urls("SELECT url FROM pages")))

    def add(self, event: Event, place: RecordLocation | None) -> int | None:
        """Adds an event; returns the number of the page that must be updated in the search index, if any."""
        match event:
            case Visit():
                return self._add_visit(event, place) if event.change is None else self._add_look(event, place)
            case Attempt():
                again = event.candidate.lane == REFRESH
                self._add_fetch(event.candidate.url, event.fetch, 0, place, settled=False, again=again)
            case FetchedExample(url=url, good=good, fetch=fetch):
                self._put("examples", NewExample(url, good, fetch.at, fetch.outcome.value, *(place or _NOWHERE)))
            case RunStart():
                run = NewRun(
                    at=event.at,
                    strategy=event.strategy,
                    seeds=_json(event.seeds),
                    scope=_json(event.scope),
                    first_page=self._last_number + 1,
                    refresh=_json(event.refresh) if event.refresh else None,
                )
                self._execute(_INSERT_RUN, *astuple(run))
            case RunStop():
                sql = "UPDATE runs SET stopped_at = ?, stop_reason = ? WHERE rowid = (SELECT max(rowid) FROM runs)"
                self._execute(sql, event.at, event.reason)
            case Scores():
                self.rescore(event.relevance, event.standing)
        return None

    @property
    def last_number_added(self) -> int:
        """The number of the page added last, whether its row is written or not; 0 before the first."""
        return self._last_number

    def add_skips(self, skips: Iterable[Skip], at: float) -> None:
        """Adds skips; the first reason of a URL stays. Those of reason SITE, a site with too many hosts or URLs for the
        pages it brought, are only counted, because they may be many."""
        skips = list(skips)
        self._unwritten["skips"].extend(
            astuple(NewSkip(key_of(skip.candidate.url), skip.candidate.url, skip.why, skip.candidate.found_on, at))
            for skip in skips
            if skip.reason is not SkipReason.SITE
        )
        site_skips = sum(skip.reason is SkipReason.SITE for skip in skips)
        if site_skips:
            self.put_state(SITE_SKIPS_KEY, (self.get_state(SITE_SKIPS_KEY, int) or 0) + site_skips)

    def remove_skips(self, *reasons: SkipReason) -> None:
        """Removes the skips with these reasons."""
        with self._errors():
            self._flush()
            for reason in reasons:
                self.connection.execute("DELETE FROM skips WHERE reason = ? OR reason LIKE ?", (reason, f"{reason}: %"))

    def rescore(self, relevance: Mapping[str, float], standing: Mapping[str, float]) -> None:
        """Replaces relevance and standing of pages, given by URL."""
        with self._errors():
            self._flush()
            for column, values in (("relevance", relevance), ("standing", standing)):
                rows = [(value, url) for url, value in values.items()]
                self.connection.executemany(f"UPDATE pages SET {column} = ? WHERE url = ?", rows)

    def put_state(self, key: str, value: JsonValue) -> None:
        self._put_state(key, to_json(value))

    def put_large_state(self, key: str, value: JsonValue) -> bool:
        """The same unless the value is larger than `MAX_STATE`; returns whether it was written."""
        encoded = to_json(value)
        is_written = len(encoded) <= MAX_STATE
        if is_written:
            self._put_state(key, encoded)
        return is_written

    def _put_state(self, key: str, encoded: bytes) -> None:
        self._execute("INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)", key, encoded.decode())

    def position(self) -> ArchivePosition | None:
        """The position in the archive at the last commit."""
        found: ArchivePosition | None = self.get_state("position", ArchivePosition)
        return found

    def commit(self, position: ArchivePosition | None) -> None:
        """Saves everything added so far, with the position in the archive."""
        # SQLite rolls back a whole transaction when the disk is full; the position must not be advanced.
        if self._has_failed:
            raise CollectionError(
                f"cannot use {self.path}: it could not be written; make room or give access, then go on"
            )
        self.put_state("position", position)
        with self._errors():
            self._flush()
            self.connection.commit()

    @contextmanager
    def reporting_errors(self) -> Iterator[None]:
        """Context for using `connection`: errors are raised as CollectionError and prevent later commits."""
        try:
            with catalog_errors(self.path):
                yield
        except CollectionError:
            self._has_failed = True
            raise

    def _errors(self) -> AbstractContextManager[None]:
        return self.reporting_errors()

    def close(self) -> None:
        """Closes the connection; uncommitted changes are lost."""
        with suppress(sqlite3.Error):
            self.connection.close()

    def forget(self, is_forgotten: Callable[[Url], bool]) -> int:
        """Removes every trace of these URLs from the tables; returns the number of removed pages."""
        with self._errors():
            self._flush()
            execute = self.connection.execute
            self.connection.create_function("forgotten", 1, sql_url_test(is_forgotten))
            forgotten_pages = "(SELECT number FROM pages WHERE forgotten(url))"
            execute(f"DELETE FROM links WHERE source IN {forgotten_pages} OR forgotten(target)")
            execute(f"DELETE FROM new_links WHERE page IN {forgotten_pages} OR forgotten(target)")
            for table in ("looks", "stale"):
                execute(f"DELETE FROM {table} WHERE page IN {forgotten_pages}")
            removed = execute("DELETE FROM pages WHERE forgotten(url)").rowcount
            for table in ("fetches", "skips", "examples"):
                execute(f"DELETE FROM {table} WHERE forgotten(url)")
            execute("DELETE FROM skips WHERE forgotten(found_on)")  # re-ranking skips again what other pages link to
            # A redirect has "to " and its target as detail.
            execute("UPDATE fetches SET detail = '' WHERE outcome = 'moved' AND forgotten(substr(detail, 4))")
            # a page that moved to a forgotten URL is restored, as if it had not moved
            moved = f"vanished_why LIKE '{_MOVED_TO}%' AND forgotten(substr(vanished_why, {len(_MOVED_TO) + 1}))"
            execute(f"DELETE FROM looks WHERE change = 'vanished' AND page IN (SELECT number FROM pages WHERE {moved})")
            execute(f"INSERT OR IGNORE INTO stale SELECT number FROM pages WHERE {moved}")
            execute(f"UPDATE pages SET vanished_at = NULL, vanished_why = '' WHERE {moved}")
            execute("UPDATE pages SET anchor = '' WHERE forgotten(found_on)")  # the anchor is text of that page
            for column in ("found_on", "duplicate_of"):
                execute(f"UPDATE pages SET {column} = NULL WHERE forgotten({column})")
            for rowid, seeds in execute("SELECT rowid, seeds FROM runs").fetchall():
                try:
                    seed_urls = msgspec.json.decode(seeds, type=list[CheckedUrl])
                except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
                    seed_urls = []  # unreadable parts of a damaged row are dropped, as they may be traces
                kept = [seed for seed in seed_urls if not is_forgotten(seed)]
                execute("UPDATE runs SET seeds = ? WHERE rowid = ?", (_json(kept), rowid))
            (self._last_number,) = execute("SELECT coalesce(max(number), 0) FROM pages").fetchone()
        self.put_state("indexed_up_to", min(self.indexed_up_to(), self._last_number))
        return removed

    def relocate(self, places: Iterable[tuple[Url, float, RecordLocation]]) -> None:
        """Updates the location of every fetch, given by URL and time, after the archive was rewritten."""
        with self._errors():
            self._flush()
            execute = self.connection.execute
            execute(
                "CREATE TEMP TABLE moved"
                " (url TEXT, at REAL, file TEXT, place INTEGER, length INTEGER, PRIMARY KEY (url, at))"
            )
            sql = "INSERT OR REPLACE INTO moved (url, at, file, place, length) VALUES (?, ?, ?, ?, ?)"
            self.connection.executemany(sql, ((url, at, *place) for url, at, place in places))
            for table in ("pages", "fetches", "examples"):
                execute(
                    f"UPDATE {table} SET file = moved.file, place = moved.place, length = moved.length"
                    f" FROM moved WHERE moved.url = {table}.url AND moved.at = {table}.at"
                )
            execute(
                "UPDATE looks SET file = moved.file, place = moved.place, length = moved.length FROM moved, pages"
                " WHERE pages.number = looks.page AND moved.url = pages.url AND moved.at = looks.at"
                " AND looks.digest IS NOT NULL"  # those that brought a version
            )
            execute("DROP TABLE moved")

    def vacuum(self) -> bool:
        """Overwrites deleted rows on disk; False if another program that reads the file prevents it.

        Everything must be committed.
        """
        with self._errors():
            self.connection.execute("VACUUM")
            is_busy, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    def add_stale(self, url: Url) -> None:
        """Marks a page as outdated in the search index."""
        self._unwritten["stale"].append((url,))

    def clear_stale(self, numbers: Iterable[int]) -> None:
        """Marks pages, given by their numbers, as up to date in the search index."""
        with self._errors():
            self._flush()
            rows = ((number,) for number in numbers)
            self.connection.executemany("DELETE FROM stale WHERE page = ?", rows)

    def clear_all_stale(self) -> None:
        """Marks all pages as up to date in the search index."""
        self._flush()
        self._execute("DELETE FROM stale")

    def indexed_up_to(self) -> int:
        """The number of the last page in the search index."""
        return self.get_state("indexed_up_to", int) or 0

    # ------------------------------------------------------------ unwritten rows

    def _add_visit(self, visit: Visit, place: RecordLocation | None) -> int | None:
        fetch, page, candidate = visit.fetch, visit.page, visit.candidate
        key = key_of(candidate.url)
        self._unwritten["visited"].append((key,))
        left_out = "" if visit.left_out is None else str(visit.left_out)
        self._add_fetch(candidate.url, fetch, page.digest if page else 0, place, settled=True, left_out=left_out)
        if page is None or not visit.is_kept:
            return None
        number = self._assign_number(candidate.url, key, page)
        new = NewPage(
            number=number,
            url=candidate.url,
            host=host_of(candidate.url),
            depth=candidate.depth,
            found_on=candidate.found_on,
            priority=candidate.priority,
            because=_json(candidate.because) if candidate.because else "{}",
            anchor=candidate.anchor,
        )
        self._unwritten["pages"].append(astuple(new) + astuple(_version(visit, page, place)))
        self._note_personal(fetch)
        self._add_links(number, page)
        return number

    def _add_links(self, number: int, page: Page) -> None:
        # Written out, in the order of the columns, because pages have many links and `astuple` takes twice as long.
        self._unwritten["links"].extend(
            [(number, rank, link.target, link.anchor, link.rel, link.position) for rank, link in enumerate(page.links)]
        )

    def _add_look(self, visit: Visit, place: RecordLocation | None) -> int | None:
        """Adds a repeated fetch of a stored page, a look; returns its number if the search index must be updated."""
        url, fetch, page = visit.candidate.url, visit.fetch, visit.page
        if key_of(url) not in self._page_keys:
            return self._add_visit(visit, place)  # its earlier records are damaged
        if url in self._new_numbers:
            self._flush()  # so that it is found by its URL
        left_out = "" if visit.left_out is None else str(visit.left_out)
        digest = page.digest if page else 0
        self._add_fetch(url, fetch, digest, place, settled=True, again=True, left_out=left_out)
        version = page if visit.is_kept else None
        if version is not None:
            self._flush()  # the first look records the previous version
            self._execute(_FIRST_LOOK, url)
            self._add_version(visit, version, place)
        else:
            self._unwritten["first_looks"].append((url,))
        file, offset, length = (place if version is not None else None) or _NOWHERE
        look = NewLook(
            at=fetch.at,
            change=visit.change.value if visit.change else "",
            status=fetch.status,
            digest=None if version is None else signed(version.digest),
            bytes=None if version is None else len(fetch.body),
            links=None if version is None else len(version.links),
            new_links=len(visit.new_links),
            file=file,
            place=offset,
            length=length,
        )
        self._put("looks", look, url)
        answered = fetch.outcome in (Outcome.OK, Outcome.UNCHANGED)
        last_look = LastLook(
            looked_at=fetch.at,
            etag=fetch.header("etag") if answered else None,
            last_modified=fetch.header("last-modified") if answered else None,
        )
        self._put("last_looks", last_look, url)
        if visit.change is Change.VANISHED:
            self._put("vanishings", Vanishing(fetch.at, _why_vanished(visit)), url)
        elif visit.change is Change.RETURNED:
            self._put("vanishings", Vanishing(None, ""), url)
        if visit.change not in (Change.CHANGED, Change.VANISHED, Change.RETURNED):
            return None
        self._unwritten["stale"].append((url,))
        return self._number_of(url)

    def _add_version(self, visit: Visit, page: Page, place: RecordLocation | None) -> None:
        url = visit.candidate.url
        number = self._number_of(url)
        if number is None:
            return
        self._execute("DELETE FROM links WHERE source = ?", number)
        self._add_links(number, page)
        with self._errors():
            (last_look,) = self.connection.execute(
                "SELECT coalesce(max(look), 0) FROM looks WHERE page = ?", (number,)
            ).fetchone()
        self._unwritten["new_links"].extend(
            astuple(NewTarget(number, last_look + 1, target)) for target in visit.new_links
        )
        self._put("versions", _version(visit, page, place), url)
        self._note_personal(visit.fetch)

    def _note_personal(self, fetch: Fetch) -> None:
        if fetch.is_personal and not self.has_personal_pages():
            self.put_state(HAS_PERSONAL_PAGES, True)

    def _number_of(self, url: Url) -> int | None:
        with self._errors():
            found = self.connection.execute("SELECT number FROM pages WHERE url = ?", (url,)).fetchone()
        return int(*found) if found else None

    def _assign_number(self, url: Url, key: int, page: Page) -> int:
        """The number of a page to be written: that of the stored page with its URL, or the next one."""
        number = self._new_numbers.get(url)
        if number is None and key not in self._page_keys:
            self._page_keys.add(key)
            return self._next_number(url)
        if number is None:
            number = self._number_of(url)
            if number is None:
                return self._next_number(url)
        self._flush()  # its old links may be unwritten
        self._execute("DELETE FROM links WHERE source = ? AND rank >= ?", number, len(page.links))
        return number

    def _next_number(self, url: Url) -> int:
        self._last_number += 1
        self._new_numbers[url] = self._last_number
        return self._last_number

    def _add_fetch(
        self,
        url: Url,
        fetch: Fetch,
        digest: int,
        place: RecordLocation | None,
        *,
        settled: bool,
        again: bool = False,
        left_out: str = "",
    ) -> None:
        file, offset, length = place or _NOWHERE
        self._put(
            "fetches",
            NewFetch(
                url=url,
                at=fetch.at,
                outcome=fetch.outcome.value,
                status=fetch.status,
                elapsed=fetch.elapsed,
                detail=fetch.detail,
                digest=signed(digest),
                settled=settled,
                file=file,
                place=offset,
                length=length,
                again=again,
                left_out=left_out,
            ),
        )

    def _put(self, kind: str, row: Struct, *key: object) -> None:
        """Buffers a row for a statement of `_WRITE_SQL`; `key` has the values after those of the row."""
        self._unwritten[kind].append(astuple(row) + key)

    def _flush(self) -> None:
        if not any(self._unwritten.values()):
            return
        unwritten, self._unwritten = self._unwritten, {kind: [] for kind in _WRITE_SQL}
        self._new_numbers = {}
        with self._errors():
            for kind, rows in unwritten.items():
                if rows:
                    self._write(kind, rows)

    def _write(self, kind: str, rows: list[Row]) -> None:
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN")
        self.connection.execute("SAVEPOINT adding")
        try:
            self.connection.executemany(_WRITE_SQL[kind], rows)
        except UnicodeEncodeError:  # a lone surrogate, from a hostile page
            self.connection.execute("ROLLBACK TO adding")
            self.connection.executemany(
                _WRITE_SQL[kind],
                [
                    tuple(replace_surrogates(value) if isinstance(value, str) else value for value in row)
                    for row in rows
                ],
            )
        self.connection.execute("RELEASE adding")

    def _execute(self, sql: str, *values: object) -> None:
        with self._errors():
            self.connection.execute(sql, values)


def _why_vanished(visit: Visit) -> str:
    if visit.fetch.location is not None:
        return f"{_MOVED_TO}{visit.fetch.location}"
    if visit.left_out is not None:
        return str(visit.left_out)
    return visit.fetch.detail or "it could not be had"


def _json(value: JsonValue) -> str:
    return to_json(value).decode()


def _version(visit: Visit, page: Page, place: RecordLocation | None) -> Version:
    fetch = visit.fetch
    file, offset, length = place or _NOWHERE
    return Version(
        title=page.title,
        language=page.language,
        relevance=visit.relevance,
        digest=signed(page.digest),
        fingerprint=signed(page.fingerprint),
        at=fetch.at,
        bytes=len(fetch.body),
        duplicate_of=visit.duplicate_of,
        status=fetch.status,
        file=file,
        place=offset,
        length=length,
        etag=fetch.header("etag") or "",
        last_modified=fetch.header("last-modified") or "",
        truncated=fetch.truncated,
        standing=visit.standing,
        is_copy=visit.is_copy,
        links_beyond=page.links_beyond,
        needs_script=page.needs_script,
    )
