"""A collection opened for writing: caught up with its archive, its strategy and frontier as they were."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace
from threadpoolctl import threadpool_info, threadpool_limits

from crawling import collection, copied, pages, waiting
from lycosa.collection.events import Attempt, RunStart
from lycosa.recipe import DEFAULT_STRATEGY, Recipe, UtilityOptions
from lycosa.run.session import Session
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url
from sessions import NOW, crawl, opened
from simulation import AboutBees
from worlds import TOPICAL, TOPICAL_SEED

BEES = Url("http://bees.example/0")
SEEN = 12  # pages of the collection that most tests begin with


class AboutShips:
    """A judge of the contrary opinion."""

    def relevance(self, page) -> float:
        return 1.0 - AboutBees().relevance(page)


@pytest.fixture
def bees(tmp_path: Path) -> Path:
    return collection(tmp_path / "bees", [TOPICAL_SEED])


@pytest.fixture(scope="module")
def crawled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("session") / "bees", [TOPICAL_SEED])
    crawl(folder, TOPICAL, SEEN, strategy="best-first")
    return folder


@pytest.fixture
def crawled(crawled_once: Path, tmp_path: Path) -> Path:
    return copied(crawled_once, tmp_path / "bees")


def set_state(folder: Path, key: str, value: object) -> None:
    """Changes what a collection says of itself."""
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog, catalog:
        catalog.execute("UPDATE state SET value = ? WHERE key = ?", (json.dumps(value), key))


def states(session: Session) -> tuple[object, ...]:
    """What a session goes on with."""
    status = session.status
    counted = (status.pages, status.relevant, status.pages_since_relevant, status.bytes_kept)
    return (session.strategy_name, session.loop.strategy.state(), counted, len(session.frontier))


def test_a_new_collection_opens_empty_and_stays_open_to_one_session(bees: Path) -> None:
    with opened(bees) as session:
        assert (session.status.pages, len(session.frontier), session.collection.catalog.runs()) == (0, 0, [])
        with pytest.raises(CollectionError), opened(bees):
            pass


def test_a_crawl_starts_at_the_seeds_or_else_at_the_good_examples(bees: Path) -> None:
    with opened(bees) as session:
        assert session.recipe_seeds() == [TOPICAL_SEED]
    (bees / "good.txt").write_text(f"{BEES}\na text about bees\n")
    (bees / "bad.txt").write_text("http://ships.example/0\n")
    topic = replace(session.recipe.topic, examples="good.txt", negatives="bad.txt")
    with opened(bees, seeds="", topic=topic) as session:
        assert session.recipe_seeds() == [BEES]
    with opened(bees, seeds="", topic=replace(topic, keywords=("bee",))) as session:
        assert session.recipe_seeds() == [BEES], "a rule decides the topic, and examples are seeds"


@pytest.mark.parametrize("strategy", ["best-first", "adaptive", "infospiders"])
def test_after_a_kill_a_session_reads_from_the_archive_what_was_lost(tmp_path: Path, strategy: str) -> None:
    killed, whole = (collection(tmp_path / name, [TOPICAL_SEED]) for name in ("killed", "whole"))
    for folder, is_killed in ((killed, True), (whole, False)):
        crawl(folder, TOPICAL, 5, strategy=strategy)
        crawl(folder, TOPICAL, SEEN, strategy=strategy, is_killed=is_killed)
    assert len(pages(killed)) == 5, "the catalog does not know of the others yet"
    with opened(killed) as caught_up, opened(whole) as session:
        assert states(caught_up) == states(session)
    assert pages(killed) == pages(whole)
    assert waiting(killed) == waiting(whole)


def test_what_an_exception_leaves_half_done_is_read_again(crawled: Path) -> None:
    before = waiting(crawled)
    with pytest.raises(ZeroDivisionError), opened(crawled) as session:
        session.frontier.take(NOW)
        raise ZeroDivisionError
    assert waiting(crawled) == before
    with opened(crawled) as session:
        assert len(session.frontier) == len(before)


def test_a_fetch_that_failed_in_a_run_that_was_killed_is_tried_once_more(bees: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(bees, strategy="best-first") as session:
        run = RunStart(NOW, "best-first", (BEES,))
        session.record(run)
        session.begin_run(run)
        candidate = session.frontier.take(NOW)
        session.record(Attempt(candidate, Fetch(BEES, Outcome.FAILED, NOW, detail="timeout")))
        raise ZeroDivisionError
    with opened(bees, strategy="best-first") as session:
        again = session.frontier.take(NOW)
        assert (again.url, again.attempts) == (BEES, 1)


def test_strategy_and_frontier_come_back_as_they_were_at_the_checkpoint(bees: Path) -> None:
    crawl(bees, TOPICAL, 5)
    with opened(bees, strategy="pagerank") as session:
        before = states(session)
        assert before[0] == DEFAULT_STRATEGY, "whatever the recipe says of the next run"
    with opened(bees) as session:
        assert states(session) == before


class Clocks:
    """The seconds that have passed, and those of them that the process has worked."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def monotonic(self) -> float:
        return self.wall

    def process_time(self) -> float:
        return self.cpu


