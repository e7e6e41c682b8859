"""The seams between the parts of a crawl. Each protocol has a law file in tests/contracts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol

from .records import Candidate, Fetch, Host, Page, PastFetch, Plain, Skip, Url, Visit


class Web(Protocol):
    """Anything that answers for URLs: HTTP, an archive, pages in memory, or a wrapper around one of them."""

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        """One request; follows no redirect; never raises for what the Web does."""
        ...

    async def close(self) -> None: ...


Read = Callable[[Fetch], Page | None]


class Relevance(Protocol):
    def relevance(self, page: Page) -> float:
        """How well the page fits the topic, 0 to 1."""
        ...


class Standing(Protocol):
    def standing(self, page: Page) -> float:
        """How much the Web esteems the page, 0 to 1."""
        ...


class Strategy(Protocol):
    """Decides what is wanted next. Every candidate it proposes ends in exactly one Visit or one Skip, but for those
    whose URL is settled already, which end in nothing. A page of a collection that was seen again and had changed is
    one more Visit, which has a `change`, and a page that shows only the links that are new."""

    name: str
    exhaustive: bool  # reaches everything reachable
    uses_standing: bool  # whether visits are to tell the standing of their pages

    @property
    def scale(self) -> Literal["unit", "order"]:
        """Whether priorities lie within 0 and 1, or only their order means something."""
        ...

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]: ...

    def learn(self, event: Visit | Skip) -> None: ...

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        """What is wanted after an event that was just learnt: links of the page visited, others in place of one that
        led nowhere or was skipped; waiting URLs may be proposed again."""
        ...

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """The priority of a URL that waits at one priority and is offered at another."""
        ...

    def state(self) -> Plain: ...

    def restore(self, state: Plain) -> None:
        """Goes on from a state; KeyError where an older version left less than is needed."""
        ...


class Memory(Protocol):
    """How pages were that are to be seen again."""

    def past(self, url: Url) -> PastFetch | None:
        """What to ask by whether a page has changed; None where it is to be asked for without conditions."""
        ...

    def compared(self, fetch: Fetch) -> Fetch:
        """The answer, marked UNCHANGED if its body is the known one."""
        ...

    def noted(self, visit: Visit) -> Visit:
        """The visit with what has become of its page."""
        ...


class Frontier(Protocol):
    """The URLs that wait. unknown -> waiting -> in flight -> settled."""

    def rank_by(self, strategy: Strategy) -> None:
        """Merges the priorities of URLs proposed again as the strategy does."""
        ...

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        """Queues the unknown, re-ranks the waiting, ignores the rest; returns what it does not keep."""
        ...

    def take(self, now: float) -> Candidate | None:
        """The best candidate whose host may be asked now; its host is busy until `settle` or `give_back`."""
        ...

    def settle(self, url: Url) -> None:
        """The URL is done with, whether or not it was taken."""
        ...

    def give_back(self, candidate: Candidate) -> None:
        """A candidate that was taken waits again."""
        ...

    def forget_waiting(self) -> None:
        """Empties the queue; what was visited or is in flight stays so, what was refused may be asked for again."""
        ...

    def is_known(self, url: Url) -> bool:
        """Whether a URL waits, is in flight, or is settled."""
        ...

    def hold(self, host: Host, until: float) -> None:
        """Asks nothing of this host before the given moment."""
        ...

    def next_ready_at(self) -> float | None:
        """When `take` may next succeed; None if nothing waits on a host that is free."""
        ...

    def __len__(self) -> int:
        """How many URLs wait."""
        ...
