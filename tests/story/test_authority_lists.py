"""Public lists of ranks, imported once, count in every collection: before a page is fetched, and without in-links."""

import json

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawling import archives, collection, done, lycosa, pages, rows
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from standing.test_authority_table import MAJESTIC
from worlds import html

pytestmark = pytest.mark.slow

HOME = "http://home.example/"
SITES = [f"http://site{number:02d}.example/" for number in range(12)]
BEST = SITES[7:10]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "lycosa"


@pytest.fixture
def server():
    text = "honey bee hive queen"
    world = {HOME: html("Home", text, [(url, "bees") for url in SITES])}
    for number, url in enumerate(SITES):
        world[url] = html(f"Site {number}", f"{text} {' '.join(f'w{number}x{place}' for place in range(12))}")
    with WorldServer(FixedWorld(world)) as server:
        yield server


def tranco(tmp_path):
    names = [*(url[7:-1] for url in BEST), *(f"other{number}.example" for number in range(100_000))]
    path = tmp_path / "top-1m.csv"
    path.write_text("".join(f"{rank},{name}\n" for rank, name in enumerate(names, 1)))
    return path


def crawled(folder, server, *said):
    return done(
        "crawl", folder, "--pages", 5, "--target", 0, "--concurrency", 1, "--option", "sample=0",
        "--resolve", server.resolve, *said,
    )  # fmt: skip


def runs(folder):
    found = []
    for path in archives(folder):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                content = record.content_stream().read()
                if record.rec_type == "metadata" and b'"lycosa":"run"' in content.replace(b" ", b""):
                    found.append(json.loads(content[content.index(b"{") :]))
    return found


def test_sites_of_a_high_rank_are_fetched_first_and_explained(tmp_path, data, server):
    without = collection(tmp_path / "without", [HOME])
    crawled(without, server)
    assert not set(BEST) <= set(pages(without))
    said = done("standing", "import", tranco(tmp_path))
    assert "Tranco, 100,003 ranks" in said.err
    folder = collection(tmp_path / "c", [HOME])
    said = crawled(folder, server)
    assert "Importance also uses site ranks from Tranco (100,003 ranks)" in said.err
    assert set(pages(folder)[1:4]) == set(BEST)
    shown = done("explain", folder, BEST[0]).out
    assert "rank 1 of Tranco (site07.example)" in shown
    assert "because of the rank or visitors of its site" in shown
    assert done("explain", folder, BEST[0], "--json").json["ranks"][0]["rank"] == 1
    standings = dict(rows(folder, "SELECT url, standing FROM pages"))
    others = [standing for url, standing in standings.items() if url not in (HOME, *BEST)]
    assert min(standings[url] for url in BEST) > max(others)
    digest = done("standing", "show", "--json").json["digest"]
    assert [run.get("authority") for run in runs(folder)] == [digest]
    assert "authority" not in runs(without)[0]


def test_a_list_that_is_new_judges_again_and_a_recipe_may_leave_lists_out(tmp_path, data, server):
    folder = collection(tmp_path / "c", [HOME])
    crawled(folder, server)
    done("standing", "import", tranco(tmp_path))
    said = crawled(folder, server, "--pages", 8)
    assert "ranked again" in said.err and "re-scoring" in said.err
    assert set(BEST) <= set(pages(folder))
    recipe = folder / "lycosa.toml"
    recipe.write_text(recipe.read_text() + "[standing]\nauthority = false\n")
    crawled(folder, server, "--pages", 9)
    digest = done("standing", "show", "--json").json["digest"]
    assert [run.get("authority") for run in runs(folder)] == [None, digest, None]
    done("rebuild", folder)


def test_lists_are_shown_asked_and_removed(tmp_path, data):
    assert "no lists" in done("standing", "show").out
    assert "no lists; read one with" in done("standing", "show", "example.org").out
    assert "none has been imported" in lycosa("standing", "remove", "tranco").err
    (tmp_path / "majestic.csv").write_text(MAJESTIC)
    done("standing", "import", tmp_path / "majestic.csv", "--quiet")
    assert "Majestic Million: 2 ranks, from majestic.csv on " in done("standing", "show").out
    assert done("standing", "show", "unknown.example").out == "in no list\n"
    assert done("standing", "show", "www.example.org").out == "rank 2 of Majestic Million (example.org)\n"
    assert lycosa("standing", "remove", "Tranco").is_one_clear_line(2, "there are Majestic Million")
    done("standing", "remove", "Majestic Million")
    assert "no lists" in done("standing", "show").out
    assert [path.name for path in data.iterdir()] == ["authority.table"]
    assert lycosa("standing", "import", tmp_path / "none.csv").is_one_clear_line(2, "not a file")
    (data / "authority.table").write_bytes(b"damaged")
    assert lycosa("standing", "show").is_one_clear_line(2, "remove it")


def test_ranks_are_not_taken_for_reach(tmp_path):
    (tmp_path / "ranks.csv").write_text("".join(f"site{rank}.example,{rank}\n" for rank in range(1, 20)))
    said = lycosa("new", tmp_path / "c", "--topic", "bees", "--traffic", tmp_path / "ranks.csv")
    assert said.is_one_clear_line(2, "ranks.csv:5:", "lycosa standing import")


def test_a_damaged_table_hinders_no_crawl_that_does_not_ask_for_standing(tmp_path, data, server):
    data.mkdir(parents=True)
    (data / "authority.table").write_bytes(b"damaged")
    folder = collection(tmp_path / "c", [HOME])
    done("crawl", folder, "--pages", 7, "--resolve", server.resolve)
    said = lycosa("crawl", folder, "--pages", 8, "--target", 0, "--resolve", server.resolve)
    assert said.is_one_clear_line(2, "remove it, and import the lists again")
