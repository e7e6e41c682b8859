"""What a strategy goes by beside the crawl itself, a map or a log: named in the run, and found again by the name."""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import Plain


class Opened(Protocol):
    """A file that was opened."""

    @property
    def named(self) -> Struct:
        """What a run says of it."""
        ...

    def around(self, strategy: Strategy) -> Strategy:
        """The strategy that goes by it, too."""
        ...


O = TypeVar("O", bound=Opened)  # noqa: E741


class Guide(Generic[O]):
    """The map, or the log, that the crawl of a session goes by.

    what: what it is called.
    find: opens what a run of a strategy names; None where it names nothing. Refuses what is no longer as it was.
    """

    def __init__(self, what: str, *, find: Callable[[Plain, str], O | None], tell: Callable[[str], None]):
        self.named: Plain = None  # as the run says that goes by it; None where there is none, or it was not found
        self.in_use: O | None = None
        self._at_hand: O | None = None
        self._what = what
        self._find = find
        self._tell = tell

    def offer(self, found: O | None) -> Plain:
        """Has something at hand for the next run; returns what that is to say of it."""
        self._at_hand = found
        return None if found is None else msgspec.to_builtins(found.named)

    def use(self, named: Plain, strategy: str) -> None:
        """Goes by what a run names from now on; by nothing where it is not as it was."""
        if self._at_hand is not None and msgspec.to_builtins(self._at_hand.named) == named:
            self.in_use = self._at_hand
        else:
            try:
                self.in_use = self._find(named, strategy)
            except LycosaError as error:
                self.in_use = None
                self._tell(f"going on without the {self._what} of the run before: {error}")
        self.named = named if self.in_use else None

    def around(self, strategy: Strategy) -> Strategy:
        """The strategy that goes by it, too; as it is where there is nothing."""
        return self.in_use.around(strategy) if self.in_use else strategy


def layers(strategy: Strategy) -> Iterator[Strategy]:
    """A strategy, the one within it, and so on."""
    layer: Strategy | None = strategy
    while layer is not None:
        yield layer
        layer = getattr(layer, "inner", None)
