"""The league: what its tasks hide, what its figures mean, and that its claims follow from its tables."""

import random
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from documents.small_webs import SCHOOLS, page, tar_of
from lab.study_runs import copy_with_jobs_missing, run_small_as_json
from lycosa.reading import Reader
from lycosa.recipe import DEFAULT_STRATEGY
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Outcome, Url
from lycosa_lab.live_crawl import LiveTask, live_crawl
from lycosa_lab.results import read_results
from lycosa_lab.statistics import paired_t
from lycosa_lab.studies.league import ORACLE, SCRIPT, League, tasks
from lycosa_lab.studies.league.baselines import Script, oracle
from lycosa_lab.studies.league.figures import _drawn
from lycosa_lab.studies.league.runs import _crawl_measures, budgets_of, league_strategies, prepare
from lycosa_lab.studies.league.tables import MEASURES
from lycosa_lab.studies.league.tasks import (
    AFAR,
    NEGATIVES,
    POSITIVES,
    WITHIN,
    LeagueTask,
    LeagueTopic,
    TopicWeb,
    WorldPages,
    _subjects,
    is_held_out,
    task_of,
    topics_of,
)
from lycosa_lab.worlds.synthetic import SyntheticWorld
from lycosa_lab.worlds.wikipedia_schools import SUBJECT_INDEX, WikipediaSchools

CLAIMS = [
    "default-beats-best-first",
    "default-beats-script",
    "default-near-oracle",
    "claim-honest",
    "default-cost",
    "default-relevant-and-standing",
]
SIZE = {
    "held_out": 2,
    "development": 1,
    "examples": 5,
    "negatives": 10,
    "budgets": [0.025, 0.05],
    "longest": 40,
    "world_pages": 700,
    "world_topics": 8,
}
COSTS = ("processor ms per page",)


class Tiny(League):
    scales: ClassVar = {"small": SIZE}


def small_world(**options):
    return SyntheticWorld(pages=700, topics=8, seed=5, **options)


@pytest.fixture(scope="module")
def world():
    return small_world()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("league")


@pytest.fixture(scope="module")
def results(world, folder):
    return run_small_as_json(Tiny(["breadth-first"]), world, seed=5, out=folder)


def test_it_compares_every_strategy_that_needs_no_log_or_map():
    assert set(league_strategies()) == {name for name, entry in STRATEGIES.items() if not entry.needs}
    assert {DEFAULT_STRATEGY, "best-first", "utility"} <= set(league_strategies())


def test_a_league_of_some_strategies_is_a_run_of_its_own():
    some = League(["random"])
    assert some.strategies == ("random", DEFAULT_STRATEGY, "best-first")
    assert some.scales["small"] == {**League.scales["small"], "strategies": some.strategies}
    with pytest.raises(UsageError, match="no strategy of the league is called 'collaborative'; there are adaptive"):
        League(["collaborative"])  # which needs a log


def test_only_those_who_took_part_are_drawn():
    assert _drawn(["random", ORACLE, SCRIPT, "best-first"], "best-first") == ["best-first", ORACLE, SCRIPT, "random"]


def test_every_claim_is_computed_and_every_figure_drawn(results, folder):
    assert [claim["id"] for claim in results["claims"]] == [f"league.{name}" for name in CLAIMS]
    for picture in ("area", "harvest", "starts"):
        drawn = (folder / f"{picture}.svg").read_text()
        assert all(name in drawn for name in (DEFAULT_STRATEGY, "best-first", ORACLE, SCRIPT)), picture
    for table in ("means", "development", "settings", "tests", "curves", "crawls"):
        assert len((folder / f"{table}.csv").read_text().splitlines()) == len(results["tables"][table]) + 1
        assert results["tables"][table], table


