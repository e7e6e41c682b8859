"""How often does the 90 % interval of the recall estimate hold the truth, and what does a stop by recall leave behind?

    python benchmarks/recall_coverage.py --worlds 60

Every world is drawn anew from its seed: size, number of topics, how much links keep to a topic. The constants of
`lycosa.run.recall` were fitted on the seeds from 3100 on; keep to smaller ones to measure them.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import fmean, median

from lycosa_lab.recall_coverage import BUDGETS, RecallCheck, RecallCrawl, recall_crawls

STRATEGIES = ("hunter", "best-first", "breadth-first")


def by_budget_of(crawls: Sequence[RecallCrawl]) -> list[list[RecallCheck]]:
    """The checks of all crawls at each budget."""
    places = range(len(BUDGETS))
    return [[crawl.checks[place] for crawl in crawls if place < len(crawl.checks)] for place in places]


def coverage_row(name: str, crawls: Sequence[RecallCrawl]) -> str:
    """Of each budget, in how many of the worlds the interval held the truth."""
    by_budget = [[check.is_covered for check in checks] for checks in by_budget_of(crawls)]
    every = [covered for each in by_budget for covered in each]
    cells = " | ".join(f"{fmean(each):.0%}" if each else "–" for each in by_budget)
    return f"| {name} | {cells} | {fmean(every):.0%} |"


def accuracy_row(name: str, crawls: Sequence[RecallCrawl]) -> str:
    """How far the estimate is from the truth in the middle of crawls, and how wide its interval."""
    checks = by_budget_of(crawls)
    cells = " | ".join(
        f"{median(abs(each.estimate.recall - each.true_recall) for each in found):.2f}"
        f" of {fmean(each.true_recall for each in found):.2f}"
        if found
        else "–"
        for found in checks
    )
    width = fmean(each.estimate.recall_high - each.estimate.recall_low for found in checks for each in found)
    return f"| {name} | {cells} | {width:.2f} |"


def stop_row(name: str, crawls: Sequence[RecallCrawl], target: float) -> str:
    stops = [crawl.stop for crawl in crawls if crawl.stop is not None]
    if not stops:
        return f"| {name} | 0 of {len(crawls)} | – | – | – |"
    true = [stop.true_recall for stop in stops]
    enough = fmean(recall >= target for recall in true)
    return f"| {name} | {len(stops)} of {len(crawls)} | {fmean(true):.3f} | {min(true):.3f} | {enough:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--target", type=float, default=0.9, help="recall at which crawls would stop")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.worlds)
    with ProcessPoolExecutor(given.jobs) as pool:
        run = partial(recall_crawls, strategies=STRATEGIES, target=given.target)
        crawls = [crawl for each in pool.map(run, seeds) for crawl in each]
    by_strategy = {name: [crawl for crawl in crawls if crawl.strategy == name] for name in STRATEGIES}
    budgets = " | ".join(f"{budget:.0%}" for budget in BUDGETS)
    print(f"Truth within the 90 % interval, {given.worlds} worlds, by pages crawled of those within reach\n")
    print(f"| strategy | {budgets} | all |\n|---{'|---' * (len(BUDGETS) + 1)}|")
    for name, each in by_strategy.items():
        print(coverage_row(name, each))
    print(coverage_row("together", crawls))
    print("\nMedian error of the estimate, of the mean true recall, and mean width of the interval\n")
    print(f"| strategy | {budgets} | width |\n|---{'|---' * (len(BUDGETS) + 1)}|")
    for name, each in by_strategy.items():
        print(accuracy_row(name, each))
    print(f"\nCrawls that would have stopped at a recall of {given.target:g}\n")
    print("| strategy | stopped | mean true recall | least | enough |\n|---|---|---|---|---|")
    for name, each in by_strategy.items():
        print(stop_row(name, each, given.target))


if __name__ == "__main__":
    main()
