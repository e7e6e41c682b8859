import asyncio
import gzip
import zlib
from collections.abc import Coroutine, Mapping
from itertools import pairwise
from typing import Any, TypeVar

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.clock import SimulatedClock, WallClock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.web.http import LiveWeb
from lycosa.web.robots import RobotsWeb
from web.loopback import LoopbackServer, response, silence
from web.simulated import Reply, SimulatedWeb

HOST = "http://a.example"
PAGES = {Url(HOST + path): f"<html>{path}" for path in ("/", "/open", "/open/not", "/shut", "/shut/but", "/x?q=1")}
Result = TypeVar("Result")


def done(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that needs no event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


class CountingWeb:
    """A simulated web that lists what it was asked."""

    def __init__(self, robots: bytes | str | Reply | None, *, more: Mapping[Url, bytes | str | Reply] = {}):
        self.clock = SimulatedClock(1_000.0)
        self.asked: list[str] = []
        self.pages: dict[Url, bytes | str | Reply] = {**PAGES, **more}
        if robots is not None:
            self.pages[Url(HOST + "/robots.txt")] = robots
        self._web = SimulatedWeb(self.pages, clock=self.clock)

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        self.asked.append(url.removeprefix(HOST))
        return await self._web.fetch(url, known=known)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        self.asked.append(url.removeprefix(HOST))
        return await self._web.fetch_any_type(url, limit=limit)

    async def close(self) -> None:
        pass


def polite(web: CountingWeb) -> RobotsWeb:
    return RobotsWeb(web, user_agent="lycosa/0.1 (+https://lycosa.example; me)", clock=web.clock)


def outcome(robots: str, path: str) -> Outcome:
    return done(polite(CountingWeb(robots)).fetch(Url(HOST + path))).outcome


def test_what_is_forbidden_is_not_asked_for() -> None:
    web = CountingWeb("User-agent: *\nDisallow: /shut")
    robots = polite(web)
    assert done(robots.fetch(Url(HOST + "/shut"))).outcome is Outcome.FORBIDDEN
    assert done(robots.fetch(Url(HOST + "/open"))).outcome is Outcome.OK
    assert done(robots.fetch_any_type(Url(HOST + "/shut"))).outcome is Outcome.FORBIDDEN
    assert web.asked == ["/robots.txt", "/open"]


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("User-agent: *\nDisallow: /shut\nAllow: /shut/but", "/shut/but", Outcome.OK),
        ("User-agent: *\nAllow: /open\nDisallow: /open/not", "/open/not", Outcome.FORBIDDEN),
        ("User-agent: *\nDisallow: /*q=", "/x?q=1", Outcome.FORBIDDEN),
        ("User-agent: *\nDisallow: /shut$", "/shut/but", Outcome.OK),
        ("User-agent: *\nDisallow: /shut\nAllow: /shut", "/shut", Outcome.OK),
        ("User-agent: *\nDisallow: /\n\nUser-agent: lycosa\nDisallow: /shut", "/open", Outcome.OK),
        ("User-agent: *\nDisallow:\n\nUser-agent: LYCOSA/2.0\nDisallow: /open", "/open", Outcome.FORBIDDEN),
        ("User-agent: other\nUser-agent: lycosa\nDisallow: /open", "/open", Outcome.FORBIDDEN),
        ("User-agent: other\nDisallow: /open", "/open", Outcome.OK),
        ("User-agent: lyco\nDisallow: /open", "/open", Outcome.OK),
        ("User-agent: lycosa-news\nDisallow: /open", "/open", Outcome.OK),
        ("User-agent: other\nDisallow: /\nUser-agent: *\nDisallow: /open", "/open", Outcome.FORBIDDEN),
        ("\ufeffuser agent : *  # all\rDISALLOW : /open", "/open", Outcome.FORBIDDEN),
        ("User-agent: * (all)\nDisallow: /open", "/open", Outcome.FORBIDDEN),
        ("User-agent: *lyc\nDisallow: /open", "/open", Outcome.OK),
        ("User-agent: '*'\nDisallow: \"/open\"", "/open", Outcome.FORBIDDEN),
        ("User-agent: other, Lycosa/2.0\nDisallow: /open", "/open", Outcome.FORBIDDEN),
        ("User-agent: *\nDisallow: open", "/open", Outcome.FORBIDDEN),
        ("User-agent: *\nDisallow: https://a.example/open", "/open", Outcome.FORBIDDEN),
        ("User-agent: *\nDisallow: https://a.example", "/open", Outcome.FORBIDDEN),
        ("User-agent: other\nDisallow: open\nUser-agent: *\nAllow: open", "/open", Outcome.OK),
        ("Sitemap: /map.xml\nDisallow: /open", "/open", Outcome.FORBIDDEN),
        ("<html>not found</html>", "/open", Outcome.OK),
        ("", "/open", Outcome.OK),
    ],
)  # fmt: skip
def test_the_most_specific_rule_of_our_group_decides(rules: str, path: str, expected: Outcome) -> None:
    assert outcome(rules, path) is expected


