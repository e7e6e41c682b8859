"""A waiting URL that is offered again keeps what happened to it."""

import sqlite3

import pytest

from lycosa.frontier.durable import DurableFrontier
from lycosa.frontier.memory import MemoryFrontier
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Url

URL = Url("http://a.example/")


@pytest.mark.parametrize("durable", [False, True])
def test_failures_and_redirects_are_not_forgotten_by_a_better_offer(durable: bool) -> None:
    clock = SimulatedClock()
    frontier = DurableFrontier(sqlite3.connect(":memory:"), clock=clock) if durable else MemoryFrontier(clock=clock)
    frontier.put([Candidate(URL, 0.2, hops=2)])
    taken = frontier.take(clock.now())
    assert taken is not None
    frontier.requeue(Candidate(URL, 0.2, hops=2, attempts=1))
    frontier.put([Candidate(URL, 0.9, anchor="better")])
    again = frontier.take(clock.now() + 60.0)
    assert again is not None
    assert (again.priority, again.anchor, again.hops, again.attempts) == (0.9, "better", 2, 1)


def test_failures_and_redirects_are_not_forgotten_by_a_restart() -> None:
    clock, connection = SimulatedClock(), sqlite3.connect(":memory:")
    frontier = DurableFrontier(connection, clock=clock)
    frontier.put([Candidate(URL, 0.2)])
    frontier.requeue(Candidate(URL, 0.2, hops=4, attempts=2))
    frontier.save()
    restarted = DurableFrontier(connection, clock=clock)
    restarted.put([Candidate(URL, 0.9)])
    again = restarted.take(clock.now())
    assert again is not None
    assert (again.priority, again.hops, again.attempts) == (0.9, 4, 2)


@pytest.mark.parametrize("durable", [False, True])
def test_an_evicted_url_comes_back_without_failures(durable: bool) -> None:
    clock = SimulatedClock()
    options = {"clock": clock, "limit": 1}
    frontier = DurableFrontier(sqlite3.connect(":memory:"), **options) if durable else MemoryFrontier(**options)
    frontier.requeue(Candidate(URL, 0.2, attempts=1))
    frontier.put([Candidate(Url("http://b.example/"), 0.9)])
    frontier.settle(Url("http://b.example/"))
    frontier.put([Candidate(URL, 0.2)])
    frontier.put([Candidate(URL, 0.9)])
    again = frontier.take(clock.now())
    assert again is not None and again.attempts == 0
