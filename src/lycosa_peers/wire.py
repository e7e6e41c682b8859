"""All connections of a peer: which are open, which to dial, how many of each kind are accepted.

The wire carries frames between peers whose names were proved by TLS. It dials peers for which it has frames, with a
timeout; it does not look into frames.

Keys are free, so slots, processing time and send buffers are shared by trust and by network (`address_group`), not by
key: strangers of one network share the limit of one network, a part is reserved for trusted peers, and strangers never
keep a trusted peer out.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from OpenSSL import SSL

from .addresses import Endpoint
from .channel import Channel
from .dialer import DIAL_SECONDS, Dialer, Purpose
from .messages import MAX_PAYLOAD_BYTES, MAX_SMALL_PAYLOAD_BYTES
from .rate_limits import FairShare, RateLimits

MAX_INCOMING = 256  # incoming channels
MAX_PER_ADDRESS = 32  # incoming channels of strangers
MAX_HANDSHAKES, MAX_HANDSHAKES_PER_ADDRESS = 64, 16  # incoming channels that have not shown a key
HANDSHAKES_PER_SECOND = 50.0  # of one network; each takes some milliseconds
MAX_PER_PEER = 3
IDLE_SECONDS = 300.0  # without a message, before a channel is closed
GRACE_SECONDS = 10.0  # for which an open channel is protected from other strangers of its network
NETWORK_SHARE, STRANGERS_SHARE = 0.5, 0.75  # of the processing time: of strangers of one network, of all strangers
MAX_UNSENT = 1 << 20  # unread bytes of one peer, not counting one large frame
MAX_UNSENT_IN_ALL = 64 << 20  # unread bytes of all peers; strangers get half
LARGE_ANSWER_SECONDS = 60.0  # after a request, in which a large answer may begin
MAX_UNFINISHED_IN_ALL = 64 << 20  # bytes of large frames that have not come whole; strangers get half
MIN_PROGRESS = 1 << 14  # bytes that a slow peer must read within ...
STALL_SECONDS, STALL_ROOM_SECONDS = 10.0, 2.0  # ... so many seconds; fewer if others need the send buffer
Undelivered = Callable[[], None]
_STRANGERS = "strangers"  # the key for the processing time of all strangers


class WireHandler(Protocol):
    """Callbacks of the wire."""

    def connected(self, peer: str, channel: Channel) -> None: ...

    def frame_received(self, peer: str, channel: Channel, payload: bytes) -> None: ...

    def disconnected(self, peer: str) -> None: ...

    def refuses(self, peer: str) -> bool: ...

    def trusts(self, peer: str) -> bool:
        """Whether the user has named the peer, or it has proved reliable."""
        ...


class Wire:
    """The connections of a peer, by name.

    allow_private: whether addresses given by others may be private; those given by the user always may.
    """

    def __init__(self, context: SSL.Context, handler: WireHandler, *, own_name: str, allow_private: bool):
        self.counts: Counter[str] = Counter()
        self._context = context
        self._handler = handler
        self._own_name = own_name
        self._dialer = Dialer(self.connect, self.counts, allow_private=allow_private)
        self._channels: dict[str, list[Channel]] = {}
        self._all_channels: dict[Channel, None] = {}  # including those in the handshake; oldest first
        self._large_expected: dict[str, deque[float]] = {}  # by peer: until when each requested large frame may begin
        self._unfinished: dict[Channel, None] = {}  # channels on which a large frame is coming; the first one first
        self._slow: dict[Channel, _Backlog] = {}  # channels that read too slowly
        self._handshakes: RateLimits[str] = RateLimits(HANDSHAKES_PER_SECOND)
        self._peer_time = FairShare()
        self._network_time = FairShare(NETWORK_SHARE)
        self._stranger_time = FairShare(STRANGERS_SHARE)
        self._server: asyncio.Server | None = None

    # ------------------------------------------------------------ opening and closing

    async def listen(self, endpoint: Endpoint) -> Endpoint:
        """Accepts connections; returns the endpoint, with the actual port if 0 was given."""
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
        """Closes idle channels and those that do not read, so that no peer can hold connections or memory for ever."""
        now = asyncio.get_running_loop().time()
        for channel in list(self._all_channels):
            if channel.is_open and now - channel.last_heard > IDLE_SECONDS:
                channel.close("nothing heard")
        self._drop_stalled(STALL_SECONDS)
        self._dialer.forget_old()

    @property
    def peers(self) -> list[str]:
        """The names of the connected peers."""
        return list(self._channels)

    def _accept_channel(self) -> Channel:
        channel = Channel(self._context, self, is_outgoing=False)
        self._all_channels[channel] = None
        return channel

    # ------------------------------------------------------------ sending

    def send(
        self,
        peer: str,
        address: str,
        payload: bytes,
        *,
        purpose: Purpose,
        expects_large: bool,
        on_undelivered: Undelivered,
        caused_by: str = "",
    ) -> None:
        """Sends a frame to a peer, over a new connection if needed; calls `on_undelivered` if the peer is unreachable.
        A frame is dropped without that call if there is no free slot to dial, or if the peer has too many unread bytes.

        caused_by: the peer whose message caused this, or empty.
        """
        channels = self._channels.get(peer, ())
        if channels and not self.has_send_room(peer, len(payload)):
            self.counts["no_room_to_send"] += 1
            return
        for channel in reversed(channels):
            if self._try_send(channel, payload, expects_large):
                return
        if (
            not address
            or peer == self._own_name
            or self._handler.refuses(peer)
            or self._dialer.has_failed(peer, address)
        ):
            self.counts["unsent"] += 1
            asyncio.get_running_loop().call_soon(on_undelivered)
        elif not self._dialer.call(
            peer,
            address,
            purpose,
            partial(self._send_dialled, payload, expects_large, on_undelivered),
            size=len(payload),
            caused_by=caused_by,
        ):
            self.counts["no_room_to_call"] += 1

    def has_send_room(self, peer: str, size: int) -> bool:
        """Whether a frame of so many bytes may be sent to a peer: not if it, or all peers together, have too many
        unread bytes."""
        if not self._slow:
            return True
        unread = sum(slow.unsent for slow in self._slow if slow.peer == peer)
        if unread and unread + size > MAX_UNSENT:
            return False
        max_unsent = MAX_UNSENT_IN_ALL if self._handler.trusts(peer) else MAX_UNSENT_IN_ALL // 2
        if sum(slow.unsent for slow in self._slow) + size > max_unsent:
            self._drop_stalled(STALL_ROOM_SECONDS)
        return sum(slow.unsent for slow in self._slow) + size <= max_unsent

    def disconnect(self, peer: str, reason: str) -> None:
        for channel in list(self._channels.get(peer, ())):
            channel.close(reason)

    async def connect(self, endpoint: Endpoint) -> Channel | None:
        """A connection to the peer at an endpoint; None if there is none."""
        channel = await self.dial(endpoint)
        return channel if channel.is_open else None

    async def dial(self, endpoint: Endpoint) -> Channel:
        """The same, but returns the channel even if it could not be opened; its `close_reason` says why."""
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

    def _send_dialled(
        self, payload: bytes, expects_large: bool, on_undelivered: Undelivered, channel: Channel | None
    ) -> None:
        if channel is None or not self._try_send(channel, payload, expects_large):
            self.counts["unsent"] += 1
            on_undelivered()

    def _try_send(self, channel: Channel, payload: bytes, expects_large: bool) -> bool:
        """Sends a frame; False if the channel is not open. `expects_large`: the answer may be a large frame."""
        if not channel.send(payload):
            return False
        self.counts["sent"] += 1
        if expects_large:
            until = asyncio.get_running_loop().time() + LARGE_ANSWER_SECONDS
            self._large_expected.setdefault(channel.peer, deque()).append(until)
        return True

    # ------------------------------------------------------------ callbacks of channels

    def on_connect(self, channel: Channel) -> None:
        """Closes the oldest of too many incoming channels in the handshake, per network and in total. A network that
        opens too many per second is rejected before the handshake."""
        if channel.is_outgoing:
            return
        if not self._handshakes.take(channel.address_group, asyncio.get_running_loop().time()):
            channel.close("too many handshakes")
            return
        in_handshake = [
            each for each in self._all_channels if not (each.is_outgoing or each.is_open or each.is_closing)
        ]
        same_network = [each for each in in_handshake if each.address_group == channel.address_group]
        if len(same_network) > MAX_HANDSHAKES_PER_ADDRESS:
            same_network[0].close("no handshake, and others wait")
        elif len(in_handshake) > MAX_HANDSHAKES:
            in_handshake[0].close("no handshake, and others wait")

    def on_open(self, channel: Channel) -> None:
        others = self._channels.get(channel.peer, [])
        if channel.peer == self._own_name:
            channel.close("it is ourselves")
        elif self._handler.refuses(channel.peer):
            self.counts["refused"] += 1
            channel.close("not listened to")
        elif not channel.is_outgoing and (len(others) >= MAX_PER_PEER or not self._make_room(channel)):
            self.counts["too_many_connections"] += 1
            channel.close("too many connections")
        else:
            self._channels.setdefault(channel.peer, []).append(channel)
            self._handler.connected(channel.peer, channel)
            self._dialer.on_connected(channel)

    def _make_room(self, channel: Channel) -> bool:
        """Whether there is room for an incoming channel after its handshake; may close another one for it.

        A trusted peer replaces a stranger. A stranger replaces one whose network has more channels than its own, else
        the one of its own network from which nothing was received for longest.
        """
        now = asyncio.get_running_loop().time()
        incoming = [each for channels in self._channels.values() for each in channels if not each.is_outgoing]
        incoming = [each for each in incoming if not each.is_closing]
        strangers = [each for each in incoming if not self._handler.trusts(each.peer)]
        by_network = Counter(each.address_group for each in strangers)
        same_network = [each for each in strangers if each.address_group == channel.address_group]
        is_full = len(incoming) >= MAX_INCOMING
        if self._handler.trusts(channel.peer):
            evictable = strangers if is_full else []
            must_evict = is_full
        else:
            must_evict = is_full or len(same_network) >= MAX_PER_ADDRESS
            evictable = [each for each in same_network if now - each.opened_at >= GRACE_SECONDS]
            if len(same_network) < MAX_PER_ADDRESS:
                evictable += [each for each in strangers if by_network[each.address_group] > len(same_network) + 1]
        if not must_evict:
            return True
        if not evictable:
            return False
        largest = max(by_network[each.address_group] for each in evictable)
        evicted = min(
            (each for each in evictable if by_network[each.address_group] == largest), key=lambda each: each.last_heard
        )
        evicted.close("others wait")
        return True

    def max_payload_bytes(self, channel: Channel) -> int:
        """The accepted size of a payload: large ones only from peers that were asked for them, as many at a time."""
        if channel.next_frame_bytes <= MAX_SMALL_PAYLOAD_BYTES:
            return MAX_SMALL_PAYLOAD_BYTES
        if channel not in self._unfinished:
            coming = sum(each.peer == channel.peer for each in self._unfinished)
            if coming >= self._number_expected(channel.peer):
                return MAX_SMALL_PAYLOAD_BYTES
            self._unfinished[channel] = None
        self._limit_unfinished()
        return MAX_SMALL_PAYLOAD_BYTES if channel.is_closing else MAX_PAYLOAD_BYTES

    def _limit_unfinished(self) -> None:
        """Closes channels on which too much of large frames has come, those first that have taken the longest."""
        strangers = [each for each in self._unfinished if not self._handler.trusts(each.peer)]
        everybody = list(self._unfinished)
        for unfinished, limit in ((strangers, MAX_UNFINISHED_IN_ALL // 2), (everybody, MAX_UNFINISHED_IN_ALL)):
            while sum(0 if each.is_closing else each.unprocessed for each in unfinished) > limit:
                unfinished.pop(0).close("a large frame, and others wait")

    def _number_expected(self, peer: str) -> int:
        """The number of large frames that a peer was asked for and may still send."""
        expected = self._large_expected.get(peer, deque())
        while expected and expected[0] < asyncio.get_running_loop().time():
            expected.popleft()
        if not expected:
            self._large_expected.pop(peer, None)
        return len(expected)

    def large_answer_received(self, peer: str) -> None:
        """A peer has answered a request whose answer may be large."""
        if self._number_expected(peer):
            self._large_expected[peer].popleft()

    def on_frame(self, channel: Channel, payload: bytes) -> None:
        self.counts["heard"] += 1
        self._unfinished.pop(channel, None)
        time = asyncio.get_running_loop().time
        began = time()
        self._handler.frame_received(channel.peer, channel, payload)
        self.on_decrypted(channel, time() - began)

    def on_decrypted(self, channel: Channel, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._peer_time.record(channel.peer, seconds, now=now)
        if not self._handler.trusts(channel.peer):
            self._network_time.record(channel.address_group, seconds, now=now)
            self._stranger_time.record(_STRANGERS, seconds, now=now)

    def turn_delay(self, channel: Channel) -> float:
        now = asyncio.get_running_loop().time()
        delay = self._peer_time.delay(channel.peer, now)
        if not channel.is_open or self._handler.trusts(channel.peer):
            return delay
        return max(
            delay, self._network_time.delay(channel.address_group, now), self._stranger_time.delay(_STRANGERS, now)
        )

    def on_backlog(self, channel: Channel, is_slow: bool) -> None:
        if is_slow:
            self._slow[channel] = _Backlog(channel.drained, asyncio.get_running_loop().time())
        else:
            self._slow.pop(channel, None)

    def _drop_stalled(self, seconds: float) -> None:
        """Closes channels that have not read enough for so many seconds."""
        now = asyncio.get_running_loop().time()
        for channel, backlog in list(self._slow.items()):
            if channel.drained - backlog.drained >= MIN_PROGRESS:
                backlog.drained, backlog.since = channel.drained, now
            elif now - backlog.since >= seconds:
                channel.close("does not read what it is sent")

    def on_close(self, channel: Channel, reason: str) -> None:
        self._all_channels.pop(channel, None)
        self._slow.pop(channel, None)
        self._unfinished.pop(channel, None)
        self.counts[f"closed: {reason.partition(':')[0]}"] += 1
        others = self._channels.get(channel.peer)
        if others is not None and channel in others:
            others.remove(channel)
            if not others:
                del self._channels[channel.peer]
                self._large_expected.pop(channel.peer, None)
                self._handler.disconnected(channel.peer)


class _Backlog:
    """How many bytes a slow channel had read, and when."""

    def __init__(self, drained: int, since: float):
        self.drained = drained
        self.since = since


class _Dialled(Channel):
    """An outgoing channel with a future for the end of its handshake."""

    def __init__(self, context: SSL.Context, wire: Wire, handshake: "asyncio.Future[bool]", address: str):
        super().__init__(context, wire, is_outgoing=True, address=address)
        self._handshake = handshake

    def _resolve(self, is_open: bool) -> None:
        if not self._handshake.done():
            self._handshake.set_result(is_open)

    def _on_opened(self) -> None:
        self._resolve(True)

    def connection_lost(self, error: Exception | None) -> None:
        self._resolve(False)
        super().connection_lost(error)
