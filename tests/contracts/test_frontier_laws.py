"""What every frontier promises."""

import sqlite3
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.frontier.admission import Admission, Traps
from lycosa.frontier.durable import DurableFrontier
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.sequential import SequentialFrontier
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.pagerank import PageRank
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, SkipReason, Url
from lycosa.vocabulary.urls import host_of


def durable(**options: object) -> DurableFrontier:
    return DurableFrontier(sqlite3.connect(":memory:"), **options)


def spilling(**options: object) -> DurableFrontier:
    """One that has hardly anything in memory."""
    return DurableFrontier(sqlite3.connect(":memory:"), in_memory=2, **options)


def sequential(*, limit: int = 1_000_000, **limits: object) -> SequentialFrontier:
    return SequentialFrontier(limit=limit)


POLITE = {"memory": MemoryFrontier, "durable": durable, "spilling": spilling}
FRONTIERS = {**POLITE, "sequential": sequential}
every_frontier = pytest.mark.parametrize("make", FRONTIERS.values(), ids=FRONTIERS)
every_polite_frontier = pytest.mark.parametrize("make", POLITE.values(), ids=POLITE)
Make = Callable[..., MemoryFrontier]


def url(host: int, page: int) -> Url:
    return Url(f"http://host{host}.example/{page}")


def drain(frontier: MemoryFrontier, clock: SimulatedClock) -> list[Candidate]:
    """Takes and settles all there is, waiting where the frontier says so."""
    taken = []
    while True:
        candidate = frontier.take(clock.now())
        if candidate is not None:
            taken.append(candidate)
            frontier.settle(candidate.url)
        elif (moment := frontier.next_ready_at()) is not None:
            assert moment > clock.now()
            clock._now = moment
        else:
            return taken


def entries_in(frontier: MemoryFrontier | SequentialFrontier) -> int:
    """How many entries its queues have, those out of date among them."""
    if isinstance(frontier, SequentialFrontier):
        return len(frontier._queue)
    return sum(len(queue.entries) for queue in frontier._host_queues._queues.values())


offers = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.floats(0, 1)).map(lambda t: Candidate(url(t[0], t[1]), t[2])),
    max_size=40,
)


@pytest.mark.slow
@every_frontier
@given(offers=offers)
def test_each_url_comes_out_once_with_its_best_offer(make: Make, offers: list[Candidate]) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.put(offers)
    best: dict[Url, float] = {}
    for offer in offers:
        best[offer.url] = max(best.get(offer.url, 0.0), offer.priority)
    taken = drain(frontier, clock)
    assert {c.url: c.priority for c in taken} == best
    assert [c.priority for c in taken] == sorted(best.values(), reverse=True)
    assert len(frontier) == 0
    assert frontier.put(offers) == []
    assert len(frontier) == 0


@every_frontier
def test_equals_come_out_in_the_order_they_came(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    candidates = [Candidate(url(page % 3, page), 0.5) for page in range(20)]
    frontier.put(candidates)
    assert drain(frontier, clock) == candidates


@every_polite_frontier
def test_a_host_has_one_url_in_flight_and_rests_afterwards(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=2.0)
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(1, 2), 0.8), Candidate(url(2, 1), 0.1)])
    first = frontier.take(0.0)
    assert first is not None and first.url == url(1, 1)
    other = frontier.take(0.0)
    assert other is not None and other.url == url(2, 1)
    assert frontier.take(0.0) is None
    assert frontier.next_ready_at() is None
    frontier.settle(first.url)
    assert frontier.take(1.9) is None
    assert frontier.next_ready_at() == 2.0
    last = frontier.take(2.0)
    assert last is not None and last.url == url(1, 2)


@every_polite_frontier
def test_a_held_host_waits_and_the_others_do_not(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(2, 1), 0.1), Candidate(url(2, 2), 0.1)])
    frontier.hold(host_of(url(1, 1)), 60.0)
    frontier.hold(host_of(url(1, 1)), 30.0)
    assert [c.url for c in drain(frontier, clock)] == [url(2, 1), url(2, 2), url(1, 1)]
    assert clock.now() == 60.0


@every_polite_frontier
def test_a_hold_in_flight_counts_when_the_fetch_lands(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=1.0)
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(1, 2), 0.8)])
    taken = frontier.take(0.0)
    assert taken is not None
    frontier.hold(host_of(taken.url), 10.0)
    frontier.settle(taken.url)
    assert frontier.take(9.0) is None
    assert frontier.next_ready_at() == 10.0
    assert frontier.take(10.0) is not None


@every_frontier
def test_what_is_given_back_waits_again(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.put([Candidate(url(1, 1), 0.9)])
    taken = frontier.take(0.0)
    assert taken is not None
    frontier.put([Candidate(url(1, 1), 1.0)])  # offered while in flight: not queued twice
    assert len(frontier) == 0
    again = Candidate(taken.url, taken.priority, attempts=1)
    frontier.requeue(again)
    assert drain(frontier, clock) == [again]


@every_frontier
def test_a_settled_url_that_is_given_back_waits_again(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.put([Candidate(url(1, 1), 0.9)])
    assert frontier.take(0.0) is not None
    frontier.settle(url(1, 1))
    once_more = Candidate(url(1, 1), 1.0)
    frontier.requeue(once_more)
    assert len(frontier) == 1 and drain(frontier, clock) == [once_more]


@every_frontier
def test_settling_takes_a_waiting_url_away(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(1, 2), 0.8)])
    frontier.settle(url(1, 1))
    assert [c.url for c in drain(frontier, clock)] == [url(1, 2)]


