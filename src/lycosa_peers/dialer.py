"""Outgoing connections, and the names resolved for them: a bounded number at a time for each purpose, with a delay
before a failed peer is retried.

Remote peers choose the addresses at which they are answered, and may give the address of somebody who is not a peer.
An IP address and port are *proven* once the peer has shown its key there; calls to others are limited by `Trials`. A
name that led there may lead elsewhere the next time, so that only looking it up again is free. Remote peers can exhaust
the slots for answers; those for our own queries, and those for resolving names, are separate.
"""

import asyncio
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from lycosa.vocabulary.hosts import why_not_public_address
from lycosa.vocabulary.networks import is_address

from .addresses import Endpoint, address_group, parse_endpoint
from .channel import Channel
from .rate_limits import RateLimit, RateLimits

DIAL_SECONDS = 3.0
DIAL_AGAIN_AFTER = 20.0  # seconds for which an unreachable peer counts as down
# The limits down to MAX_LOOKUPS hold for what other peers cause and, apart from that, for what we do of our own.
MAX_DIALS = 32  # at once, for each purpose
MAX_WAITING = 64  # frames for one peer that is being dialled
MAX_WAITING_BYTES = 8 << 20  # of frames for all peers that are being dialled
MAX_LOOKUPS = 8  # at once, by one resolver
MAX_FAILURES = 4096  # that are remembered; the same limit for proven addresses
MAX_BACK_OFF = 1280.0  # seconds between two trials of one endpoint
OWN_TRIALS = 0.5  # share of the trials in total that other peers cannot cause
Deliver = Callable[[Channel | None], None]  # the channel; None: unreachable
LookUp = Callable[[str], Sequence[str]]  # the IP addresses of a host name, the best first


class Purpose(StrEnum):
    """What a new connection is for, which decides whose dial slots it takes."""

    ASKING = "asking"  # our own searches and fetches
    ANSWERING = "answering"  # queries of others, which are answered at addresses that they gave, or forwarded
    UPKEEP = "upkeep"  # joining, pings and indexes


