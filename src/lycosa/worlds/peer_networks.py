"""Networks of peers: the overlay, which items each peer has, what it is interested in, and who downloaded what."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain
from lycosa.worlds.graphs import LinkGraph

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Generator = np.random.Generator


class RaggedArray(Struct, frozen=True):
    """Numbers in rows of any length, row behind row."""

    offsets: Ints  # where each row begins, and where the last one ends
    values: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, number: int) -> Ints:
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def turned(self, size: int) -> "RaggedArray":
        """For each value the rows in which it stands, in order; `size` is one more than the largest value may be."""
        return group_by_row(self.values, np.repeat(np.arange(len(self)), self.lengths()), size)


def group_by_row(row_numbers: Ints, values: Ints, size: int) -> RaggedArray:
    """Rows out of pairs of a row's number and a value; values of a row keep their order."""
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(row_numbers, minlength=size), out=offsets[1:])
    return RaggedArray(offsets, values[np.argsort(row_numbers, kind="stable")].astype(np.int32))


def group_distinct(row_numbers: Ints, values: Ints, size: int, width: int) -> RaggedArray:
    """The same, each value once in a row, the smallest first; all values are less than `width`."""
    keys = np.unique(row_numbers.astype(np.int64) * width + values)
    return group_by_row(keys // width, keys % width, size)


class Trace(Struct, frozen=True):
    """Downloads in the order of time: who asked, for which item, who gave it, and when."""

    consumers: Ints
    items: Ints
    providers: Ints
    times: Floats  # seconds since the first day

    def __len__(self) -> int:
        return len(self.consumers)

    def of(self, are_kept: NDArray[Any]) -> "Trace":
        return Trace(self.consumers[are_kept], self.items[are_kept], self.providers[are_kept], self.times[are_kept])


class Sharing(Struct, frozen=True):
    """Peers 0, 1, 2, ... and items 0, 1, 2, ...: what each peer has, what it likes, and what was downloaded."""

    libraries: RaggedArray  # items of each peer, sorted
    interests: RaggedArray  # categories of each peer, sorted
    categories: int
    items: int
    trace: Trace
    firsts: Ints | None = None  # item of each category, and the end, where items stand by category

    def __len__(self) -> int:
        """How many peers there are."""
        return len(self.libraries)

    def categories_of(self, items: Ints) -> Ints | None:
        """The category of each of some items; None where items have none."""
        if self.firsts is None:
            return None
        found: Ints = np.searchsorted(self.firsts, items, side="right") - 1
        return found

    def holders(self) -> RaggedArray:
        """The peers that have each item."""
        return self.libraries.turned(self.items)


_SHARING = "sharing.npz"


class PeerNetwork(LinkGraph):
    """A graph whose nodes are peers and whose links, known at both ends, are the overlay."""

    knows_providers = True  # who gave what; else these were drawn

    def __init__(self, graph: Graph, sharing: Sharing, *, options: Mapping[str, Plain] | None = None):
        super().__init__(graph, options=options)
        self.sharing = sharing

    @property
    def facts(self) -> Mapping[str, Plain]:
        """What the graph tells, and how many have something, ask for something, and how often."""
        sharing = self.sharing
        told = {
            "with_files": int((sharing.libraries.lengths() > 0).sum()),
            "with_queries": len(np.unique(sharing.trace.consumers)),
            "downloads": len(sharing.trace),
            "items": sharing.items,
            "copies": len(sharing.libraries.values),
        }
        return {**super().facts, **told}

    def save(self, folder: Path) -> None:
        super().save(folder)
        sharing, trace = self.sharing, self.sharing.trace
        np.savez(
            folder / _SHARING,
            library_offsets=sharing.libraries.offsets,
            library_values=sharing.libraries.values,
            interest_offsets=sharing.interests.offsets,
            interest_values=sharing.interests.values,
            sizes=np.array([sharing.categories, sharing.items]),
            consumers=trace.consumers,
            items=trace.items,
            providers=trace.providers,
            times=trace.times,
            firsts=np.zeros(0, np.int64) if sharing.firsts is None else sharing.firsts,
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        still = LinkGraph.load(folder)
        try:
            with np.load(folder / _SHARING) as told:
                libraries, interests = (
                    RaggedArray(told[f"{what}_offsets"], told[f"{what}_values"]) for what in ("library", "interest")
                )
                categories, items = told["sizes"].tolist()
                trace = Trace(*(told[column] for column in ("consumers", "items", "providers", "times")))
                firsts = told["firsts"] if len(told["firsts"]) else None
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"{folder} holds no peers that can be read ({error}); make them again") from None
        world = cls.__new__(cls)
        sharing = Sharing(libraries, interests, categories, items, trace, firsts)
        PeerNetwork.__init__(world, still.graph, sharing, options=still.options)
        return world


def preferential_attachment(size: int, *, least: int, chance: Generator) -> Graph:
    """A network that grew: each newcomer links to `least` different peers, each drawn in proportion to its links.

    Barabási, Albert: Emergence of scaling in random networks (Science, 1999).
    """
    if not 1 <= least < size:
        raise ValueError(f"the least number of neighbours must be from 1 to {size - 1}")
    first = least + 1  # these all know each other
    many = first * least // 2 + (size - first) * least
    ends = np.empty(2 * many, np.int64)  # of all links: drawn from evenly, each peer comes by its number of links
    early = [(one, other) for one in range(first) for other in range(one)]
    count = 2 * len(early)
    ends[:count] = np.array(early, np.int64).ravel()
    luck = chance.random((size, least))
    for newcomer in range(first, size):
        chosen: list[int] = []
        for share in luck[newcomer].tolist():
            known = int(ends[int(share * count)])
            while known in chosen:
                known = int(ends[int(chance.random() * count)])
            chosen.append(known)
        for known in chosen:
            ends[count], ends[count + 1] = newcomer, known
            count += 2
    shuffled = chance.permutation(size)
    return undirected(shuffled[ends[:count:2]], shuffled[ends[1:count:2]], size)


def undirected(sources: Ints, targets: Ints, size: int) -> Graph:
    """The graph in which every link is known at both of its ends; none is double, none leads a peer to itself."""
    is_other = sources != targets
    sources, targets = sources[is_other].astype(np.int64), targets[is_other].astype(np.int64)
    keys = np.unique(np.concatenate([sources * size + targets, targets * size + sources]))
    rows = group_by_row(keys // size, keys % size, size)
    return Graph(rows.offsets.astype(np.int32), rows.values)


def with_min_degree(graph: Graph, *, least: int, chance: Generator) -> Graph:
    """The same network, in which those with fewer than `least` neighbours get more, drawn in proportion to their links.

    Peers of a measured topology may have lost all neighbours but one at the moment of measurement, or all of them.
    """
    size = len(graph)
    if not 1 <= least < size:
        raise ValueError(f"the least number of neighbours must be from 1 to {size - 1}")
    sources = np.repeat(np.arange(size), np.diff(graph.offsets))
    targets = graph.targets.astype(np.int64)
    for _ in range(100):
        made = undirected(sources, targets, size)
        degrees = np.diff(made.offsets)
        short = np.maximum(0, least - degrees)
        if not short.any():
            return made
        needy = np.repeat(np.arange(size), short)
        pool = made.targets if len(made.targets) else np.arange(size)
        sources = np.concatenate([sources, needy])
        targets = np.concatenate([targets, pool[chance.integers(len(pool), size=len(needy))]])
    raise ValueError(f"no network of {size} peers with {least} neighbours each could be made of it")
