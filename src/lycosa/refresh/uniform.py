import numpy as np

from .history import HistoryTable, Ints


class Uniform:
    """Any page, with equal chance: U of Kumar, Lang, Marlow, Tomkins, Efficient discovery of authoritative resources
    (ICDE 2008)."""

    name = "uniform"

    def __init__(self, *, seed: int = 0):
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return self._chance.permutation(len(pages))[: max(0, budget)]
