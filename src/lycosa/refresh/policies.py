"""Refresh policies: which pages of a collection to fetch again, within a budget of requests.

A policy chooses rows of a `HistoryTable`. Of a page, μ is the importance, Δ the estimated changes per unit of time,
and τ the time since the last fetch. The first five policies are those of Kumar, Lang, Marlow, Tomkins: Efficient
discovery of authoritative resources (ICDE 2008); their `weight` also applies to the history of a single page.
"""

from typing import Any, Protocol

import numpy as np

from .history import Floats, HistoryTable, Ints

MIN_SHARE = 0.01  # of the mean: lower bound of importance and change rate, so that every page is fetched some time
_MAX_STEPS = 60  # of Newton's method; about six suffice
_UPPER_BOUND = 1e100  # larger than any real value
_TOLERANCE = 1e-9  # share of the budget by which the crawl rates may miss it
_SERIES_BELOW = 0.02  # below, 1 − (1 + x)e^{−x} is computed from its series, since the terms nearly cancel


class RefreshPolicy(Protocol):
    """Chooses pages to fetch again. Constructor keywords are its options; the same seed gives the same choices."""

    name: str

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        """Rows of the table, the most urgent first, no row twice; `budget` of them, or fewer if it wants no more."""
        ...


class LinkHistory(Protocol):
    """The input of the first five policies: of one page, or columns of many."""

    @property
    def out_links(self) -> Any:
        """Links seen on the page so far."""

    @property
    def yielded(self) -> Any:
        """New links per unit of time at the latest fetch; NaN before the second fetch."""

    @property
    def link_score(self) -> Any:
        """Sum of the known in-links of those new links' targets; NaN before the second fetch."""


# ---------------------------------------------------------------- policies


class Uniform:
    """Any page, with equal probability: U of Kumar et al."""

    name = "uniform"

    def __init__(self, *, seed: int = 0):
        self._random = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return _shuffled(len(pages), budget, self._random)


class OutLinks:
    """A page with probability proportional to the links seen on it so far: OR of Kumar et al.

    Pages without links are chosen when no others are left.
    """

    name = "or"

    def __init__(self, *, seed: int = 0):
        self._random = np.random.default_rng(seed)

    @staticmethod
    def weight(page: LinkHistory) -> Any:
        return page.out_links

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return weighted_sample(self.weight(pages).astype(np.float64), budget, self._random)


class Yield:
    """A page with probability proportional to its yield: YR of Kumar et al.

    The yield is the number of new links divided by the time since the previous fetch. Pages that were fetched once have
    no yield yet; they come, like those whose yield is zero, when no others are left, in random order.
    """

    name = "yr"

    def __init__(self, *, seed: int = 0):
        self._random = np.random.default_rng(seed)

    @staticmethod
    def weight(page: LinkHistory) -> Any:
        return page.yielded

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return weighted_sample(self.weight(pages), budget, self._random)


class YieldOrUniform(Yield):
    """With probability 1/2 each, what Yield chooses or any page: YRU of Kumar et al.

    Pages that were fetched once are fetched again by the uniform half.
    """

    name = "yru"

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        yield_order = super().choose(pages, now, budget)
        return interleave(yield_order, _shuffled(len(pages), budget, self._random), budget, self._random)


class LinkScoreOrUniform:
    """With probability 1/2 each, the page of the highest link score or any page: LDU of Kumar et al.

    Pages that were fetched once have no link score yet: they rank below all that have one, in random order, and are
    fetched again by the uniform half.
    """

    name = "ldu"

    def __init__(self, *, seed: int = 0):
        self._random = np.random.default_rng(seed)

    @staticmethod
    def weight(page: LinkHistory) -> Any:
        return page.link_score

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        score_order = highest(self.weight(pages), budget, self._random)
        return interleave(score_order, _shuffled(len(pages), budget, self._random), budget, self._random)


class Fixed:
    """The pages whose last fetch is oldest; with `older_than`, only those whose age τ is at least that."""

    name = "fixed"

    def __init__(self, *, older_than: float | None = None, seed: int = 0):
        self._older_than = older_than
        self._random = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        ages = pages.ages(now)
        rows = highest(ages, budget, self._random)
        return rows if self._older_than is None else rows[ages[rows] >= self._older_than]


