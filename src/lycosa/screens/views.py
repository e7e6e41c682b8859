"""What each screen shows, as records: the templates draw them, and `/api/` sends them as JSON.

Every list is a page of a longer one, and every text is one safe line or cut to a length.
"""

import re
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.collection.rows import ObservationRow, PageRow
from lycosa.collection.search_index import MAX_EXAMINED, Hit
from lycosa.frontier.durable import best_waiting, count_waiting, waiting_candidate, waiting_hosts
from lycosa.recipe import FILE_NAME, load_recipe
from lycosa.run.control import CrawlRequest, ask
from lycosa.run.explanation import way_to
from lycosa.run.export import labels_of
from lycosa.run.open import html_of, main_text_of, open_for_reading
from lycosa.run.overview import Overview, overview
from lycosa.run.reasons import Factor, factors_of, in_words
from lycosa.run.steering import read_steering
from lycosa.run.trust import concerns, is_trusted
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import Candidate, Plain, Url
from lycosa.vocabulary.text import visible
from lycosa.vocabulary.urls import normalise

COLLECTIONS_PER_PAGE = 24
HITS_PER_PAGE = 10
WAITING_PER_PAGE = 50
MAX_WAITING = 10_000  # that can be paged through
LATEST = 12  # pages on the overview
HOSTS = 25
RUNS = 10
SIMILAR = 6
VERSIONS = 50
PARAGRAPHS = 200
POINTS = 60  # of a sparkline
STEPS = 200  # of a harvest curve
_MAX_TEXT = 40_000  # characters
_MAX_STORED = 5_000_000  # characters of a stored page
_STATUS_WITHIN = 2.0  # seconds for a crawl to say how it is
_KEPT_FOR = 3.0  # seconds in which an overview is not made again, however fast the collection changes
_MAX_KEPT = 64  # overviews
_MIN_TYPED = 2  # letters of a word that is being typed, from which on those that begin with it are found

_LEADS_ELSEWHERE = re.compile(r"<(?:link|base|meta)(?=[\s/>])[^>]*+>?", re.IGNORECASE)

CrawlPhase = Literal["none", "running", "paused", "busy"]


class CrawlFigures(Struct, frozen=True):
    """What a crawl that runs says of itself; busy where it runs and has not answered in time."""

    phase: CrawlPhase = "none"
    pages: int | None = None
    relevant: int | None = None
    waiting: int | None = None
    budget: int | None = None
    requests: int | None = None  # of this run
    holds: int | None = None  # hosts that rest


class CollectionCard(Struct, frozen=True):
    """A collection at a glance."""

    name: str
    topic: str = ""
    pages: int = 0
    relevant: int = 0
    harvest_rate: float = 0.0
    harvest_low: float = 0.0
    harvest_high: float = 0.0
    is_measured: bool = False  # else the rate is the model's estimate
    waiting: int = 0
    hosts: int = 0
    bytes: int = 0
    oldest_look: float | None = None
    latest_look: float | None = None
    looked_again: int = 0
    changed: int = 0
    vanished: int = 0
    curve: list[float] = []  # share of relevant pages in equal parts of the crawl
    crawl: CrawlFigures = CrawlFigures()
    is_trusted: bool = True  # False where the recipe names what only that of a trusted folder may
    problem: str = ""  # why nothing can be shown


class CollectionList(Struct, frozen=True):
    collections: list[CollectionCard]
    total: int
    page: int
    last_page: int


class Counted(Struct, frozen=True):
    name: str
    count: int


class LeftOutLine(Struct, frozen=True):
    what: str
    remedy: str


class RunLine(Struct, frozen=True):
    at: float
    kind: str
    first_page: int
    stopped_at: float | None
    stopped: str


class ChangeLine(Struct, frozen=True):
    url: str
    title: str
    change: str
    at: float


class PageLine(Struct, frozen=True):
    """A page in a list."""

    number: int
    url: str
    host: str
    title: str
    language: str
    relevance: float | None
    standing: float | None
    at: float
    state: str
    label: str  # good, bad or empty
    why: str


class CollectionView(Struct, frozen=True):
    """The screen of one collection."""

    card: CollectionCard
    curve: list[tuple[float, float]]  # pages and the share of relevant ones among all so far
    latest_curve: list[tuple[float, float]]  # the same among the latest
    hosts: list[Counted]
    languages: list[Counted]
    outcomes: list[Counted]
    left_out: list[LeftOutLine]
    runs: list[RunLine]
    changes: list[ChangeLine]
    latest: list[PageLine]
    recall: float | None
    recall_low: float | None
    recall_high: float | None


