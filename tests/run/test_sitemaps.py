import asyncio
import gzip
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.recipe import Requests
from lycosa.run.crawl import MAX_HOLD
from lycosa.run.sitemaps import SitemapUrls, urls_in_sitemaps
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Fetch, Url
from lycosa.vocabulary.urls import host_of, site_of
from lycosa.web.robots import RobotsWeb
from web.simulated import Reply, SimulatedWeb

MAP = Url("http://a.example/sitemap.xml")
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def sitemap(*locations: str) -> str:
    urls = "".join(f"<url><loc> {location}\n</loc><priority>1</priority></url>" for location in locations)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>{urls}</urlset>'


def index(*locations: str) -> str:
    return (
        f"<sitemapindex {NAMESPACE}>{''.join(f'<sitemap><loc>{at}</loc></sitemap>' for at in locations)}</sitemapindex>"
    )


def listed(pages: dict[str, bytes | str | Reply], *, limit: int = 50_000) -> list[str]:
    clock = SimulatedClock()
    web = SimulatedWeb({Url(url): page for url, page in pages.items()}, clock=clock)
    requests = Requests(delay=0.0, concurrency=1)
    return list(asyncio.run(urls_in_sitemaps(web, [MAP], clock=clock, requests=requests, limit=limit)).urls)


def test_a_sitemap_lists_pages() -> None:
    assert listed({MAP: sitemap("http://a.example/x?a=1&amp;b=2", "http://a.example/y#z")}) == [
        "http://a.example/x?a=1&b=2",
        "http://a.example/y",
    ]


def test_an_index_is_opened_one_level_deep() -> None:
    pages = {
        MAP: index("http://a.example/1.xml", "http://a.example/2.xml"),
        "http://a.example/1.xml": sitemap("http://a.example/one"),
        "http://a.example/2.xml": index("http://a.example/3.xml"),
        "http://a.example/3.xml": sitemap("http://a.example/three"),
    }
    assert listed(pages) == ["http://a.example/one"]


def test_a_sitemap_may_be_gzipped_or_plain_text_or_have_moved() -> None:
    zipped = Reply(200, {"Content-Type": "application/gzip"}, gzip.compress(sitemap("http://a.example/x").encode()))
    assert listed({MAP: zipped}) == ["http://a.example/x"]
    plain = Reply(200, {"Content-Type": "text/plain"}, b"http://a.example/x\nnot a url\r\nhttp://a.example/y")
    assert listed({MAP: plain}) == ["http://a.example/x", "http://a.example/y"]
    moved = {MAP: Reply(301, {"Location": "/other.xml"}), "http://a.example/other.xml": sitemap("http://a.example/x")}
    assert listed(moved) == ["http://a.example/x"]


@pytest.mark.parametrize("start", ["\ufeff", "\n", "\ufeff\n", "\n\ufeff"])
def test_what_a_script_has_printed_before_a_sitemap_is_ignored(start: str) -> None:
    assert listed({MAP: start + sitemap("http://a.example/x")}) == ["http://a.example/x"]


def test_no_more_than_the_limit_is_listed() -> None:
    many = sitemap(*(f"http://a.example/{number}" for number in range(100)))
    assert len(listed({MAP: many}, limit=7)) == 7


def test_entities_are_not_expanded() -> None:
    laughs = "<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]><urlset><url><loc>http://a.example/&b;</loc></url></urlset>"
    assert listed({MAP: laughs}) == []


def test_of_broken_xml_what_comes_before_the_break_is_listed() -> None:
    broken = sitemap("http://a.example/x").replace("</urlset>", "<url><loc>http://a.example/y")
    assert listed({MAP: broken}) == ["http://a.example/x"]
    assert listed({MAP: "<urlset>" * 100_000}) == []
    assert listed({MAP: sitemap("http://a.example/" + "x" * 5_000)}) == []


def test_sitemaps_that_name_each_other_come_to_an_end() -> None:
    assert listed({MAP: index(MAP, MAP)}) == []
    assert listed({MAP: Reply(301, {"Location": MAP})}) == []
    assert listed({}) == []


@pytest.mark.slow
@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(content: bytes) -> None:
    listed({MAP: content})
    listed({MAP: b"<" + content})


def test_a_sitemap_of_elements_that_are_no_urls_is_given_up() -> None:
    """Ten megabytes of them, which are 160 bytes when zipped twice, would take seconds."""
    late = f"<urlset {NAMESPACE}>{'<a/>' * 5_000}<url><loc>http://a.example/x</loc></url></urlset>"
    assert listed({MAP: late}) == []
    assert listed({MAP: late.replace("<a/>" * 4_500, "")}) == ["http://a.example/x"]


