"""What a frontier keeps goes by what waits and what was visited, not by all that was ever offered."""

import sqlite3
import sys
from collections.abc import Callable

import pytest

from lycosa.frontier import memory
from lycosa.frontier.admission import Admission, Scope
from lycosa.frontier.durable import DurableFrontier
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.shared_limits import LatestKeys
from lycosa.strategies.best_first import BestFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, SkipReason, Url
from lycosa.vocabulary.urls import host_of

Make = Callable[..., MemoryFrontier]


def durable(**options: object) -> DurableFrontier:
    return DurableFrontier(sqlite3.connect(":memory:"), **options)


every_frontier = pytest.mark.parametrize("make", [MemoryFrontier, durable], ids=["memory", "durable"])


def page_of(host: int, page: int = 0) -> Url:
    return Url(f"http://h{host}.example/{page}?by=name")


def wildcards(first: int, count: int) -> list[Candidate]:
    """One link to each of so many hosts, as a site makes them up that answers to every name."""
    return [Candidate(page_of(host), (host % 10) / 10) for host in range(first, first + count)]


def things_kept(frontier: MemoryFrontier) -> dict[str, int]:
    """How many of each, in memory and apart from what was visited."""
    hosts, admission = frontier._host_queues, frontier._admission
    return {
        "hosts": len(hosts._queues),
        "entries": sum(len(queue.entries) for queue in hosts._queues.values()),
        "listings": len(hosts._idle) + len(hosts._unavailable) + len(hosts._resting) + len(hosts._leaving),
        "host counts": len(admission._urls_of_host),
        "path counts": len(admission._queries_of_path),
        "candidates": len(frontier._changed if isinstance(frontier, DurableFrontier) else frontier._candidates),
        "refused": len(frontier._refused),
    }


