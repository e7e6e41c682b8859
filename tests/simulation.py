"""A whole crawl in memory, without an event loop: what most tests of strategies and of the loop need."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Journal, Loop
from lycosa.reading import Reader
from lycosa.reading.fingerprint import NearDuplicates
from lycosa.recipe import Budget
from lycosa.run.crawl import Assessor, Crawl, Status
from lycosa.vocabulary.clock import Clock, SimulatedClock
from lycosa.vocabulary.contracts import Relevance, Standing, Strategy, Web
from lycosa.vocabulary.records import Page, Url, Visit
from web.simulated import SimulatedWeb
from worlds import topic_of


class AboutBees:
    """A judge that knows the truth of the world TOPICAL."""

    def relevance(self, page: Page) -> float:
        return 0.9 if topic_of(page.url) == "bees" else 0.1


def crawl_of(
    pages: Mapping[Url, Any],
    strategy: Strategy,
    *,
    clock: Clock | None = None,
    web: Web | None = None,
    frontier: MemoryFrontier | None = None,
    judge: Relevance | None = None,
    standing: Standing | None = None,
    duplicates: NearDuplicates | None = None,
    journal: Journal | None = None,
    languages: frozenset[str] = frozenset(),
    retries: int = 2,
    backoff: float = 2.0,
    **options: Any,
) -> Crawl:
    clock = clock or SimulatedClock()
    status = Status()
    assess = Assessor(
        read=Reader(),
        judge=judge or AboutBees(),
        standing=standing,
        duplicates=NearDuplicates() if duplicates is None else duplicates,
        languages=languages,
    )

    def observe(visit: Visit) -> None:
        status.add(visit)
        if visit.page is not None and visit.is_kept and visit.duplicate_of is None:
            assess.duplicates.add(visit.page.fingerprint, visit.page.url, visit.page.digest)

    return Crawl(
        web=web or SimulatedWeb(pages, clock=clock),
        assess=assess,
        loop=Loop(
            strategy,
            MemoryFrontier(clock=clock, delay=0.0) if frontier is None else frontier,
            journal=journal,
            observe=observe,
            clock=clock,
            retries=retries,
            backoff=backoff,
        ),
        clock=clock,
        status=status,
        **options,
    )


def without_event_loop(visits: AsyncIterator[Visit]) -> Iterator[Visit]:
    """Steps through a crawl that never really waits: a simulated web, a simulated clock, one fetch at a time."""
    while True:
        step: Any = visits.__anext__()
        try:
            step.send(None)
        except StopIteration as done:
            yield done.value
        except StopAsyncIteration:
            return
        else:
            raise RuntimeError("this crawl waits for something outside; run it in an event loop")


def visits_of(crawl: Crawl, seeds: Sequence[Url]) -> list[Visit]:
    crawl.loop.start(seeds)
    return list(without_event_loop(crawl.visits()))


def urls_of(visits: Sequence[Visit]) -> list[Url]:
    return [visit.candidate.url for visit in visits]


__all__ = ["AboutBees", "Budget", "crawl_of", "urls_of", "visits_of", "without_event_loop"]
