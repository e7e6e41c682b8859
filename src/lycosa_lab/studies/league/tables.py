"""The crawls of all tasks, strategy by strategy: each topic counts once, by the mean over its tasks.

A task is a topic with a start (within the topic, or afar) and with what is given (good examples alone, or bad ones
too). Its truth are the pages to be found. Nothing was fitted to held-out topics.
"""

from collections.abc import Callable, Sequence
from math import nan

from lycosa.pictures import Series
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import PairedTest, holm, paired_t, summary
from lycosa_lab.tables import Scores, mean_curve, mean_rows, nan_if_none, rounded

from .runs import POINTS, PRECISION_PAGES, RECALLS
from .tasks import GIVEN, STARTS

AREA = "area"  # under the harvest curve; 1 for a crawl that fetches nothing but the truth
RECALL = "recall"
PRECISION = f"precision of the first {PRECISION_PAGES}"
STANDING = "relevant x standing"  # standing of the pages of the truth that were found, in the mean of all pages
HARVEST_ERROR = "|claimed - true harvest|"
CPU = "processor ms per page"
_AT_A_BUDGET = (AREA, RECALL, STANDING, *(f"pages to {share:.0%}" for share in RECALLS))
# Measures of whole crawls, with their keys in an outcome.
_OF_A_CRAWL = {PRECISION: "first", "claimed harvest": "claimed", "true harvest": "true", CPU: "milliseconds"}
MEASURES = (*_AT_A_BUDGET[:2], PRECISION, *_AT_A_BUDGET[2:], "claimed harvest", "true harvest", HARVEST_ERROR, CPU)


