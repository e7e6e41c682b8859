"""A crawl that is stopped and goes on: in the same order, with another strategy, after Ctrl-C."""

import json
import signal
import sqlite3

import pytest

from crawling import (
    apart,
    assert_goes_on_where_it_stopped,
    begin,
    collection,
    done,
    end,
    listing,
    pages,
    rows,
    site,
    wait_until,
    waiting,
)
from fixtures.fixed_world import FixedWorld
from lycosa.strategies import STRATEGIES
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from worlds import html

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=8, hosts=10, pages=400)
PLAIN = [name for name, entry in STRATEGIES.items() if name != "baseline-focused" and not entry.needs]
TOPIC = f'text = "{WORLD.topics[0]}"'


@pytest.mark.parametrize("strategy", PLAIN)
def test_a_crawl_that_was_stopped_goes_on_as_if_it_had_not(tmp_path, strategy):
    with WorldServer(WORLD) as served:
        command = ["--strategy", strategy, "--concurrency", 1, "--resolve", served.resolve]
        assert_goes_on_where_it_stopped(tmp_path, [WORLD.front_page], topic=TOPIC, crawl=command)


def test_a_crawl_that_learns_goes_on_as_if_it_had_not_been_stopped(tmp_path):
    examples = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]][:10]
    listing(tmp_path / "good.txt", examples)
    listing(tmp_path / "seeds.txt", [WORLD.front_page])
    with WorldServer(WORLD) as served:
        command = ["--delay", 0, "--concurrency", 1, "--resolve", served.resolve]
        for name, sizes in (("whole", [130]), ("stopped", [40, 100, 101, 130])):
            done("new", tmp_path / name, "--examples", tmp_path / "good.txt", "--seeds", tmp_path / "seeds.txt")
            for size in sizes:
                done("crawl", tmp_path / name, "--pages", size, *command)
    assert pages(tmp_path / "stopped") == pages(tmp_path / "whole")
    assert waiting(tmp_path / "stopped") == pytest.approx(waiting(tmp_path / "whole"))


def test_a_crawl_of_a_version_that_kept_less_is_ranked_anew_and_goes_on(tmp_path):
    with WorldServer(WORLD) as served:
        command = ["--strategy", "adaptive", "--concurrency", 1, "--resolve", served.resolve]
        folder = collection(tmp_path / "c", [WORLD.front_page], topic=TOPIC)
        done("crawl", folder, "--pages", 60, *command)
        before = waiting(folder)
        with sqlite3.connect(folder / "catalog.sqlite") as connection:
            (state,) = connection.execute("SELECT value FROM state WHERE key = 'strategy_state'").fetchone()
            kept = {key: value for key, value in json.loads(state).items() if key != "among"}
            connection.execute("UPDATE state SET value = ? WHERE key = 'strategy_state'", [json.dumps(kept)])
            connection.execute(
                "UPDATE frontier SET priority = 0.123, candidate = json_set(candidate, '$.priority', 0.123)"
            )
        assert "an older version has crawled here" in done("crawl", folder, "--pages", 60, *command).err
        assert waiting(folder) == pytest.approx(before)
        assert "older version" not in done("crawl", folder, "--pages", 70, *command).err
    assert len(pages(folder)) == 70


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_is_interrupted_says_so_and_goes_on(tmp_path, number):
    with WorldServer(WORLD, latency=0.1) as served:  # so long that the interrupt comes before the end
        folder = collection(tmp_path / "c", [WORLD.front_page])
        command = ["crawl", folder, "--pages", 100, "--concurrency", 4, "--resolve", served.resolve]
        process = begin(*command)
        wait_until(lambda: len(served.requests) > 20, process)
        process.send_signal(number)
        said = end(process)
        assert said.code == 0, said.err
        assert "interrupted" in said.err
        assert "Traceback" not in said.err
        stored = len(pages(folder))
        assert 0 < stored < 100
        assert done("search", folder, "the", "--json").json
        asked, served.latency = len(served.requests), 0.0
        assert apart(*command).code == 0
        assert len(served.requests) - asked <= 100 - stored + 4 + 10
    assert len(pages(folder)) == 100
    assert rows(folder, "SELECT stop_reason FROM runs")[0] == ("interrupted",)


def test_an_interrupt_while_examples_are_fetched_ends_the_crawl_soon(tmp_path):
    examples = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]][:40]
    listing(tmp_path / "good.txt", examples)
    with WorldServer(WORLD, latency=0.3) as served:
        folder = tmp_path / "c"
        done("new", folder, "--examples", tmp_path / "good.txt")
        process = begin("crawl", folder, "--delay", 0, "--concurrency", 1, "--resolve", served.resolve)
        wait_until(lambda: len(served.requests) >= 2, process)
        process.send_signal(signal.SIGINT)
        said = end(process)
        assert "Traceback" not in said.err
        assert len(served.requests) < 30, "the examples were all fetched before the interrupt was heeded"


