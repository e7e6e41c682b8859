"""A complete crawl: concurrent fetches around `lycosa.loop`, within a budget."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple, cast

from msgspec.structs import replace

from lycosa.frontier.shared_limits import SLOW_RESPONSE
from lycosa.loop import Loop
from lycosa.reading.fingerprint import NearDuplicates
from lycosa.recipe import Budget
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Memory, ReadPage, Relevance, Standing, Web
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import (
    REFRESH,
    RELEVANT,
    Candidate,
    Fetch,
    Host,
    LeftOut,
    LeftOutReason,
    Outcome,
    Page,
    Url,
    Visit,
)
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import host_of
from lycosa.web.outcomes import FetchCounts, was_requested

from .host_slots import CurrentSlots
from .recall import RecallEstimate

INTERRUPTED = "interrupted"  # stop reason of a crawl that the user ended
NOTHING_LEFT = "nothing is left to fetch"  # stop reason of a crawl that followed every link
ALLOW_PRIVATE_HINT = "to crawl hosts of your own network, say --allow-private"
_MAX_STEPS = 8  # steps of the loop in a row, before the event loop serves sockets and signals
_MAX_READ_AHEAD = 16  # pages
_MAX_READ_AHEAD_SECONDS = 0.05  # of processor time, after which no further one is parsed: sockets wait
_MAX_MIRRORS = 3  # copies of a text on the hosts of one site whose links are followed
# The same on all sites. A link farm would need a hundred registered domains to use this up before the original is
# found, and even widely mirrored pages are on fewer; without a bound, every further domain would be followed.
_MAX_MIRRORS_IN_ALL = 300
_MAX_WAIT = 1.0  # seconds between checks of budgets and interrupts
MAX_HOLD = 300.0  # seconds to wait for the next free host; if it takes longer, the crawl stops


class EverySeedRefusedError(LycosaError):
    """No address of the crawl may be connected to."""


class Status:
    """The progress of a crawl: pages over all runs, requests of this run, and the stop reason.

    began: start of the run, in seconds since the epoch; by default, the time of its first fetch.
    interrupted: whether an enclosing crawl was interrupted.
    """

    def __init__(
        self,
        *,
        pages: int = 0,
        relevant: int = 0,
        pages_since_relevant: int = 0,
        bytes_kept: int = 0,
        began: float | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ):
        self.pages = pages  # number of stored pages
        self.relevant = relevant  # number of relevant ones among these
        self.pages_since_relevant = pages_since_relevant  # number stored after the latest relevant one
        self.bytes_kept = bytes_kept
        self.began = began
        self.fetch_counts = FetchCounts()
        self.woken = asyncio.Event()  # set by an interrupt, and whenever a fetch completes
        self._stop_reason = ""
        self._is_paused = False
        self._is_draining = False
        self._page_budget: int | None = None
        self._interrupted = False
        self._is_parent_interrupted = interrupted

    def add(self, visit: Visit) -> None:
        """Counts a visit, new or replayed from an archive."""
        if visit.is_kept and visit.change is None:
            self.pages += 1
            self.bytes_kept += len(visit.fetch.body)
            is_relevant = visit.relevance is not None and visit.relevance >= RELEVANT
            self.relevant += is_relevant
            self.pages_since_relevant = 0 if is_relevant else self.pages_since_relevant + 1

    def recount(self, are_relevant: list[bool]) -> None:
        """Replaces the counts of relevant pages; `are_relevant` is in order of arrival."""
        self.relevant = sum(are_relevant)
        self.pages_since_relevant = are_relevant[::-1].index(True) if any(are_relevant) else len(are_relevant)

    def interrupt(self) -> None:
        """Stops after the current page; fetches in flight are left to the next run."""
        self._interrupted = True
        self.woken.set()

    @property
    def is_interrupted(self) -> bool:
        return self._interrupted or self._is_parent_interrupted()

    def stop(self, reason: str) -> None:
        """Records why the crawl stops."""
        self._stop_reason = reason

    @property
    def stop_reason(self) -> str:
        """Why the crawl stopped; empty until it does."""
        return self._stop_reason

    def pause(self) -> None:
        """Begins no new fetches until `resume`."""
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def drain(self) -> None:
        """Begins no new fetches, and ends the crawl, without a stop reason, once those in flight have completed."""
        self._is_draining = True

    @property
    def is_draining(self) -> bool:
        return self._is_draining

    def set_page_budget(self, pages: int) -> None:
        """Replaces the page budget of the run by one that the user has chosen meanwhile."""
        self._page_budget = pages

    @property
    def page_budget(self) -> int | None:
        """The page budget that the user has set during the run; None if there is none."""
        return self._page_budget

    def limit_reached(self, budget: Budget) -> str:
        """The limit of the whole collection that was reached; empty if none."""
        if budget.pages is not None and self.pages >= budget.pages:
            return f"{counted(self.pages, 'page')}, as requested"
        if budget.bytes is not None and self.bytes_kept >= budget.bytes:
            return f"the pages have {self.bytes_kept} bytes"
        return ""

    def out_of_time(self, budget: Budget, now: float) -> str:
        """That the minutes of the run are over; empty if they are not."""
        if budget.minutes is None or self.began is None or (now - self.began) / 60 < budget.minutes:
            return ""
        return "1 minute has passed" if budget.minutes == 1 else f"{budget.minutes:g} minutes have passed"

    def has_room(self, budget: Budget, in_flight: int = 0) -> bool:
        """Whether the collection may have more pages, assuming that every fetch in flight adds one."""
        return not self.limit_reached(budget) and (budget.pages is None or self.pages + in_flight < budget.pages)


@dataclass(frozen=True, kw_only=True)
class Assessor:
    """Turns a fetch into a visit: parses the page, scores it, and looks for duplicates.

    judge: gives pages their relevance, how well they fit the topic.
    standing: gives pages their standing, the importance that they have on the Web.
    duplicates: finds earlier pages with nearly the same text.
    languages: pages in other languages are left out; empty for all.
    keep_noindex: whether to keep pages that ask not to be kept.
    follow_copies: whether to follow the links of every copy of a page. By default, only those of the first few copies
        on other hosts of each site are followed, and only 300 in all, as a mirror may be found before the original.
    memory: the stored versions of pages that are fetched again.
    score_ahead: called with pages that are parsed before they are assessed, so that `judge` may score them.
    """

    read: ReadPage
    judge: Relevance | None
    standing: Standing | None = None
    duplicates: NearDuplicates = field(default_factory=NearDuplicates)
    languages: frozenset[str] = frozenset()
    memory: Memory | None = None
    keep_noindex: bool = False
    follow_copies: bool = False
    score_ahead: Callable[[Page], None] = lambda page: None

    def read_ahead(self, candidate: Candidate, fetch: Fetch) -> Page | None:
        """The page of a fetch that will be assessed later, if it has one that does not depend on a stored version."""
        if fetch.outcome is not Outcome.OK or candidate.lane == REFRESH:
            return None
        page = self.read(fetch)
        if page is not None:
            self.score_ahead(page)
        return page

    def __call__(self, candidate: Candidate, fetch: Fetch, page: Page | None = None) -> Visit:
        """The visit; `page`: what `read_ahead` returned, if it was called."""
        if self.memory is not None and candidate.lane == REFRESH:
            return self.memory.with_change(self._judged(candidate, self.memory.compared(fetch), None))
        return self._judged(candidate, fetch, page)

    def _judged(self, candidate: Candidate, fetch: Fetch, page: Page | None) -> Visit:
        if page is None:
            page = self.read(fetch)
        if page is None:
            return Visit(candidate, fetch)
        duplicate_of = self._duplicate_of(page)
        return Visit(
            candidate,
            fetch,
            page,
            relevance=self.judge.relevance(page) if self.judge else None,
            duplicate_of=duplicate_of,
            left_out=self._left_out(page),
            standing=self.standing.standing(page) if self.standing else None,
            is_copy=duplicate_of is not None and self._is_surplus_copy(page, duplicate_of),
        )

    def _is_surplus_copy(self, page: Page, duplicate_of: Url) -> bool:
        """Whether a page is a copy whose links are not followed: on the same host, or beyond `_MAX_MIRRORS` of its
        site, or beyond `_MAX_MIRRORS_IN_ALL`. Hosts cost nothing: in all, only copies that are followed count."""
        duplicates = self.duplicates
        if self.follow_copies or not duplicates.has_text(page.digest):
            return False
        return (
            host_of(page.url) == host_of(duplicate_of)
            or duplicates.copies(page.digest, page.url) >= _MAX_MIRRORS
            or duplicates.followed_copies(page.digest) >= _MAX_MIRRORS_IN_ALL
        )

    def _duplicate_of(self, page: Page) -> Url | None:
        original = self.duplicates.find(page.fingerprint)
        return None if original == page.url else original  # not a duplicate of its own earlier version

    def _left_out(self, page: Page) -> LeftOut | None:
        if page.noindex and not self.keep_noindex:
            return LeftOut(LeftOutReason.NOINDEX)
        if self.languages and page.language and page.language not in self.languages:
            return LeftOut(LeftOutReason.LANGUAGE, page.language)
        return None


@dataclass(frozen=True, kw_only=True)
class Crawl:
    """All parts of a crawl; `visits` runs it, and `status` is its progress.

    observe: called with every visit before it is yielded.
    between_visits: called after each visit, once the caller asks for the next.
    empty_frontier_reason: returns the stop reason when nothing waits.
    recall: estimates recall when the crawl may stop by it; needed if the budget has a target recall.
    slots: the web's view of which hosts are free; connected to the frontier while the crawl runs.
    notify: called with messages for the user.
    may_get_more: whether the crawl waits when its budget is used up or nothing waits, since it may get more of either.
    """

    web: Web
    assess: Assessor
    loop: Loop
    clock: Clock
    status: Status
    budget: Budget = field(default_factory=Budget)
    concurrency: int = 1
    observe: Callable[[Visit], None] = lambda visit: None
    between_visits: Callable[[], None] = lambda: None
    empty_frontier_reason: Callable[[], str] = lambda: NOTHING_LEFT
    recall: Callable[[], RecallEstimate | None] = lambda: None
    slots: CurrentSlots = field(default_factory=CurrentSlots)
    notify: Callable[[str], None] = lambda line: None
    may_get_more: Callable[[], bool] = lambda: False

    @property
    def current_budget(self) -> Budget:
        """The budget, including changes made by the user during the run."""
        pages = self.status.page_budget
        return self.budget if pages is None else replace(self.budget, pages=pages)

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Fetches until the budget is used up, nothing waits, or the user interrupts."""
        self.slots.connect(self.loop.frontier)
        fetches, refusals = _Fetches(self), _Refusals(self)
        try:
            while (completed := await fetches.next()) is not None:
                self.status.fetch_counts.count(completed.fetch)
                visit = refusals.step(completed)
                if visit is not None:
                    self.observe(visit)
                    yield visit
                    self.between_visits()
        finally:
            await fetches.cancel()
        refusals.raise_if_all_refused()


