"""A small web and the events of a crawl of it."""

import gzip
import io
import resource
import signal
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import warcio.cli
from msgspec.structs import replace

from lycosa.collection import Archive, Attempt, Collection, Event, FetchedExample, RunStart, RunStop, Scores
from lycosa.collection.collection import SearchableText
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import REFRESH, Candidate, Change, Fetch, Link, Outcome, Page, PastFetch, Url, Visit
from pages import GivenWords

HOME = Url("http://spiders.example/")
WOLF = Url("http://spiders.example/wolf?kind=lycosa&b=1")
CARS = Url("http://cars.example:8080/")
HTML = b"<html><title>Wolf spiders</title><body>They hunt, \xe2\x80\x9cfast\xe2\x80\x9d.</body></html>"


def warcio_check(*paths: Path) -> None:
    """Another program finds nothing wrong with these archives."""
    with redirect_stdout(io.StringIO()) as said:
        try:
            warcio.cli.main(["check", *map(str, paths)])
        except SystemExit as ended:
            assert not ended.code, said.getvalue()


def decode(body: bytes, encoding: str, limit: int) -> tuple[bytes, bool]:
    if encoding != "gzip":
        return body[:limit], len(body) > limit
    content = zlib.decompressobj(31).decompress(body, limit)
    return content, len(content) == limit


def extract_text(fetch: Fetch, page: Page | None) -> SearchableText:
    if page is not None:
        return SearchableText(page.title, page.text)
    title = fetch.content.partition(b"<title>")[2].partition(b"</title>")[0].decode("utf-8", "replace")
    return SearchableText(title, fetch.content.decode("utf-8", "replace"))


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


def look(
    url: Url, change: Change, *, at: float, text: str = "", links: tuple[str, ...] = (), new: tuple[str, ...] = ()
) -> Visit:
    """A page that was seen again."""
    known = PastFetch(
        url, 1.7e9, Outcome.OK, 200, 7, '"abc"', payload="sha1:AAAA" if change is not change.CHANGED else ""
    )
    candidate = Candidate(url, 0.5, because={"refresh": "fixed"}, depth=1, lane=REFRESH)
    if change in (Change.UNCHANGED, Change.RETURNED) and not text:
        fetch = fetched(url, at=at, outcome=Outcome.UNCHANGED, body=b"", content=b"")
        return Visit(candidate, fetch, known=known, change=change)
    if not text:
        gone = {"outcome": Outcome.GONE, "status": 404, "reason": "Not Found", "detail": "HTTP 404 Not Found"}
        return Visit(candidate, fetched(url, at=at, **gone), known=known, change=change)
    body = f"<title>{text}</title>".encode()
    page = page_of(url, title=text, links=tuple(Link(Url(to)) for to in links), digest=hash(text) & 0xFFFFFFFF)
    headers = (("Content-Type", "text/html"), ("ETag", f'"{text}"'))
    fetch = fetched(url, at=at, body=body, content=body, headers=headers)
    return Visit(candidate, fetch, page, 0.5, known=known, change=change, new_links=tuple(map(Url, new)))


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
        RunStart(1.7e9, "best-first", (HOME, CARS), {"hosts": ["spiders.example"]}),
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
        FetchedExample(WOLF, True, fetched(WOLF)),
        FetchedExample(CARS, False, Fetch(CARS, Outcome.FAILED, 1.7e9, detail="no such host")),
        Scores(1.7e9 + 2, "labelled", {WOLF: 0.9, HOME: 0.125}),
        RunStart(1.7e9 + 2.5, "best-first", (), None, None, {"policy": "fixed", "budget": 3, "expand": 0.5}),
        replace(look(WOLF, Change.CHANGED, at=1.7e9 + 9, text="Newer", new=(str(HOME),)), page=None),
        look(WOLF, Change.UNCHANGED, at=1.7e9 + 10),
        look(WOLF, Change.VANISHED, at=1.7e9 + 11),
        RunStop(1.7e9 + 3, "enough pages"),
    ]


def archive_in(folder: Path, *, writable: bool = True, max_bytes: int = 1 << 30) -> Archive:
    clock = SimulatedClock(1.7e9)
    return Archive(folder, software="lycosa/0", clock=clock, decode=decode, writable=writable, max_bytes=max_bytes)


def collection_in(folder: Path, *, writable: bool = True, **more: object) -> Collection:
    settings = {"clock": SimulatedClock(1.7e9), **more}
    return Collection.open(
        folder, decode=decode, extract_text=extract_text, software="lycosa/0", writable=writable, **settings
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
