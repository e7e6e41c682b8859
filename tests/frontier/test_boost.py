"""Boosted URLs come before everything else, and keep the priority that the strategy gave them."""

import sqlite3
from collections.abc import Callable

import msgspec
import pytest

from lycosa.frontier.durable import DurableFrontier, WaitingSample, best_waiting, waiting_hosts, waiting_sample
from lycosa.frontier.memory import MemoryFrontier
from lycosa.strategies.authority import CrawlGAI
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, SkipReason, Url

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


@pytest.mark.parametrize("make", [in_memory, durable, spilling])
@pytest.mark.parametrize("boosted", [["bees.example"], []])
def test_boosted_links_of_one_priority_keep_the_order_in_which_they_came_to_it(
    make: Callable[[Strategy], MemoryFrontier], boosted: list[str]
) -> None:
    first, second, last = (Url(f"{BEES}{page}") for page in ("first", "second", "last"))
    frontier = make(BestFirst())
    frontier.put([Candidate(last, 0.5), Candidate(first, 1.0), Candidate(second, 1.0)])
    frontier.put([Candidate(last, 1.0)])
    frontier.boost(boosted)
    assert [url for url, _ in taken(frontier)] == [first, second, last]


@pytest.mark.parametrize("make", [in_memory, durable, spilling])
def test_urls_of_a_pattern_come_first_or_never(make: Callable[[Strategy], MemoryFrontier]) -> None:
    frontier, ads = make(BestFirst()), [Url(f"{SHIPS}ads/{number}?q=[{number}]") for number in range(3)]
    frontier.put(
        [Candidate(url, priority) for url, priority in ((SHIPS, 0.9), (BEES, 0.1), *((ad, 0.95) for ad in ads))]
    )
    skips = frontier.block(("*://ships.example/ads/*",))
    assert [(skip.candidate.url, skip.reason, skip.detail) for skip in skips] == [
        (ad, SkipReason.SCOPE, "URL blocked") for ad in ads
    ]
    assert [skip.detail for skip in frontier.put([Candidate(Url(f"{SHIPS}ads/new"), 1.0)])] == ["URL blocked"]
    frontier.boost(["*://*bees.example/*"])
    assert taken(frontier) == [(BEES, 0.1), (SHIPS, 0.9)]


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


@pytest.mark.parametrize("make", [in_memory, durable, spilling])
@pytest.mark.parametrize("is_requested", [True, False])
def test_what_is_in_flight_when_it_is_blocked_is_not_tried_again(
    make: Callable[[Strategy], MemoryFrontier], is_requested: bool
) -> None:
    frontier = make(BestFirst())
    frontier.put([Candidate(BEES, 0.9), Candidate(SHIPS, 0.8), Candidate(SAMPLE, 0.7)])
    for_later = [frontier.take(0.0), frontier.take(0.0)]
    assert [skip.candidate.url for skip in frontier.block(("bees.example",))] == [BEES]
    for candidate in for_later:
        assert candidate is not None
        frontier.requeue(candidate) if is_requested else frontier.postpone(candidate)
    assert (len(frontier), frontier.is_settled(BEES)) == (2, True)
    assert taken(frontier) == [(SHIPS, 0.8), (SAMPLE, 0.7)]
    if isinstance(frontier, DurableFrontier):
        frontier.save()
        assert best_waiting(frontier._connection) == []


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
    ("strategy", "saved", "own"),
    [
        (BestFirst(), 0.9 + 0.1 * 0.5, 0.5),
        (BestFirst(), 0.9 + 0.1 * 1.0, 1.0),
        (BreadthFirst(), 0.5 + 1e6, 0.5),
        (BreadthFirst(), 0.1 + 1e6, 0.1),
    ],
)
@pytest.mark.parametrize("in_memory", [1, 100])
def test_boosts_saved_by_an_older_version_come_first_too(
    strategy: Strategy, saved: float, own: float, in_memory: int
) -> None:
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
    assert (first, priority) == (BEES, own)
    assert others == [(SAMPLE, 1.0), (SHIPS, 0.99)]


