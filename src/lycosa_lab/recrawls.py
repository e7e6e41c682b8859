"""The recrawl policies of a simulation in which one page at a time is looked at again, out of very many.

They draw as those of `lycosa.refresh` do when asked for one page, but remember what they know between draws, so that a
draw takes log n steps and not n.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008), section III.
"""

import random
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Protocol


class Recrawls(Protocol):
    """Pages 0, 1, 2, ... in the order in which they were first looked at."""

    def add(self, out_links: int) -> None:
        """One more page was looked at for the first time, and so many links were seen on it."""
        ...

    def note(self, page: int, *, out_links: int, yielded: float, link_score: float) -> None:
        """A page was looked at again. out_links: seen on it to date; the others are of this look alone."""
        ...

    def draw(self) -> int:
        """The page to look at next."""
        ...


class Uniformly:
    """Any page."""

    def __init__(self, chance: random.Random):
        self._chance = chance
        self._pages = 0

    def add(self, out_links: int) -> None:
        self._pages += 1

    def note(self, page: int, *, out_links: int, yielded: float, link_score: float) -> None:
        pass

    def draw(self) -> int:
        return int(self._chance.random() * self._pages)


class Sums:
    """Weights whose sum from the first on is known at once: a tree of partial sums (Fenwick, 1994), which grows."""

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
        """The place at which the sum from the first on exceeds a share (0 to 1) of all; None where all is nothing."""
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
        return None  # a hair's breadth off, by rounding


class ByOutLinks(Uniformly):
    """A page in proportion to the links seen on it to date; any where none was seen."""

    def __init__(self, chance: random.Random):
        super().__init__(chance)
        self._sums = Sums()

    def add(self, out_links: int) -> None:
        super().add(out_links)
        self._sums.append(float(out_links))

    def note(self, page: int, *, out_links: int, yielded: float, link_score: float) -> None:
        self._sums.change(page, float(out_links))

    def draw(self) -> int:
        while (page := self._sums.find(self._chance.random())) is None:
            if not self._sums.total > 1e-9:  # nothing, but for rounding
                return super().draw()
        return page


class ByYield(ByOutLinks):
    """A page in proportion to the yield of its latest look; any where none has one."""

    def add(self, out_links: int) -> None:
        super().add(0)

    def note(self, page: int, *, out_links: int, yielded: float, link_score: float) -> None:
        self._sums.change(page, yielded)


class ByLinkScore(Uniformly):
    """The page of the highest link score; of equals any, and any where none has one."""

    def __init__(self, chance: random.Random):
        super().__init__(chance)
        self._scores: list[float] = []
        self._highest: list[tuple[float, float, int]] = []  # with stale ones, which are dropped when met

    def add(self, out_links: int) -> None:
        super().add(out_links)
        self._scores.append(float("-inf"))  # below all scores

    def note(self, page: int, *, out_links: int, yielded: float, link_score: float) -> None:
        self._scores[page] = link_score
        heappush(self._highest, (-link_score, self._chance.random(), page))

    def draw(self) -> int:
        heap = self._highest
        while heap and -heap[0][0] != self._scores[heap[0][2]]:
            heappop(heap)
        return heap[0][2] if heap else super().draw()


class OrUniformly:
    """By the toss of a coin what another policy draws, or any page."""

    def __init__(self, other: Recrawls, chance: random.Random):
        self._other = other
        self._any = Uniformly(chance)
        self._chance = chance

    def add(self, out_links: int) -> None:
        self._other.add(out_links)
        self._any.add(out_links)

    def note(self, page: int, *, out_links: int, yielded: float, link_score: float) -> None:
        self._other.note(page, out_links=out_links, yielded=yielded, link_score=link_score)

    def draw(self) -> int:
        return self._other.draw() if self._chance.random() < 0.5 else self._any.draw()


RECRAWLS: Mapping[str, Callable[[random.Random], Recrawls]] = {
    "uniform": Uniformly,
    "or": ByOutLinks,
    "yr": ByYield,
    "yru": lambda chance: OrUniformly(ByYield(chance), chance),
    "ldu": lambda chance: OrUniformly(ByLinkScore(chance), chance),
}