def test_a_crawl_that_works_little_is_saved_less_often(bees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, saved = Clocks(), list[float]()
    monkeypatch.setattr("lycosa.run.session.time", clocks)
    failed = Attempt(Candidate(BEES, 1.0), Fetch(BEES, Outcome.FAILED, at=NOW))
    with opened(bees) as session:

        def save() -> None:
            clocks.cpu += 0.1
            saved.append(clocks.wall)

        with monkeypatch.context() as patched:
            patched.setattr(session.collection, "checkpoint", save)
            session.checkpoint()
            for second, work in ((1, 5.0), (3, 0.0), (4, 0.0), (8, 1.5), (19, 0.0), (22, 2.5)):
                clocks.wall, clocks.cpu = float(second), clocks.cpu + work
                session.record(failed)
                session.checkpoint_if_due()
    assert saved == [0.0, 3.0, 19.0, 22.0]


def test_where_an_older_version_kept_less_of_a_strategy_what_waits_is_ranked_anew(crawled: Path) -> None:
    crawl(crawled, TOPICAL, SEEN + 2, strategy="adaptive")
    told: list[str] = []
    with opened(crawled) as session:
        before = states(session)
    set_state(crawled, "strategy_state", {})
    with opened(crawled, tell=told.append) as session:
        assert told == ["an older version has crawled here: ranking again what waits"]
        assert states(session) == before, "which comes to the same"
    with opened(crawled, tell=told.append):
        assert len(told) == 1


def test_a_run_like_the_one_before_leaves_what_waits_as_it_is(crawled: Path) -> None:
    with opened(crawled) as session:
        run = session.run_as_before(None)
        assert not session.begin_run(run)
        assert not session.begin_run(replace(run, seeds=(Url("http://new.example/"),))), "a seed ranks by itself"
        session.rerank()
        assert session.frontier.is_known(Url("http://new.example/"))


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": "breadth-first"},
        {"strategy": "adaptive", "utility": {"target": 0.2}},
        {"scope": {"hosts": ["bees.example"]}},
        {"strategy": "random", "options": {"seed": 3}},
    ],
)
def test_a_run_that_goes_another_way_asks_for_a_new_ranking(crawled: Path, change: dict[str, object]) -> None:
    with opened(crawled) as session:
        run = replace(session.run_as_before(None), **change)
        assert session.begin_run(run)
        assert not session.begin_run(run), "the second time it is the run before"
        assert session.strategy_name == run.strategy


def test_another_target_asks_for_a_new_ranking_where_the_strategy_has_one(crawled: Path) -> None:
    with opened(crawled) as session:
        best_first = session.run_as_before(None)
        assert not session.begin_run(replace(best_first, utility={"target": 0.2}))
        hunter = replace(best_first, strategy="hunter")
        assert session.begin_run(hunter)
        assert not session.begin_run(replace(hunter, utility={"target": 1.0})), "which it has by default"
        assert session.begin_run(replace(hunter, utility={"target": 0.2}))


