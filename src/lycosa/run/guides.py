"""Guides: what helps a strategy beside the crawl itself, a topical map or an access log.

A run names its guide, so that the next session finds it again by that name.
"""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import Plain


class OpenGuide(Protocol):
    """A map or a log that was opened."""

    @property
    def reference(self) -> Struct:
        """What a run records of it."""
        ...

    def wrap(self, strategy: Strategy) -> Strategy:
        """The strategy, guided."""
        ...


G = TypeVar("G", bound=OpenGuide)


class Guide(Generic[G]):
    """The map, or the log, that guides the strategy of a session; none at first.

    kind: "map" or "access log", for messages.
    find: opens what a run of a strategy refers to; None where it refers to nothing. Refuses what has changed since.
    """

    def __init__(self, kind: str, *, find: Callable[[Plain, str], G | None], tell: Callable[[str], None]):
        self.reference: Plain = None  # of the active one, as its run records it
        self.active: G | None = None
        self._prepared: G | None = None
        self._kind = kind
        self._find = find
        self._tell = tell

    def prepare(self, opened: G | None) -> Plain:
        """Keeps what was opened for the next run; returns the reference that the run is to record."""
        self._prepared = opened
        return None if opened is None else msgspec.to_builtins(opened.reference)

    def activate(self, reference: Plain, strategy: str) -> None:
        """Uses what a run of a strategy refers to from now on; nothing where it has changed since."""
        if self._prepared is not None and msgspec.to_builtins(self._prepared.reference) == reference:
            self.active = self._prepared
        else:
            try:
                self.active = self._find(reference, strategy)
            except LycosaError as error:
                self.active = None
                self._tell(f"going on without the {self._kind} of the run before: {error}")
        self.reference = reference if self.active else None

    def wrap(self, strategy: Strategy) -> Strategy:
        """The strategy, guided; as it is where no guide is active."""
        return self.active.wrap(strategy) if self.active else strategy


def layers(strategy: Strategy) -> Iterator[Strategy]:
    """A strategy, the one within it, and so on."""
    layer: Strategy | None = strategy
    while layer is not None:
        yield layer
        layer = getattr(layer, "inner", None)
