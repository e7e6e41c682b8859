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
(True, '10 pages, as requested')
>>> again.result.looked_at, changes
(10, {'unchanged'})
>>> with open(folder) as bees:
...     len(bees), bees.page(home).number
(10, 1)
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from lycosa.collection import Collection
from lycosa.collection.queries import ORDERS, Order
from lycosa.collection.rows import LookRow, PageRow, Summary
from lycosa.collection.search_index import Hit
from lycosa.frontier.admission import Scope
from lycosa.frontier.durable import count_waiting
from lycosa.reading import markdown_of
from lycosa.recipe import Recipe
from lycosa.run.open import bring_index_up_to_date, html_of, main_text_of, open_for_reading
from lycosa.run.options import (
    CommandSettings,
    CrawlOptions,
    FetchOptions,
    ScopeOptions,
    changed_recipe,
    check_keywords,
    scope_with_options,
    settings_of,
)
from lycosa.run.trust import polite_recipe
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import Fetch, JsonValue, Visit
from lycosa.vocabulary.text import counted, quoted
from lycosa.vocabulary.urls import checked_url, host_named, normalise

# Imported in the functions that need them, so that a search starts without the modules that fetch, train and draw.
if TYPE_CHECKING:
    from lycosa.parallel.crawl import ParallelCrawl
    from lycosa.run.export import TableOptions
    from lycosa.run.live import Visits
    from lycosa.run.overview import Overview
    from lycosa.run.refresh import Refresh, RefreshPlan, RefreshResult
    from lycosa.run.session import Session
    from lycosa.run.topic_training import LearntLabels
    from lycosa.run.upkeep import Forgotten, ImportedArchive

__all__ = [
    "LycosaError",
    "OpenCollection",
    "ParallelRun",
    "RefreshRun",
    "Run",
    "crawl",
    "forget",
    "import_archive",
    "label",
    "new",
    "open",
    "rebuild",
    "refresh",
]

Notify = Callable[[str], None]


def _ignore_message(line: str) -> None:
    """Drops a message."""


