"""Does a large collection cost more for each page than a small one?

python benchmarks/growth.py [--small 5000] [--large 20000] [--rounds 2] [--strategy NAME]

Two whole focused crawls of one web from examples alone, in turns: processor time per page and memory of each, and of
the pages in which the large one goes beyond the small one.
"""

import argparse
from statistics import median

from measure import BEST_FIRST, Cost, crawl_with_lycosa, say
from world import serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", type=int, default=5_000)
    parser.add_argument("--large", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1_200.0, help="seconds one crawl may take")
    parser.add_argument("--strategy", default=BEST_FIRST, help="empty for the default one")
    options = parser.parse_args()
    costs: dict[int, list[Cost]] = {options.small: [], options.large: []}
    with serving(2 * options.large) as served:
        for number in range(1, options.rounds + 1):
            for pages, rounds in costs.items():
                say(f"round {number} of {options.rounds}: {pages} pages")
                rounds.append(crawl_with_lycosa(served, pages, limit=options.limit, strategy=options.strategy))
    small, large = (
        [median(values) for values in zip(*((cost.cpu_per_page, cost.rss, cost.cpu) for cost in rounds), strict=True)]
        for rounds in costs.values()
    )
    beyond = 1000 * (large[2] - small[2]) / (options.large - options.small)
    print("| pages | CPU ms/page | RSS MB |\n|---:|---:|---:|")
    print(
        f"| {options.small} | {small[0]:.2f} | {small[1]:.0f} |\n| {options.large} | {large[0]:.2f} | {large[1]:.0f} |"
    )
    print(f"| ratio | {large[0] / small[0]:.2f} | {large[1] / small[1]:.2f} |")
    print(f"| {options.small} to {options.large} | {beyond:.2f} | |")


if __name__ == "__main__":
    main()
