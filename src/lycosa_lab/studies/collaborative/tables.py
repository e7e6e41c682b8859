"""The outcomes for all predicates: values, tests and tables.

P(U) is the probability that a crawled page satisfies the predicate: the share of such pages, the harvest rate. Of the
keys of an outcome (`runs`), `aim` is the name of the predicate, `read` the number of pages of the log, `targets` that
of those of them that satisfy the predicate, and `pages` the length of its crawls. Crawls called *listed* start from
pages that the world's directory lists.
"""

from collections.abc import Callable, Sequence

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import PairComparison, PairedTest, holm, paired_t, summary
from lycosa_lab.studies.collaborative.runs import POINTS
from lycosa_lab.tables import mean_rows, rounded

from .shared import (
    BEST_FIRST_LISTED,
    COLLABORATIVE,
    COLLABORATIVE_LISTED,
    COMBINED,
    COMBINED_LISTED,
    DECAYED_LOGS,
    DRAWS,
    FIELD,
    GUIDED_LISTED,
    INTELLIGENT,
    INTELLIGENT_LISTED,
    INTELLIGENT_RUNS,
    REDUCED_LOGS,
    SHUFFLED,
    SINGLE_FACTORS,
    TOPICAL,
)

Value = Callable[[JsonValue], float]  # of a crawl
TESTED = {  # by claim: the pairs of crawls of which the first is tested against the second
    "beats-intelligent": [(COLLABORATIVE, INTELLIGENT)],
    "combined-best": [(COMBINED, COLLABORATIVE), (COMBINED, INTELLIGENT)],
    "factors": [(COLLABORATIVE, factor) for factor in SINGLE_FACTORS],
    "privacy": [(COLLABORATIVE, crawl_name) for crawl_name in (*REDUCED_LOGS, *DECAYED_LOGS)],
    "control": [(COLLABORATIVE, SHUFFLED)],
    "same-seeds": [(COMBINED_LISTED, COLLABORATIVE_LISTED), (COMBINED_LISTED, INTELLIGENT_LISTED)],
    "guided": [(COLLABORATIVE_LISTED, INTELLIGENT_LISTED), (GUIDED_LISTED, BEST_FIRST_LISTED)],
}


def harvest(crawl: JsonValue) -> float:
    return float(crawl["harvest"])


def first_tenth(crawl: JsonValue) -> float:
    return float(crawl["tenths"][0])


def second_tenth(crawl: JsonValue) -> float:
    return float(crawl["tenths"][1])


