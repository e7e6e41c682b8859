import asyncio
import functools
import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard

from lycosa.vocabulary.clock import SimulatedClock, WallClock
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.web.http import LiveWeb, curl_connect_to, user_agent
from web.loopback import LoopbackServer, response, silence

PAGE = b"<!doctype html><title>A page</title><p>" + b"Some words. " * 200
HOST = "http://www.example.org"
PATIENCE = 60.0  # seconds until something that ought to happen is given up


def fetched(server: LoopbackServer, path: str = "/", known: PastFetch | None = None, **options: object) -> Fetch:
    """One page of the server, asked for as a page of HOST."""
    options = {"clock": WallClock(), "resolve": server.everything} | options
    return asyncio.run(_fetched(Url(path if "://" in path else HOST + path), known, options))


async def _fetched(url: Url, known: PastFetch | None, options: dict[str, object]) -> Fetch:
    web = LiveWeb(user_agent="lycosa/1 (+https://lycosa.example; me@example.org)", **options)  # type: ignore[arg-type]
    try:
        return await web.fetch(url, known=known)
    finally:
        await web.close()


def drip(start: bytes, piece: bytes) -> "functools.partial[None]":
    return functools.partial(_drip, start, piece)


def _drip(start: bytes, piece: bytes, connection: socket.socket) -> None:
    connection.sendall(start)
    while True:
        connection.sendall(piece)
        time.sleep(0.02)


def endless(start: bytes, piece: bytes) -> "functools.partial[None]":
    return functools.partial(_endless, start, piece)


def _endless(start: bytes, piece: bytes, connection: socket.socket) -> None:
    connection.sendall(start)
    while True:
        connection.sendall(piece)


def test_a_page_comes_with_all_an_archive_wants_to_know() -> None:
    with LoopbackServer({"/p": response(PAGE, X_One="a", ETag='"e"')}) as server:
        fetch = fetched(server, "/p")
    assert (fetch.outcome, fetch.status, fetch.reason, fetch.http_version) == (Outcome.OK, 200, "OK", "1.1")
    assert fetch.body == fetch.content == PAGE
    assert fetch.headers == (
        ("Content-Type", "text/html"),
        ("Content-Length", str(len(PAGE))),
        ("X-One", "a"),
        ("ETag", '"e"'),
    )
    assert fetch.address == "127.0.0.1"
    assert fetch.elapsed > 0
    assert fetch.truncated == fetch.detail == ""


def test_the_request_headers_are_what_went_out_less_what_is_secret() -> None:
    known = PastFetch(Url(HOST + "/"), 0.0, Outcome.OK, etag='"x"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT")
    with LoopbackServer({"/": response(PAGE)}) as server:
        fetch = fetched(server, known=known, headers={"X-Team": "réd", "From": "me@example.org"}, cookies="a=1; b=2")
    lines = server.requests[0].decode("latin-1").split("\r\n")
    assert lines[0] == "GET / HTTP/1.1"
    sent = dict(line.split(": ", 1) for line in lines[1:-2])
    assert (sent["Cookie"], sent["X-Team"]) == ("a=1; b=2", "réd")
    sent |= {"Cookie": "(left out)", "X-Team": "(left out)"}
    assert list(fetch.request_headers) == list(sent.items())
    assert fetch.is_personal
    assert dict(fetch.request_headers) == {
        "Host": "www.example.org",
        "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1",
        "User-Agent": "lycosa/1 (+https://lycosa.example; me@example.org)",
        "Accept-Encoding": "gzip, deflate, br, zstd",
        "X-Team": "(left out)",
        "From": "me@example.org",
        "Cookie": "(left out)",
        "If-None-Match": '"x"',
        "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT",
    }


@pytest.mark.parametrize(
    ("options", "is_personal"),
    [
        ({}, False),
        ({"headers": {"Accept-Language": "de", "User-Agent": "me"}}, False),
        ({"cookies": "a=1"}, True),
        ({"headers": {"authorization": "Basic bWU6bWU="}}, True),
        ({"headers": {"PRIVATE-TOKEN": "7"}}, True),
    ],
)
def test_what_is_asked_for_with_cookies_or_headers_of_the_user_is_personal(options: Any, is_personal: bool) -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        assert fetched(server, **options).is_personal == is_personal


@pytest.mark.parametrize(
    ("name", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstandard.compress)],
)
def test_the_body_is_kept_as_sent_and_the_content_decoded(name: str, pack: "functools.partial[bytes]") -> None:
    with LoopbackServer({"/": response(pack(PAGE), Content_Encoding=name)}) as server:
        fetch = fetched(server)
    assert (fetch.body, fetch.content) == (pack(PAGE), PAGE)


