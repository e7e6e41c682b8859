"""What goes with several workers works as with one process; what does not is one clear line before any request."""

import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from crawling import begin, collection, done, end, environment_with, listing, lycosa, pages, rows, wait_until
from lycosa import api
from lycosa.parallel import crawl as crawl_module
from lycosa.screens.overviews import crawl_figures
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.urls import site_of
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=8, hosts=12, pages=500)
ON_TOPIC = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]]
ON_HONEY = 'keywords = ["honey", "bee"]'


@pytest.fixture(scope="module")
def served():
    with WorldServer(WORLD) as served:
        yield served


def made(folder: Path, *, topic: str = ON_HONEY, rest: str = "") -> Path:
    return collection(folder, [WORLD.front_page], topic=topic, rest=rest)


def crawl(folder: Path, served: WorldServer, *words: object, size: int = 90) -> str:
    how = ("--workers", 2, "--pages", size, "--delay", 0, "--dry-after", 0, "--resolve", served.resolve)
    said = done("crawl", folder, *how, *words)
    assert "2 workers go on" in said.err
    assert "Traceback" not in said.err
    assert len(pages(folder)) == size
    return said.err


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (("--stop-at-recall", 0.9), ""),
        ((), "[stop]\nrequests = 100\n"),
    ],
)
def test_what_one_process_must_decide_is_refused_before_any_request(tmp_path, served, words, rest):
    folder = made(tmp_path / "c", rest=rest)
    before = len(served.requests)
    refused = lycosa("crawl", folder, "--workers", 2, "--resolve", served.resolve, *words)
    name = str(words[0]) if words else "requests in [stop]"
    assert refused.is_one_clear_line(2, name, "--workers")
    assert len(served.requests) == before
    assert not (folder / "catalog.sqlite").exists()


@pytest.mark.parametrize("workers", ["0", "-1", "65", "two"])
def test_a_number_of_workers_is_from_1_to_64(tmp_path, workers):
    assert lycosa("crawl", made(tmp_path / "c"), "--workers", workers).code == 2
    if workers.lstrip("-").isdigit():
        with pytest.raises(UsageError, match="workers is a number from 1 to 64"):
            api.crawl(tmp_path / "c", workers=int(workers))


@pytest.mark.parametrize("strategy", ["hunter", "best-first", "breadth-first", "pagerank", "adaptive", "intelligent"])
def test_every_kind_of_strategy_crawls_with_workers(tmp_path, served, strategy):
    folder = made(tmp_path / "c")
    crawl(folder, served, "--strategy", strategy)
    assert rows(folder, "SELECT strategy FROM runs") == [(strategy,)]


def test_a_target_below_1_gives_pages_of_all_workers_a_standing(tmp_path, served):
    folder = made(tmp_path / "c", topic='examples = "good.txt"', rest='[standing]\nin_links = "table.csv"\n')
    listing(folder / "good.txt", ON_TOPIC[:20])
    table = "".join(f"{url},{number * 7 % 100}\n" for number, url in enumerate(ON_TOPIC))
    (folder / "table.csv").write_text("url,in_links\n" + table)
    said = crawl(folder, served, "--target", 0.3)
    assert said.count("table.csv: ") == 1, "each worker has told it again"
    assert rows(folder, "SELECT count(*) FROM pages WHERE standing IS NULL") == [(0,)]


def test_a_map_guides_all_workers(tmp_path, served):
    first = made(tmp_path / "first")
    done("crawl", first, "--pages", 120, "--delay", 0, "--dry-after", 0, "--resolve", served.resolve)
    done("map", "build", first, "--for", "honey", "--out", tmp_path / "honey.atlas")
    folder = made(tmp_path / "c")
    crawl(folder, served, "--map", tmp_path / "honey.atlas", "--strategy", "best-first")


def test_an_access_log_guides_all_workers(tmp_path, served):
    lines = [
        f"17000{number:05}.000     45 10.9.0.{number % 9} TCP_MISS/200 4321 GET {url} - DIRECT/192.0.2.1 text/html\n"
        for number, url in enumerate(ON_TOPIC * 3)
    ]
    (tmp_path / "log.squid").write_text("".join(lines))
    done("logs", "import", tmp_path / "log.squid", "--into", tmp_path / "read.log")
    folder = made(tmp_path / "c")
    crawl(folder, served, "--logs", tmp_path / "read.log", "--strategy", "best-first")


def test_quotas_hold_across_workers(tmp_path, served):
    folder = made(tmp_path / "c")
    crawl(folder, served, "--per-site", 9)
    assert max(Counter(map(site_of, pages(folder))).values()) == 9


