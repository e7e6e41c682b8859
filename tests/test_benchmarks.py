"""The benchmarks still run, as small as they can be; what they measure is for the bench, not for the tests."""

import os
from pathlib import Path

import pytest

from crawling import end
from processes import Process

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TABLES = {  # by script: how it is called, and a row of what it prints
    "stages": ("--pages 10 --rounds 1", "| a crawl, together |"),
    "frontier_memory": ("--urls 2000", "| 2000 |"),
    "growth": ("--small 10 --large 20 --rounds 1", "| ratio |"),
    "strategy_cost": ("--pages 20 --rounds 1", "| adaptive |"),
    "refresh_cost": ("--pages 20 --rounds 1", "| ratio |"),
    "pagerank_cost": ("--pages 50", "| 200 |"),
    "authority_growth": (f"--sizes 300 900 --rounds 1 --out {os.devnull}", "| crawl-gai | 900 |"),
    "map_cost": ("--pages 300 --links 3000 --new 100 --crawled 100 --rounds 1", "| look up a portal, µs |"),
    "logs_import": ("--lines 2000 --urls 100 --users 50", "| lines a second |"),
    "collaborative_cost": ("--accesses 3000 --pages 60", "| ms a page |"),
    "peer_serving": (
        "--pages 20 --peers 2 --own 10 --queries 8 --seconds 1 --idle 1",
        "| queries a second, one peer |",
    ),
    "peer_growth": (f"--sizes 300 900 --out {os.devnull}", "| buddynet | 900 |"),
    "model_tree": ("--rows 200 --rounds 1", "| learn |"),
    "recall_coverage": ("--worlds 1", "| together |"),
    "standing": ("--pages 20 --rounds 1", "| relevance and standing |"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_benchmark_prints_its_table(name: str) -> None:
    words, row = TABLES[name]
    program = f"import runpy; runpy.run_path({str(BENCHMARKS / name) + '.py'!r}, run_name='__main__')"
    said = end(Process(program, *words.split(), env={**os.environ, "PYTHONPATH": str(BENCHMARKS)}))
    assert said.code == 0, said.err
    assert row in said.out


def test_topics_are_ranked_where_the_archive_is_there() -> None:
    archive = Path(__file__).parents[2] / "shared/data/pages/wikipedia-schools-2007-html.tar.xz"
    if not archive.exists():
        pytest.skip(f"{archive.name}, Wikipedia for Schools, is not beside the source")
    program = f"import runpy; runpy.run_path({str(BENCHMARKS / 'topic_ranking.py')!r}, run_name='__main__')"
    said = end(Process(program, str(archive), *["--subjects", "4", "--articles", "20", "--draws", "1"]))
    assert said.code == 0, said.err
    assert "| negatives | start | words and vectors |" in said.out
