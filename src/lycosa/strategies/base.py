"""What strategies have in common: defaults of the contract, arithmetic of the unit scale, state as plain data."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Link, Plain, Skip, Url, Visit

Number = TypeVar("Number", int, float)


class BaseStrategy(ABC):
    """A strategy that says only what is its own: `learn`, if it learns anything, and `propose`.

    Seeds come first; a waiting URL keeps the higher of the priorities it was offered at; nothing is saved. A strategy
    that learns overrides `state` and `restore` too, so that a crawl that was stopped goes on as if it had not been.

    >>> class ShortestUrl(BaseStrategy):
    ...     name = "shortest-url"
    ...     scale = "order"
    ...
    ...     def propose(self, event):
    ...         if isinstance(event, Skip):
    ...             return []
    ...         depth = event.candidate.depth + 1
    ...         links = event.open_links()
    ...         return [Candidate(link.target, -len(link.target), event.candidate.url, depth=depth) for link in links]
    >>> ShortestUrl().start(["http://a.example/"])[0].priority
    1.0
    """

    name: str
    scale: Literal["unit", "order"] = "unit"
    exhaustive: bool = True
    uses_standing: bool = False
    needs: ClassVar[frozenset[str]] = frozenset()  # "log", "map": what it is nothing without

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:  # noqa: B027
        """Learns nothing."""

    @abstractmethod
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]: ...

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return max(waiting, offered)

    def state(self) -> Plain:
        return None

    def restore(self, state: Plain) -> None:  # noqa: B027
        """There is nothing to restore."""

    def restore_visited(self, urls: Iterable[Url]) -> None:  # noqa: B027
        """Is given, after `restore`, every URL that was visited, which a state need therefore not hold."""


@runtime_checkable
class RanksAgain(Protocol):
    """A strategy that can rank what waits by new judgements of earlier pages, without seeing those pages again."""

    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        """Waiting URLs whose priority changes where earlier pages have these relevances and standings from now on."""
        ...


def clamped(value: float | None) -> float:
    """A number brought between 0 and 1; None and NaN become 0.

    >>> [clamped(value) for value in (0.3, 7.0, float("nan"), None)]
    [0.3, 1.0, 0.0, 0.0]
    """
    if value is None:
        return 0.0
    if 0.0 <= value <= 1.0:
        return float(value)
    return 1.0 if value > 1.0 else 0.0


def checked_share(name: str, value: float) -> float:
    """An option that must lie between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie between 0 and 1, not {value:g}")
    return float(value)


def checked_number(name: str, value: Number, least: Number, most: float = 1e9) -> Number:
    """An option that must be a number within bounds, which keep mistakes from costing memory or time without end."""
    if not least <= value <= most:
        raise UsageError(f"{name} must be a number from {least:g} to {most:,.0f}, not {value:g}")
    return value


def distinct_links(visit: Visit) -> Iterable[Link]:
    """The first link that may be followed to each URL, links of the page to itself aside."""
    first: dict[Url, Link] = {}
    for link in visit.open_links():
        first.setdefault(link.target, link)
    first.pop(visit.candidate.url, None)
    return first.values()


def random_state(random: Random) -> Plain:
    """The state of a generator as plain data; `restore_random` takes it back."""
    version, numbers, gauss = random.getstate()
    return [version, list(numbers), gauss]


def restore_random(random: Random, state: Plain) -> None:
    version, numbers, gauss = state
    random.setstate((version, tuple(numbers), gauss))


def packed(array: NDArray[Any]) -> Plain:
    """An array as plain data; `unpacked` takes it back."""
    return [str(array.dtype), list(array.shape), base64.b64encode(array.tobytes()).decode()]


def unpacked(plain: Plain) -> NDArray[Any]:
    kind, shape, text = plain
    return np.frombuffer(base64.b64decode(text), dtype=kind).reshape(shape).copy()
