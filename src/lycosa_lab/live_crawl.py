"""A crawl exactly like `lycosa crawl`, on pages in memory: with session, retrained judge and archive.

`lycosa.run` runs the crawl. Only the web, the clock and the page reader are the lab's: one fetch at a time, in
simulated time, and each page is parsed once for all crawls.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Protocol

from msgspec.structs import replace

from lycosa.reading import Reader
from lycosa.recipe import Budget, load_recipe
from lycosa.run.live import LiveRun
from lycosa.run.new import new_collection
from lycosa.run.open import open_for_reading
from lycosa.run.options import CommandSettings
from lycosa.run.overview import Overview, overview
from lycosa.run.session import Session
from lycosa.vocabulary.clock import Clock, SimulatedClock
from lycosa.vocabulary.records import Fetch, Outcome, Page, PastFetch, Url
from lycosa.web.robots import RobotsWeb

_START_TIME = 1.7e9  # seconds since the epoch: start of every crawl
_HEADERS = (("content-type", "text/html; charset=utf-8"),)


class Pages(Protocol):
    """The pages that a crawl can fetch."""

    @property
    def seconds_parsing(self) -> float:
        """CPU time spent in `read` so far."""
        ...

    def html(self, url: Url) -> bytes | None:
        """The HTML at a URL, None if there is no page."""
        ...

    def read(self, url: Url, reader: Reader) -> Page | None:
        """The page at a URL by this reader, perhaps from a cache."""
        ...


@dataclass(frozen=True)
class LiveOutcome:
    """The result of a crawl."""

    requested: Sequence[Url]  # distinct, in the order of the first request, including examples
    kept: frozenset[Url]  # the pages of the collection
    claimed_harvest: float  # the harvest rate that the crawl reports at its end
    overview: Overview  # what `lycosa show` shows at its end
    relevances: Mapping[Url, float | None]  # of the pages of the collection
    relevance: Callable[[Url], float]  # of any page, by the last model; 0 if there is no page
    stop_reason: str
    seconds: float  # CPU time, without parsing


@dataclass(frozen=True, kw_only=True)
class LiveTask:
    """The user's input of a crawl.

    seeds: empty for the examples.
    in_links: a table from which standing is learnt.
    pages: size of the collection at which to stop.
    recall: recall at which to stop, if any.
    """

    examples: Sequence[Url]
    negatives: Sequence[Url] = ()
    seeds: Sequence[Url] = ()
    in_links: Path | None = None
    pages: int
    recall: float | None = None


def live_crawl(strategy: str, task: LiveTask, pages: Pages) -> LiveOutcome:
    """Crawls pages in memory by a strategy, as a user's crawl would; deterministic, except for CPU times."""
    with TemporaryDirectory(prefix="lycosa-lab-") as scratch:
        folder = Path(scratch, "collection")
        new_collection(
            folder,
            examples=list(task.examples),
            negatives=list(task.negatives),
            seeds=list(task.seeds),
            in_links=task.in_links,
        )
        recipe = load_recipe(folder)
        recipe = replace(
            recipe,
            strategy=strategy,
            requests=replace(recipe.requests, delay=0.0, concurrency=1),
            stop=Budget(pages=task.pages, recall=task.recall, dry_after=0),
        )
        clock, began = SimulatedClock(_START_TIME), process_time() - pages.seconds_parsing
        web = _MemoryWeb(pages, clock)

        def from_memory(reader: Reader) -> Reader:
            options = {field.name: getattr(reader, field.name) for field in fields(Reader)}
            return _MemoryReader(**options, inner=reader, pages=pages)

        with Session(folder, recipe, clock=clock, wrap_reader=from_memory) as session:
            run = asyncio.run(_run(session, RobotsWeb(web, user_agent="lycosa/0", clock=clock)))
            reader, stop_reason = session.reader, session.status.stop_reason
        seconds = process_time() - pages.seconds_parsing - began
        with open_for_reading(folder) as collection:
            relevances = {row.url: row.relevance for row in collection.catalog.pages()}
            shown = overview(collection)

    def relevance(url: Url) -> float:
        page = pages.read(url, reader)
        return 0.0 if page is None else run.relevance(page)

    return LiveOutcome(
        requested=tuple(web.requested),
        kept=frozenset(relevances),
        claimed_harvest=shown.facts.harvest_rate,
        overview=shown,
        relevances=relevances,
        relevance=relevance,
        stop_reason=stop_reason,
        seconds=seconds,
    )


async def _run(session: Session, web: RobotsWeb) -> LiveRun:
    async with AsyncExitStack() as stack:
        run = LiveRun(session, web)
        crawl = await run.prepare(CommandSettings())
        assert crawl is not None  # nobody interrupts it
        async for _ in await run.visits(crawl, stack):
            pass
    return run


class _MemoryWeb:
    """Serves the pages; no host has a robots.txt."""

    def __init__(self, pages: Pages, clock: Clock):
        self.requested: dict[Url, None] = {}
        self._pages = pages
        self._clock = clock

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        html = self._pages.html(url)
        if html is None:
            return Fetch(url, Outcome.GONE, self._clock.now(), status=404)
        self.requested.setdefault(url)
        return Fetch(url, Outcome.OK, self._clock.now(), status=200, headers=_HEADERS, body=html, content=html)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        return Fetch(url, Outcome.GONE, self._clock.now(), status=404)

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, kw_only=True)
class _MemoryReader(Reader):
    """Reads every page from memory."""

    inner: Reader
    pages: Pages

    def __call__(self, fetch: Fetch) -> Page | None:
        return self.pages.read(fetch.url, self.inner) if fetch.outcome is Outcome.OK else None
