import asyncio
import os
import shutil
import signal
import sqlite3

import pytest
from msgspec.structs import replace

from collection.samples import (
    CARS,
    HOME,
    WOLF,
    collection_in,
    every_kind_of_event,
    files_no_longer_than,
    page_of,
    visit,
    warcio_check,
)
from lycosa.collection import Collection, Scores, schema
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.databases import open_database
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Link, Url, Visit
from processes import Process


def url(number: int) -> Url:
    return Url(f"http://host{number % 3}.example/{number}")


def replay(collection: Collection) -> int:
    """What a crawl does when it starts: reads the pages of what the catalog does not know."""
    count = 0
    for event, place in collection.unapplied():
        if isinstance(event, Visit):
            event = replace(event, page=page_of(event.candidate.url, title=f"Title of {event.candidate.url}"))
        collection.apply(event, place)
        count += 1
    collection.checkpoint()
    return count


def facts(collection: Collection) -> tuple[object, ...]:
    pages = [(page.number, page.url, page.relevance, page.place, page.because) for page in collection.catalog.pages()]
    found = sorted(hit.url for hit in collection.search.search("", limit=1000))
    return pages, found, replace(collection.catalog.summary(), languages={})


def test_what_is_recorded_is_found_when_opened_again(tmp_path):
    with collection_in(tmp_path) as collection:
        for event in [*every_kind_of_event(), visit(HOME), visit(WOLF)]:
            collection.record(event)
    with collection_in(tmp_path, writable=False) as collection:
        assert [page.url for page in collection.catalog.pages()] == [HOME, WOLF]
        assert {hit.url for hit in collection.search.search("hunt")} == {HOME, WOLF}
        assert collection.archive.fetch_at(collection.catalog.page(WOLF).place).body == visit(WOLF).fetch.body
        assert list(collection.unapplied()) == []


@pytest.mark.parametrize("batch", [3, 1000])
def test_a_rebuild_gives_the_same_collection(tmp_path, batch):
    with collection_in(tmp_path, index_batch=batch, max_bytes=8000) as collection:
        for number in range(20):
            collection.record(visit(url(number), number / 20, found_on=url(0)))
            if number % 4 == 0:
                collection.checkpoint()
            if number == 10:
                collection.record(Scores(1.0, "retrained", {url(2): 1.0, url(7): 0.0}))
    with collection_in(tmp_path, writable=False) as collection:
        before = facts(collection)
        assert collection.search.search("", host="host2.example", min_relevance=0.99)[0].url == url(2)
    with collection_in(tmp_path, rebuild=True) as collection:
        assert replay(collection) == 21
    with collection_in(tmp_path, writable=False) as collection:
        assert facts(collection) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from collection.samples import collection_in, visit
from lycosa.vocabulary.records import Url
collection = collection_in(Path(sys.argv[1]), index_batch=5)
first = collection.catalog.count()
for number in range(first, 40):
    collection.record(visit(Url(f"http://host{number % 3}.example/{number}"), 0.5, at=1.7e9 + number))
    if number % 3 == 0:
        collection.checkpoint()
    if number - first == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_kills_nothing_is_lost_and_nothing_is_double(tmp_path):
    for after in (0, 4, 7, 11):
        assert Process(KILLED, tmp_path, after).wait() == -signal.SIGKILL
        with next(iter((tmp_path / "archive").glob("*.warc.gz"))).open("ab") as stream:
            stream.write(b"\x1f\x8b\x08half a record")
        with collection_in(tmp_path, index_batch=5) as collection:
            replay(collection)
    with collection_in(tmp_path, writable=False) as collection:
        pages = list(collection.catalog.pages())
        assert [page.url for page in pages] == [url(number) for number in range(1 + 5 + 8 + 12)]
        for page in pages:
            assert collection.archive.fetch_at(page.place).url == page.url
        assert sorted(hit.url for hit in collection.search.search("", limit=100)) == sorted(page.url for page in pages)
    path = next(iter((tmp_path / "archive").glob("*.warc.gz")))
    warcio_check(path)


