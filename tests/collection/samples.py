"""A small web and the events of a crawl of it."""

import gzip
import resource
import signal
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.collection import Archive, Attempt, Collection, Event, Example, Run, Scores, Stop
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Url, Visit
from pages import GivenWords

HOME = Url("http://spiders.example/")
WOLF = Url("http://spiders.example/wolf?kind=lycosa&b=1")
CARS = Url("http://cars.example:8080/")
HTML = b"<html><title>Wolf spiders</title><body>They hunt, \xe2\x80\x9cfast\xe2\x80\x9d.</body></html>"


def decode(body: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    if encoding != "gzip":
        return body[:limit], len(body) > limit
    content = zlib.decompressobj(31).decompress(body, limit)
    return content, len(content) == limit


def searchable(fetch: Fetch, page: Page | None) -> tuple[str, str]:
    if page is not None:
        return page.title, page.text
    title = fetch.content.partition(b"<title>")[2].partition(b"</title>")[0].decode("utf-8", "replace")
    return title, fetch.content.decode("utf-8", "replace")


def fetched(url: Url, *, at: float = 1.7e9, body: bytes = HTML, **more: object) -> Fetch:
    facts: dict[str, object] = {
        "outcome": Outcome.OK,
        "status": 200,
        "reason": "OK",
        "headers": (("Content-Type", "text/html; charset=utf-8"), ("ETag", '"abc"')),
        "request_headers": (("User-Agent", "lycosa/0"), ("Accept", "text/html")),
        "body": body,
        "content": body,
        "address": "192.0.2.7",
        "elapsed": 0.125,
    }
    return Fetch(url=url, at=at, **{**facts, **more})


def page_of(url: Url, *, title: str = "Wolf spiders", links: tuple[Link, ...] = (), **more: object) -> Page:
    text = f"{title} hunt on the ground"
    facts: dict[str, object] = {"text": text, "main": text, "digest": (1 << 64) - 5, "fingerprint": 1 << 63}
    return Page(url=url, title=title, words=GivenWords({}), links=links, language="en", **{**facts, **more})


def visit(
    url: Url, relevance: float = 0.75, *, at: float = 1.7e9, found_on: Url | None = None, **more: object
) -> Visit:
    candidate = Candidate(url, 0.5, found_on, "the wolf", {"parent": 0.25, "words": ["a"]}, 1, 0, 0)
    facts: dict[str, object] = {"page": page_of(url, title=f"Title of {url}")}
    return Visit(candidate, fetched(url, at=at), relevance=relevance, **{**facts, **more})


def every_kind_of_event() -> list[Event]:
    packed = gzip.compress(HTML, mtime=0)
    gzip_headers = (
        ("content-type", "text/html"),
        ("Content-Encoding", "gzip"),
        ("transfer-encoding", "chunked"),
        ("X-Name", "caf\xe9"),
    )
    candidate = Candidate(WOLF, 0.5, HOME, "wölfe", {"parent": 0.1}, 2, 1, 1)

    def ended(outcome: Outcome, **more: object) -> Visit:
        return Visit(candidate, Fetch(url=WOLF, outcome=outcome, at=1.7e9 + 1.5, **more))

    return [
        Run(1.7e9, "best-first", (HOME, CARS), {"hosts": ["spiders.example"]}),
        Visit(candidate, fetched(WOLF), relevance=0.25, duplicate_of=HOME),
        Visit(candidate, fetched(WOLF, body=packed, content=HTML, headers=gzip_headers, http_version="2")),
        Visit(candidate, fetched(WOLF, body=packed, content=HTML[:20], headers=gzip_headers, truncated="length")),
        Visit(candidate, fetched(WOLF, body=b"", content=b"", headers=(), reason="", request_headers=())),
        Visit(candidate, fetched(WOLF, request_headers=(("Host", "spiders.example"), ("Accept", "*/*")))),
        Visit(candidate, fetched(WOLF, headers=(("X-Name", "\u4e16\u754c"), (":odd", " kept "), ("Empty", "")))),
        ended(Outcome.UNCHANGED, status=304, reason="Not Modified", headers=(("ETag", '"abc"'),), address="192.0.2.7"),
        ended(Outcome.MOVED, status=301, reason="Moved", location=HOME, headers=(("Location", "/"),)),
        ended(Outcome.UNWANTED, status=200, reason="OK", headers=(("Content-Type", "application/pdf"),)),
        ended(Outcome.GONE, status=404, reason="Not Found", body=b"no such page", content=b"no such page"),
        ended(Outcome.BUSY, status=503, reason="Later", host_not_before=1.7e9 + 60),
        ended(Outcome.FORBIDDEN, detail="robots.txt"),
        ended(Outcome.REFUSED, detail="a private address", address="127.0.0.1"),
        Attempt(candidate, Fetch(WOLF, Outcome.FAILED, 1.7e9, request_headers=(("A", "b"),), detail="timeout")),
        Example(WOLF, True, fetched(WOLF)),
        Example(CARS, False, Fetch(CARS, Outcome.FAILED, 1.7e9, detail="no such host")),
        Scores(1.7e9 + 2, "labelled", {WOLF: 0.9, HOME: 0.125}),
        Stop(1.7e9 + 3, "enough pages"),
    ]


def archive_in(folder: Path, *, writable: bool = True, max_bytes: int = 1 << 30) -> Archive:
    clock = SimulatedClock(1.7e9)
    return Archive(folder, software="lycosa/0", clock=clock, decode=decode, writable=writable, max_bytes=max_bytes)


def collection_in(folder: Path, *, writable: bool = True, **more: object) -> Collection:
    clock = SimulatedClock(1.7e9)
    return Collection.open(
        folder, clock=clock, decode=decode, searchable=searchable, software="lycosa/0", writable=writable, **more
    )


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """What a full disk does, for this process: writing beyond a size fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
