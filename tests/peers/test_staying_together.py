"""Peers as people run them: they keep up with their neighbours, and find together again."""

import msgspec

from lycosa_peers.content import Items
from lycosa_peers.messages import Contact, Envelope, Hello, Join, Leave, Ping, Pong, Query
from lycosa_peers.neighbours import MAX_KNOWN
from lycosa_peers.node import Node
from lycosa_peers.options import DEFAULTS
from lycosa_peers.search import Stage
from lycosa_peers.simulation import SimulatedNetwork
from small_networks import carry, friend


def at(name: str) -> Contact:
    return Contact(name, f"{name}:1")


def restarted(peer: Node) -> Node:
    again = friend(peer.name)
    again.restore(peer.state())
    return again


# Pings


def test_neighbours_hear_of_each_other_well_before_a_silent_connection_is_closed() -> None:
    peer = friend("a")
    peer.connect([at("b"), at("c")])
    now, pinged = 0.0, 0
    while peer.next_deadline() < 300.0:
        now = peer.next_deadline()
        pings = [envelope for envelope in peer.tick(now) if isinstance(envelope.message, Ping)]
        pinged += len(pings)
        for envelope in pings:
            peer.receive(envelope.to, Pong(True), now)
    assert pinged == 2 * 9 and not peer.neighbours.down


def test_a_network_that_fell_apart_finds_together_again_without_a_search() -> None:
    names = [f"n{number}" for number in range(8)]
    everybody = {name: [other for other in names if other != name] for name in names}
    nodes = [friend(name, [number]) for number, name in enumerate(names)]
    net = SimulatedNetwork(nodes, everybody)
    net.partition(names[:4], names[4:])
    net.run(300.0)
    assert net.ask("n0", 7).found_in_stage is None and len(net.nodes["n0"].neighbours.down) == 4
    net.partition()
    net.run(net.now + 2 * DEFAULTS.ping)
    assert not any(node.neighbours.down for node in nodes)
    assert net.ask("n0", 7).found_in_stage is not None


def test_one_that_lost_its_neighbours_joins_others_it_heard_of_and_tries_all_of_them() -> None:
    nodes = {name: friend(name) for name in "ab"}
    peer = nodes["a"]
    for name in ["b", *(f"dead{number}" for number in range(30))]:
        peer.neighbours.remember(at(name))
    for _ in range(10):
        now = peer.next_deadline()
        carry(nodes, "a", peer.tick(now), now)
    assert peer.neighbours.names == ["b"] and nodes["b"].neighbours.names == ["a"]


def test_one_who_does_not_know_us_any_more_is_asked_again_once() -> None:
    nodes = {name: friend(name) for name in "ab"}
    nodes["a"].connect([at("b")])
    carry(nodes, "a", nodes["a"].tick(30.0), 30.0)  # b was started without what it knew
    assert nodes["a"].neighbours.names == ["b"] and nodes["b"].neighbours.names == ["a"]
    full = friend("f", max_neighbours=1)
    full.connect([at("x")])
    nodes["f"] = full
    nodes["a"].connect([at("f")])
    said = carry(nodes, "a", nodes["a"].tick(60.0), 60.0)
    assert "f" not in nodes["a"].neighbours and sum(isinstance(each, Join) for each in said) == 1


# Others that neighbours tell of


def crowd(names: str) -> dict[str, Node]:
    nodes = {name: friend(name) for name in names}
    for name, peer in nodes.items():
        peer.connect(at(other) for other in names if other != name)
    return nodes


def test_one_that_is_taken_in_joins_those_it_is_told_of_as_far_as_it_lacks_neighbours() -> None:
    nodes = crowd("bcdefghi")
    nodes["b"].receive("s", Join(Contact("s")), 0.0)  # who cannot be called
    nodes["a"] = friend("a")
    said = carry(nodes, "a", nodes["a"].join([at("b")]))
    assert nodes["a"].neighbours.names == ["b", "i", "h", "g"] and sum(isinstance(each, Join) for each in said) == 4
    assert all("a" in nodes[name].neighbours for name in "bghi")


def visitor(*neighbours: str) -> Node:
    """One who searches and cannot be called."""
    peer = Node(Contact("v"), Items(), options=DEFAULTS, seed=1)
    peer.connect(at(name) for name in neighbours)
    return peer


def test_one_who_cannot_be_called_asks_each_neighbour_once_and_nobody_farther_away() -> None:
    nodes = {**crowd("abc"), "v": visitor("a", "b")}
    nodes["v"].buddies.answered(at("b"))
    nodes["c"].content.add(5)
    number, outgoing = nodes["v"].ask(5, 0.0)
    assert [envelope.to for envelope in outgoing] == ["b"]
    said = carry(nodes, "v", outgoing)
    assert [each.ttl for each in said if isinstance(each, Query)] == [1, 1]
    assert nodes["v"].stage(number) is Stage.DONE and nodes["c"].counts["received"] == 0


