"""Does a crawled node cost more in a large graph than in a small one, for crawl-ai and crawl-gai?

    python benchmarks/authority_growth.py [--sizes 10000 100000 1000000] [--rounds 3] [--out authority-growth.svg]

Made-up blogs with the same number of links for each, crawled from one of them as far as links lead, the sizes in turns.
Prints the processor time of a node, reading its links included, and of strategy and queue alone, and how much more that
is than at the smallest size, beside how much more log n is; draws it. The bare queue is Python's own, filled with
as many random numbers and emptied: what it grows by beyond log n is the machine's memory, slower where there is more.
"""

import argparse
import gc
import math
import random
import time
from collections.abc import Mapping
from heapq import heappop, heappush
from pathlib import Path
from statistics import median

from lycosa.pictures import Series, line_chart
from lycosa.strategies import CrawlAI, CrawlGAI
from lycosa.vocabulary.records import Page
from lycosa_lab.simulation import crawl
from lycosa_lab.worlds.blogs import BlogGraph

LINKS = 1_571_772 / 343_743  # of a node
BARE = "bare queue"
STRATEGIES = {"crawl-ai": CrawlAI, "crawl-gai": CrawlGAI}


def unjudged(page: Page) -> float:
    return 0.0


def cost(world: BlogGraph, source: int, name: str) -> tuple[float, float, int]:
    """Microseconds for each node, in all and of strategy and queue alone, and how many nodes were crawled."""
    nodes, own = 0, 0.0
    gc.collect()
    began = time.process_time()
    for step in crawl(
        STRATEGIES[name](), [source], read=world.read, judge=unjudged, pages=len(world), buffer=len(world)
    ):
        nodes += 1
        own += step.seconds
    return 1e6 * (time.process_time() - began) / nodes, 1e6 * own / nodes, nodes


def bare_queue(size: int) -> float:
    """Microseconds for each of so many random numbers that go through a queue."""
    chance, queue = random.Random(1), []
    began = time.process_time()
    for number in range(size):
        heappush(queue, (chance.random(), number))
    while queue:
        heappop(queue)
    return 1e6 * (time.process_time() - began) / size


def drawn(costs: Mapping[tuple[str, int], float], sizes: list[int]) -> str:
    least = sizes[0]
    series = [
        Series(name, [(math.log10(size), costs[name, size] / costs[name, least]) for size in sizes])
        for name in (*STRATEGIES, BARE)
    ]
    series.append(Series("log n", [(math.log10(size), math.log(size) / math.log(least)) for size in sizes]))
    title = f"cost of a crawled node, as a multiple of that at {least} nodes"
    return line_chart(series, title=title, x_title="nodes of the graph, as a power of ten", y_title=title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("authority-growth.svg"))
    options = parser.parse_args()
    sizes = sorted(options.sizes)
    worlds = {size: BlogGraph(nodes=size, links=round(LINKS * size), seed=1) for size in sizes}
    sources = {size: world.best_start() for size, world in worlds.items()}
    found: dict[tuple[str, int], list[tuple[float, float, int]]] = {}
    for _ in range(options.rounds):
        for size, world in worlds.items():
            for name in STRATEGIES:
                found.setdefault((name, size), []).append(cost(world, sources[size], name))
            queue = bare_queue(size)
            found.setdefault((BARE, size), []).append((queue, queue, size))
    whole, own = ({key: median(row[part] for row in rows) for key, rows in found.items()} for part in (0, 1))
    print("| strategy | nodes | crawled | µs/node | of strategy and queue | ratio | of log n |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for (name, size), rows in sorted(found.items()):
        ratio, logs = whole[name, size] / whole[name, sizes[0]], math.log(size) / math.log(sizes[0])
        costs = f"{whole[name, size]:.1f} | {own[name, size]:.1f}"
        print(f"| {name} | {size} | {rows[0][2]} | {costs} | {ratio:.2f} | {logs:.2f} |")
    options.out.write_text(drawn(whole, sizes), encoding="utf-8")
    print(f"drawn into {options.out}")


if __name__ == "__main__":
    main()
