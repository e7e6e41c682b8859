"""The content that a peer shares, and its summary, which other peers may hold.

`Content` and `ContentSummary` are the contracts; `shared_collection` implements them for collections of pages, `Items`
here for the ids of files in simulations.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from .messages import CollectionStatistics, Item, PeerHit, Target


class LookupResult(Struct, frozen=True):
    """The result of a lookup in a content."""

    hits: tuple[PeerHit, ...] = ()
    statistics: CollectionStatistics | None = None


class SummaryDelta(Struct, frozen=True):
    """The changes of a summary since a version of it."""

    version: int
    packed: bytes


class ContentSummary(Protocol):
    """A summary of another peer's content: small, immutable, of a given version."""

    @property
    def version(self) -> int: ...

    def may_have(self, target: Target) -> bool:
        """Whether the content may have it. A summary that lacks words of the content has false negatives."""
        ...

    def find(self, target: Target, max_hits: int) -> Sequence[PeerHit]:
        """Certain hits; none from an approximate summary."""
        ...

    def packed(self) -> bytes: ...


class Content(Protocol):
    """What a peer shares."""

    def find(self, target: Target, max_hits: int) -> LookupResult:
        """The hits for other peers."""
        ...

    def find_own(self, target: Target, max_hits: int) -> LookupResult:
        """The hits for our own user, including what is withheld from others."""
        ...

    def fetch(self, item: Item) -> bytes | None: ...

    def is_item(self, item: Item, body: bytes) -> bool:
        """Whether an untrusted body is that item, as far as can be checked. Of everything that is fetched."""
        ...

    def is_plausible_hit(self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None) -> bool:
        """Whether an untrusted hit can be an answer, as far as can be checked without the item. `statistics` came with
        the hit. Of every hit of other peers."""
        ...

    def body_matches_hit(
        self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None, body: bytes
    ) -> bool:
        """Whether an untrusted item is as its hit claims, such as its title and its counts of words. Of the sample of a
        provider (see `probes`)."""
        ...

    def unanswerable_query(self, number: int) -> str | None:
        """Words that hardly any page has all of, different for each number. The query of `probes.Trap`: a peer
        that has hits for it makes them up. None: there are no such words, and so no traps."""
        ...

    def may_store(self, item: Item) -> bool:
        """Whether this peer may store it; if not, it is useless here, but no fault of the provider."""
        ...

    def summary(self) -> ContentSummary: ...

    def changes(self, since: int) -> SummaryDelta | None:
        """The changes since a version; None if they are no longer known, or not smaller than the whole."""
        ...

    def unpack(self, packed: bytes, version: int) -> ContentSummary:
        """Decodes an untrusted summary; ValueError if it is malformed."""
        ...

    def update(self, held: ContentSummary, change: bytes, version: int) -> ContentSummary:
        """Applies untrusted changes to a held summary; ValueError if they are malformed."""
        ...


_ids = msgspec.msgpack.Decoder(list[int])
_change = msgspec.msgpack.Decoder(tuple[list[int], list[int]])
_encode = msgspec.msgpack.Encoder().encode


class ItemSummary:
    """The exact set of ids of a peer, as of a version."""

    def __init__(self, ids: frozenset[int], version: int = 0):
        self.ids = ids
        self.version = version

    def may_have(self, target: Target) -> bool:
        return target in self.ids

    def find(self, target: Target, max_hits: int) -> Sequence[PeerHit]:
        return (PeerHit(target),) if target in self.ids else ()

    def packed(self) -> bytes:
        return _encode(sorted(self.ids))


class Items:
    """The ids of the files that a peer shares; each change makes the next version."""

    def __init__(self, ids: Iterable[int] = (), *, changes_kept: int = 1000):
        self.ids = set(ids)
        self.version = 0
        self._changes_kept = changes_kept
        self._changes: list[tuple[bool, int]] = []  # whether added, and the item; one for each of the last versions

    def add(self, item: int) -> None:
        if item not in self.ids:
            self.ids.add(item)
            self._changed(True, item)

    def remove(self, item: int) -> None:
        if item in self.ids:
            self.ids.discard(item)
            self._changed(False, item)

    def _changed(self, added: bool, item: int) -> None:
        self.version += 1
        self._changes.append((added, item))
        del self._changes[: -self._changes_kept]

    def find(self, target: Target, max_hits: int) -> LookupResult:
        return LookupResult((PeerHit(target),)) if target in self.ids else LookupResult()

    def find_own(self, target: Target, max_hits: int) -> LookupResult:
        return self.find(target, max_hits)

    def fetch(self, item: Item) -> bytes | None:
        """The id stands for the body of the file."""
        return str(item).encode() if item in self.ids else None

    def is_item(self, item: Item, body: bytes) -> bool:
        return body == str(item).encode()

    def is_plausible_hit(self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None) -> bool:
        return hit.item == target

    def body_matches_hit(
        self, target: Target, hit: PeerHit, statistics: CollectionStatistics | None, body: bytes
    ) -> bool:
        return self.is_item(hit.item, body)

    def unanswerable_query(self, number: int) -> str | None:
        return None

    def may_store(self, item: Item) -> bool:
        return True

    def summary(self) -> ItemSummary:
        return ItemSummary(frozenset(self.ids), self.version)

    def changes(self, since: int) -> SummaryDelta | None:
        first = self.version - len(self._changes)
        if not first <= since <= self.version:
            return None
        last = {item: added for added, item in self._changes[since - first :]}
        added = sorted(item for item, there in last.items() if there)
        removed = sorted(item for item, there in last.items() if not there)
        return SummaryDelta(self.version, _encode((added, removed)))

    def unpack(self, packed: bytes, version: int) -> ItemSummary:
        try:
            return ItemSummary(frozenset(_ids.decode(packed)), version)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"not a summary of items: {error}") from error

    def update(self, held: object, change: bytes, version: int) -> ItemSummary:
        if not isinstance(held, ItemSummary):
            raise ValueError("the summary that is held is not one of items")
        try:
            added, removed = _change.decode(change)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"not a change of a summary of items: {error}") from error
        return ItemSummary((held.ids | set(added)) - set(removed), version)