def test_a_lost_index_is_made_again_from_the_archive(tmp_path):
    with collection_in(tmp_path) as collection:
        collection.record(visit(HOME))
    shutil.rmtree(tmp_path / "search")
    collection_in(tmp_path).close()
    with collection_in(tmp_path, writable=False) as collection:
        (hit,) = collection.search.search("fast")
        assert (hit.url, hit.title) == (HOME, "Wolf spiders")


def test_a_page_fetched_again_is_found_by_its_new_words_only(tmp_path):
    with collection_in(tmp_path, index_batch=1) as collection:
        for title in ("Tarantula", "Huntsman"):
            collection.record(visit(HOME, page=page_of(HOME, title=title)))
            collection.record(visit(WOLF))
            collection.checkpoint()
        assert collection.search.search("tarantula") == []
        assert [hit.url for hit in collection.search.search("huntsman")] == [HOME]
        assert len(collection.search.search("")) == 2


@pytest.fixture
def few(monkeypatch):
    """Three pages are few, and more are many."""
    monkeypatch.setattr("lycosa.collection.collection._MAX_INDEXED_ON_CLOSE", 3)


def test_few_pages_are_indexed_when_a_crawl_ends_and_many_wait_for_the_first_search(tmp_path, few):
    with collection_in(tmp_path, index_later=True) as collection:
        for number in range(3):
            collection.record(visit(url(number)))
    with collection_in(tmp_path, index_later=True) as collection:
        assert len(collection.search.search("", limit=99)) == 3
        for number in range(3, 7):
            collection.record(visit(url(number)))
    with collection_in(tmp_path, writable=False) as collection:
        assert (len(collection.search.search("", limit=99)), collection.pages_not_indexed()) == (3, 4)
    collection_in(tmp_path).close()
    with collection_in(tmp_path, writable=False) as collection:
        assert len(collection.search.search("", limit=99)) == 7
        assert collection.pages_not_indexed() == 0


def test_a_running_crawl_indexes_some_pages_at_a_time_and_nothing_twice(tmp_path, monkeypatch, few):
    monkeypatch.setattr("lycosa.collection.collection._MAX_INDEXED_AT_ONCE", 2)
    clock, found = SimulatedClock(1.7e9), []
    with collection_in(tmp_path, index_later=True, clock=clock) as collection:
        for number in range(7):
            collection.record(visit(url(number)))
        for _ in range(5):
            collection.checkpoint()
            with collection_in(tmp_path, writable=False) as reader:
                hits = reader.search.search("", limit=99) if reader.search.exists() else []
                found.append((len(hits), reader.pages_not_indexed()))
            asyncio.run(clock.sleep_until(clock.now() + 61))
        collection.record(visit(url(2), page=page_of(url(2), title="Huntsman")))
        asyncio.run(clock.sleep_until(clock.now() + 61))
        collection.checkpoint()
        assert [hit.url for hit in collection.search.search("huntsman")] == [url(2)]
        assert len(collection.search.search("", limit=99)) == 7
    assert found == [(0, 7), (2, 5), (4, 3), (6, 1), (7, 0)]


def test_a_running_refresh_indexes_some_changed_pages_at_a_time(tmp_path, monkeypatch):
    with collection_in(tmp_path) as collection:
        for number in range(6):
            collection.record(visit(url(number), page=page_of(url(number), title="Tarantula")))
    monkeypatch.setattr("lycosa.collection.collection._MAX_INDEXED_AT_ONCE", 2)
    clock, found = SimulatedClock(1.7e9), []
    with collection_in(tmp_path, index_later=True, clock=clock) as collection:
        for number in range(5):
            collection.record(visit(url(number), page=page_of(url(number), title="Huntsman")))
        collection.record(visit(url(6)))
        for _ in range(4):
            asyncio.run(clock.sleep_until(clock.now() + 61))
            collection.checkpoint()
            with collection_in(tmp_path, writable=False) as reader:
                words = ("tarantula", "huntsman", "")
                found.append([len(reader.search.search(word, limit=99)) for word in words])
                assert reader.pages_not_indexed() == found[-1][0] - 1
    assert found == [[5, 1, 7], [3, 3, 7], [1, 5, 7], [1, 5, 7]]