class CollaborativeTables:
    """The outcomes by the names of crawls (`shared`), without predicates that too few pages of the log satisfy.

    Means and tests are over topics, as in the paper; words and addresses are reported separately. `intelligent` is the
    best of the runs from several starts, by final P(U).
    """

    def __init__(self, outcomes: Sequence[JsonValue]):
        self._all = outcomes
        crawled = [_with_best(outcome) for outcome in outcomes if outcome["crawls"]]
        self.outcomes = [outcome for outcome in crawled if outcome["kind"] in TOPICAL]
        # Of predicates that are not topics, such as words.
        self.others = [outcome for outcome in crawled if outcome["kind"] not in TOPICAL]

    @property
    def predicates(self) -> list[str]:
        return [outcome["aim"] for outcome in self.outcomes]

    @property
    def crawl_names(self) -> list[str]:
        """The names of the crawls of any predicate, in order."""
        return list(dict.fromkeys(crawl_name for outcome in self.outcomes for crawl_name in outcome["crawls"]))

    def values(self, crawl_name: str, value: Value = harvest) -> list[float]:
        """A value of the crawl of this name for every topic; NaN if there is none."""
        return [
            value(outcome["crawls"][crawl_name]) if crawl_name in outcome["crawls"] else float("nan")
            for outcome in self.outcomes
        ]

    def mean(self, crawl_name: str, value: Value = harvest) -> float:
        return summary(self.values(crawl_name, value)).mean

    def gain(self, crawl_name: str, over: str) -> PairedTest:
        """The test of P(U) at the end against that of another crawl."""
        return paired_t(self.values(crawl_name), self.values(over))

    def tests(self, name: str) -> list[PairComparison]:
        """The tests of a claim, each with p corrected for all of them."""
        pairs = TESTED[name]
        tests = [self.gain(*pair) for pair in pairs]
        corrected = holm([test.p for test in tests])
        return [PairComparison(*pair, test, p) for pair, test, p in zip(pairs, tests, corrected, strict=True)]

    def ahead(self, crawl_name: str, over: str) -> str:
        """In how many topics a crawl has a higher P(U) than another, as text."""
        pairs = [(a, b) for a, b in zip(self.values(crawl_name), self.values(over), strict=True) if a == a and b == b]
        return f"{sum(a > b for a, b in pairs)} of {len(pairs)}"

    def means_over_draws(self, value: Value) -> list[float]:
        """For every topic the mean of a value over the collaborative crawls, whose random draws differ."""
        return [
            summary(values).mean
            for values in zip(*(self.values(crawl_name, value) for crawl_name in DRAWS), strict=True)
        ]

    def learnt(self) -> PairedTest:
        """The test of P(U) of the second tenth of the pages against that of the first."""
        return paired_t(self.means_over_draws(second_tenth), self.means_over_draws(first_tenth))

    def learnt_shuffled(self) -> PairedTest:
        """The same where readers are shuffled."""
        return paired_t(self.values(SHUFFLED, second_tenth), self.values(SHUFFLED, first_tenth))

    def by_chance(self) -> float:
        """P(U) of random pages of the log."""
        return summary(outcome["targets"] / outcome["read"] for outcome in self.outcomes).mean

    def mean_lift(self, crawl_name: str) -> list[tuple[float, float]]:
        """The mean lift curve over topics, by the share of the crawl."""
        curves = [outcome["crawls"][crawl_name]["lift"] for outcome in self.outcomes if crawl_name in outcome["crawls"]]
        return [((index + 1) / POINTS, summary(values).mean) for index, values in enumerate(zip(*curves, strict=True))]

    def largest_fields(self) -> list[JsonValue]:
        """The outcomes for the two fields with most targets in the log."""
        return sorted((o for o in self.outcomes if o["kind"] == FIELD), key=lambda o: -o["targets"])[:2]

    # Tables

    def predicate_rows(self) -> list[Row]:
        """The predicates, their targets in the log, and the length of their crawls (0 where there are too few)."""
        return [
            {
                "aim": outcome["aim"],
                "kind": outcome["kind"],
                "targets_read": outcome["targets"],
                "pages_read": outcome["read"],
                "share": round(outcome["targets"] / outcome["read"], 4),
                "pages_of_a_crawl": outcome["pages"],
            }
            for outcome in self._all
        ]

    def crawl_rows(self) -> list[Row]:
        return [
            {
                "aim": outcome["aim"],
                "crawl": crawl_name,
                "pages": outcome["pages"],
                "crawled": crawl["crawled"],
                "good": crawl["good"],
                "harvest": crawl["harvest"],
                "first_tenth": crawl["tenths"][0],
                "second_tenth": crawl["tenths"][1],
                "last_tenth": crawl["tenths"][-1],
                "not_in_the_log": crawl["unread"],
            }
            for outcome in (*self.outcomes, *self.others)
            for crawl_name, crawl in outcome["crawls"].items()
        ]

    def mean_rows(self, *, seed: int) -> list[Row]:
        measures: dict[str, Value] = {"harvest": harvest, "first_tenth": first_tenth, "second_tenth": second_tenth}
        rows: list[Row] = []
        for measure, value in measures.items():
            crawl_names = [
                crawl_name for crawl_name in self.crawl_names if crawl_name not in (*INTELLIGENT_RUNS, *DRAWS[1:])
            ]
            rows += mean_rows(
                measure, {crawl_name: self.values(crawl_name, value) for crawl_name in crawl_names}, seed=seed
            )
        return rows

    def test_rows(self) -> list[Row]:
        return [
            {
                "claim": name,
                "first": pair.first,
                "second": pair.second,
                "difference": rounded(pair.test.difference),
                "ahead_in": self.ahead(pair.first, pair.second),
                "p": rounded(pair.test.p),
                "holm_p": rounded(pair.holm_p),
            }
            for name in TESTED
            for pair in self.tests(name)
        ]

    def control_rows(self) -> list[Row]:
        """What is learnt from the log, and from the log with readers shuffled."""
        rows: list[Row] = []
        for crawl_name, learnt in ((COLLABORATIVE, self.learnt()), (SHUFFLED, self.learnt_shuffled())):
            over = self.gain(crawl_name, INTELLIGENT)
            rows.append(
                {
                    "crawl": crawl_name,
                    "harvest": rounded(self.mean(crawl_name)),
                    "first_tenth": rounded(self.mean(crawl_name, first_tenth)),
                    "second_tenth": rounded(self.mean(crawl_name, second_tenth)),
                    "learns_p": rounded(learnt.p),
                    "over_intelligent": rounded(over.difference),
                    "over_intelligent_p": rounded(over.p),
                }
            )
        return rows

    def lift_rows(self) -> list[Row]:
        return [
            {"crawl": crawl_name, "share_of_crawl": share, "harvest": rounded(value)}
            for crawl_name in self.crawl_names
            for share, value in self.mean_lift(crawl_name)
        ]


def _with_best(outcome: JsonValue) -> JsonValue:
    crawls = outcome["crawls"]
    best = max(INTELLIGENT_RUNS, key=lambda crawl_name: crawls[crawl_name]["harvest"])
    return {**outcome, "crawls": {**crawls, INTELLIGENT: crawls[best]}}
