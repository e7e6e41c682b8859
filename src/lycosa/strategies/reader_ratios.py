"""What it says of a page that somebody read it, by what is known of their other pages."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from .signature_counts import SignatureCounts
from .signatures import Signature

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]

_TINY = 1e-12


class ReaderRatios:
    """The ratios P(U|R_i) / P(U) and SF_i of readers, as logarithms, 0 for those that are not significant.

    factors: of "frequency" and "signature", those that are wanted.
    features: how many there may be.
    significance: standard deviations from which on a ratio counts.
    by_reader: whether the deviation of P(U|R_i) is that of as many pages as the reader read, not of all visited.
    from_reader: whether SF_i is a multiple of P(U|R_i), not of P(U).
    smoothing: pages as usual that everybody is taken to have read, with every feature.
    """

    def __init__(
        self,
        users: int,
        features: int,
        *,
        factors: Collection[str],
        significance: float,
        by_reader: bool,
        from_reader: bool,
        smoothing: float,
    ):
        self._frequency, self._signature = ("frequency" in factors), ("signature" in factors)
        self._significance = significance
        self._by_reader = by_reader
        self._from_reader = from_reader
        self._smoothing = smoothing
        self._visited: Reals = np.zeros(users)  # q_i
        self._satisfying: Reals = np.zeros(users)  # q_i^u
        self._features = SignatureCounts(users, features if self._signature else 0, smoothing)
        self._ratios: Reals = np.full(users, np.nan)  # SF_i when last looked at
        self._spread: Reals = np.zeros(3)  # of these: how many, their sum, the sum of their squares

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Of each reader, whether any page was visited that they read."""
        return self._visited > 0

    @property
    def has_satisfied(self) -> NDArray[np.bool_]:
        """Of each reader, whether any of these satisfies the predicate."""
        return self._satisfying > 0

    def count(self, readers: NDArray[np.int32], weights: Reals, signature: Signature, satisfies: bool) -> None:
        """A page that these people read."""
        self._visited[readers] += weights
        if satisfies:
            self._satisfying[readers] += weights
        self._features.add(readers, weights, signature, satisfies)

    def forget_spread(self) -> None:
        """Before everybody is looked at anew."""
        self._ratios[:] = np.nan
        self._spread[:] = 0.0

    def logs(self, users: Ids, *, pages: int, usual: float) -> tuple[Reals, Reals]:
        """The logarithms for frequency and signature, where so many pages were visited and P(U) is `usual`."""
        nothing = np.zeros(len(users))
        frequency = self._frequency_logs(users, pages, usual) if self._frequency else nothing
        signature = self._signature_logs(users, usual) if self._signature else nothing
        return frequency, signature

    def _frequency_logs(self, users: Ids, pages: int, usual: float) -> Reals:
        seen, satisfying = self._visited[users], self._satisfying[users]
        trials = seen if self._by_reader else float(pages)
        counted = np.where(seen > 0, seen, 1.0)
        deviations = np.abs(satisfying / counted - usual) / np.sqrt(usual * (1.0 - usual)) * np.sqrt(trials)
        logs = np.log(np.maximum(self._shares(users, usual) / usual, _TINY))
        return np.where((seen > 0) & (deviations >= self._significance), logs, 0.0)

    def _shares(self, users: Ids, usual: float) -> Reals:
        """P(U|R_i), smoothed."""
        s = self._smoothing
        shares: Reals = (self._satisfying[users] + s * usual) / np.maximum(self._visited[users] + s, _TINY)
        return shares

    def _signature_logs(self, users: Ids, usual: float) -> Reals:
        base = np.maximum(self._shares(users, usual), _TINY) if self._from_reader else usual
        ratios, before = self._features.ratios(users, base), self._ratios[users]
        if self._from_reader:
            ratios[~np.isnan(ratios) & (base <= _TINY)] = 1.0  # nothing they read satisfies: no feature is an exception
        self._ratios[users] = ratios
        self._spread += _moments(ratios) - _moments(before)
        readers, total, squares = self._spread.tolist()
        mean = total / max(1.0, readers)
        deviation = max(0.0, squares / max(1.0, readers) - mean * mean) ** 0.5
        is_known = ~np.isnan(ratios)
        counts = is_known
        if self._significance > 0:
            counts = is_known & (deviation > _TINY) & (np.abs(ratios - mean) >= self._significance * deviation)
        return np.where(counts, np.log(np.maximum(np.where(is_known, ratios, 1.0), _TINY)), 0.0)


def _moments(ratios: Reals) -> Reals:
    known = ratios[~np.isnan(ratios)]
    return np.array((len(known), known.sum(), (known * known).sum()))
