"""Which strategy finds a topic with the fewest pages, and is the reported harvest rate true?

Every strategy that needs neither a log nor a map crawls for topics whose pages the world knows, by the code of
`lycosa crawl` (`lycosa_lab.live_crawl`): with the relevance judge of a user's crawl, retrained as it goes, and with
standing learnt from the in-links of the world. Held-out topics are those for the final tables, to which nothing may be
fitted; parameters may be fitted to development topics.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.recipe import DEFAULT_STRATEGY
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Findings
from lycosa_lab.study import Size
from lycosa_lab.worlds import StudyWorld

from .baselines import ORACLE, SCRIPT
from .claims import BEST_FIRST, all_claims
from .figures import all_figures
from .runs import LeagueInputs, league_strategies, prepare, run_topic
from .tables import LeagueTables
from .tasks import topics_of


class League:
    """The study, of these strategies or of all that need neither a log nor a map; always with the default and
    best-first."""

    name = "league"
    summary = "Which strategy finds a topic with the fewest pages, and whether the crawl says honestly how well."
    scales: Mapping[str, Size] = {
        "small": {
            "held_out": 5,  # topics for the final table
            "development": 1,  # topics that parameters may be fitted to
            "examples": 5,
            "negatives": 20,  # if there are any
            "budgets": [0.025, 0.05, 0.1],  # pages of a crawl, as a share of the web
            "longest": 150,  # pages of a crawl; larger budgets are left out
            "world_pages": 1_500,
            "world_topics": 12,
        },
        "paper": {
            "held_out": 24,
            "development": 6,
            "examples": 5,
            "negatives": 20,
            "budgets": [0.025, 0.05, 0.1],
            "longest": 1_000,
            "world_pages": 10_000,
            "world_topics": 40,
        },
    }

    def __init__(self, strategies: Sequence[str] = ()):
        self.strategies = tuple(dict.fromkeys((*strategies, DEFAULT_STRATEGY, BEST_FIRST))) if strategies else ()
        if unknown := [name for name in self.strategies if name not in league_strategies()]:
            raise UsageError(
                f"no strategy of the league is called {unknown[0]!r}; there are {', '.join(league_strategies())}"
            )
        if self.strategies:  # so that runs of other strategies are kept apart
            self.scales = {name: {**size, "strategies": self.strategies} for name, size in self.scales.items()}

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": size["world_topics"]}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        topics = topics_of(world, held_out=size["held_out"], development=size["development"])
        return [topic.name for topic in topics]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> LeagueInputs:
        return prepare(world, self.strategies or league_strategies(), size, seed)

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        inputs: LeagueInputs = prepared
        return run_topic(inputs, inputs.topics[job])

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        tables = LeagueTables([task for outcome in outcomes for task in outcome["tasks"]])
        if len(tables.topics(held_out=True)) < 2:
            raise UsageError(
                f"in the world {world.name}, links lead to the pages of fewer than 2 held-out topics; give a larger one"
            )
        default = DEFAULT_STRATEGY
        pairs = {tuple(sorted((default, other))): (default, other) for other in tables.strategies if other != default}
        for other in tables.strategies:
            if other != BEST_FIRST:
                pairs.setdefault(tuple(sorted((other, BEST_FIRST))), (other, BEST_FIRST))
        return Findings(
            claims=all_claims(tables, default),
            tables={
                "means": tables.mean_rows(held_out=True, seed=seed),
                "development": tables.mean_rows(held_out=False, seed=seed),
                "settings": tables.setting_rows(seed=seed),
                "tests": tables.test_rows(list(pairs.values())),
                "curves": tables.curve_rows(),
                "crawls": tables.crawl_rows(),
                "left-out": tables.left_out_rows(),
            },
            figures=all_figures(tables, default, seed=seed),
        )


__all__ = ["ORACLE", "SCRIPT", "League"]
