"""Topics put together in the recipe by all, any and not, through the command line."""

import json

import pytest

from crawling import collection, done, listing, lycosa, pages, rows
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from worlds import html

HOME = "http://a.example/"
WORDS = {"honey": "honey hive bee nectar", "ships": "ship mast sail harbour"}
FILLING = "with many words between and around that every page has and that tell nothing of what it is about"
LEAVES = {
    f"{HOME}{folder}/{topic}{number}": html(f"{topic} {number}", f"{words} {FILLING} {topic}{number} x{number}y")
    for folder in ("wiki", "tag")
    for topic, words in WORDS.items()
    for number in range(3)
}
WORLD = FixedWorld({HOME: html("Home", "Everything starts here.", [*LEAVES]), **LEAVES})
JUDGE = """
from pathlib import Path
def is_even(page):
    with Path(__file__).with_name("asked.txt").open("a") as file: file.write(page.url + "\\n")
    return page.url[-1] in "02468"
"""


def relevant(folder):
    return {url.removeprefix(HOME) for (url,) in rows(folder, "SELECT url FROM pages WHERE relevance >= 0.5")}


def in_folders(topic, *folders, numbers=range(3)):
    return {f"{folder}/{topic}{number}" for folder in folders for number in numbers}


@pytest.fixture
def judge(tmp_path, monkeypatch):
    (tmp_path / "my_predicates.py").write_text(JUDGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "my_predicates", raising=False)
    return tmp_path / "asked.txt"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ('keywords = ["honey"]', in_folders("honey", "wiki", "tag")),
        ('url = "*/wiki/*"', in_folders("honey", "wiki") | in_folders("ships", "wiki")),
        ('all = [{keywords = ["honey"]}, {not = {url = "*/tag/*"}}]', in_folders("honey", "wiki")),
        (
            'any = [{text = "ship mast sail"}, {url = ["*/wiki/*1"]}]',
            in_folders("ships", "wiki", "tag") | {"wiki/honey1"},
        ),
        (
            'all = [{function = "my_predicates:is_even"}, {any = [{url = "/wiki/"}]}]',
            in_folders("honey", "wiki", numbers=(0, 2)) | in_folders("ships", "wiki", numbers=(0, 2)),
        ),
    ],
)
@pytest.mark.usefixtures("judge")
def test_a_crawl_goes_by_a_predicate_that_needs_no_examples(tmp_path, predicate, expected):
    folder = collection(tmp_path / "c", [HOME], topic=f"[topic.predicate]\n{predicate}")
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--strategy", "intelligent", "--resolve", served.resolve)
    assert len(pages(folder)) == 13
    assert relevant(folder) == expected
    assert done("show", folder, "--json").json["relevant"] == len(expected)
    done("rebuild", folder)
    assert relevant(folder) == expected
    judged = rows(folder, "SELECT relevance FROM pages WHERE url = ?", f"{HOME}wiki/ships2")[0][0]
    assert f"relevance {judged:.3f}" in done("explain", folder, f"{HOME}wiki/ships2").out
    assert done("report", folder).code == 0


@pytest.mark.slow
def test_pages_are_judged_anew_when_the_predicate_has_changed(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic='[topic.predicate]\nurl = "*/wiki/*"')
    recipe = folder / "lycosa.toml"
    with WorldServer(WORLD) as served:
        crawl = ["crawl", folder, "--pages", 12, "--resolve", served.resolve]
        done(*crawl)
        assert "re-scoring" not in done(*crawl).err
        recipe.write_text(recipe.read_text().replace("*/wiki/*", "*/tag/*"))
        assert "the predicate may have changed: re-scoring 12 pages" in done(*crawl).err
        assert "re-scoring" not in done(*crawl).err
    assert relevant(folder) == {url.removeprefix(HOME) for url in pages(folder) if "/tag/" in url}
    done("rebuild", folder)
    assert relevant(folder) == {url.removeprefix(HOME) for url in pages(folder) if "/tag/" in url}


def learning(tmp_path, predicate):
    """A collection that learns honey from examples, and whose predicate asks for it."""
    good = listing(tmp_path / "good.txt", [f"honey hive bee nectar {word}" for word in ("one", "two", "three")])
    bad = listing(tmp_path / "bad.txt", [f"ship mast sail harbour {word}" for word in ("one", "two", "three")])
    seeds = listing(tmp_path / "seeds.txt", [HOME])
    folder = tmp_path / "c"
    done("new", folder, "--examples", good, "--negatives", bad, "--seeds", seeds)
    with (folder / "lycosa.toml").open("a", encoding="utf-8") as recipe:
        recipe.write(f"[topic.predicate]\n{predicate}\n")
    return folder


