"""Frames, and peers that send anything but what they should."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from OpenSSL import SSL

from lycosa.vocabulary.errors import UsageError
from lycosa_peers import channel as channels
from lycosa_peers import dialer as calls
from lycosa_peers import wire as wires
from lycosa_peers.addresses import Endpoint, address_group, endpoint_argument, join_argument, parse_endpoint
from lycosa_peers.dialer import Purpose
from lycosa_peers.identity import Identity
from lycosa_peers.messages import (
    MAX_SMALL_PAYLOAD_BYTES,
    Contact,
    Declined,
    Fetched,
    FrameReader,
    FrameTooLongError,
    Index,
    IndexRequest,
    Join,
    PeerHit,
    Ping,
    Query,
    Response,
    encode,
    to_frame,
)
from lycosa_peers.options import DEFAULTS
from sharing import Caller, add_pages, against, asks, peer_of, shared, until

PAGES = {"http://bees.example/": ("Bees", "honey hive nectar"), "http://bees.example/wax": ("Wax", "comb of honey")}
LOCAL = Endpoint("127.0.0.1", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_pages(tmp_path_factory.mktemp("w") / "c", PAGES)


@given(st.lists(st.binary(max_size=50), max_size=8), st.integers(1, 9))
def test_frames_come_whole_however_they_are_cut(payloads, step):
    data = b"".join(map(to_frame, payloads))
    frames, got = FrameReader(), []
    for start in range(0, len(data), step):
        frames.feed(data[start : start + step])
        while (frame := frames.pop(MAX_SMALL_PAYLOAD_BYTES)) is not None:
            got.append(frame)
    assert got == payloads
    assert not frames.buffered_bytes and not frames.has_frame


def test_a_channel_that_is_lost_has_no_further_turn():
    asked = []

    class Busy(asyncio.Transport):
        def pause_reading(self): ...

    class Handler:
        def turn_delay(self, channel):
            asked.append(channel)
            return 0.01

        def on_close(self, channel, reason): ...

    async def run():
        channel = channels.Channel(SSL.Context(SSL.TLS_METHOD), Handler(), is_outgoing=True, address="peer.example:1")
        channel._transport, channel.is_open = Busy(), True
        channel.data_received(b"")
        channel.connection_lost(None)
        before = len(asked)
        await asyncio.sleep(0.05)
        return before, len(asked)

    before, after = asyncio.run(run())
    assert before == after > 0


def test_a_frame_that_is_too_long_is_refused_by_its_first_bytes():
    frames = FrameReader()
    frames.feed((11).to_bytes(4))
    with pytest.raises(FrameTooLongError):
        frames.pop(limit=10)


def test_bytes_that_are_no_tls_are_hung_up_on(folder):
    async def play(peer, endpoint):
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 70_000, b"\x16\x03\x01\xff\xff" + b"x" * 100):
            reader, writer = await asyncio.open_connection(*endpoint)
            writer.write(data)
            assert await asyncio.wait_for(reader.read(1 << 20), 60) is not None
            writer.close()
        return peer.wire.counts

    counts = against(folder, play)
    assert sum(count for what, count in counts.items() if what.startswith("closed: no handshake")) >= 2


def test_who_says_nothing_is_hung_up_on(folder, monkeypatch):
    monkeypatch.setattr(channels, "HANDSHAKE_SECONDS", 1.0)

    async def play(peer, endpoint):
        reader, _ = await asyncio.open_connection(*endpoint)
        return await asyncio.wait_for(reader.read(), 60)

    assert against(folder, play) == b""


def test_a_frame_without_end_is_hung_up_on(folder, monkeypatch):
    monkeypatch.setattr(channels, "FRAME_SECONDS", 1.0)

    async def play(peer, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        channel._tls.send(b"\0\0\1\0abc")
        channel._flush()
        assert await until(lambda: caller.gone)
        return peer.wire.counts

    assert against(folder, play)["closed: a frame without end"] == 1


@pytest.mark.parametrize("length", [MAX_SMALL_PAYLOAD_BYTES + 1, (1 << 32) - 1])
def test_an_oversized_frame_is_hung_up_on(folder, length):
    async def play(peer, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        channel._tls.send(length.to_bytes(4) + b"x" * 1000)
        channel._flush()
        assert await until(lambda: caller.gone)
        return peer.wire.counts

    assert against(folder, play)["closed: a frame too long"] == 1


@pytest.mark.parametrize(
    ("frame", "counted"),
    [(b"\x63" + encode(Ping())[1:], "version"), (b"", "version"), (encode(Ping())[:-1], "malformed")],
    ids=["another version", "empty", "cut"],
)
def test_what_is_no_message_is_counted_and_its_sender_not_listened_to_for_long(folder, frame, counted):
    async def play(peer, endpoint):
        caller = Caller()
        for _ in range(6):
            channel = await caller.wire.connect(endpoint)
            if channel is None:
                break
            channel.send(frame)
            assert await until(lambda channel=channel: not channel.is_open)
        assert peer.runner.refuses(caller.identity.name)
        return peer.node.counts

    assert 4 <= against(folder, play)[counted] <= 6


LONG = Response(1, Contact("x"), tuple(PeerHit("http://x/", snippet="x" * 4096) for _ in range(20)))


@pytest.mark.parametrize(
    ("payload", "counted", "reason"),
    [(b"", "version", "not a message"), (encode(LONG), "too_long", "too long a message")],
    ids=["no message", "too long"],
)
def test_a_rejected_message_closes_its_channel_for_the_reason_it_has_and_wakes_those_who_wait(
    folder, payload, counted, reason
):
    class Closing:
        reason = ""

        def close(self, reason):
            self.reason = reason

    async def play(peer, endpoint):
        channel = Closing()
        peer.runner.changed.clear()
        peer.runner.frame_received("x", channel, payload)
        assert peer.runner.changed.is_set()
        assert peer.node.counts[counted] == 1
        return channel.reason

    assert against(folder, play) == reason


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(st.binary(max_size=200) | st.binary(max_size=60).map(lambda data: b"\x01" + data), max_size=20))
def test_no_bytes_stop_a_peer(folder, frames):
    async def play(peer, endpoint):
        channel = None
        for frame in frames:
            if channel is None or not channel.is_open:
                channel = await Caller().wire.connect(endpoint)
            if channel is not None:
                channel.send(frame)
                await asyncio.sleep(0)
        await asyncio.sleep(0.02)
        return True

    assert against(folder, play)


def test_a_flood_is_bounded_and_its_sender_shunned(folder):
    async def play(peer, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        for number in range(3000):
            if not channel.send(encode(Query(number, "honey", Contact(caller.identity.name)))):
                break
            if number % 100 == 0:
                await asyncio.sleep(0)
        assert await until(lambda: caller.gone)
        assert peer.runner.refuses(caller.identity.name)
        return peer.node.counts

    counts = against(folder, play, options=replace(DEFAULTS, capacity_per_peer=20.0))
    assert counts["too_fast"] > 0
    assert counts["answered"] < 1000


def test_what_was_not_asked_for_is_not_taken(folder):
    async def play(peer, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        for message in (Index(1, b"x" * 1000), Fetched(5, "http://bees.example/", b"x"), Response(9, Contact("x"))):
            channel.send(encode(message))
        await until(lambda: peer.node.counts["unasked"] >= 3)
        assert not len(peer.node.held)
        return peer.node.counts["unasked"]

    assert against(folder, play) >= 3


def test_nobody_speaks_for_another(folder):
    async def play(peer, endpoint):
        caller, victim = Caller(), Identity.new()
        channel = await caller.wire.connect(endpoint)
        channel.send(encode(Join(Contact(victim.name, "127.0.0.1:9"))))
        channel.send(encode(Query(3, "honey", Contact(victim.name, "127.0.0.1:9"))))
        assert await until(lambda: peer.node.counts["forged"] >= 2)
        return victim.name in peer.node.neighbours

    assert not against(folder, play)


def test_one_peer_gets_a_few_connections_only(folder):
    async def play(peer, endpoint):
        caller = Caller()
        made = [await caller.wire.connect(endpoint) for _ in range(8)]
        return await until(lambda: sum(channel is not None and channel.is_open for channel in made) <= 3)

    assert against(folder, play)


def test_strangers_cannot_make_a_peer_call_private_addresses(folder):
    async def play():
        with shared(folder) as content:
            peer = peer_of(content, folder, allow_private=False)
            endpoint = await peer.begin(LOCAL)
            called = asyncio.Event()
            server = await asyncio.start_server(lambda reader, writer: called.set(), "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            lost = []
            peer.wire.send(
                "a" * 32,
                f"127.0.0.1:{port}",
                b"x",
                purpose=Purpose.ASKING,
                expects_large=False,
                on_undelivered=lambda: lost.append(1),
            )
            assert await until(lambda: lost)
            server.close()
            await peer.end()
            return called.is_set(), peer.wire.counts["private_address"], endpoint

    assert asyncio.run(play())[:2] == (False, 1)


def test_somebody_else_at_an_address_gets_nothing(folder):
    async def play(peer, endpoint):
        caller = Caller()
        lost = []
        caller.wire.send(
            "b" * 32,
            str(endpoint),
            b"secret",
            purpose=Purpose.ASKING,
            expects_large=False,
            on_undelivered=lambda: lost.append(1),
        )
        assert await until(lambda: lost)
        return caller.wire.counts["somebody_else"]

    assert against(folder, play) == 1


async def silent_ones(endpoint, many):
    return [await asyncio.open_connection(*endpoint) for _ in range(many)]


def test_connections_that_say_nothing_shut_nobody_out_who_comes_from_elsewhere(folder, monkeypatch):
    monkeypatch.setattr(
        channels.Channel, "address_group", property(lambda channel: channel.address)
    )  # each from elsewhere
    monkeypatch.setattr(wires, "MAX_HANDSHAKES", 12)

    async def play(peer, endpoint):
        opened = await silent_ones(endpoint, 30)
        assert await asks(endpoint) == 2
        for _, writer in opened:
            writer.close()
        return peer.wire.counts

    assert against(folder, play)["closed: no handshake, and others wait"] >= 18


def test_connections_of_one_address_are_few_even_before_they_shake_hands(folder):
    async def play(peer, endpoint):
        opened = await silent_ones(endpoint, wires.MAX_HANDSHAKES_PER_ADDRESS + 10)
        assert await until(lambda: peer.wire.counts["closed: no handshake, and others wait"] == 10)
        honest = Caller()
        there = await honest.wire.listen(LOCAL)
        assert await peer.wire.connect(there) is not None  # whom it calls itself it can still reach
        await honest.wire.close()
        for _, writer in opened:
            writer.close()
        assert await until(lambda: not peer.wire._all_channels)
        return True

    assert against(folder, play)


def test_networks_of_ipv6_count_as_one_address():
    assert address_group("2001:db8:1:2::7") == address_group("2001:db8:1:2:ffff::1") != address_group("2001:db8:1:3::7")
    assert address_group("[2001:db8:1:2::7]") == address_group("2001:db8:1:2::8")  # as in the address of a peer
    assert address_group("192.0.2.7") == address_group("::ffff:192.0.2.7") != address_group("192.0.2.8")


async def sent(wire, peer, address, purpose):
    """Whether a frame to a peer that is not connected gets there; None where it was dropped."""
    outcome = []
    sent_before, dropped = wire.counts["sent"], wire.counts["no_room_to_call"]
    wire.send(
        peer, address, encode(Ping()), purpose=purpose, expects_large=False, on_undelivered=lambda: outcome.append(1)
    )
    while not outcome and wire.counts["sent"] == sent_before and wire.counts["no_room_to_call"] == dropped:
        await asyncio.sleep(0.01)
    return None if wire.counts["no_room_to_call"] > dropped else not outcome


def test_calls_that_strangers_cause_leave_room_for_ones_own(folder, monkeypatch):
    monkeypatch.setattr(calls, "MAX_DIALS", 4)

    async def play(peer, endpoint):
        caller, hung = Caller(), await asyncio.start_server(lambda reader, writer: asyncio.sleep(30), "127.0.0.1", 0)
        nowhere = f"127.0.0.1:{hung.sockets[0].getsockname()[1]}"
        for number in range(6):
            caller.wire.send(
                *(f"nobody{number}", nowhere, b"x"),
                purpose=Purpose.ANSWERING,
                expects_large=False,
                on_undelivered=lambda: None,
            )
        assert caller.wire.counts["no_room_to_call"] == 2
        assert await sent(caller.wire, peer.identity.name, str(endpoint), Purpose.ANSWERING) is None
        assert await sent(caller.wire, peer.identity.name, str(endpoint), Purpose.ASKING)
        hung.close()
        await caller.wire.close()
        return True

    assert against(folder, play)


def test_a_lie_about_who_is_at_an_address_spoils_neither_the_address_nor_the_name(folder):
    async def play(peer, endpoint):
        caller = Caller()
        assert await sent(caller.wire, "nobody", str(endpoint), Purpose.ANSWERING) is False
        caller.wire.disconnect(peer.identity.name, "done")
        await asyncio.sleep(0.05)
        hung = await asyncio.start_server(lambda reader, writer: asyncio.sleep(30), "127.0.0.1", 0)
        nowhere = f"127.0.0.1:{hung.sockets[0].getsockname()[1]}"
        lied = asyncio.create_task(sent(caller.wire, peer.identity.name, nowhere, Purpose.ANSWERING))
        await asyncio.sleep(0.05)
        assert await sent(caller.wire, peer.identity.name, str(endpoint), Purpose.ASKING)
        assert await lied  # what waits for somebody goes where they are
        hung.close()
        await caller.wire.close()
        return True

    assert against(folder, play)


def test_a_large_answer_is_taken_on_whichever_connection_it_comes(folder):
    async def play(peer, endpoint):
        caller = Caller()
        channels_to_it = [await caller.wire.connect(endpoint) for _ in range(2)]
        name = caller.identity.name
        assert await until(lambda: len(peer.wire._channels.get(name, ())) == 2)
        for _ in range(2):
            peer.node.buddies.answered(Contact(name))
        for _ in range(2):
            peer.runner.send_all(peer.node.checkpoint())
        assert await until(lambda: any(isinstance(each, IndexRequest) for each in caller.heard_messages))
        number, outgoing = peer.node.ask("unheard", asyncio.get_running_loop().time(), max_hits=1, sufficient_hits=1)
        peer.runner.send_all(outgoing)
        channels_to_it[0].send(encode(Declined("query", number)))
        channels_to_it[0].send(encode(Index(1, bytes(2 * MAX_SMALL_PAYLOAD_BYTES))))
        assert await until(lambda: peer.node.counts["index_malformed"] == 1)  # it came, and is none
        channels_to_it[0].send(encode(Index(1, bytes(2 * MAX_SMALL_PAYLOAD_BYTES))))
        assert await until(lambda: peer.wire.counts["closed: a frame too long"] == 1)
        await caller.wire.close()
        return True

    assert against(folder, play)


@pytest.mark.parametrize(
    "text",
    [
        *("", "host", "host:", ":7", "host:x", "host:70000", "a b:7", "1:2:3:4", "h\n:7", "é:7"),
        *("a..b:7", ".:7", "a" * 64 + ".example:7"),  # which the resolver of Python refuses with a UnicodeError
    ],
)
def test_what_is_no_place_is_none(text):
    assert parse_endpoint(text) is None
    with pytest.raises(UsageError, match="HOST:PORT"):
        endpoint_argument(text, option="--listen")


def test_places_are_spelt_as_they_are_read():
    for text in ("127.0.0.1:7077", "[::1]:7077", "peer.example.org:1", "peer.example.org.:1"):
        assert str(parse_endpoint(text)) == text
    assert join_argument("a" * 32 + "@127.0.0.1:7077") == ("a" * 32, Endpoint("127.0.0.1", 7077))
    with pytest.raises(UsageError, match="port 0"):
        join_argument("127.0.0.1:0")


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading_of_places(text):
    endpoint = parse_endpoint(text)
    assert endpoint is None or parse_endpoint(str(endpoint)) == endpoint


def test_what_comes_from_one_who_is_gone_is_not_remembered():
    async def play():
        wire = Caller().wire
        wire.large_answer_received("nobody")
        return dict(wire._large_expected)

    assert asyncio.run(play()) == {}
