"""The gain of a crawl from a map of an earlier one: its good pages on a topic, and the portals that lead to them.

Shao: Exploring social networks in computer systems (Princeton, 2007), chapter 4 and section 6.2.1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Findings
from lycosa_lab.study import Size
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld

from .claims import all_claims
from .figures import all_figures
from .runs import TopicJob
from .shared import MapInputs, choose_topic_groups, prepare
from .tables import MapTables

HALF_A_YEAR = 180.0  # days


class TopicalMapStudy:
    name = "topical-map"
    summary = "What a focused crawl gains by a map of an earlier crawl of the same or a related topic."
    scales: Mapping[str, Size] = {
        "small": {"topics": 10, "pages": 1_000, "seeds": 14, "examples": 100, "world_pages": 150_000},
        "paper": {"topics": 12, "pages": 15_000, "seeds": 200, "examples": 1_000, "world_pages": 1_000_000},
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": 24}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        topic_groups = choose_topic_groups(world, size["topics"])
        return [category.name for group in topic_groups for category in group][: size["topics"]]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> tuple[MapInputs, StudyWorld | None]:
        return prepare(world, size, seed), later_world(world)

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        inputs, later = prepared
        return TopicJob(world, later, inputs, inputs.topic(job)).work()

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = MapTables(outcomes)
        return Findings(
            claims=all_claims(tables),
            tables={
                "crawls": tables.crawl_rows(),
                "means": tables.mean_rows(seed=seed),
                "gains": tables.gain_rows(),
                "curves": tables.curve_rows(),
                "maps": tables.map_rows(),
                "chances": tables.probability_rows(),  # histograms of P(topic | page)
                "citations": tables.citation_rows(),  # links among topics
            },
            figures=all_figures(tables),
        )


def later_world(world: StudyWorld) -> StudyWorld | None:
    """The world half a year later; None if it does not change."""
    return world.at(HALF_A_YEAR) if isinstance(world, SyntheticWorld) else None
