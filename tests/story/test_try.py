"""A page is tried before anything is crawled, and by what a crawl has learnt."""

import pytest

from crawling import done, lycosa, site
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow

HOME = "http://a.example/"


@pytest.fixture
def server():
    with WorldServer(FixedWorld(site("a.example", leaves=6))) as server:
        yield server


def test_by_a_topic_in_words(server):
    said = done("try", HOME, "--topic", "honey bees in their hives", "--resolve", server.resolve, "--links", 2)
    assert "relevance      " in said.out and "words for      " in said.out
    assert "would be kept  yes" in said.out
    assert "6 links would wait" in said.out
    assert said.out.count("http://a.example/") == 3
    facts = done("try", HOME, "--topic", "honey bees", "--resolve", server.resolve, "--json").json
    assert len(facts["links"]) == 6 and facts["relevance"] > 0.5


def test_by_a_collection_that_stays_as_it_is(server, tmp_path):
    folder = tmp_path / "c"
    done("new", folder, "--topic", "honey bee hive", "--seed", HOME)
    done("crawl", folder, "--pages", 3, "--delay", 0, "--resolve", server.resolve)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "lock" not in path.name}
    said = done("try", HOME + "5", folder, "--resolve", server.resolve)
    assert f"{HOME}5: ok" in said.out
    assert done("try", folder, HOME + "5", "--resolve", server.resolve).out == said.out, "in either order"
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "lock" not in path.name}
    assert {path.name for path in after if before.get(path) != after[path]} <= {
        "catalog.sqlite-shm",
        "catalog.sqlite-wal",
    }


def test_mistakes(server, tmp_path):
    assert lycosa("try", HOME).is_one_clear_line(2, "by what topic?")
    assert lycosa("try", HOME, tmp_path, "--topic", "bees").is_one_clear_line(2, "not both")
    assert lycosa("try", "word", "--topic", "bees").is_one_clear_line(2, "not a URL")
    assert lycosa("try", "www.python.org", "--topic", "bees").is_one_clear_line(2, "public host")
    gone = lycosa("try", HOME + "nowhere", "--topic", "honey bees", "--resolve", server.resolve)
    assert (gone.code, "not found (404)" in gone.out) == (1, True)
