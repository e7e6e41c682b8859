"""A crawl that goes where people went."""

import json
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.logs.access_log import AccessLog
from lycosa.strategies import BreadthFirst, Collaborative, Combined, Guided
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Skip, SkipReason, Url, Visit
from lycosa_lab.simulation import crawl
from lycosa_lab.worlds.synthetic import SyntheticWorld
from simulation import Budget, crawl_of, urls_of, visits_of, without_event_loop
from strategies.reading_people import log_of, visit_to
from strategies.visits import url_of
from worlds import TOPICAL, topic_of

BEES = [url for url in TOPICAL if topic_of(url) == "bees"]
SHIPS = [url for url in TOPICAL if topic_of(url) == "ships"]
WALKS = {"ann": "abcde", "bob": "abfg", "cat": "xyz", "dan": "xyzw"}


def keepers_and_sailors() -> AccessLog:
    """Eight people who read about bees, and eight who read about ships."""
    walks = [(f"keeper {n}", BEES[n : n + 10]) for n in range(8)] + [
        (f"sailor {n}", SHIPS[n : n + 10]) for n in range(8)
    ]
    return AccessLog.of((who, url, float(at)) for who, walk in walks for at, url in enumerate(walk))


def happen(strategy, event) -> dict[Url, Candidate]:
    strategy.learn(event)
    return {candidate.url: candidate for candidate in strategy.propose(event)}


def test_seeds_have_a_ratio_of_one_and_pages_of_a_higher_one_join() -> None:
    strategy = Collaborative(log_of(WALKS), significance=0.0, min_candidates=0)
    (seed,) = strategy.start([url_of("a")])
    assert (seed.priority, seed.because) == (0.5, {"seed": True})
    assert happen(strategy, visit_to("a", False)) == {}
    found = happen(strategy, visit_to("x", True))
    assert set(found) == {url_of(name) for name in "yzw"}
    assert all(candidate.priority > 0.5 for candidate in found.values())


def test_pages_that_wait_are_offered_again_when_their_ratio_is_another() -> None:
    strategy = Collaborative(log_of(WALKS), significance=0.0, ahead=1)
    strategy.start([url_of("x")])
    before = happen(strategy, visit_to("x", True))
    after = happen(strategy, visit_to("y", False))
    assert set(after) == {url_of("z"), url_of("w")}
    assert after[url_of("z")].priority < before[url_of("z")].priority
    assert strategy.merge(url_of("z"), before[url_of("z")].priority, 0.1) == 0.1


def test_reasons_name_kinds_of_evidence_and_no_person() -> None:
    strategy = Collaborative(keepers_and_sailors(), seed=3)
    visits = visits_of(crawl_of(TOPICAL, strategy), [])
    reasons = [visit.candidate.because for visit in visits]
    assert {key for because in reasons for key in because} == {"readers", "chance"}
    told = [because["readers"] for because in reasons if "readers" in because]
    assert all(set(parts) == {"frequency", "signature", "temporal", "people"} for parts in told)
    assert not any(name in json.dumps([reasons, strategy.state()]) for name in ("keeper", "sailor"))


def test_without_seeds_and_links_it_finds_what_people_read() -> None:
    visited = urls_of(visits_of(crawl_of(TOPICAL, Collaborative(keepers_and_sailors(), seed=1)), []))
    read = set(keepers_and_sailors().urls)
    assert len(visited) == len(set(visited))
    assert set(visited) == read
    first = visited[:20]
    assert sum(topic_of(url) == "bees" for url in first) >= 14


def test_draws_end_when_enough_pages_were_visited() -> None:
    access_log = log_of({f"person {n}": name for n, name in enumerate("abcdefgh")})
    strategy = Collaborative(access_log, ahead=1, min_candidates=3)
    frontier = SequentialFrontier()
    frontier.rank_by(strategy)
    frontier.put(strategy.start([]))
    visited = 0
    while (candidate := frontier.take()) is not None:
        visited += 1
        name = candidate.url.removeprefix("http://")[0]
        frontier.put(happen(strategy, visit_to(name, False)).values())
    assert visited == 3


def test_pages_that_fail_or_are_refused_are_made_up_for() -> None:
    access_log = AccessLog.of((0, Url(f"http://{host}.example/{n}"), n) for n in range(30) for host in ("out", "bees"))
    frontier = MemoryFrontier(clock=SimulatedClock(), admission=Admission(Scope(hosts=("bees.example",))), delay=0.0)
    visited = urls_of(visits_of(crawl_of(TOPICAL, Collaborative(access_log, ahead=2), frontier=frontier), []))
    assert set(visited) == {Url(f"http://bees.example/{n}") for n in range(30)}  # of which ten are dead


