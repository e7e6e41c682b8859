"""Ends calls of libcurl that do not return: a thread that watches them.

OpenSSL reads on while it finds messages without content: session tickets, updates of keys, requests for another
handshake. A server can send them faster than they are processed; then the call does not return, no other connection is
served, no timeout expires, and an interrupt is not seen.

No call has to read much from one connection: the thread shuts down a connection of which more is read.
"""

import socket
import struct
import threading
from collections.abc import Callable, Collection
from contextlib import suppress

from lycosa.vocabulary.networks import network_of

try:
    import fcntl
    import termios
except ImportError:  # Windows
    fcntl = termios = None  # type: ignore[assignment]

_INTERVAL = 0.1  # seconds between two looks at the current call
_MAX_READ = 1 << 19  # bytes of one connection in one call; libcurl returns after less than half of that
_MAX_LOOKS = 50  # at one call; beyond that, every connection is shut down if it cannot be told which one is read from
_TCP_INFO_SIZE = 192
_BYTES_RECEIVED = struct.Struct("=128xQ").unpack_from  # a field of `struct tcp_info`: <linux/tcp.h>


class StalledCalls:
    """A context manager for each call that is to be watched; `start` begins to watch, `stop` ends it.

    descriptors: of the connections. It is changed meanwhile, and some may be closed, or of other files.
    networks: IPv4 addresses and IPv6 networks (/64) of the servers whose connections were shut down.
    """

    def __init__(self, descriptors: Collection[int], bytes_read: Callable[[socket.socket], int | None] | None = None):
        self.networks: set[str] = set()
        self._descriptors = descriptors
        self._bytes_read = bytes_read or _bytes_read
        self._call = 0  # number of the current call, or 0 between calls
        self._calls = 0
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stalled calls", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def __enter__(self) -> None:
        self._calls += 1
        self._call = self._calls

    def __exit__(self, *_: object) -> None:
        self._call = 0

    def _run(self) -> None:
        call, looks = 0, 0
        read_before: dict[int, int | None] = {}
        while not self._stopped.wait(_INTERVAL):
            current = self._call
            if not current or current != call:
                call, looks = current, 0
                read_before = self._read_by_descriptor() if current else {}
                continue
            looks += 1
            for descriptor, read in self._read_by_descriptor().items():
                before = read_before.setdefault(descriptor, read)
                is_flooded = looks > _MAX_LOOKS if read is None or before is None else read - before > _MAX_READ
                if is_flooded and self._call == call:
                    self._shut_down(descriptor)

    def _read_by_descriptor(self) -> dict[int, int | None]:
        """The bytes read from each connection so far; None if the system does not tell."""
        read = {}
        for descriptor in tuple(self._descriptors):
            with suppress(OSError), _duplicate(descriptor) as connection:
                read[descriptor] = self._bytes_read(connection)
        return read

    def _shut_down(self, descriptor: int) -> None:
        with suppress(OSError), _duplicate(descriptor) as connection:
            self.networks.add(network_of(connection.getpeername()[0]))
            connection.shutdown(socket.SHUT_RDWR)
            connection.setblocking(False)
            while connection.recv(_MAX_READ):  # otherwise, libcurl would read on what has arrived, megabytes
                pass


def _duplicate(descriptor: int) -> socket.socket:
    return socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM)


def _bytes_read(connection: socket.socket) -> int | None:
    """The bytes that were received on a TCP connection and taken from the system; None if it does not tell."""
    if not hasattr(socket, "TCP_INFO") or fcntl is None:
        return None
    waiting = struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0]
    information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_SIZE)
    received: int = _BYTES_RECEIVED(information)[0]
    return received - int(waiting)
