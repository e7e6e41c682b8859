"""What every strategy promises."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.crawler import without_event_loop
from lycosa.frontier.memory import MemoryFrontier
from lycosa.reading import Reader
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Skip, Url, Visit
from simulation import Budget, crawl_of, urls_of, visits_of
from worlds import CHAIN, LOOP, STAR, TOPICAL, TWO_SITES, html

WORLDS = {"chain": CHAIN, "star": STAR, "loop": LOOP, "two sites": TWO_SITES, "topical": TOPICAL}
every_strategy = pytest.mark.parametrize("name", STRATEGIES)
every_world = pytest.mark.parametrize("pages", WORLDS.values(), ids=WORLDS)


def first_of(pages: dict[Url, bytes]) -> Url:
    return next(iter(pages))


@every_strategy
@every_world
def test_visits_each_reachable_page_once(name: str, pages: dict[Url, bytes]) -> None:
    strategy = STRATEGIES[name]()
    visited = urls_of(visits_of(crawl_of(pages, strategy), [first_of(pages)]))
    assert len(visited) == len(set(visited))
    assert set(visited) <= set(pages)
    if strategy.exhaustive:
        assert set(visited) == set(pages)


@every_strategy
@given(
    links=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60),
    budget=st.integers(1, 12),
)
@settings(max_examples=25, deadline=None)
def test_on_any_graph_pages_come_from_seeds_or_links_and_within_the_budget(
    name: str, links: list[tuple[int, int]], budget: int
) -> None:
    urls = [Url(f"http://h{page % 4}.example/{page}") for page in range(12)]
    targets = {page: [urls[b] for a, b in links if a == page and a != b] for page in range(12)}
    world = {url: html(f"Page {page}", f"page {page} " * 30, targets[page]) for page, url in enumerate(urls)}
    crawl = crawl_of(world, STRATEGIES[name](), budget=Budget(pages=budget))
    visits = visits_of(crawl, [urls[0]])
    known = {urls[0]}
    for visit in visits:
        assert visit.candidate.url in known
        known.update(link.target for link in visit.page.links) if visit.page else None
    assert len(visits) <= budget


@every_strategy
def test_priorities_are_finite_and_on_the_scale_it_declares(name: str) -> None:
    strategy = STRATEGIES[name]()
    seen: list[Candidate] = list(strategy.start([first_of(TOPICAL)]))
    for visit in visits_of(crawl_of(TOPICAL, STRATEGIES[name]()), [first_of(TOPICAL)]):
        strategy.learn(visit)
        seen += strategy.propose(visit)
    assert len(seen) > len(TOPICAL)
    for candidate in seen:
        assert math.isfinite(candidate.priority)
        assert strategy.scale == "order" or 0.0 <= candidate.priority <= 1.0
        assert candidate.because


@every_strategy
@pytest.mark.parametrize("stop_after", [1, 2, 7, 20])
def test_stopped_after_any_visit_and_restored_it_goes_on_as_if_it_had_not(name: str, stop_after: int) -> None:
    seed = first_of(TOPICAL)
    whole = urls_of(visits_of(crawl_of(TOPICAL, STRATEGIES[name]()), [seed]))
    clock = SimulatedClock()
    first = STRATEGIES[name]()
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    crawl = crawl_of(TOPICAL, first, clock=clock, frontier=frontier, budget=Budget(pages=stop_after))
    begun = urls_of(visits_of(crawl, [seed]))
    second = STRATEGIES[name]()
    second.restore(json.loads(json.dumps(first.state())))
    crawl = crawl_of(TOPICAL, second, clock=clock, frontier=frontier)
    assert begun + urls_of(list(without_event_loop(crawl.visits()))) == whole


@every_strategy
def test_a_link_that_may_not_be_followed_is_not_proposed(name: str) -> None:
    page = html("Page", "text", ["http://a.example/1"]).replace(b"<a ", b'<a rel="nofollow" ')
    fetch = Fetch(Url("http://a.example/"), Outcome.OK, 0.0, status=200, content=page)
    visit = Visit(Candidate(fetch.url, 1.0), fetch, Reader()(fetch), relevance=0.5)
    assert list(STRATEGIES[name]().propose(visit)) == []


@every_strategy
def test_learns_from_skips_and_failed_visits(name: str) -> None:
    strategy: Strategy = STRATEGIES[name]()
    candidate = Candidate(Url("http://a.example/"), 0.5)
    strategy.learn(Skip(candidate, "trap: host is full"))
    failed = Visit(candidate, Fetch(candidate.url, Outcome.FAILED, 0.0))
    strategy.learn(failed)
    assert list(strategy.propose(failed)) == []