def test_a_sitemap_of_ever_new_names_is_given_up() -> None:
    """Ten megabytes of them took eight seconds and 250 MB."""
    page = "<url><loc>http://a.example/x{}</loc></url>"
    names = "".join(f"<a{number}/>{page.format(number)}" for number in range(5_000))
    assert 0 < len(listed({MAP: f"<urlset>{names}</urlset>"})) <= 1_000
    attributes = "".join(f"<a b{number}=''/>{page.format(number)}" for number in range(5_000))
    assert 0 < len(listed({MAP: f"<urlset>{attributes}</urlset>"})) <= 1_000


@pytest.mark.parametrize("markup", ["<a{}/>", "<!--{}-->", "<?a {}?>", "<a b='{}'/>"])
def test_a_sitemap_with_markup_that_does_not_end_is_given_up_there(markup: str) -> None:
    """The attributes of one tag are all read before any is reported: those of ten megabytes took six seconds."""

    def sitemap_with(size: int) -> str:
        page = "<url><loc>http://a.example/{}</loc></url>"
        return f"<urlset>{page.format(1)}{markup.format(' ' * size)}{page.format(2)}</urlset>"

    assert listed({MAP: sitemap_with(50_000)}) == ["http://a.example/1", "http://a.example/2"]
    assert listed({MAP: sitemap_with(500_000)}) == ["http://a.example/1"]


def test_no_more_is_fetched_once_the_minutes_of_the_run_are_over() -> None:
    clock = SimulatedClock(1_000.0)
    pages = {Url(f"http://a.example/{n}"): Reply(503, {"Retry-After": "60"}) for n in range(9)}
    fetching = urls_in_sitemaps(
        SimulatedWeb(pages, clock=clock),
        pages,
        clock=clock,
        requests=Requests(retries=9, concurrency=1),
        minutes=2.0,
        began=970.0,
    )
    assert list(asyncio.run(fetching).urls) == []
    assert clock.now() == 970.0 + 2 * 60


@pytest.mark.parametrize("host", ["a.example", "n{}.a.example", "n{}.example"])
def test_of_the_sitemaps_of_one_site_no_more_is_read_than_of_a_large_one(monkeypatch, host: str) -> None:
    """Names cost nothing: with one for each sitemap, a site had a thousand of them read, for 20 minutes."""
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_BYTES_PER_SITE", 2_000)
    maps = {f"http://{host.format(n)}/{n}.xml": sitemap(f"http://a.example/p{n}") for n in range(20)}
    assert 1 <= len(listed({MAP: index(*maps), **maps})) < 8


class NamedSitemaps:
    """Stands for what the robots.txt of each host names; some hosts answer late."""

    def __init__(self, named: dict[str, list[str]], waits: Mapping[str, float] = {}):
        self._named = named
        self._waits = waits

    async def sitemaps(self, url: Url) -> list[Url]:
        await asyncio.sleep(self._waits.get(host_of(url), 0.0))
        return [Url(sitemap) for sitemap in self._named.get(host_of(url), [])]


class LateWeb(SimulatedWeb):
    """A web in which some hosts answer late."""

    waits: Mapping[str, float] = {}

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        await asyncio.sleep(self.waits.get(host_of(url), 0.0))
        return await super().fetch_any_type(url, limit=limit)


def listed_for(
    named: dict[str, list[str]],
    pages: Mapping[str, str | Reply],
    *,
    limit: int = 50_000,
    waits: Mapping[str, float] = {},  # seconds until a host answers, by host
    clock: SimulatedClock | None = None,
) -> SitemapUrls:
    clock = clock or SimulatedClock()
    web = LateWeb({Url(url): page for url, page in pages.items()}, clock=clock)
    web.waits = waits
    reading = urls_in_sitemaps(
        web,
        clock=clock,
        requests=Requests(delay=0.0, concurrency=20 if waits else 1),
        robots=cast(RobotsWeb, NamedSitemaps(named, waits)),
        host_urls=[Url(f"http://{host}/") for host in named],
        limit=limit,
    )
    return asyncio.run(reading)


def pages_per_site(result: SitemapUrls) -> Counter[str]:
    return Counter(map(site_of, result.urls))


def test_no_site_takes_the_sitemaps_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_SITEMAPS", 10)
    many = [f"http://big.example/{number}.xml" for number in range(50)]
    named = {"big.example": many, "www.big.example": many} | {
        f"s{n}.example": [f"http://s{n}.example/m"] for n in range(4)
    }
    pages = {url: sitemap(f"{url}/page") for url in many}
    pages |= {f"http://s{n}.example/m": sitemap(f"http://s{n}.example/x") for n in range(4)}
    assert pages_per_site(listed_for(named, pages)) == {"big.example": 6} | {f"s{n}.example": 1 for n in range(4)}


