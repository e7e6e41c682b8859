"""Names and links without end below one registered domain: what waits, what is kept and what is written is bounded."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

import pytest

from crawling import collection, done, rows
from lycosa.frontier.admission import Admission, Traps
from lycosa.frontier.durable import best_waiting
from lycosa.frontier.memory import MemoryFrontier
from lycosa.recipe import Requests
from lycosa.strategies.best_first import BestFirst
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, SkipReason, Url
from sessions import crawl
from web.loopback import LoopbackServer, response
from worlds import html


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


MAX_IN_FLIGHT, LATENCY = 16, 0.2  # requests, seconds


def pages_by_domain(
    farm: Callable[[int], list[str]], *, others: int, priority: float, total: int, farms: int = 1, **options: object
) -> Counter[str]:
    """The pages of each registered domain among the first of a crawl with delays, where ordinary sites have sixty pages
    each, whose URLs promise less than those of a farm.

    farm: the hosts and paths that a page of the farm, given by its number, links to.
    """
    clock, number = SimulatedClock(100.0), count()
    frontier = MemoryFrontier(clock=clock, delay=1.0, per_address=4, **options)
    frontier.rank_by(BestFirst())
    frontier.put(Candidate(Url(f"http://n0.farm{n}.example/0"), 0.95, depth=1) for n in range(farms))
    frontier.put(Candidate(Url(f"http://www.site{n}.example/0"), priority, depth=1) for n in range(others))
    in_flight: list[tuple[float, Url]] = []
    pages: Counter[str] = Counter()
    while pages.total() < total:
        if len(in_flight) < MAX_IN_FLIGHT and (taken := frontier.take(clock.now())):
            heappush(in_flight, (clock.now() + LATENCY, taken.url))
            continue
        ready_at = frontier.next_ready_at() if len(in_flight) < MAX_IN_FLIGHT else None
        moments = [moment for moment in (ready_at, in_flight[0][0] if in_flight else None) if moment is not None]
        if not moments:
            break
        clock._now = max(clock.now(), min(moments))
        while in_flight and in_flight[0][0] <= clock.now():
            _, url = heappop(in_flight)
            frontier.settle(url, is_kept=True)
            host, _, path = url.removeprefix("http://").partition("/")
            domain = host.partition(".")[2]
            pages[domain] += 1
            if "farm" in domain:
                links = [f"http://{name}.{domain}/{path}" for name, path in farm(next(number))]
                frontier.put(Candidate(Url(link), 0.95, depth=2) for link in links)
            else:
                below = (2 * int(path) + each for each in (1, 2))
                frontier.put(Candidate(Url(f"http://{host}/{each}"), priority, depth=2) for each in below if each < 60)
    return pages


def wildcard(page: int) -> list[tuple[str, int]]:
    """Five pages on each host, and links to three new hosts."""
    return [(f"n{page}", number) for number in range(5)] + [(f"n{3 * page + each + 1}", 0) for each in range(3)]


def endless(hosts: int) -> Callable[[int], list[tuple[str, int]]]:
    """Some hosts with pages without end."""
    return lambda page: [(f"n{(page + each) % hosts}", 3 * page + each + 1) for each in range(3)]


@pytest.mark.parametrize("farm", [wildcard, endless(8), endless(2)], ids=["wildcard", "eight hosts", "two hosts"])
@pytest.mark.parametrize("priority", [0.6, 0.2])
def test_a_farm_does_not_take_the_crawl(farm: Callable[[int], list[str]], priority: float) -> None:
    pages = pages_by_domain(farm, others=150, priority=priority, total=600)
    assert pages["farm0.example"] <= 0.26 * 600


@pytest.mark.slow
def test_a_few_ordinary_sites_have_all_the_requests_that_their_delays_allow() -> None:
    pages = pages_by_domain(wildcard, others=10, priority=0.4, total=600)
    assert pages["farm0.example"] <= 0.35 * 600
    assert pages_by_domain(wildcard, others=2, priority=0.4, total=600).total() == 600


@pytest.mark.slow
def test_several_farms_have_a_share_each() -> None:
    pages = pages_by_domain(wildcard, others=150, priority=0.4, total=600, farms=2)
    assert max(pages["farm0.example"], pages["farm1.example"]) <= 0.26 * 600


@pytest.mark.parametrize(
    "named", [{"site_share": 1.0}, {"named_sites": lambda: {"farm0.example"}}], ids=["no limit", "named by the user"]
)
def test_a_domain_of_many_hosts_has_no_share_if_the_user_wants_it(named: dict[str, object]) -> None:
    assert pages_by_domain(wildcard, others=50, priority=0.2, total=300, **named)["farm0.example"] > 0.8 * 300


def test_a_domain_is_not_put_behind_links_that_promise_nothing() -> None:
    assert pages_by_domain(wildcard, others=50, priority=0.01, total=300)["farm0.example"] > 0.8 * 300


def test_a_domain_is_crawled_at_full_speed_if_nothing_else_waits() -> None:
    fast, bounded = (
        pages_by_domain(wildcard, others=0, priority=0.0, total=300, site_share=share) for share in (1.0, 0.25)
    )
    assert fast == bounded


def test_a_site_with_one_host_is_waited_for_as_before() -> None:
    ways = ({"site_share": 1.0}, {"site_share": 0.25})
    first, second = (pages_by_domain(endless(1), others=50, priority=0.4, total=300, **way) for way in ways)
    assert first == second


@pytest.mark.slow
def test_a_crawl_says_which_domain_came_after_others(tmp_path) -> None:
    class World(dict[Url, bytes]):
        def get(self, url: Url, default: object = None) -> object:
            if ".farm.example/" not in url or url.endswith("robots.txt"):
                return super().get(url, default)
            host, _, path = url.removeprefix("http://").partition("/")
            number = int(host[1:].partition(".")[0])
            links = [f"http://{host}/{page}" for page in range(5)]
            links += [f"http://n{3 * number + each}.farm.example/0" for each in (1, 2, 3)]
            named = [(link, "honey bee hive") for link in links]
            return html(f"Honey bee hive {number} {path}", f"honey bee hive n{number}p{path} " * 20, named)

    sites = [Url(f"http://site{n}.example/") for n in range(150)]
    world = World({site: html("Gardens", f"a bee {site} garden shoes paint", []) for site in sites})
    links = [("http://n1.farm.example/0", "honey bee hive"), *((site, "bee gardens") for site in sites)]
    world[sites[0]] = html("Honey bee hive", "honey bee hive", links)
    folder = collection(tmp_path / "c", sites[:1], topic='text = "honey bee hive"')
    visited = crawl(folder, world, 120, requests=Requests(delay=1.0, per_address=1_000, concurrency=1))
    assert sum(".farm." in url for url in visited) < 50
    (waiting,) = rows(folder, "SELECT url FROM frontier WHERE url LIKE '%farm.example%' LIMIT 1")[0]
    assert "for requests elsewhere, as they had 25% of the last ones (farm.example" in done("show", folder).out
    assert "was over its share" in done("explain", folder, waiting).out
    counted = rows(folder, "SELECT value FROM state WHERE key = 'passed_over'")
    crawl(folder, world, 121, requests=Requests(delay=0.0, concurrency=1))  # without shares
    assert rows(folder, "SELECT value FROM state WHERE key = 'passed_over'") == counted
    done("forget", folder, "farm.example")
    assert "farm.example" not in str(rows(folder, "SELECT value FROM state WHERE key = 'passed_over'"))


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "rel"),
    [("/" + "b" * 3_900, ""), ("/" + "b" * 3_900, " rel=nofollow"), ("//farm.example/" + "b" * 1_900, "")],
    ids=["too long", "not to be followed", "on another host"],
)
def test_a_crawl_writes_little_of_a_page_whose_links_have_a_long_base(tmp_path, base: str, rel: str) -> None:
    """Pages of 60 kB took 25 MB each, 48 MB if their links wait."""
    links = "".join(f"<a href={number}{rel}>x</a>" for number in range(4_900))
    page = response(f"<title>honey bee hive</title><base href='{base}/'>{links}".encode())
    with LoopbackServer({"/": page, "/robots.txt": response(b"", "404 Not Found")}) as server:
        folder = collection(tmp_path / "c", ["http://seed.example/"])
        done("crawl", folder, "--delay", 0, "--pages", 1, "--resolve", server.everything[0])
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 10_000_000


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
