"""The half of a node that serves others: it looks for what they ask, passes on, shows its index, hands out."""

from msgspec.structs import replace

from .messages import (
    DIRECT,
    MOST_HITS,
    Declined,
    Fetch,
    Fetched,
    Index,
    IndexRequest,
    PeerName,
    Query,
    Response,
    Send,
)
from .parts import Parts
from .routing import clamped

MOST_ELSEWHERE = 3  # peers that one response names


class Answering(Parts):
    """Answers from its own content, then from the indexes it holds, else passes on (BuddyNet, section 5.3.5)."""

    def _asks_here(self, number: int) -> bool:
        """Whether this node has such a search of its own."""
        raise NotImplementedError

    def _walker_ended(self, number: int, walker: int, now: float) -> list[Send]:
        """What to do about a walker of its own that has come to nothing here."""
        raise NotImplementedError

    def _query(self, sender: PeerName, query: Query, now: float) -> list[Send]:
        ttl = 1 if query.walker == DIRECT else clamped(query.ttl, self.options.most_ttl)
        if ttl != query.ttl:
            self.counts["ttl_cut"] += 1
            query = replace(query, ttl=ttl)
        if ttl < 1:
            self._misbehaved(sender, "expired", now)
            return []
        mine = query.origin.name == self.name
        if (query.walker == DIRECT and query.origin.name != sender) or (mine and not self._asks_here(query.id)):
            self._misbehaved(sender, "forged", now)
            return []
        if not mine and self.manners.shunned(query.origin.name, now):
            self.counts["shunned"] += 1
            return []
        which = (query.origin.name, query.id)
        if self.options.floods and (mine or which in self._seen):
            self.counts["duplicates"] += 1
            return []
        trouble = self._seen.note(which, query.walker, ttl)
        if trouble == "replayed":
            self._misbehaved(sender, trouble, now, by=0.5)
            return []
        if trouble:
            self.counts[trouble] += 1
            return self._ended(query, now)
        if mine:
            return self._passed_on(sender, query, now)
        if not self._serving.take(now):
            self.counts["declined"] += 1
            if query.walker == DIRECT:
                return [self._reply(query, Declined("query", query.id))]
            return self._passed_on(sender, query, now)
        answer = self._found(query)
        if answer is None:
            return self._passed_on(sender, query, now)
        self.counts["answered"] += 1
        return [self._reply(query, answer)]

    def _found(self, query: Query) -> Response | None:
        most = min(query.most, MOST_HITS)
        found = self.content.find(query.wanted, most)
        if found.hits:
            return Response(
                query.id,
                self.me,
                tuple(found.hits[:most]),
                statistics=found.statistics,
                walker=query.walker,
                ttl=query.ttl,
            )
        elsewhere: list[PeerName] = []
        for name, index in self._indexes():
            if name == query.origin.name or not index.may_have(query.wanted):
                continue
            hits = tuple(index.find(query.wanted, most))[:most]
            if hits:
                self.counts["answered_for_others"] += 1
                return Response(query.id, self._contact(name), hits, walker=query.walker, ttl=query.ttl)
            elsewhere.append(name)
        if not elsewhere:
            return None
        self.counts["answered_for_others"] += 1
        contacts = tuple(self._contact(name) for name in elsewhere[:MOST_ELSEWHERE])
        return Response(query.id, self.me, elsewhere=contacts, walker=query.walker, ttl=query.ttl)

    def _passed_on(self, sender: PeerName, query: Query, now: float) -> list[Send]:
        onward: list[Send] = []
        if query.ttl > 1:
            onward = self._onward(replace(query, ttl=query.ttl - 1), sender)
            self.counts["passed_on"] += len(onward)
        return onward or self._ended(query, now)

    def _ended(self, query: Query, now: float) -> list[Send]:
        """The query goes no further; the asker is told where that is wanted."""
        if query.origin.name == self.name:
            return self._walker_ended(query.id, query.walker, now)
        if self.options.says_no:
            return [self._reply(query, Response(query.id, self.me, walker=query.walker, ttl=query.ttl))]
        return []

    def _reply(self, query: Query, message: Response | Declined) -> Send:
        return Send(query.origin.name, message, query.origin.address)

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
