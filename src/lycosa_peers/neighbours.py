"""The overlay as one node sees it: its neighbours, and other peers that it could join."""

from collections import Counter, OrderedDict
from collections.abc import Container, Iterable

from .messages import MAX_CONTACTS, Contact, PeerName

MAX_KNOWN = 1024  # contacts remembered
NETWORK_ONE_IN = 4  # one in so many neighbours, at most, may be a stranger of the same network


class Neighbours:
    """Neighbours in the order in which they joined, which of them are down, and other known peers.

    min_size, max_size: with fewer neighbours that are up, others are looked for; with more, newcomers are refused.
    """

    def __init__(self, *, min_size: int, max_size: int):
        self.min_size = min_size
        self.max_size = max_size
        self.names: list[PeerName] = []
        self._addresses: dict[PeerName, str] = {}  # of the neighbours
        self.down: dict[PeerName, None] = {}  # in the order in which they went down
        self.awaited: set[PeerName] = set()  # pinged or asked to join, and not answered yet
        self.silent: dict[PeerName, int] = {}  # consecutive unanswered pings
        self.address_groups: dict[PeerName, str] = {}  # the networks of connected peers: `addresses.address_group`
        self._known: OrderedDict[PeerName, str] = OrderedDict()  # addresses of known peers, neighbours among them

    def __contains__(self, name: PeerName) -> bool:
        return name in self._addresses

    def __len__(self) -> int:
        return len(self.names)

    def remember(self, contact: Contact, *, first_hand: bool = False) -> None:
        """Remembers a peer. Third parties can add unknown peers, but only the peer itself (`first_hand`) can change a
        known address."""
        if contact.name not in self._known or (contact.address and (first_hand or not self._known[contact.name])):
            self._known[contact.name] = contact.address
        if first_hand and contact.address and contact.name in self._addresses:
            self._addresses[contact.name] = contact.address
        self._known.move_to_end(contact.name)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def address(self, name: PeerName) -> str:
        return self._addresses.get(name) or self._known.get(name, "")

    def contact(self, name: PeerName) -> Contact:
        return Contact(name, self.address(name))

    def add(self, contact: Contact, *, trusted: Container[PeerName] = ()) -> bool:
        """Makes it a neighbour if there is room. The neighbour that has been down longest is replaced; otherwise, for a
        trusted peer or one of a network with fewer neighbours, the latest stranger of the network with the most."""
        self.remember(contact, first_hand=True)
        if contact.name not in self._addresses and not self._make_room(contact.name, trusted):
            return False
        self.insert(contact)
        return True

    def _make_room(self, name: PeerName, trusted: Container[PeerName]) -> bool:
        strangers = [each for each in self.names if each not in trusted]
        count_by_network = Counter(self.address_groups.get(each, "") for each in strangers)
        own_network = self.address_groups.get(name, "")
        if (
            name not in trusted
            and own_network
            and count_by_network[own_network] >= max(1, self.max_size // NETWORK_ONE_IN)
        ):
            return False
        if len(self.names) < self.max_size:
            return True
        down = next((each for each in self.down if name in trusted or each not in trusted), None)
        if down is not None:
            self.remove(down)
            return True
        largest = max(count_by_network.values(), default=0)
        if name not in trusted and largest <= count_by_network[own_network] + 1:
            return False
        latest = next(
            (each for each in reversed(strangers) if count_by_network[self.address_groups.get(each, "")] == largest),
            None,
        )
        if latest is not None:
            self.remove(latest)
        return latest is not None

    def mark_up(self, name: PeerName) -> None:
        """Marks a peer as up."""
        self.silent.pop(name, None)
        self.down.pop(name, None)

    def mark_down(self, name: PeerName) -> None:
        """Marks a neighbour as down: no walker is sent to it."""
        if name in self._addresses:
            self.down.setdefault(name)

    def join_failed(self, name: PeerName) -> None:
        """Records that a peer did not accept us, so that it is asked again only after all other known peers."""
        if name in self._known:
            self._known.move_to_end(name, last=False)

    def ping_unanswered(self, name: PeerName) -> int:
        """Marks a neighbour that did not answer a ping as down; returns the number of consecutive unanswered pings. It
        is still pinged, so that a partitioned network heals."""
        self.mark_down(name)
        self.silent[name] = self.silent.get(name, 0) + 1
        return self.silent[name]

    def insert(self, contact: Contact) -> None:
        """Makes it a neighbour, even without room."""
        self.mark_up(contact.name)
        if contact.name not in self._addresses:
            self.names.append(contact.name)
        self._addresses[contact.name] = contact.address or self.address(contact.name)

    def remove(self, name: PeerName) -> None:
        if name in self._addresses:
            self.names.remove(name)
            del self._addresses[name]
        self.mark_up(name)

    def forget(self, name: PeerName) -> None:
        self.remove(name)
        self._known.pop(name, None)

    def contacts_to_share(self, exclude: PeerName) -> tuple[Contact, ...]:
        """Some neighbours, the latest first, for a peer that wants to join others."""
        names = [name for name in reversed(self.names) if name != exclude and name not in self.down]
        return tuple(self.contact(name) for name in names[:MAX_CONTACTS])

    def join_candidates(self, exclude: Iterable[PeerName]) -> list[PeerName]:
        """Known peers to ask to join if neighbours are too few, latest first."""
        if self.missing <= 0:
            return []
        excluded = {*exclude, *self.names}
        return [name for name in reversed(self._known) if name not in excluded][: self.missing]

    @property
    def missing(self) -> int:
        """The number of neighbours that it lacks."""
        return self.min_size - (len(self.names) - len(self.down))

    @property
    def pending_joins(self) -> set[PeerName]:
        """Peers that were asked to join and have not answered."""
        return self.awaited.difference(self._addresses)

    @property
    def have_addresses(self) -> bool:
        """Whether any peer has an address; in a simulation names suffice."""
        return any(self._known.values()) or any(self._addresses.values())

    def known(self) -> list[Contact]:
        return [Contact(name, address) for name, address in self._known.items()]
