"""Example pages: fetched before the crawl, under its rules, and not fetched twice."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing

from lycosa.collection.events import Attempt, FetchedExample
from lycosa.frontier.memory import MemoryFrontier
from lycosa.loop import Loop
from lycosa.recipe import Budget
from lycosa.strategies.base import BaseStrategy
from lycosa.vocabulary.contracts import Web
from lycosa.vocabulary.records import Candidate, Fetch, Host, Outcome, PastFetch, Skip, Url, Visit
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import host_of
from lycosa.web.outcomes import outcome_in_words
from lycosa.web.robots import TextWeb

from .crawl import Assessor, Crawl, EverySeedRefusedError, Status
from .crawl_state import MIN_REPORTED_HOLD
from .host_slots import CurrentSlots
from .session import Session

_MAX_AGE = 86_400  # seconds for which an example page is not fetched again
_MAX_BYTES = 64_000_000  # bytes of example pages kept in memory


class PrefetchedWeb:
    """Answers each prefetched URL once from memory, without a request; everything else goes to the wrapped web."""

    def __init__(self, web: TextWeb, fetches: dict[Url, Fetch]):
        self._web = web
        self._fetches = fetches  # each is removed when it is returned

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return self._fetches.pop(url, None) or await self._web.fetch(url, known=known)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        return await self._web.fetch_any_type(url, limit=limit)

    async def close(self) -> None:
        await self._web.close()


class _SeedsOnly(BaseStrategy):
    """A strategy that follows no links."""

    name = "examples"
    exhaustive = False  # it does not propose every link

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return ()


async def fetch_examples(session: Session, web: Web, slots: CurrentSlots | None = None) -> None:
    """Fetches the example pages that are not in the session's collection, and records those that were found. If the
    time of the run is over before, stops it."""
    # By URL: whether it is a good example, on the topic, or a bad one.
    missing = {url: good for url, good in session.topic.examples.urls.items() if session.pages.page(url) is None}
    if missing:
        session.notify(f"fetching {counted(len(missing), 'example page')}")
    reached: set[Url] = set()
    async with aclosing(_fetch_all(missing, session, web, slots or CurrentSlots())) as examples:
        try:
            async for example in examples:
                reached.add(example.url)
                fetch = example.fetch
                if fetch.outcome is Outcome.OK:
                    session.record(example)
                else:
                    reason = outcome_in_words(fetch.outcome, fetch.status, fetch.detail)
                    session.notify(f"example {example.url}: {reason}")
        except EverySeedRefusedError:
            if not session.topic.has_good_page(session.pages.terms):
                raise
    for url in missing.keys() - reached:
        session.notify(f"example {url}: not reached")
    if missing.keys() - reached and (
        out_of_time := session.status.out_of_time(session.recipe.stop, session.clock.now())
    ):
        session.status.stop(out_of_time)  # the next run fetches the others
    session.checkpoint()


async def _fetch_all(
    urls: Mapping[Url, bool], session: Session, web: Web, slots: CurrentSlots
) -> AsyncGenerator[FetchedExample, None]:
    """Fetches examples, good (True) and bad, following redirects; also yields those that failed."""
    clock, requests = session.clock, session.recipe.requests
    frontier = MemoryFrontier(clock=clock, delay=requests.delay, per_address=requests.address_limit, site_share=1.0)
    journal = PreCrawlJournal(session)
    for host, until in journal.holds().items():
        frontier.hold(host, until)
    crawl = Crawl(
        web=web,
        assess=Assessor(read=lambda fetch: None, judge=None),
        loop=Loop(_SeedsOnly(), frontier, journal=journal, clock=clock, retries=requests.retries),
        clock=clock,
        status=Status(began=session.status.began, interrupted=lambda: session.status.is_interrupted),
        budget=Budget(minutes=session.recipe.stop.minutes),
        concurrency=requests.concurrency,
        slots=slots,
        notify=session.notify,
    )
    crawl.loop.start(urls)
    example_of = {url: url for url in urls}  # by the URL to which its redirects have led so far
    async with aclosing(crawl.visits()) as visits:
        async for visit in visits:
            example_url = example_of[visit.candidate.url]
            if visit.fetch.outcome is not Outcome.MOVED:
                yield FetchedExample(example_url, urls[example_url], visit.fetch)
            elif visit.fetch.location is not None:
                target_of = example_of.setdefault(visit.fetch.location, example_url)
                if target_of != example_url:  # the page is that of another example
                    yield FetchedExample(example_url, urls[example_url], visit.fetch)


class PreCrawlJournal:
    """The journal of requests made before the crawl, for examples and sitemaps: the crawl keeps the delay after them,
    and a long hold, a time before which a host asked to get no request, survives a kill."""

    def __init__(self, session: Session):
        self._session = session

    def holds(self) -> Mapping[Host, float]:
        """The hosts that may not be requested now, and until when."""
        return self._session.frontier.resting_beyond(self._session.clock.now())

    def record(self, event: Visit | Attempt) -> None:
        session, fetch = self._session, event.fetch
        now, delay = session.clock.now(), session.recipe.requests.delay
        hold_until = max(fetch.host_not_before or 0.0, now + delay if delay else 0.0)
        if hold_until:
            session.frontier.hold(host_of(fetch.url), hold_until)
        if hold_until > now + MIN_REPORTED_HOLD:
            session.checkpoint()

    def record_skips(self, skips: Sequence[Skip]) -> None:
        """Nothing is skipped before the crawl."""


def unvisited_examples(session: Session) -> dict[Url, Fetch]:
    """Example pages fetched within the last day, by this or an earlier run, and not visited yet."""
    fetched: dict[Url, Fetch] = {}
    size = 0
    for example in session.collection.catalog.examples():
        is_old = example.at < session.clock.now() - _MAX_AGE
        if example.place is None or is_old or session.frontier.is_settled(example.url):
            continue
        fetch = session.collection.archive.fetch_at(example.place)
        size += len(fetch.body) + len(fetch.content)
        if size > _MAX_BYTES:
            break
        if fetch.url == example.url:
            fetched[example.url] = fetch
    return fetched
