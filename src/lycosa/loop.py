"""The loop of every crawl: over HTTP, in the lab, and read back from an archive.

     frontier ──Candidate──▶ fetch ──Fetch──▶ assess ──Visit──▶ journal
        ▲                                                │
        └──────── Candidates ──────── strategy ◀─────────┘

`Loop.step` is one turn: a candidate and what its fetch brought become events, the links of the page candidates. It is
synchronous, and knows nothing of who fetches: a live crawl keeps many fetches under way around it, the lab calls it in
a plain `for`. Pages of the collection that are fetched again take the same way in a lane of their own; of those the
strategy sees the links that are new.
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
_MIRRORED = 0.25  # of its priority has a link on a mirror
_FAR_BELOW = 1e6  # priorities that are on no scale
MAX_SKIP_ROUNDS = 1_000  # in which a strategy may propose others for what was skipped, at one page

Assess = Callable[[Candidate, Fetch], Visit]  # reads what was fetched and judges it


class Journal(Protocol):
    """Where a crawl is written down: a collection, or nowhere."""

    def record(self, event: Visit | Attempt) -> None: ...

    def record_skips(self, skips: Iterable[Skip]) -> None: ...


class Loop:
    """Strategy and frontier, and the rules by which one page leads to the next.

    journal: is given every event before the strategy acts on it.
    observe: called with every visit that was processed or replayed.
    clock: needed where fetches may fail, to let their hosts rest.
    retries: how often a fetch that failed is tried again.
    backoff: seconds before the second try; doubles with each.
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
        """Goes on with another strategy; what waits keeps its priority."""
        self.strategy = strategy
        self.frontier.rank_by(strategy)

    @contextmanager
    def through(self, frontier: Frontier) -> Iterator[None]:
        """Takes and puts by way of another frontier for a while, such as one that adds a lane to the loop's own."""
        own, self.frontier = self.frontier, frontier
        try:
            yield
        finally:
            self.frontier = own

    def start(self, seeds: Iterable[Url], *, from_sitemaps: Container[Url] = ()) -> None:
        """Puts the seeds; those known already stay as they are. What sitemaps name is explained by that."""
        candidates = self.strategy.start(list(seeds))
        skips = self.put(_of_sitemap(each) if each.url in from_sitemaps else each for each in candidates)
        if self._journal is not None:
            self._journal.record_skips(skips)

    def put(self, candidates: Iterable[Candidate]) -> Sequence[Skip]:
        """Ranks URLs again that the strategy thinks of otherwise than before; returns what was skipped."""
        return self._resolve_skips(self.frontier.put(candidates))

    def step(self, candidate: Candidate, fetch: Fetch, assess: Assess) -> Visit | None:
        """Turns a fetch into a visit by `assess` and processes it; None where the fetch will be tried again."""
        if (fetch.outcome is not Outcome.OK or fetch.host_not_before is not None) and self.retry(candidate, fetch):
            return None
        visit = assess(candidate, fetch)
        self.process(visit)
        return visit

    def retry(self, candidate: Candidate, fetch: Fetch) -> bool:
        """Lets a host rest that asks for it; puts a candidate back whose fetch was postponed or is worth another try.

        A page that is fetched again has one try: that it failed is recorded, and the next pages have their turn.
        """
        is_again, outcome = candidate.lane == REFRESH, fetch.outcome
        # Of a host whose robots.txt is out of reach nothing is asked, so its pages to see again need not wait for that.
        if fetch.host_not_before is not None and not (is_again and not was_requested(fetch)):
            self.frontier.hold(host_of(candidate.url), fetch.host_not_before)
        if outcome is Outcome.POSTPONED:
            self.frontier.postpone(candidate)
            return True
        if outcome is not Outcome.FAILED and outcome is not Outcome.BUSY:
            return False
        if is_again or candidate.attempts >= self._retries:
            return False
        if outcome is Outcome.FAILED and self._clock is not None:
            rest = self._backoff * 2**candidate.attempts
            self.frontier.hold(host_of(candidate.url), self._clock.now() + rest)
        if self._journal is not None:
            self._journal.record(Attempt(candidate, fetch))
        self.frontier.give_back(replace(candidate, attempts=candidate.attempts + 1))
        return True

    def process(self, visit: Visit) -> None:
        """Records a visit and follows its links."""
        if self._journal is None:
            self.replay(visit)
        else:
            self._journal.record(visit)
            self._journal.record_skips(self.replay(visit))

    def replay(self, visit: Visit) -> Sequence[Skip]:
        """Follows a visit, whether it happened just now or was read back from an archive; returns what was skipped."""
        if self._observe is not None:
            self._observe(visit)
        return self.follow_links(visit)

    def follow_links(self, visit: Visit) -> Sequence[Skip]:
        """Lets the strategy learn from a visit, and its links join the frontier; returns those that may not."""
        candidate, fetch = visit.candidate, visit.fetch
        skips = self.frontier.settle(candidate.url, is_kept=visit.is_kept and visit.change is None)
        if visit.change is not None:
            has_moved = visit.change is Change.VANISHED and fetch.location is not None
            if not visit.new_links and not has_moved:
                return ()
            visit = with_new_links_only(visit)
        self.strategy.learn(visit)
        if fetch.outcome is Outcome.MOVED and fetch.location is not None:
            skips += self._follow_redirect(candidate, fetch.location)
        proposed = self.strategy.propose(visit)
        if visit.duplicate_of is not None and host_of(visit.duplicate_of) != host_of(candidate.url):
            proposed = _lowered(proposed, candidate.url, self.strategy.scale)
        skips += self.frontier.put(proposed)
        page = visit.page
        if page is not None and (page.nofollow or visit.why_links_stay or [link for link in page.links if link.rel]):
            skips += [skip for skip in _unfollowed(visit) if not self.frontier.is_known(skip.candidate.url)]
        return self._resolve_skips(skips) if skips else skips

    def _resolve_skips(self, skips: list[Skip]) -> list[Skip]:
        """Lets the strategy learn what was skipped and propose others instead, until nothing more is skipped."""
        all_skips: list[Skip] = []
        for _ in range(MAX_SKIP_ROUNDS):
            if not skips:
                return all_skips
            all_skips += skips
            further: list[Skip] = []
            for skip in skips:
                self.strategy.learn(skip)
                further += self.frontier.put(self.strategy.propose(skip))
            skips = further
        for skip in skips:
            self.strategy.learn(skip)
        return all_skips + skips

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
        if onward.hops > MAX_REDIRECTS:
            return [Skip(onward, SkipReason.REDIRECT, f"more than {MAX_REDIRECTS} in a row")]
        return self.frontier.put([onward])

    def rerank_from_history(self, strategy: Strategy, seeds: Iterable[Url], visits: Iterable[Visit]) -> None:
        """Goes on with a strategy, and ranks what waits as it would have, had it made these visits."""
        self.use_strategy(strategy)
        self.frontier.forget_waiting()
        self.start(seeds)
        for visit in visits:
            skips = self.follow_links(visit)
            if self._journal is not None:
                self._journal.record_skips(skips)


