"""The jobs of the study: searches of one network, searches with varied replication, and clusters of buddies.

Replication is the mean, over the files of the catalogue, of the share of peers that have the file. Churn is the coming
and going of peers.
"""

import numpy as np
from msgspec import Struct

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.peers.records import BUDDIES, INDEXES, BuddyLists, Outcomes
from lycosa_lab.peers.runs import network_in, queries_of, simulate
from lycosa_lab.tables import rounded
from lycosa_lab.worlds.file_sharing import WEEK, make_files, sample_interests
from lycosa_lab.worlds.peer_networks import (
    Floats,
    Ints,
    PeerNetwork,
    RaggedArray,
    Trace,
    group_by_row,
    preferential_attachment,
)
from lycosa_peers.buddies import BuddyList
from lycosa_peers.messages import Contact

# Names of algorithms. Those with a list ask buddies, peers that have answered, before the walk; those with indexes look
# before that in the indexes that they hold of other peers: of buddies (BuddyNet), or of neighbours.
WALK, SHORTCUTS, BUDDYNET = "random-walk", "interest-shortcuts", "buddynet"
WALK_WITH_BUDDY_LIST, WALK_WITH_INDEXES, FLOOD = "walk+list", "walk+index", "flood"
WALK_WITH_INDEXES_BY_ALL = "walk+index, held by all"  # including those that never ask
ALGORITHMS = (WALK, SHORTCUTS, WALK_WITH_BUDDY_LIST, WALK_WITH_INDEXES, WALK_WITH_INDEXES_BY_ALL, BUDDYNET)
SAME_RUN = {
    SHORTCUTS: WALK_WITH_BUDDY_LIST
}  # identical without indexes: only live peers answer, so no count is lowered
FLOODS = 100  # queries by flooding, at most: it learns nothing, so that few are enough, and each costs much
WINDOWS = 20  # stretches of successive queries over which figures are taken
MIN_NEIGHBOURS = 4
SETTINGS = {  # by number of peers: options of `replicated_network`
    1_000: {"files": 6_000, "categories": 20, "interests": 1, "neighbours": 4},
    5_000: {"files": 262_404, "categories": 300, "interests": 5, "neighbours": 3},
}
CLUSTER_PEERS, CLUSTER_COPY_SHARE = 1_000, 0.01


