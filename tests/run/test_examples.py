"""Example pages: fetched under the rules of a crawl, recorded, and not fetched twice."""

import asyncio
from pathlib import Path

import pytest

from crawling import collection, listing, rows
from lycosa.run.crawl import EverySeedRefusedError
from lycosa.run.examples import fetch_examples, unvisited_examples
from lycosa.run.session import Session
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from sessions import NOW, crawl, opened, web_of
from web.simulated import Reply
from worlds import html

HIVE, GONE = Url("http://bees.example/hive"), Url("http://bees.example/gone")
WAX, OLD = Url("http://wax.test/"), Url("http://wax.test/old")
SHIP = Url("http://sea.test/")
WORLD = {
    HIVE: html("Hive", "bees in a hive", [WAX]),
    WAX: html("Wax", "wax of bees"),
    OLD: Reply(301, {"Location": "/"}),
    SHIP: html("Ship", "a ship at sea"),
}
DAY = 86_400.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = collection(
        tmp_path / "c", [HIVE], topic='examples = "good.txt"\nnegatives = "bad.txt"', rest="[requests]\ndelay = 2\n"
    )
    listing(folder / "good.txt", [HIVE, OLD, GONE, "a text needs no fetch"])
    listing(folder / "bad.txt", [SHIP])
    return folder


def fetched(session: Session, world: dict = WORLD) -> None:
    asyncio.run(fetch_examples(session, web_of(world, session)))


def test_examples_that_can_be_had_are_recorded_and_of_the_others_it_is_told_why(folder: Path) -> None:
    messages: list[str] = []
    with opened(folder, notify=messages.append) as session:
        fetched(session)
        named = {example.url: example.good for example in session.collection.catalog.examples()}
        assert named == {HIVE: True, OLD: True, SHIP: False}
        assert session.pages.page(OLD).title == "Wax", "a redirect leads to the page of the example"
    assert messages == ["fetching 4 example pages", f"example {GONE}: not found (404)"]


def test_examples_that_the_collection_has_are_not_fetched_again(folder: Path) -> None:
    with opened(folder) as session:
        fetched(session)
    messages: list[str] = []
    with opened(folder, notify=messages.append) as session:
        fetched(session)
    assert messages[0] == "fetching 1 example page", "the one that was not there"


def test_of_an_example_that_leads_to_another_it_is_told_where(folder: Path) -> None:
    listing(folder / "good.txt", [HIVE, OLD, WAX])
    messages: list[str] = []
    with opened(folder, notify=messages.append) as session:
        fetched(session)
        assert {example.url for example in session.collection.catalog.examples()} == {HIVE, WAX, SHIP}
    assert messages == ["fetching 4 example pages", f"example {OLD}: moved (301) to {WAX}"]


def test_a_host_that_was_asked_for_an_example_has_its_rest_before_the_crawl(folder: Path) -> None:
    with opened(folder) as session:
        fetched(session)
        held = session.frontier.resting_beyond(NOW)
        assert held.keys() == {"bees.example", "wax.test", "sea.test"}
        assert all(until <= session.clock.now() + 2 for until in held.values())


@pytest.mark.slow
def test_the_crawl_takes_an_example_page_that_was_fetched_lately_as_it_is(folder: Path) -> None:
    with opened(folder) as session:
        fetched(session)
        assert unvisited_examples(session).keys() == {HIVE, SHIP}, "where a redirect led is another URL"
    with opened(folder, now=NOW + 2 * DAY) as session:
        assert unvisited_examples(session) == {}
    crawl(folder, WORLD, 1)
    with opened(folder) as session:
        assert HIVE not in unvisited_examples(session), "it was visited"
    assert rows(folder, "SELECT count(*) FROM fetches WHERE url = ?", HIVE) == [(1,)]


class Refusing:
    """A web in which nobody may be asked."""

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return Fetch(url, Outcome.REFUSED, 0.0, detail="127.0.0.1 is loopback")

    async def close(self) -> None:
        pass


def test_when_every_example_is_refused_there_must_be_another_to_learn_from(folder: Path) -> None:
    with opened(folder) as session:
        asyncio.run(fetch_examples(session, Refusing()))
    listing(folder / "good.txt", [HIVE])
    with pytest.raises(EverySeedRefusedError), opened(folder) as session:
        asyncio.run(fetch_examples(session, Refusing()))


def test_an_interrupt_leaves_the_rest_unfetched(folder: Path) -> None:
    messages: list[str] = []
    with opened(folder, notify=messages.append) as session:
        session.status.interrupt()
        fetched(session)
        assert session.collection.catalog.examples() == []
    assert {line for line in messages if "not reached" in line} == {
        f"example {url}: not reached" for url in (HIVE, OLD, GONE, SHIP)
    }


def test_once_the_minutes_of_the_run_are_over_the_others_are_left_to_the_next_run(folder: Path) -> None:
    recipe = folder / "lycosa.toml"
    recipe.write_text(recipe.read_text().replace("[requests]", "[stop]\nminutes = 1\n[requests]\nretries = 9"))
    with opened(folder) as session:
        began = session.clock.now()
        fetched(session, WORLD | {SHIP: Reply(429, {"Retry-After": "50"})})
        assert session.clock.now() == began + 60
        assert session.status.stop_reason == "1 minute has passed"
        assert {example.url for example in session.collection.catalog.examples()} == {HIVE, OLD}
