"""Read queries on the catalog (SQLite).

Pages are numbered in order of arrival, from 1. A look is one fetch of a stored page, the first one included. Rows of
`fetches` are `settled` unless another attempt follows, and `again` if they are looks after the first: a visit is
settled and not again. Standing is the importance of a page on the Web, 0 to 1.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from lycosa.vocabulary.records import (
    RELEVANT,
    CheckedUrl,
    Count,
    JsonValue,
    LeftOut,
    LeftOutReason,
    Link,
    Outcome,
    Score,
    SkipReason,
    Timestamp,
    Url,
)
from lycosa.vocabulary.urls import key_of, site_of

from .errors import DamagedRowError, catalog_errors
from .events import RecordLocation
from .rows import (
    ChangeRow,
    ExampleRow,
    FetchRow,
    Freshness,
    InLinkRow,
    LookRow,
    Number,
    Omissions,
    PageRow,
    PageScore,
    RefreshState,
    RowReader,
    RunRow,
    ShortPageRow,
    SkipRow,
    Status,
    Summary,
    Totals,
    VisitRow,
    from_json,
    read_change,
    read_example,
    read_fetch,
    read_in_link,
    read_look,
    read_page,
    read_refresh_state,
    read_run,
    read_short_page,
    read_skip,
    read_visit,
    unsigned,
)

_ALTERING_CHANGES = "('changed', 'vanished', 'returned')"
_FAILED_CHANGES = "('failed', 'refused')"  # of looks that found out nothing about the page
_BATCH_SIZE = 256  # rows that are checked together
T = TypeVar("T")
R = TypeVar("R", bound=Struct)
Order = Literal["number", "relevance", "importance", "url"]
ORDERS: dict[Order, str] = {  # in SQL; pages without a relevance or standing come last
    "number": "number",
    "relevance": "relevance DESC, number",
    "importance": "standing DESC, number",
    "url": "url",
}
ShortPageOrder = Literal["relevance", "standing", "newest", "oldest"]
_SHORT_PAGE_ORDERS: dict[ShortPageOrder, str] = {
    "relevance": "relevance DESC, number",
    "standing": "standing DESC, number",
    "newest": "number DESC",
    "oldest": "number",
}

HAS_PERSONAL_PAGES = "has_personal_pages"  # key of the table `state`
RECORDS_PERSONAL_PAGES = "records_personal_pages"  # key of the table `state`; see the method of that name
SITE_SKIPS_KEY = "crowded"  # key of the table `state`: number of links skipped for SkipReason.SITE
HOLDS_KEY = "holds"  # likewise: by host, the time before which it gets no request
PASSED_OVER_KEY = "passed_over"  # likewise: by registered domain, requests that others got as its share was used up


class Selection(Struct, frozen=True):
    """Conditions that select pages; all that are given must hold."""

    hosts: tuple[str, ...] = ()  # one of these
    languages: tuple[str, ...] = ()  # one of these; empty text for pages whose language is unknown
    min_relevance: float | None = None
    min_standing: float | None = None
    since: float | None = None  # seconds since the epoch; the stored version was fetched then or later
    urls: frozenset[Url] | None = None  # one of these
    top: int | None = None  # at most so many pages, the first in `order`
    order: Order = "number"

    def where(self) -> tuple[str, list[object]]:
        """The condition in SQL, and the values of its parameters."""
        conditions, values = ["1"], list[object]()
        for condition, value in (
            ("host IN (SELECT value FROM json_each(?))", _json_list(self.hosts or None)),
            ("language IN (SELECT value FROM json_each(?))", _json_list(self.languages or None)),
            ("url IN (SELECT value FROM json_each(?))", _json_list(self.urls)),
            ("relevance >= ?", self.min_relevance),
            ("standing >= ?", self.min_standing),
            ("at >= ?", self.since),
        ):
            if value is not None:
                conditions.append(condition)
                values.append(value)
        return " AND ".join(conditions), values


def _json_list(values: Iterable[str] | None) -> str | None:
    return None if values is None else msgspec.json.encode(list(values)).decode()


def _checked(value: JsonValue, value_type: type[T]) -> T:
    try:
        return msgspec.convert(value, value_type)
    except msgspec.ValidationError as error:
        raise DamagedRowError(f"a row is damaged: {error}"[:200]) from None


class Queries:
    """The read side of a catalog: queries see uncommitted writes of this connection."""

    connection: sqlite3.Connection
    path: Path

    def _flush(self) -> None:
        raise NotImplementedError

    def _errors(self) -> AbstractContextManager[None]:
        return catalog_errors(self.path)

    def _rows(self, row_type: type[T], sql: str, *values: object) -> Iterator[T]:
        """The rows of a query as tuples of this type; raises CollectionError for any other value."""
        with self._errors():
            self._flush()
            cursor = self.connection.execute(sql, values)
            while rows := cursor.fetchmany(_BATCH_SIZE):
                yield from _checked(rows, list[row_type])  # type: ignore[valid-type]

    def _records(self, read: RowReader[R], sql: str, *values: object) -> Iterator[R]:
        """The rows of a query as records, checked in the same way."""
        with self._errors():
            self._flush()
            for row in self.connection.execute(sql, values):
                yield read(row)

    def _one(self, value_type: type[T], sql: str, *values: object) -> T:
        """The only value of the only row of a query."""
        ((value,),) = self._rows(tuple[value_type], sql, *values)  # type: ignore[valid-type]
        return value

    def _urls(self, sql: str, *values: object) -> Iterator[Url]:
        return (url for (url,) in self._rows(tuple[CheckedUrl], sql, *values))

    def page(self, url: Url) -> PageRow | None:
        return next(self._records(read_page, f"SELECT {read_page.columns} FROM pages WHERE url = ?", url), None)

    def pages(
        self,
        order: Order = "number",
        *,
        host: str | None = None,
        min_relevance: float | None = None,
        after: int = 0,
        before: int = 1 << 62,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[PageRow]:
        """The pages, optionally of one host, with a minimum relevance, or numbered between `after` and `before`."""
        conditions = ["number > ?", "number < ?"]
        values: list[object] = [after, before]
        if host is not None:
            conditions.append("host = ?")
            values.append(host)
        if min_relevance is not None:
            conditions.append("relevance >= ?")
            values.append(min_relevance)
        values += (-1 if limit is None else limit, offset)
        where = " AND ".join(conditions)
        sql = f"SELECT {read_page.columns} FROM pages WHERE {where} ORDER BY {ORDERS[order]} LIMIT ? OFFSET ?"
        return self._records(read_page, sql, *values)

    def latest_pages(self, limit: int, *, before: int | None = None) -> list[PageRow]:
        """The latest pages, latest first; optionally only those with a number below `before`."""
        sql = f"SELECT {read_page.columns} FROM pages WHERE number < ? ORDER BY number DESC LIMIT ?"
        return list(self._records(read_page, sql, before if before is not None else 1 << 62, limit))

    def page_scores(self, *, latest: int | None = None) -> list[PageScore]:
        """The latest pages, or all, in order of arrival."""
        sql = "SELECT number, url, at, relevance FROM pages ORDER BY number DESC LIMIT ?"
        return list(self._rows(PageScore, sql, -1 if latest is None else latest))[::-1]

    def every_nth_url(self, step: int) -> Iterator[Url]:
        """The URL of every `step`-th page, in order of arrival."""
        numbered = "SELECT url, row_number() OVER (ORDER BY number) AS n FROM pages"
        return self._urls(f"SELECT url FROM ({numbered}) WHERE n % ? = 0 ORDER BY n", step)

    def most_uncertain(self, limit: int) -> list[PageRow]:
        """The pages whose relevance is nearest to one half."""
        sql = (
            f"SELECT {read_page.columns} FROM pages WHERE relevance IS NOT NULL"
            " ORDER BY abs(relevance - 0.5), number LIMIT ?"
        )
        return list(self._records(read_page, sql, limit))

    def selected(self, selection: Selection) -> Iterator[PageRow]:
        """The pages of a selection."""
        where, values = selection.where()
        sql = f"SELECT {read_page.columns} FROM pages WHERE {where} ORDER BY {ORDERS[selection.order]} LIMIT ?"
        return self._records(read_page, sql, *values, -1 if selection.top is None else selection.top)

    def count_selected(self, selection: Selection) -> int:
        """The number of pages of a selection."""
        where, values = selection.where()
        found = self._one(int, f"SELECT count(*) FROM pages WHERE {where}", *values)
        return found if selection.top is None else min(found, selection.top)

    def short_pages(self, selection: Selection, order: ShortPageOrder, limit: int) -> list[ShortPageRow]:
        """The first pages of a selection in an order; its own `order` and `top` are ignored."""
        where, values = selection.where()
        sql = f"SELECT {read_short_page.columns} FROM pages WHERE {where} ORDER BY {_SHORT_PAGE_ORDERS[order]} LIMIT ?"
        return list(self._records(read_short_page, sql, *values, limit))

    def has_standings(self) -> bool:
        """Whether the standing of any page is known."""
        with self._errors():
            return any(self._rows(tuple[int], "SELECT 1 FROM pages WHERE standing IS NOT NULL LIMIT 1"))

    def has_personal_pages(self) -> bool:
        """Whether a page was ever stored that had been requested with cookies or the like."""
        return bool(self.get_state(HAS_PERSONAL_PAGES, bool))

    def records_personal_pages(self) -> bool:
        """Whether the archive records for every page if it was requested with cookies; not in older collections."""
        return bool(self.get_state(RECORDS_PERSONAL_PAGES, bool)) or not self.last_number()

    def in_url_order(self, *, first: int = 0, before: int = 1 << 62) -> Iterator[tuple[Url, float | None]]:
        """URL and relevance of the pages with numbers from `first` on and below `before`, in the order of their URLs.

        Two catalogs can be compared by it without holding either in memory.
        """
        sql = "SELECT url, relevance FROM pages WHERE number >= ? AND number < ? ORDER BY url"
        return self._rows(tuple[CheckedUrl, Score | None], sql, first, before)

    def links(self, number: int) -> list[Link]:
        """The links of the latest version of a page, in order."""
        sql = "SELECT target, anchor, rel, position FROM links WHERE source = ? ORDER BY rank"
        return [Link(*row) for row in self._rows(tuple[CheckedUrl, str, str, Count], sql, number)]

    def looks(self, number: int) -> list[LookRow]:
        """All looks at a page, the first fetch included, oldest first; empty if it was fetched only once."""
        sql = f"SELECT {read_look.columns} FROM looks WHERE page = ? ORDER BY look"
        return list(self._records(read_look, sql, number))

    def link_targets(self, number: int) -> set[Url]:
        """The link targets of the latest version of a page."""
        return set(self._urls("SELECT target FROM links WHERE source = ?", number))

    def refresh_states(self) -> Iterator[RefreshState]:
        """The data for refresh policies, in order of arrival."""
        sql = f"SELECT {read_refresh_state.columns} FROM pages ORDER BY number"
        return self._records(read_refresh_state, sql)

    def observations(self) -> Iterator[tuple[int, Url, LookRow]]:
        """Number, URL and every look of all pages: page by page, oldest first; a full table scan of the links."""
        fetched_once = (
            "SELECT number, url, 1, at, 'new', status, digest, bytes,"
            " (SELECT count(*) FROM links WHERE source = number), 0, file, place, length"
            " FROM pages WHERE number NOT IN (SELECT page FROM looks)"
        )
        fetched_again = "SELECT page, url, " + ", ".join(f"looks.{name}" for name in read_look.expressions)
        fetched_again += " FROM looks JOIN pages ON pages.number = looks.page"
        with self._errors():
            self._flush()
            for number, url, *look in self.connection.execute(
                f"{fetched_once} UNION ALL {fetched_again} ORDER BY 1, 3"
            ):
                yield *_checked([number, url], tuple[Number, CheckedUrl]), read_look(look)

    def link_scores(self) -> dict[int, float]:
        """By page number: the total number of in-links of the link targets that were new at its last successful look.

        Pages whose last successful look found no new links are left out.
        """
        if next(self._rows(tuple[int], "SELECT 1 FROM new_links LIMIT 1"), None) is None:
            return {}  # saves a full table scan of the links
        sql = (
            "WITH latest AS (SELECT page, max(look) AS look FROM looks"
            f" WHERE change NOT IN {_FAILED_CHANGES} GROUP BY page),"
            " wanted AS (SELECT new_links.page, target FROM new_links JOIN latest USING (page, look)),"
            " counts AS (SELECT target, count(*) AS in_links FROM links"
            " WHERE target IN (SELECT target FROM wanted) GROUP BY target)"
            " SELECT page, sum(in_links) FROM wanted JOIN counts USING (target) GROUP BY page"
        )
        return dict(self._rows(tuple[Number, float], sql))

    def stale_pages(self, *, limit: int | None = None) -> Iterator[PageRow]:
        """Pages that have changed, vanished or returned since the search index was last committed."""
        sql = f"SELECT {read_page.columns} FROM pages WHERE number IN (SELECT page FROM stale) LIMIT ?"
        return self._records(read_page, sql, -1 if limit is None else limit)

    def latest_changes(self, limit: int = 10) -> list[ChangeRow]:
        """Pages found changed, vanished or returned, the latest first."""
        sql = (
            f"SELECT {read_change.columns} FROM looks JOIN pages ON pages.number = looks.page"
            f" WHERE looks.change IN {_ALTERING_CHANGES} ORDER BY looks.at DESC, pages.number LIMIT ?"
        )
        return list(self._records(read_change, sql, limit))

    def count_changes(self, since: float, before: float) -> dict[str, int]:
        """The number of looks at stored pages by change, with since <= time < before."""
        sql = "SELECT change, count(*) FROM looks WHERE look > 1 AND at >= ? AND at < ? GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self._rows(tuple[str, int], sql, since, before))

    def changes(self, change: str, since: float, before: float, *, offset: int, limit: int) -> list[ChangeRow]:
        """The pages of looks with this change and since <= time < before, the latest first."""
        sql = (
            f"SELECT {read_change.columns} FROM looks JOIN pages ON pages.number = looks.page"
            " WHERE looks.look > 1 AND looks.change = ? AND looks.at >= ? AND looks.at < ?"
            " ORDER BY looks.at DESC, pages.number LIMIT ? OFFSET ?"
        )
        return list(self._records(read_change, sql, change, since, before, limit, offset))

    def freshness(self) -> Freshness:
        looked_again, vanished, oldest_look, latest_look = next(
            self._rows(
                tuple[int, int, Timestamp | None, Timestamp | None],
                "SELECT (SELECT count(DISTINCT page) FROM looks WHERE change NOT IN ('new', 'refused')),"
                " count(vanished_at), min(CASE WHEN vanished_at IS NULL THEN"
                " coalesce(looked_at, at) END), max(coalesce(looked_at, at)) FROM pages",
            )
        )
        changed = self._one(int, "SELECT count(DISTINCT page) FROM looks WHERE change IN ('changed', 'returned')")
        return Freshness(looked_again, changed, vanished, oldest_look, latest_look)

    def fetches(self, url: Url) -> list[FetchRow]:
        """Every request for a URL, oldest first; a full table scan."""
        sql = f"SELECT {read_fetch.columns} FROM fetches WHERE url = ? ORDER BY rowid"
        return list(self._records(read_fetch, sql, url))

    def parents(self, url: Url, limit: int = 10) -> list[InLinkRow]:
        """Pages that link to a URL, in the order of their arrival; a full table scan of the links."""
        sql = (
            f"SELECT {read_in_link.columns} FROM links"
            " CROSS JOIN pages ON pages.number = links.source WHERE links.target = ? LIMIT ?"
        )
        return list(self._records(read_in_link, sql, url, limit))

    def originals(self, page: PageRow | None = None) -> dict[Url, Url]:
        """The original of each group of near-duplicates: the page with the best standing if all have one, else that
        with in-links from the most other sites, else the first. Scans pages and links.

        page: for the group of one page only.
        """
        group = None if page is None else page.duplicate_of or page.url
        found = self._rows(
            tuple[CheckedUrl, CheckedUrl, float | None],
            "SELECT url, coalesce(duplicate_of, url), standing FROM pages"
            " WHERE (?1 IS NULL OR ?1 IN (url, duplicate_of)) AND (duplicate_of IS NOT NULL"
            " OR url IN (SELECT duplicate_of FROM pages WHERE duplicate_of IS NOT NULL)) ORDER BY number",
            group,
        )
        groups: dict[Url, list[tuple[Url, float | None]]] = {}
        for url, first, standing in found:
            groups.setdefault(first, []).append((url, standing))
        citing = self._citing_sites(url for members in groups.values() for url, _ in members)
        originals: dict[Url, Url] = {}
        for members in groups.values():
            have_standing = all(standing is not None for _, standing in members)
            ranked = [
                (round(standing or 0.0, 2) if have_standing else 0.0, len(citing.get(url, ())))
                for url, standing in members
            ]
            best, _ = members[ranked.index(max(ranked))]
            originals.update((url, best) for url, _ in members)
        return originals

    def _citing_sites(self, urls: Iterable[Url]) -> dict[Url, set[str]]:
        """The registered domains other than its own that link to each URL."""
        citing: dict[Url, set[str]] = {}
        for target, host in self._rows(
            tuple[CheckedUrl, str],
            "SELECT DISTINCT links.target, pages.host FROM links CROSS JOIN pages ON pages.number = links.source"
            " WHERE links.target IN (SELECT value FROM json_each(?))",
            _json_list(urls),
        ):
            site = site_of(host)
            if site != site_of(target):
                citing.setdefault(target, set()).add(site)
        return citing

    def link_pairs(self) -> Iterator[tuple[Url, Url]]:
        """Source and target of every link of the pages."""
        sql = "SELECT pages.url, links.target FROM links JOIN pages ON pages.number = links.source"
        return self._rows(tuple[CheckedUrl, CheckedUrl], sql)

    def skip(self, url: Url) -> SkipRow | None:
        sql = f"SELECT {read_skip.columns} FROM skips WHERE key = ? AND url = ?"
        return next(self._records(read_skip, sql, key_of(url), url), None)

    def examples(self) -> list[ExampleRow]:
        return list(self._records(read_example, f"SELECT {read_example.columns} FROM examples ORDER BY rowid"))

    def example(self, url: Url) -> ExampleRow | None:
        sql = f"SELECT {read_example.columns} FROM examples WHERE url = ?"
        return next(self._records(read_example, sql, url), None)

    def runs(self) -> list[RunRow]:
        return list(self._records(read_run, f"SELECT {read_run.columns} FROM runs ORDER BY rowid"))

    def fingerprints(self) -> Iterator[tuple[Url, int, int]]:
        """URL, fingerprint and digest of the pages that have a fingerprint and are not themselves near-duplicates."""
        sql = (
            "SELECT url, fingerprint, digest FROM pages WHERE fingerprint != 0 AND duplicate_of IS NULL ORDER BY number"
        )
        rows = self._rows(tuple[CheckedUrl, int, int], sql)
        return ((url, unsigned(fingerprint), unsigned(digest)) for url, fingerprint, digest in rows)

    def duplicates(self) -> Iterator[tuple[Url, int, bool]]:
        """URL and digest of the pages that are near-duplicates of others, and whether they are copies that are not
        followed."""
        sql = "SELECT url, digest, is_copy FROM pages WHERE duplicate_of IS NOT NULL"
        rows = self._rows(tuple[CheckedUrl, int, int], sql)
        return ((url, unsigned(digest), bool(is_copy)) for url, digest, is_copy in rows)

    def visited(self) -> Iterator[Url]:
        """Every URL that was visited. Repeated visits are repeated; refresh fetches are excluded."""
        return self._urls("SELECT url FROM fetches WHERE settled AND NOT again")

    def left_out(self, reason: LeftOutReason) -> list[tuple[LeftOut, RecordLocation]]:
        """The pages that were fetched and not kept for this reason, oldest first: the reason with its detail, and the
        location of the fetch in the archive."""
        sql = (
            "SELECT left_out, file, place, length FROM fetches WHERE settled AND NOT again AND file IS NOT NULL"
            " AND (left_out = ? OR left_out LIKE ?) AND url NOT IN (SELECT url FROM pages) ORDER BY rowid"
        )
        rows = self._rows(tuple[str, str, Count, Count], sql, reason.value, f"{reason.value} %")
        return [
            (LeftOut.parse(saved) or LeftOut(reason), RecordLocation(file, offset, length))
            for saved, file, offset, length in rows
        ]

    def last_outcomes(self) -> Iterator[tuple[Url, Outcome]]:
        """The outcome of the last visit of each URL; refresh fetches are excluded."""
        sql = "SELECT url, outcome, max(rowid) FROM fetches WHERE settled AND NOT again GROUP BY url"
        return ((url, outcome) for url, outcome, _ in self._rows(tuple[CheckedUrl, Outcome, int], sql))

    def unanswered(self, *, max_visits: int, before_last_run: bool) -> list[tuple[Url, RecordLocation]]:
        """The URLs whose last visit got no answer, such as for want of a network, each with the place of that visit in
        the archive; oldest first. Refresh fetches are excluded.

        max_visits: URLs that were visited more often are left out.
        before_last_run: whether visits since the start of the last run are left out.
        """
        is_visit, is_unanswered = "settled AND NOT again", "status IS NULL AND outcome IN (?, ?)"
        sql = (
            "SELECT url, file, place, length FROM (SELECT *, max(rowid) AS latest, count(*) AS visits FROM fetches"
            f" WHERE {is_visit} AND url IN (SELECT url FROM fetches WHERE {is_visit} AND {is_unanswered}) GROUP BY url)"
            f" WHERE {is_unanswered} AND visits <= ? AND file IS NOT NULL"
        )
        if before_last_run:
            sql += " AND at < (SELECT runs.at FROM runs ORDER BY runs.rowid DESC LIMIT 1)"
        outcomes = (Outcome.FAILED.value, Outcome.BUSY.value)
        values = (*outcomes, *outcomes, max_visits)
        rows = self._rows(tuple[CheckedUrl, str, Count, Count], f"{sql} ORDER BY latest", *values)
        return [(url, RecordLocation(file, offset, length)) for url, file, offset, length in rows]

    def known_urls(self) -> Iterator[Url]:
        """Every URL that was fetched, skipped or used as an example."""
        return (url for table in ("fetches", "skips", "examples") for url in self._urls(f"SELECT url FROM {table}"))

    def dead_urls(self) -> Iterator[tuple[Url, float]]:
        """The visited URLs that are gone or not HTML, with the time of the visit."""
        return self._rows(
            tuple[CheckedUrl, Timestamp],
            "SELECT url, at FROM fetches WHERE settled AND NOT again AND outcome IN (?, ?)",
            Outcome.GONE.value,
            Outcome.UNWANTED.value,
        )

    def forbidden_looks(self) -> Iterator[tuple[Url, float]]:
        """URL and time of the repeated fetches of stored pages that robots.txt forbade; scans all fetches."""
        sql = "SELECT url, at FROM fetches WHERE again AND outcome = ?"
        return self._rows(tuple[CheckedUrl, Timestamp], sql, Outcome.FORBIDDEN.value)

    def pages_since_relevant(self) -> int:
        """The number of pages since the last relevant one."""
        last_relevant = "SELECT coalesce(max(number), 0) FROM pages WHERE relevance >= ?"
        return self._one(int, f"SELECT count(*) FROM pages WHERE number > ({last_relevant})", RELEVANT)

    def has_pages_without_standing(self) -> bool:
        return bool(self._one(int, "SELECT EXISTS (SELECT 1 FROM pages WHERE standing IS NULL)"))

    def last_number(self) -> int:
        """The number of the latest page; 0 before the first."""
        return self._one(int, "SELECT coalesce(max(number), 0) FROM pages")

    def last_fetch_at(self) -> float | None:
        """When the last request was made; None before the first."""
        ((at,),) = self._rows(tuple[Timestamp | None], "SELECT max(at) FROM fetches")
        return at

    def count(self) -> int:
        """The number of pages."""
        return self._one(int, "SELECT count(*) FROM pages")

    def count_of_run(self, first_page: int, next_first_page: int | None) -> int:
        """The number of pages that a run stored, without those removed since.

        next_first_page: of the next run; None for the last run.
        """
        sql = "SELECT count(*) FROM pages WHERE number >= ? AND number < ?"
        return self._one(int, sql, first_page, 1 << 62 if next_first_page is None else next_first_page)

    def count_not_indexed(self, indexed_up_to: int) -> int:
        """The number of pages that are missing or outdated in a search index whose last page has this number."""
        sql = "SELECT count(*) FROM pages WHERE number > ? OR number IN (SELECT page FROM stale)"
        return self._one(int, sql, indexed_up_to)

    def totals(self) -> Totals:
        sql = "SELECT count(*), coalesce(sum(relevance >= ?), 0), coalesce(sum(bytes), 0) FROM pages"
        return next(self._rows(Totals, sql, RELEVANT))

    def relevance_flags(self, *, first: int = 0, before: int = 1 << 62) -> list[bool]:
        """For each page with first <= number < before, in order of arrival, whether it is relevant."""
        sql = "SELECT coalesce(relevance >= ?, 0) FROM pages WHERE number >= ? AND number < ? ORDER BY number"
        return [bool(is_relevant) for (is_relevant,) in self._rows(tuple[int], sql, RELEVANT, first, before)]

    def summary(self) -> Summary:
        totals = next(
            self._rows(
                tuple[int, int, int, Count, Timestamp | None, Timestamp | None, Score | None],
                "SELECT count(*), coalesce(sum(relevance >= ?), 0), coalesce(sum(relevance IS NULL), 0),"
                " coalesce(sum(bytes), 0), min(at), max(at), avg(standing) FROM pages",
                RELEVANT,
            )
        )
        pages, relevant, unscored, size, first_at, last_at, standing = totals
        return Summary(
            pages=pages,
            relevant=relevant,
            unscored=unscored,
            harvest_rate=relevant / pages if pages else 0.0,
            mean_standing=standing,
            hosts=self._counts_by("host", "pages"),
            outcomes=self._counts_by("outcome", "fetches"),
            skipped=self._counts_by("reason", "skips"),
            languages=self._counts_by("language", "pages"),
            bytes=size,
            first_at=first_at,
            last_at=last_at,
            freshness=self.freshness(),
            omissions=self.omissions(),
            runs=tuple(self.runs()),
        )

    def outcomes_and_statuses(self) -> Iterator[tuple[Outcome, int | None, int]]:
        """The number of fetches by outcome and status."""
        return self._rows(
            tuple[Outcome, Status | None, int], "SELECT outcome, status, count(*) FROM fetches GROUP BY 1, 2"
        )

    def omissions(self) -> Omissions:
        """What the crawl found but the collection lacks; scans the tables of pages, fetches and skips."""
        visit_condition = "settled AND NOT again"
        copies, near_duplicates, pages_of_many_links, links_beyond, needs_script = next(
            self._rows(
                tuple[int, int, int, int, int],
                "SELECT coalesce(sum(is_copy), 0), coalesce(sum(duplicate_of IS NOT NULL AND NOT is_copy), 0),"
                " coalesce(sum(links_beyond > 0), 0), coalesce(sum(links_beyond), 0), coalesce(sum(needs_script), 0)"
                " FROM pages",
            )
        )
        not_kept = self._counts_by(
            "left_out", "fetches", f"{visit_condition} AND outcome = 'ok' AND url NOT IN (SELECT url FROM pages)"
        )
        return Omissions(
            left_out={reason: count for reason, count in not_kept.items() if reason},
            unexplained=not_kept.get("", 0),
            near_duplicates=near_duplicates,
            copies=copies,
            truncated=self._counts_by("truncated", "pages", "truncated != ''"),
            pages_of_many_links=pages_of_many_links,
            links_beyond=links_beyond,
            needs_script=needs_script,
            other_types=self._counts_by("detail", "fetches", f"{visit_condition} AND outcome = 'unwanted'"),
            forbidden=self._counts_by("outcome", "fetches", f"{visit_condition} AND outcome = 'forbidden'").get(
                "forbidden", 0
            ),
            skipped=self._counts_by("substr(reason, 1, instr(reason || ':', ':') - 1)", "skips") | self._site_skips(),
            passed_over=self.passed_over(),
        )

    def passed_over(self) -> dict[str, int]:
        """By registered domain, the number of requests to others while it had a better URL, as it was over its share;
        several domains may be passed over for one request."""
        return self.get_state(PASSED_OVER_KEY, dict[str, Count]) or {}

    def _site_skips(self) -> dict[str, int]:
        """The number of links skipped for SITE, which are not in the table `skips`."""
        skipped = self.get_state(SITE_SKIPS_KEY, int) or 0
        return {SkipReason.SITE.value: skipped} if skipped > 0 else {}

    def _counts_by(self, column: str, table: str, where: str = "true") -> dict[str, int]:
        sql = f"SELECT {column}, count(*) FROM {table} WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self._rows(tuple[str, int], sql))

    def visits_with_links(self) -> Iterator[VisitRow]:
        """Every visit in order, with the relevance of its page and its followable links; without refresh fetches."""
        return self._records(
            read_visit,
            f"SELECT {read_visit.columns} FROM fetches LEFT JOIN pages USING (url)"
            " WHERE settled AND NOT again ORDER BY fetches.rowid",
        )

    def skipped_for(self, *reasons: SkipReason) -> Iterator[Url]:
        """The URLs that were skipped for these reasons."""
        wanted = frozenset(reasons)
        for url, reason in self._rows(tuple[CheckedUrl, str], "SELECT url, reason FROM skips"):
            if reason.partition(":")[0] in wanted:
                yield url

    def page_counts_by_host(self) -> dict[str, int]:
        """The number of pages of each host."""
        return self._counts_by("host", "pages")

    def count_skips(self, reason: SkipReason) -> int:
        """The number of URLs skipped for a reason."""
        sql = "SELECT count(*) FROM skips WHERE reason = ? OR reason LIKE ?"
        return self._one(int, sql, reason.value, f"{reason.value}: %")

    def get_state(self, key: str, value_type: type[T] | None = None) -> Any:
        """The value of a key of the table `state`, None if there is none; converted to `value_type` if given."""
        with self._errors():
            (found,) = next(self._rows(tuple[str], "SELECT value FROM state WHERE key = ?", key), (None,))
            value = None if found is None else from_json(found, what=f"the state {key!r}")
            return value if value_type is None or value is None else _checked(value, value_type)