def test_a_chunked_body_is_no_longer_chunked_and_its_trailer_is_no_header() -> None:
    head = response(Content_Length="", Transfer_Encoding="chunked", Trailer="X-After")
    with LoopbackServer({"/": head + b"5\r\n<html\r\n1\r\n>\r\n0\r\nX-After: 1\r\n\r\n"}) as server:
        fetch = fetched(server)
    assert fetch.content == b"<html>"
    assert fetch.header("x-after") is None


def test_headers_sent_ahead_are_not_those_of_the_page() -> None:
    ahead = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    with LoopbackServer({"/": ahead + response(PAGE)}) as server:
        fetch = fetched(server)
    assert (fetch.status, fetch.header("link"), fetch.content) == (200, None, PAGE)


def test_a_redirect_is_not_followed() -> None:
    with LoopbackServer({"/": response(b"moved", "302 Found", Location="/a/../b#c")}) as server:
        fetch = fetched(server)
    assert (fetch.outcome, fetch.location) == (Outcome.MOVED, HOST + "/b")
    assert server.paths() == ["/"]


def test_an_unchanged_page_is_not_sent_again() -> None:
    known = PastFetch(Url(HOST + "/"), 0.0, Outcome.OK, etag='"x"')
    with LoopbackServer({"/": b"HTTP/1.1 304 Not Modified\r\n\r\n"}) as server:
        assert fetched(server, known=known).outcome is Outcome.UNCHANGED
        assert fetched(server).outcome is Outcome.FAILED


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize(("retry_after", "until"), [("120", 1_120.0), (formatdate(1_500, usegmt=True), 1_500.0)])
def test_a_busy_host_says_when_to_come_again(status: str, retry_after: str, until: float) -> None:
    with LoopbackServer({"/": response(b"", status, Retry_After=retry_after)}) as server:
        fetch = fetched(server, clock=SimulatedClock(1_000.0))
    assert (fetch.outcome, fetch.host_not_before) == (Outcome.BUSY, until)


def test_what_is_not_html_is_not_read() -> None:
    start = response(Content_Type="video/mp4", Content_Length="1000000000")
    with LoopbackServer({"/": endless(start, bytes(65_536))}) as server:
        fetch = fetched(server)
    assert (fetch.outcome, fetch.status, fetch.body, fetch.content) == (Outcome.UNWANTED, 200, b"", b"")


def test_what_has_no_type_is_looked_at_and_not_read_on_if_it_is_not_html() -> None:
    routes = {
        "/page": response(gzip.compress(PAGE), Content_Type="", Content_Encoding="gzip"),
        "/data": endless(response(Content_Type="", Content_Length=""), b"%PDF" + bytes(65_536)),
    }
    with LoopbackServer(routes) as server:
        assert fetched(server, "/page").content == PAGE
        fetch = fetched(server, "/data")
    assert (fetch.outcome, fetch.body) == (Outcome.UNWANTED, b"")


def test_an_endless_body_is_cut_at_its_limit() -> None:
    with LoopbackServer({"/": endless(response(Content_Length=""), PAGE)}) as server:
        fetch = fetched(server, max_body=100_000)
    assert (fetch.outcome, len(fetch.body), fetch.truncated) == (Outcome.OK, 100_000, "length")


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        fetch = fetched(server, max_body=len(PAGE))
        assert (fetch.content, fetch.truncated) == (PAGE, "")
        fetch = fetched(server, max_body=len(PAGE) - 1)
        assert (fetch.content, fetch.truncated) == (PAGE[:-1], "length")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pack"), [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstandard.compress)]
)
def test_a_bomb_is_cut_at_its_limit(name: str, pack: "functools.partial[bytes]") -> None:
    with LoopbackServer({"/": response(pack(bytes(30_000_000)), Content_Encoding=name)}) as server:
        fetch = fetched(server)
    assert (fetch.outcome, len(fetch.content), fetch.truncated) == (Outcome.OK, 1_000_000, "length")


