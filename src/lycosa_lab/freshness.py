"""A collection that is refreshed daily in a changing world, and the optimal schedule.

A page is fresh while it has not changed since its last fetch. Freshness is the share of the time for which pages are
fresh, as a mean over pages, or a mean weighted by their importance. `ChangingPages` are pages of such a world and when
they change; `simulate_refresh` refreshes them by a policy; `optimal_freshness` is the optimum for known change rates
(Cho, Garcia-Molina: Effective page refresh policies for web crawlers, TODS 2003; Azar et al., PNAS 2018).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lycosa.refresh import HistoryTable, RefreshPolicy, change_rates
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PAGE_OFFSET = 1e6  # days; the change of row r on day d is stored as r * _PAGE_OFFSET + d


def require_synthetic(world: StudyWorld) -> SyntheticWorld:
    """The world, if it changes over time."""
    if not isinstance(world, SyntheticWorld):
        raise UsageError(f"the world {world.name} stands still; run this study on --world synthetic")
    return world


def standing_weights(world: SyntheticWorld, page_numbers: Ints) -> Floats:
    """The standing of pages, 0 to 1: sigmoid(s - median of s), with s = ln(1 + in-links)."""
    status = np.log1p(world.plan.in_links[page_numbers].astype(np.float64))
    weights: Floats = 1.0 / (1.0 + np.exp(np.median(status) - status))
    return weights


@dataclass(frozen=True)
class ChangingPages:
    """Pages of a world, as rows, over some days, at the end of which all still exist.

    A page changes when its text does; new links added without a change of text do not count.
    """

    world: SyntheticWorld
    days: int
    page_numbers: Ints  # of each row, the number of the page in the world
    rates: Floats  # changes a day
    importance: Floats  # standing, 0 to 1

    @classmethod
    def of(cls, world: SyntheticWorld, *, days: int) -> "ChangingPages":
        """All pages of the start that still exist after so many days."""
        remaining = world.at(float(days)).numbers()
        initial = remaining[remaining < len(world.plan)]
        return cls(world, days, initial, world.change_rates(initial), standing_weights(world, initial))

    def __len__(self) -> int:
        return len(self.page_numbers)

    @cached_property
    def _change_times(self) -> Floats:
        """The times of all changes of all pages, in one sorted array: row * _PAGE_OFFSET + day; infinity is last."""
        end = self.world.at(float(self.days))
        times = [end.changes(number) + row * _PAGE_OFFSET for row, number in enumerate(self.page_numbers.tolist())]
        return np.concatenate([*times, [np.inf]])

    def next_change(self, rows: Ints, day: float) -> Floats:
        """The time of each page's first change after a day; infinite if there is none before the end."""
        following = (
            self._change_times[np.searchsorted(self._change_times, rows * _PAGE_OFFSET + day, side="right")]
            - rows * _PAGE_OFFSET
        )
        return np.where(following <= self.days, following, np.inf)


Bools = NDArray[np.bool_]

RateSource = Literal["estimated", "known", "not asked for"]  # how a policy gets change rates
ESTIMATED: RateSource = "estimated"
KNOWN: RateSource = "known"
UNUSED: RateSource = "not asked for"
UNKNOWN_RATE = 0.02  # changes per day, assumed until some page was fetched twice