def test_a_page_that_waits_to_be_indexed_anew_is_found_by_its_new_words_only(tmp_path, few):
    with collection_in(tmp_path) as collection:
        collection.record(visit(HOME, page=page_of(HOME, title="Tarantula")))
    with collection_in(tmp_path, index_later=True) as collection:
        collection.record(visit(HOME, page=page_of(HOME, title="Huntsman")))
        for number in range(3):
            collection.record(visit(url(number)))
    with collection_in(tmp_path, writable=False) as collection:
        assert collection.pages_not_indexed() == 4
    collection_in(tmp_path).close()
    with collection_in(tmp_path, writable=False) as collection:
        assert collection.search.search("tarantula") == []
        assert len(collection.search.search("", limit=99)) == 4


def test_what_is_forgotten_before_it_was_indexed_is_never_found(tmp_path, few):
    with collection_in(tmp_path, index_later=True) as collection:
        for number in range(9):
            collection.record(visit(url(number), at=1.7e9 + number))
        assert collection.forget(lambda page: "host0" in page) == 3
        assert not collection.search.exists()
    collection_in(tmp_path).close()
    with collection_in(tmp_path, writable=False) as collection:
        found = sorted(hit.url for hit in collection.search.search("", limit=99))
        assert found == sorted(url(number) for number in range(9) if number % 3)


def test_forgetting_reaches_archive_catalog_and_index(tmp_path):
    with collection_in(tmp_path, max_bytes=4000) as collection:
        for number in range(9):
            collection.record(visit(url(number), at=1.7e9 + number, found_on=url(0)))
        assert collection.forget(lambda page: "host0" in page) == 3
        collection.record(visit(CARS))
    with collection_in(tmp_path) as collection:
        pages = list(collection.catalog.pages())
        assert [page.url for page in pages] == [url(n) for n in range(9) if n % 3] + [CARS]
        for page in pages:
            assert collection.archive.fetch_at(page.place).url == page.url
        assert {hit.url for hit in collection.search.search("", limit=99)} == {page.url for page in pages}
        assert list(collection.unapplied()) == []
        assert all(b"host0" not in str(event).encode() for event, _ in collection.archive.events())


FORGETTING = """
import os, signal, sys
from pathlib import Path
from collection.samples import collection_in
asked = 0
def is_forgotten(url):
    global asked
    asked += 1
    if asked == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return "host0" in url
collection_in(Path(sys.argv[1]), max_bytes=4000).forget(is_forgotten)
"""


@pytest.mark.parametrize("moment", [5, 30, 34, 39, 44, 48])
def test_a_kill_while_forgetting_is_mended_by_the_next_writer(tmp_path, moment):
    with collection_in(tmp_path, max_bytes=4000) as collection:
        for number in range(9):
            collection.record(visit(url(number), at=1.7e9 + number, found_on=url(0)))
    assert Process(FORGETTING, tmp_path, moment).wait() == -signal.SIGKILL
    with collection_in(tmp_path) as collection:
        for page in collection.catalog.pages():
            assert collection.archive.fetch_at(page.place).url == page.url
        assert list(collection.unapplied()) == []
        collection.forget(lambda page: "host0" in page)
        assert all("host0" not in str(event) for event, _ in collection.archive.events())
        assert {hit.url for hit in collection.search.search("", limit=99)} == {
            p.url for p in collection.catalog.pages()
        }


def test_what_is_not_applied_waits_for_whoever_applies_it(tmp_path):
    with pytest.raises(ZeroDivisionError), collection_in(tmp_path) as collection:
        for page in (HOME, WOLF, CARS):
            collection.record(visit(page))
        raise ZeroDivisionError
    collection_in(tmp_path).close()
    with collection_in(tmp_path) as collection:
        with pytest.raises(CollectionError, match="behind its archive"):
            collection.record(visit(url(1)))
        event, place = next(collection.unapplied())
        collection.apply(replace(event, page=page_of(HOME)), place)
    with collection_in(tmp_path) as collection:
        assert [page.url for page in collection.catalog.pages()] == [HOME]
        assert replay(collection) == 2
        collection.record(visit(url(1)))
    with collection_in(tmp_path, writable=False) as collection:
        assert [page.url for page in collection.catalog.pages()] == [HOME, WOLF, CARS, url(1)]
        assert list(collection.unapplied()) == []


