"""A search finds what is there, and says so where it cannot find everything yet."""

import shutil

import pytest

from crawling import apart, begin, collection, done, end, lycosa, pages, site, wait_until
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow


@pytest.fixture
def crawled(tmp_path):
    with WorldServer(FixedWorld(site("a.example", leaves=6))) as server:
        folder = collection(tmp_path / "c", ["http://a.example/"])
        done("crawl", folder, "--resolve", server.resolve)
    return folder


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


def test_an_index_that_cannot_be_built_says_how_many_pages_are_missing(crawled):
    routes = {"/": response(html("Front", "honey", ["/slow"])), "/slow": lambda connection: connection.recv(1)}
    with LoopbackServer(routes) as server:
        (crawled / "seeds.txt").write_text("http://b.example/\nhttp://b.example/slow\n")
        process = begin("crawl", crawled, "--resolve", server.everything[0])
        wait_until(lambda: "/slow" in server.paths(), process)
        shutil.rmtree(crawled / "search")
        said = lycosa("search", crawled, "hive")
        process.terminate()
        end(process)
    assert said.code == 0
    assert "pages cannot be searched yet: another crawl is running" in said.err
    assert pages(crawled)


def test_a_search_from_python_builds_it_too(crawled):
    import lycosa as api

    shutil.rmtree(crawled / "search")
    with api.open(crawled) as opened:
        assert len(opened.search("hive")) == 7


def test_help_says_what_can_be_asked():
    said = apart("search", "--help").out
    for example in ("+lava flow", "lava -pumice", "lava AND flow", "'\"lava flow\"'", "volc*", "title:volcano"):
        assert example in said
