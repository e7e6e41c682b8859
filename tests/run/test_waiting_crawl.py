"""A few more pages of what waits, as the run before went, whatever the recipe says by now."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from crawling import collection, pages, rows, skipped, waiting
from lycosa.recipe import Budget, load_recipe
from lycosa.run import waiting_crawl
from lycosa.run.options import CommandSettings
from lycosa.run.waiting_crawl import MAX_MINUTES, WaitingCrawl, waiting_crawl_recipe
from sessions import crawl, opened, web_of
from worlds import TOPICAL, TOPICAL_SEED


@pytest.fixture
def folder(tmp_path):
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic='keywords = ["hive"]')
    crawl(folder, TOPICAL, 5, strategy="best-first")
    return folder


class InMemory(WaitingCrawl):
    def _web(self, stack: AsyncExitStack):
        return web_of(TOPICAL, self._session)


def more(folder, requests: int, **changes: object) -> list[str]:
    async def visited(session) -> list[str]:
        async with InMemory(session, CommandSettings()) as visits:
            return [visit.candidate.url async for visit in visits]

    with opened(folder, stop=Budget(requests=requests), **changes) as session:
        return asyncio.run(visited(session))


def test_it_fetches_what_waited_and_no_more(folder):
    waited = waiting(folder)
    fetched = more(folder, 4)
    assert len(fetched) == 4
    assert set(fetched) <= set(waited)
    assert pages(folder)[5:] == fetched
    assert set(waiting(folder)) >= set(waited) - set(fetched)


def test_it_ends_with_what_waited_though_more_was_found(folder):
    waited = waiting(folder)
    fetched = more(folder, 1000)
    assert set(fetched) == set(waited)
    assert len(TOPICAL) > len(pages(folder)), "there is more to find"
    assert waiting(folder), "and it waits"
    assert not set(waiting(folder)) & set(pages(folder))


@pytest.mark.slow
def test_the_crawl_goes_on_afterwards_to_the_end(folder):
    more(folder, 3)
    crawl(folder, TOPICAL, None, strategy="best-first")
    assert set(pages(folder)) == set(TOPICAL)
    assert not skipped(folder)


def test_it_goes_as_the_run_before(folder):
    (folder / "seeds.txt").write_text(f"{TOPICAL_SEED}\nhttp://another.example/\n")
    waited = waiting(folder)
    fetched = more(folder, 2, strategy="breadth-first")
    assert set(fetched) <= set(waited)
    assert [strategy for (strategy,) in rows(folder, "SELECT strategy FROM runs")] == ["best-first", "best-first"]
    assert "http://another.example/" not in waiting(folder)


def test_the_recipe_is_bounded(folder):
    recipe = load_recipe(folder)
    stop = waiting_crawl_recipe(recipe, 7, {}).stop
    assert (stop.requests, stop.minutes, stop.dry_after) == (7, MAX_MINUTES, 0)
    assert waiting_crawl_recipe(recipe, 7, {"minutes": 1.0}).stop.minutes == 1.0
    assert waiting_crawl.MAX_MINUTES > 0
