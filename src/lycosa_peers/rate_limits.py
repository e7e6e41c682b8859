"""Limits on other peers: messages per second, share of processing time, offences, remembered queries."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from .messages import PeerName

MAX_PEERS = 4096  # of which anything is remembered
MAX_SEEN = 1 << 18  # messages remembered, of all queries
SHARE = 0.25  # of the processing time, that one peer may take
BURST = 0.5  # seconds of processing that a peer may take at once
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class RateLimit:
    """A token bucket: `per_second` tokens a second, at most `at_once`, by default those of two seconds; 0: no limit."""

    def __init__(self, per_second: float, at_once: float = 0.0):
        self.per_second = per_second
        self._most = at_once or max(1.0, 2 * per_second)
        self._left = self._most
        self._at: float | None = None

    def take(self, now: float, *, leaving: float = 0.0) -> bool:
        """Takes a token if there is one; a share `leaving` of the bucket is kept for others."""
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
        """Charges `more` tokens (or fewer) for what was taken last; later takers wait for them."""
        self._left -= more


class RateLimits(Generic[K]):
    """One rate limit per key, such as a peer; only the latest keys are remembered."""

    def __init__(self, per_second: float, at_once: float = 0.0):
        self.per_second = per_second
        self._at_once = at_once
        self._limits: OrderedDict[K, RateLimit] = OrderedDict()

    def take(self, key: K, now: float, *, leaving: float = 0.0) -> bool:
        if not self.per_second:
            return True
        limit = self._limits.get(key)
        if limit is None:
            limit = self._limits[key] = RateLimit(self.per_second, self._at_once)
        _touch(self._limits, key)
        return limit.take(now, leaving=leaving)

    def give_back(self, key: K) -> None:
        """Returns a token."""
        if key in self._limits:
            self._limits[key].owe(-1.0)


class FairShare:
    """Limits the processing time of each peer, or group of peers: one that used more than its share waits.

    All connections are served in turn on one event loop, so that a busy peer would delay the others. Its messages wait
    with it.

    >>> turns = FairShare()
    >>> turns.spent("anna", 0.5, now=10.0)
    >>> turns.wait("anna", now=10.0)
    0.0
    >>> turns.spent("anna", 0.125, now=10.0)
    >>> turns.wait("anna", now=10.0), turns.wait("bert", now=10.0)
    (0.5, 0.0)
    """

    def __init__(self, share: float = SHARE) -> None:
        self._share = share
        self._free_at: OrderedDict[PeerName, float] = OrderedDict()  # the time at which its usage is within the share

    def spent(self, peer: PeerName, seconds: float, now: float) -> None:
        self._free_at[peer] = max(self._free_at.get(peer, now), now) + seconds / self._share
        _touch(self._free_at, peer)

    def wait(self, peer: PeerName, now: float) -> float:
        """Seconds until the peer has its next turn."""
        return max(0.0, self._free_at.get(peer, now) - now - BURST / self._share)


class Reputation:
    """Demerits of peers, and bans. A peer whose demerits reach `tolerance` is banned for `ban_seconds`; demerits decay
    with a half-life of `ban_seconds`. `per_peer` is the number of messages per second accepted from each peer."""

    def __init__(self, *, tolerance: float, ban_seconds: float, per_peer: float):
        self.tolerance = tolerance
        self.ban_seconds = ban_seconds
        self._demerits: OrderedDict[PeerName, tuple[float, float]] = OrderedDict()  # number and time
        self._banned_until: OrderedDict[PeerName, float] = OrderedDict()
        self._messages: RateLimits[PeerName] = RateLimits(per_peer)
        self._answers: RateLimits[PeerName] = RateLimits(per_peer)

    def demerits(self, peer: PeerName, now: float) -> float:
        many, at = self._demerits.get(peer, (0.0, now))
        return many * 0.5 ** (max(0.0, now - at) / self.ban_seconds) if many else 0.0

    def is_banned(self, peer: PeerName, now: float) -> bool:
        return peer in self._banned_until and now < self._banned_until[peer]

    def penalise(self, peer: PeerName, now: float, by: float = 1.0) -> bool:
        """Adds demerits; returns whether the peer is banned for them."""
        many = min(self.demerits(peer, now) + by, self.tolerance)
        self._demerits[peer] = (many, now)
        _touch(self._demerits, peer)
        if many < self.tolerance:
            return False
        self.ban(peer, now)
        return True

    def reward(self, peer: PeerName, now: float) -> None:
        """Removes one demerit from a peer whose answer proved correct."""
        if peer in self._demerits:
            many = self.demerits(peer, now) - 1.0
            if many > 0:
                self._demerits[peer] = (many, now)
            else:
                del self._demerits[peer]

    def ban(self, peer: PeerName, now: float) -> None:
        self._banned_until[peer] = now + self.ban_seconds
        _touch(self._banned_until, peer)

    def banned(self, now: float) -> list[PeerName]:
        return [peer for peer, until in self._banned_until.items() if now < until]

    def allows(self, peer: PeerName, now: float, *, is_answer: bool = False) -> bool:
        """Whether another message of the peer is within its rate; answers have a separate rate."""
        return (self._answers if is_answer else self._messages).take(peer, now)


class SeenQueries:
    """The latest queries of others, by asker and id: which of their messages arrived, and how many."""

    def __init__(self, remembered: int, most_per_query: int):
        self.remembered = remembered
        self.most_per_query = most_per_query
        self._noted = 0
        self._queries: OrderedDict[tuple[PeerName, int], set[int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, query: tuple[PeerName, int]) -> bool:
        return query in self._queries

    def note(self, query: tuple[PeerName, int], walker: int, ttl: int) -> str:
        """Empty for a new message, else the reason to drop it."""
        messages = self._queries.get(query)
        if messages is None:
            messages = self._queries[query] = set()
            while len(self._queries) > self.remembered or self._noted > MAX_SEEN:
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


def _touch(of_peers: OrderedDict[K, T], key: K) -> None:
    """Marks a key as the most recently used; evicts the oldest if there are too many."""
    of_peers.move_to_end(key)
    while len(of_peers) > MAX_PEERS:
        of_peers.popitem(last=False)
