"""Outgoing connections: a bounded number at once for each purpose, and no peer again too soon after it failed.

Remote peers choose the addresses at which they are answered. They can thus exhaust the answer slots and add entries to
the failure table; slots for our own queries are separate. So are the slots in which host names are resolved.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

from lycosa.vocabulary.hosts import why_not_public_address

from .addresses import Endpoint, parse_endpoint
from .channel import Channel
from .resolver import LookUp, Resolver, look_up

DIAL_SECONDS = 3.0
DIAL_AGAIN_AFTER = 20.0  # seconds; until then an unreachable peer is taken to be down
MAX_DIALS = 32  # at once, for each purpose
MAX_WAITING = 64  # frames for one peer that is being dialled
MAX_FAILURES = 4096  # that are remembered
Deliver = Callable[[Channel | None], None]  # the channel; None: unreachable


class Purpose(StrEnum):
    """What a connection is opened for."""

    ASKING = "asking"  # own queries
    ANSWERING = "answering"  # queries of others, at addresses that they gave
    UPKEEP = "upkeep"


class Dialer:
    """Connections that are being opened, and the frames that wait for them.

    allow_private: whether addresses that others gave may be private ones.
    """

    def __init__(
        self,
        dial: Callable[[Endpoint], Awaitable[Channel | None]],
        counts: Counter[str],
        *,
        allow_private: bool,
        look_up: LookUp = look_up,
    ):
        self._dial = dial
        self._counts = counts
        self._allow_private = allow_private
        self._waiting: dict[tuple[str, str], list[Deliver]] = {}  # by peer and address
        self._failed_until: OrderedDict[tuple[str, str], float] = OrderedDict()  # not dialled before
        self._tasks: dict[Purpose, set[asyncio.Task[None]]] = {purpose: set() for purpose in Purpose}
        self._resolvers = {purpose: Resolver(look_up) for purpose in Purpose}

    def has_failed(self, peer: str, address: str) -> bool:
        """Whether the peer was unreachable a moment ago."""
        return self._failed_until.get((peer, address), 0.0) > asyncio.get_running_loop().time()

    def call(self, peer: str, address: str, purpose: Purpose, deliver: Deliver) -> bool:
        """Delivers something over a new connection; False where all slots are taken."""
        waiting = self._waiting.get((peer, address))
        if waiting is not None:
            if len(waiting) >= MAX_WAITING:
                return False
            waiting.append(deliver)
            return True
        tasks = self._tasks[purpose]
        if len(tasks) >= MAX_DIALS:
            return False
        self._waiting[peer, address] = [deliver]
        task = asyncio.get_running_loop().create_task(self._call(peer, address, self._resolvers[purpose]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return True

    def on_connected(self, channel: Channel) -> None:
        """A peer is connected: what waits for it is delivered, whichever side dialled, and at whatever address."""
        due: list[Deliver] = []
        for (peer, _), waiting in self._waiting.items():
            if peer == channel.peer:
                due += waiting
                waiting.clear()
        for deliver in due:
            deliver(channel)

    def forget_old(self) -> None:
        now = asyncio.get_running_loop().time()
        for key in [key for key, until in self._failed_until.items() if until <= now]:
            del self._failed_until[key]

    def cancel(self) -> None:
        for tasks in self._tasks.values():
            for task in list(tasks):
                task.cancel()

    async def _call(self, peer: str, address: str, resolver: Resolver) -> None:
        channel = None
        try:
            for endpoint in await self._allowed(parse_endpoint(address), resolver):
                channel = await self._dial(endpoint)
                if channel is not None:
                    break
        finally:
            waiting = self._waiting.pop((peer, address))
        if channel is not None and channel.peer != peer:
            self._counts["somebody_else"] += 1  # the address was a lie, or the peer has moved
            channel = None
        if channel is None:
            self._failed_until[peer, address] = asyncio.get_running_loop().time() + DIAL_AGAIN_AFTER
            while len(self._failed_until) > MAX_FAILURES:
                self._failed_until.popitem(last=False)
        for deliver in waiting:
            deliver(channel)

    async def _allowed(self, endpoint: Endpoint | None, resolver: Resolver) -> Sequence[Endpoint]:
        """The addresses to which we may connect for an endpoint given by a remote peer: at most one of IPv4 and one of
        IPv6; none if any of its addresses is private and private ones are not allowed."""
        if endpoint is None or not endpoint.port:
            return ()
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                found = await resolver.addresses(endpoint.host)
        except TimeoutError:
            return ()
        if not self._allow_private and any(map(why_not_public_address, found)):
            self._counts["private_address"] += 1
            return ()
        by_family: dict[bool, Endpoint] = {}
        for address in found:
            by_family.setdefault(":" in address, Endpoint(address, endpoint.port))
        return tuple(by_family.values())
