"""A crawl by several workers: the same as by one, also if it is stopped, killed, or goes on with other workers."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from crawling import begin, collection, done, end, listing, lycosa, pages, rows, wait_until
from lycosa.vocabulary.urls import host_of
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=8, hosts=12, pages=500)
ON_TOPIC = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]]


def made(folder: Path) -> Path:
    """A collection that learns its topic from ten pages."""
    listing(folder.parent / "good.txt", ON_TOPIC[:10])
    listing(folder.parent / "seeds.txt", [WORLD.front_page])
    done("new", folder, "--examples", folder.parent / "good.txt", "--seeds", folder.parent / "seeds.txt")
    return folder


def how(served: WorldServer, *words: object) -> list[object]:
    return ["--delay", 0, "--resolve", served.resolve, *words]


def requested_pages(served: WorldServer) -> Counter[str]:
    """How often each page was asked for."""
    return Counter(url for url in served.requests if not url.endswith("/robots.txt"))


def assert_whole(folder: Path) -> None:
    """Nothing is left of the shards, and no page is there twice."""
    assert not (folder / "shards").exists()
    assert not (folder / "journal.json").exists()
    urls = [url for (url,) in rows(folder, "SELECT url FROM pages")]
    assert len(urls) == len(set(urls))
    numbers = [number for (number,) in rows(folder, "SELECT number FROM pages ORDER BY number")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert not rows(folder, "SELECT url FROM pages WHERE url IN (SELECT url FROM frontier)")
    assert len(rows(folder, "SELECT url FROM frontier")) == len(set(rows(folder, "SELECT url FROM frontier")))


def test_two_workers_bring_as_many_pages_as_one_and_everything_sees_one_collection(tmp_path):
    with WorldServer(WORLD) as served:
        folder = made(tmp_path / "c")
        said = done("crawl", folder, "--pages", 200, "--workers", 2, *how(served))
        assert "2 workers go on" in said.err
        assert "200 pages, as requested" in said.err
        assert max(requested_pages(served).values()) == 1
    assert len(pages(folder)) == 200
    assert_whole(folder)
    assert len(done("export", folder, "--format", "urls").out.split()) == 200
    assert done("search", folder, "the", "--json").json
    last = rows(folder, "SELECT url FROM pages ORDER BY number DESC LIMIT 1")[0][0]
    assert last in done("explain", folder, last).out
    assert done("cat", folder, last).out
    assert rows(folder, "SELECT count(*), max(stop_reason) FROM runs") == [(1, "200 pages, as requested")]
    before = set(rows(folder, "SELECT url, relevance, title FROM pages"))
    links = rows(folder, "SELECT count(*) FROM links")
    done("rebuild", folder)
    assert set(rows(folder, "SELECT url, relevance, title FROM pages")) == before
    assert rows(folder, "SELECT count(*) FROM links") == links
    done("report", folder)


def test_the_number_of_workers_may_change_between_runs_and_nothing_is_fetched_twice(tmp_path):
    with WorldServer(WORLD) as served:
        folder = made(tmp_path / "c")
        for size, workers in ((80, 1), (140, 3), (200, 2), (220, 1)):
            done("crawl", folder, "--pages", size, "--workers", workers, *how(served))
            assert len(pages(folder)) == size
            assert_whole(folder)
        fetches = rows(folder, "SELECT url, count(*) FROM fetches WHERE settled GROUP BY url HAVING count(*) > 1")
        assert not fetches


def test_workers_that_follow_every_link_find_what_one_process_finds(tmp_path):
    found = []
    for workers in (1, 3):
        with WorldServer(WORLD) as served:
            folder = made(tmp_path / f"c{workers}")
            said = done("crawl", folder, "--dry-after", 0, "--workers", workers, *how(served))
            assert "nothing is left to fetch" in said.err
            found.append(pages(folder))
            assert_whole(folder)
    assert set(found[0]) == set(found[1])


def test_a_crawl_of_one_domain_uses_one_worker_and_says_so(tmp_path):
    host = host_of(WORLD.front_page)
    with WorldServer(WORLD) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page])
        said = done("crawl", folder, "--workers", 2, "--include-host", host, "--dry-after", 0, *how(served))
        assert "one worker was enough" in said.err
    assert {host_of(url) for url in pages(folder)} == {host}


def workers_of(process: object) -> list[int]:
    """The process numbers of the workers of a crawl."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [
        int(child) for child in children if b"lycosa.parallel.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def begun(folder: Path, served: WorldServer, pages_asked: int = 480) -> object:
    """A crawl whose workers are at work."""
    process = begin("crawl", folder, "--pages", pages_asked, "--workers", 2, "--dry-after", 0, *how(served))
    wait_until(lambda: len(served.requests) > 150, process)
    assert len(workers_of(process)) == 2
    return process


@pytest.mark.parametrize("victim", ["worker", "coordinator", "all"])
def test_what_was_killed_is_gathered_and_goes_on(tmp_path, victim):
    with WorldServer(WORLD, latency=0.02) as served:
        folder = made(tmp_path / "c")
        process = begun(folder, served)
        workers = workers_of(process)
        if victim in ("worker", "all"):
            os.kill(workers[1], signal.SIGKILL)
        if victim == "all":
            os.kill(workers[0], signal.SIGKILL)
        if victim in ("coordinator", "all"):
            process.kill()
        said = end(process)
        if victim == "worker":
            assert said.code == 1
            assert "worker 2 of 2 ended unexpectedly" in said.err
            assert "Traceback" not in said.err
        wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
        shown = json.loads(done("show", folder, "--json").out)
        assert shown["pages"] > 40
        assert_whole(folder)
        kept = set(pages(folder))
        asked = sum(requested_pages(served).values())
        assert asked - len(kept) <= 2 * 16 + 20, "pages that were fetched are lost"
        served.latency = 0.0
        done("crawl", folder, "--pages", 450, "--workers", 2, "--dry-after", 0, *how(served))
        assert kept <= set(pages(folder))
    assert len(pages(folder)) == 450
    assert_whole(folder)


def test_an_interrupt_stops_all_workers_and_the_crawl_goes_on(tmp_path):
    with WorldServer(WORLD, latency=0.02) as served:
        folder = made(tmp_path / "c")
        process = begun(folder, served)
        process.send_signal(signal.SIGINT)
        said = end(process)
        assert said.code == 0, said.err
        assert "interrupted" in said.err
        assert "Traceback" not in said.err
        assert_whole(folder)
        assert 40 < len(pages(folder)) < 480


def test_commands_of_the_user_reach_the_workers(tmp_path):
    with WorldServer(WORLD, latency=0.02) as served:
        folder = made(tmp_path / "c")
        process = begun(folder, served)
        assert "budget" in done("control", folder, "status").out or True
        refused = lycosa("control", folder, "drop", "http://x.example/")
        assert refused.code == 2
        done("control", folder, "stop")
        assert end(process).code == 0
        assert_whole(folder)
