"""Lycosa's whole focused crawl beside stock Scrapy's plain one and a bare loop, on one web over loopback, in turns.

    pip install 'lycosa[bench]'
    python benchmarks/against_scrapy.py [--pages 10000] [--rounds 3] [--crawlers NAME ...] [--json FILE]

Lycosa judges every page by a model it learns from example pages, follows the best links first, and writes WARC, catalog
and search index. In the ordinary way it is given pages on the topic alone, and trains again as the crawl grows; two
rows show what it costs with pages off the topic given too. Scrapy extracts links and writes the bodies to a file; the
bare loop extracts links, and that is all. Lycosa and Scrapy obey robots.txt. No delay, 64 requests at a time. Pages are
counted by the server; processor time is that of the whole process tree. Trust the ratios: the crawlers share the
machine with the server.
"""

import argparse
import json
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from measure import BEST_FIRST, CONCURRENCY, Cost, cost_of, crawl_with_lycosa, say, scratch
from world import ServedWorld, serving

SCRAPY, BARE = "Scrapy", "bare loop"


def crawl_with(script: str, *more: str, served: ServedWorld, pages: int, limit: float) -> Cost:
    path = Path(__file__).with_name(script).resolve()
    with scratch() as folder:
        command = [sys.executable, str(path), served.seed_url, str(pages), str(CONCURRENCY), *more]
        return cost_of(command, served, limit=limit, folder=folder, say=say)


def lycosa(strategy: str, *, negatives: bool, served: ServedWorld, pages: int, limit: float) -> Cost:
    return crawl_with_lycosa(served, pages, limit=limit, strategy=strategy, negatives=negatives)


CRAWLERS = {
    "Lycosa, best-first": partial(lycosa, BEST_FIRST, negatives=False),
    "Lycosa, default strategy": partial(lycosa, "", negatives=False),
    "Lycosa, best-first, with negatives": partial(lycosa, BEST_FIRST, negatives=True),
    "Lycosa, default strategy, with negatives": partial(lycosa, "", negatives=True),
    BARE: partial(crawl_with, "bare_loop.py"),
    SCRAPY: partial(crawl_with, "scrapy_spider.py", "bodies"),
}


def table(costs: dict[str, list[Cost]]) -> str:
    """Medians over the rounds, beside those of Scrapy and of the bare loop where these ran too."""
    lines = [
        "| crawler | pages | pages/s | CPU ms/page | RSS MB | pages/s ÷ Scrapy | CPU ÷ Scrapy | CPU ÷ bare loop |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    speed = {name: median(cost.pages_per_second for cost in rounds) for name, rounds in costs.items()}
    cpu = {name: median(cost.cpu_per_page for cost in rounds) for name, rounds in costs.items()}
    for name, rounds in costs.items():
        pages, rss = median(cost.pages for cost in rounds), median(cost.rss for cost in rounds)
        beside = [
            f"{measured[name] / measured[other]:.2f}" if other in measured else ""
            for measured, other in ((speed, SCRAPY), (cpu, SCRAPY), (cpu, BARE))
        ]
        measured = f"{pages:.0f} | {speed[name]:.0f} | {cpu[name]:.2f} | {rss:.0f}"
        lines.append(f"| {name} | {measured} | {' | '.join(beside)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crawlers", nargs="+", default=list(CRAWLERS), choices=list(CRAWLERS), metavar="NAME")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds one crawl may take")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every round as JSON")
    options = parser.parse_args()
    if find_spec("scrapy") is None or find_spec("aiohttp") is None:
        sys.exit("Scrapy or aiohttp is missing; install them with: pip install 'lycosa[bench]'")
    costs: dict[str, list[Cost]] = {name: [] for name in options.crawlers}
    with serving(2 * options.pages) as served:
        for number in range(1, options.rounds + 1):
            for name, rounds in costs.items():
                say(f"round {number} of {options.rounds}: {name}")
                rounds.append(CRAWLERS[name](served=served, pages=options.pages, limit=options.limit))
    print(table(costs))
    if options.json:
        plain = {name: [cost._asdict() for cost in rounds] for name, rounds in costs.items()}
        options.json.write_text(json.dumps(plain, indent=1))


if __name__ == "__main__":
    main()
