import numpy as np

from .history import Floats, HistoryTable, Ints


def expected_changes(pages: HistoryTable, rows: Ints, now: float) -> float:
    """How many of these pages a look now would find changed: Σ 1 − e^{−Δτ}."""
    return float(-np.expm1(-changes_since(pages.rate[rows], pages.ages(now)[rows])).sum())


def changes_since(rate: Floats, age: Floats) -> Floats:
    """Δτ, the changes to be expected in this time; 0 where the page never changes or was seen just now."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where((rate > 0) & (age > 0), rate * age, 0.0)
