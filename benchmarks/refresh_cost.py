"""What does it cost to see unchanged pages again, beside fetching them anew?

python benchmarks/refresh_cost.py [--pages 1000] [--rounds 3]

One collection: its model is made first, then a crawl fetches the pages, then refreshes look at them all, by conditional
requests. Processor time of the crawler's processes, start-up included; the server is another process, and not counted.
"""

import argparse
import sqlite3
from collections.abc import Callable
from pathlib import Path
from statistics import median

from measure import LYCOSA, Cost, cost_of, make_collection, say, scratch
from world import ServedWorld, serving

ASKING = ("--delay", "0", "--concurrency", "64", "--allow-private", "--quiet")


def costs_of(served: ServedWorld, pages: int, *, limit: float, say: Callable[[str], None]) -> tuple[Cost, Cost]:
    """A crawl of so many pages, and a refresh of them."""
    with scratch() as folder:
        make_collection(folder, served.world(), negatives=True)

        def cost(*words: str) -> Cost:
            return cost_of([*LYCOSA, *words, *ASKING], served, limit=limit, folder=folder, say=say)

        crawl = ("crawl", "bench", "--strategy", "best-first", "--dry-after", "0", "--pages")
        cost(*crawl, "1")
        fetched = cost(*crawl, str(pages + 1))
        seen_again = cost("refresh", "bench", "--budget", str(pages), "--expand", "0")
        _require_revisits(folder / "bench", pages)
        return fetched, seen_again


def _require_revisits(folder: Path, pages: int) -> None:
    with sqlite3.connect(folder / "catalog.sqlite") as catalog:
        (unchanged,) = catalog.execute(
            "SELECT count(*) FROM looks WHERE change = 'unchanged' AND status = 304"
        ).fetchone()
    if unchanged != pages:
        raise SystemExit(f"{unchanged} of {pages} pages were found unchanged by a 304")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds one command may take")
    options = parser.parse_args()
    rounds = []
    with serving(4 * options.pages) as served:
        for number in range(1, options.rounds + 1):
            say(f"round {number} of {options.rounds}")
            rounds.append(costs_of(served, options.pages, limit=options.limit, say=say))
    fetched, seen_again = (
        median(1000 * cost.cpu / options.pages for cost in costs) for costs in zip(*rounds, strict=True)
    )
    ratio = median(again.cpu / first.cpu for first, again in rounds)
    print("| | CPU ms/page |\n|---|---:|")
    print(f"| fetched anew | {fetched:.2f} |\n| seen again, unchanged | {seen_again:.2f} |\n| ratio | {ratio:.2f} |")


if __name__ == "__main__":
    main()
