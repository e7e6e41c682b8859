"""Measures: values that print as they are written, and that fold the steps of a crawl.

>>> Harvest @ 500
Harvest@500
>>> parse_measure("Harvest@500") == Harvest @ 500
True
"""

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import is_node, site_of

from .simulation import Step
from .tables import rounded

OptionalFloat = float | None  # None or NaN if unknown


@dataclass(frozen=True)
class Truth:
    """Ground truth about the pages of a world, independent of the crawler's judgement; None for what is unknown."""

    is_relevant: Callable[[Url], bool] | None = None
    targets: frozenset[Url] | None = None  # the pages to be found
    similarity: Callable[[Url], OptionalFloat] | None = None  # to the topic
    rank: Callable[[Url], OptionalFloat] | None = None  # in the pool of all crawls, 1 is best
    standing: Callable[[Url], OptionalFloat] | None = None  # ln(1 + in-links)
    directory_sites: frozenset[str] | None = None  # of pages that the world's directory lists
    earlier: frozenset[Url] | None = None  # pages of the crawl to compare with, for novelty and overlap


_WHERE_KNOWN = {
    "is_relevant": "which pages are on topic, known to worlds with topics: synthetic ones, documents with categories",
    "targets": "the pages to be found, to be chosen in worlds with topics or among the best pages of a graph",
    "similarity": "the likeness of pages to the topic, known in worlds with texts: synthetic ones and documents",
    "rank": "the ranks of the pooled pages, known in worlds with texts: synthetic ones and documents",
    "standing": "the standing of pages, known to synthetic worlds and graphs",
    "directory_sites": "the sites of a curated directory, known to worlds with one: synthetic ones",
    "earlier": "the pages of an earlier crawl, known where another crawl of the same world was made before",
}


class MissingTruthError(LycosaError):
    """A measure needs ground truth that the world does not have."""


@dataclass(frozen=True, repr=False)
class Measure:
    """A number that is defined after every step of a crawl.

    A cutoff limits the number of pages that count; without any step, the value is NaN.
    """

    name: str
    label: str = field(compare=False)  # of the axis of a chart
    fold: Callable[[Iterable[Step], Any], Iterator[float]] = field(compare=False)
    needs: str | None = field(default=None, compare=False)  # the field of `Truth` that `fold` gets
    lower_is_better: bool = field(default=False, compare=False)
    cutoff: int | None = None  # pages

    def __matmul__(self, cutoff: int) -> "Measure":
        if cutoff < 1:
            raise UsageError(f"{self.name}@{cutoff}: a cutoff is a number of pages from 1 on")
        return replace(self, cutoff=cutoff)

    def __repr__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    def over(self, steps: Iterable[Step], truth: Truth) -> Iterator[float]:
        """The value after each step up to the cutoff."""
        needed = getattr(truth, self.needs) if self.needs else None
        if self.needs and needed is None:
            raise MissingTruthError(f"{self} needs {self.needs}, {_WHERE_KNOWN[self.needs]}")
        return self.fold(islice(steps, self.cutoff), needed)

    def is_computable(self, truth: Truth) -> bool:
        """Whether the ground truth that the measure needs is available."""
        return self.needs is None or getattr(truth, self.needs) is not None

    def value(self, steps: Iterable[Step], truth: Truth) -> float:
        """The last value, or that at the cutoff."""
        return next(iter(deque(self.over(steps, truth), maxlen=1)), math.nan)


def _running_means(values: Iterable[OptionalFloat]) -> Iterator[float]:
    """The running mean of the known values."""
    total, known_count = 0.0, 0
    for value in values:
        if value is not None and not math.isnan(value):
            total += value
            known_count += 1
        yield total / known_count if known_count else math.nan


def _mean_of_pages(steps: Iterable[Step], value_of: Callable[[Url], OptionalFloat]) -> Iterator[float]:
    return _running_means(value_of(step.url) for step in steps)


