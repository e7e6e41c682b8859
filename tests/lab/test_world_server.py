"""A served world answers over real sockets, by host name, and closes cleanly."""

import http.client
import socket
import threading
from contextlib import suppress

import pytest

from fixtures.fixed_world import FixedWorld
from lycosa.vocabulary.records import Host, Url
from lycosa_lab.worlds.server import WorldServer
from worlds import CHAIN, TWO_SITES

OLD, NEW = Url("http://one.example/old"), Url("http://two.test/a")
PDF = Url("http://one.example/x.pdf")
WORLD = FixedWorld(
    TWO_SITES | CHAIN | {PDF: b"%PDF-1.4"},
    redirects={OLD: NEW},
    robots={Host("one.example"): "User-agent: *\nDisallow: /b\n"},
)


@pytest.fixture
def served():
    with WorldServer(WORLD) as served:
        yield served


def ask(served, host, path, *, method="GET", **headers):
    connection = http.client.HTTPConnection(served.address, served.port, timeout=60)
    connection.request(method, path, headers={"Host": host} | headers)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply, body


def exchange(served, request: bytes) -> bytes:
    """All that comes back until the server closes the connection."""
    with socket.create_connection((served.address, served.port), timeout=60) as client:
        client.sendall(request)
        received = b""
        while data := client.recv(65536):
            received += data
        return received


def test_hosts_share_a_port_and_are_told_apart_by_name(served):
    for host, url in (("one.example", "http://one.example/a"), ("two.test", "http://two.test/a")):
        reply, body = ask(served, host, "/a")
        assert (reply.status, body) == (200, TWO_SITES[Url(url)])
        assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert served.resolve == f"*=127.0.0.1:{served.port}"


def test_every_request_but_those_for_robots_is_recorded_in_order(served):
    ask(served, "one.example", "/robots.txt")
    ask(served, "ONE.example", "/a")
    ask(served, "one.example", "/nothing", method="HEAD")
    assert served.requests == ["http://one.example/a", "http://one.example/nothing"]


def test_robots_redirects_lost_pages_and_other_types(served):
    assert ask(served, "one.example", "/robots.txt")[1] == b"User-agent: *\nDisallow: /b\n"
    assert ask(served, "two.test", "/robots.txt")[0].status == 404
    moved, _ = ask(served, "one.example", "/old")
    assert (moved.status, moved.headers["Location"]) == (301, NEW)
    assert ask(served, "one.example", "/nothing")[0].status == 404
    assert ask(served, "unknown.example", "/")[0].status == 404
    assert ask(served, "one.example", "/x.pdf")[0].headers["Content-Type"] == "application/pdf"


def test_a_known_page_is_not_sent_again(served):
    first, _ = ask(served, "one.example", "/a")
    for known in (first.headers["ETag"], f'"other", W/{first.headers["ETag"]}', "*"):
        again, body = ask(served, "one.example", "/a", **{"If-None-Match": known})
        assert (again.status, body) == (304, b"")
    assert ask(served, "one.example", "/a", **{"If-None-Match": '"other"'})[0].status == 200


def test_head_says_the_length_and_sends_no_body(served):
    reply, body = ask(served, "one.example", "/a", method="HEAD")
    assert (reply.status, body) == (200, b"")
    assert int(reply.headers["Content-Length"]) == len(TWO_SITES[Url("http://one.example/a")])


@pytest.mark.parametrize("latency", [0.0, 0.01])
def test_pipelined_requests_are_answered_in_order_on_one_connection(latency):
    letters = "abcd"
    requests = [f"GET /{letter} HTTP/1.1\r\nHost: chain.example\r\n\r\n" for letter in letters]
    requests[-1] = requests[-1].replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    with WorldServer(WORLD, latency=latency) as served:
        received = exchange(served, "".join(requests).encode())
    places = [received.index(f"<title>Page {letter}<".encode()) for letter in letters]
    assert received.count(b"HTTP/1.1 200 OK") == 4 and places == sorted(places)


def test_the_absolute_form_of_proxies_counts_more_than_the_host_header(served):
    received = exchange(served, b"GET http://two.test/b HTTP/1.1\r\nHost: one.example\r\nConnection: close\r\n\r\n")
    assert received.endswith(TWO_SITES[Url("http://two.test/b")])


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST / HTTP/1.1\r\nHost: one.example\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"\x00\xff garbage\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: one.example\r\nContent-Length: 5\r\n\r\nhello", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000, b"431"),
    ],
)
def test_bad_requests_are_refused_and_the_connection_closed(served, request_bytes, status):
    assert exchange(served, request_bytes).startswith(b"HTTP/1.1 " + status)
    assert ask(served, "one.example", "/a")[0].status == 200


def test_leaving_closes_the_port_the_connections_and_the_thread():
    with WorldServer(WORLD) as served:
        idle = socket.create_connection((served.address, served.port), timeout=60)
        idle.sendall(b"GET /a HTTP/1.1\r\nHost: one.example\r\n\r\n")
        assert idle.recv(100)
    with idle:
        try:
            while idle.recv(65536):
                pass
        except ConnectionResetError:
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((served.address, served.port), timeout=60)
    assert "served world" not in {thread.name for thread in threading.enumerate()}


def test_a_port_in_use_is_an_ordinary_error(served):
    with pytest.raises(OSError), WorldServer(WORLD, port=served.port):
        pass


def test_a_client_of_https_is_let_go_at_once(served):
    with socket.create_connection((served.address, served.port), timeout=60) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01")
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
