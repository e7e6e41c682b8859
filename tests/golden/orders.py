"""The order in which every strategy visits the pages of small worlds, in the lab and live, with any buffer."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lycosa.frontier.memory import MemoryFrontier
from lycosa.logs.access_log import AccessLog
from lycosa.maps.topic_map import UrlMap
from lycosa.reading import Reader
from lycosa.strategies import STRATEGIES, Guided, Mapped
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url
from lycosa_lab.simulation import crawl as crawl_in_the_lab
from lycosa_lab.worlds.practice_web import PracticeWeb
from simulation import crawl_of, urls_of, visits_of
from worlds import TOPICAL, html, topic_of

BUFFERS = {"buffer 5": 5, "buffer 50": 50, "no buffer": None}
TOPIC_WORDS = {"bee": 3, "honey": 2, "hive": 1, "wax": 1, "pollen": 1}
OTHER_WORDS = ["ship", "sail", "mast", "rudder", "anchor", "harbour", "keel", "deck", "crew", "tide", "rope", "hull"]
Orders = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class OrderedWorld:
    """Pages in a fixed order, of which each has a relevance, a standing, and readers that came by."""

    pages: Mapping[Url, bytes]
    relevances: Sequence[float]
    seeds: Sequence[Url]

    @cached_property
    def numbers(self) -> Mapping[Url, int]:
        return {url: number for number, url in enumerate(self.pages)}

    def relevance(self, page: Page) -> float:
        return self.relevances[self.numbers[page.url]]

    def standing(self, page: Page) -> float:
        return self.numbers[page.url] * 7 % 11 / 10.5

    @cached_property
    def _pages_read(self) -> Mapping[Url, Page | None]:
        read = Reader()
        return {url: read(Fetch(url, Outcome.OK, 0.0, content=body)) for url, body in self.pages.items()}

    def read(self, url: Url) -> Page | None:
        return self._pages_read.get(url)

    def access_log(self) -> AccessLog:
        """Twelve people, who keep to like pages for the most part."""
        drawn = random.Random(5)
        urls = list(self.pages)
        kinds = [[url for url in urls if (self.relevances[self.numbers[url]] >= 0.5) is good] for good in (True, False)]
        walks = {f"reader {n}": drawn.choices(kinds[n % 2] or urls, k=10) + drawn.choices(urls, k=4) for n in range(12)}
        return AccessLog.of((who, url, float(at)) for who, walk in walks.items() for at, url in enumerate(walk))

    def crawl_map(self) -> UrlMap:
        """A fifth of the relevant pages as portals, each with three spokes."""
        good = [url for url in self.pages if self.relevances[self.numbers[url]] >= 0.5]
        portals, others = good[::5], [url for place, url in enumerate(good) if place % 5]
        return UrlMap(portals, {portal: others[3 * n : 3 * n + 3] for n, portal in enumerate(portals)})


def _drawn_world(seed: int, *, pages: int = 60, hosts: int = 7, links: int = 8) -> OrderedWorld:
    """Pages of any relevance that link to pages like them, to others, and to some that are not there."""
    drawn = random.Random(seed)
    urls = [Url(f"http://h{page % hosts}.example/{page}") for page in range(pages)]
    relevances = [round(drawn.random(), 3) for _ in urls]
    made = {}
    for url, relevance in zip(urls, relevances, strict=True):
        words = [drawn.choice(list(TOPIC_WORDS) if drawn.random() < relevance else OTHER_WORDS) for _ in range(60)]
        near = sorted(range(pages), key=lambda page: abs(relevances[page] - relevance))[1 : 1 + pages // 4]
        targets = drawn.sample(near, links // 2) + drawn.sample(range(pages), links - links // 2)
        anchors = [(urls[page], f"{drawn.choice(words)} {page}") for page in targets]
        if drawn.random() < 0.2:
            anchors.append((Url(f"{url}/gone"), "gone"))
        made[url] = html(f"{words[0]} {words[1]}", " ".join(words), anchors)
    return OrderedWorld(made, relevances, urls[:2])


def _topical_world() -> OrderedWorld:
    return OrderedWorld(TOPICAL, [0.9 if topic_of(url) == "bees" else 0.1 for url in TOPICAL], [next(iter(TOPICAL))])


def _made_up_world() -> OrderedWorld:
    web = PracticeWeb(seed=4, hosts=5, pages=70)
    urls = web.urls()
    relevances = [
        (0.7 if web.topic(url) == web.topics[0] else 0.2) + number % 3 / 10 for number, url in enumerate(urls)
    ]
    return OrderedWorld(
        {url: web.page(url) or b"" for url in urls},
        relevances,
        [urls[0], next(url for url in urls if web.topic(url) == web.topics[0])],
    )


WORLDS: Mapping[str, Callable[[], OrderedWorld]] = {
    "topical": _topical_world,
    "drawn 7": lambda: _drawn_world(7, pages=50, hosts=6, links=8),
    "drawn 17": lambda: _drawn_world(17, pages=40, hosts=3, links=12),
    "made up": _made_up_world,
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "infospiders": {"topic_words": TOPIC_WORDS, "seed": 3},
    "random": {"seed": 3},
    "crawl-ai": {"seed": 3},
}


def _made(name: str, world: OrderedWorld, **options: Any) -> Strategy:
    options |= OPTIONS.get(name, {})
    if name in ("collaborative", "combined", "guided"):
        options["access_log"] = world.access_log()
    if name == "mapped":
        options["crawl_map"] = world.crawl_map()
    return STRATEGIES[name](**options)


def strategies(world: OrderedWorld, buffer: int | None) -> Iterator[tuple[str, Strategy]]:
    """Every strategy by its name; then some that are told the topic or the buffer, or go by a map, a log, or both."""
    for name in STRATEGIES:
        yield name, _made(name, world)
    for name in ("best-first", "adaptive"):
        yield f"{name} with topic words", _made(name, world, topic_words=TOPIC_WORDS)
        yield f"{name} by a map", Mapped(_made(name, world), world.crawl_map())
        yield f"{name} by a log", Guided(_made(name, world), world.access_log())
    yield "best-first by both", Guided(Mapped(_made("best-first", world), world.crawl_map()), world.access_log())
    for name in ("infospiders", "pagerank"):
        if buffer is not None:
            yield f"{name} with a buffer", _made(name, world, buffer=buffer)


def _lab_order(world: OrderedWorld, strategy: Strategy, buffer: int | None) -> Iterable[Url]:
    steps = crawl_in_the_lab(
        strategy,
        world.seeds,
        read=world.read,
        judge=world.relevance,
        standing=world.standing,
        pages=10_000,
        buffer=buffer,
    )
    return [step.url for step in steps]


def _live_order(world: OrderedWorld, strategy: Strategy, buffer: int | None) -> Iterable[Url]:
    clock = SimulatedClock()
    limit = {} if buffer is None else {"limit": buffer}
    frontier = MemoryFrontier(clock=clock, delay=0.0, **limit)
    crawl = crawl_of(world.pages, strategy, clock=clock, frontier=frontier, judge=world, standing=world)
    return urls_of([visit for visit in visits_of(crawl, world.seeds) if visit.page is not None])


def orders(worlds: Iterable[str] = WORLDS) -> Orders:
    """World, strategy, then how and with what buffer: the numbers of the pages in the order of their visits."""
    found: Orders = {}
    for world_name in worlds:
        world = WORLDS[world_name]()
        for said, buffer in BUFFERS.items():
            for how, order_of in (("lab", _lab_order), ("live", _live_order)):
                for name, strategy in strategies(world, buffer):
                    order = [world.numbers[url] for url in order_of(world, strategy, buffer)]
                    found.setdefault(world_name, {}).setdefault(name, {})[f"{how}, {said}"] = order
    return found
