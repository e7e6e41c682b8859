"""Whoever asks much does not make others wait for long."""

import asyncio
import logging
import socket
import struct
import time

from hypothesis import given
from hypothesis import strategies as st

from lycosa_peers import rate_limits as turns_of_peers
from lycosa_peers.addresses import Endpoint
from lycosa_peers.channel import _MAX_DECRYPTED, FRAMES_PER_TURN
from lycosa_peers.messages import to_frame
from lycosa_peers.rate_limits import BURST_SECONDS, PEER_SHARE, FairShare
from sharing import Caller, until

LOCAL = Endpoint("127.0.0.1", 0)
MOMENT = 0.001  # seconds


class Busy(Caller):
    """Somebody for whom each frame is some work; notes who had it, and in which turn of the loop."""

    def __init__(self, seconds: float = 0.0):
        super().__init__()
        self.handled: list[tuple[str, int]] = []
        self.works: list[float] = []  # seconds
        self._seconds = seconds
        self._turn = 0

    async def count_turns(self):
        while True:
            await asyncio.sleep(0)
            self._turn += 1

    def frame_received(self, peer, channel, frame):
        began = time.monotonic()
        time.sleep(self._seconds)
        self.works.append(time.monotonic() - began)
        self.handled.append((peer, self._turn))


def with_busy(play, seconds: float = 0.0):
    async def run():
        busy = Busy(seconds)
        counting = asyncio.ensure_future(busy.count_turns())
        endpoint = await busy.wire.listen(LOCAL)
        await asyncio.wait_for(play(busy, endpoint), 300)
        counting.cancel()
        await busy.wire.close()
        return busy

    return asyncio.run(run())


async def all_handled(busy, many):
    while len(busy.handled) < many:
        await asyncio.sleep(MOMENT)


@given(st.lists(st.floats(0.0, 0.2), min_size=1, max_size=60), st.floats(0.0, 0.3))
def test_nobody_gets_more_than_their_share_however_the_work_is_cut(works, pause):
    turns, now = FairShare(), 100.0
    for work in works:
        now += turns.delay("anna", now)
        assert not turns.delay("anna", now) > MOMENT
        now += work
        turns.record("anna", work, now)
        now += pause
    assert sum(works[:-1]) <= BURST_SECONDS + PEER_SHARE * (now - 100.0) + MOMENT


def test_a_debt_of_one_is_none_of_another_and_is_over_in_time():
    turns = FairShare()
    turns.record("anna", 2.0, now=0.0)
    assert turns.delay("anna", now=0.0) == (2.0 - BURST_SECONDS) / PEER_SHARE
    assert turns.delay("bert", now=0.0) == 0.0
    assert turns.delay("anna", now=2.0 / PEER_SHARE) == 0.0


def test_many_small_frames_at_once_are_handled_in_several_turns():
    async def play(busy, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        for number in range(300):
            channel.send(str(number).encode())
        await all_handled(busy, 300)
        await caller.wire.close()

    turns = [turn for _, turn in with_busy(play).handled]
    assert max(turns.count(turn) for turn in turns) <= FRAMES_PER_TURN


def test_short_records_of_tls_are_decrypted_a_few_at_a_time_and_count_as_work():
    decrypted = []  # the turn of the loop in which each part was

    async def play(busy, endpoint):
        busy.wire.on_decrypted = lambda channel, seconds: decrypted.append(busy._turn)
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        for byte in to_frame(bytes(4000)):
            channel._tls.send(bytes([byte]))
        channel._flush()
        await all_handled(busy, 1)
        await caller.wire.close()

    with_busy(play)
    assert len(decrypted) >= 4000 * 22 // _MAX_DECRYPTED  # a record is as long as its header, its tag and more


def test_who_has_to_wait_for_a_turn_has_nothing_decrypted_until_then():
    async def play(busy, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        await until(lambda: caller.identity.name in busy.wire._channels)
        (it,) = busy.wire._channels[caller.identity.name]
        busy.wire.turn_delay = lambda channel: 3600.0
        channel.send(b"much")
        await until(lambda: it._is_paused)
        assert it._encrypted and not it._frames.buffered_bytes and not busy.handled
        await caller.wire.close()

    with_busy(play)


def test_one_who_asks_little_is_answered_long_before_all_that_another_has_asked():
    async def play(busy, endpoint):
        greedy, modest = Caller(), Caller()
        channel = await greedy.wire.connect(endpoint)
        for _ in range(150):
            channel.send(b"much")
        await all_handled(busy, 1)
        channel = await modest.wire.connect(endpoint)
        channel.send(b"little")
        while modest.identity.name not in dict(busy.handled):
            await asyncio.sleep(MOMENT)
        busy.asked_little = modest.identity.name
        await greedy.wire.close()
        await modest.wire.close()

    busy = with_busy(play, seconds=0.02)
    before = [name for name, _ in busy.handled].index(busy.asked_little)
    assert 0 < before < 75


def test_one_who_sends_drop_by_drop_on_several_connections_gets_no_more_than_their_share(monkeypatch):
    monkeypatch.setattr(turns_of_peers, "BURST_SECONDS", 0.0)

    async def play(busy, endpoint):
        greedy = Caller()
        ways = [await greedy.wire.connect(endpoint) for _ in range(3)]
        began = time.monotonic()
        while len(busy.works) < 20:
            for way in ways:
                way.send(b"much")
            await asyncio.sleep(MOMENT)
        busy.elapsed = time.monotonic() - began
        await greedy.wire.close()

    busy = with_busy(play, seconds=0.01)
    assert sum(busy.works) <= PEER_SHARE * busy.elapsed + 2 * max(busy.works)


def test_a_connection_that_was_reset_is_sent_nothing_and_nothing_is_said_of_it(caplog):
    caplog.set_level(logging.WARNING, logger="asyncio")
    outcomes = []

    async def play(busy, endpoint):
        caller = Caller()
        channel = await caller.wire.connect(endpoint)
        while caller.identity.name not in busy.wire._channels:
            await asyncio.sleep(MOMENT)
        (it,) = busy.wire._channels[caller.identity.name]
        line = channel._transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        channel.close("reset")
        await asyncio.sleep(0)
        outcomes.extend(it.send(b"x") for _ in range(30))

    with_busy(play)
    assert outcomes[-1] is False
    assert not caplog.records
