"""Compiled search and the node objects agree on everything that is counted, query by query."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lycosa_lab.peers.records import DOWN, LINK, STAGES, UP, NetworkArrays, Outcomes, PeerQueries
from lycosa_lab.peers.runs import queries_of, run_queries
from lycosa_lab.worlds.peer_networks import RaggedArray, Trace, group_by_row
from lycosa_peers.content import Items
from lycosa_peers.node import Node
from lycosa_peers.options import ALGORITHMS, NodeOptions, options_for
from lycosa_peers.simulation import QueryOutcome
from lycosa_peers.simulation import SimulatedNetwork as Wire

pytest.importorskip("numba")
pytestmark = pytest.mark.usefixtures("compiled_kernel")
NOWHERE = 999  # an item that nobody has
APART = 64.0  # seconds between two questions; none is under way at a checkpoint


class SmallNetwork:
    """A few peers, drawn by chance: who is whose neighbour, who has what, who comes and goes, who asks for what."""

    def __init__(self, seed: int, *, churns: bool):
        chance = np.random.default_rng(seed)
        self.peers = int(chance.integers(4, 14))
        self.files = int(chance.integers(2, 8))
        links = {(one, int(chance.integers(one))) for one in range(1, self.peers) for _ in range(2)}
        ends = [(one, other) for one, other in sorted(links)] + [(other, one) for one, other in sorted(links)]
        self.overlay = group_by_row(np.array([a for a, _ in ends]), np.array([b for _, b in ends]), self.peers)
        has = np.argwhere(chance.random((self.peers, self.files)) < chance.uniform(0.05, 0.4))
        self.libraries = group_by_row(has[:, 0], has[:, 1], self.peers)
        many = int(chance.integers(5, 40))
        askers = chance.integers(self.peers, size=many)
        times = APART * np.arange(1, many + 1)
        self.trace = Trace(askers, chance.integers(self.files, size=many), np.zeros(many, np.int64), times)
        self.events = []
        if churns:
            is_up = np.ones(self.peers, np.bool_)
            for time, asker in zip(times.tolist(), askers.tolist(), strict=True):
                for moment in (20.5, 10.5):  # never at a checkpoint
                    who = int(chance.integers(self.peers))
                    if moment == 10.5 and not is_up[asker]:
                        who = asker
                    elif who == asker:
                        continue
                    is_up[who] = not is_up[who]
                    self.events.append((time - moment, UP if is_up[who] else DOWN, who))

    def network(self) -> NetworkArrays:
        times, kinds, who = zip(*self.events, strict=True) if self.events else ((), (), ())
        return NetworkArrays(
            offsets=self.overlay.offsets,
            neighbours=self.overlay.values,
            degrees=self.overlay.lengths().astype(np.int32),
            is_up=np.ones(self.peers, np.bool_),
            event_times=np.array(times, np.float64),
            event_kinds=np.array(kinds, np.int8),
            event_peers=np.array(who, np.int32),
            linked_peers=np.full(len(who), -1, np.int32),
        )

    def compiled(self, options: NodeOptions, seed: int, *, all_have_asked: bool = False) -> Outcomes:
        queries = queries_of(self.trace, self.libraries.transposed(self.files), seed=seed)
        return run_queries(self.network(), queries, options, seed=seed, all_have_asked=all_have_asked)

    def with_nodes(
        self, options: NodeOptions, seed: int, *, all_have_asked: bool = False
    ) -> tuple[list[QueryOutcome], Wire]:
        nodes = [
            Node(str(number), Items(self.libraries.row(number).tolist()), options=options, seed=seed)
            for number in range(self.peers)
        ]
        overlay = {str(number): [str(other) for other in self.overlay.row(number)] for number in range(self.peers)}
        wire = Wire(nodes, overlay, seed=seed)
        wire.schedule((time, str(who), kind == UP) for time, kind, who in self.events)
        for each in nodes if all_have_asked else ():
            each.ask(NOWHERE, 0.0)  # what it would send stays unsent
        outcomes = []
        for asker, item, time in zip(self.trace.consumers, self.trace.items, self.trace.times, strict=True):
            wire.run(float(time))
            outcomes.append(wire.ask(str(asker), int(item)))
        return outcomes, wire


def options_of(algorithm: str, checkpoint: float, *, demotes_unreachable: bool = False) -> NodeOptions:
    return options_for(
        algorithm, buddies=3, neighbour_indexes=2, walkers=3, ttl=12, flood_ttl=3, checkpoint=checkpoint,
        refresh_checkpoints=0, timeout=2.0, demotes_unreachable=demotes_unreachable,
    )  # fmt: skip


def told(outcomes: Outcomes) -> list[tuple[object, ...]]:
    return [
        (
            int(outcomes.messages[place]),
            int(outcomes.return_hops[place]),
            None if outcomes.paths[place] < 0 else int(outcomes.paths[place]),
            None if STAGES[int(stage)] == "nowhere" else STAGES[int(stage)],
            None if outcomes.providers[place] < 0 else str(outcomes.providers[place]),
        )
        for place, stage in enumerate(outcomes.stages)
    ]


def lists_of(outcomes: Outcomes, peers: int) -> list[list[tuple[str, int]]]:
    lists = outcomes.lists
    found = []
    for peer in range(peers):
        rows = [
            (int(lists.counts[peer, place]), int(lists.since[peer, place]), str(lists.peers[peer, place]))
            for place in range(int(lists.sizes[peer]))
        ]
        found.append([(name, count) for count, _, name in sorted(rows, reverse=True)])
    return found


@pytest.mark.parametrize("churns", [False, True], ids=["always there", "coming and going"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**9),
    checkpoint=st.sampled_from([100.0, 400.0, 1e6]),
    demotes=st.booleans(),
    all_have_asked=st.booleans(),
)
def test_compiled_search_equals_the_nodes(
    algorithm: str, churns: bool, seed: int, checkpoint: float, demotes: bool, all_have_asked: bool
) -> None:
    small = SmallNetwork(seed, churns=churns)
    options = options_of(algorithm, checkpoint, demotes_unreachable=demotes)
    outcomes = small.compiled(options, seed % 1000, all_have_asked=all_have_asked)
    by_nodes, wire = small.with_nodes(options, seed % 1000, all_have_asked=all_have_asked)
    assert told(outcomes) == [
        (
            each.messages_received,
            each.return_hops,
            each.path_length,
            each.found_in_stage and str(each.found_in_stage),
            each.provider,
        )
        for each in by_nodes
    ]
    assert (outcomes.paths >= 0).tolist() == [each.answered for each in by_nodes]
    assert (outcomes.providers >= 0).tolist() == [each.found for each in by_nodes]
    lists = [[(buddy.contact.name, buddy.count) for buddy in node.buddies] for node in wire.nodes.values()]
    assert lists_of(outcomes, small.peers) == lists
    assert int(outcomes.transfers.sum()) == wire.total_event_counts()["indexes_taken"]


def line_of_three(**changes: Any) -> tuple[NetworkArrays, PeerQueries]:
    """0 asks twice for what 2 has, an hour apart; 1 stands between them."""
    offsets, neighbours = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    nothing = np.zeros(0)
    network = NetworkArrays(
        offsets=offsets, neighbours=neighbours, degrees=np.diff(offsets).astype(np.int32), is_up=np.ones(3, np.bool_),
        event_times=nothing, event_kinds=nothing.astype(np.int8), event_peers=nothing.astype(np.int32),
        linked_peers=nothing.astype(np.int32),
    )._replace(**changes)  # fmt: skip
    trace = Trace(np.array([0, 0]), np.array([0, 1]), np.array([2, 2]), np.array([10.0, 3_600.0]))
    holders = RaggedArray(np.array([0, 1, 2]), np.array([2, 2], np.int32))
    return network, queries_of(trace, holders, seed=1)


def test_only_who_asks_holds_indexes_of_neighbours_unless_all_have_asked() -> None:
    network, queries = line_of_three()
    options = options_of("walk+index", 100.0)
    own = run_queries(network, queries, options, seed=1)
    assert own.lists.is_held.sum(axis=1).tolist() == [1, 0, 0] and own.transfers.sum() == 1
    all_hold = run_queries(network, queries, options, seed=1, all_have_asked=True)
    assert all_hold.lists.is_held.sum(axis=1).tolist() == [1, 2, 1] and all_hold.transfers.sum() == 4
    assert all_hold.paths[1] < own.paths[1]  # 1 answers for 2


def test_an_index_of_ones_own_whose_owner_is_gone_is_no_response() -> None:
    gone = {
        "event_times": np.array([1_800.0]),
        "event_kinds": np.array([DOWN], np.int8),
        "event_peers": np.array([2], np.int32),
    }
    network, queries = line_of_three(**gone, linked_peers=np.array([-1], np.int32))
    outcomes = run_queries(network, queries, options_of("buddynet", 100.0), seed=1)
    assert outcomes.lists.is_held[0].sum() == 0  # dropped with the buddy that did not give it
    assert outcomes.paths.tolist()[1] == -1 and outcomes.providers.tolist() == [2, -1]


def test_links_that_are_made_on_the_way_count_from_then_on() -> None:
    network = NetworkArrays(
        offsets=np.array([0, 1, 2]),
        neighbours=np.array([1, 0], np.int32),
        degrees=np.zeros(2, np.int32),
        is_up=np.ones(2, np.bool_),
        event_times=np.array([50.0]),
        event_kinds=np.array([LINK], np.int8),
        event_peers=np.array([0], np.int32),
        linked_peers=np.array([1], np.int32),
    )
    trace = Trace(np.array([0, 0]), np.array([0, 0]), np.array([1, 1]), np.array([10.0, 60.0]))
    holders = RaggedArray(np.array([0, 1]), np.array([1], np.int32))
    outcomes = run_queries(network, queries_of(trace, holders, seed=1), options_of("random-walk", 1e6), seed=1)
    assert outcomes.providers.tolist() == [-1, 1]
    assert network.degrees.tolist() == [0, 0]  # what is given is not changed
