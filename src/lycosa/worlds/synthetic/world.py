"""The synthetic world: a random web calibrated to measurements of the real one."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Host, Page, Plain, Url
from lycosa.worlds.world import Access, Category

from .addresses import Addresses
from .directory import make_directory
from .evolution import Snapshot
from .links import Attraction, Links, make_links
from .pages import Anchor, PageLayout, TextGenerator, paragraphs, read, render_html
from .plan import COLUMNS, Kind, Options, Plan, draw_host_names, make_plan
from .readers import BrowsedWeb, accesses
from .vocabulary import make_vocabulary

FORMAT = 1
FACTS = "synthetic.json"
_LINK_COLUMNS = tuple(field.name for field in fields(Links))


def save_columns(folder: Path, options: Options, plan: Plan, links: Links) -> None:
    """Writes a world into a folder that is empty or not there yet; the same world gives the same bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name another folder for the world")
        for name in COLUMNS:
            np.save(folder / f"{name}.npy", getattr(plan, name))
        for name in _LINK_COLUMNS:
            np.save(folder / f"links-{name}.npy", getattr(links, name))
        facts = {"world": "synthetic", "format": FORMAT, "options": asdict(options)}
        (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the world to {folder}: {error.strerror or error}") from None


def load_columns(folder: Path) -> tuple[Options, Plan, Links]:
    """What `save_columns` wrote, the columns mapped into memory."""
    options = _options(folder / FACTS)
    plan = Plan(**{name: _column(folder / f"{name}.npy") for name in COLUMNS})
    links = Links(**{name: _column(folder / f"links-{name}.npy") for name in _LINK_COLUMNS})
    sizes = {len(plan), len(plan.kind), len(plan.in_links), len(links.start) - 1, options.pages}
    if len(sizes) != 1 or int(links.start[-1]) != len(links.target):
        raise UsageError(f"the columns in {folder} do not fit each other; make the world again")
    return options, plan, links


def _options(path: Path) -> Options:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}; is it the folder of a world?") from None
    except ValueError:
        raise UsageError(f"{path} is not JSON; make the world again") from None
    if not isinstance(facts, Mapping) or facts.get("world") != "synthetic" or facts.get("format") != FORMAT:
        raise UsageError(f"{path} does not describe a synthetic world of format {FORMAT}; make the world again")
    try:
        return Options(**facts["options"])
    except (KeyError, TypeError):
        raise UsageError(f"{path} has options that no synthetic world has; make the world again") from None


def _column(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"cannot read {path}: {error}; make the world again") from None


_URLS_AT_ONCE = 10_000


