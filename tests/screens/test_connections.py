"""Connections that are held and not used, against a server of its own on the loopback address."""

import re
import socket
import time
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from crawling import PATIENCE, begin

PASSWORD = "correct horse battery"
TOKEN = re.compile(r"http://\S+")
HELD = 300
LOGIN = b"POST /login HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Length: 999\r\n\r\npass"
BEGINNINGS = {
    "silent": b"",
    "headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ",
    "kept": b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n",
    "body": b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 999\r\n\r\nx",
    "login": LOGIN,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of screens, and what their owner sends with a request."""
    root = tmp_path_factory.mktemp("collections")
    (root / "password").write_text(PASSWORD)
    server = begin("ui", root, "--no-browser", "--port", 0, "--password-file", root / "password")
    try:
        lines = [server.stderr.readline() for _ in range(3)]
        token = re.search(r"token: (\S+)", lines[2])[1]
        yield urlsplit(TOKEN.search(lines[0])[0]).netloc, {"Authorization": f"Bearer {token}"}
    finally:
        server.kill()
        server.communicate()


def asked(address, headers):
    """The status of an answer, and how long it took."""
    began = time.monotonic()
    connection = HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", "/api/collections", headers=headers)
        return connection.getresponse().status, time.monotonic() - began
    finally:
        connection.close()


def held(stack, address, beginning):
    """A connection that was begun and is not gone on with."""
    host, _, port = address.rpartition(":")
    opened = stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
    with suppress(OSError):
        opened.sendall(beginning.replace(b"%s", address.encode()))
    return opened


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_whoever_holds_hundreds_of_connections_keeps_nobody_out(served, kind):
    address, headers = served
    with ExitStack() as stack:
        for number in range(HELD):
            held(stack, address, BEGINNINGS[kind])
            if number % 60 == 59:
                status, seconds = asked(address, headers)
                assert status == 200 and seconds < 5
    assert asked(address, headers)[0] == 200


def test_a_request_in_drops_is_ended(served):
    address, headers = served
    with ExitStack() as stack:
        dripping = [held(stack, address, BEGINNINGS[kind]) for kind in ("silent", "headers", "login")]
        gone, began = set(), time.monotonic()
        while len(gone) < len(dripping) and time.monotonic() - began < 60:
            for each in dripping:
                try:
                    each.sendall(b"x")
                except OSError:
                    gone.add(each)
            time.sleep(0.5)
        assert len(gone) == len(dripping)
        assert time.monotonic() - began > 5  # somebody slow is not thrown out at once
    assert asked(address, headers)[0] == 200


def test_a_browser_keeps_its_connection_while_others_are_opened(served):
    address, headers = served
    browser = HTTPConnection(address, timeout=PATIENCE)
    with ExitStack() as stack:
        for _ in range(20):
            browser.request("GET", "/api/collections", headers=headers)
            used = browser.sock
            for _ in range(20):
                held(stack, address, b"")
            assert browser.getresponse().read()
            assert browser.sock is used
    browser.close()