class LeagueTables:
    """The outcomes of all tasks, without those that could not be set up."""

    def __init__(self, outcomes: Sequence[JsonValue]):
        self.left_out = [outcome for outcome in outcomes if not outcome["crawls"]]
        self._outcomes = [outcome for outcome in outcomes if outcome["crawls"]]
        self.strategies: list[str] = list(self._outcomes[0]["crawls"]) if self._outcomes else []

    def tasks(self, *, held_out: bool, **settings: str) -> list[JsonValue]:
        """The tasks on held-out or development topics, optionally of one start or one kind of examples."""
        return [
            outcome
            for outcome in self._outcomes
            if outcome["held_out"] is held_out and all(outcome[key] == value for key, value in settings.items())
        ]

    def topics(self, *, held_out: bool) -> list[str]:
        return list(dict.fromkeys(outcome["topic"] for outcome in self.tasks(held_out=held_out)))

    def scores(self, measure: str, *, held_out: bool = True, budget: str | None = None, **settings: str) -> Scores:
        """A measure of each strategy, topic by topic, at a budget or at the largest."""
        tasks = self.tasks(held_out=held_out, **settings)
        topics = list(dict.fromkeys(task["topic"] for task in tasks))
        value_of = _value_getter(measure, budget)
        return {
            strategy: [
                summary(value_of(task["crawls"][strategy]) for task in tasks if task["topic"] == topic).mean
                for topic in topics
            ]
            for strategy in self.strategies
        }

    def mean(self, measure: str, strategy: str) -> float:
        """Over the held-out topics."""
        return summary(self.scores(measure)[strategy]).mean

    def test(self, measure: str, first: str, second: str) -> PairedTest:
        """The paired t-test over the held-out topics."""
        scores = self.scores(measure)
        return paired_t(scores[first], scores[second])

    # Rows

    def mean_rows(self, *, held_out: bool, seed: int) -> list[Row]:
        return [
            row
            for measure in MEASURES
            for row in mean_rows(measure, self.scores(measure, held_out=held_out), seed=seed)
            if row["topics"]  # the oracle claims nothing
        ]

    def setting_rows(self, *, seed: int) -> list[Row]:
        """Area and recall on the held-out topics, by start, what is given, and budget, a share of the web."""
        rows: list[Row] = []
        for start in STARTS:
            for given in GIVEN:
                tasks = self.tasks(held_out=True, start=start, given=given)
                for budget in dict.fromkeys(budget for task in tasks for budget in task["budgets"]):
                    for measure in (AREA, RECALL):
                        scores = self.scores(measure, budget=budget, start=start, given=given)
                        rows += [
                            {"start": start, "given": given, "budget": float(budget), **row}
                            for row in mean_rows(measure, scores, seed=seed)
                        ]
        return rows

    def test_rows(self, pairs: Sequence[tuple[str, str]]) -> list[Row]:
        """The paired t-tests of these pairs, p corrected by Holm's method for all pairs of a measure."""
        rows: list[Row] = []
        for measure in (AREA, RECALL, PRECISION, STANDING):
            tests = [self.test(measure, first, second) for first, second in pairs]
            for (first, second), test, corrected in zip(pairs, tests, holm([test.p for test in tests]), strict=True):
                rows.append(
                    {
                        "measure": measure,
                        "first": first,
                        "second": second,
                        "difference": rounded(test.difference),
                        "t": rounded(test.t),
                        "p": rounded(test.p),
                        "holm_p": rounded(corrected),
                        "topics": test.n,
                    }
                )
        return rows

    def crawl_rows(self) -> list[Row]:
        """Every crawl by itself, at its largest budget."""
        return [
            {
                "topic": outcome["topic"],
                "held_out": outcome["held_out"],
                "start": outcome["start"],
                "given": outcome["given"],
                "truth": outcome["truth"],
                "budget_pages": max(outcome["budgets"].values()),
                "strategy": strategy,
                "requested": crawled["requested"],
                "kept": crawled["kept"],
                **{measure: rounded(_value_getter(measure, None)(crawled)) for measure in MEASURES},
            }
            for outcome in self._outcomes
            for strategy, crawled in outcome["crawls"].items()
        ]

    def left_out_rows(self) -> list[Row]:
        return [{key: outcome[key] for key in ("topic", "held_out", "start", "given")} for outcome in self.left_out]

    # Curves

    def curve(self, strategy: str, **settings: str) -> Series:
        """The mean share of the truth found, by the share of the largest budget used, over the held-out topics."""
        tasks = self.tasks(held_out=True, **settings)
        curves: dict[str, list[list[float]]] = {}
        for task in tasks:
            curves.setdefault(task["topic"], []).append(_stretched(task["crawls"][strategy]["curve"]))
        by_topic = [
            [summary(values).mean for values in zip(*each, strict=True)] for each in curves.values()
        ]  # topic, then point
        xs = [100 * point / POINTS for point in range(POINTS + 1)]
        return mean_curve(strategy, xs, zip(*by_topic, strict=True))

    def curve_rows(self) -> list[Row]:
        rows: list[Row] = []
        for strategy in self.strategies:
            curve = self.curve(strategy)
            rows += [
                {"strategy": strategy, "percent_of_budget": x, "recall": rounded(y), "standard_error": rounded(error)}
                for (x, y), error in zip(curve.points, curve.errors, strict=True)
            ]
        return rows


def _value_getter(measure: str, budget: str | None) -> Callable[[JsonValue], float]:
    def at_budget(crawled: JsonValue) -> float:
        measures_at = crawled["budgets"]  # by share of the web
        chosen = measures_at[max(measures_at, key=float)] if budget is None else measures_at.get(budget)
        return nan if chosen is None else float(chosen[measure])

    def harvest_error(crawled: JsonValue) -> float:
        return abs(nan_if_none(crawled.get("claimed")) - nan_if_none(crawled.get("true")))

    def of_crawl(crawled: JsonValue) -> float:
        return nan_if_none(crawled.get(_OF_A_CRAWL[measure]))

    return at_budget if measure in _AT_A_BUDGET else harvest_error if measure == HARVEST_ERROR else of_crawl


def _stretched(curve: Sequence[float]) -> list[float]:
    """A curve resampled to POINTS + 1 points, from nothing to everything fetched; short crawls have fewer points."""
    values = [0.0, *curve]
    last = len(values) - 1
    return [values[round(last * index / POINTS)] for index in range(POINTS + 1)]
