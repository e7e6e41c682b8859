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
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.records import Host, JsonValue, Page, Url
from lycosa_lab.worlds.world import Access, Category, DirectoryEntry

from .addresses import PageUrls
from .counter_rng import Floats, Ints, stream_key, uniforms
from .evolution import Snapshot, change_rate
from .links import Links, PageLinks, TargetSampler, make_links
from .pages import PageLayout, TextLink, parsed_page, render_html, split_paragraphs
from .plan import COLUMNS, Options, PageKind, WorldPlan, draw_host_names, make_plan
from .readers import BrowsedWeb, simulate_accesses
from .text import TextGenerator
from .vocabulary import make_vocabulary

_FORMAT = 1
_FACTS = "synthetic.json"
_LINK_COLUMNS = tuple(field.name for field in fields(Links))
_URL_BATCH = 10_000


class SyntheticWorld:
    """A random web of sites, sections and articles on topics of a two-level taxonomy; texts are generated on access.

    The in-links of pages follow a power law, pages link to pages of similar topic and similar standing, and features of
    their texts correlate with their standing; each of these can be turned off (0).

    status_homophily: how strongly links prefer pages of similar standing, 0 to 1.
    topical_homophily: how strongly links and sites keep to one topic, 0 to 1.
    feature_noise: noise of the features that correlate with standing; 30 hides the correlation.
    site_words: how many words the pages of a site share that are not of their topics, 0 to 1. At 0, texts are similar
        by topic alone, also within a site.

    >>> world = SyntheticWorld(pages=400, topics=4, seed=3)
    >>> len(world), world.number(world.url(7)), world.page(Url("http://nowhere.example/")) is None
    (400, 7, True)
    """

    name = "synthetic"
    _start: "SyntheticWorld"  # this world at its start
    _snapshot: Snapshot | None  # the state of a later day, None at the start

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

    def _open(self, options: Options, plan: WorldPlan | None = None, links: Links | None = None) -> None:
        self.options = options
        self.words, unused = make_vocabulary(options.seed, options.topics)
        self.plan = plan if plan is not None else make_plan(options, self.words)
        self.links = links if links is not None else make_links(options, self.plan, self.words)
        self.addresses = PageUrls(
            self.plan, draw_host_names(options.seed, self.plan.site_topic, self.words, unused), self.words
        )
        self.text_generator = TextGenerator(options, self.plan, self.words)
        self._start, self._snapshot = self, None

    @classmethod
    def load(cls, folder: Path) -> "SyntheticWorld":
        """The world that `save` wrote."""
        world = cls.__new__(cls)
        world._open(*_load_columns(folder))
        return world

    def __reduce__(self) -> tuple[Any, ...]:
        days = 0.0 if self._snapshot is None else self._snapshot.days
        return _reopened, (self.options, self._start.plan, self._start.links, days)

    def save(self, folder: Path) -> None:
        if self._snapshot is not None:
            raise UsageError("a later state of a world cannot be saved; save its start and ask that for the day")
        _save_columns(folder, self.options, self.plan, self.links)

    # Facts and ground truth

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        options = {**asdict(self.options), "sites": self.options.site_count}
        day = {} if self._snapshot is None else {"days": self._snapshot.days}
        return {"name": self.name, **options, "links": len(self.links.target), **day}

    @property
    def hosts(self) -> Collection[Host]:
        return self.addresses.hosts

    @property
    def topics(self) -> Sequence[str]:
        """The names of the leaves of the taxonomy, by number."""
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
        """The numbers of the existing pages."""
        return np.arange(len(self.plan)) if self._snapshot is None else np.flatnonzero(self._snapshot.exists)

    def __len__(self) -> int:
        return len(self.plan) if self._snapshot is None else int(self._snapshot.exists.sum())

    def __contains__(self, url: object) -> bool:
        return isinstance(url, str) and self.number(Url(url)) is not None

    def urls(self) -> Iterator[Url]:
        numbers = self.numbers()
        for start in range(0, len(numbers), _URL_BATCH):
            yield from self.addresses.urls(numbers[start : start + _URL_BATCH])

    def url(self, number: int) -> Url:
        return self.addresses.url(number)

    def number(self, url: Url) -> int | None:
        """The number of the page at a URL, None if there is none."""
        number = self.addresses.number(url)
        if number is None or self._snapshot is None or self._snapshot.exists[number]:
            return number
        return None

    def topic(self, url: Url) -> str | None:
        number = self.number(url)
        return None if number is None else self.topics[int(self.plan.topic[number])]

    def log_in_links(self, url: Url) -> float | None:
        number = self.number(url)
        return None if number is None else float(np.log1p(self.plan.in_links[number]))

    def out_links(self, url: Url) -> Sequence[Url]:
        """The links of a page, without generating its text."""
        number = self.number(url)
        return () if number is None else self.addresses.urls(self.links_of(number).targets)

    def in_degrees(self) -> NDArray[np.int64]:
        """How many links of the world led to each page at the start."""
        return np.bincount(self.links.target, minlength=len(self.plan))[self.numbers()]

    def site_traffic(self) -> Mapping[str, float]:
        """How many of a million people each site reaches."""
        return dict(zip(self.hosts, self.plan.site_traffic.tolist(), strict=True))

    @cached_property
    def _directory(self) -> tuple[Category, ...]:
        return make_directory(self.options, self.plan, self.text_generator, self.addresses, self.topics)

    def directory(self) -> Sequence[Category]:
        """The directory of the start; some of its pages may have vanished since."""
        return self._start._directory

    # Pages

    def page(self, url: Url) -> bytes | None:
        number = self.number(url)
        return None if number is None else render_html(self._layout(number, url))

    def read(self, url: Url) -> Page | None:
        number = self.number(url)
        return None if number is None else parsed_page(self._layout(number, url))

    def redirect(self, url: Url) -> Url | None:
        return None

    def robots(self, host: Host) -> str | None:
        return "User-agent: *\nDisallow:\n" if host in self.hosts else None

    # Evolution

    def at(self, days: float) -> "SyntheticWorld":
        """The world that many days after its start; `at(0)` is the start."""
        start = self._start
        if days == 0.0:
            return start
        later = SyntheticWorld.__new__(SyntheticWorld)
        later._start, later._snapshot = (
            start,
            Snapshot(start.options, start.plan, start.links, start._target_sampler, days),
        )
        later.options, later.words, later.links = start.options, start.words, start.links
        later.plan = later._snapshot.plan
        later.addresses = start.addresses.with_plan(later.plan)
        later.text_generator = TextGenerator(start.options, later.plan, start.words)
        return later

    def changes(self, number: int) -> NDArray[np.float64]:
        """The times, in days, at which the text of a page has changed since the start."""
        return np.empty(0) if self._snapshot is None else self._snapshot.changes(number)

    def change_rates(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """The expected changes per day of these pages."""
        rng_key, kinds = stream_key(self.options.seed, "changes"), self.plan.kind[numbers]
        return np.array([change_rate(rng_key, *page) for page in zip(numbers.tolist(), kinds.tolist(), strict=True)])

    @cached_property
    def _target_sampler(self) -> TargetSampler:
        return TargetSampler(self.options, self.plan)

    # Readers

    def accesses(self, *, users: int, days: float, seed: int = 1) -> Iterator[Access]:
        """What simulated users read in the world as it is, in order of time."""
        web = BrowsedWeb(
            topic_of_page=self.plan.topic,
            links_of=lambda number: self.links_of(number).targets,
            url=self.url,
            exists=lambda number: self._snapshot is None or bool(self._snapshot.exists[number]),
            target_sampler=self._start._target_sampler,
            topic_count=self.options.topics,
        )
        return simulate_accesses(web, users=users, days=days, seed=seed)

    # Layout of a page

    def links_of(self, number: int) -> PageLinks:
        """The links of a page, in order."""
        if self._snapshot is not None:
            return self._snapshot.links_of(number)
        return PageLinks(self.links.of(number), int(self.links.navigation[number]))

    def _layout(self, number: int, url: Url) -> PageLayout:
        targets, navigation_count = self.links_of(number)
        urls = self.addresses.urls(targets)
        editions = self._snapshot.editions(number) if self._snapshot is not None else None
        text = self.text_generator.generate(number, targets[navigation_count:], editions)
        links = list(map(TextLink, urls[navigation_count:], text.anchors))
        return PageLayout(
            url=url,
            title=text.title,
            navigation=list(map(TextLink, urls[:navigation_count], self._navigation_names(targets[:navigation_count]))),
            paragraphs=split_paragraphs(text.words, text.paragraphs, links, text.offsets),
            footer=self.text_generator.footer(int(self.plan.site_of_page[number])),
        )

    def _navigation_names(self, targets: NDArray[np.int32]) -> list[str]:
        kinds, sections = self.plan.kind[targets].tolist(), self.plan.section_of_page[targets].tolist()
        names = self.addresses.section_names
        return [
            "Home" if kind == PageKind.HOME else names[section] for kind, section in zip(kinds, sections, strict=True)
        ]


def _reopened(options: Options, plan: WorldPlan, links: Links, days: float) -> SyntheticWorld:
    world = SyntheticWorld.__new__(SyntheticWorld)
    world._open(options, plan, links)
    return world.at(days)


# Saved as a folder: one file of facts, and one for each column, which is mapped into memory when loaded


def _save_columns(folder: Path, options: Options, plan: WorldPlan, links: Links) -> None:
    """Writes a world into a new or empty folder; the same world gives the same bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name another folder for the world")
        for name in COLUMNS:
            np.save(folder / f"{name}.npy", getattr(plan, name))
        for name in _LINK_COLUMNS:
            np.save(folder / f"links-{name}.npy", getattr(links, name))
        facts = {"world": "synthetic", "format": _FORMAT, "options": asdict(options)}
        write_file(folder / _FACTS, json.dumps(facts, indent=2) + "\n")  # last: without it, the world is incomplete
    except OSError as error:
        raise UsageError(f"cannot write the world to {folder}: {error.strerror or error}") from None


def _load_columns(folder: Path) -> tuple[Options, WorldPlan, Links]:
    """What `_save_columns` wrote, the columns mapped into memory."""
    options = _options(folder / _FACTS)
    plan = WorldPlan(**{name: _column(folder / f"{name}.npy") for name in COLUMNS})
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
    if not isinstance(facts, Mapping) or facts.get("world") != "synthetic" or facts.get("format") != _FORMAT:
        raise UsageError(f"{path} does not describe a synthetic world of format {_FORMAT}; make the world again")
    try:
        return Options(**facts["options"])
    except (KeyError, TypeError):
        raise UsageError(f"{path} has options that no synthetic world has; make the world again") from None


def _column(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"cannot read {path}: {error}; make the world again") from None


# ------------------------------------------------------------ the directory: a sample of the pages of each topic

LISTED_SHARE = 0.025  # of a topic's pages: those that the directory lists
MIN_ENTRIES = 12  # of a topic, if it has as many pages
_KIND_BONUS = np.array([3.0, 1.5, 0.0])  # in the score of home pages, sections and articles
KNOWN_LEVEL, KNOWN_SLOPE = 0.0, 1.5  # logit of the probability that a site is known: level, and slope by standing
_REPEAT_PENALTY = 4.0  # in the score of a page, for each better page of the same site and topic


def known_sites(options: Options, plan: WorldPlan) -> NDArray[np.bool_]:
    """Which sites are known to the editors: a logistic model of the standing of the home page."""
    home = plan.latent[plan.site_start[:-1]].astype(np.float64)
    probability = 1.0 / (1.0 + np.exp(-KNOWN_LEVEL - KNOWN_SLOPE * home))
    return uniforms(stream_key(options.seed, "known sites"), len(probability)) < probability


def chosen_pages(options: Options, plan: WorldPlan) -> list[NDArray[np.int64]]:
    """The pages listed under each topic, in order: the ones of the highest score, of known sites first."""
    u = uniforms(stream_key(options.seed, "directory"), len(plan))
    score = 0.8 * plan.latent + _KIND_BONUS[plan.kind] - np.log(-np.log(u + 1e-300))  # Gumbel noise: a weighted sample
    score -= _REPEAT_PENALTY * _rank_within(plan.site_of_page.astype(np.int64) * options.topics + plan.topic, score)
    score[~known_sites(options, plan)[plan.site_of_page]] -= 1000.0
    order = uniforms(stream_key(options.seed, "directory order"), len(plan))
    by_topic = np.argsort(plan.topic, kind="stable")
    bounds = np.searchsorted(plan.topic[by_topic], np.arange(options.topics + 1))
    chosen = []
    for topic in range(options.topics):
        pages = by_topic[bounds[topic] : bounds[topic + 1]]
        count = min(len(pages), max(MIN_ENTRIES, round(LISTED_SHARE * len(pages))))
        best = pages[np.argsort(-score[pages], kind="stable")[:count]]
        chosen.append(best[np.argsort(order[best], kind="stable")])
    return chosen


def _rank_within(groups: Ints, score: Floats) -> Ints:
    """For each element, how many of its group have a higher score."""
    order = np.lexsort((-score, groups))
    is_first = np.diff(groups[order], prepend=-1) != 0
    positions = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = positions - np.maximum.accumulate(np.where(is_first, positions, 0))
    return ranks


def make_directory(
    options: Options, plan: WorldPlan, text_generator: TextGenerator, addresses: PageUrls, names: Sequence[str]
) -> tuple[Category, ...]:
    """All leaf categories, grouped by top category."""
    categories = []
    for name, pages in zip(names, chosen_pages(options, plan), strict=True):
        urls = addresses.urls(pages)
        descriptions = map(text_generator.description, pages.tolist())
        entries = (DirectoryEntry(url, description) for url, description in zip(urls, descriptions, strict=True))
        categories.append(Category(name, tuple(entries)))
    return tuple(categories)
