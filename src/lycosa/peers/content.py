"""What a peer shares, and the summary of it that another peer may hold.

`Content` and `Summary` are the contracts; `shared_collection` implements them for collections, `Items` here for ids of
files, as they are searched for in simulations.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from .messages import Hit, Item, Statistics, Wanted


class Found(Struct, frozen=True):
    """What a content answers a question with."""

    hits: tuple[Hit, ...] = ()
    statistics: Statistics | None = None


class Change(Struct, frozen=True):
    """What has become of a summary since a version of it."""

    version: int
    packed: bytes


class Summary(Protocol):
    """What one peer holds of the content of another: small, as of a version. Never changes; the next is another one."""

    @property
    def version(self) -> int: ...

    def may_have(self, wanted: Wanted) -> bool:
        """False where it is not there, as far as the summary goes: one that leaves words out misses questions."""
        ...

    def find(self, wanted: Wanted, most: int) -> Sequence[Hit]:
        """What is there for certain; nothing from a summary that can only tell what may be there."""
        ...

    def packed(self) -> bytes: ...


class Content(Protocol):
    """What a peer has."""

    def find(self, wanted: Wanted, most: int) -> Found: ...

    def fetch(self, item: Item) -> bytes | None: ...

    def verify(self, item: Item, body: bytes) -> bool:
        """Whether what a stranger sent is that item, as far as can be told."""
        ...

    def may_answer(self, wanted: Wanted, hit: Hit, statistics: Statistics | None) -> bool:
        """Whether what a stranger found can be an answer, as far as can be told without having it. `statistics` are
        those that came with the hit."""
        ...

    def may_take(self, item: Item) -> bool:
        """Whether this peer could make it its own; what it may not is of no use to it, and no fault of who has it."""
        ...

    def summary(self) -> Summary: ...

    def changes(self, since: int) -> Change | None:
        """None where it is not known any more, or is no smaller than the whole."""
        ...

    def unpack(self, packed: bytes, version: int) -> Summary:
        """The summary a stranger sent; ValueError where it is none."""
        ...

    def update(self, held: Summary, change: bytes, version: int) -> Summary:
        """The next of a summary that is held, by the change a stranger sent; ValueError where it is none."""
        ...


_ids = msgspec.msgpack.Decoder(list[int])
_change = msgspec.msgpack.Decoder(tuple[list[int], list[int]])
_encode = msgspec.msgpack.Encoder().encode


class ItemSummary:
    """Exactly the ids that somebody has, as of a version."""

    def __init__(self, ids: frozenset[int], version: int = 0):
        self.ids = ids
        self.version = version

    def may_have(self, wanted: Wanted) -> bool:
        return wanted in self.ids

    def find(self, wanted: Wanted, most: int) -> Sequence[Hit]:
        return (Hit(wanted),) if wanted in self.ids else ()

    def packed(self) -> bytes:
        return _encode(sorted(self.ids))


class Items:
    """The ids of the files that a peer shares; each change of it is the next version."""

    def __init__(self, ids: Iterable[int] = (), *, changes_kept: int = 1000):
        self.ids = set(ids)
        self.version = 0
        self._changes_kept = changes_kept
        self._changes: list[tuple[bool, int]] = []  # added or removed, and what; one for each version, the last ones

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

    def find(self, wanted: Wanted, most: int) -> Found:
        return Found((Hit(wanted),)) if wanted in self.ids else Found()

    def fetch(self, item: Item) -> bytes | None:
        """The name of the file stands for the file."""
        return str(item).encode() if item in self.ids else None

    def verify(self, item: Item, body: bytes) -> bool:
        return body == str(item).encode()

    def may_answer(self, wanted: Wanted, hit: Hit, statistics: Statistics | None) -> bool:
        return hit.item == wanted

    def may_take(self, item: Item) -> bool:
        return True

    def summary(self) -> ItemSummary:
        return ItemSummary(frozenset(self.ids), self.version)

    def changes(self, since: int) -> Change | None:
        first = self.version - len(self._changes)
        if not first <= since <= self.version:
            return None
        last = {item: added for added, item in self._changes[since - first :]}
        added = sorted(item for item, there in last.items() if there)
        removed = sorted(item for item, there in last.items() if not there)
        return Change(self.version, _encode((added, removed)))

    def unpack(self, packed: bytes, version: int) -> ItemSummary:
        try:
            return ItemSummary(frozenset(_ids.decode(packed)), version)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"no index of items: {error}") from error

    def update(self, held: object, change: bytes, version: int) -> ItemSummary:
        if not isinstance(held, ItemSummary):
            raise ValueError("the index that is held is none of items")
        try:
            added, removed = _change.decode(change)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"no change of an index of items: {error}") from error
        return ItemSummary((held.ids | set(added)) - set(removed), version)
