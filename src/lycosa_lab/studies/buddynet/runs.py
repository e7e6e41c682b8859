"""The jobs of the study: searches of one network, searches with varied replication, and clusters of buddies."""

import numpy as np
from msgspec import Struct

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.peers.records import BUDDIES, INDEXES, BuddyLists, Outcomes
from lycosa_lab.peers.runs import network_in, questions_of, simulated
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

WALK, SHORTCUTS, BUDDYNET = "random-walk", "interest-shortcuts", "buddynet"
LISTED, INDEXED, FLOOD = "walk+list", "walk+index", "flood"
INDEXED_BY_ALL = "walk+index, held by all"  # including those that never ask
ALGORITHMS = (WALK, SHORTCUTS, LISTED, INDEXED, INDEXED_BY_ALL, BUDDYNET)
SAME_RUN = {SHORTCUTS: LISTED}  # identical without indexes: only live peers answer, and nobody is ever demoted
FLOODS = 100  # limit of queries: it learns nothing, and costs more than all others
WINDOWS = 20  # of queries
MIN_NEIGHBOURS = 4
SETTINGS = {  # of the networks with varied replication
    1_000: {"files": 6_000, "categories": 20, "interests": 1, "neighbours": 4},
    5_000: {"files": 262_404, "categories": 300, "interests": 5, "neighbours": 3},
}
CLUSTERED, CLUSTER_FACTOR = 1_000, 0.01