def test_a_site_that_names_the_sitemaps_of_another_uses_up_nothing_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_BYTES_PER_SITE", 1_000)
    maps = [f"http://good.example/{number}.xml" for number in range(3)]
    named = {"bad.example": [f"http://bad.example/{n}.xml" for n in range(9)] + maps, "good.example": maps}
    pages = {url: sitemap(f"{url}/page") for url in named["bad.example"]}
    assert pages_per_site(listed_for(named, pages))["good.example"] == 3


def test_no_site_takes_the_urls_of_others_but_what_they_leave() -> None:
    named = {f"s{n}.example": [f"http://s{n}.example/m"] for n in range(1_000)}
    wanted = {3: 2, 500: 70, 501: 70, 999: 70}
    pages = {
        f"http://s{n}.example/m": sitemap(*(f"http://s{n}.example/{k}" for k in range(count)))
        for n, count in wanted.items()
    }
    found = pages_per_site(listed_for(named, pages, limit=100))
    assert found == {"s3.example": 2, "s500.example": 33, "s501.example": 33, "s999.example": 32}


def test_a_page_listed_twice_counts_once() -> None:
    named = {"a.example": ["http://a.example/1", "http://a.example/2"], "b.example": ["http://b.example/1"]}
    both = sitemap(*(f"http://a.example/{n}" for n in range(30)))
    pages = {"http://a.example/1": both, "http://a.example/2": both, "http://b.example/1": sitemap("http://b.example/")}
    assert pages_per_site(listed_for(named, pages, limit=10)) == {"a.example": 9, "b.example": 1}


def test_an_index_of_one_of_many_sites_lists_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_SITEMAPS", 10)
    named = {f"s{n}.example": [f"http://s{n}.example/index"] for n in range(6)}
    pages = {url: index(f"{url}/1", f"{url}/2") for [url] in named.values()}
    pages |= {f"{url}/{n}": sitemap(f"{url}/{n}/page") for [url] in named.values() for n in (1, 2)}
    assert pages_per_site(listed_for(named, pages)) == {f"s{n}.example": 1 for n in range(5)}
    few = {f"s{n}.example": named[f"s{n}.example"] for n in range(3)} | {f"t{n}.example": [] for n in range(9)}
    assert pages_per_site(listed_for(few, pages)) == {f"s{n}.example": 2 for n in range(3)}


def test_no_more_sitemaps_are_fetched_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_SITEMAPS", 40)
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_PER_HOST", 15)
    named = {f"s{n}.example": [f"http://s{n}.example/{k}" for k in range(30)] for n in range(5)}
    pages = {url: sitemap(f"{url}/page") for urls in named.values() for url in urls}
    assert pages_per_site(listed_for(named, pages)) == {f"s{n}.example": 8 for n in range(5)}
    assert pages_per_site(listed_for({"s0.example": named["s0.example"]}, pages)) == {"s0.example": 15}


def test_urls_of_other_sites_count_only_if_their_robots_txt_names_the_sitemap() -> None:
    shared = "http://cdn.example/map.xml"
    named = {"a.example": [shared], "b.example": [shared], "c.example": []}
    found = [f"http://{host}/" for host in ("a.example", "www.a.example", "b.example", "c.example", "cdn.example")]
    result = listed_for(named, {shared: index("http://cdn.example/1.xml"), "http://cdn.example/1.xml": sitemap(*found)})
    assert (result.urls, result.foreign) == (found[:3], 2)


@pytest.mark.parametrize("late", ["a.example", "b.example", "cdn.example"])
def test_a_sitemap_of_two_sites_lists_urls_of_both_whichever_robots_txt_comes_first(late: str) -> None:
    shared = "http://cdn.example/map.xml"
    named = {"a.example": [shared], "b.example": [shared]}
    urls = ["http://a.example/", "http://b.example/"]
    result = listed_for(named, {shared: sitemap(*urls)}, waits={late: 0.05})
    assert (result.urls, result.foreign) == (urls, 0)


@pytest.mark.parametrize("late", ["a.example", "b.example"])
def test_a_sitemap_that_another_is_redirected_to_is_one_of_both_sites(late: str) -> None:
    named = {"a.example": ["http://a.example/map"], "b.example": ["http://b.example/map"]}
    urls = ["http://a.example/", "http://b.example/"]
    pages = {"http://a.example/map": Reply(301, {"Location": "http://b.example/map"})}
    result = listed_for(named, {**pages, "http://b.example/map": sitemap(*urls)}, waits={late: 0.05})
    assert sorted(result.urls) == urls


