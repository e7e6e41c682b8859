"""Any strategy with readers' evidence beside it."""

import json
from collections.abc import Iterable
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from lycosa.frontier.memory import MemoryFrontier
from lycosa.logs.access_log import AccessLog
from lycosa.strategies import STRATEGIES, Adaptive, BaselineFocused, BestFirst, Guided, Intelligent, Mapped, Utility
from lycosa.strategies.guided import scale_odds
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Page, Url, Visit
from simulation import Budget, crawl_of, urls_of, visits_of, without_event_loop
from strategies.reading_people import log_of, visit_to
from strategies.visits import url_of, visit_of
from worlds import TOPICAL, TOPICAL_SEED, html, topic_of

INNER = [BestFirst, BaselineFocused, Utility, Adaptive, Intelligent, Mapped]
BEES = [url for url in TOPICAL if topic_of(url) == "bees"]
WALKS = {"ann": "abcd", "bob": "abe", "cat": "xyz"}


def keepers() -> AccessLog:
    """People who read about bees."""
    return AccessLog.of((who, url, float(at)) for who in range(8) for at, url in enumerate(BEES[who : who + 12]))


def proposed(strategy: Strategy, event: Visit) -> dict[str, Candidate]:
    strategy.learn(event)
    return {candidate.url.removeprefix("http://").split(".")[0]: candidate for candidate in strategy.propose(event)}


def visits_with_standing() -> list[Visit]:
    visits = visits_of(crawl_of(TOPICAL, BestFirst()), [TOPICAL_SEED])
    return [replace(visit, standing=(number * 7 % 10) / 10) for number, visit in enumerate(visits)]


@pytest.mark.parametrize("make", INNER)
@pytest.mark.parametrize(
    "access_log", [None, log_of({}), log_of({"ann": "ab"})], ids=["none", "empty", "of other pages"]
)
def test_without_readings_of_its_pages_it_is_exactly_the_inner_strategy(make, access_log) -> None:
    inner, guided = make(), Guided(make(), access_log)
    assert list(guided.start([TOPICAL_SEED])) == list(inner.start([TOPICAL_SEED]))
    for visit in visits_with_standing():
        inner.learn(visit)
        guided.learn(visit)
        assert list(guided.propose(visit)) == list(inner.propose(visit))
    assert guided.merge(TOPICAL_SEED, 0.2, 0.7) == inner.merge(TOPICAL_SEED, 0.2, 0.7)
    assert guided.merge(TOPICAL_SEED, 0.7, 0.2) == inner.merge(TOPICAL_SEED, 0.7, 0.2)
    assert (guided.exhaustive, guided.uses_standing) == (inner.exhaustive, inner.uses_standing)


@pytest.mark.parametrize("make", INNER)
def test_a_crawl_without_readings_is_that_of_the_inner_strategy(make) -> None:
    alone = urls_of(visits_of(crawl_of(TOPICAL, make()), [TOPICAL_SEED]))
    assert urls_of(visits_of(crawl_of(TOPICAL, Guided(make())), [TOPICAL_SEED])) == alone


@pytest.mark.parametrize("name", [name for name in STRATEGIES if STRATEGIES[name]().scale == "order"])
def test_a_strategy_whose_numbers_are_only_an_order_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        Guided(STRATEGIES[name]())


def test_odds_are_multiplied_by_the_ratio() -> None:
    assert scale_odds(0.3, 0.0) == 0.3
    assert scale_odds(0.2, log(4.0)) == pytest.approx(0.5)
    assert scale_odds(1.0, -2.0) < scale_odds(1.0, -1.0) < 1.0
    assert scale_odds(0.0, 5.0) == 0.0


def test_links_that_people_follow_are_worth_more_than_others() -> None:
    strategy = Guided(BestFirst(), log_of(WALKS), significance=0.0)
    proposed(strategy, visit_to("x", False))
    found = proposed(strategy, visit_of("a", 0.6, links=["b", "y", "unread"]))
    assert found["unread"].priority == 0.6
    for name in "by":
        ratio = exp(strategy.evidence.log_ratio_of(url_of(name)))
        assert found[name].priority == pytest.approx(0.6 * ratio / (0.4 + 0.6 * ratio))
        assert found[name].because["page"] == 0.6
        assert set(found[name].because["readers"]) == {"frequency", "signature", "temporal", "people"}
        assert found[name].found_on == url_of("a")
    assert found["b"].priority > 0.6 > found["y"].priority


def test_pages_that_nothing_links_to_join_at_the_chance_of_any_page_times_their_ratio() -> None:
    strategy = Guided(BestFirst(), log_of(WALKS), significance=0.0)
    proposed(strategy, visit_to("x", False))
    found = proposed(strategy, visit_to("a", True))
    assert set(found) == set("bcde")
    odds = exp(strategy.evidence.log_ratio_of(url_of("c")))  # P(U) = 1.5 / 3, whose odds are 1
    assert found["c"].priority == pytest.approx(odds / (1 + odds))
    assert found["c"].found_on is None


def test_what_readers_say_anew_replaces_what_waits_and_links_are_merged_as_ever() -> None:
    strategy = Guided(BestFirst(), log_of(WALKS), significance=0.0)
    before = proposed(strategy, visit_of("a", 0.9, links=["b", "unread"]))
    after = proposed(strategy, visit_of("c", 0.1, links=["unread"]))
    assert "b" in after
    assert after["b"].priority < before["b"].priority
    assert strategy.merge(url_of("b"), before["b"].priority, after["b"].priority) == after["b"].priority
    assert strategy.merge(url_of("unread"), before["unread"].priority, after["unread"].priority) == 0.9
    assert strategy.merge(url_of("unread"), 0.9, after["b"].priority) == 0.9  # of a page that nobody read, so it stays
    assert after["b"].found_on == url_of("a")


