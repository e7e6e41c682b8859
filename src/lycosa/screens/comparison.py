"""Two collections, or two runs, side by side: figures, harvest, and the pages that only one of them has."""

from collections.abc import Iterator
from contextlib import ExitStack
from heapq import heappush, heappushpop
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from msgspec import Struct

from lycosa.collection import Collection
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, Url
from lycosa.vocabulary.text import printable
from lycosa.vocabulary.urls import host_of

from .lines import strategy_or_policy
from .overviews import harvest_points, stamp_of

MAX_ONLY_PAGES = 20  # pages listed that only one side has
MAX_RUNS = 50  # of a collection, the latest, to choose from
_MAX_CACHED = 16  # comparisons
_END = 1 << 62  # a number that no page has

ScoredUrl = tuple[Url, float | None]  # with its relevance


class ComparedPart(NamedTuple):
    """A collection, or one run of it."""

    name: str
    folder: Path
    run: int | None  # number of the run, from 1; None for all


class ComparedRun(Struct, frozen=True):
    """A run that can be chosen."""

    number: int
    what: str  # its strategy or policy
    at: float  # when it began, in seconds since the epoch
    pages: int  # number of pages that it stored


class OnlyPage(Struct, frozen=True):
    url: str
    title: str
    relevance: float | None


class Side(Struct, frozen=True):
    """One of the two that are compared: a collection, or one run of it."""

    name: str
    run: int | None
    strategy: str  # of its crawls, and the policies of its refreshes, separated by commas
    pages: int  # number of pages
    relevant: int  # number of relevant pages
    harvest_rate: float  # relevant / pages
    hosts: int  # number of hosts
    curve: list[tuple[float, float]]  # pages and the share of relevant ones among all so far
    runs: list[ComparedRun]  # of the collection
    only: int  # pages that the other side lacks
    only_relevant: int
    only_pages: list[OnlyPage]  # the most relevant of them


class Comparison(Struct, frozen=True):
    """Two sides, and what they share."""

    one: Side
    other: Side
    both: int  # number of pages that both have
    both_relevant: int  # by the model of either
    overlap: float  # share of the pages that both have among all that either has


class Comparisons:
    """Compares collections; results are cached until a collection changes."""

    def __init__(self) -> None:
        self._cache: dict[object, Comparison] = {}
        self._lock = Lock()

    def compare(self, one: ComparedPart, other: ComparedPart) -> Comparison:
        """Compares two collections, or runs of them."""
        key = (one, other, str(stamp_of(one.folder)), str(stamp_of(other.folder)))
        with self._lock:  # one at a time, because each reads two whole catalogs
            if key not in self._cache:
                while len(self._cache) >= _MAX_CACHED:
                    self._cache.pop(next(iter(self._cache)))
                self._cache[key] = _compare(one, other)
            return self._cache[key]


class _Tally:
    """Counts the pages of one side while both are read in the order of their URLs."""

    def __init__(self) -> None:
        self.pages = self.relevant = self.only = self.only_relevant = 0
        self.hosts: set[str] = set()
        self._best: list[tuple[float, Url]] = []

    def add(self, url: Url, relevance: float | None, *, is_only_here: bool) -> None:
        is_relevant = (relevance or 0.0) >= RELEVANT
        self.pages += 1
        self.relevant += is_relevant
        self.hosts.add(host_of(url))
        if is_only_here:
            self.only += 1
            self.only_relevant += is_relevant
            push = heappush if len(self._best) < MAX_ONLY_PAGES else heappushpop
            push(self._best, (relevance or 0.0, url))

    def best(self) -> list[Url]:
        return [url for _, url in sorted(self._best, key=lambda each: (-each[0], each[1]))]


def _compare(one: ComparedPart, other: ComparedPart) -> Comparison:
    with ExitStack() as stack:
        opened = [stack.enter_context(open_for_reading(part.folder)) for part in (one, other)]
        ranges = [_page_range(collection, part.run) for collection, part in zip(opened, (one, other), strict=True)]
        streams = [
            collection.catalog.in_url_order(first=first, before=before)
            for collection, (first, before) in zip(opened, ranges, strict=True)
        ]
        tallies = _Tally(), _Tally()
        both = both_relevant = 0
        for from_one, from_other in merged(*streams):
            if from_one is not None:
                tallies[0].add(*from_one, is_only_here=from_other is None)
            if from_other is not None:
                tallies[1].add(*from_other, is_only_here=from_one is None)
            if from_one is not None and from_other is not None:
                both += 1
                both_relevant += max(from_one[1] or 0.0, from_other[1] or 0.0) >= RELEVANT
        sides = [
            _side(part.name, part.run, collection, page_range, tally)
            for part, collection, page_range, tally in zip((one, other), opened, ranges, tallies, strict=True)
        ]
    either = sides[0].pages + sides[1].pages - both
    return Comparison(sides[0], sides[1], both, both_relevant, both / either if either else 0.0)


def merged(one: Iterator[ScoredUrl], other: Iterator[ScoredUrl]) -> Iterator[tuple[ScoredUrl | None, ScoredUrl | None]]:
    """Pairs the entries of two streams that are in the order of their URLs.

    >>> list(merged(iter([("a", 1.0), ("b", 0.5)]), iter([("b", 0.2), ("c", 0.1)])))
    [(('a', 1.0), None), (('b', 0.5), ('b', 0.2)), (None, ('c', 0.1))]
    """
    from_one, from_other = next(one, None), next(other, None)
    while from_one is not None or from_other is not None:
        if from_other is None or (from_one is not None and from_one[0] < from_other[0]):
            yield from_one, None
            from_one = next(one, None)
        elif from_one is None or from_other[0] < from_one[0]:
            yield None, from_other
            from_other = next(other, None)
        else:
            yield from_one, from_other
            from_one, from_other = next(one, None), next(other, None)


def _page_range(collection: Collection, run: int | None) -> tuple[int, int]:
    """The page numbers of a run as a half-open range."""
    if run is None:
        return 0, _END
    runs = collection.catalog.runs()
    if not 1 <= run <= len(runs):
        raise UsageError(f"{collection.folder.name} has no run {run}; it has {len(runs)}")
    return runs[run - 1].first_page, runs[run].first_page if run < len(runs) else _END


def _side(name: str, run: int | None, collection: Collection, page_range: tuple[int, int], tally: _Tally) -> Side:
    catalog = collection.catalog
    runs = catalog.runs()
    first, before = page_range
    chosen = runs if run is None else [runs[run - 1]]
    next_first_pages = [*(each.first_page for each in runs[1:]), None][: len(runs)]
    found = ((url, catalog.page(url)) for url in tally.best())
    return Side(
        name=name,
        run=run,
        strategy=", ".join(dict.fromkeys(strategy_or_policy(each) for each in chosen)) if chosen else "",
        pages=tally.pages,
        relevant=tally.relevant,
        harvest_rate=tally.relevant / tally.pages if tally.pages else 0.0,
        hosts=len(tally.hosts),
        curve=harvest_points(catalog.relevance_flags(first=first, before=before))[0],
        runs=[
            ComparedRun(
                number, strategy_or_policy(each), each.at, catalog.count_of_run(each.first_page, next_first_page)
            )
            for number, (each, next_first_page) in enumerate(zip(runs, next_first_pages, strict=True), 1)
        ][-MAX_RUNS:],
        only=tally.only,
        only_relevant=tally.only_relevant,
        only_pages=[OnlyPage(url, printable(row.title), row.relevance) for url, row in found if row is not None],
    )