def test_another_strategy_ranks_anew_what_waits_and_the_report_marks_where(tmp_path):
    with WorldServer(WORLD) as served:
        folder = collection(tmp_path / "c", [WORLD.front_page], topic=TOPIC)
        command = ["--concurrency", 1, "--resolve", served.resolve]
        done("crawl", folder, "--pages", 30, *command)
        assert all(0 <= priority <= 1 for priority in waiting(folder).values())
        before = set(waiting(folder))
        done("crawl", folder, "--pages", 30, "--strategy", "breadth-first", *command)
        assert set(waiting(folder)) == before
        assert all(priority == round(priority) <= -1 for priority in waiting(folder).values())
        done("crawl", folder, "--pages", 50, "--strategy", "breadth-first", *command)
        runs = done("show", folder, "--json").json["runs"]
        assert [run["strategy"] for run in runs] == ["hunter", "breadth-first", "breadth-first"]
        done("report", folder)
        assert "→ breadth-first" in (folder / "report.html").read_text(encoding="utf-8")
        assert "breadth-first" in done("show", folder).out
        done("crawl", folder, "--pages", 50, "--strategy", "best-first", *command)
    assert all(0 <= priority <= 1 for priority in waiting(folder).values())


def test_many_links_with_queries_are_not_lost_when_what_waits_is_ranked_anew(tmp_path):
    """What waits counts once toward the bounds against traps, however often it is ranked."""
    links = [f"http://q.example/find?n={number}" for number in range(150)]
    world = FixedWorld({"http://q.example/": html("Home", "honey", links), **site("s.example", leaves=5)})
    with WorldServer(world) as served:
        folder = collection(tmp_path / "c", ["http://q.example/", "http://s.example/"])
        words = ["--pages", 2, "--concurrency", 1, "--resolve", served.resolve]
        done("crawl", folder, "--strategy", "breadth-first", *words)
        before = len(waiting(folder))
        assert before >= 150
        for strategy in ("random", "breadth-first", "random", "breadth-first"):
            done("crawl", folder, "--strategy", strategy, *words)
            assert len(waiting(folder)) == before, strategy


def test_every_stop_names_its_reason(tmp_path):
    def reason(folder):
        return done("show", folder, "--json").json["runs"][-1]["stop_reason"]

    with WorldServer(FixedWorld(site("s.example", leaves=30, text="nothing of interest"))) as served:
        folder = collection(tmp_path / "c", ["http://s.example/"], topic='keywords = ["honey"]')
        words = ["--resolve", served.resolve, "--concurrency", 1]
        done("crawl", folder, "--pages", 2, *words)
        assert "2 pages" in reason(folder)
        done("crawl", folder, "--bytes", 1_000, *words)
        assert "bytes" in reason(folder)
        done("crawl", folder, "--minutes", 0, *words)
        assert "minutes" in reason(folder)
        done("crawl", folder, "--dry-after", 3, *words)
        assert "dried up" in reason(folder)
        done("crawl", folder, *words)
        assert "nothing is left" in reason(folder)
        done("crawl", folder, *words)
    assert len(pages(folder)) == 31


def test_json_quiet_verbose_and_a_log(tmp_path):
    with WorldServer(FixedWorld(site("s.example", leaves=8))) as served:
        folder = collection(tmp_path / "c", ["http://s.example/"])
        words = ["--resolve", served.resolve, "--concurrency", 1]
        said = done("crawl", folder, "--pages", 3, "--json", *words)
        visits = [json.loads(line) for line in said.out.splitlines()]
        assert [visit["url"] for visit in visits] == pages(folder)
        assert {"url", "outcome", "status", "title", "relevance", "priority", "because"} <= set(visits[0])
        said = done("crawl", folder, "--pages", 5, "--quiet", "--log", tmp_path / "log", *words)
        assert (said.out, said.err) == ("", "")
        log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
        assert [line.split()[4] for line in log] == pages(folder)[3:5]
        said = done("crawl", folder, "--pages", 7, "--verbose", "--log", tmp_path / "log", *words)
        assert said.out == ""
        assert all(url in said.err for url in pages(folder)[5:7])
        assert len((tmp_path / "log").read_text(encoding="utf-8").splitlines()) == 4
        said = done("crawl", folder, "--pages", 9, *words)
        assert said.out == ""
        assert "9 pages" in said.err
