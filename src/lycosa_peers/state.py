"""The state that the parts of a node share, and the part of it that is saved between two runs."""

from collections import Counter

from msgspec import Struct

from .buddies import Buddy, BuddyList, HeldIndexes, SavedIndexes
from .content import Content, ContentSummary
from .messages import Contact, Envelope, Message, PeerName
from .neighbours import Neighbours
from .options import NodeOptions
from .rate_limits import Reputation


class SavedState(Struct, frozen=True):
    """What a node keeps between two runs."""

    buddies: list[Buddy] = []
    held: SavedIndexes = SavedIndexes()  # in the state file of a peer without indexes, which have a file of their own
    neighbours: list[Contact | PeerName] = []  # older files have only names
    known: list[Contact] = []  # peers that it could join, and neighbours
    shunned: list[PeerName] = []  # banned peers; after a restart, their bans start again
    numbered: int = 0  # nonces used; not in the state file, as each run of a peer has a new secret for its nonces
    has_asked: bool = False  # whether the node ever began a search


class NodeState:
    """The identity, content and contacts of a node. `counts` has the number of events by kind."""

    def __init__(self, own_contact: Contact, content: Content, options: NodeOptions):
        self.own_contact = own_contact
        self.name = own_contact.name
        self.content = content
        self.options = options
        self.counts: Counter[str] = Counter()
        self.buddies = BuddyList(options.buddies)
        self.held = HeldIndexes(  # of other peers
            refresh_checkpoints=options.refresh_checkpoints, request_at_once=options.indexes == "neighbours"
        )
        self.neighbours = Neighbours(min_size=options.neighbours, max_size=options.max_neighbours)
        self.reputation = Reputation(
            ban_threshold=options.ban_threshold, ban_seconds=options.ban_seconds, per_peer=options.capacity_per_peer
        )
        self.named_by_user: set[PeerName] = set()  # peers at endpoints that the user gave
        self.asked_before = False  # in an earlier run

    @property
    def has_asked(self) -> bool:
        """Whether this node ever began a search."""
        return self.asked_before or self.counts["asked"] > 0

    @property
    def is_reachable(self) -> bool:
        """Whether peers other than its neighbours can answer it: it has an address, or nobody has any."""
        return bool(self.own_contact.address) or not self.neighbours.have_addresses

    @property
    def trusted(self) -> set[PeerName]:
        """The peers that the user has named, and those that have answered well before."""
        return {*self.named_by_user, *self.buddies.names()}

    def is_trusted(self, name: PeerName) -> bool:
        return name in self.named_by_user or name in self.buddies

    # ------------------------------------------------------------ contacts

    def contact(self, name: PeerName, fallback: str = "") -> Contact:
        """A peer at its known address, else at the `fallback` given by somebody else."""
        buddy = self.buddies.get(name)
        return Contact(name, (buddy.contact.address if buddy else "") or self.neighbours.address(name) or fallback)

    def contacts_to_ask(self) -> list[Contact]:
        """The peers to ask directly: the buddies, the best first, then neighbours that the user has named."""
        named = [self.contact(name) for name in self.neighbours.names if name in self.named_by_user]
        return [buddy.contact for buddy in self.buddies] + [each for each in named if each.name not in self.buddies]

    def envelope(self, name: PeerName, message: Message) -> Envelope:
        """A message to a peer at its known address."""
        address = self.neighbours.address(name)
        if not address and (buddy := self.buddies.get(name)) is not None:
            address = buddy.contact.address
        return Envelope(name, message, address)

    def penalise(self, peer: PeerName, offence: str, now: float, demerits: float = 1.0) -> None:
        """Counts an offence; a peer that is banned for it stops being a buddy and a neighbour."""
        self.counts[offence] += 1
        if self.reputation.penalise(peer, now, demerits):
            self.buddies.drop(peer)
            self.held.drop(peer)
            self.neighbours.forget(peer)

    # ------------------------------------------------------------ indexes

    def index_owners(self) -> list[PeerName]:
        """The peers whose indexes this node wants, in search order. A node that never started a search wants none of
        its neighbours: no node holds indexes only for the benefit of others."""
        if self.options.indexes == "buddies":
            return self.buddies.names()
        if self.options.indexes == "neighbours" and self.has_asked:
            return self.neighbours.names[: self.options.neighbour_indexes]
        return []

    def indexes(self) -> list[tuple[PeerName, ContentSummary]]:
        """The indexes that are held, in the order in which they are searched."""
        if not len(self.held):
            return []
        indexes = ((name, self.held.get(name)) for name in self.index_owners())
        return [(name, index) for name, index in indexes if index is not None]

    def drop_unwanted_indexes(self) -> None:
        self.held.keep_only(self.index_owners())

    # ------------------------------------------------------------ saving

    def saved_without_indexes(self, now: float) -> SavedState:
        """The state to be saved, without the indexes it holds and the number of used nonces."""
        return SavedState(
            buddies=list(self.buddies),
            held=self.held.state_without_indexes(),
            neighbours=[self.neighbours.contact(name) for name in self.neighbours.names],
            known=self.neighbours.known(),
            shunned=self.reputation.banned(now),
            has_asked=self.has_asked,
        )

    def restore(self, saved: SavedState, now: float) -> None:
        """Restores a saved state."""
        self.held.restore(saved.held, self.content.unpack)
        self.buddies.replace(saved.buddies)
        for contact in saved.known:
            self.neighbours.remember(contact)
        for neighbour in saved.neighbours[: self.options.max_neighbours]:
            self.neighbours.insert(Contact(neighbour) if isinstance(neighbour, str) else neighbour)
        for name in saved.shunned:
            self.reputation.ban(name, now)
        self.asked_before = saved.has_asked
        self.drop_unwanted_indexes()
