import asyncio
import gzip
from collections import Counter
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.recipe import Requests
from lycosa.run.sitemaps import SitemapUrls, urls_in_sitemaps
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Url
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


def test_of_the_sitemaps_of_one_host_no_more_is_read_than_of_a_large_one(monkeypatch) -> None:
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_BYTES_PER_HOST", 1_000)
    maps = {f"http://a.example/{n}.xml": sitemap(f"http://a.example/p{n}") for n in range(20)}
    assert len(listed({MAP: index(*maps), **maps})) < 5


class NamedSitemaps:
    """Stands for what the robots.txt of each host names."""

    def __init__(self, named: dict[str, list[str]]):
        self._named = named

    async def sitemaps(self, url: Url) -> list[Url]:
        return [Url(sitemap) for sitemap in self._named.get(host_of(url), [])]


def listed_for(named: dict[str, list[str]], pages: dict[str, str], *, limit: int = 50_000) -> SitemapUrls:
    clock = SimulatedClock()
    web = SimulatedWeb({Url(url): page for url, page in pages.items()}, clock=clock)
    reading = urls_in_sitemaps(
        web,
        clock=clock,
        requests=Requests(delay=0.0, concurrency=1),
        robots=cast(RobotsWeb, NamedSitemaps(named)),
        host_urls=[Url(f"http://{host}/") for host in named],
        limit=limit,
    )
    return asyncio.run(reading)


def test_each_site_has_an_equal_share_of_the_urls_and_of_the_sitemaps(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"http://big.example/{number}.xml" for number in range(50)]
    named = {"big.example": many, "www.big.example": many} | {
        f"s{n}.example": [f"http://s{n}.example/m"] for n in range(4)
    }
    pages = {url: sitemap(*(f"{url}/{number}" for number in range(40))) for url in many}
    pages |= {f"http://s{n}.example/m": sitemap(f"http://s{n}.example/x", f"http://s{n}.example/y") for n in range(4)}
    urls = listed_for(named, pages, limit=100).urls
    assert Counter(map(site_of, urls)) == {"big.example": 20} | {f"s{n}.example": 2 for n in range(4)}
    monkeypatch.setattr("lycosa.run.sitemaps._MAX_SITEMAPS", 10)
    assert {f"s{n}.example" for n in range(4)} <= set(map(site_of, listed_for(named, pages).urls))


def test_urls_of_other_sites_count_only_if_their_robots_txt_names_the_sitemap() -> None:
    shared = "http://cdn.example/map.xml"
    named = {"a.example": [shared], "b.example": [shared], "c.example": []}
    found = [f"http://{host}/" for host in ("a.example", "www.a.example", "b.example", "c.example", "cdn.example")]
    result = listed_for(named, {shared: index("http://cdn.example/1.xml"), "http://cdn.example/1.xml": sitemap(*found)})
    assert (result.urls, result.foreign) == (found[:3], 2)