class CrawlValue:
    """The page of the highest crawl value (μ/Δ)(1 − (1 + Δτ)e^{−Δτ}) (Azar, Horvitz, Lubetzky, Peres, Shahaf: Tractable
    near-optimal policies for crawling, PNAS 2018; Busa-Fekete et al. 2025).

    Ties, as of pages that never change or have no importance, are broken by age.
    """

    name = "crawl-value"

    def __init__(self, *, seed: int = 0):
        self._random = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        ages = pages.ages(now)
        return highest(crawl_values(pages.importance, pages.rate, ages), budget, self._random, then=ages)


class LambdaCrawl:
    """The page with the highest ρτ, the number of fetches overdue, where ρ is its optimal crawl rate within the budget
    (Kolobov, Peres, Lu, Horvitz: Staying up to date with online content changes using reinforcement learning for
    scheduling, NeurIPS 2019).

    No page starves: importance and change rate count as at least 1 % of their means, and ρτ grows while it waits. Pages
    never fetched come first, by importance.

    per_time: fetches per unit of time; if it is None, a budget is taken to be for an interval as long as the time since
    the latest fetch of any page.
    """

    name = "lambda"

    def __init__(self, *, per_time: float | None = None, seed: int = 0):
        self._per_time = per_time
        self._random = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        if not len(pages) or budget <= 0:
            return np.empty(0, dtype=np.int64)
        ages = pages.ages(now)
        importance, _ = _relative_to_mean(pages.importance)
        rate, mean_rate = _relative_to_mean(pages.rate)
        ages = ages * mean_rate  # in the mean time between changes, the unit of `rate` from here on
        per_time = _crawl_rate_of(budget, ages) if self._per_time is None else self._per_time / mean_rate
        overdue = ages * crawl_rates(importance, rate, min(max(per_time, 1 / _UPPER_BOUND), _UPPER_BOUND))
        return highest(overdue, budget, self._random, then=importance)


# ---------------------------------------------------------------- formulas


def expected_changes(pages: HistoryTable, rows: Ints, now: float) -> float:
    """Expected number of these pages that a fetch now would find changed: Σ 1 − e^{−Δτ}."""
    return float(-np.expm1(-_expected_changes_each(pages.rate[rows], pages.ages(now)[rows])).sum())


