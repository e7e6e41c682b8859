"""Simulated crawls: `lycosa.loop` on in-memory pages, one at a time, and the CPU time of each step.

Only the strategy and its queue are timed; pages are parsed and scored outside of the timed part. There are no failures,
no politeness delays and no detection of near-duplicates.
"""

from collections.abc import Callable, Iterator, Sequence
from time import process_time

from msgspec import Struct

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Page, Url, Visit

Read = Callable[[Url], Page | None]
Judge = Callable[[Page], float]  # gives a page its relevance, or another score


class Step(Struct, frozen=True, gc=False):
    """One page of a simulated crawl."""

    url: Url
    relevance: float  # by the crawler's own judge
    seconds: float  # CPU time of strategy and queue, without fetching and parsing


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
    """Yields up to `pages` pages (dead links not counted), with at most `buffer` URLs waiting.

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
    step, take, fetched = loop.step, frontier.take, 0
    loop.start(seeds)
    while fetched < pages and (candidate := take()) is not None:
        visit = step(candidate, Fetch(candidate.url, Outcome.OK, 0.0), assess)
        if visit is not None and visit.relevance is not None:
            yield Step(candidate.url, visit.relevance, process_time() - began)
            fetched += 1
            began = process_time()
