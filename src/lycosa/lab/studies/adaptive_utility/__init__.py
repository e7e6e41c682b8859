"""A weight that adapts to a target of topicality, against fixed ones.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), sections 6 and
7.1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.lab.crawl_tables import CrawlTables, evaluators_claim
from lycosa.lab.results import Findings
from lycosa.lab.studies.adaptive_utility.runs import Oracle
from lycosa.lab.studies.utility_tradeoff import ALPHAS, fixed
from lycosa.lab.study import Size
from lycosa.lab.test_bed import SCALES, TestBed, TopicCrawls, examples_of, in_links_of, prepare_test_bed
from lycosa.strategies.utility import Adaptive, Utility
from lycosa.vocabulary.records import Plain
from lycosa.worlds import StudyWorld

from .claims import (
    alpha_trajectories,
    early_dip,
    left_to_gain,
    status_above_half,
    still_ahead,
    topicality_comparable,
    what_ranking_changes,
)
from .figures import all_figures, front_rows
from .runs import (
    ADAPTIVE,
    FIXED,
    ORACLE,
    ORACLE_ALPHAS,
    PAIR,
    RANKED,
    SECOND_COUNTER,
    TARGETS,
    TOPIC_ONLY,
    USUAL,
    adaptive,
    oracle,
    ranked,
)


class AdaptiveUtility:
    name = "adaptive-utility"
    says = "Whether a weight that adapts to a target of topicality brings more status home than a fixed one."
    scales: Mapping[str, Size] = {
        "small": SCALES["small"] | {"long_pages": 2_000},
        "paper": SCALES["paper"] | {"long_pages": 20_000},
    }

    def made_up_world(self, size: Size) -> Mapping[str, Plain]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[Plain]:
        return list(range(len(examples_of(world, topics=size["topics"], each=size["examples"], seed=seed))))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> TestBed:
        source = in_links_of(world)
        return prepare_test_bed(world, size, seed, source, other=source.sampled(seed=SECOND_COUNTER + seed))

    def work(self, world: StudyWorld, prepared: Any, job: Plain) -> Plain:
        bed: TestBed = prepared
        topic, pages, long = TopicCrawls(bed, bed.topics[job]), bed.size["pages"], bed.size["long_pages"]
        runs = {fixed(alpha): topic.run(Utility(alpha=alpha), pages=pages) for alpha in ALPHAS}
        runs |= {adaptive(target): topic.run(_as_published(target), pages=pages) for target in TARGETS}
        runs |= {ranked(target): topic.run(Adaptive(target=target), pages=pages) for target in TARGETS}
        runs |= {oracle(alpha): topic.run(_oracle(topic, alpha), pages=pages) for alpha in ORACLE_ALPHAS}
        other_runs = {
            USUAL: topic.run(_as_published(0.7), pages=pages, source=1),
            TOPIC_ONLY: runs[TOPIC_ONLY],  # which does not look at standing
        }
        return {
            "topic": topic.examples.topic,
            "crawls": {name: topic.judged(*found, pages=pages) for name, found in runs.items()},
            "long": {
                USUAL: topic.crawled(_as_published(0.7), pages=long),
                TOPIC_ONLY: topic.crawled(Utility(alpha=1.0), pages=long),
            },
            "other": {name: topic.judged(*found, pages=pages, source=1) for name, found in other_runs.items()},
            "models": topic.about_models(),
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[Plain], seed: int) -> Findings:
        figures = CrawlTables(outcomes, [*FIXED, *ADAPTIVE, *RANKED, *ORACLE], pages=size["pages"])
        long = CrawlTables(outcomes, PAIR, pages=size["long_pages"], part="long")
        other = CrawlTables(outcomes, PAIR, pages=size["pages"], part="other")
        tables = figures.tables(seed=seed)
        for name, more in (("long_", long), ("other_", other)):
            tables |= {f"{name}{table}": rows for table, rows in more.tables(seed=seed).items() if table != "curves"}
        return Findings(
            claims=[
                status_above_half(figures),
                topicality_comparable(figures),
                alpha_trajectories(figures),
                early_dip(figures),
                still_ahead(
                    long,
                    "long-crawl",
                    f"Over {size['long_pages']} pages",
                    "20 000 pages: advantage on status significant, still largely topical",
                ),
                still_ahead(
                    other,
                    "other-status-source",
                    "With in-links, for learning and for judging, as a second counter has them, who came by each link"
                    " with chance .5,",
                    "with the counts of another search engine (in the same long crawls): advantage on status"
                    " significant",
                ),
                what_ranking_changes(figures),
                left_to_gain(figures),
                evaluators_claim(self.name, figures, world=world.name),
            ],
            tables={
                **tables,
                "alpha": figures.alpha_rows(ADAPTIVE),
                "front": front_rows(figures),
                "models": figures.model_rows(),
            },
            pictures=all_figures(figures, long),
        )


def _as_published(target: float) -> Adaptive:
    return Adaptive(target=target, ranked_among=0)


def _oracle(topic: TopicCrawls, alpha: float) -> Oracle:
    return Oracle(is_on_topic=topic.is_on_topic, standing=topic.true_standing, alpha=alpha)
