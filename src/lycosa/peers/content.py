"""What a peer has, and what another may hold of it. Implemented by `items` (ids of files) and by collections."""

from collections.abc import Sequence
from typing import Protocol

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
