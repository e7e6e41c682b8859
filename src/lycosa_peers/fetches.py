"""The fetches of a node from providers, and secret numbers that only the peers it asked can know."""

import hashlib
from collections import OrderedDict
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from .messages import Contact, Envelope, FetchRequest, Item, PeerName
from .search import Failure
from .state import NodeState

MAX_FETCHES = 256  # pending; the same limit for late ones
MAX_RESULTS = 16  # not collected yet


class Nonces:
    """Unguessable numbers, so that no peer can answer a query that it never received: keyed hashes of a counter.
    `count` is saved, so that none is used twice."""

    def __init__(self, name: PeerName, secret: bytes):
        self._name = name
        self._secret = secret
        self.count = 0

    def next(self, size: int = 8) -> int:
        """The next number, of `size` bytes."""
        self.count += 1
        text = f"{self._name}\n{self.count}".encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=size).digest(), "little")

    def next_walker(self) -> int:
        """The next number for a walker: within its range in messages, and never `DIRECT`, which is 0."""
        return 1 + self.next(size=3)


class PendingFetch(Struct, frozen=True):
    """A request to a provider."""

    provider: Contact
    item: Item
    until: float
    search_id: int | None  # of the search it is for; None for a fetch of the user, or of a sample


class Fetches:
    """Pending fetches, their results, and those that timed out but may still be answered."""

    def __init__(self, state: NodeState, nonces: Nonces):
        self._state = state
        self._nonces = nonces
        self._pending: dict[int, PendingFetch] = {}
        self._results: OrderedDict[int, bytes | Failure] = OrderedDict()
        self._late: OrderedDict[int, PeerName] = OrderedDict()

    def __contains__(self, number: int) -> bool:
        return number in self._pending

    def start(
        self, provider: Contact, item: Item, now: float, search_id: int | None = None, *, wait: float = 0.0
    ) -> tuple[int, list[Envelope]]:
        """Requests an item from a provider; returns the number of the fetch, and what to send.

        wait: seconds; 0 for the value in the options.
        """
        number = self._nonces.next()
        for oldest in list(islice(self._pending, max(0, len(self._pending) + 1 - MAX_FETCHES))):
            # It times out at the next tick, which is due now: then whoever waits for it learns that it has failed.
            self._pending[oldest] = replace(self._pending[oldest], until=min(self._pending[oldest].until, now))
        self._pending[number] = PendingFetch(provider, item, now + (wait or self._state.options.fetch_wait), search_id)
        self._state.counts["fetches"] += 1
        return number, [Envelope(provider.name, FetchRequest(number, item), provider.address)]

    def pending(self, number: int, provider: PeerName) -> PendingFetch | None:
        """The fetch of that number, if it is pending at that provider."""
        fetch = self._pending.get(number)
        return fetch if fetch is not None and fetch.provider.name == provider else None

    def finish(self, number: int) -> None:
        """The provider has answered."""
        del self._pending[number]

    def time_out(self, number: int) -> None:
        """Stops waiting for the provider; a later answer counts as late."""
        self._late[number] = self._pending.pop(number).provider.name
        if len(self._late) > MAX_FETCHES:
            self._late.popitem(last=False)

    def unexpected(self, sender: PeerName, number: int, now: float) -> None:
        """Handles an unexpected answer: a slow provider is forgiven, anybody else is penalised."""
        if self._late.get(number) == sender:
            del self._late[number]
            self._state.counts["late"] += 1
        else:
            self._state.penalise(sender, "unasked", now)

    def keep_result(self, number: int, result: bytes | Failure) -> None:
        self._results[number] = result
        while len(self._results) > MAX_RESULTS:
            self._results.popitem(last=False)

    def pop_result(self, number: int) -> bytes | Failure | None:
        """The result of a fetch, or why it failed; returned once. None while it is pending."""
        return self._results.pop(number, None)

    def due(self, now: float) -> list[tuple[int, PeerName]]:
        """Fetches that have timed out, and their providers."""
        return [(number, fetch.provider.name) for number, fetch in self._pending.items() if fetch.until <= now]

    def deadlines(self) -> list[float]:
        return [fetch.until for fetch in self._pending.values()]
