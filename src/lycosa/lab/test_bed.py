"""The test bed of the utility studies: examples for each topic, and what is learnt of standing before any crawl.

Pant, Srinivasan: Status locality on the Web: implications for building focused collections (ISR 2013), section 5.1.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from msgspec import Struct

from lycosa.standing import StandingModel, learn
from lycosa.strategies import RandomOrder
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Page, Url
from lycosa.vocabulary.urls import site_of
from lycosa.worlds import Category, StudyWorld

from .in_links import InLinks
from .library import Library
from .simulation import crawl
from .study import Size

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
class Esteem:
    """One source of in-links, and what was learnt from it: for each topic a model, all with the same θ."""

    source: InLinks
    models: Mapping[str, StandingModel]
    theta: float


@dataclass(frozen=True)
class TestBed:
    """What the crawls of all topics share."""

    __test__ = False  # nothing that pytest should run

    world: StudyWorld
    topics: Sequence[Examples]
    library: Library
    esteem: Esteem
    directory_sites: frozenset[str]
    size: Size
    seed: int
    other: Esteem | None = None  # by another counter of links

    def pages(self, urls: Sequence[Url]) -> list[Page]:
        return [page for page in map(self.library.read, urls) if page is not None]


def lay_out(
    world: StudyWorld,
    size: Size,
    seed: int,
    source: InLinks,
    *,
    other: InLinks | None = None,
    topics: int | None = None,
) -> TestBed:
    """Chooses examples and learns what standing looks like, from each source of in-links."""
    chosen = examples_of(world, topics=topics or size["topics"], each=size["examples"], seed=seed)
    library = Library(world, capacity=KEPT_AT_ONCE)
    sites = frozenset(site_of(entry.url) for category in world.directory() for entry in category.entries)
    esteems = [
        learn_esteem(world, library, chosen, each, explored=size["explored"], seed=seed) if each else None
        for each in (source, other)
    ]
    assert esteems[0] is not None
    return TestBed(world, chosen, library, esteems[0], sites, size, seed, esteems[1])


def learn_esteem(
    world: StudyWorld, library: Library, topics: Sequence[Examples], source: InLinks, *, explored: int, seed: int
) -> Esteem:
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
    return Esteem(source, {topic: model.with_theta(theta) for topic, model in models.items()}, theta)


def _traffic(world: StudyWorld) -> Mapping[str, float] | None:
    """How many people each site reaches, where the world knows."""
    by_host: Mapping[str, float] = getattr(world, "site_traffic", dict)()
    reach: dict[str, float] = defaultdict(float)
    for host, people in by_host.items():
        reach[site_of(host)] += people
    return reach or None
