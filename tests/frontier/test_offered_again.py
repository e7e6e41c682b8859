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
    frontier.give_back(Candidate(URL, 0.2, hops=2, attempts=1))
    frontier.put([Candidate(URL, 0.9, anchor="better")])
    again = frontier.take(clock.now() + 60.0)
    assert again is not None
    assert (again.priority, again.anchor, again.hops, again.attempts) == (0.9, "better", 2, 1)
