"""How near pages lie to the portals of a map, by the links one has to follow."""

import numpy as np
from numpy.typing import NDArray

from .subgraph import Floats, Integers, SubGraph

NEAR, FAIRLY_NEAR = 2, 3  # links to follow from a portal
MOST_WORDS = 40_000_000  # of 64 bits, for both; portals for which there is no room count as far from everything


class Nearness:
    """1 for pages within two links of a portal, one half for those within three, 0 for the others."""

    def __init__(self, graph: SubGraph, portals: Integers):
        self._size = max(1, graph.size)
        blocks = min(-(-len(portals) // 64), MOST_WORDS // (2 * self._size))
        self._known = 64 * blocks
        self._near = np.zeros((blocks, self._size), dtype=np.uint64)
        self._fairly_near = np.zeros_like(self._near)
        for block in range(blocks):
            some = portals[64 * block : 64 * block + 64]
            marks = np.zeros(self._size, dtype=np.uint64)
            marks[some] = np.uint64(1) << np.arange(len(some), dtype=np.uint64)
            for _ in range(NEAR):
                marks = graph.spread(marks)
            self._near[block] = marks
            for _ in range(FAIRLY_NEAR - NEAR):
                marks = graph.spread(marks)
            self._fairly_near[block] = marks

    def __call__(self, ranks: Integers, nodes: Integers) -> Floats:
        """Of portals by rank and nodes by place, pairwise."""
        nearness = np.zeros(len(ranks), dtype=np.float64)
        known = ranks < self._known
        blocks, bits = np.divmod(ranks[known], 64)
        for table in (self._near, self._fairly_near):
            nearness[known] += 0.5 * _bits(table[blocks, nodes[known]], bits)
        return nearness


def _bits(words: NDArray[np.uint64], bits: Integers) -> NDArray[np.uint64]:
    return words >> bits.astype(np.uint64) & np.uint64(1)
