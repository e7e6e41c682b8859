"""What the crawls of all topics share: a taxonomy that was learnt from the directory, and seeds."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from lycosa.lab.study import Size
from lycosa.maps import OTHERS
from lycosa.relevance.taxonomy import Taxonomy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Page, Url
from lycosa.worlds import Category, StudyWorld

OTHERS_TIMES = 5  # as many pages of other topics as of one: 5 000 and 1 000 in the paper
FEWEST_LISTED = 40  # pages of a topic
FEWEST_SEEDS = 3


class Topic(Struct, frozen=True):
    """What one job crawls for."""

    name: str
    first: tuple[Url, ...]  # seeds of the crawl from which the map is drawn
    other: tuple[Url, ...]  # seeds of all crawls that are compared, none of them among the first
    related: str  # a topic under the same top, from a crawl of which a small map is drawn


@dataclass(frozen=True)
class Ground:
    """What all jobs need and none changes."""

    topics: Sequence[Topic]  # all of the taxonomy but the others
    taxonomy: Taxonomy
    pages: int  # downloads of every crawl
    seed: int

    def topic(self, name: str) -> Topic:
        return next(topic for topic in self.topics if topic.name == name)


def chosen_leaves(world: StudyWorld, most: int) -> list[list[Category]]:
    """The leaves with enough pages of the first tops that have two or more such, until there are as many as wanted.

    At least one leaf of the directory is not among them: what is listed there is on none of the topics.
    """
    directory = world.directory()
    by_top: dict[str, list[Category]] = defaultdict(list)
    for category in directory:
        if len(_listed(category)) >= FEWEST_LISTED:
            by_top[category.name.partition("/")[0]].append(category)
    chosen: list[list[Category]] = []
    for leaves in by_top.values():
        known = sum(map(len, chosen))
        if len(leaves) >= 2 and known < most and known + len(leaves) < len(directory):
            chosen.append(leaves)
    if not chosen:
        raise UsageError(
            f"topical-map needs a directory with two related topics of {FEWEST_LISTED} pages or more, and a third,"
            f" which this {world.name} world has not; say synthetic or wikipedia-schools:path=FILE"
        )
    return chosen


def lay_out(world: StudyWorld, size: Size, seed: int) -> Ground:
    """Chooses topics and seeds, and learns to tell topics apart from what the directory lists."""
    leaves = chosen_leaves(world, size["topics"])
    names = {category.name for tops in leaves for category in tops}
    pages = _pages_of_a_crawl(world, size, names)
    seeds = max(FEWEST_SEEDS, round(size["seeds"] * pages / size["pages"]))
    topics = [
        _topic(category, tops[(place + 1) % len(tops)].name, seeds, seed)
        for tops in leaves
        for place, category in enumerate(tops)
    ]
    return Ground(topics, _taxonomy(world, names, size["examples"], seed), pages, seed)


def _pages_of_a_crawl(world: StudyWorld, size: Size, names: set[str]) -> int:
    """As many as the scale says, but no more than there are on a topic in the mean."""
    on_topic = sum(world.topic(url) in names for url in world.urls()) // len(names)
    most: int = size["pages"]
    return max(2 * FEWEST_SEEDS, min(most, on_topic))


def _topic(category: Category, related: str, seeds: int, seed: int) -> Topic:
    urls = _listed(category)
    random.Random(f"{seed} {category.name} seeds").shuffle(urls)
    each = min(seeds, len(urls) // 4)
    return Topic(category.name, tuple(urls[:each]), tuple(urls[each : 2 * each]), related)


def _taxonomy(world: StudyWorld, names: set[str], each: int, seed: int) -> Taxonomy:
    """Learnt from as many pages of each topic, and more of those on none."""
    chance = random.Random(f"{seed} examples")
    urls = {category.name: _listed(category) for category in world.directory() if category.name in names}
    on_one = {url for listed in urls.values() for url in listed}
    elsewhere = dict.fromkeys(
        url for category in world.directory() if category.name not in names for url in _listed(category)
    )
    urls[OTHERS] = [url for url in elsewhere if url not in on_one]
    most = {name: each * (OTHERS_TIMES if name == OTHERS else 1) for name in urls}
    drawn = {name: chance.sample(listed, min(most[name], len(listed))) for name, listed in urls.items()}
    return Taxonomy.train({name: _pages(world, some) for name, some in drawn.items()}, seed=seed)


def _pages(world: StudyWorld, urls: Iterable[Url]) -> Iterable[Page]:
    return (page for page in map(world.read, urls) if page is not None)


def _listed(category: Category) -> list[Url]:
    return list(dict.fromkeys(entry.url for entry in category.entries))