def run_searches(world: PeerNetwork, job: JsonValue) -> JsonValue:
    """All algorithms on one network; measured over the second half of the queries."""
    trace = world.sharing.trace.select(np.arange(min(job["queries"], len(world.sharing.trace))))
    seed, churns = job["seed"], job["churns"]
    network = network_in(world.graph, trace, churns=churns, least=MIN_NEIGHBOURS, seed=seed)
    holders = world.sharing.holders()
    questions = questions_of(trace, holders, seed=seed)
    rows, windows, run = [], {}, {"run": job["run"], "churns": churns}
    neighbourhood: dict[str, JsonValue] = {}
    found: dict[str, tuple[dict[str, JsonValue], list[dict[str, JsonValue]]]] = {}
    for algorithm in ALGORITHMS:
        if algorithm in SAME_RUN:
            continue
        by_all = algorithm == INDEXED_BY_ALL
        outcomes = simulated(network, questions, INDEXED if by_all else algorithm, seed=seed, all_have_asked=by_all)
        found[algorithm] = measured(outcomes, len(trace) // 2), in_windows(outcomes)
        if algorithm == BUDDYNET:
            neighbourhood = _neighbourhood(world, outcomes)
    for algorithm in ALGORITHMS:
        metrics, windows[algorithm] = found[SAME_RUN.get(algorithm, algorithm)]
        rows.append({**run, "algorithm": algorithm, **metrics})
    some = trace.select(np.linspace(len(trace) // 2, len(trace) - 1, min(FLOODS, len(trace) // 2)).astype(np.int64))
    outcomes = simulated(network, questions_of(some, holders, seed=seed), FLOOD, seed=seed)
    rows.append({**run, "algorithm": FLOOD, **measured(outcomes, 0)})
    return {
        "what": "search",
        "run": job["run"],
        "churns": churns,
        "rows": rows,
        "windows": windows,
        "neighbourhood": neighbourhood,
        "buddy_list": buddy_list_example(),
    }


def measured(outcomes: Outcomes, begin: int) -> dict[str, JsonValue]:
    """The metrics over the queries from `begin` on; shares of index transfers before and after it."""
    paths, stages = outcomes.paths[begin:], outcomes.stages[begin:]
    transfers = outcomes.transfers
    return {
        "messages": rounded(outcomes.messages[begin:].mean()),
        "messages_back": rounded((outcomes.messages + outcomes.detours)[begin:].mean()),
        "path_length": rounded(paths[paths >= 0].mean()) if (paths >= 0).any() else None,
        "answered": rounded((paths >= 0).mean()),
        "fetched": rounded((outcomes.providers[begin:] >= 0).mean()),
        "hit_rate": rounded(((stages == INDEXES) | (stages == BUDDIES)).mean()),
        "index_hit_rate": rounded((stages == INDEXES).mean()),
        "transfers_before": rounded(transfers[:begin].mean()) if begin else None,
        "transfers_after": rounded(transfers[begin:].mean()),
        "queries": len(stages),
    }


def in_windows(outcomes: Outcomes) -> list[dict[str, JsonValue]]:
    """The same over consecutive windows of queries."""
    stages = outcomes.stages
    are_hits = (stages == INDEXES) | (stages == BUDDIES)
    return [
        {
            "until": int(rows[-1]) + 1,
            "messages": rounded(outcomes.messages[rows].mean()),
            "hit_rate": rounded(are_hits[rows].mean()),
            "transfers": int(outcomes.transfers[rows].sum()),
        }
        for rows in np.array_split(np.arange(len(stages)), min(WINDOWS, len(stages)))
    ]


def run_replication(job: JsonValue) -> JsonValue:
    """Random walk and BuddyNet when all peers ask and share; measured over the last third of the queries."""
    own = replicated_network(
        job["peers"], factor=job["factor"], queries=job["queries"], seed=job["seed"], **SETTINGS[job["peers"]]
    )
    network = network_in(own.graph, own.trace, churns=False, least=MIN_NEIGHBOURS, seed=job["seed"])
    questions = questions_of(own.trace, own.holders, seed=job["seed"])
    begin = 2 * len(own.trace) // 3
    found = {name: measured(simulated(network, questions, name, seed=job["seed"]), begin) for name in (WALK, BUDDYNET)}
    return {**job, "found": found}


def run_clusters(job: JsonValue) -> JsonValue:
    """The final buddy lists when all peers ask and share, and the interests that buddies share."""
    settings, seed = SETTINGS[CLUSTERED], job["seed"]
    own = replicated_network(CLUSTERED, factor=CLUSTER_FACTOR, queries=job["queries"], seed=seed, **settings)
    network = network_in(own.graph, own.trace, churns=False, least=MIN_NEIGHBOURS, seed=seed)
    lists = simulated(network, questions_of(own.trace, own.holders, seed=seed), BUDDYNET, seed=seed).lists
    links, liked = buddy_links(lists), interest_matrix(own.interests, settings["categories"])
    shared, by_chance, p = shared_interests(links, liked, seed=seed)
    places = spectral_layout(links, CLUSTERED)
    first = [int(own.interests.row(peer)[0]) if len(own.interests.row(peer)) == 1 else -1 for peer in range(CLUSTERED)]
    return {
        "what": "clusters",
        "shared": rounded(shared),
        "by_chance": rounded(by_chance),
        "p": p,
        "links": len(links[0]),
        "peers": CLUSTERED,
        "places": [[_short(x), _short(y)] for x, y in places.tolist()],
        "only_interest": first,  # -1 where there are several
    }


def buddy_list_example() -> list[dict[str, JsonValue]]:
    """A list of four buddies after each of some responses, as in the paper's figure 5.6."""
    known = BuddyList(4)
    for name in ("1", "1", "1", "3", "3", "2", "4"):
        known.answered(Contact(name))
    rows = [_shown("before", known)]
    for name in ("3", "2", "5"):
        known.answered(Contact(name))
        rows.append(_shown(f"after a response of {name}", known))
    return rows


def _shown(when: str, known: BuddyList) -> dict[str, JsonValue]:
    return {"when": when, "best first": ", ".join(f"{buddy.contact.name}: {buddy.count}" for buddy in known)}


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


def _short(value: float) -> float:
    return round(value, 4) + 0.0


# ------------------------------------------------------------ clusters of buddies

SHUFFLES = 999


def buddy_links(lists: BuddyLists) -> tuple[Ints, Ints]:
    """All pairs of a peer and a buddy of it."""
    are_filled = np.arange(lists.peers.shape[1]) < lists.sizes[:, None]
    return np.nonzero(are_filled)[0], lists.peers[are_filled].astype(np.int64)


def interest_matrix(interests: RaggedArray, categories: int) -> Floats:
    """The interests of peers as a matrix of zeros and ones, a row for each peer."""
    table = np.zeros((len(interests), categories))
    table[np.repeat(np.arange(len(interests)), interests.lengths()), interests.values] = 1.0
    return table


def shared_interests(links: tuple[Ints, Ints], liked: Floats, *, seed: int) -> tuple[float, float, float]:
    """The share of buddies with a common interest, its mean under permutation, and the p-value of a permutation test,
    in which interests are permuted among peers and links are fixed.
    """
    ones, others = links
    if not len(ones):
        return float("nan"), float("nan"), float("nan")
    agree = (liked @ liked.T) > 0
    measured = float(agree[ones, others].mean())
    rng = np.random.default_rng([seed, 13])
    dealt = np.empty(SHUFFLES)
    for number in range(SHUFFLES):
        places = rng.permutation(len(liked))
        dealt[number] = agree[places[ones], places[others]].mean()
    p = (1 + int((dealt >= measured).sum())) / (1 + SHUFFLES)
    return measured, float(dealt.mean()), p


def spectral_layout(links: tuple[Ints, Ints], peers: int) -> Floats:
    """Two coordinates for each peer: a spectral embedding of the graph of buddies.

    Links are weighted by the inverse square roots of the degrees of their ends, so that a few hubs do not dominate.
    """
    ones, others = links
    table = np.zeros((peers, peers))
    table[ones, others] = table[others, ones] = 1.0
    weights = 1.0 / np.sqrt(np.maximum(1.0, table.sum(axis=1)))
    table *= weights[:, None] * weights[None, :]
    _, vectors = np.linalg.eigh(table)
    places: Floats = vectors[:, [-2, -3]] * weights[:, None]  # the last one only reflects degrees
    flip = np.sign(places[np.abs(places).argmax(axis=0), [0, 1]])  # the sign of an eigenvector is arbitrary
    return places * np.where(flip == 0, 1.0, flip) / max(1e-12, float(np.abs(places).max()))


# ------------------------------------------------------------ networks with varied replication

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
    category = np.searchsorted(own.category_starts, wanted, side="right") - 1
    ranks = np.minimum(wanted - own.category_starts[category], files // categories - 1)
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
