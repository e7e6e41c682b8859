"""Three crawlers, evaluated in three ways.

Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.comparison import ComparisonInputs
from lycosa_lab.page_cache import PageCache
from lycosa_lab.results import Findings, Row
from lycosa_lab.study import Size
from lycosa_lab.tables import mean_rows, pair_rows
from lycosa_lab.topics import topics_of
from lycosa_lab.worlds import StudyWorld

from .claims import bestfirst_first, cost, methods_agree, pagerank_last
from .figures import all_figures
from .runs import TopicDrivenInputs, prepare, run_topic
from .tables import TopicDrivenTables


class TopicDriven:
    name = "topic-driven"
    summary = "Which of best-first, InfoSpiders and PageRank keeps closest to a topic, judged in three ways."
    scales: Mapping[str, Size] = {
        "small": {"topics": 20, "pages": 300, "buffer": 200, "world_pages": 20_000},
        "paper": {"topics": 100, "pages": 1_000, "buffer": 200, "world_pages": 250_000},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return list(range(len(topics_of(world, size["topics"]))))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> TopicDrivenInputs:
        return prepare(ComparisonInputs(topics_of(world, size["topics"]), PageCache(world), size, seed))

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        return run_topic(world, prepared, job)

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = TopicDrivenTables(size, outcomes)
        means: list[Row] = []
        tests: list[Row] = []
        for measure, scores in tables.measures().items():
            means += mean_rows(measure, scores, seed=seed)
            tests += pair_rows(measure, scores)
        return Findings(
            claims=[
                bestfirst_first(tables, tests),
                pagerank_last(tables, tests, hosts=len(world.hosts)),
                methods_agree(tables, tests),
                cost(tables),
            ],
            tables={
                "means": means,
                "tests": tests,
                "curves": tables.curve_rows(),
                "topics": tables.topic_rows(),
            },
            figures=all_figures(tables),
        )
