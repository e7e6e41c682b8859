"""Topics for crawls in the lab: leaves of a world's directory, their first pages as seeds, their words as the topic."""

from collections.abc import Sequence

from msgspec import Struct

from lycosa.reading.reader import page_of_text
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
