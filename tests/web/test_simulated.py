import asyncio
from random import Random

import pytest

from lycosa.run.examples import PrefetchedWeb
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from web.flaky import FlakyWeb
from web.simulated import Reply, SimulatedWeb

URL = Url("http://a.example/")
CLOCK = SimulatedClock(100.0)


def test_a_simulated_fetch_needs_no_event_loop() -> None:
    clock = SimulatedClock(100.0)
    fetching = SimulatedWeb({URL: "<html>é"}, clock=clock, latency=0.5).fetch(URL)
    try:
        fetching.send(None)
    except StopIteration as end:
        fetch: Fetch = end.value
    assert (fetch.outcome, fetch.content, fetch.at, fetch.elapsed) == (Outcome.OK, "<html>é".encode(), 100.0, 0.5)
    assert clock.now() == 100.5


def test_an_unchanged_page_is_told_by_its_etag() -> None:
    pages: dict[Url, bytes | str | Reply] = {URL: b"<html>one"}
    web = SimulatedWeb(pages, clock=CLOCK, headers={"Server": "made up"})
    first = asyncio.run(web.fetch(URL))
    assert first.header("server") == "made up"
    known = PastFetch(URL, 0.0, Outcome.OK, etag=first.header("etag") or "")
    again = asyncio.run(web.fetch(URL, known=known))
    assert (again.outcome, again.status, again.body) == (Outcome.UNCHANGED, 304, b"")
    pages[URL] = b"<html>two"
    assert asyncio.run(web.fetch(URL, known=known)).content == b"<html>two"


@pytest.mark.slow
def test_a_flaky_web_loses_its_share_and_the_same_seed_the_same_requests() -> None:
    def outcomes(seed: int) -> list[Outcome]:
        web = FlakyWeb(SimulatedWeb({URL: "<html>"}, clock=CLOCK), failure_rate=0.3, random=Random(seed), clock=CLOCK)
        return [asyncio.run(web.fetch(URL)).outcome for _ in range(200)]

    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert 30 < outcomes(1).count(Outcome.FAILED) < 90


def test_what_is_remembered_is_given_out_once() -> None:
    web = PrefetchedWeb(
        SimulatedWeb({URL: "<html>new"}, clock=CLOCK), {URL: Fetch(URL, Outcome.OK, 0.0, content=b"<html>old")}
    )
    assert [asyncio.run(web.fetch(URL)).content for _ in range(3)] == [b"<html>old", b"<html>new", b"<html>new"]
