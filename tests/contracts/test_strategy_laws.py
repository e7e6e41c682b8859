"""What every strategy promises: the laws of `lycosa.testing`, on worlds by name and on those of hypothesis."""

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa import testing
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.strategies import STRATEGIES
from lycosa.strategies.registry import check_options
from lycosa.testing import MakeStrategy, SmallWeb, html_page
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Link, Outcome, Page, Url, Visit
from pages import GivenWords
from worlds import CHAIN, LOOP, STAR, TOPICAL, TWO_SITES, topic_of

ON_TOPIC = {url: 0.9 if topic_of(url) == "bees" else 0.1 for url in TOPICAL}
WORLDS = {
    "chain": SmallWeb(CHAIN),
    "star": SmallWeb(STAR),
    "loop": SmallWeb(LOOP),
    "two sites": SmallWeb(TWO_SITES),
    "topical": SmallWeb(TOPICAL, relevances=ON_TOPIC),
}
TOPICAL_WORLD = WORLDS["topical"]
every_strategy = pytest.mark.parametrize("name", STRATEGIES)
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)

NEED_A_LOG = {"collaborative", "combined"}
on_the_unit_scale = pytest.mark.parametrize("name", [name for name in STRATEGIES if STRATEGIES[name]().scale == "unit"])
any_number = st.none() | st.floats()


def maker(name: str) -> MakeStrategy:
    """Makes a strategy; those that are nothing without an access log have that of the world."""

    def make(world: SmallWeb) -> Strategy:
        return STRATEGIES[name](world.access_log()) if name in NEED_A_LOG else STRATEGIES[name]()

    return make


@pytest.mark.slow
@every_strategy
def test_keeps_the_laws_that_plug_ins_are_held_to(name: str) -> None:
    testing.check_strategy(STRATEGIES[name].make, worlds=3)


NUMBERS = [nan, inf, -inf, -1.0, 0.0, 1e-300, 0.5, 1.0, 1e300]


@pytest.mark.slow
@every_strategy
@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_that_makes_no_sense_is_refused_and_every_other_works(name: str, value: float) -> None:
    """A collection of others may hold any options; none may break or stall a crawl."""
    for option in STRATEGIES[name].options.values():
        wanted = option.type if option.type in (int, float) else float if "float" in str(option.type) else None
        if wanted is None or (wanted is int and not value.is_integer()):
            continue
        given_value = int(min(value, 2.0**40)) if wanted is int else value
        try:
            options = check_options(name, {option.name: given_value})

            def make(world: SmallWeb, options: dict[str, Any] = options) -> Strategy:
                log = [world.access_log()] if name in NEED_A_LOG else []
                return STRATEGIES[name](*log, **options)

            make(TOPICAL_WORLD)
        except UsageError as error:
            assert option.name.replace("_", " ") in str(error).replace("_", " ")
            continue
        testing.proposes_priorities_on_its_scale(make, TOPICAL_WORLD)


@every_strategy
@every_world
def test_visits_each_reachable_page_once(name: str, world: SmallWeb) -> None:
    testing.visits_each_page_once(maker(name), world)


@pytest.mark.slow
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
    world = SmallWeb({url: html_page(f"page {page} " * 30, targets[page]) for page, url in enumerate(urls)})
    testing.stays_within_links_and_budget(maker(name), world, budget=budget)


@every_strategy
def test_priorities_are_finite_and_on_the_scale_it_declares(name: str) -> None:
    testing.proposes_priorities_on_its_scale(maker(name), TOPICAL_WORLD)


@every_strategy
@every_world
def test_candidates_say_where_they_were_found_and_how_deep(name: str, world: SmallWeb) -> None:
    testing.names_the_page_of_each_link(maker(name), world)


@pytest.mark.slow
@every_strategy
@pytest.mark.parametrize("stop_after", [0, 1, 2, 7, 20])
def test_stopped_after_any_visit_and_restored_it_goes_on_as_if_it_had_not(name: str, stop_after: int) -> None:
    testing.resumes_where_it_stopped(maker(name), TOPICAL_WORLD, stop_after=stop_after)


@pytest.mark.slow
@on_the_unit_scale
@given(judged=st.lists(st.tuples(any_number, any_number), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_whatever_the_models_say_priorities_and_reasons_are_finite(
    name: str, judged: list[tuple[float | None, float | None]]
) -> None:
    testing.stays_finite_whatever_models_say(maker(name), TOPICAL_WORLD, judged)


@every_strategy
def test_takes_over_from_another_strategy(name: str) -> None:
    testing.takes_over_from_another(maker(name), TOPICAL_WORLD, after=8)


@every_strategy
def test_a_link_that_may_not_be_followed_is_not_proposed(name: str) -> None:
    testing.follows_no_nofollow_link(maker(name))


@every_strategy
def test_learns_from_skips_and_failed_visits(name: str) -> None:
    testing.learns_from_skips_and_failures(maker(name))


@every_strategy
def test_goes_on_where_links_are_dead_moved_or_refused(name: str) -> None:
    testing.continues_after_dead_moved_and_refused_links(maker(name))


@every_strategy
def test_seeds_that_are_refused_end_the_crawl(name: str) -> None:
    testing.ends_when_its_seeds_are_refused(maker(name))


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
