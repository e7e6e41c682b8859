"""The refresh policies of Kumar et al., for a simulation that refetches one of very many pages at a time.

Weights are those of the policies of `lycosa.refresh`, kept between draws, so that a draw takes O(log n) steps instead
of O(n).

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from math import inf, isnan, nan
from random import Random
from typing import Protocol

from msgspec import Struct

from lycosa.refresh.policies import LinkScoreOrUniform, OutLinks, Uniform, Yield, YieldOrUniform


class PageHistory(Struct, frozen=True, gc=False):
    """What is known of a page by its last fetch."""

    out_links: int  # seen on it so far
    yielded: float = nan  # new links per day at the last fetch; NaN before the second
    link_score: float = nan  # sum of the known in-links of those links' targets; NaN before the second


Weight = Callable[[PageHistory], float]


class Recrawls(Protocol):
    """Pages 0, 1, 2, ... in the order of their first fetch."""

    def add(self, history: PageHistory) -> None:
        """Adds a page after its first fetch."""
        ...

    def update(self, page: int, history: PageHistory) -> None:
        """Updates a page after another fetch."""
        ...

    def draw(self) -> int:
        """The page to fetch next."""
        ...


class UniformRecrawls:
    """Any page."""

    def __init__(self, random: Random):
        self._random = random
        self._pages = 0

    def add(self, history: PageHistory) -> None:
        self._pages += 1

    def update(self, page: int, history: PageHistory) -> None:
        pass

    def draw(self) -> int:
        return int(self._random.random() * self._pages)


class FenwickTree:
    """Weights with prefix sums in O(log n) (Fenwick, 1994); growable."""

    def __init__(self) -> None:
        self._size = 1  # a power of two
        self._tree = [0.0, 0.0]
        self._weights: list[float] = []
        self.total = 0.0

    def append(self, weight: float) -> None:
        if len(self._weights) == self._size:
            self._tree += [0.0] * self._size
            self._size *= 2
            self._tree[self._size] = self.total
        self._weights.append(0.0)
        self.change(len(self._weights) - 1, weight)

    def change(self, place: int, weight: float) -> None:
        by = weight - self._weights[place]
        if by == 0.0:
            return
        self._weights[place] = weight
        self.total += by
        tree, size, node = self._tree, self._size, place + 1
        while node <= size:
            tree[node] += by
            node += node & -node

    def find(self, share: float) -> int | None:
        """The first index whose prefix sum exceeds a share (0 to 1) of the total; None if the total is zero."""
        if not self.total > 0.0:
            return None
        left, place, step, tree = share * self.total, 0, self._size, self._tree
        while step:
            if place + step <= self._size and tree[place + step] <= left:
                place += step
                left -= tree[place]
            step //= 2
        if place < len(self._weights) and self._weights[place] > 0.0:
            return place
        return None  # because of rounding


class WeightedRecrawls(UniformRecrawls):
    """A page with probability proportional to its weight; uniform if all weights are zero. NaN counts as zero."""

    def __init__(self, weight: Weight, random: Random):
        super().__init__(random)
        self._weight = weight
        self._tree = FenwickTree()

    def add(self, history: PageHistory) -> None:
        super().add(history)
        self._tree.append(self._finite_weight(history))

    def update(self, page: int, history: PageHistory) -> None:
        self._tree.change(page, self._finite_weight(history))

    def _finite_weight(self, history: PageHistory) -> float:
        weight = float(self._weight(history))
        return 0.0 if isnan(weight) else weight

    def draw(self) -> int:
        while (page := self._tree.find(self._random.random())) is None:
            if not self._tree.total > 1e-9:  # zero, up to rounding
                return super().draw()
        return page


class HighestRecrawls(UniformRecrawls):
    """The page of the highest weight, random among equals; any page if none was fetched twice."""

    def __init__(self, weight: Weight, random: Random):
        super().__init__(random)
        self._weight = weight
        self._weights: list[float] = []
        self._heap: list[tuple[float, float, int]] = []  # may have outdated entries, which are dropped when popped

    def add(self, history: PageHistory) -> None:
        super().add(history)
        self._weights.append(-inf)

    def update(self, page: int, history: PageHistory) -> None:
        weight = self._weights[page] = self._weight(history)
        heappush(self._heap, (-weight, self._random.random(), page))

    def draw(self) -> int:
        heap = self._heap
        while heap and -heap[0][0] != self._weights[heap[0][2]]:
            heappop(heap)
        return heap[0][2] if heap else super().draw()


class OrUniform:
    """With probability 1/2, the draw of another policy, else any page."""

    def __init__(self, other: Recrawls, random: Random):
        self._other = other
        self._any = UniformRecrawls(random)
        self._random = random

    def add(self, history: PageHistory) -> None:
        self._other.add(history)
        self._any.add(history)

    def update(self, page: int, history: PageHistory) -> None:
        self._other.update(page, history)

    def draw(self) -> int:
        return self._other.draw() if self._random.random() < 0.5 else self._any.draw()


RECRAWLS: Mapping[str, Callable[[Random], Recrawls]] = {
    Uniform.name: UniformRecrawls,
    OutLinks.name: lambda random: WeightedRecrawls(OutLinks.weight, random),
    Yield.name: lambda random: WeightedRecrawls(Yield.weight, random),
    YieldOrUniform.name: lambda random: OrUniform(WeightedRecrawls(YieldOrUniform.weight, random), random),
    LinkScoreOrUniform.name: lambda random: OrUniform(HighestRecrawls(LinkScoreOrUniform.weight, random), random),
}