def _expected_changes_each(rate: Floats, age: Floats) -> Floats:
    """Δτ; 0 if the page never changes or was fetched just now."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where((rate > 0) & (age > 0), rate * age, 0.0)


def crawl_values(importance: Floats, rate: Floats, age: Floats) -> Floats:
    """(μ/Δ)(1 − (1 + Δτ)e^{−Δτ}): 0 where Δ or τ is 0, and μ/Δ for a page never fetched (τ = ∞)."""
    expected = _expected_changes_each(rate, age)
    decay = np.exp(-expected)
    large = -np.expm1(-expected) - np.minimum(expected, 1e3) * decay
    x = np.minimum(expected, _SERIES_BELOW)
    small = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x * (1 / 144 - x / 840)))))
    staleness = np.where(expected < _SERIES_BELOW, small, large)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values: Floats = np.where(importance > 0, importance, 0.0) * np.where(rate > 0, staleness / rate, 0.0)
    return np.asarray(np.nan_to_num(values), dtype=np.float64)


def crawl_rates(importance: Floats, rate: Floats, per_time: float) -> Floats:
    """Fetches per unit of time of each page: ρ = (−Δ + sqrt(Δ² + 4μΔ/λ))/2, with λ such that Σ ρ = `per_time`.

    importance: μ of each page.
    rate: Δ, its changes per unit of time.
    """
    urgency = importance * rate
    if not np.any(urgency > 0):
        return np.full(len(urgency), per_time / max(1, len(urgency)))
    low, high = -np.inf, np.inf
    # Newton's method for log λ on log(Σ ρ / per_time), which falls steadily in log λ. As ρ ≤ sqrt(μΔ/λ), it starts at
    # an upper bound of the root; a step that leaves the bracket of the points met so far is replaced by a bisection.
    log_lambda = 2 * np.log(np.sqrt(urgency).sum() / per_time)
    for _ in range(_MAX_STEPS):
        rates = _rates_for(urgency, rate, log_lambda)
        excess = float(np.log(rates.sum() / per_time))
        if abs(excess) < _TOLERANCE:
            break
        low, high = (log_lambda, high) if excess > 0 else (low, log_lambda)
        slope = float((rates * (rates + rate) / np.maximum(2 * rates + rate, 1e-300)).sum() / rates.sum())
        log_lambda += excess / slope
        if not low < log_lambda < high:
            log_lambda = (low + high) / 2
    rates *= per_time / rates.sum()
    return rates


def _rates_for(urgency: Floats, rate: Floats, log_lambda: float) -> Floats:
    """ρ at one λ, as 2w/(Δ + sqrt(Δ² + 4w)) with w = μΔ/λ: the form above would subtract nearly equal numbers."""
    w = urgency * np.exp(-log_lambda)
    rates: Floats = 2 * w / np.maximum(rate + np.sqrt(rate * rate + 4 * w), 1e-300)
    return rates


def _relative_to_mean(column: Floats) -> tuple[Floats, float]:
    """A column in multiples of its mean, none below MIN_SHARE; and the mean, or ones and 1 if the mean is zero."""
    column = np.where(column > 0, np.minimum(column, _UPPER_BOUND), 0.0)
    mean = float(column.mean())
    return (np.maximum(column / mean, MIN_SHARE), mean) if mean > 1 / _UPPER_BOUND else (np.ones(len(column)), 1.0)


def _crawl_rate_of(budget: int, ages: Floats) -> float:
    """Fetches per unit of time: `budget` divided by the time since the latest fetch of any page."""
    known = ages[np.isfinite(ages) & (ages > 0)]
    return budget / float(known.min()) if len(known) else float(budget)


# ---------------------------------------------------------------- choosing rows, none twice


def weighted_sample(weights: Floats, budget: int, random: "np.random.Generator") -> Ints:
    """Rows drawn one after the other, each with probability proportional to its weight among those left.

    Rows without a weight (zero, negative, NaN) come when no others are left, in random order.
    """
    weights = np.where(weights > 0, np.minimum(weights, np.finfo(np.float64).max), 0.0)
    # Each row gets an exponential time with its weight as rate; the order of these times is such a sample.
    waits = random.exponential(size=len(weights))
    with np.errstate(divide="ignore", over="ignore"):
        keys = np.log(waits) - np.log(weights)  # logarithms, so that no weight is too small or too large
    return smallest(budget, keys, waits)


def highest(values: Floats, budget: int, random: "np.random.Generator", *, then: Floats | None = None) -> Ints:
    """The rows of the highest values (NaN counts as lowest); ties by the higher `then`, else in random order."""
    values = np.where(np.isnan(values), -np.inf, values)
    ties = [] if then is None else [-then]
    return smallest(budget, -values, *ties, random.random(len(values)))


def interleave(first: Ints, second: Ints, budget: int, random: "np.random.Generator") -> Ints:
    """Merges two orders of the same rows: each next row from either with probability 1/2, and no row twice."""
    orders = first.tolist(), second.tolist()
    next_index, taken, chosen = [0, 0], set[int](), list[int]()
    for side in random.integers(2, size=max(0, min(budget, len(first)))).tolist():
        order, index = orders[side], next_index[side]
        while order[index] in taken:
            index += 1
        next_index[side] = index + 1
        taken.add(order[index])
        chosen.append(order[index])
    return np.array(chosen, dtype=np.int64)


def smallest(budget: int, keys: Floats, *ties: Floats) -> Ints:
    """The rows of the smallest keys, equals by the smallest of the next key, and so on."""
    budget = max(0, min(budget, len(keys)))
    if budget == 0:
        return np.empty(0, dtype=np.int64)
    rows = np.arange(len(keys))
    if budget < len(keys):  # partition first: sorting all rows is slower, and a budget is small
        rows = np.flatnonzero(keys <= np.partition(keys, budget - 1)[budget - 1])
    order = np.lexsort([key[rows] for key in (keys, *ties)][::-1])
    return rows[order[:budget]]


def _shuffled(size: int, budget: int, random: "np.random.Generator") -> Ints:
    return random.permutation(size)[: max(0, budget)]
