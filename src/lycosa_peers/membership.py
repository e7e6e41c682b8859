"""How a node joins the overlay, pings its neighbours, and looks for others if they are few."""

from collections.abc import Iterable

from .messages import Contact, Envelope, Hello, Join, Leave, PeerName, Ping, Pong
from .state import NodeState

MAX_UNANSWERED = 100  # unanswered pings, after which a neighbour is removed


class Membership:
    """The membership protocol: JOIN, LEAVE, PING, PONG and HELLO."""

    def __init__(self, state: NodeState):
        self._state = state
        self._neighbours = state.neighbours
        self.next_ping = float("inf")

    def connect(self, neighbours: Iterable[Contact | PeerName]) -> None:
        """Makes them neighbours, in this order, without asking; for given overlays."""
        for each in neighbours:
            self._neighbours.insert(Contact(each) if isinstance(each, str) else each)

    def join(self, contacts: Iterable[Contact]) -> list[Envelope]:
        """Asks them to be neighbours."""
        outgoing = []
        for contact in contacts:
            if contact.name != self._state.name:
                self._neighbours.remember(contact)
                self._neighbours.awaited.add(contact.name)
                outgoing.append(Envelope(contact.name, Join(self._state.own_contact), contact.address))
        return outgoing

    def rejoin(self) -> list[Envelope]:
        """Asks the neighbours of the last run to be neighbours again, and others if those are few."""
        names = [*self._neighbours.names, *self._neighbours.join_candidates([self._state.name])]
        return self.join(self._state.contact(name) for name in names)

    def leave(self) -> list[Envelope]:
        """Tells the neighbours that this node is going down."""
        return [self._state.envelope(name, Leave()) for name in self._neighbours.names]

    def resume(self, now: float) -> None:
        """Starts, or restarts after downtime; pending answers are no longer expected."""
        self._neighbours.awaited.clear()
        self.next_ping = now + self._state.options.ping if self._state.options.ping else float("inf")

    def ping(self, now: float) -> list[Envelope]:
        """Pings all neighbours, counts those that did not answer the last ping, and asks others to join if neighbours
        are few."""
        self.next_ping = now + self._state.options.ping
        for name in sorted(self._neighbours.awaited):
            if name not in self._neighbours:
                self._neighbours.join_failed(name)
            elif self._neighbours.ping_unanswered(name) >= MAX_UNANSWERED:
                self._neighbours.remove(name)
        self._state.drop_unwanted_indexes()
        self._neighbours.awaited = set(self._neighbours.names)
        outgoing = [self._state.envelope(name, Ping()) for name in self._neighbours.names]
        for name in self._neighbours.join_candidates([self._state.name]):
            self._neighbours.awaited.add(name)
            outgoing.append(self._state.envelope(name, Join(self._state.own_contact)))
        return outgoing

    def receive(self, sender: PeerName, message: Join | Leave | Ping | Pong | Hello) -> list[Envelope]:
        outgoing = self._receive(sender, message)
        self._state.drop_unwanted_indexes()
        return outgoing

    def undelivered(self, to: PeerName, message: Ping | Join) -> None:
        self._neighbours.mark_down(to)
        if isinstance(message, Join):
            self._neighbours.join_failed(to)
            self._neighbours.awaited.discard(to)

    def _receive(self, sender: PeerName, message: Join | Leave | Ping | Pong | Hello) -> list[Envelope]:
        match message:
            case Hello(contact) | Join(contact) if contact.name != sender or sender == self._state.name:
                self._state.counts["forged"] += 1
                return []
            case Hello(contact):
                self._neighbours.remember(contact, first_hand=True)
                self._state.buddies.update_address(contact)
                return []
            case Join(contact):
                self._state.buddies.update_address(contact)
                accepted = self._neighbours.add(contact, trusted=self._state.trusted)
                return [Envelope(sender, Pong(accepted, self._neighbours.contacts_to_share(sender)), contact.address)]
            case Leave():
                self._neighbours.remove(sender)
                return []
            case Ping():
                self._neighbours.mark_up(sender)
                is_neighbour = sender in self._neighbours
                return [self._state.envelope(sender, Pong(is_neighbour, self._neighbours.contacts_to_share(sender)))]
            case Pong(accepted, known):
                return self._receive_pong(sender, accepted, known)

    def _receive_pong(self, sender: PeerName, accepted: bool, known: tuple[Contact, ...]) -> list[Envelope]:
        if sender not in self._neighbours.awaited:
            self._state.counts["unasked"] += 1
            return []
        self._neighbours.awaited.discard(sender)
        if accepted:
            self._neighbours.add(self._neighbours.contact(sender), trusted=self._state.trusted)
        for contact in known:
            if contact.name != self._state.name:
                self._neighbours.remember(contact)
        return self._join_some(known) if accepted else self._join_refused(sender)

    def _join_some(self, contacts: Iterable[Contact]) -> list[Envelope]:
        """If neighbours are few, asks peers just named by a neighbour to join."""
        excluded = {self._state.name, *self._neighbours.names, *self._neighbours.awaited}
        others = [self._state.contact(each.name, each.address) for each in contacts if each.name not in excluded]
        if self._neighbours.have_addresses:
            others = [contact for contact in others if contact.address]
        room = self._neighbours.missing - len(self._neighbours.pending_joins)
        return self.join(others[: max(0, room)])

    def _join_refused(self, name: PeerName) -> list[Envelope]:
        """The peer does not count us as a neighbour; a former neighbour is asked once more."""
        was_neighbour = name in self._neighbours
        self._neighbours.remove(name)
        if was_neighbour:
            return self.join([self._state.contact(name)])
        self._neighbours.join_failed(name)
        return []
