"""Ways in are found, written to a file, and crawled from."""

import pytest

from crawling import done, lycosa
from run.test_seed_sources import CAPTURED, FILES, RESULTS
from web.index_doubles import IndexDoubles

pytestmark = pytest.mark.slow


@pytest.fixture
def doubles():
    with IndexDoubles(captured=CAPTURED, results=RESULTS, files=dict(FILES)) as doubles:
        yield doubles


def test_seeds_are_found_by_several_ways_and_begin_a_collection(tmp_path, doubles, monkeypatch):
    said = done(
        "seeds", "http://a.example", "--common-crawl", "--common-crawl-url", "http://index.example", "--wayback",
        "--wayback-url", "http://wayback.example/cdx", "--sitemap", "--delay", 0, "--resolve", doubles.resolve,
        "--out", tmp_path / "found.txt",
    )  # fmt: skip
    assert said.out == ""
    assert "Common Crawl: 7 URLs\nWayback Machine: 7 URLs\nsitemap: 2 URLs\n" in said.err
    assert len((tmp_path / "found.txt").read_text().splitlines()) == 9
    done("new", tmp_path / "c", "--topic", "bees", "--seeds", tmp_path / "found.txt")
    config = tmp_path / "config" / "lycosa"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'searxng = "http://127.0.0.1:{doubles.port}/"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    assert done("seeds", "--words", "honey bees", "--delay", 0).out.splitlines() == RESULTS


def test_a_way_that_fails_says_so_and_nothing_found_is_a_failure(tmp_path, doubles):
    doubles.broken = {"index.example"}
    said = done(
        "seeds", "http://a.example", "--common-crawl", "--common-crawl-url", "http://index.example", "--llms-txt",
        "--delay", 0, "--resolve", doubles.resolve, "--json",
    )  # fmt: skip
    assert [(each["way"], len(each["urls"])) for each in said.json] == [("Common Crawl", 0), ("llms.txt", 3)]
    assert "Common Crawl: 0 URLs; index.example: busy (503)" in said.err
    both = done(
        "seeds", "http://a.example", "--llms-txt", "--delay", 0, "--resolve", doubles.resolve, "--json",
        "--out", tmp_path / "found.txt",
    )  # fmt: skip
    assert (tmp_path / "found.txt").read_text().splitlines() == both.json[0]["urls"]
    nothing = lycosa("seeds", "http://none.example", "--delay", 0, "--resolve", doubles.resolve)
    assert (nothing.code, nothing.out) == (1, "")


def test_mistakes():
    assert lycosa("seeds").is_one_clear_line(2, "name hosts")
    assert lycosa("seeds", "--words", "bees").is_one_clear_line(2, "--searxng")
    assert lycosa("seeds", "a.example", "--searxng", "http://b.example").is_one_clear_line(2, "--words")
    assert lycosa("seeds", "--words", "x", "--searxng", "nowhere").is_one_clear_line(2, "--searxng: not a URL")
    assert lycosa("seeds", "--words", "x", "--searxng", "http://b.example", "--wayback").is_one_clear_line(
        2, "name some"
    )
    assert lycosa("seeds", "www.python.org").is_one_clear_line(2, "www.python.org is a public host")
