"""Readers and links together."""

import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from lycosa.frontier.memory import MemoryFrontier
from lycosa.logs.access_log import AccessLog
from lycosa.strategies import Collaborative, Combined, Intelligent
from lycosa.strategies.interest import logistic
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Link, Url, Visit
from simulation import Budget, crawl_of, urls_of, visits_of, without_event_loop
from strategies.reading_people import log_of, visit_to
from strategies.visits import url_of
from worlds import TOPICAL, TOPICAL_SEED, topic_of

WALKS = {"ann": "abcd", "bob": "abe", "cat": "xyz"}
BEES = [url for url in TOPICAL if topic_of(url) == "bees"]


def linking(visit: Visit, links: Sequence[str], *, depth: int = 0) -> Visit:
    page = replace(visit.page, links=tuple(Link(url_of(name), name) for name in links))
    return replace(visit, page=page, candidate=replace(visit.candidate, depth=depth))


def made(walks=WALKS) -> Combined:
    return Combined(log_of(walks), significance=0.0, min_candidates=0)


def happen(strategy, event) -> dict[str, Candidate]:
    strategy.learn(event)
    return {candidate.url.removeprefix("http://")[0]: candidate for candidate in strategy.propose(event)}


def test_what_a_page_links_to_joins_only_where_the_page_satisfies_the_predicate() -> None:
    strategy = made()
    assert happen(strategy, linking(visit_to("x", False), "pq")) == {}
    found = happen(strategy, linking(visit_to("a", True), "rs", depth=3))
    assert {"r", "s"} <= set(found)
    assert not {"p", "q"} & set(found)
    assert (found["r"].found_on, found["r"].anchor, found["r"].depth) == (url_of("a"), "r", 4)


def test_pages_without_readers_come_by_links_and_pages_without_links_by_readers() -> None:
    strategy, collaborative, intelligent = made(), Collaborative(log_of(WALKS), significance=0.0), Intelligent()
    visit = linking(visit_to("a", True), "rs")
    found, read, linked = (happen(each, visit) for each in (strategy, collaborative, intelligent))
    assert found["r"].priority == linked["r"].priority
    assert "readers" not in found["r"].because
    assert found["c"].priority == read["c"].priority
    assert set(found["c"].because) == {"readers"}


def test_where_both_are_known_the_ratios_are_multiplied() -> None:
    strategy = made()
    happen(strategy, linking(visit_to("x", False), "y"))
    happen(strategy, visit_to("y", False))
    found = happen(strategy, linking(visit_to("a", True), "bcr"))
    for name in "bc":
        url = url_of(name)
        by_readers, by_links = strategy.readers.log_ratio_of(url), strategy.links.log_ratio_of(url)
        assert by_readers != 0.0 != by_links
        assert found[name].priority == pytest.approx(logistic(by_readers + by_links))
        assert "readers" in found[name].because
        assert found[name].found_on == url_of("a")


def test_what_readers_brought_in_is_ranked_by_links_of_any_page() -> None:
    strategy = made()
    happen(strategy, linking(visit_to("z", False), "y"))
    happen(strategy, visit_to("y", False))
    before = happen(strategy, visit_to("a", True))
    after = happen(strategy, linking(visit_to("x", False), "bp"))
    assert "p" not in after
    assert after["b"].found_on == url_of("x")
    assert after["b"].priority != before["b"].priority


def keepers() -> AccessLog:
    """People who read the first ten pages on bees."""
    return AccessLog.of(
        (who, url, float(at)) for who in range(5) for at, url in enumerate(BEES[who : 10 : who // 3 + 1])
    )


def test_it_finds_what_is_read_and_what_is_only_linked() -> None:
    visited = urls_of(visits_of(crawl_of(TOPICAL, Combined(keepers(), seed=1)), []))
    assert set(BEES) <= set(visited)
    assert set(BEES) <= set(visited[:30])


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[], [TOPICAL_SEED]])
@pytest.mark.parametrize("stop_after", [1, 6, 20])
def test_stopped_and_restored_it_goes_on_as_if_it_had_not(seeds: list[Url], stop_after: int) -> None:
    whole = urls_of(visits_of(crawl_of(TOPICAL, Combined(keepers(), full_every=3)), seeds))
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    first, second = (Combined(keepers(), full_every=3) for _ in range(2))
    crawl = crawl_of(TOPICAL, first, clock=clock, frontier=frontier, budget=Budget(pages=stop_after))
    begun = urls_of(visits_of(crawl, seeds))
    second.restore(json.loads(json.dumps(first.state())))
    crawl = crawl_of(TOPICAL, second, clock=clock, frontier=frontier)
    assert begun + urls_of(list(without_event_loop(crawl.visits()))) == whole
