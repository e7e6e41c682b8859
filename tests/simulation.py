"""A whole crawl in memory, without an event loop: what most tests of strategies and of the loop need."""

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.frontier.memory import MemoryFrontier
from lycosa.reading import Reader
from lycosa.recipe import Budget
from lycosa.run.crawl import Crawl, without_event_loop
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Relevance, Strategy, Web
from lycosa.vocabulary.records import Page, Url, Visit
from lycosa.web.simulated import SimulatedWeb
from worlds import topic_of


class AboutBees:
    """A judge that knows the truth of the world TOPICAL."""

    def relevance(self, page: Page) -> float:
        return 0.9 if topic_of(page.url) == "bees" else 0.1


def crawl_of(
    pages: Mapping[Url, Any],
    strategy: Strategy,
    *,
    clock: SimulatedClock | None = None,
    web: Web | None = None,
    frontier: MemoryFrontier | None = None,
    judge: Relevance | None = None,
    **options: Any,
) -> Crawl:
    clock = clock or SimulatedClock()
    if frontier is None:
        frontier = MemoryFrontier(clock=clock, delay=0.0)
    return Crawl(
        web=web or SimulatedWeb(pages, clock=clock),
        read=Reader(),
        judge=judge or AboutBees(),
        strategy=strategy,
        frontier=frontier,
        clock=clock,
        **options,
    )


def visits_of(crawl: Crawl, seeds: Sequence[Url]) -> list[Visit]:
    crawl.loop.start(seeds)
    return list(without_event_loop(crawl.visits()))


def urls_of(visits: Sequence[Visit]) -> list[Url]:
    return [visit.candidate.url for visit in visits]


__all__ = ["AboutBees", "Budget", "crawl_of", "urls_of", "visits_of"]
