"""A search finds what is there, and says so where it cannot find everything yet."""

import fcntl
import shutil

import pytest

from crawling import apart, collection, copied, done, lycosa, site
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crawled_once(tmp_path_factory):
    with WorldServer(FixedWorld(site("a.example", leaves=6))) as server:
        folder = collection(tmp_path_factory.mktemp("search") / "c", ["http://a.example/"])
        done("crawl", folder, "--resolve", server.resolve)
    return folder


@pytest.fixture
def crawled(crawled_once, tmp_path):
    return copied(crawled_once, tmp_path / "c")


def found(*words: object) -> list[str]:
    return [hit["url"] for hit in done("search", *words, "--json").json]


def test_words_need_no_quotes_and_a_dash_leaves_a_word_out(crawled):
    assert set(found(crawled, "leaf", "w1x1")) == {f"http://a.example/{number}" for number in range(6)}
    assert found(crawled, "leaf", "w1x1")[0] == "http://a.example/1"
    assert "http://a.example/1" not in found(crawled, "leaf", "-w1x1", "--limit", 5)
    assert found(crawled, "-hive", "leaf") == []
    assert len(found(crawled, "bees")) == 7
    assert lycosa("search", crawled, "bees", "--limt", 5).is_one_clear_line(2, "no option --limt", "--help")
    assert lycosa("search", crawled).code == 2


def test_a_missing_index_is_built_first(crawled):
    shutil.rmtree(crawled / "search")
    said = done("search", crawled, "hive")
    assert "the search index is behind; adding to it: 7 pages" in said.err
    assert "nothing found" not in said.out
    assert done("search", crawled, "hive").err == ""


def test_while_a_crawl_runs_it_is_said_how_many_pages_cannot_be_searched(crawled):
    shutil.rmtree(crawled / "search")
    with (crawled / ".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = done("search", crawled, "hive")
    assert "7 pages cannot be searched yet: another process is writing to" in said.err
    assert said.out == "nothing found\n"


def test_a_search_from_python_builds_it_too(crawled):
    import lycosa as api

    shutil.rmtree(crawled / "search")
    with api.open(crawled) as opened:
        assert len(opened.search("hive")) == 7


def test_help_says_what_can_be_asked():
    said = apart("search", "--help").out
    for example in ("+lava flow", "lava -pumice", "lava AND flow", "'\"lava flow\"'", "volc*", "title:volcano"):
        assert example in said
