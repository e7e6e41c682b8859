"""The pages fetched last, with which others are compared."""

from collections.abc import Sequence

import numpy as np

from lycosa.vocabulary.records import Plain

from .utility import Form

_NEARLY = 1e-12  # below which two utilities are one, reckoned for a page alone and among others


class LastPages:
    """The relevance and the standing of the last so many pages, which compare utilities by different weights."""

    def __init__(self, most: int):
        self._most = most
        self._pages = np.empty((2, most))
        self._seen = 0

    def __len__(self) -> int:
        return min(self._seen, self._most)

    def add(self, relevance: float, standing: float) -> None:
        self._pages[:, self._seen % self._most] = relevance, standing
        self._seen += 1

    def of_its_rank(self, utility: float, form: Form, *, alpha: float, by: float) -> float:
        """The utility that stands where this one does: the pages in line by the weight `by`, this one where it is in
        the line by the weight `alpha`; amid those that are as good as it."""
        relevance, standing = self._pages[:, : len(self)]
        utilities = form(relevance, standing, alpha)
        below = int(np.count_nonzero(utilities < utility - _NEARLY))
        as_good = int(np.count_nonzero(utilities <= utility + _NEARLY)) - below
        place = min(below + max(as_good - 1, 0) // 2, len(self) - 1)
        return float(np.sort(form(relevance, standing, by))[place])

    def state(self) -> Plain:
        """Relevance and standing of each, the oldest first."""
        first = self._seen % self._most if self._seen > self._most else 0
        return np.roll(self._pages[:, : len(self)], -first, axis=1).tolist()

    def restore(self, state: Sequence[Sequence[float]]) -> None:
        self._seen = 0
        for relevance, standing in zip(*state, strict=True):
            self.add(relevance, standing)
