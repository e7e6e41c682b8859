"""Worlds and the lab through the command line."""

import errno
import json
import re

import pytest

from crawling import begin, kill, lycosa
from lycosa_lab.cli.world import serve

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world") / "w"
    made = lycosa("world", "make", "synthetic", "--pages", 600, "--topics=6", "--seed", 5, "--out", folder)
    assert made.code == 0, made
    assert "600 pages" in made.out
    return folder


@pytest.fixture(scope="module")
def shown(world):
    return lycosa("world", "show", world, "--json").json


def test_the_kinds_of_worlds_are_listed_with_their_options() -> None:
    said = lycosa("world", "list")
    for name in ("synthetic", "wikipedia-schools", "webkb", "debian-docs", "documents", "graph"):
        assert re.search(rf"^{name} ", said.out, re.MULTILINE)
    assert "status_homophily" in said.out
    assert lycosa("world", "list", "--json").json["synthetic"]["options"][0] == "pages"


def test_a_world_is_shown_beside_the_published_figures(world, shown) -> None:
    said = lycosa("world", "show", world)
    assert said.out.startswith("synthetic: 600 pages on")
    assert "directory: 6 categories" in said.out
    assert re.search(r"in-degree.* 2\.1", said.out)
    assert shown["pages"] == 600
    assert len(shown["categories"]) == 6
    assert {figure["name"] for figure in shown["figures"]}
    name, count = next(iter(shown["categories"].items()))
    listed = lycosa("world", "show", world, "--category", name).out.split()
    assert len(listed) == count
    assert all(url.startswith("http://") for url in listed)


def test_a_world_that_is_served_can_be_crawled_live(world, shown, tmp_path) -> None:
    served = begin("world", "serve", world, "--port", 0)
    try:
        first = served.stdout.readline()
        port = re.search(r"127\.0\.0\.1:(\d+)", first)[1]
        category = next(iter(shown["categories"]))
        good = tmp_path / "good.txt"
        good.write_text(lycosa("world", "show", world, "--category", category).out)
        assert lycosa("new", tmp_path / "mine", "--examples", good).code == 0
        crawled = lycosa(
            *("crawl", tmp_path / "mine", "--pages", 60, "--resolve", f"*=127.0.0.1:{port}"),
            *("--allow-private", "--delay", 0, "--quiet"),
        )
        assert crawled.code == 0, crawled
        assert lycosa("show", tmp_path / "mine", "--json").json["pages"] == 60
    finally:
        kill(served)


def test_the_commands_that_it_suggests_can_be_pasted_into_a_shell(tmp_path) -> None:
    folder = tmp_path / "my world"
    said = lycosa("world", "make", "synthetic", "--pages", 500, "--topics", 3, "--out", folder).out
    assert f"lycosa world show '{folder}'" in said
    assert f"lycosa world serve '{folder}' --port 8099" in said


def test_a_reader_that_closes_the_pipe_is_no_trouble_with_the_address(world, monkeypatch) -> None:
    def broken(text: str) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("lycosa_lab.cli.world.typer.echo", broken)
    with pytest.raises(BrokenPipeError):
        serve(str(world), port=0, address="127.0.0.1")


def test_a_study_is_run_listed_and_tabled(world, tmp_path) -> None:
    assert "topic-driven" in lycosa("lab", "list").out
    out = tmp_path / "lab" / "one"
    options = ("--world", world, "--seed", 11, "--out", out, "--workers", 1)
    said = lycosa("lab", "compare", "--strategies", "best-first,breadth-first", "--topics", 3, "--pages", 150, *options)
    assert said.code == 0, said
    assert "Harvest" in said.out and "index.html" in said.out
    results = json.loads((out / "results.json").read_text())
    means = {(row["measure"], row["strategy"]): row["mean"] for row in results["tables"]["means"]}
    assert means["Harvest", "best-first"] > means["Harvest", "breadth-first"]
    assert (out / "harvest.svg").exists() and (out / "means.csv").exists()
    assert "makes no claims" in lycosa("lab", "table", tmp_path / "lab").out
    (again,) = lycosa("lab", "table", tmp_path / "lab", "--json").json["studies"]
    assert again["study"] == "compare"


def test_only_the_league_takes_strategies() -> None:
    assert lycosa("lab", "run", "freshness", "--strategies", "hunter").is_one_clear_line(
        2, "--strategies is for league"
    )
    assert lycosa("lab", "run", "league", "--strategies", "huntr").is_one_clear_line(2, "'huntr'", "best-first, ")