def look_up(name: str) -> Sequence[str]:
    """The addresses that the system resolver knows for a name."""
    try:
        return [str(address[0]) for *_, address in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return ()


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
        if is_address(host):
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


class Trials:
    """Limits calls to addresses given by others at which no peer has shown its key yet.

    An endpoint that fails is retried after 20 seconds, and then after twice as long each time, whatever name is
    expected there. Failed trials are limited per host (over all ports and names), per peer that causes them, and in
    total; successful ones are free.
    """

    def __init__(self) -> None:
        self._total_limits = {purpose: RateLimit(1.0, burst=64) for purpose in Purpose}
        self._cause_limits: RateLimits[str] = RateLimits(0.2, burst=8)
        self._host_limits: RateLimits[str] = RateLimits(0.05, burst=4)
        self._back_off: OrderedDict[Endpoint, tuple[float, float]] = OrderedDict()  # next trial, delay after it

    def may_resolve(self, purpose: Purpose, cause: str, now: float) -> bool:
        """Whether another trial is allowed; `cause` is the peer whose message causes it, or empty."""
        reserve = OWN_TRIALS if cause else 0.0
        return (not cause or self._cause_limits.take(cause, now)) and self._total_limits[purpose].take(
            now, reserve=reserve
        )

    def may_dial(self, endpoint: Endpoint, now: float) -> bool:
        """Whether an endpoint, by its IP address, may be tried now."""
        not_before, seconds = self._back_off.get(endpoint, (now, DIAL_AGAIN_AFTER))
        if now < not_before or not self._host_limits.take(address_group(endpoint.host), now):
            return False
        self._back_off[endpoint] = (now + seconds, min(2 * seconds, MAX_BACK_OFF))
        self._back_off.move_to_end(endpoint)
        while len(self._back_off) > MAX_FAILURES:
            self._back_off.popitem(last=False)
        return True

    def resolved(self, purpose: Purpose, cause: str) -> None:
        """What `may_resolve` allowed led to the peer."""
        self._cause_limits.refund(cause)
        self._total_limits[purpose].refund()

    def dialled(self, endpoint: Endpoint) -> None:
        """At an endpoint that `may_dial` allowed is the peer."""
        self._back_off.pop(endpoint, None)
        self._host_limits.refund(address_group(endpoint.host))


class _Waiting(NamedTuple):
    """A frame for a peer that is being dialled."""

    deliver: Deliver
    size: int  # bytes
    is_caused: bool  # by another peer


class Dialer:
    """Connections being opened, and the frames that wait for them.

    What other peers cause, such as answers at addresses that they gave and queries to peers that they named, takes
    room of its own for dials, lookups and waiting frames: they cannot keep us from calling whom we want.

    allow_private: whether addresses given by others may be private.
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
        self._waiting: dict[tuple[str, str], list[_Waiting]] = {}  # by peer and address
        self._trials = Trials()
        self._proven: OrderedDict[tuple[str, str], None] = (
            OrderedDict()
        )  # where a peer has shown its key, and names that led there
        self._failed_until: OrderedDict[tuple[str, str], float] = OrderedDict()  # when it may be dialled again
        lanes = [(purpose, is_caused) for purpose in Purpose for is_caused in (False, True)]
        self._tasks: dict[tuple[Purpose, bool], set[asyncio.Task[None]]] = {lane: set() for lane in lanes}
        self._resolvers = {lane: Resolver(look_up) for lane in lanes}

    def has_failed(self, peer: str, address: str) -> bool:
        """Whether the peer was unreachable recently."""
        return self._failed_until.get((peer, address), 0.0) > asyncio.get_running_loop().time()

    def call(
        self, peer: str, address: str, purpose: Purpose, deliver: Deliver, *, size: int = 0, caused_by: str = ""
    ) -> bool:
        """Delivers `size` bytes over a new connection; False if all slots are in use."""
        frame = _Waiting(deliver, size, bool(caused_by))
        alike = (each for waiting in self._waiting.values() for each in waiting if each.is_caused == frame.is_caused)
        if size + sum(each.size for each in alike) > MAX_WAITING_BYTES:
            return False
        waiting = self._waiting.get((peer, address))
        if waiting is not None:
            if sum(each.is_caused == frame.is_caused for each in waiting) >= MAX_WAITING:
                return False
            waiting.append(frame)
            return True
        tasks = self._tasks[purpose, frame.is_caused]
        if len(tasks) >= MAX_DIALS:
            return False
        is_proven, now = (peer, address) in self._proven, asyncio.get_running_loop().time()
        if not is_proven and not self._trials.may_resolve(purpose, caused_by, now):
            return False
        self._waiting[peer, address] = [frame]
        task = asyncio.get_running_loop().create_task(self._call(peer, address, purpose, caused_by, is_proven))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return True

    def on_connected(self, channel: Channel) -> None:
        """Delivers what waits for a peer that is now connected, whichever side dialled, at any address."""
        if channel.is_outgoing:
            self._prove(channel.peer, channel.address)
        due: list[Deliver] = []
        for (peer, _), waiting in self._waiting.items():
            if peer == channel.peer:
                due += [each.deliver for each in waiting]
                waiting.clear()
        for deliver in due:
            deliver(channel)

    def _prove(self, peer: str, address: str) -> None:
        self._proven[peer, address] = None
        self._proven.move_to_end((peer, address))
        while len(self._proven) > MAX_FAILURES:
            self._proven.popitem(last=False)

    def forget_old(self) -> None:
        now = asyncio.get_running_loop().time()
        for key in [key for key, until in self._failed_until.items() if until <= now]:
            del self._failed_until[key]

    def cancel(self) -> None:
        for tasks in self._tasks.values():
            for task in list(tasks):
                task.cancel()

    async def _call(self, peer: str, address: str, purpose: Purpose, caused_by: str, is_proven: bool) -> None:
        channel, is_trial, time = None, False, asyncio.get_running_loop().time
        try:
            for endpoint in await self._allowed(parse_endpoint(address), self._resolvers[purpose, bool(caused_by)]):
                is_trial = (peer, str(endpoint)) not in self._proven
                if is_trial and not self._trials.may_dial(endpoint, time()):
                    self._counts["not_tried"] += 1
                    continue
                channel = await self._dial(endpoint)
                if channel is not None:
                    break
        finally:
            waiting = self._waiting.pop((peer, address))
        if channel is not None and channel.peer != peer:
            self._counts["somebody_else"] += 1  # the address was wrong, or the peer has moved
            channel = None
        if channel is not None:
            if is_trial:
                self._trials.dialled(endpoint)
            if not is_proven:
                self._trials.resolved(purpose, caused_by)
            self._prove(peer, address)
            self._prove(peer, str(endpoint))
        if channel is None:
            self._failed_until[peer, address] = asyncio.get_running_loop().time() + DIAL_AGAIN_AFTER
            while len(self._failed_until) > MAX_FAILURES:
                self._failed_until.popitem(last=False)
        for each in waiting:
            each.deliver(channel)

    async def _allowed(self, endpoint: Endpoint | None, resolver: Resolver) -> Sequence[Endpoint]:
        """The addresses to connect to for an endpoint given by a remote peer: at most one IPv4 and one IPv6 address;
        none if any of them is private and that is not allowed."""
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