def test_the_tables_of_the_documentation_are_made_from_a_run(results, folder):
    script = run_path(str(Path(__file__).parents[2] / "docs/studies/league.py"))
    (finished,) = (found for _, found in read_results([folder], warn=pytest.fail))
    assert "| A synthetic world | " in script["summary"]({"synthetic": finished})
    section = script["section"](finished)
    strategies = {row["strategy"] for row in results["tables"]["means"]}
    assert all(f"{script['label'](name)} | " in section for name in strategies)
    assert all(f"- `{claim['id'].removeprefix('league.')}`: " in section for claim in results["claims"])


def held_out_scores(results, measure, strategy):
    """LeagueTopic by topic, each the mean over its tasks."""
    by_topic = {}
    for row in results["tables"]["crawls"]:
        if row["held_out"] and row["strategy"] == strategy:
            by_topic.setdefault(row["topic"], []).append(row[measure])
    return [sum(values) / len(values) for values in by_topic.values()]


def test_the_final_table_is_over_held_out_topics_alone(results):
    assert {row["held_out"] for row in results["tables"]["crawls"]} == {True, False}
    for measure in ("area", "recall", "claimed harvest"):
        for row in results["tables"]["means"]:
            if row["measure"] == measure:
                values = held_out_scores(results, measure, row["strategy"])
                assert row["mean"] == pytest.approx(sum(values) / len(values), rel=1e-4)
                assert row["topics"] == len(values) == 2
    assert {row["topics"] for row in results["tables"]["development"]} == {1}
    assert {row["measure"] for row in results["tables"]["means"]} == set(MEASURES)


def test_claims_can_be_recomputed_from_the_tables(results):
    claims = {claim["id"].removeprefix("league."): claim for claim in results["claims"]}
    for name, other in (("default-beats-best-first", "best-first"), ("default-beats-script", SCRIPT)):
        test = paired_t(held_out_scores(results, "area", DEFAULT_STRATEGY), held_out_scores(results, "area", other))
        assert claims[name]["p"] == pytest.approx(test.p, rel=1e-3)
        assert claims[name]["holds"] == test.is_gain
    off = held_out_scores(results, "|claimed - true harvest|", DEFAULT_STRATEGY)
    assert claims["claim-honest"]["holds"] == (sum(off) / len(off) <= 0.10)


def test_the_same_seed_gives_the_same_results_costs_aside(results, world, folder, tmp_path):
    def without_costs(found):
        tables = {
            name: [
                {key: value for key, value in row.items() if key not in COSTS}
                for row in rows
                if row.get("measure") not in COSTS
            ]
            for name, rows in found["tables"].items()
        }
        return [claim for claim in found["claims"] if claim["id"] != "league.default-cost"], tables

    out = copy_with_jobs_missing(folder, tmp_path / "again")
    again = run_small_as_json(Tiny(["breadth-first"]), world, seed=5, out=out)
    assert without_costs(again) == without_costs(results)


def test_the_oracle_is_ahead_of_everybody(results):
    best = held_out_scores(results, "area", ORACLE)
    for strategy in (DEFAULT_STRATEGY, "best-first", "breadth-first", SCRIPT):
        assert all(a >= b for a, b in zip(best, held_out_scores(results, "area", strategy), strict=True)), strategy


@pytest.fixture(scope="module")
def web(world):
    topic = next(iter(prepare(world, (), SIZE, 5).topics.values()))
    return TopicWeb(WorldPages(world), topic)


def test_oracle_and_script_follow_links(web):
    for start in (WITHIN, AFAR):
        task = task_of(web, start, POSITIVES, examples=5, negatives=10, seed=1)
        for order in (oracle(task, 60), Script(task, Reader(), seed=1).crawl(60)):
            assert len(order) == len(set(order)) == 60
            known = set(task.seeds)
            for url in order:
                assert url in known
                known.update(link.target for link in web.read(url, Reader()).links)


class WrittenWeb:
    """A few pages, each with its text and links."""

    topic = SimpleNamespace(name="bees")

    def __init__(self, pages: dict[str, tuple[str, list[str]]]):
        self._pages = pages
        self.urls = [Url(f"http://site.example/{name}") for name in pages]

    def read(self, url, reader):
        text, links = self._pages[url.rpartition("/")[2]]
        anchors = "".join(f'<a href="/{link}">next</a> ' for link in links)
        html = f"<html><body><p>{text}</p>{anchors}</body></html>".encode()
        return reader(Fetch(url, Outcome.OK, 0.0, 200, headers=(("content-type", "text/html"),), content=html))


