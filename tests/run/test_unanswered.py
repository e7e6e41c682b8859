"""What got no answer, as when the network was down, is tried again by later runs; a dead host costs little."""

import asyncio
from collections.abc import Container
from pathlib import Path
from unittest.mock import patch

import pytest

import sessions
from crawling import collection, outcomes, pages, waiting
from lycosa.recipe import Budget
from lycosa.run.session import Session
from lycosa.run.steering import block
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.vocabulary.urls import hostname_of
from sessions import opened
from web.simulated import SimulatedWeb
from worlds import html

HOME = Url("http://home.example/")
A = [Url(f"http://a.example/{number}") for number in range(4)]
B = [Url(f"http://b.example/{number}") for number in range(2)]
WORLD = {HOME: html("home", "bees and hives", [*A, *B]), **{url: html(url, f"bees of {url}") for url in (*A, *B)}}


class _PartlyDown:
    """A web of which some hosts do not answer."""

    def __init__(self, session: Session, down: Container[str]):
        self._web = SimulatedWeb(WORLD, clock=session.clock)
        self._clock = session.clock
        self._down = down

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        if hostname_of(url) in self._down:
            return Fetch(url, Outcome.FAILED, self._clock.now(), detail="no route")
        return await self._web.fetch(url, known=known)


def run(folder: Path, *, down: Container[str] = (), stop: int | None = None, strategy: str = "best-first") -> list[Url]:
    """What a run visits, in order, while some hosts are down."""
    with opened(folder, stop=Budget(pages=stop), strategy=strategy) as session:
        web = _PartlyDown(session, down)
        with patch.object(sessions, "web_of", lambda *_: web):
            return asyncio.run(sessions.visited(session, WORLD))


@pytest.fixture
def outage(tmp_path: Path) -> Path:
    """A collection of one page, whose links were all fetched while nobody answered."""
    folder = collection(tmp_path / "c", [HOME], rest="[requests]\ndelay = 0\nretries = 1\n")
    run(folder, stop=1)
    assert set(run(folder, down=("a.example", "b.example"))) == {*A, *B}
    assert pages(folder) == [HOME] and not waiting(folder)
    return folder


@pytest.mark.parametrize("strategy", ["best-first", "hunter", "infospiders"])
def test_all_that_an_outage_lost_is_fetched_once_the_network_is_back(outage: Path, strategy: str) -> None:
    assert sorted(run(outage, strategy=strategy)) == sorted([*A, *B])
    assert set(pages(outage)) == set(WORLD)
    assert run(outage, strategy=strategy) == []


def test_a_host_that_stays_dead_costs_one_fetch_a_run_and_not_for_ever(outage: Path) -> None:
    first = run(outage, down=("a.example",))
    assert sorted(first) == sorted([A[0], *B]), "the others of this host are left alone"
    tried = [run(outage, down=("a.example",)) for _ in range(20)]
    assert tried[:4] == [[A[1]], [A[2]], [A[3]], [A[0]]], "in turn"
    assert [url for urls in tried for url in urls].count(A[0]) == 3, "five times in all"
    assert tried[-1] == []


def test_what_is_given_back_keeps_its_reasons(outage: Path) -> None:
    with opened(outage, strategy="best-first") as session:
        session.begin_run(session.state.run_with_last_settings(None))
        candidates = [session.frontier.take(sessions.NOW + second) for second in range(2)]
    assert {candidate.url for candidate in candidates} == {A[0], B[0]}
    assert {(candidate.found_on, candidate.depth) for candidate in candidates} == {(HOME, 1)}


def test_what_a_run_may_not_fetch_is_not_given_back(outage: Path) -> None:
    block(outage, "a.example")
    assert sorted(run(outage)) == B


def test_a_run_that_is_killed_continues_with_the_rest(outage: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(outage, strategy="best-first") as session:
        web = _PartlyDown(session, ())
        with patch.object(sessions, "web_of", lambda *_: web):
            asyncio.run(sessions.visited(session, WORLD, is_killed=True))
        raise ZeroDivisionError
    with opened(outage, strategy="best-first") as session:
        assert not len(session.frontier)
    assert set(pages(outage)) == set(WORLD)


def test_what_waits_again_is_not_lost_to_another_ranking(outage: Path) -> None:
    with opened(outage, strategy="best-first") as session:
        session.begin_run(session.state.run_with_last_settings(None))
        session.reranker.rerank()
        assert len(session.frontier) == 2
    assert sorted(run(outage)) == sorted([*A, *B])
    assert set(outcomes(outage).values()) == {"ok"}
