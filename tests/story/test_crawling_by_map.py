"""Crawls that go by a map of those before them, through the command line."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from crawling import (
    assert_goes_on_where_it_stopped,
    collection,
    done,
    listing,
    lycosa,
    outcomes,
    pages,
    rows,
    skipped,
    waiting,
)
from fixtures.fixed_world import FixedWorld
from lycosa.maps.atlas import Atlas
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.registry import open_world
from lycosa_lab.worlds.server import WorldServer
from maps.small_atlases import atlas_of, mapped_by
from worlds import html

pytestmark = pytest.mark.slow

ON_HONEY = 'keywords = ["honey"]'
HOME = Url("http://a.example/")
WORLD = PracticeWeb(seed=8, hosts=10, pages=400)
ON_TOPIC = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]]


def page(name: str, links: Sequence[str] = ()) -> bytes:
    return html(name, f"honey {' '.join(f'{name}{number}' for number in range(9))}", links)


def far_away(path: Path) -> Path:
    """A map that leads from the home page to three pages that nobody links to."""
    return atlas_of(path, {"honey": {HOME: [f"http://far.example/{number}" for number in range(3)]}})


FAR = {Url(f"http://far.example/{number}"): page(f"far{number}") for number in range(3)}
NEAR = {Url(f"{HOME}{number}"): page(f"near{number}") for number in range(3)}
TWO_PLACES = FixedWorld({HOME: page("home", [*NEAR]), **NEAR, **FAR})


def test_map_links_are_followed_and_explained(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY)
    with WorldServer(TWO_PLACES) as served:
        done(
            "crawl",
            folder,
            "--strategy",
            "best-first",
            "--map",
            far_away(tmp_path / "atlas"),
            "--resolve",
            served.resolve,
        )
    assert set(pages(folder)) == {HOME, *NEAR, *FAR}
    why = dict(rows(folder, "SELECT url, priority FROM pages"))
    assert {why[url] for url in (*NEAR, *FAR)} == {0.6}
    assert f"from the map, through {HOME}" in done("explain", folder, "http://far.example/1").out
    assert "multiplied by 0.6 because of the map" in done("explain", folder, f"{HOME}1").out


@pytest.mark.parametrize(("priority", "first"), [(1.0, FAR), (0.1, NEAR)])
def test_the_priority_of_the_map_decides_what_comes_first(tmp_path, priority, first):
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY)
    command = ["--map", far_away(tmp_path / "atlas"), "--map-priority", priority, "--strategy", "mapped"]
    with WorldServer(TWO_PLACES) as served:
        done("crawl", folder, *command, "--pages", 4, "--concurrency", 1, "--resolve", served.resolve)
    assert set(pages(folder)) == {HOME, *first}


def test_the_recipe_can_name_the_map_beside_the_collection(tmp_path):
    rest = '[map]\natlas = "../atlas"\npriority = 0.9\n[requests]\ndelay = 0\n'
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY, rest=rest)
    far_away(tmp_path / "atlas")
    with WorldServer(TWO_PLACES) as served:
        done("crawl", folder, "--resolve", served.resolve)
    assert {priority for url, priority in rows(folder, "SELECT url, priority FROM pages") if url in FAR} == {0.9}


def test_a_hostile_map_gets_no_further_than_a_hostile_page(tmp_path):
    repeated = "http://far.example/" + "loop/" * 10
    ties = [
        "http://far.example/0",
        "http://far.example/forbidden/page",  # by robots.txt
        "http://outside.example/",  # of the scope
        repeated,
        "http://127.0.0.1:9/",
        "http://10.0.0.1/",
        "http://localhost:9/",
        "http://[::1]/",
        "http://gone.far.example/",
    ]
    path = atlas_of(tmp_path / "atlas", {"honey": {HOME: ties}})
    with sqlite3.connect(path) as connection:
        for number, url in enumerate(["file:///etc/passwd", "ftp://far.example/", "javascript:alert(1)", "\x1b[31m"]):
            connection.execute("INSERT INTO pages (number, url, alive_at) VALUES (?, ?, 1.0)", (1000 + number, url))
            connection.execute("INSERT INTO members VALUES (1, ?, 1, NULL, 1)", (1000 + number,))
    connection.close()
    world = FixedWorld({HOME: page("home"), **FAR}, robots={"far.example": "User-agent: *\nDisallow: /forbidden\n"})
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY)
    with WorldServer(world) as served:
        scope = ["--include-host", "a.example", "--include-host", "far.example", "--include-host", "127.0.0.1"]
        said = done("crawl", folder, "--map", path, *scope, "--resolve", served.resolve)
        assert "Traceback" not in said.err
        asked = {url for url in served.requests if not url.endswith("/robots.txt")}
    assert asked == {HOME, "http://far.example/0", "http://gone.far.example/"}
    assert set(pages(folder)) == {HOME, "http://far.example/0"}
    assert outcomes(folder)["http://far.example/forbidden/page"] == "forbidden"
    assert outcomes(folder)["http://gone.far.example/"] == "gone"
    assert skipped(folder)["http://outside.example/"] == "scope: host not included"
    assert skipped(folder)[repeated].startswith("trap: ")


def test_private_addresses_in_a_map_are_refused_even_where_it_was_made_with_them(tmp_path):
    path = atlas_of(tmp_path / "atlas", {"honey": {HOME: ["http://a.example/0"], "http://127.0.0.1:9/": []}})
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY)
    with WorldServer(TWO_PLACES) as served:
        done("crawl", folder, "--map", path, "--resolve", f"a.example={served.resolve[2:]}")
    assert "http://127.0.0.1:9/" not in outcomes(folder)


BY_BEES = {url: ON_TOPIC[4 + place : 60 : 4] for place, url in enumerate(ON_TOPIC[:4])}


@pytest.mark.parametrize("strategy", ["baseline-focused", "mapped", "adaptive"])
def test_a_crawl_by_a_map_that_was_stopped_goes_on_as_if_it_had_not(tmp_path, strategy):
    atlas = atlas_of(tmp_path / "atlas", {"bees": BY_BEES})
    topic = f'keywords = ["{WORLD.topics[0].split()[0]}"]'
    with WorldServer(WORLD) as served:
        command = ["--map", atlas, "--strategy", strategy, "--concurrency", 1, "--resolve", served.resolve]
        assert_goes_on_where_it_stopped(tmp_path, ON_TOPIC[:1], topic=topic, crawl=command)


def test_without_the_map_of_the_run_before_what_waits_is_ranked_anew(tmp_path):
    folder, atlas = collection(tmp_path / "c", [HOME], topic=ON_HONEY), far_away(tmp_path / "atlas")
    with WorldServer(TWO_PLACES) as served:
        crawl = ["crawl", folder, "--strategy", "best-first", "--resolve", served.resolve]
        done(*crawl, "--map", atlas, "--pages", 1)
        assert waiting(folder) == dict.fromkeys([*NEAR, *FAR], 0.6)
        done(*crawl, "--pages", 1)
        assert waiting(folder) == dict.fromkeys(NEAR, 1.0)
        done(*crawl, "--map", atlas, "--pages", 1)
        assert waiting(folder) == dict.fromkeys([*NEAR, *FAR], 0.6)
        done("rebuild", folder)
        assert waiting(folder) == dict.fromkeys([*NEAR, *FAR], 0.6)


def test_an_atlas_that_went_missing_is_told_and_the_collection_still_opens(tmp_path):
    folder, atlas = collection(tmp_path / "c", [HOME], topic=ON_HONEY), far_away(tmp_path / "atlas")
    with WorldServer(TWO_PLACES) as served:
        crawl = ["crawl", folder, "--strategy", "best-first", "--resolve", served.resolve]
        done(*crawl, "--map", atlas, "--pages", 2, "--concurrency", 1)
        atlas.rename(tmp_path / "elsewhere")
        said = done(*crawl, "--pages", 3)
        assert "without the map" in said.err
        assert str(atlas) in said.err
        done(*crawl, "--map", tmp_path / "elsewhere")
    assert set(pages(folder)) == {HOME, *NEAR, *FAR}


def test_a_dead_page_of_the_map_does_not_stop_the_rest(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY)
    dead = "http://far.example/dead"
    path = atlas_of(tmp_path / "atlas", {"honey": {HOME: [*FAR], dead: []}})
    with WorldServer(TWO_PLACES) as served:
        said = done("crawl", folder, "--map", path, "--resolve", served.resolve)
    assert "1 page of the map vanished" in said.err
    assert outcomes(folder)[dead] == "gone"
    assert set(pages(folder)) == {HOME, *NEAR, *FAR}
    done("map", "build", folder, "--for", "honey", "--out", path)
    with Atlas(path) as atlas:
        mapped = mapped_by(atlas.crawl_map("honey"))
    assert mapped.issuperset(FAR) and dead not in mapped


def test_a_page_on_a_related_topic_leads_to_the_portals(tmp_path):
    for topic, words in (("honey", "honey hive wax bee"), ("ships", "ship sail mast keel")):
        (tmp_path / "examples" / topic).mkdir(parents=True)
        for number, word in enumerate(words.split()):
            (tmp_path / "examples" / topic / f"{number}.txt").write_text(f"{words} and {word}", encoding="utf-8")
    topics = tmp_path / "topics.json"
    assert "honey" in done("map", "topics", tmp_path / "examples", "--out", topics).out
    atlas = atlas_of(tmp_path / "atlas", {"honey": {url: [] for url in FAR}}, related=["ships"])
    world = FixedWorld({HOME: html("Ships", "A ship with a mast, a sail and a keel."), **FAR})
    with WorldServer(world) as served:
        crawl = ["--map", atlas, "--resolve", served.resolve]
        for name, options in (("without", []), ("with", ["--taxonomy", topics])):
            said = done("crawl", collection(tmp_path / name, [HOME], topic=ON_HONEY), *crawl, *options)
            assert ("pages on ships also lead to portals of the map" in said.err) == (name == "without")
    assert set(pages(tmp_path / "without")) == {HOME}
    assert set(pages(tmp_path / "with")) == {HOME, *FAR}
    assert "from the map, after a page on ships" in done("explain", tmp_path / "with", next(iter(FAR))).out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--map", "nowhere"], "cannot read the atlas"),
        (["--map", "text"], "is not an atlas"),
        (["--map", "cut"], "atlas"),
        (["--map", "several"], "--map-topic"),
        (["--map", "several", "--map-topic", "cheese"], "'cheese'"),
        (["--map", "none"], "no map in it"),
        (["--map", "one", "--strategy", "pagerank"], "pagerank"),
        (["--map", "one", "--taxonomy", "text"], "not a taxonomy"),
        (["--map", "one", "--taxonomy", "nowhere"], "cannot read the taxonomy"),
        (["--strategy", "mapped"], "--map"),
        (["--map-topic", "honey"], "--map"),
        (["--map-priority", "0.8"], "--map"),
    ],
)
def test_maps_that_cannot_be_used_are_one_clear_line_before_anything_is_asked(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    far_away(tmp_path / "one")
    atlas_of(tmp_path / "several", {"honey": {HOME: []}, "wax": {HOME: []}})
    atlas_of(tmp_path / "none", {})
    (tmp_path / "text").write_text("not an atlas")
    (tmp_path / "cut").write_bytes((tmp_path / "one").read_bytes()[:5000])
    folder = collection(tmp_path / "c", [HOME], topic=ON_HONEY)
    with WorldServer(TWO_PLACES) as served:
        assert lycosa("crawl", folder, *words, "--resolve", served.resolve).is_one_clear_line(2, says)
        assert served.requests == []


def test_the_second_crawl_of_a_topic_beats_the_first_in_three_commands(tmp_path):
    world = open_world("synthetic:pages=10000,seed=2,topical_homophily=0.3")  # where following links alone is hard
    topic, *others = world.directory()[2:]
    listed = [entry.url for entry in topic.entries]
    good = listing(tmp_path / "good.txt", listed[:30])
    bad = listing(tmp_path / "bad.txt", [entry.url for other in others for entry in other.entries[:2]])
    for name, seeds in (("first", listed[:3]), ("second", listed[3:6]), ("without", listed[3:6])):
        start = listing(tmp_path / f"{name}.txt", seeds)
        done("new", tmp_path / name, "--examples", good, "--negatives", bad, "--seeds", start)
    first, second, without, atlas = (tmp_path / name for name in ("first", "second", "without", "atlas"))
    with WorldServer(world) as served:
        how = ["--pages", 150, "--strategy", "best-first", "--delay", 0, "--resolve", served.resolve, "--quiet"]
        done("crawl", first, *how)
        done("map", "build", first, "--above", 0.5, "--out", atlas)
        done("crawl", second, "--map", atlas, *how)
        done("crawl", without, *how)
    relevant = {folder: done("show", folder, "--json").json["relevant"] for folder in (first, second, without)}
    assert relevant[second] > 1.1 * max(relevant[first], relevant[without])
    by_map = [url for (url,) in rows(second, "SELECT url FROM pages WHERE because LIKE '%map%' AND relevance >= 0.5")]
    assert len(set(by_map) & set(pages(first))) > 30
