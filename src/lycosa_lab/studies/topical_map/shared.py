"""The inputs of all jobs: names of the compared crawls, topics and seeds, a taxonomy, and pages judged by it.

"The paper" is the one that the package cites. A map has the good pages of an earlier crawl and their portals: pages
from which few links lead to them, and to which each of them is tied.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from lycosa.maps import OTHERS, text_sketch
from lycosa.reading.reader import page_of_text
from lycosa.relevance.taxonomy import Floats, Taxonomy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Link, Page, Url
from lycosa_lab.study import Size
from lycosa_lab.topics import listed_urls
from lycosa_lab.worlds import Category, StudyWorld

FIRST: Final = "first crawl"  # by the baseline, from the first seeds; maps are built from its good pages
AGAIN: Final = "map, same seeds"  # from the seeds of the first crawl, as in the paper
BASELINE: Final = "baseline"  # this and all below start from the other seeds
MAPPED: Final = "map"
URLS: Final = "URLs cached"  # the good pages of the first crawl are seeds
CONTENT_CACHED: Final = "content cached"  # a page of the first crawl is not downloaded again
MAPPED_AT_08: Final = "map at 0.8"  # the priority of links of the map: above that of any link of a page
MAPPED_AT_04: Final = "map at 0.4"  # below that of links of good pages
NEAR: Final = "map, near"  # pages preferably tied to portals from which few links lead to them
FAR: Final = "map, far"  # to other portals
BY_TEXT: Final = "map, by text"  # to portals whose text resembles theirs
# In these two, pages on the related topic lead to the portals of the map as well.
RELATED: Final = "related map"  # of the pages on the topic that a crawl of a related topic has found
BOTH_KINDS: Final = "both kinds"  # of the pages of the maps MAPPED and RELATED together

BASELINE_LATER: Final = "baseline, later"  # these in the world as it is half a year after the first crawl
MAPPED_LATER: Final = "map, later"
URLS_LATER: Final = "URLs cached, later"
CONTENT_LATER: Final = "content cached, later"

LATER: Final = (BASELINE_LATER, MAPPED_LATER, URLS_LATER, CONTENT_LATER)

GOOD = 0.5  # P(topic | page) above which a page is good
OTHERS_RATIO = 5  # as many pages of other topics as of one: 5 000 and 1 000 in the paper
MIN_LISTED = 40  # pages that the directory lists for a topic
MIN_SEEDS = 3
_NO_WORDS = page_of_text(Url(""), "", "").words


class JudgedPage(Struct, frozen=True, gc=False):
    """The links, probabilities and sketch of a page."""

    page: Page  # links and digest alone, no text
    probabilities: Floats  # P(topic | page) of each topic
    sketch: bytes  # of its text, for resemblance


class JudgedPages:
    """The pages of a world on one day, each parsed and judged once; links to pages that exist on no day are dropped.

    days: the world on all days on which it is crawled, this one first.
    """

    def __init__(self, days: Sequence[StudyWorld], taxonomy: Taxonomy):
        self.world, self._days = days[0], tuple(days)
        self._taxonomy = taxonomy
        self._number = {topic: number for number, topic in enumerate(taxonomy.topics)}
        self._judged: dict[Url, JudgedPage | None] = {}
        self._links: dict[Url, Link | None] = {}  # one for each target, None for those left out

    @property
    def count(self) -> int:
        """Pages read so far."""
        return len(self._judged)

    def judge(self, url: Url) -> JudgedPage | None:
        if url in self._judged:
            return self._judged[url]
        judged = self._judged[url] = self._read(url)
        return judged

    def _read(self, url: Url) -> JudgedPage | None:
        page = self.world.read(url)
        if page is None:
            return None
        links = tuple(link for link in map(self._link, (each.target for each in page.links)) if link is not None)
        kept = Page(url, "", "", "", _NO_WORDS, links, digest=page.digest)
        return JudgedPage(kept, self._taxonomy.probabilities(page), text_sketch(page))

    def _link(self, target: Url) -> Link | None:
        if target not in self._links:
            self._links[target] = Link(target) if any(target in world for world in self._days) else None
        return self._links[target]

    def probability(self, url: Url, topic: str) -> float:
        """P(topic | page); 0 for a missing page."""
        judged = self.judge(url)
        return 0.0 if judged is None else float(judged.probabilities[self._number[topic]])

    def sketch(self, url: Url) -> bytes | None:
        """The sketch of a page's text, by which resemblance is estimated; None for a missing page."""
        judged = self.judge(url)
        return None if judged is None else judged.sketch

    def is_good(self, url: Url, topic: str) -> bool:
        return self.probability(url, topic) > GOOD

    def topic(self, url: Url) -> str | None:
        """The most probable topic of a page; None if none has P > 0.5."""
        judged = self.judge(url)
        if judged is None:
            return None
        best = int(judged.probabilities.argmax())
        return self._taxonomy.topics[best] if judged.probabilities[best] > GOOD else None


