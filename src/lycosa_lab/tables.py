"""Rows of tables and curves of figures: means with errors, pairwise tests, numbers to six digits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lycosa.pictures import Series

from .results import Row
from .statistics import SIGNIFICANT, bootstrap_interval, pairwise, summary

Scores = Mapping[str, Sequence[float]]  # of each strategy, topic by topic


def rounded(value: float) -> float | None:
    """Six significant digits, more than the precision of a mean over topics; None for NaN and infinity."""
    return float(f"{value:.6g}") if abs(value) < float("inf") else None


def nan_if_none(value: float | None) -> float:
    """A number from a row or plain data, where None means unknown."""
    return float("nan") if value is None else float(value)


def mean_rows(measure: str, scores: Scores, *, seed: int = 0) -> list[Row]:
    """Mean, standard error and bootstrap interval over topics, one row per strategy."""
    rows: list[Row] = []
    for strategy, values in scores.items():
        over_topics, (low, high) = summary(values), bootstrap_interval(values, seed=seed)
        rows.append(
            {
                "measure": measure,
                "strategy": strategy,
                "mean": rounded(over_topics.mean),
                "standard_error": rounded(over_topics.standard_error),
                "low": rounded(low),
                "high": rounded(high),
                "topics": over_topics.n,
            }
        )
    return rows


def pair_rows(measure: str, scores: Scores) -> list[Row]:
    """The paired t-tests of all pairs of strategies: p, and p corrected by Holm's method."""
    return [
        {
            "measure": measure,
            "first": pair.first,
            "second": pair.second,
            "difference": rounded(pair.test.difference),
            "t": rounded(pair.test.t),
            "p": rounded(pair.test.p),
            "holm_p": rounded(pair.holm_p),
            "topics": pair.test.n,
        }
        for pair in pairwise(scores)
    ]


def mean_curve(name: str, xs: Iterable[float], samples: Iterable[Iterable[float]]) -> Series:
    """A curve of means with their standard errors: over the sample of values at each x."""
    summaries = [summary(values) for values in samples]
    points = [(float(x), each.mean) for x, each in zip(xs, summaries, strict=True)]
    return Series(name, points, errors=[each.standard_error for each in summaries])


@dataclass(frozen=True)
class LeadTest:
    """A comparison of a strategy with others: whether its mean is ahead of all, and the largest corrected p-value."""

    is_ahead: bool
    p: float

    @property
    def is_significant(self) -> bool:
        return self.is_ahead and self.p < SIGNIFICANT

    def __str__(self) -> str:
        return f"p {self.p:.2g}" if self.is_ahead else f"not ahead, p {self.p:.2g}"


def lead_of(pairs: Sequence[Row], leader: str, others: Sequence[str], *, lower_is_better: bool = False) -> LeadTest:
    """Whether one strategy is ahead of each of the others, by rows of `pair_rows` of one measure."""
    largest_p, ahead_count, test_count = 0.0, 0, 0
    for row in pairs:
        if leader not in (row["first"], row["second"]) or not {row["first"], row["second"]} & set(others):
            continue
        difference = row["difference"] or 0.0
        if row["first"] != leader:
            difference = -difference
        ahead_count += (difference < 0) if lower_is_better else (difference > 0)
        largest_p = max(largest_p, 1.0 if row["holm_p"] is None else row["holm_p"])
        test_count += 1
    return LeadTest(ahead_count == len(others), largest_p if test_count else 1.0)


def ranked_by_mean(scores: Scores, *, lower_is_better: bool = False) -> list[str]:
    """The names of the strategies, the one with the best mean first."""
    return sorted(scores, key=lambda name: summary(scores[name]).mean, reverse=not lower_is_better)
