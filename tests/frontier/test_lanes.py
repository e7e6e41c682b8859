"""Links and pages to see again take requests over the same hosts."""

from collections.abc import Sequence, Set
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from lycosa.frontier.lanes import LANE_TIMEOUT, Lanes
from lycosa.frontier.memory import MemoryFrontier
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import LINKS, REFRESH, Candidate, Host, Url
from lycosa.vocabulary.urls import host_of


def links(hosts: int, each: int) -> list[Candidate]:
    return [Candidate(Url(f"http://h{host}.example/link{n}"), 0.5) for n in range(each) for host in range(hosts)]


def again(hosts: int, each: int) -> list[Candidate]:
    return [
        Candidate(Url(f"http://h{host}.example/page{n}"), 0.5, lane=REFRESH)
        for n in range(each)
        for host in range(hosts)
    ]


class StandingBy:
    """Pages that are seen when those chosen may not be."""

    def __init__(self, pages: list[Candidate]):
        self._pages = pages
        self.calls: list[tuple[int, set[str]]] = []

    def __call__(self, count: int, hosts: Set[Host]) -> list[Candidate]:
        self.calls.append((count, set(hosts)))
        given = [page for page in self._pages if host_of(page.url) not in hosts][:count]
        self._pages = [page for page in self._pages if page not in given]
        return given


def lanes(
    found: list[Candidate],
    seen: list[Candidate],
    *,
    requests: int,
    expand: float,
    delay: float = 1.0,
    seed: int = 1,
    instead: Sequence[Candidate] | StandingBy = (),
) -> tuple[Lanes, SimulatedClock]:
    clock = SimulatedClock(100.0)
    waiting = MemoryFrontier(clock=clock, delay=delay)
    waiting.put(found)
    others = instead if isinstance(instead, StandingBy) else StandingBy(list(instead))
    both = Lanes(
        waiting,
        seen,
        requests=requests,
        expand=expand,
        random=Random(seed),
        clock=clock,
        delay=delay,
        substitutes=others,
    )
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
    frontier, clock = lanes(links(500, 1), again(500, 1), requests=400, expand=0.25, delay=0.0)
    taken = [candidate.lane for _, candidate in drained(frontier, clock)]
    assert len(taken) == 400
    assert 70 <= taken.count(LINKS) <= 130
    assert 15 <= taken[:100].count(LINKS) <= 40, "they are mixed"


@pytest.mark.parametrize(("expand", "lane"), [(0.0, REFRESH), (1.0, LINKS)])
def test_a_lane_of_which_nothing_is_wanted_gives_nothing(expand, lane):
    frontier, clock = lanes(links(3, 5), again(3, 5), requests=100, expand=expand)
    assert {candidate.lane for _, candidate in drained(frontier, clock)} == {lane}


def test_a_lane_that_has_run_dry_leaves_its_turns_to_the_other():
    frontier, clock = lanes(links(2, 2), again(2, 20), requests=40, expand=0.5)
    taken = [candidate.lane for _, candidate in drained(frontier, clock)]
    assert (taken.count(LINKS), taken.count(REFRESH)) == (4, 36)


def test_pages_come_the_most_urgent_first():
    frontier, clock = lanes([], again(1, 10), requests=10, expand=0.0)
    assert [candidate for _, candidate in drained(frontier, clock)] == again(1, 10)


def test_a_host_is_asked_by_one_lane_at_a_time():
    frontier, clock = lanes(links(1, 1), again(1, 1), requests=2, expand=0.5)
    first = frontier.take(clock.now())
    assert frontier.take(clock.now()) is None
    frontier.settle(first.url)
    assert frontier.take(clock.now()) is None, "it rests"
    assert frontier.next_ready_at() == pytest.approx(101.0)
    assert frontier.take(101.0).lane != first.lane


def test_a_host_that_asks_to_be_left_alone_is_so_in_both_lanes():
    frontier, clock = lanes(links(1, 1), again(1, 1), requests=2, expand=0.5)
    frontier.hold(host_of("http://h0.example/"), 500.0)
    assert frontier.take(clock.now()) is None
    assert frontier.next_ready_at() == 500.0


def test_what_is_given_back_comes_again_in_its_lane():
    frontier, clock = lanes([], again(1, 2), requests=5, expand=0.0, delay=0.0)
    first = frontier.take(clock.now())
    frontier.requeue(first)
    assert [candidate.url[-1] for _, candidate in drained(frontier, clock)] == ["1", "0"]


def test_turns_are_dealt_at_once_however_many_there_are():
    frontier, clock = lanes(links(2, 2), again(2, 3), requests=10**12, expand=0.7)
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
        requests=20,
        expand=expand,
        random=Random(1),
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


def on(host: int, pages: int) -> list[Candidate]:
    return [Candidate(Url(f"http://h{host}.example/page{n}"), 0.5, lane=REFRESH) for n in range(pages)]


def hosts_of(taken: list[tuple[float, Candidate]]) -> list[str]:
    return [host_of(candidate.url)[1] for _, candidate in taken]


@pytest.mark.parametrize(("seconds", "order"), [(LANE_TIMEOUT, "0000"), (LANE_TIMEOUT + 1, "1110")])
def test_others_are_seen_when_no_page_chosen_may_be_asked_for_within_a_while(seconds, order):
    frontier, clock = lanes([], on(0, 4), requests=4, expand=0.0, instead=on(1, 3))
    frontier.hold(host_of("http://h0.example/"), 100.0 + seconds)
    assert "".join(hosts_of(drained(frontier, clock))) == order