class MapTopic(Struct, frozen=True):
    """A topic and the seeds of its crawls."""

    name: str
    first_seeds: tuple[Url, ...]  # of the first crawl
    other_seeds: tuple[Url, ...]  # of all crawls that are compared; disjoint from the first
    related: str  # another topic of the same top category


@dataclass(frozen=True)
class MapInputs:
    """Topics with their seeds, the taxonomy that judges pages, and the length of crawls."""

    topics: Sequence[MapTopic]  # all of the taxonomy except OTHERS
    taxonomy: Taxonomy
    pages: int  # downloads of every crawl
    seed: int  # of random choices

    def topic(self, name: str) -> MapTopic:
        return next(topic for topic in self.topics if topic.name == name)


def choose_topic_groups(world: StudyWorld, limit: int) -> list[list[Category]]:
    """Leaf categories of the directory with enough pages, grouped by top category: two or more in each group, until
    the groups have `limit` categories.

    At least one leaf is left out, so that some pages are on none of the topics.
    """
    directory = world.directory()
    by_top: dict[str, list[Category]] = defaultdict(list)
    for category in directory:
        if len(listed_urls(category)) >= MIN_LISTED:
            by_top[category.name.partition("/")[0]].append(category)
    chosen: list[list[Category]] = []
    for leaves in by_top.values():
        chosen_count = sum(map(len, chosen))
        if len(leaves) >= 2 and chosen_count < limit and chosen_count + len(leaves) < len(directory):
            chosen.append(leaves)
    if not chosen:
        raise UsageError(
            f"topical-map needs a directory with two related topics of {MIN_LISTED} pages or more, and a third,"
            f" which this {world.name} world does not have; choose synthetic or wikipedia-schools:path=FILE"
        )
    return chosen


def prepare(world: StudyWorld, size: Size, seed: int) -> MapInputs:
    """Chooses topics and seeds, and trains the taxonomy on pages that the directory lists.

    seed: of random choices.
    """
    topic_groups = choose_topic_groups(world, size["topics"])
    names = {category.name for group in topic_groups for category in group}
    downloads = _crawl_length(world, size, names)
    max_seeds = max(MIN_SEEDS, round(size["seeds"] * downloads / size["pages"]))
    topics = [
        _topic(category, group[(index + 1) % len(group)].name, max_seeds, seed)
        for group in topic_groups
        for index, category in enumerate(group)
    ]
    return MapInputs(topics, _taxonomy(world, names, size["examples"], seed), downloads, seed)


def _crawl_length(world: StudyWorld, size: Size, names: set[str]) -> int:
    """The downloads of a crawl: those of the scale, but at most the mean number of pages on a topic."""
    mean_on_topic = sum(world.topic(url) in names for url in world.urls()) // len(names)
    limit: int = size["pages"]
    return max(2 * MIN_SEEDS, min(limit, mean_on_topic))


def _topic(category: Category, related: str, max_seeds: int, random_seed: int) -> MapTopic:
    """A topic with random pages of its category as first and other seeds, at most `max_seeds` each."""
    urls = listed_urls(category)
    random.Random(f"{random_seed} {category.name} seeds").shuffle(urls)
    count = min(max_seeds, len(urls) // 4)
    return MapTopic(category.name, tuple(urls[:count]), tuple(urls[count : 2 * count]), related)


def _taxonomy(world: StudyWorld, names: set[str], per_topic: int, seed: int) -> Taxonomy:
    """A taxonomy trained on `per_topic` pages of every topic, and `OTHERS_RATIO` times as many on none of them."""
    rng = random.Random(f"{seed} examples")
    urls = {category.name: listed_urls(category) for category in world.directory() if category.name in names}
    on_a_topic = {url for listed in urls.values() for url in listed}
    elsewhere = dict.fromkeys(
        url for category in world.directory() if category.name not in names for url in listed_urls(category)
    )
    urls[OTHERS] = [url for url in elsewhere if url not in on_a_topic]
    limit = {name: per_topic * (OTHERS_RATIO if name == OTHERS else 1) for name in urls}
    drawn = {name: rng.sample(listed, min(limit[name], len(listed))) for name, listed in urls.items()}
    return Taxonomy.train({name: _pages(world, sampled) for name, sampled in drawn.items()}, seed=seed)


def _pages(world: StudyWorld, urls: Iterable[Url]) -> Iterable[Page]:
    return (page for page in map(world.read, urls) if page is not None)