def test_of_a_slow_page_we_keep_what_came_in_time() -> None:
    with LoopbackServer({"/": drip(response(PAGE, Content_Length="1000000"), b".")}) as server:
        fetch = fetched(server, timeout=2.0)
    assert (fetch.outcome, fetch.truncated) == (Outcome.OK, "time")
    assert fetch.content.startswith(PAGE)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nX: ", response(Content_Length="9")])
def test_a_server_that_brings_nothing_in_time_is_a_failure(start: bytes) -> None:
    with LoopbackServer({"/": lambda connection: (connection.sendall(start), silence(connection))[1]}) as server:
        fetch = fetched(server, timeout=0.4)
    assert fetch.outcome is Outcome.FAILED
    assert "timed out after 0.4 s" in fetch.detail


CHUNKED = response(Content_Length="", Transfer_Encoding="chunked")
BROKEN = {
    "invalid chunking": CHUNKED + b"5\r\nhello\r\nzz\r\n",
    "chunk of absurd length": CHUNKED + b"ffffffffffffffffff\r\nhello",
    "closed early": response(PAGE, Content_Length="99999"),
    "closed at once": b"",
    "garbage": b"\x00\x01\x02 what is this\r\n\r\n",
    "garbage status": b"HTTP/1.1 abc what\r\n\r\n",
    "status of one digit": b"HTTP/1.1 2 OK\r\nContent-Type: text/html\r\n\r\n",
    "HTTP/0.9": b"<html>old</html>",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\nContent-Type: text/html\r\n\r\n<p>xx",
    "negative length": response(PAGE, Content_Length="-5"),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_answer_is_a_failure_with_a_reason(answer: bytes) -> None:
    with LoopbackServer({"/": lambda connection: connection.sendall(answer)}) as server:
        fetch = fetched(server)
    assert fetch.outcome is Outcome.FAILED
    assert fetch.detail


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 100), (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 10_000)],
)
def test_endless_headers_are_a_failure(start: bytes, piece: bytes) -> None:
    with LoopbackServer({"/": endless(start, piece)}) as server:
        fetch = fetched(server)
    assert fetch.outcome is Outcome.FAILED
    assert "header" in fetch.detail.lower()


def test_the_long_body_of_an_error_is_not_read() -> None:
    routes = {
        "/told": endless(response(b"", "404 Not Found", Content_Length="999999999"), bytes(65_536)),
        "/untold": endless(response(b"", "404 Not Found", Content_Length=""), bytes(65_536)),
    }
    with LoopbackServer(routes) as server:
        assert fetched(server, "/told").outcome is Outcome.GONE
        fetch = fetched(server, "/untold")
    assert (fetch.outcome, len(fetch.body), fetch.content) == (Outcome.GONE, 65_536, b"")


def test_no_connection_is_a_failure() -> None:
    with LoopbackServer({}) as server:
        pass
    fetch = fetched(server)
    assert fetch.outcome is Outcome.FAILED
    assert "connect" in fetch.detail.lower()


def test_an_unknown_name_is_a_failure() -> None:
    with LoopbackServer({}) as server:
        fetch = fetched(server, "http://no-such-host.invalid/", resolve=())
    assert (fetch.outcome, server.connections) == (Outcome.FAILED, 0)
    assert fetch.detail == "no such host"


def test_a_server_that_speaks_no_tls_is_told_without_the_numbers_of_openssl() -> None:
    plain = response(PAGE)
    with LoopbackServer({}, wrap=lambda connection: (connection.sendall(plain), connection)[1]) as server:
        fetch = fetched(server, "https://www.example.org/")
    assert fetch.detail.startswith("TLS error: ")
    assert "error:" not in fetch.detail.removeprefix("TLS error:")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for www.example.org that only its owner vouches for; its key lies beside it as key.pem."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is needed to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    words = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=www.example.org "
        "-addext subjectAltName=DNS:www.example.org -keyout key.pem -out certificate.pem"
    )
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True, cwd=folder)
    return folder / "certificate.pem"


def tls_server(certificate: Path) -> LoopbackServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    return LoopbackServer({"/": response(PAGE)}, wrap=functools.partial(context.wrap_socket, server_side=True))


def test_a_certificate_nobody_vouches_for_is_a_failure(certificate: Path) -> None:
    with tls_server(certificate) as server:
        fetch = fetched(server, "https://www.example.org/")
    assert (fetch.outcome, server.requests) == (Outcome.FAILED, [])
    assert "certificate" in fetch.detail


