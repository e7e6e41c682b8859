"""The loop of every crawl: over HTTP, in the lab, and replayed from an archive.

     frontier ──Candidate──▶ fetch ──Fetch──▶ assess ──Visit──▶ journal
        ▲                                                │
        └──────── Candidates ──────── strategy ◀─────────┘

`Loop.step` is one iteration: it turns a candidate and its fetch into a visit, and the links of the page into new
candidates. It is synchronous and does not fetch: a live crawl keeps many fetches in flight around it, the lab calls it
in a plain `for`. Stored pages that are fetched again go through the same step, by a queue of their own in the frontier
(a lane); the strategy sees only their new links.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from msgspec.structs import replace

from lycosa.collection.events import Attempt
from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Frontier, Strategy
from lycosa.vocabulary.records import LINKS, REFRESH, Candidate, Change, Fetch, Outcome, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.urls import host_of
from lycosa.web.outcomes import was_requested

MAX_REDIRECTS = 5  # in a row
_MIRROR_FACTOR = 0.25  # for the priority of links on a mirror: a near-duplicate of a page of another host
_MIRROR_OFFSET = 1e6  # subtracted instead, if only the order of priorities is meaningful
MAX_SKIP_ROUNDS = 1_000  # per visit: how often a strategy may propose replacements for what was skipped

Assess = Callable[[Candidate, Fetch], Visit]  # parses and scores what was fetched


class Journal(Protocol):
    """Records the events of a crawl; a collection does."""

    def record(self, event: Visit | Attempt) -> None: ...

    def record_skips(self, skips: Sequence[Skip]) -> None: ...


class Loop:
    """Connects strategy and frontier: processes visits, retries failed fetches, follows links and redirects.

    journal: gets every event before the strategy sees it.
    observe: called with every visit that is processed or replayed.
    clock: for the backoff after failed fetches; not needed if fetches cannot fail.
    retries: how often a failed fetch is repeated.
    backoff: seconds before the first retry; doubles with each further one.
    """

    def __init__(
        self,
        strategy: Strategy,
        frontier: Frontier,
        *,
        journal: Journal | None = None,
        observe: Callable[[Visit], None] | None = None,
        clock: Clock | None = None,
        retries: int = 0,
        backoff: float = 2.0,
    ):
        self.strategy = strategy
        self.frontier = frontier
        self._journal = journal
        self._observe = observe
        self._clock = clock
        self._retries = retries
        self._backoff = backoff
        frontier.rank_by(strategy)

    def use_strategy(self, strategy: Strategy) -> None:
        """Continues with another strategy; waiting URLs keep their priorities."""
        self.strategy = strategy
        self.frontier.rank_by(strategy)

    @contextmanager
    def using_frontier(self, frontier: Frontier) -> Iterator[None]:
        """Uses another frontier within the block, such as one that adds a lane to the loop's own."""
        previous, self.frontier = self.frontier, frontier
        try:
            yield
        finally:
            self.frontier = previous

    def start(self, seeds: Iterable[Url], *, from_sitemaps: Container[Url] = ()) -> None:
        """Queues the seeds that are not known yet; those in `from_sitemaps` are explained as found in a sitemap."""
        candidates = self.strategy.start(list(seeds))
        skips = self.put(_as_found_in_sitemap(each) if each.url in from_sitemaps else each for each in candidates)
        if self._journal is not None:
            self._journal.record_skips(skips)

    def put(self, candidates: Iterable[Candidate]) -> Sequence[Skip]:
        """Queues or re-ranks candidates of the strategy; returns what was skipped."""
        return self._resolve_skips(self.frontier.put(candidates))

    def step(self, candidate: Candidate, fetch: Fetch, assess: Assess) -> Visit | None:
        """Turns a fetch into a visit by `assess` and processes it; None if the fetch will be retried."""
        if (fetch.outcome is not Outcome.OK or fetch.host_not_before is not None) and self.retry(candidate, fetch):
            return None
        visit = assess(candidate, fetch)
        self.process(visit)
        return visit

    def retry(self, candidate: Candidate, fetch: Fetch) -> bool:
        """Puts a candidate back into the frontier if its fetch is to be retried, and holds its host if the response
        asks for it, or for the backoff after a failure; returns whether it will be retried.

        A refresh has one attempt per page: the failure is recorded, and the policy decides when to try again.
        """
        is_refresh, outcome = candidate.lane == REFRESH, fetch.outcome
        # If robots.txt is unreachable, no page was requested. A refresh then records the failure and does not wait.
        if fetch.host_not_before is not None and not (is_refresh and not was_requested(fetch)):
            self.frontier.hold(host_of(candidate.url), fetch.host_not_before)
        if outcome is Outcome.POSTPONED:
            self.frontier.postpone(candidate)
            return True
        if outcome is not Outcome.FAILED and outcome is not Outcome.BUSY:
            return False
        if is_refresh or candidate.attempts >= self._retries:
            return False
        if outcome is Outcome.FAILED and self._clock is not None:
            wait = self._backoff * 2**candidate.attempts
            self.frontier.hold(host_of(candidate.url), self._clock.now() + wait)
        if self._journal is not None:
            self._journal.record(Attempt(candidate, fetch))
        self.frontier.requeue(replace(candidate, attempts=candidate.attempts + 1))
        return True

    def process(self, visit: Visit) -> None:
        """Records a visit and follows its links."""
        if self._journal is None:
            self.replay(visit)
        else:
            self._journal.record(visit)
            self._journal.record_skips(self.replay(visit))

    def replay(self, visit: Visit) -> Sequence[Skip]:
        """Processes a visit without recording it, as when it is read back from an archive; returns what was skipped."""
        if self._observe is not None:
            self._observe(visit)
        return self.follow_links(visit)

    def follow_links(self, visit: Visit) -> Sequence[Skip]:
        """Lets the strategy learn from a visit and queues what it proposes; returns what was skipped.

        If the strategy, which may be a plug-in, raises, all links are queued with the priority of their page: the visit
        is recorded, and no later run would come across them again.
        """
        # Skips: waiting URLs beyond a limit of pages that this page fills. A refresh fills none.
        skips = self.frontier.settle(visit.candidate.url, is_kept=visit.is_kept and visit.change is None)
        if visit.change is not None:
            has_moved = visit.change is Change.VANISHED and visit.fetch.location is not None
            if not visit.new_links and not has_moved:
                return ()
            visit = with_new_links_only(visit)
        try:
            return self._learn_and_propose(visit, skips)
        except Exception:
            if visit.fetch.outcome is Outcome.MOVED and visit.fetch.location is not None:
                self._follow_redirect(visit.candidate, visit.fetch.location)
            self.frontier.put([each for each in _linked(visit) if not self.frontier.is_known(each.url)])
            raise

    def _learn_and_propose(self, visit: Visit, skips: list[Skip]) -> Sequence[Skip]:
        candidate, fetch = visit.candidate, visit.fetch
        self.strategy.learn(visit)
        if fetch.outcome is Outcome.MOVED and fetch.location is not None:
            skips += self._follow_redirect(candidate, fetch.location)
        proposed = self.strategy.propose(visit)
        if visit.duplicate_of is not None and host_of(visit.duplicate_of) != host_of(candidate.url):
            proposed = _with_mirror_links_lowered(proposed, candidate.url, self.strategy.scale)
        skips += self.frontier.put(proposed)
        page = visit.page
        if page is not None and (page.nofollow or visit.why_not_followed or [link for link in page.links if link.rel]):
            skips += [skip for skip in _unfollowed(visit) if not self.frontier.is_known(skip.candidate.url)]
        return self._resolve_skips(skips) if skips else skips

    def _resolve_skips(self, skips: list[Skip]) -> list[Skip]:
        """Lets the strategy learn from skips and propose replacements, until nothing more is skipped."""
        all_skips: list[Skip] = []
        for _ in range(MAX_SKIP_ROUNDS):
            if not skips:
                return all_skips
            all_skips += skips
            new_skips: list[Skip] = []
            for skip in skips:
                self.strategy.learn(skip)
                new_skips += self.frontier.put(self.strategy.propose(skip))
            skips = new_skips
        for skip in skips:
            self.strategy.learn(skip)
        return all_skips + skips

    def _follow_redirect(self, candidate: Candidate, target: Url) -> list[Skip]:
        redirected = replace(
            candidate,
            url=target,
            found_on=candidate.url,
            because={**candidate.because, "redirected": True},
            hops=candidate.hops + 1,
            attempts=0,
            lane=LINKS,
        )
        if redirected.hops > MAX_REDIRECTS:
            return [Skip(redirected, SkipReason.REDIRECT, f"more than {MAX_REDIRECTS} in a row")]
        return self.frontier.put([redirected])

    def rerank_from_history(
        self, strategy: Strategy, seeds: Iterable[Url], visits: Iterable[Visit], *, from_sitemaps: Container[Url] = ()
    ) -> None:
        """Continues with a strategy and rebuilds the queue as if the strategy had made these visits."""
        self.use_strategy(strategy)
        self.frontier.clear_waiting()
        self.start(seeds, from_sitemaps=from_sitemaps)
        for visit in visits:
            skips = self.follow_links(visit)
            if self._journal is not None:
                self._journal.record_skips(skips)


