"""All connections of a peer: which are open, which to dial, how many of each kind are accepted.

The wire carries frames between peers whose names were proved by TLS. It dials peers that it has frames for, and gives
up on them in bounded time; it does not look into frames.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from OpenSSL import SSL

from .addresses import Endpoint, address_group
from .channel import Channel
from .dialer import DIAL_SECONDS, Dialer, Purpose
from .messages import MAX_BYTES, SMALL_FRAME
from .rate_limits import FairShare

MAX_CALLERS = 256  # incoming channels
MAX_PER_ADDRESS = 32  # incoming channels, including those in the handshake
MAX_PER_PEER = 3
IDLE_SECONDS = 300.0  # without a message, after which a channel is closed
Undelivered = Callable[[], None]


class WireHandler(Protocol):
    """Callbacks of the wire."""

    def connected(self, peer: str, channel: Channel) -> None: ...

    def frame_received(self, peer: str, channel: Channel, frame: bytes) -> None: ...

    def disconnected(self, peer: str) -> None: ...

    def refuses(self, peer: str) -> bool: ...


class Wire:
    """The connections of a peer, by name.

    allow_private: whether addresses that others gave may be private ones; those the user typed may always be.
    """

    def __init__(self, context: SSL.Context, handler: WireHandler, *, me: str, allow_private: bool):
        self.counts: Counter[str] = Counter()
        self._context = context
        self._handler = handler
        self._me = me
        self._dialer = Dialer(self.call, self.counts, allow_private=allow_private)
        self._channels: dict[str, list[Channel]] = {}
        self._all_channels: dict[Channel, None] = {}  # also in the handshake; the oldest first
        self._large_expected: Counter[str] = Counter()  # by peer: large frames that were requested
        self._turns = FairShare()
        self._server: asyncio.Server | None = None

    # ------------------------------------------------------------ opening and closing

    async def listen(self, endpoint: Endpoint) -> Endpoint:
        """Accepts connections; returns the endpoint, with the port chosen where 0 was given."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept_channel, endpoint.host, endpoint.port, backlog=64)
        return Endpoint(endpoint.host, self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._dialer.cancel()
        for channel in list(self._all_channels):
            channel.finish()
        await asyncio.sleep(0)

    def sweep(self) -> None:
        """Closes idle channels, so that no peer can hold connections for ever."""
        now = asyncio.get_running_loop().time()
        for channel in list(self._all_channels):
            if channel.is_open and now - channel.last_heard > IDLE_SECONDS:
                channel.close("nothing heard")
        self._dialer.forget_old()

    @property
    def peers(self) -> list[str]:
        """The names of the connected peers."""
        return list(self._channels)

    def _accept_channel(self) -> Channel:
        channel = Channel(self._context, self, dials=False)
        self._all_channels[channel] = None
        return channel

    # ------------------------------------------------------------ sending

    def send(
        self, peer: str, address: str, frame: bytes, *, purpose: Purpose, expects_large: bool, else_call: Undelivered
    ) -> None:
        """Sends a frame to a peer, over a new connection where there is none; calls `else_call` where the peer is
        unreachable. A frame for which there is no slot to dial is dropped without that call.
        """
        for channel in reversed(self._channels.get(peer, ())):
            if self._sent(channel, frame, expects_large):
                return
        if not address or peer == self._me or self._handler.refuses(peer) or self._dialer.has_failed(peer, address):
            self.counts["unsent"] += 1
            asyncio.get_running_loop().call_soon(else_call)
        elif not self._dialer.call(
            peer, address, purpose, partial(self._send_dialled, frame, expects_large, else_call)
        ):
            self.counts["no_room_to_call"] += 1

    def disconnect(self, peer: str, why: str) -> None:
        for channel in list(self._channels.get(peer, ())):
            channel.close(why)

    async def call(self, endpoint: Endpoint) -> Channel | None:
        """A connection to the peer at an endpoint; None where there is none."""
        channel = await self.reach(endpoint)
        return channel if channel.is_open else None

    async def reach(self, endpoint: Endpoint) -> Channel:
        """The same; a channel that is not open may know why."""
        loop = asyncio.get_running_loop()
        handshake: asyncio.Future[bool] = loop.create_future()
        channel = _Dialled(self._context, self, handshake, str(endpoint))
        self._all_channels[channel] = None
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                await loop.create_connection(lambda: channel, endpoint.host, endpoint.port)
                if await handshake:
                    return channel
        except (OSError, TimeoutError, UnicodeError):
            pass
        self.counts["unreachable"] += 1
        channel.close("not reached")
        self._all_channels.pop(channel, None)
        return channel

    def _send_dialled(self, frame: bytes, expects_large: bool, else_call: Undelivered, channel: Channel | None) -> None:
        if channel is None or not self._sent(channel, frame, expects_large):
            self.counts["unsent"] += 1
            else_call()

    def _sent(self, channel: Channel, frame: bytes, expects_large: bool) -> bool:
        if not channel.send(frame):
            return False
        self.counts["sent"] += 1
        self._large_expected[channel.peer] += expects_large
        return True

    # ------------------------------------------------------------ callbacks of channels

    def accepts(self, channel: Channel) -> bool:
        """Whether a channel may begin its handshake: any that we dial, and incoming ones as long as there is room."""
        if channel.dials:
            return True
        callers = [each for each in self._all_channels if not each.dials and not each.is_closing]
        whose = address_group(channel.host)
        if sum(address_group(each.host) == whose for each in callers) > MAX_PER_ADDRESS:
            self.counts["too_many_of_one_address"] += 1
            return False
        if len(callers) > MAX_CALLERS:
            silent = next((each for each in callers if not each.is_open and each is not channel), None)
            if silent is None:
                self.counts["too_many_connections"] += 1
                return False
            silent.close("no handshake, and others wait")
        return True

    def opened(self, channel: Channel) -> None:
        others = self._channels.get(channel.peer, [])
        if channel.peer == self._me:
            channel.close("it is ourselves")
        elif self._handler.refuses(channel.peer):
            self.counts["refused"] += 1
            channel.close("not listened to")
        elif not channel.dials and len(others) >= MAX_PER_PEER:
            self.counts["too_many_connections"] += 1
            channel.close("too many connections")
        else:
            self._channels.setdefault(channel.peer, []).append(channel)
            self._handler.connected(channel.peer, channel)
            self._dialer.on_connected(channel)

    def max_frame(self, channel: Channel) -> int:
        """The frame size that is accepted: large frames only from peers that were asked for one."""
        return MAX_BYTES if self._large_expected[channel.peer] > 0 else SMALL_FRAME

    def large_answer_received(self, peer: str) -> None:
        """A peer has answered a request whose answer may be large."""
        if self._large_expected[peer] > 0:
            self._large_expected[peer] -= 1

    def received(self, channel: Channel, frame: bytes) -> None:
        self.counts["heard"] += 1
        time = asyncio.get_running_loop().time
        began = time()
        self._handler.frame_received(channel.peer, channel, frame)
        self._turns.spent(channel.peer, time() - began, now=time())

    def wait(self, channel: Channel) -> float:
        return self._turns.wait(channel.peer, asyncio.get_running_loop().time())

    def closed(self, channel: Channel, why: str) -> None:
        self._all_channels.pop(channel, None)
        self.counts[f"closed: {why.partition(':')[0]}"] += 1
        others = self._channels.get(channel.peer)
        if others is not None and channel in others:
            others.remove(channel)
            if not others:
                del self._channels[channel.peer]
                del self._large_expected[channel.peer]
                self._handler.disconnected(channel.peer)


class _Dialled(Channel):
    """An outgoing channel with a future for the end of its handshake."""

    def __init__(self, context: SSL.Context, wire: Wire, handshake: "asyncio.Future[bool]", address: str):
        super().__init__(context, wire, dials=True, address=address)
        self._handshake = handshake

    def _resolve(self, is_open: bool) -> None:
        if not self._handshake.done():
            self._handshake.set_result(is_open)

    def _opened(self) -> None:
        self._resolve(True)

    def connection_lost(self, error: Exception | None) -> None:
        self._resolve(False)
        super().connection_lost(error)
