"""Topics for crawls in the lab: leaves of a world's directory, their first pages as seeds, their words as the topic."""

from collections.abc import Sequence

from msgspec import Struct

from lycosa.reading.reader import page_of_text
from lycosa.strategies import STRATEGIES, InfoSpiders
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Page, Url
from lycosa.worlds import Category, StudyWorld

SEEDS = 10
FEWEST_ENTRIES = 5


class Topic(Struct, frozen=True):
    """What one crawl is about."""

    name: str
    seeds: tuple[Url, ...]
    description: str  # what the directory says about the seeds
    others: tuple[Url, ...] = ()  # the rest of what the directory lists

    def as_page(self) -> Page:
        """The description as a page, its words stemmed as those of pages are."""
        return page_of_text(Url(f"topic:{self.name}"), "", self.description, stem=True)


def topics_of(world: StudyWorld, most: int, *, seeds: int = SEEDS) -> list[Topic]:
    """The first leaves with at least five pages."""
    chosen = [category for category in world.directory() if len(category.entries) >= FEWEST_ENTRIES][:most]
    if len(chosen) < 2:
        raise UsageError(
            f"the world {world.name} has {len(chosen)} topics with {FEWEST_ENTRIES} pages or more, and at least 2 are"
            " needed; worlds with topics are synthetic, wikipedia-schools, webkb and debian-docs"
        )
    return [_topic(category, seeds) for category in chosen]


def _topic(category: Category, seeds: int) -> Topic:
    first, rest = category.entries[:seeds], category.entries[seeds:]
    return Topic(
        category.name,
        tuple(entry.url for entry in first),
        " ".join(entry.description for entry in first),
        tuple(entry.url for entry in rest),
    )


def apart_from(topics: Sequence[Topic], topic: Topic) -> list[Topic]:
    """The topics that share no seed with this one."""
    taken = set(topic.seeds)
    return [other for other in topics if taken.isdisjoint(other.seeds)]


def check_needs_pages_only(name: str) -> None:
    """Refuses a strategy that is none, and one that is nothing without a log or a map."""
    if name not in STRATEGIES:
        raise UsageError(f"there is no strategy {name!r}; there are {_those_that_go_by_pages_alone()}")
    if _needs(name):
        raise UsageError(
            f"the strategy {name} goes by {_needs(name)}, of which a comparison has none; those that can be compared"
            f" are {_those_that_go_by_pages_alone()}"
        )


def _needs(name: str) -> str:
    needs = STRATEGIES[name].needs
    return "an access log" if "log" in needs else "a map" if "map" in needs else ""


def _those_that_go_by_pages_alone() -> str:
    return ", ".join(name for name in STRATEGIES if not _needs(name))


def strategy_for(name: str, topic: Topic, *, pages: int, buffer: int | None, seed: int) -> Strategy:
    """A strategy with what it can use of the topic and of the limits that hold for all."""
    entry = STRATEGIES[name]
    offered = {"topic_words": topic.as_page().terms, "pages": pages, "buffer": buffer, "seed": seed}
    if entry.make is not InfoSpiders:
        del offered["topic_words"]  # others go by pages alone in the lab, as published
    return entry(**{option: value for option, value in offered.items() if entry.takes(option) and value is not None})