class HitLine(Struct, frozen=True):
    url: str
    host: str
    title: str
    snippet: str  # words that matched stand between « and »
    relevance: float | None
    label: str


class SearchView(Struct, frozen=True):
    """The answers to a query."""

    query: str
    host: str
    language: str
    min_relevance: float | None
    label: str
    total: int
    is_partial: bool  # whether there may be more answers than were looked at
    not_indexed: int  # the newest pages, which cannot be found yet
    page: int
    last_page: int
    hits: list[HitLine]
    hosts: list[Counted]  # of the first answers
    languages: list[Counted]
    milliseconds: float


class WayStep(Struct, frozen=True):
    """A page on the way to another one, and why it was fetched."""

    url: str
    title: str
    is_stored: bool
    relevance: float | None = None
    standing: float | None = None
    priority: float | None = None
    depth: int | None = None
    anchor: str = ""
    why: str = ""
    factors: list[Factor] = []


class VersionLine(Struct, frozen=True):
    look: int
    at: float
    change: str
    bytes: int | None
    links: int | None
    new_links: int
    is_stored: bool


class PageView(Struct, frozen=True):
    """The screen of one URL."""

    url: str
    state: str  # stored, vanished, waiting or unknown
    page: PageLine | None
    duplicate_of: str | None
    truncated: str
    text: list[str]  # paragraphs
    way: list[WayStep]  # from a seed; the last one is the page itself
    versions: list[VersionLine]
    similar: list[HitLine]
    label: str


class WaitingLine(Struct, frozen=True):
    url: str
    priority: float
    depth: int
    found_on: str
    anchor: str
    why: str
    factors: list[Factor]


class WaitingHost(Struct, frozen=True):
    host: str
    waiting: int
    best: float


class FrontierView(Struct, frozen=True):
    """What waits to be fetched."""

    total: int
    host: str
    page: int
    last_page: int
    waiting: list[WaitingLine]
    hosts: list[WaitingHost]
    blocked: list[str]
    boosted: list[str]


class LiveView(Struct, frozen=True):
    """A crawl as it goes."""

    phase: Literal["none", "starting", "running", "paused", "busy"]
    pages: int
    relevant: int
    waiting: int
    budget: int | None
    next_budget: int  # that is offered
    speed: float  # pages a second
    requests: int | None
    holds: int | None
    curve: list[tuple[float, float]]
    latest_curve: list[tuple[float, float]]
    latest: list[PageLine]
    outcomes: list[Counted]


# ---------------------------------------------------------------- collections