@pytest.mark.parametrize("status", [204, 205, 400, 401, 403, 404, 410, 451])
def test_a_robots_txt_that_is_not_there_or_empty_forbids_nothing(status: int) -> None:
    assert done(polite(CountingWeb(Reply(status))).fetch(Url(HOST + "/open"))).outcome is Outcome.OK


@pytest.mark.parametrize("status", [201, 202, 206, 207, 226, 299, 300, 304, 305, 399])
def test_a_status_that_is_neither_success_nor_absence_forbids_everything_for_now(status: int) -> None:
    web = CountingWeb(Reply(status, body=b"User-agent: *\nAllow: /"))
    robots = polite(web)
    fetch = done(robots.fetch(Url(HOST + "/open")))
    assert (fetch.outcome, fetch.host_not_before) == (Outcome.BUSY, web.clock.now() + 60)
    assert "out of reach" in fetch.detail
    done(web.clock.sleep_until(fetch.host_not_before))
    web.pages[Url(HOST + "/robots.txt")] = "User-agent: *\nDisallow: /shut"
    assert done(robots.fetch(Url(HOST + "/open"))).outcome is Outcome.OK


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_while_robots_txt_is_out_of_reach_the_host_waits_longer_each_time(status: int) -> None:
    web = CountingWeb(Reply(status, {"Retry-After": "1"}))
    robots = polite(web)
    for wait in (60, 120, 240, 480, 960, 1_920, 3_600, 3_600):
        now, asked = web.clock.now(), len(web.asked)
        first, second = done(robots.fetch(Url(HOST + "/open"))), done(robots.fetch(Url(HOST + "/shut")))
        assert (first.outcome, first.host_not_before) == (Outcome.BUSY, now + wait)
        assert (second.outcome, second.host_not_before) == (Outcome.BUSY, now + wait)
        assert web.asked[asked:] == ["/robots.txt"]
        assert "robots.txt" in first.detail
        done(web.clock.sleep_until(now + wait))
    web.pages[Url(HOST + "/robots.txt")] = "User-agent: *\nDisallow: /shut"
    assert done(robots.fetch(Url(HOST + "/open"))).outcome is Outcome.OK
    assert done(robots.fetch(Url(HOST + "/shut"))).outcome is Outcome.FORBIDDEN


def test_a_host_that_names_a_longer_wait_is_given_it() -> None:
    web = CountingWeb(Reply(503, {"Retry-After": "900"}))
    assert done(polite(web).fetch(Url(HOST + "/open"))).host_not_before == 1_900.0


def redirects(hops: int) -> dict[Url, bytes | str | Reply]:
    """robots.txt behind so many redirects, the last one to another host."""
    names = [
        "http://a.example/robots.txt",
        *(f"http://a.example/r{hop}" for hop in range(1, hops)),
        "http://b.example/r",
    ]
    moves = {Url(here): Reply(301, {"Location": there}) for here, there in pairwise(names)}
    return {**moves, Url(names[-1]): "User-agent: *\nDisallow: /shut"}


