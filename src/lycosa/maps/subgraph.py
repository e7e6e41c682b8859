"""The hyperlinks among the pages of a topic."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Links = Iterable[tuple[int, int]] | NDArray[Any]  # pairs of source and target, or an array with one per row


class Subgraph:
    """Links among `nodes`, the numbers of pages, each link counted once; a node is known by its index in the sequence.

    A link is one number, source × size + target, so that sorting removes duplicates and a binary search finds it.
    """

    def __init__(self, nodes: Sequence[int] | NDArray[Any], links: Links):
        self.nodes: Integers = np.asarray(nodes, dtype=np.int64).reshape(-1)
        self.size = len(self.nodes)
        order = np.argsort(self.nodes, kind="stable")
        ordered = self.nodes[order]
        if (ordered[1:] == ordered[:-1]).any():
            raise ValueError("a page is given twice")
        pairs = link_array(links)
        indices = np.full(pairs.shape, -1, dtype=np.int64)
        if self.size:
            found = np.searchsorted(ordered, pairs).clip(max=self.size - 1)
            indices = np.where(ordered[found] == pairs, order[found], -1)
        inside = (indices >= 0).all(axis=1) & (indices[:, 0] != indices[:, 1])
        keys = np.sort(indices[inside, 0] * max(1, self.size) + indices[inside, 1])
        self._keys: Integers = keys[np.diff(keys, prepend=-1) > 0]
        self.sources: Integers
        self.targets: Integers
        self.sources, self.targets = np.divmod(self._keys, max(1, self.size))
        self.out_links: Integers = np.bincount(self.sources, minlength=self.size)
        self._by_target: Integers = np.argsort(self.targets, kind="stable")
        # where the links to each node begin in `_by_target`
        self._in_link_starts: Integers = np.searchsorted(self.targets[self._by_target], np.arange(self.size + 1))

    def has_links(self, sources: Integers, targets: Integers) -> Booleans:
        """Whether there is a link, for each pair."""
        if not len(self._keys):
            return np.zeros(len(sources), dtype=np.bool_)
        wanted = sources * self.size + targets
        found: Booleans = self._keys[np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)] == wanted
        return found

    def parents(self, node: int) -> Integers:
        """The nodes that link to a node."""
        return self.sources[self._by_target[self._in_link_starts[node] : self._in_link_starts[node + 1]]]

    def propagate(self, marks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Follows all links once: each node, which has one word of `marks`, gets the bits of the nodes that link to it,
        besides its own."""
        linked = np.flatnonzero(np.diff(self._in_link_starts))
        if not len(linked):
            return marks.copy()
        incoming = np.bitwise_or.reduceat(marks[self.sources[self._by_target]], self._in_link_starts[linked])
        reached = marks.copy()
        reached[linked] |= incoming
        return reached


def link_array(links: Links) -> Integers:
    """The links as an array, source and target in each row."""
    if isinstance(links, np.ndarray):
        return links.astype(np.int64, copy=False).reshape(-1, 2)
    return np.fromiter(chain.from_iterable(links), dtype=np.int64).reshape(-1, 2)