def script_of(pages, examples, seeds):
    web = WrittenWeb(pages)
    named = {url.rpartition("/")[2]: url for url in web.urls}
    task = SimpleNamespace(web=web, examples=[named[name] for name in examples], seeds=[named[name] for name in seeds])
    return Script(task, Reader(stem=False), seed=1)


def test_words_of_one_example_only_are_ranked_by_weight_by_the_script():
    shared = "hive smoker"
    once = " ".join(f"aword{number:03}" for number in range(80))
    pages = {
        "a": (f"{shared} {once} {'zeal ' * 9}", []),
        "b": (shared, []),
        **{f"other{number}": (f"ship sail {number}", []) for number in range(20)},
    }
    words = list(script_of(pages, ["a", "b"], ["a"])._weights)
    assert set(words[:2]) == {"hive", "smoker"}
    assert words[2] == "zeal"


def test_the_current_priority_of_a_link_counts_for_the_script():
    pages = {
        "a": ("hive smoker", []),
        "b": ("hive smoker", []),
        "dense": ("hive smoker " * 20, ["falls"]),
        "half": ("hive smoker " * 12 + "ship " * 6, ["stays"]),
        "empty": ("ship " * 20, ["falls"]),  # its link halves the priority of `falls`
        "falls": ("ship", []),
        "stays": ("ship", []),
        **{f"other{number}": (f"ship sail {number}", []) for number in range(20)},
    }
    seeds = ["dense", "empty", "half"]
    order = [url.rpartition("/")[2] for url in script_of(pages, ["a", "b"], seeds).crawl(5)]
    assert order == [*seeds, "stays", "falls"]


def test_tasks_of_a_topic_share_their_examples_and_start_where_they_say(web):
    tasks = {
        (start, given): task_of(web, start, given, examples=5, negatives=10, seed=1)
        for start in (WITHIN, AFAR)
        for given in (POSITIVES, NEGATIVES)
    }
    assert len({tuple(task.examples) for task in tasks.values()}) == 1
    task = tasks[AFAR, NEGATIVES]
    assert set(task.examples) <= web.topic.pages
    assert len(task.negatives) == 10
    assert not web.topic.pages & set(task.negatives)
    assert not web.topic.pages & set(task.seeds)
    assert not task.truth & set(task.examples)
    assert tasks[WITHIN, POSITIVES].seeds == task.examples
    assert tasks[WITHIN, POSITIVES].negatives == ()


def test_a_web_with_fewer_other_pages_than_negatives_gives_all_of_them(web):
    others = set(web.urls) - web.topic.pages
    task = task_of(web, WITHIN, NEGATIVES, examples=5, negatives=len(others) + 1, seed=1)
    assert set(task.negatives) == others


class Chain:
    """A web of numbered pages of which each links to the next."""

    def __init__(self, good):
        self.topic = LeagueTopic("chain", frozenset(map(Url, good)), is_held_out=True)


def test_figures_of_a_crawl_are_those_of_the_definition(world):
    inputs = prepare(world, (), SIZE, 5)
    truth = frozenset({Url("b"), Url("d")})
    task = LeagueTask(Chain("abd"), WITHIN, POSITIVES, [Url("a")], [], [Url("a")], truth)
    order = [Url(name) for name in "abcdef"]
    found = _crawl_measures(inputs, task, order, frozenset(order), {0.1: 6})["budgets"]["0.1"]
    assert found["area"] == pytest.approx((1 + 1 + 2 + 2 + 2) / (1 + 2 + 2 + 2 + 2))
    assert (found["recall"], found["pages to 50%"], found["pages to 80%"]) == (1.0, 1, 3)
    thrown_away = _crawl_measures(inputs, task, order, frozenset(order) - {Url("d")}, {0.1: 6})["budgets"]["0.1"]
    assert (thrown_away["recall"], thrown_away["pages to 80%"]) == (0.5, 5)


