"""A few more pages of what waits, as the run before went, whatever the recipe says by now."""

import asyncio
from contextlib import AsyncExitStack
from shutil import copytree, ignore_patterns

import pytest

from crawling import collection, copied, listing, pages, rows, skipped, waiting
from lycosa.recipe import Budget, load_recipe
from lycosa.run import waiting_crawl
from lycosa.run.control import CrawlReply, CrawlRequest, ask
from lycosa.run.options import CommandSettings
from lycosa.run.topic import read_labels
from lycosa.run.topic_training import LearntLabels
from lycosa.run.waiting_crawl import MAX_MINUTES, WaitingCrawl, waiting_crawl_recipe
from lycosa.vocabulary.records import Url
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


@pytest.mark.slow
def test_links_of_pages_fetched_before_a_label_wait_after_a_kill(tmp_path):
    folder = collection(tmp_path / "c", [TOPICAL_SEED], topic='examples = "good.txt"')
    listing(folder / "good.txt", ["honey bees in their hive", "a hive of bees and its honey"])
    crawl(folder, TOPICAL, 3, strategy="hunter")
    waited, label = waiting(folder), CrawlRequest("label", labels={Url(pages(folder)[1]): False})

    async def killed_after_a_label(session) -> CrawlReply:
        async with InMemory(session, CommandSettings()) as visits:
            for _ in range(3):
                await anext(visits)
            reply = await asyncio.to_thread(ask, folder, label)
            session.collection.archive.sync()
            copytree(folder, tmp_path / "killed", ignore=ignore_patterns("*.sock"))
        return reply

    with opened(folder, stop=Budget(requests=30)) as session:
        reply = asyncio.run(killed_after_a_label(session))
    killed = copied(tmp_path / "killed", tmp_path / "opened again")
    with opened(killed):
        pass
    assert (reply.error, reply.learnt, read_labels(killed)) == ("", LearntLabels(None, 0), label.labels)
    visited = set(pages(killed))
    links = {link for (link,) in rows(killed, "SELECT target FROM links")}
    assert len(visited) == 6
    assert waiting(killed).keys() == links - visited > waited.keys() - visited


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
