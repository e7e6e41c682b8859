"""Servers that keep TLS busy: messages without content, sent faster than they are processed, and costly handshakes.

No timeout counts within a call of libcurl that does not return: it ends with the flood, unless somebody ends it before.
"""

import asyncio
import base64
import functools
import random
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fortress.tls_server import DATA, HANDSHAKE, KEY_UPDATE, TICKET, Certificate, TlsConnection, plain_record, tls
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Fetch, Outcome, Url
from lycosa.web.http import LiveWeb
from lycosa.web.stalled_calls import StalledCalls
from web.loopback import LoopbackServer, response

HOST = "www.example.org"
URL = Url(f"https://{HOST}/")
PAGE = b"<title>A page</title><p>honey bee hive"
FLOOD = 64_000_000  # bytes, which libcurl would process in a minute or more
PLAIN_FLOOD = 256_000_000  # bytes of messages that are not encrypted, which would take a quarter of a minute
HELLO_REQUEST = bytes(4)


class Flood:
    """Sends so many bytes on one connection, unless it ends before."""

    def __init__(self, size: int) -> None:
        self._left = size
        self.has_begun = False

    @property
    def is_over(self) -> bool:
        """Whether all was sent."""
        return self._left <= 0

    def send(self, connection: socket.socket, piece: Callable[[], bytes]) -> None:
        self.has_begun = True
        with suppress(OSError):
            while not self.is_over:
                data = piece()
                connection.sendall(data)
                self._left -= len(data)


def hello_requests(flood: Flood) -> Callable[[socket.socket], socket.socket]:
    """Instead of a handshake, requests for another one, each in a record of its own."""

    def wrap(connection: socket.socket) -> socket.socket:
        connection.recv(65_536)
        flood.send(connection, lambda: plain_record(HANDSHAKE, HELLO_REQUEST) * 8192)
        raise ConnectionAbortedError

    return wrap


def tickets(connection: TlsConnection) -> bytes:
    return connection.record(HANDSHAKE, TICKET * 900)


def key_updates(connection: TlsConnection) -> bytes:
    records = []
    for _ in range(200):
        records.append(connection.record(HANDSHAKE, KEY_UPDATE))
        connection.next_key()
    return b"".join(records)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return Certificate(HOST)


@pytest.fixture(autouse=True)
def trusted(certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "certificates.pem"
    path.write_bytes(certificate.pem)
    monkeypatch.setattr("certifi.where", lambda: str(path))


def fetched(server: LoopbackServer, *urls: Url, **options: object) -> list[Fetch]:
    """The same server is asked for each URL, one after the other."""

    async def fetch() -> list[Fetch]:
        web = LiveWeb(user_agent="lycosa/1", clock=WallClock(), **{"resolve": server.everything, **options})  # type: ignore[arg-type]
        try:
            return [await web.fetch(url) for url in urls]
        finally:
            await web.close()

    return asyncio.run(fetch())


def test_a_page_comes_from_the_server_of_these_tests(certificate):
    def answer(connection: TlsConnection) -> None:
        while connection.read():
            connection.send(HANDSHAKE, TICKET * 2)
            connection.send(DATA, response(PAGE))

    with LoopbackServer({}, wrap=tls(certificate, answer)) as server:
        fetches = fetched(server, URL, URL)
    assert [(each.outcome, each.content) for each in fetches] == [(Outcome.OK, PAGE)] * 2


@pytest.mark.parametrize("piece", [tickets, key_updates])
def test_messages_without_content_end_the_connection(certificate, piece):
    flood = Flood(FLOOD)

    def answer(connection: TlsConnection) -> None:
        connection.read()
        flood.send(connection.socket, functools.partial(piece, connection))

    with LoopbackServer({}, wrap=tls(certificate, answer)) as server:
        (fetch,) = fetched(server, URL)
    assert fetch.outcome is Outcome.FAILED
    assert flood.has_begun and not flood.is_over


def test_requests_for_another_handshake_within_the_first_end_the_connection():
    flood = Flood(PLAIN_FLOOD)
    with LoopbackServer({}, wrap=hello_requests(flood)) as server:
        (fetch,) = fetched(server, URL)
    assert fetch.outcome is Outcome.FAILED
    assert flood.has_begun and not flood.is_over


def test_a_server_that_did_so_is_not_connected_to_again():
    with LoopbackServer({}, wrap=hello_requests(Flood(PLAIN_FLOOD))) as server:
        url = Url(f"https://127.0.0.1:{server.port}/")
        first, second = fetched(server, url, url, resolve=(), allow_private=True, allow_public=False)
    assert (first.outcome, second.outcome, server.connections) == (Outcome.FAILED, Outcome.REFUSED, 1)
    assert "TLS messages without end" in second.detail


def test_handshakes_whose_modulus_the_server_chooses_are_not_made(tmp_path, monkeypatch):
    """With one of 10,000 bits, each takes half a second of computing."""
    owner = Certificate(HOST, is_rsa=True)
    (tmp_path / "own.pem").write_bytes(owner.key_pem + owner.pem)
    modulus = random.Random(1).getrandbits(2048) | 1 | 1 << 2047
    number = b"\x02\x82\x01\x01\0" + modulus.to_bytes(256)
    parameters = base64.encodebytes(b"\x30\x82" + (len(number) + 3).to_bytes(2) + number + b"\2\1\2").decode()
    (tmp_path / "dh.pem").write_text(f"-----BEGIN DH PARAMETERS-----\n{parameters}-----END DH PARAMETERS-----\n")
    monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "own.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_dh_params(tmp_path / "dh.pem")
    context.set_ciphers("DHE-RSA-AES128-GCM-SHA256")
    wrap = functools.partial(context.wrap_socket, server_side=True)
    with LoopbackServer({"/": response(PAGE)}, wrap=wrap) as server:
        (fetch,) = fetched(server, URL)
    assert (fetch.outcome, server.requests) == (Outcome.FAILED, [])


def test_where_the_system_counts_no_bytes_a_call_that_lasts_is_ended(monkeypatch):
    monkeypatch.setattr("lycosa.web.stalled_calls._INTERVAL", 0.001)
    ours, theirs = socket.create_server(("127.0.0.1", 0)), socket.socket()
    with ours, theirs:
        theirs.connect(ours.getsockname())
        calls = StalledCalls({theirs.fileno()}, bytes_read=lambda connection: None)
        calls.start()
        with calls:  # as in a call of libcurl, which returns once the connection is shut down
            assert theirs.recv(1) == b""
        calls.stop()
    assert calls.networks == {"127.0.0.1"}


def test_calls_that_return_end_no_connection(monkeypatch):
    monkeypatch.setattr("lycosa.web.stalled_calls._INTERVAL", 0.001)
    looks = threading.Semaphore(0)

    def look(connection: socket.socket) -> int:
        looks.release()
        return 0

    ours, theirs = socket.create_server(("127.0.0.1", 0)), socket.socket()
    with ours, theirs:
        theirs.connect(ours.getsockname())
        calls = StalledCalls({theirs.fileno(), 1 << 20}, bytes_read=look)
        calls.start()
        for _ in range(100):
            with calls:
                looks.acquire()
        calls.stop()
    assert calls.networks == set()