def test_a_scope_holds_from_the_run_on_that_names_it(crawled: Path) -> None:
    with opened(crawled) as session:
        assert session.is_in_scope(Url("http://ships.example/1"))
        session.begin_run(replace(session.run_as_before(None), scope={"hosts": ["bees.example"]}))
        session.rerank()
        assert not session.is_in_scope(Url("http://ships.example/1"))
    assert {url.split("/")[2] for url in waiting(crawled)} == {"bees.example"}


def test_a_new_ranking_is_that_of_a_crawl_that_has_gone_by_the_strategy_from_the_start(crawled: Path) -> None:
    before = waiting(crawled)
    with opened(crawled) as session:
        session.rerank()
    assert waiting(crawled) == pytest.approx(before)


def test_pages_judged_anew_are_counted_and_ranked_anew(crawled: Path) -> None:
    before = waiting(crawled)
    with opened(crawled) as session:
        relevance, standing = session.rerank(judge=AboutShips())
        assert standing == {}
        assert set(relevance) == set(pages(crawled))
        assert session.status.relevant == sum(value >= 0.5 for value in relevance.values())
    assert waiting(crawled).keys() == before.keys()
    assert waiting(crawled) != before


def test_a_plug_in_that_only_the_collection_names_is_not_run(crawled: Path) -> None:
    told: list[str] = []
    set_state(crawled, "strategy", "somebody-elses")
    with opened(crawled, tell=told.append, strategy="best-first") as session:
        assert session.strategy_name == "best-first"
    assert told == [
        "the run before went by the plug-in somebody-elses, which the recipe does not name; going on by best-first"
    ]


def test_options_that_make_no_sense_any_more_do_not_close_a_collection(crawled: Path) -> None:
    told: list[str] = []
    with opened(crawled, tell=told.append) as session:
        session.begin_run(replace(session.run_as_before(None), options={"no such": 1}))
        assert session.run_as_before(None).options is UNSET
    assert len(told) == 1 and told[0].startswith("going on without the options of the run before")


def test_utility_that_makes_no_sense_is_as_usual(crawled: Path) -> None:
    with opened(crawled) as session:
        session.begin_run(replace(session.run_as_before(None), utility={"target": "high"}))
        assert session.run_as_before(None).utility == to_builtins(UtilityOptions())


def test_hosts_that_asked_for_a_long_rest_have_it_over_runs(crawled: Path) -> None:
    with opened(crawled) as session:
        session.frontier.hold("slow.example", NOW + 60)
        session.frontier.hold("quick.example", NOW + 5)
    with opened(crawled) as session:
        assert session.frontier.holds(NOW) == {"slow.example": NOW + 60}


def test_a_page_is_read_again_from_the_archive(crawled: Path) -> None:
    with opened(crawled) as session:
        page = session.page(TOPICAL_SEED)
        assert page is not None and page.title == "Start"
        assert session.page(Url("http://bees.example/none")) is None


def test_rebuilding_afresh_comes_to_the_same(crawled: Path) -> None:
    with opened(crawled) as session:
        before, recipe = states(session), session.recipe
    waited = waiting(crawled)
    with Session(crawled, recipe, clock=SimulatedClock(NOW), afresh=True) as session:
        assert states(session) == before
    assert waiting(crawled) == pytest.approx(waited)


def test_a_session_of_a_folder_without_an_archive_starts_one(tmp_path: Path) -> None:
    with Session(tmp_path, Recipe(), clock=SimulatedClock(NOW)) as session:
        session.frontier.put([Candidate(BEES, 0.5)])
    with Session(tmp_path, Recipe(), clock=SimulatedClock(NOW)) as session:
        assert session.frontier.is_known(BEES)


def test_matrices_are_multiplied_by_one_thread_while_a_collection_is_open_and_by_as_many_as_before_afterwards(
    bees: Path,
) -> None:
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        with opened(bees):
            assert threads() == {1}
        assert threads() == {2}
        with pytest.raises(RuntimeError), opened(bees):
            raise RuntimeError
        assert threads() == {2}
