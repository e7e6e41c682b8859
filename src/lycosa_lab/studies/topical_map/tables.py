"""The outcomes of all topics: values, tests and tables."""

from collections.abc import Callable, Sequence
from functools import partial

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Row
from lycosa_lab.statistics import PairedTest, finite_or_none, paired_t, summary
from lycosa_lab.tables import mean_rows

from .runs import CURVES
from .shared import AGAIN, BASELINE, BASELINE_LATER, FIRST, LATER, RELATED

Value = Callable[[JsonValue], float]


class MapTables:
    """The outcomes of all topics by the names of crawls (`shared`); values of crawls that could not be made are NaN.

    The measures of a crawl are those of `runs.crawl_counts`: its good pages, those of them that the first crawl did not
    fetch (new_good), and so on.
    """

    def __init__(self, outcomes: Sequence[JsonValue]):
        self.outcomes = outcomes
        self.topics: list[str] = [outcome["topic"] for outcome in outcomes]
        self.points: list[int] = outcomes[0]["points"]  # downloads after which curves have values
        self.downloads: int = outcomes[0]["points"][-1]  # of every crawl

    def has(self, crawl_name: str) -> bool:
        return any(crawl_name in outcome["crawls"] for outcome in self.outcomes)

    @property
    def crawl_names(self) -> list[str]:
        """The names of the crawls that any topic has, in the order in which they were made."""
        return list(dict.fromkeys(crawl_name for outcome in self.outcomes for crawl_name in outcome["crawls"]))

    def values(self, crawl_name: str, value: Value) -> list[float]:
        """A value of the crawl of this name for every topic."""
        return [
            value(outcome["crawls"][crawl_name]) if crawl_name in outcome["crawls"] else float("nan")
            for outcome in self.outcomes
        ]

    def good(self, crawl_name: str) -> list[float]:
        """How many good pages the crawl of every topic found."""
        return self.values(crawl_name, lambda crawl: float(crawl["good"]))

    def gain(self, crawl_name: str, over: str) -> PairedTest:
        """The paired test over topics of the good pages of one crawl against those of another."""
        return paired_t(self.good(crawl_name), self.good(over))

    def ahead(self, crawl_name: str, over: str) -> str:
        """In how many topics one crawl found more good pages than another, in words."""
        pairs = [(a, b) for a, b in zip(self.good(crawl_name), self.good(over), strict=True) if a == a and b == b]
        return f"{sum(a > b for a, b in pairs)} of {len(pairs)} topics"

    def mean(self, crawl_name: str, value: Value) -> float:
        return summary(self.values(crawl_name, value)).mean

    def mean_good(self, crawl_name: str) -> float:
        return summary(self.good(crawl_name)).mean

    def mean_curve(self, crawl_name: str, name: str) -> list[tuple[float, float]]:
        """A curve, its mean over topics."""
        curves = [
            outcome["crawls"][crawl_name]["curves"][name]
            for outcome in self.outcomes
            if crawl_name in outcome["crawls"]
        ]
        return [
            (float(point), summary(values).mean)
            for point, values in zip(self.points, zip(*curves, strict=True), strict=True)
        ]

    # Tables

    def crawl_rows(self) -> list[Row]:
        """Every crawl of every topic."""
        return [
            {
                "topic": outcome["topic"],
                "crawl": crawl_name,
                **{key: value for key, value in crawl.items() if key != "curves"},
            }
            for outcome in self.outcomes
            for crawl_name, crawl in outcome["crawls"].items()
        ]

    def mean_rows(self, *, seed: int) -> list[Row]:
        """Means over topics, with the test of good pages against the baseline of the same day."""
        rows: list[Row] = []
        for measure in ("good", "new_good", "start", "seen", "new", "true", "dead", "downloads", "copies", "outdated"):
            scores = {crawl_name: self.values(crawl_name, partial(_float, measure)) for crawl_name in self.crawl_names}
            rows += mean_rows(measure, scores, seed=seed)
        return rows

    def gain_rows(self) -> list[Row]:
        rows: list[Row] = []
        for crawl_name in self.crawl_names:
            over = BASELINE_LATER if crawl_name in LATER else FIRST if crawl_name in (FIRST, AGAIN) else BASELINE
            test = self.gain(crawl_name, over)
            rows.append(
                {
                    "crawl": crawl_name,
                    "over": over,
                    "good_pages_more": round(test.difference, 3),
                    "share_more": round(test.difference / (self.mean_good(over) or 1.0), 4),
                    "ahead_in": self.ahead(crawl_name, over),
                    "p": finite_or_none(test.p),
                }
            )
        return rows

    def curve_rows(self) -> list[Row]:
        """Curves, their means over topics."""
        rows: list[Row] = []
        for crawl_name in self.crawl_names:
            curves = {name: self.mean_curve(crawl_name, name) for name in CURVES}
            for index, point in enumerate(self.points):
                means = {name: round(curve[index][1], 2) for name, curve in curves.items()}
                rows.append({"crawl": crawl_name, "downloads": point, **means})
        return rows

    def map_rows(self) -> list[Row]:
        return [
            {"topic": outcome["topic"], "related": outcome["related"], **row}
            for outcome in self.outcomes
            for row in outcome["maps"]
        ]

    def probability_rows(self) -> list[Row]:
        """The histogram of P(topic | page) over the first crawl of each topic, and how often it is exactly 1."""
        return [
            {"topic": outcome["topic"], "bins": outcome["chances"], "exactly_one": outcome["certain"]}
            for outcome in self.outcomes
        ]

    # For figures and claims

    def citations(self) -> tuple[list[str], list[list[int]]]:
        """Topics, and the links among pages of first crawls: from the topic of a row to that of a column."""
        topics: list[str] = self.outcomes[0]["taxonomy"]
        numbers = range(len(topics))
        counts = [
            [sum(outcome["citations"][row][column] for outcome in self.outcomes) for column in numbers]
            for row in numbers
        ]
        return topics, counts

    def citation_rows(self) -> list[Row]:
        topics, counts = self.citations()
        return [
            {"from": source, "to": target, "links": counts[row][column]}
            for row, source in enumerate(topics)
            for column, target in enumerate(topics)
            if counts[row][column]
        ]

    def related_shares(self) -> list[float]:
        """The pages of each related map, as a share of those of the crawl that it was drawn from."""
        return [
            row["pages"] / self.downloads
            for outcome in self.outcomes
            for row in outcome["maps"]
            if row["map"] == RELATED
        ]


def _float(measure: str, crawl: JsonValue) -> float:
    return float(crawl[measure])