class FetchHistory:
    """What is known from past fetches, and when the copies become outdated; on day 0 every page was fetched once.

    All arrays have one entry for each row of the pages; `out_links`, `yielded` and `link_score` are set by the caller.
    """

    def __init__(self, pages: ChangingPages, *, rates: RateSource):
        self._pages, self._rate_source = pages, rates
        count = len(pages)
        self._urls = [pages.world.url(number) for number in pages.page_numbers.tolist()]
        self.fetched_at = np.zeros(count)  # day of the last fetch
        self.stale_from = pages.next_change(np.arange(count), 0.0)  # day of the first change after it
        self._fetch_counts = np.ones(count, dtype=np.int64)
        self._change_counts = np.zeros(count, dtype=np.int64)  # fetches that found the page changed
        self.out_links = np.zeros(count, dtype=np.int64)  # number of links seen on it so far
        self.yielded = np.full(count, np.nan)  # new links per day at the last fetch; NaN before the second
        self.link_score = np.full(count, np.nan)  # sum of the in-links seen so far of those new links' targets
        self._refetches: list[tuple[Ints, Floats, Bools]] = []  # rows, days since the fetch before, whether changed

    def table(self) -> HistoryTable:
        pages = self._pages
        return HistoryTable(
            urls=self._urls,
            importance=pages.importance,
            fetched_at=self.fetched_at,
            fetches=self._fetch_counts,
            changes=self._change_counts,
            rate=pages.rates if self._rate_source == KNOWN else self._estimated_rates(),
            out_links=self.out_links,
            yielded=self.yielded,
            link_score=self.link_score,
        )

    def fetch(self, rows: Ints, day: float) -> Bools:
        """Records a fetch of some pages; returns which of them have changed."""
        changed = self.stale_from[rows] <= day
        self._refetches.append((rows, day - self.fetched_at[rows], changed))
        self._fetch_counts[rows] += 1
        self._change_counts[rows] += changed
        self.fetched_at[rows] = day
        self.stale_from[rows] = self._pages.next_change(rows, day)
        return changed

    def fresh_days(self, rows: Ints | slice, *, start: float, end: float) -> Floats:
        """For how many days between two times each page was fresh since its last fetch."""
        since = np.maximum(self.fetched_at[rows], start)
        days: Floats = np.maximum(0.0, np.minimum(self.stale_from[rows], end) - since)
        return days

    def _estimated_rates(self) -> Floats:
        count = len(self._pages)
        if self._rate_source == UNUSED or not self._refetches:
            return np.full(count, UNKNOWN_RATE)
        rows, intervals, changed = (np.concatenate(column) for column in zip(*self._refetches, strict=True))
        return change_rates(rows, intervals, changed, pages=count, unknown_rate=UNKNOWN_RATE)


class LinkDiscovery:
    """The links seen on pages, and the pages created since the start that they lead to, with the authorities: the most
    linked of them.

    authority_in_links: number of in-links from which a page is an authority.
    """

    def __init__(self, pages: ChangingPages, *, authority_in_links: float):
        self._page_numbers = pages.page_numbers.tolist()
        self._first_new_page, self._authority_in_links = len(pages.world.plan), authority_in_links
        start = pages.world
        self._seen_links = [set(start.links_of(number).targets.tolist()) for number in self._page_numbers]
        self._in_links: dict[int, int] = {}  # by page: how many links to it were seen
        for links in self._seen_links:
            for target in links:
                self._in_links[target] = self._in_links.get(target, 0) + 1
        self.new_pages: set[int] = set()
        self.new_authorities: set[int] = set()

    def share_found(self, world: SyntheticWorld) -> float | None:
        """The share of the authorities created since the start that were found; None if there are none."""
        created_count = int((world.plan.in_links[self._first_new_page :] >= self._authority_in_links).sum())
        return len(self.new_authorities) / created_count if created_count else None

    def link_counts(self) -> Ints:
        """The number of links seen on each page at its last fetch."""
        return np.array([len(links) for links in self._seen_links], dtype=np.int64)

    def update(self, row: int, world: SyntheticWorld) -> tuple[int, int]:
        """Records a fetch; returns how many links are new, and how many links to their targets were seen so far."""
        links = set(world.links_of(self._page_numbers[row]).targets.tolist())
        new = links - self._seen_links[row]
        self._seen_links[row] = links
        for target in new:
            self._in_links[target] = self._in_links.get(target, 0) + 1
            if target >= self._first_new_page:
                self.new_pages.add(target)
                if world.plan.in_links[target] >= self._authority_in_links:
                    self.new_authorities.add(target)
        return len(new), sum(self._in_links[target] for target in new)