def test_budgets_are_shares_of_the_web_up_to_the_longest_crawl():
    assert budgets_of(700, SIZE) == {0.025: 18, 0.05: 35}
    assert budgets_of(1_000, SIZE) == {0.025: 25}
    assert budgets_of(100_000, SIZE) == {0.025: 40}


def test_which_topics_are_held_out():
    assert not is_held_out("wikipedia-schools", "Religion/Divinities")
    assert is_held_out("wikipedia-schools", "Science/Biology/Birds")
    assert is_held_out("webkb", "cornell.edu student")
    assert {is_held_out("synthetic", f"topic {number}") for number in range(20)} == {True, False}


def test_topics_that_were_looked_at_are_in_no_league(world, monkeypatch):
    every = topics_of(world, held_out=100, development=100, min_pages=1)
    looked_at = {every[0].name, every[-1].name}
    assert (every[0].is_held_out, every[-1].is_held_out) == (True, False)
    monkeypatch.setattr(tasks, "INSPECTED_TOPICS", frozenset(looked_at))
    assert {topic.name for topic in topics_of(world, held_out=100, development=100, min_pages=1)} == {
        topic.name for topic in every
    } - looked_at


def test_nothing_gives_the_subject_of_an_article_away(tmp_path):
    line = '<h3 id="siteSub">Related subjects: <a href="../index/subject.Life.Bees.htm">Beekeeping</a></h3>'
    bee = "wpcd/wp/b/Bee_%28insect%29.htm"
    files = {**SCHOOLS, bee: str(SCHOOLS[bee]).replace("</h1>", f"</h1>{line}")}
    world = WikipediaSchools(path=str(tar_of(tmp_path / "schools.tar.xz", files)))
    topic = next(topic for topic in _subjects(world) if topic.name == "Life/Bees")
    web, index = TopicWeb(WorldPages(world), topic), Url(str(SUBJECT_INDEX).replace("subject.", "subject.Life.Bees."))
    assert index in world
    assert index not in web
    assert web.html(index) is None
    article = next(url for url in topic.pages if "Bee" in url)
    read = web.read(article, Reader())
    assert "Beekeeping" not in read.text
    assert index not in [link.target for link in read.links]
    assert index not in web.links[article]
    assert "Beekeeping" in world.read(article).text


class InMemory:
    """Pages of a dictionary, as a crawl reads them."""

    seconds_parsing = 0.0

    def __init__(self, pages):
        self.pages = pages

    def html(self, url):
        return self.pages.get(url)

    def read(self, url, reader):
        return reader(Fetch(url, Outcome.OK, 0.0, content=self.pages[url]))


def test_a_live_crawl_in_memory_judges_and_learns_as_any_other():
    rng = random.Random(1)
    bees = ["honey", "hive", "queen", "pollen", "nectar", "swarm", "worker", "drone", "wax", "comb"]
    ships = ["mast", "sail", "hull", "anchor", "harbour", "deck", "rudder", "keel", "captain", "voyage"]
    pages = {}
    for number in range(160):
        words = bees if number % 2 else ships
        text = " ".join(rng.choices(words, k=60))
        links = [f"http://p.example/{rng.randrange(160)}.html" for _ in range(6)]
        pages[Url(f"http://p.example/{number}.html")] = page(f"Page {number}", text, *links).encode()
    task = LiveTask(examples=[Url(f"http://p.example/{number}.html") for number in (1, 3, 5, 7, 9)], pages=120)
    first, second = (live_crawl("best-first", task, InMemory(pages)) for _ in range(2))
    assert first.requested == second.requested
    assert len(first.kept) == 120
    on_topic = sum(int(url.rpartition("/")[2].removesuffix(".html")) % 2 for url in first.kept) / 120
    assert first.claimed_harvest == pytest.approx(on_topic, abs=0.05)
    assert first.seconds > 0
