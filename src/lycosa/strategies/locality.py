"""Near in time: the pages that people read shortly before and after pages that satisfy a predicate."""

import numpy as np
from numpy.typing import NDArray

from lycosa.logs.readings import Readings

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]


class Locality:
    """The temporal locality of a predicate: all that somebody read among the `around` accesses before, or the
    `around` accesses after, one of a page that satisfies it.

    How much a page belongs to it is the weight of the access by which it does, the largest if there are several; 1
    where accesses do not age. A page does not belong to it by being read twice.
    """

    def __init__(self, readings: Readings, around: int):
        self._readings = readings
        self._around = around
        self.strength: Reals = np.zeros(len(readings.urls))  # how much each page belongs to it
        self.inside = self.outside = 0.0  # pages visited
        self.inside_satisfying = self.outside_satisfying = 0.0  # of these
        self._visited: NDArray[np.bool_] = np.zeros(len(readings.urls), np.bool_)
        self._satisfying: NDArray[np.bool_] = np.zeros(len(readings.urls), np.bool_)

    def add(self, url: int, satisfies: bool) -> Ids:
        """Takes in a page visited; returns the pages that belong more to the locality than before."""
        self._visited[url], self._satisfying[url] = True, satisfies
        strength = float(self.strength[url])
        self._count(strength, 1.0 - strength, satisfies)
        return self._widen(url) if satisfies else np.empty(0, np.int64)

    def _count(self, inside: float, outside: float, satisfies: bool) -> None:
        self.inside += inside
        self.outside += outside
        if satisfies:
            self.inside_satisfying += inside
            self.outside_satisfying += outside

    def _widen(self, url: int) -> Ids:
        users, positions = self._readings.places_of(url)
        starts = self._readings.walk_starts
        first, last = starts[users], starts[users.astype(np.int64) + 1]
        places = first + positions
        steps = np.concatenate((np.arange(-self._around, 0), np.arange(1, self._around + 1)))
        near = places[:, None] + steps
        near = near[(near >= first[:, None]) & (near < last[:, None])]
        urls = self._readings.walks[near]
        weights = self._readings.weights[near]
        closer = (weights > self.strength[urls]) & (urls != url)
        urls, weights = urls[closer], weights[closer]
        widened = np.unique(urls).astype(np.int64)
        before = self.strength[widened]
        np.maximum.at(self.strength, urls, weights)
        gained = self.strength[widened] - before
        for is_satisfying in (False, True):
            chosen = self._visited[widened] & (self._satisfying[widened] == is_satisfying)
            gain = float(gained[chosen].sum())
            self._count(gain, -gain, is_satisfying)
        return widened

    def log_ratios(self, urls: Ids, usual: float, smoothing: float) -> Reals:
        """log of f1 / P(U) for pages inside, of f2 / P(U) for those outside, of a mixture for those half inside."""
        if self.inside_satisfying + self.outside_satisfying == 0.0:
            return np.zeros(len(urls))  # the predicate has no locality yet
        within = _log_share(self.inside_satisfying, self.inside, usual, smoothing)
        without = _log_share(self.outside_satisfying, self.outside, usual, smoothing)
        return without + (within - without) * self.strength[urls]

    def recount(self) -> None:
        """Sums up anew what was added up page by page."""
        strength, good = self.strength, self._satisfying
        self.inside = float(strength[self._visited].sum())
        self.outside = float(self._visited.sum()) - self.inside
        self.inside_satisfying = float(strength[good].sum())
        self.outside_satisfying = float(good.sum()) - self.inside_satisfying


def _log_share(satisfying: float, seen: float, usual: float, smoothing: float) -> float:
    if seen <= 0.0:
        return 0.0
    share = (max(0.0, satisfying) + smoothing * usual) / (seen + smoothing)
    return float(np.log(max(share / usual, _TINY)))


_TINY = 1e-12
