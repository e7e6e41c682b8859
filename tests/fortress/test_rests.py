"""A host that asks to be left alone is so after a kill, and whatever becomes of the clock."""

import asyncio
import time

import pytest

from crawling import archives, begin, collection, kill, lycosa, wait_until
from lycosa.frontier.memory import MemoryFrontier
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Url
from web.loopback import LoopbackServer, response, silence

BUSY = response(b"", "429 Too Many Requests", Retry_After="3600")


@pytest.mark.parametrize("path", ["/", "/robots.txt"])
def test_retry_after_survives_a_kill(tmp_path, path: str) -> None:
    """One host asks for an hour, another keeps the crawl from its end; it is killed at once."""
    nothing = {"/robots.txt": response(b"", "404 Not Found")}
    with LoopbackServer({**nothing, path: BUSY}) as busy, LoopbackServer({**nothing, "/": silence}) as silent:
        folder = collection(tmp_path / "c", ["http://busy.example/", "http://silent.example/"])
        where = ("--resolve", busy.everything[0], "--delay", 0)
        process = begin("crawl", folder, *where, "--resolve", f"silent.example=127.0.0.1:{silent.port}")
        wait_until(lambda: path in busy.paths() and "/" in silent.paths(), process)
        wait_until(
            lambda: any(b"Retry-After" in _bytes(file) or b"out of reach" in _bytes(file) for file in archives(folder))
        )
        kill(process)
        asked = len(busy.requests)
        with LoopbackServer({}) as empty:
            said = lycosa("crawl", folder, *where, "--resolve", f"silent.example=127.0.0.1:{empty.port}")
    assert len(busy.requests) == asked
    assert "asked to wait" in said.err


def _bytes(file) -> bytes:
    import zlib

    data, found = file.read_bytes(), b""
    while data:
        member = zlib.decompressobj(31)
        try:
            found += member.decompress(data)
        except zlib.error:
            break
        data = member.unused_data
    return found


def test_an_example_that_asks_for_rest_is_left_alone_by_the_crawl_too(tmp_path) -> None:
    with LoopbackServer({"/robots.txt": response(b"", "404 Not Found"), "/": BUSY}) as server:
        folder = collection(tmp_path / "c", ["http://a.example/"], topic='examples = "good.txt"\nkeywords = ["honey"]')
        (folder / "good.txt").write_text("http://a.example/\n")
        for _ in range(2):
            begin("crawl", folder, "--resolve", server.everything[0], "--delay", 0).communicate()
    assert server.paths().count("/") == 1


def test_a_clock_that_is_set_back_does_not_make_hosts_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    clock = WallClock()
    frontier = MemoryFrontier(clock=clock, delay=0.01)
    frontier.put([Candidate(Url("http://a.example/1"), 0.9), Candidate(Url("http://a.example/2"), 0.8)])
    before = clock.now()
    first = frontier.take(before)
    assert first is not None
    frontier.settle(first.url)
    monkeypatch.setattr(time, "time", lambda: real() - 3_600.0)
    assert before <= clock.now() < before + 60.0
    ready_at = frontier.next_ready_at()
    assert ready_at is not None
    assert ready_at - clock.now() <= 0.01
    asyncio.run(clock.sleep_until(ready_at))
    assert frontier.take(clock.now()) is not None


def test_a_clock_that_is_set_forward_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    real, clock = time.time, WallClock()
    monkeypatch.setattr(time, "time", lambda: real() + 3_600.0)
    assert clock.now() >= real() + 3_599.0


def test_a_rest_that_was_noted_by_another_clock_is_a_day_at_most(tmp_path) -> None:
    from sessions import opened

    folder = collection(tmp_path / "c", ["http://a.example/"])
    with opened(folder) as session:
        session.frontier.hold("a.example", session.clock.now() + 10 * 365 * 86_400.0)
    with opened(folder) as session:
        assert session.frontier.resting_beyond(0.0)["a.example"] <= session.clock.now() + 86_400.0
