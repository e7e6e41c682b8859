"""Boosted URLs come before everything else, and keep the priority that the strategy gave them."""

import sqlite3
from collections.abc import Callable

import msgspec
import pytest

from lycosa.frontier.durable import DurableFrontier, best_waiting, waiting_hosts
from lycosa.frontier.memory import MemoryFrontier
from lycosa.strategies.authority import CrawlGAI
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Url

BEES, SHIPS, SAMPLE = (Url(f"http://{host}.example/") for host in ("bees", "ships", "sample"))


def in_memory(strategy: Strategy, **options: object) -> MemoryFrontier:
    frontier = MemoryFrontier(clock=SimulatedClock(), delay=0.0, **options)  # type: ignore[arg-type]
    frontier.rank_by(strategy)
    return frontier


def durable(strategy: Strategy, *, connection: sqlite3.Connection | None = None, **options: object) -> DurableFrontier:
    connection = connection or sqlite3.connect(":memory:")
    frontier = DurableFrontier(connection, clock=SimulatedClock(), delay=0.0, **options)
    frontier.rank_by(strategy)
    return frontier


def spilling(strategy: Strategy) -> DurableFrontier:
    return durable(strategy, in_memory=1)


def taken(frontier: MemoryFrontier) -> list[tuple[Url, float]]:
    found = []
    while candidate := frontier.take(0.0):
        found.append((candidate.url, candidate.priority))
        frontier.settle(candidate.url)
    return found


@pytest.mark.parametrize("make", [in_memory, durable, spilling])
@pytest.mark.parametrize("strategy", [BestFirst(), BreadthFirst()])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_boosted_link_precedes_samples_and_better_links(
    make: Callable[[Strategy], MemoryFrontier], strategy: Strategy, is_late: bool
) -> None:
    frontier = make(strategy)
    if is_late:
        frontier.boost(["bees.example"])
    frontier.put([Candidate(SHIPS, 0.97), Candidate(BEES, 0.1), Candidate(SAMPLE, 1.0)])
    frontier.boost(["bees.example"])
    assert taken(frontier) == [(BEES, 0.1), (SAMPLE, 1.0), (SHIPS, 0.97)]


@pytest.mark.parametrize("make", [in_memory, durable])
def test_what_is_in_flight_when_it_is_boosted_is_before_all_others_when_it_returns(
    make: Callable[[Strategy], MemoryFrontier],
) -> None:
    frontier = make(BestFirst())
    frontier.put([Candidate(BEES, 0.1)])
    in_flight = frontier.take(0.0)
    assert in_flight is not None
    frontier.put([Candidate(SHIPS, 0.97)])
    frontier.boost(["bees.example"])
    frontier.postpone(in_flight)
    assert taken(frontier) == [(BEES, 0.1), (SHIPS, 0.97)]


def test_priorities_are_merged_without_the_boost() -> None:
    frontier = in_memory(CrawlGAI())
    frontier.boost(["bees.example"])
    frontier.put([Candidate(BEES, 2.0)])
    frontier.put([Candidate(BEES, 3.0)])
    assert taken(frontier) == [(BEES, 5.0)]


def test_a_reopened_frontier_ranks_boosted_links_first_and_an_undone_boost_leaves_no_trace() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = durable(BestFirst(), connection=connection)
    frontier.put([Candidate(BEES, 0.1), Candidate(SHIPS, 0.97)])
    frontier.boost(["bees.example"])
    frontier.save()
    assert [(each.url, each.priority) for each in best_waiting(connection)] == [(BEES, 0.1), (SHIPS, 0.97)]
    assert [tuple(each) for each in waiting_hosts(connection)] == [("bees.example", 1, 0.1), ("ships.example", 1, 0.97)]
    again = durable(BestFirst(), connection=connection, boosted=["bees.example"])
    assert taken(again) == [(BEES, 0.1), (SHIPS, 0.97)]
    undone = durable(BestFirst(), connection=connection, boosted=["bees.example"])
    undone.boost([])
    assert taken(undone) == [(SHIPS, 0.97), (BEES, 0.1)]


@pytest.mark.parametrize(
    ("strategy", "saved"), [(BestFirst(), 0.9 + 0.1 * 0.5), (BreadthFirst(), 0.5 + 1e6)], ids=["unit", "order"]
)
@pytest.mark.parametrize("in_memory", [1, 100])
def test_boosts_saved_by_an_older_version_come_first_too(strategy: Strategy, saved: float, in_memory: int) -> None:
    connection = sqlite3.connect(":memory:")
    durable(strategy, connection=connection)
    for arrival, candidate in enumerate([Candidate(SHIPS, 0.99), Candidate(BEES, saved), Candidate(SAMPLE, 1.0)], 1):
        connection.execute(
            "INSERT INTO frontier VALUES (?, ?, ?, ?)",
            (arrival, candidate.url, candidate.priority, msgspec.json.encode(candidate)),
        )
    for _ in range(2):
        frontier = durable(strategy, connection=connection, boosted=["bees.example"], in_memory=in_memory)
        frontier.save()
    frontier = durable(strategy, connection=connection, boosted=["bees.example"])
    (first, priority), *others = taken(frontier)
    assert (first, priority) == (BEES, pytest.approx(0.5))
    assert others == [(SAMPLE, 1.0), (SHIPS, 0.99)]