def test_every_measure_that_the_world_knows_can_be_asked_for(world, tmp_path) -> None:
    asked = (
        "Harvest@20,TargetRecall,MeanSimilarity,MeanRank,MeanStatus,Diversity,Reliability,Novelty,Overlap,StrategyCpu"
    )
    crawls = (
        "--strategies",
        "best-first,random",
        "--topics",
        2,
        "--pages",
        40,
        "--workers",
        1,
        "--out",
        tmp_path / "m",
    )
    said = lycosa("lab", "compare", *crawls, "--measures", asked, "--world", world, "--json")
    means = {(row["measure"], row["strategy"]): row["mean"] for row in said.json["tables"]["means"]}
    assert {measure for measure, _ in means} == {"pages", *asked.split(",")}
    assert means["Overlap", "best-first"] == 40
    assert means["Novelty", "best-first"] == 0.0 < means["Novelty", "random"]
    assert means["MeanRank", "best-first"] < means["MeanRank", "random"]


def test_a_comparison_shows_which_crawls_ended_early_and_how_many_topics_there_were(tmp_path) -> None:
    few_links = "synthetic:pages=300,topics=3,seed=5"
    command = ("lab", "compare", "--strategies", "best-first,infospiders", "--topics", 50, "--pages", 2000)
    said = lycosa(*command, "--world", few_links, "--workers", 1, "--out", tmp_path / "c")
    assert said.code == 0, said
    assert "the world has 3 topics" in said.err and "not 50" in said.err
    (row,) = re.findall(r"^pages .*", said.out, re.MULTILINE)
    fetched = [float(number) for number in re.findall(r"([\d.]+) ±", row)]
    assert len(fetched) == 2 and max(fetched) < 2000
    quiet = lycosa(*command, "--world", few_links, "--workers", 1, "--out", tmp_path / "c", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("world", "show", "nowhere"), ("no world 'nowhere'", "synthetic")),
        (("world", "show", "synthetic:pages=many"), ("pages=many",)),
        (("world", "show", "synthetic:sights=3"), ("no option 'sights'", "sites")),
        (("world", "show", "synthetic:pages"), ("key=value",)),
        (("world", "show", "synthetic:pages=-4"), ("pages",)),
        (("world", "make", "synthetic", "--pages", "--out", "x"), ("--pages", "value")),
        (("world", "serve", "synthetic:pages=500", "--address", "0.0.0.0"), ("loopback",)),
        (("lab", "run", "alchemy"), ("no study 'alchemy'", "topic-driven")),
        (("lab", "run", "topic-driven", "--scale", "huge"), ("no scale 'huge'", "paper")),
        (("lab", "run", "league", "--strategies", ","), ("--strategies names nothing", "leave it out")),
        (("lab", "compare", "--measures", ""), ("--measures names nothing",)),
        (("lab", "compare", "--strategies", "best-first,wurst-first"), ("'wurst-first'", "breadth-first")),
        (("lab", "compare", "--strategies", "best-first", "--measures", "Harvst"), ("Harvst", "Harvest")),
        *(
            (("lab", "compare", "--strategies", f"best-first,{name}"), (f"{name} goes by {what}", "breadth-first"))
            for name, what in {"collaborative": "an access log", "guided": "an access log", "mapped": "a map"}.items()
        ),
        (("lab", "table", "no-such-folder"), ("no folder no-such-folder",)),
    ],
)
def test_bad_input_is_told_in_one_line(words, said, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lycosa(*words).is_one_clear_line(2, *said)


def test_a_folder_that_is_no_world_is_told(tmp_path) -> None:
    assert lycosa("world", "show", tmp_path).is_one_clear_line(2, "is no world", "world make")
    (tmp_path / "world.json").write_text("{")
    assert lycosa("world", "show", tmp_path).is_one_clear_line(2, "world.json")


def test_nothing_is_overwritten(world) -> None:
    said = lycosa("world", "make", "synthetic", "--pages", 500, "--out", world)
    assert said.is_one_clear_line(2, "not empty")


def test_a_world_that_opens_slowly_says_how_to_open_it_fast(monkeypatch, shown) -> None:
    monkeypatch.setattr("lycosa_lab.cli.world._SLOW", -1.0)
    said = lycosa("world", "show", "synthetic:pages=600,topics=6,site_words=1", "--category", "honey")
    assert "lycosa world make synthetic --pages 600 --topics 6 --site-words 1 --out w, then use w." in said.err
    name = next(iter(shown["categories"])).partition("/")[2]
    assert f"/{name}" in lycosa("world", "show", "synthetic:pages=600,topics=6,seed=5", "--category", name).err
