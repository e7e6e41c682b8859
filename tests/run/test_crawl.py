"""A crawl with all its parts: budgets, redirects, retries, robots and interrupts, over tiny simulated webs."""

import asyncio
from dataclasses import replace
from itertools import groupby
from random import Random

import pytest

from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.wrapper import FrontierWrapper
from lycosa.reading import Reader
from lycosa.run.crawl import EverySeedRefusedError
from lycosa.strategies.best_first import BestFirst
from lycosa.strategies.unfocused import BreadthFirst
from lycosa.vocabulary.clock import SimulatedClock, WallClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, PastFetch, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of
from lycosa.web.robots import RobotsWeb
from simulation import Budget, crawl_of, urls_of, visits_of, without_event_loop
from web.flaky import FlakyWeb
from web.simulated import Reply, SimulatedWeb
from worlds import CHAIN, STAR, TOPICAL, TOPICAL_SEED, html

HUB = Url("http://star.example/")
FIRST = next(iter(CHAIN))


class Notes:
    """A journal that lists what it is told."""

    def __init__(self) -> None:
        self.events: list[object] = []
        self.skips: list[Skip] = []

    def record(self, event: object) -> None:
        self.events.append(event)

    def record_skips(self, skips: list[Skip]) -> None:
        self.skips += skips


def test_it_stops_at_exactly_as_many_pages_as_asked() -> None:
    crawl = crawl_of(STAR, BreadthFirst(), budget=Budget(pages=5))
    assert len(visits_of(crawl, [HUB])) == 5
    assert crawl.status.stop_reason == "5 pages, as requested"


@pytest.mark.parametrize("concurrency", [2, 8, 32])
def test_overlapping_fetches_do_not_overshoot(concurrency: int) -> None:
    crawl = crawl_of(
        TOPICAL,
        BestFirst(),
        clock=WallClock(),
        web=SimulatedWeb(TOPICAL, clock=WallClock(), latency=0.001),
        budget=Budget(pages=20),
        concurrency=concurrency,
    )
    crawl.loop.start([TOPICAL_SEED])

    async def collect() -> list[Visit]:
        return [visit async for visit in crawl.visits()]

    visits = asyncio.run(collect())
    assert crawl.status.pages == 20 == len(visits)
    assert len(set(urls_of(visits))) == 20


@pytest.mark.parametrize("concurrency", [1, 32])
def test_every_page_is_parsed_once_and_several_in_a_row_if_they_arrive_together(concurrency: int) -> None:
    pages = {Url(f"http://host{number}.example/"): html(f"Host {number}", "honey") for number in range(8)}
    crawl = crawl_of(pages, BreadthFirst(), clock=WallClock(), concurrency=concurrency)
    events: list[str] = []

    def read(fetch: Fetch) -> Page | None:
        events.append("parsed")
        return Reader()(fetch)

    crawl = replace(crawl, assess=replace(crawl.assess, read=read), observe=lambda visit: events.append("assessed"))
    crawl.loop.start(list(pages))

    async def collect() -> list[Visit]:
        return [visit async for visit in crawl.visits()]

    visits = asyncio.run(collect())
    assert len(visits) == len(pages) == events.count("parsed") == events.count("assessed")
    assert all(visit.page is not None and visit.page.url == visit.fetch.url for visit in visits)
    in_a_row = max(len(list(run)) for event, run in groupby(events) if event == "parsed")
    assert in_a_row == (1 if concurrency == 1 else len(pages))


def test_it_stops_when_minutes_have_passed() -> None:
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=30.0)
    crawl = crawl_of(STAR, BreadthFirst(), clock=clock, frontier=frontier, budget=Budget(minutes=2))
    assert len(visits_of(crawl, [HUB])) == 4
    assert crawl.status.stop_reason == "2 minutes have passed"


def test_it_stops_when_bytes_are_used_up_and_when_nothing_is_left() -> None:
    crawl = crawl_of(STAR, BreadthFirst(), budget=Budget(bytes=1))
    assert len(visits_of(crawl, [HUB])) == 1
    assert crawl.status.stop_reason.endswith("bytes")
    crawl = crawl_of(STAR, BreadthFirst())
    assert len(visits_of(crawl, [HUB])) == len(STAR)
    assert crawl.status.stop_reason == "nothing is left to fetch"