@pytest.mark.parametrize(("hops", "expected"), [(1, Outcome.FORBIDDEN), (5, Outcome.FORBIDDEN), (6, Outcome.OK)])
def test_five_redirects_are_followed_and_more_count_as_no_robots_txt(hops: int, expected: Outcome) -> None:
    web = CountingWeb(None, more=redirects(hops))
    assert done(polite(web).fetch(Url(HOST + "/shut"))).outcome is expected


def test_robots_txt_is_asked_for_once_a_day() -> None:
    web = CountingWeb("User-agent: *\nDisallow: /shut")
    robots = polite(web)
    for path in ("/", "/open", "/shut"):
        done(robots.fetch(Url(HOST + path)))
    assert web.asked.count("/robots.txt") == 1
    done(web.clock.sleep_until(web.clock.now() + 86_400))
    done(robots.fetch(Url(HOST + "/")))
    assert web.asked.count("/robots.txt") == 2


@pytest.mark.parametrize(
    ("rules", "wait"),
    [
        ("User-agent: *\nCrawl-delay: 5", 5.0),
        ("User-agent: *\nCrawl-delay: 5\nUser-agent: lycosa\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\nCrawl-delay: 999", 30.0),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: nan", None),
        ("User-agent: other\nCrawl-delay: 5", None),
    ],
)
def test_a_crawl_delay_is_obeyed_up_to_half_a_minute(rules: str, wait: float | None) -> None:
    fetch = done(polite(CountingWeb(rules)).fetch(Url(HOST + "/open")))
    assert fetch.outcome is Outcome.OK
    assert fetch.host_not_before == (None if wait is None else 1_000.0 + wait)


def test_a_longer_wait_that_a_page_asks_for_stands() -> None:
    busy = {Url(HOST + "/busy"): Reply(503, {"Retry-After": "100"})}
    web = CountingWeb("User-agent: *\nCrawl-delay: 5", more=busy)
    assert done(polite(web).fetch(Url(HOST + "/busy"))).host_not_before == 1_100.0


def test_five_hundred_kibibytes_are_read() -> None:
    filler = "# " + "x" * 97 + "\n"
    rules = "User-agent: *\n" + filler * 5_118 + "Disallow: /shut\n"
    assert 511_800 < len(rules) < 512_000
    assert outcome(rules + filler * 10_000 + "Disallow: /open", "/shut") is Outcome.FORBIDDEN
    assert outcome(rules + filler * 10_000 + "Disallow: /open", "/open") is Outcome.OK


def test_a_great_many_robots_times_a_great_many_rules_do_not_multiply() -> None:
    agents = "".join(f"User-agent: r{number}\n" for number in range(13_000))
    rules = "".join(f"Disallow: /*{number}\n" for number in range(13_000))
    assert outcome(agents + "User-agent: *\n" + rules + "Disallow: /shut", "/shut") is Outcome.FORBIDDEN


def test_past_a_thousand_wildcards_rules_are_cut_at_the_first() -> None:
    rules = "User-agent: *\n" + "".join(f"Disallow: /no{number}*x\n" for number in range(1_000))
    more = "Disallow: /shut*y\nAllow: /open\nSitemap: /s.xml"
    assert outcome(rules, "/no7/x") is Outcome.FORBIDDEN
    assert outcome(rules, "/no7/") is Outcome.GONE  # allowed, but not there
    assert outcome(rules + more, "/shut") is Outcome.FORBIDDEN
    assert outcome(rules + more, "/open") is Outcome.OK
    assert done(polite(CountingWeb(rules + more)).sitemaps(Url(HOST + "/"))) == [HOST + "/s.xml"]


