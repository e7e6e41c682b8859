"""Keys cost nothing: whoever makes many of them gets no more than somebody with one, and takes nothing from friends."""

import asyncio
import math
import socket
from collections import deque
from itertools import pairwise

import pytest

from lycosa_peers import wire as wires
from lycosa_peers.addresses import Endpoint
from lycosa_peers.channel import Channel
from lycosa_peers.dialer import DIAL_AGAIN_AFTER, Purpose, Trials
from lycosa_peers.identity import Identity
from lycosa_peers.messages import (
    MAX_PAYLOAD_BYTES,
    MAX_SMALL_PAYLOAD_BYTES,
    Contact,
    FetchRequest,
    Join,
    Query,
    encode,
)
from lycosa_peers.neighbours import Neighbours
from lycosa_peers.node_runner import MAX_WARNINGS
from lycosa_peers.options import DEFAULTS
from sharing import Caller, add_pages, against, asks, until
from small_networks import friend

PAGES = {"http://bees.example/": ("Bees", "honey hive nectar"), "http://bees.example/wax": ("Wax", "comb of honey")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_pages(tmp_path_factory.mktemp("k") / "c", PAGES)


# Connections


def test_many_keys_of_a_few_addresses_shut_out_neither_friends_nor_strangers_from_elsewhere(folder, monkeypatch):
    monkeypatch.setattr(wires, "MAX_INCOMING", 24)
    monkeypatch.setattr(wires, "MAX_PER_ADDRESS", 4)

    async def play(peer, endpoint):
        many = [Caller() for _ in range(36)]
        opened = [await caller.dial(endpoint, f"127.0.0.{1 + n % 9}") for n, caller in enumerate(many)]
        assert await until(lambda: sum(channel.is_open for channel in opened if channel is not None) <= 24)
        known = Identity.new()
        peer.node.trust([known.name])
        assert await asks(endpoint, "127.0.0.50") == 2  # a stranger of another network
        assert await asks(endpoint, "127.0.0.1", known) == 2  # a friend at the address of those with the many keys
        for caller in many:
            await caller.wire.close()
        return peer.wire.counts

    assert against(folder, play)["closed: others wait"] >= 1


def test_a_network_that_begins_connection_after_connection_is_hung_up_on_before_they_cost_anything(folder, monkeypatch):
    monkeypatch.setattr(wires, "HANDSHAKES_PER_SECOND", 2.0)

    async def play(peer, endpoint):
        for _ in range(20):
            _, writer = await asyncio.open_connection(*endpoint, local_addr=("127.0.0.5", 0))
            writer.close()
        assert await until(lambda: peer.wire.counts["closed: too many handshakes"] >= 10)
        return await asks(endpoint, "127.0.0.6")

    assert against(folder, play) == 2


def test_many_keys_that_send_nonsense_fill_no_log(folder):
    lines = []

    async def play(peer, endpoint):
        for number in range(60):
            caller = Caller()
            channel = await caller.dial(endpoint, f"127.0.0.{1 + number % 9}")
            channel.send(b"nonsense")
            assert await until(lambda done=number + 1: peer.node.counts["version"] == done)
            await caller.wire.close()
        return peer.counts["not_reported"]

    assert against(folder, play, notify=lines.append) == 60 - len(lines)
    assert 0 < len(lines) <= MAX_WARNINGS + 5


def test_a_friend_does_not_give_way_to_strangers(folder, monkeypatch):
    monkeypatch.setattr(wires, "MAX_INCOMING", 6)
    monkeypatch.setattr(wires, "GRACE_SECONDS", 0.0)

    async def play(peer, endpoint):
        known = Caller()
        peer.node.buddies.answered(Contact(known.identity.name))
        channel = await known.dial(endpoint, "127.0.0.1")
        many = [Caller() for _ in range(20)]
        for n, caller in enumerate(many):
            await caller.dial(endpoint, f"127.0.0.{1 + n % 5}")
        await asyncio.sleep(0.05)
        is_open = channel.is_open
        for caller in (known, *many):
            await caller.wire.close()
        return is_open

    assert against(folder, play)


def test_strangers_leave_some_of_the_capacity_to_friends():
    peer = friend("p", [7], capacity=40.0)
    peer.trust(["f"])
    replies = [peer.receive(f"s{n}", Query(n, 7, Contact(f"s{n}")), 0.0)[0].message for n in range(100)]
    assert sum(type(reply).__name__ == "Declined" for reply in replies) == 100 - 60
    (reply,) = peer.receive("f", Query(1, 7, Contact("f")), 0.0)
    assert type(reply.message).__name__ == "Response"


# Neighbours


def test_neighbours_of_one_network_are_few_and_a_friend_always_finds_a_place():
    neighbours = Neighbours(min_size=4, max_size=8)
    for number in range(20):
        neighbours.address_groups[f"s{number}"] = "192.0.2.1"
        neighbours.add(Contact(f"s{number}"))
    assert len(neighbours) == 2
    for number in range(20, 30):
        neighbours.address_groups[f"s{number}"] = f"192.0.2.{number}"
        neighbours.add(Contact(f"s{number}"))
    assert len(neighbours) == 8
    assert not neighbours.add(Contact("late"))
    assert neighbours.add(Contact("f"), trusted={"f"}) and "f" in neighbours and len(neighbours) == 8
    assert "s1" not in neighbours  # the latest of the network that had most
    neighbours.mark_down("f")
    neighbours.address_groups["n"] = "192.0.2.99"
    assert not neighbours.add(Contact("n"), trusted={"f"}) and "f" in neighbours


def test_a_peer_that_its_user_named_is_asked_itself_however_many_neighbours_there_are():
    asker = friend("a")
    for number in range(60):
        asker.receive(f"s{number}", Join(Contact(f"s{number}", f"s{number}:1")), 0.0)
    asker.receive("f", Join(Contact("f", "f:1")), 0.0)
    asker.trust(["f"])
    _, outgoing = asker.ask(5, 0.0)
    assert ("f", 0) in [
        (envelope.to, envelope.message.walker) for envelope in outgoing if isinstance(envelope.message, Query)
    ]


# Calls to others


@pytest.mark.parametrize("spread", ["names", "ports"])
def test_a_stranger_makes_a_peer_call_somebody_who_is_no_peer_a_few_times_at_most(folder, spread):
    async def play(peer, endpoint):
        called = []
        servers = [
            await asyncio.start_server(lambda reader, writer: (called.append(1), writer.close()), "127.0.0.1", 0)
            for _ in range(1 if spread == "names" else 12)
        ]
        ports = [server.sockets[0].getsockname()[1] for server in servers]
        callers = [Caller() for _ in range(3)]
        for turn, channel in enumerate([await caller.wire.connect(endpoint) for caller in callers]):
            for number in range(100 * turn, 100 * turn + 100):
                origin = Contact(f"nobody{number}", f"127.0.0.1:{ports[number % len(ports)]}")
                channel.send(encode(Query(number, "honey", origin, ttl=1, walker=1)))
        assert await until(lambda: peer.node.counts["answered"] == 300)
        await asyncio.sleep(0.1)
        for server in servers:
            server.close()
        for caller in callers:
            await caller.wire.close()
        return len(called)

    assert 1 <= against(folder, play) <= (1 if spread == "names" else 4)


def test_who_has_answered_at_an_address_is_called_there_as_before(folder):
    async def play(peer, endpoint):
        asker, forwarder = Caller(), Caller()
        there = str(await asker.wire.listen(Endpoint("127.0.0.1", 0)))
        channel = await forwarder.wire.connect(endpoint)
        for number in range(12):  # more than trials
            heard = len(asker.heard_messages)
            channel.send(encode(Query(number, "honey", Contact(asker.identity.name, there), ttl=1, walker=1)))
            assert await until(lambda heard=heard: len(asker.heard_messages) > heard)
            asker.wire.disconnect(peer.identity.name, "done")
            await until(lambda: asker.identity.name not in peer.wire.peers)
        await forwarder.wire.close()
        await asker.wire.close()
        return True

    assert against(folder, play)


def test_trials_of_an_endpoint_become_rarer_whatever_is_expected_there():
    trials, tried, now = Trials(), [], 0.0
    while now < 3600:
        if trials.may_dial(Endpoint("8.8.8.8", 80), now):
            tried.append(now)
        now += 1.0
    waits = [after - before for before, after in pairwise(tried)]
    assert waits[:4] == [DIAL_AGAIN_AFTER * 2**n for n in range(4)] and len(tried) <= 9


def test_one_who_causes_trials_leaves_some_to_others_and_those_that_succeed_cost_nothing():
    trials = Trials()
    assert sum(trials.may_resolve(Purpose.ANSWERING, "m", 0.0) for _ in range(50)) == 8
    assert trials.may_resolve(Purpose.ANSWERING, "h", 0.0)
    for number in range(200):
        place = Endpoint(f"8.8.{number}.8", 80)
        assert trials.may_resolve(Purpose.ASKING, "h", 0.0) and trials.may_dial(place, 0.0)
        trials.dialled(place)
        trials.resolved(Purpose.ASKING, "h")


# What is not read


def test_peers_that_do_not_read_cost_a_bounded_number_of_bytes_and_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(wires, "MAX_UNSENT_IN_ALL", 4 << 20)
    for seconds in ("STALL_SECONDS", "STALL_ROOM_SECONDS"):  # so that it does not matter how long anything takes
        monkeypatch.setattr(wires, seconds, 0.0)
    long = " ".join(f"{n * n:x}" for n in range(60_000))
    folder = add_pages(tmp_path / "c", PAGES | {"http://bees.example/long": ("Long", long)})

    async def play(peer, endpoint):
        deaf = [Caller() for _ in range(12)]
        channels = [await caller.wire.connect(endpoint) for caller in deaf]
        most = 0
        assert await until(lambda: len(peer.wire.peers) == len(deaf))
        for channel in (*channels, *peer.wire._all_channels):  # so that the system holds little of it
            line = channel._transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for channel in channels:
            channel._transport.pause_reading()
        for turn in range(400):
            for channel in channels:
                channel.send(encode(FetchRequest(turn, "http://bees.example/long")))
            await asyncio.sleep(0.02)
            most = max(most, sum(channel.unsent for channel in peer.wire._all_channels))
            if turn > 15 and most > 1 << 19:
                break
        assert most > 1 << 19  # something was not read
        assert await asks(endpoint) == 2
        peer.wire.sweep()
        peer.wire.sweep()
        assert await until(lambda: not peer.wire._slow)
        for caller in deaf:
            await caller.wire.close()
        return most, peer.wire.counts

    most, counts = against(folder, play)
    assert most <= (2 << 20) + 12 * (1 << 17)
    assert counts["closed: does not read what it is sent"] >= 1


def test_large_answers_that_do_not_come_whole_cost_a_bounded_number_of_bytes(folder, monkeypatch):
    monkeypatch.setattr(wires, "MAX_UNFINISHED_IN_ALL", 4 << 20)
    part = (1 << 20).to_bytes(4) + bytes((1 << 20) - (1 << 14))  # of a frame

    async def play(peer, endpoint):
        slow = [Caller() for _ in range(6)]
        channels = [await caller.wire.connect(endpoint) for caller in slow for _ in range(3)]
        most = 0
        assert await until(lambda: len(peer.wire.peers) == len(slow))
        for caller in slow:
            peer.wire._large_expected[caller.identity.name] = deque([math.inf] * 2)
        for channel in channels:
            for start in range(0, len(part), 1 << 14):
                if channel.is_open:
                    channel._tls.send(part[start : start + (1 << 14)])
                    channel._flush()
            await asyncio.sleep(0.05)
            most = max(most, sum(each.unprocessed for each in peer.wire._all_channels))
        closed = ("closed: a frame too long", "closed: a large frame, and others wait")
        assert await until(lambda: sum(peer.wire.counts[reason] for reason in closed) >= 14)
        assert peer.wire.counts[closed[0]] == 6  # each was asked for two
        for caller in slow:
            await caller.wire.close()
        return most

    assert against(folder, play) <= 3 << 20


def test_a_large_answer_that_is_late_is_not_taken(monkeypatch):
    async def run():
        wire, caller = Caller().wire, Caller()
        endpoint = await caller.wire.listen(Endpoint("127.0.0.1", 0))
        channel = await wire.connect(endpoint)
        monkeypatch.setattr(Channel, "next_frame_bytes", 1 << 20)
        assert wire.max_payload_bytes(channel) == MAX_SMALL_PAYLOAD_BYTES
        for seconds, limit in ((0.0, MAX_SMALL_PAYLOAD_BYTES), (60.0, MAX_PAYLOAD_BYTES)):
            monkeypatch.setattr(wires, "LARGE_ANSWER_SECONDS", seconds - 1e-3)
            wire._try_send(channel, encode(FetchRequest(1, "http://bees.example/")), True)
            assert wire.max_payload_bytes(channel) == limit
        await wire.close()
        await caller.wire.close()

    asyncio.run(run())


def test_who_reads_gets_all_however_slowly(tmp_path):
    long = " ".join(f"{n * n:x}" for n in range(100_000))
    folder = add_pages(tmp_path / "c", PAGES | {"http://bees.example/long": ("Long", long)})

    async def play(peer, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        caller.wire._large_expected[peer.identity.name] = deque([math.inf] * 9)
        for turn in range(3):
            channel.send(encode(FetchRequest(turn, "http://bees.example/long")))
            assert await until(lambda turn=turn: len(caller.heard_messages) > turn + 1)  # a hello is the first
        await caller.wire.close()
        return [len(message.body or b"") for message in caller.heard_messages[1:]]

    assert min(against(folder, play)) > 100_000


def test_the_limits_are_those_that_the_guide_tells():
    assert (wires.MAX_INCOMING, wires.MAX_PER_ADDRESS, wires.MAX_PER_PEER) == (256, 32, 3)
    assert wires.MAX_UNSENT_IN_ALL == 64 << 20 and DEFAULTS.reserved == 0.25
