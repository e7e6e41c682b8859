"""Hosts that take long to answer, or never do: they hold up nobody but themselves."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing, closing
from typing import Any

import pytest

import lycosa.frontier.shared_limits
import lycosa.run.crawl
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.shared_limits import HostPace
from lycosa.loop import Loop
from lycosa.recipe import Requests
from lycosa.run.crawl import Assessor, Crawl, Status
from lycosa.strategies.base import BaseStrategy
from lycosa.vocabulary.records import Candidate, Fetch, Host, Outcome, PastFetch, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of

CONCURRENCY = 4


class _SlowWeb:
    """Answers after as many seconds as a host takes."""

    def __init__(self, seconds: Callable[[Host], float]):
        self._seconds = seconds
        self.in_flight = self.most = 0

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(self._seconds(host_of(url)))
        finally:
            self.in_flight -= 1
        return Fetch(url, Outcome.GONE, 0.0, status=404)

    async def close(self) -> None: ...


class _VirtualLoop(asyncio.SelectorEventLoop):
    """Nobody waits: when nothing is left to do, its time goes on to the next timer, however busy the machine is."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._select, self._selector.select = self._selector.select, self._skip  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._now

    def _skip(self, timeout: float | None) -> list[Any]:
        events: list[Any] = self._select(0)
        if not events and timeout:
            self._now += timeout
        return events


class _TimeOf:
    """The clock of an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop):
        self._loop = loop

    def now(self) -> float:
        return self._loop.time()

    async def sleep_until(self, when: float) -> None:
        await asyncio.sleep(max(0.0, when - self.now()))


class _InOrder(BaseStrategy):
    """Offers what it is given, the first most."""

    name = "in order"

    def __init__(self, priorities: dict[Url, float]):
        self._priorities = priorities

    def start(self, seeds: Iterable[Url]) -> list[Candidate]:
        return [Candidate(url, self._priorities[url]) for url in seeds]

    def propose(self, event: Visit | Skip) -> list[Candidate]:
        return []


def landed(
    web: _SlowWeb, priorities: dict[str, float], until: Callable[[list[Url]], bool], *, told_apart: bool = True
) -> list[Url]:
    """The URLs whose fetches have landed, in their order, until it is enough."""
    event_loop = _VirtualLoop()
    clock, requests = _TimeOf(event_loop), Requests(delay=0.0, concurrency=CONCURRENCY)
    frontier = MemoryFrontier(clock=clock, delay=0.0, slow_slots=requests.slow_slots if told_apart else None)
    urls = {Url(url): priority for url, priority in priorities.items()}
    crawl = Crawl(
        web=web,
        assess=Assessor(read=lambda fetch: None, judge=None),
        loop=Loop(_InOrder(urls), frontier, clock=clock),
        clock=clock,
        status=Status(),
        concurrency=CONCURRENCY,
    )
    crawl.loop.start(urls)
    found: list[Url] = []

    async def run() -> None:
        async with aclosing(crawl.visits()) as visits:
            async for visit in visits:
                found.append(visit.candidate.url)
                if until(found):
                    return

    with closing(event_loop):
        event_loop.run_until_complete(run())
    return found


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a second is slow; here, what takes a fiftieth of it."""
    monkeypatch.setattr(lycosa.run.crawl, "SLOW_RESPONSE", 0.02)
    monkeypatch.setattr(lycosa.frontier.shared_limits, "SLOW_RESPONSE", 0.02)


GOOD = {f"http://good{n % 5}.example/{n}": 0.5 for n in range(60)}


def are_all_good(found: list[Url]) -> bool:
    return len([url for url in found if "good" in url]) == len(GOOD)


@pytest.mark.parametrize("site", ["t{}.tarpit.example", "tarpit{}.example"], ids=["one site", "many sites"])
def test_names_that_never_answer_do_not_hold_up_hosts_that_do(site: str) -> None:
    tarpits = {f"http://{site.format(n)}/": 0.9 for n in range(200)}
    web = _SlowWeb(lambda host: 30.0 if "tarpit" in host else 0.001)
    known_first = dict(list(GOOD.items())[:5])  # these are better than all, and so they are known to be quick
    found = landed(
        web, dict.fromkeys(known_first, 1.0) | tarpits | (GOOD | dict.fromkeys(known_first, 1.0)), are_all_good
    )
    assert set(found) == set(GOOD)  # and none of the others has kept anybody waiting until its end
    assert web.most <= CONCURRENCY + 4 * CONCURRENCY


def test_names_of_a_site_that_never_answer_do_not_make_other_new_hosts_suspect() -> None:
    tarpits = {f"http://t{n}.tarpit.example/": 0.9 for n in range(200)}
    web = _SlowWeb(lambda host: 30.0 if "tarpit" in host else 0.001)
    assert set(landed(web, tarpits | GOOD, are_all_good)) == set(GOOD)


def test_a_slow_host_that_is_better_than_all_others_does_not_set_the_pace() -> None:
    better = {f"http://slow.example/{n}": 1.0 for n in range(20)}
    others = {f"http://good{n}.example/": 0.1 for n in range(100)}
    web = _SlowWeb(lambda host: 0.1 if "slow" in host else 0.0)
    found = landed(web, better | others, lambda found: sum("slow" in url for url in found) == 3)
    assert len(found) == 3 + len(others)
    web = _SlowWeb(lambda host: 0.1 if "slow" in host else 0.0)
    found = landed(web, better | others, lambda found: sum("slow" in url for url in found) == 3, told_apart=False)
    assert len(found) < 3 + len(others)


def test_a_host_is_slow_until_it_has_answered_quickly_for_a_while() -> None:
    pace, host = HostPace(), Host("a.example")
    assert not pace.is_expected_slow(host)
    pace.observe(host, 0.1)
    assert pace.is_expected_slow(host)
    for _ in range(10):
        pace.observe(host, 0.001)
    assert not pace.is_expected_slow(host)


def test_what_is_known_of_slow_hosts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lycosa.frontier.shared_limits, "_MAX_SLOW_HOSTS", 50)
    pace = HostPace()
    for n in range(500):
        pace.observe(Host(f"h{n}.example"), 9.0)
    assert len(pace._seconds) == len(pace._slow_sites) == 50


def test_one_fetch_at_a_time_knows_no_slow_hosts() -> None:
    assert Requests(concurrency=1).slow_slots is None
    assert Requests(concurrency=16).slow_slots == 64
    assert Requests(concurrency=500).slow_slots == 256
