"""Lycosa's whole focused crawl beside stock Scrapy's plain one, on one web over loopback, in turns.

    pip install 'lycosa[bench]'
    python benchmarks/against_scrapy.py [--pages 10000] [--rounds 3] [--json FILE]

Lycosa judges every page with a linear SVM, follows the best first, and writes WARC, catalog and search index; Scrapy
extracts links and writes the bodies to a file. Both obey robots.txt, without delay, 64 requests at a time. Pages are
counted by the server. Trust the ratios: the crawlers share the machine with the server.
"""

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from measure import Cost, cost_of, crawl_with_lycosa, say, scratch
from world import ServedWorld, serving

CONCURRENCY = 64


def crawl_with_scrapy(served: ServedWorld, pages: int, *, limit: float) -> Cost:
    spider = Path(__file__).with_name("scrapy_spider.py").resolve()
    with scratch() as folder:
        command = [sys.executable, str(spider), served.seed_url, str(pages), str(CONCURRENCY), "bodies"]
        return cost_of(command, served, limit=limit, folder=folder, say=say)


def table(costs: dict[str, list[Cost]]) -> str:
    """Medians over the rounds, and how Lycosa compares."""
    lines = [
        "| crawler | pages | pages/s | CPU ms/page | RSS MB |",
        "|---|---:|---:|---:|---:|",
    ]
    speed, cpu, rss = {}, {}, {}
    for name, rounds in costs.items():
        speed[name] = median(cost.pages_per_second for cost in rounds)
        cpu[name] = median(cost.cpu_per_page for cost in rounds)
        rss[name] = median(cost.rss for cost in rounds)
        pages = median(cost.pages for cost in rounds)
        lines.append(f"| {name} | {pages:.0f} | {speed[name]:.0f} | {cpu[name]:.2f} | {rss[name]:.0f} |")
    first, other = costs
    ratios = [each[first] / each[other] for each in (speed, cpu, rss)]
    lines.append(f"| {first} ÷ {other} | | {ratios[0]:.2f} | {ratios[1]:.2f} | {ratios[2]:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds one crawl may take")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every round as JSON")
    options = parser.parse_args()
    if find_spec("scrapy") is None:
        sys.exit("Scrapy is missing; install it with: pip install 'lycosa[bench]'")
    costs: dict[str, list[Cost]] = {"Lycosa": [], "Scrapy": []}
    with serving(2 * options.pages) as served:
        for number in range(1, options.rounds + 1):
            for name, rounds in costs.items():
                say(f"round {number} of {options.rounds}: {name}")
                if name == "Lycosa":
                    rounds.append(crawl_with_lycosa(served, options.pages, limit=options.limit, say=say))
                else:
                    rounds.append(crawl_with_scrapy(served, options.pages, limit=options.limit))
    print(table(costs))
    if options.json:
        plain = {name: [cost._asdict() for cost in rounds] for name, rounds in costs.items()}
        options.json.write_text(json.dumps(plain, indent=1))


if __name__ == "__main__":
    main()
