"""Many names and ports on one address, robots.txt that lead to a third host: all are asked in turn, and no more."""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count, pairwise
from random import Random

import pytest

from crawling import collection, done
from lycosa.frontier.lanes import Lanes
from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Loop
from lycosa.recipe import Requests
from lycosa.run.crawl import Assessor, Crawl, Status
from lycosa.run.host_slots import CurrentSlots
from lycosa.run.sitemaps import urls_in_sitemaps
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Fetch, Host, PastFetch, Url
from lycosa.vocabulary.urls import host_of
from lycosa.web.robots import RobotsWeb
from web.loopback import LoopbackServer, response
from web.simulated import Reply, SimulatedWeb

DELAY = 1.0
LATENCY = 0.05


class Asked:
    """The requests of a frontier in simulated time, each in flight for a while, and how many were at a time."""

    def __init__(self, urls: Iterable[str], *, address_of: Callable[[Host], str], per_address: int | None, pages: int):
        self.clock = SimulatedClock(100.0)
        frontier = MemoryFrontier(clock=self.clock, delay=DELAY, per_address=per_address)
        frontier.put(Candidate(Url(url), 0.5) for url in urls)
        self.at: list[tuple[float, Url]] = []
        self.most: Counter[str] = Counter()  # at a time, by address
        self.postponed = 0
        in_flight: list[tuple[float, int, Url]] = []
        at_a_time: Counter[str] = Counter()
        number = count()
        while len(self.at) < pages:
            candidate = frontier.take(self.clock.now()) if len(in_flight) < 200 else None
            if candidate is not None:
                address = address_of(host_of(candidate.url))
                if not frontier.claim_address(host_of(candidate.url), address):
                    self.postponed += 1
                    frontier.postpone(candidate)
                    continue
                at_a_time[address] += 1
                self.most[address] = max(self.most[address], at_a_time[address])
                self.at.append((self.clock.now(), candidate.url))
                heappush(in_flight, (self.clock.now() + LATENCY, next(number), candidate.url))
                continue
            ready_at = frontier.next_ready_at()
            moments = ([in_flight[0][0]] if in_flight else []) + ([ready_at] if ready_at is not None else [])
            assert moments, "nothing is in flight, and nothing will be"
            self.clock._now = max(self.clock.now(), min(moments))
            while in_flight and in_flight[0][0] <= self.clock.now():
                _, _, url = heappop(in_flight)
                at_a_time[address_of(host_of(url))] -= 1
                frontier.settle(url)

    def most_within(self, seconds: float) -> int:
        moments = [at for at, _ in self.at]
        return max(sum(begin <= at < begin + seconds for at in moments) for begin in moments)


NAMES = [f"http://n{number}.site{number}.example/" for number in range(300)]
PORTS = [f"http://one.example:{8000 + number}/" for number in range(300)]
SUBDOMAINS = [f"http://n{number}.farm.example/" for number in range(300)]


@pytest.mark.parametrize(
    ("urls", "address_of"),
    [
        (NAMES, lambda host: "192.0.2.1"),
        (PORTS, lambda host: "192.0.2.1"),
        (SUBDOMAINS, lambda host: f"address of {host}"),
        (NAMES, lambda host: ("8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1")[len(host) % 4]),
    ],
    ids=["names on one address", "ports of one host", "subdomains of one domain", "spellings of one address"],
)
def test_what_shares_an_address_or_a_domain_shares_four_requests_and_a_delay(
    urls: list[str], address_of: Callable[[Host], str]
) -> None:
    asked = Asked(urls, address_of=address_of, per_address=4, pages=60)
    assert max(asked.most.values()) <= 4
    assert asked.most_within(DELAY) <= 4
    assert asked.postponed <= len(urls)  # each name is found to be on a busy address once
    assert [url for _, url in Asked(urls, address_of=address_of, per_address=None, pages=60).at] == urls[:60]


def test_the_addresses_of_an_ipv6_network_share_what_eight_have() -> None:
    number_of = {host_of(Url(url)): number for number, url in enumerate(NAMES)}
    asked = Asked(NAMES, address_of=lambda host: f"2a01:4f8:c0c:1::{number_of[host]:x}", per_address=4, pages=100)
    assert asked.most_within(DELAY) <= 8 * 4


def test_hosts_elsewhere_are_not_kept_waiting() -> None:
    elsewhere = [f"http://other{number}.example/" for number in range(40)]
    asked = Asked([*NAMES[:200], *elsewhere], address_of=lambda h: "one" if "site" in h else h, per_address=4, pages=44)
    assert {url for _, url in asked.at} >= set(elsewhere)
    assert asked.clock.now() == 100.0  # without any wait