class _Refusals:
    """Keeps refused visits unprocessed as long as every address was refused, so that a crawl that made no request
    records nothing. They are processed as soon as one request is made.
    """

    def __init__(self, crawl: Crawl):
        self._crawl = crawl
        self._refused: list[Visit] = []
        self._any_request_made = crawl.status.pages > 0 or crawl.may_get_more()

    def step(self, completed: "_CompletedFetch") -> Visit | None:
        """One step of the loop, left for later while every address is refused; None if the fetch will be retried."""
        candidate, fetch, page = completed
        loop, assess = self._crawl.loop, partial(self._crawl.assess, page=page)
        if self._any_request_made:
            return loop.step(candidate, fetch, assess)
        if loop.retry(candidate, fetch):
            return None
        visit = assess(candidate, fetch)
        self._refused.append(visit)
        if fetch.outcome is not Outcome.REFUSED:
            self._any_request_made = True
            for refused in self._refused:
                loop.process(refused)
            self._refused.clear()
        return visit

    def raise_if_all_refused(self) -> None:
        if self._refused:
            self._crawl.status.stop("every address was refused")
            reason = self._refused[0].fetch.detail
            raise EverySeedRefusedError(
                f"nothing could be asked, every address was refused ({reason}); {ALLOW_PRIVATE_HINT}"
            )


