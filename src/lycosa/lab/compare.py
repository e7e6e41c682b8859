"""A free comparison: any strategies, any world with topics, measured side by side without a claim."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lycosa.pictures import Series, line_chart
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain
from lycosa.vocabulary.urls import site_of
from lycosa.worlds import StudyWorld

from .comparing import mean_rows, pair_rows
from .crawlers import check_goes_by_pages_alone
from .findings import Findings, Picture, Row
from .library import Library
from .measures import MEASURES, parse_measure
from .side_by_side import Shared, at_points, crawls_of, points_of, pool_of, truth_of
from .statistics import summary
from .study import Size
from .topics import topics_of

PAGES = "pages"  # fetched: the row that tells of crawls that ended early, for want of links that they would follow


class FreeComparison:
    """Crawls of the first topics of a world by each strategy, all with the same seeds, pages and buffer.

    Novelty and overlap are those against the first strategy named.
    """

    name = "compare"
    says = "Strategies side by side on one world."

    def __init__(
        self,
        strategies: Sequence[str],
        *,
        topics: int,
        pages: int,
        buffer: int = 200,
        measures: Sequence[str] | None = None,
    ):
        for strategy in strategies:
            check_goes_by_pages_alone(strategy)
        if len(set(strategies)) < len(strategies) or not strategies:
            raise UsageError(
                "name every strategy to compare once, with commas between: --strategies best-first,pagerank"
            )
        self.strategies = tuple(strategies)
        self.measures = tuple(map(parse_measure, measures)) if measures else None
        self._points = points_of(pages)
        self.scales: Mapping[str, Size] = {
            "free": {
                "strategies": self.strategies,
                "topics": topics,
                "pages": pages,
                "buffer": buffer,
                "measures": [str(measure) for measure in self.measures or ()],
            }
        }

    def made_up_world(self, size: Size) -> Mapping[str, Plain]:
        return {"topics": max(10, size["topics"]), "pages": max(20_000, 2 * size["pages"] * size["topics"])}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[Plain]:
        return list(range(self.topics_in(world)))

    def topics_in(self, world: StudyWorld) -> int:
        """How many topics are crawled: those asked for, or as many as the world has."""
        return len(topics_of(world, self.scales["free"]["topics"]))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> Shared:
        return Shared(topics_of(world, size["topics"]), Library(world), size, seed)

    def work(self, world: StudyWorld, prepared: Any, job: Plain) -> Plain:
        shared: Shared = prepared
        topic = shared.topics[job]
        crawls = crawls_of(self.strategies, topic, shared, job)
        listed = frozenset(site_of(entry.url) for category in world.directory() for entry in category.entries)
        truth = replace(
            truth_of(world, topic, pool_of(topic, shared.library, crawls.values())),
            directory_sites=listed,
            earlier=frozenset(step.url for step in crawls[self.strategies[0]]),
        )
        measures = self.measures or [measure for measure in _USUAL if measure.is_known_to(truth)]
        points = points_of(shared.size["pages"])
        return {
            "topic": topic.name,
            "strategies": {
                name: {
                    "pages": len(steps),
                    "curves": {str(measure): at_points(points, measure.over(steps, truth)) for measure in measures},
                }
                for name, steps in crawls.items()
            },
        }

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[Plain], seed: int) -> Findings:
        names = list(outcomes[0]["strategies"][self.strategies[0]]["curves"])
        fetched = {
            name: [float(outcome["strategies"][name]["pages"]) for outcome in outcomes] for name in self.strategies
        }
        means: list[Row] = mean_rows(PAGES, fetched, seed=seed)
        pairs: list[Row] = []
        pictures = {}
        for name in names:
            scores = {
                strategy: [_last(outcome["strategies"][strategy]["curves"][name]) for outcome in outcomes]
                for strategy in self.strategies
            }
            means += mean_rows(name, scores, seed=seed)
            pairs += pair_rows(name, scores)
            pictures[name.lower().replace("@", "-at-")] = self._picture(name, outcomes)
        topics = [
            {"topic": outcome["topic"], "strategy": strategy, "pages": crawled["pages"]}
            | {name: _last(crawled["curves"][name]) for name in names}
            for outcome in outcomes
            for strategy, crawled in outcome["strategies"].items()
        ]
        return Findings(claims=(), tables={"means": means, "tests": pairs, "topics": topics}, pictures=pictures)

    def _picture(self, name: str, outcomes: Sequence[Plain]) -> Picture:
        series = []
        for strategy in self.strategies:
            curves = [outcome["strategies"][strategy]["curves"][name] for outcome in outcomes]
            over_topics = [summary(map(_number, values)) for values in zip(*curves, strict=True)]
            points = [(float(at), each.mean) for at, each in zip(self._points, over_topics, strict=True)]
            series.append(Series(strategy, points, errors=[each.standard_error for each in over_topics]))
        measure = parse_measure(name)
        better = "lower" if measure.fewer_is_better else "higher"
        return Picture(
            name,
            f"{measure.says[0].upper()}{measure.says[1:]}: {better} is better. Means over {len(outcomes)} topics,"
            " with standard errors.",
            line_chart(series, title=name, x_title="pages fetched", y_title=measure.says),
        )


_USUAL = tuple(
    MEASURES[name]
    for name in ("Harvest", "TargetRecall", "MeanSimilarity", "MeanStatus", "Diversity", "Reliability", "StrategyCpu")
)


def _last(curve: Sequence[float | None]) -> float:
    return _number(curve[-1])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