def test_it_stops_at_exactly_as_many_requests_as_asked() -> None:
    crawl = crawl_of(STAR, BreadthFirst(), budget=Budget(requests=5))
    assert len(visits_of(crawl, [HUB])) == 5
    assert (crawl.status.fetch_counts.requests, crawl.status.stop_reason) == (5, "5 requests made, as requested")


def test_what_robots_forbids_is_no_request_and_yet_takes_its_turn() -> None:
    clock = SimulatedClock()
    rules = Reply(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /leaf\n")
    star = SimulatedWeb(STAR | {Url(HUB + "robots.txt"): rules}, clock=clock)
    web = RobotsWeb(star, user_agent="lycosa/0", clock=clock)
    crawl = crawl_of(STAR, BreadthFirst(), clock=clock, web=web, budget=Budget(requests=5))
    assert len(visits_of(crawl, [HUB])) == 5
    assert (
        crawl.status.fetch_counts.requests,
        crawl.status.fetch_counts.not_sent,
        crawl.status.fetch_counts.answers,
    ) == (1, 4, 5)
    assert crawl.status.stop_reason.startswith("1 request made, as requested; 4 more were not sent")


def test_it_stops_when_the_harvest_has_dried_up() -> None:
    crawl = crawl_of(STAR, BreadthFirst(), budget=Budget(dry_after=4))
    assert len(visits_of(crawl, [HUB])) == 4
    assert "dried up" in crawl.status.stop_reason


def test_a_redirect_goes_through_the_frontier_with_the_same_priority() -> None:
    target = Url("http://chain.example/b")
    moved = Reply(301, {"Location": "/b"})
    visits = visits_of(
        crawl_of(CHAIN | {Url("http://chain.example/old"): moved}, BestFirst()), ["http://chain.example/old"]
    )
    assert [visit.fetch.outcome for visit in visits[:2]] == [Outcome.MOVED, Outcome.OK]
    assert visits[1].candidate.url == target
    assert visits[1].candidate.priority == visits[0].candidate.priority
    assert visits[1].candidate.hops == 1


def test_an_endless_redirect_ends_after_five_hops() -> None:
    world = {Url(f"http://loop.example/{n}"): Reply(302, {"Location": f"/{n + 1}"}) for n in range(20)}
    notes = Notes()
    visits = visits_of(crawl_of(world, BestFirst(), journal=notes), ["http://loop.example/0"])
    assert len(visits) == 6
    assert [skip.why for skip in notes.skips] == ["redirect: more than 5 in a row"]


def test_near_copies_are_kept_but_do_not_spread() -> None:
    text = " ".join(f"word{Random(1).randrange(900)} w{n}" for n in range(200))
    world = {
        Url("http://a.example/"): html("Start", "one two", ["http://a.example/1", "http://a.example/2"]),
        Url("http://a.example/1"): html("Page", text),
        Url("http://a.example/2"): html("Page", text, ["http://a.example/3"]).replace(b">3<", b"> <"),
        Url("http://a.example/3"): html("Three", "never reached"),
    }
    visits = visits_of(crawl_of(world, BreadthFirst()), ["http://a.example/"])
    assert urls_of(visits) == ["http://a.example/", "http://a.example/1", "http://a.example/2"]
    assert visits[2].duplicate_of == "http://a.example/1"


def test_what_asks_not_to_be_kept_or_followed_is_not() -> None:
    robots = b'<meta name="robots" content="%s">'
    world = {
        Url("http://a.example/"): html("Start", "x", ["http://a.example/1", "http://a.example/2"]),
        Url("http://a.example/1"): robots % b"noindex" + html("Not kept", "x", ["http://a.example/3"]),
        Url("http://a.example/2"): robots % b"nofollow" + html("Not followed", "x", ["http://a.example/4"]),
        Url("http://a.example/3"): html("Three", "x"),
        Url("http://a.example/4"): html("Four", "x"),
    }
    notes = Notes()
    crawl = crawl_of(world, BreadthFirst(), journal=notes)
    visits = visits_of(crawl, ["http://a.example/"])
    assert [visit.left_out and str(visit.left_out) for visit in visits] == [None, "noindex", None, None]
    assert urls_of(visits)[-1] == "http://a.example/3"
    assert crawl.status.pages == 3
    assert [(skip.candidate.url, skip.why) for skip in notes.skips] == [("http://a.example/4", "nofollow")]


def test_a_page_in_another_language_is_neither_kept_nor_followed() -> None:
    english = html("Bees", "x", ["http://a.example/de"])
    german = html("Bienen", "x", ["http://a.example/more"]).replace(b'lang="en"', b'lang="de"')
    world = {
        Url("http://a.example/"): english,
        Url("http://a.example/de"): german,
        Url("http://a.example/more"): english,
    }
    visits = visits_of(crawl_of(world, BreadthFirst(), languages=frozenset({"en"})), ["http://a.example/"])
    assert [visit.left_out and str(visit.left_out) for visit in visits] == [None, "language de"]


def test_failures_are_tried_again_with_growing_pauses_and_then_settled() -> None:
    clock = SimulatedClock()
    notes = Notes()
    web = FlakyWeb(SimulatedWeb(CHAIN, clock=clock), failure_rate=1.0, random=Random(1), clock=clock)
    crawl = crawl_of(CHAIN, BestFirst(), clock=clock, web=web, journal=notes, retries=2, backoff=2.0)
    visits = visits_of(crawl, [FIRST])
    assert [visit.fetch.outcome for visit in visits] == [Outcome.FAILED]
    assert visits[0].candidate.attempts == 2
    assert len(notes.events) == 3  # two attempts and the visit
    assert clock.now() == 2.0 + 4.0


def test_a_flaky_web_is_crawled_whole_all_the_same() -> None:
    clock = SimulatedClock()
    web = FlakyWeb(SimulatedWeb(TOPICAL, clock=clock), failure_rate=0.3, random=Random(2), clock=clock)
    visits = visits_of(crawl_of(TOPICAL, BreadthFirst(), clock=clock, web=web, retries=20), [TOPICAL_SEED])
    assert {visit.fetch.url for visit in visits if visit.page} == set(TOPICAL)


def test_robots_and_their_delay_hold() -> None:
    clock = SimulatedClock()
    rules = Reply(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /leaf3\nCrawl-delay: 7\n")
    web = RobotsWeb(
        SimulatedWeb(STAR | {Url(HUB + "robots.txt"): rules}, clock=clock), user_agent="lycosa/0", clock=clock
    )
    visits = visits_of(crawl_of(STAR, BreadthFirst(), clock=clock, web=web), [HUB])
    outcomes = {visit.candidate.url: visit.fetch.outcome for visit in visits}
    assert outcomes[Url(HUB + "leaf3")] is Outcome.FORBIDDEN
    assert list(outcomes.values()).count(Outcome.OK) == len(STAR) - 1
    assert clock.now() >= 7 * (len(STAR) - 2)


class Refusing:
    """A web in which some hosts may not be asked."""

    def __init__(self, refused: str):
        self._refused = refused
        self._web = SimulatedWeb(STAR, clock=SimulatedClock())

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        if self._refused in url:
            return Fetch(url, Outcome.REFUSED, 0.0, detail="127.0.0.1 is loopback")
        return await self._web.fetch(url)

    async def close(self) -> None:
        pass


def test_when_every_seed_is_refused_nothing_is_written_down() -> None:
    notes = Notes()
    crawl = crawl_of({}, BestFirst(), web=Refusing("example"), journal=notes)
    with pytest.raises(EverySeedRefusedError, match="--allow-private"):
        visits_of(crawl, [HUB, Url("http://other.example/")])
    assert notes.events == []


def test_one_refused_seed_among_others_is_an_outcome() -> None:
    notes = Notes()
    crawl = crawl_of({}, BestFirst(), web=Refusing("other"), journal=notes)
    visits = visits_of(crawl, [Url("http://other.example/"), HUB])
    assert [visit.fetch.outcome for visit in visits][:2] == [Outcome.REFUSED, Outcome.OK]
    assert len(notes.events) == len(visits)


def test_an_interrupt_stops_after_the_page_at_hand() -> None:
    crawl = crawl_of(STAR, BreadthFirst())
    crawl.loop.start([HUB])
    seen = []
    for visit in without_event_loop(crawl.visits()):
        seen.append(visit)
        if len(seen) == 3:
            crawl.status.interrupt()
    assert len(seen) == 3
    assert crawl.status.stop_reason == "interrupted"


def test_another_strategy_ranks_what_waits_as_it_would_have_from_the_start() -> None:
    crawl = crawl_of(TOPICAL, BreadthFirst(), budget=Budget(pages=6))
    visits = visits_of(crawl, [TOPICAL_SEED])
    crawl.loop.rerank_from_history(BestFirst(), [TOPICAL_SEED], visits)
    waiting = {c.url: c.priority for c in crawl.loop.frontier._candidates.values()}
    fresh = crawl_of(TOPICAL, BestFirst())
    fresh.loop.start([TOPICAL_SEED])
    for visit in visits:
        fresh.loop.follow_links(visit)
    assert waiting == {c.url: c.priority for c in fresh.loop.frontier._candidates.values()}
    assert set(waiting.values()) <= {0.1, 0.9}


class Broken:
    """A web with a bug."""

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        raise ZeroDivisionError

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_bug_in_a_web_is_not_taken_for_the_end(concurrency: int) -> None:
    crawl = crawl_of({}, BestFirst(), web=Broken(), concurrency=concurrency)
    crawl.loop.start([HUB])

    async def run() -> None:
        async for _ in crawl.visits():
            pass

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_a_crawl_does_not_wait_for_hosts_that_ask_to_be_left_alone_for_long() -> None:
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=0.0)
    frontier.hold(host_of(HUB), 3_600.0)
    crawl = crawl_of(STAR, BestFirst(), clock=clock, frontier=frontier)
    assert visits_of(crawl, [HUB]) == []
    hosts, until = crawl.status.stop_reason.split(", ")
    assert (hosts, until) == ("all remaining hosts asked to wait or cannot be reached", "the first for 60 more minutes")
    assert len(frontier) == 1  # it waits for another run


def test_good_hosts_work_side_by_side_with_a_better_one() -> None:
    clock = SimulatedClock()
    frontier = MemoryFrontier(clock=clock, delay=1.0)
    frontier.rank_by(BestFirst())
    frontier.put([Candidate(Url(f"http://best.example/{n}"), 0.95) for n in range(20)])
    frontier.put([Candidate(Url(f"http://good{n}.example/"), 0.7) for n in range(20)])
    frontier.put([Candidate(Url("http://bad.example/"), 0.1)])
    taken = []
    while clock.now() < 10:
        if candidate := frontier.take(clock.now()):
            taken.append(candidate.priority)
            frontier.settle(candidate.url)
        else:
            clock._now += 0.05
    assert taken.count(0.7) == 20
    assert taken.count(0.95) >= 8
    assert 0.1 not in taken


def test_a_crawl_that_waits_for_more_budget_does_not_exceed_it_where_hosts_are_slow() -> None:
    class AllSlow(FrontierWrapper):
        """A frontier of slow hosts, whose fetches do not count as in flight."""

        slow_in_flight = 30

    pages = {Url(f"http://host{number}.example/"): html(f"Host {number}", "honey") for number in range(30)}
    web = SimulatedWeb(pages, clock=WallClock(), latency=0.001)
    crawl = crawl_of(pages, BreadthFirst(), clock=WallClock(), web=web, concurrency=8)
    crawl.loop.start(list(pages))
    crawl.status.set_page_budget(5)
    is_over = False
    crawl = replace(crawl, may_get_more=lambda: not is_over)

    async def collect() -> list[Visit]:
        def end() -> None:
            nonlocal is_over
            is_over = True
            crawl.status.woken.set()

        asyncio.get_running_loop().call_later(0.1, end)
        with crawl.loop.using_frontier(AllSlow(crawl.loop.frontier)):
            return [visit async for visit in crawl.visits()]

    assert len(asyncio.run(collect())) == crawl.status.pages == 5
