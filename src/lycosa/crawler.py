"""The loop of a crawl.

     frontier ──Candidate──▶ web ──Fetch──▶ read ──Page──▶ judge ──Visit──▶ journal
        ▲                                                    │
        └──────── Candidates ──────── strategy ◀─────────────┘

Fetches overlap; everything else happens one page at a time: `absorb` turns a fetch into a visit and writes it down,
`spread` follows it. Pages of the collection that are to be seen again come from a lane of the frontier; a memory knows
how they were, and of those that have changed the strategy is shown the links that are new.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from typing import Annotated, Any, Protocol, cast

from msgspec import Meta, Struct
from msgspec.structs import replace

from lycosa.collection.events import Attempt
from lycosa.reading.fingerprint import NearDuplicates
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Frontier, Memory, Read, Relevance, Standing, Strategy, Web
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import (
    LINKS,
    REFRESH,
    RELEVANT,
    Candidate,
    Change,
    Fetch,
    LeftOut,
    LeftOutReason,
    Outcome,
    Page,
    Skip,
    SkipReason,
    Url,
    Visit,
)
from lycosa.vocabulary.urls import host_of
from lycosa.web.asked import Asked, was_asked

INTERRUPTED = "interrupted"  # why a crawl stopped that somebody ended
_PAGES_AT_A_STRETCH = 8  # worked on before sockets and signals are looked at again
_LONGEST_NAP = 1.0  # seconds between two looks at budgets and interrupts
_LONGEST_HOLD = 300.0  # seconds that a crawl waits for a host when there is nothing else to do
OF_ONES_OWN = "to crawl hosts of your own network, say --allow-private"
MOST_HOPS = 5  # redirects in a row
MOST_ROUNDS = 1_000  # in which a strategy may propose others for what was skipped, at one page


class Journal(Protocol):
    """Where a crawl is written down: a collection, or nowhere."""

    def record(self, event: Visit | Attempt) -> None: ...

    def record_skips(self, skips: Iterable[Skip]) -> None: ...


class NoJournal:
    def record(self, event: Visit | Attempt) -> None:
        pass

    def record_skips(self, skips: Iterable[Skip]) -> None:
        pass


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    """When to stop. `pages` and `bytes` count the whole collection, `minutes` and `requests` this run."""

    pages: Annotated[int, Meta(ge=1)] | None = None
    minutes: Annotated[float, Meta(ge=0)] | None = None
    bytes: Annotated[int, Meta(ge=1)] | None = None
    dry_after: Annotated[int, Meta(ge=0)] = 1_000  # stop when this many pages in a row were not relevant; 0: never
    requests: Annotated[int, Meta(ge=1)] | None = None  # those for robots.txt aside


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
        self.strategy = strategy
        self.frontier = frontier
        self.memory: Memory | None = None  # where the frontier has pages to see again
        self.stopped = ""
        self.pages = pages  # kept, over all runs
        self.relevant = relevant  # of these
        self.bytes_kept = bytes_kept
        self.asked = Asked()  # in this run
        self._clock = clock
        self._journal = journal or NoJournal()
        self._budget = budget
        self._concurrency = concurrency
        self._retries = retries
        self._backoff = backoff  # seconds before the second try; doubles with each
        self._languages = languages
        self._seen = NearDuplicates() if seen is None else seen
        self._began = clock.now()
        self.pages_since_relevant = pages_since_relevant
        self._bug: BaseException | None = None  # raised by the web, which is to give outcomes instead
        self._interrupted = False
        self._interrupted_elsewhere = interrupted
        self._somebody_answered = pages > 0
        self._refused_seeds: list[Visit] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._landed: deque[tuple[Candidate, Fetch]] = deque()
        self._something_landed = asyncio.Event()

    def seed(self, seeds: Iterable[Url]) -> None:
        """Puts the seeds; those known already stay as they are."""
        self._journal.record_skips(self._begin(seeds))

    def _begin(self, seeds: Iterable[Url]) -> list[Skip]:
        return self._make_up_for(self.frontier.put(self.strategy.start(list(seeds))))

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
            raise EverySeedRefusedError(f"nothing could be asked, every address was refused ({why}); {OF_ONES_OWN}")

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
            self.stopped = self.asked.told()
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
        """Turns a fetch into a visit, writes it down and follows it; None where the fetch is to be tried again.

        A page that is seen again has one try: that it failed is noted, and the next pages have their turn.
        """
        host, is_again = host_of(candidate.url), candidate.lane == REFRESH
        self.asked.count(fetch)
        # Of a host whose robots.txt is out of reach nothing is asked, so its pages to see again need not wait for that.
        if fetch.host_not_before is not None and not (is_again and not was_asked(fetch)):
            self.frontier.hold(host, fetch.host_not_before)
        is_worth_another = fetch.outcome in (Outcome.BUSY, Outcome.FAILED) and candidate.attempts < self._retries
        if is_worth_another and not is_again:
            if fetch.outcome is Outcome.FAILED:
                self.frontier.hold(host, self._clock.now() + self._backoff * 2**candidate.attempts)
            self._journal.record(Attempt(candidate, fetch))
            self.frontier.give_back(replace(candidate, attempts=candidate.attempts + 1))
            return None
        if self.memory and is_again:
            visit = self.memory.noted(self._judged(candidate, self.memory.compared(fetch)))
        else:
            visit = self._judged(candidate, fetch)
        self._somebody_answered |= fetch.outcome is not Outcome.REFUSED
        if not self._somebody_answered:
            self._refused_seeds.append(visit)  # settled once another seed shows that the user meant it
            return visit
        for refused in self._refused_seeds:
            self._take_down(refused)
        self._refused_seeds.clear()
        self._take_down(visit)
        return visit

    def _take_down(self, visit: Visit) -> None:
        self._journal.record(visit)
        self._journal.record_skips(self.replay(visit))

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

    def replay(self, visit: Visit) -> list[Skip]:
        """Counts a visit and follows it, whether it happened just now or was read back from an archive."""
        if visit.is_kept and visit.change is None:
            self.pages += 1
            self.bytes_kept += len(visit.fetch.body)
            is_relevant = visit.relevance is not None and visit.relevance >= RELEVANT
            self.relevant += is_relevant
            self.pages_since_relevant = 0 if is_relevant else self.pages_since_relevant + 1
        if visit.page is not None and visit.is_kept and visit.duplicate_of is None:
            self._seen.add(visit.page.fingerprint, visit.page.url)
        return self.spread(visit)

    def relive(self, seeds: Iterable[Url], visits: Iterable[Visit]) -> None:
        """Ranks what waits anew, as the present strategy would have ranked it had it seen these visits."""
        self.frontier.forget_waiting()
        self._begin(seeds)
        for visit in visits:
            self.spread(visit)

    def spread(self, visit: Visit) -> list[Skip]:
        """Lets the strategy learn from a visit and its links join the frontier; returns those that may not."""
        candidate, fetch = visit.candidate, visit.fetch
        self.frontier.settle(candidate.url)
        if visit.change is not None:
            has_moved = visit.change is Change.VANISHED and fetch.location is not None
            if not visit.new_links and not has_moved:
                return []
            visit = with_new_links_only(visit)
        self.strategy.learn(visit)
        skips: list[Skip] = []
        if fetch.outcome is Outcome.MOVED and fetch.location is not None:
            skips = self._follow_redirect(candidate, fetch.location)
        skips += self.frontier.put(self.strategy.propose(visit))
        skips += [skip for skip in _not_to_follow(visit) if not self.frontier.is_known(skip.candidate.url)]
        return self._make_up_for(skips)

    def _make_up_for(self, skips: list[Skip]) -> list[Skip]:
        """Tells the strategy what was skipped and puts what it wants instead, until nothing more is skipped."""
        all_skips: list[Skip] = []
        rounds = 0
        while skips:
            rounds += 1
            all_skips += skips
            instead: list[Candidate] = []
            for skip in skips:
                self.strategy.learn(skip)
                if rounds < MOST_ROUNDS:
                    instead += self.strategy.propose(skip)
            skips = self.frontier.put(instead) if instead else []
        return all_skips

    def _follow_redirect(self, candidate: Candidate, target: Url) -> list[Skip]:
        onward = replace(
            candidate,
            url=target,
            found_on=candidate.url,
            because={**candidate.because, "redirected": True},
            hops=candidate.hops + 1,
            attempts=0,
            lane=LINKS,
        )
        if onward.hops > MOST_HOPS:
            return [Skip(onward, SkipReason.REDIRECT, f"more than {MOST_HOPS} in a row")]
        return self.frontier.put([onward])


def with_new_links_only(visit: Visit) -> Visit:
    """A page seen again as a strategy is to see it: what it linked to before, the strategy knows."""
    if visit.page is None:
        return visit
    new = set(visit.new_links)
    return replace(
        visit, page=replace(visit.page, links=tuple(link for link in visit.page.links if link.target in new))
    )


def _not_to_follow(visit: Visit) -> list[Skip]:
    """The links that the page or the link itself asks not to follow."""
    page = visit.page
    if page is None or visit.duplicate_of or not (page.nofollow or any(link.rel for link in page.links)):
        return []
    return [
        Skip(Candidate(link.target, 0.0, page.url, link.anchor, depth=visit.candidate.depth + 1), SkipReason.NOFOLLOW)
        for link in page.links
        if page.nofollow or "nofollow" in link.rel
    ]


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
