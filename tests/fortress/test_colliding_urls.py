"""A URL with the same fast hash as another, which a site can compute within a minute, does not hide that other URL."""

import pytest

from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Loop
from lycosa.reading.reader import page_of_html
from lycosa.strategies.hunter import Hunter
from lycosa.strategies.infospiders import InfoSpiders
from lycosa.strategies.linkage import LinkMemory
from lycosa.strategies.url_sets import SettledUrls
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa.vocabulary.urls import key_of

GOOD = Url("http://good.example/best")
HOSTILE = Url(
    "http://evil.example/xxxxxxxxxxxx294uc7pjvgzp9h9ffpjcvmpn4nba2t5yxhsnaaueohbzwn73xpysf7ejigszbag2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
)
SEED, MIDDLE = Url("http://seed.example/"), Url("http://middle.example/")
BEES = "<title>Honey bees</title><p>" + "honey bee hive " * 30
PAGES = {
    SEED: f"{BEES}<a href={HOSTILE}>bees</a> <a href={MIDDLE}>honey bees</a>",
    HOSTILE: "<title>Spam</title><p>nothing of interest",
    MIDDLE: f"{BEES}<a href={GOOD}>the best honey bees</a>",
    GOOD: BEES,
}


def test_the_two_urls_have_the_same_fast_hash() -> None:
    assert key_of(HOSTILE) == key_of(GOOD)


@pytest.mark.parametrize("strategy", [Hunter(), InfoSpiders()], ids=["hunter", "infospiders"])
def test_a_page_whose_url_collides_does_not_hide_a_good_page(strategy: Strategy) -> None:
    clock = SimulatedClock(100.0)
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    loop = Loop(strategy, frontier, clock=clock)

    def assess(candidate: Candidate, fetch: Fetch) -> Visit:
        html = PAGES[candidate.url]
        return Visit(candidate, fetch, page_of_html(candidate.url, html), relevance=0.9 if BEES in html else 0.1)

    loop.start((SEED, HOSTILE))
    visited = []
    while candidate := frontier.take(clock.now()):
        visited.append(candidate.url)
        loop.step(candidate, Fetch(candidate.url, Outcome.OK, clock.now(), status=200), assess)
    assert set(visited) == set(PAGES)


def test_what_strategies_remember_of_a_url_is_not_said_of_another() -> None:
    settled, memory = SettledUrls(), LinkMemory(max_waiting=10, max_pages=10, max_visited=10)
    settled.visit(HOSTILE)
    settled.reject(HOSTILE)
    memory.settle(HOSTILE, 0)
    assert HOSTILE in settled
    assert GOOD not in settled
    assert memory.outcome_of(HOSTILE) == 0
    assert memory.outcome_of(GOOD) is None