@pytest.mark.slow
def test_the_learnt_topic_is_a_part_like_others_and_learns_from_labels(tmp_path):
    folder = learning(tmp_path, 'all = [{topic = true}, {not = {url = "*/tag/*"}}]')
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--delay", 0, "--resolve", served.resolve)
    assert relevant(folder) - {""} == in_folders("honey", "wiki")
    before = dict(rows(folder, "SELECT url, relevance FROM pages"))
    assert "Model retrained" in done("label", folder, f"{HOME}wiki/honey1", "--bad").out
    after = dict(rows(folder, "SELECT url, relevance FROM pages"))
    assert after[f"{HOME}wiki/honey1"] < before[f"{HOME}wiki/honey1"]
    assert after[f"{HOME}tag/honey1"] == before[f"{HOME}tag/honey1"] == 0.0


@pytest.mark.slow
def test_a_function_of_a_predicate_is_run_by_the_crawl_alone(tmp_path, judge):
    folder = learning(tmp_path, 'all = [{topic = true}, {function = "my_predicates:is_even"}]')
    with WorldServer(WORLD) as served:
        crawl = ["crawl", folder, "--delay", 0, "--resolve", served.resolve]
        done(*crawl)
        assert relevant(folder) - {""} == in_folders("honey", "wiki", "tag", numbers=(0, 2))
        judge.unlink()
        assert "next: lycosa crawl" in done("label", folder, f"{HOME}wiki/honey0", "--bad").out
        done("rebuild", folder)
        done("forget", folder, f"{HOME}wiki/ships1")
        assert not judge.exists()
        done(*crawl)
        assert judge.exists()  # the label counts now, and pages are judged anew
    assert relevant(folder) <= in_folders("honey", "wiki", "tag", numbers=(0, 2)) | {""}


def test_a_rule_learns_nothing_from_labels(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic='text = "honey"\n[topic.predicate]\nurl = "*"')
    assert lycosa("label", folder, HOME, "--good").is_one_clear_line(2, "a rule")


def test_a_taxonomy_can_be_a_part(tmp_path):
    for topic, words in WORDS.items():
        (tmp_path / "topics" / topic).mkdir(parents=True)
        for number, word in enumerate(words.split()):
            (tmp_path / "topics" / topic / f"{number}.txt").write_text(f"{words} {word}", encoding="utf-8")
    predicate = '[topic.predicate]\nall = [{taxonomy = "../topics", about = "ships"}, {url = "*/tag/*"}]'
    folder = collection(tmp_path / "c", [HOME], topic=predicate)
    with WorldServer(WORLD) as served:
        done("crawl", folder, "--resolve", served.resolve)
    assert relevant(folder) == in_folders("ships", "tag")


@pytest.mark.parametrize(
    ("predicate", "says"),
    [
        ("", "topic.predicate: says nothing"),
        ('function = "my_predicates"', "topic.predicate: 'my_predicates' names no function"),
        ('any = [{function = "my_no_module:f"}]', "topic.predicate.any[0]: cannot import my_no_module"),
        ('not = {function = "my_predicates:nothing"}', "topic.predicate.not: my_predicates has no nothing"),
        ('all = [{taxonomy = "../none", about = "x"}]', "topic.predicate.all[0]: cannot read the taxonomy"),
        ("topic = true", "names no topic"),
        ('keywords = ["/(/"]', "topic.predicate: keyword /(/ is not a regular expression"),
        ('both = ["a"]', "no key 'both' in [topic.predicate]"),
    ],
)
@pytest.mark.usefixtures("judge")
def test_a_bad_predicate_is_one_clear_line_before_anything_is_asked(tmp_path, predicate, says):
    folder = collection(tmp_path / "c", [HOME], topic=f"[topic.predicate]\n{predicate}")
    with WorldServer(WORLD) as served:
        said = lycosa("crawl", folder, "--resolve", served.resolve)
        assert said.is_one_clear_line(2, "lycosa.toml", says)
        assert served.requests == []


def test_a_bad_function_beside_the_learnt_topic_is_told_before_examples_are_fetched(tmp_path):
    (tmp_path / "urls.txt").write_text(f"{HOME}wiki/honey0\n", encoding="utf-8")
    folder = tmp_path / "c"
    done("new", folder, "--examples", tmp_path / "urls.txt")
    with (folder / "lycosa.toml").open("a", encoding="utf-8") as recipe:
        recipe.write('[topic.predicate]\nall = [{topic = true}, {function = "my_no_module:f"}]\n')
    with WorldServer(WORLD) as served:
        said = lycosa("crawl", folder, "--resolve", served.resolve)
        assert said.is_one_clear_line(2, "topic.predicate.all[1]: cannot import my_no_module")
        assert served.requests == []


def test_what_is_said_of_a_predicate_is_told_to_programs(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic='[topic.predicate]\nkeywords = ["honey"]')
    with WorldServer(WORLD) as served:
        said = done("crawl", folder, "--json", "--strategy", "intelligent", "--resolve", served.resolve).out
    facts = [json.loads(line) for line in said.splitlines()]
    assert {fact["relevance"] for fact in facts} == {0.0, 1.0}
    assert all(set(fact["because"]) <= {"seed", "words", "tokens", "links", "siblings"} for fact in facts)
