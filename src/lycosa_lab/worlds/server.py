"""A world served over HTTP: all its hosts on one loopback port, distinguished by the Host header."""

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import xxhash

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import host_of, normalise, path_of

from .world import World

MAX_REQUEST = 16_384  # bytes of request line and headers
MAX_CACHED_REPLIES = 4_096
_TLS_HANDSHAKE = b"\x16"  # the first byte that an HTTPS client sends
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class CannedResponse:
    """The responses for a URL, ready to be sent."""

    head: bytes  # status line and headers
    body: bytes
    etag: str
    not_modified: bytes  # the 304 response to those who have this body already


def _response(status: str, content_type: str, body: bytes, *headers: str) -> CannedResponse:
    etag = f'"{xxhash.xxh3_64_hexdigest(body)}"' if status.startswith("200") else ""
    tag = [f"ETag: {etag}"] if etag else []
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        *tag,
        *headers,
        "",
        "",
    )
    not_modified = "\r\n".join(("HTTP/1.1 304 Not Modified", *tag, "", ""))
    return CannedResponse("\r\n".join(lines).encode("latin-1", "replace"), body, etag, not_modified.encode())


def _reply(world: World, url: Url) -> CannedResponse:
    path = path_of(url)
    if path == "/robots.txt":
        rules = world.robots(host_of(url))
        body = None if rules is None else rules.encode()
    else:
        body = world.page(url)
    if body is None:
        target = world.redirect(url)
        if target is not None:
            return _response("301 Moved Permanently", "text/plain", b"", f"Location: {target}")
        return _response(
            "404 Not Found", "text/html; charset=utf-8", b"<!doctype html><title>Not found</title><p>Not found."
        )
    return _response("200 OK", _content_type(path), body)


def _content_type(path: str) -> str:
    name = path.partition("?")[0]
    if name.endswith(".pdf"):
        return "application/pdf"
    return "text/plain; charset=utf-8" if name.endswith(".txt") else "text/html; charset=utf-8"


class WorldServer:
    """A context manager that serves a world in a thread of its own.

    requests: the URLs of all requests except for robots.txt, in order.
    latency: seconds before each response.
    """

    def __init__(self, world: World, *, port: int = 0, address: str = "127.0.0.1", latency: float = 0.0):
        self.world = world
        self.address = address
        self.port = port
        self.latency = latency
        self.requests: list[Url] = []
        self._replies: OrderedDict[Url, CannedResponse] = OrderedDict()
        self._connections: set[_Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def resolve(self) -> str:
        """The value of the crawl option `--resolve` that sends every host name here."""
        return f"*={self.address}:{self.port}"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        try:
            server = self._loop.run_until_complete(
                self._loop.create_server(lambda: _Connection(self), self.address, self.port, backlog=1024)
            )
        except OSError:
            self._loop.close()
            raise
        self.port = server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(self._loop, server), name="served world", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop, server: asyncio.Server) -> None:
        try:
            loop.run_forever()
        finally:
            server.close()
            for connection in tuple(self._connections):
                connection.abort()
            loop.run_until_complete(server.wait_closed())
            loop.run_until_complete(asyncio.sleep(0))  # lets the transports close
            loop.close()

    def switch_to(self, world: World) -> None:
        """Serves another world from now on, such as the same one on a later day."""
        self.world, self._replies = world, OrderedDict()

    def reply(self, url: Url) -> CannedResponse:
        """The cached or new reply for a URL."""
        known = self._replies.get(url)
        if known is not None:
            self._replies.move_to_end(url)
            return known
        reply = _reply(self.world, url)
        self._replies[url] = reply
        if len(self._replies) > MAX_CACHED_REPLIES:
            self._replies.popitem(last=False)
        return reply


class _Connection(asyncio.Protocol):
    """The connection of one client; requests are answered one after the other, in order."""

    def __init__(self, server: WorldServer):
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._blocked = False  # whether a response is being delayed, or the client does not read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server._connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._server._connections.discard(self)

    @property
    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._process_buffer()

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        self._process_buffer()

    def _process_buffer(self) -> None:
        if self._buffer.startswith(_TLS_HANDSHAKE):  # an HTTPS client would wait until it times out
            self.abort()
        while self._is_open and not self._blocked:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0 or end > MAX_REQUEST:
                if len(self._buffer) > MAX_REQUEST:
                    self._finish(_TOO_LARGE)
                break
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._answer(head.decode("latin-1"))
        if self._transport is not None and self._is_open:
            if len(self._buffer) > 4 * MAX_REQUEST:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _answer(self, head: str) -> None:
        request, *lines = head.split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, rest = request.partition(" ")
        target, _, version = rest.rpartition(" ")
        url = normalise(target if "://" in target[:8] else f"http://{headers.get('host', '')}{target}")
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        if method not in ("GET", "HEAD") or not version.startswith("HTTP/1.") or url is None or has_body:
            self._finish(_BAD_REQUEST)
            return
        if path_of(url) != "/robots.txt":
            self._server.requests.append(url)
        reply = self._server.reply(url)
        known_etags = headers.get("if-none-match", "")
        if reply.etag and (reply.etag in known_etags or known_etags == "*"):
            answer = reply.not_modified
        else:
            answer = reply.head if method == "HEAD" else reply.head + reply.body
        connection = headers.get("connection", "").lower()
        closes = connection == "close" or (version == "HTTP/1.0" and connection != "keep-alive")
        if self._server.latency > 0:
            self._blocked = True
            asyncio.get_running_loop().call_later(self._server.latency, self._send_delayed, answer, closes)
        else:
            self._send(answer, closes=closes)

    def _send_delayed(self, answer: bytes, closes: bool) -> None:
        self._blocked = False
        self._send(answer, closes=closes)
        self._process_buffer()

    def _send(self, answer: bytes, *, closes: bool) -> None:
        if self._transport is not None and self._is_open:
            self._transport.write(answer)
            if closes:
                self._transport.close()

    def _finish(self, answer: bytes) -> None:
        self._buffer = b""
        self._send(answer, closes=True)