def test_the_best_of_those_who_wait_for_a_slot_come_first() -> None:
    clock = SimulatedClock(100.0)
    frontier = MemoryFrontier(clock=clock, delay=0.0, per_address=1)
    frontier.put(Candidate(Url(f"http://n{n}.farm.example/"), n / 20) for n in range(20))
    taken = []
    while candidate := frontier.take(clock.now()):
        assert frontier.take(clock.now()) is None
        if len(taken) == 9:  # one that comes late, and is better than all that are left
            frontier.put([Candidate(Url("http://late.farm.example/"), 1.0)])
        taken.append(candidate.priority)
        frontier.settle(candidate.url)
    assert taken == [*sorted(taken[:10], reverse=True), 1.0, *sorted(taken[11:], reverse=True)]
    assert len(taken) == 21


def test_nothing_is_left_of_limits_that_nobody_needs() -> None:
    clock = SimulatedClock(100.0)
    frontier = MemoryFrontier(clock=clock, delay=DELAY, per_address=4)
    for n in range(300):
        frontier.put([Candidate(Url(f"http://n{n}.example/"), 0.5)])
        candidate = frontier.take(clock.now())
        assert candidate is not None
        assert frontier.claim_address(host_of(candidate.url), f"192.0.2.{n % 200}")
        frontier.settle(candidate.url)
        clock._now += 2 * DELAY
    assert frontier.take(clock.now()) is None
    assert len(frontier._host_queues._limits) == 0


def test_both_lanes_of_a_refresh_share_the_limit() -> None:
    clock = SimulatedClock(100.0)
    links = MemoryFrontier(clock=clock, delay=DELAY, per_address=2)
    links.put(Candidate(Url(f"http://l{n}.farm.example/"), 0.5) for n in range(5))
    again = [Candidate(Url(f"http://r{n}.farm.example/"), 0.5, lane="refresh") for n in range(5)]
    lanes = Lanes(links, again, requests=10, expand=0.5, random=Random(1), clock=clock, delay=DELAY, per_address=2)
    taken = [candidate for _ in range(10) if (candidate := lanes.take(clock.now()))]
    assert len(taken) == 2
    lanes.postpone(taken[0])
    lanes.settle(taken[1].url)
    clock._now += DELAY
    assert sum(lanes.take(clock.now()) is not None for _ in range(10)) == 2


def test_without_a_delay_nothing_is_limited_unless_it_is_said() -> None:
    assert Requests().address_limit == 4
    assert Requests(delay=0.0).address_limit is None
    assert Requests(delay=0.0, per_address=3).address_limit == 3
    assert Requests(per_address=0).address_limit is None


