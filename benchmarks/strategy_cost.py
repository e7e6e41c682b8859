"""What does a live crawl cost by one strategy, beside best-first?

python benchmarks/strategy_cost.py [adaptive ...] [--pages 5000] [--rounds 3]

The same pages are served to every crawl. Processor time of the crawler's process, start-up and learning included; the
server is another process, and not counted. Crawls take turns: a machine that slows down does so for all of them.
"""

import argparse
from statistics import median

from measure import BEST_FIRST, cost_of, lycosa_command, make_collection, say, scratch
from world import ServedWorld, serving


def cpu_per_page(strategy: str, served: ServedWorld, pages: int, *, limit: float) -> float:
    """Milliseconds."""
    with scratch() as folder:
        make_collection(folder, served.world())
        command = lycosa_command(pages, strategy)
        return 1000 * cost_of(command, served, limit=limit, folder=folder, say=say).cpu / pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategies", nargs="*", default=["adaptive"])
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds one crawl may take")
    options = parser.parse_args()
    names = [BEST_FIRST, *(name for name in options.strategies if name != BEST_FIRST)]
    costs: dict[str, list[float]] = {name: [] for name in names}
    with serving(2 * options.pages) as served:
        for number in range(1, options.rounds + 1):
            for name in names:
                say(f"round {number} of {options.rounds}: {name}")
                costs[name].append(cpu_per_page(name, served, options.pages, limit=options.limit))
    print(f"| strategy | CPU ms/page | beside {BEST_FIRST} |\n|---|---:|---:|")
    for name, found in costs.items():
        ratio = median(one / first for one, first in zip(found, costs[BEST_FIRST], strict=True))
        print(f"| {name} | {median(found):.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
