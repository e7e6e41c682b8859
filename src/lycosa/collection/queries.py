"""Read queries on the catalog (SQLite)."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.records import (
    RELEVANT,
    CheckedUrl,
    Count,
    JsonValue,
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
    ExampleRow,
    FetchRow,
    Freshness,
    InLinkRow,
    LatestChange,
    Number,
    ObservationRow,
    Omissions,
    PageFacts,
    PageRow,
    PageScore,
    RefreshState,
    RowReader,
    RunRow,
    SkipRow,
    Status,
    Summary,
    VisitRow,
    from_json,
    read_change,
    read_example,
    read_facts,
    read_fetch,
    read_look,
    read_page,
    read_parent,
    read_refresh_state,
    read_run,
    read_skip,
    unsigned,
)

_ALTERED = "('changed', 'vanished', 'returned')"
_UNSUCCESSFUL = "('failed', 'refused')"  # looks that got no answer about the page
_BATCH_SIZE = 256  # rows that are checked together
T = TypeVar("T")
R = TypeVar("R", bound=Struct)
Order = Literal["number", "relevance", "importance", "url"]
ORDERS: dict[Order, str] = {  # pages of which it is not known come last
    "number": "number",
    "relevance": "relevance DESC, number",
    "importance": "standing DESC, number",
    "url": "url",
}
FactsOrder = Literal["relevance", "standing", "newest", "oldest"]
_FACTS_ORDERS: dict[FactsOrder, str] = {
    "relevance": "relevance DESC, number",
    "standing": "standing DESC, number",
    "newest": "number DESC",
    "oldest": "number",
}

LINKS_OF_CROWDED_SITES = (
    "crowded"  # state: how many links were left out of sites with too many hosts or URLs for their pages
)


class Selection(Struct, frozen=True):
    """Which pages are wanted: those for which everything given holds."""

    hosts: tuple[str, ...] = ()  # one of these
    languages: tuple[str, ...] = ()  # one of these; empty text for pages whose language is unknown
    min_relevance: float | None = None
    min_standing: float | None = None
    since: float | None = None  # the version held was fetched then, in seconds since the epoch, or later
    urls: frozenset[Url] | None = None  # one of these
    top: int | None = None  # the first so many
    order: Order = "number"

    def of_any_number(self) -> "Selection":
        """The same without the limit."""
        return replace(self, top=None)

    def where(self) -> tuple[str, list[object]]:
        """The condition in SQL, and its values."""
        wanted, values = ["1"], list[object]()
        for condition, value in (
            ("host IN (SELECT value FROM json_each(?))", _json_list(self.hosts or None)),
            ("language IN (SELECT value FROM json_each(?))", _json_list(self.languages or None)),
            ("url IN (SELECT value FROM json_each(?))", _json_list(self.urls)),
            ("relevance >= ?", self.min_relevance),
            ("standing >= ?", self.min_standing),
            ("at >= ?", self.since),
        ):
            if value is not None:
                wanted.append(condition)
                values.append(value)
        return " AND ".join(wanted), values


def _json_list(values: Iterable[str] | None) -> str | None:
    return None if values is None else msgspec.json.encode(list(values)).decode()


def _checked(plain: JsonValue, kind: type[T]) -> T:
    try:
        return msgspec.convert(plain, kind)
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

    def _rows(self, kind: type[T], sql: str, *values: object) -> Iterator[T]:
        """The rows of a query as tuples of this type; raises CollectionError for any other value."""
        with self._errors():
            self._flush()
            cursor = self.connection.execute(sql, values)
            while rows := cursor.fetchmany(_BATCH_SIZE):
                yield from _checked(rows, list[kind])  # type: ignore[valid-type]

    def _records(self, read: RowReader[R], sql: str, *values: object) -> Iterator[R]:
        """The rows of a query as records, checked in the same way."""
        with self._errors():
            self._flush()
            for row in self.connection.execute(sql, values):
                yield read(row)

    def _one(self, kind: type[T], sql: str, *values: object) -> T:
        """The only value of the only row of a query."""
        ((value,),) = self._rows(tuple[kind], sql, *values)  # type: ignore[valid-type]
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
        limit: int | None = None,
    ) -> Iterator[PageRow]:
        """The pages, optionally of one host, with a least relevance, or with a number above `after`."""
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
        sql = f"SELECT {read_page.columns} FROM pages WHERE {where} ORDER BY {ORDERS[order]} LIMIT ?"
        return self._records(read_page, sql, *values)

    def latest_pages(self, limit: int, *, before: int | None = None) -> list[PageRow]:
        """The latest pages, latest first; optionally only those with a number below `before`."""
        sql = f"SELECT {read_page.columns} FROM pages WHERE number < ? ORDER BY number DESC LIMIT ?"
        return list(self._records(read_page, sql, before if before is not None else 1 << 62, limit))

    def page_scores(self, *, latest: int | None = None) -> list[PageScore]:
        """The latest pages, or all, in order of arrival."""
        sql = "SELECT number, url, at, relevance FROM pages ORDER BY number DESC LIMIT ?"
        return list(self._rows(PageScore, sql, -1 if latest is None else latest))[::-1]

    def every(self, step: int) -> Iterator[Url]:
        """The URL of every `step`-th page, in order of arrival."""
        numbered = "SELECT url, row_number() OVER (ORDER BY number) AS place FROM pages"
        return self._urls(f"SELECT url FROM ({numbered}) WHERE place % ? = 0 ORDER BY place", step)

    def most_uncertain(self, limit: int) -> list[PageRow]:
        """The pages whose relevance is nearest to one half."""
        sql = (
            f"SELECT {read_page.columns} FROM pages WHERE relevance IS NOT NULL"
            " ORDER BY abs(relevance - 0.5), number LIMIT ?"
        )
        return list(self._records(read_page, sql, limit))

    def selected(self, wanted: Selection) -> Iterator[PageRow]:
        """The pages of a selection."""
        where, values = wanted.where()
        sql = f"SELECT {read_page.columns} FROM pages WHERE {where} ORDER BY {ORDERS[wanted.order]} LIMIT ?"
        return self._records(read_page, sql, *values, -1 if wanted.top is None else wanted.top)

    def count_selected(self, wanted: Selection) -> int:
        """The number of pages of a selection."""
        where, values = wanted.where()
        found = self._one(int, f"SELECT count(*) FROM pages WHERE {where}", *values)
        return found if wanted.top is None else min(found, wanted.top)

    def facts(self, wanted: Selection, order: FactsOrder, limit: int) -> list[PageFacts]:
        """What the first pages of a selection are sorted and narrowed down by; its `top` is not looked at."""
        where, values = wanted.where()
        sql = f"SELECT {read_facts.columns} FROM pages WHERE {where} ORDER BY {_FACTS_ORDERS[order]} LIMIT ?"
        return list(self._records(read_facts, sql, *values, limit))

    def in_url_order(self, *, first: int = 0, before: int = 1 << 62) -> Iterator[tuple[Url, float | None]]:
        """URL and relevance of the pages with numbers from `first` on and below `before`, in the order of their URLs,
        which two catalogs can be compared by without holding either in memory."""
        sql = "SELECT url, relevance FROM pages WHERE number >= ? AND number < ? ORDER BY url"
        return self._rows(tuple[CheckedUrl, Score | None], sql, first, before)

    def links(self, number: int) -> list[Link]:
        """The links of the latest version of a page, in order."""
        sql = "SELECT target, anchor, rel, position FROM links WHERE source = ? ORDER BY rank"
        return [Link(*row) for row in self._rows(tuple[CheckedUrl, str, str, Count], sql, number)]

    def looks(self, number: int) -> list[ObservationRow]:
        """All checks of a page, oldest first; empty if it was fetched only once."""
        sql = f"SELECT {read_look.columns} FROM looks WHERE page = ? ORDER BY look"
        return list(self._records(read_look, sql, number))

    def links_of(self, number: int) -> set[Url]:
        """The link targets of the latest version of a page."""
        return set(self._urls("SELECT target FROM links WHERE source = ?", number))

    def refresh_states(self) -> Iterator[RefreshState]:
        """The data for refresh policies, in order of arrival."""
        sql = f"SELECT {read_refresh_state.columns} FROM pages ORDER BY number"
        return self._records(read_refresh_state, sql)

    def observations(self) -> Iterator[tuple[int, Url, ObservationRow]]:
        """Number, URL and every check of all pages: page by page, oldest first; a full table scan of the links."""
        once = (
            "SELECT number, url, 1, at, 'new', status, digest, bytes,"
            " (SELECT count(*) FROM links WHERE source = number), 0, file, place, length"
            " FROM pages WHERE number NOT IN (SELECT page FROM looks)"
        )
        again = "SELECT page, url, " + ", ".join(f"looks.{name}" for name in read_look.names)
        again += " FROM looks JOIN pages ON pages.number = looks.page"
        with self._errors():
            self._flush()
            for number, url, *look in self.connection.execute(f"{once} UNION ALL {again} ORDER BY 1, 3"):
                yield *_checked([number, url], tuple[Number, CheckedUrl]), read_look(look)

    def link_scores(self) -> dict[int, float]:
        """For each page: the total in-link count of the links that were new at its last successful check.

        Pages whose last successful check found no new links are left out.
        """
        if next(self._rows(tuple[int], "SELECT 1 FROM new_links LIMIT 1"), None) is None:
            return {}  # saves a full table scan of the links
        sql = (
            "WITH latest AS (SELECT page, max(look) AS look FROM looks"
            f" WHERE change NOT IN {_UNSUCCESSFUL} GROUP BY page),"
            " wanted AS (SELECT new_links.page, target FROM new_links JOIN latest USING (page, look)),"
            " counts AS (SELECT target, count(*) AS known FROM links"
            " WHERE target IN (SELECT target FROM wanted) GROUP BY target)"
            " SELECT page, sum(known) FROM wanted JOIN counts USING (target) GROUP BY page"
        )
        return dict(self._rows(tuple[Number, float], sql))

    def stale_pages(self) -> Iterator[PageRow]:
        """Pages that have changed, vanished or returned since the search index was last committed."""
        sql = f"SELECT {read_page.columns} FROM pages WHERE number IN (SELECT page FROM stale)"
        return self._records(read_page, sql)

    def latest_changes(self, limit: int = 10) -> list[LatestChange]:
        """Pages found changed, vanished or returned, the latest first."""
        sql = (
            f"SELECT {read_change.columns} FROM looks JOIN pages ON pages.number = looks.page"
            f" WHERE looks.change IN {_ALTERED} ORDER BY looks.at DESC, pages.number LIMIT ?"
        )
        return list(self._records(read_change, sql, limit))

    def count_changes(self, since: float, before: float) -> dict[str, int]:
        """What was found of the pages that were seen again within some time: how often each kind of change."""
        sql = "SELECT change, count(*) FROM looks WHERE look > 1 AND at >= ? AND at < ? GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self._rows(tuple[str, int], sql, since, before))

    def changes(self, kind: str, since: float, before: float, *, offset: int, limit: int) -> list[LatestChange]:
        """Pages of which that was found within some time, the latest first."""
        sql = (
            f"SELECT {read_change.columns} FROM looks JOIN pages ON pages.number = looks.page"
            " WHERE looks.look > 1 AND looks.change = ? AND looks.at >= ? AND looks.at < ?"
            " ORDER BY looks.at DESC, pages.number LIMIT ? OFFSET ?"
        )
        return list(self._records(read_change, sql, kind, since, before, limit, offset))

    def freshness(self) -> Freshness:
        looked = next(
            self._rows(
                tuple[int, int, Timestamp | None, Timestamp | None],
                "SELECT (SELECT count(DISTINCT page) FROM looks WHERE change NOT IN ('new', 'refused')),"
                " count(vanished_at), min(CASE WHEN vanished_at IS NULL THEN"
                " coalesce(looked_at, at) END), max(coalesce(looked_at, at)) FROM pages",
            )
        )
        changed = self._one(int, "SELECT count(DISTINCT page) FROM looks WHERE change IN ('changed', 'returned')")
        again, vanished, oldest, latest = looked
        return Freshness(again, changed, vanished, oldest, latest)

    def fetches(self, url: Url) -> list[FetchRow]:
        """Every request for a URL, oldest first; a full table scan."""
        sql = f"SELECT {read_fetch.columns} FROM fetches WHERE url = ? ORDER BY rowid"
        return list(self._records(read_fetch, sql, url))

    def parents(self, url: Url, limit: int = 10) -> list[InLinkRow]:
        """Pages that link to a URL, in the order of their arrival; a full table scan of the links."""
        sql = (
            f"SELECT {read_parent.columns} FROM links"
            " CROSS JOIN pages ON pages.number = links.source WHERE links.target = ? LIMIT ?"
        )
        return list(self._records(read_parent, sql, url, limit))

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
        citing = self._citing_sites(url for copies in groups.values() for url, _ in copies)
        originals: dict[Url, Url] = {}
        for copies in groups.values():
            have_standing = all(standing is not None for _, standing in copies)
            ranked = [
                (round(standing or 0.0, 2) if have_standing else 0.0, len(citing.get(url, ())))
                for url, standing in copies
            ]
            best, _ = copies[ranked.index(max(ranked))]
            originals.update((url, best) for url, _ in copies)
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
        sql = f"SELECT {read_skip.columns} FROM skips WHERE key = ?"
        return next(self._records(read_skip, sql, key_of(url)), None)

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

    def digests_of_duplicates(self) -> Iterator[int]:
        """The digests of the pages that are near-duplicates of others."""
        rows = self._rows(tuple[int], "SELECT digest FROM pages WHERE duplicate_of IS NOT NULL")
        return (unsigned(digest) for (digest,) in rows)

    def visited(self) -> Iterator[Url]:
        """Every URL that was visited. Repeated visits are repeated; refresh fetches are excluded."""
        return self._urls("SELECT url FROM fetches WHERE settled AND NOT again")

    def left_out(self, reason: LeftOutReason) -> list[tuple[Url, RecordLocation]]:
        """The pages that were not kept for a reason, and their locations in the archive, oldest first."""
        sql = (
            "SELECT url, file, place, length FROM fetches WHERE settled AND NOT again AND file IS NOT NULL"
            " AND (left_out = ? OR left_out LIKE ?) AND url NOT IN (SELECT url FROM pages) ORDER BY rowid"
        )
        rows = self._rows(tuple[CheckedUrl, str, Count, Count], sql, reason.value, f"{reason.value} %")
        return [(url, RecordLocation(file, offset, length)) for url, file, offset, length in rows]

    def last_outcomes(self) -> Iterator[tuple[Url, Outcome]]:
        """The outcome of the last visit of each URL; refresh fetches are excluded."""
        sql = "SELECT url, outcome, max(rowid) FROM fetches WHERE settled AND NOT again GROUP BY url"
        return ((url, outcome) for url, outcome, _ in self._rows(tuple[CheckedUrl, Outcome, int], sql))

    def known_urls(self) -> Iterator[Url]:
        """Every URL that was fetched, skipped or used as an example."""
        return (url for table in ("fetches", "skips", "examples") for url in self._urls(f"SELECT url FROM {table}"))

    def found_dead(self) -> Iterator[tuple[Url, float]]:
        """The visited URLs that are gone or not HTML, with the time of the visit."""
        return self._rows(
            tuple[CheckedUrl, Timestamp],
            "SELECT url, at FROM fetches WHERE settled AND NOT again AND outcome IN (?, ?)",
            Outcome.GONE.value,
            Outcome.UNWANTED.value,
        )

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
        ((moment,),) = self._rows(tuple[Timestamp | None], "SELECT max(at) FROM fetches")
        return moment

    def count(self) -> int:
        """The number of pages."""
        return self._one(int, "SELECT count(*) FROM pages")

    def count_not_indexed(self, number: int) -> int:
        """The number of pages that are missing or outdated in a search index whose last page has this number."""
        sql = "SELECT count(*) FROM pages WHERE number > ? OR number IN (SELECT page FROM stale)"
        return self._one(int, sql, number)

    def totals(self) -> tuple[int, int, int]:
        """The number of pages, the number of relevant ones, and the total bytes."""
        sql = "SELECT count(*), coalesce(sum(relevance >= ?), 0), coalesce(sum(bytes), 0) FROM pages"
        return next(self._rows(tuple[int, int, Count], sql, RELEVANT))

    def relevant_in_order(self, *, first: int = 0, before: int = 1 << 62) -> list[bool]:
        """Whether each page is relevant, in order of arrival; of pages with first <= number < before."""
        sql = "SELECT coalesce(relevance >= ?, 0) FROM pages WHERE number >= ? AND number < ? ORDER BY number"
        return [bool(is_relevant) for (is_relevant,) in self._rows(tuple[int], sql, RELEVANT, first, before)]

    def summary(self) -> Summary:
        totals = next(
            self._rows(
                tuple[int, int, Count, Timestamp | None, Timestamp | None, Score | None],
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
        first = "settled AND NOT again"
        copies, alike, many, beyond, script = next(
            self._rows(
                tuple[int, int, int, int, int],
                "SELECT coalesce(sum(is_copy), 0), coalesce(sum(duplicate_of IS NOT NULL AND NOT is_copy), 0),"
                " coalesce(sum(links_beyond > 0), 0), coalesce(sum(links_beyond), 0), coalesce(sum(needs_script), 0)"
                " FROM pages",
            )
        )
        not_kept = self._counted(
            "left_out", "fetches", f"{first} AND outcome = 'ok' AND url NOT IN (SELECT url FROM pages)"
        )
        return Omissions(
            left_out={reason: count for reason, count in not_kept.items() if reason},
            unexplained=not_kept.get("", 0),
            near_duplicates=alike,
            copies=copies,
            truncated=self._counted("truncated", "pages", "truncated != ''"),
            pages_of_many_links=many,
            links_beyond=beyond,
            needs_script=script,
            other_types=self._counted("detail", "fetches", f"{first} AND outcome = 'unwanted'"),
            forbidden=self._counted("outcome", "fetches", f"{first} AND outcome = 'forbidden'").get("forbidden", 0),
            skipped=self._counted("substr(reason, 1, instr(reason || ':', ':') - 1)", "skips") | self._crowded(),
        )

    def _crowded(self) -> dict[str, int]:
        """The number of links skipped for SITE, which are not listed."""
        crowded = self.get_state(LINKS_OF_CROWDED_SITES, int) or 0
        return {SkipReason.SITE.value: crowded} if crowded > 0 else {}

    def _counted(self, column: str, table: str, where: str = "true") -> dict[str, int]:
        sql = f"SELECT {column}, count(*) FROM {table} WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self._rows(tuple[str, int], sql))

    def visits_with_links(self) -> Iterator[VisitRow]:
        """Every visit in order, with the relevance of its page and its followable links; without refresh fetches."""
        visits = self._rows(
            tuple[CheckedUrl, Outcome, int | None, Score | None, int | None],
            "SELECT fetches.url, outcome, number, relevance, is_copy FROM fetches LEFT JOIN pages USING (url)"
            " WHERE settled AND NOT again ORDER BY fetches.rowid",
        )
        for url, outcome, number, relevance, is_copy in visits:
            links = () if number is None or is_copy else self._followed(number)
            yield VisitRow(url, outcome, relevance if number is not None else None, tuple(links))

    def _followed(self, number: int) -> Iterator[Url]:
        for target, rel in self._rows(tuple[CheckedUrl, str], "SELECT target, rel FROM links WHERE source = ?", number):
            if "nofollow" not in rel:
                yield target

    def skipped_for(self, *reasons: SkipReason) -> Iterator[Url]:
        """The URLs that were skipped for these reasons."""
        wanted = frozenset(reasons)
        for url, why in self._rows(tuple[CheckedUrl, str], "SELECT url, reason FROM skips"):
            if why.partition(":")[0] in wanted:
                yield url

    def pages_of_hosts(self) -> dict[str, int]:
        """The number of pages of each host."""
        return self._counted("host", "pages")

    def count_skips(self, reason: SkipReason) -> int:
        """The number of URLs skipped for a reason."""
        sql = "SELECT count(*) FROM skips WHERE reason = ? OR reason LIKE ?"
        return self._one(int, sql, reason.value, f"{reason.value}: %")

    def get_state(self, key: str, kind: type[T] | None = None) -> Any:
        """The value of a key, None if there is none; converted to `kind` if given."""
        with self._errors():
            (found,) = next(self._rows(tuple[str], "SELECT value FROM state WHERE key = ?", key), (None,))
            value = None if found is None else from_json(found)
            return value if kind is None or value is None else _checked(value, kind)