class _Readable:
    """The read methods of a collection, open for reading or being crawled."""

    folder: Path
    _notify: Notify

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
        if order not in ORDERS:
            raise UsageError(f"no order {order!r}; there are {', '.join(ORDERS)}")
        return self._collection().catalog.pages(order, host=host, min_relevance=min_relevance, limit=limit)

    def page(self, url: str) -> PageRow | None:
        """The catalog's row of a page; None if there is no such page."""
        normalised = normalise(url)
        return self._collection().catalog.page(normalised) if normalised else None

    def looks(self, url: str) -> list[LookRow]:
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

    def rows(self, **options: "Unpack[TableOptions]") -> Iterator[dict[str, Any]]:
        """The pages as dictionaries, one at a time; the keywords are the flags of `lycosa export`."""
        from lycosa.run.export import labels_of, rows, table_request

        selection, content = table_request(self.folder, options, now=WallClock().now())
        return rows(self._collection(), selection, content, labels_of(self.folder))

    def row(
        self, url: str, *, text: bool = False, markdown: bool = False, html: bool = False, links: bool = False
    ) -> dict[str, Any] | None:
        """The row of one page; None if the collection does not have it."""
        from lycosa.collection.queries import Selection
        from lycosa.run.export import ExportContent, labels_of, rows

        content = ExportContent(text=text, markdown=markdown, html=html, links=links)
        normalised = normalise(url)
        selection = Selection(urls=frozenset(() if normalised is None else (normalised,)))
        return next(rows(self._collection(), selection, content, labels_of(self.folder)), None)

    def count(self, **options: "Unpack[TableOptions]") -> int:
        """The number of pages that `rows` selects with the same keywords."""
        from lycosa.run.export import table_request

        selection, _ = table_request(self.folder, options, now=WallClock().now())
        return self._collection().catalog.count_selected(selection)

    def has_importance(self) -> bool:
        """Whether the importance of any page is known, by which pages can be ordered."""
        return self._collection().catalog.has_standings()

    def to_arrow(self, **options: "Unpack[TableOptions]") -> Any:
        """The pages as a `pyarrow.Table`, in memory; the keywords are those of `rows`."""
        from lycosa.collection.arrow_tables import table_of
        from lycosa.run.export import labels_of, rows, table_request

        selection, content = table_request(self.folder, options, now=WallClock().now())
        return table_of(rows(self._collection(), selection, content, labels_of(self.folder)), content.columns)

    def to_pandas(self, **options: "Unpack[TableOptions]") -> Any:
        """The pages as a `pandas.DataFrame`, in memory; the keywords are those of `rows`."""
        from lycosa.collection.arrow_tables import require_pandas

        require_pandas()
        return self.to_arrow(**options).to_pandas()

    def export(self, out: str | Path, *, format: str = "jsonl", **options: "Unpack[TableOptions]") -> int:
        """Writes the pages to a file or, for some formats, a new folder; returns the number of pages.

        format: as for `lycosa export`: "jsonl", "csv", "parquet", "urls", "markdown", "huggingface", "wacz" or that of
            a plug-in. "wacz" holds the whole archive and takes no options.
        options: the flags of `lycosa export`.
        """
        from lycosa.collection.export import WACZ
        from lycosa.run.export import checked_content, table_request, write_export, write_wacz_export

        if format == WACZ:
            if options:
                raise UsageError(f"the format wacz holds the whole archive: leave out {', '.join(options)}")
            return write_wacz_export(self._collection(), Path(out))
        selection, content = table_request(self.folder, options, now=WallClock().now())
        return write_export(self._collection(), format, Path(out), selection, checked_content(format, content))

    def fetch(self, url: str) -> Fetch:
        """The stored response of a page: headers, body, time and address."""
        page = self.page(url)
        if page is None or page.place is None:
            raise UsageError(
                f"{self.folder} has no page {url}; this says why: lycosa explain {quoted(self.folder)} {quoted(url)}"
            )
        return self._collection().archive.fetch_at(page.place)

    def search(
        self, query: str, *, limit: int = 10, host: str | None = None, min_relevance: float | None = None
    ) -> list[Hit]:
        """The best pages for a query: words, "a phrase", begin*, +must, -not, title:word, AND, OR, NOT, parentheses.

        Words are compared by their stems, by the language of each page, and without accents.
        """
        self.bring_index_up_to_date()
        host = host and (host_named(host) or host)
        return self._collection().search.search(query, limit=limit, host=host, min_relevance=min_relevance)

    def similar(self, url: str, *, limit: int = 10) -> list[Hit]:
        """The pages most similar to a page of the collection, by their words."""
        self.bring_index_up_to_date()
        page = self.page(url)
        return [] if page is None else self._collection().search.similar(page.url, limit=limit)

    def bring_index_up_to_date(self) -> None:
        """Adds to the search index the pages that a crawl left out of it; `search` and `similar` do it themselves."""
        opened = self._collection()
        if opened.pages_not_indexed() or opened.search.is_outdated():
            bring_index_up_to_date(self.folder, notify=self._notify)

    def explain(self, url: str) -> JsonValue:
        """What is known of a URL: its state (stored, waiting, skipped, …), why, and the links that led to it."""
        from lycosa.run.explanation import facts_about

        return facts_about(self._collection(), checked_url(url))

    def summary(self) -> Summary:
        """The collection in numbers: pages, harvest rate, hosts, outcomes, skips, runs."""
        return self._collection().catalog.summary()

    def overview(self) -> "Overview":
        """What `lycosa show` shows: the summary, estimates of harvest rate and recall, and what was left out."""
        from lycosa.run.overview import overview

        return overview(self._collection())

    def report(self) -> str:
        """The collection as one HTML page with charts."""
        from lycosa.report import html_report

        return html_report(self._collection())

    def write_report(self, out: str | Path | None = None) -> Path:
        """Writes the report to `out`, by default into the folder of the collection; returns its path."""
        from lycosa.report import write_report

        return write_report(self._collection(), None if out is None else Path(out))

    def waiting(self) -> int:
        """The number of waiting URLs."""
        catalog = self._collection().catalog
        with catalog.reporting_errors():
            return count_waiting(catalog.connection)


