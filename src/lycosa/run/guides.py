"""Guides: a topical map or an access log that helps the strategy.

A run records a reference to its guide, by which the next session finds it again.
"""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import JsonValue


class OpenGuide(Protocol):
    """An open map or log."""

    @property
    def reference(self) -> Struct:
        """How a run records it."""
        ...

    def wrap(self, strategy: Strategy) -> Strategy:
        """The strategy, wrapped so that it uses the guide."""
        ...


G = TypeVar("G", bound=OpenGuide)


class Guide(Generic[G]):
    """The map or log that guides the strategy of a session; none at first.

    kind: "map" or "access log", for messages.
    find: opens the guide that a run of the given strategy refers to, if any; raises UsageError if it has changed since.
    """

    def __init__(self, kind: str, *, find: Callable[[JsonValue, str], G | None], notify: Callable[[str], None]):
        self.reference: JsonValue = None  # of the active guide, as recorded in its run
        self.active: G | None = None
        self._prepared: G | None = None
        self._kind = kind
        self._find = find
        self._notify = notify

    def prepare(self, opened: G | None) -> JsonValue:
        """Keeps an open guide for the next run; returns the reference that the run records."""
        self._prepared = opened
        return None if opened is None else msgspec.to_builtins(opened.reference)

    def activate(self, reference: JsonValue, strategy: str) -> None:
        """Uses the guide that a run refers to from now on; none if it has changed since."""
        if self._prepared is not None and msgspec.to_builtins(self._prepared.reference) == reference:
            self.active = self._prepared
        else:
            try:
                self.active = self._find(reference, strategy)
            except LycosaError as error:
                self.active = None
                self._notify(f"continuing without the {self._kind} of the last run: {error}")
        self.reference = reference if self.active else None

    def wrap(self, strategy: Strategy) -> Strategy:
        """The strategy with the active guide, if there is one."""
        return self.active.wrap(strategy) if self.active else strategy


R = TypeVar("R", bound=Struct)


def recorded_reference(recorded: JsonValue, reference_type: type[R]) -> R | None:
    """The reference to a guide in the record of a run, if it had one; UsageError for an invalid record."""
    if not recorded:
        return None
    try:
        return msgspec.convert(recorded, reference_type)
    except msgspec.ValidationError as error:
        raise UsageError(f"the record of it in the run is invalid: {error}") from None


def require_unchanged(guide: G, reference: Struct, *, what: str) -> G:
    """Returns the guide; UsageError if it has changed since a run recorded this reference.

    what: the guide in words, for the message.
    """
    if guide.reference != reference:
        raise UsageError(f"{what} has changed since")
    return guide


def nested_strategies(strategy: Strategy) -> Iterator[Strategy]:
    """A strategy, the one that it wraps, the one that that wraps, and so on."""
    current: Strategy | None = strategy
    while current is not None:
        yield current
        current = getattr(current, "inner", None)