def test_a_topic_by_a_function_runs_in_all_workers(tmp_path, served):
    module = tmp_path / "code"
    module.mkdir()
    (module / "my_topic.py").write_text("def is_long(page):\n    return len(page.text) > 300\n")
    folder = made(tmp_path / "c", topic='function = "my_topic:is_long"')
    how = ("--workers", 2, "--pages", 90, "--delay", 0, "--dry-after", 0, "--resolve", served.resolve)
    said = end(begin("crawl", folder, *how, env=environment_with(module)))
    assert said.code == 0, said.err
    assert "2 workers go on" in said.err
    assert rows(folder, "SELECT count(*) FROM pages WHERE relevance IS NULL") == [(0,)]


def test_python_sees_the_visits_of_all_workers_and_may_leave_early(tmp_path, served):
    folder = made(tmp_path / "c")
    run = api.crawl(folder, workers=2, pages=120, dry_after=0, delay=0, resolve=[served.resolve])
    assert isinstance(run, api.ParallelRun)
    seen = []
    for visit in run:
        seen.append(visit.fetch.url)
        if len(seen) == 90:
            break
    assert run.stopped == "interrupted"
    assert not (folder / "shards").exists()
    assert len(pages(folder)) >= 80
    seen += [visit.fetch.url for visit in run]
    assert run.stopped == "120 pages, as requested"
    assert len(pages(folder)) == 120
    # Of what workers had visited when the loop was left, the last reports were not seen; one of them may be far behind.
    assert set(pages(folder)[:40]) <= set(seen)
    assert len(set(seen)) == len(seen)
    assert run.search("honey") is not None


def test_the_user_sees_and_steers_a_crawl_with_workers(tmp_path):
    with WorldServer(WORLD, latency=0.05) as served:
        folder = made(tmp_path / "c")
        how = ("--workers", 2, "--pages", 480, "--delay", 0, "--dry-after", 0, "--resolve", served.resolve)
        process = begin("crawl", folder, *how, "--concurrency", 4)
        wait_until(lambda: (folder / "journal.json").exists() and len(served.requests) > 100, process)
        status = json.loads(done("control", folder, "status", "--json").out)
        assert status["status"]["workers"] == 2
        figures = crawl_figures(folder)  # of the screens
        assert figures.phase == "running"
        assert figures.pages >= 40
        done("control", folder, "status")
        done("control", folder, "pause")
        assert json.loads(done("control", folder, "status", "--json").out)["status"]["paused"]
        done("control", folder, "resume")
        blocked = next(site_of(url) for url in reversed(list(WORLD.urls())))
        done("control", folder, "block", blocked)
        done("control", folder, "boost", ON_TOPIC[-1])
        for words in (("drop", "http://x.example/"), ("undo",)):
            assert lycosa("control", folder, *words).is_one_clear_line(2, words[0], "workers")
        refused = lycosa("label", folder, ON_TOPIC[0], "--bad")
        assert refused.is_one_clear_line(2, "label", "workers")
        shown = done("show", folder)
        assert re.search(r"\d+ pages", shown.out)
        assert done("show", folder, "--json").json["pages"] >= 40
        assert done("pages", folder).out
        done("control", folder, "budget", len(pages(folder)) + 60)
        said = end(process)
        assert said.code == 0, said.err
        assert "Traceback" not in said.err
    assert not (folder / "shards").exists()
    assert len(pages(folder)) < 480


def test_where_no_worker_can_be_started_it_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(crawl_module, "sys", SimpleNamespace(platform="win32"))
    with pytest.raises(UsageError, match="--workers does not work on Windows"):
        list(api.crawl(made(tmp_path / "c"), workers=2))
    assert not (tmp_path / "c" / "catalog.sqlite").exists()


def test_workers_know_which_hosts_have_just_had_a_request(tmp_path, monkeypatch, served):
    class DealtError(Exception):
        pass

    def make_shards(folder: Path, *_: object, **__: object) -> None:
        (holds,) = rows(folder, "SELECT value FROM state WHERE key = 'holds'")[0]
        latest = rows(folder, "SELECT host, max(at) FROM pages GROUP BY host ORDER BY max(at) DESC LIMIT 1")[0][0]
        assert latest in json.loads(holds)
        raise DealtError

    folder = made(tmp_path / "c")
    done("crawl", folder, "--pages", 38, "--delay", 0, "--dry-after", 0, "--resolve", served.resolve)
    monkeypatch.setattr(crawl_module, "make_shards", make_shards)
    with pytest.raises(DealtError):
        list(api.crawl(folder, workers=2, pages=90, dry_after=0, delay=2, resolve=[served.resolve]))


def test_nothing_of_the_workers_is_left_when_a_crawl_has_ended(tmp_path, served):
    folder = made(tmp_path / "c")
    crawl(folder, served)
    left = {path.name for path in folder.iterdir()}
    assert not left & {"shards", "journal.json", "control"}
