"""Names and links without end below one registered domain: what waits, what is kept and what is written is bounded."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crawling import collection, done, rows
from lycosa.frontier.admission import Admission, Traps
from lycosa.frontier.durable import best_waiting
from lycosa.frontier.memory import MemoryFrontier
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, SkipReason, Url
from web.loopback import LoopbackServer, response


def frontier_with(**traps: int) -> MemoryFrontier:
    return MemoryFrontier(clock=SimulatedClock(), delay=0.0, admission=Admission(traps=Traps(**traps)))


def _name_of_farm(number: int) -> str:
    return f"n{number}.farm.example"


def pages_of_farm(
    frontier: MemoryFrontier, links: int, *, most: int, host: Callable[[int], str] = _name_of_farm
) -> int:
    """How many pages a farm gets kept in which every page has links to as many hosts that are new."""
    last = 1
    frontier.put([Candidate(Url(f"http://{host(0)}/"), 0.9, depth=1)])
    for kept in range(most):
        candidate = frontier.take(0.0)
        if candidate is None:
            return kept
        frontier.settle(candidate.url, is_kept=True)
        skips = frontier.put(Candidate(Url(f"http://{host(last + number)}/"), 0.9, depth=2) for number in range(links))
        assert {skip.reason for skip in skips} <= {SkipReason.SITE}
        last += links
    return most


@pytest.mark.slow
def test_a_farm_of_subdomains_gets_few_pages() -> None:
    frontier = frontier_with()
    assert pages_of_farm(frontier, 500, most=1_000) < 100
    assert frontier.put([Candidate(Url("http://other.example/"), 0.1, depth=2)]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "host",
    [
        lambda number: f"[2a01:4f8:c0c:1::1:{number:x}]",
        lambda number: f"[2a01:4f8:c0c:{number:x}::1]",
        lambda number: f"[2002:808:808:{number:x}::1]",
    ],
    ids=["addresses of a network", "networks of an owner", "addresses of a tunnel to one machine"],
)
def test_a_farm_of_ipv6_addresses_gets_few_pages(host: Callable[[int], str]) -> None:
    frontier = frontier_with()
    assert pages_of_farm(frontier, 50, most=1_000, host=host) < 100
    assert frontier.put([Candidate(Url("http://[2a02:4f8:c0c:1::1]/"), 0.1, depth=2)]) == []


def test_pages_of_many_links_fill_the_queue_as_slowly_as_their_site_has_pages() -> None:
    frontier = frontier_with(site_urls=1_000)
    for page in range(30):
        frontier.put(Candidate(Url(f"http://a.farm.example/{page}/{n}"), 0.5, depth=1) for n in range(1_000))
        candidate = frontier.take(0.0)
        assert candidate is not None
        frontier.settle(candidate.url, is_kept=True)
        assert len(frontier) <= 1_000 + 100 * (page + 1)


@pytest.mark.slow
def test_a_site_of_many_hosts_that_has_pages_is_crawled_whole() -> None:
    """A hundred and fifty hosts of five pages each, that all link to the front pages of all others."""
    frontier = frontier_with()
    fronts = [Url(f"http://h{host}.wide.example/") for host in range(150)]
    frontier.put([Candidate(fronts[0], 0.9)])
    visited = set()
    while candidate := frontier.take(0.0):
        visited.add(candidate.url)
        frontier.settle(candidate.url, is_kept=True)
        own = candidate.url.partition("/page")[0].rstrip("/")
        frontier.put(Candidate(Url(f"{own}/page{number}"), 0.5, depth=1) for number in range(4))
        frontier.put(Candidate(front, 0.4, depth=1) for front in fronts)
    assert len(visited) == 150 * 5


def test_seeds_are_as_many_as_the_user_gives() -> None:
    frontier = frontier_with(site_hosts=2, site_urls=2)
    assert frontier.put(Candidate(Url(f"http://h{n}.one.example/"), 1.0) for n in range(100)) == []


@pytest.mark.parametrize("ways", ["put", "forgotten", "settled before"])
def test_hosts_of_sites_are_counted_as_they_come_and_go(ways: str) -> None:
    frontier = frontier_with(site_hosts=10)
    urls = [Url(f"http://h{n}.one.example/") for n in range(10)]
    late = Candidate(Url("http://late.one.example/"), 0.5, depth=1)
    if ways == "settled before":
        frontier.restore_settled(urls)
    else:
        frontier.put(Candidate(url, 0.5, depth=1) for url in urls)
    assert [skip.reason for skip in frontier.put([late])] == [SkipReason.SITE]
    if ways == "forgotten":
        frontier.clear_waiting()
        assert frontier.put([late]) == []
    else:
        assert [skip.reason for skip in frontier.put([late])] == [SkipReason.SITE]  # it is asked anew each time


@pytest.mark.slow
def test_a_crawl_writes_little_of_a_farm_and_says_what_it_left_aside(tmp_path) -> None:
    links = b"".join(b"<a href=//h%d.farm.example/>x</a>" % n for n in range(3_000))
    page = response(b"<title>honey bee hive</title>" + links)
    with LoopbackServer({"/": page, "/robots.txt": response(b"", "404 Not Found")}) as server:
        folder = collection(tmp_path / "c", ["http://seed.example/"])
        said = done("crawl", folder, "--delay", 0, "--pages", 1, "--resolve", server.everything[0])
    assert rows(folder, "SELECT count(*) FROM frontier") == [(50,)]
    assert rows(folder, "SELECT count(*) FROM skips") == [(0,)]
    assert "2,950 links set aside" in said.err
    assert "2,950 links set aside" in done("show", folder).out
    assert "2,950 links set aside" in (done("rebuild", folder), done("show", folder))[1].out


def depths(folder: Path) -> set[int]:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        return {candidate.depth for candidate in best_waiting(connection, limit=1_000)}


def test_a_sitemap_names_no_seeds_and_its_hosts_are_limited_like_those_of_links(tmp_path) -> None:
    hosts = [f"http://h{n}.farm.example/" for n in range(300)]
    urls = "".join(f"<url><loc>{url}</loc></url>" for url in [*hosts, "http://elsewhere.example/"])
    routes = {
        "/": response(b"<title>honey bee hive</title>"),
        "/robots.txt": response(b"Sitemap: http://www.farm.example/map.xml", Content_Type="text/plain"),
        "/map.xml": response(f"<urlset>{urls}</urlset>".encode(), Content_Type="text/xml"),
    }
    with LoopbackServer(routes) as server:
        folder = collection(tmp_path / "c", ["http://www.farm.example/"])
        way = ["--delay", 0, "--resolve", server.everything[0]]
        said = done("crawl", folder, "--pages", 1, "--sitemaps", *way)
        assert "1 URL of other sites left out" in said.err
        done("crawl", folder, "--pages", 2, "--sitemaps", "--strategy", "breadth-first", *way)  # which ranks all again
    assert rows(folder, "SELECT count(DISTINCT url) FROM frontier")[0][0] < 60
    assert depths(folder) == {1}
    assert "listed in a sitemap" in done("explain", folder, rows(folder, "SELECT url FROM frontier")[0][0]).out
    done("forget", folder, "www.farm.example")
    done("rebuild", folder)
    assert depths(folder) <= {1}