def run_searches(world: PeerNetwork, job: JsonValue) -> JsonValue:
    """All algorithms on one network; measured over the second half of the queries.

    job: `run` is the number of the run, `queries` the number of queries, `seed` the random seed, and `churns` says
        whether peers come and go.
    """
    trace = world.sharing.trace.select(np.arange(min(job["queries"], len(world.sharing.trace))))
    seed, churns = job["seed"], job["churns"]
    network = network_in(world.graph, trace, churns=churns, min_neighbours=MIN_NEIGHBOURS, seed=seed)
    holders = world.sharing.holders()
    queries = queries_of(trace, holders, seed=seed)
    rows, windows, run_columns = [], {}, {"run": job["run"], "churns": churns}
    neighbourhood: dict[str, JsonValue] = {}
    found: dict[str, tuple[dict[str, JsonValue], list[dict[str, JsonValue]]]] = {}
    for algorithm in ALGORITHMS:
        if algorithm in SAME_RUN:
            continue
        by_all = algorithm == WALK_WITH_INDEXES_BY_ALL
        outcomes = simulate(
            network, queries, WALK_WITH_INDEXES if by_all else algorithm, seed=seed, all_have_asked=by_all
        )
        found[algorithm] = metrics_of(outcomes, len(trace) // 2), window_metrics(outcomes)
        if algorithm == BUDDYNET:
            neighbourhood = _neighbourhood(world, outcomes)
    for algorithm in ALGORITHMS:
        metrics, windows[algorithm] = found[SAME_RUN.get(algorithm, algorithm)]
        rows.append({**run_columns, "algorithm": algorithm, **metrics})
    flooded_trace = trace.select(
        np.linspace(len(trace) // 2, len(trace) - 1, min(FLOODS, len(trace) // 2)).astype(np.int64)
    )
    outcomes = simulate(network, queries_of(flooded_trace, holders, seed=seed), FLOOD, seed=seed)
    rows.append({**run_columns, "algorithm": FLOOD, **metrics_of(outcomes, 0)})
    return {
        "what": "search",
        "run": job["run"],
        "churns": churns,
        "rows": rows,
        "windows": windows,
        "neighbourhood": neighbourhood,
        "buddy_list": buddy_list_example(),
    }


def metrics_of(outcomes: Outcomes, begin: int) -> dict[str, JsonValue]:
    """The metrics over the queries from `begin` on; index transfers per query also before it."""
    paths, stages = outcomes.paths[begin:], outcomes.stages[begin:]
    transfers = outcomes.transfers
    return {
        "messages": rounded(outcomes.messages[begin:].mean()),
        # If responses went back through all peers that their query came through:
        "messages_back": rounded((outcomes.messages + outcomes.return_hops)[begin:].mean()),
        "path_length": rounded(paths[paths >= 0].mean()) if (paths >= 0).any() else None,
        "answered": rounded((paths >= 0).mean()),  # share of queries that got a response
        "fetched": rounded((outcomes.providers[begin:] >= 0).mean()),  # share that led to a download
        "hit_rate": rounded(((stages == INDEXES) | (stages == BUDDIES)).mean()),  # answered by an index or a buddy
        "index_hit_rate": rounded((stages == INDEXES).mean()),
        "transfers_before": rounded(transfers[:begin].mean()) if begin else None,
        "transfers_after": rounded(transfers[begin:].mean()),
        "queries": len(stages),
    }


def window_metrics(outcomes: Outcomes) -> list[dict[str, JsonValue]]:
    """The same over consecutive windows of queries."""
    stages = outcomes.stages
    are_hits = (stages == INDEXES) | (stages == BUDDIES)
    return [
        {
            "until": int(rows[-1]) + 1,  # number of queries at the end of the window
            "messages": rounded(outcomes.messages[rows].mean()),
            "hit_rate": rounded(are_hits[rows].mean()),
            "transfers": int(outcomes.transfers[rows].sum()),
        }
        for rows in np.array_split(np.arange(len(stages)), min(WINDOWS, len(stages)))
    ]


def run_replication(job: JsonValue) -> JsonValue:
    """Random walk and BuddyNet when all peers ask and share; measured over the last third of the queries.

    job: `peers` and `queries` are their numbers, `factor` the replication, `seed` the random seed.
    """
    replicated = replicated_network(
        job["peers"], mean_copy_share=job["factor"], queries=job["queries"], seed=job["seed"], **SETTINGS[job["peers"]]
    )
    network = network_in(
        replicated.graph, replicated.trace, churns=False, min_neighbours=MIN_NEIGHBOURS, seed=job["seed"]
    )
    queries = queries_of(replicated.trace, replicated.holders, seed=job["seed"])
    begin = 2 * len(replicated.trace) // 3
    found = {name: metrics_of(simulate(network, queries, name, seed=job["seed"]), begin) for name in (WALK, BUDDYNET)}
    return {**job, "found": found}


def run_clusters(job: JsonValue) -> JsonValue:
    """The final buddy lists when all peers ask and share, and the interests that buddies share.

    job: `queries` is their number, `seed` the random seed.
    """
    settings, seed = SETTINGS[CLUSTER_PEERS], job["seed"]
    replicated = replicated_network(
        CLUSTER_PEERS, mean_copy_share=CLUSTER_COPY_SHARE, queries=job["queries"], seed=seed, **settings
    )
    network = network_in(replicated.graph, replicated.trace, churns=False, min_neighbours=MIN_NEIGHBOURS, seed=seed)
    lists = simulate(network, queries_of(replicated.trace, replicated.holders, seed=seed), BUDDYNET, seed=seed).lists
    links, interests_of_peers = buddy_links(lists), interest_matrix(replicated.interests, settings["categories"])
    shared, by_chance, p = shared_interests(links, interests_of_peers, seed=seed)
    positions = spectral_layout(links, CLUSTER_PEERS)
    only_interests = [
        int(replicated.interests.row(peer)[0]) if len(replicated.interests.row(peer)) == 1 else -1
        for peer in range(CLUSTER_PEERS)
    ]
    return {
        "what": "clusters",
        "shared": rounded(shared),
        "by_chance": rounded(by_chance),
        "p": p,
        "links": len(links[0]),
        "peers": CLUSTER_PEERS,
        "places": [[_rounded_coordinate(x), _rounded_coordinate(y)] for x, y in positions.tolist()],
        "only_interest": only_interests,  # -1 where there are several
    }


def buddy_list_example() -> list[dict[str, JsonValue]]:
    """A list of four buddies after each of some responses, as in the paper's figure 5.6."""
    buddies = BuddyList(4)
    for name in ("1", "1", "1", "3", "3", "2", "4"):
        buddies.answered(Contact(name))
    rows = [_buddy_row("before", buddies)]
    for name in ("3", "2", "5"):
        buddies.answered(Contact(name))
        rows.append(_buddy_row(f"after a response of {name}", buddies))
    return rows


def _buddy_row(when: str, buddies: BuddyList) -> dict[str, JsonValue]:
    return {"when": when, "best first": ", ".join(f"{buddy.contact.name}: {buddy.count}" for buddy in buddies)}


def _neighbourhood(world: PeerNetwork, outcomes: Outcomes) -> dict[str, JsonValue]:
    """The peer with the most indexes: its neighbours, its buddies, and those whose index it holds."""
    lists = outcomes.lists
    peer = int(lists.is_held.sum(axis=1).argmax())
    size = int(lists.sizes[peer])
    buddies = lists.peers[peer, :size]
    return {
        "peer": peer,
        "neighbours": world.links(peer).tolist()[:12],
        "buddies": buddies.tolist(),
        "indexed": buddies[lists.is_held[peer, :size]].tolist(),
    }


def _rounded_coordinate(value: float) -> float:
    return round(value, 4) + 0.0


# ------------------------------------------------------------ clusters of buddies

SHUFFLES = 999


def buddy_links(lists: BuddyLists) -> tuple[Ints, Ints]:
    """All pairs of a peer and a buddy of it."""
    are_filled = np.arange(lists.peers.shape[1]) < lists.sizes[:, None]
    return np.nonzero(are_filled)[0], lists.peers[are_filled].astype(np.int64)


def interest_matrix(interests: RaggedArray, category_count: int) -> Floats:
    """The interests of peers (categories of files) as a matrix of zeros and ones, a row for each peer."""
    table = np.zeros((len(interests), category_count))
    table[np.repeat(np.arange(len(interests)), interests.lengths()), interests.values] = 1.0
    return table


def shared_interests(links: tuple[Ints, Ints], interests_of_peers: Floats, *, seed: int) -> tuple[float, float, float]:
    """The share of buddies with a common interest, its mean under permutation, and the p-value of a permutation test,
    in which interests are permuted among peers and links are fixed.
    """
    sources, targets = links
    if not len(sources):
        return float("nan"), float("nan"), float("nan")
    agree = (interests_of_peers @ interests_of_peers.T) > 0
    measured = float(agree[sources, targets].mean())
    rng = np.random.default_rng([seed, 13])
    permuted = np.empty(SHUFFLES)
    for number in range(SHUFFLES):
        permutation = rng.permutation(len(interests_of_peers))
        permuted[number] = agree[permutation[sources], permutation[targets]].mean()
    p = (1 + int((permuted >= measured).sum())) / (1 + SHUFFLES)
    return measured, float(permuted.mean()), p


def spectral_layout(links: tuple[Ints, Ints], peer_count: int) -> Floats:
    """Two coordinates for each peer: a spectral embedding of the graph of buddies.

    Links are weighted by the inverse square roots of the degrees of their ends, so that a few hubs do not dominate.
    """
    sources, targets = links
    table = np.zeros((peer_count, peer_count))
    table[sources, targets] = table[targets, sources] = 1.0
    weights = 1.0 / np.sqrt(np.maximum(1.0, table.sum(axis=1)))
    table *= weights[:, None] * weights[None, :]
    _, vectors = np.linalg.eigh(table)
    positions: Floats = vectors[:, [-2, -3]] * weights[:, None]  # the last one only reflects degrees
    flip = np.sign(positions[np.abs(positions).argmax(axis=0), [0, 1]])  # the sign of an eigenvector is arbitrary
    return positions * np.where(flip == 0, 1.0, flip) / max(1e-12, float(np.abs(positions).max()))


# ------------------------------------------------------------ networks with varied replication

INTERESTED_SHARE = 0.9  # of the copies of a file, held by peers interested in its category if there are enough
SKEW = 0.8  # Zipf exponent of queries and of copies


class ReplicatedNetwork(Struct, frozen=True):
    """Peers on an overlay, their interests and queries, and the holders of each item."""

    graph: Graph
    interests: RaggedArray
    trace: Trace
    holders: RaggedArray


def replicated_network(
    peers: int,
    *,
    mean_copy_share: float,
    files: int,
    categories: int,
    interests: int,
    neighbours: int,
    queries: int,
    seed: int,
) -> ReplicatedNetwork:
    """Peers that ask for files of their interests.

    Only files that are asked for are included; an asker of a file does not have it.

    mean_copy_share: the mean, over all files of the catalogue, of the share of peers that have the file. Files that are
        asked for are common ones, so that their mean is higher if the share is small.
    peers, files, categories, queries: how many there are.
    interests, neighbours: the least number that each peer has.
    """
    rng = np.random.default_rng([seed, 12])
    graph = preferential_attachment(peers, min_degree=neighbours, rng=rng)
    interests_of_peers = sample_interests(peers, categories, minimum=interests, rng=rng)
    file_catalog = make_files(files, categories, SKEW)
    askers = rng.integers(peers, size=queries)
    indices = interests_of_peers.offsets[askers] + (rng.random(queries) * interests_of_peers.lengths()[askers]).astype(
        np.int64
    )
    wanted, items = np.unique(file_catalog.sample(interests_of_peers.values[indices], rng), return_inverse=True)
    category = np.searchsorted(file_catalog.category_starts, wanted, side="right") - 1
    ranks = np.minimum(wanted - file_catalog.category_starts[category], files // categories - 1)
    copies = copy_shares(files // categories, mean_copy_share)[ranks] * peers
    interested_in, askers_of = interests_of_peers.transposed(categories), group_by_row(items, askers, len(wanted))
    rows = []
    for item in range(len(wanted)):
        interested = interested_in.row(int(category[item]))
        interested_probability = min(1.0, INTERESTED_SHARE * float(copies[item]) / max(1, len(interested)))
        other_probability = (float(copies[item]) - interested_probability * len(interested)) / max(
            1, peers - len(interested)
        )
        probabilities = np.full(peers, max(0.0, other_probability))
        probabilities[interested] = interested_probability
        has = rng.random(peers) < probabilities
        has[askers_of.row(item)] = False
        if not has.any():
            others = np.setdiff1d(np.arange(peers), askers_of.row(item))
            has[others[rng.integers(len(others), size=min(1, len(others)))]] = True
        rows.append(np.flatnonzero(has).astype(np.int32))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    times: Floats = np.arange(1, queries + 1, dtype=np.float64) * (WEEK / queries)
    trace = Trace(consumers=askers, items=items, providers=np.full(queries, -1), times=times)
    return ReplicatedNetwork(graph, interests_of_peers, trace, RaggedArray(offsets, np.concatenate(rows)))


def copy_shares(file_count: int, mean_copy_share: float) -> Floats:
    """The share of peers that has the k-th file: proportional to 1 / k^SKEW, at most 1, with the given mean."""
    shape = np.arange(1, file_count + 1) ** -SKEW
    low, high = 0.0, float(file_count) ** SKEW
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1.0, middle * shape).mean() < mean_copy_share else (low, middle)
    shares: Floats = np.minimum(1.0, high * shape)
    return shares
