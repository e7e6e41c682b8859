"""The interfaces between the parts of a crawl. The laws of each protocol are tests in tests/contracts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol

from .records import Candidate, Fetch, Host, Page, PastFetch, Plain, Skip, Url, Visit


class Web(Protocol):
    """Anything that fetches URLs: HTTP, an archive, pages in memory, or a wrapper around one of them."""

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        """Makes one request. Redirects are not followed; failures of the Web are outcomes and never raise."""
        ...

    async def close(self) -> None: ...


Read = Callable[[Fetch], Page | None]


class Relevance(Protocol):
    def relevance(self, page: Page) -> float:
        """How well the page fits the topic, 0 to 1."""
        ...


class Standing(Protocol):
    def standing(self, page: Page) -> float:
        """The importance of the page on the Web, 0 to 1."""
        ...


class Strategy(Protocol):
    """Decides what to fetch next. Every candidate that it proposes ends in exactly one Visit or one Skip, except those
    whose URL is settled already, which are ignored. A page of the collection that was fetched again and has changed is
    one more Visit, with its `change`, and with a page that has only the new links."""

    name: str
    exhaustive: bool  # reaches everything reachable
    uses_standing: bool  # whether visits must have the standing of their pages

    @property
    def scale(self) -> Literal["unit", "order"]:
        """Whether priorities are from 0 to 1, or only their order is meaningful."""
        ...

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]: ...

    def learn(self, event: Visit | Skip) -> None: ...

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        """The candidates after an event that was just learnt: links of the visited page, or others in place of a URL
        that brought no page or was skipped; waiting URLs may be proposed again."""
        ...

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """The new priority of a URL that waits with one priority and is proposed again with another."""
        ...

    def state(self) -> Plain: ...

    def restore(self, state: Plain) -> None:
        """Restores a state; raises KeyError if it lacks something, as that of an older version may."""
        ...


class Memory(Protocol):
    """The stored versions of pages that are fetched again."""

    def past(self, url: Url) -> PastFetch | None:
        """The earlier fetch for a conditional request; None for an unconditional one."""
        ...

    def compared(self, fetch: Fetch) -> Fetch:
        """The fetch, with the outcome UNCHANGED if its body is the stored one."""
        ...

    def noted(self, visit: Visit) -> Visit:
        """The visit with its `change`."""
        ...


class HostSlots(Protocol):
    """One request at a time to a host, also for the requests that are made on the way to a page (redirects)."""

    @property
    def rests_after_requests(self) -> bool:
        """Whether hosts are left in peace after a request."""
        ...

    def acquire(self, host: Host, now: float) -> float | None:
        """Makes a host busy until `release`, for a request without a candidate; returns None, or when to try again."""
        ...

    def release(self, host: Host, now: float) -> None:
        """Such a request has ended."""
        ...

    def claim_address(self, host: Host, address: str) -> bool:
        """Notes the address of a host before it is connected to; False where that address has no slot left."""
        ...

    def hold(self, host: Host, until: float) -> None:
        """Makes no request to the host before the given time."""
        ...


class Frontier(HostSlots, Protocol):
    """The queue of URLs to fetch. A URL goes from unknown to waiting, in flight, and settled."""

    def rank_by(self, strategy: Strategy) -> None:
        """Uses `strategy.merge` for URLs that are proposed again."""
        ...

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        """Queues unknown URLs, re-ranks waiting ones, ignores others; returns the candidates that it does not keep."""
        ...

    def take(self, now: float) -> Candidate | None:
        """The best candidate whose host is free now; the host is busy until `settle` or `give_back`."""
        ...

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        """Marks a URL as done, whether or not it was taken.

        is_kept: whether it brought a page that counts for the quotas of its host.
        Returns the candidates that may wait no longer, as that page was the last that their host or site may have.
        """
        ...

    def give_back(self, candidate: Candidate) -> None:
        """Queues a candidate again that was taken."""
        ...

    def postpone(self, candidate: Candidate) -> None:
        """Queues a candidate again that was taken and not asked for, in the place that it had."""
        ...

    def observe(self, host: Host, seconds: float) -> None:
        """Learns how long a host has taken to answer, or takes already."""
        ...

    @property
    def slow_in_flight(self) -> int:
        """How many URLs of slow hosts are in flight; they take no place of others."""
        ...

    def forget_waiting(self) -> None:
        """Empties the queue. Visited URLs and those in flight stay known; refused ones may be proposed again."""
        ...

    def is_known(self, url: Url) -> bool:
        """Whether a URL waits, is in flight, or is settled."""
        ...

    def next_ready_at(self) -> float | None:
        """When `take` may next succeed; None if nothing waits on a host that is free."""
        ...

    def __len__(self) -> int:
        """The number of waiting URLs."""
        ...