def test_a_link_found_again_counts_as_the_inner_strategy_has_it() -> None:
    strategy = Guided(BestFirst(), log_of(WALKS), significance=0.0)
    proposed(strategy, visit_of("a", 0.9, links=["b"]))
    again = proposed(strategy, visit_of("unread", 0.1, links=["b"]))
    assert again["b"].because["page"] == 0.9


SEEDS = [Url(f"http://seed{number}.example/") for number in range(7)]
HIDDEN = [Url(f"http://hidden.example/{number}") for number in range(30)]  # to which nothing links
SHIPS = [Url(f"http://ships.example/{number}") for number in range(6)]  # likewise
ISLANDS = {url: html("A page", url) for url in (*SEEDS, *HIDDEN, *SHIPS)}


class OnTopic:
    """Knows some pages to be on the topic."""

    def __init__(self, urls: Iterable[Url]) -> None:
        self._urls = set(urls)

    def relevance(self, page: Page) -> float:
        return 0.9 if page.url in self._urls else 0.1


@pytest.mark.parametrize("good", [7, 4, 2])
def test_where_links_run_out_it_goes_on_with_what_people_read_who_read_pages_on_the_topic(good: int) -> None:
    rows = [(reader, url, float(at)) for reader in range(8) for at, url in enumerate([SEEDS[reader % good], *HIDDEN])]
    if good < len(SEEDS):
        rows += [(reader, url, float(at)) for reader in range(8, 16) for at, url in enumerate([SEEDS[-1], *SHIPS])]
    judge = OnTopic([*SEEDS[:good], *HIDDEN])
    crawl = crawl_of(ISLANDS, Guided(BestFirst(), AccessLog.of(rows)), judge=judge)
    visited = urls_of(visits_of(crawl, SEEDS))
    assert set(visited[:7]) == set(SEEDS)
    assert set(visited) == {*SEEDS, *HIDDEN}


def test_what_waits_in_reserve_waits_behind_every_link() -> None:
    strategy = Guided(BestFirst(), log_of({"ann": "abcdefghij"}), ahead=3, factors=["frequency"])
    found = proposed(strategy, visit_of("a", 0.9, links=["unread"]))
    assert len(found) == 1 + 3
    assert all(each.priority < 1e-5 for name, each in found.items() if name != "unread")
    after = proposed(strategy, visit_of("unread", 0.001, links=["last"]))
    assert min(each.priority for each in after.values()) > max(
        each.priority for name, each in found.items() if name != "unread"
    )


def test_without_seeds_pages_are_drawn_as_seeds() -> None:
    drawn = list(Guided(BestFirst(), keepers(), ahead=3).start([]))
    assert len(drawn) == 3
    assert {(candidate.priority, candidate.depth) for candidate in drawn} == {(1.0, 0)}
    assert list(Guided(BestFirst(), keepers()).start([TOPICAL_SEED])) == list(BestFirst().start([TOPICAL_SEED]))


@pytest.mark.parametrize("make", INNER)
def test_with_readers_a_crawl_finds_what_is_on_the_topic_sooner(make) -> None:
    alone = urls_of(visits_of(crawl_of(TOPICAL, make()), [TOPICAL_SEED]))
    guided = urls_of(visits_of(crawl_of(TOPICAL, Guided(make(), keepers())), [TOPICAL_SEED]))
    assert len(guided) == len(set(guided))
    assert set(alone) <= set(guided)
    assert len(set(BEES) & set(guided[:22])) >= max(17, len(set(BEES) & set(alone[:22])))


@pytest.mark.slow
@pytest.mark.parametrize("make", INNER)
@pytest.mark.parametrize("seeds", [[], [TOPICAL_SEED]])
@pytest.mark.parametrize("stop_after", [1, 8, 20])
def test_stopped_and_restored_it_goes_on_as_if_it_had_not(make, seeds: list[Url], stop_after: int) -> None:
    whole = urls_of(visits_of(crawl_of(TOPICAL, Guided(make(), keepers(), full_every=4)), seeds))
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    first, second = (Guided(make(), keepers(), full_every=4) for _ in range(2))
    crawl = crawl_of(TOPICAL, first, clock=clock, frontier=frontier, budget=Budget(pages=stop_after))
    begun = urls_of(visits_of(crawl, seeds))
    second.restore(json.loads(json.dumps(first.state())))
    crawl = crawl_of(TOPICAL, second, clock=clock, frontier=frontier)
    assert begun + urls_of(list(without_event_loop(crawl.visits()))) == whole


@pytest.mark.slow
@given(st.lists(st.none() | st.floats(), min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_whatever_the_model_says_priorities_stay_on_the_scale(relevances: list[float | None]) -> None:
    strategy = Guided(BestFirst(), keepers(), significance=0.0, full_every=3)
    for visit, relevance in zip(visits_with_standing(), relevances, strict=False):
        visit = replace(visit, relevance=relevance)
        strategy.learn(visit)
        assert all(0.0 <= candidate.priority <= 1.0 for candidate in strategy.propose(visit))
    json.dumps(strategy.state(), allow_nan=False)
