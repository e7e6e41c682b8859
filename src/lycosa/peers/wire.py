"""Connections: who is connected, whom to call, how much is taken from each.

The wire carries frames between peers whose names were proved by TLS. It calls those it has something for, and
gives up on them in bounded time; it knows nothing of what the frames say.
"""

import asyncio
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from typing import Protocol

from OpenSSL import SSL

from .addresses import Place, is_public, parsed
from .channel import Channel

DIAL_SECONDS = 3.0
DIAL_AGAIN_AFTER = 20.0  # seconds; until then one that could not be reached is taken to be down
MOST_CHANNELS = 256
MOST_OF_ONE_ADDRESS = 32  # channels that were opened from one IP address
MOST_OF_ONE_PEER = 3
MOST_DIALS = 32  # at once
MOST_WAITING = 64  # frames for one peer that is being called
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
        self._allow_private = allow_private
        self._channels: dict[str, list[Channel]] = {}
        self._everything: set[Channel] = set()  # those that shake hands, too
        self._waiting: dict[str, list[tuple[bytes, bool, Gone]]] = {}  # frames, whether a large one is expected back
        self._dials: set[asyncio.Task[None]] = set()
        self._unreachable: OrderedDict[str, float] = OrderedDict()  # by address: not called again before
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
        for task in list(self._dials):
            task.cancel()
        for channel in list(self._everything):
            channel.finish()
        await asyncio.sleep(0)

    def sweep(self) -> None:
        """Closes what nobody speaks on, so that no one can hold connections for ever."""
        now = asyncio.get_running_loop().time()
        for channel in list(self._everything):
            if channel.is_open and now - channel.last_heard > IDLE_SECONDS:
                channel.close("nothing heard")
        for address in [address for address, until in self._unreachable.items() if until <= now]:
            del self._unreachable[address]

    @property
    def peers(self) -> list[str]:
        """Who is connected."""
        return list(self._channels)

    def _called(self) -> Channel:
        channel = Channel(self._context, self, dials=False)
        self._everything.add(channel)
        return channel

    # ------------------------------------------------------------ sending

    def send(self, peer: str, address: str, frame: bytes, *, expects_large: bool, else_call: Gone) -> None:
        """Sends a frame to a peer, over a new connection where there is none; `else_call` where it cannot be had."""
        for channel in reversed(self._channels.get(peer, ())):
            if expects_large:
                channel.expect_large()
            if channel.send(frame):
                self.counts["sent"] += 1
                return
        waiting = self._waiting.get(peer)
        if waiting is not None:
            if len(waiting) < MOST_WAITING:
                waiting.append((frame, expects_large, else_call))
                return
        elif self._may_call(peer, address):
            self._waiting[peer] = [(frame, expects_large, else_call)]
            self._start(self._call_known(peer, address))
            return
        self.counts["unsent"] += 1
        asyncio.get_running_loop().call_soon(else_call)

    def disconnect(self, peer: str, why: str) -> None:
        for channel in list(self._channels.get(peer, ())):
            channel.close(why)

    async def call(self, place: Place) -> Channel | None:
        """A connection to whoever is at a place that the user named; None where nobody is."""
        return await self._dial(place)

    def _may_call(self, peer: str, address: str) -> bool:
        if not address or peer == self._me or len(self._dials) >= MOST_DIALS or self._ends.refuses(peer):
            return False
        return self._unreachable.get(address, 0.0) <= asyncio.get_running_loop().time()

    def _start(self, call: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(call)
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def _call_known(self, peer: str, address: str) -> None:
        place = parsed(address)
        channel = None
        try:
            allowed = await self._allowed(place) if place is not None and place.port else None
            if allowed is not None:
                channel = await self._dial(allowed)
            if channel is not None and channel.peer != peer:
                self.counts["somebody_else"] += 1  # whoever told us the address lied, or the peer has moved
                channel = None
        finally:
            waiting = self._waiting.pop(peer, [])
            if channel is None:
                self._unreachable[address] = asyncio.get_running_loop().time() + DIAL_AGAIN_AFTER
                while len(self._unreachable) > 4096:
                    self._unreachable.popitem(last=False)
            for frame, expects_large, else_call in waiting:
                if channel is not None and expects_large:
                    channel.expect_large()
                if channel is None or not channel.send(frame):
                    self.counts["unsent"] += 1
                    else_call()
                else:
                    self.counts["sent"] += 1

    async def _allowed(self, place: Place) -> Place | None:
        """Where a stranger who names a place may make us connect to; None where they may not."""
        if self._allow_private:
            return place
        try:
            loop = asyncio.get_running_loop()
            search = loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            found = [str(address[0]) for *_, address in await asyncio.wait_for(search, DIAL_SECONDS)]
        except (OSError, TimeoutError, UnicodeError):
            return None
        if found and all(map(is_public, found)):
            return Place(found[0], place.port)
        self.counts["private_address"] += 1
        return None

    async def _dial(self, place: Place) -> Channel | None:
        loop = asyncio.get_running_loop()
        shaken: asyncio.Future[bool] = loop.create_future()
        channel = _Dialled(self._context, self, shaken, str(place))
        self._everything.add(channel)
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                await loop.create_connection(lambda: channel, place.host, place.port)
                if await shaken:
                    return channel
        except (OSError, TimeoutError, UnicodeError):
            pass
        self.counts["unreachable"] += 1
        channel.close("not reached")
        self._everything.discard(channel)
        return None

    # ------------------------------------------------------------ what channels tell

    def opened(self, channel: Channel) -> None:
        others = self._channels.get(channel.peer, [])
        if channel.peer == self._me:
            channel.close("it is ourselves")
        elif self._ends.refuses(channel.peer):
            self.counts["refused"] += 1
            channel.close("not listened to")
        elif not channel.dials and self._is_too_many(channel, others):
            self.counts["too_many_connections"] += 1
            channel.close("too many connections")
        else:
            self._channels.setdefault(channel.peer, []).append(channel)
            self._ends.connected(channel.peer, channel)

    def _is_too_many(self, channel: Channel, others: list[Channel]) -> bool:
        host = channel.address.rpartition(":")[0]
        alike = sum(1 for each in self._everything if not each.dials and each.address.rpartition(":")[0] == host)
        return len(others) >= MOST_OF_ONE_PEER or len(self._everything) > MOST_CHANNELS or alike > MOST_OF_ONE_ADDRESS

    def accepts(self, channel: Channel) -> bool:
        """Whether one more may even shake hands."""
        return len(self._everything) <= MOST_CHANNELS

    def received(self, channel: Channel, frame: bytes) -> None:
        self.counts["heard"] += 1
        self._ends.heard(channel.peer, channel, frame)

    def closed(self, channel: Channel, why: str) -> None:
        self._everything.discard(channel)
        self.counts[f"closed: {why.partition(':')[0]}"] += 1
        others = self._channels.get(channel.peer)
        if others is not None and channel in others:
            others.remove(channel)
            if not others:
                del self._channels[channel.peer]
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
