"""The half of a node that searches for its own sake: at home, in indexes, among buddies, by a walk."""

import hashlib
from collections import OrderedDict

from msgspec import Struct

from .content import Content
from .learning import Learning
from .messages import (
    DIRECT,
    Contact,
    Declined,
    Fetch,
    Fetched,
    Item,
    PeerName,
    Query,
    Response,
    Send,
    Wanted,
)
from .options import NodeOptions
from .searching import Answer, Answers, Failure, Reply, Search, Stage

MOST_FETCHES = 256  # under way
MOST_BROUGHT = 16  # that were not asked for


class _Fetching(Struct, frozen=True):
    provider: Contact
    item: Item
    until: float
    search: int | None  # the search it is for


class Asking(Learning):
    """Asks in the order of section 5.3.5; the first answer that holds good is what it learns from."""

    def __init__(self, me: Contact, content: Content, *, options: NodeOptions, seed: int, secret: bytes):
        super().__init__(me, content, options=options, seed=seed)
        self._secret = secret
        self._numbered = 0
        self._searches: OrderedDict[int, Search] = OrderedDict()
        self._open: set[int] = set()  # searches that are not done
        self._fetches: dict[int, _Fetching] = {}
        self._brought: OrderedDict[int, bytes | Failure] = OrderedDict()

    def ask(
        self,
        wanted: Wanted,
        now: float,
        *,
        most: int = 1,
        enough: int = 1,
        deadline: float | None = None,
        query_id: int | None = None,
    ) -> tuple[int, list[Send]]:
        """Begins a search: its id, and what to send. `most` hits are wanted of each who answers; with `enough` of
        them it goes no further. An id of one's own choice must be one that was never used."""
        number = self._unguessable() if query_id is None else query_id
        deadline = self.options.deadline if deadline is None else deadline
        search = Search(number, wanted, most=most, enough=enough, now=now, deadline=deadline)
        self._searches[number] = search
        self._open.add(number)
        while len(self._searches) > self.options.searches:
            self._open.discard(self._searches.popitem(last=False)[0])
        self.counts["asked"] += 1
        found = self.content.find(wanted, most)
        if found.hits:
            search.answers.append(Answer(self.me, self.name, Stage.HOME, found.hits, found.statistics, now))
            search.tried.add(self.name)
            if len(found.hits) >= enough:
                self._end(search, Stage.HOME, self.name)
        return number, self._go_on(search, now)

    def answers(self, query_id: int) -> Answers | None:
        """The search so far; None where it is forgotten."""
        search = self._searches.get(query_id)
        return None if search is None else search.view()

    def stage(self, query_id: int) -> Stage | None:
        """How far the search has come; None where it is forgotten."""
        search = self._searches.get(query_id)
        return None if search is None else search.stage

    def fetch(self, provider: Contact, item: Item, now: float, query_id: int | None = None) -> tuple[int, list[Send]]:
        """Asks a provider for the thing itself: the number to ask `brought` for, and what to send."""
        number = self._unguessable()
        while len(self._fetches) >= MOST_FETCHES:
            del self._fetches[next(iter(self._fetches))]
        self._fetches[number] = _Fetching(provider, item, now + self.options.fetch_wait, query_id)
        self.counts["fetches"] += 1
        return number, [Send(provider.name, Fetch(number, item), provider.address)]

    def brought(self, number: int) -> bytes | Failure | None:
        """What a fetch of one's own brought, or why it brought nothing, told once; None while it is under way."""
        return self._brought.pop(number, None)

    def _bring(self, number: int, what: bytes | Failure) -> None:
        self._brought[number] = what
        while len(self._brought) > MOST_BROUGHT:
            self._brought.popitem(last=False)

    def _unguessable(self) -> int:
        self._numbered += 1
        text = f"{self.name}\n{self._numbered}".encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=8).digest(), "little")

    def _asks_here(self, number: int) -> bool:
        return number in self._searches

    def _walker_ended(self, number: int, walker: int, now: float) -> list[Send]:
        search = self._searches.get(number)
        if search is None:
            return []
        search.walkers.discard(walker)
        return self._go_on(search, now)

    def _go_on(self, search: Search, now: float) -> list[Send]:
        """What a search does next, as far as it need not wait."""
        sends: list[Send] = []
        while search.stage is not Stage.DONE and search.fetching is None:
            if now >= search.deadline:
                self._settle(search)
                break
            answer = search.next_to_try() if self.options.downloads else None
            if answer is not None:
                search.tried.add(answer.provider.name)
                search.fetches += 1
                search.fetching, fetch = self.fetch(answer.provider, answer.hits[0].item, now, search.id)
                return sends + fetch
            if search.waiting_for and now < search.wait_until:
                break
            if not self.options.downloads and search.hits() >= search.enough:
                self._settle(search)
                break
            if search.stage is Stage.HOME:
                search.stage = Stage.INDEXES
                sends += self._look_into_indexes(search, now)
            elif search.stage is Stage.INDEXES:
                search.stage = Stage.BUDDIES
                sends += self._ask_directly(search, [buddy.contact for buddy in self.buddies], now)
            elif search.stage is Stage.BUDDIES:
                search.stage = Stage.WALKING
                sends += self._walk(search)
            elif not search.walkers:
                self._settle(search)
            else:
                break
        return sends

    def _settle(self, search: Search) -> None:
        """Is content with what there is: partial answers are answers, where nothing is to be fetched."""
        found = search.answers[-1].stage if search.answers and not self.options.downloads else None
        self._end(search, found, None)

    def _end(self, search: Search, found_at: Stage | None, provider: PeerName | None) -> None:
        search.stage, search.found_at, search.provider = Stage.DONE, found_at, provider
        self._open.discard(search.id)
        self.counts["found" if found_at is not None else "not_found"] += 1

    def _look_into_indexes(self, search: Search, now: float) -> list[Send]:
        ask: list[Contact] = []
        for name, index in self._indexes():
            if not index.may_have(search.wanted):
                continue
            contact, hits = self._contact(name), tuple(index.find(search.wanted, search.most))
            if hits:
                search.answers.append(Answer(contact, self.name, Stage.INDEXES, hits, at=now))
            else:
                ask.append(contact)
        return self._ask_directly(search, ask, now)

    def _ask_directly(self, search: Search, contacts: list[Contact], now: float) -> list[Send]:
        """A query to each that was not asked yet, nor tried in vain."""
        sends = []
        for contact in contacts:
            if contact.name in search.asked or contact.name in search.tried or contact.name == self.name:
                continue
            search.asks(contact.name)
            query = Query(search.id, search.wanted, self.me, most=search.most)
            sends.append(Send(contact.name, query, contact.address))
        if sends:
            search.wait_until = max(search.wait_until, now + self.options.buddy_wait)
        return sends

    def _walk(self, search: Search) -> list[Send]:
        floods = self.options.floods
        sends: list[Send] = []
        for walker in range(1, 2 if floods else self.options.walkers + 1):
            ttl = self.options.flood_ttl if floods else self.options.ttl
            onward = self._onward(Query(search.id, search.wanted, self.me, ttl, walker, search.most), None)
            if onward:
                search.walkers.add(walker)
            sends += onward
        search.issued += len(sends)
        return sends

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
            if direct and sender in search.asked:
                self._misbehaved(sender, "repeated", now, by=0.5)
            else:
                self.counts["unasked"] += 1
            return []
        search.received += 1
        self.counts["responses"] += 1
        if said_something:
            return self._heard(search, sender, response, now) + self._go_on(search, now)
        return self._go_on(search, now)

    def _from_walker(self, search: Search, response: Response) -> bool:
        if self.options.floods:  # its one walker ends with many
            return response.walker in search.walkers and search.received < self.options.most_per_query
        return search.takes_from_walker(response.walker)

    def _heard(self, search: Search, sender: PeerName, response: Response, now: float) -> list[Send]:
        provider = response.provider
        stage = search.asked_at[sender] if response.walker == DIRECT else Stage.WALKING
        if self.manners.shunned(provider.name, now) or provider.name == self.name:
            search.dropped += 1
            return []
        elsewhere = list(response.elsewhere)
        if response.hits and (provider.name == sender or self.options.downloads):
            hits = response.hits[: search.most]
            answer = Answer(provider, sender, stage, hits, response.statistics, now, response.walker)
            search.answers.append(answer)
            if not self.options.downloads and search.credited < self.options.credited:
                search.credited += 1
                self._credit(answer)
        elif response.hits:  # what one says of another is asked of that one
            elsewhere.append(provider)
        room = self.options.referrals - search.referred
        referred = self._ask_directly(search, elsewhere[: max(0, room)], now) if now < search.deadline else []
        search.referred += len(referred)
        return referred

    def _declined(self, sender: PeerName, declined: Declined, now: float) -> list[Send]:
        if declined.about == "index":
            self.held.not_coming(sender)
            return []
        if declined.about == "fetch":
            return self._fetch_failed(sender, declined.id, Failure.DECLINED, now)
        search = self._searches.get(declined.id)
        if search is None or not search.replied(sender, Reply.DECLINED):
            self._misbehaved(sender, "unasked", now)
            return []
        self.counts["declined_by_others"] += 1
        self._demote(sender)
        return self._go_on(search, now)

    def _fetched(self, sender: PeerName, fetched: Fetched, now: float) -> list[Send]:
        fetching = self._fetches.get(fetched.id)
        if fetching is None or fetching.provider.name != sender or fetching.item != fetched.item:
            self._misbehaved(sender, "unasked", now)
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

    def _fetch_failed(self, provider: PeerName, number: int, why: Failure, now: float) -> list[Send]:
        fetching = self._fetches.get(number)
        if fetching is None or fetching.provider.name != provider:
            self._misbehaved(provider, "unasked", now)
            return []
        del self._fetches[number]
        search = self._searches.get(fetching.search) if fetching.search is not None else None
        if search is None or search.fetching != number:
            self._bring(number, why)
            return self.failed(provider, why, now)
        search.fetching = None
        via = next((each.via for each in search.answers if each.provider.name == provider), None)
        return self.failed(provider, why, now, via) + self._go_on(search, now)
