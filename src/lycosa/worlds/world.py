"""What a world is. `World` is all that `serve` asks of one; a `StudyWorld` knows enough to judge a crawl by."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.records import Host, Page, Plain, Url


class World(Protocol):
    """Everything there is to fetch, held in memory or made up when asked for."""

    @property
    def hosts(self) -> Collection[Host]: ...

    def page(self, url: Url) -> bytes | None:
        """The body found at the URL, None where there is none."""
        ...

    def redirect(self, url: Url) -> Url | None:
        """Where the URL sends its visitors, None where it does not."""
        ...

    def robots(self, host: Host) -> str | None:
        """The host's robots.txt, None where it has none."""
        ...


class Entry(Struct, frozen=True, gc=False):
    """A page that a directory lists, and what it says about it."""

    url: Url
    description: str


class Category(Struct, frozen=True):
    """A leaf of a directory: a topic, and pages on it that somebody chose, the first ones first."""

    name: str  # "top/leaf"
    entries: tuple[Entry, ...]


class Access(Struct, frozen=True, gc=False):
    """One page read by one person, of whom nothing is known but a number."""

    user: int
    url: Url
    at: float  # seconds, after the start of a made-up world or since 1970


class StudyWorld(World, Protocol):
    """A fixed web with as much truth as it knows; what it does not know is None or empty."""

    name: str  # as `lycosa world list` has it

    @property
    def facts(self) -> Mapping[str, Plain]:
        """What a study says of its world: the options it was made with, and how many pages it has."""
        ...

    def __len__(self) -> int:
        """How many pages there are."""
        ...

    def __contains__(self, url: object) -> bool:
        """Whether there is a page at the URL."""
        ...

    def urls(self) -> Iterable[Url]:
        """Every page, in an order that never changes."""
        ...

    def read(self, url: Url) -> Page | None:
        """The page as `Reader(stem=True)` would read what `page` gives, by a shorter way where there is one."""
        ...

    def out_links(self, url: Url) -> Sequence[Url]:
        """The pages of the world that the page links to, without reading it."""
        ...

    def in_degrees(self) -> NDArray[np.signedinteger[Any]]:
        """How many links lead to each page from within the world, in the order of `urls`."""
        ...

    def directory(self) -> Sequence[Category]:
        """Topics with pages on them, leaf by leaf, as a walk breadth first meets them."""
        ...

    def topic(self, url: Url) -> str | None:
        """The name of the category that the page is about."""
        ...

    def standing(self, url: Url) -> float | None:
        """ln(1 + in-links from everywhere), those from outside the world among them."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the world into an empty folder, from which its kind's `load` reads it back."""
        ...
