"""The jobs of the study: searches of one network, searches with varied replication, and clusters of buddies."""

import numpy as np

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.peers.clusters import buddy_links, interest_matrix, shared_interests, spectral_layout
from lycosa_lab.peers.records import BUDDIES, INDEXES, Outcomes
from lycosa_lab.peers.replication import replicated_network
from lycosa_lab.peers.runs import network_in, questions_of, simulated
from lycosa_lab.tables import rounded
from lycosa_lab.worlds.peer_networks import PeerNetwork
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
