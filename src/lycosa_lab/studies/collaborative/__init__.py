"""What crawls gain by the access logs of people.

Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002).

A crawl looks for the pages that satisfy a predicate: that are on a topic, have a word, or have a part in their address.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Findings
from lycosa_lab.study import Size
from lycosa_lab.worlds import StudyWorld

from .claims import all_claims
from .figures import all_figures
from .runs import PredicateJob
from .shared import MIN_CRAWL_PAGES, choose_predicates, predicate_of, prepare
from .tables import CollaborativeTables


class CollaborativeCrawling:
    name = "collaborative"
    summary = "What a crawl gains by an access log, instead of links and together with them, for any predicate."
    scales: Mapping[str, Size] = {
        "small": {"topics": 6, "pages": 360, "readers": 1_200, "days": 7, "world_pages": 40_000, "world_topics": 16},
        "paper": {
            "topics": 9,
            "pages": 1_500,
            "readers": 6_000,
            "days": 18,
            "world_pages": 120_000,
            "world_topics": 24,
        },
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["world_topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return choose_predicates(world, size)

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> Any:
        return prepare(world, size, seed)

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        return PredicateJob(world, prepared, predicate_of(job, world, prepared.sampled_urls)).work()

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = CollaborativeTables(outcomes)
        if (crawled_count := len(tables.outcomes)) < 2:
            raise UsageError(
                f"collaborative needs two topics with {2 * MIN_CRAWL_PAGES} pages or more in the log, and there"
                f" {'is' if crawled_count == 1 else 'are'} {crawled_count} in this {world.name} world; choose one with"
                " more readers"
            )
        return Findings(
            claims=all_claims(tables, is_generated=world.name == "synthetic"),
            tables={
                "aims": tables.predicate_rows(),  # the predicates
                "crawls": tables.crawl_rows(),
                "means": tables.mean_rows(seed=seed),
                "tests": tables.test_rows(),
                "control": tables.control_rows(),
                "lift": tables.lift_rows(),
            },
            figures=all_figures(tables),
        )
