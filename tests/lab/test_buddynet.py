"""The study of buddies, on small networks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.study_runs import copy_with_jobs_missing
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.peers import runs
from lycosa_lab.peers.runs import network_in, queries_of, simulate
from lycosa_lab.results import Results
from lycosa_lab.studies import STUDIES
from lycosa_lab.studies.buddynet import BuddyNet, claims, peers_of, worlds_of
from lycosa_lab.studies.buddynet.runs import (
    ALGORITHMS,
    FLOOD,
    WALK_WITH_INDEXES_BY_ALL,
    buddy_list_example,
    copy_shares,
    replicated_network,
    shared_interests,
    spectral_layout,
)
from lycosa_lab.study import run
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.lastfm import Lastfm
from lycosa_lab.worlds.registry import open_world

pytest.importorskip("numba")
pytestmark = pytest.mark.usefixtures("compiled_kernel")
SMALL = {"consumers": 120, "providers": 380, "files": 3_000}
MUSIC = Path(__file__).parents[3] / "shared/data/peers"


class Quick(BuddyNet):
    """The same study, with few queries."""

    scales: Mapping[str, Any] = {
        "small": {**SMALL, "queries": 1_200, "runs": 6, "replication_runs": 3, "replication_queries": 400}
    }
    network_sizes = (1_000,)
    replication_factors = (0.01, 1.0)


class Once(Quick):
    """One run of it."""

    scales: Mapping[str, Any] = {"small": {**Quick.scales["small"], "runs": 1, "queries": 400}}
    replication_factors = (1.0,)


def run_on(world: Any, out: Path, study: BuddyNet | None = None) -> Results:
    return run(study or Quick(), world, scale="small", seed=5, out=out, workers=1, progress=lambda *_: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("buddynet")


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return run_on(FileSharing(**SMALL, seed=5), folder)


def test_buddies_save_messages_where_peers_stay_and_where_they_come_and_go(results: Results) -> None:
    by_id = {claim.id: claim for claim in results.claims}
    assert by_id["buddynet.static-order"].holds and by_id["buddynet.churn-order"].holds
    assert by_id["buddynet.replication"].holds and by_id["buddynet.clusters"].holds
    assert by_id["buddynet.hit-rate"].holds is None


def test_the_parts_are_compared_like_for_like_and_the_other_reading_is_told(results: Results) -> None:
    (claim,) = (claim for claim in results.claims if claim.id == "buddynet.factors")
    assert claim.holds and not claim.reason
    assert f"{WALK_WITH_INDEXES_BY_ALL} " in claim.measured
    rows = {row["algorithm"]: row for row in results.tables["runs"] if row["run"] == 0 and not row["churns"]}
    assert rows[WALK_WITH_INDEXES_BY_ALL]["transfers_before"] > rows["walk+index"]["transfers_before"] > 0
    assert rows[WALK_WITH_INDEXES_BY_ALL]["messages"] < rows["walk+index"]["messages"]


def test_every_algorithm_is_in_the_tables(results: Results) -> None:
    rows = results.tables["searches"]
    assert [row["algorithm"] for row in rows] == [*ALGORITHMS, FLOOD] * 2
    assert all(0.0 <= row["fetched"] <= row["answered"] <= 1.0 for row in rows)
    assert all(row["messages"] <= row["messages_back"] for row in rows)
    stay = {row["algorithm"]: row for row in rows if row["peers"] == "stay"}
    assert stay["flood"]["messages"] > stay["random-walk"]["messages"]


@pytest.mark.parametrize("churns", [False, True], ids=["always there", "coming and going"])
def test_shortcuts_and_the_list_are_one_run_because_nobody_is_ever_demoted(churns: bool) -> None:
    world = FileSharing(**SMALL, seed=6)
    trace = world.sharing.trace
    network = network_in(world.graph, trace, churns=churns, min_neighbours=4, seed=6)
    queries = queries_of(trace, world.sharing.holders(), seed=6)
    shortcuts, listed = (simulate(network, queries, name, seed=6) for name in ("interest-shortcuts", "walk+list"))
    assert shortcuts.messages.tolist() == listed.messages.tolist()
    assert shortcuts.lists.counts.tolist() == listed.lists.counts.tolist()


def test_claims_follow_from_the_tables(results: Results) -> None:
    tables, by_id = results.tables, {claim.id: claim for claim in results.claims}
    again = [
        claims.static_order(tables["runs"]),
        claims.churn_order(tables["runs"]),
        claims.factors(tables["runs"]),
        claims.replication(tables["replicas"]),
        claims.index_transfers_settle(tables["runs"]),
        claims.hit_rate(tables["runs"]),
        claims.clusters(tables["clusters"]),
    ]
    assert {claim.id: claim for claim in again} == by_id


def run_rows(**messages: float) -> list[dict[str, Any]]:
    """Four runs that differ a little; every algorithm takes 100 messages unless told otherwise."""
    return [
        {"run": number, "churns": churns, "algorithm": name, "messages": messages.get(name, 100.0) + 0.1 * number,
         "messages_back": 200.0, "path_length": 9.0, "answered": 0.9, "fetched": 0.9, "hit_rate": 0.0,
         "index_hit_rate": 0.0, "transfers_before": 0.1, "transfers_after": 0.1}
        for number in range(4) for churns in (False, True) for name in ALGORITHMS
    ]  # fmt: skip


def test_a_claim_fails_where_buddies_save_nothing() -> None:
    rows = run_rows()
    for claim in (
        claims.static_order(rows),
        claims.churn_order(rows),
        claims.factors(rows),
        claims.index_transfers_settle(rows),
    ):
        assert claim.holds is False
    assert "transfers per query after below before: 0.1 and 0.1, p = 1" in claims.index_transfers_settle(rows).reason


def test_the_parts_are_held_against_each_other_one_by_one() -> None:
    def spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "messages": row["messages"] * (1 + 0.01 * row["run"])} for row in rows]

    good = {"walk+list": 50.0, "walk+index": 80.0, "buddynet": 30.0}
    assert claims.factors(spread(run_rows(**good))).holds
    index_better = claims.factors(spread(run_rows(**{**good, "walk+list": 90.0})))
    assert index_better.holds is False
    assert index_better.reason.startswith("not significant: messages of walk+list below walk+index: 91.5 and 81.3")
    assert index_better.reason.count("below") == 1
    list_alone = claims.factors(spread(run_rows(**{**good, "buddynet": 60.0})))
    assert "messages of buddynet below walk+list" in list_alone.reason


def replica_row(run: int, **changes: float | None) -> dict[str, Any]:
    found = {"random-walk_messages": 100.0 + run, "random-walk_path_length": 20.0 + run}
    found |= {"buddynet_messages": 10.0 + 0.5 * run, "buddynet_path_length": 2.0}
    return {"run": run, "peers": 1_000, "replication": 1.0, "hit_rate": 0.9, **found, **changes}


def test_the_advantage_by_copies_is_tested_over_runs() -> None:
    claim = claims.replication([replica_row(run) for run in range(3)])
    assert claim.holds and claim.p is not None and claim.p < 0.05
    nothing_sent = claims.replication([replica_row(run, buddynet_messages=0.0) for run in range(3)])
    assert nothing_sent.holds and "inf" in nothing_sent.measured
    dearer = claims.replication([replica_row(run, buddynet_messages=150.0 - run) for run in range(3)])
    assert dearer.holds is False and "messages of buddynet below random-walk, 1000 peers at 1.0: 149" in dearer.reason
    assert claims.replication([replica_row(0)]).holds is None  # one run proves nothing
    assert claims.replication([replica_row(run, buddynet_path_length=None) for run in range(3)]).holds is None


def test_buddies_that_share_no_more_than_chance_would_have_it_are_no_clusters() -> None:
    row = {"shared": 0.31, "by_chance": 0.30, "p": 0.4, "links": 90, "peers": 30}
    claim = claims.clusters([row])
    assert claim.holds is False and "p = 0.4" in claim.reason
    assert claims.clusters([{**row, "shared": 0.2, "p": 0.01}]).holds is False
    assert claims.clusters([{**row, "shared": 0.9, "p": 0.01}]).holds


def test_the_same_seed_gives_the_same_results(results: Results, folder: Path, tmp_path: Path) -> None:
    again = run_on(FileSharing(**SMALL, seed=5), copy_with_jobs_missing(folder, tmp_path / "again"))
    assert again.tables == results.tables and again.claims == results.claims


def test_every_run_has_a_world_of_its_own_where_worlds_are_made_up() -> None:
    worlds = worlds_of(FileSharing(**SMALL, seed=5), 3)
    assert len({tuple(world.sharing.trace.items.tolist()) for world in worlds}) == 3


def test_the_list_of_the_example_is_that_of_the_paper() -> None:
    assert [row["best first"] for row in buddy_list_example()] == [
        "1: 3, 3: 2, 4: 1, 2: 1",
        "3: 3, 1: 3, 4: 1, 2: 1",
        "3: 3, 1: 3, 2: 2, 4: 1",
        "3: 3, 1: 3, 2: 2, 5: 1",
    ]


@pytest.mark.parametrize("factor", [0.01, 0.3, 1.0])
def test_as_many_peers_have_a_file_as_was_asked_for(factor: float) -> None:
    shares = copy_shares(500, factor)
    assert abs(shares.mean() - factor) < 1e-6 and shares.max() <= 1.0
    settings = {"files": 400, "categories": 4, "interests": 1, "neighbours": 3}
    made = replicated_network(200, mean_copy_share=factor, queries=3_000, seed=3, **settings)
    assert made.holders.lengths().min() >= 1
    for asker, item in zip(made.trace.consumers.tolist(), made.trace.items.tolist(), strict=True):
        assert asker not in made.holders.row(item)


def test_buddies_of_one_mind_are_told_from_buddies_by_chance() -> None:
    liked = np.zeros((40, 2))
    liked[:20, 0] = liked[20:, 1] = 1.0
    within = np.arange(40), np.concatenate([np.roll(np.arange(20), 1), np.roll(np.arange(20, 40), 1)])
    shared, by_chance, p = shared_interests(within, liked, seed=1)
    assert (shared, p) == (1.0, 0.001) and 0.4 < by_chance < 0.6
    across = np.arange(20), np.arange(20, 40)
    assert shared_interests(across, liked, seed=1)[2] > 0.5


def test_clusters_stand_apart() -> None:
    rng = np.random.default_rng(3)
    ones = rng.integers(0, 60, 900)
    others = ones // 20 * 20 + rng.integers(0, 20, 900)  # three groups of twenty
    places = spectral_layout((ones, others), 60)
    middles = places.reshape(3, 20, 2).mean(axis=1)
    spread = places.reshape(3, 20, 2).std(axis=1).max()
    assert min(np.linalg.norm(middles[a] - middles[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > 3 * spread


def test_a_world_without_peers_is_refused() -> None:
    with pytest.raises(UsageError, match="file-sharing"):
        peers_of(open_world("synthetic:pages=200,topics=4"))
    with pytest.raises(UsageError, match="100 downloads"):
        STUDIES["buddynet"].jobs(FileSharing(consumers=2, providers=20, files=300), SMALL, 1)


def test_without_numba_the_study_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    runs.compiled_kernel.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "lycosa_lab.peers.kernel", None)
    monkeypatch.delattr("lycosa_lab.peers.kernel", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'lycosa\[lab\]'"):
        runs.compiled_kernel()
    runs.compiled_kernel.cache_clear()


@pytest.mark.skipif(not MUSIC.exists(), reason="the people of last.fm are not here")
def test_people_who_share_music_find_it_with_fewer_messages_through_buddies(tmp_path: Path) -> None:
    results = run_on(Lastfm(path=str(MUSIC)), tmp_path, Once())
    rows = {row["algorithm"]: row for row in results.tables["searches"] if row["peers"] == "stay"}
    assert rows["buddynet"]["messages"] < rows["interest-shortcuts"]["messages"] < rows["random-walk"]["messages"]