def with_new_links_only(visit: Visit) -> Visit:
    """A page fetched again, as the strategy sees it: without the links that it had before."""
    if visit.page is None:
        return visit
    new = set(visit.new_links)
    links = tuple(link for link in visit.page.links if link.target in new)
    return replace(visit, page=replace(visit.page, links=links))


def _with_mirror_links_lowered(proposed: Iterable[Candidate], page: Url, scale: str) -> list[Candidate]:
    """Lowers the priority of links found on the mirror `page`: they probably lead to mirrored pages too."""
    return [
        replace(each, priority=each.priority * _MIRROR_FACTOR if scale == "unit" else each.priority - _MIRROR_OFFSET)
        if each.found_on == page
        else each
        for each in proposed
    ]


def _linked(visit: Visit) -> Iterator[Candidate]:
    """What a page links to, with its priority."""
    url, priority, depth = visit.candidate.url, visit.candidate.priority, visit.candidate.depth + 1
    for link in visit.open_links():
        yield Candidate(link.target, priority, url, link.anchor, depth=depth)


def _unfollowed(visit: Visit) -> list[Skip]:
    """Skips for the links that are not followed: because of their page, or because of nofollow."""
    page, why = visit.page, visit.why_not_followed
    if page is None:
        return []
    reason = SkipReason.UNFOLLOWED if why else SkipReason.NOFOLLOW
    return [
        Skip(Candidate(link.target, 0.0, page.url, link.anchor, depth=visit.candidate.depth + 1), reason, why)
        for link in page.links
        if why or page.nofollow or "nofollow" in link.rel
    ]


def _as_found_in_sitemap(candidate: Candidate) -> Candidate:
    """A seed, explained as found in a sitemap, and subject to the limits of links: nobody but its site named it."""
    reasons = {("sitemap" if reason == "seed" else reason): value for reason, value in candidate.because.items()}
    return replace(candidate, because=reasons, depth=1)
