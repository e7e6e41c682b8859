"""Runs a node on its connections: received frames become events of the node, and its messages are sent.

Times are those of the event loop, which is monotonic.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from .channel import Channel
from .dialer import Purpose
from .identity import Identity
from .messages import (
    MAX_SMALL_PAYLOAD_BYTES,
    Declined,
    Envelope,
    Fetched,
    FetchRequest,
    Hello,
    Index,
    IndexRequest,
    Message,
    MessageError,
    Pong,
    Query,
    Response,
    decode,
    encode,
)
from .node import Node
from .rate_limits import RateLimit
from .wire import Wire

WARNINGS_PER_SECOND, MAX_WARNINGS = 0.1, 20  # lines about what peers did, and so many at once
Notify = Callable[[str], None]  # takes a line for people


class NodeRunner:
    """Runs a node on a `Wire`. `changed` is set after every frame, and when a peer is gone or a timer fires.

    allow_private: whether peers at private addresses that others gave may be dialled.
    notify: called with messages about what happens; searches of others are included only if `logs_queries`.
    """

    def __init__(self, node: Node, identity: Identity, *, allow_private: bool, notify: Notify, logs_queries: bool):
        self.node = node
        self.counts: Counter[str] = Counter()
        self.changed = asyncio.Event()
        self.wire = Wire(identity.context(), self, own_name=identity.name, allow_private=allow_private)
        self._notify = notify
        self._warnings = RateLimit(WARNINGS_PER_SECOND, burst=MAX_WARNINGS)
        self._logs_queries = logs_queries
        self._timer: asyncio.TimerHandle | None = None

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def wait(self, seconds: float) -> None:
        """Waits for the next event, at most so many seconds."""
        self.changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self.changed.wait()
        except TimeoutError:
            return

    # ------------------------------------------------------------ callbacks of the wire

    def connected(self, peer: str, channel: Channel) -> None:
        channel.send(encode(Hello(self.node.own_contact)))
        self.node.connected(peer, channel.address_group)

    def disconnected(self, peer: str) -> None:
        self.node.disconnected(peer)
        self.node.neighbours.address_groups.pop(peer, None)
        self.changed.set()

    def refuses(self, peer: str) -> bool:
        return self.node.is_banned(peer, _now())

    def trusts(self, peer: str) -> bool:
        return self.node.is_trusted(peer)

    def frame_received(self, peer: str, channel: Channel, payload: bytes) -> None:
        try:
            message = decode(payload)
        except MessageError as error:
            self._warn(f"{peer[:8]} sent bytes that are not a message ({error.reason})")
            self._reject(peer, channel, error.reason, "not a message")
            return
        if _may_be_large(message):
            self.wire.large_answer_received(peer)
        elif len(payload) > MAX_SMALL_PAYLOAD_BYTES:
            self._warn(f"{peer[:8]} sent too long a message")
            self._reject(peer, channel, "too_long", "too long a message")
            return
        if self._logs_queries and isinstance(message, Query):
            self._notify(f"{peer[:8]} asks for {message.target}")
        self.send_all(self.node.receive(peer, message, _now()), caused_by=peer)
        if self.refuses(peer):
            self._warn(f"{peer[:8]} is ignored for a while")
            self.wire.disconnect(peer, "not listened to")
        self.changed.set()

    def _warn(self, line: str) -> None:
        """Reports what a peer did, but not all that many keys do, which would fill a log; `peer show` counts it."""
        if self._warnings.take(_now()):
            self._notify(line)
        else:
            self.counts["not_reported"] += 1

    def _reject(self, peer: str, channel: Channel, offence: str, close_reason: str) -> None:
        self.node.penalise(peer, offence, _now(), demerits=2.0)
        channel.close(close_reason)
        self.changed.set()

    # ------------------------------------------------------------ sending

    def send_all(self, outgoing: Iterable[Envelope], *, caused_by: str = "") -> None:
        """Sends the messages of the node, and sets the timer of its next deadline.

        caused_by: the peer whose message the node answers or forwards by these; empty if it sends them of its own.
        """
        for envelope in outgoing:
            payload = encode(envelope.message)
            if len(payload) > MAX_SMALL_PAYLOAD_BYTES and not self.wire.has_send_room(envelope.to, len(payload)):
                payload = encode(_declined(envelope.message))
            self.wire.send(
                envelope.to,
                envelope.address,
                payload,
                purpose=self._purpose(envelope.message),
                caused_by=caused_by,
                expects_large=isinstance(envelope.message, IndexRequest | FetchRequest),
                on_undelivered=partial(self._undelivered, envelope),
            )
        self._set_timer()

    def _purpose(self, message: Message) -> Purpose:
        """Whose dial slots a new connection for the message takes. A query that is forwarded takes those for the
        queries of others, as an answer to them does."""
        match message:
            case Query():
                return Purpose.ASKING if message.origin.name == self.node.name else Purpose.ANSWERING
            case FetchRequest():
                return Purpose.ASKING
            case Response() | Declined() | Index() | Fetched() | Pong():
                return Purpose.ANSWERING
            case _:
                return Purpose.UPKEEP

    def _undelivered(self, envelope: Envelope) -> None:
        self.send_all(self.node.undelivered(envelope.to, envelope.message, _now()))
        self.send_all(self.node.tick(_now()))  # a search whose last walker has just ended is done
        self.changed.set()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self.node.next_deadline(), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.send_all(self.node.tick(_now()))
        self.changed.set()


def _may_be_large(message: Message) -> bool:
    """Whether it answers a request whose answer may be large."""
    if isinstance(message, Declined):
        return message.request_kind != "query"
    return isinstance(message, Index | Fetched)


def _declined(message: Message) -> Message:
    """The refusal to be sent instead of a large answer."""
    match message:
        case Fetched(number):
            return Declined("fetch", number)
        case Index():
            return Declined("index", 0)
        case _:
            return message


def _now() -> float:
    return asyncio.get_running_loop().time()
