"""What a node does with the queries that come to it, its own and those of others, before and after it looks."""

from msgspec.structs import replace

from .content import Content
from .manners import Allowances, Seen
from .messages import DIRECT, Contact, PeerName, Query, Send
from .options import NodeOptions
from .parts import Parts
from .routing import clamped, flooded, next_hop


class Passing(Parts):
    """Takes a query once, and sends it on.

    A walker comes by way of others, who may have been lied to: nobody is blamed for what it says, nor for its coming
    again. And nobody can make this node send a peer more for others than half of what the peer takes from one.
    """

    def __init__(self, me: Contact, content: Content, *, options: NodeOptions, seed: int):
        super().__init__(me, content, options=options, seed=seed)
        self._seen = Seen(options.remembered, options.most_per_query)
        self._for_others = Allowances(options.capacity_per_peer / 2)

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
        onward = self._within_bounds(self._onward(replace(query, ttl=query.ttl - 1), sender), now)
        self.counts["passed_on"] += len(onward)
        return onward

    def _within_bounds(self, sends: list[Send], now: float) -> list[Send]:
        """Of what is sent for others, as much as each receiver takes."""
        sent = [send for send in sends if self._for_others.take(send.to, now)]
        if len(sent) < len(sends):
            self.counts["held_back"] += len(sends) - len(sent)
        return sent
