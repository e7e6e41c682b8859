"""The test bed of the utility studies: in-link counts, examples and standing models of each topic, and judged crawls.

Status is ln(1 + in-links) of a page. Standing is status on a scale from 0 to 1, a logistic function that is 0.5 where
status is θ.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), section 5.1.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, log1p
from statistics import median
from typing import Any

import numpy as np
from msgspec import Struct

from lycosa.reading.reader import page_of_text
from lycosa.relevance import train
from lycosa.standing import StandingModel, learn
from lycosa.strategies import RandomOrder
from lycosa.strategies.utility import Utility
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, JsonValue, Link, Page, Url
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import key_of, site_of
from lycosa_lab.worlds import Category, StudyWorld

from .measures import Diversity, Harvest, MeanStatus, Reliability, Truth, at_points, points_along
from .page_cache import PageCache
from .simulation import Step, crawl
from .statistics import finite_or_none, spearman
from .study import Size
from .topics import directory_sites, listed_urls

SCALES: Mapping[str, dict[str, Any]] = {  # shared by the studies on this test bed
    "small": {
        "topics": 10,
        "pages": 1_000,  # of a crawl
        "examples": 60,  # of each kind: good and bad, to learn from and held out
        "explored": 100,  # pages of each topic from which theta is taken
        "sampled": 30,  # random pages of each block whose status counts
        "of": 50,  # pages of a block
        "world_pages": 60_000,
    },
    "paper": {
        "topics": 37,
        "pages": 10_000,
        "examples": 250,
        "explored": 250,
        "sampled": 30,
        "of": 500,
        "world_pages": 1_000_000,
    },
}
MIN_EXAMPLES = 10  # good training pages; topics with fewer are left out
SPARSE_DIRECTORY = 20  # pages of the world per directory entry, from which a directory counts as sparse
PAGES_CACHED = 200  # what crawls need of a page is kept elsewhere
FOLDS = 5  # of the cross-validation
POINTS = 20  # of the curves of a crawl: every 500 pages of 10 000
ALPHA_POINTS = 100
CELLS = 20  # of the heat map of topicality and status, in each dimension
MAX_STATUS = 8.0  # of the heat map: some 3 000 in-links; few pages have more

StatusOf = Callable[[Url], float | None]  # ln(1 + in-links), None if nobody knows
_NO_WORDS = page_of_text(Url(""), "", "").words


class InLinkCounts:
    """In-links by one source: the true standing for training and evaluation.

    status: ln(1 + in-links) of a page.
    description: where the counts come from.
    """

    def __init__(self, status: StatusOf, description: str):
        self.status = status
        self.description = description

    def sampled(self, *, share: float = 0.5, seed: int) -> "InLinkCounts":
        """The counts of another source that saw each link with this probability; the same for the same seed."""

        def status(url: Url) -> float | None:
            known = self.status(url)
            if known is None:
                return None
            rng = np.random.default_rng([key_of(str(url)) & 0xFFFFFFFFFFFFFFFF, seed])
            return log1p(int(rng.binomial(round(expm1(known)), share)))

        return InLinkCounts(status, f"a sample, each link with chance {share:g}, of {self.description}")


def in_links_of(world: StudyWorld) -> InLinkCounts:
    """The in-links known to the world, including those from outside; else those within it, counted."""
    first = next(iter(world.urls()), None)
    if first is None:
        raise UsageError(f"the world {world.name} has no pages")
    if world.log_in_links(first) is not None:
        return InLinkCounts(world.log_in_links, "in-links as the world tells them")
    counts = dict(zip(world.urls(), world.in_degrees().tolist(), strict=True))
    return InLinkCounts(
        lambda url: log1p(counts[url]) if url in counts else None, "in-links from within the world alone"
    )


class TopicExamples(Struct, frozen=True):
    """The pages for training and evaluation of one topic, in disjoint parts."""

    topic: str
    good: tuple[Url, ...]  # also the seeds
    bad: tuple[Url, ...]
    held_out_good: tuple[Url, ...]
    held_out_bad: tuple[Url, ...]
    topped_up: int = 0  # good pages that are not in the directory but on the topic


def examples_of(world: StudyWorld, *, topics: int, per_class: int, seed: int) -> list[TopicExamples]:
    """Examples for the first topics of the directory that have enough pages, `per_class` of every class (good, bad, and
    both held out) or fewer.

    Good pages are those listed under the topic; if there are too few, other pages on the topic are drawn. At least half
    of a topic's pages are left to be found. Bad pages are listed under other topics.

    topics: how many, at most.
    """
    if topics < 2:
        raise UsageError(
            f"{counted(topics, 'topic')} asked for, and at least 2 are needed: each has bad pages of another"
        )
    directory = world.directory()
    on_topic = _pages_by_topic(world, directory, per_class)
    chosen = []
    for category in directory:
        examples = _examples(category, directory, on_topic, per_class, seed)
        if examples is not None:
            chosen.append(examples)
        if len(chosen) == topics:
            break
    if len(chosen) < 2:
        raise UsageError(
            f"the world {world.name} has {counted(len(chosen), 'topic')} with at least {4 * MIN_EXAMPLES} pages,"
            " and 2 are needed; worlds with topics are synthetic, wikipedia-schools, webkb and debian-docs"
        )
    return chosen


def _pages_by_topic(
    world: StudyWorld, directory: Sequence[Category], per_class: int
) -> Mapping[str, Sequence[Url]] | None:
    """All pages on each topic; None if the directory lists enough of each, but few of all pages."""
    listed = sum(len(category.entries) for category in directory)
    if len(world) >= SPARSE_DIRECTORY * listed and all(
        len(category.entries) >= 2 * per_class for category in directory
    ):
        return None
    pages: dict[str, list[Url]] = defaultdict(list)
    for url in world.urls():
        topic = world.topic(url)
        if topic is not None:
            pages[topic].append(url)
    return pages


def _examples(
    category: Category,
    directory: Sequence[Category],
    on_topic: Mapping[str, Sequence[Url]] | None,
    per_class: int,
    seed: int,
) -> TopicExamples | None:
    rng = random.Random(f"{seed} {category.name}")
    good = listed_urls(category)
    listed = set(good)
    rng.shuffle(good)
    if on_topic is not None:
        others = [url for url in on_topic.get(category.name, ()) if url not in listed]
        available = len(good) + len(others)
        if len(good) < 2 * per_class:
            good += rng.sample(others, min(len(others), 2 * per_class - len(good)))
        per_class = min(per_class, available // 4)
    bad = list(dict.fromkeys(entry.url for other in directory if other is not category for entry in other.entries))
    bad = [url for url in bad if url not in listed]
    rng.shuffle(bad)
    per_class = min(per_class, len(good) // 2)
    bad_count = min(per_class, len(bad) // 2)
    if per_class < MIN_EXAMPLES or bad_count < 2:  # cross-validation holds out at least one of the bad ones
        return None
    return TopicExamples(
        category.name,
        tuple(good[:per_class]),
        tuple(bad[:bad_count]),
        tuple(good[per_class : 2 * per_class]),
        tuple(bad[bad_count : 2 * bad_count]),
        sum(url not in listed for url in good[: 2 * per_class]),
    )


@dataclass(frozen=True)
class StandingModels:
    """A source of in-links and the models trained on it: one for each topic, all with the same θ."""

    source: InLinkCounts
    models: Mapping[str, StandingModel]
    theta: float


@dataclass(frozen=True)
class TestBed:
    """The inputs of the crawls of all topics: examples, pages, and standing models by one or two in-link sources."""

    __test__ = False  # not a test class

    world: StudyWorld
    topics: Sequence[TopicExamples]
    cache: PageCache
    models: StandingModels
    directory_sites: frozenset[str]
    size: Size
    seed: int
    other_models: StandingModels | None = None  # by a second source of in-links

    def pages(self, urls: Sequence[Url]) -> list[Page]:
        return [page for page in map(self.cache.read, urls) if page is not None]


def prepare_test_bed(
    world: StudyWorld,
    size: Size,
    seed: int,
    source: InLinkCounts,
    *,
    other: InLinkCounts | None = None,
    topics: int | None = None,
) -> TestBed:
    """Chooses the examples of each topic and trains standing models by each source of in-links.

    topics: how many, at most; those of `size` unless given.
    """
    chosen = examples_of(world, topics=topics or size["topics"], per_class=size["examples"], seed=seed)
    cache = PageCache(world, capacity=PAGES_CACHED)
    models, other_models = (
        learn_standing(world, cache, chosen, in_links, explored=size["explored"], seed=seed) if in_links else None
        for in_links in (source, other)
    )
    assert models is not None
    return TestBed(world, chosen, cache, models, directory_sites(world), size, seed, other_models)


def learn_standing(
    world: StudyWorld,
    cache: PageCache,
    topics: Sequence[TopicExamples],
    source: InLinkCounts,
    *,
    explored: int,
    seed: int,
) -> StandingModels:
    """Trains a model for each topic on its good pages.

    θ is the median prediction of all models over the pages of exploratory crawls: `explored` pages for each topic, in
    random order from its good pages on.
    """
    traffic = _traffic(world)
    models: dict[str, StandingModel] = {}
    predictions: list[float] = []
    for number, examples in enumerate(topics):
        pages = [page for url in examples.good if (page := cache.read(url)) is not None]
        labelled = [(page, status) for page in pages if (status := source.status(page.url)) is not None]
        model = learn(labelled, traffic=traffic)
        models[examples.topic] = model
        exploration = crawl(
            RandomOrder(seed=1_000 * seed + number),
            examples.good,
            read=cache.read,
            judge=model.prediction,
            pages=explored,
        )
        predictions += [step.relevance for step in exploration]
    theta = median(predictions)
    return StandingModels(source, {topic: model.with_theta(theta) for topic, model in models.items()}, theta)


def _traffic(world: StudyWorld) -> Mapping[str, float] | None:
    """The reach of each site; None if the world does not know."""
    by_host: Mapping[str, float] = getattr(world, "site_traffic", dict)()
    reach: dict[str, float] = defaultdict(float)
    for host, people in by_host.items():
        reach[site_of(host)] += people
    return reach or None


class ScoredPage(Struct, frozen=True, gc=False):
    """The links and scores of a page."""

    page: Page  # links alone, no text
    relevance: float  # by the crawler's own model
    evaluated_relevance: float  # by the evaluation classifier
    standings: tuple[float, ...]  # by the model of each source of in-links


class TopicCrawls:
    """Crawls of one topic from its good examples, by any strategy; all of them share the scores of pages.

    Topicality is the share of pages that an evaluation classifier accepts, which was trained on held-out examples.
    Status is the mean true ln(1 + in-links) of a sample of the pages of every block of the crawl.
    """

    def __init__(self, bed: TestBed, examples: TopicExamples):
        self._bed = bed
        self.examples = examples
        self.relevance = train(bed.pages(examples.good), bed.pages(examples.bad), seed=bed.seed)
        self._cross_validated = _cross_validated(bed, examples)
        self.evaluator = train(bed.pages(examples.held_out_good), bed.pages(examples.held_out_bad), seed=bed.seed)
        self._by_source: tuple[StandingModels, ...] = (bed.models, *((bed.other_models,) if bed.other_models else ()))
        self._models = [standing.models[examples.topic] for standing in self._by_source]
        self._scored: dict[Url, ScoredPage | None] = {}
        self._links: dict[Url, Link] = {}  # one per target, to share memory between pages

    def _score(self, url: Url) -> ScoredPage | None:
        if url in self._scored:
            return self._scored[url]
        scored = self._scored[url] = self._read(url)
        return scored

    def _read(self, url: Url) -> ScoredPage | None:
        page = self._bed.cache.read(url)
        if page is None:
            return None
        links = self._links
        kept = tuple(links.setdefault(link.target, Link(link.target)) for link in page.links)
        return ScoredPage(
            Page(url, "", "", "", _NO_WORDS, kept),
            self._cross_validated[url] if url in self._cross_validated else self.relevance.relevance(page),
            self.evaluator.relevance(page),
            tuple(model.standing(page) for model in self._models),
        )

    def read(self, url: Url) -> Page | None:
        scored = self._score(url)
        return scored.page if scored else None

    def _scored_page(self, url: Url) -> ScoredPage:
        scored = self._scored[url]
        assert scored is not None  # it was crawled
        return scored

    def run(self, strategy: Strategy, *, pages: int, source_index: int = 0) -> tuple[list[Step], list[float]]:
        """The steps of a crawl of `pages` pages, guided by the model of one source of in-links (0, or 1 for the second
        one of the test bed), and the weight α of topicality after each step, for strategies that have one."""
        steps: list[Step] = []
        alphas: list[float] = []
        for step in crawl(
            strategy,
            self.examples.good,
            read=self.read,
            judge=lambda page: self._scored_page(page.url).relevance,
            standing=lambda page: self._scored_page(page.url).standings[source_index],
            pages=pages,
        ):
            steps.append(step)
            if isinstance(strategy, Utility):
                alphas.append(strategy.alpha)
        return steps, alphas

    def run_and_measure(self, strategy: Strategy, *, pages: int, source_index: int = 0) -> JsonValue:
        """The measures of a crawl, with status from the source of in-links that guided it."""
        steps, alphas = self.run(strategy, pages=pages, source_index=source_index)
        return self.measure(steps, alphas, pages=pages, source_index=source_index)

    def measure(
        self, steps: Sequence[Step], alphas: Sequence[float], *, pages: int, source_index: int = 0
    ) -> JsonValue:
        """The measures of a crawl of `pages` pages, with status from a source of in-links."""
        bed, status = self._bed, self._by_source[source_index].source.status
        sample = self._sample(steps, bed.size["sampled"], bed.size["of"])
        status_by_url = {url: status(url) for url in sample}
        truth = Truth(
            is_relevant=lambda url: self._scored_page(url).evaluated_relevance >= RELEVANT,
            standing=status_by_url.get,
            directory_sites=bed.directory_sites,
        )
        points = points_along(pages, POINTS)
        curves = {
            name: at_points(points, measure.over(steps, truth))
            for name, measure in (
                ("topicality", Harvest),
                ("status", MeanStatus),
                ("sites", Diversity),
                ("reliability", Reliability),
            )
        }
        world_truth = Truth(is_relevant=lambda url: bed.world.topic(url) == self.examples.topic, standing=status)
        return {
            "pages": len(steps),
            "curves": curves,
            "alpha": at_points(points_along(pages, ALPHA_POINTS), alphas) if alphas else [],
            "true topicality": Harvest.value(steps, world_truth),
            "status of all pages": MeanStatus.value(steps, world_truth),
            "map": self._histogram(
                [(self._scored_page(url).evaluated_relevance, status_by_url[url]) for url in sample]
            ),
        }

    def _sample(self, steps: Sequence[Step], per_block: int, block_pages: int) -> list[Url]:
        """`per_block` random pages of every `block_pages` pages; of a shorter last block, as large a share."""
        rng = random.Random(f"{self._bed.seed} {self.examples.topic} sample")
        chosen: list[Url] = []
        for start in range(0, len(steps), block_pages):
            block = steps[start : start + block_pages]
            chosen += [
                step.url for step in rng.sample(block, min(len(block), -(-per_block * len(block) // block_pages)))
            ]
        return chosen

    def _histogram(self, points: Sequence[tuple[float, float | None]]) -> list[list[int]]:
        """A histogram of topicality (columns) and status (rows); pages above the highest status are left out."""
        cells = [[0] * CELLS for _ in range(CELLS)]
        for topicality, status in points:
            if status is not None and 0.0 <= status < MAX_STATUS:
                column = min(CELLS - 1, int(topicality * CELLS))
                cells[int(status / MAX_STATUS * CELLS)][column] += 1
        return cells

    def true_standing(self, url: Url) -> float:
        """The standing of a page by its true in-links, 1 / (1 + e^(θ − ln(1 + in-links))); 0 if unknown."""
        standing = self._by_source[0]
        status = standing.source.status(url)
        return 0.0 if status is None else 1.0 / (1.0 + exp(standing.theta - status))

    def is_on_topic(self, url: Url) -> bool:
        """By the ground truth of the world."""
        return self._bed.world.topic(url) == self.examples.topic

    def model_quality(self) -> JsonValue:
        """The accuracy of the evaluation classifier on the crawler's examples, and the rank correlation of the
        standing model on held-out ones."""
        bed, examples, standing = self._bed, self.examples, self._by_source[0]
        good, bad = bed.pages(examples.good), bed.pages(examples.bad)
        correct = sum(self.evaluator.relevance(page) >= RELEVANT for page in good)
        correct += sum(self.evaluator.relevance(page) < RELEVANT for page in bad)
        unseen = [(page, standing.source.status(page.url)) for page in bed.pages(examples.held_out_good)]
        pairs = [(self._models[0].prediction(page), status) for page, status in unseen if status is not None]
        correlation = spearman([predicted for predicted, _ in pairs], [status for _, status in pairs])
        return {
            "examples": len(examples.good),
            "topped_up": examples.topped_up,
            "evaluator_accuracy": correct / (len(good) + len(bad)),
            "standing_rank_correlation": finite_or_none(correlation.rho),
            "theta": standing.theta,
            "pages_read": len(self._scored),
        }


def _cross_validated(bed: TestBed, examples: TopicExamples) -> dict[Url, float]:
    """The relevance of the good examples by models that were not trained on them.

    A crawl starts with these pages, and a model trained on them would score them too high: for the first few hundred
    pages, an adaptive crawler would consider any target met.
    """
    good, bad = bed.pages(examples.good), bed.pages(examples.bad)
    judged: dict[Url, float] = {}
    for fold in range(FOLDS):
        model = train(
            [page for number, page in enumerate(good) if number % FOLDS != fold],
            [page for number, page in enumerate(bad) if number % FOLDS != fold],
            seed=bed.seed,
        )
        judged |= {page.url: model.relevance(page) for page in good[fold::FOLDS]}
    return judged
