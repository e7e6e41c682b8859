"""Shards that a killed crawl has left: the next session gathers them, wherever the kill came."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from collection.samples import visit
from crawling import collection, done, lycosa, pages, rows
from lycosa.collection import shards
from lycosa.collection.catalog import Catalog
from lycosa.collection.collection import lock_collection
from lycosa.collection.shards import make_shards, shard_folders
from lycosa.parallel.messages import FromWorker, Start
from lycosa.parallel.worker import crawl_shard
from lycosa.recipe import load_recipe
from lycosa.run.forgotten import add_forgotten
from lycosa.run.session import Session, gather_closed_shards
from lycosa.run.upkeep import finish_upkeep
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import host_of
from sessions import NOW, crawl
from worlds import html

SEEDS = [Url(f"http://h{number}.example/") for number in range(4)]
WORLD = {
    url: html(f"Page {url}", f"honey bee hive {url} w{number}", [f"{url}{leaf}" for leaf in range(3)])
    for number, url in enumerate(SEEDS)
}


NEW = [Url("http://h0.example/0"), Url("http://h1.example/0")]  # one page of each shard


class _KilledError(BaseException):
    pass


@pytest.fixture
def crawled(tmp_path) -> Path:
    """A collection of four pages, whose links wait."""
    folder = collection(tmp_path / "c", SEEDS, topic='keywords = ["honey"]')
    crawl(folder, WORLD, 4)
    return folder


def deal(folder: Path) -> None:
    make_shards(folder, 2, lambda url: int(host_of(url)[1]) % 2)


def kill_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    original = getattr(owner, name)

    def step(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        raise _KilledError

    monkeypatch.setattr(owner, name, step)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(shards, "_move_archive"), (shards, "_gather_pages"), (Catalog, "commit"), (shards, "_gather_states")],
)
def test_a_kill_while_shards_are_gathered_loses_nothing(crawled, monkeypatch, owner, name):
    before = pages(crawled)
    deal(crawled)
    recipe = load_recipe(crawled)
    for number, shard in enumerate(shard_folders(crawled)):
        with Session(crawled, recipe, clock=SimulatedClock(NOW), rerank=False, shard=shard) as session:
            session.record(visit(NEW[number], at=NOW + number))
    with monkeypatch.context() as patch:
        kill_after(patch, owner, name)
        with pytest.raises(_KilledError):
            gather_closed_shards(crawled, recipe)
    said: list[str] = []
    finish_upkeep(crawled, clock=SimulatedClock(NOW), notify=said.append)
    assert len(said) == 1
    assert "a crawl by several workers was broken off" in said[0]
    assert pages(crawled) == [*before, *NEW]
    done("rebuild", crawled)
    assert pages(crawled) == [*before, *NEW]
    assert not (crawled / "shards").exists()


def test_shards_that_cannot_be_gathered_are_told_of_and_the_rest_can_be_read(crawled):
    deal(crawled)
    (crawled / "shards" / "01" / "catalog.sqlite").write_bytes(b"nonsense")
    said: list[str] = []
    finish_upkeep(crawled, clock=SimulatedClock(NOW), notify=said.append)
    assert len(said) == 1
    assert "cannot be gathered yet" in said[0]
    assert len(pages(crawled)) == 4


def test_nothing_is_said_while_another_process_has_the_collection(crawled):
    deal(crawled)
    said: list[str] = []
    lock = lock_collection(crawled)
    finish_upkeep(crawled, clock=SimulatedClock(NOW), notify=said.append)
    lock.close()
    assert said == []
    assert (crawled / "shards").exists()


def test_every_worker_can_train_with_labelled_pages_of_all_shards(crawled):
    labelled = {SEEDS[0]: True, SEEDS[1]: False}
    make_shards(crawled, 2, lambda url: int(host_of(url)[1]) % 2, examples=labelled)
    recipe = load_recipe(crawled)
    for shard in shard_folders(crawled):
        with Session(crawled, recipe, clock=SimulatedClock(NOW), rerank=False, shard=shard) as session:
            assert all(session.pages.terms(url) for url in labelled)
    gather_closed_shards(crawled, recipe)
    assert not rows(crawled, "SELECT url FROM examples")
    assert len(pages(crawled)) == 4


def test_a_worker_and_the_gathering_never_have_a_shard_at_a_time(crawled):
    deal(crawled)
    recipe = load_recipe(crawled)
    with (
        Session(crawled, recipe, clock=SimulatedClock(NOW), rerank=False, shard=shard_folders(crawled)[1]),
        pytest.raises(CollectionError, match="another process"),
    ):
        shards.gather(crawled)
    assert shards.may_be_behind(crawled)
    shards.gather(crawled)
    sent: list[FromWorker] = []
    start = Start(str(crawled), 0, 2, 1, recipe, allow_private=False, resolve=())

    async def begin() -> None:
        await crawl_shard(start, asyncio.StreamReader(), sent.append)

    with pytest.raises(CollectionError, match="no shards to crawl any more"):
        asyncio.run(begin())
    assert sent == []


def test_what_is_to_be_forgotten_is_removed_after_the_shards_were_gathered(crawled):
    deal(crawled)
    add_forgotten(crawled, SEEDS[0])
    with Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW), shard=shard_folders(crawled)[0]):
        assert shards.may_be_behind(crawled), "a kill here loses no shard"
    with Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW)) as session:
        assert session.pages_forgotten == 1
    assert pages(crawled) == SEEDS[1:]


def test_a_rebuild_needs_no_catalog_of_a_shard(crawled):
    deal(crawled)
    for shard in shard_folders(crawled):
        with Session(crawled, load_recipe(crawled), clock=SimulatedClock(NOW), rerank=False, shard=shard) as session:
            (url,) = [url for url in NEW if (int(host_of(url)[1]) % 2) == int(shard.name)]
            session.record(visit(url))
    (shard_folders(crawled)[0] / "catalog.sqlite").write_bytes(b"no database" * 100)
    message = lycosa("crawl", crawled, "--delay", 0).err
    assert f"run: lycosa rebuild {crawled}" in message
    assert "shards/" not in message
    done("rebuild", crawled)
    assert {*SEEDS, *NEW} == set(pages(crawled))
    assert not (crawled / "shards").exists()
    assert not (crawled / "journal.json").exists()
