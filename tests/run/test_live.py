"""A run over HTTP: who may be asked, what is learnt first, and that how it ended is recorded however it ends."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from crawling import collection, listing, pages, rows, waiting
from lycosa.frontier.admission import Scope
from lycosa.recipe import DEFAULT_STRATEGY, Budget, Topic
from lycosa.run.crawl import INTERRUPTED
from lycosa.run.live import LiveCrawl, LiveRun, require_contact
from lycosa.run.options import CommandSettings
from lycosa.run.session import Session
from lycosa.strategies.best_first import BestFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import RecipeError, UsageError
from lycosa.vocabulary.records import Url, Visit
from sessions import crawl, opened, visited, web_of
from web.simulated import Reply
from worlds import TOPICAL, TOPICAL_SEED, TWO_SITES, html

ONE, TWO = Url("http://one.example/"), Url("http://two.test/")
PUBLIC = "http://bees.org/"


@pytest.fixture
def bees(tmp_path: Path) -> Path:
    return collection(tmp_path / "bees", [TOPICAL_SEED])


def prepared(session: Session, world: dict[Url, Any] = TOPICAL, settings: CommandSettings = CommandSettings()) -> Any:
    return asyncio.run(LiveRun(session, web_of(world, session)).prepare(settings))


# Who asks


@pytest.mark.parametrize(
    ("changes", "resolve"),
    [
        ({"contact": "me@example.org"}, ()),
        ({}, ("*=127.0.0.1:80",)),
        ({}, ("Bees.org=127.0.0.1:80",)),
    ],
)
def test_public_hosts_are_asked_by_those_who_can_be_reached(tmp_path: Path, changes: dict, resolve: tuple) -> None:
    with opened(collection(tmp_path / "c", [PUBLIC]), **changes) as session:
        require_contact(session, resolve)


def test_hosts_that_are_not_public_need_no_contact(bees: Path) -> None:
    with opened(bees) as session:
        require_contact(session, ())


def test_a_contact_is_asked_for_by_the_name_of_the_host_and_of_the_file(tmp_path: Path) -> None:
    with (
        opened(collection(tmp_path / "c", [PUBLIC])) as session,
        pytest.raises(RecipeError, match=r"bees\.org is a public host.*lycosa\.toml"),
    ):
        require_contact(session, ("other.org=127.0.0.1:80",))


def test_examples_and_pages_of_a_log_within_the_scope_count_like_seeds(bees: Path) -> None:
    with opened(bees) as session, pytest.raises(RecipeError, match="contact"):
        require_contact(session, (), [Url(PUBLIC)])
    with opened(bees, scope=Scope(hosts=("topical.example",))) as session:
        require_contact(session, (), [Url(PUBLIC)])
    listing(bees / "good.txt", [PUBLIC])
    with opened(bees, topic=Topic(examples="good.txt")) as session, pytest.raises(RecipeError, match="contact"):
        require_contact(session, ())


def test_nothing_is_asked_and_no_run_recorded_without_a_contact(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", [PUBLIC])

    async def run(session: Session) -> None:
        async with LiveCrawl(session, CommandSettings()):
            pass

    with opened(folder) as session, pytest.raises(RecipeError, match="contact"):
        asyncio.run(run(session))
    assert rows(folder, "SELECT count(*) FROM runs") == [(0,)]


# Before the first page


def test_without_a_seed_there_is_no_run(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c")
    with pytest.raises(RecipeError, match="no seeds"), opened(folder) as session:
        prepared(session)
    assert rows(folder, "SELECT count(*) FROM runs") == [(0,)]


def test_a_topic_that_nothing_names_is_refused_before_a_run_is_recorded(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", [ONE], topic="")
    with pytest.raises(UsageError, match="names no topic"), opened(folder) as session:
        prepared(session)
    assert rows(folder, "SELECT count(*) FROM runs") == [(0,)]


@pytest.mark.slow
def test_the_default_strategy_is_told_once_where_runs_went_by_another(bees: Path) -> None:
    def said(pages: int, **changes: Any) -> list[str]:
        lines: list[str] = []
        crawl(bees, TOPICAL, pages, notify=lines.append, **changes)
        return [line for line in lines if "the default" in line]

    assert said(2, strategy="best-first") == []
    message = "Using the default strategy, hunter; the last run used best-first (--strategy best-first keeps it)"
    assert said(4) == [message]
    assert said(6) == []
    assert said(8, strategy="best-first") == said(9) == []


@pytest.mark.slow
def test_the_new_default_is_told_once_where_the_recipe_names_the_former_one(bees: Path) -> None:
    def said(pages: int, settings: CommandSettings = CommandSettings()) -> list[str]:
        lines: list[str] = []
        crawl(bees, TOPICAL, pages, settings=settings, notify=lines.append, strategy="adaptive")
        return [line for line in lines if "the default" in line]

    assert said(2, CommandSettings(names_strategy=True)) == []
    message = (
        f"Using adaptive, which {bees / 'lycosa.toml'} names; the default is now hunter, which finds more pages on the "
        "topic (--strategy hunter tries it)"
    )
    assert said(4) == [message]
    assert said(6) == []


def test_an_interrupt_while_the_topic_is_learnt_leaves_no_run(bees: Path) -> None:
    listing(bees / "good.txt", ["http://bees.example/0"])
    with opened(bees, topic=Topic(examples="good.txt")) as session:
        session.status.interrupt()
        assert prepared(session) is None
        assert session.status.stop_reason == INTERRUPTED
        assert session.collection.catalog.runs() == []


class Asked(dict[Url, bytes]):
    """Pages of which it is noted which were asked for."""

    def __init__(self, pages: dict[Url, bytes]):
        super().__init__(pages)
        self.urls: list[Url] = []

    def get(self, url: Url, default: Any = None) -> Any:
        self.urls.append(url)
        return super().get(url, default)


def test_an_example_that_is_a_seed_too_is_asked_for_once(bees: Path) -> None:
    example, world = Url("http://bees.example/0"), Asked(TOPICAL)
    listing(bees / "good.txt", [example])
    listing(bees / "seeds.txt", [example])
    assert crawl(bees, world, 3, topic=Topic(examples="good.txt"))[0] == example
    assert world.urls.count(example) == 1


def test_sitemaps_of_the_seeds_hosts_are_started_from_too(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", [ONE])
    hidden = Url(ONE + "hidden")
    world = TWO_SITES | {
        Url(ONE + "robots.txt"): Reply(200, {"Content-Type": "text/plain"}, f"Sitemap: {ONE}map.txt".encode()),
        Url(ONE + "map.txt"): Reply(200, {"Content-Type": "text/plain"}, hidden.encode()),
        hidden: b"<title>Hidden</title>honey bee",
    }
    messages: list[str] = []
    with opened(folder, notify=messages.append) as session:
        assert hidden in asyncio.run(visited(session, world, CommandSettings(sitemaps=True)))
    assert "1 URL in 1 sitemap" in messages
    assert rows(folder, "SELECT seeds FROM runs") == [(f'["{ONE}","{hidden}"]',)]


# The run


def last_run(folder: Path) -> tuple[object, ...]:
    return rows(folder, "SELECT strategy, stop_reason FROM runs ORDER BY rowid DESC LIMIT 1")[0]


@pytest.mark.slow
def test_how_a_run_ended_is_recorded(bees: Path) -> None:
    assert len(crawl(bees, TOPICAL, 7, strategy="best-first")) == 7
    assert last_run(bees) == ("best-first", "7 pages, as requested")
    crawl(bees, TOPICAL, strategy="best-first")
    assert last_run(bees) == ("best-first", "nothing is left to fetch")
    assert set(pages(bees)) == set(TOPICAL)


class UserError(Exception):
    """The user's own code has failed."""