class SyntheticWorld:
    """A web of sites, sections and articles on the topics of a two-level taxonomy; texts are made when asked for.

    Pages gather in-links by a power law, link to pages of like topic and like standing, and show by how they are
    written how well they stand; each of these can be turned off (0).

    status_homophily: how much links seek pages of like standing, 0 to 1; topical_homophily: the same of topics.
    feature_noise: how much of what shows of a page's standing is chance; 0 shows it plainly, 30 hides it.
    site_words: how much the pages of a site share words that no topic gives them, 0 to 1. At 0, texts are alike by
    topic alone, and links within a site lead to texts as like as others on the same topic.

    >>> world = SyntheticWorld(pages=400, topics=4, seed=3)
    >>> len(world), world.number(world.url(7)), world.page(Url("http://nowhere.example/")) is None
    (400, 7, True)
    """

    name = "synthetic"
    _start: "SyntheticWorld"
    _life: Snapshot | None  # what has happened since the start, None there

    def __init__(
        self,
        *,
        pages: int = 40_000,
        sites: int | None = None,
        topics: int = 37,
        seed: int = 1,
        status_homophily: float = 1.0,
        topical_homophily: float = 1.0,
        feature_noise: float = 1.0,
        site_words: float = 1.0,
    ):
        options = Options(
            pages=pages,
            sites=sites,
            topics=topics,
            seed=seed,
            status_homophily=status_homophily,
            topical_homophily=topical_homophily,
            feature_noise=feature_noise,
            site_words=site_words,
        )
        self._open(options)

    def _open(self, options: Options, plan: Plan | None = None, links: Links | None = None) -> None:
        self.options = options
        self.words, unused = make_vocabulary(options.seed, options.topics)
        self.plan = plan if plan is not None else make_plan(options, self.words)
        self.links = links if links is not None else make_links(options, self.plan, self.words)
        self.addresses = Addresses(
            self.plan, draw_host_names(options.seed, self.plan.site_topic, self.words, unused), self.words
        )
        self.prose = TextGenerator(options, self.plan, self.words)
        self._start, self._life = self, None

    @classmethod
    def load(cls, folder: Path) -> "SyntheticWorld":
        """A world that was saved."""
        world = cls.__new__(cls)
        world._open(*load_columns(folder))
        return world

    def __reduce__(self) -> tuple[Any, ...]:
        days = 0.0 if self._life is None else self._life.days
        return _reopened, (self.options, self._start.plan, self._start.links, days)

    def save(self, folder: Path) -> None:
        if self._life is not None:
            raise UsageError("a later state of a world cannot be saved; save its start and ask that for the day")
        save_columns(folder, self.options, self.plan, self.links)

    # What there is

    @property
    def facts(self) -> Mapping[str, Plain]:
        options = {**asdict(self.options), "sites": self.options.site_count}
        day = {} if self._life is None else {"days": self._life.days}
        return {"name": self.name, **options, "links": len(self.links.target), **day}

    @property
    def hosts(self) -> Collection[Host]:
        return self.addresses.hosts

    @property
    def topics(self) -> Sequence[str]:
        """The names of the leaves of the taxonomy, by their numbers."""
        return self.words.names

    @property
    def topic_of_page(self) -> NDArray[np.int16]:
        return self.plan.topic

    @property
    def site_of_page(self) -> NDArray[np.int32]:
        return self.plan.site_of_page

    @cached_property
    def status(self) -> NDArray[np.float64]:
        """ln(1 + in-links from everywhere) of each page."""
        return self.plan.status

    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the pages that there are."""
        return np.arange(len(self.plan)) if self._life is None else np.flatnonzero(self._life.exists)

    def __len__(self) -> int:
        return len(self.plan) if self._life is None else int(self._life.exists.sum())

    def __contains__(self, url: object) -> bool:
        return isinstance(url, str) and self.number(Url(url)) is not None

    def urls(self) -> Iterator[Url]:
        numbers = self.numbers()
        for start in range(0, len(numbers), _URLS_AT_ONCE):
            yield from self.addresses.urls(numbers[start : start + _URLS_AT_ONCE])

    def url(self, number: int) -> Url:
        return self.addresses.url(number)

    def number(self, url: Url) -> int | None:
        """The number of the page at a URL, None where there is none."""
        number = self.addresses.number(url)
        if number is None or self._life is None or self._life.exists[number]:
            return number
        return None

    def topic(self, url: Url) -> str | None:
        number = self.number(url)
        return None if number is None else self.topics[int(self.plan.topic[number])]

    def standing(self, url: Url) -> float | None:
        number = self.number(url)
        return None if number is None else float(np.log1p(self.plan.in_links[number]))

    def out_links(self, url: Url) -> Sequence[Url]:
        """Where a page links to, without its text."""
        number = self.number(url)
        return () if number is None else self.addresses.urls(self.links_of(number)[0])

    def in_degrees(self) -> NDArray[np.int64]:
        """How many links led to each page from within the world at its start."""
        return np.bincount(self.links.target, minlength=len(self.plan))[self.numbers()]

    def site_traffic(self) -> Mapping[str, float]:
        """How many of a million people each site reaches."""
        return dict(zip(self.hosts, self.plan.site_traffic.tolist(), strict=True))

    @cached_property
    def _directory(self) -> tuple[Category, ...]:
        return make_directory(self.options, self.plan, self.prose, self.addresses, self.topics)

    def directory(self) -> Sequence[Category]:
        """As the editors made it at the start; some of what they list may have vanished since."""
        return self._start._directory

    # What it shows

    def page(self, url: Url) -> bytes | None:
        number = self.number(url)
        return None if number is None else render_html(self._layout(number, url))

    def read(self, url: Url) -> Page | None:
        number = self.number(url)
        return None if number is None else read(self._layout(number, url))

    def redirect(self, url: Url) -> Url | None:
        return None

    def robots(self, host: Host) -> str | None:
        return "User-agent: *\nDisallow:\n" if host in self.hosts else None

    # How it goes on

    def at(self, days: float) -> "SyntheticWorld":
        """The world as it is that many days after its start; `at(0)` is the start."""
        start = self._start
        if days == 0.0:
            return start
        later = SyntheticWorld.__new__(SyntheticWorld)
        later._start, later._life = start, Snapshot(start.options, start.plan, start.links, start._attraction, days)
        later.options, later.words, later.links = start.options, start.words, start.links
        later.plan = later._life.plan
        later.addresses = start.addresses.over(later.plan)
        later.prose = TextGenerator(start.options, later.plan, start.words)
        return later

    def changes(self, number: int) -> NDArray[np.float64]:
        """The days on which the text of a page has changed since the start."""
        return np.empty(0) if self._life is None else self._life.changes(number)

    @cached_property
    def _attraction(self) -> Attraction:
        return Attraction(self.options, self.plan)

    # Who reads it

    def accesses(self, *, users: int, days: float, seed: int = 1) -> Iterator[Access]:
        """What some readers read in the world as it is, in the order of time."""
        library = BrowsedWeb(
            topic_of_page=self.plan.topic,
            links_of=lambda number: self.links_of(number)[0],
            url=self.url,
            exists=lambda number: self._life is None or bool(self._life.exists[number]),
            attraction=self._start._attraction,
            topics=self.options.topics,
        )
        return accesses(library, users=users, days=days, seed=seed)

    # How a page is put together

    def links_of(self, number: int) -> tuple[NDArray[np.int32], int]:
        """Where a page links to, in the order of the page, and how many of its links are navigation."""
        if self._life is not None:
            return self._life.links_of(number)
        return self.links.of(number), int(self.links.navigation[number])

    def _layout(self, number: int, url: Url) -> PageLayout:
        targets, navigation = self.links_of(number)
        urls = self.addresses.urls(targets)
        editions = self._life.editions(number) if self._life is not None else None
        passage = self.prose.passage(number, targets[navigation:], editions)
        anchors = list(map(Anchor, urls[navigation:], passage.anchors))
        return PageLayout(
            url=url,
            title=passage.title,
            navigation=list(map(Anchor, urls[:navigation], self._navigation_names(targets[:navigation]))),
            paragraphs=paragraphs(passage.words, passage.paragraphs, anchors, passage.offsets),
            footer=self.prose.footer(int(self.plan.site_of_page[number])),
        )

    def _navigation_names(self, targets: NDArray[np.int32]) -> list[str]:
        kinds, sections = self.plan.kind[targets].tolist(), self.plan.section_of_page[targets].tolist()
        names = self.addresses.section_names
        return ["Home" if kind == Kind.HOME else names[section] for kind, section in zip(kinds, sections, strict=True)]


def _reopened(options: Options, plan: Plan, links: Links, days: float) -> SyntheticWorld:
    world = SyntheticWorld.__new__(SyntheticWorld)
    world._open(options, plan, links)
    return world.at(days)