def test_a_page_comes_over_tls_from_the_host_the_certificate_names(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certifi.where", lambda: str(certificate))
    with tls_server(certificate) as server:
        assert fetched(server, "https://www.example.org/").content == PAGE
        assert fetched(server, "https://elsewhere.example.org/").outcome is Outcome.FAILED


SPELLINGS = ("127.0.0.1", "2130706433", "0x7f.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "localhost", "127.1")


@pytest.mark.parametrize("host", SPELLINGS)
def test_loopback_is_refused_however_it_is_spelled_and_sees_no_connection(host: str) -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        fetch = fetched(server, f"http://{host}:{server.port}/", resolve=())
        assert fetch.outcome is Outcome.REFUSED
        assert " is " in fetch.detail
        named_only = fetched(server, f"http://{host}:{server.port}/", resolve=[f"a.example=127.0.0.1:{server.port}"])
        assert named_only.outcome is Outcome.REFUSED
    assert server.connections == 0


def test_loopback_is_open_to_those_who_ask_for_it() -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        assert fetched(server, f"http://127.0.0.1:{server.port}/", resolve=(), allow_private=True).content == PAGE


@pytest.mark.parametrize("entry", ["a.example:8080=127.0.0.1:80", "localhost:1=[::1]:80"])
def test_resolve_says_that_a_host_has_no_port(entry):
    host = entry.partition(":")[0]
    with pytest.raises(UsageError, match=f"write the host without its port, as in '{host}="):
        curl_connect_to(entry)


@pytest.mark.parametrize("host", ["*.example.org", "www.*", "**"])
def test_resolve_refuses_a_part_of_a_name(host):
    with pytest.raises(UsageError, match=r"every host and cannot be part of a name; .* write '\*=127\.0\.0\.1:80'"):
        curl_connect_to(f"{host}=127.0.0.1:80")


@pytest.mark.parametrize("entry", ["[::1]=127.0.0.1:80", "::1=127.0.0.1:80", "[2001:db8::7]=[::1]:80"])
def test_resolve_takes_the_colons_of_an_address_for_no_port(entry):
    assert curl_connect_to(entry).startswith("[")


def test_resolve_sends_a_host_to_an_address_and_leaves_the_others_alone() -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        only = [f"A.example=127.0.0.1:{server.port}"]
        assert fetched(server, "http://a.example/", resolve=only).content == PAGE
        assert fetched(server, "http://a.example:8080/", resolve=only).content == PAGE
        assert fetched(server, "http://localhost/", resolve=only).outcome is Outcome.REFUSED
        assert fetched(server, "http://b.invalid/", resolve=only).outcome is Outcome.FAILED


def test_a_transfer_sent_elsewhere_leaves_no_trace_on_the_next() -> None:
    async def both(server: LoopbackServer) -> list[Outcome]:
        web = LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=[f"a.example=127.0.0.1:{server.port}"])
        urls = ["http://a.example/", f"http://127.0.0.1:{server.port}/", "http://a.example/"]
        outcomes = [(await web.fetch(Url(url))).outcome for url in urls]
        await web.close()
        return outcomes

    with LoopbackServer({"/": response(PAGE)}) as server:
        assert asyncio.run(both(server)) == [Outcome.OK, Outcome.REFUSED, Outcome.OK]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("a.example=127.0.0.1:80", "a.example::127.0.0.1:80"),
        ("*=127.0.0.1:8080", "::127.0.0.1:8080"),
        ("*=[::1]:8080", "::[::1]:8080"),
        ("[::2]=[::1]:8080", "[::2]::[::1]:8080"),
    ],
)
def test_a_resolve_entry_is_put_in_the_words_of_curl(entry: str, words: str) -> None:
    assert curl_connect_to(entry) == words


@pytest.mark.parametrize(
    "entry", ["", "a.example", "a=b:80", "=1.2.3.4:80", "a=1.2.3.4", "a=1.2.3.4:0", "a=1.2.3.4:99999", "a b=1.2.3.4:80"]
)
def test_a_bad_resolve_entry_names_the_right_form(entry: str) -> None:
    with pytest.raises(UsageError, match="HOST=ADDR:PORT"):
        curl_connect_to(entry)
    with pytest.raises(UsageError, match="HOST=ADDR:PORT"):
        LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=[entry])


