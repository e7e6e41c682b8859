"""Means, tests and correlations. NaN stands for a missing observation, which is left out and not counted in `n`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lycosa.vocabulary.errors import UsageError

SIGNIFICANT = 0.05  # p below which a difference counts as significant
ROUNDING = 1e-12  # relative differences below this count as equal
MIN_DIFFERENCE = 1e-150  # least difference whose square does not underflow

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class MeanAndError:
    """Mean and standard error of the mean; NaN if there are too few values.

    >>> f"{summary([1.0, 2.0, 3.0]):.2f}"
    '2.00 ± 0.58'
    """

    mean: float
    standard_error: float
    n: int

    def __format__(self, spec: str) -> str:
        """The mean and its standard error, each formatted by `spec`, as a float is."""
        return f"{self.mean:{spec}} ± {self.standard_error:{spec}}"


@dataclass(frozen=True)
class PairedTest:
    """The mean of first minus second, and its two-tailed p-value."""

    difference: float
    t: float
    p: float
    n: int

    @property
    def is_gain(self) -> bool:
        """Whether the first is significantly larger."""
        return self.difference > 0 and self.p < SIGNIFICANT

    @property
    def is_gain_or_unknown(self) -> bool:
        """Whether the first is significantly larger as far as is known: NaN counts for it."""
        return not self.difference <= 0 and not self.p >= SIGNIFICANT


@dataclass(frozen=True)
class PairComparison:
    """A comparison of two of several samples; `holm_p` is corrected for multiple comparisons."""

    first: str
    second: str
    test: PairedTest
    holm_p: float


def summary(values: Iterable[float]) -> MeanAndError:
    """Mean and standard error of the mean."""
    known = _without_nan(values)
    n = len(known)
    mean = float(known.mean()) if n else math.nan
    return MeanAndError(mean, float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan, n)


def bootstrap_interval(
    values: Iterable[float], *, confidence: float = 0.95, rounds: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """A confidence interval of the mean: percentiles of the means of `rounds` samples drawn with replacement.

    Both ends are NaN for fewer than two values.
    """
    known = _without_nan(values)
    if len(known) < 2:
        return math.nan, math.nan
    draws = np.random.default_rng(seed).integers(len(known), size=(rounds, len(known)))
    low, high = np.quantile(known[draws].mean(axis=1), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def paired_t(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """The two-tailed t-test of pairs; a pair with a missing half is left out, and fewer than two pairs have p NaN.

    The t-test is undefined for differences without variance. If all are 0, p is 1. If all are equal but not 0, t is
    infinite, and p is that of the sign test, 2 / 2ⁿ.
    """
    a, b = _complete_pairs(first, second)
    differences, n = a - b, len(a)
    if n < 2:
        return PairedTest(float(differences.mean()) if n else math.nan, math.nan, math.nan, n)
    difference = float(differences.mean())
    rounding = max(ROUNDING * float(max(np.abs(a).max(), np.abs(b).max())), MIN_DIFFERENCE)
    if np.abs(differences).max() <= rounding:
        return PairedTest(difference, 0.0, 1.0, n)
    if np.ptp(differences) <= rounding:
        return PairedTest(difference, math.copysign(math.inf, difference), 2.0 ** (1 - n), n)
    result = _scipy().ttest_rel(a, b)
    return PairedTest(difference, float(result.statistic), float(result.pvalue), n)


def finite_or_none(value: float) -> float | None:
    """A p-value or other number for claims and tables, which are JSON: None for NaN, as if nothing was tested, or ∞."""
    return value if math.isfinite(value) else None


def holds_or_none(holds: bool, *tested: float) -> bool | None:
    """Whether a claim holds that rests on these p-values or shares; None, only reported, if one of them is NaN and
    nothing else makes the claim fail.

    holds: whether it holds as far as the values are known, so that NaN in them does not count against it.

    >>> holds_or_none(True, 0.01), holds_or_none(True, 0.01, math.nan), holds_or_none(False, 0.2, math.nan)
    (True, None, False)
    """
    return None if holds and any(map(math.isnan, tested)) else holds


def ratio(part: float, whole: float) -> float:
    """The part as a share of the whole; NaN if the whole is 0."""
    return part / whole if whole else math.nan


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for multiple comparisons, in order: Holm's step-down method, 1979.

    NaN stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [math.nan] * len(p_values)
    order = sorted((index for index, p in enumerate(p_values) if not math.isnan(p)), key=p_values.__getitem__)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def pairwise(table: Mapping[str, Sequence[float]]) -> list[PairComparison]:
    """All pairs of columns compared, paired by row, with p corrected for multiple comparisons."""
    pairs = list(combinations(table, 2))
    tests = [paired_t(table[first], table[second]) for first, second in pairs]
    return [
        PairComparison(first, second, test, corrected)
        for (first, second), test, corrected in zip(pairs, tests, holm([test.p for test in tests]), strict=True)
    ]


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation, and its two-tailed p-value; NaN if undefined."""

    rho: float
    p: float
    n: int


