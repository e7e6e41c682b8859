"""Connections that are held and not used, against a server of its own on the loopback address."""

import asyncio
import re
import socket
import time
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import uvicorn

from crawling import PATIENCE, begin
from lycosa.screens import app, connections
from lycosa.screens.access_control import ADMITTED, BY_SECRET, ScreenAccess
from lycosa.screens.connections import BoundedProtocol, _one_to_close
from lycosa.screens.library import Library
from screens.serving import PORT
from story.test_hostile_text import HOME

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


class Held:
    """A connection as `_one_to_close` sees it."""

    is_in_use = True

    def __init__(self, network, since, *, is_anonymous=True):
        self.network, self.since, self.is_anonymous = network, since, is_anonymous


def test_of_anonymous_readers_one_network_gives_way_to_others():
    many = [Held("a", float(number)) for number in range(9)]
    few = [Held("b", 0.0), Held("c", 0.0), Held("d", 0.0, is_anonymous=False)]
    newest, own = Held("b", 9.0), Held("d", 9.0, is_anonymous=False)
    assert _one_to_close([*many, *few, newest], newest) is many[0]
    assert _one_to_close([*many, *few, own], own) is many[0]
    assert _one_to_close([*few, *many], many[-1]) is many[-1]
    assert _one_to_close([*few, newest], newest) is newest


def test_a_connection_on_which_no_answer_is_read_is_ended(monkeypatch):
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.2)

    async def run():
        gone = asyncio.Event()

        class Watched(BoundedProtocol):
            def connection_lost(self, exc):
                super().connection_lost(exc)
                gone.set()

        async def endless(scope, receive, send):
            scope[ADMITTED] = BY_SECRET
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while not gone.is_set():
                await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})
                await asyncio.sleep(0)

        config = uvicorn.Config(endless, http=Watched, lifespan="off", ws="none", log_level="critical")
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            with socket.create_connection(listener.getsockname()) as deaf:
                deaf.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                await asyncio.wait_for(gone.wait(), PATIENCE)
            server.should_exit = True
            await serving

    asyncio.run(run())


class Reader:
    """Somebody who asks the application without a server, and takes what is sent when it is let."""

    def __init__(self, application, path, query=""):
        self.status = 0
        self.may_read = asyncio.Event()
        headers = [(b"host", f"127.0.0.1:{PORT}".encode()), (b"authorization", f"Bearer {application.token}".encode())]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
        self.task = asyncio.create_task(
            application({**scope, "root_path": "", "scheme": "http"}, self._wait, self._take)
        )

    async def _wait(self):
        await asyncio.Event().wait()

    async def _take(self, message):
        self.status = message.get("status", self.status)
        await self.may_read.wait()


async def happens(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def test_of_too_many_screens_of_a_crawl_the_oldest_ends(root, monkeypatch):
    monkeypatch.setattr(app, "_MAX_STREAMS", 2)
    monkeypatch.setattr(app, "_EVENT_INTERVAL", 0.01)

    async def run():
        application = app.make_app(Library(root), ScreenAccess(PORT))
        readers = [Reader(application, "/c/bees/events") for _ in range(2)]
        for each in readers:
            each.may_read.set()
        await happens(lambda: all(each.status for each in readers))
        readers.append(Reader(application, "/c/bees/events"))
        readers[2].may_read.set()
        await happens(lambda: sum(each.task.done() for each in readers) == 1)
        assert [each.status for each in readers] == [200, 200, 200] and not readers[2].task.done()
        for each in readers:
            each.task.cancel()

    asyncio.run(run())


def test_few_stored_pages_are_held_for_those_who_do_not_read_them(root, monkeypatch):
    monkeypatch.setattr(app, "_MAX_STORED", 1)

    async def run():
        application = app.make_app(Library(root), ScreenAccess(PORT))
        asked = ("/c/bees/stored", f"url={HOME}")
        slow, other, later = Reader(application, *asked), Reader(application, *asked), None
        await happens(lambda: slow.status and other.status)
        assert sorted([slow.status, other.status]) == [200, 503]
        for each in (slow, other):
            each.may_read.set()
            await each.task
        later = Reader(application, *asked)
        later.may_read.set()
        await later.task
        assert later.status == 200

    asyncio.run(run())


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
