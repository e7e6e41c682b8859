"""Standing by a model of the page, compared with in-links counted in the pages fetched so far.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), sections 7.2
and 7.3. Topicality is the share of pages on the topic, status the mean ln(1 + in-links) of the pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lycosa.pictures import line_chart
from lycosa.strategies.utility import Adaptive, InLinks
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.crawl_tables import RELIABILITY, SITES, STATUS, TOPICALITY, CrawlTables, classifier_accuracy_claim
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.statistics import SIGNIFICANT, finite_or_none, holds_or_none, summary
from lycosa_lab.study import Size
from lycosa_lab.tables import mean_curve, nan_if_none
from lycosa_lab.test_bed import SCALES, TestBed, TopicCrawls, examples_of, in_links_of, prepare_test_bed
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld

TARGET = 0.7  # δ, the topicality to which both crawlers adapt the weight of relevance
MODEL, COUNTED = "model", "in-links"  # the crawlers, by where they take the standing of a page from
CRAWLERS = [MODEL, COUNTED]


class InlinksBenchmark:
    name = "inlinks-benchmark"
    summary = "Whether a model of standing guides a crawl better than in-links counted in the pages fetched so far."
    scales: Mapping[str, Size] = {
        "small": SCALES["small"]
        | {
            "noises": [0.25, 1.0, 4.0],  # of the features of pages that tell their standing; 1 is the Web as measured
            "noise_topics": 5,  # this and the following: of the crawls in worlds with these noises
            "noise_pages": 500,
            "noise_world_pages": 30_000,
            "noise_examples": 50,
        },
        "paper": SCALES["paper"]
        | {
            "noises": [0.0, 0.5, 1.0, 2.0, 4.0, 8.0],
            "noise_topics": 10,
            "noise_pages": 2_500,
            "noise_world_pages": 200_000,
            "noise_examples": 200,
        },
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        topics = examples_of(world, topics=size["topics"], per_class=size["examples"], seed=seed)
        main = [{"topic": number} for number in range(len(topics))]
        if not isinstance(world, SyntheticWorld):
            return main  # noise cannot be added to a given web
        # Noise changes no topic, so that all noisy worlds have the same ones.
        noisy = _with_noise(world, max(size["noises"], default=1.0), size)
        noise_topics = examples_of(noisy, topics=size["noise_topics"], per_class=size["noise_examples"], seed=seed)
        return main + [
            {"noise": noise, "topic": number} for noise in size["noises"] for number in range(len(noise_topics))
        ]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> Mapping[float | None, TestBed]:
        beds: dict[float | None, TestBed] = {None: prepare_test_bed(world, size, seed, in_links_of(world))}
        if isinstance(world, SyntheticWorld):
            small_size = {**size, "examples": size["noise_examples"], "topics": size["noise_topics"]}
            for noise in size["noises"]:
                noisy = _with_noise(world, noise, size)
                beds[noise] = prepare_test_bed(
                    noisy, {**small_size, "pages": size["noise_pages"]}, seed, in_links_of(noisy)
                )
        return beds

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        bed: TestBed = prepared[job.get("noise")]
        crawls = TopicCrawls(bed, bed.topics[job["topic"]])
        pages = bed.size["pages"]
        # ranked_among=0: utilities as published, not quantile-matched.
        return {
            "topic": crawls.examples.topic,
            "noise": job.get("noise"),
            "crawls": {
                MODEL: crawls.run_and_measure(Adaptive(target=TARGET, ranked_among=0), pages=pages),
                COUNTED: crawls.run_and_measure(InLinks(target=TARGET, ranked_among=0), pages=pages),
            },
            "models": crawls.model_quality(),
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        main = [outcome for outcome in outcomes if outcome["noise"] is None]
        tables = CrawlTables(main, CRAWLERS, pages=size["pages"])
        noisy = {
            noise: CrawlTables(
                [outcome for outcome in outcomes if outcome["noise"] == noise], CRAWLERS, pages=size["noise_pages"]
            )
            for noise in sorted({outcome["noise"] for outcome in outcomes if outcome["noise"] is not None})
        }
        noise_rows = [_noise_row(noise, noise_tables) for noise, noise_tables in noisy.items()]
        figures = _figures(tables)
        if noise_rows:
            figures["noise"] = _noise_figure(noisy)
        return Findings(
            claims=[
                _model_beats_in_links(tables),
                _equal_topicality(tables),
                _diversity(tables),
                _reliability(tables),
                *([_advantage_by_noise(noise_rows)] if noise_rows else []),
                classifier_accuracy_claim(self.name, tables, world=world.name),
            ],
            tables={**tables.standard_tables(seed=seed), "noise": noise_rows, "models": tables.model_rows()},
            figures=figures,
        )


def _with_noise(world: SyntheticWorld, noise: float, size: Size) -> SyntheticWorld:
    """A smaller world that differs from this one only in the noise of the features related to standing."""
    options = asdict(world.options) | {"pages": size["noise_world_pages"], "topics": size["noise_topics"]}
    return SyntheticWorld(**options | {"sites": None, "feature_noise": noise})


def _model_beats_in_links(tables: CrawlTables) -> Claim:
    return tables.lead_claim(
        STATUS,
        MODEL,
        COUNTED,
        id="inlinks-benchmark.model-beats-inlinks-on-status",
        text="Guided by the model (δ = .7), status is higher than by in-links counted so far, p < .05",
        paper="significantly higher, p < .02",
    )


def _equal_topicality(tables: CrawlTables) -> Claim:
    test = tables.test(TOPICALITY, MODEL, COUNTED)
    holds = holds_or_none(not test.p < SIGNIFICANT, test.p)
    return Claim(
        id="inlinks-benchmark.equal-topicality",
        kind="paper",
        text="The topicality of the two does not differ significantly",
        paper="no significant difference",
        measured=f"{test.difference:+.3f} (p {test.p:.2g}); {tables.mean_line(TOPICALITY)}",
        p=finite_or_none(test.p),
        holds=holds,
        reason=f"{MODEL if test.difference > 0 else COUNTED} is significantly more topical" if holds is False else "",
    )


def _diversity(tables: CrawlTables) -> Claim:
    test = tables.test(SITES, MODEL, COUNTED)
    return Claim(
        id="inlinks-benchmark.diversity",
        kind="paper",
        text="Sites from which the pages come",
        paper="more than 1 100 sites in 10 000 pages for both",
        measured=f"{tables.mean_line(SITES)}, of {tables.pages} pages; difference {test.difference:+.1f}"
        f" (p {test.p:.2g})",
        holds=None,
    )


def _reliability(tables: CrawlTables) -> Claim:
    return tables.lead_claim(
        RELIABILITY,
        MODEL,
        COUNTED,
        id="inlinks-benchmark.reliability",
        text="Of the sites met by the model's crawler, a larger share is in the directory, p < .05",
        paper="70 to 80 % of the sites, significantly more than those of the in-links crawler",
    )


def _noise_row(noise: float, tables: CrawlTables) -> Row:
    status, topicality = tables.test(STATUS, MODEL, COUNTED), tables.test(TOPICALITY, MODEL, COUNTED)
    correlations = [row["standing_rank_correlation"] for row in tables.model_rows()]
    return {
        "feature_noise": noise,
        "status_model": round(tables.mean(STATUS, MODEL), 6),
        "status_in_links": round(tables.mean(STATUS, COUNTED), 6),
        "status_difference": round(status.difference, 6),
        "status_p": finite_or_none(status.p),
        "topicality_difference": round(topicality.difference, 6),
        "topicality_p": finite_or_none(topicality.p),
        "standing_rank_correlation": round(summary(value for value in correlations if value is not None).mean, 6),
        "topics": status.n,
    }


def _advantage_by_noise(noise_rows: Sequence[Row]) -> Claim:
    lost = [row["feature_noise"] for row in _rows_after_the_lead(noise_rows)]
    rows = "; ".join(
        f"noise {row['feature_noise']:g}: {row['status_difference']:+.3f} (p {nan_if_none(row['status_p']):.2g}; the"
        f" model's rank correlation with the truth {row['standing_rank_correlation']:.2f})"
        for row in noise_rows
    )
    edge = f"the edge is lost from noise {min(lost):g} on" if lost else "the edge is not lost"
    return Claim(
        id="inlinks-benchmark.feature-noise",
        kind="beyond",
        text="From which noise in the features of pages on (1 is the Web as measured) the model loses its edge on"
        " status over in-links, at p < .05",
        paper=None,
        measured=f"{edge}; {rows}",
        holds=None,
    )


def _rows_after_the_lead(noise_rows: Sequence[Row]) -> Sequence[Row]:
    """The last rows, by increasing noise, in none of which the model is ahead."""
    last_ahead = max((index for index, row in enumerate(noise_rows) if _is_ahead(row)), default=-1)
    return noise_rows[last_ahead + 1 :]


def _is_ahead(row: Row) -> bool:
    p = row["status_p"]
    return row["status_difference"] > 0 and p is not None and p < SIGNIFICANT


def _figures(tables: CrawlTables) -> dict[str, Figure]:
    return {
        "topicality": tables.curve_figure(TOPICALITY, CRAWLERS, figure="12 (a)"),
        "status": tables.curve_figure(STATUS, CRAWLERS, figure="12 (b)"),
        "diversity": tables.curve_figure(SITES, CRAWLERS, figure="13 (a)"),
        "reliability": tables.curve_figure(RELIABILITY, CRAWLERS, figure="13 (b)"),
    }


def _noise_figure(noisy: Mapping[float, CrawlTables]) -> Figure:
    series = [
        mean_curve(crawler, noisy, (tables.at_end(STATUS)[crawler] for tables in noisy.values()))
        for crawler in CRAWLERS
    ]
    topics = max(len(tables.outcomes) for tables in noisy.values())
    return Figure(
        "Status by the noise in what pages show",
        f"Beyond the paper: smaller worlds alike in all but how well the features of pages tell their standing (1 is"
        f" the Web as measured). Means over {topics} topics, with standard errors.",
        line_chart(
            series,
            title="Status by the noise in what pages show",
            x_title="noise of the features",
            y_title="mean ln(1 + in-links)",
        ),
    )
