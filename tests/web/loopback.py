"""A server on loopback that sends, byte for byte, whatever a test wants sent."""

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping

Behaviour = Callable[[socket.socket], None]


def silence(connection: socket.socket) -> None:
    """Says nothing more for as long as the other side waits."""
    while connection.recv(65_536):
        pass


def response(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP response; header names are written with underscores, an empty value leaves the header out."""
    fields = {"Content_Type": "text/html", "Content_Length": str(len(body))} | headers
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1") + body


class LoopbackServer:
    """Answers each path with its bytes, and keeps the connection; or lets a behaviour have it, and closes it then."""

    def __init__(
        self, routes: Mapping[str, bytes | Behaviour], *, wrap: Callable[[socket.socket], socket.socket] | None = None
    ):
        self.routes = routes
        self.connections = 0
        self.requests: list[bytes] = []  # heads, as they came
        self._wrap = wrap
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> "LoopbackServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    @property
    def everything(self) -> list[str]:
        """What sends every host here."""
        return [f"*=127.0.0.1:{self.port}"]

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def paths(self) -> list[str]:
        return [head.split(b" ")[1].decode() for head in self.requests]

    def answer_to(self, head: bytes) -> bytes | Behaviour:
        return self.routes.get(head.split(b" ")[1].decode(), response(b"no such page", "404 Not Found"))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        with contextlib.suppress(OSError), contextlib.closing(connection):
            if self._wrap is not None:
                connection = self._wrap(connection)
            while head := _head(connection):
                self.requests.append(head)
                answer = self.answer_to(head)
                if callable(answer):
                    answer(connection)
                    return
                connection.sendall(answer)
        self._open.discard(connection)


def _head(connection: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = connection.recv(65_536)
        if not data:
            return b""
        head += data
    return head
