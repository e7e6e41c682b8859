"""Rows that set strategies side by side: means with their errors, and tests of every pair."""

from collections.abc import Mapping, Sequence

from .results import Row
from .statistics import bootstrap_interval, pairwise, summary

SIGNIFICANT = 0.05
Scores = Mapping[str, Sequence[float]]  # of each strategy, topic by topic


def mean_rows(measure: str, scores: Scores, *, seed: int = 0) -> list[Row]:
    """Mean, standard error and bootstrap interval over topics, a row for each strategy."""
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
    """The paired t-test of every two strategies, with p as it is and corrected by Holm for all pairs of the measure."""
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


def lead_of(pairs: Sequence[Row], leader: str, others: Sequence[str], *, fewer_is_better: bool = False) -> "Lead":
    """Whether one strategy is ahead of each of the others, by rows of `pair_rows` of one measure."""
    worst, ahead = 0.0, 0
    for row in pairs:
        if leader not in (row["first"], row["second"]) or not {row["first"], row["second"]} & set(others):
            continue
        difference = row["difference"] or 0.0
        if row["first"] != leader:
            difference = -difference
        ahead += (difference < 0) if fewer_is_better else (difference > 0)
        worst = max(worst, 1.0 if row["holm_p"] is None else row["holm_p"])
    return Lead(ahead == len(others), worst if len(pairs) else 1.0)


class Lead:
    """A strategy against others: whether its mean is ahead of every one, and the largest p among the tests."""

    def __init__(self, is_ahead: bool, p: float):
        self.is_ahead = is_ahead
        self.p = p

    @property
    def is_significant(self) -> bool:
        return self.is_ahead and self.p < SIGNIFICANT

    def __str__(self) -> str:
        return f"p {self.p:.2g}" if self.is_ahead else f"not ahead, p {self.p:.2g}"


def by_mean(scores: Scores, *, fewer_is_better: bool = False) -> list[str]:
    """The strategies, the best mean first."""
    return sorted(scores, key=lambda name: summary(scores[name]).mean, reverse=not fewer_is_better)


def rounded(value: float) -> float | None:
    """Six digits, which is more than a mean over topics tells; None for what is not known."""
    return float(f"{value:.6g}") if abs(value) < float("inf") else None
