"""Outgoing connections: a bounded number at once for each purpose, and no peer again too soon after it failed.

Strangers choose the addresses at which they want to be answered. By that they can fill the slots for answers, and make
us remember a failure of the pair of a name and an address that they gave; the slots for our own queries stay free.
Host names are looked up in slots of their own, too, and IP addresses need none.
"""

import asyncio
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from ipaddress import ip_address

from lycosa.vocabulary.hosts import why_not_public_address

from .addresses import Place, parse_place
from .channel import Channel

DIAL_SECONDS = 3.0
DIAL_AGAIN_AFTER = 20.0  # seconds; until then an unreachable peer is taken to be down
MAX_DIALS = 32  # at once, for each purpose
MAX_WAITING = 64  # frames for one peer that is being dialled
MAX_FAILURES = 4096  # that are remembered
MAX_LOOKUPS = 8  # at once, for each purpose
Deliver = Callable[[Channel | None], None]  # the channel; None: unreachable
LookUp = Callable[[str], Sequence[str]]  # the IP addresses of a host name, the best first


def look_up(name: str) -> Sequence[str]:
    """The addresses that the system resolver knows for a name."""
    try:
        return [str(address[0]) for *_, address in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return ()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Resolver:
    """Resolves host names in threads, at most `MAX_LOOKUPS` at once.

    A thread that waits for a name server cannot be stopped: a slow lookup keeps its slot until it returns. The threads
    are daemons, as the process would wait for those of an executor when it ends.
    """

    def __init__(self, look_up: LookUp):
        self._look_up = look_up
        self._slots = asyncio.Semaphore(MAX_LOOKUPS)

    async def addresses(self, host: str) -> Sequence[str]:
        """The addresses of a host; an IP address is returned as it is, and takes no slot."""
        if _is_address(host):
            return (host,)
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[str]] = loop.create_future()

        def resolve(addresses: Sequence[str]) -> None:
            self._slots.release()
            if not found.done():
                found.set_result(addresses)

        def search() -> None:
            addresses = self._look_up(host)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(resolve, addresses)

        threading.Thread(target=search, name="looking up a name", daemon=True).start()
        return await found


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
        dial: Callable[[Place], Awaitable[Channel | None]],
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

    def opened(self, channel: Channel) -> None:
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
            for place in await self._allowed(parse_place(address), resolver):
                channel = await self._dial(place)
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

    async def _allowed(self, place: Place | None, resolver: Resolver) -> Sequence[Place]:
        """The addresses that a place named by a stranger may make us connect to: one of IPv4 and one of IPv6 at most;
        none where any of its addresses is private and that is not allowed."""
        if place is None or not place.port:
            return ()
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                found = await resolver.addresses(place.host)
        except TimeoutError:
            return ()
        if not self._allow_private and any(map(why_not_public_address, found)):
            self._counts["private_address"] += 1
            return ()
        of_kind: dict[bool, Place] = {}
        for address in found:
            of_kind.setdefault(":" in address, Place(address, place.port))
        return tuple(of_kind.values())
