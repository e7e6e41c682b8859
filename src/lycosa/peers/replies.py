"""What comes back of what a node asked: answers, refusals, the things themselves."""

from .messages import DIRECT, Declined, Fetched, Message, PeerName, Response, Send
from .search import Answer, Failure, Reply, Search, Stage
from .searches import Asking


class Hearing(Asking):
    """Takes what was asked for, and nothing else; learns from the first that holds good."""

    def _awaits(self, sender: PeerName, message: Message) -> bool:
        """Whether it is an answer to a query of one's own, which is waited for."""
        match message:
            case Response(number, walker=walker):
                search = self._searches.get(number)
            case Declined("query", number):
                search, walker = self._searches.get(number), DIRECT
            case _:
                return False
        return search is not None and search.awaits(sender, walker)

    def _response(self, sender: PeerName, response: Response, now: float) -> list[Send]:
        search = self._searches.get(response.query)
        if search is None:  # no fault of a sender to whom somebody lied about who asks
            self.counts["unasked"] += 1
            return []
        direct = response.walker == DIRECT
        said_something = bool(response.hits or response.elsewhere)
        reply = Reply.ANSWERED if said_something else Reply.LACKS
        expected = search.replied(sender, reply) if direct else self._from_walker(search, response)
        if not expected:
            search.dropped += 1
            self._not_expected(search, sender, direct, now)
            return []
        search.received += 1
        self.counts["responses"] += 1
        if said_something:
            return self._heard(search, sender, response, now) + self._go_on(search, now)
        return self._go_on(search, now)

    def _not_expected(self, search: Search, sender: PeerName, direct: bool, now: float) -> None:
        """Only who answers twice is to blame; one that nobody asked may have been lied to."""
        if direct and sender in search.asked:
            self.misbehaved(sender, "repeated", now, by=0.5)
        else:
            self.counts["unasked"] += 1

    def _from_walker(self, search: Search, response: Response) -> bool:
        if self.options.floods:  # its one walker ends with many
            return response.walker in search.walkers and search.received < self.options.most_per_query
        return search.takes_from_walker(response.walker)

    def _heard(self, search: Search, sender: PeerName, response: Response, now: float) -> list[Send]:
        provider = response.provider
        if self.manners.shunned(provider.name, now) or provider.name == self.name:
            search.dropped += 1
            return []
        elsewhere = list(response.elsewhere)
        if response.hits and (provider.name == sender or self.options.downloads):
            self._found_by(search, sender, response, now)
        elif response.hits:  # what one says of another is asked of that one
            elsewhere.append(provider)
        if search.stage is Stage.DONE or now >= search.deadline:
            return []
        room = self.options.referrals - search.referred
        referred = self._ask_directly(search, elsewhere[: max(0, room)], now)
        search.referred += len(referred)
        return referred

    def _found_by(self, search: Search, sender: PeerName, response: Response, now: float) -> None:
        """Takes the hits that can be answers. Who was asked directly is blamed where none of them can; who was met by
        a walker may have been asked something else. Of what this node may not take, only the user is told."""
        direct, told = response.walker == DIRECT, response.statistics
        hits = tuple(hit for hit in response.hits if self.content.may_answer(search.wanted, hit, told))
        search.dropped_hits += len(response.hits) - len(hits)
        self.counts["dropped_hits"] += len(response.hits) - len(hits)
        if not hits:
            search.dropped += 1
            if direct:
                self.misbehaved(sender, "no_answer", now, by=0.5)
                self._demote(sender)
            else:
                self.counts["no_answer"] += 1
            return
        stage = search.asked_at[sender] if direct else Stage.WALKING
        provider = response.provider
        if provider.name != sender:
            provider = self._contact(provider.name, provider.address)
        answer = Answer(provider, sender, stage, hits[: search.most], told, now, response.walker)
        found = [hit.item for hit in answer.hits if self.content.may_take(hit.item)]
        search.heard(answer, found)
        may_credit = not self.options.downloads and len(search.credited) < self.options.credited
        if found and may_credit and sender not in search.credited:
            search.credited.add(sender)
            self._credit(answer)

    def _declined(self, sender: PeerName, declined: Declined, now: float) -> list[Send]:
        if declined.about == "index":
            self.held.not_coming(sender)
            return []
        if declined.about == "fetch":
            return self._fetch_failed(sender, declined.id, Failure.DECLINED, now)
        search = self._searches.get(declined.id)
        if search is None:  # forgotten meanwhile, or of a run before
            self.counts["unasked"] += 1
            return []
        if not search.replied(sender, Reply.DECLINED):
            self._not_expected(search, sender, True, now)
            return []
        self.counts["declined_by_others"] += 1
        self._demote(sender)
        return self._go_on(search, now)

    def _fetched(self, sender: PeerName, fetched: Fetched, now: float) -> list[Send]:
        fetching = self._fetches.get(fetched.id)
        if fetching is None or fetching.provider.name != sender or fetching.item != fetched.item:
            self._not_awaited(sender, fetched.id, now)
            return []
        if fetched.body is None:
            return self._fetch_failed(sender, fetched.id, Failure.LACKS, now)
        if not self.content.verify(fetched.item, fetched.body):
            return self._fetch_failed(sender, fetched.id, Failure.WRONG, now)
        del self._fetches[fetched.id]
        self.counts["fetched"] += 1
        self.fetched(fetching.provider, now)
        search = self._searches.get(fetching.search) if fetching.search is not None else None
        if search is not None and search.fetching == fetched.id:
            search.fetching = None
            answer = next(each for each in search.answers if each.provider.name == sender)
            self.manners.behaved(answer.via, now)
            self._credit(answer)
            self._end(search, answer.stage, sender)
        else:
            self._bring(fetched.id, fetched.body)
        return []

    def _not_awaited(self, sender: PeerName, number: int, now: float) -> None:
        """Somebody answers a fetch that is none of theirs, or is over: a slow one has done nothing wrong."""
        if self._late.get(number) == sender:
            del self._late[number]
            self.counts["late"] += 1
        else:
            self.misbehaved(sender, "unasked", now)

    def _fetch_failed(self, provider: PeerName, number: int, why: Failure, now: float) -> list[Send]:
        fetching = self._fetches.get(number)
        if fetching is None or fetching.provider.name != provider:
            self._not_awaited(provider, number, now)
            return []
        if why is Failure.DOWN:
            self._no_longer_awaited(number)
        else:
            del self._fetches[number]
        search = self._searches.get(fetching.search) if fetching.search is not None else None
        if search is None or search.fetching != number:
            self._bring(number, why)
            return self.failed(provider, why, now)
        search.fetching = None
        via = next((each.via for each in search.answers if each.provider.name == provider), None)
        return self.failed(provider, why, now, via) + self._go_on(search, now)
