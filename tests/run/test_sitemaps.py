import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.recipe import Requests
from lycosa.run.sitemaps import urls_in_sitemaps
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Url
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
