"""One loop: live over a simulated web, in the lab, and read back, a crawl visits the same pages in the same order."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contracts.test_strategy_laws import maker
from lycosa.collection.events import RunStart
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.reading import Reader
from lycosa.recipe import Recipe, Requests, Topic, Waiting
from lycosa.run.crawl import Crawl
from lycosa.run.session import Session
from lycosa.run.strategy_factory import StrategyFactory
from lycosa.strategies import STRATEGIES
from lycosa.testing import SmallWeb
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url, Visit
from lycosa_lab.simulation import crawl as crawl_in_lab
from simulation import crawl_of, urls_of, visits_of, without_event_loop
from web.simulated import SimulatedWeb
from worlds import html

WORDS = ["bee", "hive", "honey", "queen", "comb", "nectar", "sail", "mast", "rope", "harbour", "tide", "storm"]
READ = Reader()


class Scores:
    """Relevance and standing by the number of a page, spread over the unit interval."""

    def relevance(self, page: Page) -> float:
        return number_of(page) * 37 % 101 / 100

    def standing(self, page: Page) -> float:
        return number_of(page) * 53 % 97 / 96


class NoDuplicates:
    """The lab's rule for near-duplicates: no page is one."""

    def find(self, fingerprint: int) -> None:
        return None

    def add(self, fingerprint: int, url: Url, digest: int = 0) -> None:
        pass


def made(name: str, pages: dict[Url, bytes]) -> Strategy:
    """A strategy; those that are nothing without an access log have that of the world of these pages."""
    return maker(name)(SmallWeb(pages))


def number_of(page: Page) -> int:
    return int(page.url.rpartition("/")[2])


def random_world(seed: int) -> dict[Url, bytes]:
    """Some dozen pages on a few hosts; links point anywhere, one in ten to nothing, one in twenty is nofollow."""
    random = Random(seed)
    urls = [Url(f"http://h{random.randrange(5)}.example/{number}") for number in range(random.randint(10, 60))]
    world = {}
    for number, url in enumerate(urls):
        targets = [other for other in random.choices(urls, k=random.randrange(12)) if other != url]
        targets += [f"http://dead.example/{number}"] * (random.random() < 0.1)
        page = html(f"Page {number}", " ".join(random.choices(WORDS, k=30)), targets)
        world[url] = page.replace(b"<a ", b'<a rel="nofollow" ', 1) if random.random() < 0.05 else page
    return world


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@given(seed=st.integers(0, 2**32), buffer=st.integers(2, 50))
@settings(max_examples=15, deadline=None)
def test_live_lab_and_replay_visit_the_same_pages_in_one_order(name: str, seed: int, buffer: int) -> None:
    world, scores = random_world(seed), Scores()
    seeds = list(world)[:2]
    frontier = MemoryFrontier(clock=SimulatedClock(), delay=0.0, limit=buffer)
    shared = {"frontier": frontier, "duplicates": NoDuplicates(), "judge": scores, "standing": scores}
    live = crawl_of(world, made(name, world), **shared)
    visits = visits_of(live, seeds)
    pages = [visit.candidate.url for visit in visits if visit.page is not None]

    def read(url: Url) -> Page | None:
        return READ(Fetch(url, Outcome.OK, 0.0, content=world[url])) if url in world else None

    steps = crawl_in_lab(
        made(name, world),
        seeds,
        read=read,
        judge=scores.relevance,
        standing=scores.standing,
        pages=len(world),
        buffer=buffer,
    )
    assert [step.url for step in steps] == pages
    assert order_of_replay(visits, name, world, seeds, buffer) == urls_of(visits)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@given(seed=st.integers(0, 2**32), buffer=st.integers(2, 50), kills=st.lists(st.integers(0, 15), max_size=3))
@example(seed=1, buffer=2, kills=[1])  # a seed is evicted before the kill
@settings(max_examples=4, deadline=None)
def test_a_crawl_that_is_killed_and_resumed_visits_the_same_pages_in_one_order(
    name: str, seed: int, buffer: int, kills: list[int]
) -> None:
    world, scores = random_world(seed), Scores()
    seeds = list(world)[:2]
    whole = visits_of(
        crawl_of(
            world,
            made(name, world),
            frontier=MemoryFrontier(clock=SimulatedClock(), delay=0.0, limit=buffer),
            duplicates=NoDuplicates(),
            judge=scores,
            standing=scores,
        ),
        seeds,
    )
    strategy_as_above = patch.object(StrategyFactory, "make", lambda *_: made(name, world))
    with TemporaryDirectory() as folder, strategy_as_above:
        runs = [list(visited_until_killed(Path(folder), name, world, buffer, stop)) for stop in (*kills, None)]
    assert [url for run in runs for url in run] == urls_of(whole)


def visited_until_killed(
    folder: Path, name: str, world: dict[Url, bytes], buffer: int, stop: int | None
) -> Iterator[Url]:
    """The URLs that one run visits before it is killed after `stop` visits, or ends by itself."""
    recipe = Recipe(
        strategy=name,
        topic=Topic(text="anything"),
        waiting=Waiting(limit=buffer),
        requests=Requests(delay=0.0, concurrency=1),
    )
    clock, scores = SimulatedClock(), Scores()
    session = Session(folder, recipe, clock=clock)
    run = RunStart(clock.now(), name, tuple(world)[:2], scope=None, utility=None)
    session.record(run)
    session.begin_run(run)
    crawl = Crawl(
        web=SimulatedWeb(world, clock=clock),
        assess=replace(session.assessor(scores, scores), duplicates=NoDuplicates()),
        loop=session.loop,
        clock=clock,
        status=session.status,
    )
    visits = without_event_loop(crawl.visits())
    for visit in islice(visits, stop):
        yield visit.candidate.url
        if visit.candidate.url.endswith("7"):
            session.checkpoint()
    session.collection.close_without_checkpoint()


def order_of_replay(
    visits: list[Visit], name: str, world: dict[Url, bytes], seeds: list[Url], buffer: int
) -> list[Url]:
    """The order in which a frontier gives the URLs, when visits that were recorded are all that a loop sees."""
    recorded = {visit.candidate.url: visit for visit in visits}
    frontier = SequentialFrontier(limit=buffer)
    loop = Loop(made(name, world), frontier)
    loop.start(seeds)
    order = []
    while (candidate := frontier.take()) is not None:
        order.append(candidate.url)
        loop.replay(recorded[candidate.url])
    return order