class OpenCollection(_Readable):
    """A collection opened for reading; iterates over its pages. A crawl may run at the same time."""

    def __init__(self, folder: Path, *, notify: Notify = _ignore_message):
        self.folder = folder
        self._notify = notify
        self._opened = open_for_reading(folder)
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else counted(self._opened.catalog.count(), "page")
        return f"<collection {self.folder}: {state}>"

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

    def refresh(
        self,
        *,
        budget: int,
        policy: str | None = None,
        expand: float | None = None,
        notify: Notify = _ignore_message,
        **options: Unpack[FetchOptions],
    ) -> "RefreshRun":
        """A refresh of the collection; see `lycosa.api.refresh`."""
        return refresh(self.folder, budget=budget, policy=policy, expand=expand, notify=notify, **options)

    def close(self) -> None:
        self._closed = True
        self._opened.close_without_checkpoint()


class Run(_Readable):
    """A crawl that runs while you iterate over its visits, by `for`, or by `async for` in a running event loop.

    Leaving the iteration early, by break or by an exception, stops the crawl cleanly; iterating again continues it.
    While your own code handles a visit, the fetches in flight are paused.
    """

    def __init__(self, folder: Path, recipe: Recipe, settings: CommandSettings, *, notify: Notify):
        self.folder = folder
        self.stopped = ""  # the stop reason; empty until the crawl ends
        self._notify = notify
        self._recipe = recipe
        self._settings = settings
        self._session: Session | None = None
        self._opened: Collection | None = None

    def _collection(self) -> Collection:
        if self._session is not None:
            return self._session.collection
        if self._opened is None:
            self._opened = open_for_reading(self.folder)
        return self._opened

    def bring_index_up_to_date(self) -> None:
        """Adds to the search index the pages that are missing there; does nothing while the crawl is under way."""
        if self._session is None:
            super().bring_index_up_to_date()

    def __iter__(self) -> Iterator[Visit]:
        import asyncio

        from lycosa.vocabulary.event_loop import new_event_loop

        _require_no_event_loop()
        with self.session() as session, asyncio.Runner(loop_factory=new_event_loop) as runner:
            exit_stack = AsyncExitStack()
            try:
                visits = runner.run(exit_stack.enter_async_context(self.visits(session)))
                while (visit := runner.run(_next(visits))) is not None:
                    yield visit
            except BaseException as error:
                runner.run(exit_stack.__aexit__(type(error), error, error.__traceback__))
                raise
            else:
                runner.run(exit_stack.aclose())

    async def __aiter__(self) -> AsyncGenerator[Visit, None]:
        with self.session() as session:
            async with self.visits(session) as visits:
                async for visit in visits:
                    yield visit

    @contextmanager
    def session(self, *, notify: Notify | None = None) -> "Iterator[Session]":
        """The collection opened for this run; a display of the run reads its figures here.

        notify: called with the messages of the session, instead of the function given to the run.
        """
        from lycosa.run.session import Session

        if self._session is not None:
            raise UsageError(f"this crawl of {self.folder} is under way; leave its loop before you begin another")
        self.close()
        self.stopped = ""
        with Session(self.folder, self._recipe, clock=WallClock(), notify=notify or self._notify) as session:
            self._session = session
            try:
                yield session
            finally:
                self._session = None
                self._end(session)

    def visits(self, session: "Session") -> "Visits":
        """The visits of this run, to be entered with `async with`."""
        from lycosa.run.live import LiveCrawl

        return LiveCrawl(session, self._settings)

    def _end(self, session: "Session") -> None:
        """Saves the results of a run while its session is still open."""
        self.stopped = session.status.stop_reason or "interrupted"

    def close(self) -> None:
        """Closes what the read methods opened; they open it again if needed."""
        if self._opened is not None:
            self._opened.close_without_checkpoint()
            self._opened = None


