"""Change rates of pages, estimated from fetches at irregular intervals.

A fetch shows only whether a page has changed since the last fetch, not how often. If changes are a Poisson process of
rate Δ, the likelihood is maximal when Σ t/(e^{Δt} − 1) over the intervals t with a change equals the sum of the
intervals without. (Cho, Garcia-Molina: Estimating frequency of change, TOIT 2003.)
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

UNKNOWN_RATE = 1.0 / (60 * 86_400)  # changes per second of a page before any page was fetched twice
PRIOR_CHANGES = 0.5  # weight of the prior, in changes
_MAX_STEPS = 100  # about ten suffice
_TOLERANCE = 1e-12  # relative step at which the method ends


def change_rates(
    rows: Ints, intervals: Floats, changed: Bools, *, pages: int, unknown_rate: float = UNKNOWN_RATE
) -> Floats:
    """Changes per unit of time of each page, from the intervals between fetches.

    The estimate has a prior: PRIOR_CHANGES more changes, in the time that they take on the typical page. So pages seen
    rarely are close to the typical one, those that changed every time have a finite rate, and those that never did a
    small one. The typical page has the same prior at `unknown_rate`: a few fetches in quick succession do not make it
    seem fast. Intervals that are not positive and finite are left out.

    rows: the index of the page of each interval, from 0 to `pages` - 1.
    pages: number of pages.
    changed: whether the page changed within the interval.
    """
    usable = (intervals > 0) & np.isfinite(intervals)
    rows, intervals, changed = rows[usable], intervals[usable], changed[usable]
    typical = typical_rate(intervals, changed, unknown_rate=unknown_rate)
    return maximum_likelihood_rates(
        rows, intervals, changed, pages=pages, prior_changes=PRIOR_CHANGES, prior_time=PRIOR_CHANGES / typical
    )


def typical_rate(intervals: Floats, changed: Bools, *, unknown_rate: float = UNKNOWN_RATE) -> float:
    """The rate of all pages together, as if all intervals were of one page; `unknown_rate` if there are none."""
    rates = maximum_likelihood_rates(
        np.zeros(len(intervals), dtype=np.int64),
        intervals,
        changed,
        pages=1,
        prior_changes=PRIOR_CHANGES,
        prior_time=PRIOR_CHANGES / unknown_rate,
    )
    return float(rates[0])


def maximum_likelihood_rates(
    rows: Ints, intervals: Floats, changed: Bools, *, pages: int, prior_changes: float, prior_time: float
) -> Floats:
    """For each page the rate Δ at which Σ_changed t/(e^{Δt} − 1) + prior_changes/Δ = Σ_unchanged t + prior_time.

    prior_changes, prior_time: a gamma prior; it counts as additional changes, and as additional time without a change.
    """
    changed_rows, times = rows[changed], intervals[changed]
    unchanged_time = np.bincount(rows[~changed], intervals[~changed], minlength=pages) + prior_time
    change_counts = np.bincount(changed_rows, minlength=pages) + prior_changes
    # The left side falls and is convex in Δ, so Newton's method climbs to the root from any point below it. As
    # 1/Δ − t/2 < t/(e^{Δt} − 1), the root of the equation with the smaller terms is such a point.
    changed_time = np.bincount(changed_rows, times, minlength=pages)
    rate: Floats = np.divide(change_counts, unchanged_time + changed_time / 2, dtype=np.float64)
    for _ in range(_MAX_STEPS):
        growth = np.expm1(np.minimum(rate[changed_rows] * times, 500.0))  # beyond 500 the term vanishes
        terms = times / growth
        excess = np.bincount(changed_rows, terms, minlength=pages) + prior_changes / rate - unchanged_time
        slope = np.bincount(changed_rows, terms * (times + terms), minlength=pages) + prior_changes / rate**2
        step = np.maximum(0.0, excess / slope)
        rate += step
        if not np.any(step > _TOLERANCE * rate):
            break
    return rate
