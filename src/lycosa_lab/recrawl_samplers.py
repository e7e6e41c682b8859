"""Samplers of the page to refetch next, for simulations that refetch one of very many pages at a time.

They are the refresh policies of Kumar et al., with the weights of the policies of `lycosa.refresh`; weights are kept
between draws, so that a draw takes O(log n) steps instead of O(n).

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
    """What the past fetches of a page have shown, as of the last one."""

    out_links: int  # seen on it so far
    yielded: float = nan  # new links per day at the last fetch; NaN before the second
    link_score: float = nan  # sum of the in-links seen so far of those new links' targets; NaN before the second


Weight = Callable[[PageHistory], float]


class RecrawlSampler(Protocol):
    """Draws the page to refetch; pages are numbered 0, 1, 2, ... in the order of their first fetch."""

    def add(self, history: PageHistory) -> None:
        """Adds a page after its first fetch."""
        ...

    def update(self, page: int, history: PageHistory) -> None:
        """Updates a page after another fetch."""
        ...

    def draw(self) -> int:
        """The page to fetch next."""
        ...


class UniformSampler:
    """Draws any page with equal probability."""

    def __init__(self, random: Random):
        self._random = random
        self._page_count = 0

    def add(self, history: PageHistory) -> None:
        self._page_count += 1

    def update(self, page: int, history: PageHistory) -> None:
        pass

    def draw(self) -> int:
        return int(self._random.random() * self._page_count)


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
        self.update_weight(len(self._weights) - 1, weight)

    def update_weight(self, index: int, weight: float) -> None:
        delta = weight - self._weights[index]
        if delta == 0.0:
            return
        self._weights[index] = weight
        self.total += delta
        tree, size, node = self._tree, self._size, index + 1
        while node <= size:
            tree[node] += delta
            node += node & -node

    def find(self, share: float) -> int | None:
        """The first index whose prefix sum exceeds a share (0 to 1) of the total; None if the total is zero."""
        if not self.total > 0.0:
            return None
        remaining, index, step, tree = share * self.total, 0, self._size, self._tree
        while step:
            if index + step <= self._size and tree[index + step] <= remaining:
                index += step
                remaining -= tree[index]
            step //= 2
        if index < len(self._weights) and self._weights[index] > 0.0:
            return index
        return None  # because of rounding


class WeightedSampler(UniformSampler):
    """Draws a page with probability proportional to its weight; uniform if all are zero. NaN counts as zero."""

    def __init__(self, weight: Weight, random: Random):
        super().__init__(random)
        self._weight = weight
        self._tree = FenwickTree()

    def add(self, history: PageHistory) -> None:
        super().add(history)
        self._tree.append(self._finite_weight(history))

    def update(self, page: int, history: PageHistory) -> None:
        self._tree.update_weight(page, self._finite_weight(history))

    def _finite_weight(self, history: PageHistory) -> float:
        weight = float(self._weight(history))
        return 0.0 if isnan(weight) else weight

    def draw(self) -> int:
        while (page := self._tree.find(self._random.random())) is None:
            if not self._tree.total > 1e-9:  # zero, up to rounding
                return super().draw()
        return page


class HighestSampler(UniformSampler):
    """Draws the page of the highest weight, random among equals; any page if none was fetched twice."""

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


class HalfUniformSampler:
    """Draws by another sampler with probability 1/2, else any page."""

    def __init__(self, other: RecrawlSampler, random: Random):
        self._other = other
        self._uniform = UniformSampler(random)
        self._random = random

    def add(self, history: PageHistory) -> None:
        self._other.add(history)
        self._uniform.add(history)

    def update(self, page: int, history: PageHistory) -> None:
        self._other.update(page, history)

    def draw(self) -> int:
        return self._other.draw() if self._random.random() < 0.5 else self._uniform.draw()


RECRAWL_SAMPLERS: Mapping[str, Callable[[Random], RecrawlSampler]] = {
    Uniform.name: UniformSampler,
    OutLinks.name: lambda random: WeightedSampler(OutLinks.weight, random),
    Yield.name: lambda random: WeightedSampler(Yield.weight, random),
    YieldOrUniform.name: lambda random: HalfUniformSampler(WeightedSampler(YieldOrUniform.weight, random), random),
    LinkScoreOrUniform.name: lambda random: HalfUniformSampler(
        HighestSampler(LinkScoreOrUniform.weight, random), random
    ),
}
