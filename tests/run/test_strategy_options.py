"""Options of a strategy from the recipe, a flag or a keyword to the strategy, over runs, kills and rebuilds."""

from pathlib import Path

import pytest

import lycosa
from crawling import done, rows
from crawling import lycosa as command
from lycosa.recipe import DEFAULT_STRATEGY
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

WORLD = PracticeWeb(seed=3, hosts=5, pages=80)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lycosa.new(tmp_path / "c", topic=WORLD.topics[0], seeds=[WORLD.front_page])


def crawl(folder: Path, pages: int, **how: object) -> list[str]:
    with WorldServer(WORLD) as served:
        run = lycosa.crawl(folder, pages=pages, delay=0, concurrency=1, resolve=[served.resolve], **how)
        return [visit.fetch.url for visit in run]


def options_of(folder: Path) -> object:
    return rows(folder, "SELECT value FROM state WHERE key = 'options'")


@pytest.mark.slow
def test_options_change_the_order_and_are_kept_with_the_run(folder: Path, tmp_path: Path) -> None:
    other = lycosa.new(tmp_path / "d", topic=WORLD.topics[0], seeds=[WORLD.front_page])
    first = crawl(folder, 30, strategy="random", options={"seed": 1})
    assert first != crawl(other, 30, strategy="random", options={"seed": 2})
    assert options_of(folder) == [('{"seed":1}',)]
    done("rebuild", folder)
    assert options_of(folder) == [('{"seed":1}',)]


@pytest.mark.slow
def test_a_collection_without_options_is_as_it_always_was(folder: Path) -> None:
    crawl(folder, 5)
    assert options_of(folder) == []


@pytest.mark.slow
def test_stopped_and_gone_on_a_crawl_keeps_its_options(folder: Path, tmp_path: Path) -> None:
    whole = lycosa.new(tmp_path / "d", topic=WORLD.topics[0], seeds=[WORLD.front_page])
    expected = crawl(whole, 40, strategy="random", options={"seed": 9})
    begun = crawl(folder, 15, strategy="random", options={"seed": 9})
    assert begun + crawl(folder, 40, strategy="random", options={"seed": 9}) == expected


@pytest.mark.slow
def test_options_of_the_recipe_are_for_its_own_strategy(folder: Path) -> None:
    recipe = folder / "lycosa.toml"
    recipe.write_text(
        recipe.read_text()
        .replace(f'strategy = "{DEFAULT_STRATEGY}"', 'strategy = "random"')
        .replace("[options]\n", "[options]\nseed = 4\n")
    )
    crawl(folder, 5)
    assert options_of(folder) == [('{"seed":4}',)]
    crawl(folder, 8, strategy="best-first")
    assert options_of(folder) == [("{}",)]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("widow=3", ("adaptive has no option 'widow'", "there are target, ranked_among, window")),
        ("window=wide", ("option window", "a whole number", "'wide'")),
        ("window", ("KEY=VALUE",)),
        ("alpha=7", ("alpha must lie between 0 and 1",)),
    ],
)
def test_a_mistake_is_one_clear_line(folder: Path, option: str, words: tuple[str, ...]) -> None:
    assert command("crawl", folder, "--strategy", "adaptive", "--option", option).is_one_clear_line(2, *words)
