"""Crawls whose URLs are nearly always under way between two workers end only when every page was found."""

import asyncio

import pytest

from crawling import collection, pages
from fixtures.fixed_world import FixedWorld
from lycosa import api
from lycosa.parallel import crawl as parallel_crawl
from lycosa.run.crawl import NOTHING_LEFT
from lycosa_lab.worlds.server import WorldServer
from worlds import html

CRAWLS, AT_ONCE, PAGES, HOSTS = 20, 4, 40, 9


def url_of(crawl: int, step: int) -> str:
    return f"http://h{step * (1 + crawl % 4) % HOSTS}.example/{crawl}/{step}"


def chain(crawl: int) -> dict[str, bytes]:
    """Pages each of which leads to the next two, on other hosts: hardly ever more than two of them wait."""
    pages_by_url = {}
    for step in range(PAGES):
        words = " ".join(f"w{step}x{place}" for place in range(12))  # no two pages are near-duplicates
        links = [url_of(crawl, step + more) for more in (1, 2) if step + more < PAGES]
        pages_by_url[url_of(crawl, step)] = html(f"Page {step}", f"honey bee hive {words}", links)
    return pages_by_url


@pytest.mark.slow
def test_every_reachable_page_is_found_in_twenty_crawls(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_crawl, "_MIN_PAGES", 2)
    monkeypatch.setattr(parallel_crawl, "_CHECKED_EVERY", 1)
    world = FixedWorld({url: page for crawl in range(CRAWLS) for url, page in chain(crawl).items()})

    async def crawled(number: int, resolve: str) -> None:
        folder = collection(tmp_path / f"c{number}", [url_of(number, 0), url_of(number, 1)])
        said: list[str] = []
        run = api.crawl(folder, workers=3, dry_after=0, delay=0, resolve=[resolve], notify=said.append)
        async for _ in run:
            pass
        assert any("3 workers go on" in line for line in said), said
        assert run.stopped == NOTHING_LEFT
        assert set(pages(folder)) == set(chain(number))

    async def all_crawls(resolve: str) -> None:
        for first in range(0, CRAWLS, AT_ONCE):
            await asyncio.gather(*(crawled(number, resolve) for number in range(first, first + AT_ONCE)))

    with WorldServer(world) as served:
        asyncio.run(all_crawls(served.resolve))
