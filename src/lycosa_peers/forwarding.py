"""Which queries a node accepts, where it forwards them, and how many messages it sends to one peer."""

from msgspec.structs import replace

from .messages import DIRECT, Envelope, PeerName, Query
from .rate_limits import RateLimits, SeenQueries
from .routing import clamped, flood_targets, next_hop
from .state import NodeState

_RATE_SHARE = 0.9  # used share of the rate that a peer accepts from one sender; the rest is left for pings
RESERVED_SHARE = (
    0.5  # share of the queries to a peer that is reserved for our own searches, their further walkers aside
)


class Forwarding:
    """Accepts each query once, and forwards it.

    A walker arrives via others, who may have been deceived: nobody is penalised for its content, nor for repetition.
    Nobody, not even its user, can make this node send a peer more than the peer accepts from one sender: queries sent
    for others leave half of that rate free, and answers are limited separately, by receiver and by forwarder.
    A query with the walker number `DIRECT` is for its receiver alone.

    seed: of the pseudo-random choice of the neighbour that a walker is sent to.
    """

    def __init__(self, state: NodeState, seed: int):
        self._state = state
        self._seed = seed
        self.seen = SeenQueries(state.options.remembered, state.options.max_per_query)
        rate = _RATE_SHARE * state.options.capacity_per_peer
        self._queries_to: RateLimits[PeerName] = RateLimits(rate)
        self._answers_to: RateLimits[PeerName] = RateLimits(rate)
        self._answers_for: RateLimits[tuple[PeerName, PeerName]] = RateLimits(rate / 4)  # forwarder, asker

    def clamp_ttl(self, query: Query) -> Query:
        """The query with a time to live of at most `max_ttl`."""
        ttl = 1 if query.walker == DIRECT else clamped(query.ttl, self._state.options.max_ttl)
        if ttl == query.ttl:
            return query
        self._state.counts["ttl_cut"] += 1
        return replace(query, ttl=ttl)

    def why_refused(self, sender: PeerName, query: Query, now: float) -> str:
        """Why a query is not processed; empty if it is."""
        if query.ttl < 1:  # an honest peer never sends one
            self._state.penalise(sender, "expired", now)
            return "expired"
        key = (query.origin.name, query.id)
        if self._state.options.floods and key in self.seen:
            reason = "duplicates"
        else:
            reason = self.seen.record(key, query.walker, query.ttl)
        if reason == "replayed" and query.walker == DIRECT:
            self._state.penalise(sender, reason, now, demerits=0.5)
        elif reason:
            self._state.counts[reason] += 1
        return reason

    def forward(self, sender: PeerName, query: Query, now: float) -> list[Envelope]:
        """Forwards a processed query to the next peers; empty if it ends here."""
        if query.ttl <= 1:
            return []
        hops = self.next_hops(replace(query, ttl=query.ttl - 1), sender)
        onward = self.take_allowed(hops, now, reserve=RESERVED_SHARE)
        self._state.counts["passed_on"] += len(onward)
        return onward

    def reroute(self, query: Query, now: float) -> list[Envelope]:
        """Sends an undelivered query to another peer; empty if there is none."""
        reserve = 0.0 if query.origin.name == self._state.name else RESERVED_SHARE
        return self.take_allowed(self.next_hops(query, None), now, reserve=reserve)

    def next_hops(self, query: Query, came_from: PeerName | None) -> list[Envelope]:
        """The query for the next peers; empty if the walker has ended."""
        neighbours = self._state.neighbours
        if self._state.options.floods:
            return [
                self._state.envelope(name, query)
                for name in flood_targets(neighbours.names, came_from, neighbours.down)
            ]
        if came_from is not None and came_from not in neighbours:
            came_from = None
        hop = next_hop(self._seed, query.id, query.walker, query.ttl, neighbours.names, came_from, neighbours.down)
        return [] if hop is None else [self._state.envelope(hop, query)]

    def take_allowed(self, queries: list[Envelope], now: float, *, reserve: float = 0.0) -> list[Envelope]:
        """Takes a token of each receiver; returns the queries that got one. A share `reserve` of each rate is left."""
        allowed = [envelope for envelope in queries if self._queries_to.take(envelope.to, now, reserve=reserve)]
        if len(allowed) < len(queries):
            self._state.counts["held_back"] += len(queries) - len(allowed)
        return allowed

    def may_answer(self, sender: PeerName, asker: PeerName, now: float) -> bool:
        """Whether an answer to the asker of a query from `sender` is within the limits. If they are the same, there is
        no limit, since that peer waits for it; a forwarder may have named anybody as the asker."""
        if sender == asker or (self._answers_for.take((sender, asker), now) and self._answers_to.take(asker, now)):
            return True
        self._state.counts["held_back"] += 1
        return False
