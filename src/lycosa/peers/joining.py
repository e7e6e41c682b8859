"""A node among its neighbours: how they find each other, and find each other again."""

from collections.abc import Iterable

from .messages import Contact, Hello, Join, Leave, PeerName, Ping, Pong, Send
from .state import Parts

MOST_SILENT = 100  # pings without an answer, after which a neighbour is one no more


class Joining(Parts):
    """Keeps up with its neighbours by pings, and looks for others where they are few."""

    def connect(self, neighbours: Iterable[Contact | PeerName]) -> None:
        """Makes them neighbours, in this order, without asking; for overlays that are given."""
        for each in neighbours:
            self.neighbours.place(Contact(each) if isinstance(each, str) else each)

    def join(self, contacts: Iterable[Contact]) -> list[Send]:
        """Asks them to be neighbours."""
        sends = []
        for contact in contacts:
            if contact.name != self.name:
                self.neighbours.know(contact)
                self.neighbours.awaited.add(contact.name)
                sends.append(Send(contact.name, Join(self.me), contact.address))
        return sends

    def rejoin(self) -> list[Send]:
        """Asks the neighbours of the last run to be so again, and others where those are few."""
        names = [*self.neighbours.names, *self.neighbours.to_join([self.name])]
        return self.join(self._contact(name) for name in names)

    def leave(self) -> list[Send]:
        return [self._send(name, Leave()) for name in self.neighbours.names]

    def lost(self, peer: PeerName) -> None:
        """The connection to a neighbour is closed; no walker is sent there."""
        self.neighbours.lost(peer)

    def found(self, peer: PeerName) -> None:
        """It is open again."""
        self.neighbours.heard(peer)

    def _neighbourly(self, sender: PeerName, message: Join | Leave | Ping | Pong | Hello) -> list[Send]:
        sends = self._as_neighbour(sender, message)
        self._drop_indexes_of_others()
        return sends

    def _as_neighbour(self, sender: PeerName, message: Join | Leave | Ping | Pong | Hello) -> list[Send]:
        match message:
            case Hello(me) | Join(me) if me.name != sender or sender == self.name:
                self.counts["forged"] += 1
                return []
            case Hello(me):
                self.neighbours.know(me, first_hand=True)
                self.buddies.moved(me)
                return []
            case Join(me):
                self.buddies.moved(me)
                accepted = self.neighbours.add(me)
                return [Send(sender, Pong(accepted, self.neighbours.to_show(sender)), me.address)]
            case Leave():
                self.neighbours.remove(sender)
                return []
            case Ping():
                self.neighbours.heard(sender)
                known = sender in self.neighbours
                return [self._send(sender, Pong(known, self.neighbours.to_show(sender)))]
            case Pong(accepted, known):
                if sender not in self.neighbours.awaited:
                    self.counts["unasked"] += 1
                    return []
                self.neighbours.awaited.discard(sender)
                if accepted:
                    self.neighbours.add(self.neighbours.contact(sender))
                for contact in known:
                    if contact.name != self.name:
                        self.neighbours.know(contact)
                return self._join_some(known) if accepted else self._turned_down(sender)

    def _join_some(self, told_of: Iterable[Contact]) -> list[Send]:
        """Where neighbours are few, asks those that one of them has just told of."""
        without = {self.name, *self.neighbours.names, *self.neighbours.awaited}
        others = [self._contact(each.name, each.address) for each in told_of if each.name not in without]
        if self.neighbours.have_addresses:
            others = [contact for contact in others if contact.address]
        room = self.neighbours.missing - len(self.neighbours.coming)
        return self.join(others[: max(0, room)])

    def _turned_down(self, name: PeerName) -> list[Send]:
        """It does not hold us for a neighbour; one that was is asked once to be so again."""
        was_neighbour = name in self.neighbours
        self.neighbours.remove(name)
        if was_neighbour:
            return self.join([self._contact(name)])
        self.neighbours.in_vain(name)
        return []

    def _pings(self) -> list[Send]:
        for name in sorted(self.neighbours.awaited):
            if name not in self.neighbours:
                self.neighbours.in_vain(name)
            elif self.neighbours.unanswered(name) >= MOST_SILENT:
                self.neighbours.remove(name)
        self._drop_indexes_of_others()
        self.neighbours.awaited = set(self.neighbours.names)
        sends = [self._send(name, Ping()) for name in self.neighbours.names]
        for name in self.neighbours.to_join([self.name]):
            self.neighbours.awaited.add(name)
            sends.append(self._send(name, Join(self.me)))
        return sends
