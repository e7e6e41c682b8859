"""How soon a crawl finds the pages that most others link to, and whether it knows them when it sees them.

Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.standing.graph_files import graph_from_edges
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.graphs import LinkGraph

Ints = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]

BEST_LINKED = 8  # nodes with most links both ways


class Performance(Struct, frozen=True):
    """Of the targets, the share that a crawl has brought home, and that its own ranking puts in their place."""

    nodes: int  # crawled so far
    crawl: float
    rank: float


class Linkers(Struct, frozen=True):
    """Of those who link to authorities, the share who are linked to well themselves."""

    share: float  # mean over the authorities
    spread: float  # between authorities, as a standard deviation
    by_chance: float  # the spread to expect if the linkers of all authorities were alike


def as_graph(world: StudyWorld) -> LinkGraph:
    """The links of a world alone, each once, none from a page to itself."""
    size = len(world)
    if isinstance(world, LinkGraph):
        sources, targets = np.repeat(np.arange(size), world.out_degrees()), world.graph.targets
    else:
        sources, targets = _arcs_of(world)
    keys = np.unique(sources.astype(np.int64) * size + targets)
    sources, targets = keys // size, keys % size
    is_other = sources != targets
    return LinkGraph(graph_from_edges(sources[is_other].astype(np.int32), targets[is_other].astype(np.int32), size))


def _arcs_of(world: StudyWorld) -> tuple[Ints, Ints]:
    numbers: dict[Url, int] = {url: number for number, url in enumerate(world.urls())}
    arcs = [(number, numbers[target]) for url, number in numbers.items() for target in world.out_links(url)]
    pairs = np.array(arcs, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def most_linked(graph: LinkGraph, k: int) -> Flags:
    """Which nodes are the k of the highest in-degree; of equals those of the lowest numbers."""
    degrees = graph.in_degrees()
    are_targets = np.zeros(len(graph), np.bool_)
    are_targets[np.lexsort((np.arange(len(graph)), -degrees))[:k]] = True
    return are_targets


def linkers_of(graph: LinkGraph, k: int, well_linked: int) -> Linkers:
    """How the linkers of authorities differ: of the 2 k most linked nodes, those that may be taken for the k best.

    A greedy crawl sees the links of so many well linked nodes. It ranks by them as well as by any others, as long as
    the linkers of all authorities are alike.
    """
    are_well_linked = most_linked(graph, well_linked)
    sources = np.repeat(are_well_linked, graph.out_degrees())
    by_well_linked = np.bincount(graph.graph.targets, weights=sources, minlength=len(graph))
    judged = most_linked(graph, 2 * k) & (graph.in_degrees() > 0)
    counts, known = graph.in_degrees()[judged], by_well_linked[judged]
    shares, all_in_all = known / counts, known.sum() / counts.sum()
    by_chance = np.sqrt(np.mean(all_in_all * (1 - all_in_all) / counts))
    return Linkers(float(shares.mean()), float(shares.std()), float(by_chance))


def performances(graph: LinkGraph, order: Ints, are_targets: Flags, points: Sequence[int]) -> Iterator[Performance]:
    """How a crawl stands after so many nodes, at each of the points.

    Its own ranking takes the k nodes crawled of the highest apparent in-degree, which counts the links of crawled nodes
    only. Where equals stand at the border, it has the mean over all ways to choose among them.
    """
    k = int(are_targets.sum())
    apparent = np.zeros(len(graph), np.int64)
    done = 0
    for point in points:
        new = order[done:point]
        np.add.at(apparent, _targets_of(graph, new), 1)
        done = max(done, min(point, len(order)))
        crawled = order[:done]
        found = float(are_targets[crawled].sum()) / k
        yield Performance(done, found, _known(apparent[crawled], are_targets[crawled], k) / k)


def _targets_of(graph: LinkGraph, nodes: Ints) -> Ints:
    """What some nodes link to, one behind the other."""
    offsets, targets = graph.graph.offsets, graph.graph.targets
    starts, lengths = offsets[nodes].astype(np.int64), np.diff(offsets)[nodes]
    places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    found: Ints = targets[places]
    return found


def _known(degrees: Ints, are_targets: Flags, k: int) -> float:
    """How many targets are among the k of the highest degrees."""
    if len(degrees) <= k:
        return float(are_targets.sum())
    border = np.partition(degrees, len(degrees) - k)[len(degrees) - k]
    above, at_border = degrees > border, degrees == border
    chance = (k - above.sum()) / at_border.sum()
    return float(are_targets[above].sum() + chance * are_targets[at_border].sum())


def a_source(graph: LinkGraph, seed: int) -> int:
    """Any node of the largest strongly connected component that one of the best linked nodes is in."""
    size, targets, outs = len(graph), graph.graph.targets, graph.out_degrees()
    sources = np.repeat(np.arange(size, dtype=np.int32), outs)
    backward = LinkGraph(graph_from_edges(targets, sources, size))
    best = np.argsort(-np.minimum(graph.in_degrees(), outs), kind="stable")[:BEST_LINKED].tolist()
    strong: set[int] = set()
    members = np.zeros(0, np.int64)
    for node in best:
        if node not in strong:
            found = np.flatnonzero(graph.reachable(node) & backward.reachable(node))
            strong.update(found.tolist())
            members = max(members, found, key=len)
    return int(np.random.default_rng(seed).choice(members))
