"""What can be asked of a catalog."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec

from lycosa.vocabulary.records import RELEVANT, Outcome, Plain, Url
from lycosa.vocabulary.urls import key_of

from .events import Place
from .rows import (
    Due,
    ExampleRow,
    FetchRow,
    Freshness,
    LatestChange,
    LookRow,
    PageRow,
    Parent,
    RunRow,
    SkipRow,
    Summary,
)
from .trouble import told_of_catalog

FIRST_COLUMNS = (  # what a visit tells of a page
    "number, url, host, title, language, relevance, digest, fingerprint, at, bytes, depth, found_on, priority, because,"
    " anchor, duplicate_of, status, file, place, length, etag, last_modified, truncated, standing"
)
PAGE_COLUMNS = f"{FIRST_COLUMNS}, coalesce(looked_at, at), vanished_at, vanished_why"
_LOOK_COLUMNS = "look, at, change, status, digest, bytes, links, new_links, file, place, length"
_ALTERED = "('changed', 'vanished', 'returned')"
_IN_VAIN = "('failed', 'refused')"  # changes that tell nothing of a page
_ORDERS = {"number": "number", "relevance": "relevance DESC, number"}


class Queries:
    """The reading half of a catalog: every question sees what was added, committed or not."""

    connection: sqlite3.Connection
    path: Path

    def _flush(self) -> None:
        raise NotImplementedError

    def _told(self) -> AbstractContextManager[None]:
        return told_of_catalog(self.path)

    def _rows(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with self._told():
            self._flush()
            for row in self.connection.execute(sql, values):  # noqa: UP028 - would close a cursor after its catalog
                yield row

    def page(self, url: Url) -> PageRow | None:
        return next(map(_page, self._rows(f"SELECT {PAGE_COLUMNS} FROM pages WHERE url = ?", url)), None)

    def pages(
        self,
        order: Literal["number", "relevance"] = "number",
        *,
        host: str | None = None,
        min_relevance: float | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Iterator[PageRow]:
        """The pages, of one host, of some relevance, or later than a number where so asked."""
        wanted = ["number > ?"]
        values: list[object] = [after]
        if host is not None:
            wanted.append("host = ?")
            values.append(host)
        if min_relevance is not None:
            wanted.append("relevance >= ?")
            values.append(min_relevance)
        values.append(-1 if limit is None else limit)
        where = " AND ".join(wanted)
        sql = f"SELECT {PAGE_COLUMNS} FROM pages WHERE {where} ORDER BY {_ORDERS[order]} LIMIT ?"
        return map(_page, self._rows(sql, *values))

    def looks(self, number: int) -> list[LookRow]:
        """Every time that a page was seen, oldest first; empty where it was seen once."""
        sql = f"SELECT {_LOOK_COLUMNS} FROM looks WHERE page = ? ORDER BY look"
        return [_look(row) for row in self._rows(sql, number)]

    def links_of(self, number: int) -> set[Url]:
        """Where the newest version of a page links to."""
        return {target for (target,) in self._rows("SELECT target FROM links WHERE source = ?", number)}

    def dues(self) -> Iterator[Due]:
        """What decides when pages are to be seen again, in the order of their arrival."""
        sql = "SELECT number, url, relevance, standing, coalesce(looked_at, at), vanished_at FROM pages ORDER BY number"
        return (Due(*row) for row in self._rows(sql))

    def all_looks(self) -> Iterator[tuple[int, Url, LookRow]]:
        """Number, URL and every look of all pages: page by page, oldest first; reads the links through."""
        once = (
            "SELECT number, url, 1, at, 'new', status, digest, bytes,"
            " (SELECT count(*) FROM links WHERE source = number), 0, file, place, length"
            " FROM pages WHERE number NOT IN (SELECT page FROM looks)"
        )
        again = "SELECT page, url, " + ", ".join(f"looks.{name}" for name in _LOOK_COLUMNS.split(", "))
        again += " FROM looks JOIN pages ON pages.number = looks.page"
        rows = self._rows(f"{once} UNION ALL {again} ORDER BY 1, 3")
        return ((row[0], row[1], _look(row[2:])) for row in rows)

    def link_scores(self) -> dict[int, float]:
        """For the pages whose latest look, but for those in vain, found new links: the links known to lead to their
        targets, summed."""
        if next(self._rows("SELECT 1 FROM new_links LIMIT 1"), None) is None:
            return {}  # and the links need not be read through
        sql = (
            f"WITH latest AS (SELECT page, max(look) AS look FROM looks WHERE change NOT IN {_IN_VAIN} GROUP BY page),"
            " wanted AS (SELECT new_links.page, target FROM new_links JOIN latest USING (page, look)),"
            " counts AS (SELECT target, count(*) AS known FROM links"
            " WHERE target IN (SELECT target FROM wanted) GROUP BY target)"
            " SELECT page, sum(known) FROM wanted JOIN counts USING (target) GROUP BY page"
        )
        return dict(self._rows(sql))

    def stale_pages(self) -> Iterator[PageRow]:
        """Pages that have changed, vanished or returned since the search index was last committed."""
        return map(_page, self._rows(f"SELECT {PAGE_COLUMNS} FROM pages WHERE number IN (SELECT page FROM stale)"))

    def latest_changes(self, limit: int = 10) -> list[LatestChange]:
        """Pages found changed, vanished or returned, the latest first."""
        sql = (
            "SELECT pages.url, pages.title, looks.change, looks.at FROM looks JOIN pages ON pages.number = looks.page"
            f" WHERE looks.change IN {_ALTERED} ORDER BY looks.at DESC, pages.number LIMIT ?"
        )
        return [LatestChange(*row) for row in self._rows(sql, limit)]

    def freshness(self) -> Freshness:
        looked = next(
            self._rows(
                "SELECT (SELECT count(DISTINCT page) FROM looks WHERE change NOT IN ('new', 'refused')),"
                " count(vanished_at), min(CASE WHEN vanished_at IS NULL THEN"
                " coalesce(looked_at, at) END), max(coalesce(looked_at, at)) FROM pages"
            )
        )
        changed = next(self._rows("SELECT count(DISTINCT page) FROM looks WHERE change IN ('changed', 'returned')"))
        again, vanished, oldest, latest = looked
        return Freshness(again, changed[0], vanished, oldest, latest)

    def fetches(self, url: Url) -> list[FetchRow]:
        """Every request for a URL, oldest first; reads the table through."""
        sql = (
            "SELECT url, at, outcome, status, elapsed, detail, digest, settled, file, place, length"
            " FROM fetches WHERE url = ? ORDER BY rowid"
        )
        return [_fetch(list(row)) for row in self._rows(sql, url)]

    def parents(self, url: Url, limit: int = 10) -> list[Parent]:
        """Pages that link to a URL, in the order of their arrival; reads the links through."""
        sql = (
            "SELECT pages.url, pages.relevance, links.anchor, links.rel FROM links"
            " CROSS JOIN pages ON pages.number = links.source WHERE links.target = ? LIMIT ?"
        )
        return [Parent(*row) for row in self._rows(sql, url, limit)]

    def link_pairs(self) -> Iterator[tuple[Url, Url]]:
        """Source and target of every link of the pages."""
        sql = "SELECT pages.url, links.target FROM links JOIN pages ON pages.number = links.source"
        return ((source, target) for source, target in self._rows(sql))

    def skip(self, url: Url) -> SkipRow | None:
        sql = "SELECT url, reason, found_on, at FROM skips WHERE key = ?"
        return next((SkipRow(*row) for row in self._rows(sql, key_of(url))), None)

    def examples(self) -> list[ExampleRow]:
        rows = self._rows("SELECT url, good, at, outcome, file, place, length FROM examples ORDER BY rowid")
        return [_example(row) for row in rows]

    def example(self, url: Url) -> ExampleRow | None:
        sql = "SELECT url, good, at, outcome, file, place, length FROM examples WHERE url = ?"
        return next(map(_example, self._rows(sql, url)), None)

    def runs(self) -> list[RunRow]:
        sql = "SELECT at, strategy, seeds, scope, first_page, stopped_at, stop_reason, refresh FROM runs ORDER BY rowid"
        return [_run(list(row)) for row in self._rows(sql)]

    def fingerprints(self) -> Iterator[tuple[Url, int]]:
        """URL and fingerprint of the pages that have one and are not themselves near-duplicates."""
        sql = "SELECT url, fingerprint FROM pages WHERE fingerprint != 0 AND duplicate_of IS NULL ORDER BY number"
        return ((url, _unsigned(fingerprint)) for url, fingerprint in self._rows(sql))

    def visited(self) -> Iterator[Url]:
        """Every URL that was visited; one visited twice comes twice, one that was seen again as a page does not."""
        return (url for (url,) in self._rows("SELECT url FROM fetches WHERE settled AND NOT again"))

    def found_dead(self) -> Iterator[tuple[Url, float]]:
        """The URLs that were visited and are no pages: gone, or something else than HTML; and when that was."""
        return self._rows(
            "SELECT url, at FROM fetches WHERE settled AND NOT again AND outcome IN (?, ?)",
            Outcome.GONE.value,
            Outcome.UNWANTED.value,
        )

    def pages_since_relevant(self) -> int:
        """How many pages have come since the last relevant one."""
        last_relevant = "SELECT coalesce(max(number), 0) FROM pages WHERE relevance >= ?"
        return int(next(self._rows(f"SELECT count(*) FROM pages WHERE number > ({last_relevant})", RELEVANT))[0])

    def has_pages_without_standing(self) -> bool:
        return bool(next(self._rows("SELECT EXISTS (SELECT 1 FROM pages WHERE standing IS NULL)"))[0])

    def last_number(self) -> int:
        """The number of the page that came last; 0 before the first."""
        return int(next(self._rows("SELECT coalesce(max(number), 0) FROM pages"))[0])

    def count(self) -> int:
        """How many pages there are."""
        return int(next(self._rows("SELECT count(*) FROM pages"))[0])

    def summary(self) -> Summary:
        totals = next(
            self._rows(
                "SELECT count(*), coalesce(sum(relevance >= ?), 0), coalesce(sum(bytes), 0), min(at), max(at),"
                " avg(standing) FROM pages",
                RELEVANT,
            )
        )
        pages, relevant, size, first_at, last_at, standing = totals
        return Summary(
            pages=pages,
            relevant=relevant,
            harvest_rate=relevant / pages if pages else 0.0,
            mean_standing=standing,
            hosts=self._counted("host", "pages"),
            outcomes=self._counted("outcome", "fetches"),
            skipped=self._counted("reason", "skips"),
            languages=self._counted("language", "pages"),
            bytes=size,
            first_at=first_at,
            last_at=last_at,
            freshness=self.freshness(),
            runs=tuple(self.runs()),
        )

    def _counted(self, column: str, table: str) -> dict[str, int]:
        rows = self._rows(f"SELECT {column}, count(*) FROM {table} GROUP BY 1 ORDER BY 2 DESC, 1")
        return {value: count for value, count in rows}  # noqa: C416

    def get_state(self, key: str) -> Plain:
        """What was put under a key; None where nothing was."""
        return next((_plain(value) for (value,) in self._rows("SELECT value FROM state WHERE key = ?", key)), None)


def _page(row: tuple[Any, ...]) -> PageRow:
    values = list(row)
    values[17:20] = [_place(*row[17:20])]
    values[13] = _plain(row[13])
    values[6:8] = [_unsigned(row[6]), _unsigned(row[7])]
    return PageRow(*values)


def _fetch(values: list[Any]) -> FetchRow:
    values[8:] = [_place(*values[8:])]
    values[2], values[6], values[7] = Outcome(values[2]), _unsigned(values[6]), bool(values[7])
    return FetchRow(*values)


def _run(values: list[Any]) -> RunRow:
    values[2:4] = [tuple(_plain(values[2])), _plain(values[3])]
    values[7] = _plain(values[7]) if values[7] else None
    return RunRow(*values)


def _look(row: tuple[Any, ...]) -> LookRow:
    look, at, change, status, digest, size, links, new_links, *place = row
    digest = None if digest is None else _unsigned(digest)
    return LookRow(look, at, change, status, digest, size, links, new_links, _place(*place))


def _example(row: tuple[Any, ...]) -> ExampleRow:
    return ExampleRow(row[0], bool(row[1]), row[2], Outcome(row[3]), _place(*row[4:]))


def _place(file: str | None, offset: int, length: int) -> Place | None:
    return Place(file, offset, length) if file is not None else None


def _plain(text: str) -> Plain:
    return msgspec.json.decode(text)


def _unsigned(number: int) -> int:
    return number & (1 << 64) - 1
