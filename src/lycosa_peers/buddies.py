"""The buddy list: peers that answered before, and the indexes that are held of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from .content import ContentSummary
from .messages import Contact, Index, PeerName


class Buddy(Struct, frozen=True):
    """An entry of the buddy list."""

    contact: Contact
    count: int  # good responses minus failures; at least 1
    since: int  # number of the last response that raised the count; lower is older


class BuddyList:
    """At most `size` peers that answered, ranked by count, then by recency (BuddyNet, section 5.3.2).

    A response adds its peer with a count of 1, or raises its count by 1, and makes it the most recent of that count.
    If the list is full, the oldest entry of the lowest count is removed first. A failure lowers the count by 1 and does
    not change the age; at 0 the buddy is removed.
    """

    def __init__(self, size: int = 10):
        self.size = size
        self._entries: dict[PeerName, Buddy] = {}
        self._responses = 0

    def __contains__(self, name: PeerName) -> bool:
        return name in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Buddy]:
        """Best first: the highest count, then the most recent."""
        return iter(sorted(self._entries.values(), key=_rank, reverse=True))

    def names(self) -> list[PeerName]:
        return [buddy.contact.name for buddy in self]

    def get(self, name: PeerName) -> Buddy | None:
        return self._entries.get(name)

    def answered(self, contact: Contact) -> PeerName | None:
        """Counts a response; returns the buddy that was removed for it, if any."""
        known, removed = self._entries.get(contact.name), None
        if known and not contact.address:
            contact = known.contact
        if known is None and len(self._entries) >= self.size:
            removed = min(self._entries.values(), key=_rank).contact.name
            del self._entries[removed]
        self._responses += 1
        count = known.count + 1 if known else 1
        self._entries[contact.name] = Buddy(contact, count, self._responses)
        return removed

    def failed(self, name: PeerName) -> bool:
        """Lowers a buddy's count by 1; returns whether the buddy was removed."""
        known = self._entries.get(name)
        if known is None:
            return False
        if known.count <= 1:
            del self._entries[name]
            return True
        self._entries[name] = Buddy(known.contact, known.count - 1, known.since)
        return False

    def update_address(self, contact: Contact) -> None:
        """Updates the address of a buddy."""
        known = self._entries.get(contact.name)
        if known is not None and contact.address:
            self._entries[contact.name] = Buddy(contact, known.count, known.since)

    def drop(self, name: PeerName) -> None:
        self._entries.pop(name, None)

    def replace(self, entries: Iterable[Buddy]) -> None:
        """Restores saved entries, at most `size` of the best."""
        best = sorted(entries, key=_rank, reverse=True)[: self.size]
        self._entries = {entry.contact.name: entry for entry in reversed(best)}
        self._responses = max((entry.since for entry in self._entries.values()), default=0)


def _rank(buddy: Buddy) -> tuple[int, int]:
    return buddy.count, buddy.since


class HeldIndexes:
    """The indexes of other peers that a node holds, by its own choice (section 5.3.3).

    At regular checkpoints, `checkpoint` gets the peers whose indexes are wanted now. A peer that was also wanted at the
    last checkpoint is asked for its index, or for the changes if its index is held; indexes of other peers are dropped.
    Unrequested indexes are rejected. Nothing is saved at a checkpoint.

    refresh_checkpoints: checkpoints between two requests for the changes of an index; 0: only `refresh` requests them.
    """

    def __init__(self, *, refresh_checkpoints: int = 1, request_at_once: bool = False):
        self.refresh_checkpoints = refresh_checkpoints
        self.request_at_once = request_at_once  # request an index at the first checkpoint
        self._held: dict[PeerName, ContentSummary] = {}
        self._wanted: set[PeerName] = set()  # at the last checkpoint
        self._asked: dict[PeerName, int | None] = {}  # requested indexes, and the version held then
        self._checkpoints = 0  # so far

    def __contains__(self, name: PeerName) -> bool:
        return name in self._held

    def __len__(self) -> int:
        return len(self._held)

    def names(self) -> list[PeerName]:
        return list(self._held)

    def get(self, name: PeerName) -> ContentSummary | None:
        return self._held.get(name)

    def checkpoint(self, wanted: Sequence[PeerName]) -> list[tuple[PeerName, int | None]]:
        """The peers to request an index from, each with the version held."""
        self._checkpoints += 1
        self.keep_only(wanted)
        refreshes = self.refresh_checkpoints > 0 and self._checkpoints % self.refresh_checkpoints == 0
        due: list[tuple[PeerName, int | None]] = []
        for name in wanted:
            summary = self._held.get(name)
            if summary is not None:
                if refreshes:
                    due.append((name, summary.version))
            elif self.request_at_once or name in self._wanted:
                due.append((name, None))
        self._wanted = set(wanted)
        self._asked = dict(due)
        return due

    def refresh(self, name: PeerName) -> list[tuple[PeerName, int | None]]:
        """The same for a peer whose index was found to be wrong; empty if a request is pending."""
        summary = self._held.get(name)
        if summary is None or name in self._asked:
            return []
        self._asked[name] = summary.version
        return [(name, summary.version)]

    def store(
        self,
        sender: PeerName,
        index: Index,
        unpack: Callable[[bytes, int], ContentSummary],
        update: Callable[[ContentSummary, bytes, int], ContentSummary],
    ) -> bool:
        """Stores a requested index; False for any other. ValueError if it is malformed."""
        if sender not in self._asked:
            return False
        known = self._held.get(sender)
        if index.since is None:
            summary = unpack(index.packed, index.version)
        elif known is None or index.since != known.version or index.since != self._asked[sender]:
            return False
        else:
            summary = update(known, index.packed, index.version)
        del self._asked[sender]
        self._held[sender] = summary
        return True

    def request_failed(self, name: PeerName) -> None:
        """The request was not delivered or was declined; the next checkpoint repeats it."""
        self._asked.pop(name, None)

    def drop(self, name: PeerName) -> None:
        self._held.pop(name, None)
        self._asked.pop(name, None)
        self._wanted.discard(name)

    def keep_only(self, wanted: Iterable[PeerName]) -> None:
        for name in (self._held.keys() | self._asked.keys()) - set(wanted):
            self.drop(name)

    def state_without_indexes(self) -> "SavedIndexes":
        """The small part of the state, which changes at every checkpoint."""
        return SavedIndexes({}, sorted(self._wanted), self._checkpoints)

    def state(self) -> "SavedIndexes":
        indexes = {name: (summary.version, summary.packed()) for name, summary in self._held.items()}
        return SavedIndexes(indexes, sorted(self._wanted), self._checkpoints)

    def restore(self, state: "SavedIndexes", unpack: Callable[[bytes, int], ContentSummary]) -> None:
        """Restores a saved state; unreadable indexes are dropped."""
        self._held = {}
        for name, (version, packed) in state.held.items():
            with suppress(ValueError):
                self._held[name] = unpack(packed, version)
        self._wanted, self._checkpoints, self._asked = set(state.wanted), state.checkpoints, {}


class SavedIndexes(Struct, frozen=True):
    """The saved form of `HeldIndexes`."""

    held: dict[PeerName, tuple[int, bytes]] = {}  # version and packed index
    wanted: list[PeerName] = msgspec.field(default_factory=list)  # owners of the indexes wanted at the last checkpoint
    checkpoints: int = 0  # number of checkpoints so far