def test_a_row_that_was_saved_under_other_boosts_is_ranked_by_those_of_now() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = durable(BestFirst(), connection=connection, boosted=["bees.example"])
    frontier.put([Candidate(BEES, 0.1), Candidate(SHIPS, 0.7)])
    frontier.save()
    assert taken(durable(BestFirst(), connection=connection)) == [(SHIPS, 0.7), (BEES, 0.1)]


class Sum(BestFirst):
    """Ranks what is offered again by the sum, which shows every rounding."""

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting + offered


@pytest.mark.parametrize("make", [in_memory, durable, spilling])
def test_a_boost_rounds_no_priority(make: Callable[[Strategy], MemoryFrontier]) -> None:
    frontier, reference = make(Sum()), make(Sum())
    frontier.boost(["bees.example"])
    for each in (frontier, reference):
        each.put([Candidate(BEES, 0.1 + 1e-13), Candidate(SHIPS, 0.97)])
        each.put([Candidate(BEES, 0.2)])
        each.put([Candidate(SHIPS, 0.001), Candidate(BEES, 1e-12)])
    assert sorted(taken(frontier)) == sorted(taken(reference))


def test_the_highest_priority_may_be_boosted_and_opened_again() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = durable(BreadthFirst(), connection=connection, boosted=["bees.example"])
    frontier.put([Candidate(BEES, 1e9)])
    frontier.save()
    assert taken(durable(BreadthFirst(), connection=connection, boosted=["bees.example"])) == [(BEES, 1e9)]


def fetches_in_a_minute(boosted: list[str], *, own: float = 0.8, hosts: int = 20) -> list[Url]:
    """What one fetch at a time of a tenth of a second takes, where every host rests for a second."""
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=1.0, patience=2.0, boosted=boosted)
    frontier.rank_by(BestFirst())
    frontier.put(
        Candidate(Url(f"http://h{host}.example/{page}"), 0.8 if host else own)
        for host in range(hosts + 1)
        for page in range(200)
    )
    fetched = []
    while clock.now() < 60.0:
        if candidate := frontier.take(clock.now()):
            fetched.append(candidate.url)
            clock._now += 0.1
            frontier.settle(candidate.url)
        else:
            moment = frontier.next_ready_at()
            assert moment is not None
            clock._now = max(moment, clock.now() + 0.001)
    return fetched


@pytest.mark.parametrize("own", [0.1, 0.8])
def test_a_boosted_host_is_first_whenever_it_is_free_and_holds_up_no_other(own: float) -> None:
    usual, boosted = fetches_in_a_minute([]), fetches_in_a_minute(["h0.example"], own=own)
    assert len(boosted) >= 0.95 * len(usual)
    of_boosted = [url for url in boosted if "//h0." in url]
    assert boosted[0] == of_boosted[0]
    assert len(of_boosted) >= 60.0 / (1.0 + 0.1 + 0.1) - 1, "it is taken at most one fetch after its rest"


def test_a_much_better_boosted_url_is_waited_for_as_any_other() -> None:
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=0.5, patience=2.0, boosted=["bees.example"])
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(BEES, 0.9), Candidate(Url(f"{BEES}2"), 0.9), Candidate(SHIPS, 0.1)])
    frontier.take(0.0)
    frontier.settle(BEES)
    assert frontier.take(0.0) is None
    assert frontier.next_ready_at() == 0.5


@pytest.mark.parametrize("in_memory", [1, 100])
def test_a_sample_of_what_waits_has_the_priorities_without_boosts(in_memory: int) -> None:
    connection = sqlite3.connect(":memory:")
    frontier = durable(BestFirst(), connection=connection, boosted=["bees.example"], in_memory=in_memory)
    frontier.put([Candidate(BEES, 0.1), Candidate(SHIPS, 0.97), Candidate(SAMPLE, 1.0)])
    expected = WaitingSample(1, [(BEES, 0.1), (SHIPS, 0.97), (SAMPLE, 1.0)])
    assert frontier.sample(3) == expected
    frontier.save()
    assert frontier.sample(3) == waiting_sample(connection, 3) == expected
