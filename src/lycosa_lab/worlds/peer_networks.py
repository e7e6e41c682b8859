"""Networks of peers: the overlay, which items each peer has, what it is interested in, and who downloaded what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue

from .graphs import LinkGraph

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Generator = np.random.Generator

_SHARING = "sharing.npz"


class RaggedArray(Struct, frozen=True):
    """Rows of numbers, of any length each, stored one after the other (compressed sparse rows)."""

    offsets: Ints  # row n is values[offsets[n] : offsets[n + 1]]
    values: Ints

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.offsets) - 1

    def row(self, number: int) -> Ints:
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def transposed(self, size: int) -> "RaggedArray":
        """For each value from 0 to `size` - 1 the sorted numbers of the rows that contain it."""
        return group_by_row(self.values, np.repeat(np.arange(len(self)), self.lengths()), size)


def group_by_row(row_numbers: Ints, values: Ints, size: int) -> RaggedArray:
    """`size` rows made of pairs of a row number and a value; the values of a row keep their order."""
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(row_numbers, minlength=size), out=offsets[1:])
    return RaggedArray(offsets, values[np.argsort(row_numbers, kind="stable")].astype(np.int32))


def group_distinct(row_numbers: Ints, values: Ints, size: int, width: int) -> RaggedArray:
    """Like `group_by_row`, but each row is sorted and has each value once; all values are less than `width`."""
    keys = np.unique(row_numbers.astype(np.int64) * width + values)
    return group_by_row(keys // width, keys % width, size)


class Trace(Struct, frozen=True):
    """Downloads in order of time: who asked, for which item, who provided it, and when."""

    consumers: Ints
    items: Ints
    providers: Ints
    times: Floats  # seconds since the beginning of the first day

    def __len__(self) -> int:
        """How many downloads there are."""
        return len(self.consumers)

    def select(self, mask: NDArray[Any]) -> "Trace":
        """The downloads that a mask or an array of indices selects."""
        return Trace(self.consumers[mask], self.items[mask], self.providers[mask], self.times[mask])


class Sharing(Struct, frozen=True):
    """Peers 0, 1, 2, ... and items 0, 1, 2, ...: what each peer has, what it likes, and what was downloaded."""

    libraries: RaggedArray  # items of each peer, sorted
    interests: RaggedArray  # categories of each peer, sorted
    category_count: int
    item_count: int
    trace: Trace
    category_starts: Ints | None = None  # first item of each category, and the end; None if not ordered by category

    def __len__(self) -> int:
        """How many peers there are."""
        return len(self.libraries)

    def categories_of(self, items: Ints) -> Ints | None:
        """The category of each of the given items; None if items have no categories."""
        if self.category_starts is None:
            return None
        found: Ints = np.searchsorted(self.category_starts, items, side="right") - 1
        return found

    def holders(self) -> RaggedArray:
        """The peers that have each item."""
        return self.libraries.transposed(self.item_count)


class PeerNetwork(LinkGraph):
    """A world whose nodes are peers and whose links, present in both directions, are the overlay."""

    knows_providers = True  # whether the providers of the trace were recorded; otherwise they were drawn at random

    def __init__(self, graph: Graph, sharing: Sharing, *, options: Mapping[str, JsonValue] | None = None):
        super().__init__(graph, options=options)
        self.sharing = sharing

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        """The facts of the graph, and how many peers have items, ask for items, and how often."""
        sharing = self.sharing
        counts = {
            "with_files": int((sharing.libraries.lengths() > 0).sum()),
            "with_queries": len(np.unique(sharing.trace.consumers)),
            "downloads": len(sharing.trace),
            "items": sharing.item_count,
            "copies": len(sharing.libraries.values),
        }
        return {**super().facts, **counts}

    def save(self, folder: Path) -> None:
        super().save(folder)
        sharing, trace = self.sharing, self.sharing.trace
        np.savez(
            folder / _SHARING,
            library_offsets=sharing.libraries.offsets,
            library_values=sharing.libraries.values,
            interest_offsets=sharing.interests.offsets,
            interest_values=sharing.interests.values,
            sizes=np.array([sharing.category_count, sharing.item_count]),
            consumers=trace.consumers,
            items=trace.items,
            providers=trace.providers,
            times=trace.times,
            firsts=np.zeros(0, np.int64) if sharing.category_starts is None else sharing.category_starts,
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        link_graph = LinkGraph.load(folder)
        try:
            with np.load(folder / _SHARING) as saved:
                libraries, interests = (
                    RaggedArray(saved[f"{name}_offsets"], saved[f"{name}_values"]) for name in ("library", "interest")
                )
                category_count, item_count = saved["sizes"].tolist()
                trace = Trace(*(saved[column] for column in ("consumers", "items", "providers", "times")))
                category_starts = saved["firsts"] if len(saved["firsts"]) else None
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise UsageError(f"{folder} holds no peers that can be read ({error}); make them again") from None
        world = cls.__new__(cls)
        sharing = Sharing(libraries, interests, category_count, item_count, trace, category_starts)
        PeerNetwork.__init__(world, link_graph.graph, sharing, options=link_graph.options)
        return world


# Overlays


def preferential_attachment(size: int, *, min_degree: int, rng: Generator) -> Graph:
    """A random network of `size` peers, grown peer by peer: each new one links to `min_degree` others, drawn in
    proportion to their degree.

    Barabási, Albert: Emergence of scaling in random networks (Science, 1999).
    """
    if not 1 <= min_degree < size:
        raise ValueError(f"the least number of neighbours must be from 1 to {size - 1}")
    initial_count = min_degree + 1  # peers that are all linked to each other
    link_count = initial_count * min_degree // 2 + (size - initial_count) * min_degree
    ends = np.empty(2 * link_count, np.int64)  # both ends of every link: a uniform draw is a draw by degree
    complete = [(one, other) for one in range(initial_count) for other in range(one)]
    count = 2 * len(complete)  # of the ends so far
    ends[:count] = np.array(complete, np.int64).ravel()
    draws = rng.random((size, min_degree))
    for newcomer in range(initial_count, size):
        chosen: list[int] = []
        for draw in draws[newcomer].tolist():
            peer = int(ends[int(draw * count)])
            while peer in chosen:
                peer = int(ends[int(rng.random() * count)])
            chosen.append(peer)
        for peer in chosen:
            ends[count], ends[count + 1] = newcomer, peer
            count += 2
    shuffled = rng.permutation(size)
    return undirected(shuffled[ends[:count:2]], shuffled[ends[1:count:2]], size)


def undirected(sources: Ints, targets: Ints, size: int) -> Graph:
    """The graph with every link in both directions, without duplicates and without self-links."""
    is_other = sources != targets
    sources, targets = sources[is_other].astype(np.int64), targets[is_other].astype(np.int64)
    keys = np.unique(np.concatenate([sources * size + targets, targets * size + sources]))
    rows = group_by_row(keys // size, keys % size, size)
    return Graph(rows.offsets.astype(np.int32), rows.values)


def with_min_degree(graph: Graph, *, min_degree: int, rng: Generator) -> Graph:
    """The undirected network, with links added until every peer has `min_degree` neighbours; drawn by their degree.

    Peers of a measured topology may have lost all neighbours but one at the moment of measurement, or all of them.
    """
    size = len(graph)
    if not 1 <= min_degree < size:
        raise ValueError(f"the least number of neighbours must be from 1 to {size - 1}")
    sources = np.repeat(np.arange(size), np.diff(graph.offsets))
    targets = graph.targets.astype(np.int64)
    for _ in range(100):
        network = undirected(sources, targets, size)
        degrees = np.diff(network.offsets)
        missing = np.maximum(0, min_degree - degrees)
        if not missing.any():
            return network
        lacking = np.repeat(np.arange(size), missing)
        pool = network.targets if len(network.targets) else np.arange(size)
        sources = np.concatenate([sources, lacking])
        targets = np.concatenate([targets, pool[rng.integers(len(pool), size=len(lacking))]])
    raise ValueError(f"no network of {size} peers with {min_degree} neighbours each could be made of it")
