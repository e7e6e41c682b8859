"""How much is taken from strangers: rates, demerits, and a bounded memory of what they sent."""

from collections import OrderedDict

from .messages import PeerName

MOST_PEERS = 4096  # that anything is remembered of
MOST_NOTED = 1 << 18  # messages remembered, of all queries


class Allowance:
    """So many a second, and as many at once as two seconds bring; 0 is without bound."""

    def __init__(self, per_second: float):
        self.per_second = per_second
        self._most = max(1.0, 2 * per_second)
        self._left = self._most
        self._at: float | None = None

    def take(self, now: float) -> bool:
        if not self.per_second:
            return True
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._left = min(self._most, self._left + passed * self.per_second)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Manners:
    """Who is not listened to any more. Demerits fade: half of them are forgotten in every `shun` seconds."""

    def __init__(self, *, tolerance: float, shun: float, per_peer: float):
        self.tolerance = tolerance
        self.shun = shun
        self.per_peer = per_peer
        self._demerits: OrderedDict[PeerName, tuple[float, float]] = OrderedDict()  # how many, as of when
        self._allowances: OrderedDict[PeerName, Allowance] = OrderedDict()

    def demerits(self, peer: PeerName, now: float) -> float:
        many, at = self._demerits.get(peer, (0.0, now))
        return many * 0.5 ** (max(0.0, now - at) / self.shun) if many else 0.0

    def shunned(self, peer: PeerName, now: float) -> bool:
        return peer in self._demerits and self.demerits(peer, now) >= self.tolerance

    def misbehaved(self, peer: PeerName, now: float, by: float = 1.0) -> bool:
        """Tells whether the peer is shunned from now on."""
        many = min(self.demerits(peer, now) + by, 2 * self.tolerance)
        self._demerits[peer] = (many, now)
        self._demerits.move_to_end(peer)
        while len(self._demerits) > MOST_PEERS:
            self._demerits.popitem(last=False)
        return many >= self.tolerance

    def behaved(self, peer: PeerName, now: float) -> None:
        """What it answered held good."""
        if peer in self._demerits:
            many = self.demerits(peer, now) - 1.0
            if many > 0:
                self._demerits[peer] = (many, now)
            else:
                del self._demerits[peer]

    def takes(self, peer: PeerName, now: float) -> bool:
        """Whether one more message of the peer is within its allowance."""
        if not self.per_peer:
            return True
        allowance = self._allowances.get(peer)
        if allowance is None:
            allowance = self._allowances[peer] = Allowance(self.per_peer)
            while len(self._allowances) > MOST_PEERS:
                self._allowances.popitem(last=False)
        else:
            self._allowances.move_to_end(peer)
        return allowance.take(now)


class Seen:
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
