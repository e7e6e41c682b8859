"""A strategy with a map of past crawls beside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.memory import MemoryFrontier
from lycosa.maps.topic_map import UrlMap
from lycosa.strategies import STRATEGIES, Adaptive, BaselineFocused, BestFirst, Mapped, Utility
from lycosa.strategies.mapped import PORTALS_AT_ONCE
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Fetch, JsonValue, Outcome, Page, Skip, SkipReason, Url, Visit
from simulation import Budget, crawl_of, urls_of, visits_of, without_event_loop
from strategies.visits import url_of, visit_of
from worlds import TOPICAL, TOPICAL_SEED, topic_of

BEES = [url for url in TOPICAL if topic_of(url) == "bees"]


def map_of(spokes: Mapping[str, Sequence[str]], *, related: Sequence[str] = ()) -> UrlMap:
    """A map of pages by their names: portals, and the spokes of each."""
    ties = {url_of(portal): [url_of(node) for node in nodes] for portal, nodes in spokes.items()}
    return UrlMap(list(ties), ties, related=related)


MAP = map_of({"hub": ["one", "two"], "centre": ["three"]}, related=["ships"])


class Rewarding:
    """A strategy on the unit scale that cannot leave room itself, and gives every link a reason of its own."""

    name = "rewarding"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True
    uses_standing = False

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        pass

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Visit):
            for place, link in enumerate(event.open_links()):
                yield Candidate(link.target, 1.0 / (place + 1), event.candidate.url, because={"place": place}, depth=7)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return min(waiting, offered)

    def state(self) -> JsonValue:
        return None

    def restore(self, state: JsonValue) -> None:
        pass


def proposed(strategy: Strategy, event: Visit | Skip) -> dict[str, Candidate]:
    """What is proposed after an event, by the names of the hosts."""
    strategy.learn(event)
    return {candidate.url.removeprefix("http://").split(".")[0]: candidate for candidate in strategy.propose(event)}


def failed(name: str, outcome: Outcome, at: float = 5.0) -> Visit:
    return Visit(Candidate(url_of(name), 0.6), Fetch(url_of(name), outcome, at))


def priorities(candidates: Mapping[str, Candidate]) -> dict[str, float]:
    return {name: candidate.priority for name, candidate in candidates.items()}


@pytest.mark.parametrize("relevance", [0.51, 0.7, 1.0])
def test_the_baseline_offers_links_of_a_relevant_page_at_its_relevance(relevance: float) -> None:
    assert priorities(proposed(BaselineFocused(), visit_of("page", relevance, depth=3))) == {"out": relevance}


@pytest.mark.parametrize("relevance", [None, 0.0, 0.49, 0.5])
def test_the_baseline_leaves_links_of_other_pages_alone_but_not_those_of_seeds(relevance: float | None) -> None:
    assert proposed(BaselineFocused(), visit_of("page", relevance, depth=1)) == {}
    assert priorities(proposed(BaselineFocused(), visit_of("seed", relevance, depth=0))) == {"out": relevance or 0.0}


def test_the_baseline_keeps_to_the_topic() -> None:
    visited = urls_of(visits_of(crawl_of(TOPICAL, BaselineFocused()), [TOPICAL_SEED]))
    assert set(BEES) < set(visited)
    assert len(visited) < len(TOPICAL)


@pytest.mark.parametrize("make", [BaselineFocused, BestFirst, Utility, Adaptive])
def test_links_of_pages_are_worth_a_share_of_what_the_strategy_says(make: type[BestFirst]) -> None:
    visit = visit_of("page", 0.8, 0.3, links=["a", "b"])
    alone, beside = proposed(make(), visit), proposed(Mapped(make(), MAP, share=0.25), visit)
    assert list(alone) == list(beside) == ["a", "b"]
    for name in alone:
        assert beside[name].priority == pytest.approx(0.25 * alone[name].priority)
        assert beside[name].because == {**alone[name].because, "share": 0.25}
        assert replace(beside[name], priority=0.0, because={}) == replace(alone[name], priority=0.0, because={})


@pytest.mark.parametrize("make", [BestFirst, Utility, Adaptive])
def test_words_in_anchors_help_by_the_same_share(make: type[BestFirst]) -> None:
    visit = visits_of(crawl_of(TOPICAL, BestFirst(), budget=Budget(pages=1)), [TOPICAL_SEED])[0]
    alone, inner = (make(topic_words={"wax": 1, "honey": 1, "drone": 1, "nectar": 1}) for _ in range(2))
    expected = [(c.url, pytest.approx(0.6 * c.priority)) for c in alone.propose(visit)]
    assert [(c.url, c.priority) for c in Mapped(inner).propose(visit)] == expected
    assert len({priority.expected for _, priority in expected}) > 1


def test_a_strategy_that_knows_nothing_of_maps_is_wrapped_all_the_same() -> None:
    visit = visit_of("hub", links=["a", "b"])
    candidates = proposed(Mapped(Rewarding(), MAP), visit)
    assert priorities(candidates) == {"a": 0.6, "b": 0.3, "one": 0.6, "two": 0.6, "centre": 0.6}
    assert candidates["b"].because == {"place": 1, "share": 0.6}
    assert candidates["b"].depth == 7
    assert Mapped(Rewarding()).merge(url_of("one"), 0.2, 0.4) == 0.2


@pytest.mark.parametrize("name", [name for name in STRATEGIES if STRATEGIES[name]().scale == "order"])
def test_a_strategy_whose_numbers_are_only_an_order_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        Mapped(STRATEGIES[name]())


@pytest.mark.parametrize("option", ["map_priority", "share"])
def test_numbers_outside_the_scale_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        Mapped(**{option: 1.2})


def test_a_page_of_the_map_offers_the_links_that_the_map_has_for_it() -> None:
    strategy = Mapped(BestFirst(), MAP, map_priority=0.7)
    from_spoke = proposed(strategy, visit_of("two", 0.9, depth=4))
    assert priorities(from_spoke) == pytest.approx({"out": 0.54, "hub": 0.7})
    assert from_spoke["hub"].because == {"map": url_of("two")}
    assert (from_spoke["hub"].found_on, from_spoke["hub"].depth) == (url_of("two"), 5)
    assert priorities(proposed(strategy, visit_of("hub", 0.1, links=[]))) == {"one": 0.7, "two": 0.7, "centre": 0.7}
    assert proposed(strategy, visit_of("elsewhere", 0.9, links=[])) == {}


def test_all_portals_are_offered_when_the_first_arrives_and_not_again() -> None:
    strategy = Mapped(BestFirst(), MAP)
    assert set(proposed(strategy, visit_of("hub", links=[]))) == {"one", "two", "centre"}
    assert set(proposed(strategy, visit_of("centre", links=[]))) == {"three"}
    assert proposed(strategy, visit_of("one", links=[])) == {}


def test_a_page_of_the_map_that_has_moved_still_leads_on() -> None:
    strategy = Mapped(BestFirst(), MAP)
    assert set(proposed(strategy, failed("hub", Outcome.MOVED))) == {"one", "two", "centre"}
    assert strategy.dead == {}


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.UNWANTED])
def test_dead_pages_of_the_map_are_noted_and_not_offered_again(outcome: Outcome) -> None:
    strategy = Mapped(BestFirst(), MAP)
    assert proposed(strategy, failed("two", outcome, at=9.0)) == {}
    assert proposed(strategy, failed("stranger", outcome)) == {}
    assert strategy.dead == {url_of("two"): 9.0}
    assert set(proposed(strategy, visit_of("hub", links=[]))) == {"one", "centre"}


@pytest.mark.parametrize(
    "event",
    [
        Skip(Candidate(url_of("two"), 0.6), SkipReason.SCOPE, "host excluded"),
        failed("two", Outcome.FORBIDDEN),
        failed("two", Outcome.REFUSED),
        failed("two", Outcome.FAILED),
    ],
    ids=["skipped", "forbidden", "refused", "failed"],
)
def test_pages_of_the_map_out_of_reach_of_this_crawl_are_not_dead_but_not_offered_again(event: Visit | Skip) -> None:
    strategy = Mapped(BestFirst(), MAP)
    assert proposed(strategy, event) == {}
    assert strategy.dead == {}
    assert set(proposed(strategy, visit_of("hub", links=[]))) == {"one", "centre"}


def test_a_page_on_a_related_topic_leads_to_the_portals_once() -> None:
    strategy = Mapped(BestFirst(), MAP, topic_of=lambda page: page.title)
    assert proposed(strategy, visit_of("cakes", 0.1, links=[])) == {}
    met = proposed(strategy, visit_of("ships", 0.1, links=[]))
    assert priorities(met) == {"hub": 0.6, "centre": 0.6}
    assert met["hub"].because == {"map_topic": "ships"}
    assert proposed(strategy, visit_of("ships", 0.1, links=[])) == {}


def test_no_page_is_asked_for_its_topic_once_all_portals_are_offered() -> None:
    asked: list[str] = []

    def ships(page: Page) -> str:
        asked.append(page.title)
        return "ships"

    by_topic, by_portal = (Mapped(BestFirst(), MAP, topic_of=ships) for _ in range(2))
    assert set(proposed(by_topic, visit_of("first", links=[]))) == {"hub", "centre"}
    assert set(proposed(by_portal, visit_of("hub", links=[]))) == {"one", "two", "centre"}
    for strategy in (by_topic, by_portal):
        assert proposed(strategy, visit_of("second", links=[])) == {}
    assert asked == ["first"]


@pytest.mark.parametrize("topic", [None, "ships"])
def test_more_portals_than_one_page_may_bring_come_with_the_pages_that_follow(topic: str | None) -> None:
    names = [f"p{number}" for number in range(2 * PORTALS_AT_ONCE + 5)]
    strategy = Mapped(BestFirst(), map_of(dict.fromkeys(names, ()), related=["ships"]), topic_of=lambda page: topic)
    brought = [set(proposed(strategy, visit_of(name if topic is None else "ship", links=[]))) for name in names[:4]]
    assert set().union(*brought) | {"p0"} == set(names)
    assert [len(some) for some in brought] == [PORTALS_AT_ONCE - (topic is None), PORTALS_AT_ONCE, 5, 0]


def test_pages_without_a_topic_lead_nowhere_and_nobody_is_asked_where_no_topic_is_related() -> None:
    assert proposed(Mapped(BestFirst(), MAP, topic_of=lambda page: None), visit_of("ships", links=[])) == {}
    asked: list[str] = []
    unrelated = Mapped(BestFirst(), map_of({"hub": ["one"]}), topic_of=lambda page: asked.append(page.title))
    assert proposed(unrelated, visit_of("ships", links=[])) == {}
    assert asked == []


def bees_by_map() -> Mapped:
    """A map of all pages on bees of TOPICAL, four of them portals."""
    ties = {BEES[place]: BEES[4 + place :: 4] for place in range(4)}
    return Mapped(BaselineFocused(), UrlMap(list(ties), ties, related=["ships"]), topic_of=lambda p: topic_of(p.url))


def test_with_a_map_a_crawl_finds_what_is_on_the_topic_at_once() -> None:
    visited = urls_of(visits_of(crawl_of(TOPICAL, bees_by_map()), [TOPICAL_SEED]))
    without = urls_of(visits_of(crawl_of(TOPICAL, BaselineFocused()), [TOPICAL_SEED]))
    assert len(set(BEES) & set(visited[:22])) >= len(set(BEES) & set(without[:22])) >= 10
    assert set(BEES) <= set(visited[:23])


@pytest.mark.parametrize("stop_after", [0, 1, 3, 8, 20])
def test_stopped_and_restored_with_a_map_it_goes_on_as_if_it_had_not(stop_after: int) -> None:
    whole = urls_of(visits_of(crawl_of(TOPICAL, bees_by_map()), [TOPICAL_SEED]))
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    first, second = bees_by_map(), bees_by_map()
    crawl = crawl_of(TOPICAL, first, clock=clock, frontier=frontier, budget=Budget(pages=stop_after or 1))
    begun = urls_of(visits_of(crawl, [TOPICAL_SEED]))
    second.restore(json.loads(json.dumps(first.state())))
    crawl = crawl_of(TOPICAL, second, clock=clock, frontier=frontier)
    assert begun + urls_of(list(without_event_loop(crawl.visits()))) == whole


events = st.lists(
    st.tuples(st.sampled_from(["hub", "one", "two", "three", "ships", "far"]), st.sampled_from([*Outcome, None])),
    max_size=12,
)


@pytest.mark.slow
@given(events, st.integers(0, 12))
def test_restored_at_any_moment_it_proposes_the_same(happened: list[tuple[str, Outcome | None]], cut: int) -> None:
    def happens(name: str, outcome: Outcome | None) -> Visit | Skip:
        if outcome is None:
            return Skip(Candidate(url_of(name), 0.6), SkipReason.TRAP, "host is full")
        return visit_of(name, 0.7) if outcome is Outcome.OK else failed(name, outcome)

    first, second = (Mapped(BestFirst(), MAP, topic_of=lambda page: page.title) for _ in range(2))
    stream = [happens(name, outcome) for name, outcome in happened]
    for event in stream[:cut]:
        proposed(first, event)
    second.restore(json.loads(json.dumps(first.state())))
    assert second.dead == first.dead
    for event in stream[cut:]:
        assert proposed(first, event) == proposed(second, event)


def test_a_state_that_does_not_tell_of_portals_has_them_offered_once_more() -> None:
    first, second = (Mapped(BestFirst(), MAP) for _ in range(2))
    assert set(proposed(first, visit_of("hub", 0.7, links=()))) == {"one", "two", "centre"}
    state = first.state()
    assert isinstance(state, dict)
    second.restore({key: state[key] for key in ("inner", "dead", "closed")} | {"portals_offered": True})
    assert set(proposed(second, visit_of("one", 0.7, links=()))) == {"hub"}
    assert set(proposed(second, visit_of("hub", 0.7, links=()))) == {"one", "two", "centre"}
    assert set(proposed(second, visit_of("hub", 0.7, links=()))) == {"one", "two"}


def test_map_links_out_of_scope_are_skipped_like_any_other() -> None:
    ties = {BEES[0]: [*BEES[1:3], Url("http://elsewhere.example/"), Url("http://ships.example/3?" + "x" * 3_000)]}
    frontier = MemoryFrontier(
        clock=SimulatedClock(), admission=Admission(Scope(exclude_hosts=("elsewhere.example",))), delay=0.0
    )
    strategy = Mapped(BaselineFocused(), UrlMap(list(ties), ties))
    visited = urls_of(visits_of(crawl_of(TOPICAL, strategy, frontier=frontier), [BEES[0]]))
    assert set(BEES) <= set(visited)
    assert not [url for url in visited if "elsewhere" in url or len(url) > 2_000]
    assert strategy.dead == {}
