"""The study of buddies, on small networks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lycosa.lab.findings import Results
from lycosa.lab.peers import running
from lycosa.lab.peers.clusters import projected, shared_interests
from lycosa.lab.peers.replicated import copy_shares, replicated
from lycosa.lab.studies import STUDIES
from lycosa.lab.studies.buddynet import BuddyNet, claims, peers_of, worlds_of
from lycosa.lab.studies.buddynet.jobs import ALGORITHMS, FLOOD, buddy_list_example
from lycosa.lab.study import run
from lycosa.vocabulary.errors import UsageError
from lycosa.worlds.file_sharing import FileSharing, Lastfm
from lycosa.worlds.opening import open_world

pytest.importorskip("numba")
SMALL = {"consumers": 120, "providers": 380, "files": 3_000}
MUSIC = Path(__file__).parents[3] / "shared/data/peers"


class Quick(BuddyNet):
    """The same study, with few queries."""

    scales: Mapping[str, Any] = {
        "small": {**SMALL, "queries": 1_200, "runs": 6, "replication_runs": 1, "replication_queries": 400}
    }
    sizes = (1_000,)
    factors_of_replication = (0.01, 1.0)


class Once(Quick):
    """One run of it."""

    scales: Mapping[str, Any] = {"small": {**Quick.scales["small"], "runs": 1, "queries": 400}}
    factors_of_replication = (1.0,)


def run_on(world: Any, out: Path, study: BuddyNet | None = None) -> Results:
    return run(study or Quick(), world, scale="small", seed=5, out=out, workers=1, told=lambda *_: None)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_on(FileSharing(**SMALL, seed=5), tmp_path_factory.mktemp("buddynet"))


def test_buddies_save_messages_where_peers_stay_and_where_they_come_and_go(results: Results) -> None:
    by_id = {claim.id: claim for claim in results.claims}
    assert by_id["buddynet.static-order"].holds and by_id["buddynet.churn-order"].holds
    assert by_id["buddynet.replication"].holds and by_id["buddynet.clusters"].holds
    assert by_id["buddynet.hit-rate"].holds is None
    assert by_id["buddynet.factors"].holds in (True, False)


def test_every_algorithm_is_in_the_tables(results: Results) -> None:
    rows = results.tables["searches"]
    assert [row["algorithm"] for row in rows] == [*ALGORITHMS, FLOOD] * 2
    assert all(0.0 <= row["fetched"] <= row["success"] <= 1.0 for row in rows)
    stay = {row["algorithm"]: row for row in rows if row["peers"] == "stay"}
    assert stay["flood"]["messages"] > stay["random-walk"]["messages"]
    assert stay["walk+list"]["messages"] == stay["interest-shortcuts"]["messages"]  # nobody is ever down


def test_claims_follow_from_the_tables(results: Results) -> None:
    tables, by_id = results.tables, {claim.id: claim for claim in results.claims}
    again = [
        claims.static_order(tables["runs"]),
        claims.churn_order(tables["runs"]),
        claims.factors(tables["runs"]),
        claims.replication(tables["replication"]),
        claims.settles(tables["runs"]),
        claims.hit_rate(tables["runs"]),
        claims.clusters(tables["clusters"]),
    ]
    assert {claim.id: claim for claim in again} == by_id


def test_a_claim_fails_where_buddies_save_nothing() -> None:
    rows = [
        {"run": number, "churns": churns, "algorithm": name, "messages": 100.0 + number, "path_length": 9.0,
         "success": 0.9, "fetched": 0.9, "hit_rate": 0.0, "index_hit_rate": 0.0,
         "transfers_before": 0.1, "transfers_after": 0.1}
        for number in range(4) for churns in (False, True) for name in ALGORITHMS
    ]  # fmt: skip
    assert claims.static_order(rows).holds is False and claims.churn_order(rows).holds is False
    assert claims.factors(rows).holds is False and claims.settles(rows).holds is False


def test_the_same_seed_gives_the_same_results(results: Results, tmp_path: Path) -> None:
    first, again = (run_on(FileSharing(**SMALL, seed=5), tmp_path / name, Once()) for name in ("one", "two"))
    assert again.tables == first.tables and again.claims == first.claims
    assert first.tables["searches"] != results.tables["searches"]


def test_every_run_has_a_world_of_its_own_where_worlds_are_made_up() -> None:
    worlds = worlds_of(FileSharing(**SMALL, seed=5), 3, 5)
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
    made = replicated(200, factor=factor, queries=3_000, seed=3, **settings)
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
    places = projected((ones, others), 60)
    middles = places.reshape(3, 20, 2).mean(axis=1)
    spread = places.reshape(3, 20, 2).std(axis=1).max()
    assert min(np.linalg.norm(middles[a] - middles[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > 3 * spread


def test_a_world_without_peers_is_refused() -> None:
    with pytest.raises(UsageError, match="file-sharing"):
        peers_of(open_world("synthetic:pages=200,topics=4"))
    with pytest.raises(UsageError, match="100 downloads"):
        STUDIES["buddynet"].jobs(FileSharing(consumers=2, providers=20, files=300), SMALL, 1)


def test_without_numba_the_study_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    running.compiled.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "lycosa.lab.peers.kernel", None)
    monkeypatch.delattr("lycosa.lab.peers.kernel", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'lycosa\[lab\]'"):
        running.compiled()
    running.compiled.cache_clear()


@pytest.mark.skipif(not MUSIC.exists(), reason="the people of last.fm are not here")
def test_people_who_share_music_find_it_with_fewer_messages_through_buddies(tmp_path: Path) -> None:
    results = run_on(Lastfm(path=str(MUSIC)), tmp_path, Once())
    rows = {row["algorithm"]: row for row in results.tables["searches"] if row["peers"] == "stay"}
    assert rows["buddynet"]["messages"] < rows["interest-shortcuts"]["messages"] < rows["random-walk"]["messages"]