class Crowd:
    """Counts the requests that a server has in hand at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def answer(self, body: bytes) -> Callable[[socket.socket], None]:
        def behave(connection: socket.socket) -> None:
            with self._lock:
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(0.02)
            with self._lock:
                self.now -= 1
            connection.sendall(response(body, Connection="close"))

        return behave


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "most"), [((), 4), (("--per-address", 2), 2), (("--per-address", 0), 16)])
def test_a_crawl_of_many_names_on_one_address(tmp_path, flags: tuple[object, ...], most: int) -> None:
    crowd = Crowd()
    routes = {
        "/robots.txt": crowd.answer(b"User-agent: *"),
        "/": crowd.answer(b"<html><title>Bees</title>honey bee hive"),
    }
    with LoopbackServer(routes) as server:
        folder = collection(tmp_path / "c", [f"http://n{n}.site{n}.example/" for n in range(12)])
        done("crawl", folder, "--delay", 0.01, "--resolve", server.everything[0], "--quiet", *flags)
    assert len([path for path in server.paths() if path == "/"]) == 12
    assert crowd.most <= most
    assert most < 16 or crowd.most > 4


# ------------------------------------------------------------ robots.txt


class TimedWeb:
    """A simulated web that notes when each host was asked."""

    def __init__(self, pages: dict[str, bytes | str | Reply], clock: SimulatedClock):
        self._web = SimulatedWeb({Url(url): page for url, page in pages.items()}, clock=clock)
        self._clock = clock
        self.asked: list[tuple[float, Url]] = []

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        self.asked.append((self._clock.now(), url))
        return await self._web.fetch(url, known=known)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        self.asked.append((self._clock.now(), url))
        return await self._web.fetch_any_type(url, limit=limit)

    async def close(self) -> None: ...

    def moments(self, host: str) -> list[float]:
        return [at for at, url in self.asked if host_of(url) == host]


def crawled(pages: dict[str, bytes | str | Reply], seeds: list[str], *, delay: float = DELAY) -> TimedWeb:
    """Crawls the seeds one after the other in simulated time, under robots.txt."""
    clock = SimulatedClock(1_000.0)
    web, slots = TimedWeb(pages, clock), CurrentSlots()
    frontier = MemoryFrontier(clock=clock, delay=delay)
    crawl = Crawl(
        web=RobotsWeb(web, user_agent="lycosa/1", clock=clock, slots=slots),
        assess=Assessor(read=lambda fetch: None, judge=None),
        loop=Loop(BreadthFirst(), frontier, clock=clock, retries=2),
        clock=clock,
        status=Status(),
        slots=slots,
    )
    crawl.loop.start([Url(seed) for seed in seeds])

    async def run() -> None:
        async for _ in crawl.visits():
            pass

    asyncio.run(run())
    return web


def gaps(moments: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(moments)]


def test_robots_txt_is_a_request_like_any_other() -> None:
    web = crawled(
        {"http://a.example/robots.txt": "User-agent: *\nCrawl-delay: 3", "http://a.example/": "<html>"},
        ["http://a.example/"],
    )
    assert [url for _, url in web.asked] == ["http://a.example/robots.txt", "http://a.example/"]
    assert gaps(web.moments("a.example")) == [3.0]


def test_a_third_host_that_robots_txt_of_many_lead_to_is_asked_in_its_turn() -> None:
    seeds = [f"http://n{n}.example/" for n in range(40)]
    pages: dict[str, bytes | str | Reply] = dict.fromkeys(seeds, "<html>")
    pages |= {seed + "robots.txt": Reply(301, {"Location": "http://third.example/robots.txt"}) for seed in seeds}
    pages |= {"http://third.example/robots.txt": "User-agent: *\nDisallow: /no", "http://third.example/": "<html>"}
    web = crawled(pages, [*seeds, "http://third.example/"])
    assert min(gaps(web.moments("third.example"))) >= DELAY
    assert len(web.moments("third.example")) == 40 + 2
    assert {url for _, url in web.asked} >= set(seeds)
    for seed in seeds:
        assert min(gaps(web.moments(host_of(seed)))) >= DELAY


def test_without_a_delay_the_order_is_as_if_robots_txt_cost_nothing() -> None:
    seeds = [f"http://n{n}.example/" for n in range(5)]
    pages: dict[str, bytes | str | Reply] = dict.fromkeys(seeds, "<html>")
    web = crawled(pages, seeds, delay=0.0)
    assert [url for _, url in web.asked] == [each for seed in seeds for each in (seed + "robots.txt", seed)]


def test_a_third_host_that_asks_for_peace_is_left_in_peace() -> None:
    seeds = [f"http://n{n}.example/" for n in range(3)]
    busy = Reply(429, {"Retry-After": "100"})
    pages: dict[str, bytes | str | Reply] = {
        seed + "robots.txt": Reply(302, {"Location": "http://third.example/r"}) for seed in seeds
    }
    web = crawled(pages | {"http://third.example/r": busy}, seeds)
    assert min(gaps(web.moments("third.example"))) >= 100.0


def test_redirects_of_robots_txt_come_to_an_end() -> None:
    pages: dict[str, bytes | str | Reply] = {
        "http://a.example/robots.txt": Reply(301, {"Location": "http://b.example/robots.txt"}),
        "http://b.example/robots.txt": Reply(301, {"Location": "http://a.example/robots.txt"}),
        "http://a.example/": "<html>",
    }
    web = crawled(pages, ["http://a.example/"])
    assert len(web.asked) == 7
    assert web.asked[-1][1] == "http://a.example/"
    assert min(gaps(web.moments("a.example"))) >= DELAY


def test_sitemaps_wait_for_what_hosts_ask_for() -> None:
    clock = SimulatedClock(1_000.0)
    xml = "<urlset><url><loc>http://a.example/{}</loc></url></urlset>"
    index = "".join(f"<sitemap><loc>http://a.example/{n}.xml</loc></sitemap>" for n in range(3))
    busy = Reply(429, {"Retry-After": "20"})
    pages: dict[str, bytes | str | Reply] = {
        "http://a.example/robots.txt": (
            "User-agent: *\nCrawl-delay: 3\nSitemap: /map.xml\nSitemap: http://b.example/b.xml"
        ),
        "http://a.example/map.xml": f"<sitemapindex>{index}</sitemapindex>",
        "http://b.example/b.xml": busy,
    } | {f"http://a.example/{n}.xml": xml.format(n) for n in range(3)}
    web, slots = TimedWeb(pages, clock), CurrentSlots()
    robots = RobotsWeb(web, user_agent="lycosa/1", clock=clock, slots=slots)
    found = asyncio.run(
        urls_in_sitemaps(
            robots,
            robots=robots,
            host_urls=[Url("http://a.example/")],
            clock=clock,
            requests=Requests(concurrency=1),
            slots=slots,
        )
    )
    assert found.urls == [f"http://a.example/{n}" for n in range(3)]
    assert min(gaps(web.moments("a.example"))) >= 3.0
    on_b = [at for at, url in web.asked if url == "http://b.example/b.xml"]
    assert len(on_b) == 3
    assert min(gaps(on_b)) >= 20.0
