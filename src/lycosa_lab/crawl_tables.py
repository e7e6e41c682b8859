"""The crawls of all topics of a utility study, setting by setting: their means, tests, tables and figures.

A utility study compares strategies that weigh the relevance of a page against its standing. Topicality is the share of
pages that an evaluation classifier accepts, which was trained on examples of its own; *true* topicality is by the
labels of the world. Status is the mean ln(1 + in-links) of a sample of the pages, *status of all pages* that of all.
"""

from collections.abc import Callable, Sequence

from lycosa.pictures import GroupedBar, Series, grouped_bars, line_chart
from lycosa.pictures.heat_map import heat_map
from lycosa.vocabulary.records import JsonValue

from .measures import points_along
from .results import Claim, Figure, Row
from .statistics import PairedTest, finite_or_none, holds_or_none, paired_t, summary
from .tables import Scores, mean_curve, mean_rows, nan_if_none, pair_rows, rounded
from .test_bed import ALPHA_POINTS, MAX_STATUS, POINTS

TOPICALITY, STATUS, SITES, RELIABILITY = "topicality", "status", "sites", "reliability"
AXES = {  # titles of the y axis, by measure; each of these measures has a curve
    TOPICALITY: "share of pages on topic",
    STATUS: "mean ln(1 + in-links)",
    SITES: "sites met",
    RELIABILITY: "share of sites in the directory",
}
CALIBRATED_WORLD = "synthetic"  # the name of the world whose parameters were fitted to some of the published figures
TRUE_TOPICALITY, STATUS_OF_ALL = "true topicality", "status of all pages"


