"""Networks of nodes on a simulated wire: what a search costs, and what it outlives."""

import random

import pytest

from lycosa_peers.messages import Contact
from lycosa_peers.node import Node
from lycosa_peers.options import ALGORITHMS
from lycosa_peers.routing import next_hop
from lycosa_peers.search import Stage
from lycosa_peers.simulation import LATENCY, QueryOutcome, SimulatedNetwork
from small_networks import network, node, ring

LINE = {"a": ["b"], "b": ["a", "c"], "c": ["b", "d"], "d": ["c"]}
HAS = {"a": [], "b": [], "c": [], "d": [5]}
NAMES = [f"n{number}" for number in range(24)]


def shelves(copies: int = 3) -> dict[str, list[int]]:
    """Items 0 to 23, each at some peers that are next to each other."""
    return {name: [(at + shift) % len(NAMES) for shift in range(copies)] for at, name in enumerate(NAMES)}


# What a search costs


def test_a_walk_along_a_line_costs_its_hops_and_the_answers() -> None:
    outcome = network(HAS, LINE, algorithm="random-walk", walkers=1).ask("a", 5)
    assert (outcome.found_in_stage, outcome.provider) == (Stage.WALKING, "d")
    assert (outcome.queries_received, outcome.responses_received, outcome.messages_received, outcome.path_length) == (
        3,
        1,
        4,
        3,
    )
    assert outcome.fetches == 1 and outcome.queries_sent == 3


def test_walkers_go_on_after_the_first_answer_and_all_their_messages_count() -> None:
    outcome = network(HAS, LINE, algorithm="random-walk", walkers=3).ask("a", 5)
    assert (outcome.queries_received, outcome.responses_received, outcome.messages_received) == (9, 3, 12)
    assert outcome.path_length == 9  # in each round all three were sent on before the first arrived


def test_path_length_counts_what_was_issued_before_the_first_answer_was_given() -> None:
    star = {"a": ["m"], "m": ["a", "b", "c"], "b": ["m"], "c": ["m"]}
    net = network({"a": [], "m": [], "b": [5], "c": []}, star, algorithm="random-walk", walkers=4, ttl=3)
    outcomes = [net.ask("a", 5) for _ in range(10)]
    for outcome in outcomes:
        first = [next_hop(1, outcome.id, walker, 2, ["a", "b", "c"], "a") for walker in range(1, 5)]
        if "b" in first:
            turned = first.index("b")  # walkers before the first at b, in that round, went to c and were sent on
            assert outcome.path_length == 4 + 4 + turned
            assert outcome.queries_sent == 4 + 4 + first.count("c")
    assert any((outcome.path_length or 0) < outcome.queries_sent for outcome in outcomes)


def test_a_walk_that_finds_nothing_costs_every_step_of_every_walker() -> None:
    outcome = network(HAS, LINE, algorithm="random-walk", walkers=3, ttl=10).ask("a", 99)
    assert (outcome.answered, outcome.found, outcome.path_length, outcome.messages_received) == (False, False, None, 30)


def test_what_is_at_home_costs_nothing() -> None:
    outcome = network(HAS, LINE).ask("d", 5)
    assert (outcome.found_in_stage, outcome.messages_received, outcome.path_length, outcome.fetches) == (
        Stage.OWN_CONTENT,
        0,
        0,
        0,
    )


def test_the_second_time_a_buddy_answers_and_the_third_its_index() -> None:
    net = network({**HAS, "d": [5, 6, 7]}, LINE)
    assert net.ask("a", 5).found_in_stage is Stage.WALKING
    second = net.ask("a", 6)
    assert (second.found_in_stage, second.messages_received, second.path_length, second.found_by_index_or_buddy) == (
        Stage.BUDDIES,
        2,
        1,
        True,
    )
    net.run(250.0)  # two checkpoints
    third = net.ask("a", 7)
    assert (third.found_in_stage, third.messages_received, third.path_length, third.found_by_index_or_buddy) == (
        Stage.INDEXES,
        0,
        0,
        True,
    )
    assert net.total_event_counts()["indexes_taken"] == 1


def test_buddies_that_lack_it_are_part_of_the_cost_of_the_walk() -> None:
    net = network({**HAS, "c": [6]}, LINE, walkers=1)
    net.ask("a", 6)
    outcome = net.ask("a", 5)
    assert (outcome.found_in_stage, outcome.queries_received, outcome.path_length) == (Stage.WALKING, 4, 4)


def test_a_flood_reaches_everybody_once_for_each_link() -> None:
    net = network(shelves(1), ring(NAMES), algorithm="flood", flood_ttl=12)
    outcome = net.ask("n0", 99)
    links = len(NAMES) * 4
    assert outcome.queries_received == links - (len(NAMES) - 1)  # not back to where it came from
    assert net.ask("n0", 12).provider == "n12"


