"""The Python API: create a collection, crawl it visit by visit, and read its pages.

>>> import tempfile
>>> from lycosa_lab.worlds.server import WorldServer
>>> from lycosa_lab.worlds.synthetic import SyntheticWorld
>>> world = SyntheticWorld(pages=400, topics=4)
>>> home = world.url(0)
>>> folder = new(Path(tempfile.mkdtemp(), "bees"), topic="honey bees in their hives", seeds=[home])
>>> with WorldServer(world) as served:
...     run = crawl(folder, pages=10, delay=0, resolve=[served.resolve])
...     urls = [visit.fetch.url for visit in run]
...     again = open(folder).refresh(budget=10, expand=0, delay=0, resolve=[served.resolve])
...     changes = {str(visit.change) for visit in again}
>>> urls[0] == home, run.stopped
(True, 'the collection has 10 pages, as asked')
>>> again.result.looked_at, changes
(10, {'unchanged'})
>>> with open(folder) as bees:
...     len(bees), bees.page(home).number
(10, 1)
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, Unpack

from lycosa.collection import Collection
from lycosa.collection.arrow_tables import require_pandas, table_of
from lycosa.collection.queries import Order
from lycosa.collection.rows import ObservationRow, PageRow, Summary
from lycosa.collection.search_index import Hit
from lycosa.frontier.admission import Scope
from lycosa.frontier.durable import count_waiting
from lycosa.reading import markdown_of
from lycosa.recipe import Recipe
from lycosa.run.export import TableOptions, labels_of, rows, table_request
from lycosa.run.live import LiveCrawl, Visits
from lycosa.run.new import new_collection
from lycosa.run.open import bring_index_up_to_date, html_of, main_text_of, open_for_reading
from lycosa.run.options import (
    CrawlOptions,
    FetchOptions,
    ScopeOptions,
    Settings,
    changed_recipe,
    check_keywords,
    narrowed,
    settings_of,
)
from lycosa.run.refresh import Plan, Refresh, Refreshed, plan_of, refreshing_recipe, require_pages
from lycosa.run.session import Session
from lycosa.run.trust import polite_recipe
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.event_loop import new_event_loop
from lycosa.vocabulary.records import Fetch, Visit
from lycosa.vocabulary.urls import normalise

__all__ = ["LycosaError", "OpenCollection", "RefreshRun", "Run", "crawl", "new", "open"]


class _Readable:
    """The read methods of a collection, open for reading or being crawled."""

    folder: Path

    def _collection(self) -> Collection:
        raise NotImplementedError

    def pages(
        self,
        order: Order = "number",
        *,
        host: str | None = None,
        min_relevance: float | None = None,
        limit: int | None = None,
    ) -> Iterator[PageRow]:
        """The pages in order of arrival, most relevant or most important first, or by URL."""
        return self._collection().catalog.pages(order, host=host, min_relevance=min_relevance, limit=limit)

    def page(self, url: str) -> PageRow | None:
        """The catalog's row of a page; None if there is no such page."""
        known = normalise(url)
        return self._collection().catalog.page(known) if known else None

    def looks(self, url: str) -> list[ObservationRow]:
        """All checks of a page and their results; empty if it was fetched only once."""
        page = self.page(url)
        return self._collection().catalog.looks(page.number) if page else []

    def text(self, url: str) -> str:
        """The main text of a page, read from the archive."""
        return main_text_of(self.fetch(url))

    def html(self, url: str) -> bytes:
        """The HTML of a page as received, with the content encoding decoded, read from the archive."""
        return self.fetch(url).content

    def markdown(self, url: str) -> str:
        """A page as Markdown, read from the archive; text is escaped, and links are http or https only."""
        fetch = self.fetch(url)
        return markdown_of(html_of(fetch), fetch.url)

    def to_arrow(self, **options: Unpack[TableOptions]) -> Any:
        """The pages as a `pyarrow.Table`, in memory; the keywords are the flags of `lycosa export`."""
        wanted, content = table_request(self.folder, options, now=WallClock().now())
        return table_of(rows(self._collection(), wanted, content, labels_of(self.folder)), content.columns)

    def to_pandas(self, **options: Unpack[TableOptions]) -> Any:
        """The pages as a `pandas.DataFrame`, in memory; the keywords are those of `to_arrow`."""
        require_pandas()
        return self.to_arrow(**options).to_pandas()

    def fetch(self, url: str) -> Fetch:
        """The response with a page: headers, body, time and address."""
        page = self.page(url)
        if page is None or page.place is None:
            raise UsageError(f"{self.folder} has no page {url}; lycosa explain {self.folder} URL says why")
        return self._collection().archive.fetch_at(page.place)

    def search(
        self, query: str, *, limit: int = 10, host: str | None = None, min_relevance: float | None = None
    ) -> list[Hit]:
        """The best pages for a query: words, "a phrase", begin*, +must, -not, title:word, AND, OR, NOT, parentheses.

        Words are compared by their stems, by the language of each page, and without accents.
        """
        return self._collection().search.search(query, limit=limit, host=host, min_relevance=min_relevance)

    def summary(self) -> Summary:
        """The collection in numbers: pages, harvest rate, hosts, outcomes, skips, runs."""
        return self._collection().catalog.summary()

    def waiting(self) -> int:
        """The number of waiting URLs."""
        return count_waiting(self._collection().catalog.connection)


