"""A crawl that tracks a graph whose links change over time, mixing fetches of new pages and refetches.

A page shows its links of a window of time, such as the last week. The targets of a crawl at a given time are the pages
to which most pages link then. Times are seconds.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.reading.words import FoldedWords
from lycosa.strategies import BreadthFirst, CrawlAI, CrawlGAI
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import REFRESH, Candidate, Change, Fetch, Link, Outcome, Page, Skip, Url, Visit
from lycosa_lab.worlds.timed_graphs import WindowedGraph

from .recrawl_samplers import RECRAWL_SAMPLERS, PageHistory

Ints = NDArray[np.signedinteger[Any]]

_NO_WORDS = FoldedWords(b"", stem="porter")
_MAX_DRAWS = 50  # of random pages, until one is not crawled yet; if all are, so are nearly all pages


class TrackingPoint(Struct, frozen=True):
    """The measures of a crawl at a given time."""

    day: float  # since the first link
    crawled: int  # pages
    known: int  # pages, crawled or seen linked to
    crawl: float  # crawl performance: the share of the targets that were crawled
    discovery: float  # discovery performance: the share of the targets that are known
    lift_crawled: float  # how much more likely a crawled page is a target than any page that has had a link by then
    lift_known: float  # the same for pages that are known


class UniformFrontier(SequentialFrontier):
    """Draws any page that exists and is not crawled yet: a baseline that no real crawler could implement."""

    def __init__(self, graph: WindowedGraph, random: Random):
        super().__init__()
        ends = np.stack([graph.links.sources, graph.links.targets], axis=1).ravel()
        pages, first = np.unique(ends, return_index=True)
        order = np.argsort(first)
        self._pages: list[int] = pages[order].tolist()  # in the order in which they appear
        self._appeared = graph.links.times[first[order] // 2]
        self._crawled: set[int] = set()
        self._random = random

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        return []

    def take(self, now: float = 0.0) -> Candidate | None:
        count = int(np.searchsorted(self._appeared, now, side="right"))
        for _ in range(_MAX_DRAWS if count else 0):
            page = self._pages[int(self._random.random() * count)]
            if page not in self._crawled:
                return Candidate(cast("Url", page), 0.0)
        return None

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        self._crawled.add(cast("int", url))
        return []


EXPANSIONS: Mapping[str, Callable[[WindowedGraph, int], tuple[Strategy, SequentialFrontier]]] = {
    "sample-u": lambda graph, seed: (BreadthFirst(), UniformFrontier(graph, Random(seed))),
    "crawl-ai": lambda graph, seed: (CrawlAI(seed=seed), SequentialFrontier(limit=len(graph))),
    "crawl-gai": lambda graph, seed: (CrawlGAI(), SequentialFrontier(limit=len(graph))),
}


class Tracker:
    """One crawl of a timed graph, one fetch at a time: of a new page with probability `expand`, else of a crawled page
    again; if there is none of one kind, one of the other.

    expansion, policy: how new pages and refetches are chosen, by their names in `EXPANSIONS` and `RECRAWL_SAMPLERS`.
    seconds_per_day: the length of what counts as a day, which depends on the graph; yields are new links per day.
    """

    def __init__(
        self, graph: WindowedGraph, *, expansion: str, policy: str, expand: float, seconds_per_day: float, seed: int
    ):
        strategy, self._frontier = EXPANSIONS[expansion](graph, seed + 1)
        self._loop = Loop(strategy, self._frontier)
        self._recrawl_sampler = RECRAWL_SAMPLERS[policy](Random(seed + 2))
        self._expand = expand
        self._random = Random(seed)
        self._graph = graph
        self._seconds_per_day = seconds_per_day
        self._pages: list[Url] = []  # that were fetched, in the order of their first fetch
        self._rows: dict[int, int] = {}  # of each page that was fetched, its index in `_pages`
        self._fetched_at: list[float] = []  # the latest time
        self._last_spans: list[tuple[int, int]] = []  # positions in the graph of the links shown by the latest fetch
        self._links_seen: list[set[int]] = []  # of each page that was fetched, by any fetch
        self._in_links = [0] * len(graph)  # seen so far
        self.is_crawled = np.zeros(len(graph), np.bool_)
        self.is_known = np.zeros(len(graph), np.bool_)

    def step(self, time: float) -> None:
        """Fetches one page."""
        candidate = self._take(time)
        if candidate is not None:
            self._loop.step(candidate, Fetch(candidate.url, Outcome.OK, time), self._assess)

    def _take(self, time: float) -> Candidate | None:
        wants_new = self._random.random() < self._expand or not self._pages
        candidate = self._frontier.take(time) if wants_new else None
        if candidate is None and self._pages:
            return Candidate(self._pages[self._recrawl_sampler.draw()], 0.0, lane=REFRESH)
        return candidate

    def fetch(self, page: int, time: float) -> None:
        """Fetches a given page, for the first time or again."""
        url = cast("Url", page)
        self._loop.step(Candidate(url, 0.0), Fetch(url, Outcome.OK, time), self._assess)

    def _assess(self, candidate: Candidate, fetch: Fetch) -> Visit:
        page, time = cast("int", candidate.url), fetch.at
        span = self._graph.span(page, time)
        row = self._rows.get(page)
        if row is not None:
            new, change = self._compare(row, span, time), Change.CHANGED
            if not new:
                return Visit(candidate, fetch, change=Change.UNCHANGED)
        else:
            new, change = list(dict.fromkeys(self._graph.targets_between(*span))), None
            self._count(new)
            self._rows[page] = len(self._pages)
            self._pages.append(candidate.url)
            self._fetched_at.append(time)
            self._last_spans.append(span)
            self._links_seen.append(set(new))
            self.is_crawled[page] = self.is_known[page] = True
            self._recrawl_sampler.add(PageHistory(len(new)))
        new_links = cast("tuple[Url, ...]", tuple(new))
        links = tuple(map(Link, new_links))
        return Visit(
            candidate,
            fetch,
            Page(candidate.url, "", "", "", _NO_WORDS, links),
            change=change,
            new_links=new_links if change else (),
        )

    def _compare(self, row: int, span: tuple[int, int], time: float) -> list[int]:
        """The new links of a refetched page; the recrawl policy is updated."""
        (low, high), seen = self._last_spans[row], self._links_seen[row]
        # Links that are visible now and were not at the latest fetch were made since.
        since = list(dict.fromkeys(self._graph.targets_between(max(span[0], high), span[1])))
        new = [link for link in since if link not in seen]
        if len(new) < len(since):
            shown = set(self._graph.targets_between(low, high))
            since = [link for link in since if link not in shown]
        self._count(new)
        seen.update(new)
        history = PageHistory(
            out_links=len(seen),
            yielded=len(since) * self._seconds_per_day / max(time - self._fetched_at[row], 1.0),
            link_score=float(sum(self._in_links[link] for link in since)),
        )
        self._recrawl_sampler.update(row, history)
        self._last_spans[row] = span
        self._fetched_at[row] = time
        return new

    def _count(self, new: Sequence[int]) -> None:
        for link in new:
            self._in_links[link] += 1
            self.is_known[link] = True


class TrackingMoment(Struct, frozen=True):
    """The targets at a given time."""

    time: float
    day: float  # since the first link
    targets: Ints
    appeared: int  # pages that have had a link by then, made or received


def moments_of(graph: WindowedGraph, times: Sequence[float], *, k: int, seconds_per_day: float) -> list[TrackingMoment]:
    """The k most linked pages at each of the times, which must be ascending."""
    window = graph.window_degrees()
    moments = []
    for time in times:
        window.move_to(time)
        moments.append(
            TrackingMoment(
                time, (time - graph.begin) / seconds_per_day, window.most_linked(k), int(window.has_appeared.sum())
            )
        )
    return moments


def track(
    tracker: Tracker,
    moments: Sequence[TrackingMoment],
    *,
    sources: Sequence[int],
    begin: float,
    crawls_a_day: float,
    seconds_per_day: float,
) -> Iterator[TrackingPoint]:
    """Runs a crawl of `crawls_a_day` pages a day, from the time `begin` on; yields its measures at each moment.

    sources: the pages that are fetched first.
    """
    for source in sources:
        tracker.fetch(source, begin)
    done = len(sources)
    for moment in moments:
        due = int((moment.time - begin) / seconds_per_day * crawls_a_day)
        while done < due:
            tracker.step(begin + done * seconds_per_day / crawls_a_day)
            done += 1
        yield _tracking_point(tracker, moment)


def _tracking_point(tracker: Tracker, moment: TrackingMoment) -> TrackingPoint:
    targets, base_rate = moment.targets, len(moment.targets) / moment.appeared
    crawled, known = int(tracker.is_crawled.sum()), int(tracker.is_known.sum())
    found, linked = int(tracker.is_crawled[targets].sum()), int(tracker.is_known[targets].sum())
    return TrackingPoint(
        moment.day,
        crawled,
        known,
        found / len(targets),
        linked / len(targets),
        found / crawled / base_rate,
        linked / known / base_rate,
    )


def without_isolated_nodes(graph: WindowedGraph) -> WindowedGraph:
    """The graph without the nodes that never have a link."""
    links = graph.links
    nodes = np.unique(np.concatenate([links.sources, links.targets]))
    sources, targets = (np.searchsorted(nodes, ends) for ends in (links.sources, links.targets))
    return WindowedGraph(type(links)(sources, targets, links.times, len(nodes)), window=graph.window)
