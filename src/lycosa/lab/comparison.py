"""Strategies compared on the same topics: the same seeds, pages and buffer for all, their pages pooled and judged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lycosa.pictures import Series, line_chart
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain, Url
from lycosa.vocabulary.urls import site_of
from lycosa.worlds import StudyWorld

from .measures import MEASURES, Truth, parse_measure
from .page_cache import PageCache, TopicCosine
from .results import Figure, Findings, Row
from .retrieval import Counted, Documents, pooled_ranks, tfidf_similarities
from .simulation import Step, crawl
from .statistics import summary
from .study import Size
from .tables import mean_rows, pair_rows
from .topics import Topic, check_needs_pages_only, strategy_for, topics_of

POINTS = 50  # of every curve


@dataclass(frozen=True)
class ComparisonInputs:
    """What the crawls of all topics share."""

    topics: Sequence[Topic]
    library: PageCache
    size: Size  # among others: pages of a crawl, and buffer
    seed: int


def crawls_of(names: Sequence[str], topic: Topic, shared: ComparisonInputs, job: int) -> dict[str, list[Step]]:
    """The crawl of a topic by each strategy."""
    judge, pages, buffer = TopicCosine(topic.as_page()), shared.size["pages"], shared.size["buffer"]
    seed = 1_000 * shared.seed + job
    return {
        name: list(
            crawl(
                strategy_for(name, topic, pages=pages, buffer=buffer, seed=seed),
                topic.seeds,
                read=shared.library.read,
                judge=judge,
                pages=pages,
                buffer=buffer,
            )
        )
        for name in names
    }


class Pool(NamedTuple):
    """The pages that any of the crawls found, each once."""

    urls: Sequence[Url]
    documents: Documents
    similarity: Callable[[Url], float]  # to the topic, tf·idf over the pool
    rank: Callable[[Url], float]  # among the pool, 1 is best


def pool_of(topic: Topic, library: PageCache, crawls: Iterable[Sequence[Step]]) -> Pool:
    """The pages of all crawls of a topic, ranked together."""
    urls = list(dict.fromkeys(step.url for steps in crawls for step in steps))
    documents = Documents.of(_counted(library, url) for url in urls)
    about = topic.as_page().words.counted
    similarities, ranks = tfidf_similarities(about, documents), pooled_ranks(about, documents)
    return Pool(urls, documents, _by_url(urls, similarities), _by_url(urls, ranks))


def truth_of(world: StudyWorld, topic: Topic, pool: Pool) -> Truth:
    """What the world and the pool tell of the pages of a topic."""
    return Truth(
        is_relevant=lambda url: world.topic(url) == topic.name,
        targets=frozenset(topic.others) or None,
        similarity=pool.similarity,
        rank=pool.rank,
        standing=world.standing if world.standing(topic.seeds[0]) is not None else None,
    )


def _counted(library: PageCache, url: Url) -> Counted:
    page = library.read(url)
    assert page is not None  # it was crawled
    return page.words.counted


def _by_url(urls: Sequence[Url], values: Iterable[float]) -> Callable[[Url], float]:
    return dict(zip(urls, map(float, values), strict=True)).__getitem__


def points_of(pages: int) -> list[int]:
    """Where along a crawl curves are drawn."""
    return sorted({max(1, round(pages * place / POINTS)) for place in range(1, POINTS + 1)})


def at_points(points: Sequence[int], curve: Iterable[float]) -> list[float | None]:
    """A curve at these points, to six digits; a crawl that ended early stays where it was, None is not known."""
    values = list(curve)
    if not values:
        return [None] * len(points)
    at = [values[min(point, len(values)) - 1] for point in points]
    return [None if value != value else float(f"{value:.6g}") for value in at]


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
            check_needs_pages_only(strategy)
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

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> ComparisonInputs:
        return ComparisonInputs(topics_of(world, size["topics"]), PageCache(world), size, seed)

    def work(self, world: StudyWorld, prepared: Any, job: Plain) -> Plain:
        shared: ComparisonInputs = prepared
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

    def _picture(self, name: str, outcomes: Sequence[Plain]) -> Figure:
        series = []
        for strategy in self.strategies:
            curves = [outcome["strategies"][strategy]["curves"][name] for outcome in outcomes]
            over_topics = [summary(map(_number, values)) for values in zip(*curves, strict=True)]
            points = [(float(at), each.mean) for at, each in zip(self._points, over_topics, strict=True)]
            series.append(Series(strategy, points, errors=[each.standard_error for each in over_topics]))
        measure = parse_measure(name)
        better = "lower" if measure.fewer_is_better else "higher"
        return Figure(
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
