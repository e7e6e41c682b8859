"""Interest ratios: how much more likely a page is to satisfy a predicate C, given that it has a feature E.

I(C, E) = P(C and E) / (P(C) · P(E))

Ratios are handled as logarithms; 0 is no evidence. Counts are smoothed towards the base rate P(C), so that an unseen
feature is no evidence either.
"""

from collections.abc import Iterable, Sequence
from math import exp, log

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.urls import key_of

Ids = NDArray[np.int64]
Logs = NDArray[np.float64]

_TINY = 1e-12  # lower bound of ratios, for when there is no smoothing
_NO_IDS: Ids = np.empty(0, np.int64)


class Tally(Struct):
    """Pages judged so far, and those that satisfy the predicate."""

    pages: int = 0
    satisfying: int = 0

    def learn(self, satisfies: bool) -> None:
        self.pages += 1
        self.satisfying += satisfies

    @property
    def base_rate(self) -> float:
        """P(C) = (satisfying + 0.5) / (pages + 1), which is neither 0 nor 1."""
        return (self.satisfying + 0.5) / (self.pages + 1.0)


def share_logs(satisfying: Logs | Ids, seen: Logs | Ids, base_rate: float, *, smoothing: float = 1.0) -> Logs:
    """log of (satisfying / seen) / P(C); 0 if nothing was seen.

    >>> np.exp(share_logs(np.array([3.0, 0.0]), np.array([4.0, 0.0]), 0.25, smoothing=0.0)).round(6).tolist()
    [3.0, 1.0]
    """
    is_seen = seen > 0
    shares = (satisfying + smoothing * base_rate) / np.where(is_seen, seen + smoothing, 1.0)
    return np.where(is_seen, np.log(np.maximum(shares / base_rate, _TINY)), 0.0)


def link_logs(links: tuple[int, int, int], base_rate: float, *, smoothing: float = 1.0) -> tuple[float, float]:
    """log of f1 / p² and of f3 / (p(1-p)): the evidence of one more link from a satisfying page, and from another page.

    links: counts of links between judged pages: all; from satisfying to satisfying pages (their share is f1); from
    other to satisfying pages (f3).
    """
    seen, from_satisfying, from_others = links
    if not seen:
        return 0.0, 0.0
    both, one = base_rate * base_rate, base_rate * (1.0 - base_rate)
    good = (from_satisfying + smoothing * both) / ((seen + smoothing) * both)
    bad = (from_others + smoothing * one) / ((seen + smoothing) * one)
    return log(max(good, _TINY)), log(max(bad, _TINY))


class Features:
    """How often pages with some feature, such as a word, satisfy the predicate.

    A feature Q that n pages had counts where n ≥ `least` and
    |P(C|Q) - P(C)| ≥ significance · sqrt(P(C)(1 - P(C)) / n)

    Features are numbers below `places`, a power of 2. Codes and words are hashed into them, which bounds memory at the
    price of a few collisions.
    """

    def __init__(self, *, significance: float, least: int, smoothing: float, places: int = 1 << 17):
        self._significance = significance
        self._least = least
        self._smoothing = smoothing
        self._mask = np.uint64(places - 1)
        self._seen = np.zeros(places, np.int64)
        self._satisfying = np.zeros(places, np.int64)

    def folded(self, codes: NDArray[np.uint64]) -> Ids:
        """The distinct features of 64-bit codes, sorted."""
        return np.unique(codes & self._mask).astype(np.int64)

    def named(self, words: Iterable[str]) -> Ids:
        """The distinct features of words, sorted; faster than via codes for a few words."""
        mask = len(self._seen) - 1
        return np.array(sorted({key_of(word) & mask for word in words}), np.int64)

    def learn(self, features: Ids, satisfies: bool) -> None:
        """Counts the distinct features of a page."""
        self._seen[features] += 1
        if satisfies:
            self._satisfying[features] += 1

    def ratios(self, features: Ids, base_rate: float) -> Logs:
        """The log ratio of each feature; 0 for those that do not count."""
        seen = self._seen[features]
        logs = np.zeros(len(features))
        known = np.flatnonzero(seen >= max(1, self._least))
        seen, satisfying = seen[known], self._satisfying[features[known]]
        differs = np.abs(satisfying / seen - base_rate)
        counts = differs >= self._significance * np.sqrt(base_rate * (1.0 - base_rate) / seen)
        logs[known[counts]] = share_logs(satisfying[counts], seen[counts], base_rate, smoothing=self._smoothing)
        return logs

    def summed(self, sets: Sequence[Sequence[Ids]], base_rate: float) -> Logs:
        """For each set, the sum of log ratios over the union of its parts."""
        features = np.concatenate((_NO_IDS, *(part for parts in sets for part in parts)))
        rows = np.repeat(np.arange(len(sets)), [sum(map(len, parts)) for parts in sets])
        logs = self.ratios(features, base_rate)
        (counting,) = logs.nonzero()
        _, first = np.unique(rows[counting] * len(self._seen) + features[counting], return_index=True)
        once = counting[first]
        sums: Logs = np.bincount(rows[once], logs[once], len(sets)).astype(np.float64, copy=False)
        return sums

    def state(self) -> JsonValue:
        (places,) = self._seen.nonzero()
        return [places.tolist(), self._seen[places].tolist(), self._satisfying[places].tolist()]

    def restore(self, state: JsonValue) -> None:
        places, seen, satisfying = state
        self._seen[:] = 0
        self._satisfying[:] = 0
        self._seen[places] = seen
        self._satisfying[places] = satisfying


def logistic(log_ratio: float) -> float:
    """ratio / (1 + ratio); 0.5 without evidence."""
    return 1.0 / (1.0 + exp(-log_ratio)) if log_ratio >= 0 else exp(log_ratio) / (1.0 + exp(log_ratio))
