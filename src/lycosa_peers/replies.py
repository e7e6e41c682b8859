"""Replies to the requests of a node: answers, refusals, and items."""

from .buddy_policy import BuddyPolicy
from .fetches import Fetches, PendingFetch
from .messages import DIRECT, Declined, Envelope, Fetched, Message, PeerName, Response
from .probes import Probes
from .search import Answer, Failure, ReplyStatus, Search, Stage
from .searches import Searches
from .state import NodeState


class Replies:
    """Accepts only what was requested. Where items are downloaded, the first correct answer is credited.

    Replies are the messages RESPONSE, DECLINED and FETCHED. The hits of a RESPONSE become an `Answer` of the search: a
    provider, its hits, and as `via` the peer that named the provider. An answer is checked by fetching a sample page of
    it and by an unanswerable query, the trap; see `probes`.
    """

    def __init__(self, state: NodeState, searches: Searches, fetches: Fetches, policy: BuddyPolicy, probes: Probes):
        self._state = state
        self._searches = searches
        self._fetches = fetches
        self._policy = policy
        self._probes = probes

    def awaits(self, sender: PeerName, message: Message) -> bool:
        """Whether the message is an awaited answer to a query of this node: of a search, or of a trap, which any peer
        may answer, once."""
        match message:
            case Response(number) if self._probes.is_trap_query(number):
                return True
            case Response(number, walker=walker):
                search = self._searches.get(number)
            case Declined("query", number):
                search, walker = self._searches.get(number), DIRECT
            case _:
                return False
        return search is not None and search.awaits(sender, walker)

    # ------------------------------------------------------------ to queries

    def on_response(self, sender: PeerName, response: Response, now: float) -> list[Envelope]:
        if self._probes.is_trap_query(response.query):
            return self._probes.trap_answered(sender, response, now)
        search = self._searches.get(response.query)
        if search is None:  # not the sender's fault: somebody may have given it a wrong asker
            self._state.counts["unasked"] += 1
            return []
        is_direct = response.walker == DIRECT
        has_content = bool(response.hits or response.referrals)
        reply = ReplyStatus.ANSWERED if has_content else ReplyStatus.LACKS
        is_expected = search.record_reply(sender, reply) if is_direct else self._accept_from_walker(search, response)
        if not is_expected:
            search.dropped += 1
            self._unexpected(search, sender, is_direct, now)
            return []
        search.received += 1
        self._state.counts["responses"] += 1
        outgoing = self._process(search, sender, response, now) if has_content else []
        return outgoing + self._searches.advance(search, now)

    def on_declined(self, sender: PeerName, declined: Declined, now: float) -> list[Envelope]:
        if declined.request_kind == "index":
            self._state.held.request_failed(sender)
            return []
        if declined.request_kind == "fetch":
            return self.fetch_failed(sender, declined.id, Failure.DECLINED, now)
        search = self._searches.get(declined.id)
        if search is None:  # forgotten meanwhile, or of an earlier run
            self._state.counts["unasked"] += 1
            return []
        if not search.record_reply(sender, ReplyStatus.DECLINED):
            self._unexpected(search, sender, True, now)
            return []
        self._state.counts["declined_by_others"] += 1
        self._policy.demote(sender)
        return self._searches.advance(search, now)

    def _unexpected(self, search: Search, sender: PeerName, is_direct: bool, now: float) -> None:
        """Penalises only a peer that answers twice; one that was never asked may have been deceived."""
        if is_direct and sender in search.asked:
            self._state.penalise(sender, "repeated", now, demerits=0.5)
        else:
            self._state.counts["unasked"] += 1

    def _accept_from_walker(self, search: Search, response: Response) -> bool:
        """Accepts the first response for a walker, which ends it, and refuses any other. The single walker of a flood
        goes on, as it may reach many peers: up to `max_per_query` responses are accepted."""
        options = self._state.options
        if options.floods:
            return response.walker in search.walkers and search.received < options.max_per_query
        return search.end_walker(response.walker)

    def _process(self, search: Search, sender: PeerName, response: Response, now: float) -> list[Envelope]:
        """Adds the hits to the search; asks the peers named in the response."""
        options, provider = self._state.options, response.provider
        is_refused = provider.name == self._state.name or provider.name in search.rejected
        if is_refused or self._state.reputation.is_banned(provider.name, now):
            search.dropped += 1
            return []
        referrals, check_requests = list(response.referrals), list[Envelope]()
        if response.hits and (provider.name == sender or options.downloads):
            check_requests = self._add_hits(search, sender, response, now)
        elif response.hits:  # claims about another peer are checked with that peer
            referrals.append(provider)
        if search.stage is Stage.DONE or now >= search.deadline:
            return check_requests
        room = options.referrals - search.referrals_asked
        referred = self._searches.ask_directly(search, referrals[: max(0, room)], now)
        search.referrals_asked += len(referred)
        return check_requests + referred

    def _add_hits(self, search: Search, sender: PeerName, response: Response, now: float) -> list[Envelope]:
        """Adds the hits that can be answers. A peer that was asked directly is penalised if none can be; one reached by
        a walker may have got a different query. Hits that this node may not store are only shown to the user."""
        state = self._state
        is_direct, statistics = response.walker == DIRECT, response.statistics
        hits = tuple(hit for hit in response.hits if state.content.is_plausible_hit(search.target, hit, statistics))
        search.dropped_hits += len(response.hits) - len(hits)
        state.counts["dropped_hits"] += len(response.hits) - len(hits)
        if not hits:
            search.dropped += 1
            if is_direct:
                state.penalise(sender, "no_answer", now, demerits=0.5)
                self._policy.demote(sender)
            else:
                state.counts["no_answer"] += 1
            return []
        stage = search.asked_in_stage[sender] if is_direct else Stage.WALKING
        provider = response.provider
        if provider.name != sender:
            provider = state.contact(provider.name, provider.address)
        answer = Answer(
            provider,
            sender,
            stage,
            hits[: search.max_hits],
            statistics,
            now,
            response.walker,
            network=state.neighbours.address_groups.get(sender, ""),
        )
        if state.options.downloads:  # it is fetched, and credited then
            search.add(answer, (hit.item for hit in answer.hits if state.content.may_store(hit.item)))
            return []
        return self._probes.check(search, answer, now)

    # ------------------------------------------------------------ to fetches

    def on_fetched(self, sender: PeerName, fetched: Fetched, now: float) -> list[Envelope]:
        fetch = self._fetches.pending(fetched.id, sender)
        if fetch is None or fetch.item != fetched.item:
            self._fetches.unexpected(sender, fetched.id, now)
            return []
        if fetched.body is None:
            return self.fetch_failed(sender, fetched.id, Failure.LACKS, now)
        if not self._state.content.is_item(fetched.item, fetched.body):
            return self.fetch_failed(sender, fetched.id, Failure.WRONG, now)
        self._fetches.finish(fetched.id)
        self._state.counts["fetched"] += 1
        self._state.reputation.reward(sender, now)
        if self._probes.is_sample_fetch(fetched.id):
            return self._probes.sample_fetched(fetched.id, fetched.body, now)
        search = self._search_of(fetched.id, fetch)
        if search is None:
            self._fetches.keep_result(fetched.id, fetched.body)
            return []
        search.fetch_number = None
        answer = next(each for each in search.answers if each.provider.name == sender)
        self._state.reputation.reward(answer.via, now)
        self._policy.credit(answer)
        self._searches.mark_done(search, answer.stage, sender)
        return []

    def fetch_failed(self, provider: PeerName, number: int, reason: Failure, now: float) -> list[Envelope]:
        """Continues a search with the next provider after one did not deliver."""
        fetch = self._fetches.pending(number, provider)
        if fetch is None:
            self._fetches.unexpected(provider, number, now)
            return []
        if reason is Failure.DOWN:
            self._fetches.time_out(number)
        else:
            self._fetches.finish(number)
        if self._probes.is_sample_fetch(number):
            return self._probes.sample_failed(number, reason, now)
        search = self._search_of(number, fetch)
        if search is None:
            self._fetches.keep_result(number, reason)
            return self._policy.provider_failed(provider, reason, now)
        search.fetch_number = None
        via = next((each.via for each in search.answers if each.provider.name == provider), None)
        return self._policy.provider_failed(provider, reason, now, via) + self._searches.advance(search, now)

    def _search_of(self, number: int, fetch: PendingFetch) -> Search | None:
        """The search that waits for a fetch; None for a fetch of the user."""
        search = self._searches.get(fetch.search_id) if fetch.search_id is not None else None
        return search if search is not None and search.fetch_number == number else None

    def tick(self, now: float) -> list[Envelope]:
        """Fails the fetches that have timed out."""
        outgoing: list[Envelope] = []
        for number, provider in self._fetches.due(now):
            outgoing += self.fetch_failed(provider, number, Failure.DOWN, now)
        return outgoing
