"""A free comparison: any strategies, any world with topics, measured side by side without a claim."""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.pictures import Series, line_chart
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain
from lycosa.vocabulary.urls import site_of
from lycosa.worlds import StudyWorld

from .comparing import mean_rows, pair_rows
from .crawlers import strategy_for
from .findings import Findings, Picture, Row
from .library import Library, TopicCosine
from .measures import MEASURES, Truth, parse_measure
from .simulation import crawl
from .statistics import summary
from .study import Size
from .topics import Topic, topics_of

POINTS = 50  # of every curve


class Comparison:
    """Crawls of the first topics of a world by each strategy, all with the same seeds, pages and buffer."""

    name = "compare"
    says = "Strategies side by side on one world."

    def __init__(
        self,
        strategies: Sequence[str],
        *,
        topics: int,
        pages: int,
        buffer: int | None = None,
        measures: Sequence[str] | None = None,
    ):
        for strategy in strategies:
            if strategy not in STRATEGIES:
                raise UsageError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
        if len(set(strategies)) < len(strategies) or not strategies:
            raise UsageError(
                "name every strategy to compare once, with commas between: --strategies best-first,pagerank"
            )
        self.strategies = tuple(strategies)
        self.measures = tuple(map(parse_measure, measures)) if measures else None
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
        return list(range(len(topics_of(world, size["topics"]))))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> "_Prepared":
        listed = frozenset(site_of(entry.url) for category in world.directory() for entry in category.entries)
        return _Prepared(topics_of(world, size["topics"]), Library(world), listed, size, seed)

    def work(self, world: StudyWorld, prepared: Any, job: Plain) -> Plain:
        shared: _Prepared = prepared
        topic, size = shared.topics[job], shared.size
        judge = TopicCosine(topic.as_page())
        truth = _truth(world, topic, shared)
        measures = self.measures or [measure for measure in _USUAL if measure.is_known_to(truth)]
        outcome: dict[str, Plain] = {}
        for name in self.strategies:
            strategy = strategy_for(
                name, topic, pages=size["pages"], buffer=size["buffer"], seed=1_000 * shared.seed + job
            )
            steps = list(
                crawl(
                    strategy,
                    topic.seeds,
                    read=shared.library.read,
                    judge=judge,
                    pages=size["pages"],
                    buffer=size["buffer"],
                )
            )
            outcome[name] = {
                "pages": len(steps),
                "curves": {str(measure): _thinned(list(measure.over(steps, truth))) for measure in measures},
            }
        return {"topic": topic.name, "strategies": outcome}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[Plain], seed: int) -> Findings:
        names = list(outcomes[0]["strategies"][self.strategies[0]]["curves"])
        means: list[Row] = []
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
            places = sorted({at for curve in curves for at, _ in curve})
            over_topics = [summary(_value_at(curve, at) for curve in curves) for at in places]
            points = [(float(at), each.mean) for at, each in zip(places, over_topics, strict=True)]
            series.append(Series(strategy, points, errors=[each.standard_error for each in over_topics]))
        measure = parse_measure(name)
        better = "lower" if measure.fewer_is_better else "higher"
        return Picture(
            name,
            f"{measure.says[0].upper()}{measure.says[1:]}: {better} is better. Means over {len(outcomes)} topics,"
            " with standard errors.",
            line_chart(series, title=name, x_title="pages fetched", y_title=measure.says),
        )


class _Prepared:
    def __init__(self, topics: Sequence[Topic], library: Library, sites: frozenset[str], size: Size, seed: int):
        self.topics = topics
        self.library = library
        self.directory_sites = sites
        self.size = size
        self.seed = seed


_USUAL = tuple(
    MEASURES[name]
    for name in ("Harvest", "TargetRecall", "MeanSimilarity", "MeanStatus", "Diversity", "Reliability", "StrategyCpu")
)


def _truth(world: StudyWorld, topic: Topic, shared: _Prepared) -> Truth:
    judge = TopicCosine(topic.as_page())

    def similarity(url: Any) -> float:
        page = shared.library.read(url)
        return judge(page) if page else 0.0

    return Truth(
        is_relevant=lambda url: world.topic(url) == topic.name,
        targets=frozenset(topic.others) or None,
        similarity=similarity,
        standing=world.standing if world.standing(topic.seeds[0]) is not None else None,
        directory_sites=shared.directory_sites,
    )


def _thinned(curve: Sequence[float]) -> list[tuple[int, float | None]]:
    """Some points of a curve, its end among them; numbers that are none are None."""
    step = max(1, len(curve) // POINTS)
    places = sorted({*range(step, len(curve) + 1, step), len(curve)} - {0})
    return [(at, None if (value := curve[at - 1]) != value else float(f"{value:.6g}")) for at in places]


def _last(curve: Sequence[Sequence[Any]]) -> float:
    return _value_at(curve, curve[-1][0]) if curve else float("nan")


def _value_at(curve: Sequence[Sequence[Any]], at: int) -> float:
    """The curve at a place; after its end it stays where it was."""
    value = None
    for place, found in curve:
        if place > at and value is not None:
            break
        value = found
    return float("nan") if value is None else float(value)