def test_an_exception_leaves_what_was_not_checkpointed_to_the_next_writer(tmp_path):
    with pytest.raises(ZeroDivisionError), collection_in(tmp_path) as collection:
        collection.record(visit(HOME))
        collection.checkpoint()
        collection.record(visit(WOLF))
        raise ZeroDivisionError
    with collection_in(tmp_path) as collection:
        assert collection.catalog.count() == 1
        assert replay(collection) == 1
    with collection_in(tmp_path, writable=False) as collection:
        assert len(collection.search.search("")) == 2


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path):
    with collection_in(tmp_path) as collection:
        collection.record(visit(HOME))
        collection.checkpoint()
        with pytest.raises(CollectionError, match=rf"another process is writing to {tmp_path} \(pid {os.getpid()}\)"):
            collection_in(tmp_path)
        with collection_in(tmp_path, writable=False) as reader:
            assert reader.catalog.count() == 1
    collection_in(tmp_path).close()


def test_a_collection_never_crawled_names_the_way_out(tmp_path):
    with pytest.raises(CollectionError, match=f"lycosa crawl {tmp_path}"):
        collection_in(tmp_path, writable=False)


@pytest.mark.parametrize("size", [30_000, 150_000, 400_000])
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path, size):
    collection_in(tmp_path).close()
    collection = collection_in(tmp_path, index_batch=100)
    recorded = 0
    with files_no_longer_than(size), pytest.raises(CollectionError) as error:
        for recorded in range(5000):
            links = tuple(Link(url(n), "a link to somewhere") for n in range(20))
            collection.record(visit(url(recorded), at=1.7e9 + recorded, page=page_of(url(recorded), links=links)))
            if recorded % 50 == 0:
                collection.checkpoint()
    assert "\n" not in str(error.value)
    collection.close_without_checkpoint()
    with collection_in(tmp_path) as collection:
        replay(collection)
        assert recorded <= collection.catalog.count() <= recorded + 1
    with collection_in(tmp_path, writable=False) as collection:
        pages = [page.url for page in collection.catalog.pages()]
        assert pages == [url(number) for number in range(len(pages))]
        assert len(collection.search.search("", limit=9999)) == len(pages)


def test_a_missing_folder_names_the_way_out(tmp_path):
    with pytest.raises(CollectionError, match=r"lycosa new .*nowhere"):
        collection_in(tmp_path / "nowhere")


def test_a_file_in_place_of_the_archive_is_one_line_and_frees_the_lock(tmp_path):
    (tmp_path / "archive").write_text("")
    for _ in range(2):
        with pytest.raises(CollectionError, match="cannot use") as error:
            collection_in(tmp_path)
        assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_one_line_for_writers_and_no_trouble_for_readers(tmp_path):
    with collection_in(tmp_path) as collection:
        collection.record(visit(HOME))
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(CollectionError, match="cannot use"):
            collection_in(tmp_path)
        with collection_in(tmp_path, writable=False) as collection:
            assert collection.catalog.count() == 1
    finally:
        tmp_path.chmod(0o755)


def test_a_collection_opened_for_reading_is_not_written(tmp_path):
    collection_in(tmp_path).close()
    with collection_in(tmp_path, writable=False) as collection, pytest.raises(CollectionError, match="reading only"):
        collection.record(visit(HOME))


def test_a_collection_that_cannot_be_opened_is_closed(tmp_path, monkeypatch):
    with collection_in(tmp_path) as collection:
        collection.record(visit(HOME))
    for file in (tmp_path / "archive").iterdir():
        file.unlink()
    databases = []
    monkeypatch.setattr(
        schema, "open_database", lambda *a, **k: databases.append(open_database(*a, **k)) or databases[-1]
    )
    with pytest.raises(CollectionError, match="shorter than its catalog"):
        collection_in(tmp_path)
    for database in databases:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            database.execute("SELECT 1")
