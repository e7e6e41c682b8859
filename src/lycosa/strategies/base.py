"""The base class of strategies, and functions that several of them use."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, JsonValue, Link, Skip, Url, Visit

Number = TypeVar("Number", int, float)


class BaseStrategy(ABC):
    """Defaults for a strategy, so that a subclass needs only `propose`, and `learn` if it learns.

    Seeds have priority 1; a waiting URL keeps the highest priority at which it was offered; nothing is saved. A
    strategy that learns overrides `state` and `restore` too, so that a stopped crawl continues as if it had not been
    stopped.

    >>> class ShortestUrl(BaseStrategy):
    ...     name = "shortest-url"
    ...     scale = "order"
    ...
    ...     def propose(self, event):
    ...         if isinstance(event, Skip):
    ...             return []
    ...         parent = event.candidate
    ...         return [
    ...             Candidate(
    ...                 link.target,
    ...                 -len(link.target),
    ...                 found_on=parent.url,
    ...                 because={"length": len(link.target)},
    ...                 depth=parent.depth + 1,
    ...             )
    ...             for link in event.open_links()
    ...         ]
    >>> ShortestUrl().start(["http://a.example/"])[0].priority
    1.0
    """

    name: str
    scale: Literal["unit", "order"] = "unit"  # priorities are from 0 to 1, or only their order is meaningful
    exhaustive: bool = True  # whether it eventually proposes every reachable URL
    uses_standing: bool = False  # whether visits must have the standing of their pages
    needs: ClassVar[frozenset[str]] = frozenset()  # of "log" and "map", the guides that it requires

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:  # noqa: B027
        """Learns nothing."""

    @abstractmethod
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]: ...

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return max(waiting, offered)

    def state(self) -> JsonValue:
        return None

    def restore(self, state: JsonValue) -> None:  # noqa: B027
        """Restores nothing."""

    def restore_visited(self, urls: Iterable[Url]) -> None:  # noqa: B027
        """Called after `restore` with every visited URL, so that the state need not contain them."""


@runtime_checkable
class SupportsRejudge(Protocol):
    """A strategy that can re-rank waiting URLs when earlier pages are scored again, without seeing the pages again."""

    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        """Replaces the scores of earlier pages, by URL; returns the waiting URLs whose priority changes."""
        ...


@runtime_checkable
class SupportsSharing(Protocol):
    """A strategy that can share what it learns with the strategies of other workers of the same crawl."""

    def begin_sharing(self) -> None:
        """Called once: what was learnt so far, all workers know."""
        ...

    def new_evidence(self) -> bytes:
        """What was learnt from visits since the last call, for `add_evidence` of all others."""
        ...

    def add_evidence(self, encoded: bytes) -> None:
        """Adds what the strategy of another worker has learnt; raises ValueError if it is damaged."""
        ...


def require_unit_scale(inner: Strategy, guide: str, *, such_as: str) -> None:
    """Raises UsageError if the priorities of a strategy to be wrapped are not on the unit scale.

    guide: what wraps it, in words, for the message.
    such_as: a strategy whose priorities are.
    """
    if inner.scale != "unit":
        raise UsageError(
            f"{guide} works only with a strategy whose priorities are from 0 to 1, such as {such_as}; "
            f"those of {inner.name} are not"
        )


def clamped(value: float | None) -> float:
    """A number clamped to the range 0 to 1; None and NaN become 0.

    >>> [clamped(value) for value in (0.3, 7.0, float("nan"), None)]
    [0.3, 1.0, 0.0, 0.0]
    """
    if value is None:
        return 0.0
    if 0.0 <= value <= 1.0:
        return float(value)
    return 1.0 if value > 1.0 else 0.0


def checked_share(name: str, value: float) -> float:
    """Checks that an option is between 0 and 1; UsageError if not."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie between 0 and 1, not {value:g}")
    return float(value)


def checked_number(name: str, value: Number, minimum: Number, maximum: float = 1e9) -> Number:
    """Checks that an option is a number within bounds, so that a mistake cannot use up memory or time; UsageError if
    not."""
    if not minimum <= value <= maximum:
        shown = f"{value:g}" if abs(value) < 1e300 else str(value)[:40]  # an integer may be too large for a float
        raise UsageError(f"{name} must be a number from {minimum:g} to {maximum:,.0f}, not {shown}")
    return value


def distinct_links(visit: Visit) -> Iterable[Link]:
    """The first followable link to each URL, without links of the page to itself."""
    first: dict[Url, Link] = {}
    for link in visit.open_links():
        first.setdefault(link.target, link)
    first.pop(visit.candidate.url, None)
    return first.values()


def random_state(random: Random) -> JsonValue:
    """The state of a random generator as plain data; the inverse is `restore_random`."""
    version, numbers, gauss = random.getstate()
    return [version, list(numbers), gauss]


def restore_random(random: Random, state: JsonValue) -> None:
    version, numbers, gauss = state
    random.setstate((version, tuple(numbers), gauss))


def packed(array: NDArray[Any]) -> JsonValue:
    """An array as plain data; the inverse is `unpacked`."""
    return [str(array.dtype), list(array.shape), base64.b64encode(array.tobytes()).decode()]


def unpacked(plain: JsonValue) -> NDArray[Any]:
    dtype, shape, text = plain
    return np.frombuffer(base64.b64decode(text), dtype=dtype).reshape(shape).copy()
