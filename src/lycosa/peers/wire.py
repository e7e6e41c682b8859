"""Connections: who is connected, whom to call, how much is taken from each.

The wire carries frames between peers whose names were proved by TLS. It calls those it has something for, and
gives up on them in bounded time; it knows nothing of what the frames say.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from OpenSSL import SSL

from .addresses import Place, address_group
from .channel import Channel
from .dialer import DIAL_SECONDS, Dialer, Purpose
from .messages import MOST_BYTES, SMALL_FRAME
from .rate_limits import FairShare

MOST_CALLERS = 256  # channels that others have opened
MOST_OF_ONE_ADDRESS = 32  # of these, those that shake hands among them
MOST_OF_ONE_PEER = 3
IDLE_SECONDS = 300.0  # after which a channel is closed on which nothing was heard
Gone = Callable[[], None]


class Ends(Protocol):
    """Who is at this end of the wire."""

    def connected(self, peer: str, channel: Channel) -> None: ...

    def heard(self, peer: str, channel: Channel, frame: bytes) -> None: ...

    def disconnected(self, peer: str) -> None: ...

    def refuses(self, peer: str) -> bool: ...


class Wire:
    """allow_private: whether addresses told by others may be private ones; those the user typed may always be."""

    def __init__(self, context: SSL.Context, ends: Ends, *, me: str, allow_private: bool):
        self.counts: Counter[str] = Counter()
        self._context = context
        self._ends = ends
        self._me = me
        self._calls = Dialer(self.call, self.counts, allow_private=allow_private)
        self._channels: dict[str, list[Channel]] = {}
        self._everything: dict[Channel, None] = {}  # those that shake hands, too, the oldest first
        self._large_expected: Counter[str] = Counter()  # frames by peer, on whichever of its channels they come
        self._turns = FairShare()
        self._server: asyncio.Server | None = None

    # ------------------------------------------------------------ opening and closing

    async def listen(self, place: Place) -> Place:
        """Takes calls; returns where, which has a port where 0 was asked for."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._called, place.host, place.port, backlog=64)
        return Place(place.host, self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._calls.cancel()
        for channel in list(self._everything):
            channel.finish()
        await asyncio.sleep(0)

    def sweep(self) -> None:
        """Closes what nobody speaks on, so that no one can hold connections for ever."""
        now = asyncio.get_running_loop().time()
        for channel in list(self._everything):
            if channel.is_open and now - channel.last_heard > IDLE_SECONDS:
                channel.close("nothing heard")
        self._calls.forget_old()

    @property
    def peers(self) -> list[str]:
        """Who is connected."""
        return list(self._channels)

    def _called(self) -> Channel:
        channel = Channel(self._context, self, dials=False)
        self._everything[channel] = None
        return channel

    # ------------------------------------------------------------ sending

    def send(
        self, peer: str, address: str, frame: bytes, *, purpose: Purpose, expects_large: bool, else_call: Gone
    ) -> None:
        """Sends a frame to a peer, over a new connection where there is none; `else_call` where it is not there.

        Where there is no room for one more call the frame is dropped, which says nothing of the peer.
        """
        for channel in reversed(self._channels.get(peer, ())):
            if self._sent(channel, frame, expects_large):
                return
        if not address or peer == self._me or self._ends.refuses(peer) or self._calls.is_in_vain(peer, address):
            self.counts["unsent"] += 1
            asyncio.get_running_loop().call_soon(else_call)
        elif not self._calls.call(peer, address, purpose, partial(self._deliver, frame, expects_large, else_call)):
            self.counts["no_room_to_call"] += 1

    def disconnect(self, peer: str, why: str) -> None:
        for channel in list(self._channels.get(peer, ())):
            channel.close(why)

    async def call(self, place: Place) -> Channel | None:
        """A connection to whoever is at a place; None where nobody is."""
        channel = await self.reach(place)
        return channel if channel.is_open else None

    async def reach(self, place: Place) -> Channel:
        """The same; where nobody is it is not open, and may know why."""
        loop = asyncio.get_running_loop()
        shaken: asyncio.Future[bool] = loop.create_future()
        channel = _Dialled(self._context, self, shaken, str(place))
        self._everything[channel] = None
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                await loop.create_connection(lambda: channel, place.host, place.port)
                if await shaken:
                    return channel
        except (OSError, TimeoutError, UnicodeError):
            pass
        self.counts["unreachable"] += 1
        channel.close("not reached")
        self._everything.pop(channel, None)
        return channel

    def _deliver(self, frame: bytes, expects_large: bool, else_call: Gone, channel: Channel | None) -> None:
        if channel is None or not self._sent(channel, frame, expects_large):
            self.counts["unsent"] += 1
            else_call()

    def _sent(self, channel: Channel, frame: bytes, expects_large: bool) -> bool:
        if not channel.send(frame):
            return False
        self.counts["sent"] += 1
        self._large_expected[channel.peer] += expects_large
        return True

    # ------------------------------------------------------------ what channels tell

    def accepts(self, channel: Channel) -> bool:
        """Whether one more may even shake hands: whom we call, and callers as long as there is room."""
        if channel.dials:
            return True
        callers = [each for each in self._everything if not each.dials and not each.is_closing]
        whose = address_group(channel.host)
        if sum(address_group(each.host) == whose for each in callers) > MOST_OF_ONE_ADDRESS:
            self.counts["too_many_of_one_address"] += 1
            return False
        if len(callers) > MOST_CALLERS:
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
        elif self._ends.refuses(channel.peer):
            self.counts["refused"] += 1
            channel.close("not listened to")
        elif not channel.dials and len(others) >= MOST_OF_ONE_PEER:
            self.counts["too_many_connections"] += 1
            channel.close("too many connections")
        else:
            self._channels.setdefault(channel.peer, []).append(channel)
            self._ends.connected(channel.peer, channel)
            self._calls.opened(channel)

    def longest(self, channel: Channel) -> int:
        """A large frame is taken of those of whom one was asked."""
        return MOST_BYTES if self._large_expected[channel.peer] > 0 else SMALL_FRAME

    def large_came(self, peer: str) -> None:
        """What was expected of a peer has come, large or not."""
        if self._large_expected[peer] > 0:
            self._large_expected[peer] -= 1

    def received(self, channel: Channel, frame: bytes) -> None:
        self.counts["heard"] += 1
        time = asyncio.get_running_loop().time
        began = time()
        self._ends.heard(channel.peer, channel, frame)
        self._turns.spent(channel.peer, time() - began, now=time())

    def wait(self, channel: Channel) -> float:
        return self._turns.wait(channel.peer, asyncio.get_running_loop().time())

    def closed(self, channel: Channel, why: str) -> None:
        self._everything.pop(channel, None)
        self.counts[f"closed: {why.partition(':')[0]}"] += 1
        others = self._channels.get(channel.peer)
        if others is not None and channel in others:
            others.remove(channel)
            if not others:
                del self._channels[channel.peer]
                del self._large_expected[channel.peer]
                self._ends.disconnected(channel.peer)


class _Dialled(Channel):
    """A channel that somebody waits for."""

    def __init__(self, context: SSL.Context, wire: Wire, shaken: "asyncio.Future[bool]", address: str):
        super().__init__(context, wire, dials=True, address=address)
        self._shaken_at = shaken

    def _tell(self, is_open: bool) -> None:
        if not self._shaken_at.done():
            self._shaken_at.set_result(is_open)

    def _became_open(self) -> None:
        self._tell(True)

    def connection_lost(self, error: Exception | None) -> None:
        self._tell(False)
        super().connection_lost(error)