class OpenCollection(_Readable):
    """A collection opened for reading; iterates over its pages. A crawl may run at the same time."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._opened = open_for_reading(folder)
        self._closed = False

    def _collection(self) -> Collection:
        if self._closed:
            raise UsageError(f"{self.folder} was closed; open it again with lycosa.open")
        return self._opened

    def __iter__(self) -> Iterator[PageRow]:
        return self.pages()

    def __len__(self) -> int:
        return self._collection().catalog.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def search(
        self, query: str, *, limit: int = 10, host: str | None = None, min_relevance: float | None = None
    ) -> list[Hit]:
        opened = self._collection()
        if opened.pages_not_indexed() or opened.search.is_outdated():
            bring_index_up_to_date(self.folder, tell=lambda line: None)
        return super().search(query, limit=limit, host=host, min_relevance=min_relevance)

    def refresh(
        self,
        *,
        budget: int,
        policy: str | None = None,
        expand: float | None = None,
        tell: Callable[[str], None] = lambda line: None,
        **options: Unpack[FetchOptions],
    ) -> "RefreshRun":
        """A refresh of the collection within a budget of requests; it runs while you iterate over its visits.

        The keywords are the flags of `lycosa refresh`. At the end, `result` has the changed, new and vanished pages.
        """
        check_keywords(options, FetchOptions)
        plan = plan_of(budget=budget, policy=policy, expand=expand)
        settings = settings_of(options)
        recipe = refreshing_recipe(polite_recipe(self.folder, tell=tell), plan, options)
        require_pages(self.folder)
        return RefreshRun(self.folder, recipe, settings, plan, tell=tell)

    def close(self) -> None:
        self._closed = True
        self._opened.abandon()


class Run(_Readable):
    """A crawl that runs while you iterate over its visits, by `for`, or by `async for` in a running event loop.

    Leaving the iteration early, by break or by an exception, stops the crawl cleanly; iterating again continues it.
    While your own code handles a visit, the fetches in flight are paused.
    """

    def __init__(self, folder: Path, recipe: Recipe, settings: Settings, *, tell: Callable[[str], None]):
        self.folder = folder
        self.stopped = ""  # the stop reason; empty until the crawl ends
        self._recipe = recipe
        self._settings = settings
        self._tell = tell
        self._session: Session | None = None
        self._opened: Collection | None = None

    def _collection(self) -> Collection:
        if self._session is not None:
            return self._session.collection
        if self._opened is None:
            self._opened = open_for_reading(self.folder)
        return self._opened

    def __iter__(self) -> Iterator[Visit]:
        _require_no_loop()
        with self._running() as session, asyncio.Runner(loop_factory=new_event_loop) as runner:
            opened = AsyncExitStack()
            try:
                visits = runner.run(opened.enter_async_context(self._open(session)))
                while (visit := runner.run(_next(visits))) is not None:
                    yield visit
            except BaseException as error:
                runner.run(opened.__aexit__(type(error), error, error.__traceback__))
                raise
            else:
                runner.run(opened.aclose())

    async def __aiter__(self) -> AsyncGenerator[Visit, None]:
        with self._running() as session:
            async with self._open(session) as visits:
                async for visit in visits:
                    yield visit

    def _open(self, session: Session) -> Visits:
        return LiveCrawl(session, self._settings)

    def _end(self, session: Session) -> None:
        """Saves the results of a run while its session is still open."""
        self.stopped = session.status.stop_reason or "interrupted"

    @contextmanager
    def _running(self) -> Iterator[Session]:
        if self._session is not None:
            raise UsageError(f"this crawl of {self.folder} is under way; leave its loop before you begin another")
        self.close()
        self.stopped = ""
        with Session(self.folder, self._recipe, clock=WallClock(), tell=self._tell) as session:
            self._session = session
            try:
                yield session
            finally:
                self._session = None
                self._end(session)

    def close(self) -> None:
        """Closes what the read methods opened; they open it again if needed."""
        if self._opened is not None:
            self._opened.abandon()
            self._opened = None


class RefreshRun(Run):
    """A refresh that runs while you iterate over its visits; `visit.change` is the result for a stored page."""

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        settings: Settings,
        plan: Plan,
        *,
        tell: Callable[[str], None],
    ):
        super().__init__(folder, recipe, settings, tell=tell)
        self.result: Refreshed | None = None  # set at the end
        self._plan = plan
        self._refresh: Refresh | None = None

    def _open(self, session: Session) -> Visits:
        self._refresh = Refresh(session, self._settings, self._plan)
        return self._refresh

    def _end(self, session: Session) -> None:
        super()._end(session)
        if self._refresh is not None:
            with suppress(CollectionError):  # the error that ended the run is already being raised
                self.result = self._refresh.result()


async def _next(visits: AsyncGenerator[Visit, None]) -> Visit | None:
    return await anext(visits, None)


def _require_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError("an event loop is running here, as in a notebook: write `async for visit in lycosa.crawl(...)`")


def new(
    folder: str | Path,
    *,
    topic: str = "",
    examples: Path | Sequence[str | Path] = (),
    negatives: Path | Sequence[str | Path] = (),
    seeds: Path | Sequence[str | Path] = (),
    contact: str = "",
    in_links: str | Path | None = None,
    traffic: str | Path | None = None,
    **scope: Unpack[ScopeOptions],
) -> Path:
    """Creates a collection, a folder with a recipe (lycosa.toml) that you can edit, and returns the folder.

    topic: the topic in words.
    examples, negatives: pages that are on the topic, and pages that are not: URLs, file names or texts of several
    words,
        as a list, or one a line in a file given as a Path, which may also be exported bookmarks or OPML. Nothing is
        fetched before the crawl.
    seeds: URLs to start from, given in the same way; by default, the examples that are URLs.
    contact: your e-mail address or web page, sent to the hosts; by default, that of the environment (LYCOSA_CONTACT) or
        of ~/.config/lycosa/config.toml.
    in_links: CSV file of URLs and their in-links, from which the importance of pages is learned.
    traffic: CSV file of domains and their reach.
    scope: of every crawl of the collection: hosts, exclude_hosts, urls, exclude_urls, languages (lists), stay and
        keep_noindex, as for a single crawl.
    """
    check_keywords(scope, ScopeOptions)
    folder = Path(folder)
    new_collection(
        folder,
        topic=topic,
        examples=_given(examples),
        negatives=_given(negatives),
        seeds=_given(seeds),
        contact=contact,
        in_links=Path(in_links) if in_links is not None else None,
        traffic=Path(traffic) if traffic is not None else None,
        scope=narrowed(Scope(), scope),
    )
    return folder


def _given(lines: Path | Sequence[str | Path]) -> Path | Sequence[str | Path]:
    if isinstance(lines, str):
        raise UsageError(f"give a list of lines, or a file as Path({lines!r})")
    return lines


def crawl(
    folder: str | Path, *, tell: Callable[[str], None] = lambda line: None, **options: Unpack[CrawlOptions]
) -> Run:
    """A crawl of a collection, or its continuation; it runs while you iterate over its visits.

    The recipe decides what is not given. The keywords, listed in `CrawlOptions`, are the flags of `lycosa crawl`
    (`hosts` is --include-host, `atlas` is --map and so on). `options` are the keywords of the strategy's constructor.
    `tell` is called with the messages that the command line would print.
    """
    check_keywords(options, CrawlOptions)
    folder = Path(folder)
    settings = settings_of(options)
    return Run(folder, changed_recipe(polite_recipe(folder, tell=tell), options), settings, tell=tell)


def open(folder: str | Path) -> OpenCollection:
    """Opens the collection in a folder for reading."""
    return OpenCollection(Path(folder))
