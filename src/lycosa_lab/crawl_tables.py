"""The crawls of all topics of a utility study, setting by setting: their means, tests, tables and figures."""

from collections.abc import Callable, Sequence

from lycosa.pictures import GroupedBar, Series, grouped_bars, line_chart
from lycosa.pictures.heat_map import heat_map
from lycosa.vocabulary.records import JsonValue

from .measures import points_along
from .results import Claim, Figure, Row
from .statistics import PairedTest, finite_or_none, paired_t, summary
from .tables import Scores, mean_curve, mean_rows, nan_if_none, pair_rows, rounded
from .test_bed import ALPHA_POINTS, MAX_STATUS, POINTS

TOPICALITY, STATUS, SITES, RELIABILITY = "topicality", "status", "sites", "reliability"
AXES = {
    TOPICALITY: "share of pages on topic",
    STATUS: "mean ln(1 + in-links)",
    SITES: "sites met",
    RELIABILITY: "share of sites in the directory",
}
FITTED = "synthetic"  # the world whose parameters were fitted to some of the published figures
ON_TOPIC, STATUS_OF_ALL = "true topicality", "status of all pages"


class CrawlTables:
    """The outcomes of all topics by setting, without topics in which some crawl fetched nothing.

    part: the key of an outcome with the measures (`TopicCrawls.measure`) of the crawl by setting.
    """

    def __init__(self, outcomes: Sequence[JsonValue], settings: Sequence[str], *, pages: int, part: str = "crawls"):
        self.settings = list(settings)
        self.pages = pages
        self._part = part
        self.outcomes = [
            outcome for outcome in outcomes if all(outcome[part][setting]["pages"] for setting in self.settings)
        ]

    # Numbers

    def scores(self, pick: Callable[[JsonValue], float | None]) -> Scores:
        return {
            setting: [nan_if_none(pick(outcome[self._part][setting])) for outcome in self.outcomes]
            for setting in self.settings
        }

    def at_end(self, kind: str) -> Scores:
        """A measure at the end of the crawls: topic by topic for each setting."""
        return self.scores(lambda crawled: crawled["curves"][kind][-1] if kind in crawled["curves"] else crawled[kind])

    def mean(self, kind: str, setting: str) -> float:
        return summary(self.at_end(kind)[setting]).mean

    def means(self, kind: str) -> dict[str, float]:
        return {setting: self.mean(kind, setting) for setting in self.settings}

    def test(self, kind: str, first: str, second: str) -> PairedTest:
        """The paired t-test over topics of two settings."""
        scores = self.at_end(kind)
        return paired_t(scores[first], scores[second])

    def lead_claim(self, kind: str, leader: str, other: str, *, id: str, text: str, paper: str) -> Claim:
        """The claim that one setting has significantly more of a measure than another."""
        test = self.test(kind, leader, other)
        return Claim(
            id=id,
            kind="paper",
            text=text,
            paper=paper,
            measured=f"{test.difference:+.4g} (p {test.p:.2g}); {self.mean_line(kind, [leader, other])}",
            p=finite_or_none(test.p),
            holds=test.is_gain,
            reason="" if test.is_gain else "not more, or not significantly",
        )

    def mean_line(self, kind: str, settings: Sequence[str] | None = None) -> str:
        """The means with their standard errors, in one line of text."""
        scores = self.at_end(kind)
        means = ", ".join(f"{setting} {summary(scores[setting]):.3f}" for setting in settings or self.settings)
        return f"{kind}: {means}"

    def alpha(self, setting: str) -> list[float]:
        """The mean α over topics along the crawl."""
        curves = [outcome[self._part][setting]["alpha"] for outcome in self.outcomes]
        return [summary(map(nan_if_none, values)).mean for values in zip(*curves, strict=True)]

    # Tables

    def standard_tables(self, *, seed: int) -> dict[str, list[Row]]:
        """Means, tests of every pair, curves, and every topic by itself."""
        means: list[Row] = []
        tests: list[Row] = []
        for kind in (*AXES, ON_TOPIC, STATUS_OF_ALL, "pages"):
            means += mean_rows(kind, self.at_end(kind), seed=seed)
            tests += pair_rows(kind, self.at_end(kind))
        return {"means": means, "tests": tests, "curves": self._curve_rows(), "topics": self._topic_rows()}

    def _curve_rows(self) -> list[Row]:
        rows: list[Row] = []
        for kind in AXES:
            for setting in self.settings:
                curve = self.curve(setting, kind)
                rows += [
                    {
                        "curve": kind,
                        "setting": setting,
                        "pages": int(x),
                        "mean": rounded(y),
                        "standard_error": rounded(error),
                    }
                    for (x, y), error in zip(curve.points, curve.errors, strict=True)
                ]
        return rows

    def alpha_rows(self, settings: Sequence[str]) -> list[Row]:
        return [
            {"setting": setting, "pages": pages, "alpha": rounded(alpha)}
            for setting in settings
            for pages, alpha in zip(points_along(self.pages, ALPHA_POINTS), self.alpha(setting), strict=True)
        ]

    def _topic_rows(self) -> list[Row]:
        return [
            {
                "topic": outcome["topic"],
                "setting": setting,
                "pages": crawled["pages"],
                **{kind: crawled["curves"][kind][-1] for kind in AXES},
                ON_TOPIC: rounded(nan_if_none(crawled[ON_TOPIC])),
                STATUS_OF_ALL: rounded(nan_if_none(crawled[STATUS_OF_ALL])),
            }
            for outcome in self.outcomes
            for setting, crawled in outcome[self._part].items()
            if setting in self.settings
        ]

    def model_rows(self) -> list[Row]:
        return [{"topic": outcome["topic"], **outcome["models"]} for outcome in self.outcomes]

    # Figures

    def curve(self, setting: str, kind: str) -> Series:
        curves = [outcome[self._part][setting]["curves"][kind] for outcome in self.outcomes]
        samples = (map(nan_if_none, values) for values in zip(*curves, strict=True))
        return mean_curve(setting, points_along(self.pages, POINTS), samples)

    def curve_figure(self, kind: str, settings: Sequence[str], *, figure: str) -> Figure:
        title = f"{kind[0].upper()}{kind[1:]} along the crawl"
        chart = line_chart(
            [self.curve(setting, kind) for setting in settings],
            title=title,
            x_title="pages fetched",
            y_title=AXES[kind],
        )
        return Figure(title, f"As figure {figure} of the paper. {self._over()}", chart)

    def bar_figure(self, kind: str, settings: Sequence[str], *, figure: str) -> Figure:
        title = f"{kind[0].upper()}{kind[1:]} of whole crawls"
        scores = self.at_end(kind)
        groups = {}
        for setting in settings:
            each = summary(scores[setting])
            groups[setting] = [GroupedBar(kind, each.mean, each.standard_error)]
        chart = grouped_bars(groups, title=title, y_title=AXES[kind])
        return Figure(title, f"As figure {figure} of the paper. {self._over()}", chart)

    def map_figure(self, setting: str, *, figure: str) -> Figure:
        maps = [outcome[self._part][setting]["map"] for outcome in self.outcomes]
        counts = [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*maps, strict=True)]
        title = f"Topicality and status: {setting}"
        chart = heat_map(
            counts,
            y_range=(0.0, MAX_STATUS),
            title=title,
            x_title="relevance, by the evaluation classifier",
            y_title="ln(1 + in-links)",
        )
        shown = sum(map(sum, counts))
        return Figure(
            title, f"As figure {figure} of the paper: {shown} sampled pages, shades by the logarithm of counts.", chart
        )

    def _over(self) -> str:
        return f"Means over {len(self.outcomes)} topics; thin bars are standard errors."


def evaluators_claim(study: str, tables: CrawlTables, *, world: str) -> Claim:
    """The accuracy of the evaluation classifiers, to which the synthetic world was fitted."""
    accuracy = summary(row["evaluator_accuracy"] for row in tables.model_rows())
    topped_up = sum(row["topped_up"] for row in tables.model_rows())
    examples = sum(2 * row["examples"] for row in tables.model_rows())
    return Claim(
        id=f"{study}.evaluators",
        kind="calibration" if world == FITTED else "paper",
        text="Accuracy of the evaluation classifiers on the crawler's own examples, which they have not learnt from",
        paper="78.14 ± .70 %",
        measured=f"{accuracy:.2%}; {topped_up} of {examples} good examples are not from the directory",
        holds=None,
    )
