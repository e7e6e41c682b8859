import numpy as np

from .drawing import by_turns, drawn
from .history import HistoryTable, Ints


class Yield:
    """A page in proportion to its yield, new links over the time since the look before: YR of Kumar et al. (2008).

    Pages that were looked at once have no yield yet; they come, like those whose yield is zero, when no others are
    left, each as likely.
    """

    name = "yr"

    def __init__(self, *, seed: int = 0):
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return drawn(pages.yielded, budget, self._chance)


class YieldOrUniform:
    """By the toss of a coin a page in proportion to its yield, or any page: YRU of Kumar et al. (2008). Pages that were
    looked at once get their second look by the latter."""

    name = "yru"

    def __init__(self, *, seed: int = 0):
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        by_yield = drawn(pages.yielded, budget, self._chance)
        return by_turns(by_yield, self._chance.permutation(len(pages))[: max(0, budget)], budget, self._chance)
