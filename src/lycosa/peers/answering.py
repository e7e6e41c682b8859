"""The half of a node that serves others: it looks for what they ask, passes on, shows its index, hands out."""

from .content import Content
from .forwarding import Passing
from .messages import (
    DIRECT,
    MOST_HITS,
    Contact,
    Declined,
    Fetch,
    Fetched,
    Index,
    IndexRequest,
    PeerName,
    Query,
    Response,
    Send,
    fit_frame,
)
from .options import NodeOptions
from .rate_limits import RateLimit

MOST_ELSEWHERE = 3  # peers that one response names
HITS_OF_ONE_COST = 10  # that are told for one of a node's capacity


class Answering(Passing):
    """Answers from its own content, then from the indexes it holds, else passes on (BuddyNet, section 5.3.5)."""

    def __init__(self, me: Contact, content: Content, *, options: NodeOptions, seed: int):
        super().__init__(me, content, options=options, seed=seed)
        self._serving = RateLimit(options.capacity)

    def _query(self, sender: PeerName, query: Query, now: float) -> list[Send]:
        """A query of somebody else."""
        query = self._cut(query)
        if query.walker == DIRECT and query.origin.name != sender:
            self.misbehaved(sender, "forged", now)
            return []
        if self.manners.shunned(query.origin.name, now):
            self.counts["shunned"] += 1
            return []
        trouble = self._trouble(sender, query, now)
        if trouble:
            return self._ended(sender, query, now) if trouble == "too_many_of_one_query" else []
        most = min(query.most, MOST_HITS)
        if query.origin.name not in self.buddies:
            most = min(most, self.options.most_hits)
        if not self._serving.take(now):
            self.counts["declined"] += 1
            if query.walker == DIRECT:
                return self._reply(sender, query, Declined("query", query.id), now)
        else:
            answer = self._found(query, most)
            if answer is not None:
                self._serving.owe(max(0.0, len(answer.hits) / HITS_OF_ONE_COST - 1.0))
                self.counts["answered"] += 1
                return self._reply(sender, query, answer, now)
        return self._passed_on(sender, query, now) or self._ended(sender, query, now)

    def _found(self, query: Query, most: int) -> Response | None:
        found = self.content.find(query.wanted, most)
        if found.hits:
            hits = tuple(found.hits[:most])
            return fit_frame(
                Response(query.id, self.me, hits, statistics=found.statistics, walker=query.walker, ttl=query.ttl)
            )
        elsewhere: list[PeerName] = []
        for name, index in self._indexes():
            if name == query.origin.name or not index.may_have(query.wanted):
                continue
            hits = tuple(index.find(query.wanted, most))[:most]
            if hits:
                self.counts["answered_for_others"] += 1
                return fit_frame(Response(query.id, self._contact(name), hits, walker=query.walker, ttl=query.ttl))
            elsewhere.append(name)
        if not elsewhere:
            return None
        self.counts["answered_for_others"] += 1
        contacts = tuple(self._contact(name) for name in elsewhere[:MOST_ELSEWHERE])
        return Response(query.id, self.me, elsewhere=contacts, walker=query.walker, ttl=query.ttl)

    def _ended(self, sender: PeerName, query: Query, now: float) -> list[Send]:
        """The query goes no further; the asker is told where that is wanted."""
        if not self.options.says_no:
            return []
        return self._reply(sender, query, Response(query.id, self.me, walker=query.walker, ttl=query.ttl), now)

    def _reply(self, sender: PeerName, query: Query, message: Response | Declined, now: float) -> list[Send]:
        asker = query.origin
        may = self._may_answer_by_way_of(sender, asker.name, now)
        return [Send(asker.name, message, asker.address)] if may else []

    def _index_request(self, sender: PeerName, request: IndexRequest, now: float) -> list[Send]:
        if not self._serving.take(now):
            self.counts["declined"] += 1
            return [self._send(sender, Declined("index", 0))]
        change = None if request.since is None else self.content.changes(request.since)
        if change is not None:
            self.counts["index_changes_sent"] += 1
            return [self._send(sender, Index(change.version, change.packed, request.since))]
        summary = self.content.summary()
        self.counts["indexes_sent"] += 1
        return [self._send(sender, Index(summary.version, summary.packed()))]

    def _fetch(self, sender: PeerName, fetch: Fetch, now: float) -> list[Send]:
        if not self._serving.take(now):
            self.counts["declined"] += 1
            return [self._send(sender, Declined("fetch", fetch.id))]
        body = self.content.fetch(fetch.item)
        self.counts["handed_out" if body is not None else "lacked"] += 1
        return [self._send(sender, Fetched(fetch.id, fetch.item, body))]
