"""Networks in which all peers ask and share, with a given mean number of copies of each file."""

import numpy as np
from msgspec import Struct

from lycosa.standing.graph_files import Graph
from lycosa_lab.worlds.file_sharing import WEEK, make_files, sample_interests
from lycosa_lab.worlds.peer_networks import Floats, RaggedArray, Trace, group_by_row, preferential_attachment

AT_HOME = 0.9  # share of the copies held by interested peers, if there are enough
SKEW = 0.8  # Zipf exponent of queries and of copies


class Replicated(Struct, frozen=True):
    """Peers on an overlay, their interests and queries, and the holders of each item."""

    graph: Graph
    interests: RaggedArray
    trace: Trace
    holders: RaggedArray


def replicated_network(
    peers: int, *, factor: float, files: int, categories: int, interests: int, neighbours: int, queries: int, seed: int
) -> Replicated:
    """Peers that ask for files of their interests; on average, a share `factor` of the peers has each file.

    Only files that are asked for are included; an asker of a file does not have it.
    """
    rng = np.random.default_rng([seed, 12])
    graph = preferential_attachment(peers, min_degree=neighbours, rng=rng)
    liked = sample_interests(peers, categories, minimum=interests, rng=rng)
    own = make_files(files, categories, SKEW)
    askers = rng.integers(peers, size=queries)
    places = liked.offsets[askers] + (rng.random(queries) * liked.lengths()[askers]).astype(np.int64)
    wanted, items = np.unique(own.sample(liked.values[places], rng), return_inverse=True)
    category = np.searchsorted(own.firsts, wanted, side="right") - 1
    ranks = np.minimum(wanted - own.firsts[category], files // categories - 1)
    copies = copy_shares(files // categories, factor)[ranks] * peers
    likers, askers_of = liked.transposed(categories), group_by_row(items, askers, len(wanted))
    rows = []
    for item in range(len(wanted)):
        fans = likers.row(int(category[item]))
        at_home = min(1.0, AT_HOME * float(copies[item]) / max(1, len(fans)))
        abroad = (float(copies[item]) - at_home * len(fans)) / max(1, peers - len(fans))
        odds = np.full(peers, max(0.0, abroad))
        odds[fans] = at_home
        has = rng.random(peers) < odds
        has[askers_of.row(item)] = False
        if not has.any():
            others = np.setdiff1d(np.arange(peers), askers_of.row(item))
            has[others[rng.integers(len(others), size=min(1, len(others)))]] = True
        rows.append(np.flatnonzero(has).astype(np.int32))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    times: Floats = np.arange(1, queries + 1, dtype=np.float64) * (WEEK / queries)
    trace = Trace(askers, items, np.full(queries, -1), times)
    return Replicated(graph, liked, trace, RaggedArray(offsets, np.concatenate(rows)))


def copy_shares(files: int, factor: float) -> Floats:
    """The share of peers that has the k-th file: proportional to 1 / k^SKEW, at most 1, on average `factor`."""
    shape = np.arange(1, files + 1) ** -SKEW
    low, high = 0.0, float(files) ** SKEW
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1.0, middle * shape).mean() < factor else (low, middle)
    shares: Floats = np.minimum(1.0, high * shape)
    return shares