def calls_during(work: Callable[[], object]) -> int:
    """How many functions are called, Python's own among them."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def one_after_the_other(frontier: MemoryFrontier, clock: SimulatedClock, url: Url, priority: float) -> None:
    """Puts, takes and settles a URL that is the best there is."""
    frontier.put([Candidate(url, priority)])
    taken = frontier.take(clock.now())
    assert taken is not None and taken.url == url
    frontier.settle(url)


@every_frontier
def test_hosts_of_which_everything_was_evicted_are_forgotten(make: Make) -> None:
    frontier = make(clock=SimulatedClock(), limit=50)
    for first in range(0, 5_000, 100):
        frontier.put(wildcards(first, 100))
    assert len(frontier) == 50
    assert max(things_kept(frontier).values()) <= 50


@every_frontier
def test_an_eviction_costs_the_same_however_many_hosts_were_seen(make: Make) -> None:
    frontier = make(clock=SimulatedClock(), limit=100)
    frontier.put(wildcards(0, 100))
    early = calls_during(lambda: frontier.put(wildcards(100, 100)))
    for first in range(200, 5_000, 100):
        frontier.put(wildcards(first, 100))
    late = calls_during(lambda: frontier.put(wildcards(5_000, 100)))
    assert early > 100
    assert late < 1.5 * early


@every_frontier
def test_hosts_are_forgotten_once_they_have_rested_and_nothing_of_them_waits(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=1.0)
    for host in range(300):
        one_after_the_other(frontier, clock, page_of(host), 0.5)
        clock._now += 0.25
    assert things_kept(frontier)["hosts"] <= 5
    assert things_kept(frontier)["listings"] <= 5


@every_frontier
def test_hosts_that_only_another_lane_asks_are_forgotten_too(make: Make) -> None:
    frontier = make(clock=SimulatedClock(), delay=1.0)
    for host in range(300):
        frontier.occupy(host_of(page_of(host)), now=float(host))
        frontier.release(host_of(page_of(host)), now=host + 0.5)
    assert things_kept(frontier)["hosts"] <= 3


@every_frontier
def test_without_a_delay_a_host_is_forgotten_at_once(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    one_after_the_other(frontier, clock, page_of(1), 0.5)
    assert things_kept(frontier)["hosts"] == 0


@every_frontier
def test_a_host_with_nothing_waiting_still_rests_when_something_comes(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=2.0)
    one_after_the_other(frontier, clock, page_of(1), 0.5)
    assert frontier.next_ready_at() is None
    assert frontier.take(1.0) is None
    frontier.put([Candidate(page_of(1, 2), 0.5)])
    assert frontier.take(1.9) is None
    assert frontier.next_ready_at() == 2.0
    assert frontier.take(2.0) is not None


@every_frontier
def test_a_hold_outlives_eviction_and_forgetting(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0, limit=1)
    held = page_of(1)
    frontier.hold(host_of(held), 60.0)
    frontier.put([Candidate(held, 0.1)])
    assert frontier.next_ready_at() == 60.0
    skips = frontier.put([Candidate(page_of(2), 0.9)])
    assert [(skip.candidate.url, skip.reason) for skip in skips] == [(held, SkipReason.EVICTED)]
    frontier.clear_waiting()
    assert frontier.next_ready_at() is None
    assert frontier.resting_beyond(0.0) == {host_of(held): 60.0}
    frontier.put([Candidate(held, 0.9)])
    assert frontier.take(59.0) is None
    assert frontier.next_ready_at() == 60.0
    assert frontier.take(60.0) is not None
    assert frontier.resting_beyond(0.0) == {}


@every_frontier
def test_a_hold_of_a_host_whose_last_url_was_settled_is_kept(make: Make) -> None:
    frontier = make(clock=SimulatedClock(), delay=0.0)
    frontier.hold(host_of(page_of(1)), 60.0)
    frontier.put([Candidate(page_of(1), 0.5)])
    frontier.settle(page_of(1))
    assert frontier.next_ready_at() is None
    frontier.put([Candidate(page_of(1, 2), 0.5)])
    assert frontier.take(59.0) is None
    assert frontier.take(60.0) is not None


@every_frontier
def test_a_url_that_is_always_overtaken_leaves_no_trail(make: Make) -> None:
    clock = SimulatedClock()
    frontier = make(clock=clock, delay=0.0)
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(page_of(1), 0.1), Candidate(page_of(2), 0.2)])
    for page in range(1, 3_000):
        one_after_the_other(frontier, clock, page_of(1, page), 0.9)
    assert things_kept(frontier)["listings"] <= 1_100


@every_frontier
def test_waiting_urls_that_are_settled_by_others_leave_no_trail(make: Make) -> None:
    frontier = make(clock=SimulatedClock())
    for host in range(3_000):
        frontier.put([Candidate(page_of(host), 0.5)])
        frontier.settle(page_of(host))
    kept = things_kept(frontier)
    assert max(kept["hosts"], kept["entries"], kept["listings"]) <= 1_001


@every_frontier
def test_of_refused_links_the_latest_are_remembered(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MIN_REFUSED_KNOWN", 100)
    frontier = make(clock=SimulatedClock(), admission=Admission(Scope(hosts=("elsewhere.example",))))
    skips = [skip for first in range(0, 1_000, 100) for skip in frontier.put(wildcards(first, 100))]
    assert len(skips) == 1_000
    assert things_kept(frontier)["refused"] < 200
    assert frontier.put(wildcards(900, 100)) == []
    assert [skip.why for skip in frontier.put(wildcards(0, 1))] == ["scope: host not included"]


@every_frontier
def test_what_one_scope_refused_may_wait_under_another(make: Make) -> None:
    admission = Admission(Scope(hosts=("elsewhere.example",)))
    frontier = make(clock=SimulatedClock(), admission=admission)
    assert len(frontier.put(wildcards(0, 1))) == 1
    admission.set_scope(Scope(), sites=frozenset())
    frontier.clear_waiting()
    assert frontier.put(wildcards(0, 1)) == []
    assert len(frontier) == 1


def test_latest_keys_forgets_the_oldest_first() -> None:
    latest = LatestKeys(at_least=3)
    for key in range(10):
        latest.add(key)
        assert all(recent in latest for recent in range(max(0, key - 2), key + 1))
        assert len(latest) < 6
    assert 0 not in latest
