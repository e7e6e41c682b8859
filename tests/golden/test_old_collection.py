"""A collection that version 0.1.0 made: every later version opens it, crawls on, sees its pages again and rebuilds it.

`collection-0.1.0.tar.gz` is never made anew. It holds `bees`, made by `lycosa new` from six examples and one seed, a
crawl of 22 pages, two labels, a crawl up to 30 pages, a refresh of 24 requests 20 days later (16 pages unchanged, 3
changed, 1 vanished, 2 new), the import of 2 pages, and a crawl that found the collection full; 35 URLs wait. Beside it
lies `web.json`, the pages of its web as they were at the refresh.
"""

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawling import archived, done, pages, passes_warcio_check, rows, skipped, waiting
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer

ARCHIVE = Path(__file__).with_name("collection-0.1.0.tar.gz")
TABLES = {
    "pages": "SELECT number, url, host, title, language, round(relevance, 9), round(standing, 9), digest, fingerprint,"
    " at, bytes, depth, found_on, round(priority, 9), because, anchor, duplicate_of, status, file, place, length, etag,"
    " truncated, looked_at, vanished_at, vanished_why FROM pages ORDER BY number",
    "links": "SELECT source, rank, position, target, anchor, rel FROM links ORDER BY source, rank",
    "fetches": "SELECT url, at, outcome, status, digest, settled, again, file, place FROM fetches ORDER BY rowid",
    "looks": "SELECT page, look, at, change, status, digest, bytes, links, new_links FROM looks ORDER BY page, look",
    "new links": "SELECT page, look, target FROM new_links ORDER BY page, look, target",
    "examples": "SELECT url, good, at, outcome FROM examples ORDER BY url",
    "runs": "SELECT at, strategy, seeds, scope, first_page, stopped_at, stop_reason, refresh FROM runs ORDER BY at",
    "frontier": "SELECT url FROM frontier ORDER BY url",
}

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "bees"


@contextmanager
def web_of(folder: Path) -> Iterator[WorldServer]:
    """Its web, on any port: `--resolve` sends every host there."""
    told = json.loads(folder.with_name("web.json").read_text(encoding="utf-8"))
    world = FixedWorld(
        {url: body.encode() for url, body in told["pages"].items()}, redirects=told["redirects"], robots=told["robots"]
    )
    with WorldServer(world) as server:
        yield server


def one_at_a_time(server: WorldServer) -> list[object]:
    return ["--concurrency", 1, "--delay", 0, "--resolve", server.resolve]


def everything(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    return {name: rows(folder, sql) for name, sql in TABLES.items()}


def found(folder: Path, words: str) -> list[str]:
    return [hit["url"] for hit in done("search", folder, words, "--limit", 50, "--json").json]


def test_it_is_shown_searched_explained_and_exported(folder: Path) -> None:
    shown = done("show", folder, "--json").json
    assert [run["strategy"] for run in shown["runs"]] == ["adaptive"] * 4
    assert shown["freshness"]["changed"] == 3
    assert shown["freshness"]["vanished"] == 1
    assert {"http://foreign.example/0"} < set(found(folder, "honey"))
    lines = [json.loads(line) for line in done("export", folder).out.splitlines()]
    assert [line["url"] for line in lines] == pages(folder)
    assert len(lines) == 34
    changed = done("explain", folder, "http://nurse-letters.test/lessons/", "--json").json
    assert [look["change"] for look in changed["looks"]] == ["new", "changed"]
    done("report", folder)


def test_it_crawls_on_with_what_it_knew(folder: Path) -> None:
    recipe = folder / "lycosa.toml"
    recipe.write_text(
        recipe.read_text(encoding="utf-8").replace("[topic]\n", "[topic]\nstem = false\n"), encoding="utf-8"
    )
    before, versions = pages(folder), archived(folder)
    with web_of(folder) as server:
        said = done("crawl", folder, "--pages", 45, *one_at_a_time(server))
    asked = server.requests
    # Its model was trained before the crawl taught anything, which happens from 20 pages on by now.
    assert "34 pages are there to learn from: re-scoring 34 pages" in said.err
    assert "an older version has crawled here" not in said.err
    assert "the search index was made by an older version: building it again" in said.err
    assert len(set(asked)) == len(asked)
    assert not set(asked) & set(before)
    after = pages(folder)
    assert after[:34] == before
    assert len(after) == 45
    assert not set(after) & set(waiting(folder))
    assert versions.items() <= archived(folder).items()
    assert passes_warcio_check(folder)


def test_its_pages_are_judged_by_stems_once(folder: Path) -> None:
    with web_of(folder) as server:
        first = done("crawl", folder, "--pages", 38, *one_at_a_time(server)).err
        again = done("crawl", folder, "--pages", 40, *one_at_a_time(server)).err
    assert [line for line in first.splitlines() if "re-scoring" in line] == [
        "words are now compared by their stems: re-scoring 34 pages"
    ]
    assert "re-scoring" not in again
    assert len(pages(folder)) == 40


def test_its_pages_are_seen_again(folder: Path) -> None:
    before = everything(folder)
    with web_of(folder) as server:
        result = done("refresh", folder, "--budget", 40, "--expand", 0, "--json", *one_at_a_time(server)).json
    after = everything(folder)
    assert result["failed"] == 0
    assert result["looked_at"] == sum(look > 1 for _, look, *_ in set(after["looks"]) - set(before["looks"])) == 34
    assert result["unchanged"] >= 18  # those seen by the first refresh, and those imported
    assert {row[:2]: row for row in before["looks"]}.items() <= {row[:2]: row for row in after["looks"]}.items()
    assert [row[1] for row in after["pages"]] == [row[1] for row in before["pages"]]
    done("rebuild", folder)
    assert everything(folder) == after


def test_it_is_rebuilt_from_its_archive(folder: Path) -> None:
    before, refused = everything(folder), skipped(folder)
    done("rebuild", folder)
    assert everything(folder) == before
    assert skipped(folder) == refused
    assert {"http://foreign.example/0"} < set(found(folder, "honey"))
    with web_of(folder) as server:
        done("crawl", folder, "--pages", 40, *one_at_a_time(server))
    assert pages(folder)[:34] == [row[1] for row in before["pages"]]
    assert len(pages(folder)) == 40
