"""The half of a node that searches for its own sake: at home, in indexes, among buddies, by a walk."""

import hashlib
from collections import OrderedDict

from msgspec import Struct

from .content import Content
from .forwarding import RESERVED, Passing
from .learning import Learning
from .messages import DIRECT, Contact, Fetch, Item, PeerName, Query, Send, Wanted
from .options import NodeOptions
from .search import Answer, Answers, Failure, Search, Stage

MOST_FETCHES = 256  # under way, and as many that are late
MOST_BROUGHT = 16  # that nobody has asked for yet


class Fetching(Struct, frozen=True):
    """Something that a provider was asked for."""

    provider: Contact
    item: Item
    until: float
    search: int | None  # the search it is for


class Asking(Learning, Passing):
    """Asks in the order of section 5.3.5; the first answer that holds good is what it learns from."""

    def __init__(self, me: Contact, content: Content, *, options: NodeOptions, seed: int, secret: bytes):
        super().__init__(me, content, options=options, seed=seed)
        self._secret = secret
        self._numbered = 0
        self._searches: OrderedDict[int, Search] = OrderedDict()
        self._open: set[int] = set()  # searches that are not done
        self._fetches: dict[int, Fetching] = {}
        self._brought: OrderedDict[int, bytes | Failure] = OrderedDict()
        self._late: OrderedDict[int, PeerName] = OrderedDict()  # fetches that are not waited for any more

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
        """Begins a search: its id, and what to send. `most` hits are wanted of each who answers; with `enough`
        different ones it goes no further. An id of one's own choice must be one that was never used."""
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
            answer = Answer(self.me, self.name, Stage.HOME, found.hits, found.statistics, now)
            search.heard(answer, (hit.item for hit in found.hits))
            search.tried.add(self.name)
            if search.has_enough:
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
            self._no_longer_awaited(next(iter(self._fetches)))
        self._fetches[number] = Fetching(provider, item, now + self.options.fetch_wait, query_id)
        self.counts["fetches"] += 1
        return number, [Send(provider.name, Fetch(number, item), provider.address)]

    def brought(self, number: int) -> bytes | Failure | None:
        """What a fetch of one's own brought, or why it brought nothing, told once; None while it is under way."""
        return self._brought.pop(number, None)

    def _bring(self, number: int, what: bytes | Failure) -> None:
        self._brought[number] = what
        while len(self._brought) > MOST_BROUGHT:
            self._brought.popitem(last=False)

    def _no_longer_awaited(self, number: int) -> None:
        self._late[number] = self._fetches.pop(number).provider.name
        if len(self._late) > MOST_FETCHES:
            self._late.popitem(last=False)

    def _unguessable(self, size: int = 8) -> int:
        """A number of so many bytes that only who is told it knows."""
        self._numbered += 1
        text = f"{self.name}\n{self._numbered}".encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=size).digest(), "little")

    def _came_home(self, sender: PeerName, query: Query, now: float) -> list[Send]:
        """A walker of one's own is sent on without looking."""
        query = self._cut(query)
        if query.walker == DIRECT:
            self.misbehaved(sender, "forged", now)
            return []
        if query.id not in self._searches:  # made up by somebody before the sender, or from before a restart
            self.counts["forged"] += 1
            return []
        if self.options.floods:
            self.counts["duplicates"] += 1
            return []
        trouble = self._trouble(sender, query, now)
        if trouble in ("expired", "replayed"):
            return []
        return ([] if trouble else self._passed_on(sender, query, now)) or self._walker_ended(query, now)

    def _walker_ended(self, query: Query, now: float) -> list[Send]:
        search = self._searches.get(query.id)
        if search is None:
            return []
        search.walkers.discard(query.walker)
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
            if not self.options.downloads and search.has_enough:
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
                sends += self._walk(search, now)
            elif search.walkers or self._waits_for_newcomers(search, now):
                break
            else:
                self._settle(search)
        return sends

    def _settle(self, search: Search) -> None:
        """Is content with what there is: partial answers are answers, where nothing is to be fetched."""
        self._end(search, search.answers[-1].stage if search.found and not self.options.downloads else None, None)

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
                answer = Answer(contact, self.name, Stage.INDEXES, hits, at=now)
                search.heard(answer, (hit.item for hit in hits))
            else:
                ask.append(contact)
        return self._ask_directly(search, ask, now)

    def _ask_directly(self, search: Search, contacts: list[Contact], now: float) -> list[Send]:
        """A query to each that was not asked yet, nor tried in vain."""
        sends: list[Send] = []
        for contact in contacts:
            if contact.name in search.asked or contact.name in search.tried or contact.name == self.name:
                continue
            query = Query(search.id, search.wanted, self.me, most=search.most)
            send = Send(contact.name, query, self._contact(contact.name, contact.address).address)
            if self._within_bounds([send], now):
                search.asks(contact.name)
                sends.append(send)
            else:
                search.held_back += 1
        if sends:
            search.wait_until = max(search.wait_until, now + self.options.buddy_wait)
        return sends

    def _walk(self, search: Search, now: float) -> list[Send]:
        """Sends the walkers; where many searches go on at once, each has one before any has more."""
        if not self.is_called:
            return self._visit_neighbours(search, now)
        floods = self.options.floods
        sends: list[Send] = []
        for number in range(1, 2 if floods else self.options.walkers + 1):
            walker = self._walker(number)
            ttl = self.options.flood_ttl if floods else self.options.ttl
            onward = self._onward(Query(search.id, search.wanted, self.me, ttl, walker, search.most), None)
            sent = self._within_bounds(onward, now, leaving=RESERVED if search.walkers else 0.0)
            search.held_back += len(onward) - len(sent)
            if sent:
                search.walkers.add(walker)
            sends += sent
        search.issued += len(sends)
        return sends

    def _walker(self, number: int) -> int:
        return 1 + self._unguessable(3) if self.options.secret_walkers else number

    def _visit_neighbours(self, search: Search, now: float) -> list[Send]:
        """A walker to each neighbour that was not asked yet, and no farther, as nobody there could answer."""
        sends: list[Send] = []
        for name in self.neighbours.names:
            is_done = name in search.asked or name in search.visited or name in self.neighbours.down
            if is_done or len(search.visited) >= self.options.walkers:
                continue
            walker = self._walker(len(search.visited) + 1)
            visit = self._send(name, Query(search.id, search.wanted, self.me, 1, walker, search.most))
            if self._within_bounds([visit], now):
                search.visited.add(name)
                search.walkers.add(walker)
                sends.append(visit)
            else:
                search.held_back += 1
        search.issued += len(sends)
        return sends

    def _waits_for_newcomers(self, search: Search, now: float) -> bool:
        return now < search.newcomers_until and bool(self.neighbours.coming) and not self.is_called

    def _ask_newcomers(self, now: float) -> list[Send]:
        """Somebody has become a neighbour, or will not: what that is to searches of one that only those answer."""
        sends: list[Send] = []
        for number in [] if self.is_called else sorted(self._open):
            search = self._searches[number]
            if search.stage is Stage.WALKING and now < search.deadline:
                sends += self._visit_neighbours(search, now)
            sends += self._go_on(search, now)
        return sends
