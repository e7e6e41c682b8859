"""The state of a crawl: what a run changes in it, and what a checkpoint keeps."""

from pathlib import Path

import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from crawling import collection, done, rows, skipped, waiting
from lycosa.frontier.admission import Scope, Traps
from lycosa.recipe import UtilityOptions, Waiting
from lycosa.run.steering import block
from lycosa.vocabulary.records import Url
from sessions import NOW, crawl, opened
from worlds import TOPICAL, html


def test_a_run_like_the_one_before_leaves_what_waits_as_it_is(crawled: Path) -> None:
    with opened(crawled) as session:
        run = session.state.run_with_last_settings(None)
        assert not session.begin_run(run)
        assert not session.begin_run(replace(run, seeds=(Url("http://new.example/"),))), "a seed ranks by itself"
        session.reranker.rerank()
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
        run = replace(session.state.run_with_last_settings(None), **change)
        assert session.begin_run(run)
        assert not session.begin_run(run), "the second time it is the run before"
        assert session.state.settings.strategy == run.strategy


def test_another_target_asks_for_a_new_ranking_where_the_strategy_has_one(crawled: Path) -> None:
    with opened(crawled) as session:
        best_first = session.state.run_with_last_settings(None)
        assert not session.begin_run(replace(best_first, utility={"target": 0.2}))
        hunter = replace(best_first, strategy="hunter")
        assert session.begin_run(hunter)
        assert not session.begin_run(replace(hunter, utility={"target": 1.0})), "which it has by default"
        assert session.begin_run(replace(hunter, utility={"target": 0.2}))


def test_a_scope_holds_from_the_run_on_that_names_it(crawled: Path) -> None:
    with opened(crawled) as session:
        assert session.state.is_in_scope(Url("http://ships.example/1"))
        session.begin_run(replace(session.state.run_with_last_settings(None), scope={"hosts": ["bees.example"]}))
        session.reranker.rerank()
        assert not session.state.is_in_scope(Url("http://ships.example/1"))
    assert {url.split("/")[2] for url in waiting(crawled)} == {"bees.example"}


def test_a_seed_on_another_site_widens_a_scope_of_the_seeds_sites(tmp_path: Path) -> None:
    here, there, deep = Url("http://a.example/"), Url("http://b.example/"), Url("http://b.example/deep")
    world = {here: html("a", "bees", [there, deep]), there: html("b", "bees"), deep: html("deep", "bees")}
    folder, stay = collection(tmp_path / "bees", [here]), {"scope": Scope(stay_on_sites=True)}
    assert crawl(folder, world, **stay) == [here]
    assert set(skipped(folder)) == {there, deep}
    (folder / "seeds.txt").write_text(f"{here}\n{there}\n", encoding="utf-8")
    assert set(crawl(folder, world, **stay)) == {there, deep}
    assert not skipped(folder)


def test_hosts_that_asked_for_a_long_rest_have_it_over_runs(crawled: Path) -> None:
    with opened(crawled) as session:
        session.frontier.hold("slow.example", NOW + 60)
        session.frontier.hold("quick.example", NOW + 5)
    with opened(crawled) as session:
        assert session.frontier.resting_beyond(NOW) == {"slow.example": NOW + 60}


def test_utility_that_makes_no_sense_is_as_usual(crawled: Path) -> None:
    with opened(crawled) as session:
        session.begin_run(replace(session.state.run_with_last_settings(None), utility={"target": "high"}))
        assert session.state.run_with_last_settings(None).utility == to_builtins(UtilityOptions())


def test_options_that_make_no_sense_any_more_do_not_close_a_collection(crawled: Path) -> None:
    messages: list[str] = []
    with opened(crawled, notify=messages.append) as session:
        session.begin_run(replace(session.state.run_with_last_settings(None), options={"no such": 1}))
        assert session.state.run_with_last_settings(None).options is UNSET
    assert len(messages) == 1 and messages[0].startswith("continuing without the options of the last run")


def test_frontier_and_loop_are_restored_when_they_are_first_used(crawled: Path) -> None:
    with opened(crawled) as session:
        waiting_urls = len(session.frontier)
    with opened(crawled, rerank=False) as session:
        assert not session.state.is_frontier_restored
        assert len(session.frontier) == waiting_urls > 0
        assert session.state.is_frontier_restored


