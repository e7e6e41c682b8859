"""The interfaces between the parts of a crawl. The laws of each protocol are tests in tests/contracts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol

from .records import Candidate, Fetch, Host, JsonValue, Page, PastFetch, Skip, Url, Visit


class Web(Protocol):
    """Anything that fetches URLs: HTTP, an archive, pages in memory, or a wrapper around one of them."""

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        """Makes one request. Redirects are not followed; a failed request is an outcome, not an exception.

        known: the earlier fetch of a page that is fetched again; makes the request conditional.
        """
        ...

    async def close(self) -> None: ...


ReadPage = Callable[[Fetch], Page | None]  # parses a fetch; None if it brought no page


class Relevance(Protocol):
    def relevance(self, page: Page) -> float:
        """How well the page fits the topic, 0 to 1."""
        ...


class Standing(Protocol):
    def standing(self, page: Page) -> float:
        """The importance of the page on the Web, 0 to 1."""
        ...


class Strategy(Protocol):
    """Decides what to fetch next. Every candidate that it proposes ends in exactly one Visit or one Skip, except that
    candidates for URLs already settled are ignored. A stored page that was fetched again and has changed is another
    Visit, with its `change` set and with only the new links on its page."""

    name: str
    exhaustive: bool  # whether it eventually proposes every reachable URL
    uses_standing: bool  # whether visits must have the standing of their pages

    @property
    def scale(self) -> Literal["unit", "order"]:
        """ "unit" if priorities are from 0 to 1, "order" if only their order is meaningful."""
        ...

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]: ...

    def learn(self, event: Visit | Skip) -> None: ...

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        """The candidates after an event that was just learnt: links of the visited page, or replacements for a URL that
        was skipped or led to no page. Waiting URLs may be proposed again."""
        ...

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """The new priority of a URL that waits at one priority and is proposed again at another."""
        ...

    def state(self) -> JsonValue: ...

    def restore(self, state: JsonValue) -> None:
        """Restores a state; raises KeyError if it is incomplete, as a state saved by an older version may be."""
        ...


class Memory(Protocol):
    """The stored versions of pages that are fetched again."""

    def past(self, url: Url) -> PastFetch | None:
        """The latest earlier fetch, for a conditional request; None if the request is to be unconditional."""
        ...

    def compared(self, fetch: Fetch) -> Fetch:
        """The fetch, with the outcome UNCHANGED if its body is the stored one."""
        ...

    def with_change(self, visit: Visit) -> Visit:
        """The visit with its `change` set."""
        ...


class HostSlots(Protocol):
    """Limits requests to one at a time per host, including those made on the way to a page (robots.txt, redirects)."""

    @property
    def has_delay(self) -> bool:
        """Whether there is a delay between requests to one host."""
        ...

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        """Makes a host busy until `release`, for a request without a candidate.

        Returns None on success, else the time, on the clock of `now`, at which to try again.
        """
        ...

    def release(self, host: Host, now: float) -> None:
        """Ends a request that `acquire_or_retry_at` began."""
        ...

    def claim_address(self, host: Host, address: str) -> bool:
        """Records the IP address of a host before connecting to it; False if that address has no free slot."""
        ...

    def hold(self, host: Host, until: float) -> None:
        """Blocks requests to the host until the given time."""
        ...


class Frontier(HostSlots, Protocol):
    """The queue of URLs to fetch. A URL goes from unknown to waiting, in flight, and settled."""

    def rank_by(self, strategy: Strategy) -> None:
        """Uses `strategy.merge` for URLs that are proposed again."""
        ...

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        """Queues unknown URLs, re-ranks waiting ones, and ignores others; returns the candidates that it rejects."""
        ...

    def take(self, now: float) -> Candidate | None:
        """The best candidate whose host is free now; the host is busy until `settle` or `requeue`."""
        ...

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        """Marks a URL as done, whether or not it was taken.

        is_kept: whether its page was stored, and so counts towards the quotas of its host and site.
        Returns the waiting candidates that are dropped because a quota is now used up.
        """
        ...

    def requeue(self, candidate: Candidate) -> None:
        """Queues a candidate that was taken, or one whose URL is settled and which is to be fetched once more."""
        ...

    def postpone(self, candidate: Candidate) -> None:
        """Returns a candidate that was taken but not requested to its former place in the queue."""
        ...

    def observe(self, host: Host, seconds: float) -> None:
        """Records the response time of a host: how long it took to answer, or has been taking so far."""
        ...

    @property
    def slow_in_flight(self) -> int:
        """The number of URLs in flight on slow hosts, which do not count towards the limit of fetches in flight."""
        ...

    def clear_waiting(self) -> None:
        """Empties the queue. Visited URLs and those in flight stay known; rejected ones may be proposed again."""
        ...

    def is_known(self, url: Url) -> bool:
        """Whether a URL waits, is in flight, or is settled."""
        ...

    def next_ready_at(self) -> float | None:
        """The earliest time at which `take` may succeed; None if nothing waits for a free host."""
        ...

    def __len__(self) -> int:
        """The number of waiting URLs."""
        ...
