import numpy as np

from .drawing import highest
from .expecting import changes_since
from .history import Floats, HistoryTable, Ints

_SMALL = 0.02  # below it, the difference of two nearly equal numbers is taken from its series


class CrawlValue:
    """The page whose look is worth most now, by importance, change rate and age together (Azar, Horvitz, Lubetzky,
    Peres, Shahaf: Tractable near-optimal policies for crawling, PNAS 2018; Busa-Fekete et al. 2025).

    Equal values, as of pages that never change or have no importance, go by age.
    """

    name = "crawl-value"

    def __init__(self, *, seed: int = 0):
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        ages = pages.ages(now)
        return highest(crawl_values(pages.importance, pages.rate, ages), budget, self._chance, then=ages)


def crawl_values(importance: Floats, rate: Floats, age: Floats) -> Floats:
    """(μ/Δ)(1 − (1 + Δτ)e^{−Δτ}), which is 0 where Δ or τ is, and μ/Δ for a page never looked at."""
    expected = changes_since(rate, age)
    fading = np.exp(-expected)
    large = -np.expm1(-expected) - np.minimum(expected, 1e3) * fading
    x = np.minimum(expected, _SMALL)
    small = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x * (1 / 144 - x / 840)))))
    certain = np.where(expected < _SMALL, small, large)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values: Floats = np.where(importance > 0, importance, 0.0) * np.where(rate > 0, certain / rate, 0.0)
    return np.asarray(np.nan_to_num(values), dtype=np.float64)
