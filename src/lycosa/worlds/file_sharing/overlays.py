"""Who is a neighbour of whom: links that both ends know."""

import numpy as np

from lycosa.worlds.edge_lists import Graph

from .sharing import Chance, Ints, rows_of


def preferential(size: int, *, least: int, chance: Chance) -> Graph:
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
    return both_ways(shuffled[ends[:count:2]], shuffled[ends[1:count:2]], size)


def both_ways(sources: Ints, targets: Ints, size: int) -> Graph:
    """The graph in which every link is known at both of its ends; none is double, none leads a peer to itself."""
    is_other = sources != targets
    sources, targets = sources[is_other].astype(np.int64), targets[is_other].astype(np.int64)
    keys = np.unique(np.concatenate([sources * size + targets, targets * size + sources]))
    rows = rows_of(keys // size, keys % size, size)
    return Graph(rows.offsets.astype(np.int32), rows.values)


def connected(graph: Graph, *, least: int, chance: Chance) -> Graph:
    """The same network, in which those with fewer than `least` neighbours get more, drawn in proportion to their links.

    Peers of a measured topology may have lost all neighbours but one at the moment of measurement, or all of them.
    """
    size = len(graph)
    if not 1 <= least < size:
        raise ValueError(f"the least number of neighbours must be from 1 to {size - 1}")
    sources = np.repeat(np.arange(size), np.diff(graph.offsets))
    targets = graph.targets.astype(np.int64)
    for _ in range(100):
        made = both_ways(sources, targets, size)
        degrees = np.diff(made.offsets)
        short = np.maximum(0, least - degrees)
        if not short.any():
            return made
        needy = np.repeat(np.arange(size), short)
        pool = made.targets if len(made.targets) else np.arange(size)
        sources = np.concatenate([sources, needy])
        targets = np.concatenate([targets, pool[chance.integers(len(pool), size=len(needy))]])
    raise ValueError(f"no network of {size} peers with {least} neighbours each could be made of it")
