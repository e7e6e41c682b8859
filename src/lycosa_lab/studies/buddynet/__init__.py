"""Whether peers that remember who answered need fewer messages than random walks.

Shao: Exploring social networks in computer systems (Princeton University 2007), sections 5.4 and 5.5.

BuddyNet is a random walk through the neighbours of the asker with two additions: the asker keeps a list of buddies,
peers that have answered it, and asks them first; and it holds their indexes, the lists of their files, and looks there
before. Its consumers are the peers that ask, its providers those that have files.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.peers.runs import warm_up
from lycosa_lab.results import Findings
from lycosa_lab.study import Size
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.peer_networks import PeerNetwork

from .claims import churn_order, clusters, factors, hit_rate, index_transfers_settle, replication, static_order
from .figures import all_figures
from .runs import run_clusters, run_replication, run_searches
from .tables import replica_rows, replication_rows, summary_rows, window_rows

MIN_QUERIES = 100  # downloads that a world needs, each of which is a query


class BuddyNet:
    name = "buddynet"
    summary = "How many messages peers need to find a file: by random walks, with lists of buddies, with their indexes."
    scales: Mapping[str, Size] = {
        "small": {
            "consumers": 500,
            "providers": 1_773,
            "files": 1_250,
            "queries": 5_000,
            "runs": 12,
            "replication_runs": 3,
            "replication_queries": 3_000,
        },
        "paper": {
            "consumers": 2_000,
            "providers": 7_091,
            "files": 5_000,
            "queries": 20_000,
            "runs": 6,
            "replication_runs": 3,
            "replication_queries": 12_000,
        },
    }
    replication_factors = (0.01, 0.1, 0.5, 0.75, 1.0)  # mean, over files, of the share of peers that have the file
    network_sizes = (1_000, 5_000)  # peers, where replication is varied

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"kind": FileSharing.name, **{key: size[key] for key in ("consumers", "providers", "files")}}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        network = peers_of(world)
        if len(network.sharing.trace) < MIN_QUERIES:
            raise UsageError(f"buddynet needs {MIN_QUERIES} downloads or more; give a larger world")
        searches = [
            {"what": "search", "run": run, "churns": churns, "queries": size["queries"], "seed": 1_000 * seed + run}
            for run in range(size["runs"])
            for churns in (True, False)
        ]
        replicas = [
            {
                "what": "replication",
                "run": run,
                "peers": peers,
                "factor": factor,
                "queries": size["replication_queries"],
                "seed": 1_000 * seed + 100 + run,
            }
            for run in range(size["replication_runs"])
            for peers in self.network_sizes
            for factor in self.replication_factors
        ]
        cluster = {"what": "clusters", "queries": size["replication_queries"], "seed": 1_000 * seed + 200}
        return [*searches, *replicas, cluster]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> list[PeerNetwork]:
        warm_up()
        return worlds_of(peers_of(world), size["runs"])

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        match job["what"]:
            case "search":
                return run_searches(prepared[job["run"] % len(prepared)], job)
            case "replication":
                return run_replication(job)
            case _:
                return run_clusters(job)

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        network = peers_of(world)
        searches = [outcome for outcome in outcomes if outcome["what"] == "search"]
        replicas = [outcome for outcome in outcomes if outcome["what"] == "replication"]
        cluster = next(outcome for outcome in outcomes if outcome["what"] == "clusters")
        runs = [row for outcome in searches for row in outcome["rows"]]
        windows = window_rows(searches)
        by_replica = replica_rows(replicas)
        replicated = replication_rows(by_replica)
        # Whether buddies share interests: `shared` of the pairs do, `by_chance` would; `links` is the number of pairs.
        cluster_rows = [{key: cluster[key] for key in ("shared", "by_chance", "p", "links", "peers")}]
        return Findings(
            claims=[
                static_order(runs),
                churn_order(runs),
                factors(runs),
                replication(by_replica),
                index_transfers_settle(runs),
                hit_rate(runs),
                clusters(cluster_rows),
            ],
            tables={
                "searches": summary_rows(runs),
                "runs": runs,
                "windows": windows,
                "replication": replicated,
                "replicas": by_replica,
                "clusters": cluster_rows,
                "buddy-list": searches[0]["buddy_list"],
                "degrees": _histogram(np.diff(network.graph.offsets)),
                "copies": _histogram(network.sharing.libraries.transposed(network.sharing.item_count).lengths()),
            },
            figures=all_figures(network, runs, windows, replicated, cluster, searches[0]["neighbourhood"]),
        )


def peers_of(world: StudyWorld) -> PeerNetwork:
    if isinstance(world, PeerNetwork):
        return world
    raise UsageError(
        f"buddynet needs peers that ask each other, which a {world.name} world does not have; choose file-sharing,"
        " file-sharing:overlay=FILE or lastfm:path=FOLDER"
    )


def worlds_of(world: PeerNetwork, runs: int) -> list[PeerNetwork]:
    """For each run, a world of its own if it is generated, else the given one."""
    if not isinstance(world, FileSharing) or not world.settings:
        return [world]
    first_seed = int(world.settings["seed"])
    return [world, *(world.with_seed(1_000 * first_seed + run) for run in range(1, runs))]


def _histogram(values: Any) -> list[dict[str, JsonValue]]:
    """A histogram: the number of peers or files with each value."""
    numbers, counts = np.unique(values, return_counts=True)
    return [{"number": number, "count": count} for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)]