def test_the_order_of_responses_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_SITEMAPS", 16)
    hosts = [f"s{n}.example" for n in range(6)]
    named = {host: [f"http://{host}/index", f"http://{host}/map", "http://s0.example/shared"] for host in hosts}
    pages = {"http://s0.example/shared": sitemap(*(f"http://{host}/{n}" for host in hosts for n in range(3)))}
    for host in hosts:
        pages[f"http://{host}/map"] = sitemap(*(f"http://{host}/{n}" for n in range(2, 9)))
        pages[f"http://{host}/index"] = index(*(f"http://{host}/{n}.xml" for n in range(3)))
        pages |= {f"http://{host}/{n}.xml": sitemap(f"http://{host}/of-{n}") for n in range(3)}
    random = Random(7)
    results = {
        (tuple(result.urls), result.foreign)
        for _ in range(8)
        for result in [listed_for(named, pages, limit=20, waits={host: 0.01 * random.random() for host in hosts})]
    }
    assert len(results) == 1
    assert len(next(iter(results))[0]) == 20


def test_a_site_that_asks_for_a_long_wait_holds_up_no_other() -> None:
    named = {host: [f"http://{host}/index"] for host in ("a.example", "b.example")}
    pages: dict[str, str | Reply] = {
        "http://a.example/index": Reply(429, {"Retry-After": "3600"}),
        "http://b.example/index": index("http://b.example/map"),
        "http://b.example/map": sitemap("http://b.example/"),
    }
    assert listed_for(named, pages).urls == ["http://b.example/"]


@pytest.mark.parametrize("host", ["a.example", "h{}.a.example"])
def test_a_site_that_asks_for_many_short_waits_holds_up_no_other_for_long(host: str) -> None:
    """With a minute for each of its sitemaps, and each attempt, the crawl began after hours."""
    many = [f"http://{host.format(number)}/{number}" for number in range(100)]
    named = {"a.example": many, "b.example": ["http://b.example/index"]}
    pages = dict.fromkeys(many, Reply(503, {"Retry-After": "60"}))
    pages |= {
        "http://b.example/index": index("http://b.example/map"),
        "http://b.example/map": sitemap("http://b.example/"),
    }
    clock = SimulatedClock(1_000.0)
    assert listed_for(named, pages, clock=clock).urls == ["http://b.example/"]
    assert clock.now() <= 1_000.0 + 2 * MAX_HOLD


def test_no_more_is_read_of_a_site_whose_share_is_full() -> None:
    """Every sitemap is longer than the share of its site: one is read of each site, and a second may be in flight."""
    named = {f"s{n}.example": [f"http://s{n}.example/{k}" for k in range(10)] for n in range(10)}
    pages = {url: sitemap(*(f"{url}/{n}" for n in range(20))) for urls in named.values() for url in urls}
    clock = SimulatedClock()
    web, asked = SimulatedWeb({Url(url): page for url, page in pages.items()}, clock=clock), []

    class CountingWeb(LateWeb):
        async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
            asked.append(url)
            return await web.fetch_any_type(url, limit=limit)

    reading = urls_in_sitemaps(
        CountingWeb({}, clock=clock),
        clock=clock,
        requests=Requests(delay=0.0, concurrency=1),
        robots=cast(RobotsWeb, NamedSitemaps(named)),
        host_urls=[Url(f"http://{host}/") for host in named],
        limit=100,
    )
    assert pages_per_site(asyncio.run(reading)) == {f"s{n}.example": 10 for n in range(10)}
    assert len(asked) <= 20


@given(st.lists(st.lists(st.integers(0, 40), max_size=5), min_size=1, max_size=6), st.integers(1, 60))
def test_shares_are_the_largest_equal_ones(counts: list[list[int]], limit: int) -> None:
    """Trimming on the way, and the order in which sitemaps are read, change nothing."""
    sites = [f"s{n}.example" for n in range(len(counts))]
    sitemaps = [(site, count) for site, of_site in zip(sites, counts, strict=True) for count in of_site]
    found = []
    for step in (1, -1):
        result = SitemapUrls(limit, sites)
        listed = [
            (position, [Url(f"http://{site}/{position}/{n}") for n in range(count)])
            for position, (site, count) in enumerate(sitemaps)
        ]
        for position, (site, _) in enumerate(sitemaps):
            result.expect(position, {site})
        for position, urls in listed[::step]:
            result.add(position, urls)
        found.append(result.urls)
    assert found[0] == found[1]
    of_sites = [sum(of_site) for of_site in counts]
    got = [Counter(map(site_of, found[0]))[site] for site in sites]
    assert sum(got) == min(limit, sum(of_sites))
    assert all(part == whole or part >= max(got) - 1 for part, whole in zip(got, of_sites, strict=True))
