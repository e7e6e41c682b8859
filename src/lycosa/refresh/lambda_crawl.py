import numpy as np

from .drawing import highest
from .history import Floats, HistoryTable, Ints

FLOOR = 0.01  # of the mean: importance and change rate below which no page falls, so that each has its turn
_STEPS = 60  # at most; about six do
_HUGE = 1e100  # more than any column holds in earnest
_EXACT = 1e-9  # share of the budget that may be missed


class LambdaCrawl:
    """The page that is most overdue, each having its own best interval within the budget (Kolobov, Peres, Lu, Horvitz:
    Staying up to date with online content changes using reinforcement learning for scheduling, NeurIPS 2019).

    `per_time` is the number of looks that can be had per unit of time; if it is not given, the budget is taken to be
    one for the time since the latest look at any page. No page starves: none counts for less than a hundredth of
    the mean, and each is the more overdue the longer it waits. Pages never looked at come first, by importance.
    """

    name = "lambda"

    def __init__(self, *, per_time: float | None = None, seed: int = 0):
        self._per_time = per_time
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        if not len(pages) or budget <= 0:
            return np.empty(0, dtype=np.int64)
        ages = pages.ages(now)
        importance, _ = _in_means(pages.importance)
        rate, mean_rate = _in_means(pages.rate)
        expected = ages * mean_rate  # age, in the time between changes of the mean page
        per_time = _rate_of(budget, expected) if self._per_time is None else self._per_time / mean_rate
        overdue = expected * look_rates(importance, rate, min(max(per_time, 1 / _HUGE), _HUGE))
        return highest(overdue, budget, self._chance, then=importance)


def look_rates(importance: Floats, rate: Floats, per_time: float) -> Floats:
    """How often to look at each page: (−Δ + sqrt(Δ² + 4μΔ/λ))/2, with λ such that all looks make up the budget.

    λ is sought by Newton's method on the logarithms of both, within the bounds met so far.
    """
    urgency = importance * rate
    if not np.any(urgency > 0):
        return np.full(len(urgency), per_time / max(1, len(urgency)))
    low, high = -np.inf, np.inf
    at = 2 * np.log(np.sqrt(urgency).sum() / per_time)  # no look rate exceeds sqrt(μΔ/λ), so λ is not above this
    for _ in range(_STEPS):
        rates = _rates_at(urgency, rate, at)
        excess = float(np.log(rates.sum() / per_time))
        if abs(excess) < _EXACT:
            break
        low, high = (at, high) if excess > 0 else (low, at)
        slope = float((rates * (rates + rate) / np.maximum(2 * rates + rate, 1e-300)).sum() / rates.sum())
        at += excess / slope
        if not low < at < high:
            at = (low + high) / 2
    rates *= per_time / rates.sum()
    return rates


def _rates_at(urgency: Floats, rate: Floats, log_price: float) -> Floats:
    """The rates at one λ, written so that no two nearly equal numbers are subtracted."""
    wanted = urgency * np.exp(-log_price)
    rates: Floats = 2 * wanted / np.maximum(rate + np.sqrt(rate * rate + 4 * wanted), 1e-300)
    return rates


def _in_means(column: Floats) -> tuple[Floats, float]:
    """A column in multiples of its mean, none below the floor; and the mean, 1 if it is nothing."""
    column = np.where(column > 0, np.minimum(column, _HUGE), 0.0)
    mean = float(column.mean())
    return (np.maximum(column / mean, FLOOR), mean) if mean > 1 / _HUGE else (np.ones(len(column)), 1.0)


def _rate_of(budget: int, ages: Floats) -> float:
    """Looks per unit of time, if as many are had in every interval as long as that since the latest look."""
    known = ages[np.isfinite(ages) & (ages > 0)]
    return budget / float(known.min()) if len(known) else float(budget)
