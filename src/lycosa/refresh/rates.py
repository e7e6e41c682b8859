"""How fast pages change, as told by looks that lie any time apart.

A look says only whether a page has changed since the look before, not how often. Where changes are a Poisson process
of rate a, the likelihood is highest where Σ Δ/(e^{aΔ} − 1) over the intervals Δ that saw a change equals the sum of
those that saw none. (Cho, Garcia-Molina: Estimating frequency of change, TOIT 2003.)
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

UNKNOWN_RATE = 1.0 / (60 * 86_400)  # changes per second of a page before any page was looked at twice
PRIOR_CHANGES = 0.5  # that count as seen: on the typical page at the rate above, on each page at that of the typical
_STEPS = 100  # at most; about ten do
_EXACT = 1e-12  # of the rate, at which a step is too small to matter


def change_rates(
    rows: Ints, intervals: Floats, changed: Bools, *, pages: int, unknown_rate: float = UNKNOWN_RATE
) -> Floats:
    """Changes per unit of time for each of so many pages, from the intervals between looks (row of the page, length,
    whether the page changed within).

    Each page counts as having changed half a time more, in the time that takes on the typical page; so pages seen
    rarely are taken for typical ones, those that changed every time have a finite rate, those that never did a small
    one. The typical page in turn counts as having changed half a time more, in the time that takes at `unknown_rate`;
    so a few quick looks, which can tell little, do not make it seem fast. Intervals that are not positive and finite
    tell nothing.
    """
    told = (intervals > 0) & np.isfinite(intervals)
    rows, intervals, changed = rows[told], intervals[told], changed[told]
    typical = typical_rate(intervals, changed, unknown_rate=unknown_rate)
    return likeliest_rates(
        rows, intervals, changed, pages=pages, prior_changes=PRIOR_CHANGES, prior_time=PRIOR_CHANGES / typical
    )


def typical_rate(intervals: Floats, changed: Bools, *, unknown_rate: float = UNKNOWN_RATE) -> float:
    """One rate for all intervals together, as if they were those of one page; the unknown one where there are none."""
    together = likeliest_rates(
        np.zeros(len(intervals), dtype=np.int64),
        intervals,
        changed,
        pages=1,
        prior_changes=PRIOR_CHANGES,
        prior_time=PRIOR_CHANGES / unknown_rate,
    )
    return float(together[0])


def likeliest_rates(
    rows: Ints, intervals: Floats, changed: Bools, *, pages: int, prior_changes: float, prior_time: float
) -> Floats:
    """The rates a at which Σ_changed Δ/(e^{aΔ} − 1) + prior_changes/a = Σ_unchanged Δ + prior_time, for each page.

    The left side falls and is convex, so Newton's method climbs to the root from any point below it; 1/a − Δ/2 is
    less than Δ/(e^{aΔ} − 1), which gives such a point.
    """
    at, lengths = rows[changed], intervals[changed]
    quiet = np.bincount(rows[~changed], intervals[~changed], minlength=pages) + prior_time
    seen = np.bincount(at, minlength=pages) + prior_changes
    rate: Floats = np.divide(seen, quiet + np.bincount(at, lengths, minlength=pages) / 2, dtype=np.float64)
    for _ in range(_STEPS):
        grown = np.expm1(np.minimum(rate[at] * lengths, 500.0))  # beyond, nothing is left to add
        parts = lengths / grown
        excess = np.bincount(at, parts, minlength=pages) + prior_changes / rate - quiet
        slope = np.bincount(at, parts * (lengths + parts), minlength=pages) + prior_changes / rate**2
        step = np.maximum(0.0, excess / slope)
        rate += step
        if not np.any(step > _EXACT * rate):
            break
    return rate
