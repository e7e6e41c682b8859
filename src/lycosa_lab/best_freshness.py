"""The best that any schedule of looks can do, when all change rates are known.

Cho, Garcia-Molina: Effective page refresh policies for web crawlers (TODS 2003); Azar et al. (PNAS 2018).
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 100  # of bisection
_EXPECTED = np.geomspace(1e-4, 700.0, 20_001)  # changes between two looks
_LEFT = _EXPECTED - np.log1p(_EXPECTED)  # −ln((1 + x)e^{−x}), so that also the longest intervals can be told apart


def best_intervals(importance: Floats, rate: Floats, per_day: float) -> Floats:
    """Days between looks at each page, infinite for those not worth a look, that make weighted freshness highest.

    A page looked at every I days is fresh for (1 − e^{−ΔI})/(ΔI) of the time. At the optimum one more look is worth the
    same on every page, λ = (μ/Δ)(1 − (1 + ΔI)e^{−ΔI}), and λ is such that the looks make up the budget.
    """
    most = importance / rate  # that any look at a page can be worth
    shortfall = most.max() / most
    low, high = float(_LEFT[0]), float(_LEFT[-1])  # λ is sought as 1 − e^{−y} of the most that any page is worth
    for _ in range(_ROUNDS):
        y = float(np.sqrt(low * high))
        if (1.0 / _intervals_at(y, shortfall, rate)).sum() > per_day:
            low = y
        else:
            high = y
    few, many = (1.0 / _intervals_at(y, shortfall, rate) for y in (high, low))
    # Where a page begins to be worth a look, rounding makes its looks jump up from none, all of them worth the same.
    missing, jump = per_day - few.sum(), (many - few).sum()
    looks = few + (many - few) * (min(1.0, missing / jump) if jump > 0 else 0.0)
    with np.errstate(divide="ignore"):
        intervals: Floats = 1.0 / looks
    return intervals


def freshness_at(intervals: Floats, rate: Floats) -> Floats:
    """The share of time for which each page is fresh, if looked at so often."""
    expected = rate * intervals
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(expected), -np.expm1(-expected) / expected, 0.0)


def best_freshness(importance: Floats, rate: Floats, per_day: float) -> float:
    """The highest weighted freshness that so many looks a day can keep up."""
    fresh = freshness_at(best_intervals(importance, rate, per_day), rate)
    return float((importance * fresh).sum() / importance.sum())


def _intervals_at(y: float, shortfall: Floats, rate: Floats) -> Floats:
    """The intervals after which looks are worth the share 1 − e^{−y} of the most, divided by each page's shortfall."""
    left = np.exp(-y) * shortfall + (1.0 - shortfall)
    with np.errstate(divide="ignore"):
        expected = np.interp(-np.log(np.maximum(left, 0.0)), _LEFT, _EXPECTED)
    return np.where(left > 0, expected / rate, np.inf)
