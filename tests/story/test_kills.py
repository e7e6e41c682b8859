"""A crawl that is killed at any moment, and the same command again."""

import contextlib
import random
import time
import zlib
from collections import Counter
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from crawling import (
    apart,
    archived,
    archives,
    begin,
    collection,
    done,
    kill,
    listing,
    pages,
    passes_warcio_check,
    rows,
    wait_until,
    waiting,
)
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=5, hosts=15, pages=600)
CONCURRENCY = 8


def whole_events(folder: Path) -> set[str]:
    """What the archive tells of completely, read up to where a kill has cut it."""
    known: set[str] = set()
    for path in archives(folder):
        with path.open("rb") as stream, contextlib.suppress(ArchiveLoadFailed, EOFError, OSError, zlib.error):
            for record in ArchiveIterator(stream):
                said = record.content_stream().read()
                if record.rec_type == "metadata" and said.endswith(b"}"):
                    known.add(record.rec_headers.get_header("WARC-Target-URI"))
    return known


def assert_whole(folder: Path, size: int) -> None:
    """Every page the catalog lists is in the archive, once, and there are as many as were asked for."""
    listed = pages(folder)
    assert len(listed) == size
    assert set(listed) <= set(archived(folder))
    assert passes_warcio_check(folder)
    visited = Counter(url for (url,) in rows(folder, "SELECT url FROM fetches WHERE settled"))
    assert visited.most_common(1)[0][1] == 1
    assert not set(visited) & set(waiting(folder))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_crawl_killed_at_random_moments_loses_nothing_and_fetches_only_twice_what_was_in_flight(tmp_path, seed):
    chance = random.Random(seed)
    with WorldServer(WORLD, latency=0.004) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        command = ["crawl", folder, "--pages", 120, "--concurrency", CONCURRENCY, "--resolve", served.resolve]
        kept: list[tuple[int, set[str]]] = []  # at each kill: how many were asked, and what the archive held whole
        for _ in range(5):
            process = begin(*command)
            enough = len(served.requests) + chance.randrange(0, 40)
            wait_until(lambda: len(served.requests) >= enough, process)  # noqa: B023
            time.sleep(chance.uniform(0.0, 0.05))
            kill(process)
            kept.append((len(served.requests), whole_events(folder)))
        said = apart(*command)
        assert said.code == 0, said.err
    assert_whole(folder, 120)
    assert len(served.requests) - len(set(served.requests)) <= CONCURRENCY * len(kept)
    for asked, known in kept:
        assert not known & set(served.requests[asked:])


def test_a_crawl_killed_while_it_fetches_its_examples_asks_for_none_of_them_twice(tmp_path):
    topic = WORLD.topics[0]
    examples = [url for url in WORLD.urls() if WORLD.topic(url) == topic][:12]
    with WorldServer(WORLD, latency=0.02) as served:
        listing(tmp_path / "good.txt", examples)
        listing(tmp_path / "seeds.txt", examples)
        folder = tmp_path / "c"
        done("new", folder, "--examples", tmp_path / "good.txt", "--seeds", tmp_path / "seeds.txt")
        command = ["crawl", folder, "--pages", 60, "--delay", 0, "--concurrency", 2, "--resolve", served.resolve]
        for enough in (3, 8):
            process = begin(*command)
            wait_until(lambda: len(served.requests) >= enough, process)  # noqa: B023
            kill(process)
        said = apart(*command)
        assert said.code == 0, said.err
        assert_whole(folder, 60)
        twice = [url for url, times in Counter(served.requests).items() if times > 1]
        assert len(twice) <= 2 * 2, twice  # two kills, two in flight


def test_a_crawl_killed_while_it_judges_its_pages_anew_judges_them_all_when_it_goes_on(tmp_path):
    topic = WORLD.topics[0]
    examples = [url for url in WORLD.urls() if WORLD.topic(url) == topic][:10]
    with WorldServer(WORLD) as served:
        listing(tmp_path / "good.txt", examples)
        listing(tmp_path / "seeds.txt", [WORLD.front_page])
        command = ["--delay", 0, "--concurrency", 1, "--resolve", served.resolve]
        for name in ("killed", "whole"):
            folder = tmp_path / name
            done("new", folder, "--examples", tmp_path / "good.txt", "--seeds", tmp_path / "seeds.txt")
        process = begin("crawl", tmp_path / "killed", "--pages", 110, *command)
        assert process.stderr is not None
        for line in process.stderr:
            if "re-scoring" in line:
                break
        kill(process)
        assert apart("crawl", tmp_path / "killed", "--pages", 110, *command).code == 0
        assert apart("crawl", tmp_path / "whole", "--pages", 110, *command).code == 0
    scores = "SELECT url, round(relevance, 6) FROM pages ORDER BY number"
    assert rows(tmp_path / "killed", scores) == rows(tmp_path / "whole", scores)
    assert waiting(tmp_path / "killed") == pytest.approx(waiting(tmp_path / "whole"))


def test_a_crawl_killed_while_it_closes_is_whole_after_the_same_command(tmp_path):
    with WorldServer(WORLD) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        command = ["crawl", folder, "--pages", 60, "--resolve", served.resolve]
        for pause in (0.0, 0.005, 0.02):
            process = begin(*command)
            assert process.stderr is not None
            for line in process.stderr:
                if "stopped" in line:
                    break
            time.sleep(pause)
            kill(process)
        requests = len(served.requests)
        assert apart(*command).code == 0
        assert len(served.requests) == requests
    assert_whole(folder, 60)
    title = rows(folder, "SELECT title FROM pages WHERE title LIKE '% % %' LIMIT 1")[0][0]
    assert done("search", folder, title, "--json").json


def test_a_collection_can_be_looked_at_after_a_kill(tmp_path):
    with WorldServer(WORLD, latency=0.004) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        process = begin("crawl", folder, "--resolve", served.resolve)
        wait_until(lambda: len(served.requests) >= 60, process)
        kill(process)
        for command in (["show", folder], ["search", folder, "bees"], ["export", folder], ["report", folder]):
            done(*command)
        assert all(run["stop_reason"] is None for run in done("show", folder, "--json").json["runs"])