def test_a_ranking_that_is_due_is_never_forgotten_for_a_lesser_one(crawled: Path) -> None:
    with opened(crawled) as session:
        assert session.state.reranking_due() == "no"
        session.state.request_reranking(by_scores=True)
        assert session.state.reranking_due() == "by scores"
        session.state.request_reranking()
        session.state.request_reranking(by_scores=True)
        assert session.state.reranking_due() == "from history"
        session.state.mark_reranked()
        assert session.state.reranking_due() == "no"


def test_a_blocked_host_is_out_of_scope_in_the_next_session_too(crawled: Path) -> None:
    blocked = Url("http://ships.example/1")
    with opened(crawled) as session:
        assert session.state.is_in_scope(blocked)
        block(crawled, "ships.example")
        session.state.apply_steering()
        assert not session.state.is_in_scope(blocked)
    with opened(crawled) as session:
        assert not session.state.is_in_scope(blocked)
    assert not [url for url in waiting(crawled) if "//ships." in url]


SKIPPED = Url("http://b.example/x/x/x/x/x/y")  # by default, its path repeats a segment too often
ROOMY = {Url(f"http://{name}.example/"): html(name, f"bees and {name}") for name in "acde"}


@pytest.mark.slow
def test_seeds_that_were_skipped_are_offered_again_once_the_limits_change(tmp_path: Path) -> None:
    world = {**ROOMY, SKIPPED: html("late", "bees, late")}
    folder = collection(tmp_path / "traps", [*ROOMY, SKIPPED])
    crawl(folder, world, 1, strategy="best-first")
    assert SKIPPED not in crawl(folder, world, 2, strategy="best-first")
    assert SKIPPED in crawl(folder, world, strategy="best-first", traps=Traps(repeats=10))

    folder = collection(tmp_path / "room", list(ROOMY))
    first = crawl(folder, ROOMY, 1, strategy="best-first", waiting=Waiting(limit=2))
    assert set(first) | set(crawl(folder, ROOMY, strategy="best-first")) == set(ROOMY)


@pytest.mark.slow
def test_seeds_that_were_evicted_are_offered_again_once_nothing_waits(tmp_path: Path) -> None:
    folder = collection(tmp_path / "bees", list(ROOMY))
    narrow = {"strategy": "best-first", "waiting": Waiting(limit=1)}
    first = crawl(folder, ROOMY, **narrow)
    assert len(first) == 1
    assert set(crawl(folder, ROOMY, **narrow)) & (set(ROOMY) - set(first))


@pytest.mark.parametrize("strategy", ["hunter", "pagerank", "infospiders"])
def test_a_crawl_goes_on_where_it_stopped_if_its_strategy_remembers_too_much_to_save_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Some hundred pages of long links to everywhere were too much for the catalog: crawl and rebuild failed."""
    home = Url("http://a.example/")
    urls = [Url(f"http://h{number}.example/") for number in range(12)]
    world = {home: html("Home", "honey bee", urls), **{url: html("Leaf", f"bee {url}", [home]) for url in urls}}
    folder = collection(tmp_path / "c", [home])
    monkeypatch.setattr("lycosa.collection.catalog.MAX_STATE", 600)
    first = crawl(folder, world, pages=5, strategy=strategy)
    assert rows(folder, "SELECT value FROM state WHERE key = 'strategy_state'") == [('"too large"',)]
    lines: list[str] = []
    with opened(folder, strategy=strategy, notify=lines.append) as session:
        session.state.restore()
        assert [line for line in lines if "too much" in line]
        session.reranker.rerank_if_due()
        assert session.state.reranking_due() == "no"
    assert sorted([*first, *crawl(folder, world, strategy=strategy)]) == sorted([home, *urls])


def test_a_rebuild_ends_if_the_strategy_remembers_too_much_to_save_it(
    bees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl(bees, TOPICAL, 12)
    before = waiting(bees)
    monkeypatch.setattr("lycosa.collection.catalog.MAX_STATE", 100)
    done("rebuild", bees)
    assert rows(bees, "SELECT value FROM state WHERE key = 'strategy_state'") == [('"too large"',)]
    assert sorted(waiting(bees)) == sorted(before)
