"""Limits on what other peers may cost: messages a second, share of processing time, bad conduct, memory of queries."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from .messages import PeerName

MOST_PEERS = 4096  # that anything is remembered of
MOST_NOTED = 1 << 18  # messages remembered, of all queries
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class RateLimit:
    """So many a second, and as many at once as two seconds bring; 0 is without bound."""

    def __init__(self, per_second: float):
        self.per_second = per_second
        self._most = max(1.0, 2 * per_second)
        self._left = self._most
        self._at: float | None = None

    def take(self, now: float, *, leaving: float = 0.0) -> bool:
        """Whether there is one left, besides a share of the most that can be `leaving` for others."""
        if not self.per_second:
            return True
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._left = min(self._most, self._left + passed * self.per_second)
        if self._left - leaving * self._most < 1.0:
            return False
        self._left -= 1.0
        return True

    def owe(self, more: float) -> None:
        """What was taken last cost more than one, which those that come next will wait for."""
        self._left -= more


class RateLimits(Generic[K]):
    """The same for each of many peers, or pairs of them, the last ones."""

    def __init__(self, per_second: float):
        self.per_second = per_second
        self._of: OrderedDict[K, RateLimit] = OrderedDict()

    def take(self, whose: K, now: float, *, leaving: float = 0.0) -> bool:
        if not self.per_second:
            return True
        allowance = self._of.setdefault(whose, RateLimit(self.per_second))
        _keep_the_last(self._of, whose)
        return allowance.take(now, leaving=leaving)


class Reputation:
    """Who is not listened to any more: one whose demerits reach `tolerance`, for `shun` seconds. Demerits fade: half of
    them are forgotten in every `shun` seconds."""

    def __init__(self, *, tolerance: float, shun: float, per_peer: float):
        self.tolerance = tolerance
        self.shun = shun
        self._demerits: OrderedDict[PeerName, tuple[float, float]] = OrderedDict()  # how many, as of when
        self._shunned: OrderedDict[PeerName, float] = OrderedDict()  # until when
        self._messages: RateLimits[PeerName] = RateLimits(per_peer)
        self._answers: RateLimits[PeerName] = RateLimits(per_peer)

    def demerits(self, peer: PeerName, now: float) -> float:
        many, at = self._demerits.get(peer, (0.0, now))
        return many * 0.5 ** (max(0.0, now - at) / self.shun) if many else 0.0

    def shunned(self, peer: PeerName, now: float) -> bool:
        return peer in self._shunned and now < self._shunned[peer]

    def misbehaved(self, peer: PeerName, now: float, by: float = 1.0) -> bool:
        """Tells whether the peer is shunned from now on."""
        many = min(self.demerits(peer, now) + by, self.tolerance)
        self._demerits[peer] = (many, now)
        _keep_the_last(self._demerits, peer)
        if many < self.tolerance:
            return False
        self.shuns(peer, now)
        return True

    def shuns(self, peer: PeerName, now: float) -> None:
        """It is not listened to from now on."""
        self._shunned[peer] = now + self.shun
        _keep_the_last(self._shunned, peer)

    def all_shunned(self, now: float) -> list[PeerName]:
        return [peer for peer, until in self._shunned.items() if now < until]

    def behaved(self, peer: PeerName, now: float) -> None:
        """What it answered held good."""
        if peer in self._demerits:
            many = self.demerits(peer, now) - 1.0
            if many > 0:
                self._demerits[peer] = (many, now)
            else:
                del self._demerits[peer]

    def takes(self, peer: PeerName, now: float, *, is_answer: bool = False) -> bool:
        """Whether one more message of the peer is within its allowance; answers have one of their own."""
        return (self._answers if is_answer else self._messages).take(peer, now)


def _keep_the_last(of_peers: OrderedDict[K, T], peer: K) -> None:
    """Counts a peer as the last that was heard of; forgets the first of too many."""
    of_peers.move_to_end(peer)
    while len(of_peers) > MOST_PEERS:
        of_peers.popitem(last=False)


class SeenQueries:
    """The queries of others, the last ones: which of their messages came here, and how many."""

    def __init__(self, remembered: int, most_per_query: int):
        self.remembered = remembered
        self.most_per_query = most_per_query
        self._noted = 0
        self._queries: OrderedDict[tuple[PeerName, int], set[int]] = OrderedDict()  # whose, and its id

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, query: tuple[PeerName, int]) -> bool:
        return query in self._queries

    def note(self, query: tuple[PeerName, int], walker: int, ttl: int) -> str:
        """'' for a message that is new, else why it is to be dropped."""
        messages = self._queries.get(query)
        if messages is None:
            messages = self._queries[query] = set()
            while len(self._queries) > self.remembered or self._noted > MOST_NOTED:
                self._noted -= len(self._queries.popitem(last=False)[1])
        else:
            self._queries.move_to_end(query)
        if len(messages) >= self.most_per_query:
            return "too_many_of_one_query"
        message = (walker << 32) | ttl
        if message in messages:
            return "replayed"
        messages.add(message)
        self._noted += 1
        return ""


SHARE = 0.25  # of the time, that may be spent on one peer
BURST = 0.5  # seconds of it that one who asked little before may take at once


class FairShare:
    """Counts the time that was spent on each of many peers, the last ones.

    >>> turns = FairShare()
    >>> turns.spent("anna", 0.5, now=10.0)
    >>> turns.wait("anna", now=10.0)
    0.0
    >>> turns.spent("anna", 0.125, now=10.0)
    >>> turns.wait("anna", now=10.0), turns.wait("bert", now=10.0)
    (0.5, 0.0)
    """

    def __init__(self) -> None:
        self._free_at: OrderedDict[PeerName, float] = OrderedDict()  # when all that was spent is within the share

    def spent(self, peer: PeerName, seconds: float, now: float) -> None:
        self._free_at[peer] = max(self._free_at.get(peer, now), now) + seconds / SHARE
        self._free_at.move_to_end(peer)
        while len(self._free_at) > MOST_PEERS:
            self._free_at.popitem(last=False)

    def wait(self, peer: PeerName, now: float) -> float:
        """Seconds until the peer has its next turn."""
        return max(0.0, self._free_at.get(peer, now) - now - BURST / SHARE)
