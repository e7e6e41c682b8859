"""Compares strategies on the same topics, with the same seeds, pages and buffer; their pages are pooled and judged.

The buffer is the number of waiting URLs, and of pages, that a strategy may keep. The pool of a topic is the distinct
pages that any of the strategies has fetched for it; similarities and ranks are relative to the pool.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lycosa.pictures import line_chart
from lycosa.standing import median_prediction, prior
from lycosa.strategies.registry import ENTRY_POINT_GROUP, STRATEGIES
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plugins import plugins
from lycosa.vocabulary.records import JsonValue, Url
from lycosa_lab.worlds import StudyWorld

from .measures import MEASURES, Truth, at_points, parse_measure, points_along
from .page_cache import PageCache
from .results import Figure, Findings, Row
from .retrieval import TermCounts, TermMatrix, pooled_ranks, tfidf_similarities
from .simulation import Step, crawl
from .study import PACKAGES, Size
from .tables import mean_curve, mean_rows, nan_if_none, pair_rows
from .topics import DirectoryTopic, TopicCosine, check_needs_pages_only, directory_sites, strategy_for, topics_of

POINTS = 50  # of every curve
PAGES = "pages"  # the row of pages fetched: fewer than requested if a crawl ran out of links


@dataclass(frozen=True)
class ComparisonInputs:
    """The inputs that the crawls of all topics share."""

    topics: Sequence[DirectoryTopic]
    cache: PageCache
    size: Size  # includes the pages of a crawl and the buffer
    seed: int


def crawls_of(names: Sequence[str], topic: DirectoryTopic, shared: ComparisonInputs, job: int) -> dict[str, list[Step]]:
    """The crawl of a topic by each of the strategies named; `job` is the number of the topic.

    Standing is by the built-in model, as in a live crawl without a table of in-links; θ, the prediction that becomes a
    standing of 0.5, is the median prediction for the seeds.
    """
    judge, pages, buffer = TopicCosine(topic.as_page()), shared.size["pages"], shared.size["buffer"]
    crawls: dict[str, list[Step]] = {}
    for name in names:
        strategy = strategy_for(name, topic, pages=pages, buffer=buffer, seed=1_000 * shared.seed + job)
        standing = None
        if strategy.uses_standing:
            seeds = (page for url in topic.seeds if (page := shared.cache.read(url)) is not None)
            standing = prior().with_theta(median_prediction(prior(), seeds)).standing
        steps = crawl(
            strategy,
            topic.seeds,
            read=shared.cache.read,
            judge=judge,
            standing=standing,
            pages=pages,
            buffer=buffer,
        )
        crawls[name] = list(steps)
    return crawls


class Pool(NamedTuple):
    """The distinct pages of all crawls."""

    urls: Sequence[Url]
    documents: TermMatrix
    similarity: Callable[[Url], float]  # to the topic, tf·idf over the pool
    rank: Callable[[Url], float]  # among the pool, 1 is best


def pool_of(topic: DirectoryTopic, cache: PageCache, crawls: Iterable[Sequence[Step]]) -> Pool:
    """The pages of all crawls of a topic, ranked together."""
    urls = list(dict.fromkeys(step.url for steps in crawls for step in steps))
    documents = TermMatrix.of(_term_counts(cache, url) for url in urls)
    topic_terms = topic.as_page().words.term_counts
    similarities, ranks = tfidf_similarities(topic_terms, documents), pooled_ranks(topic_terms, documents)
    return Pool(urls, documents, _by_url(urls, similarities), _by_url(urls, ranks))


def truth_of(world: StudyWorld, topic: DirectoryTopic, pool: Pool) -> Truth:
    """The ground truth that world and pool have for a topic."""
    return Truth(
        is_relevant=lambda url: world.topic(url) == topic.name,
        targets=frozenset(topic.other_entries) or None,
        similarity=pool.similarity,
        rank=pool.rank,
        standing=world.log_in_links if world.log_in_links(topic.seeds[0]) is not None else None,
    )


def _term_counts(cache: PageCache, url: Url) -> TermCounts:
    page = cache.read(url)
    assert page is not None  # it was crawled
    return page.words.term_counts


def _by_url(urls: Sequence[Url], values: Iterable[float]) -> Callable[[Url], float]:
    return dict(zip(urls, map(float, values), strict=True)).__getitem__


class StrategyComparison:
    """A study: crawls of the first topics of a world by each strategy, all with the same seeds, pages and buffer.

    Novelty and overlap are those against the first strategy named.
    """

    name = "compare"
    summary = "Strategies side by side on one world."

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
        self._points = points_along(pages, POINTS)
        self.scales: Mapping[str, Size] = {
            "free": {
                "strategies": self.strategies,
                "topics": topics,
                "pages": pages,
                "buffer": buffer,
                "measures": [str(measure) for measure in self.measures or ()],
            }
        }

    @property
    def packages(self) -> Sequence[str]:
        """The packages whose code it runs: Lycosa's, and those of strategies that are plug-ins."""
        entries = [plugins(ENTRY_POINT_GROUP)[name] for name in self.strategies if name not in STRATEGIES]
        return (*PACKAGES, *sorted({entry.module.partition(".")[0] for entry in entries}))

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"topics": max(10, size["topics"]), "pages": max(20_000, 2 * size["pages"] * size["topics"])}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return list(range(self.topics_in(world)))

    def topics_in(self, world: StudyWorld) -> int:
        """The number of topics: as requested, or as many as the world has."""
        return len(topics_of(world, self.scales["free"]["topics"]))

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> ComparisonInputs:
        return ComparisonInputs(topics_of(world, size["topics"]), PageCache(world), size, seed)

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        shared: ComparisonInputs = prepared
        topic = shared.topics[job]
        crawls = crawls_of(self.strategies, topic, shared, job)
        truth = replace(
            truth_of(world, topic, pool_of(topic, shared.cache, crawls.values())),
            directory_sites=directory_sites(world),
            earlier=frozenset(step.url for step in crawls[self.strategies[0]]),
        )
        measures = self.measures or [measure for measure in _DEFAULT_MEASURES if measure.is_computable(truth)]
        points = points_along(shared.size["pages"], POINTS)
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

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        measure_names = list(outcomes[0]["strategies"][self.strategies[0]]["curves"])
        fetched_counts = {
            strategy: [float(outcome["strategies"][strategy]["pages"]) for outcome in outcomes]
            for strategy in self.strategies
        }
        means: list[Row] = mean_rows(PAGES, fetched_counts, seed=seed)
        pairs: list[Row] = []
        figures = {}
        for measure_name in measure_names:
            scores = {
                strategy: [_last(outcome["strategies"][strategy]["curves"][measure_name]) for outcome in outcomes]
                for strategy in self.strategies
            }
            means += mean_rows(measure_name, scores, seed=seed)
            pairs += pair_rows(measure_name, scores)
            figures[measure_name.lower().replace("@", "-at-")] = self._figure(measure_name, outcomes)
        topics = [
            {"topic": outcome["topic"], "strategy": strategy, "pages": crawled["pages"]}
            | {measure_name: _last(crawled["curves"][measure_name]) for measure_name in measure_names}
            for outcome in outcomes
            for strategy, crawled in outcome["strategies"].items()
        ]
        return Findings(claims=(), tables={"means": means, "tests": pairs, "topics": topics}, figures=figures)

    def _figure(self, measure_name: str, outcomes: Sequence[JsonValue]) -> Figure:
        series = []
        for strategy in self.strategies:
            curves = [outcome["strategies"][strategy]["curves"][measure_name] for outcome in outcomes]
            samples = (map(nan_if_none, values) for values in zip(*curves, strict=True))
            series.append(mean_curve(strategy, self._points, samples))
        measure = parse_measure(measure_name)
        better = "lower" if measure.lower_is_better else "higher"
        return Figure(
            measure_name,
            f"{measure.label[0].upper()}{measure.label[1:]}: {better} is better. Means over {len(outcomes)} topics,"
            " with standard errors.",
            line_chart(series, title=measure_name, x_title="pages fetched", y_title=measure.label),
        )


_DEFAULT_MEASURES = tuple(
    MEASURES[name]
    for name in ("Harvest", "TargetRecall", "MeanSimilarity", "MeanStatus", "Diversity", "Reliability", "StrategyCpu")
)


def _last(curve: Sequence[float | None]) -> float:
    return nan_if_none(curve[-1])
