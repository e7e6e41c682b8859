"""Views of collections: card, overview, and progress of a crawl."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct, field

from lycosa.recipe import FILE_NAME, load_recipe
from lycosa.run.control import CrawlRequest, ask
from lycosa.run.export import labels_of
from lycosa.run.open import open_for_reading
from lycosa.run.overview import Overview, overview
from lycosa.run.trust import is_trusted, settings_to_trust
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.text import printable

from .lines import Counted, PageLine, clamp_page, named_counts, page_line, strategy_or_policy, without_paths

COLLECTIONS_PER_PAGE = 24
LATEST_PAGES = 12  # pages on the overview
MAX_RUNS = 10
SPARKLINE_POINTS = 60
CURVE_POINTS = 200  # of a harvest curve
_STATUS_TIMEOUT = 2.0  # seconds for a crawl to answer
_CACHE_SECONDS = 3.0  # an overview is computed at most once in this time, however fast the collection changes
_MAX_CACHED = 64  # overviews

CrawlPhase = Literal["none", "running", "paused", "busy"]
ProcessPhase = Literal["none", "starting", "ending"]  # of a process, while no crawl reports


class CrawlFigures(Struct, frozen=True):
    """The status that a running crawl reports; busy if it did not answer in time."""

    phase: CrawlPhase = "none"
    pages: int | None = None  # number of pages stored
    relevant: int | None = None  # pages
    waiting: int | None = None  # URLs
    budget: int | None = None  # number of pages at which the crawl stops
    requests: int | None = None  # of this run
    holds: int | None = None  # hosts on hold: not requested for the time being


class CollectionCard(Struct, frozen=True):
    """A collection in the list of collections."""

    name: str
    topic: str = ""
    pages: int = 0
    relevant: int = 0  # pages
    harvest_rate: float = 0.0  # share of relevant pages, with the bounds of its interval
    harvest_low: float = 0.0
    harvest_high: float = 0.0
    is_measured: bool = False  # on pages that the user labelled; else the rate is the model's estimate
    measured_at: int | None = None  # pages of the collection when it was measured, if it has grown a lot since
    waiting: int = 0  # URLs
    hosts: int = 0
    bytes: int = 0  # of the pages
    oldest_look: float | None = None  # earliest of the last fetches of the pages, in seconds since the epoch
    latest_look: float | None = None  # latest fetch of a page
    looked_again: int = 0  # pages fetched again
    changed: int = 0  # pages found changed at least once
    vanished: int = 0  # pages that no longer exist
    curve: list[float] = []  # share of relevant pages in equal parts of the crawl
    crawl: CrawlFigures = CrawlFigures()
    is_trusted: bool = True  # False if the recipe has settings that only a trusted folder may have, and it is not one
    problem: str = ""  # why nothing can be shown


class CollectionList(Struct, frozen=True):
    collections: list[CollectionCard]
    total: int  # collections
    page: int  # of the list, from 1
    last_page: int


class LeftOutLine(Struct, frozen=True):
    what: str  # which pages or links the collection lacks, and why, in words
    remedy: str  # the option that would have kept it; may be empty


class RunLine(Struct, frozen=True):
    at: float  # when it began
    strategy_or_policy: str = field(name="kind")
    first_page: int  # number of the first page that it stored
    stopped_at: float | None
    stop_reason: str = field(name="stopped")


class ChangeLine(Struct, frozen=True):
    url: str
    title: str
    change: str  # changed, vanished or returned
    at: float  # when that was found


class CollectionView(Struct, frozen=True):
    """The screen of one collection."""

    card: CollectionCard
    curve: list[tuple[float, float]]  # pages and the share of relevant ones among all so far
    latest_curve: list[tuple[float, float]]  # the same among the latest
    hosts: list[Counted]
    languages: list[Counted]
    outcomes: list[Counted]  # of requests
    left_out: list[LeftOutLine]
    runs: list[RunLine]
    changes: list[ChangeLine]  # the latest
    latest: list[PageLine]
    recall: float | None  # estimated share of the relevant pages within reach that were found, with its interval
    recall_low: float | None
    recall_high: float | None
    is_recall_behind: bool  # whether pages were visited or scored since it was estimated


class LiveView(Struct, frozen=True):
    """The progress of a running crawl."""

    phase: CrawlPhase | ProcessPhase
    pages: int
    relevant: int  # pages
    waiting: int  # URLs
    budget: int | None  # number of pages at which the crawl stops
    next_budget: int  # pages; the default in the form
    speed: float  # pages a second
    requests: int | None  # of this run
    holds: int | None  # hosts on hold
    curve: list[tuple[float, float]]
    latest_curve: list[tuple[float, float]]
    latest: list[PageLine]
    outcomes: list[Counted]


class _CachedOverview(NamedTuple):
    stamp: object  # of the files it was computed from
    at: float  # time.monotonic()
    overview: Overview
    relevance_flags: list[bool]  # of each page, in order of arrival


class Overviews:
    """Builds the views; overviews are cached until a collection changes."""

    def __init__(self) -> None:
        self._cache: dict[Path, _CachedOverview] = {}

    def cards(self, folders: Mapping[str, Path], page: int) -> CollectionList:
        """The collections of a page of the list."""
        names = list(folders)
        page, last_page, start = clamp_page(page, len(names), COLLECTIONS_PER_PAGE)
        shown = names[start : start + COLLECTIONS_PER_PAGE]
        return CollectionList([self.card(name, folders[name]) for name in shown], len(names), page, last_page)

    def card(self, name: str, folder: Path, crawl: CrawlFigures | None = None) -> CollectionCard:
        """The card of a collection; if it cannot be opened, with the error."""
        crawl = crawl or crawl_figures(folder)
        topic, is_trusted_enough = "", True
        try:
            recipe = load_recipe(folder, for_reading=True)
            topic = printable(recipe.topic.text, 300)
            is_trusted_enough = not settings_to_trust(folder, recipe) or is_trusted(folder)
            found, relevance_flags = self._overview(folder)
        except LycosaError as error:
            return CollectionCard(
                name, topic, crawl=crawl, is_trusted=is_trusted_enough, problem=without_paths(str(error), folder)
            )
        facts, fresh = found.facts, found.facts.freshness
        return CollectionCard(
            name=name,
            topic=topic,
            pages=facts.pages,
            relevant=facts.relevant,
            harvest_rate=found.harvest_rate,
            harvest_low=found.harvest_interval[0],
            harvest_high=found.harvest_interval[1],
            is_measured=found.is_measured,
            measured_at=found.pages_when_measured,
            waiting=found.waiting,
            hosts=len(facts.hosts),
            bytes=facts.bytes,
            oldest_look=fresh.oldest_look,
            latest_look=fresh.latest_look,
            looked_again=fresh.looked_again,
            changed=fresh.changed,
            vanished=fresh.vanished,
            curve=shares(relevance_flags, SPARKLINE_POINTS),
            crawl=crawl,
            is_trusted=is_trusted_enough,
        )

    def collection(self, name: str, folder: Path) -> CollectionView:
        found, relevance_flags = self._overview(folder)
        facts, labels = found.facts, labels_of(folder)
        with open_for_reading(folder) as collection:
            latest = [page_line(row, labels) for row in collection.catalog.latest_pages(LATEST_PAGES)]
        curve, latest_curve = harvest_points(relevance_flags)
        recall = found.recall
        return CollectionView(
            card=self.card(name, folder),
            curve=curve,
            latest_curve=latest_curve,
            hosts=named_counts(facts.hosts),
            languages=named_counts(facts.languages),
            outcomes=named_counts(found.outcomes),
            left_out=[LeftOutLine(printable(each.what, 300), printable(each.remedy, 300)) for each in found.left_out][
                :50
            ],
            runs=[
                RunLine(
                    run.at,
                    strategy_or_policy(run),
                    run.first_page,
                    run.stopped_at,
                    printable(run.stop_reason or "", 200),
                )
                for run in facts.runs[: -MAX_RUNS - 1 : -1]
            ],
            changes=[ChangeLine(each.url, printable(each.title), each.change, each.at) for each in found.changes],
            latest=latest,
            recall=recall.recall if recall else None,
            recall_low=recall.recall_low if recall else None,
            recall_high=recall.recall_high if recall else None,
            is_recall_behind=found.is_recall_behind,
        )

    def live(
        self,
        name: str,
        folder: Path,
        crawl: CrawlFigures,
        *,
        speed: float,
        process_phase: ProcessPhase = "none",
    ) -> LiveView:
        """The progress of a crawl and the totals of its collection.

        process_phase: shown if no crawl reports.
        """
        card = self.card(name, folder, crawl)
        target = None
        with suppress(LycosaError):  # which the card says
            target = load_recipe(folder, for_reading=True).stop.pages
        pages = max(card.pages, crawl.pages or 0)
        curves: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
        latest: list[PageLine] = []
        outcomes: list[Counted] = []
        if not card.problem:
            found, relevance_flags = self._overview(folder)
            curves, outcomes = harvest_points(relevance_flags), named_counts(found.outcomes)
            with open_for_reading(folder) as collection:
                latest = [page_line(row, {}) for row in collection.catalog.latest_pages(LATEST_PAGES)]
        return LiveView(
            phase=process_phase if crawl.phase == "none" else crawl.phase,
            pages=pages,
            relevant=crawl.relevant if crawl.relevant is not None else card.relevant,
            waiting=crawl.waiting if crawl.waiting is not None else card.waiting,
            budget=crawl.budget,
            next_budget=target if target is not None and target > pages else max(500, -(-(pages + 1) // 500) * 500),
            speed=speed,
            requests=crawl.requests,
            holds=crawl.holds,
            curve=curves[0],
            latest_curve=curves[1],
            latest=latest,
            outcomes=outcomes,
        )

    def _overview(self, folder: Path) -> tuple[Overview, list[bool]]:
        """The overview of a collection, and whether each page is relevant; cached until its files change."""
        stamp, now = stamp_of(folder), time.monotonic()
        cached = self._cache.get(folder)
        if cached is not None and (cached.stamp == stamp or now - cached.at < _CACHE_SECONDS):
            return cached.overview, cached.relevance_flags
        with open_for_reading(folder) as collection:
            found, relevance_flags = overview(collection), collection.catalog.relevance_flags()
        self._cache.pop(folder, None)
        excess = max(0, len(self._cache) + 1 - _MAX_CACHED)
        for oldest in list(self._cache)[:excess]:  # a copy, since other threads change the cache too
            self._cache.pop(oldest, None)
        self._cache[folder] = _CachedOverview(stamp, now, found, relevance_flags)
        return found, relevance_flags


def stamp_of(folder: Path) -> object:
    """A value that changes with the catalog, the labels, the recipe, or the examples that the recipe names."""
    names, stamps = ["catalog.sqlite", "catalog.sqlite-wal", "labels.txt", "sample.txt", FILE_NAME], []
    with suppress(LycosaError):
        topic = load_recipe(folder, for_reading=True).topic
        names += filter(None, (topic.examples, topic.negatives))
    for name in names:
        try:
            file_status = (folder / name).lstat()
            stamps.append((file_status.st_ino, file_status.st_mtime_ns, file_status.st_size))
        except (OSError, ValueError):  # no such file, or no possible name
            stamps.append((0, 0, 0))
    return stamps


def crawl_figures(folder: Path) -> CrawlFigures:
    """The status that the crawl of a collection reports; of phase "none" if none runs."""
    try:
        reply = ask(folder, CrawlRequest("status"), timeout=_STATUS_TIMEOUT)
    except LycosaError:
        return CrawlFigures("busy")
    if reply is None:
        return CrawlFigures()
    status: Mapping[str, JsonValue] = reply.status if isinstance(reply.status, dict) else {}
    numbers = {
        key: value
        for key in ("pages", "relevant", "waiting", "budget", "requests", "holds")
        if isinstance(value := status.get(key), int)
    }
    return CrawlFigures("paused" if status.get("paused") else "running", **numbers)


def shares(relevance_flags: list[bool], points: int) -> list[float]:
    """The share of relevant pages in equal segments of a crawl.

    >>> shares([True, True, False, True], 2)
    [1.0, 0.5]
    """
    count = min(points, len(relevance_flags))
    edges = [len(relevance_flags) * part // count for part in range(count + 1)] if count else []
    return [sum(relevance_flags[start:end]) / (end - start) for start, end in pairwise(edges)]


def harvest_points(relevance_flags: list[bool]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The curves (pages so far, share of relevant ones) of a crawl: among all pages so far, and among the latest."""
    window = max(20, min(500, len(relevance_flags) // 20))
    step = max(1, -(-len(relevance_flags) // CURVE_POINTS))
    sums, so_far, latest = [0], [], []
    for number, is_relevant in enumerate(relevance_flags, 1):
        sums.append(sums[-1] + is_relevant)
        if number % step == 0 or number == len(relevance_flags):
            start = max(0, number - window)
            so_far.append((float(number), sums[-1] / number))
            latest.append((float(number), (sums[-1] - sums[start]) / (number - start)))
    return so_far, latest


# ------------------------------------------------------------ metrics

_GAUGES: dict[str, tuple[str, Callable[[CollectionCard], float]]] = {
    "lycosa_pages": ("Pages stored.", lambda card: card.pages),
    "lycosa_relevant_pages": ("Pages that the model or the rule calls relevant.", lambda card: card.relevant),
    "lycosa_harvest_rate": ("Share of relevant pages, measured or estimated.", lambda card: card.harvest_rate),
    "lycosa_waiting_urls": ("URLs that wait to be fetched.", lambda card: card.waiting),
    "lycosa_hosts": ("Hosts with pages.", lambda card: card.hosts),
    "lycosa_received_bytes": ("Bytes of the pages.", lambda card: card.bytes),
    "lycosa_changed_pages": ("Pages found changed at least once.", lambda card: card.changed),
    "lycosa_vanished_pages": ("Pages that have vanished.", lambda card: card.vanished),
    "lycosa_crawl_running": ("1 while a crawl runs, paused or not.", lambda card: card.crawl.phase != "none"),
    "lycosa_unreadable": ("1 for a collection that cannot be read.", lambda card: bool(card.problem)),
}


def metrics_text(cards: Iterable[CollectionCard]) -> str:
    """The figures of collections in the text format of Prometheus: one metric family per figure, one sample each."""
    cards = list(cards)
    lines = []
    for name, (help_text, value_of) in _GAUGES.items():
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
        lines += [f'{name}{{collection="{_escaped(card.name)}"}} {float(value_of(card)):g}' for card in cards]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
