"""One loop: live over a simulated web, in the lab, and read back, a crawl visits the same pages in the same order."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.test_strategy_laws import made
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.lab.simulation import crawl as crawl_in_lab
from lycosa.loop import Loop
from lycosa.reading import Reader
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url, Visit
from simulation import crawl_of, urls_of, visits_of
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

    def add(self, fingerprint: int, url: Url) -> None:
        pass


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
