import numpy as np

from .drawing import drawn
from .history import HistoryTable, Ints


class OutLinks:
    """A page in proportion to the links seen on it to date: OR of Kumar et al. (2008). Pages on which none was seen
    come when no others are left."""

    name = "or"

    def __init__(self, *, seed: int = 0):
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return drawn(pages.out_links.astype(np.float64), budget, self._chance)
