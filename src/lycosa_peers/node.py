"""One peer: the whole protocol, without sockets and without a clock of its own.

A `Node` is called with events (`ask`, `receive`, `undelivered`, `disconnected`, `connected`, `tick`) and the time of
each, and returns the messages to send. `node_runner` runs it over TCP, `simulation` on simulated connections and a
simulated clock; the node itself cannot tell which.

    number, outgoing = node.ask("wind power", now)   begin a search; its results are at `node.answers(number)`
    outgoing = node.receive(sender, message, now)    a message came; the sender's name has been verified
    outgoing = node.undelivered(to, message, now)    a message could not be delivered
    outgoing = node.tick(now)                        the time of `next_deadline` has come

It is made of parts, each with its own state, around the `NodeState` that they share:

    Searches, Replies     its own searches, and what comes back of them; Fetches: items that it requested
    Probes                whether what strangers claim is true
    Answering             queries, index requests and fetches of others
    Forwarding            which queries are taken, where they go next, how many
    BuddyPolicy           whom to ask first, and whose indexes to hold, which it requests at regular checkpoints
    Membership            neighbours on the overlay

Buddy lists and indexes serve the node that keeps them; it holds nothing for the sake of others.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from lycosa.vocabulary.records import JsonValue

from .answering import Answering
from .buddies import BuddyList, HeldIndexes
from .buddy_policy import BuddyPolicy
from .content import Content
from .fetches import Fetches, Nonces
from .forwarding import Forwarding
from .membership import Membership
from .messages import (
    DIRECT,
    Contact,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    Hello,
    Index,
    IndexRequest,
    Item,
    Join,
    Leave,
    Message,
    PeerName,
    Ping,
    Pong,
    Query,
    Response,
    Target,
)
from .neighbours import Neighbours
from .options import NodeOptions
from .probes import Probes
from .replies import Replies
from .search import Answers, Failure, Stage
from .searches import Searches
from .state import NodeState, SavedState

_ANSWERS = (Response, Declined)  # limited separately: queries of this node may bring many at once


class Node:
    """A peer of BuddyNet.

    `seed` determines the random choices of walks; `secret` determines the ids of queries, so that nobody can answer a
    query that never reached it: random bytes, except in a simulation.

    Shao: Exploring social networks in computer systems (Princeton University 2007), chapter 5.
    """

    def __init__(
        self,
        own_contact: Contact | PeerName,
        content: Content,
        *,
        options: NodeOptions,
        seed: int,
        secret: bytes = b"",
        now: float = 0.0,
    ):
        own_contact = Contact(own_contact) if isinstance(own_contact, str) else own_contact
        self._state = state = NodeState(own_contact, content, options)
        self._nonces = Nonces(own_contact.name, secret or seed.to_bytes(8, "little"))
        self.policy = BuddyPolicy(state)
        self.forwarding = Forwarding(state, seed)
        self.answering = Answering(state, self.forwarding)
        self.membership = Membership(state)
        self.fetches = Fetches(state, self._nonces)
        self.searches = Searches(state, self.forwarding, self.policy, self.fetches, self._nonces)
        self.probes = Probes(state, self.searches, self.fetches, self.forwarding, self.policy, self._nonces)
        self.replies = Replies(state, self.searches, self.fetches, self.policy, self.probes)
        self.resume(now)

    # ------------------------------------------------------------ who it is, and whom it knows

    @property
    def name(self) -> PeerName:
        return self._state.name

    @property
    def own_contact(self) -> Contact:
        """The name of the node, and the address at which others reach it."""
        return self._state.own_contact

    @own_contact.setter
    def own_contact(self, own_contact: Contact) -> None:
        self._state.own_contact = own_contact

    @property
    def content(self) -> Content:
        return self._state.content

    @property
    def options(self) -> NodeOptions:
        return self._state.options

    @property
    def counts(self) -> Counter[str]:
        """The number of events of each kind."""
        return self._state.counts

    @property
    def buddies(self) -> BuddyList:
        return self._state.buddies

    @property
    def held(self) -> HeldIndexes:
        """The indexes of other peers that it holds."""
        return self._state.held

    @property
    def neighbours(self) -> Neighbours:
        return self._state.neighbours

    def index_owners(self) -> list[PeerName]:
        """The peers whose indexes this node wants to hold, in the order in which it searches them."""
        return self._state.index_owners()

    def is_banned(self, peer: PeerName, now: float) -> bool:
        """Whether messages of a peer are currently ignored."""
        return self._state.reputation.is_banned(peer, now)

    def is_trusted(self, peer: PeerName) -> bool:
        """Whether the user has named a peer, or it has answered well before."""
        return self._state.is_trusted(peer)

    def trust(self, peers: Iterable[PeerName]) -> None:
        """Records peers at endpoints given by the user."""
        self._state.named_by_user.update(peers)

    def demerits(self, peer: PeerName, now: float) -> float:
        """The demerits of a peer that have not decayed yet; see `NodeOptions.ban_threshold`."""
        return self._state.reputation.demerits(peer, now)

    def penalise(self, peer: PeerName, offence: str, now: float, demerits: float = 1.0) -> None:
        """Counts an offence; a peer with too many is banned for a while."""
        self._state.penalise(peer, offence, now, demerits)

    # ------------------------------------------------------------ what its user asks for

    def ask(
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
        return self.searches.begin(
            target, now, max_hits=max_hits, sufficient_hits=sufficient_hits, timeout=timeout, query_id=query_id
        )

    def answers(self, query_id: int) -> Answers | None:
        """A snapshot of the search; None if it is forgotten."""
        return self.searches.answers(query_id)

    def stage(self, query_id: int) -> Stage | None:
        """How far the search has come; None if it is forgotten."""
        return self.searches.stage(query_id)

    def fetch(self, provider: Contact, item: Item, now: float) -> tuple[int, list[Envelope]]:
        """Requests an item from a provider; returns the number for `fetch_result`, and what to send."""
        return self.fetches.start(provider, item, now)

    def fetch_result(self, number: int) -> bytes | Failure | None:
        """The result of a fetch, or why it failed; returned once. None while it is pending."""
        return self.fetches.pop_result(number)

    def connect(self, neighbours: Iterable[Contact | PeerName]) -> None:
        """Makes them neighbours, in this order, without asking; for given overlays."""
        self.membership.connect(neighbours)

    def join(self, contacts: Iterable[Contact]) -> list[Envelope]:
        """Asks them to be neighbours."""
        return self.membership.join(contacts)

    def rejoin(self) -> list[Envelope]:
        """Asks the neighbours of the last run to be neighbours again, and others if those are few."""
        return self.membership.rejoin()

    def leave(self) -> list[Envelope]:
        """Tells the neighbours that this node is going down."""
        return self.membership.leave()

    # ------------------------------------------------------------ events

    def receive(self, sender: PeerName, message: Message, now: float) -> list[Envelope]:
        """A message came from a peer whose name has been verified; returns what to send for it."""
        state = self._state
        if state.reputation.is_banned(sender, now):
            state.counts["shunned"] += 1
            return []
        is_answer = isinstance(message, _ANSWERS)
        if not self.replies.awaits(sender, message) and not state.reputation.take_message(
            sender, now, is_answer=is_answer
        ):
            state.penalise(sender, "too_fast", now, demerits=0.125)
            return []
        if sender == state.name:
            state.counts["forged"] += 1
            return []
        state.counts["received"] += 1
        match message:
            case Query():
                if message.origin.name != state.name:
                    return self.answering.answer_query(sender, message, now)
                if self.probes.is_trap_query(message.id):
                    return self.probes.trap_ended(message.id, now)
                return self.searches.walker_returned(sender, message, now)
            case Response():
                return self.replies.on_response(sender, message, now)
            case Declined():
                return self.replies.on_declined(sender, message, now)
            case IndexRequest():
                return self.answering.send_index(sender, message, now)
            case Index():
                self.policy.receive_index(sender, message, now)
                return []
            case FetchRequest():
                return self.answering.deliver(sender, message, now)
            case Fetched():
                return self.replies.on_fetched(sender, message, now)
            case Pong():
                return self.membership.receive(sender, message) + self.searches.neighbours_changed(now)
            case Join() | Leave() | Ping() | Hello():
                return self.membership.receive(sender, message)

    def undelivered(self, to: PeerName, message: Message, now: float) -> list[Envelope]:
        """A message could not be delivered; returns what to send instead."""
        self.counts["undelivered"] += 1
        match message:
            case Query() if message.walker == DIRECT:
                return self.searches.direct_query_undelivered(to, message, now)
            case Query():
                return self._walker_undelivered(to, message, now)
            case FetchRequest() if message.id in self.fetches:
                return self.replies.fetch_failed(to, message.id, Failure.DOWN, now)
            case IndexRequest():
                self.held.request_failed(to)
            case Ping() | Join():
                self.membership.undelivered(to, message)
            case _:
                pass
        return []

    def _walker_undelivered(self, to: PeerName, query: Query, now: float) -> list[Envelope]:
        """Sends a walker to another neighbour; if there is none, it has ended."""
        self.disconnected(to)
        if self.options.floods:
            return []
        rerouted = self.forwarding.reroute(query, now)
        if rerouted:
            return rerouted
        if query.origin.name == self.name:
            return self.searches.walker_ended(query, now)
        return self.answering.end_query(to, query, now)

    def disconnected(self, peer: PeerName) -> None:
        """Records that the connection to a peer is closed, so that no walker is sent there."""
        self.neighbours.mark_down(peer)

    def connected(self, peer: PeerName, address_group: str = "") -> None:
        """Records that a peer is connected, from an address of that group (`addresses.address_group`)."""
        self.neighbours.mark_up(peer)
        if address_group:
            self.neighbours.address_groups[peer] = address_group

    # ------------------------------------------------------------ time

    def resume(self, now: float) -> None:
        """Starts, or resumes after downtime; missed checkpoints are skipped."""
        self._last_tick = now
        self.policy.schedule(now)
        self.membership.resume(now)

    def next_deadline(self) -> float:
        """When to call `tick` next, unless something happens before."""
        moments = (*self.fetches.deadlines(), *self.searches.deadlines())
        return min(self.policy.next_checkpoint, self.membership.next_ping, *moments)

    def tick(self, now: float) -> list[Envelope]:
        """Does what is due: timeouts, checkpoints, pings."""
        self._last_tick = now
        outgoing = self.replies.tick(now) + self.searches.tick(now)
        if now >= self.policy.next_checkpoint:
            self.policy.schedule(now)
            outgoing += self.policy.checkpoint()
        if now >= self.membership.next_ping:
            outgoing += self.membership.ping(now)
        return outgoing

    def checkpoint(self) -> list[Envelope]:
        """Requests the indexes that are due, now."""
        return self.policy.checkpoint()

    # ------------------------------------------------------------ saving

    def state_without_indexes(self) -> SavedState:
        """What is kept between two runs, without the indexes it holds and the number of used nonces."""
        return self._state.saved_without_indexes(self._last_tick)

    def state(self) -> JsonValue:
        """Everything that is kept between two runs."""
        saved = replace(self.state_without_indexes(), held=self.held.state(), numbered=self._nonces.count)
        return msgspec.to_builtins(saved)

    def restore(self, state: JsonValue) -> None:
        """Restores what `state` returned; ValueError if it is invalid."""
        try:
            saved = msgspec.convert(state, SavedState)
        except msgspec.ValidationError as error:
            raise ValueError(f"no state of a peer: {error}") from error
        self._state.restore(saved, self._last_tick)
        self._nonces.count = saved.numbered