@pytest.mark.parametrize("headers", [{"X": "a\r\nY: b"}, {"X Y": "a"}, {"X": ""}, {"X": "日本"}])
def test_headers_that_cannot_be_sent_are_refused_at_once(headers: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="header"):
        LiveWeb(user_agent="lycosa", clock=WallClock(), headers=headers)


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "file:///etc/passwd", "http://a b/", "http://", "x", "http://u:p@a/"]
)
def test_what_is_not_a_web_address_is_a_failure(url: str) -> None:
    with LoopbackServer({}) as server:
        fetch = asyncio.run(_fetched(Url(url), None, {"clock": WallClock(), "resolve": server.everything}))
    assert (fetch.outcome, server.connections) == (Outcome.FAILED, 0)
    assert fetch.detail


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer({}) as proxy, LoopbackServer({"/": response(PAGE)}) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert fetched(server).content == PAGE
    assert proxy.connections == 0


def test_a_proxy_is_used_where_it_is_named_and_asked_for_no_private_address() -> None:
    with LoopbackServer({"http://a.example/": response(PAGE)}) as proxy:
        through = {"proxy": f"http://127.0.0.1:{proxy.port}", "resolve": ()}
        assert fetched(proxy, "http://a.example/", **through).content == PAGE
        for host in ("127.0.0.1", "localhost", "[::1]", "192.168.0.1", "2130706433", "printer.local", "intranet"):
            assert fetched(proxy, f"http://{host}/", **through).outcome is Outcome.REFUSED
    assert proxy.paths() == ["http://a.example/"]


@pytest.fixture
def pages() -> Iterator[LoopbackServer]:
    with LoopbackServer({f"/{number}": response(PAGE + b"%d" % number) for number in range(64)}) as server:
        yield server


async def _all(server: LoopbackServer, paths: list[str], *, at_once: bool) -> list[Fetch]:
    web = LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=server.everything)
    urls = [Url(HOST + path) for path in paths]
    if at_once:
        found = await asyncio.gather(*(web.fetch(url) for url in urls))
    else:
        found = [await web.fetch(url) for url in urls]
    await web.close()
    return found


def test_a_connection_is_kept_and_used_again(pages: LoopbackServer) -> None:
    found = asyncio.run(_all(pages, ["/1", "/missing", "/2", "/3"], at_once=False))
    assert [fetch.outcome for fetch in found] == [Outcome.OK, Outcome.GONE, Outcome.OK, Outcome.OK]
    assert pages.connections == 1


def test_many_fetches_run_at_a_time_and_none_gets_the_answer_of_another(pages: LoopbackServer) -> None:
    found = asyncio.run(_all(pages, [f"/{number}" for number in range(64)], at_once=True))
    assert [fetch.content for fetch in found] == [PAGE + b"%d" % number for number in range(64)]


def test_a_cancelled_fetch_leaves_everything_in_order(pages: LoopbackServer) -> None:
    async def cancel_some() -> list[bytes]:
        web = LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=pages.everything)
        for delay in (0.0, 0.0, 0.001, 0.002):
            task = asyncio.create_task(web.fetch(Url(HOST + "/1")))
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        contents = [(await web.fetch(Url(f"{HOST}/{number}"))).content for number in (2, 3)]
        await web.close()
        return contents

    assert asyncio.run(cancel_some()) == [PAGE + b"2", PAGE + b"3"]


def test_closing_ends_what_is_under_way() -> None:
    async def close_early(server: LoopbackServer) -> tuple[Fetch, Fetch]:
        web = LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=server.everything)
        task = asyncio.create_task(web.fetch(Url(HOST + "/")))
        await asyncio.sleep(0.05)
        await web.close()
        await web.close()
        return await task, await web.fetch(Url(HOST + "/"))

    with LoopbackServer({"/": drip(response(Content_Length=""), b".")}) as server:
        under_way, after = asyncio.run(close_early(server))
    assert under_way.outcome is Outcome.FAILED
    assert after.outcome is Outcome.FAILED


