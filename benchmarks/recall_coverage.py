"""How often does the 90 % interval of the recall estimate hold the truth, and what does a stop by recall leave behind?

    python benchmarks/recall_coverage.py --worlds 60
    python benchmarks/recall_coverage.py --world wikipedia-schools:path=ARCHIVE [--topics 12] [--pages 100,200,400,1000]
        [--strategy NAME] [--stop-at 0.9]

Every world is drawn anew from its seed: size, number of topics, how much links keep to a topic. The constants of
`lycosa.run.recall` were fitted on the seeds from 3100 on; keep to smaller ones to measure them.

With --world, whole crawls from five examples, whose model judges the pages, for the league's development topics of
that world: what they claim at their end, recall and harvest rate, against the truth. `judged` is the share of the
reachable pages that the crawl's own model calls relevant that were found: what is estimated. The constants were
fitted on twelve of those of Wikipedia for Schools, too (Art, Artists, Business, Countries, Divinities, Economics,
Environment, Law, Politics and government, Religious texts, Software, Websites), so that only the others measure them.
With --stop-at, crawls stop by their recall, or else at the largest of --pages.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import fmean, median

from lycosa.recipe import DEFAULT_STRATEGY
from lycosa_lab.recall_coverage import BUDGETS, RecallCheck, RecallCrawl, recall_crawls
from lycosa_lab.studies.league.self_estimates import MIN_TOPIC_PAGES, SelfEstimate, self_estimates
from lycosa_lab.worlds.registry import open_world

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


def estimate_row(name: str, each: SelfEstimate) -> str:
    """One crawl."""
    estimate = each.recall
    recall = (
        "–" if estimate is None else f"{estimate.recall:.2f} ({estimate.recall_low:.2f}–{estimate.recall_high:.2f})"
    )
    return (
        f"| {name} | {each.pages} | {each.true_recall:.2f} | {each.judged_recall:.2f} | {recall}"
        f" | {each.true_harvest:.2f} | {each.harvest:.2f} | {each.stop_reason} |"
    )


def budget_row(name: str, crawls: Sequence[SelfEstimate]) -> str:
    """All crawls of a budget: means, and of the errors the median and the mean."""
    claimed = fmean(0.0 if each.recall is None else each.recall.recall for each in crawls)
    errors = [each.recall_error() for each in crawls]
    return (
        f"| {name} | {len(crawls)} | {fmean(each.true_recall for each in crawls):.2f}"
        f" | {fmean(each.judged_recall for each in crawls):.2f} | {claimed:.2f}"
        f" | {median(map(abs, errors)):.2f} | {fmean(errors):+.2f}"
        f" | {fmean(each.holds(each.judged_recall) for each in crawls):.0%}"
        f" | {fmean(each.holds(each.true_recall) for each in crawls):.0%}"
        f" | {fmean(each.true_harvest for each in crawls):.2f} | {fmean(each.harvest for each in crawls):.2f}"
        f" | {fmean(abs(each.harvest - each.true_harvest) for each in crawls):.2f}"
        f" | {fmean(each.is_harvest_covered for each in crawls):.0%} |"
    )


def print_self_estimates(
    name: str, strategy: str, *, topics: int, min_pages: int, budgets: Sequence[int], stop_at: float | None
) -> None:
    """Prints what crawls of a world claim, and what is true."""
    crawls: list[SelfEstimate] = []
    print("| topic | pages | recall | judged | claimed recall | harvest | claimed | stopped because |")
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    world = open_world(name)
    for each in self_estimates(
        world, strategy, topics=topics, budgets=budgets, stop_at=stop_at, min_topic_pages=min_pages
    ):
        crawls.append(each)
        print(estimate_row(each.topic, each), flush=True)
    print(
        "\n| pages | crawls | recall | judged | claimed | off by | on average | judged within | true within"
        " | harvest | claimed | off by | true within |"
    )
    print("|---|" + "--:|" * 12)
    for budget in budgets:
        print(budget_row(str(budget), [each for each in crawls if each.budget == budget]))
    if len(budgets) > 1:
        print(budget_row("all", crawls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--target", type=float, default=0.9, help="recall at which crawls would stop")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--world", help="a world as `lycosa lab run --world` takes it, for whole crawls")
    parser.add_argument("--topics", type=int, default=12, help="with --world: development topics at most")
    parser.add_argument("--min-topic-pages", type=int, default=MIN_TOPIC_PAGES, help="with --world")
    parser.add_argument("--pages", default="100,200,400,1000", help="with --world: sizes of the crawls")
    parser.add_argument("--strategy", default=DEFAULT_STRATEGY, help="with --world")
    parser.add_argument("--stop-at", type=float, help="with --world: the recall at which crawls stop")
    given = parser.parse_args()
    if given.world:
        sizes = [int(size) for size in given.pages.split(",")]
        print_self_estimates(
            given.world,
            given.strategy,
            topics=given.topics,
            min_pages=given.min_topic_pages,
            budgets=sizes if given.stop_at is None else sizes[-1:],
            stop_at=given.stop_at,
        )
        return
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
