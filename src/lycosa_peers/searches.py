"""The searches that a node makes: in its own content, in the indexes it holds, of its buddies, and by random walks."""

from collections import OrderedDict

from .buddy_policy import BuddyPolicy
from .fetches import Fetches, Nonces
from .forwarding import RESERVED_SHARE, Forwarding
from .messages import DIRECT, Contact, Envelope, PeerName, Query, Target
from .search import Answer, Answers, ReplyStatus, Search, Stage
from .state import NodeState


class Searches:
    """Starts searches and takes them from stage to stage; what comes back is processed by `Replies`.

    The stages are those of BuddyNet, section 5.3.5: own content, held indexes, buddies, random walks. A query to one
    peer, which is not forwarded, has the walker number `DIRECT`.
    """

    def __init__(self, state: NodeState, forwarding: Forwarding, policy: BuddyPolicy, fetches: Fetches, nonces: Nonces):
        self._state = state
        self._forwarding = forwarding
        self._policy = policy
        self._fetches = fetches
        self._nonces = nonces
        self._searches: OrderedDict[int, Search] = OrderedDict()
        self._unfinished: set[int] = set()  # ids of the searches that are not done

    # ------------------------------------------------------------ beginning and looking up

    def begin(
        self,
        target: Target,
        now: float,
        *,
        max_hits: int = 1,
        sufficient_hits: int = 1,
        timeout: float | None = None,
        query_id: int | None = None,
    ) -> tuple[int, list[Envelope]]:
        """Starts a search; returns its id, and what to send.

        max_hits: of each peer.
        sufficient_hits: different hits at which the search stops.
        timeout: seconds; by default that of the options.
        query_id: must never have been used.
        """
        state = self._state
        query_id = self._nonces.next() if query_id is None else query_id
        timeout = state.options.timeout if timeout is None else timeout
        search = Search(query_id, target, max_hits=max_hits, sufficient_hits=sufficient_hits, now=now, timeout=timeout)
        self._searches[query_id] = search
        self._unfinished.add(query_id)
        while len(self._searches) > state.options.searches:
            self._unfinished.discard(self._searches.popitem(last=False)[0])
        state.counts["asked"] += 1
        found = state.content.find_own(target, max_hits)
        if found.hits:
            answer = Answer(state.own_contact, state.name, Stage.OWN_CONTENT, found.hits, found.statistics, now)
            search.add(answer, (hit.item for hit in found.hits))
            search.tried_providers.add(state.name)
            if search.has_enough:
                self.mark_done(search, Stage.OWN_CONTENT, state.name)
        return query_id, self.advance(search, now)

    def get(self, query_id: int) -> Search | None:
        """The search of that id; None if it is forgotten."""
        return self._searches.get(query_id)

    def answers(self, query_id: int) -> Answers | None:
        """A snapshot of the search; None if it is forgotten."""
        search = self._searches.get(query_id)
        return None if search is None else search.snapshot()

    def stage(self, query_id: int) -> Stage | None:
        """How far the search has come; None if it is forgotten."""
        search = self._searches.get(query_id)
        return None if search is None else search.stage

    # ------------------------------------------------------------ from stage to stage

    def advance(self, search: Search, now: float) -> list[Envelope]:
        """Takes a search as far as it can go without waiting; returns what to send."""
        options = self._state.options
        outgoing: list[Envelope] = []
        while search.stage is not Stage.DONE and search.fetch_number is None:
            if now >= search.deadline:
                self._end_with_answers(search)
                break
            answer = search.next_to_try() if options.downloads else None
            if answer is not None:
                search.tried_providers.add(answer.provider.name)
                search.fetches += 1
                search.fetch_number, fetch = self._fetches.start(answer.provider, answer.hits[0].item, now, search.id)
                return outgoing + fetch
            if search.waiting_for and now < search.replies_deadline:
                break
            if not options.downloads and search.has_enough:
                self._end_with_answers(search)
                break
            if search.stage is Stage.OWN_CONTENT:
                search.stage = Stage.INDEXES
                outgoing += self._search_indexes(search, now)
            elif search.stage is Stage.INDEXES:
                search.stage = Stage.BUDDIES
                outgoing += self.ask_directly(search, self._state.contacts_to_ask(), now)
            elif search.stage is Stage.BUDDIES:
                search.stage = Stage.WALKING
                outgoing += self._walk(search, now)
            elif search.walkers or search.is_probing or self._waits_for_joins(search, now):
                break
            else:
                self._end_with_answers(search)
        return outgoing

    def mark_done(self, search: Search, found_in_stage: Stage | None, provider: PeerName | None) -> None:
        """Marks a search as done, and counts it as found unless `found_in_stage` is None."""
        search.stage, search.found_in_stage, search.provider = Stage.DONE, found_in_stage, provider
        self._unfinished.discard(search.id)
        self._state.counts["found" if found_in_stage is not None else "not_found"] += 1

    def _end_with_answers(self, search: Search) -> None:
        """Marks a search as done with the answers it has; they count as found unless items are to be fetched."""
        has_answer = search.found and search.answers and not self._state.options.downloads
        self.mark_done(search, search.answers[-1].stage if has_answer else None, None)

    def _search_indexes(self, search: Search, now: float) -> list[Envelope]:
        """Adds the hits of the held indexes; sends the query to peers whose index may have it but lists no hits."""
        to_ask: list[Contact] = []
        for name, index in self._state.indexes():
            if not index.may_have(search.target):
                continue
            contact, hits = self._state.contact(name), tuple(index.find(search.target, search.max_hits))
            if hits:
                answer = Answer(contact, self._state.name, Stage.INDEXES, hits, at=now)
                search.add(answer, (hit.item for hit in hits))
            else:
                to_ask.append(contact)
        return self.ask_directly(search, to_ask, now)

    def ask_directly(self, search: Search, contacts: list[Contact], now: float) -> list[Envelope]:
        """Sends the query to each peer that was neither asked nor tried before; the search waits for their replies."""
        state = self._state
        outgoing: list[Envelope] = []
        for contact in contacts:
            if contact.name in search.asked or contact.name in search.tried_providers or contact.name == state.name:
                continue
            query = Query(search.id, search.target, state.own_contact, max_hits=search.max_hits)
            envelope = Envelope(contact.name, query, state.contact(contact.name, contact.address).address)
            if self._forwarding.take_allowed([envelope], now):
                search.ask(contact.name)
                outgoing.append(envelope)
            else:
                search.rate_limited += 1
        if outgoing:
            search.replies_deadline = max(search.replies_deadline, now + state.options.buddy_wait)
        return outgoing

    # ------------------------------------------------------------ walkers

    def _walk(self, search: Search, now: float) -> list[Envelope]:
        """Sends the walkers. Only the first of a search may use the reserved part of the rate limit, so that of many
        concurrent searches each has one walker before any has more."""
        state, options = self._state, self._state.options
        if not state.is_reachable:
            return self._visit_neighbours(search, now)
        outgoing: list[Envelope] = []
        for number in range(1, 2 if options.floods else options.walkers + 1):
            walker = self._walker_number(number)
            ttl = options.flood_ttl if options.floods else options.ttl
            query = Query(search.id, search.target, state.own_contact, ttl, walker, search.max_hits)
            queries = self._forwarding.next_hops(query, None)
            allowed = self._forwarding.take_allowed(queries, now, reserve=RESERVED_SHARE if search.walkers else 0.0)
            search.rate_limited += len(queries) - len(allowed)
            if allowed:
                search.walkers.add(walker)
            outgoing += allowed
        search.issued += len(outgoing)
        return outgoing

    def _walker_number(self, number: int) -> int:
        """The number of a walker in its queries: unguessable if the options say so, and never `DIRECT`."""
        return self._nonces.next_walker() if self._state.options.secret_walkers else number

    def _visit_neighbours(self, search: Search, now: float) -> list[Envelope]:
        """Sends a walker of one step to each neighbour that was not asked yet, as no other peer could answer."""
        state = self._state
        outgoing: list[Envelope] = []
        for name in state.neighbours.names:
            is_skipped = name in search.asked or name in search.visited or name in state.neighbours.down
            if is_skipped or len(search.visited) >= state.options.walkers:
                continue
            walker = self._walker_number(len(search.visited) + 1)
            visit = state.envelope(name, Query(search.id, search.target, state.own_contact, 1, walker, search.max_hits))
            if self._forwarding.take_allowed([visit], now):
                search.visited.add(name)
                search.walkers.add(walker)
                outgoing.append(visit)
            else:
                search.rate_limited += 1
        search.issued += len(outgoing)
        return outgoing

    def _waits_for_joins(self, search: Search, now: float) -> bool:
        """Whether peers that were asked to join may soon be neighbours, if only neighbours can answer this node."""
        state = self._state
        return now < search.joining_deadline and bool(state.neighbours.pending_joins) and not state.is_reachable

    def neighbours_changed(self, now: float) -> list[Envelope]:
        """Sends unfinished searches to new neighbours, if only neighbours can answer this node."""
        outgoing: list[Envelope] = []
        for query_id in [] if self._state.is_reachable else sorted(self._unfinished):
            search = self._searches[query_id]
            if search.stage is Stage.WALKING and now < search.deadline:
                outgoing += self._visit_neighbours(search, now)
            outgoing += self.advance(search, now)
        return outgoing

    def walker_returned(self, sender: PeerName, query: Query, now: float) -> list[Envelope]:
        """Forwards a walker of this node's own search without a lookup; penalises the sender of a forged one."""
        state = self._state
        query = self._forwarding.clamp_ttl(query)
        if query.walker == DIRECT:
            state.penalise(sender, "forged", now)
            return []
        if query.id not in self._searches:  # invented by somebody before the sender, or from before a restart
            state.counts["forged"] += 1
            return []
        if state.options.floods:
            state.counts["duplicates"] += 1
            return []
        refusal = self._forwarding.why_refused(sender, query, now)
        if refusal in ("expired", "replayed"):
            return []  # the walker itself may still be out
        outgoing = [] if refusal else self._forwarding.forward(sender, query, now)
        return outgoing or self.walker_ended(query, now)

    def walker_ended(self, query: Query, now: float) -> list[Envelope]:
        """Records that a walker has ended, and advances its search."""
        search = self._searches.get(query.id)
        if search is None:
            return []
        search.walkers.discard(query.walker)
        return self.advance(search, now)

    def direct_query_undelivered(self, to: PeerName, query: Query, now: float) -> list[Envelope]:
        """Records that a peer is down, demotes it if the options say so, and advances the search."""
        search = self._searches.get(query.id)
        if search is None or not search.record_reply(to, ReplyStatus.DOWN):
            return []
        if self._state.options.demotes_unreachable:
            self._policy.demote(to)
        return self.advance(search, now)

    # ------------------------------------------------------------ time

    def tick(self, now: float) -> list[Envelope]:
        """Advances all unfinished searches."""
        outgoing: list[Envelope] = []
        for query_id in sorted(self._unfinished):
            outgoing += self.advance(self._searches[query_id], now)
        return outgoing

    def deadlines(self) -> list[float]:
        """When unfinished searches have something to do, unless an answer comes before."""
        moments: list[float] = []
        for query_id in self._unfinished:
            search = self._searches[query_id]
            if search.fetch_number is not None:
                continue
            moments.append(search.deadline)
            if search.stage is Stage.WALKING and not search.walkers:
                if not search.is_probing:
                    moments.append(max(search.replies_deadline, search.joining_deadline))
                elif search.has_enough:  # else only the end of the probes can end it: an earlier moment would recur
                    moments.append(search.replies_deadline)
            elif search.waiting_for and search.stage is not Stage.WALKING:
                moments.append(search.replies_deadline)
        return moments
