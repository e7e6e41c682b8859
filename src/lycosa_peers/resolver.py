"""Resolution of host names in threads, a bounded number at once."""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address

MAX_LOOKUPS = 8  # at once, by one resolver
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
