import numpy as np

from .drawing import by_turns, highest
from .history import HistoryTable, Ints


class LinkScoreOrUniform:
    """By the toss of a coin the page of the highest link score, or any page: LDU of Kumar et al. (2008).

    Pages that were looked at once have no link score yet: they rank below all that have one, in random order, and get
    their second look by the uniform half.
    """

    name = "ldu"

    def __init__(self, *, seed: int = 0):
        self._chance = np.random.default_rng(seed)

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        by_score = highest(pages.link_score, budget, self._chance)
        return by_turns(by_score, self._chance.permutation(len(pages))[: max(0, budget)], budget, self._chance)