class RefreshRun(Run):
    """A refresh that runs while you iterate over its visits; `visit.change` is the result for a stored page."""

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        settings: CommandSettings,
        plan: "RefreshPlan",
        *,
        notify: Notify,
    ):
        super().__init__(folder, recipe, settings, notify=notify)
        self.result: RefreshResult | None = None  # set at the end
        self._plan = plan
        self._refresh: Refresh | None = None

    def visits(self, session: "Session") -> "Refresh":
        from lycosa.run.refresh import Refresh

        self._refresh = Refresh(session, self._settings, self._plan)
        return self._refresh

    def _end(self, session: "Session") -> None:
        super()._end(session)
        if self._refresh is not None:
            with suppress(CollectionError):  # the error that ended the run is already being raised
                self.result = self._refresh.result()


class ParallelRun(Run):
    """A crawl by several workers, processes of this machine, that runs while you iterate over its visits.

    The pages of visits that workers report have neither text nor links: read those from the collection.
    """

    def crawl(self, *, notify: Notify | None = None) -> "ParallelCrawl":
        """The crawl itself, for a display; it is to be run once."""
        from lycosa.parallel.crawl import ParallelCrawl

        self.close()
        self.stopped = ""
        return ParallelCrawl(
            self.folder,
            self._recipe,
            self._settings,
            self._settings.workers,
            clock=WallClock(),
            notify=notify or self._notify,
        )

    @contextmanager
    def finished(self, crawl: "ParallelCrawl") -> "Iterator[Session]":
        """The collection after the crawl, whose run is ended here."""
        with crawl.finished() as session:
            self._end(session)
            yield session

    def __iter__(self) -> Iterator[Visit]:
        import asyncio

        from lycosa.vocabulary.event_loop import new_event_loop

        _require_no_event_loop()
        crawl = self.crawl()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            visits = crawl.visits()
            try:
                while (visit := runner.run(_next(visits))) is not None:
                    yield visit
            except GeneratorExit:  # the loop was left early
                runner.run(visits.aclose())
                self._finish(crawl)
                raise
            except BaseException:
                runner.run(visits.aclose())
                raise
        self._finish(crawl)

    async def __aiter__(self) -> AsyncGenerator[Visit, None]:
        crawl = self.crawl()
        try:
            async with aclosing(crawl.visits()) as visits:
                async for visit in visits:
                    yield visit
        except GeneratorExit:
            self._finish(crawl)
            raise
        self._finish(crawl)

    def _finish(self, crawl: "ParallelCrawl") -> None:
        with self.finished(crawl):
            pass


async def _next(visits: AsyncGenerator[Visit, None]) -> Visit | None:
    return await anext(visits, None)


def _require_no_event_loop() -> None:
    import asyncio

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
    notify: Notify = _ignore_message,
    **scope: Unpack[ScopeOptions],
) -> Path:
    """Creates a collection, a folder with a recipe (lycosa.toml) that you can edit, and returns the folder.

    topic: the topic in words.
    examples, negatives: pages that are on the topic, and pages that are not: URLs, file names or texts of several
        words, as a list, or one a line in a file given as a Path, which may also be exported bookmarks or OPML. Nothing
        is fetched before the crawl.
    seeds: URLs to start from, given in the same way; by default, the examples that are URLs.
    contact: your e-mail address or web page, sent to the hosts; by default, that of the environment (LYCOSA_CONTACT) or
        of ~/.config/lycosa/config.toml.
    in_links: CSV file of URLs and their in-links, from which the importance of pages is learned.
    traffic: CSV file of domains and their reach.
    notify: called with messages, such as that the name of a host was read as a URL.
    scope: of every crawl of the collection: hosts, exclude_hosts, urls, exclude_urls, languages (lists), stay and
        keep_noindex, as for a single crawl.
    """
    from lycosa.run.new import new_collection

    check_keywords(scope, ScopeOptions)
    folder = Path(folder)
    new_collection(
        folder,
        topic=topic,
        examples=_require_list(examples),
        negatives=_require_list(negatives),
        seeds=_require_list(seeds),
        contact=contact,
        in_links=Path(in_links) if in_links is not None else None,
        traffic=Path(traffic) if traffic is not None else None,
        scope=scope_with_options(Scope(), scope),
        notify=notify,
    )
    return folder