def test_an_index_at_a_receiver_ends_the_walk_before_the_provider() -> None:
    net = network(HAS, LINE, algorithm="walk+index", walkers=1)
    net.ask("c", 99)
    net.run(150.0)
    outcome = net.ask("a", 5)
    assert (outcome.provider, outcome.queries_received, outcome.path_length) == ("d", 2, 2)  # c holds the index of d
    assert net.ask("c", 5).found_in_stage is Stage.INDEXES


def test_who_never_asks_holds_no_index_of_a_neighbour() -> None:
    net = network(HAS, LINE, algorithm="walk+index", walkers=1)
    net.ask("a", 99)
    net.run(150.0)
    assert {name: len(peer.held) for name, peer in net.nodes.items()} == {"a": 1, "b": 0, "c": 0, "d": 0}
    assert net.ask("a", 5).path_length == 3


def test_a_response_straight_to_the_asker_saves_the_way_back() -> None:
    outcome = network(HAS, LINE, algorithm="random-walk", walkers=3).ask("a", 5)
    assert (outcome.responses_received, outcome.return_hops) == (3, 3 * 2)  # three hops back instead of one
    flooded = network(HAS, LINE, algorithm="flood").ask("a", 5)
    assert (flooded.messages_received, flooded.return_hops) == (4, 2)
    net = network({**HAS, "d": [5, 6]}, LINE)
    assert (net.ask("a", 5).return_hops, net.ask("a", 6).return_hops) == (4, 0)  # a buddy is asked directly


def test_a_response_that_leads_to_nothing_is_a_response_all_the_same() -> None:
    has = {"a": [], "b": [], "c": [5]}
    net = network(has, {"a": ["b"], "b": ["a", "c"], "c": ["b"]}, walkers=1, timeout=1.0)
    net.ask("b", 5)
    net.run(250.0)  # b holds the index of c
    net.go_down("c")
    outcome = net.ask("a", 5)
    assert (outcome.answered, outcome.found, outcome.path_length) == (True, False, 1)


def test_an_index_of_ones_own_whose_owner_is_gone_is_no_response() -> None:
    net = network({"a": [], "b": [], "c": [5]}, {"a": ["b"], "b": ["a", "c"], "c": ["b"]}, walkers=1, timeout=1.0)
    net.ask("b", 5)
    net.run(250.0)
    net.go_down("c")
    outcome = net.ask("b", 5)
    assert (outcome.answered, outcome.found, outcome.fetches) == (False, False, 1)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_finds_what_is_there_and_nothing_else(algorithm: str) -> None:
    net = network(shelves(), ring(NAMES), algorithm=algorithm, walkers=4, ttl=64, flood_ttl=12)
    net.run(300.0)
    outcomes = [net.ask(f"n{number}", (number + 11) % 24) for number in range(24)]
    assert all(outcome.found for outcome in outcomes)
    assert not net.ask("n0", 99).found


def test_buddynet_learns_and_costs_less_than_the_walk() -> None:
    costs: dict[str, int] = {}
    for algorithm in ("random-walk", "interest-shortcuts", "buddynet"):
        net = network(shelves(6), ring(NAMES), algorithm=algorithm, walkers=4, ttl=64)
        chance = random.Random(3)
        outcomes = []
        for number in range(120):
            net.run(number * 5.0)
            outcomes.append(net.ask(f"n{chance.randrange(4)}", 12 + chance.randrange(4)))
        costs[algorithm] = sum(outcome.messages_received for outcome in outcomes[60:])
    assert costs["buddynet"] < costs["interest-shortcuts"] < costs["random-walk"]


# The same twice


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_seed_gives_the_same_run_twice_and_another_seed_another(algorithm: str) -> None:
    def outcomes(seed: int) -> list[QueryOutcome]:
        wire = {"latency": (0.001, 0.003), "loss": 0.02}
        net = network(shelves(), ring(NAMES), algorithm=algorithm, seed=seed, wire=wire)
        return [net.ask(f"n{number % 5}", (number * 7) % 24) for number in range(15)]

    assert outcomes(1) == outcomes(1) != outcomes(2)


def test_searches_may_overlap() -> None:
    net = network(shelves(), ring(NAMES), walkers=4, ttl=64)
    numbers = [net.begin(name, (at + 9) % 24) for at, name in enumerate(NAMES)]
    net.run(10.0)
    outcomes = [net.outcome(number) for number in numbers]
    assert all(outcome.found for outcome in outcomes)
    assert sum(outcome.queries_received for outcome in outcomes) <= net.total_event_counts()["received"]


