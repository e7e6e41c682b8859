"""A crawl that keeps up with a graph whose links come and go: pages are found and looked at again by turns.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.reading.words import FoldedWords
from lycosa.strategies import CrawlAI, CrawlGAI
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Url, Visit
from lycosa.worlds.timed_graphs import WindowedGraph

from .recrawls import RECRAWLS

Ints = NDArray[np.signedinteger[Any]]

_NO_WORDS = FoldedWords(b"", stem=True)
_TRIES = 50  # draws of a page that is not crawled yet; where all fail, nearly everything is


class Standing(Struct, frozen=True):
    """How a crawl stands at a moment."""

    day: float  # since the first link
    crawled: int  # pages
    known: int  # pages, crawled or seen linked to
    crawl: float  # share of the targets that were crawled
    discovery: float  # share of the targets that are known
    lift_crawled: float  # how much likelier a crawled page is a target than any page that has had a link by then
    lift_known: float  # the same for pages that are known


class Expansion(Protocol):
    """Says which page to look at for the first time."""

    def next(self, time: float) -> int | None: ...

    def saw(self, page: int, new: Sequence[int]) -> None:
        """A page was looked at for the first time, or again with these links, which had never been seen on it."""
        ...


class ByStrategy:
    """Expands as a strategy ranks what waits; the pages of a crawl are its visits, less the links it was shown."""

    def __init__(self, strategy: Strategy, size: int):
        self._strategy = strategy
        self._frontier = SequentialFrontier(limit=size)
        self._frontier.rank_by(strategy)
        self._taken: Candidate | None = None

    def next(self, time: float) -> int | None:
        self._taken = self._frontier.take(time)
        return None if self._taken is None else int(self._taken.url)

    def saw(self, page: int, new: Sequence[int]) -> None:
        url = cast("Url", page)
        self._frontier.settle(url)
        taken = self._taken if self._taken is not None and self._taken.url == url else Candidate(url, 0.0)
        self._taken = None
        links = tuple(map(Link, cast("Sequence[Url]", new)))
        visit = Visit(taken, Fetch(url, Outcome.OK, 0.0), Page(url, "", "", "", _NO_WORDS, links))
        self._strategy.learn(visit)
        self._frontier.put(self._strategy.propose(visit))


class SampleU:
    """Expands to any page that has appeared and is not crawled yet, which no crawler can know."""

    def __init__(self, graph: WindowedGraph, chance: random.Random):
        ends = np.stack([graph.links.sources, graph.links.targets], axis=1).ravel()
        pages, first = np.unique(ends, return_index=True)
        order = np.argsort(first)
        self._pages: list[int] = pages[order].tolist()  # in the order in which they appear
        self._appeared = graph.links.times[first[order] // 2]
        self._crawled: set[int] = set()
        self._chance = chance

    def next(self, time: float) -> int | None:
        count = int(np.searchsorted(self._appeared, time, side="right"))
        for _ in range(_TRIES if count else 0):
            page = self._pages[int(self._chance.random() * count)]
            if page not in self._crawled:
                return page
        return None

    def saw(self, page: int, new: Sequence[int]) -> None:
        self._crawled.add(page)


EXPANSIONS: Mapping[str, Callable[[WindowedGraph, int], Expansion]] = {
    "sample-u": lambda graph, seed: SampleU(graph, random.Random(seed)),
    "crawl-ai": lambda graph, seed: ByStrategy(CrawlAI(seed=seed), len(graph)),
    "crawl-gai": lambda graph, seed: ByStrategy(CrawlGAI(), len(graph)),
}


class Tracker:
    """One crawl of a time graph: expands with a chance, else looks at a page again; what cannot be done is the other.

    day: seconds; yields are per day.
    """

    def __init__(self, graph: WindowedGraph, *, expansion: str, policy: str, expand: float, day: float, seed: int):
        self._graph = graph
        self._chance = random.Random(seed)
        self._expansion = EXPANSIONS[expansion](graph, seed + 1)
        self._recrawls = RECRAWLS[policy](random.Random(seed + 2))
        self._expand = expand
        self._day = day
        self._rows: dict[int, int] = {}  # of the pages crawled, in the order of their first crawl
        self._pages: list[int] = []
        self._looked_at: list[float] = []
        self._last: list[tuple[int, int]] = []  # where the links stand that the latest look has shown
        self._ever: list[set[int]] = []  # links at any
        self._in_links = [0] * len(graph)  # seen so far
        self.is_crawled = np.zeros(len(graph), np.bool_)
        self.is_known = np.zeros(len(graph), np.bool_)

    def step(self, time: float) -> None:
        """Looks at one page."""
        wants_new = self._chance.random() < self._expand or not self._pages
        page = self._expansion.next(time) if wants_new else None
        if page is not None:
            self.look_at(page, time)
        elif self._pages:
            self.look_at(self._pages[self._recrawls.draw()], time)

    def look_at(self, page: int, time: float) -> None:
        """Looks at a page, for the first time or again."""
        span = self._graph.span(page, time)
        row = self._rows.get(page)
        if row is None:
            new = list(dict.fromkeys(self._graph.targets_between(*span)))
            self._count(new)
            self._rows[page] = len(self._pages)
            self._pages.append(page)
            self._looked_at.append(time)
            self._last.append(span)
            self._ever.append(set(new))
            self.is_crawled[page] = self.is_known[page] = True
            self._recrawls.add(len(new))
            self._expansion.saw(page, new)
        else:
            self._look_again(page, row, span, time)

    def _look_again(self, page: int, row: int, span: tuple[int, int], time: float) -> None:
        (low, high), ever = self._last[row], self._ever[row]
        # What is shown now and was not at the latest look is among what was linked since.
        since = list(dict.fromkeys(self._graph.targets_between(max(span[0], high), span[1])))
        new = [link for link in since if link not in ever]
        if len(new) < len(since):
            shown = set(self._graph.targets_between(low, high))
            since = [link for link in since if link not in shown]
        self._count(new)
        ever.update(new)
        self._recrawls.note(
            row,
            out_links=len(ever),
            yielded=len(since) * self._day / max(time - self._looked_at[row], 1.0),
            link_score=float(sum(self._in_links[link] for link in since)),
        )
        self._last[row] = span
        self._looked_at[row] = time
        if new:
            self._expansion.saw(page, new)

    def _count(self, new: Sequence[int]) -> None:
        for link in new:
            self._in_links[link] += 1
            self.is_known[link] = True


class Moment(Struct, frozen=True):
    """What is to be tracked at a moment."""

    time: float
    day: float  # since the first link
    targets: Ints
    appeared: int  # pages that have had a link by then, made or received


def moments_of(graph: WindowedGraph, times: Sequence[float], *, k: int, day: float) -> list[Moment]:
    """The k most linked pages at each of some times, of which none may be before the one before it."""
    window = graph.window_degrees()
    moments = []
    for time in times:
        window.move_to(time)
        moments.append(Moment(time, (time - graph.begin) / day, window.top(k), int(window.has_appeared.sum())))
    return moments


def track(
    tracker: Tracker,
    moments: Sequence[Moment],
    *,
    sources: Sequence[int],
    begin: float,
    crawls_a_day: float,
    day: float,
) -> Iterator[Standing]:
    """How a crawl stands at each of some moments, looking at so many pages a day, some sources first."""
    for source in sources:
        tracker.look_at(source, begin)
    done = len(sources)
    for moment in moments:
        due = int((moment.time - begin) / day * crawls_a_day)
        while done < due:
            tracker.step(begin + done * day / crawls_a_day)
            done += 1
        yield _standing(tracker, moment)


def _standing(tracker: Tracker, moment: Moment) -> Standing:
    targets, any_page = moment.targets, len(moment.targets) / moment.appeared
    crawled, known = int(tracker.is_crawled.sum()), int(tracker.is_known.sum())
    found, seen = int(tracker.is_crawled[targets].sum()), int(tracker.is_known[targets].sum())
    return Standing(
        moment.day,
        crawled,
        known,
        found / len(targets),
        seen / len(targets),
        found / crawled / any_page,
        seen / known / any_page,
    )


def compacted(graph: WindowedGraph) -> WindowedGraph:
    """The same graph less the nodes that never have a link."""
    links = graph.links
    nodes = np.unique(np.concatenate([links.sources, links.targets]))
    sources, targets = (np.searchsorted(nodes, ends) for ends in (links.sources, links.targets))
    return WindowedGraph(type(links)(sources, targets, links.times, len(nodes)), window=graph.window)
