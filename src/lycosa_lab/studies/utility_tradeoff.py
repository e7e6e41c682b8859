"""Topicality and status of crawls that weigh the two differently: α is the weight of topicality, 1 − α that of status.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), section 5.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.strategies.utility import Utility
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.crawl_tables import CALIBRATED_WORLD, STATUS, TOPICALITY, CrawlTables, classifier_accuracy_claim
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.statistics import SIGNIFICANT, finite_or_none, holds_or_none, p_of_trend, ratio
from lycosa_lab.study import Size
from lycosa_lab.tables import ranked_by_mean
from lycosa_lab.test_bed import SCALES, TestBed, TopicCrawls, examples_of, in_links_of, prepare_test_bed
from lycosa_lab.worlds import StudyWorld

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
LINEAR_ALPHAS = (0.25, 0.5, 0.75)  # at 0 and 1 the form does not matter
MIN_TOPICALITY_KEPT = 0.85  # share of the topicality of α = 1 that counts as largely topical


def alpha_label(alpha: float) -> str:
    return f"α={alpha:g}"


def linear_label(alpha: float) -> str:
    return f"linear α={alpha:g}"


COBB_DOUGLAS = [alpha_label(alpha) for alpha in ALPHAS]
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    **{alpha_label(alpha): {"alpha": alpha} for alpha in ALPHAS},
    **{linear_label(alpha): {"alpha": alpha, "form": "linear"} for alpha in LINEAR_ALPHAS},
}
STATUS_ONLY, HALF, TOPIC_ONLY = alpha_label(0.0), alpha_label(0.5), alpha_label(1.0)


class UtilityTradeoff:
    name = "utility-tradeoff"
    summary = "The topicality and the status of crawls that weigh the two differently, by two forms of utility."
    scales: Mapping[str, Size] = SCALES

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return list(range(len(examples_of(world, topics=size["topics"], per_class=size["examples"], seed=seed))))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> TestBed:
        return prepare_test_bed(world, size, seed, in_links_of(world))

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        bed: TestBed = prepared
        crawler = TopicCrawls(bed, bed.topics[job])
        crawls = {
            name: crawler.run_and_measure(Utility(**options), pages=bed.size["pages"])
            for name, options in SETTINGS.items()
        }
        return {"topic": crawler.examples.topic, "crawls": crawls, "models": crawler.model_quality()}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = CrawlTables(outcomes, list(SETTINGS), pages=size["pages"])
        return Findings(
            claims=[
                _topicality_highest_at_one(tables),
                _status_highest_at_zero(tables),
                _trend(tables),
                _half_beats_one(tables),
                _half_stays_topical(tables, world=world.name),
                _forms(tables),
                classifier_accuracy_claim(self.name, tables, world=world.name),
            ],
            tables={**tables.standard_tables(seed=seed), "trends": _trend_rows(tables), "models": tables.model_rows()},
            figures=_figures(tables),
        )


def _topicality_highest_at_one(tables: CrawlTables) -> Claim:
    return _highest(
        tables,
        TOPICALITY,
        TOPIC_ONLY,
        over=STATUS_ONLY,
        id="utility-tradeoff.topicality-highest-at-one",
        text="Of all weights, α = 1 has the highest mean topicality",
        paper="highest at α = 1, about 70 % at .5 and .75; drifts off the topic at 0",
    )


def _status_highest_at_zero(tables: CrawlTables) -> Claim:
    return _highest(
        tables,
        STATUS,
        STATUS_ONLY,
        over=TOPIC_ONLY,
        id="utility-tradeoff.status-highest-at-zero",
        text="Of all weights, α = 0 has the highest mean status",
        paper="highest at α = 0; .25 and .5 above .75 and 1",
    )


def _highest(tables: CrawlTables, measure: str, setting: str, *, over: str, id: str, text: str, paper: str) -> Claim:
    """The claim that a setting has the highest mean among Cobb-Douglas settings; p is that of the test with `over`."""
    best = ranked_by_mean({each: tables.at_end(measure)[each] for each in COBB_DOUGLAS})[0]
    return Claim(
        id=id,
        kind="paper",
        text=text,
        paper=paper,
        measured=tables.mean_line(measure, COBB_DOUGLAS),
        p=finite_or_none(tables.test(measure, setting, over).p),
        holds=best == setting,
        reason="" if best == setting else f"{best} has the highest",
    )


def _trend_p_values(tables: CrawlTables) -> dict[str, float]:
    """The p-values of an increase of topicality with α, and of a decrease of status."""
    topicality, status = tables.at_end(TOPICALITY), tables.at_end(STATUS)
    return {
        TOPICALITY: p_of_trend([topicality[setting] for setting in COBB_DOUGLAS]),
        STATUS: p_of_trend([status[setting] for setting in reversed(COBB_DOUGLAS)]),
    }


def _trend_rows(tables: CrawlTables) -> list[Row]:
    return [
        {
            "measure": measure,
            "trend": "rises with α" if measure == TOPICALITY else "falls with α",
            "test": "Page",
            "p": finite_or_none(p),
            "topics": len(tables.outcomes),
        }
        for measure, p in _trend_p_values(tables).items()
    ]


def _trend(tables: CrawlTables) -> Claim:
    trends = _trend_p_values(tables)
    failures = [measure for measure, p in trends.items() if p >= SIGNIFICANT]
    holds = holds_or_none(not failures, *trends.values())
    return Claim(
        id="utility-tradeoff.trend",
        kind="paper",
        text="Topicality rises and status falls with α, by Page's trend test, p < .05 for both",
        paper="a trade-off on average; no test reported",
        measured="; ".join(f"{measure}: p {p:.2g}" for measure, p in trends.items()),
        p=finite_or_none(max(trends.values(), key=lambda p: (p != p, p))),
        holds=holds,
        reason=f"no significant trend of {' and '.join(failures)}" if holds is False else "",
    )


def _half_beats_one(tables: CrawlTables) -> Claim:
    return tables.lead_claim(
        STATUS,
        HALF,
        TOPIC_ONLY,
        id="utility-tradeoff.half-beats-one-on-status",
        text="The status of α = .5 is above that of the topical crawler α = 1, p < .05",
        paper="significantly higher, p = .02",
    )


def _half_stays_topical(tables: CrawlTables, *, world: str) -> Claim:
    """On the synthetic world only a calibration: this world was fitted to the share of a crawl with α = .5 that the
    classifiers accept."""
    share = ratio(tables.mean(TOPICALITY, HALF), tables.mean(TOPICALITY, TOPIC_ONLY))
    holds = holds_or_none(not share < MIN_TOPICALITY_KEPT, share)
    return Claim(
        id="utility-tradeoff.half-stays-topical",
        kind="calibration" if world == CALIBRATED_WORLD else "paper",
        text=f"α = .5 keeps at least {MIN_TOPICALITY_KEPT:.0%} of the topicality of α = 1",
        paper="close to 70 % all along the crawl, largely topical",
        measured=f"{share:.1%}; {tables.mean_line(TOPICALITY, [HALF, TOPIC_ONLY])}",
        holds=holds,
        reason="it strays farther" if holds is False else "",
    )


def _forms(tables: CrawlTables) -> Claim:
    gains = []
    for measure in (TOPICALITY, STATUS):
        for alpha in LINEAR_ALPHAS:
            test = tables.test(measure, alpha_label(alpha), linear_label(alpha))
            gains.append(f"{measure} at {alpha_label(alpha)}: {test.difference:+.3f} (p {test.p:.2g})")
    return Claim(
        id="utility-tradeoff.cobb-douglas-vs-linear",
        kind="paper",
        text="By how much the Cobb-Douglas form is above the linear one",
        paper="slightly better on both measures, but for status at α = .25",
        measured="; ".join(gains),
        holds=None,
    )


def _figures(tables: CrawlTables) -> dict[str, Figure]:
    main_settings = [STATUS_ONLY, HALF, TOPIC_ONLY]
    linear_settings = [*(linear_label(alpha) for alpha in LINEAR_ALPHAS)]
    return {
        "topicality": tables.curve_figure(TOPICALITY, main_settings, figure="4 (a)"),
        "topicality-by-weight": tables.bar_figure(TOPICALITY, COBB_DOUGLAS, figure="4 (b)"),
        "status": tables.curve_figure(STATUS, main_settings, figure="5 (a)"),
        "status-by-weight": tables.bar_figure(STATUS, COBB_DOUGLAS, figure="5 (b)"),
        "linear-topicality": tables.bar_figure(TOPICALITY, [STATUS_ONLY, *linear_settings, TOPIC_ONLY], figure="6 (a)"),
        "linear-status": tables.bar_figure(STATUS, [STATUS_ONLY, *linear_settings, TOPIC_ONLY], figure="6 (b)"),
        "map-topic-only": tables.heat_map_figure(TOPIC_ONLY, figure="14 (a)"),
        "map-status-only": tables.heat_map_figure(STATUS_ONLY, figure="14 (b)"),
        "map-half": tables.heat_map_figure(HALF, figure="14 (c)"),
    }
