import numpy as np

from .drawing import highest
from .history import HistoryTable, Ints


class Fixed:
    """Each page at a fixed interval: the one that was not looked at for longest first, and with `older_than` only those
    whose last look is at least so long ago."""

    name = "fixed"

    def __init__(self, *, older_than: float | None = None, seed: int = 0):
        self._older_than = older_than
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        ages = pages.ages(now)
        rows = highest(ages, budget, self._chance)
        return rows if self._older_than is None else rows[ages[rows] >= self._older_than]