def test_pages_chosen_come_first_again_as_soon_as_they_may():
    frontier, clock = lanes([], on(0, 4), requests=200, expand=0.0, instead=on(1, 200))
    frontier.hold(host_of("http://h0.example/"), 100.0 + 2 * LANE_TIMEOUT)
    asked_at = [moment for moment, candidate in drained(frontier, clock) if host_of(candidate.url)[1] == "0"]
    assert asked_at == pytest.approx([220.0, 221.0, 222.0, 223.0], abs=1.0)


@pytest.mark.parametrize("lane", [LINKS, REFRESH])
def test_a_host_that_is_busy_is_waited_for_whichever_lane_has_asked_it(lane):
    others = StandingBy(on(1, 4))
    frontier, clock = lanes(links(1, 1), on(0, 2), requests=3, expand=0.5, instead=others)
    taken = frontier.take(clock.now())
    while taken.lane != lane:
        frontier.settle(taken.url)
        clock._now += 1.0
        taken = frontier.take(clock.now())
    frontier.hold(host_of("http://h9.example/"), 9999.0)
    clock._now += 10 * LANE_TIMEOUT
    assert frontier.take(clock.now()) is None
    assert others.calls == []


def test_others_are_called_once_for_every_time_that_nothing_is_near():
    """First h0 asks to be left alone, then h1, where the others are; h2 is asked for what is left of the requests."""
    others = StandingBy(on(0, 5) + on(1, 5) + on(2, 5))
    frontier, clock = lanes([], on(0, 4), requests=4, expand=0.0, instead=others)
    frontier.hold(host_of("http://h0.example/"), 4000.0)
    first = frontier.take(clock.now())
    frontier.hold(host_of("http://h1.example/"), 4000.0)
    frontier.settle(first.url)
    rest = hosts_of(drained(frontier, clock))
    assert (host_of(first.url)[1], rest) == ("1", ["2", "2", "2"])
    assert others.calls == [(4, {"h0.example"}), (3, {"h0.example", "h1.example"})]


def test_where_nothing_else_is_left_nobody_is_called_again():
    others = StandingBy(on(1, 1))
    frontier, clock = lanes([], on(0, 4), requests=4, expand=0.0, instead=others)
    frontier.hold(host_of("http://h0.example/"), 4000.0)
    taken = drained(frontier, clock)
    assert hosts_of(taken) == ["1", "0", "0", "0"]
    assert taken[1][0] == 4000.0, "then it is waited for"
    assert len(others.calls) == 1


@pytest.mark.parametrize(("held", "lane"), [(0, LINKS), (1, REFRESH)])
def test_a_lane_that_must_be_left_alone_for_long_leaves_its_turns_to_the_other(held, lane):
    found = [Candidate(Url(f"http://h1.example/link{n}"), 0.5) for n in range(20)]
    frontier, clock = lanes(found, on(0, 20), requests=20, expand=0.5)
    frontier.hold(host_of(f"http://h{held}.example/"), 4000.0)
    taken = drained(frontier, clock)
    assert {candidate.lane for _, candidate in taken} == {lane}
    assert (len(taken), taken[-1][0] < 4000.0) == (20, True)


def test_no_more_links_are_under_way_than_there_is_room_for():
    clock = SimulatedClock(100.0)
    waiting = MemoryFrontier(clock=clock, delay=0.0)
    waiting.put(links(4, 1))
    options = {"requests": 9, "expand": 1.0, "random": Random(1), "clock": clock, "delay": 0.0}
    frontier = Lanes(waiting, [], has_room=lambda under_way: under_way < 2, **options)
    first, second, third = (frontier.take(clock.now()) for _ in range(3))
    assert third is None
    assert frontier.next_ready_at() is None, "until one of them has landed"
    frontier.settle(first.url)
    assert frontier.take(clock.now()).url not in (first.url, second.url)


@pytest.mark.slow
@given(
    hosts=some.integers(1, 4),
    found=some.integers(0, 6),
    seen=some.integers(0, 6),
    requests=some.integers(1, 60),
    expand=some.sampled_from([0.0, 0.3, 0.5, 1.0]),
    held=some.dictionaries(some.integers(0, 5), some.sampled_from([30.0, LANE_TIMEOUT, 3600.0])),
    seed=some.integers(0, 99),
)
@settings(deadline=None)
def test_no_more_than_the_turns_are_taken_nothing_twice_and_no_host_is_hurried(
    hosts, found, seen, requests, expand, held, seed
):
    others = on(4, 2) + on(5, 2)
    frontier, clock = lanes(
        links(hosts, found), again(hosts, seen), requests=requests, expand=expand, seed=seed, instead=others
    )
    for host, seconds in held.items():
        frontier.hold(host_of(f"http://h{host}.example/"), clock.now() + seconds)
    taken = drained(frontier, clock)
    urls = [candidate.url for _, candidate in taken]
    assert len(urls) == len(set(urls)) <= requests
    wanted = hosts * ((found if expand > 0 else 0) + (seen if expand < 1 else 0))
    assert len(urls) >= min(requests, wanted)
    for moment, candidate in taken:
        assert moment >= 100.0 + held.get(int(host_of(candidate.url)[1]), 0.0)
    latest: dict[str, float] = {}
    for moment, candidate in taken:
        host = host_of(candidate.url)
        assert moment - latest.get(host, -1.0) >= 1.0 - 1e-6
        latest[host] = moment
