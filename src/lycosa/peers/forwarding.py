"""What a node does with the queries that come to it, its own and those of others, before and after it looks."""

from msgspec.structs import replace

from .content import Content
from .messages import DIRECT, Contact, PeerName, Query, Send
from .options import NodeOptions
from .rate_limits import RateLimits, SeenQueries
from .routing import clamped, flooded, next_hop
from .state import Parts

_WITHIN = 0.9  # of what a peer takes from one, so that pings and the like still get through
RESERVED = 0.5  # of the queries that may go to a peer, for the first of every search of one's own


class Passing(Parts):
    """Takes a query once, and sends it on.

    A walker comes by way of others, who may have been lied to: nobody is blamed for what it says, nor for its coming
    again. And nobody, its user neither, can make this node send a peer more than the peer takes from one: of queries
    what it sends for others leaves half, and answers are counted apart, by whom they go to and who sent the query.
    """

    def __init__(self, me: Contact, content: Content, *, options: NodeOptions, seed: int):
        super().__init__(me, content, options=options, seed=seed)
        self._seen = SeenQueries(options.remembered, options.most_per_query)
        most = _WITHIN * options.capacity_per_peer
        self._queries_to: RateLimits[PeerName] = RateLimits(most)
        self._answers_to: RateLimits[PeerName] = RateLimits(most)
        self._answers_for: RateLimits[tuple[PeerName, PeerName]] = RateLimits(most / 4)  # who sent it, who is answered

    def _cut(self, query: Query) -> Query:
        """The query with a time to live that is not above ours."""
        ttl = 1 if query.walker == DIRECT else clamped(query.ttl, self.options.most_ttl)
        if ttl == query.ttl:
            return query
        self.counts["ttl_cut"] += 1
        return replace(query, ttl=ttl)

    def _trouble(self, sender: PeerName, query: Query, now: float) -> str:
        """'' for a query that is to be looked at, else why it is not."""
        if query.ttl < 1:  # nobody sends such a one on
            self.misbehaved(sender, "expired", now)
            return "expired"
        which = (query.origin.name, query.id)
        if self.options.floods and which in self._seen:
            trouble = "duplicates"
        else:
            trouble = self._seen.note(which, query.walker, query.ttl)
        if trouble == "replayed" and query.walker == DIRECT:
            self.misbehaved(sender, trouble, now, by=0.5)
        elif trouble:
            self.counts[trouble] += 1
        return trouble

    def _onward(self, query: Query, came_from: PeerName | None) -> list[Send]:
        """The query to whom it goes next; nothing where a walker has ended."""
        names, down = self.neighbours.names, self.neighbours.down
        if self.options.floods:
            return [self._send(name, query) for name in flooded(names, came_from, down)]
        if came_from is not None and came_from not in self.neighbours:
            came_from = None
        hop = next_hop(self.seed, query.id, query.walker, query.ttl, names, came_from, down)
        return [] if hop is None else [self._send(hop, query)]

    def _passed_on(self, sender: PeerName, query: Query, now: float) -> list[Send]:
        """A query that has been here, to the next."""
        if query.ttl <= 1:
            return []
        onward = self._within_bounds(self._onward(replace(query, ttl=query.ttl - 1), sender), now, leaving=RESERVED)
        self.counts["passed_on"] += len(onward)
        return onward

    def _within_bounds(self, queries: list[Send], now: float, *, leaving: float = 0.0) -> list[Send]:
        """Of queries, as many as each receiver takes."""
        sent = [send for send in queries if self._queries_to.take(send.to, now, leaving=leaving)]
        if len(sent) < len(queries):
            self.counts["held_back"] += len(queries) - len(sent)
        return sent

    def _may_answer_by_way_of(self, sender: PeerName, origin: PeerName, now: float) -> bool:
        """Whether the one that a sender says is asking is to be told. Any number where it asks itself, as it waits for
        that; of others only so many, since a sender can have named anybody."""
        if sender == origin or (self._answers_for.take((sender, origin), now) and self._answers_to.take(origin, now)):
            return True
        self.counts["held_back"] += 1
        return False
