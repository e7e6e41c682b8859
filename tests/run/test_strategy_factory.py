"""A strategy comes back as it was saved, or is made anew where it cannot."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from crawling import collection, done
from lycosa.recipe import DEFAULT_STRATEGY
from lycosa.run.guides import nested_strategies
from lycosa.vocabulary.records import JsonValue
from sessions import crawl, opened, set_state, states
from worlds import TOPICAL

SEEN = 12  # pages
SQUID = "1700000000.000     45 10.0.0.{} TCP_MISS/200 4321 GET {} - DIRECT/192.0.2.1 text/html\n"


@pytest.mark.slow
def test_where_an_older_version_kept_less_of_a_strategy_what_waits_is_ranked_anew(crawled: Path) -> None:
    crawl(crawled, TOPICAL, SEEN + 2, strategy="adaptive")
    messages: list[str] = []
    with opened(crawled) as session:
        before = states(session)
    set_state(crawled, "strategy_state", {})
    with opened(crawled, notify=messages.append) as session:
        assert messages == ["an older version has crawled here: ranking the waiting links again"]
        assert states(session) == before, "which comes to the same"
    with opened(crawled, notify=messages.append):
        assert len(messages) == 1


def test_a_state_with_numbers_that_no_strategy_saves_is_not_restored(crawled: Path) -> None:
    crawl(crawled, TOPICAL, SEEN + 1, strategy="infospiders")
    with opened(crawled) as session:
        saved = session.collection.catalog.get_state("strategy_state")
    set_state(crawled, "strategy_state", {**saved, "chance": [3, [-1] * 625, None]})
    messages: list[str] = []
    with opened(crawled, notify=messages.append):
        assert messages == ["an older version has crawled here: ranking the waiting links again"]


def test_a_plug_in_that_only_the_collection_names_is_not_run(crawled: Path) -> None:
    messages: list[str] = []
    set_state(crawled, "strategy", "somebody-elses")
    with opened(crawled, notify=messages.append, strategy="best-first") as session:
        assert session.state.settings.strategy == "best-first"
    assert messages == [
        "the last run used the strategy somebody-elses of a plug-in, which the recipe does not name: "
        "best-first is used instead"
    ]


@pytest.mark.slow
def test_strategy_and_frontier_come_back_as_they_were_at_the_checkpoint(bees: Path) -> None:
    crawl(bees, TOPICAL, 5)
    with opened(bees, strategy="pagerank") as session:
        before = states(session)
        assert before[0] == DEFAULT_STRATEGY, "whatever the recipe says of the next run"
    with opened(bees) as session:
        assert states(session) == before


@pytest.mark.parametrize("lost", [("map",), ("log",), ("map", "log")])
def test_what_was_learnt_comes_back_without_the_map_or_log_that_was_lost(tmp_path: Path, lost: tuple[str, ...]) -> None:
    folder = collection(tmp_path / "c", [next(iter(TOPICAL))])
    crawl(folder, TOPICAL, 5)
    done("map", "build", folder, "--out", folder / "atlas", "--above", 0.1, "--allow-private")
    lines = [SQUID.format(person, url) for person in range(3) for url in list(TOPICAL)[person : person + 6]]
    (folder / "access").write_text("".join(lines))
    done("logs", "import", folder / "access", "--into", folder / "readers.log")
    with (folder / "lycosa.toml").open("a") as recipe:
        recipe.write('[map]\natlas = "atlas"\n[logs]\nfile = "readers.log"\n')
    crawl(folder, TOPICAL, 9, strategy="adaptive")
    for guide in lost:
        path = folder / {"map": "atlas", "log": "readers.log"}[guide]
        path.rename(folder / "elsewhere" if len(lost) == 1 else folder / f"lost {guide}")
    messages: list[str] = []
    with opened(folder, notify=messages.append) as session:
        catalog, state = session.collection.catalog, session.state
        wrapped = [type(layer).__name__ for layer in nested_strategies(state.loop.strategy)]
        saved = catalog.get_state("strategy_state")
        kept = state.loop.strategy.state()
    assert ("Mapped" in wrapped, "Guided" in wrapped) == ("map" not in lost, "log" not in lost)
    assert len(messages) == len(lost) and all("continuing without the" in message for message in messages)
    assert innermost(kept) == innermost(saved)


def innermost(state: JsonValue) -> JsonValue:
    while "inner" in state:
        state = state["inner"]
    return state


def test_the_state_of_another_strategy_is_not_restored(crawled: Path) -> None:
    with opened(crawled) as session:
        state, catalog = session.state, session.collection.catalog
        assert state.strategy_factory.restored(state.settings, catalog) is not None
        other = replace(state.settings, strategy="breadth-first")
        assert state.strategy_factory.restored(other, catalog) is None
        assert state.strategy_factory.make(other).name == "breadth-first"