def spearman(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Spearman's rank correlation of pairs; undefined for fewer than three, or if either sample is constant."""
    a, b = _complete_pairs(first, second)
    n = len(a)
    if n < 3 or len(set(a.tolist())) < 2 or len(set(b.tolist())) < 2:
        return Correlation(math.nan, math.nan, n)
    result = _scipy().spearmanr(a, b)
    return Correlation(float(result.statistic), float(result.pvalue), n)


def p_of_larger_correlation(larger: Correlation, smaller: Correlation) -> float:
    """The one-tailed p-value of the first correlation's excess over the second: how probable so great an excess, or a
    greater one, is if they are equal.

    Fisher's z, with the variance 1.06 / (n - 3) of Fieller, Hartley and Pearson (1957) for ranks; the samples are
    assumed independent.
    """
    if min(larger.n, smaller.n) < 5 or math.isnan(larger.rho) or math.isnan(smaller.rho):
        return math.nan
    standard_error = math.sqrt(1.06 / (larger.n - 3) + 1.06 / (smaller.n - 3))
    bounded = (math.atanh(max(-1 + ROUNDING, min(1 - ROUNDING, each.rho))) for each in (larger, smaller))
    larger_z, smaller_z = bounded
    return float(_scipy().norm.sf((larger_z - smaller_z) / standard_error))


def p_of_trend(columns: Sequence[Sequence[float]]) -> float:
    """The p-value of an increase from column to column, by Page's trend test, 1963.

    A row across the columns is one subject; a row with a missing value is left out. NaN for fewer than two rows or
    three columns.
    """
    rows = np.array([list(column) for column in columns], dtype=np.float64).T
    rows = rows[~np.isnan(rows).any(axis=1)] if rows.ndim == 2 else rows
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] < 3:
        return math.nan
    return float(_scipy().page_trend_test(rows, method="asymptotic").pvalue)


def mean_ranks(values: Floats) -> Floats:
    """The rank of each value, 1 for the smallest; ties have the mean rank."""
    ranks: Floats = _scipy().rankdata(values)
    return ranks


def _without_nan(values: Iterable[float]) -> Floats:
    observations = np.array(list(values), dtype=np.float64)
    return observations[~np.isnan(observations)]


def _complete_pairs(first: Sequence[float], second: Sequence[float]) -> tuple[Floats, Floats]:
    """The pairs of which neither half is missing."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"{len(a)} and {len(b)} values cannot be paired")
    are_complete = ~(np.isnan(a) | np.isnan(b))
    return a[are_complete], b[are_complete]


def require_scipy() -> None:
    """Raises UsageError if scipy is not installed."""
    _scipy()


def _scipy() -> Any:
    """scipy.stats, imported on first use, because that takes most of a second."""
    try:
        from scipy import stats
    except ImportError:
        raise UsageError("studies need scipy; install it with: pip install 'lycosa[lab]'") from None
    return stats
