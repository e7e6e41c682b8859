"""The server of the screens: what it prints, and what it leaves behind."""

import ipaddress
import os
import re
import signal
import socket
import sys
import tempfile
import webbrowser
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import uvicorn

from crawling import PATIENCE, begin, end
from lycosa.screens.server import checked_public_url, serve
from lycosa.vocabulary.errors import UsageError

PASSWORD = "correct horse battery"


@pytest.fixture
def listeners(monkeypatch):
    """The listeners of servers, which end at once."""
    seen: list[socket.socket] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: seen.extend(sockets))
    return seen


def printed(root, *, open_browser=False, **options):
    """What a server says."""
    lines: list[str] = []
    serve(root, port=0, open_browser=open_browser, notify=lines.append, **options)
    return lines


@pytest.mark.parametrize(
    "options", [{}, {"password": PASSWORD}, {"read_only": True, "public_url": "https://bees.example"}], ids=str
)
def test_it_says_how_it_ends(tmp_path, listeners, options):
    lines = printed(tmp_path, **options)
    assert lines[-1] == "Ctrl-C ends the server"
    assert ("token=" in lines[0]) == (not options)


@pytest.mark.parametrize("listen", ["0.0.0.0", "::"])
def test_an_address_that_stands_for_all_is_printed_as_one_that_can_be_used(tmp_path, listeners, listen):
    try:
        lines = printed(tmp_path, listen=listen, password=PASSWORD)
    except UsageError as error:
        if listen == "0.0.0.0":
            raise
        pytest.skip(f"a machine without IPv6: {error}")
    host = urlsplit(re.search(r"http://\S+", lines[0])[0]).hostname
    assert not ipaddress.ip_address(host).is_unspecified
    assert "all addresses of this machine" in lines[1]


@pytest.mark.parametrize("listen", ["0.0.0.0", "::"])
def test_without_a_network_it_is_the_loopback_address(tmp_path, listeners, monkeypatch, listen):
    if listen == "::" and not socket.has_dualstack_ipv6():
        pytest.skip("a machine without IPv6")

    def connect(self, address):
        raise OSError("network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", connect)
    lines = printed(tmp_path, listen=listen, password=PASSWORD)
    host = urlsplit(re.search(r"http://\S+", lines[0])[0]).hostname
    assert ipaddress.ip_address(host).is_loopback


def test_the_address_is_opened_by_a_file_that_is_deleted(tmp_path, temporary, listeners, monkeypatch):
    opened = []
    monkeypatch.setattr(
        webbrowser, "open", lambda url: opened.append((url, [file.read_text() for file in temporary.iterdir()]))
    )
    lines = printed(tmp_path, open_browser=True)
    [(url, [text])] = opened
    assert "token=" not in url
    assert lines[0].partition("token=")[2] in text
    assert list(temporary.iterdir()) == []
    assert listeners[0].fileno() == -1


def test_nothing_is_left_when_it_is_interrupted_while_the_browser_opens(tmp_path, temporary, listeners, monkeypatch):
    def interrupted(url):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", interrupted)
    printed(tmp_path, open_browser=True)
    assert list(temporary.iterdir()) == []
    assert listeners == []  # it did not run


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_nothing_is_left_when_it_is_terminated(tmp_path):
    folder, temporary = tmp_path / "collections", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    server = begin("ui", folder, "--port", 0, env={**os.environ, "TMPDIR": str(temporary), "BROWSER": "true"})
    try:
        address = urlsplit(re.search(r"http://\S+", server.stderr.readline())[0]).netloc
        connection = HTTPConnection(address, timeout=PATIENCE)
        connection.request("GET", "/")
        assert connection.getresponse().status == 403  # without the token; it runs
        assert len(list(temporary.iterdir())) == 1
        server.send_signal(signal.SIGTERM)
        assert end(server).code == 0
    finally:
        server.kill()
    assert list(temporary.iterdir()) == []


def test_it_serves_without_a_browser_if_no_file_can_be_written(tmp_path, listeners, monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    assert "cannot open the browser" in printed(tmp_path, open_browser=True)[-1]
    assert listeners[0].fileno() == -1


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://bees.example:443", "https://bees.example"),
        ("http://bees.example:0080/", "http://bees.example"),
        ("https://bees.example:8443", "https://bees.example:8443"),
        ("http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080"),
    ],
)
def test_a_public_url_becomes_what_browsers_send(text, origin):
    assert checked_public_url(text) == origin


def test_a_machine_without_ipv6_is_told_in_a_line(tmp_path, monkeypatch):
    def no_sockets(*_):
        raise OSError(97, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", no_sockets)
    with pytest.raises(UsageError, match="cannot listen on ::1, port 0: Address family not supported by protocol"):
        printed(tmp_path, listen="::1")
