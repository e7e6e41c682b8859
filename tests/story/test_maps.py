"""Maps through the command line: built from collections, shown, merged, exported."""

import csv
import sqlite3
from shlex import quote
from xml.etree import ElementTree

import pytest

from crawling import collection, done, lycosa, pages
from fixtures.fixed_world import FixedWorld
from lycosa.maps import Atlas
from lycosa.run.atlas import AtlasPlan, build_atlas
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from maps.small_atlases import atlas_of, mapped_by
from worlds import html

pytestmark = pytest.mark.slow

BEE, CHESS = "honey bee hive nectar queen", "chess rook bishop knight pawn"


def pages_of(host: str, words: str, *, other: str, leaves: int = 40):
    """A home page that links to all leaves, which link to the next three and some of them to another site."""
    site = {f"http://{host}/": html(host, words, [f"http://{host}/{leaf}" for leaf in range(leaves)])}
    for leaf in range(leaves):
        links = [f"http://{host}/{(leaf + step) % leaves}" for step in (1, 2, 3)]
        links += [f"http://{other}/{leaf}"] if leaf % 4 == 0 else []
        site[f"http://{host}/{leaf}"] = html(f"{host} {leaf}", f"{words} number {leaf}", links)
    return site


WORLD = {
    **pages_of("bees.example", BEE, other="chess.example"),
    **pages_of("chess.example", CHESS, other="bees.example"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """Two collections of one world, one for each topic."""
    folder = tmp_path_factory.mktemp("maps")
    with WorldServer(FixedWorld(WORLD)) as served:
        for name, words in (("bees", BEE), ("chess", CHESS)):
            made = collection(folder / name, [f"http://{name}.example/"], topic=f'text = "{words}"')
            done(
                *("crawl", made, "--strategy", "breadth-first", "--pages", 200, "--dry-after", 0, "--quiet"),
                *("--resolve", served.resolve, "--allow-private"),
            )
    return folder


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topics")
    for name, words in (("bees", BEE), ("chess", CHESS), ("others", "opera and rain and the news of the day")):
        (folder / name).mkdir()
        for number in range(6):
            (folder / name / f"{number}.txt").write_text(f"{words} {number} {words.split()[number % 4]}")
    return folder


def test_a_collection_becomes_a_map_that_is_shown_and_exported(crawled, tmp_path):
    atlas = tmp_path / "an atlas"
    said = done("map", "build", crawled / "bees", "--above", 0.5, "--out", atlas)
    assert "bees: 41 pages" in said.out
    assert f"lycosa map show {quote(str(atlas))}\n" in said.out
    assert f"lycosa crawl NAME --map {quote(str(atlas))}\n" in said.out
    shown = done("map", "show", atlas, "--svg", tmp_path / "map.svg", "--matrix", tmp_path / "matrix.svg")
    assert "http://bees.example/  " in shown.out
    for picture in ("map.svg", "matrix.svg"):
        assert ElementTree.fromstring((tmp_path / picture).read_text()).tag.endswith("svg")
    (topic,) = done("map", "show", atlas, "--json").json["topics"]
    assert (topic["topic"], topic["pages"], topic["sources"]) == ("bees", 41, {"bees": 41})
    assert topic["portal_urls"][0] == "http://bees.example/"
    assert "edges in" in done("map", "export", atlas, "--out", tmp_path / "edges.csv").out
    with (tmp_path / "edges.csv").open() as file:
        edges = list(csv.DictReader(file))
    portals = topic["portals"]
    assert len(edges) == portals * (portals - 1) // 2 + topic["pages"] - portals
    assert {url for edge in edges for url in (edge["from"], edge["to"])} == {url for url in WORLD if "bees" in url}


def test_a_map_with_too_many_ties_between_portals_is_exported_without_them(tmp_path):
    portals = [f"http://site.example/{number}" for number in range(1500)]
    atlas = atlas_of(tmp_path / "atlas", {"=bees": {portal: [f"{portal}/spoke"] for portal in portals}})
    out = ("--out", tmp_path / "edges.csv")
    (tmp_path / "edges.csv").write_text("as it was")
    refused = lycosa("map", "export", atlas, *out)
    assert refused.is_one_clear_line(2, "1500 portals have 1124250 ties", "--no-clique")
    assert (tmp_path / "edges.csv").read_text() == "as it was"
    told = done("map", "export", atlas, "--no-clique", *out, "--json").json
    assert (told["rows"], told["topics"], told["left_out"]) == (3000, ["=bees"], {})
    with (tmp_path / "edges.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["from"] for row in rows if row["kind"] == "portal" and not row["to"]] == portals
    assert {row["topic"] for row in rows} == {"'=bees"}  # no formula
    assert {(row["from"], row["to"]) for row in rows if row["kind"] == "spoke"} == {
        (portal, f"{portal}/spoke") for portal in portals
    }
    assert {path.name for path in tmp_path.iterdir()} == {"atlas", "edges.csv"}


def test_building_again_extends_the_atlas(crawled, tmp_path):
    atlas = tmp_path / "atlas"
    one = done("map", "build", crawled / "bees", "--above", 0.5, "--out", atlas, "--for", "both", "--json").json
    two = done("map", "build", crawled / "chess", "--above", 0.5, "--out", atlas, "--for", "both", "--json").json
    assert [one["topics"][0]["pages"], two["topics"][0]["pages"]] == [41, 82]
    assert two["topics"][0]["sources"] == {"bees": 41, "chess": 41}


def test_collections_of_their_own_topics_make_a_map_each_and_are_related_by_their_links(crawled, tmp_path):
    both = ("map", "build", crawled / "bees", crawled / "chess", "--above", 0.5, "--out")
    auto = done(*both, tmp_path / "auto", "--json").json["topics"]
    assert [(topic["topic"], topic["related"]) for topic in auto] == [("bees", ["chess"]), ("chess", ["bees"])]
    none = done(*both, tmp_path / "none", "--related", "none", "--json").json["topics"]
    assert [topic["related"] for topic in none] == [[], []]
    cited = done("map", "show", tmp_path / "auto", "--json").json["citations"]
    assert cited["topics"] == ["bees", "chess"]
    (bees, bees_to_chess), (chess_to_bees, _) = cited["links"]
    assert bees > bees_to_chess > 0 < chess_to_bees


def test_a_taxonomy_tells_the_topics_of_one_collection_apart(crawled, examples, tmp_path):
    learnt = done("map", "topics", examples, "--out", tmp_path / "taxonomy.json")
    assert "recognised correctly" in learnt.out
    assert (
        done("map", "topics", examples, "--out", tmp_path / "t.json", "--json").json["topics"]["bees"]["examples"] == 6
    )
    for taxonomy in (tmp_path / "taxonomy.json", examples):
        atlas = tmp_path / f"atlas of {taxonomy.name}"
        build = (
            "map",
            "build",
            crawled / "bees",
            "--taxonomy",
            taxonomy,
            "--out",
            atlas,
            "--similar",
            "--reach",
            "far",
        )
        topics = done(*build, "--json").json["topics"]
        assert [(topic["topic"], topic["pages"]) for topic in topics] == [("bees", 41), ("chess", 40)]
        assert (topics[0]["reach"], topics[0]["similar"]) == ("far", True)
    only = tmp_path / "only"
    build = ("map", "build", crawled / "bees", "--taxonomy", examples, "--out", only)
    assert [each["topic"] for each in done(*build, "--for", "chess", "--related", "none", "--json").json["topics"]] == [
        "chess"
    ]
    related = done(*build, "--for", "chess", "--related", "bees", "--json").json["topics"]
    assert {topic["topic"]: topic["related"] for topic in related} == {"chess": ["bees"], "bees": ["chess"]}


def test_a_quiet_build_says_nothing(crawled, tmp_path):
    quiet = done("map", "build", crawled / "bees", "--above", 0.5, "--out", tmp_path / "atlas", "--quiet")
    assert (quiet.out, quiet.err) == ("", "")
    assert (tmp_path / "atlas").exists()


def test_ties_go_to_standard_output_where_the_file_is_a_dash(crawled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done("map", "build", crawled / "bees", "--above", 0.5, "--out", "atlas")
    done("map", "export", "atlas", "--out", "ties.csv")
    said = done("map", "export", "atlas", "--out", "-")
    assert said.out.encode() == (tmp_path / "ties.csv").read_bytes()
    assert not (tmp_path / "-").exists()
    assert lycosa("map", "export", "atlas", "--out", "-", "--json").is_one_clear_line(2, "--json", "--out FILE")


def test_two_atlases_become_one(crawled, tmp_path):
    for name in ("bees", "chess"):
        done("map", "build", crawled / name, "--above", 0.5, "--out", tmp_path / name)
    merge = ("map", "merge", tmp_path / "bees", tmp_path / "chess", "--out")
    assert "chess: 41 pages" in done(*merge, tmp_path / "both").out
    assert len(done("map", "show", tmp_path / "both", "--json").json["topics"]) == 2
    assert lycosa(*merge, tmp_path / "both").is_one_clear_line(2, "is there already", "--out")
    merged = done(*merge, tmp_path / "chess", "--json").json
    assert [(topic["topic"], topic["pages"]) for topic in merged["topics"]] == [("bees", 41), ("chess", 41)]
    assert merged["left_out"] == {}
    assert len(done("map", "show", tmp_path / "chess", "--json").json["topics"]) == 2


def test_bad_input_is_one_clear_line(crawled, examples, tmp_path):
    bees, out = crawled / "bees", ("--out", tmp_path / "atlas")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "void").touch()
    (tmp_path / "few").mkdir()
    new = collection(tmp_path / "new", ["http://bees.example/"])
    for words, said in (
        (("build", tmp_path / "missing", *out), ["there is no collection"]),
        (("build", new, *out), ["holds nothing yet"]),
        (("build", bees, "--reach", "sideways", *out), ["no reach", "near, far, mixed"]),
        (("build", bees, "--for", "a", "--for", "b", *out), ["--taxonomy"]),
        (("build", bees, "--related", "auto", "--related", "b", *out), ["--related"]),
        (("build", bees, "--taxonomy", examples, "--for", "poker", *out), ["poker", "bees, chess"]),
        (("build", bees, "--taxonomy", examples, "--related", "poker", *out), ["poker", "bees, chess"]),
        (("build", bees, "--above", 0.5, "--related", "chess", *out), ["'chess'", "--taxonomy"]),
        (("build", bees, "--above", 0.5, "--for", "bees", "--related", "chess", *out), ["'chess'", "--taxonomy"]),
        (("build", bees, "--above", 0.5, "--for", "auto", *out), ["--for auto", "--related auto"]),
        (("build", bees, "--taxonomy", examples, "--for", "none", *out), ["--for none", "--related none"]),
        (("build", bees, "--taxonomy", tmp_path / "text", *out), ["not a taxonomy"]),
        (("build", bees, "--taxonomy", tmp_path / "few", *out), ["two topics"]),
        (("build", bees, "--taxonomy", tmp_path / "none", *out), ["cannot read"]),
        (("build", bees, bees, *out), ["the same name"]),
        (("build", bees, "--above", 0.5, "--for", "\x1b[31m", *out), ["not a name"]),
        (
            ("build", bees, "--above", 0.5, "--out", tmp_path / "text"),
            ["not an atlas", "name another file", "--out ATLAS"],
        ),
        (("build", bees, "--above", 0.5, "--out", tmp_path / "void"), ["not an atlas", "name another file"]),
        (("show", tmp_path / "text"), ["not an atlas", "name another file"]),
        (("show", tmp_path / "missing"), ["cannot read"]),
        (("merge", tmp_path / "text", tmp_path / "missing", *out), ["cannot read"]),
        (("export", tmp_path / "text", *out), ["not an atlas"]),
        (("topics", tmp_path / "text", *out), ["not a folder"]),
    ):
        failed = lycosa("map", *words)
        assert failed.is_one_clear_line(1 if "holds nothing yet" in said[0] else 2, *said)
        assert not (tmp_path / "atlas").exists()
    assert lycosa("map", "build", bees, "--above", 1, *out).is_one_clear_line(1, "above 1", "lower --above")
    assert lycosa("map", "build", bees, "--above", 0.5, "--out", tmp_path / "no" / "atlas").is_one_clear_line(
        2, "cannot write"
    )


def test_a_collection_of_private_pages_alone_makes_no_map(tmp_path):
    home = "http://intranet/"
    folder = collection(tmp_path / "c", [home], topic='keywords = ["honey"]')
    with WorldServer(FixedWorld({home: html("Home", "honey and honey")})) as served:
        done("crawl", folder, "--resolve", served.resolve, "--allow-private", "--quiet")
    build = ("map", "build", folder, "--above", 0.1, "--out", tmp_path / "atlas")
    assert lycosa(*build).is_one_clear_line(2, "1 (a private address)", "--allow-private")
    assert not (tmp_path / "atlas").exists()
    assert done(*build, "--allow-private", "--json").json["topics"][0]["pages"] == 1


def test_a_hostile_atlas_is_shown_with_what_was_left_out(crawled, tmp_path):
    atlas = tmp_path / "atlas"
    done("map", "build", crawled / "bees", "--above", 0.5, "--out", atlas)
    with sqlite3.connect(atlas) as file:
        file.execute("UPDATE pages SET url = 'http://169.254.169.254/' WHERE number = 3")
    said = done("map", "show", atlas)
    assert "left out of the maps: 1 (a private address)" in said.err
    assert "169.254" not in said.out
    assert done("map", "show", atlas, "--json").json["left_out"] == {"a private address": 1}


def test_a_map_of_a_collection_that_is_being_crawled_is_of_one_moment(tmp_path):
    world = PracticeWeb(seed=5, hosts=15, pages=600)
    folder = collection(tmp_path / "c", [world.front_page], topic='keywords = ["/./"]')
    with WorldServer(world) as served:
        crawl = ("crawl", folder, "--strategy", "breadth-first", "--resolve", served.resolve, "--quiet", "--pages")
        done(*crawl, 40)
        first = set(pages(folder))

        def crawl_on(read: int, total: int) -> None:
            if read == 5:
                done(*crawl, 120)

        built = build_atlas([folder], tmp_path / "atlas", AtlasPlan(above=0.0), now=1.0, progress=crawl_on)
    assert len(pages(folder)) == 120
    assert [facts.pages for facts in built.topics] == [40]
    with Atlas(tmp_path / "atlas") as atlas:
        assert mapped_by(atlas.crawl_map("c")) == first
