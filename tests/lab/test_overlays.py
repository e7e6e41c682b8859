"""Networks of peers: who is whose neighbour, and who is there."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.peers.records import DOWN, LINK, UP
from lycosa_lab.peers.runs import BEST_SHARE, BEST_UPTIME, churn_events, network_in, uptimes
from lycosa_lab.worlds.file_sharing import FileSharing
from lycosa_lab.worlds.peer_networks import Trace, preferential_attachment, undirected, with_min_degree
from lycosa_lab.worlds.registry import make_world

GNUTELLA = Path(__file__).parents[3] / "shared/data/peers/p2p-Gnutella08.txt.gz"


def neighbours_of(graph: Graph) -> list[set[int]]:
    return [set(graph.targets[graph.offsets[node] : graph.offsets[node + 1]].tolist()) for node in range(len(graph))]


def nobody_asks() -> Trace:
    return Trace(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@settings(max_examples=30, deadline=None)
@given(size=st.integers(6, 120), least=st.integers(1, 5), seed=st.integers(0, 999))
def test_a_grown_network_is_known_at_both_ends_and_nobody_has_too_few_neighbours(
    size: int, least: int, seed: int
) -> None:
    graph = preferential_attachment(size, min_degree=least, rng=np.random.default_rng(seed))
    known = neighbours_of(graph)
    assert len(graph.targets) == sum(map(len, known))  # none is double
    assert all(node not in mine and len(mine) >= least for node, mine in enumerate(known))
    assert all(node in known[other] for node, mine in enumerate(known) for other in mine)


def test_a_grown_network_has_a_few_peers_with_very_many_neighbours() -> None:
    graph = preferential_attachment(2_000, min_degree=4, rng=np.random.default_rng(1))
    degrees = np.diff(graph.offsets)
    assert np.median(degrees) <= 6 < 100 < degrees.max()


@settings(max_examples=30, deadline=None)
@given(links=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40), seed=st.integers(0, 99))
def test_a_measured_network_gets_as_many_neighbours_as_needed_and_keeps_its_links(
    links: list[tuple[int, int]], seed: int
) -> None:
    ends = np.array(links, np.int64).reshape(-1, 2)
    given_links = undirected(ends[:, 0], ends[:, 1], 20)
    made = with_min_degree(given_links, min_degree=3, rng=np.random.default_rng(seed))
    for before, after in zip(neighbours_of(given_links), neighbours_of(made), strict=True):
        assert before <= after and len(after) >= 3


def test_a_topology_from_a_file_is_the_overlay(tmp_path: Path) -> None:
    path = tmp_path / "ring.txt.gz"
    path.write_bytes(gzip.compress("\n".join(f"{node} {(node + 1) % 40}" for node in range(40)).encode()))
    world = FileSharing(overlay=str(path), consumers=10, files=200, neighbours=2, seed=3)
    assert neighbours_of(world.graph)[5] == {4, 6}
    assert (world.facts["pages"], world.facts["providers"]) == (40, 30)
    with pytest.raises(UsageError, match="40 peers"):
        make_world("file-sharing", {"overlay": str(path), "consumers": "40"})
    with pytest.raises(UsageError, match="no file"):
        make_world("file-sharing", {"overlay": str(tmp_path / "none")})


@pytest.mark.skipif(not GNUTELLA.exists(), reason="the Gnutella topologies are not here")
def test_gnutella_is_an_overlay() -> None:
    world = FileSharing(overlay=str(GNUTELLA), consumers=300, seed=2)
    assert len(world) == 6_301
    assert np.diff(world.graph.offsets).min() >= 4


def test_the_best_fifth_of_peers_is_up_as_much_as_was_measured() -> None:
    shares = uptimes(100_000, np.random.default_rng(5))
    assert abs((shares >= BEST_UPTIME).mean() - BEST_SHARE) < 0.01
    assert shares.min() > 0 and shares.max() <= 1


def test_peers_are_up_for_their_share_of_the_time_and_whenever_they_ask() -> None:
    chance = np.random.default_rng(7)
    shares = np.repeat([0.1, 0.5, 0.9], 200)
    until = 400 * 3_600.0
    trace = Trace(np.array([0, 0]), np.zeros(2, np.int64), np.ones(2, np.int64), np.array([1_000.0, 500_000.0]))
    is_up, (times, kinds, who) = churn_events(shares, trace, until=until, rng=chance)
    assert (np.diff(times) >= 0).all()
    spent, since, state = np.zeros(600), np.zeros(600), is_up.copy()
    was_up_at = []
    for time, kind, peer in zip(times.tolist(), kinds.tolist(), who.tolist(), strict=True):
        while len(was_up_at) < 2 and trace.times[len(was_up_at)] < time:
            was_up_at.append(bool(state[0]))
        assert state[peer] == (kind == DOWN)  # nobody comes who is there, nobody goes who is not
        if state[peer]:
            spent[peer] += time - since[peer]
        since[peer], state[peer] = time, kind == UP
    spent += np.where(state, until - since, 0.0)
    means = (spent / until).reshape(3, 200).mean(axis=1)
    assert np.abs(means - [0.1, 0.5, 0.9]).max() < 0.05
    assert was_up_at == [True, True]


def test_who_is_up_has_neighbours_that_are_up() -> None:
    pytest.importorskip("numba")
    graph = preferential_attachment(300, min_degree=3, rng=np.random.default_rng(4))
    asked = Trace(np.array([5]), np.array([0]), np.array([9]), np.array([86_400.0]))
    network = network_in(graph, asked, churns=True, min_neighbours=3, seed=6)
    is_up, degrees = network.is_up.copy(), network.degrees.copy()
    events = list(
        zip(network.event_kinds.tolist(), network.event_peers.tolist(), network.linked_peers.tolist(), strict=True)
    )
    assert any(kind == LINK for kind, _, _ in events)
    for place, (kind, one, other) in enumerate(events):
        if kind == LINK:
            degrees[one] += 1
            degrees[other] += 1
        else:
            is_up[one] = kind == UP
        if place % 50 == 0 and (place + 1 == len(events) or events[place + 1][0] != LINK):
            for peer in np.flatnonzero(is_up):
                begin = network.offsets[peer]
                known = network.neighbours[begin : begin + degrees[peer]]
                assert is_up[known].sum() >= min(3, is_up.sum() - 1)


def test_without_churn_the_network_is_the_graph() -> None:
    pytest.importorskip("numba")
    graph = preferential_attachment(40, min_degree=2, rng=np.random.default_rng(4))
    network = network_in(graph, nobody_asks(), churns=False, min_neighbours=2, seed=6)
    assert network.neighbours.tolist() == graph.targets.tolist()
    assert network.is_up.all() and not len(network.event_times)