class Views:
    """Makes the views; keeps the overviews of collections that have not changed."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[object, float, Overview, list[bool]]] = {}

    def cards(self, folders: Mapping[str, Path], page: int) -> CollectionList:
        """The collections of a page of the list."""
        names = list(folders)
        page, last_page, start = _paged(page, len(names), COLLECTIONS_PER_PAGE)
        shown = names[start : start + COLLECTIONS_PER_PAGE]
        return CollectionList([self.card(name, folders[name]) for name in shown], len(names), page, last_page)

    def card(self, name: str, folder: Path, crawl: CrawlFigures | None = None) -> CollectionCard:
        """A collection at a glance; one that cannot be opened says why."""
        crawl = crawl or crawl_figures(folder)
        topic, is_fine = "", True
        try:
            recipe = load_recipe(folder, to_read=True)
            topic = visible(recipe.topic.text, 300)
            is_fine = not concerns(folder, recipe) or is_trusted(folder)
            found, relevant = self._overview(folder)
        except LycosaError as error:
            return CollectionCard(
                name, topic, crawl=crawl, is_trusted=is_fine, problem=without_paths(str(error), folder)
            )
        facts, fresh = found.facts, found.facts.freshness
        return CollectionCard(
            name=name,
            topic=topic,
            pages=facts.pages,
            relevant=facts.relevant,
            harvest_rate=found.harvest_rate,
            harvest_low=found.harvest[0],
            harvest_high=found.harvest[1],
            is_measured=found.is_measured,
            waiting=found.waiting,
            hosts=len(facts.hosts),
            bytes=facts.bytes,
            oldest_look=fresh.oldest_look,
            latest_look=fresh.latest_look,
            looked_again=fresh.looked_again,
            changed=fresh.changed,
            vanished=fresh.vanished,
            curve=shares(relevant, POINTS),
            crawl=crawl,
            is_trusted=is_fine,
        )

    def collection(self, name: str, folder: Path) -> CollectionView:
        found, relevant = self._overview(folder)
        facts, labels = found.facts, labels_of(folder)
        with open_for_reading(folder) as collection:
            latest = [_line(row, labels) for row in collection.catalog.latest_pages(LATEST)]
        curve, latest_curve = harvest_points(relevant)
        recall = found.recall
        return CollectionView(
            card=self.card(name, folder),
            curve=curve,
            latest_curve=latest_curve,
            hosts=_counted(facts.hosts),
            languages=_counted(facts.languages),
            outcomes=_counted(found.outcomes),
            left_out=[LeftOutLine(visible(each.what, 300), visible(each.remedy, 300)) for each in found.left_out][:50],
            runs=[
                RunLine(
                    run.at,
                    visible(
                        f"refresh by {run.refresh.get('policy')}" if isinstance(run.refresh, dict) else run.strategy, 60
                    ),
                    run.first_page,
                    run.stopped_at,
                    visible(run.stop_reason or "", 200),
                )
                for run in facts.runs[: -RUNS - 1 : -1]
            ],
            changes=[ChangeLine(each.url, visible(each.title), each.change, each.at) for each in found.changes],
            latest=latest,
            recall=recall.recall if recall else None,
            recall_low=recall.recall_low if recall else None,
            recall_high=recall.recall_high if recall else None,
        )

    def live(self, name: str, folder: Path, crawl: CrawlFigures, *, speed: float, is_starting: bool) -> LiveView:
        """A crawl as it goes, and what the collection has so far."""
        card = self.card(name, folder, crawl)
        pages = max(card.pages, crawl.pages or 0)
        curves: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
        latest: list[PageLine] = []
        outcomes: list[Counted] = []
        if not card.problem:
            found, relevant = self._overview(folder)
            curves, outcomes = harvest_points(relevant), _counted(found.outcomes)
            with open_for_reading(folder) as collection:
                latest = [_line(row, {}) for row in collection.catalog.latest_pages(LATEST)]
        return LiveView(
            phase="starting" if is_starting and crawl.phase == "none" else crawl.phase,
            pages=pages,
            relevant=crawl.relevant if crawl.relevant is not None else card.relevant,
            waiting=crawl.waiting if crawl.waiting is not None else card.waiting,
            budget=crawl.budget,
            next_budget=max(500, -(-(pages + 1) // 500) * 500),
            speed=speed,
            requests=crawl.requests,
            holds=crawl.holds,
            curve=curves[0],
            latest_curve=curves[1],
            latest=latest,
            outcomes=outcomes,
        )

    def _overview(self, folder: Path) -> tuple[Overview, list[bool]]:
        """The overview of a collection, and whether each page is relevant; kept until its files change."""
        stamp, now = _stamp(folder), time.monotonic()
        kept = self._kept.get(folder)
        if kept is not None and (kept[0] == stamp or now - kept[1] < _KEPT_FOR):
            return kept[2], kept[3]
        with open_for_reading(folder) as collection:
            found, relevant = overview(collection), collection.catalog.relevant_in_order()
        while len(self._kept) >= _MAX_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[folder] = (stamp, now, found, relevant)
        return found, relevant


def _stamp(folder: Path) -> object:
    """What changes when the catalog, the labels or the recipe do."""
    stamps = []
    for name in ("catalog.sqlite", "catalog.sqlite-wal", "labels.txt", "sample.txt", FILE_NAME):
        try:
            facts = (folder / name).lstat()
            stamps.append((facts.st_ino, facts.st_mtime_ns, facts.st_size))
        except OSError:
            stamps.append((0, 0, 0))
    return stamps


def crawl_figures(folder: Path) -> CrawlFigures:
    """How the crawl of a collection is, by its own word; nothing where none runs."""
    try:
        reply = ask(folder, CrawlRequest("status"), within=_STATUS_WITHIN)
    except LycosaError:
        return CrawlFigures("busy")
    if reply is None:
        return CrawlFigures()
    status: Mapping[str, Plain] = reply.status if isinstance(reply.status, dict) else {}
    numbers = {
        key: value
        for key in ("pages", "relevant", "waiting", "budget", "requests", "holds")
        if isinstance(value := status.get(key), int)
    }
    return CrawlFigures("paused" if status.get("paused") else "running", **numbers)


def shares(relevant: list[bool], points: int) -> list[float]:
    """The share of relevant pages in equal parts of a crawl.

    >>> shares([True, True, False, True], 2)
    [1.0, 0.5]
    """
    count = min(points, len(relevant))
    edges = [len(relevant) * part // count for part in range(count + 1)] if count else []
    return [sum(relevant[start:end]) / (end - start) for start, end in pairwise(edges)]


def harvest_points(relevant: list[bool]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The share of relevant pages among all so far, and among the latest, over a crawl."""
    window = max(20, min(500, len(relevant) // 20))
    step = max(1, -(-len(relevant) // STEPS))
    sums, so_far, latest = [0], [], []
    for number, is_relevant in enumerate(relevant, 1):
        sums.append(sums[-1] + is_relevant)
        if number % step == 0 or number == len(relevant):
            start = max(0, number - window)
            so_far.append((float(number), sums[-1] / number))
            latest.append((float(number), (sums[-1] - sums[start]) / (number - start)))
    return so_far, latest


# ---------------------------------------------------------------- search


def search_view(
    folder: Path,
    query: str,
    *,
    host: str = "",
    language: str = "",
    min_relevance: float | None = None,
    label: str = "",
    page: int = 1,
    is_typed: bool = False,
) -> SearchView:
    """A page of answers.

    is_typed: whether the last word may not be finished, so that words that begin with it are found too.
    """
    began = time.perf_counter()
    labels = labels_of(folder)
    page = max(1, min(page, MAX_EXAMINED // HITS_PER_PAGE))
    with open_for_reading(folder) as collection:
        catalog = collection.catalog

        def is_wanted(url: str) -> bool:
            if label and labels.get(Url(url), "") != label:
                return False
            row = catalog.page(Url(url)) if min_relevance is not None else None
            return min_relevance is None or (row is not None and (row.relevance or 0.0) >= min_relevance)

        found = collection.search.find(
            unfinished(query) if is_typed else query,
            offset=(page - 1) * HITS_PER_PAGE,
            limit=HITS_PER_PAGE,
            host=host.lower() or None,
            language=language or None,
            where=is_wanted if label or min_relevance is not None else None,
        )
        not_indexed = collection.pages_not_indexed()
    _, last_page, _ = _paged(page, min(found.total, MAX_EXAMINED), HITS_PER_PAGE)
    return SearchView(
        query=query[:500],
        host=host,
        language=language,
        min_relevance=min_relevance,
        label=label,
        total=found.total,
        is_partial=found.is_partial,
        not_indexed=not_indexed,
        page=page,
        last_page=last_page,
        hits=[_hit(hit, labels) for hit in found.hits],
        hosts=_counted(found.hosts),
        languages=_counted({name: count for name, count in found.languages.items() if name}),
        milliseconds=round(1e3 * (time.perf_counter() - began), 1),
    )


def unfinished(query: str) -> str:
    """The query with words that begin as its last one does allowed in its place.

    >>> unfinished("honey be"), unfinished('"honey be"'), unfinished("honey ")
    ('honey (be OR be*)', '"honey be"', 'honey ')
    """
    words = query.split()
    last = words[-1] if words and query.endswith(words[-1]) else ""
    is_word = len(last) >= _MIN_TYPED and last.replace("_", "a").isalnum() and last not in ("AND", "OR", "NOT")
    if not is_word or query.count('"') % 2:
        return query
    return f"{query.removesuffix(last)}({last} OR {last}*)"


# ---------------------------------------------------------------- one page


def page_view(folder: Path, url: Url) -> PageView:
    """All that is known of a URL."""
    labels = labels_of(folder)
    with open_for_reading(folder) as collection:
        catalog = collection.catalog
        row = catalog.page(url)
        if row is None:
            waiting = waiting_candidate(catalog.connection, url)
            way = [_step(waiting)] if waiting is not None else []
            state = "waiting" if waiting is not None else "unknown"
            return PageView(url, state, None, None, "", [], way, [], [], labels.get(url, ""))
        text = main_text_of(collection.archive.fetch_at(row.place))[:_MAX_TEXT] if row.place else ""
        return PageView(
            url=row.url,
            state="stored" if row.vanished_at is None else "vanished",
            page=_line(row, labels, most=None),
            duplicate_of=row.duplicate_of,
            truncated=row.truncated,
            text=[visible(each, 4_000) for each in text.splitlines() if each.strip()][:PARAGRAPHS],
            way=[*map(_step, way_to(catalog, row)), _step(row)],
            versions=[_version(look) for look in catalog.looks(row.number)[-VERSIONS:]],
            similar=_similar(collection, row.url, labels),
            label=labels.get(row.url, ""),
        )


def _similar(collection: Collection, url: Url, labels: Mapping[Url, str]) -> list[HitLine]:
    try:
        return [_hit(hit, labels) for hit in collection.search.similar(url, limit=SIMILAR)]
    except LycosaError:  # the index is of an older version, or damaged: the page can be shown without
        return []


def stored_html(folder: Path, url: Url, look: int | None = None) -> str:
    """A page as it is held, or as it was when it was seen for the n-th time, without what could act or load."""
    with open_for_reading(folder) as collection:
        row = collection.catalog.page(url)
        place = row.place if row else None
        if row is not None and look is not None:
            place = next((each.place for each in collection.catalog.looks(row.number) if each.look == look), None)
        if place is None:
            raise UsageError("the collection has no such page")
        return inert_html(html_of(collection.archive.fetch_at(place))[:_MAX_STORED])


def inert_html(html: str) -> str:
    """HTML without the elements that lead elsewhere: those that name other files, a base, or another page to load.

    All else that could act or load is kept from it by the headers of the answer. A blank takes the place of each, so
    that nothing around it grows together.

    >>> inert_html('<p>Bees<LINK rel=preconnect href="//other.example/">, <li<base >nk>')
    '<p>Bees , <li nk>'
    """
    return _LEADS_ELSEWHERE.sub(" ", html)


# ---------------------------------------------------------------- what waits


def frontier_view(folder: Path, *, host: str = "", page: int = 1) -> FrontierView:
    """A page of what waits, the best first."""
    with open_for_reading(folder) as collection:
        connection = collection.catalog.connection
        hosts = [WaitingHost(*each) for each in waiting_hosts(connection, HOSTS)]
        total = count_waiting(connection)
        of_host = next((each.waiting for each in hosts if each.host == host), None)
        within = total if not host else of_host if of_host is not None else MAX_WAITING
        page, last_page, start = _paged(page, min(within, MAX_WAITING), WAITING_PER_PAGE)
        rows = best_waiting(connection, offset=start, limit=WAITING_PER_PAGE, host=host or None)
    if host and of_host is None:
        last_page = page if len(rows) < WAITING_PER_PAGE else page + 1
    steered = read_steering(folder)
    return FrontierView(
        total=total,
        host=host,
        page=page,
        last_page=last_page,
        waiting=[
            WaitingLine(
                each.url,
                each.priority,
                each.depth,
                each.found_on or "",
                visible(each.anchor, 200),
                visible(in_words(each.because, most=3), 400),
                factors_of(each.because),
            )
            for each in rows
        ],
        hosts=hosts,
        blocked=[visible(each, 200) for each in steered.blocked[:100]],
        boosted=[visible(each, 200) for each in steered.boosted[:100]],
    )


# ---------------------------------------------------------------- lines


def url_of(text: str) -> Url:
    """A URL that somebody sent."""
    url = normalise(text[:4_000])
    if url is None:
        raise UsageError("not a URL; write http://… or https://…")
    return url


def without_paths(message: str, folder: Path) -> str:
    """A message for the user with the collection called by its name."""
    return visible(message.replace(str(folder), folder.name), 500)


def _paged(page: int, total: int, size: int) -> tuple[int, int, int]:
    """The page that can be shown, the last one, and the number of the first entry."""
    last = max(1, -(-total // size))
    page = max(1, min(page, last))
    return page, last, (page - 1) * size


def _counted(counts: Mapping[str, int]) -> list[Counted]:
    return [Counted(visible(name, 120), count) for name, count in list(counts.items())[:HOSTS]]


def _line(row: PageRow, labels: Mapping[Url, str], *, most: int | None = 2) -> PageLine:
    return PageLine(
        number=row.number,
        url=row.url,
        host=row.host,
        title=visible(row.title),
        language=visible(row.language, 20),
        relevance=row.relevance,
        standing=row.standing,
        at=row.at,
        state=row.state,
        label=labels.get(row.url, ""),
        why=visible(in_words(row.because, most=most), 600),
    )


def _hit(hit: Hit, labels: Mapping[Url, str]) -> HitLine:
    return HitLine(
        hit.url, hit.host, visible(hit.title), visible(hit.snippet, 500), hit.relevance, labels.get(Url(hit.url), "")
    )


def _step(found: PageRow | Candidate | Url) -> WayStep:
    if isinstance(found, str):
        return WayStep(found, "", is_stored=False)
    is_page = isinstance(found, PageRow)
    return WayStep(
        url=found.url,
        title=visible(found.title) if isinstance(found, PageRow) else "",
        is_stored=is_page,
        relevance=found.relevance if isinstance(found, PageRow) else None,
        standing=found.standing if isinstance(found, PageRow) else None,
        priority=found.priority,
        depth=found.depth,
        anchor=visible(found.anchor, 200),
        why=visible(in_words(found.because), 1_000),
        factors=factors_of(found.because),
    )


def _version(look: ObservationRow) -> VersionLine:
    return VersionLine(
        look.look, look.at, visible(look.change, 40), look.bytes, look.links, look.new_links, look.place is not None
    )
