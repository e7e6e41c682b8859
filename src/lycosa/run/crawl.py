"""A live crawl: fetches under way side by side around `lycosa.loop`, budgets, and why it stopped."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any, cast

from lycosa.loop import Journal, Loop
from lycosa.reading.fingerprint import NearDuplicates
from lycosa.recipe import Budget
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Frontier, Memory, Read, Relevance, Standing, Strategy, Web
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import (
    REFRESH,
    RELEVANT,
    Candidate,
    Fetch,
    LeftOut,
    LeftOutReason,
    Outcome,
    Page,
    Url,
    Visit,
)
from lycosa.web.outcomes import FetchCounts

INTERRUPTED = "interrupted"  # why a crawl stopped that somebody ended
_PAGES_AT_A_STRETCH = 8  # worked on before sockets and signals are looked at again
_LONGEST_NAP = 1.0  # seconds between two looks at budgets and interrupts
_LONGEST_HOLD = 300.0  # seconds that a crawl waits for a host when there is nothing else to do
ALLOW_PRIVATE_HINT = "to crawl hosts of your own network, say --allow-private"


class EverySeedRefusedError(LycosaError):
    pass


class Crawl:
    """One run over a frontier. `visits()` is the stream of what happens; `stopped` says in the end why it ended."""

    def __init__(
        self,
        *,
        web: Web,
        read: Read,
        judge: Relevance | None,
        esteem: Standing | None = None,
        strategy: Strategy,
        frontier: Frontier,
        clock: Clock,
        journal: Journal | None = None,
        budget: Budget = Budget(),
        concurrency: int = 1,
        retries: int = 2,
        backoff: float = 2.0,
        languages: frozenset[str] = frozenset(),
        seen: NearDuplicates | None = None,
        pages: int = 0,
        relevant: int = 0,
        pages_since_relevant: int = 0,
        bytes_kept: int = 0,
        interrupted: Callable[[], bool] = lambda: False,
    ):
        self.web = web
        self.read = read
        self.judge = judge
        self.esteem = esteem
        self.memory: Memory | None = None  # where the frontier has pages to see again
        self.stopped = ""
        self.pages = pages  # kept, over all runs
        self.relevant = relevant  # of these
        self.bytes_kept = bytes_kept
        self.asked = FetchCounts()  # in this run
        self._clock = clock
        self._budget = budget
        self._concurrency = concurrency
        self._languages = languages
        self._seen = NearDuplicates() if seen is None else seen
        self._began = clock.now()
        self.loop = Loop(
            strategy,
            frontier,
            journal=journal,
            observe=self._observe,
            clock=clock,
            retries=retries,
            backoff=backoff,
        )
        self.pages_since_relevant = pages_since_relevant
        self._bug: BaseException | None = None  # raised by the web, which is to give outcomes instead
        self._interrupted = False
        self._interrupted_elsewhere = interrupted
        self._somebody_answered = pages > 0
        self._refused_seeds: list[Visit] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._landed: deque[tuple[Candidate, Fetch]] = deque()
        self._something_landed = asyncio.Event()

    @property
    def strategy(self) -> Strategy:
        return self.loop.strategy

    @property
    def frontier(self) -> Frontier:
        return self.loop.frontier

    def interrupt(self) -> None:
        """Stops after the page at hand; what is in flight will be fetched by the next run."""
        self._interrupted = True
        self._something_landed.set()

    @property
    def is_interrupted(self) -> bool:
        return self._interrupted or self._interrupted_elsewhere()

    async def visits(self) -> AsyncGenerator[Visit, None]:
        """Fetches until the budget is used up, nothing waits, or somebody interrupts."""
        turn = self._alone() if self._concurrency == 1 else self._overlapping()
        try:
            async for candidate, fetch in turn:
                visit = self.absorb(candidate, fetch)
                if visit is not None:
                    yield visit
        finally:
            await self._cancel_fetches()
        if self._refused_seeds:
            self.stopped = "every address was refused"
            why = self._refused_seeds[0].fetch.detail
            raise EverySeedRefusedError(
                f"nothing could be asked, every address was refused ({why}); {ALLOW_PRIVATE_HINT}"
            )

    async def _alone(self) -> AsyncIterator[tuple[Candidate, Fetch]]:
        while not self._is_over():
            candidate = self.frontier.take(self._clock.now())
            if candidate is not None:
                yield candidate, await self._ask(candidate)
            elif not self._is_hopeless(ready_at := self.frontier.next_ready_at()):
                now = self._clock.now()
                await self._clock.sleep_until(min(now if ready_at is None else ready_at, now + _LONGEST_NAP))

    async def _overlapping(self) -> AsyncIterator[tuple[Candidate, Fetch]]:
        taken = 0
        while not self._is_over():
            self._launch()
            if not self._landed:
                await self._wait()
            elif taken % _PAGES_AT_A_STRETCH == 0:
                await asyncio.sleep(0)
            if self._bug is not None:
                raise self._bug
            if self._landed:
                yield self._landed.popleft()
                taken += 1

    def _launch(self) -> None:
        now, wanted = self._clock.now(), self._wanted()
        while len(self._tasks) < wanted and (candidate := self.frontier.take(now)):
            task = asyncio.create_task(self._fetch(candidate))
            task.add_done_callback(self._end)
            self._tasks.add(task)

    def _wanted(self) -> int:
        """How many fetches may be under way."""
        budget, wanted = self._budget, self._concurrency
        if budget.pages is not None and self.memory is None:
            wanted = min(wanted, budget.pages - self.pages - len(self._landed))
        if budget.requests is not None:
            wanted = min(wanted, budget.requests - self.asked.fetches - len(self._landed))
        return wanted

    async def _ask(self, candidate: Candidate) -> Fetch:
        known = self.memory.past(candidate.url) if self.memory and candidate.lane == REFRESH else None
        return await self.web.fetch(candidate.url, known=known)

    async def _fetch(self, candidate: Candidate) -> None:
        self._landed.append((candidate, await self._ask(candidate)))
        self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))  # its place is free from now on
        self._something_landed.set()

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            self._bug = bug
            self._something_landed.set()

    async def _wait(self) -> None:
        """Until a fetch lands, a host may be asked again, or a second has passed."""
        ready_at = self.frontier.next_ready_at()
        if not self._tasks and self._is_hopeless(ready_at):
            return
        self._something_landed.clear()
        patience = _LONGEST_NAP
        if ready_at is not None and len(self._tasks) < self._wanted():
            patience = min(patience, max(0.001, ready_at - self._clock.now()))
        handle = asyncio.get_running_loop().call_later(patience, self._something_landed.set)
        await self._something_landed.wait()
        handle.cancel()

    def _is_hopeless(self, ready_at: float | None) -> bool:
        """Whether nothing will come for a long time, which stops the crawl."""
        if ready_at is None:
            full = "" if self.memory is None else self._why_full()
            self.stopped = f"{full}, and nothing is left to see again" if full else "nothing is left to fetch"
        elif ready_at - self._clock.now() > _LONGEST_HOLD:
            minutes = (ready_at - self._clock.now()) / 60
            self.stopped = f"only hosts that ask to be left alone are left, the first for {minutes:.0f} minutes"
        return bool(self.stopped)

    async def _cancel_fetches(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            results = await asyncio.gather(*self._tasks, return_exceptions=True)
            for result in results:
                if isinstance(result, Exception):
                    raise result

    def _is_over(self) -> bool:
        budget = self._budget
        minutes = (self._clock.now() - self._began) / 60
        if self.is_interrupted:
            self.stopped = INTERRUPTED
        elif self.memory is None and (full := self._why_full()):
            self.stopped = full
        elif budget.minutes is not None and minutes >= budget.minutes:
            self.stopped = f"{budget.minutes:g} minutes have passed"
        elif budget.requests is not None and self.asked.fetches >= budget.requests:
            self.stopped = self.asked.stop_reason()
        elif budget.dry_after and self.pages_since_relevant >= budget.dry_after:
            self.stopped = (
                f"the harvest has dried up: none of the last {budget.dry_after} pages was relevant "
                "(--dry-after 0 goes on all the same)"
            )
        return bool(self.stopped)

    def has_room(self, under_way: int = 0) -> bool:
        """Whether the collection may have more pages, should so many that are under way become some."""
        pages = self._budget.pages
        return not self._why_full() and (pages is None or self.pages + under_way < pages)

    def _why_full(self) -> str:
        """Which bound of the whole collection is reached; empty if none. One that has pages to see again goes on."""
        budget = self._budget
        if budget.pages is not None and self.pages >= budget.pages:
            return f"the collection has {self.pages} pages, as asked"
        if budget.bytes is not None and self.bytes_kept >= budget.bytes:
            return f"the pages have {self.bytes_kept} bytes"
        return ""

    def absorb(self, candidate: Candidate, fetch: Fetch) -> Visit | None:
        """Turns a fetch into a visit, writes it down and follows it; None where the fetch is to be tried again."""
        self.asked.count(fetch)
        if self.loop.retry(candidate, fetch):
            return None
        visit = self._assess(candidate, fetch)
        self._somebody_answered |= fetch.outcome is not Outcome.REFUSED
        if not self._somebody_answered:
            self._refused_seeds.append(visit)  # settled once another seed shows that the user meant it
            return visit
        for refused in self._refused_seeds:
            self.loop.process(refused)
        self._refused_seeds.clear()
        self.loop.process(visit)
        return visit

    def _assess(self, candidate: Candidate, fetch: Fetch) -> Visit:
        if self.memory and candidate.lane == REFRESH:
            return self.memory.noted(self._judged(candidate, self.memory.compared(fetch)))
        return self._judged(candidate, fetch)

    def _judged(self, candidate: Candidate, fetch: Fetch) -> Visit:
        page = self.read(fetch)
        if page is None:
            return Visit(candidate, fetch)
        return Visit(
            candidate,
            fetch,
            page,
            relevance=self.judge.relevance(page) if self.judge else None,
            duplicate_of=self._duplicate_of(page),
            left_out=self._why_left_out(page),
            standing=self.esteem.standing(page) if self.esteem else None,
        )

    def _duplicate_of(self, page: Page) -> Url | None:
        found = self._seen.find(page.fingerprint)
        return None if found == page.url else found  # an earlier version of itself

    def _why_left_out(self, page: Page) -> LeftOut | None:
        if page.noindex:
            return LeftOut(LeftOutReason.NOINDEX)
        if self._languages and page.language and page.language not in self._languages:
            return LeftOut(LeftOutReason.LANGUAGE, page.language)
        return None

    def _observe(self, visit: Visit) -> None:
        """Counts a visit, whether it happened just now or was read back from an archive."""
        if visit.is_kept and visit.change is None:
            self.pages += 1
            self.bytes_kept += len(visit.fetch.body)
            is_relevant = visit.relevance is not None and visit.relevance >= RELEVANT
            self.relevant += is_relevant
            self.pages_since_relevant = 0 if is_relevant else self.pages_since_relevant + 1
        if visit.page is not None and visit.is_kept and visit.duplicate_of is None:
            self._seen.add(visit.page.fingerprint, visit.page.url)


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
