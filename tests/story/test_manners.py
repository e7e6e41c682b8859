"""A crawl asks nobody for what they do not want to give, nor faster than they like, nor without saying who asks."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from crawling import apart, collection, done, lycosa, outcomes, pages, rows, skipped, waiting
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

HOME = "http://a.example/"


class Noted(list):
    """Requests, and when each came."""

    def __init__(self):
        super().__init__()
        self.moments = []

    def append(self, head):
        self.moments.append(time.monotonic())
        super().append(head)


def page(name: str, links: list[str] = [], head: str = "") -> bytes:  # noqa: B006
    return html(name, f"honey {' '.join(f'{name}{number}' for number in range(9))}", links).replace(
        b"</head>", head.encode() + b"</head>"
    )


def crawled(folder: Path, server: LoopbackServer, *words: object) -> Path:
    done("crawl", folder, "--resolve", server.everything[0], *words)
    return folder


def test_what_robots_txt_forbids_is_not_asked_for(tmp_path):
    routes = {
        "/robots.txt": response(
            b"User-agent: *\nDisallow: /private\nAllow: /private/open\n", Content_Type="text/plain"
        ),
        "/": response(page("home", ["/private/a", "/private/open", "/free"])),
        "/private/a": response(page("a")),
        "/private/open": response(page("open")),
        "/free": response(page("free")),
    }
    with LoopbackServer(routes) as server:
        folder = crawled(collection(tmp_path / "c", [HOME]), server)
        assert "/private/a" not in server.paths()
        assert server.paths().count("/robots.txt") == 1
    assert outcomes(folder)[HOME + "private/a"] == "forbidden"
    assert set(pages(folder)) == {HOME, HOME + "private/open", HOME + "free"}
    assert "forbidden by robots.txt" in done("explain", folder, HOME + "private/a").out


def test_an_example_that_robots_txt_forbids_is_not_asked_for(tmp_path):
    routes = {
        "/robots.txt": response(b"User-agent: lycosa\nDisallow: /private", Content_Type="text/plain"),
        "/": response(page("home")),
        "/private": response(page("private")),
    }
    folder = collection(tmp_path / "c", [HOME], topic='examples = "good.txt"')
    (folder / "good.txt").write_text(f"{HOME}private\nhoney and bees and hives\n", encoding="utf-8")
    with LoopbackServer(routes) as server:
        crawled(folder, server)
        assert "/private" not in server.paths()


def gaps(requests: Noted) -> list[float]:
    """Seconds between requests for pages of one host."""
    moments = [at for at, head in zip(requests.moments, requests, strict=True) if b" /robots.txt " not in head]
    return [later - earlier for earlier, later in pairwise(moments)]


def test_the_delay_is_kept_between_two_requests_to_a_host_examples_and_resuming_included(tmp_path):
    links = [f"/{number}" for number in range(4)]
    routes = {"/": response(page("home", links)), "/e": response(page("e")), "/f": response(page("f"))}
    routes |= {link: response(page(f"p{link[1:]}")) for link in links}
    folder = collection(tmp_path / "c", [HOME], topic='examples = "good.txt"', rest="[requests]\ndelay = 0.4\n")
    (folder / "good.txt").write_text(f"{HOME}e\n{HOME}f\n", encoding="utf-8")
    with LoopbackServer(routes) as server:
        server.requests = Noted()
        crawled(folder, server, "--pages", 5)  # the examples, which are fetched once, are among them
        between = gaps(server.requests)
    assert len(between) == 4
    assert min(between) >= 0.39, between


def test_a_crawl_delay_is_kept_where_it_is_longer_than_ours(tmp_path):
    links = [f"/{number}" for number in range(3)]
    routes = {
        "/robots.txt": response(b"User-agent: *\nCrawl-delay: 0.7\n", Content_Type="text/plain"),
        "/": response(page("home", links)),
    }
    routes |= {link: response(page(f"p{link[1:]}")) for link in links}
    with LoopbackServer(routes) as server:
        server.requests = Noted()
        crawled(collection(tmp_path / "c", [HOME]), server)
        between = gaps(server.requests)
    assert len(between) == 3
    assert min(between) >= 0.69, between


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_host_that_asks_for_time_gets_it(tmp_path, status):
    class Once(dict):
        def get(self, path, default=None):
            return self.pop(path + " first", None) or super().get(path, default)

    routes = Once({"/": response(page("home", ["/b"])), "/b": response(page("b"))})
    routes["/b first"] = response(b"", status, Retry_After="1")
    with LoopbackServer(routes) as server:
        server.requests = Noted()
        folder = crawled(collection(tmp_path / "c", [HOME]), server)
        assert [path for path in server.paths() if path != "/robots.txt"] == ["/", "/b", "/b"]
        assert gaps(server.requests)[-1] >= 0.99
    assert pages(folder) == [HOME, HOME + "b"]
    tried = rows(folder, "SELECT outcome, settled FROM fetches WHERE url = ? ORDER BY rowid", HOME + "b")
    assert tried == [("busy", 0), ("ok", 1)]


def test_a_failure_is_tried_again_and_then_given_up(tmp_path):
    routes = {"/": response(page("home", ["/b"])), "/b": response(b"", "500 Oh no")}
    with LoopbackServer(routes) as server:
        folder = crawled(collection(tmp_path / "c", [HOME], rest="retries = 1"), server)
        assert server.paths().count("/b") == 2
    assert rows(folder, "SELECT outcome, settled FROM fetches WHERE url = ?", HOME + "b") == [
        ("failed", 0),
        ("failed", 1),
    ]


def test_pages_that_ask_not_to_be_kept_or_followed_are_not(tmp_path):
    routes = {
        "/": response(page("home", ["/noindex", "/nofollow", "/none", "/header", "/rel", "/other-robot"])),
        "/noindex": response(page("noindex", ["/from-noindex"], '<meta name="robots" content="noindex">')),
        "/nofollow": response(page("nofollow", ["/from-nofollow"], '<META NAME="ROBOTS" CONTENT="nofollow">')),
        "/none": response(page("none", ["/from-none"], '<meta name="robots" content="none">')),
        "/header": response(page("header", ["/from-header"]), X_Robots_Tag="noindex, nofollow"),
        "/other-robot": response(page("robot", ["/from-robot"]), X_Robots_Tag="otherbot: noindex, nofollow"),
        "/rel": response(
            page("rel", ["/from-rel"]).replace(b'<a href="/from-rel"', b'<a rel="ugc nofollow" href="/from-rel"')
        ),
        "/from-noindex": response(page("child")),
        "/from-robot": response(page("grandchild")),
    }
    with LoopbackServer(routes) as server:
        folder = crawled(collection(tmp_path / "c", [HOME]), server)
        asked = set(server.paths())
    kept = {url.removeprefix(HOME) for url in pages(folder)}
    assert kept == {"", "nofollow", "rel", "other-robot", "from-noindex", "from-robot"}
    assert not asked & {"/from-nofollow", "/from-none", "/from-header", "/from-rel"}
    assert skipped(folder)[HOME + "from-rel"] == "nofollow"
    assert skipped(folder)[HOME + "from-nofollow"] == "nofollow"
    done("rebuild", folder)
    assert {url.removeprefix(HOME) for url in pages(folder)} == kept
    assert skipped(folder)[HOME + "from-rel"] == "nofollow"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://2130706433:{port}/",
    ],
)
def test_addresses_of_ones_own_network_are_refused_until_they_are_allowed(tmp_path, url):
    with LoopbackServer({"/": response(page("home", ["/b"])), "/b": response(page("b"))}) as server:
        folder = collection(tmp_path / "c", [url.format(port=server.port)])
        for _ in range(2):
            said = lycosa("crawl", folder)
            assert said.is_one_clear_line(1, "--allow-private", "loopback")
        assert server.connections == 0
        if "::" not in url:
            said = lycosa("crawl", folder, "--allow-private")
            assert said.code == 0, said.err
            assert len(pages(folder)) == 2
            assert waiting(folder) == {}


def test_examples_of_ones_own_network_are_refused_too(tmp_path):
    with LoopbackServer({"/": response(page("home"))}) as server:
        url = f"http://127.0.0.1:{server.port}/"
        folder = collection(tmp_path / "c", [], topic='examples = "good.txt"')
        (folder / "good.txt").write_text(f"{url}\n", encoding="utf-8")
        assert lycosa("crawl", folder).is_one_clear_line(1, "--allow-private")
        assert server.connections == 0
        done("crawl", folder, "--allow-private")
    assert pages(folder) == [url]


@pytest.mark.parametrize("where", ["seeds", "examples"])
def test_no_public_host_is_asked_by_somebody_who_does_not_say_who_they_are(tmp_path, where):
    url = "http://example.com/"
    folder = collection(tmp_path / "c", [url if where == "seeds" else HOME], topic='examples = "good.txt"')
    (folder / "good.txt").write_text(f"{url}\n" if where == "examples" else "honey and bees\n", encoding="utf-8")
    environment = {"http_proxy": "http://127.0.0.1:9", "PATH": ""}
    said = apart("crawl", folder, env=environment)
    assert said.is_one_clear_line(2, "contact", "lycosa.toml", "example.com")


def test_a_contact_is_told_to_those_who_are_asked(tmp_path):
    with LoopbackServer({"/": response(page("home"))}) as server:
        (tmp_path / "seeds.txt").write_text(f"{HOME}\n", encoding="utf-8")
        folder = tmp_path / "c"
        done("new", folder, "--topic", "honey", "--seeds", tmp_path / "seeds.txt", "--contact", "me@example.org")
        crawled(folder, server)
        assert all(b"User-Agent: lycosa/" in head and b"me@example.org)" in head for head in server.requests)


def test_scope_given_by_flags_is_kept(tmp_path):
    world = FixedWorld(
        {
            "http://a.example/": page("home", ["http://a.example/one", "http://b.example/", "http://a.example/login"]),
            "http://a.example/one": page("one", ["http://sub.a.example/"]),
            "http://a.example/login": page("login"),
            "http://b.example/": page("b"),
            "http://sub.a.example/": page("sub"),
        }
    )
    with WorldServer(world) as served:
        folder = collection(tmp_path / "c", [HOME])
        done("crawl", folder, "--include-host", "a.example", "--exclude-url", "*/login*", "--resolve", served.resolve)
        assert set(pages(folder)) == {HOME, HOME + "one", "http://sub.a.example/"}
        assert skipped(folder) == {
            "http://b.example/": "scope: host not included",
            HOME + "login": "scope: URL excluded",
        }
        assert "http://b.example/" not in served.requests
        done("crawl", folder, "--resolve", served.resolve)  # widened again, nothing was lost
        assert "http://b.example/" in served.requests


def test_a_scope_that_is_narrowed_later_holds_for_what_waits_already(tmp_path):
    world = FixedWorld(
        {HOME: page("home", ["http://a.example/one", "http://b.example/"])}
        | {
            "http://a.example/one": page("one"),
            "http://b.example/": page("b"),
        }
    )
    with WorldServer(world) as served:
        folder = collection(tmp_path / "c", [HOME])
        done("crawl", folder, "--pages", 1, "--resolve", served.resolve)
        done("crawl", folder, "--exclude-host", "b.example", "--resolve", served.resolve)
        assert "http://b.example/" not in served.requests
        done("crawl", folder, "--resolve", served.resolve)  # widened again, nothing was lost
        assert "http://b.example/" in served.requests


def test_sitemaps_seed_a_crawl_when_asked(tmp_path):
    sitemap = b"<urlset><url><loc>http://a.example/hidden</loc></url></urlset>"
    routes = {
        "/robots.txt": response(b"Sitemap: http://a.example/map.xml", Content_Type="text/plain"),
        "/map.xml": response(sitemap, Content_Type="application/xml"),
        "/": response(page("home")),
        "/hidden": response(page("hidden")),
    }
    with LoopbackServer(routes) as server:
        folder = crawled(collection(tmp_path / "c", [HOME]), server)
        assert pages(folder) == [HOME]
        crawled(folder, server, "--sitemaps")
    assert pages(folder) == [HOME, HOME + "hidden"]
    assert "why: listed in a sitemap" in done("explain", folder, HOME + "hidden").out
    assert "why: a seed" in done("explain", folder, HOME).out
