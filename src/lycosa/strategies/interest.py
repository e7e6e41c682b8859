"""Interest ratios: how much more likely a page is to satisfy a predicate C, given that it has a feature E.

I(C, E) = P(C and E) / (P(C) · P(E))

The predicate of a crawl is that a page is relevant.

Ratios are handled as logarithms; 0 is no evidence. Counts are smoothed towards the base rate P(C), so that an unseen
feature is no evidence either.
"""

from collections.abc import Iterable, Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.urls import key_of

Ids = NDArray[np.int64]
LogRatios = NDArray[np.float64]

_MIN_RATIO = 1e-12  # lower bound of ratios, for when there is no smoothing
_NO_IDS: Ids = np.empty(0, np.int64)


class Tally(Struct):
    """The pages visited so far, and those of them that satisfy the predicate."""

    pages: int = 0
    satisfying: int = 0

    def learn(self, satisfies: bool) -> None:
        self.pages += 1
        self.satisfying += satisfies

    @property
    def base_rate(self) -> float:
        """P(C) = (satisfying + 0.5) / (pages + 1), which is neither 0 nor 1."""
        return (self.satisfying + 0.5) / (self.pages + 1.0)


def log_interest_ratios(
    satisfying: LogRatios | Ids, pages: LogRatios | Ids, base_rate: float, *, smoothing: float = 1.0
) -> LogRatios:
    """log of (satisfying / pages) / P(C), the interest ratio of a feature that so many pages have; 0 without pages.

    >>> np.exp(log_interest_ratios(np.array([3.0, 0.0]), np.array([4.0, 0.0]), 0.25, smoothing=0.0)).round(6).tolist()
    [3.0, 1.0]
    """
    has_pages = pages > 0
    shares = (satisfying + smoothing * base_rate) / np.where(has_pages, pages + smoothing, 1.0)
    return np.where(has_pages, np.log(np.maximum(shares / base_rate, _MIN_RATIO)), 0.0)


class LinkCounts(NamedTuple):
    """Links between visited pages."""

    links: int  # all
    from_satisfying: int  # from pages that satisfy the predicate to pages that do
    from_others: int  # from other pages to pages that satisfy it


def link_log_ratios(counts: LinkCounts, base_rate: float, *, smoothing: float = 1.0) -> tuple[float, float]:
    """log of f1 / p² and of f3 / (p(1-p)), where p = P(C), and f1 and f3 are the shares of links from satisfying and
    from other pages to satisfying ones: the evidence of one more link from a satisfying page, and from another page."""
    links, from_satisfying, from_others = counts
    if not links:
        return 0.0, 0.0
    both_satisfy, only_target = base_rate * base_rate, base_rate * (1.0 - base_rate)  # expected if independent
    satisfying_ratio = (from_satisfying + smoothing * both_satisfy) / ((links + smoothing) * both_satisfy)
    other_ratio = (from_others + smoothing * only_target) / ((links + smoothing) * only_target)
    return log(max(satisfying_ratio, _MIN_RATIO)), log(max(other_ratio, _MIN_RATIO))


class FeatureCounts:
    """How often pages with some feature, such as a word, satisfy the predicate.

    A feature E of n pages is used as evidence if n ≥ `min_pages` and
    |P(C|E) - P(C)| ≥ significance · sqrt(P(C)(1 - P(C)) / n).

    The ids of features are numbers below `table_size`, a power of 2. Words, given as text or by their codes (64-bit
    hashes), are hashed to ids, which bounds memory at the price of a few collisions.
    """

    def __init__(self, *, significance: float, min_pages: int, smoothing: float, table_size: int = 1 << 17):
        self._significance = significance
        self._min_pages = min_pages
        self._smoothing = smoothing
        self._mask = np.uint64(table_size - 1)
        self._pages = np.zeros(table_size, np.int64)
        self._satisfying = np.zeros(table_size, np.int64)

    def ids_of_codes(self, codes: NDArray[np.uint64]) -> Ids:
        """The distinct ids of words given by their codes, sorted."""
        return np.unique(codes & self._mask).astype(np.int64)

    def ids_of_words(self, words: Iterable[str]) -> Ids:
        """The distinct ids of words, sorted; faster than via codes for a few words."""
        mask = len(self._pages) - 1  # of the hash of a word, for which that of URLs serves as well
        return np.array(sorted({key_of(word) & mask for word in words}), np.int64)

    def learn(self, features: Ids, satisfies: bool) -> None:
        """Counts a page with these distinct features."""
        self._pages[features] += 1
        if satisfies:
            self._satisfying[features] += 1

    def log_ratios(self, features: Ids, base_rate: float) -> LogRatios:
        """log of the interest ratio of each feature; 0 for those that are not used as evidence."""
        pages = self._pages[features]
        logs = np.zeros(len(features))
        known = np.flatnonzero(pages >= max(1, self._min_pages))
        pages, satisfying = pages[known], self._satisfying[features[known]]
        difference = np.abs(satisfying / pages - base_rate)
        is_significant = difference >= self._significance * np.sqrt(base_rate * (1.0 - base_rate) / pages)
        logs[known[is_significant]] = log_interest_ratios(
            satisfying[is_significant], pages[is_significant], base_rate, smoothing=self._smoothing
        )
        return logs

    def sum_log_ratios(self, groups: Sequence[Sequence[Ids]], base_rate: float) -> LogRatios:
        """For each group of sets of features, the sum of log ratios over their union."""
        features = np.concatenate((_NO_IDS, *(ids for sets in groups for ids in sets)))
        rows = np.repeat(np.arange(len(groups)), [sum(map(len, sets)) for sets in groups])
        logs = self.log_ratios(features, base_rate)
        (significant,) = logs.nonzero()
        _, first = np.unique(rows[significant] * len(self._pages) + features[significant], return_index=True)
        distinct = significant[first]
        sums: LogRatios = np.bincount(rows[distinct], logs[distinct], len(groups)).astype(np.float64, copy=False)
        return sums

    def state(self) -> JsonValue:
        (ids,) = self._pages.nonzero()
        return [ids.tolist(), self._pages[ids].tolist(), self._satisfying[ids].tolist()]

    def restore(self, state: JsonValue) -> None:
        ids, pages, satisfying = state
        self._pages[:] = 0
        self._satisfying[:] = 0
        self._pages[ids] = pages
        self._satisfying[ids] = satisfying


def logistic(log_ratio: float) -> float:
    """ratio / (1 + ratio); 0.5 without evidence."""
    return 1.0 / (1.0 + exp(-log_ratio)) if log_ratio >= 0 else exp(log_ratio) / (1.0 + exp(log_ratio))
