"""What all parts of a node share."""

from collections import Counter

from .buddies import BuddyList, HeldIndexes
from .content import Content, Summary
from .messages import Contact, IndexRequest, Message, PeerName, Send
from .neighbours import Neighbours
from .options import NodeOptions
from .rate_limits import Reputation


class Parts:
    """Who a node is, what it has, whom it knows. `counts` tells everything that happened, by name."""

    def __init__(self, me: Contact, content: Content, *, options: NodeOptions, seed: int):
        self.me = me
        self.name = me.name
        self.content = content
        self.options = options
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self._asked_before = False  # in an earlier run
        self.buddies = BuddyList(options.buddies)
        self.held = HeldIndexes(
            refresh_checkpoints=options.refresh_checkpoints, settled_at_once=options.indexes == "neighbours"
        )
        self.neighbours = Neighbours(least=options.neighbours, most=options.most_neighbours)
        self.manners = Reputation(tolerance=options.tolerance, shun=options.shun, per_peer=options.capacity_per_peer)

    @property
    def is_called(self) -> bool:
        """Whether any but its neighbours can answer it: not one without an address, where others have one."""
        return bool(self.me.address) or not self.neighbours.have_addresses

    def index_owners(self) -> list[PeerName]:
        """Those whose indexes this node wants to hold, in the order in which it looks into them. One that never asked
        anything wants none of its neighbours': nobody holds what does not serve themselves."""
        if self.options.indexes == "buddies":
            return self.buddies.names()
        if self.options.indexes == "neighbours" and self._has_asked():
            return self.neighbours.names[: self.options.neighbour_indexes]
        return []

    def _has_asked(self) -> bool:
        return self._asked_before or self.counts["asked"] > 0

    def _drop_indexes_of_others(self) -> None:
        self.held.keep_only(self.index_owners())

    def _indexes(self) -> list[tuple[PeerName, Summary]]:
        if not len(self.held):
            return []
        indexes = ((name, self.held.get(name)) for name in self.index_owners())
        return [(name, index) for name, index in indexes if index is not None]

    def _contact(self, name: PeerName, told: str = "") -> Contact:
        """A peer where we know it to be; where we do not, at the address that somebody told."""
        buddy = self.buddies.get(name)
        return Contact(name, (buddy.contact.address if buddy else "") or self.neighbours.address(name) or told)

    def _send(self, name: PeerName, message: Message) -> Send:
        return Send(name, message, self.neighbours.address(name) or self._contact(name).address)

    def _ask_for_indexes(self, due: list[tuple[PeerName, int | None]]) -> list[Send]:
        self.counts["index_requests"] += len(due)
        return [self._send(name, IndexRequest(since)) for name, since in due]

    def misbehaved(self, peer: PeerName, what: str, now: float, by: float = 1.0) -> None:
        """Counts it; a peer that does it too often is a buddy and a neighbour no more."""
        self.counts[what] += 1
        if self.manners.misbehaved(peer, now, by):
            self.buddies.drop(peer)
            self.held.drop(peer)
            self.neighbours.forget(peer)