def simulate_refresh(
    pages: ChangingPages,
    policy: RefreshPolicy,
    *,
    budget: int,
    rates: RateSource,
    measured_from: int,
    authority_in_links: float | None,
) -> Mapping[str, JsonValue]:
    """The freshness of the pages under a policy with a daily budget of fetches, measured from some day to the end.

    rates: `KNOWN` gives the policy the true ones, `ESTIMATED` those estimated from its own fetches, `UNUSED` none.
    authority_in_links: in-links from which a new page is an authority; None if the policy needs no links: none are
        read.
    """
    history = FetchHistory(pages, rates=rates)
    links = None if authority_in_links is None else LinkDiscovery(pages, authority_in_links=authority_in_links)
    if links is not None:
        history.out_links += links.link_counts()
    fresh_days, found_changed, fetches = np.zeros(len(pages)), 0, 0
    weight = pages.importance / pages.importance.sum()
    curve = []
    for day in range(1, pages.days):
        curve.append(float(weight @ (history.stale_from > day)))
        rows = policy.choose(history.table(), float(day), budget)
        fresh_days[rows] += history.fresh_days(rows, start=measured_from, end=day)
        waited = day - history.fetched_at[rows]
        changed = history.fetch(rows, float(day))
        fetches += len(rows)
        found_changed += int(changed.sum())
        if links is not None:
            world = pages.world.at(float(day))
            for row, days in zip(rows.tolist(), waited.tolist(), strict=True):
                new, score = links.update(row, world)
                history.out_links[row] += new
                history.yielded[row], history.link_score[row] = new / days, score
    fresh_days += history.fresh_days(slice(None), start=measured_from, end=pages.days)
    fresh = fresh_days / (pages.days - measured_from)
    return {
        "freshness": float(fresh.mean()),
        "weighted_freshness": float(weight @ fresh),
        "looks": fetches,
        "found_changed": found_changed,  # number of looks
        "new_pages": None if links is None else len(links.new_pages),  # number of pages found
        "new_authorities": None if links is None else len(links.new_authorities),  # the same
        # A share of all new authorities.
        "authorities_found": None if links is None else links.share_found(pages.world.at(float(pages.days))),
        "curve": [round(value, 5) for value in curve],  # weighted freshness, day by day
    }


_BISECTION_STEPS = 100
_EXPECTED_CHANGES = np.geomspace(1e-4, 700.0, 20_001)  # x, the expected changes between two fetches
# y(x) = −ln((1 + x)e^{−x}), which differs even between the longest intervals
_Y = _EXPECTED_CHANGES - np.log1p(_EXPECTED_CHANGES)


def optimal_intervals(importance: Floats, rate: Floats, per_day: float) -> Floats:
    """The days between two fetches of each page that maximise weighted freshness; infinite for pages not to be fetched.

    A page of importance μ that changes Δ times a day (`rate`) and is fetched every I days is fresh for
    (1 − e^{−ΔI})/(ΔI) of the time. At the optimum the marginal value of a fetch is the same for every page,
    λ = (μ/Δ)(1 − (1 + ΔI)e^{−ΔI}), and λ is such that the fetches use up the budget, `per_day` of all pages together.
    """
    max_value = importance / rate  # limit of the marginal value of a fetch for long intervals
    max_value_ratio = max_value.max() / max_value
    low, high = float(_Y[0]), float(_Y[-1])  # of y, where λ = (1 − e^{−y}) * max_value.max()
    for _ in range(_BISECTION_STEPS):
        y = float(np.sqrt(low * high))
        if (1.0 / _intervals_at(y, max_value_ratio, rate)).sum() > per_day:
            low = y
        else:
            high = y
    low_rates, high_rates = (1.0 / _intervals_at(y, max_value_ratio, rate) for y in (high, low))
    # When a page starts to be fetched at all, rounding makes its rate jump up from 0 at a single marginal value.
    missing, jump = per_day - low_rates.sum(), (high_rates - low_rates).sum()
    rates = low_rates + (high_rates - low_rates) * (min(1.0, missing / jump) if jump > 0 else 0.0)
    with np.errstate(divide="ignore"):
        intervals: Floats = 1.0 / rates
    return intervals


def freshness_at(intervals: Floats, rate: Floats) -> Floats:
    """The share of time for which each page is fresh, if fetched at these intervals."""
    expected_changes = rate * intervals
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(expected_changes), -np.expm1(-expected_changes) / expected_changes, 0.0)


def optimal_freshness(importance: Floats, rate: Floats, per_day: float) -> float:
    """The highest weighted freshness that so many fetches a day can maintain."""
    fresh = freshness_at(optimal_intervals(importance, rate, per_day), rate)
    return float((importance * fresh).sum() / importance.sum())


def _intervals_at(y: float, max_value_ratio: Floats, rate: Floats) -> Floats:
    """The intervals at which the marginal value of a fetch is 1 − e^{−y} times the highest of all pages.

    remainder = (1 + x)e^{−x} = 1 − max_value_ratio * (1 − e^{−y}), with x = rate * interval.
    """
    remainder = np.exp(-y) * max_value_ratio + (1.0 - max_value_ratio)
    with np.errstate(divide="ignore"):
        expected_changes = np.interp(-np.log(np.maximum(remainder, 0.0)), _Y, _EXPECTED_CHANGES)
    return np.where(remainder > 0, expected_changes / rate, np.inf)