def _share_found(steps: Iterable[Step], wanted: Set[Url]) -> Iterator[float]:
    return (found / len(wanted) if wanted else math.nan for found in _number_found(steps, wanted))


def _number_found(steps: Iterable[Step], wanted: Set[Url]) -> Iterator[float]:
    found = set[Url]()
    for step in steps:
        if step.url in wanted:
            found.add(step.url)
        yield float(len(found))


def _share_outside(steps: Iterable[Step], earlier: Set[Url]) -> Iterator[float]:
    return _running_means(step.url not in earlier for step in steps)


def _number_of_sites(steps: Iterable[Step], _: None) -> Iterator[float]:
    sites = set[Hashable]()
    for step in steps:
        sites.add(_site(step.url))
        yield float(len(sites))


def _share_of_sites(steps: Iterable[Step], directory_sites: Set[str]) -> Iterator[float]:
    sites, listed_count = set[Hashable](), 0
    for step in steps:
        site = _site(step.url)
        if site not in sites:
            sites.add(site)
            listed_count += site in directory_sites
        yield listed_count / len(sites)


def _site(url: Url) -> Hashable:
    return url if is_node(url) else site_of(url)  # a node is a site of its own


def _milliseconds(steps: Iterable[Step], _: None) -> Iterator[float]:
    return _running_means(1000 * step.seconds for step in steps)


Harvest = Measure("Harvest", "share of pages that are relevant", _mean_of_pages, "is_relevant")
TargetRecall = Measure("TargetRecall", "share of the targets that were found", _share_found, "targets")
MeanSimilarity = Measure("MeanSimilarity", "mean similarity to the topic", _mean_of_pages, "similarity")
MeanRank = Measure("MeanRank", "mean rank among the pooled pages", _mean_of_pages, "rank", lower_is_better=True)
MeanStatus = Measure("MeanStatus", "mean of ln(1 + in-links)", _mean_of_pages, "standing")
Diversity = Measure("Diversity", "sites met", _number_of_sites)
Reliability = Measure(
    "Reliability", "share of the sites met that the directory lists", _share_of_sites, "directory_sites"
)
Novelty = Measure("Novelty", "share of pages that the earlier crawl did not meet", _share_outside, "earlier")
Overlap = Measure("Overlap", "pages that the earlier crawl met too", _number_found, "earlier", lower_is_better=True)
StrategyCpu = Measure("StrategyCpu", "processor ms per page, strategy alone", _milliseconds, lower_is_better=True)

MEASURES = {
    measure.name: measure
    for measure in (
        Harvest,
        TargetRecall,
        MeanSimilarity,
        MeanRank,
        MeanStatus,
        Diversity,
        Reliability,
        Novelty,
        Overlap,
        StrategyCpu,
    )
}


def parse_measure(text: str) -> Measure:
    """The measure that prints as this text."""
    name, at, cutoff = text.strip().partition("@")
    if name not in MEASURES:
        raise UsageError(f"no measure {name!r}; there are {', '.join(MEASURES)}, each also cut off, as in Harvest@500")
    if not at:
        return MEASURES[name]
    pages = whole_number(cutoff)
    if pages is None:
        raise UsageError(f"no cutoff {cutoff[:40]!r} of {name}; write a number of pages, as in {name}@500")
    return MEASURES[name] @ pages


def points_along(pages: int, count: int) -> list[int]:
    """The page numbers of up to `count` evenly spaced points of a curve over a crawl of `pages` pages."""
    return sorted({max(1, round(pages * number / count)) for number in range(1, count + 1)})


def at_points(points: Sequence[int], curve: Iterable[float]) -> list[float | None]:
    """A curve at these points, to six digits; beyond its end the last value, None if unknown."""
    values = list(curve)
    if not values:
        return [None] * len(points)
    return [rounded(values[min(point, len(values)) - 1]) for point in points]
