"""Example pages are fetched under the rules of the crawl, before it begins."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Literal

from lycosa.collection.events import Example
from lycosa.frontier.memory import MemoryFrontier
from lycosa.recipe import Requests
from lycosa.run.crawl import Crawl
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Web
from lycosa.vocabulary.records import Candidate, Outcome, Plain, Skip, Url, Visit


class _JustThese:
    """A strategy that follows no link."""

    name = "examples"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = False
    uses_standing = False

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"example": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        pass

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return ()

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting

    def state(self) -> Plain:
        return None

    def restore(self, state: Plain) -> None:
        pass


async def fetch_examples(
    urls: Mapping[Url, bool], *, web: Web, clock: Clock, requests: Requests, interrupted: Callable[[], bool]
) -> AsyncGenerator[Example, None]:
    """Fetches examples, good (True) and bad, following redirects; gives all, also those that failed."""
    frontier = MemoryFrontier(clock=clock, delay=requests.delay)
    crawl = Crawl(
        web=web,
        read=lambda fetch: None,
        judge=None,
        strategy=_JustThese(),
        frontier=frontier,
        clock=clock,
        concurrency=requests.concurrency,
        retries=requests.retries,
        interrupted=interrupted,
    )
    crawl.loop.start(urls)
    example_at = {url: url for url in urls}  # by where redirects have led from it
    async with aclosing(crawl.visits()) as visits:
        async for visit in visits:
            asked = example_at[visit.candidate.url]
            if visit.fetch.outcome is not Outcome.MOVED:
                yield Example(asked, urls[asked], visit.fetch)
            elif visit.fetch.location is not None:
                example_at.setdefault(visit.fetch.location, asked)  # the first that leads there is the one followed
