"""How fast does the lab crawl a graph in memory?

    python benchmarks/graph_crawl.py GRAPH.edges.gz [--rounds 3]

Best-first with given scores to exhaustion, from as few seeds as reach every node: seeds that wait rank last, so that
one is taken only when nothing else waits. Prints pages and links per second, reading the file apart.
"""

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from lycosa.strategies import BestFirst
from lycosa.vocabulary.records import Candidate, Page, Url
from lycosa_lab.simulation import crawl
from lycosa_lab.worlds.graphs import GraphWorld


class SeedsLast(BestFirst):
    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, -1.0) for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    began = time.perf_counter()
    world = GraphWorld(path=options.graph)
    print(f"read in {time.perf_counter() - began:.1f} s: {len(world)} nodes, {world.facts['links']} arcs")
    scores = np.random.default_rng(1).random(len(world)).tolist()

    def given(page: Page) -> float:
        return scores[page.url]  # type: ignore[call-overload]

    rates = []
    for number in range(1, options.rounds + 1):
        began = time.perf_counter()
        strategy_seconds, pages = 0.0, 0
        seeds: list[Url] = [world.best_start(), *world.urls()]
        for step in crawl(SeedsLast(), seeds, read=world.read, judge=given, pages=len(world)):
            strategy_seconds += step.seconds
            pages += 1
        seconds = time.perf_counter() - began
        rates.append(pages / seconds)
        print(
            f"round {number}: {pages} pages in {seconds:.1f} s, {pages / seconds:,.0f} pages/s,"
            f" {world.facts['links'] / seconds:,.0f} links/s; strategy and queue {strategy_seconds:.1f} s"
        )
    print(f"median {median(rates):,.0f} pages/s")


if __name__ == "__main__":
    main()
