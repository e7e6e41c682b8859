"""A crawl in the lab: the loop of `lycosa.crawler` less all that only a live web needs, and the cost of each step.

One page at a time, no event loop, no hosts to spare, no duplicates to find. Pages come read and judged, so that every
strategy meets the same ones; what is timed is the strategy and its queue alone.
"""

from collections.abc import Callable, Iterator, Sequence
from time import process_time

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Fetch, Outcome, Page, Skip, Url, Visit

from .steps import Step

Read = Callable[[Url], Page | None]
Judge = Callable[[Page], float]
MOST_ROUNDS = 1_000  # in which a strategy may offer something else for what was refused


def crawl(
    strategy: Strategy,
    seeds: Sequence[Url],
    *,
    read: Read,
    judge: Judge,
    esteem: Judge | None = None,
    pages: int,
    buffer: int | None = None,
) -> Iterator[Step]:
    """Every page that the strategy brings home, up to `pages`, with at most `buffer` URLs waiting; dead links do not
    count.

    judge, esteem: tell the relevance and the standing of a page; without the second, no standing is told.
    """
    frontier = SequentialFrontier(limit=buffer) if buffer is not None else SequentialFrontier()
    frontier.rank_by(strategy)
    began = process_time()
    _tell(strategy, frontier, frontier.put(strategy.start(seeds)))
    found = 0
    while found < pages and (candidate := frontier.take(0.0)) is not None:
        chosen = process_time()
        url = candidate.url
        page = read(url)
        if page is None:
            visit = Visit(candidate, Fetch(url, Outcome.GONE, 0.0))
        else:
            standing = esteem(page) if esteem is not None else None
            visit = Visit(candidate, Fetch(url, Outcome.OK, 0.0), page, judge(page), standing=standing)
        judged = process_time()
        frontier.settle(url)
        strategy.learn(visit)
        skips = frontier.put(strategy.propose(visit))
        if skips:
            _tell(strategy, frontier, skips)
        if visit.relevance is not None:
            now = process_time()
            yield Step(url, visit.relevance, now - judged + chosen - began)
            found += 1
            began = process_time()
        else:
            began += judged - chosen


def _tell(strategy: Strategy, frontier: SequentialFrontier, skips: Sequence[Skip]) -> None:
    """Lets a strategy learn what was refused, and offer something else."""
    for _ in range(MOST_ROUNDS):
        if not skips:
            return
        refused: list[Skip] = []
        for skip in skips:
            strategy.learn(skip)
            refused += frontier.put(strategy.propose(skip))
        skips = refused
    for skip in skips:
        strategy.learn(skip)
