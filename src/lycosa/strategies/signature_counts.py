"""How often each reader read pages with each feature, and how often these satisfied a predicate."""

import numpy as np
from numpy.typing import NDArray

from .signatures import Signature

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]


class SignatureCounts:
    """r_ij, pages visited that reader i read and that have feature j, and r_ij^u, those of them that satisfy.

    Of each reader the mean of r_ij^u / r_ij over the features met is kept up to date, so that it is there without
    looking at the counts. Smoothed, (r_ij^u + s·p) / (r_ij + s) is a sum of two parts, of which one goes with p.
    """

    def __init__(self, users: int, features: int, smoothing: float):
        self._smoothing = smoothing
        self._read = np.zeros((users, features), np.float32)
        self._satisfying = np.zeros((users, features), np.float32)
        self._met: Reals = np.zeros(users)  # features
        self._shares: Reals = np.zeros(users)  # sum over the features of r^u / (r + s)
        self._priors: Reals = np.zeros(users)  # sum over the features of s / (r + s)

    def add(self, users: NDArray[np.int32], weights: Reals, signature: Signature, satisfies: bool) -> None:
        """A page with these features, read by these users."""
        if not len(users) or not len(signature):
            return
        cells = np.ix_(users, signature)
        read, satisfying = self._read[cells], self._satisfying[cells]
        is_new = read == 0.0
        more = weights.astype(np.float32)[:, None]
        read_now = read + more
        satisfying_now = satisfying + more if satisfies else satisfying
        self._read[cells] = read_now
        if satisfies:
            self._satisfying[cells] = satisfying_now
        s = self._smoothing
        before = 1.0 / np.where(is_new, np.inf, read.astype(np.float64) + s)
        now = 1.0 / (read_now.astype(np.float64) + s)
        self._met[users] += is_new.sum(axis=1)
        self._shares[users] += (satisfying_now * now - satisfying * before).sum(axis=1)
        self._priors[users] += s * (now - before).sum(axis=1)

    def ratios(self, users: Ids, usual: float | Reals) -> Reals:
        """SF_i of users, as multiples of what is usual; NaN for those of whom no feature is known."""
        met = self._met[users]
        ratios: Reals = (self._shares[users] / usual + self._priors[users]) / np.where(met > 0, met, np.nan)
        return ratios
