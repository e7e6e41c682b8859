"""The outcomes for all predicates: values, tests and tables."""

from collections.abc import Callable, Sequence

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import PairedTest, holm, paired_t, summary
from lycosa_lab.studies.collaborative.runs import POINTS
from lycosa_lab.tables import mean_rows, rounded

from .shared import (
    AGED,
    ALONE,
    BEST_FIRST_LISTED,
    COLLABORATIVE,
    COLLABORATIVE_LISTED,
    COMBINED,
    COMBINED_LISTED,
    DRAWS,
    FIELD,
    GUIDED_LISTED,
    INTELLIGENT,
    INTELLIGENT_LISTED,
    SCARCE,
    SHUFFLED,
    STARTS,
    TOPICAL,
)

Value = Callable[[JsonValue], float]
TESTED = {
    "beats-intelligent": [(COLLABORATIVE, INTELLIGENT)],
    "combined-best": [(COMBINED, COLLABORATIVE), (COMBINED, INTELLIGENT)],
    "factors": [(COLLABORATIVE, factor) for factor in ALONE],
    "privacy": [(COLLABORATIVE, kind) for kind in (*SCARCE, *AGED)],
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
    """The outcomes by kind of crawl, without predicates that too few pages of the log satisfy.

    Means and tests are over topics, as in the paper; words and addresses are reported separately. `intelligent` is the
    best of the runs from several starts, by final P(U).
    """

    def __init__(self, outcomes: Sequence[JsonValue]):
        self._all = outcomes
        crawled = [_with_best(outcome) for outcome in outcomes if outcome["crawls"]]
        self.outcomes = [outcome for outcome in crawled if outcome["kind"] in TOPICAL]
        self.others = [outcome for outcome in crawled if outcome["kind"] not in TOPICAL]

    @property
    def predicates(self) -> list[str]:
        return [outcome["aim"] for outcome in self.outcomes]

    @property
    def kinds(self) -> list[str]:
        """Every kind of crawl of any predicate, in order."""
        return list(dict.fromkeys(kind for outcome in self.outcomes for kind in outcome["crawls"]))

    def values(self, kind: str, value: Value = harvest) -> list[float]:
        """Of the crawl for every topic; NaN if there is none."""
        return [
            value(outcome["crawls"][kind]) if kind in outcome["crawls"] else float("nan") for outcome in self.outcomes
        ]

    def mean(self, kind: str, value: Value = harvest) -> float:
        return summary(self.values(kind, value)).mean

    def gain(self, kind: str, over: str) -> PairedTest:
        """The test of P(U) at the end against that of another kind of crawl."""
        return paired_t(self.values(kind), self.values(over))

    def tests(self, name: str) -> list[tuple[str, str, PairedTest, float]]:
        """The tests of a claim, each with p corrected for all of them."""
        pairs = TESTED[name]
        tests = [self.gain(*pair) for pair in pairs]
        corrected = holm([test.p for test in tests])
        return [(one, other, test, p) for (one, other), test, p in zip(pairs, tests, corrected, strict=True)]

    def ahead(self, kind: str, over: str) -> str:
        pairs = [(a, b) for a, b in zip(self.values(kind), self.values(over), strict=True) if a == a and b == b]
        return f"{sum(a > b for a, b in pairs)} of {len(pairs)}"

    def over_draws(self, value: Value) -> list[float]:
        """For every topic the mean over the collaborative crawls with different random draws."""
        return [summary(values).mean for values in zip(*(self.values(kind, value) for kind in DRAWS), strict=True)]

    def learnt(self) -> PairedTest:
        """The test of P(U) of the second tenth of the pages against that of the first."""
        return paired_t(self.over_draws(second_tenth), self.over_draws(first_tenth))

    def learnt_shuffled(self) -> PairedTest:
        """The same where readers are shuffled."""
        return paired_t(self.values(SHUFFLED, second_tenth), self.values(SHUFFLED, first_tenth))

    def by_chance(self) -> float:
        """P(U) of random pages of the log."""
        return summary(outcome["targets"] / outcome["read"] for outcome in self.outcomes).mean

    def mean_lift(self, kind: str) -> list[tuple[float, float]]:
        """The mean lift curve over topics, by the share of the crawl."""
        curves = [outcome["crawls"][kind]["lift"] for outcome in self.outcomes if kind in outcome["crawls"]]
        return [((place + 1) / POINTS, summary(values).mean) for place, values in enumerate(zip(*curves, strict=True))]

    def fields(self) -> list[JsonValue]:
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
                "crawl": kind,
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
            for kind, crawl in outcome["crawls"].items()
        ]

    def mean_rows(self, *, seed: int) -> list[Row]:
        measures: dict[str, Value] = {"harvest": harvest, "first_tenth": first_tenth, "second_tenth": second_tenth}
        rows: list[Row] = []
        for measure, value in measures.items():
            kinds = [kind for kind in self.kinds if kind not in (*STARTS, *DRAWS[1:])]
            rows += mean_rows(measure, {kind: self.values(kind, value) for kind in kinds}, seed=seed)
        return rows

    def test_rows(self) -> list[Row]:
        return [
            {
                "claim": name,
                "first": one,
                "second": other,
                "difference": rounded(test.difference),
                "ahead_in": self.ahead(one, other),
                "p": rounded(test.p),
                "holm_p": rounded(p),
            }
            for name in TESTED
            for one, other, test, p in self.tests(name)
        ]

    def control_rows(self) -> list[Row]:
        """What is learnt from the log, and from the log with readers shuffled."""
        rows: list[Row] = []
        for kind, learnt in ((COLLABORATIVE, self.learnt()), (SHUFFLED, self.learnt_shuffled())):
            over = self.gain(kind, INTELLIGENT)
            rows.append(
                {
                    "crawl": kind,
                    "harvest": rounded(self.mean(kind)),
                    "first_tenth": rounded(self.mean(kind, first_tenth)),
                    "second_tenth": rounded(self.mean(kind, second_tenth)),
                    "learns_p": rounded(learnt.p),
                    "over_intelligent": rounded(over.difference),
                    "over_intelligent_p": rounded(over.p),
                }
            )
        return rows

    def lift_rows(self) -> list[Row]:
        return [
            {"crawl": kind, "share_of_crawl": share, "harvest": rounded(value)}
            for kind in self.kinds
            for share, value in self.mean_lift(kind)
        ]


def _with_best(outcome: JsonValue) -> JsonValue:
    crawls = outcome["crawls"]
    best = max(STARTS, key=lambda kind: crawls[kind]["harvest"])
    return {**outcome, "crawls": {**crawls, INTELLIGENT: crawls[best]}}
