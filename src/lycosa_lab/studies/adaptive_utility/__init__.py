"""A weight α of relevance against standing that adapts to a target δ of topicality, compared with fixed weights.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), sections 6 and
7.1.
"""

from collections.abc import Mapping, Sequence

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.crawl_tables import CrawlTables, classifier_accuracy_claim
from lycosa_lab.results import Findings
from lycosa_lab.study import Size
from lycosa_lab.test_bed import SCALES, TestBed, examples_of, in_links_of, prepare_test_bed
from lycosa_lab.worlds import StudyWorld

from .claims import (
    alpha_trajectories,
    early_dip,
    effect_of_quantile_matching,
    oracle_gap,
    status_above_fixed_half,
    status_above_topic_only,
    topicality_comparable,
)
from .figures import all_figures, front_rows
from .runs import (
    ADAPTIVE,
    ADAPTIVE_AND_TOPIC_ONLY,
    FIXED,
    ORACLE,
    QUANTILE_MATCHED,
    SECOND_SOURCE_SEED_OFFSET,
    run_topic,
)


class AdaptiveUtility:
    name = "adaptive-utility"
    summary = "Whether a weight that adapts to a target of topicality collects pages of more status than a fixed one."
    scales: Mapping[str, Size] = {
        "small": SCALES["small"] | {"long_pages": 2_000},
        "paper": SCALES["paper"] | {"long_pages": 20_000},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return list(range(len(examples_of(world, topics=size["topics"], per_class=size["examples"], seed=seed))))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> TestBed:
        source = in_links_of(world)
        return prepare_test_bed(world, size, seed, source, other=source.sampled(seed=SECOND_SOURCE_SEED_OFFSET + seed))

    def work(self, world: StudyWorld, prepared: TestBed, job: JsonValue) -> JsonValue:
        return run_topic(prepared, job)

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = CrawlTables(outcomes, [*FIXED, *ADAPTIVE, *QUANTILE_MATCHED, *ORACLE], pages=size["pages"])
        long = CrawlTables(outcomes, ADAPTIVE_AND_TOPIC_ONLY, pages=size["long_pages"], crawls_key="long")
        other_source = CrawlTables(outcomes, ADAPTIVE_AND_TOPIC_ONLY, pages=size["pages"], crawls_key="other")
        rows = tables.standard_tables(seed=seed)
        for prefix, compared in (("long_", long), ("other_", other_source)):
            standard = compared.standard_tables(seed=seed)
            rows |= {f"{prefix}{name}": table for name, table in standard.items() if name != "curves"}
        return Findings(
            claims=[
                status_above_fixed_half(tables),
                topicality_comparable(tables),
                alpha_trajectories(tables),
                early_dip(tables),
                status_above_topic_only(
                    long,
                    "long-crawl",
                    f"Over {size['long_pages']} pages",
                    "20 000 pages: advantage on status significant, still largely topical",
                ),
                status_above_topic_only(
                    other_source,
                    "other-status-source",
                    "With the in-links of a second source, which found each link with probability .5, for learning and"
                    " for judging,",
                    "with the counts of another search engine (in the same long crawls): advantage on status"
                    " significant",
                ),
                effect_of_quantile_matching(tables),
                oracle_gap(tables),
                classifier_accuracy_claim(self.name, tables, world=world.name),
            ],
            tables={
                **rows,
                "alpha": tables.alpha_rows(ADAPTIVE),
                "front": front_rows(tables),  # topicality and status that can be had together
                "models": tables.model_rows(),
            },
            figures=all_figures(tables, long),
        )