@pytest.mark.slow
def test_past_ten_thousand_rules_what_is_not_allowed_is_forbidden() -> None:
    rules = "User-agent: *\nAllow: /open\n" + "".join(f"Disallow: /no{number}\n" for number in range(9_999))
    assert outcome(rules, "/x?q=1") is Outcome.OK
    assert outcome(rules + "Disallow: /one", "/x?q=1") is Outcome.FORBIDDEN
    assert outcome(rules + "Disallow: /one", "/open") is Outcome.OK


def test_the_rules_of_other_robots_are_not_ours() -> None:
    rules = "User-agent: other\nDisallow: /open\nDisallow: /shut\n\nUser-agent: *\nDisallow: /x\n"
    assert [outcome(rules, path) for path in ("/open", "/shut", "/x?q=1")] == [
        Outcome.OK,
        Outcome.OK,
        Outcome.FORBIDDEN,
    ]
    assert outcome("User-agent: a\n" + rules + "User-agent: a\nUser-agent: lycosa\nDisallow: /open", "/open") is (
        Outcome.FORBIDDEN
    )


def test_the_sitemaps_are_those_that_robots_txt_names() -> None:
    web = CountingWeb("Sitemap: /s.xml\nSitemap: http://b.example/t.xml\nSitemap: mailto:x\nSitemap: /s.xml")
    assert done(polite(web).sitemaps(Url(HOST + "/open"))) == [HOST + "/s.xml", "http://b.example/t.xml"]
    assert done(polite(CountingWeb(None)).sitemaps(Url(HOST + "/"))) == []


@given(st.binary(max_size=300))
def test_no_robots_txt_makes_it_fail(rules: bytes) -> None:
    done(polite(CountingWeb(rules)).fetch(Url(HOST + "/open")))


def live(server: LoopbackServer, *, timeout: float = 5.0) -> RobotsWeb:
    inside = LiveWeb(user_agent="lycosa", clock=WallClock(), resolve=server.everything, timeout=timeout)
    return RobotsWeb(inside, user_agent="lycosa", clock=WallClock())


def test_fetches_at_a_time_share_one_download_of_robots_txt() -> None:
    async def both(server: LoopbackServer) -> list[Outcome]:
        web = live(server)
        paths = ["/a", "/b", "/shut"] * 5
        found = await asyncio.gather(*(web.fetch(Url(HOST + path)) for path in paths))
        await web.close()
        return [fetch.outcome for fetch in found]

    routes = {
        "/robots.txt": response(b"User-agent: *\nDisallow: /shut", Content_Type="text/plain"),
        "/a": response(b"<html>"),
        "/b": response(b"<html>"),
    }
    with LoopbackServer(routes) as server:
        assert asyncio.run(both(server)) == [Outcome.OK, Outcome.OK, Outcome.FORBIDDEN] * 5
    assert server.paths().count("/robots.txt") == 1


def test_when_the_one_who_downloads_is_cancelled_another_takes_over() -> None:
    async def cancel_first(server: LoopbackServer) -> Outcome:
        web = live(server)
        first = asyncio.create_task(web.fetch(Url(HOST + "/a")))
        second = asyncio.create_task(web.fetch(Url(HOST + "/a")))
        await asyncio.sleep(0)
        first.cancel()
        fetch = await second
        await web.close()
        return fetch.outcome

    with LoopbackServer({"/a": response(b"<html>")}) as server:
        assert asyncio.run(cancel_first(server)) is Outcome.OK


def test_a_robots_txt_that_does_not_come_in_time_is_out_of_reach() -> None:
    async def ask(server: LoopbackServer) -> Fetch:
        web = live(server, timeout=1.0)
        fetch = await web.fetch(Url(HOST + "/a"))
        await web.close()
        return fetch

    with LoopbackServer({"/robots.txt": silence, "/a": response(b"<html>")}) as server:
        fetch = asyncio.run(ask(server))
    assert fetch.outcome is Outcome.BUSY
    assert "timed out" in fetch.detail
    assert server.paths() == ["/robots.txt"]


