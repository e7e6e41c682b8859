"""Topics for crawls in the lab, from a world's directory, with their relevance judge and strategies."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct

from lycosa.reading.reader import page_of_text
from lycosa.strategies import STRATEGIES, Entry, InfoSpiders, find_strategy
from lycosa.strategies.registry import ENTRY_POINT_GROUP, is_strategy
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plugins import names_of
from lycosa.vocabulary.records import Codes, Page, Url
from lycosa.vocabulary.urls import site_of
from lycosa_lab.worlds import Category, StudyWorld

SEEDS = 10  # of a topic
MIN_ENTRIES = 5  # of a category of the directory that becomes a topic


class DirectoryTopic(Struct, frozen=True):
    """The topic of a crawl: a leaf of the directory."""

    name: str
    seeds: tuple[Url, ...]
    description: str  # what the directory says about the seeds
    other_entries: tuple[Url, ...] = ()  # other pages that the directory lists

    def as_page(self) -> Page:
        """The description as a page, stemmed like other pages."""
        return page_of_text(Url(f"topic:{self.name}"), "", self.description, stem="porter")


def topics_of(world: StudyWorld, limit: int, *, seed_count: int = SEEDS) -> list[DirectoryTopic]:
    """The first leaves of the directory that list at least five pages: their first pages are the seeds."""
    chosen = [category for category in world.directory() if len(category.entries) >= MIN_ENTRIES][:limit]
    if len(chosen) < 2:
        raise UsageError(
            f"the world {world.name} has {len(chosen)} topics with {MIN_ENTRIES} pages or more, and at least 2 are"
            " needed; worlds with topics are synthetic, wikipedia-schools, webkb and debian-docs"
        )
    return [_topic(category, seed_count) for category in chosen]


def _topic(category: Category, seed_count: int) -> DirectoryTopic:
    first, rest = category.entries[:seed_count], category.entries[seed_count:]
    return DirectoryTopic(
        category.name,
        tuple(entry.url for entry in first),
        " ".join(entry.description for entry in first),
        tuple(entry.url for entry in rest),
    )


def listed_urls(category: Category) -> list[Url]:
    """The pages that a leaf of the directory lists, each once."""
    return list(dict.fromkeys(entry.url for entry in category.entries))


def directory_sites(world: StudyWorld) -> frozenset[str]:
    """The sites of all pages that the directory lists."""
    return frozenset(site_of(entry.url) for category in world.directory() for entry in category.entries)


def with_disjoint_seeds(topics: Sequence[DirectoryTopic], topic: DirectoryTopic) -> list[DirectoryTopic]:
    """The topics that share no seed with the given one."""
    seeds = set(topic.seeds)
    return [other for other in topics if seeds.isdisjoint(other.seeds)]


class TopicCosine:
    """The cosine between a topic and a page, both as raw counts of their terms."""

    def __init__(self, topic: Page):
        self._codes, counts = topic.words.term_counts
        self._weights = counts / (sqrt(float(counts @ counts)) or 1.0)
        self._known: dict[Url, float] = {}

    def __call__(self, page: Page) -> float:
        known = self._known.get(page.url)
        if known is None:
            known = self._known[page.url] = self._cosine(*page.words.term_counts)
        return known

    def _cosine(self, codes: Codes, counts: Codes) -> float:
        if not len(codes) or not len(self._codes):
            return 0.0
        indices = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        shared = self._codes[indices] == codes
        product = float(self._weights[indices[shared]] @ counts[shared])
        return product / sqrt(float(counts @ counts))


def check_needs_pages_only(name: str) -> None:
    """Raises UsageError for an unknown strategy, and for one that needs a log or a map."""
    comparable = {each: entry for each, entry in STRATEGIES.items() if not _needs(entry)}
    if not is_strategy(name):
        raise UsageError(f"there is no strategy {name!r}; there are {names_of(comparable, ENTRY_POINT_GROUP)}")
    if needs := _needs(find_strategy(name)):
        raise UsageError(
            f"the strategy {name} goes by {needs}, of which a comparison has none; those that can be compared"
            f" are {', '.join(comparable)}"
        )


def _needs(entry: Entry) -> str:
    return "an access log" if "log" in entry.needs else "a map" if "map" in entry.needs else ""


def strategy_for(name: str, topic: DirectoryTopic, *, pages: int, buffer: int | None, seed: int) -> Strategy:
    """A strategy, with those of topic words, pages, buffer and seed that its constructor accepts.

    pages: the length of the crawl.
    buffer: how many candidates may wait; None for the value of the strategy.
    seed: of random choices.
    """
    entry = find_strategy(name)
    available = {"topic_words": topic.as_page().terms, "pages": pages, "buffer": buffer, "seed": seed}
    if name in STRATEGIES and entry.make is not InfoSpiders:
        del available["topic_words"]  # as published, other built-in strategies do not use topic words in the lab
    return entry(**{option: value for option, value in available.items() if entry.takes(option) and value is not None})