@pytest.mark.slow
@every_frontier
@given(priorities=st.lists(st.floats(0, 1), min_size=11, max_size=30))
def test_past_its_limit_the_lowest_are_evicted_and_may_come_back(make: Make, priorities: list[float]) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0, limit=10)
    candidates = [Candidate(url(page % 4, page), priority) for page, priority in enumerate(priorities)]
    skips = frontier.put(candidates)
    assert len(frontier) == 10
    assert {skip.reason for skip in skips} == {SkipReason.EVICTED}
    kept = {c.url for c in drain(frontier, clock)}
    evicted = {skip.candidate.url for skip in skips}
    assert kept | evicted == {c.url for c in candidates}
    assert not kept & evicted
    by_url = {c.url: c.priority for c in candidates}
    assert min(by_url[u] for u in kept) >= max(by_url[u] for u in evicted)
    frontier.put([skips[0].candidate])
    assert len(frontier) == 1


@every_frontier
def test_of_the_lowest_the_newest_are_evicted(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0, limit=3)
    frontier.put([Candidate(url(page, page), 0.5) for page in range(4)])
    skips = frontier.put([Candidate(url(9, 9), 0.7)])
    assert [skip.candidate.url for skip in skips] == [url(2, 2)]
    assert [c.url for c in drain(frontier, clock)] == [url(9, 9), url(0, 0), url(1, 1)]


@every_polite_frontier
def test_a_refused_url_is_skipped_once_with_its_reason(make: Make) -> None:
    frontier = make(clock=SimulatedClock(), admission=Admission(traps=Traps(url_length=30)))
    candidate = Candidate(Url("http://host1.example/" + "x" * 30), 0.5)
    assert [skip.why for skip in frontier.put([candidate])] == ["trap: URL too long"]
    assert frontier.put([candidate]) == []


@every_frontier
def test_forgetting_what_waits_keeps_what_is_settled(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.put([Candidate(url(1, page), 0.5) for page in range(5)])
    frontier.settle(url(1, 0))
    frontier.clear_waiting()
    assert len(frontier) == 0 and frontier.next_ready_at() is None
    frontier.put([Candidate(url(1, page), 0.5) for page in range(5)])
    assert [c.url for c in drain(frontier, clock)] == [url(1, page) for page in range(1, 5)]


@every_frontier
def test_re_ranking_a_url_often_does_not_fill_the_queue(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.rank_by(PageRank())  # merges to what is offered last
    frontier.put([Candidate(url(1, 1), 0.5)])
    for turn in range(5_000):
        frontier.put([Candidate(url(1, 1), turn / 5_000)])
    assert entries_in(frontier) < 2_000
    assert [c.priority for c in drain(frontier, clock)] == [4_999 / 5_000]


@every_polite_frontier
def test_a_much_better_url_of_a_resting_host_is_waited_for_but_not_for_long(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=1.0, patience=2.0)
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(1, 2), 0.9), Candidate(url(2, 1), 0.1)])
    assert [c.priority for c in drain(frontier, clock)] == [0.9, 0.9, 0.1]
    frontier.put([Candidate(url(3, 1), 0.9), Candidate(url(4, 1), 0.1)])
    frontier.hold(host_of(url(3, 1)), clock.now() + 60)
    assert [c.priority for c in drain(frontier, clock)] == [0.1, 0.9]


@every_polite_frontier
def test_a_little_better_url_is_not_waited_for(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=1.0)
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(1, 2), 0.9), Candidate(url(2, 1), 0.8)])
    assert [c.priority for c in drain(frontier, clock)] == [0.9, 0.8, 0.9]


@every_polite_frontier
def test_a_slow_host_is_waited_for_only_so_long(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0, patience=2.0)
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(url(1, 1), 0.9), Candidate(url(1, 2), 0.9), Candidate(url(2, 1), 0.1)])
    slow = frontier.take(0.0)
    assert slow is not None and slow.priority == 0.9
    assert frontier.take(1.0) is None
    assert frontier.next_ready_at() == 2.0
    other = frontier.take(2.0)
    assert other is not None and other.priority == 0.1


@every_polite_frontier
def test_where_only_the_order_counts_nothing_is_waited_for(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=1.0)
    frontier.rank_by(BreadthFirst())
    frontier.put([Candidate(url(1, 1), -1.0), Candidate(url(1, 2), -1.0), Candidate(url(2, 1), -9.0)])
    assert [c.priority for c in drain(frontier, clock)] == [-1.0, -9.0, -1.0]


@every_frontier
def test_a_url_is_known_from_when_it_waits_on(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    assert not frontier.is_known(url(1, 1)) and frontier.next_ready_at() is None
    frontier.put([Candidate(url(1, 1), 0.5)])
    assert frontier.is_known(url(1, 1)) and frontier.next_ready_at() == 0.0
    frontier.take(0.0)
    assert frontier.is_known(url(1, 1)) and frontier.next_ready_at() is None
    frontier.settle(url(1, 1))
    assert frontier.is_known(url(1, 1))


def test_a_url_offered_again_keeps_its_failures_and_redirects() -> None:
    frontier = SequentialFrontier()
    frontier.rank_by(PageRank())
    frontier.requeue(Candidate(url(1, 1), 0.5, attempts=2, hops=1))
    frontier.put([Candidate(url(1, 1), 0.7)])
    assert frontier.take(0.0) == Candidate(url(1, 1), 0.7, attempts=2, hops=1)