def test_where_the_address_is_refused_the_page_is_too() -> None:
    async def ask() -> Fetch:
        clock = WallClock()
        web = RobotsWeb(LiveWeb(user_agent="lycosa", clock=clock), user_agent="lycosa", clock=clock)
        fetch = await web.fetch(Url("http://127.0.0.1:8099/"))
        await web.close()
        return fetch

    fetch = asyncio.run(ask())
    assert (fetch.outcome, fetch.detail) == (Outcome.REFUSED, "127.0.0.1 is loopback")


FORBIDDING = (
    b"User-agent: *\n" + b"".join(b"# %d\n" % (number * 7_919) for number in range(4_000)) + b"Disallow: /open\n"
)
DAMAGED = {
    "gzip cut off": ("gzip", gzip.compress(FORBIDDING)[:-200]),
    "gzip without its end": ("gzip", gzip.compress(FORBIDDING)[:-8]),
    "gzip of garbage": ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 50),
    "a second member cut off": ("gzip", gzip.compress(b"# one\n") + gzip.compress(FORBIDDING)[:-200]),
    "deflate cut off": ("deflate", zlib.compress(FORBIDDING)[:-200]),
    "brotli cut off": ("br", brotli.compress(FORBIDDING, quality=5)[:-200]),
    "brotli of garbage": ("br", b"\xff" * 50),
    "zstd cut off": ("zstd", zstandard.compress(FORBIDDING)[:-200]),
    "zstd of garbage": ("zstd", b"\x28\xb5\x2f\xfd" + b"\xff" * 50),
    "four layers": ("gzip, gzip, gzip, gzip", gzip.compress(b"# never read")),
    "two layers, the inner one cut off": ("gzip, br", brotli.compress(gzip.compress(FORBIDDING)[:-200])),
    "gzip that no header tells of": ("identity", gzip.compress(FORBIDDING)),
    "an encoding that nobody has": ("dcb", FORBIDDING),
}


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_robots_txt_that_is_whole_is_obeyed_in_every_encoding(encoding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}[
        encoding
    ]
    for body, expected in ((FORBIDDING, Outcome.FORBIDDEN), (b"Disallow:", Outcome.OK), (b"", Outcome.OK)):
        reply = Reply(200, {"Content-Encoding": encoding}, pack(body))
        assert done(polite(CountingWeb(reply)).fetch(Url(HOST + "/open"))).outcome is expected


@pytest.mark.parametrize("name", DAMAGED)
def test_while_robots_txt_is_damaged_nothing_is_asked_for(name: str) -> None:
    encoding, body = DAMAGED[name]
    web = CountingWeb(Reply(200, {"Content-Encoding": encoding}, body))
    fetch = done(polite(web).fetch(Url(HOST + "/open")))
    assert (fetch.outcome, web.asked) == (Outcome.BUSY, ["/robots.txt"])
    assert "damaged" in fetch.detail


def test_a_line_that_is_cut_at_the_limit_allows_nothing() -> None:
    start = "User-agent: *\nDisallow: /\n"
    rules = start + "#" * (512_000 - len(start) - 9) + "\nAllow: /public-only-this\n"
    assert rules[:512_000].endswith("\nAllow: /")
    assert outcome(rules, "/open") is Outcome.FORBIDDEN
    assert outcome(rules[: 512_000 - 9] + "\nDisallow: /open-is-not-meant", "/x?q=1") is Outcome.FORBIDDEN


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        ("\ufeff", "utf-8"),
        ("\ufeff\ufeff", "utf-8"),
        ("\ufeff", "utf-16-le"),
        ("\ufeff", "utf-16-be"),
        ("\ufeff\ufeff", "utf-16-le"),
        ("", "utf-16-le"),
        ("", "utf-16-be"),
        ("# zero\0\n", "utf-8"),
    ],
)
def test_robots_txt_is_obeyed_in_other_encodings_of_text(start: str, encoding: str) -> None:
    rules = f"{start}User-agent: *\r\nDisallow: /open\r\n".encode(encoding)
    assert done(polite(CountingWeb(rules)).fetch(Url(HOST + "/open"))).outcome is Outcome.FORBIDDEN
