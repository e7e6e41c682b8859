"""A crawl in the lab: the loop of every crawl over pages in memory, one at a time, and the cost of each step.

Pages come read and judged, so that every strategy meets the same ones; nothing fails, no host needs sparing, and
near-duplicates are not looked for. What is timed is the strategy and its queue alone.
"""

from collections.abc import Callable, Iterator, Sequence
from time import process_time

from msgspec import Struct

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, Url, Visit

Read = Callable[[Url], Page | None]
Judge = Callable[[Page], float]


class Step(Struct, frozen=True, gc=False):
    """One page of a crawl in the lab."""

    url: Url
    relevance: float  # as the crawler itself judged
    seconds: float  # processor time that strategy and queue took for it, fetching and reading not counted


def crawl(
    strategy: Strategy,
    seeds: Sequence[Url],
    *,
    read: Read,
    judge: Judge,
    standing: Judge | None = None,
    pages: int,
    buffer: int | None = None,
) -> Iterator[Step]:
    """Every page that the strategy fetches, up to `pages`, with at most `buffer` URLs waiting; dead links do not count.

    judge, standing: relevance and standing of a page; without the second, visits have no standing.
    """
    frontier = SequentialFrontier(limit=buffer) if buffer is not None else SequentialFrontier()

    began = process_time()

    def assess(candidate: Candidate, fetch: Fetch) -> Visit:
        nonlocal began
        paused = process_time()
        page = read(candidate.url)
        if page is None:
            visit = Visit(candidate, Fetch(candidate.url, Outcome.GONE, 0.0))
        else:
            visit = Visit(candidate, fetch, page, judge(page), standing=standing(page) if standing else None)
        began += process_time() - paused
        return visit

    loop = Loop(strategy, frontier)
    step, take, found = loop.step, frontier.take, 0
    loop.start(seeds)
    while found < pages and (candidate := take()) is not None:
        visit = step(candidate, Fetch(candidate.url, Outcome.OK, 0.0), assess)
        if visit is not None and visit.relevance is not None:
            yield Step(candidate.url, visit.relevance, process_time() - began)
            found += 1
            began = process_time()
