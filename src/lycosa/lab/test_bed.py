"""The test bed of the utility studies: in-link counts, examples and standing models of each topic, and judged crawls.

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
from lycosa.vocabulary.records import RELEVANT, Link, Page, Plain, Url
from lycosa.vocabulary.urls import key_of, site_of
from lycosa.worlds import Category, StudyWorld

from .comparison import at_points
from .measures import Diversity, Harvest, MeanStatus, Reliability, Truth
from .page_cache import PageCache
from .simulation import Step, crawl
from .statistics import spearman
from .study import Size

StatusOf = Callable[[Url], float | None]  # ln(1 + in-links), None where nobody knows


class InLinkCounts:
    """A source of status: ln(1 + in-links), as one counter of links has them.

    says: where the counts come from.
    """

    def __init__(self, status: StatusOf, says: str):
        self.status = status
        self.says = says

    def sampled(self, *, share: float = 0.5, seed: int) -> "InLinkCounts":
        """What another counter has, who came by each of the links with this chance; the same for the same seed."""

        def status(url: Url) -> float | None:
            known = self.status(url)
            if known is None:
                return None
            chance = np.random.default_rng([key_of(str(url)) & 0xFFFFFFFFFFFFFFFF, seed])
            return log1p(int(chance.binomial(round(expm1(known)), share)))

        return InLinkCounts(status, f"a sample, each link with chance {share:g}, of {self.says}")


def in_links_of(world: StudyWorld) -> InLinkCounts:
    """What the world itself knows; where it does not know of links from outside, those within it are counted."""
    first = next(iter(world.urls()), None)
    if first is None:
        raise UsageError(f"the world {world.name} has no pages")
    if world.standing(first) is not None:
        return InLinkCounts(world.standing, "in-links as the world tells them")
    counts = dict(zip(world.urls(), world.in_degrees().tolist(), strict=True))
    return InLinkCounts(
        lambda url: log1p(counts[url]) if url in counts else None, "in-links from within the world alone"
    )


SCALES: Mapping[str, dict[str, Any]] = {  # what the studies on this bed share
    "small": {
        "topics": 10,
        "pages": 1_000,
        "examples": 60,  # of each kind: good and bad, to learn from and held out
        "explored": 100,  # pages of each topic from which theta is taken
        "sampled": 30,  # pages whose status counts,
        "of": 50,  # of so many in a row
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
FEWEST_EXAMPLES = 10  # good pages to learn from; topics that have not so many are left out
SPARSE = 20  # a directory lists few of a world's pages where there are so many for each entry
KEPT_AT_ONCE = 200  # pages; what crawls need of a page is kept elsewhere


class Examples(Struct, frozen=True):
    """The pages by which one topic is learnt and judged; no page is in two parts."""

    topic: str
    good: tuple[Url, ...]  # also the seeds
    bad: tuple[Url, ...]
    held_out_good: tuple[Url, ...]
    held_out_bad: tuple[Url, ...]
    topped_up: int = 0  # good ones of both kinds that the directory does not list, though they are on the topic


def examples_of(world: StudyWorld, *, topics: int, each: int, seed: int) -> list[Examples]:
    """Examples for the first topics of the directory that have enough pages, `each` of every kind or fewer.

    Good pages are those that the directory lists under the topic; where it lists too few, others on the topic are
    drawn. At least half of a topic's pages are left to be found. Bad pages are listed under other topics.
    """
    directory = world.directory()
    on_topic = _pages_by_topic(world, directory, each)
    chosen = []
    for category in directory:
        examples = _examples(category, directory, on_topic, each, seed)
        if examples is not None:
            chosen.append(examples)
        if len(chosen) == topics:
            break
    if len(chosen) < 2:
        raise UsageError(
            f"the world {world.name} has {len(chosen)} topics with at least {4 * FEWEST_EXAMPLES} pages, and 2 are"
            " needed; worlds with topics are synthetic, wikipedia-schools, webkb and debian-docs"
        )
    return chosen


def _pages_by_topic(world: StudyWorld, directory: Sequence[Category], each: int) -> Mapping[str, Sequence[Url]] | None:
    """All pages on each topic; None where the directory lists enough for all, and few of what there is."""
    listed = sum(len(category.entries) for category in directory)
    if len(world) >= SPARSE * listed and all(len(category.entries) >= 2 * each for category in directory):
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
    each: int,
    seed: int,
) -> Examples | None:
    chance = random.Random(f"{seed} {category.name}")
    good = list(dict.fromkeys(entry.url for entry in category.entries))
    listed = set(good)
    chance.shuffle(good)
    if on_topic is not None:
        others = [url for url in on_topic.get(category.name, ()) if url not in listed]
        every = len(good) + len(others)
        if len(good) < 2 * each:
            good += chance.sample(others, min(len(others), 2 * each - len(good)))
        each = min(each, every // 4)
    bad = list(dict.fromkeys(entry.url for other in directory if other is not category for entry in other.entries))
    bad = [url for url in bad if url not in listed]
    chance.shuffle(bad)
    each = min(each, len(good) // 2)
    worst = min(each, len(bad) // 2)
    if each < FEWEST_EXAMPLES or worst < 1:
        return None
    return Examples(
        category.name,
        tuple(good[:each]),
        tuple(bad[:worst]),
        tuple(good[each : 2 * each]),
        tuple(bad[worst : 2 * worst]),
        sum(url not in listed for url in good[: 2 * each]),
    )


@dataclass(frozen=True)
class StandingModels:
    """One source of in-links, and what was learnt from it: for each topic a model, all with the same θ."""

    source: InLinkCounts
    models: Mapping[str, StandingModel]
    theta: float


@dataclass(frozen=True)
class TestBed:
    """What the crawls of all topics share."""

    __test__ = False  # nothing that pytest should run

    world: StudyWorld
    topics: Sequence[Examples]
    library: PageCache
    esteem: StandingModels
    directory_sites: frozenset[str]
    size: Size
    seed: int
    other: StandingModels | None = None  # by another counter of links

    def pages(self, urls: Sequence[Url]) -> list[Page]:
        return [page for page in map(self.library.read, urls) if page is not None]


def prepare_test_bed(
    world: StudyWorld,
    size: Size,
    seed: int,
    source: InLinkCounts,
    *,
    other: InLinkCounts | None = None,
    topics: int | None = None,
) -> TestBed:
    """Chooses examples and learns what standing looks like, from each source of in-links."""
    chosen = examples_of(world, topics=topics or size["topics"], each=size["examples"], seed=seed)
    library = PageCache(world, capacity=KEPT_AT_ONCE)
    sites = frozenset(site_of(entry.url) for category in world.directory() for entry in category.entries)
    esteems = [
        learn_standing(world, library, chosen, each, explored=size["explored"], seed=seed) if each else None
        for each in (source, other)
    ]
    assert esteems[0] is not None
    return TestBed(world, chosen, library, esteems[0], sites, size, seed, esteems[1])


def learn_standing(
    world: StudyWorld, library: PageCache, topics: Sequence[Examples], source: InLinkCounts, *, explored: int, seed: int
) -> StandingModels:
    """Learns a model for each topic from its good pages; θ is the median of what all of them predict for the pages of
    exploratory crawls, `explored` pages for each topic, from its good pages on in random order."""
    traffic = _traffic(world)
    models: dict[str, StandingModel] = {}
    predictions: list[float] = []
    for number, examples in enumerate(topics):
        told = [(page, source.status(page.url)) for url in examples.good if (page := library.read(url)) is not None]
        model = learn([(page, status) for page, status in told if status is not None], traffic=traffic)
        models[examples.topic] = model
        wandering = crawl(
            RandomOrder(seed=1_000 * seed + number),
            examples.good,
            read=library.read,
            judge=model.prediction,
            pages=explored,
        )
        predictions += [step.relevance for step in wandering]
    theta = median(predictions)
    return StandingModels(source, {topic: model.with_theta(theta) for topic, model in models.items()}, theta)


def _traffic(world: StudyWorld) -> Mapping[str, float] | None:
    """How many people each site reaches, where the world knows."""
    by_host: Mapping[str, float] = getattr(world, "site_traffic", dict)()
    reach: dict[str, float] = defaultdict(float)
    for host, people in by_host.items():
        reach[site_of(host)] += people
    return reach or None


FOLDS = 5  # each but one of which teaches the model that judges that one
POINTS = 20  # of the curves of a crawl: every 500 pages of 10 000
ALPHA_POINTS = 100
CELLS = 20  # of the map of topicality and status, each way
HIGHEST_STATUS = 8.0  # on the map: some 3 000 in-links; few pages have more

_NO_WORDS = page_of_text(Url(""), "", "").words


class ScoredPage(Struct, frozen=True, gc=False):
    """What is kept of a page: its links, and what everybody thinks of it."""

    page: Page  # links alone, no text
    relevance: float  # as the crawler judges
    verdict: float  # as the evaluation classifier judges
    standings: tuple[float, ...]  # as the models of each source of in-links say


class TopicCrawls:
    """Crawls of one topic from its good examples, by any strategy, on scores that all of them share.

    Topicality is the share of pages that an evaluation classifier accepts; it has learnt from held-out examples.
    Status is the mean true ln(1 + in-links) of some pages of every part of the crawl.
    """

    def __init__(self, bed: TestBed, examples: Examples):
        self._bed = bed
        self.examples = examples
        self.relevance = train(bed.pages(examples.good), bed.pages(examples.bad), seed=bed.seed)
        self._as_if_unseen = _cross_validated(bed, examples)
        self.evaluator = train(bed.pages(examples.held_out_good), bed.pages(examples.held_out_bad), seed=bed.seed)
        self._esteems: tuple[StandingModels, ...] = (bed.esteem, *((bed.other,) if bed.other else ()))
        self._models = [esteem.models[examples.topic] for esteem in self._esteems]
        self._scored: dict[Url, ScoredPage | None] = {}
        self._links: dict[Url, Link] = {}  # one for each target: pages met often are linked to often

    def _score(self, url: Url) -> ScoredPage | None:
        if url in self._scored:
            return self._scored[url]
        scored = self._scored[url] = self._read(url)
        return scored

    def _read(self, url: Url) -> ScoredPage | None:
        page = self._bed.library.read(url)
        if page is None:
            return None
        links = self._links
        kept = tuple(links.setdefault(link.target, Link(link.target)) for link in page.links)
        return ScoredPage(
            Page(url, "", "", "", _NO_WORDS, kept),
            self._as_if_unseen[url] if url in self._as_if_unseen else self.relevance.relevance(page),
            self.evaluator.relevance(page),
            tuple(model.standing(page) for model in self._models),
        )

    def read(self, url: Url) -> Page | None:
        scored = self._score(url)
        return scored.page if scored else None

    def _known(self, url: Url) -> ScoredPage:
        scored = self._scored[url]
        assert scored is not None  # it was crawled
        return scored

    def run(self, strategy: Strategy, *, pages: int, source: int = 0) -> tuple[list[Step], list[float]]:
        """A crawl guided by what was learnt from one source of in-links, and α after each page where there is one."""
        steps: list[Step] = []
        alphas: list[float] = []
        for step in crawl(
            strategy,
            self.examples.good,
            read=self.read,
            judge=lambda page: self._known(page.url).relevance,
            standing=lambda page: self._known(page.url).standings[source],
            pages=pages,
        ):
            steps.append(step)
            if isinstance(strategy, Utility):
                alphas.append(strategy.alpha)
        return steps, alphas

    def crawled(self, strategy: Strategy, *, pages: int, source: int = 0) -> Plain:
        """A crawl and every judgement of it, by the same source of in-links as guided it."""
        return self.judged(*self.run(strategy, pages=pages, source=source), pages=pages, source=source)

    def judged(self, steps: Sequence[Step], alphas: Sequence[float], *, pages: int, source: int = 0) -> Plain:
        """The judgement of a crawl that was to bring so many pages, with status from a source of in-links."""
        bed, status = self._bed, self._esteems[source].source.status
        looked_at = self._looked_at(steps, bed.size["sampled"], bed.size["of"])
        known = {url: status(url) for url in looked_at}
        truth = Truth(
            is_relevant=lambda url: self._known(url).verdict >= RELEVANT,
            standing=known.get,
            directory_sites=bed.directory_sites,
        )
        points = points_of(pages, POINTS)
        curves = {
            name: at_points(points, measure.over(steps, truth))
            for name, measure in (
                ("topicality", Harvest),
                ("status", MeanStatus),
                ("sites", Diversity),
                ("reliability", Reliability),
            )
        }
        whole = Truth(is_relevant=lambda url: bed.world.topic(url) == self.examples.topic, standing=status)
        return {
            "pages": len(steps),
            "curves": curves,
            "alpha": at_points(points_of(pages, ALPHA_POINTS), alphas) if alphas else [],
            "true topicality": Harvest.value(steps, whole),
            "status of all pages": MeanStatus.value(steps, whole),
            "map": self._map([(self._known(url).verdict, known[url]) for url in looked_at]),
        }

    def _looked_at(self, steps: Sequence[Step], sampled: int, of: int) -> list[Url]:
        """So many pages of every so many, at random; of a last part that is shorter, as large a share."""
        chance = random.Random(f"{self._bed.seed} {self.examples.topic} sample")
        chosen: list[Url] = []
        for start in range(0, len(steps), of):
            part = steps[start : start + of]
            chosen += [step.url for step in chance.sample(part, min(len(part), -(-sampled * len(part) // of)))]
        return chosen

    def _map(self, points: Sequence[tuple[float, float | None]]) -> list[list[int]]:
        """How many pages have which topicality (columns) and status (rows); pages of higher status are left out."""
        cells = [[0] * CELLS for _ in range(CELLS)]
        for topicality, status in points:
            if status is not None and 0.0 <= status < HIGHEST_STATUS:
                column = min(CELLS - 1, int(topicality * CELLS))
                cells[int(status / HIGHEST_STATUS * CELLS)][column] += 1
        return cells

    def true_standing(self, url: Url) -> float:
        """What the standing of a page would be if its in-links were known; 0 to 1."""
        esteem = self._esteems[0]
        status = esteem.source.status(url)
        return 0.0 if status is None else 1.0 / (1.0 + exp(esteem.theta - status))

    def is_on_topic(self, url: Url) -> bool:
        """By the world's own truth."""
        return self._bed.world.topic(url) == self.examples.topic

    def about_models(self) -> Plain:
        """How good the evaluation classifier is on the crawler's examples, the model of standing on held-out ones."""
        bed, examples, esteem = self._bed, self.examples, self._esteems[0]
        good, bad = bed.pages(examples.good), bed.pages(examples.bad)
        right = sum(self.evaluator.relevance(page) >= RELEVANT for page in good)
        right += sum(self.evaluator.relevance(page) < RELEVANT for page in bad)
        unseen = [(page, esteem.source.status(page.url)) for page in bed.pages(examples.held_out_good)]
        told = [(self._models[0].prediction(page), status) for page, status in unseen if status is not None]
        fit = spearman([predicted for predicted, _ in told], [status for _, status in told])
        return {
            "examples": len(examples.good),
            "topped_up": examples.topped_up,
            "evaluator_accuracy": right / (len(good) + len(bad)),
            "standing_rank_correlation": None if fit.rho != fit.rho else fit.rho,
            "theta": esteem.theta,
            "pages_read": len(self._scored),
        }


def _cross_validated(bed: TestBed, examples: Examples) -> dict[Url, float]:
    """The relevance of the good examples as models judge that have not seen them.

    The crawler begins with these pages, and what it has learnt from it would always find perfect: for the first few
    hundred pages it would believe any target met.
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


def points_of(pages: int, count: int) -> list[int]:
    """Where along a crawl curves are drawn."""
    return sorted({max(1, round(pages * place / count)) for place in range(1, count + 1)})
