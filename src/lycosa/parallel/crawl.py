"""A crawl of a collection by several workers, from its beginning in one process to the end of its run."""

import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from lycosa.collection.collection import lock_collection
from lycosa.collection.events import RunStop
from lycosa.collection.shards import make_shards
from lycosa.reading.reader import page_of_text
from lycosa.recipe import FILE_NAME, Recipe
from lycosa.run import steering
from lycosa.run.control import ControlServer, CrawlReply, CrawlRequest
from lycosa.run.crawl import INTERRUPTED, NOTHING_LEFT
from lycosa.run.live import LiveRun, Visits, no_visits
from lycosa.run.options import CommandSettings
from lycosa.run.session import Session, gather_closed_shards
from lycosa.run.topic_training import REJUDGE_AT, RERANK_AT, TopicTrainer
from lycosa.strategies.base import SupportsRejudge
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import Fetch, Page, Url, Visit
from lycosa.vocabulary.text import quoted
from lycosa.web.outcomes import FetchCounts

from .coordinator import Coordinator, CrawlTotals
from .messages import VisitSummary
from .outbox import owner_by_domain

_MIN_PAGES = 40  # of the collection, before it is dealt: the first rounds of training are those of one process
_CHECKED_EVERY = 10  # pages: whether URLs of several domains wait


class _Beginning(Visits):
    """The first part of the run, in one process."""

    def __init__(self, session: Session, settings: CommandSettings):
        super().__init__(session, settings)
        self.run: LiveRun | None = None

    async def _open(self, stack: AsyncExitStack) -> AsyncGenerator[Visit, None]:
        self.run = LiveRun(self._session, self._web(stack), self._slots)
        crawl = await self.run.prepare(self._settings)
        return no_visits() if crawl is None else await self.run.visits(crawl, stack)