class _CompletedFetch(NamedTuple):
    candidate: Candidate
    fetch: Fetch
    page: Page | None = None  # if it was parsed ahead of its turn


class _StartedFetch(NamedTuple):
    waited_before: float  # seconds that the crawl had waited when the fetch was started
    task: asyncio.Task[None]
    host: Host


class _Fetches:
    """The fetches of a crawl: those in flight, those that have completed, and whether there will be more."""

    def __init__(self, crawl: Crawl):
        self._crawl = crawl
        self._status = crawl.status
        self._clock = crawl.clock
        if crawl.status.began is None:
            crawl.status.began = crawl.clock.now()
        self._returned = 0  # completed fetches that `next` has returned
        self._bug: BaseException | None = None  # an exception of the web, which should return outcomes instead
        self._tasks: set[asyncio.Task[None]] = set()
        self._completed: deque[_CompletedFetch] = deque()
        # The duration of a fetch is measured in seconds of waiting: time spent parsing pages or training a model does
        # not make a host slow.
        self._waited = 0.0
        self._started: deque[_StartedFetch] = deque()
        self._max_in_flight = crawl.concurrency
        self._limit_to(crawl.slots.max_fetches)

    async def next(self) -> _CompletedFetch | None:
        """The next fetch that completes; None at the end of the crawl."""
        return await (self._next_sequential() if self._crawl.concurrency == 1 else self._next_concurrent())

    async def _next_sequential(self) -> _CompletedFetch | None:
        frontier, clock = self._crawl.loop.frontier, self._clock
        while not self._stop_if_over() and not self._status.is_draining:
            candidate = None if self._status.is_paused else frontier.take(clock.now())
            if candidate is not None:
                return _CompletedFetch(candidate, await self._fetch(candidate))
            if self._status.is_paused:
                await clock.sleep_until(clock.now() + _MAX_WAIT)
            elif not self._stop_if_hopeless(ready_at := frontier.next_ready_at()):
                now = clock.now()
                await clock.sleep_until(min(now if ready_at is None else ready_at, now + _MAX_WAIT))
        return None

    async def _next_concurrent(self) -> _CompletedFetch | None:
        while not self._stop_if_over() and not self._is_drained():
            self._launch()
            if not self._completed:
                await self._wait()
            elif self._returned % _MAX_STEPS == 0:
                await asyncio.sleep(0)
            if self._bug is not None:
                raise self._bug
            if self._completed:
                self._returned += 1
                if self._completed[0].page is None:
                    self._read_ahead()
                return self._completed.popleft()
        return None

    def _is_drained(self) -> bool:
        return self._status.is_draining and not self._tasks and not self._completed

    def _read_ahead(self) -> None:
        """Parses the pages of the next fetches: several in a row take less time than each in its turn, as code and
        tables stay in the caches of the processor."""
        until = time.thread_time() + _MAX_READ_AHEAD_SECONDS
        for index, completed in enumerate(list(islice(self._completed, _MAX_READ_AHEAD))):
            if completed.page is not None or time.thread_time() > until:
                return
            page = self._crawl.assess.read_ahead(completed.candidate, completed.fetch)
            self._completed[index] = completed._replace(page=page)

    def _launch(self) -> None:
        if self._crawl.slots.take_file_limit_reached():
            self._limit_to(max(1, (len(self._tasks) + 1) // 2))
        while self._started and self._started[0].task not in self._tasks:
            self._started.popleft()
        now, take = self._clock.now(), self._crawl.loop.frontier.take
        while self._has_free_slot() and (candidate := take(now)):
            task = asyncio.create_task(self._complete(candidate, self._waited))
            task.add_done_callback(self._on_done)
            self._tasks.add(task)
            self._started.append(_StartedFetch(self._waited, task, host_of(candidate.url)))

    def _limit_to(self, limit: int) -> None:
        """Lowers the number of concurrent fetches, because the process has too few file descriptors."""
        slots, concurrency = self._crawl.slots, self._crawl.concurrency
        slots.limit_to(limit)
        if limit < self._max_in_flight:
            self._max_in_flight = limit
            if slots.warn_once():
                self._crawl.notify(
                    f"fetching {limit} at a time instead of {concurrency}: this process may open few files (ulimit -n)"
                )

    def _has_free_slot(self) -> bool:
        """Whether another fetch may start; fetches of slow hosts do not count."""
        in_flight, slow = len(self._tasks), self._crawl.loop.frontier.slow_in_flight
        # While the crawl may get more, all that are in flight will be visits, also after the budget is used up.
        pages_left = self._pages_left() if self._crawl.may_get_more() else None
        if pages_left is not None and in_flight >= pages_left:
            return False
        return (
            in_flight - min(slow, in_flight) < self._allowed_in_flight() and in_flight < self._crawl.slots.max_fetches
        )

    def _allowed_in_flight(self) -> int:
        """The number of fetches that may be in flight."""
        if self._status.is_paused or self._status.is_draining:
            return 0
        budget, allowed = self._crawl.current_budget, self._max_in_flight
        if (pages_left := self._pages_left()) is not None and self._crawl.assess.memory is None:
            allowed = min(allowed, pages_left)
        if budget.requests is not None:
            allowed = min(allowed, budget.requests - self._status.fetch_counts.fetches - len(self._completed))
        return allowed

    def _pages_left(self) -> int | None:
        """The number of pages that fetches in flight and new ones may add; None if pages are not limited."""
        changed = self._status.page_budget
        pages = self._crawl.budget.pages if changed is None else changed
        return None if pages is None else pages - self._status.pages - len(self._completed)

    async def _fetch(self, candidate: Candidate) -> Fetch:
        memory = self._crawl.assess.memory
        known = memory.past(candidate.url) if memory and candidate.lane == REFRESH else None
        return await self._crawl.web.fetch(candidate.url, known=known)

    async def _complete(self, candidate: Candidate, waited_before: float) -> None:
        fetch = await self._fetch(candidate)
        if fetch.outcome is not Outcome.POSTPONED and was_requested(fetch):
            self._crawl.loop.frontier.observe(host_of(candidate.url), self._waited - waited_before)
        self._completed.append(_CompletedFetch(candidate, fetch))
        self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))  # frees its slot
        self._status.woken.set()

    def _on_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            self._bug = bug
            self._status.woken.set()

    async def _wait(self) -> None:
        """Waits until a fetch completes, a host becomes free, or a second has passed."""
        ready_at = self._crawl.loop.frontier.next_ready_at()
        if not self._tasks and not self._status.is_paused and self._stop_if_hopeless(ready_at):
            return
        self._status.woken.clear()
        timeout = _MAX_WAIT
        if ready_at is not None and self._has_free_slot():
            timeout = min(timeout, max(0.001, ready_at - self._clock.now()))
        if self._started:
            timeout = min(timeout, max(0.001, SLOW_RESPONSE - (self._waited - self._started[0].waited_before)))
        event_loop = asyncio.get_running_loop()
        wait_began = event_loop.time()
        handle = event_loop.call_later(timeout, self._status.woken.set)
        await self._status.woken.wait()
        handle.cancel()
        self._waited += event_loop.time() - wait_began
        self._report_slow_hosts()

    def _report_slow_hosts(self) -> None:
        """Reports hosts that are slow to answer to the frontier."""
        while self._started and self._waited - self._started[0].waited_before >= SLOW_RESPONSE:
            fetch = self._started.popleft()
            if fetch.task in self._tasks:
                self._crawl.loop.frontier.observe(fetch.host, SLOW_RESPONSE)

    async def cancel(self) -> None:
        """Cancels the fetches in flight; their candidates wait for the next run."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            results = await asyncio.gather(*self._tasks, return_exceptions=True)
            for result in results:
                if isinstance(result, Exception):
                    raise result

    def _stop_if_hopeless(self, ready_at: float | None) -> bool:
        """Stops the crawl if nothing can be fetched for a long time; returns whether it has stopped."""
        status = self._status
        if self._crawl.may_get_more():
            return False
        if ready_at is None:
            limit = status.limit_reached(self._crawl.current_budget) if self._crawl.assess.memory is not None else ""
            status.stop(f"{limit}, and nothing is left to recheck" if limit else self._crawl.empty_frontier_reason())
        elif ready_at - self._clock.now() > MAX_HOLD:
            minutes = (ready_at - self._clock.now()) / 60
            hosts = "all remaining hosts asked to wait or cannot be reached"
            status.stop(f"{hosts}, the first for {minutes:.0f} more minutes")
        return bool(status.stop_reason)

    def _stop_if_over(self) -> bool:
        """Stops the crawl if it was interrupted or its budget is used up; returns whether it has stopped."""
        budget, status = self._crawl.current_budget, self._status
        if status.is_interrupted:
            status.stop(INTERRUPTED)
        elif (
            self._crawl.assess.memory is None
            and (limit := status.limit_reached(budget))
            and not self._crawl.may_get_more()
        ):
            status.stop(limit)  # a refresh that has stored pages left goes on
        elif out_of_time := status.out_of_time(budget, self._clock.now()):
            status.stop(out_of_time)
        elif budget.requests is not None and status.fetch_counts.fetches >= budget.requests:
            status.stop(status.fetch_counts.stop_reason())
        elif budget.dry_after and status.pages_since_relevant >= budget.dry_after:
            status.stop(
                f"the harvest has dried up: none of the last {budget.dry_after} pages was relevant "
                "(use --dry-after 0 to continue anyway)"
            )
        elif budget.recall is not None and (estimate := self._crawl.recall()) and estimate.reaches(budget.recall):
            status.stop(
                f"recall is {budget.recall:g} or more, as requested: {estimate.found} relevant pages were found, "
                f"and some {estimate.relevant_left:.0f} are left within reach"
            )
        return bool(status.stop_reason)
