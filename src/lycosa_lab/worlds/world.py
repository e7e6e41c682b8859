"""The contracts of worlds: a `World` can be served over HTTP; a `StudyWorld` knows the truth to judge crawls by."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.records import Host, JsonValue, Page, Url


class World(Protocol):
    """A web of pages, held in memory or generated on access."""

    @property
    def hosts(self) -> Collection[Host]: ...

    def page(self, url: Url) -> bytes | None:
        """The body of the page at the URL, None if there is none."""
        ...

    def redirect(self, url: Url) -> Url | None:
        """The target of a redirect at the URL, None if there is none."""
        ...

    def robots(self, host: Host) -> str | None:
        """The host's robots.txt, None if it has none."""
        ...


class DirectoryEntry(Struct, frozen=True, gc=False):
    """A page listed in a directory, with its description."""

    url: Url
    description: str


class Category(Struct, frozen=True):
    """A leaf category of a directory: a topic and selected pages on it, in order."""

    name: str  # "top/leaf"
    entries: tuple[DirectoryEntry, ...]


class Access(Struct, frozen=True, gc=False):
    """One page read by one anonymous user."""

    user: int
    url: Url
    at: float  # seconds since the start of a synthetic world, or since 1970


class StudyWorld(World, Protocol):
    """A fixed web with ground truth: topics, standing, links; what is unknown is None or empty."""

    name: str  # as `lycosa world list` has it

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        """What a study reports about its world: its options and sizes."""
        ...

    def __len__(self) -> int:
        """How many pages there are."""
        ...

    def __contains__(self, url: object) -> bool:
        """Whether there is a page at the URL."""
        ...

    def urls(self) -> Iterable[Url]:
        """All pages, always in the same order; a world made of a graph gives its nodes, which are integers, instead."""
        ...

    def read(self, url: Url) -> Page | None:
        """The page as `Reader(stem="porter")` parses the HTML of `page`, possibly computed without parsing."""
        ...

    def out_links(self, url: Url) -> Sequence[Url]:
        """The pages of the world that the page links to, without parsing it."""
        ...

    def in_degrees(self) -> NDArray[np.signedinteger[Any]]:
        """How many links of the world lead to each page, in the order of `urls`."""
        ...

    def directory(self) -> Sequence[Category]:
        """The leaf categories, in breadth-first order."""
        ...

    def topic(self, url: Url) -> str | None:
        """The name of the category that the page is about."""
        ...

    def log_in_links(self, url: Url) -> float | None:
        """ln(1 + in-links), counting links from outside the world too."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the world into an empty folder, for the `load` of its kind."""
        ...
