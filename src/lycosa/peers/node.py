"""One peer: the whole protocol, without sockets and without a clock of its own.

A `Node` is told what happens (`ask`, `receive`, `undelivered`, `lost`, `found`, `tick`) and when, and answers with the
messages to send. Over TCP it is run by `wire`, on a simulated wire and clock by `simulation`; it cannot tell which.

    number, sends = node.ask("wind power", now)      begin a search; what it finds is at `node.answers(number)`
    sends = node.receive(sender, message, now)       something came; the sender's name has been verified
    sends = node.undelivered(to, message, now)       something sent did not arrive
    sends = node.tick(now)                           the moment that `next_deadline` told has come

It searches (`asking`, `hearing` what comes back, `learning` from it), serves others (`answering`, `passing` on), and
keeps up with its neighbours (`joining`). Buddy lists and indexes serve the node that keeps them; it holds nothing for
the sake of others.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.records import Plain

from .answering import Answering
from .buddies import Buddy, HeldState
from .content import Content
from .forwarding import RESERVED
from .joining import Joining
from .messages import (
    Contact,
    Declined,
    Fetch,
    Fetched,
    Hello,
    Index,
    IndexRequest,
    Join,
    Leave,
    Message,
    PeerName,
    Ping,
    Pong,
    Query,
    Response,
    Send,
)
from .options import NodeOptions
from .replies import Hearing
from .search import Failure, Reply, Stage


class NodeState(Struct, frozen=True):
    """What a node keeps between two runs."""

    buddies: list[Buddy] = []
    held: HeldState = HeldState()
    neighbours: list[Contact | PeerName] = []  # once their names alone were kept
    known: list[Contact] = []
    shunned: list[PeerName] = []  # a restart forgives nobody: their time begins again
    numbered: int = 0
    has_asked: bool = False


class Node(Hearing, Answering, Joining):
    """A peer of BuddyNet.

    `seed` is what walks are drawn by; `secret` is what the ids of queries follow from, so that nobody can answer a
    query that never reached it: random bytes, except in a simulation.

    Shao: Exploring social networks in computer systems (Princeton University 2007), chapter 5.
    """

    def __init__(
        self,
        me: Contact | PeerName,
        content: Content,
        *,
        options: NodeOptions,
        seed: int,
        secret: bytes = b"",
        now: float = 0.0,
    ):
        me = Contact(me) if isinstance(me, str) else me
        super().__init__(me, content, options=options, seed=seed, secret=secret or seed.to_bytes(8, "little"))
        self.resumed(now)

    # What happens

    def receive(self, sender: PeerName, message: Message, now: float) -> list[Send]:
        if self.manners.shunned(sender, now):
            self.counts["shunned"] += 1
            return []
        is_answer = isinstance(message, Response | Declined)
        if not self._awaits(sender, message) and not self.manners.takes(sender, now, is_answer=is_answer):
            self.misbehaved(sender, "too_fast", now, by=0.125)
            return []
        if sender == self.name:
            self.counts["forged"] += 1
            return []
        self.counts["received"] += 1
        match message:
            case Query(origin=Contact(self.name)):
                return self._came_home(sender, message, now)
            case Query():
                return self._query(sender, message, now)
            case Response():
                return self._response(sender, message, now)
            case Declined():
                return self._declined(sender, message, now)
            case IndexRequest():
                return self._index_request(sender, message, now)
            case Index():
                self._index(sender, message, now)
                return []
            case Fetch():
                return self._fetch(sender, message, now)
            case Fetched():
                return self._fetched(sender, message, now)
            case Pong():
                return self._neighbourly(sender, message) + self._ask_newcomers(now)
            case Join() | Leave() | Ping() | Hello():
                return self._neighbourly(sender, message)

    def undelivered(self, to: PeerName, message: Message, now: float) -> list[Send]:
        """Somebody could not be reached."""
        self.counts["undelivered"] += 1
        match message:
            case Query(walker=0):
                search = self._searches.get(message.id)
                if search is None or not search.replied(to, Reply.DOWN):
                    return []
                if self.options.demotes_unreachable:
                    self._demote(to)
                return self._go_on(search, now)
            case Query():
                self.lost(to)
                if self.options.floods:
                    return []
                if message.origin.name == self.name:
                    return self._within_bounds(self._onward(message, None), now) or self._walker_ended(message, now)
                onward = self._within_bounds(self._onward(message, None), now, leaving=RESERVED)
                return onward or self._ended(to, message, now)
            case Fetch():
                return self._fetch_failed(to, message.id, Failure.DOWN, now) if message.id in self._fetches else []
            case IndexRequest():
                self.held.not_coming(to)
            case Ping():
                self.lost(to)
            case Join():
                self.lost(to)
                self.neighbours.in_vain(to)
                self.neighbours.awaited.discard(to)
            case _:
                pass
        return []

    # Time

    def resumed(self, now: float) -> None:
        """Begins, or goes on after having been down: checkpoints are at the multiples of their interval, and those
        that passed meanwhile are left out."""
        self._told_at = now
        self._checkpoint_at = _next_multiple(now, self.options.checkpoint)
        self.neighbours.awaited.clear()
        self._ping_at = now + self.options.ping if self.options.ping else float("inf")

    def next_deadline(self) -> float:
        """When `tick` is to be called next, unless something happens before."""
        moments = [self._checkpoint_at, self._ping_at]
        moments += [fetching.until for fetching in self._fetches.values()]
        for number in self._open:
            search = self._searches[number]
            if search.fetching is not None:
                continue
            moments.append(search.deadline)
            if search.stage is Stage.WALKING and not search.walkers:
                moments.append(max(search.wait_until, search.newcomers_until))
            elif search.waiting_for and search.stage is not Stage.WALKING:
                moments.append(search.wait_until)
        return min(moments)

    def tick(self, now: float) -> list[Send]:
        """What is due by now: answers that did not come, checkpoints, pings."""
        self._told_at = now
        sends: list[Send] = []
        for number, fetching in list(self._fetches.items()):
            if fetching.until <= now:
                sends += self._fetch_failed(fetching.provider.name, number, Failure.DOWN, now)
        for number in sorted(self._open):
            sends += self._go_on(self._searches[number], now)
        if now >= self._checkpoint_at:
            self._checkpoint_at = _next_multiple(now, self.options.checkpoint)
            sends += self.checkpoint()
        if now >= self._ping_at:
            self._ping_at = now + self.options.ping
            sends += self._pings()
        return sends

    # What is kept

    def remembered(self) -> NodeState:
        """Whom it knows, without the indexes it holds of them."""
        return NodeState(
            buddies=list(self.buddies),
            neighbours=[self.neighbours.contact(name) for name in self.neighbours.names],
            known=self.neighbours.known(),
            shunned=self.manners.all_shunned(self._told_at),
        )

    def state(self) -> Plain:
        state = replace(self.remembered(), held=self.held.state(), numbered=self._numbered, has_asked=self._has_asked())
        return msgspec.to_builtins(state)

    def restore(self, plain: Plain) -> None:
        """Takes up a state; ValueError where it is none."""
        try:
            state = msgspec.convert(plain, NodeState)
        except msgspec.ValidationError as error:
            raise ValueError(f"no state of a peer: {error}") from error
        self.held.restore(state.held, self.content.unpack)
        self.buddies.replace(state.buddies)
        for contact in state.known:
            self.neighbours.know(contact)
        self.connect(state.neighbours)
        for name in state.shunned:
            self.manners.shuns(name, self._told_at)
        self._asked_before = state.has_asked
        self._drop_indexes_of_others()
        self._numbered = state.numbered


def _next_multiple(now: float, interval: float) -> float:
    return (now // interval + 1) * interval