def test_text_of_any_type_can_be_asked_for_within_its_own_limit() -> None:
    async def text(server: LoopbackServer) -> Fetch:
        web = LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=server.everything, max_body=10)
        fetch = await web.fetch_any_type(Url(HOST + "/robots.txt"), limit=100)
        await web.close()
        return fetch

    with LoopbackServer({"/robots.txt": response(b"x" * 200, Content_Type="text/plain")}) as server:
        fetch = asyncio.run(text(server))
    assert (fetch.outcome, fetch.content, fetch.truncated) == (Outcome.OK, b"x" * 100, "length")


def test_the_user_agent_says_who_we_are_and_whom_to_write_to() -> None:
    assert user_agent("1.2", "me@example.org") == "lycosa/1.2 (+https://github.com/lycosa/lycosa; me@example.org)"


def test_without_a_contact_public_addresses_are_refused_before_a_connection() -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        fetch = fetched(server, "http://93.184.215.14/", resolve=(), allow_public=False, allow_private=True)
        assert fetch.outcome is Outcome.REFUSED
        assert "no contact" in fetch.detail
        assert (
            fetched(
                server, f"http://127.0.0.1:{server.port}/", resolve=(), allow_public=False, allow_private=True
            ).content
            == PAGE
        )


@pytest.mark.parametrize("length", ["\u00b2\u00b3", "\u00b9", "12\u00b2", "1e3", "-5", "99999999999999999999"])
def test_a_strange_content_length_of_an_error_is_no_obstacle(length: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = response(b"no", "404 Not Found", Content_Length=length)
    with LoopbackServer({"/": lambda connection: connection.sendall(answer)}) as server:
        fetch = fetched(server)
    assert fetch.outcome in (Outcome.GONE, Outcome.FAILED)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("port", [1, 22, 25, 6000, 6667, 10080])
def test_ports_of_other_protocols_are_not_asked(port: int) -> None:
    with LoopbackServer({"/": response(PAGE)}) as server:
        fetch = fetched(server, f"http://a.example:{port}/")
        assert fetched(server, "http://a.example:8080/").outcome is Outcome.OK
    assert (fetch.outcome, fetch.detail) == (Outcome.REFUSED, f"port {port} is of another protocol than HTTP")
    assert server.connections == 1


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_response_that_nobody_asked_for_is_not_the_answer_for_the_next_page(seconds: float) -> None:
    is_sent = threading.Event()

    def twice(connection: socket.socket) -> None:
        connection.sendall(response(b"<html>first"))
        time.sleep(seconds)
        connection.sendall(response(b"<html>late"))
        is_sent.set()
        while head := connection.recv(65_536):
            connection.sendall(response(b"<html>" + head.split(b" ")[1]))

    async def ask(server: LoopbackServer) -> list[bytes]:
        web = LiveWeb(user_agent="lycosa/1", clock=WallClock(), resolve=server.everything)
        found = []
        for path in ("/", "/next", "/next"):
            found.append((await web.fetch(Url(HOST + path))).content)
            assert await asyncio.to_thread(is_sent.wait, PATIENCE)
        await web.close()
        return found

    with LoopbackServer({"/": twice, "/next": response(b"<html>next")}) as server:
        assert asyncio.run(ask(server)) == [b"<html>first", b"<html>next", b"<html>next"]
    assert server.connections == 2  # the second is kept


def test_few_connections_to_one_address_are_kept_whatever_its_names() -> None:
    """300 ports and names of one address would hold 300 connections of its server."""

    async def ask(server: LoopbackServer) -> tuple[int, int]:
        web = LiveWeb(user_agent="lycosa/1", clock=WallClock(), allow_private=True)
        for number in range(20):
            assert (await web.fetch(Url(f"http://n{number}.localhost:{server.port}/"))).outcome is Outcome.OK
        give_up_at = time.monotonic() + PATIENCE
        while server.open_connections > 4 and time.monotonic() < give_up_at:  # it learns of an end a little later
            await asyncio.sleep(0.01)
        at_the_end = server.open_connections
        assert (await web.fetch(Url(f"http://n19.localhost:{server.port}/"))).outcome is Outcome.OK
        assert (await web.fetch(Url(f"http://n1.localhost:{server.port}/"))).outcome is Outcome.OK
        await web.close()
        return at_the_end, server.connections

    with LoopbackServer({"/": response(PAGE)}) as server:
        kept, opened = asyncio.run(ask(server))
    assert 1 <= kept <= 4
    assert opened == 21  # the one that was kept is used again, of those that were ended another is opened
