"""The requests that a node serves: it answers queries, sends its index and delivers items."""

from .forwarding import Forwarding
from .messages import (
    DIRECT,
    MAX_HITS,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    Index,
    IndexRequest,
    PeerName,
    Query,
    Response,
    fit_payload,
)
from .rate_limits import RateLimit
from .state import NodeState

MAX_REFERRALS = 3  # peers named in one response
HITS_PER_COST = 10  # hits that count as one request


class Answering:
    """Answers from its own content, then from the indexes it holds, else forwards (BuddyNet, section 5.3.5).

    A query with the walker number `DIRECT` was sent straight to this node by its asker, and is not forwarded.
    """

    def __init__(self, state: NodeState, forwarding: Forwarding):
        self._state = state
        self._forwarding = forwarding
        self.capacity = RateLimit(state.options.capacity)

    def answer_query(self, sender: PeerName, query: Query, now: float) -> list[Envelope]:
        """Answers a query of another peer, or forwards it."""
        state = self._state
        query = self._forwarding.clamp_ttl(query)
        if query.walker == DIRECT and query.origin.name != sender:
            state.penalise(sender, "forged", now)
            return []
        if state.reputation.is_banned(query.origin.name, now):
            state.counts["shunned"] += 1
            return []
        refusal = self._forwarding.why_refused(sender, query, now)
        if refusal:
            return self.end_query(sender, query, now) if refusal == "too_many_of_one_query" else []
        max_hits = min(query.max_hits, MAX_HITS)
        if query.origin.name not in state.buddies:
            max_hits = min(max_hits, state.options.max_hits)
        if not self._has_capacity(sender, now):
            if query.walker == DIRECT:
                return self._reply(sender, query, Declined("query", query.id), now)
        else:
            answer = self._find(query, max_hits)
            if answer is not None:
                self.capacity.charge(max(0.0, len(answer.hits) / HITS_PER_COST - 1.0))
                state.counts["answered"] += 1
                return self._reply(sender, query, answer, now)
        return self._forwarding.forward(sender, query, now) or self.end_query(sender, query, now)

    def end_query(self, sender: PeerName, query: Query, now: float) -> list[Envelope]:
        """Ends a query; the asker is informed if the options say so."""
        if not self._state.options.sends_empty_responses:
            return []
        response = Response(query.id, self._state.own_contact, walker=query.walker, ttl=query.ttl)
        return self._reply(sender, query, response, now)

    def send_index(self, sender: PeerName, request: IndexRequest, now: float) -> list[Envelope]:
        """Sends our index, or its changes since the version that the other peer has."""
        state = self._state
        if not self._has_capacity(sender, now):
            return [state.envelope(sender, Declined("index", 0))]
        change = None if request.since is None else state.content.changes(request.since)
        if change is not None:
            state.counts["index_changes_sent"] += 1
            return [state.envelope(sender, Index(change.version, change.packed, request.since))]
        summary = state.content.summary()
        state.counts["indexes_sent"] += 1
        return [state.envelope(sender, Index(summary.version, summary.packed()))]

    def deliver(self, sender: PeerName, fetch: FetchRequest, now: float) -> list[Envelope]:
        """Sends an item, or says that we lack it."""
        state = self._state
        if not self._has_capacity(sender, now):
            return [state.envelope(sender, Declined("fetch", fetch.id))]
        body = state.content.fetch(fetch.item)
        state.counts["handed_out" if body is not None else "lacked"] += 1
        return [state.envelope(sender, Fetched(fetch.id, fetch.item, body))]

    def _has_capacity(self, sender: PeerName, now: float) -> bool:
        """Whether there is capacity for another request; a part is reserved for trusted peers, because strangers may be
        one person with many keys."""
        reserve = 0.0 if self._state.is_trusted(sender) else self._state.options.reserved
        if self.capacity.take(now, reserve=reserve):
            return True
        self._state.counts["declined"] += 1
        return False

    def _find(self, query: Query, max_hits: int) -> Response | None:
        """The response from our own content or from a held index; None if neither has it."""
        state = self._state
        found = state.content.find(query.target, max_hits)
        if found.hits:
            hits = tuple(found.hits[:max_hits])
            return fit_payload(
                Response(
                    query.id, state.own_contact, hits, statistics=found.statistics, walker=query.walker, ttl=query.ttl
                )
            )
        referrals: list[PeerName] = []
        for name, index in state.indexes():
            if name == query.origin.name or not index.may_have(query.target):
                continue
            hits = tuple(index.find(query.target, max_hits))[:max_hits]
            if hits:
                state.counts["answered_for_others"] += 1
                return fit_payload(Response(query.id, state.contact(name), hits, walker=query.walker, ttl=query.ttl))
            referrals.append(name)
        if not referrals:
            return None
        state.counts["answered_for_others"] += 1
        contacts = tuple(state.contact(name) for name in referrals[:MAX_REFERRALS])
        return Response(query.id, state.own_contact, referrals=contacts, walker=query.walker, ttl=query.ttl)

    def _reply(self, sender: PeerName, query: Query, message: Response | Declined, now: float) -> list[Envelope]:
        asker = query.origin
        is_allowed = self._forwarding.may_answer(sender, asker.name, now)
        return [Envelope(asker.name, message, asker.address)] if is_allowed else []