def test_one_who_cannot_be_called_asks_those_too_who_take_it_in_meanwhile() -> None:
    nodes = {**crowd("abc"), "v": visitor()}
    nodes["c"].content.add(5)
    (join,) = nodes["v"].join([at("a")])
    (pong,) = nodes["a"].receive("v", join.message, 0.0)
    joins = nodes["v"].receive("a", pong.message, 0.0)
    assert {envelope.to for envelope in joins} == {"b", "c"}
    number, outgoing = nodes["v"].ask(5, 0.0)
    carry(nodes, "v", outgoing)
    assert nodes["v"].stage(number) is Stage.WALKING
    carry(nodes, "v", joins)
    search = nodes["v"].answers(number)
    assert search is not None and search.stage is Stage.DONE and search.issued == 3
    assert [answer.via for answer in search.answers] == ["c"]


def test_a_search_waits_but_a_while_for_those_who_may_take_it_in() -> None:
    peer = visitor()
    peer.join([at("a"), at("b")])
    number, _ = peer.ask(5, 10.0)
    peer.undelivered("a", Join(peer.own_contact), 10.1)
    assert peer.stage(number) is Stage.WALKING and 10.1 < peer.next_deadline() < 10.0 + DEFAULTS.timeout
    peer.tick(peer.next_deadline())
    assert peer.stage(number) is Stage.DONE
    number, _ = peer.ask(5, 20.0)
    peer.undelivered("b", Join(peer.own_contact), 20.1)
    peer.tick(20.1)
    assert peer.stage(number) is Stage.DONE


# Restarts


def test_after_a_restart_the_neighbours_are_asked_to_be_so_again() -> None:
    nodes = {name: friend(name) for name in "abc"}
    for name in "bc":
        carry(nodes, "a", nodes["a"].join([at(name)]))
    carry(nodes, "a", nodes["a"].leave())
    assert len(nodes["b"].neighbours) == 0
    nodes["a"] = restarted(nodes["a"])
    outgoing = nodes["a"].rejoin()
    assert outgoing == [Envelope(name, Join(at("a")), f"{name}:1") for name in "bc"]
    carry(nodes, "a", outgoing)
    assert nodes["a"].neighbours.names == ["b", "c"]
    assert nodes["b"].neighbours.names == nodes["c"].neighbours.names == ["a"]


def test_after_a_restart_one_without_neighbours_joins_those_it_knew() -> None:
    peer = friend("a")
    peer.connect([at("b")])
    peer.receive("b", Hello(at("b")), 0.0)
    peer.receive("b", Leave(), 0.0)
    assert restarted(peer).rejoin() == [Envelope("b", Join(at("a")), "b:1")]


def test_where_neighbours_live_is_kept_however_many_strangers_say_hello() -> None:
    peer = friend("a")
    peer.receive("b", Join(at("b")), 0.0)
    for number in range(MAX_KNOWN + 10):
        peer.receive(f"s{number}", Hello(at(f"s{number}")), 0.0)
    again = restarted(peer)
    assert again.neighbours.contact("b") == at("b") and len(again.neighbours.known()) == MAX_KNOWN


def test_a_state_from_when_only_names_of_neighbours_were_kept_is_taken_up() -> None:
    peer = friend("a")
    peer.receive("b", Join(at("b")), 0.0)
    peer.buddies.answered(at("c"))
    state = {**msgspec.to_builtins(peer.state_without_indexes()), "neighbours": ["b"]}
    again = friend("a")
    again.restore(state)
    assert again.neighbours.contact("b") == at("b") and again.buddies.names() == ["c"]


# Who is a neighbour, and where


def test_when_all_places_are_taken_who_has_been_down_for_longest_makes_room() -> None:
    peer = friend("a")
    everybody = [f"s{number}" for number in range(DEFAULTS.max_neighbours)]
    for name in everybody:
        peer.receive(name, Join(at(name)), 0.0)
    (full,) = peer.receive("g", Join(at("g")), 0.0)
    for name in ("s9", "s3", "s5"):
        peer.disconnected(name)
    peer.connected("s9")
    (room,) = peer.receive("g", Join(at("g")), 0.0)
    assert isinstance(full.message, Pong) and not full.message.accepted
    assert isinstance(room.message, Pong) and room.message.accepted
    assert set(peer.neighbours.names) == {*everybody, "g"} - {"s3"}


def test_one_that_has_moved_is_reached_and_shown_at_its_new_address() -> None:
    peer = friend("a")
    peer.receive("b", Join(at("b")), 0.0)
    peer.buddies.answered(at("b"))
    moved = Contact("b", "elsewhere:2")
    peer.receive("b", Hello(moved), 1.0)
    peer.receive("b", Hello(Contact("b")), 2.0)  # it does not listen, for now
    assert peer.neighbours.contact("b") == moved and peer.neighbours.contacts_to_share("x") == (moved,)
    assert [buddy.contact for buddy in peer.buddies] == [moved]
    _, (envelope,) = peer.ask(5, 3.0)
    assert envelope.address == "elsewhere:2"
