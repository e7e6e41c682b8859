"""What does the PageRank strategy cost?

python benchmarks/pagerank_cost.py [--pages 1000] [--links 40] [--known 20000]

A crawl of a random web of 400 sites in memory: processor time of the strategy with its queue alone, once with 200 URLs
waiting at most, as published, and once with all that are found.
"""

import argparse
import random
from collections.abc import Callable
from time import process_time

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.strategies.pagerank import PageRank
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Url, Visit

SITES = 400
EVERYTHING = 1_000_000


class NoWords:
    length = numbers = 0
    tokens = ()
    terms: dict[str, int] = {}  # noqa: RUF012


def random_web(known: int, links: int) -> Callable[[Candidate], Visit]:
    """Answers for every URL with a page that links to others of its own site and of others, half and half."""

    def url(number: int) -> Url:
        return Url(f"http://site{number % SITES}.example/page{number}.html")

    def visit(candidate: Candidate) -> Visit:
        number = int(candidate.url.rpartition("page")[2].removesuffix(".html"))
        chance = random.Random(number)
        inside = [number % SITES + SITES * chance.randrange(known // SITES) for _ in range(links // 2)]
        outside = [int(known * chance.random() ** 2) for _ in range(links - links // 2)]
        targets = dict.fromkeys(map(url, inside + outside))
        page = Page(candidate.url, "", "", "", NoWords(), tuple(map(Link, targets)))
        return Visit(candidate, Fetch(candidate.url, Outcome.OK, 0.0), page, chance.random())

    return visit


def cost(visit_of: Callable[[Candidate], Visit], pages: int, limit: int) -> tuple[float, int]:
    """Seconds of processor time, and URLs that wait in the end."""
    strategy, frontier = PageRank(), SequentialFrontier(limit=limit)
    frontier.rank_by(strategy)
    frontier.put(strategy.start([Url(f"http://site{n}.example/page{n}.html") for n in range(10)]))
    spent = 0.0
    for _ in range(pages):
        began = process_time()
        candidate = frontier.take(0.0)
        spent += process_time() - began
        if candidate is None:
            break
        visit = visit_of(candidate)
        began = process_time()
        frontier.settle(candidate.url)
        strategy.learn(visit)
        for skip in frontier.put(strategy.propose(visit)):
            strategy.learn(skip)
        spent += process_time() - began
    return spent, len(frontier)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--links", type=int, default=40)
    parser.add_argument("--known", type=int, default=20_000)
    options = parser.parse_args()
    visit_of = random_web(options.known, options.links)
    print("| waiting at most | pages | waiting in the end | CPU s | CPU ms/page |\n|---:|---:|---:|---:|---:|")
    for limit in (200, EVERYTHING):
        seconds, waiting = cost(visit_of, options.pages, limit)
        print(f"| {limit} | {options.pages} | {waiting} | {seconds:.2f} | {1000 * seconds / options.pages:.2f} |")


if __name__ == "__main__":
    main()