# What a search outlives


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_half_of_the_nodes_killed_at_once_leave_the_other_half_searching(algorithm: str) -> None:
    net = network(shelves(6), ring(NAMES, 4), algorithm=algorithm, walkers=4, ttl=64, flood_ttl=12)
    net.run(250.0)
    for number in range(24):
        net.ask(f"n{number % 4 * 2}", (number + 11) % 24)
    for number in range(1, 24, 2):
        net.go_down(f"n{number}")
    outcomes = [net.ask(f"n{number}", (number + 11) % 24) for number in range(0, 24, 2)]
    assert all(outcome.found for outcome in outcomes)
    assert {outcome.provider for outcome in outcomes}.isdisjoint(net.down)


def test_a_buddy_that_is_down_loses_count_and_the_search_goes_on() -> None:
    net = network(
        {"a": [], "b": [], "c": [5, 6], "d": [5, 6]}, {"a": ["b"], "b": ["a", "c", "d"], "c": ["b"], "d": ["b"]}
    )
    first = net.ask("a", 5).provider
    assert first is not None
    net.ask("a", 6)
    net.run(250.0)
    net.go_down(first)
    outcome = net.ask("a", 6)
    assert outcome.found and outcome.provider not in (None, first) and outcome.fetches == 2
    counts = {buddy.contact.name: buddy.count for buddy in net.nodes["a"].buddies}
    assert counts == {first: 1, outcome.provider: 1}


def test_nodes_come_and_go_on_a_schedule() -> None:
    net = network(HAS, LINE, walkers=2, timeout=1.0)
    net.schedule([(10.0, "d", False), (20.0, "d", True)])
    net.run(5.0)
    found = [net.ask("a", 5).found]
    net.run(12.0)
    found.append(net.ask("a", 5).found)
    net.run(22.0)
    found.append(net.ask("a", 5).found)
    assert found == [True, False, True]


def test_a_node_that_was_down_holds_its_next_checkpoint_with_the_others() -> None:
    net = network(HAS, LINE)
    net.schedule([(50.0, "d", False), (350.0, "d", True)])
    net.run(450.0)
    assert {name: peer.counts["checkpoints"] for name, peer in net.nodes.items()} == {"a": 4, "b": 4, "c": 4, "d": 1}


def test_a_partition_is_searched_on_each_side_and_heals() -> None:
    net = network(shelves(), ring(NAMES), walkers=4, ttl=64, ping=5.0)
    sides = NAMES[:12], NAMES[12:]
    net.partition(*sides)
    net.run(20.0)
    near = [net.ask("n3", item) for item in (7, 8)]
    far = net.ask("n3", 18)
    assert all(outcome.provider in sides[0] for outcome in near) and not far.found
    assert net.lost_messages > 0
    net.partition()
    net.run(40.0)
    assert net.ask("n3", 18).found


def test_a_lossy_wire_costs_answers_but_not_the_search() -> None:
    net = network(shelves(6), ring(NAMES), walkers=8, ttl=64, wire={"loss": 0.05})
    outcomes = [net.ask(f"n{number}", (number + 9) % 24) for number in range(24)]
    assert sum(outcome.found for outcome in outcomes) >= 20 and net.lost_messages > 0


def test_clocks_that_differ_change_nothing_but_when_checkpoints_are() -> None:
    skew = {name: 40_000.0 * (-1) ** at for at, name in enumerate(NAMES)}
    plain = network(shelves(), ring(NAMES))
    skewed = network(shelves(), ring(NAMES), wire={"skew": skew})
    for net in (plain, skewed):
        net.run(300.0)
    for number in range(24):
        assert plain.ask(f"n{number}", (number + 9) % 24) == skewed.ask(f"n{number}", (number + 9) % 24)


def test_a_busy_provider_is_left_for_another() -> None:
    nodes: list[Node] = [node("a"), node("b"), node("c", [5, 6], capacity=0.001), node("d", [5, 6])]
    net = SimulatedNetwork(nodes, {"a": ["b"], "b": ["a", "c", "d"], "c": ["b"], "d": ["b"]}, seed=3)
    nodes[0].buddies.answered(Contact("c"))
    nodes[2].answering.capacity.take(0.0)
    outcome = net.ask("a", 5)
    assert outcome.provider == "d" and nodes[0].buddies.names() == ["d"]


def test_time_passes_by_latencies() -> None:
    net = network(HAS, LINE, algorithm="random-walk", walkers=1)
    net.ask("a", 5)
    assert net.now == (3 + 1 + 2) * LATENCY  # three hops, the answer, the fetch and what it brought