@pytest.mark.parametrize(("error", "reason"), [(UserError, "an error (UserError)"), (KeyboardInterrupt, INTERRUPTED)])
def test_a_run_that_ends_by_an_exception_says_so(bees: Path, error: type[BaseException], reason: str) -> None:
    async def run(session: Session) -> None:
        live = LiveRun(session, web_of(TOPICAL, session))
        complete = await live.prepare(CommandSettings())
        async with AsyncExitStack() as stack:
            async for _ in await live.visits(complete, stack):
                if session.status.pages == 3:
                    raise error

    with pytest.raises(error), opened(bees) as session:
        asyncio.run(run(session))
    assert last_run(bees) == (DEFAULT_STRATEGY, reason)
    assert len(pages(bees)) == 3
    assert len(crawl(bees, TOPICAL, 5)) == 2, "the next run goes on"


@pytest.mark.parametrize("method", ["learn", "propose"])
def test_a_strategy_that_raises_loses_no_link(bees: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    moved = Url("http://bees.example/moved")
    world = {**TOPICAL, TOPICAL_SEED: html("Start", "A few places.", [moved]), moved: Reply(301, {"Location": "/0"})}
    working, events = getattr(BestFirst, method), 0

    def failing(strategy: BestFirst, event: Visit) -> object:
        nonlocal events
        events += 1
        if events % 2:
            raise UserError
        return working(strategy, event)

    monkeypatch.setattr(BestFirst, method, failing)
    for _ in range(4):
        with pytest.raises(UserError):
            crawl(bees, world, 9, strategy="best-first")
    found = {url for (url,) in rows(bees, "SELECT target FROM links")}
    assert len(pages(bees)) > 4
    assert waiting(bees).keys() == found - set(pages(bees)) - {moved}


@pytest.mark.slow
def test_stopped_and_gone_on_a_crawl_is_the_same_as_in_one_run(tmp_path: Path) -> None:
    whole, stopped = (collection(tmp_path / name, [TOPICAL_SEED]) for name in ("whole", "stopped"))
    expected = crawl(whole, TOPICAL, 20)
    assert crawl(stopped, TOPICAL, 4) + crawl(stopped, TOPICAL, 11) + crawl(stopped, TOPICAL, 20) == expected
    assert waiting(stopped) == waiting(whole)


@pytest.mark.slow
def test_another_strategy_ranks_anew_what_waits_and_says_so(bees: Path) -> None:
    messages: list[str] = []
    crawl(bees, TOPICAL, 5, strategy="breadth-first", notify=messages.append)
    crawl(bees, TOPICAL, 8, strategy="breadth-first", notify=messages.append)
    assert not [line for line in messages if "ranked again" in line]
    crawl(bees, TOPICAL, 10, strategy="best-first", notify=messages.append)
    [line] = [line for line in messages if "ranked again" in line]
    assert line == "changed: strategy; the waiting links are ranked again for best-first"


@pytest.mark.parametrize(("strategy", "is_estimated"), [("adaptive", True), ("best-first", False)])
def test_standing_is_estimated_for_a_strategy_that_uses_it(bees: Path, strategy: str, is_estimated: bool) -> None:
    crawl(bees, TOPICAL, 3, strategy=strategy)
    assert [value is not None for (value,) in rows(bees, "SELECT standing FROM pages")] == [is_estimated] * 3
    assert (bees / "standing.json").exists() is is_estimated


def test_a_crawl_is_complete_when_it_is_built(bees: Path) -> None:
    with opened(bees, stop=Budget(pages=9), strategy="adaptive") as session:
        complete = prepared(session)
        assert complete.loop is session.loop
        assert complete.status is session.status
        assert complete.budget == Budget(pages=9)
        assert complete.assess.judge is not None and complete.assess.standing is not None
        assert isinstance(complete.clock, SimulatedClock)
        assert len(session.frontier) == 1, "the seed waits"
