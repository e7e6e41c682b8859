"""Limits on other peers: messages per second, share of processing time, offences, remembered queries."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from .messages import PeerName

MAX_PEERS = 4096  # of which anything is remembered
MAX_SEEN = 1 << 18  # messages remembered, of all queries
PEER_SHARE = 0.25  # share of the processing time that one peer may take
BURST_SECONDS = 0.5  # of processing time that a peer may take at once
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class RateLimit:
    """A token bucket: refilled by `per_second` tokens a second up to `burst`, by default those of two seconds.

    A rate of 0 is no limit.
    """

    def __init__(self, per_second: float, burst: float = 0.0):
        self.per_second = per_second
        self._capacity = burst or max(1.0, 2 * per_second)
        self._tokens = self._capacity
        self._updated_at: float | None = None

    def take(self, now: float, *, reserve: float = 0.0) -> bool:
        """Takes a token if there is one; a share `reserve` of the bucket is kept for others."""
        if not self.per_second:
            return True
        passed = 0.0 if self._updated_at is None else max(0.0, now - self._updated_at)
        self._updated_at = now
        self._tokens = min(self._capacity, self._tokens + passed * self.per_second)
        if self._tokens - reserve * self._capacity < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def charge(self, tokens: float) -> None:
        """Removes further tokens for what was taken last, even if there are too few: later takers wait for them."""
        self._tokens -= tokens

    def refund(self) -> None:
        """Puts a token back."""
        self._tokens += 1.0


class RateLimits(Generic[K]):
    """One token bucket per key, such as a peer; only the latest keys are remembered."""

    def __init__(self, per_second: float, burst: float = 0.0):
        self.per_second = per_second
        self._burst = burst
        self._limits: OrderedDict[K, RateLimit] = OrderedDict()

    def take(self, key: K, now: float, *, reserve: float = 0.0) -> bool:
        """Takes a token of the key if there is one; a share `reserve` of its bucket is kept for others."""
        if not self.per_second:
            return True
        limit = self._limits.get(key)
        if limit is None:
            limit = self._limits[key] = RateLimit(self.per_second, self._burst)
        _touch(self._limits, key)
        return limit.take(now, reserve=reserve)

    def refund(self, key: K) -> None:
        """Puts a token of the key back."""
        if key in self._limits:
            self._limits[key].refund()


class FairShare:
    """Limits the processing time of each peer, or group of peers: one that used more than its share waits.

    All connections are served in turn on one event loop, so that a busy peer would delay the others. Its messages wait
    with it.

    >>> turns = FairShare()
    >>> turns.record("anna", 0.5, now=10.0)
    >>> turns.delay("anna", now=10.0)
    0.0
    >>> turns.record("anna", 0.125, now=10.0)
    >>> turns.delay("anna", now=10.0), turns.delay("bert", now=10.0)
    (0.5, 0.0)
    """

    def __init__(self, share: float = PEER_SHARE) -> None:
        self._share = share
        self._free_at: OrderedDict[PeerName, float] = OrderedDict()  # the time at which its usage is within the share

    def record(self, peer: PeerName, seconds: float, now: float) -> None:
        """Records that a message of the peer took so many seconds to process."""
        self._free_at[peer] = max(self._free_at.get(peer, now), now) + seconds / self._share
        _touch(self._free_at, peer)

    def delay(self, peer: PeerName, now: float) -> float:
        """Seconds until the peer has its next turn."""
        return max(0.0, self._free_at.get(peer, now) - now - BURST_SECONDS / self._share)


class Reputation:
    """Demerits of peers, bans, and the rates of their messages.

    ban_threshold: demerits at which a peer is banned.
    ban_seconds: the length of a ban, and the half-life of demerits.
    per_peer: messages per second accepted from each peer, and as many answers.
    """

    def __init__(self, *, ban_threshold: float, ban_seconds: float, per_peer: float):
        self.ban_threshold = ban_threshold
        self.ban_seconds = ban_seconds
        self._demerits: OrderedDict[PeerName, tuple[float, float]] = OrderedDict()  # number and time
        self._banned_until: OrderedDict[PeerName, float] = OrderedDict()
        self._messages: RateLimits[PeerName] = RateLimits(per_peer)
        self._answers: RateLimits[PeerName] = RateLimits(per_peer)

    def demerits(self, peer: PeerName, now: float) -> float:
        """The demerits of a peer that have not decayed yet."""
        count, at = self._demerits.get(peer, (0.0, now))
        return count * 0.5 ** (max(0.0, now - at) / self.ban_seconds) if count else 0.0

    def is_banned(self, peer: PeerName, now: float) -> bool:
        return peer in self._banned_until and now < self._banned_until[peer]

    def penalise(self, peer: PeerName, now: float, demerits: float = 1.0) -> bool:
        """Adds demerits; returns whether the peer is banned for them."""
        count = min(self.demerits(peer, now) + demerits, self.ban_threshold)
        self._demerits[peer] = (count, now)
        _touch(self._demerits, peer)
        if count < self.ban_threshold:
            return False
        self.ban(peer, now)
        return True

    def reward(self, peer: PeerName, now: float) -> None:
        """Removes one demerit from a peer whose answer proved correct."""
        if peer in self._demerits:
            count = self.demerits(peer, now) - 1.0
            if count > 0:
                self._demerits[peer] = (count, now)
            else:
                del self._demerits[peer]

    def ban(self, peer: PeerName, now: float) -> None:
        self._banned_until[peer] = now + self.ban_seconds
        _touch(self._banned_until, peer)

    def banned(self, now: float) -> list[PeerName]:
        return [peer for peer, until in self._banned_until.items() if now < until]

    def take_message(self, peer: PeerName, now: float, *, is_answer: bool = False) -> bool:
        """Takes a token for a message of the peer; False if its rate is used up. Answers have a separate rate."""
        return (self._answers if is_answer else self._messages).take(peer, now)


class SeenQueries:
    """The messages of the latest queries of others, by which repeated ones are recognised.

    remembered: queries, by asker and id.
    max_per_query: messages of one query; each is remembered by its walker and time to live, as one number.
    """

    def __init__(self, remembered: int, max_per_query: int):
        self.remembered = remembered
        self.max_per_query = max_per_query
        self._messages = 0  # remembered, of all queries
        self._queries: OrderedDict[tuple[PeerName, int], set[int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queries)

    def __contains__(self, query: tuple[PeerName, int]) -> bool:
        return query in self._queries

    def record(self, query: tuple[PeerName, int], walker: int, ttl: int) -> str:
        """Records a message of a query; returns the reason to drop it, empty if it is new."""
        messages = self._queries.get(query)
        if messages is None:
            messages = self._queries[query] = set()
            while len(self._queries) > self.remembered:
                self._forget_oldest()
        else:
            self._queries.move_to_end(query)
        if len(messages) >= self.max_per_query:
            return "too_many_of_one_query"
        message = (walker << 32) | ttl
        if message in messages:
            return "replayed"
        messages.add(message)
        self._messages += 1
        while self._messages > MAX_SEEN and len(self._queries) > 1:
            self._forget_oldest()
        return ""

    def _forget_oldest(self) -> None:
        self._messages -= len(self._queries.popitem(last=False)[1])


def _touch(by_key: OrderedDict[K, T], key: K) -> None:
    """Marks a key as the most recently used; evicts the oldest if there are too many."""
    by_key.move_to_end(key)
    while len(by_key) > MAX_PEERS:
        by_key.popitem(last=False)