def with_new_links_only(visit: Visit) -> Visit:
    """A page fetched again as a strategy is to see it: what it linked to before, the strategy knows."""
    if visit.page is None:
        return visit
    new = set(visit.new_links)
    links = tuple(link for link in visit.page.links if link.target in new)
    return replace(visit, page=replace(visit.page, links=links))


def _lowered(proposed: Iterable[Candidate], page: Url, scale: str) -> list[Candidate]:
    """Candidates with those found on a mirror of another page after the others: what they lead to may be known too."""
    return [
        replace(each, priority=each.priority * _MIRRORED if scale == "unit" else each.priority - _FAR_BELOW)
        if each.found_on == page
        else each
        for each in proposed
    ]


def _unfollowed(visit: Visit) -> list[Skip]:
    """The links that are not followed because of the page they are on, or because it or the link itself asks for it."""
    page, why = visit.page, visit.why_links_stay
    if page is None:
        return []
    reason = SkipReason.UNFOLLOWED if why else SkipReason.NOFOLLOW
    return [
        Skip(Candidate(link.target, 0.0, page.url, link.anchor, depth=visit.candidate.depth + 1), reason, why)
        for link in page.links
        if why or page.nofollow or "nofollow" in link.rel
    ]


def _of_sitemap(candidate: Candidate) -> Candidate:
    """A seed, explained by the sitemap that named it."""
    reasons = {("sitemap" if reason == "seed" else reason): value for reason, value in candidate.because.items()}
    return replace(candidate, because=reasons)