class ParallelCrawl:
    """A crawl by several workers; `visits` runs it, and `finished` ends its run.

    It begins in one process, which learns the topic, until the collection has forty pages and URLs of two shards wait.
    If that never happens, one process crawls everything. While the workers crawl, the collection stays as it was; what
    they have found is moved there at the end, or by the next command after a kill.

    notify: called with messages for the user.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        settings: CommandSettings,
        workers: int,
        *,
        clock: Clock,
        notify: Callable[[str], None],
    ):
        _check(recipe)
        self.folder = folder
        self.recipe = recipe
        self.totals: CrawlTotals | None = None  # None until the first session is open
        self.fetch_counts = FetchCounts()
        self.stop_reason = ""
        self.bytes_between = 0  # that workers have sent, to the coordinator and to each other
        self._settings = settings
        self._workers = workers
        self._clock = clock
        self._notify = notify
        self._notified: set[str] = set()  # lines
        self._session: Session | None = None  # while one process crawls
        self._coordinator: Coordinator | None = None  # while workers crawl
        self._is_interrupted = self._is_handed_over = False

    @property
    def is_interrupted(self) -> bool:
        return self._is_interrupted

    def notify(self, line: str) -> None:
        """Tells the user something."""
        self._notified.add(line)
        self._notify(line)

    def _notify_once(self, line: str) -> None:
        """The same for messages of workers, each of which reads the same files."""
        if line not in self._notified:
            self.notify(line)

    @property
    def page_budget(self) -> int | None:
        """The number of pages that the collection is to have."""
        if self._coordinator is not None:
            return self._coordinator.page_budget
        changed = self._session.status.page_budget if self._session is not None else None
        return changed or self.recipe.stop.pages

    def interrupt(self) -> None:
        """Stops after the current page, or after that of each worker."""
        self._is_interrupted = True
        if self._session is not None:
            self._session.status.interrupt()
        if self._coordinator is not None:
            self._coordinator.interrupt()

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Crawls. Visits that workers report have pages without text and links."""
        began = self._clock.now()
        with Session(self.folder, self.recipe, clock=self._clock, notify=self.notify) as session:
            self._session = session
            try:
                async with aclosing(self._visits_of_one(session)) as visits:
                    async for visit in visits:
                        yield visit
                hash_seed, retrain_at = session.topic.hash_seed, self._retraining_sizes(session)
                examples = session.topic.examples.urls
                is_paused = session.status.is_paused  # by the user
                budget = replace(self.recipe.stop, pages=self.page_budget)
            finally:
                self._session = None
        if not self._is_handed_over:
            return
        assert self.totals is not None
        self.notify(f"{self._workers} workers go on, each with the registered domains of its own")
        with closing(lock_collection(self.folder)):
            owner_of = owner_by_domain(self._workers, hash_seed)
            make_shards(self.folder, self._workers, owner_of, examples=examples)
            coordinator = self._coordinator = Coordinator(
                self.folder,
                replace(self.recipe, stop=budget),
                self._workers,
                hash_seed=hash_seed,
                allow_private=self._settings.allow_private,
                resolve=self._settings.resolve,
                totals=self.totals,
                retrain_at=retrain_at,
                began=began,
                notify=self._notify_once,
            )
            if is_paused:
                coordinator.pause(is_paused=True)
            if self._is_interrupted:  # meanwhile
                coordinator.interrupt()
            control = ControlServer(self.folder, self._answer)
            try:
                await control.open()
                async with aclosing(coordinator.visits()) as summaries:
                    async for summary in summaries:
                        visit = _visit_of(summary)
                        self.fetch_counts.count(visit.fetch)
                        yield visit
            finally:
                await control.close()
                self.stop_reason, self.bytes_between = coordinator.stop_reason, coordinator.bytes_received
                self._coordinator = None
                if coordinator.is_all_saved:
                    gather_closed_shards(self.folder, self.recipe)
        if coordinator.failure:
            with self.finished():  # gathers what there is
                pass
            again = f"lycosa crawl {quoted(self.folder)} --workers {self._workers}"
            raise LycosaError(f"{coordinator.failure}; nothing that was saved is lost, and this goes on: {again}")

    async def _visits_of_one(self, session: Session) -> AsyncGenerator[Visit, None]:
        """The visits of one process, until workers may go on."""
        status = session.status
        self.totals = CrawlTotals.of(status)
        owner_of = owner_by_domain(self._workers, session.topic.hash_seed)
        beginning = _Beginning(session, self._settings)
        fetches_before = 0
        async with beginning as visits:
            run = beginning.run
            assert run is not None
            may_deal = self._may_deal(session, owner_of)
            if not may_deal:
                async for visit in visits:
                    self.totals.set(status, waiting=len(session.frontier))
                    yield visit
                    fetches_before += 1
                    if not may_deal and fetches_before % _CHECKED_EVERY == 0:
                        may_deal = self._may_deal(session, owner_of)
                        if may_deal:
                            status.drain()  # so that nothing is requested twice
            self._is_handed_over = run.is_handed_over = may_deal and not status.stop_reason
            session.state.saves_all_delays = self._is_handed_over
        self.fetch_counts = status.fetch_counts
        self.totals = CrawlTotals.of(status)
        self.stop_reason = status.stop_reason
        if not may_deal and not status.is_interrupted:
            is_small = status.pages <= _MIN_PAGES
            why = (
                f"others begin after {_MIN_PAGES} pages"
                if is_small
                else "URLs of several domains never waited at a time"
            )
            self.notify(f"one worker was enough: {why}")

    def _may_deal(self, session: Session, owner_of: Callable[[Url], int]) -> bool:
        """Whether workers may go on: the topic is known, and URLs of more than one shard wait."""
        if session.status.pages < _MIN_PAGES or session.status.is_interrupted:
            return False
        if session.status.limit_reached(self.recipe.stop):
            return False
        return len({owner_of(Url(f"http://{host}/")) for host in session.frontier.waiting_hosts()}) > 1

    def _retraining_sizes(self, session: Session) -> list[int]:
        """The numbers of pages at which the model of the topic is trained again; none if it is not."""
        topic = session.topic
        if not topic.uses_background_negatives or topic.linear_model() is None:
            return []
        is_rejudged = isinstance(session.loop.strategy, SupportsRejudge)
        return sorted(REJUDGE_AT if is_rejudged else RERANK_AT)

    @contextmanager
    def finished(self, *, notify: Callable[[str], None] | None = None) -> Iterator[Session]:
        """The collection after the run, whose end is recorded."""
        with Session(
            self.folder, self.recipe, clock=self._clock, notify=notify or self.notify, rerank=False
        ) as session:
            status = session.status
            if self._is_handed_over:
                if self.stop_reason == NOTHING_LEFT:
                    self.stop_reason = session.empty_frontier_reason()
                if not self._is_interrupted:
                    TopicTrainer(session).judge_again()
                session.record(RunStop(session.clock.now(), self.stop_reason or INTERRUPTED))
                session.checkpoint()
            status.fetch_counts = self.fetch_counts
            status.stop(self.stop_reason)
            if self._is_interrupted:
                status.interrupt()
            yield session

    def _answer(self, request: CrawlRequest) -> CrawlReply:
        """Executes a command of the user while workers crawl."""
        coordinator = self._coordinator
        assert coordinator is not None
        match request.do:
            case "pause" | "resume":
                coordinator.pause(is_paused=request.do == "pause")
            case "stop":
                self.interrupt()
            case "budget":
                if request.pages is None:
                    raise UsageError("say how many pages the collection is to have")
                coordinator.set_page_budget(request.pages)
            case "block" | "boost":
                (steering.block if request.do == "block" else steering.boost)(self.folder, request.what)
                coordinator.steer()
            case "status":
                totals = coordinator.totals
                return CrawlReply(
                    status={
                        "pages": totals.pages,
                        "relevant": totals.relevant,
                        "waiting": totals.waiting,
                        "paused": coordinator.is_paused,
                        "budget": coordinator.page_budget,
                        "requests": self.fetch_counts.requests,
                        "workers": self._workers,
                    }
                )
            case _:
                raise UsageError(
                    f"{request.do} does not work while several workers crawl; stop the crawl first "
                    f"(lycosa control {quoted(self.folder)} stop)"
                )
        return CrawlReply()


def _check(recipe: Recipe) -> None:
    """Raises UsageError where no workers can be started, and for what one process must decide."""
    if sys.platform == "win32":  # no event loop there can both watch the sockets of libcurl and read pipes
        raise UsageError("--workers does not work on Windows; leave it out")
    if recipe.stop.recall is not None:
        what, why = "--stop-at-recall", "needs the links of all pages in one process"
    elif recipe.stop.requests is not None:
        what, why = f"requests in [stop] of {FILE_NAME}", "is counted by one process"
    else:
        return
    raise UsageError(f"{what} does not go with --workers: it {why}; leave out one of the two")


_NO_WORDS = page_of_text(Url(""), "", "").words


def _visit_of(summary: VisitSummary) -> Visit:
    """A visit as a worker reports it: its page has neither text nor links."""
    url = summary.candidate.url
    fetch = Fetch(url, summary.outcome, summary.at, summary.status, detail=summary.detail)
    page = None if summary.title is None else Page(url, summary.title, "", "", _NO_WORDS, ())
    return Visit(
        summary.candidate,
        fetch,
        page,
        relevance=summary.relevance,
        duplicate_of=summary.duplicate_of,
        left_out=summary.left_out,
        standing=summary.standing,
    )
