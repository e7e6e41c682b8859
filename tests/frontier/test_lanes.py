"""Links and pages to see again take turns over the same hosts."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from lycosa.frontier.lanes import Lanes
from lycosa.frontier.memory import MemoryFrontier
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import LINKS, REFRESH, Candidate, Url
from lycosa.vocabulary.urls import host_of


def links(hosts: int, each: int) -> list[Candidate]:
    return [Candidate(Url(f"http://h{host}.example/link{n}"), 0.5) for n in range(each) for host in range(hosts)]


def again(hosts: int, each: int) -> list[Candidate]:
    return [
        Candidate(Url(f"http://h{host}.example/page{n}"), 0.5, lane=REFRESH)
        for n in range(each)
        for host in range(hosts)
    ]


def lanes(
    found: list[Candidate], seen: list[Candidate], *, turns: int, expand: float, delay: float = 1.0, seed: int = 1
) -> tuple[Lanes, SimulatedClock]:
    clock = SimulatedClock(100.0)
    waiting = MemoryFrontier(clock=clock, delay=delay)
    waiting.put(found)
    both = Lanes(waiting, seen, turns=turns, expand=expand, chance=Random(seed), clock=clock, delay=delay)
    return both, clock


def drained(frontier: Lanes, clock: SimulatedClock) -> list[tuple[float, Candidate]]:
    """Everything that is taken one after the other, and when."""
    taken = []
    while True:
        candidate = frontier.take(clock.now())
        if candidate is None:
            ready_at = frontier.next_ready_at()
            if ready_at is None:
                return taken
            clock._now = max(clock.now() + 1e-9, ready_at)
            continue
        taken.append((clock.now(), candidate))
        frontier.settle(candidate.url)


def test_turns_are_dealt_by_the_share_that_links_shall_have():
    frontier, clock = lanes(links(500, 1), again(500, 1), turns=400, expand=0.25, delay=0.0)
    taken = [candidate.lane for _, candidate in drained(frontier, clock)]
    assert len(taken) == 400
    assert 70 <= taken.count(LINKS) <= 130
    assert 15 <= taken[:100].count(LINKS) <= 40, "they are mixed"


@pytest.mark.parametrize(("expand", "lane"), [(0.0, REFRESH), (1.0, LINKS)])
def test_a_lane_of_which_nothing_is_wanted_gives_nothing(expand, lane):
    frontier, clock = lanes(links(3, 5), again(3, 5), turns=100, expand=expand)
    assert {candidate.lane for _, candidate in drained(frontier, clock)} == {lane}


def test_a_lane_that_has_run_dry_leaves_its_turns_to_the_other():
    frontier, clock = lanes(links(2, 2), again(2, 20), turns=40, expand=0.5)
    taken = [candidate.lane for _, candidate in drained(frontier, clock)]
    assert (taken.count(LINKS), taken.count(REFRESH)) == (4, 36)


def test_pages_come_the_most_urgent_first():
    frontier, clock = lanes([], again(1, 10), turns=10, expand=0.0)
    assert [candidate for _, candidate in drained(frontier, clock)] == again(1, 10)


def test_a_host_is_asked_by_one_lane_at_a_time():
    frontier, clock = lanes(links(1, 1), again(1, 1), turns=2, expand=0.5)
    first = frontier.take(clock.now())
    assert frontier.take(clock.now()) is None
    frontier.settle(first.url)
    assert frontier.take(clock.now()) is None, "it rests"
    assert frontier.next_ready_at() == pytest.approx(101.0)
    assert frontier.take(101.0).lane != first.lane


def test_a_host_that_asks_to_be_left_alone_is_so_in_both_lanes():
    frontier, clock = lanes(links(1, 1), again(1, 1), turns=2, expand=0.5)
    frontier.hold(host_of("http://h0.example/"), 500.0)
    assert frontier.take(clock.now()) is None
    assert frontier.next_ready_at() == 500.0


def test_what_is_given_back_comes_again_in_its_lane():
    frontier, clock = lanes([], again(1, 2), turns=5, expand=0.0, delay=0.0)
    first = frontier.take(clock.now())
    frontier.give_back(first)
    assert [candidate.url[-1] for _, candidate in drained(frontier, clock)] == ["1", "0"]


def test_turns_are_dealt_at_once_however_many_there_are():
    frontier, clock = lanes(links(2, 2), again(2, 3), turns=10**12, expand=0.7)
    assert len(drained(frontier, clock)) == 10


@pytest.mark.parametrize("expand", [0.3, 1.0])
def test_once_there_is_no_more_room_the_turns_of_links_go_to_pages_seen_before(expand):
    room = [3]
    clock = SimulatedClock(100.0)
    waiting = MemoryFrontier(clock=clock, delay=0.0)
    waiting.put(links(4, 5))
    frontier = Lanes(
        waiting,
        again(4, 5),
        turns=20,
        expand=expand,
        chance=Random(1),
        clock=clock,
        delay=0.0,
        has_room=lambda under_way: under_way < room[0],
    )
    taken = []
    while (candidate := frontier.take(clock.now())) is not None:
        taken.append(candidate.lane)
        room[0] -= candidate.lane == LINKS
        frontier.settle(candidate.url)
    assert (taken.count(LINKS), len(taken)) == (3, 20)


def test_no_more_links_are_under_way_than_there_is_room_for():
    clock = SimulatedClock(100.0)
    waiting = MemoryFrontier(clock=clock, delay=0.0)
    waiting.put(links(4, 1))
    options = {"turns": 9, "expand": 1.0, "chance": Random(1), "clock": clock, "delay": 0.0}
    frontier = Lanes(waiting, [], has_room=lambda under_way: under_way < 2, **options)
    first, second, third = (frontier.take(clock.now()) for _ in range(3))
    assert third is None
    assert frontier.next_ready_at() is None, "until one of them has landed"
    frontier.settle(first.url)
    assert frontier.take(clock.now()).url not in (first.url, second.url)


@given(
    hosts=some.integers(1, 4),
    found=some.integers(0, 6),
    seen=some.integers(0, 6),
    turns=some.integers(1, 60),
    expand=some.sampled_from([0.0, 0.3, 0.5, 1.0]),
    seed=some.integers(0, 99),
)
@settings(deadline=None)
def test_no_more_than_the_turns_are_taken_nothing_twice_and_no_host_is_hurried(hosts, found, seen, turns, expand, seed):
    frontier, clock = lanes(links(hosts, found), again(hosts, seen), turns=turns, expand=expand, seed=seed)
    taken = drained(frontier, clock)
    urls = [candidate.url for _, candidate in taken]
    assert len(urls) == len(set(urls)) <= turns
    wanted = hosts * ((found if expand > 0 else 0) + (seen if expand < 1 else 0))
    assert len(urls) == min(turns, wanted)
    latest: dict[str, float] = {}
    for moment, candidate in taken:
        host = host_of(candidate.url)
        assert moment - latest.get(host, -1.0) >= 1.0 - 1e-6
        latest[host] = moment
