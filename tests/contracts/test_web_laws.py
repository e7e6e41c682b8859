"""What holds for every Web, whatever it answers from."""

import asyncio
import gzip
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random

import pytest

from lycosa.run.examples import PrefetchedWeb
from lycosa.vocabulary.clock import SimulatedClock, WallClock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.web.http import LiveWeb
from lycosa.web.robots import RobotsWeb, TextWeb
from web.archived import ArchivedWeb
from web.flaky import FlakyWeb
from web.loopback import LoopbackServer, response
from web.simulated import Reply, SimulatedWeb

HOST = "http://www.example.org"
PAGE, MOVED, PICTURE, MISSING = (Url(HOST + path) for path in ("/page", "/moved", "/picture", "/missing"))
REPLIES = {
    PAGE: Reply(200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, gzip.compress(b"<html>page")),
    MOVED: Reply(302, {"Location": "/page#part"}, b"over there"),
    PICTURE: Reply(200, {"Content-Type": "image/png"}, b"\x89PNG"),
}
STRANGE = [
    "",
    "x",
    "ftp://a.example/",
    "http://",
    "http://a b/",
    "http://\x00/",
    "http://é.invalid/",
    "http://[/",
    "http://%zz/",
]


def simulated() -> SimulatedWeb:
    return SimulatedWeb(REPLIES, clock=SimulatedClock())


@contextmanager
def a_simulated_web(_: Path) -> Iterator[TextWeb]:
    yield simulated()


@contextmanager
def a_polite_web(_: Path) -> Iterator[TextWeb]:
    yield RobotsWeb(simulated(), user_agent="lycosa", clock=SimulatedClock())


@contextmanager
def a_flaky_web_on_a_good_day(_: Path) -> Iterator[TextWeb]:
    yield FlakyWeb(simulated(), failure_rate=0.0, random=Random(1), clock=SimulatedClock())


@contextmanager
def a_web_that_remembers_another_page(_: Path) -> Iterator[TextWeb]:
    other = Url(HOST + "/other")
    yield PrefetchedWeb(simulated(), {other: Fetch(other, Outcome.OK, 0.0)})


@contextmanager
def an_archived_web(folder: Path) -> Iterator[TextWeb]:
    path = folder / "pages.warc"
    records = []
    for number, (url, reply) in enumerate(REPLIES.items()):
        http = _sent(reply)
        head = (
            f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
        )
        records.append(head.encode() + http + b"\r\n\r\n")
    path.write_bytes(b"".join(records))
    yield ArchivedWeb.from_files([path])


@contextmanager
def a_live_web(_: Path) -> Iterator[TextWeb]:
    with LoopbackServer({url.removeprefix(HOST): _sent(reply) for url, reply in REPLIES.items()}) as server:
        yield LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=server.everything, timeout=5.0)


def _sent(reply: Reply) -> bytes:
    headers = {"Content_Type": ""} | {name.replace("-", "_"): value for name, value in reply.headers.items()}
    return response(reply.body, f"{reply.status} Reason", **headers)


WEBS = [
    a_simulated_web,
    a_polite_web,
    a_flaky_web_on_a_good_day,
    a_web_that_remembers_another_page,
    an_archived_web,
    a_live_web,
]
MakeWeb = Callable[[Path], AbstractContextManager[TextWeb]]


@pytest.fixture(params=WEBS, ids=lambda make: make.__name__)
def make_web(request: pytest.FixtureRequest) -> MakeWeb:
    make: MakeWeb = request.param
    return make


def fetched(make_web: MakeWeb, folder: Path, *urls: str, text: bool = False) -> list[Fetch]:
    async def ask(web: TextWeb) -> list[Fetch]:
        found = [await (web.fetch_any_type(Url(url)) if text else web.fetch(Url(url))) for url in urls]
        await web.close()
        await web.close()  # closing twice is closing once
        return found

    with make_web(folder) as web:
        return asyncio.run(ask(web))


def test_every_web_brings_a_page_decoded_and_as_sent(make_web: MakeWeb, tmp_path: Path) -> None:
    (fetch,) = fetched(make_web, tmp_path, PAGE)
    assert (fetch.url, fetch.outcome, fetch.status) == (PAGE, Outcome.OK, 200)
    assert fetch.content == b"<html>page"
    assert gzip.decompress(fetch.body) == b"<html>page"
    assert fetch.header("content-type") == "text/html"
    assert fetch.truncated == ""


def test_no_web_follows_a_redirect(make_web: MakeWeb, tmp_path: Path) -> None:
    (fetch,) = fetched(make_web, tmp_path, MOVED)
    assert (fetch.url, fetch.outcome, fetch.location, fetch.content) == (MOVED, Outcome.MOVED, PAGE, b"")


def test_no_web_hands_out_what_is_not_html_unless_asked_for_text(make_web: MakeWeb, tmp_path: Path) -> None:
    (fetch,) = fetched(make_web, tmp_path, PICTURE)
    assert (fetch.outcome, fetch.body, fetch.content) == (Outcome.UNWANTED, b"", b"")
    (fetch,) = fetched(make_web, tmp_path, PICTURE, text=True)
    assert (fetch.outcome, fetch.content) == (Outcome.OK, b"\x89PNG")


def test_an_unknown_page_is_gone_from_every_web(make_web: MakeWeb, tmp_path: Path) -> None:
    (fetch,) = fetched(make_web, tmp_path, MISSING)
    assert fetch.outcome is Outcome.GONE
    assert fetch.detail


def test_no_web_raises_whatever_it_is_asked_for(make_web: MakeWeb, tmp_path: Path) -> None:
    for fetch in fetched(make_web, tmp_path, *STRANGE) + fetched(make_web, tmp_path, *STRANGE, text=True):
        assert fetch.outcome in (Outcome.FAILED, Outcome.GONE, Outcome.BUSY)
        assert fetch.detail


def test_every_web_answers_the_same_question_twice(make_web: MakeWeb, tmp_path: Path) -> None:
    first, second = fetched(make_web, tmp_path, PAGE, PAGE)
    assert (first.outcome, first.content) == (second.outcome, second.content)


def test_every_web_takes_what_is_known_of_a_page(make_web: MakeWeb, tmp_path: Path) -> None:
    async def ask(web: TextWeb) -> Fetch:
        known = PastFetch(PAGE, 0.0, Outcome.OK, etag='"of another time"', last_modified="a\r\nbad: one")
        fetch = await web.fetch(PAGE, known=known)
        await web.close()
        return fetch

    with make_web(tmp_path) as web:
        assert asyncio.run(ask(web)).outcome is Outcome.OK