@pytest.mark.parametrize("make", [Collaborative, Combined, lambda log, **o: Guided(None, log, **o)])
@pytest.mark.parametrize("at_once", [1, 4, 8])
def test_with_several_fetches_under_way_it_does_not_starve(make, at_once) -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    strategy = make(log_of({f"person {n}": name for n, name in enumerate(names)}), ahead=at_once)
    frontier = SequentialFrontier()
    frontier.rank_by(strategy)
    frontier.put(strategy.start([]))
    under_way: deque[Candidate] = deque()
    visited = 0
    while True:
        while len(under_way) < at_once and (candidate := frontier.take()) is not None:
            under_way.append(candidate)
        if not under_way:
            break
        assert len(under_way) == min(at_once, len(names) - visited)
        name = under_way.popleft().url.removeprefix("http://")[0]
        visited += 1
        frontier.put(happen(strategy, visit_to(name, visited % 5 == 0)).values())
    assert visited == len(names)


def test_what_was_evicted_may_come_back_and_is_not_made_up_for() -> None:
    strategy = Collaborative(log_of(WALKS), significance=0.0, ahead=1)
    strategy.start([url_of("x")])
    found = happen(strategy, visit_to("x", True))
    assert happen(strategy, Skip(found[url_of("w")], SkipReason.EVICTED)) == {}
    assert url_of("w") in happen(strategy, visit_to("y", True))


@pytest.mark.parametrize("reason", [SkipReason.NOFOLLOW, SkipReason.UNFOLLOWED, SkipReason.REDIRECT])
def test_a_link_that_may_not_be_followed_does_not_close_the_page_it_leads_to(reason: SkipReason) -> None:
    strategy = Collaborative(log_of(WALKS), significance=0.0, ahead=1)
    strategy.start([url_of("x")])
    strategy.learn(Skip(Candidate(url_of("w"), 0.0), reason))
    assert url_of("w") in happen(strategy, visit_to("x", True))


def test_no_more_than_some_are_offered_after_a_page() -> None:
    access_log = log_of({f"person {n}": "a" + "".join(chr(200 + 20 * n + k) for k in range(20)) for n in range(5)})
    strategy = Collaborative(access_log, significance=0.0, ahead=1, most=7)
    strategy.start([url_of("a")])
    assert len(happen(strategy, visit_to("a", True))) == 7


@pytest.mark.slow
def test_readers_lead_to_more_than_links_do_in_a_world_of_people() -> None:
    world = SyntheticWorld(pages=1_500, topics=6, seed=4)
    access_log = AccessLog.of(
        (access.user, access.url, access.at) for access in world.accesses(users=120, days=8, seed=2)
    )
    wanted = world.topics[2]

    def found(strategy, seeds) -> int:
        judge = lambda page: float(world.topic(page.url) == wanted)  # noqa: E731
        return sum(step.relevance for step in crawl(strategy, seeds, read=world.read, judge=judge, pages=150))

    assert found(Collaborative(access_log, seed=1), []) > 2 * found(BreadthFirst(), [world.url(0)])


names = "abcdefgxyzw"
happenings = st.lists(
    st.tuples(
        st.sampled_from(names), st.sampled_from([True, False, Outcome.GONE, SkipReason.SCOPE, SkipReason.EVICTED])
    ),
    max_size=14,
)


@pytest.mark.slow
@pytest.mark.parametrize("make", [Collaborative, Combined, lambda log, **o: Guided(None, log, **o)])
@given(happened=happenings, cut=st.integers(0, 14), seeds=st.sampled_from(["", "a", "aq"]))
@settings(max_examples=40, deadline=None)
def test_restored_at_any_moment_it_proposes_the_same(make, happened, cut, seeds) -> None:
    def event(name: str, what) -> Visit | Skip:
        if isinstance(what, Outcome):
            return Visit(Candidate(url_of(name), 0.5), Fetch(url_of(name), what, 0.0))
        if isinstance(what, str):
            return Skip(Candidate(url_of(name), 0.5), what)
        return visit_to(name, what, words="sun moon")

    first, second = (make(log_of(WALKS), significance=0.0, full_every=3, ahead=2, most=3) for _ in range(2))
    list(first.start([url_of(seed) for seed in seeds]))
    for name, what in happened[:cut]:
        happen(first, event(name, what))
    second.restore(json.loads(json.dumps(first.state())))
    for name, what in happened[cut:]:
        assert happen(first, event(name, what)) == happen(second, event(name, what))


@pytest.mark.parametrize("stop_after", [1, 5, 17])
def test_stopped_and_restored_it_goes_on_as_if_it_had_not(stop_after) -> None:
    whole = urls_of(visits_of(crawl_of(TOPICAL, Collaborative(keepers_and_sailors(), full_every=4)), []))
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    first, second = (Collaborative(keepers_and_sailors(), full_every=4) for _ in range(2))
    begun = urls_of(
        visits_of(crawl_of(TOPICAL, first, clock=clock, frontier=frontier, budget=Budget(pages=stop_after)), [])
    )
    second.restore(json.loads(json.dumps(first.state())))
    rest = crawl_of(TOPICAL, second, clock=clock, frontier=frontier)
    rest.loop.start([])
    assert begun + urls_of(list(without_event_loop(rest.visits()))) == whole