def _require_list(lines: Path | Sequence[str | Path]) -> Path | Sequence[str | Path]:
    if isinstance(lines, str):
        raise UsageError(f"give a list of lines, or a file as Path({lines!r})")
    return lines


def crawl(folder: str | Path, *, notify: Notify = _ignore_message, **options: Unpack[CrawlOptions]) -> Run:
    """A crawl of a collection, or its continuation; it runs while you iterate over its visits.

    The recipe decides what is not given. The keywords, listed in `CrawlOptions`, are the flags of `lycosa crawl`
    (`hosts` is --include-host, `atlas` is --map and so on). The keyword named `options` is a dictionary of keywords for
    the strategy's constructor. `notify` is called with the messages that the command line would print.
    """
    check_keywords(options, CrawlOptions)
    folder = Path(folder)
    settings = settings_of(options)
    recipe = changed_recipe(polite_recipe(folder, notify=notify), options)
    return (Run if settings.workers == 1 else ParallelRun)(folder, recipe, settings, notify=notify)


def refresh(
    folder: str | Path,
    *,
    budget: int,
    policy: str | None = None,
    expand: float | None = None,
    notify: Notify = _ignore_message,
    **options: Unpack[FetchOptions],
) -> RefreshRun:
    """A refresh of a collection within a budget of requests; it runs while you iterate over its visits.

    The keywords are the flags of `lycosa refresh`. At the end, `result` has the changed, new and vanished pages.
    """
    from lycosa.run.refresh import plan_of, refresh_recipe, require_pages

    check_keywords(options, FetchOptions)
    folder = Path(folder)
    plan = plan_of(budget=budget, policy=policy, expand=expand)
    settings = settings_of(options)
    recipe = refresh_recipe(polite_recipe(folder, notify=notify), plan, options)
    require_pages(folder)
    return RefreshRun(folder, recipe, settings, plan, notify=notify)


def open(folder: str | Path, *, notify: Notify = _ignore_message) -> OpenCollection:
    """Opens the collection in a folder for reading; `notify` is called when the search index has to be updated."""
    return OpenCollection(Path(folder), notify=notify)


def label(
    folder: str | Path, *, good: Iterable[str] = (), bad: Iterable[str] = (), notify: Notify = _ignore_message
) -> "LearntLabels":
    """Labels pages as good or bad examples of the topic and retrains the model once, also during a crawl.

    Returns the number of pages that were re-scored, and of labelled pages that the next crawl has to fetch.
    """
    from lycosa.run.control import label_pages

    if isinstance(good, str) or isinstance(bad, str):
        raise UsageError(f"give a list of URLs, such as good=[{(good if isinstance(good, str) else bad)!r}]")
    labels = {checked_url(url): True for url in good}
    for url in map(checked_url, bad):
        if labels.setdefault(url, False):
            raise UsageError(f"{url} is given as good and as bad; give it once")
    if not labels:
        raise UsageError("no URL to label; give some as good or bad")
    return label_pages(Path(folder), labels, notify=notify)


def forget(folder: str | Path, url_or_host: str, *, notify: Notify = _ignore_message) -> "Forgotten":
    """Removes a page, or a host with all its pages, permanently; it is not fetched again."""
    from lycosa.run.upkeep import forget

    return forget(Path(folder), url_or_host, clock=WallClock(), notify=notify)


def import_archive(folder: str | Path, file: str | Path, *, notify: Notify = _ignore_message) -> "ImportedArchive":
    """Imports the HTML pages of a WARC file into a collection, with the times at which they were fetched."""
    from lycosa.run.upkeep import import_archive

    return import_archive(Path(folder), Path(file), clock=WallClock(), notify=notify)


def rebuild(folder: str | Path, *, notify: Notify = _ignore_message) -> int:
    """Rebuilds the catalog, search index and frontier from the archive; returns the number of pages."""
    from lycosa.run.upkeep import rebuild

    return rebuild(Path(folder), clock=WallClock(), notify=notify)
