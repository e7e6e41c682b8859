"""Pages of other peers, as they come into a collection."""

from datetime import UTC, datetime

import pytest

from crawling import done
from lycosa.run.imports import PeerPage, import_peer_pages
from lycosa.run.open import has_personal_pages
from lycosa.vocabulary.clock import SimulatedClock
from sessions import NOW
from sharing import add_pages, shared

URL = "http://friend.example/"


def record(fetched_at: str) -> bytes:
    """A page on honey, said to be fetched at some time."""
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Friend</title><p>Honey of a friend"
    head = [
        "WARC/1.0",
        "WARC-Type: response",
        f"WARC-Target-URI: {URL}",
        f"WARC-Date: {fetched_at}",
        "WARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789012>",
        "WARC-IP-Address: 192.0.32.7",  # a public one, else nobody is told of the page
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(http)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + http + b"\r\n\r\n"


def taken(folder, fetched_at):
    return import_peer_pages(
        folder, [PeerPage(URL, record(fetched_at), "friend")], clock=SimulatedClock(NOW), notify=lambda line: None
    )


@pytest.fixture
def folder(tmp_path):
    return add_pages(tmp_path / "c", {"http://bees.example/": ("Bees", "wax"), "http://bees.example/2": ("Two", "wax")})


@pytest.mark.parametrize("fetched_at", ["0001-01-01T00:00:00Z", "1900-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_page_of_a_time_that_cannot_be_is_not_taken(folder, fetched_at):
    assert taken(folder, fetched_at).unusable == (URL,)
    assert "2 pages" in done("show", folder).out


@pytest.mark.parametrize("seconds_ago", [-3600, 0, 10 * 365 * 86_400])
def test_a_page_of_any_other_time_is_taken_and_found(folder, seconds_ago):
    moment = datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert taken(folder, moment).pages == (URL,)
    with shared(folder) as content:
        assert [hit.item for hit in content.find_own("honey", 5).hits] == [URL]


def test_a_peer_cannot_make_its_page_pass_for_one_that_only_this_user_may_see(folder):
    """By a request with a cookie beside it, for which published screens would not show the collection."""
    request = "GET / HTTP/1.1\r\nHost: friend.example\r\nCookie: a=1\r\n\r\n"
    head = ["WARC/1.0", "WARC-Type: request", f"WARC-Target-URI: {URL}", "WARC-Date: 2020-01-01T00:00:00Z"]
    head += ["Content-Type: application/http; msgtype=request", f"Content-Length: {len(request)}"]
    both = record("2020-01-01T00:00:00Z") + ("\r\n".join(head) + f"\r\n\r\n{request}\r\n\r\n").encode()
    page = PeerPage(URL, both, "friend")
    found = import_peer_pages(folder, [page], clock=SimulatedClock(NOW), notify=lambda line: None)
    assert found.pages == (URL,)
    assert not has_personal_pages(folder)
