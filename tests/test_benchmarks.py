"""The benchmarks still run; what they measure is for the bench, not for the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawling import PATIENCE

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "row"),
    [
        (["stages.py", "--pages", "10", "--rounds", "1"], "| a crawl, together |"),
        (["frontier_memory.py", "--urls", "2000"], "| 2000 |"),
        (["growth.py", "--small", "10", "--large", "20", "--rounds", "1", "--limit", "60"], "| ratio |"),
        (["strategy_cost.py", "--pages", "20", "--rounds", "1", "--limit", "60"], "| adaptive |"),
        (["refresh_cost.py", "--pages", "20", "--rounds", "1", "--limit", "60"], "| ratio |"),
        (["pagerank_cost.py", "--pages", "50"], "| 200 |"),
        (["authority_growth.py", "--sizes", "300", "900", "--rounds", "1", "--out", os.devnull], "| crawl-gai | 900 |"),
        (["map_cost.py", "--pages", "300", "--links", "3000", "--new", "100"], "| look up a portal, µs |"),
        (["logs_import.py", "--lines", "2000", "--urls", "100", "--users", "50"], "| lines a second |"),
        (["collaborative_cost.py", "--accesses", "3000", "--pages", "60"], "| ms a page |"),
        (
            [
                "peer_serving.py",
                "--pages",
                "20",
                "--peers",
                "2",
                "--own",
                "10",
                "--queries",
                "8",
                "--seconds",
                "1",
                "--idle",
                "1",
            ],
            "| queries a second, one peer |",
        ),
        (["peer_growth.py", "--sizes", "300", "900", "--out", os.devnull], "| buddynet | 900 |"),
        (["model_tree.py", "--rows", "200", "--rounds", "1"], "| learn |"),
        (["standing.py", "--pages", "20", "--rounds", "1"], "| relevance and standing |"),
    ],
    ids=[
        "stages",
        "frontier_memory",
        "growth",
        "strategy_cost",
        "refresh_cost",
        "pagerank_cost",
        "authority_growth",
        "map_cost",
        "logs_import",
        "collaborative_cost",
        "peer_serving",
        "peer_growth",
        "model_tree",
        "standing",
    ],
)
def test_a_benchmark_prints_its_table(script, row):
    command = [sys.executable, str(BENCHMARKS / script[0]), *script[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert row in done.stdout