class CrawlTables:
    """The outcomes of all topics by setting, without topics in which some crawl fetched nothing.

    settings: the names of the strategies compared, each with its parameters, such as "α=0.5".
    crawls_key: the key of an outcome under which it has the measures (`TopicCrawls.measure`) of the crawl by setting.
    """

    def __init__(
        self, outcomes: Sequence[JsonValue], settings: Sequence[str], *, pages: int, crawls_key: str = "crawls"
    ):
        self.settings = list(settings)
        self.pages = pages
        self._crawls_key = crawls_key
        self.outcomes = [
            outcome for outcome in outcomes if all(outcome[crawls_key][setting]["pages"] for setting in self.settings)
        ]

    # Numbers

    def scores(self, value_of: Callable[[JsonValue], float | None]) -> Scores:
        """A value of the crawls: topic by topic for each setting."""
        return {
            setting: [nan_if_none(value_of(outcome[self._crawls_key][setting])) for outcome in self.outcomes]
            for setting in self.settings
        }

    def at_end(self, measure: str) -> Scores:
        """A measure at the end of the crawls: topic by topic for each setting."""
        return self.scores(
            lambda crawled: crawled["curves"][measure][-1] if measure in crawled["curves"] else crawled[measure]
        )

    def mean(self, measure: str, setting: str) -> float:
        return summary(self.at_end(measure)[setting]).mean

    def means(self, measure: str) -> dict[str, float]:
        return {setting: self.mean(measure, setting) for setting in self.settings}

    def test(self, measure: str, first: str, second: str) -> PairedTest:
        """The paired t-test over topics of two settings."""
        scores = self.at_end(measure)
        return paired_t(scores[first], scores[second])

    def lead_claim(self, measure: str, leader: str, other: str, *, id: str, text: str, paper: str) -> Claim:
        """The claim that one setting has significantly more of a measure than another."""
        test = self.test(measure, leader, other)
        holds = holds_or_none(test.is_gain_or_unknown, test.p)
        return Claim(
            id=id,
            kind="paper",
            text=text,
            paper=paper,
            measured=f"{test.difference:+.4g} (p {test.p:.2g}); {self.mean_line(measure, [leader, other])}",
            p=finite_or_none(test.p),
            holds=holds,
            reason="not more, or not significantly" if holds is False else "",
        )

    def mean_line(self, measure: str, settings: Sequence[str] | None = None) -> str:
        """The means with their standard errors, in one line of text."""
        scores = self.at_end(measure)
        means = ", ".join(f"{setting} {summary(scores[setting]):.3f}" for setting in settings or self.settings)
        return f"{measure}: {means}"

    def alpha(self, setting: str) -> list[float]:
        """The mean over topics, along the crawl, of α, the weight of relevance against standing."""
        curves = [outcome[self._crawls_key][setting]["alpha"] for outcome in self.outcomes]
        return [summary(map(nan_if_none, values)).mean for values in zip(*curves, strict=True)]

    # Tables

    def standard_tables(self, *, seed: int) -> dict[str, list[Row]]:
        """Means, tests of every pair, curves, and every topic by itself."""
        means: list[Row] = []
        tests: list[Row] = []
        for measure in (*AXES, TRUE_TOPICALITY, STATUS_OF_ALL, "pages"):
            means += mean_rows(measure, self.at_end(measure), seed=seed)
            tests += pair_rows(measure, self.at_end(measure))
        return {"means": means, "tests": tests, "curves": self._curve_rows(), "topics": self._topic_rows()}

    def _curve_rows(self) -> list[Row]:
        rows: list[Row] = []
        for measure in AXES:
            for setting in self.settings:
                curve = self.curve(setting, measure)
                rows += [
                    {
                        "curve": measure,
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
                **{measure: crawled["curves"][measure][-1] for measure in AXES},
                TRUE_TOPICALITY: rounded(nan_if_none(crawled[TRUE_TOPICALITY])),
                STATUS_OF_ALL: rounded(nan_if_none(crawled[STATUS_OF_ALL])),
            }
            for outcome in self.outcomes
            for setting, crawled in outcome[self._crawls_key].items()
            if setting in self.settings
        ]

    def model_rows(self) -> list[Row]:
        """For each topic the quality of its classifiers and models, as `TopicCrawls.model_quality` measures it."""
        return [{"topic": outcome["topic"], **outcome["models"]} for outcome in self.outcomes]

    # Figures

    def curve(self, setting: str, measure: str) -> Series:
        curves = [outcome[self._crawls_key][setting]["curves"][measure] for outcome in self.outcomes]
        samples = (map(nan_if_none, values) for values in zip(*curves, strict=True))
        return mean_curve(setting, points_along(self.pages, POINTS), samples)

    def curve_figure(self, measure: str, settings: Sequence[str], *, figure: str) -> Figure:
        title = f"{measure[0].upper()}{measure[1:]} along the crawl"
        chart = line_chart(
            [self.curve(setting, measure) for setting in settings],
            title=title,
            x_title="pages fetched",
            y_title=AXES[measure],
        )
        return Figure(title, f"As figure {figure} of the paper. {self._sample_note()}", chart)

    def bar_figure(self, measure: str, settings: Sequence[str], *, figure: str) -> Figure:
        title = f"{measure[0].upper()}{measure[1:]} of whole crawls"
        scores = self.at_end(measure)
        groups = {}
        for setting in settings:
            over_topics = summary(scores[setting])
            groups[setting] = [GroupedBar(measure, over_topics.mean, over_topics.standard_error)]
        chart = grouped_bars(groups, title=title, y_title=AXES[measure])
        return Figure(title, f"As figure {figure} of the paper. {self._sample_note()}", chart)

    def heat_map_figure(self, setting: str, *, figure: str) -> Figure:
        maps = [outcome[self._crawls_key][setting]["map"] for outcome in self.outcomes]
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

    def _sample_note(self) -> str:
        return f"Means over {len(self.outcomes)} topics; thin bars are standard errors."


def classifier_accuracy_claim(study: str, tables: CrawlTables, *, world: str) -> Claim:
    """The accuracy of the evaluation classifiers, to which the synthetic world was fitted."""
    accuracy = summary(row["evaluator_accuracy"] for row in tables.model_rows())
    topped_up_count = sum(row["topped_up"] for row in tables.model_rows())  # of good examples not from the directory
    good_example_count = sum(2 * row["examples"] for row in tables.model_rows())  # to learn from, and as many held out
    return Claim(
        id=f"{study}.evaluators",
        kind="calibration" if world == CALIBRATED_WORLD else "paper",
        text="Accuracy of the evaluation classifiers on the crawler's own examples, which they have not learnt from",
        paper="78.14 ± .70 %",
        measured=f"{accuracy:.2%}; {topped_up_count} of {good_example_count} good examples are not from the directory",
        holds=None,
    )
