"""The addresses of names, asked for so that whoever keeps an answer back holds up little.

Nobody can stop a thread that waits for a name server. Those here are few, and the process does not wait for them when
it ends, as it would for those of an executor.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address

MOST_AT_ONCE = 8
LookUp = Callable[[str], Sequence[str]]  # the IP addresses of a name, the best first; none where it has none


def look_up(name: str) -> Sequence[str]:
    """What the machine knows of a name."""
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
    """Looks names up, so many at once; one that takes long keeps its room until it is known."""

    def __init__(self, look_up: LookUp):
        self._look_up = look_up
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    async def addresses(self, host: str) -> Sequence[str]:
        """Those of a name; an IP address is its own, and needs no room."""
        if _is_address(host):
            return (host,)
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Sequence[str]] = loop.create_future()

        def tell(addresses: Sequence[str]) -> None:
            self._room.release()
            if not found.done():
                found.set_result(addresses)

        def search() -> None:
            addresses = self._look_up(host)
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(tell, addresses)

        threading.Thread(target=search, name="looking up a name", daemon=True).start()
        return await found
