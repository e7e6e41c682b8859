"""What every strategy promises."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.logs.readings import Readings
from lycosa.reading import Reader
from lycosa.run.crawl import without_event_loop
from lycosa.strategies import STRATEGIES, BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Plain, Skip, SkipReason, Url, Visit
from lycosa.web.simulated import Reply
from pages import GivenWords
from simulation import Budget, crawl_of, urls_of, visits_of
from worlds import CHAIN, LOOP, STAR, TOPICAL, TWO_SITES, html

WORLDS = {"chain": CHAIN, "star": STAR, "loop": LOOP, "two sites": TWO_SITES, "topical": TOPICAL}
every_strategy = pytest.mark.parametrize("name", STRATEGIES)
every_world = pytest.mark.parametrize("pages", WORLDS.values(), ids=WORLDS)

NEED_A_LOG = {"collaborative", "combined"}
on_the_unit_scale = pytest.mark.parametrize("name", [name for name in STRATEGIES if STRATEGIES[name]().scale == "unit"])
any_number = st.none() | st.floats()


def made(name: str, read: Iterable[Url] = ()) -> Strategy:
    """A strategy; those that are nothing without an access log have one, in which two people read these pages."""
    if name not in NEED_A_LOG:
        return STRATEGIES[name]()
    pages = list(read)
    walks = {"ann": pages, "bob": pages[::-1]}
    return STRATEGIES[name](Readings.of((who, url, at) for who, walk in walks.items() for at, url in enumerate(walk)))


def numbers_in(because: Mapping[str, Plain]) -> Iterator[float]:
    for value in because.values():
        yield from numbers_in(value) if isinstance(value, Mapping) else [value]


def first_of(pages: dict[Url, bytes]) -> Url:
    return next(iter(pages))


@cache
def visits_with_standing() -> list[Visit]:
    """All of TOPICAL breadth-first, with a standing for each page."""
    visits = visits_of(crawl_of(TOPICAL, BreadthFirst()), [first_of(TOPICAL)])
    return [replace(visit, standing=(number * 7 % 10) / 10) for number, visit in enumerate(visits)]


@every_strategy
@every_world
def test_visits_each_reachable_page_once(name: str, pages: dict[Url, bytes]) -> None:
    strategy = made(name, pages)
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
def test_on_any_graph_pages_come_from_seeds_links_or_a_log_and_within_the_budget(
    name: str, links: list[tuple[int, int]], budget: int
) -> None:
    urls = [Url(f"http://h{page % 4}.example/{page}") for page in range(12)]
    targets = {page: [urls[b] for a, b in links if a == page and a != b] for page in range(12)}
    world = {url: html(f"Page {page}", f"page {page} " * 30, targets[page]) for page, url in enumerate(urls)}
    crawl = crawl_of(world, made(name, urls[:6]), budget=Budget(pages=budget))
    visits = visits_of(crawl, [urls[0]])
    known = {urls[0], *(urls[:6] if name in NEED_A_LOG else ())}
    for visit in visits:
        assert visit.candidate.url in known
        known.update(link.target for link in visit.page.links) if visit.page else None
    assert len(visits) <= budget


@every_strategy
def test_priorities_are_finite_and_on_the_scale_it_declares(name: str) -> None:
    strategy = made(name, TOPICAL)
    seen: list[Candidate] = list(strategy.start([first_of(TOPICAL)]))
    visits = visits_of(crawl_of(TOPICAL, made(name, TOPICAL)), [first_of(TOPICAL)])
    for visit in visits:
        strategy.learn(visit)
        seen += strategy.propose(visit)
    assert len(seen) >= len(visits) > 1
    for candidate in seen:
        assert math.isfinite(candidate.priority)
        assert strategy.scale == "order" or 0.0 <= candidate.priority <= 1.0
        assert candidate.because


@every_strategy
@pytest.mark.parametrize("stop_after", [1, 2, 7, 20])
def test_stopped_after_any_visit_and_restored_it_goes_on_as_if_it_had_not(name: str, stop_after: int) -> None:
    seed = first_of(TOPICAL)
    whole = urls_of(visits_of(crawl_of(TOPICAL, made(name, TOPICAL)), [seed]))
    clock = SimulatedClock()
    first = made(name, TOPICAL)
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    crawl = crawl_of(TOPICAL, first, clock=clock, frontier=frontier, budget=Budget(pages=stop_after))
    begun = urls_of(visits_of(crawl, [seed]))
    second = made(name, TOPICAL)
    second.restore(json.loads(json.dumps(first.state())))
    crawl = crawl_of(TOPICAL, second, clock=clock, frontier=frontier)
    assert begun + urls_of(list(without_event_loop(crawl.visits()))) == whole


@every_strategy
@pytest.mark.parametrize("stop_after", [0, 1, 2, 7, 20])
def test_stopped_and_restored_it_proposes_the_same_for_the_same_reasons(name: str, stop_after: int) -> None:
    visits = visits_with_standing()
    first, second = made(name, TOPICAL), made(name, TOPICAL)
    first.start([first_of(TOPICAL)])
    for visit in visits[:stop_after]:
        first.learn(visit)
        list(first.propose(visit))
    second.restore(json.loads(json.dumps(first.state())))
    for visit in visits[stop_after:]:
        first.learn(visit)
        second.learn(visit)
        assert list(first.propose(visit)) == list(second.propose(visit))


@on_the_unit_scale
@given(esteem=st.lists(st.tuples(any_number, any_number), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_whatever_the_models_say_priorities_and_reasons_are_finite(
    name: str, esteem: list[tuple[float | None, float | None]]
) -> None:
    strategy = made(name, TOPICAL)
    for visit, (relevance, standing) in zip(visits_with_standing(), esteem, strict=False):
        visit = replace(visit, relevance=relevance, standing=standing)
        strategy.learn(visit)
        for candidate in strategy.propose(visit):
            assert 0.0 <= candidate.priority <= 1.0
            assert all(map(math.isfinite, numbers_in(candidate.because)))
    json.dumps(strategy.state(), allow_nan=False)


@every_strategy
def test_takes_over_from_another_strategy(name: str) -> None:
    seed = first_of(TOPICAL)
    crawl = crawl_of(TOPICAL, BreadthFirst(), budget=Budget(pages=8))
    begun = visits_of(crawl, [seed])
    strategy = made(name, TOPICAL)
    crawl = crawl_of(TOPICAL, strategy, frontier=crawl.loop.frontier)
    crawl.loop.rerank_from_history(strategy, [seed], begun)
    visited = urls_of(begun) + urls_of(list(without_event_loop(crawl.visits())))
    assert len(visited) == len(set(visited)) > 8
    if strategy.exhaustive:
        assert set(visited) == set(TOPICAL)


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
    skip = Skip(candidate, SkipReason.TRAP, "host is full")
    strategy.learn(skip)
    assert list(strategy.propose(skip)) == []
    failed = Visit(candidate, Fetch(candidate.url, Outcome.FAILED, 0.0))
    strategy.learn(failed)
    assert list(strategy.propose(failed)) == []


@every_strategy
def test_goes_on_where_links_are_dead_moved_or_refused(name: str) -> None:
    home = Url("http://a.example/")
    moved = {Url(f"http://a.example/moved{n}"): Reply(301, {"Location": f"/{n}"}) for n in range(4)}
    pages = {Url(f"http://a.example/{n}"): html(f"Page {n}", f"number {n}", [home]) for n in range(4)}
    links = [*moved, *(f"http://a.example/dead{n}" for n in range(4)), *(f"http://b.example/{n}" for n in range(4))]
    frontier = MemoryFrontier(
        clock=SimulatedClock(), admission=Admission(Scope(exclude_hosts=("b.example",))), delay=0.0
    )
    world = {home: html("Home", "Many links.", links), **moved, **pages}
    visited = urls_of(visits_of(crawl_of(world, made(name, [*world, *links]), frontier=frontier), [home]))
    assert set(visited) == {*world, *links[4:8]}


@every_strategy
def test_seeds_that_are_refused_end_the_crawl(name: str) -> None:
    frontier = MemoryFrontier(clock=SimulatedClock(), admission=Admission(Scope(hosts=("b.example",))), delay=0.0)
    assert visits_of(crawl_of(CHAIN, STRATEGIES[name](), frontier=frontier), [first_of(CHAIN)]) == []


@every_strategy
def test_crawls_a_graph_whose_urls_are_integers_with_few_waiting(name: str) -> None:
    links = {node: [(7 * node + step) % 60 for step in (1, 2, 3, 11)] for node in range(60)}
    strategy, frontier = STRATEGIES[name](), SequentialFrontier(limit=20)
    frontier.rank_by(strategy)
    frontier.put(strategy.start([0, 1, 2]))
    visited = []
    while (candidate := frontier.take(0.0)) is not None:
        node = candidate.url
        visited.append(node)
        visit = Visit(candidate, Fetch(node, Outcome.OK, 0.0), node_of_a_graph(node, links[node]), relevance=0.6)
        frontier.settle(node)
        strategy.learn(visit)
        for skip in frontier.put(strategy.propose(visit)):
            strategy.learn(skip)
            frontier.put(strategy.propose(skip))
    assert len(visited) == len(set(visited)) > (20 if name != "collaborative" else 2)  # which follows no links


def node_of_a_graph(node: int, targets: list[int]) -> Page:
    return Page(node, "", "", "", GivenWords({}), tuple(Link(target) for target in targets))
