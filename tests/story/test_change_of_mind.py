"""A topic that is said otherwise judges what is there anew, and no name of a strategy locks a collection."""

import sys
from pathlib import Path

import pytest

from crawling import collection, done, lycosa, pages, rows, waiting
from fixtures.fixed_world import FixedWorld
from lycosa.collection.events import RunStart
from lycosa_lab.worlds.server import WorldServer
from sessions import opened
from worlds import html

pytestmark = pytest.mark.slow

HOME = "http://a.example/"
BEES, SOUP = "bee hive honey queen swarm nectar pollen", "soup bread kitchen oven flour butter spoon"
PAGES = {
    HOME: html("Home", "everything begins here", [f"{HOME}{kind}{n}" for kind in ("bees", "soup") for n in range(6)]),
    **{f"{HOME}bees{n}": html(f"Bees {n}", f"{BEES} bees{n}") for n in range(6)},
    **{f"{HOME}soup{n}": html(f"Soup {n}", f"{SOUP} soup{n}") for n in range(6)},
}


def crawl(folder: Path, *words: object):
    with WorldServer(FixedWorld(PAGES)) as served:
        return done("crawl", folder, "--resolve", served.resolve, "--concurrency", 1, *words)


def relevant(folder: Path) -> set[str]:
    """The first letters of the pages that are on the topic."""
    urls = rows(folder, "SELECT url FROM pages WHERE relevance >= 0.5")
    return {url.removeprefix(HOME)[:4] for (url,) in urls}


def say(folder: Path, before: str, now: str) -> None:
    recipe = folder / "lycosa.toml"
    text = recipe.read_text(encoding="utf-8")
    assert before in text
    recipe.write_text(text.replace(before, now), encoding="utf-8")


@pytest.mark.parametrize(
    ("bees", "soup"),
    [
        ('keywords = ["honey"]', 'keywords = ["butter"]'),
        ('text = "honey bee hive swarm nectar"', 'text = "soup bread kitchen oven butter"'),
        ('keywords = ["honey"]', 'text = "soup bread kitchen oven butter"'),
        ('text = "honey bee hive swarm nectar"', 'keywords = ["butter"]'),
    ],
)
def test_another_topic_judges_the_pages_that_are_there(tmp_path, bees, soup):
    folder = collection(tmp_path / "c", [HOME], topic=bees)
    crawl(folder)
    assert relevant(folder) == {"bees"}
    say(folder, bees, soup)
    said = crawl(folder)
    assert "re-scoring 13 pages" in said.err
    assert relevant(folder) == {"soup"}
    assert "re-scoring" not in crawl(folder).err
    say(folder, soup, bees)
    crawl(folder)
    assert relevant(folder) == {"bees"}


def test_another_function_judges_the_pages_that_are_there(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "two_judges.py").write_text(
        "def bees(page): return float('honey' in page.text)\ndef soup(page): return float('butter' in page.text)\n",
        encoding="utf-8",
    )
    folder = collection(tmp_path / "c", [HOME], topic='function = "two_judges:bees"')
    crawl(folder)
    assert relevant(folder) == {"bees"}
    say(folder, ":bees", ":soup")
    assert "the function of the topic may have changed: re-scoring 13 pages" in crawl(folder).err
    assert relevant(folder) == {"soup"}


def test_other_code_of_the_same_function_judges_the_pages_that_are_there(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    code = "def judge(page): return float('{}' in page.text)\n"
    (tmp_path / "one_judge.py").write_text(code.format("honey"), encoding="utf-8")
    folder = collection(tmp_path / "c", [HOME], topic='function = "one_judge:judge"')
    crawl(folder)
    assert relevant(folder) == {"bees"}
    assert "re-scoring" not in crawl(folder).err
    (tmp_path / "one_judge.py").write_text(code.format("butter"), encoding="utf-8")
    monkeypatch.delitem(sys.modules, "one_judge")
    assert "the function of the topic may have changed: re-scoring 13 pages" in crawl(folder).err
    assert relevant(folder) == {"soup"}


def test_a_strategy_that_nobody_knows_does_not_lock_a_collection(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    crawl(folder, "--pages", 3, "--strategy", "breadth-first")
    recipe = folder / "lycosa.toml"
    recipe.write_text('strategy = "anchor-first"\n' + recipe.read_text(encoding="utf-8"), encoding="utf-8")
    said = done("rebuild", folder)
    assert "no strategy 'anchor-first'" in said.err
    assert "hunter" in said.err
    assert waiting(folder)
    assert "no strategy 'anchor-first'" in crawl(folder, "--pages", 6).err
    crawl(folder, "--pages", 8, "--strategy", "best-first")
    assert len(pages(folder)) == 8


def test_a_strategy_that_the_archive_names_and_nobody_knows_is_replaced(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    crawl(folder, "--pages", 3, "--strategy", "breadth-first")
    with opened(folder) as session:
        session.record(RunStart(session.clock.now(), "anchor-first", (HOME,)))
    said = done("rebuild", folder)
    assert "anchor-first of a plug-in, which the recipe does not name: hunter is used instead" in said.err
    crawl(folder, "--pages", 8)
    assert len(pages(folder)) == 8


def test_a_strategy_with_a_slip_of_the_pen_is_refused_before_the_first_crawl(tmp_path):
    folder = collection(tmp_path / "c", [HOME])
    recipe = folder / "lycosa.toml"
    recipe.write_text('strategy = "best-frist"\n' + recipe.read_text(encoding="utf-8"), encoding="utf-8")
    assert lycosa("crawl", folder).is_one_clear_line(2, "no strategy 'best-frist'", "best-first")


def test_a_crawl_goes_on_with_what_waits_if_the_recipe_names_no_seeds_any_more(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic='text = "honey bee hive swarm nectar"')
    crawl(folder, "--pages", 4)
    say(folder, 'seeds = "seeds.txt"', 'seeds = ""')
    crawl(folder, "--pages", 7)
    assert len(pages(folder)) == 7
    crawl(folder)
    assert len(pages(folder)) == 13
    assert lycosa("crawl", folder).is_one_clear_line(2, "no seeds")


def test_what_waits_at_public_hosts_is_not_fetched_without_a_contact(tmp_path):
    folder = collection(tmp_path / "c", ["http://www.example.com/"], topic='text = "honey bee hive swarm nectar"')
    world = FixedWorld({"http://www.example.com/": html("Home", "bees", [f"http://www.example.com/{n}" for n in "ab"])})
    with WorldServer(world) as served:
        done("crawl", folder, "--pages", 1, "--resolve", served.resolve)
    say(folder, 'seeds = "seeds.txt"', 'seeds = ""')
    assert lycosa("crawl", folder).is_one_clear_line(2, "www.example.com is a public host")
