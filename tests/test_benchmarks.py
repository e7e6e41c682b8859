"""The benchmarks still run, as small as they can be; what they measure is for the bench, not for the tests."""

import os
import random
from pathlib import Path

import pytest

from crawling import end
from documents.small_webs import page, tar_of
from processes import Process

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TABLES = {  # by script: how it is called, and a row of what it prints
    "stages": ("--pages 10 --rounds 1", "| a crawl, together |"),
    "frontier_memory": ("--urls 2000", "| 2000 |"),
    "growth": ("--pages 200", "| ratio, "),
    "workers": ("--pages 120 --workers 1 2", "| 2 | 120 |"),
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
SUBJECTS = {
    "Bees": "bee hive honey queen swarm nectar pollen wax comb drone brood keeper smoker apiary mead",
    "Ships": "ship sail mast rudder anchor harbour keel deck crew tide rope captain voyage hull compass",
    "Rain": "rain cloud storm wind weather season flood river drop thunder lightning forecast wet umbrella sky",
    "Chess": "chess king queen bishop knight rook pawn castle check mate board move opening endgame player",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_benchmark_prints_its_table(name: str, request: pytest.FixtureRequest) -> None:
    words, row = TABLES[name]
    if name == "peer_growth":
        request.getfixturevalue("compiled_kernel")
    program = f"import runpy; runpy.run_path({str(BENCHMARKS / name) + '.py'!r}, run_name='__main__')"
    said = end(Process(program, *words.split(), env={**os.environ, "PYTHONPATH": str(BENCHMARKS)}))
    assert said.code == 0, said.err
    assert row in said.out


def test_topics_are_ranked(tmp_path: Path) -> None:
    """Of an archive as Wikipedia for Schools is one, with four subjects instead of its hundred and more."""
    index, files = "wpcd/wp/index/subject", {}
    for subject, words in SUBJECTS.items():
        chance = random.Random(subject)
        names = [f"{subject}_{number}" for number in range(26)]
        files[f"{index}.{subject}.htm"] = page(subject, "", *(f"../../wp/a/{name}.htm" for name in names))
        for name in names:
            text = " ".join(chance.choices(words.split(), k=60))
            files[f"wpcd/wp/a/{name}.htm"] = page(name, f"A page of it: {text}.", f"../index/subject.{subject}.htm")
    files[f"{index}.htm"] = page("Subjects", "", *(f"subject.{subject}.htm" for subject in SUBJECTS))
    archive = tar_of(tmp_path / "schools.tar.xz", files)
    program = f"import runpy; runpy.run_path({str(BENCHMARKS / 'topic_ranking.py')!r}, run_name='__main__')"
    said = end(Process(program, str(archive), *["--subjects", "4", "--articles", "20", "--draws", "1"]))
    assert said.code == 0, said.err
    assert said.out.startswith("4 subjects, 80 articles, 1 draws of examples")
    assert "| negatives | start | words and vectors |" in said.out
