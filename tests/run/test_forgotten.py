"""What was forgotten stays so, whichever way it might come back."""

import re
import shutil
import sqlite3

import pytest
from warcio.archiveiterator import ArchiveIterator

import lycosa
from crawling import copied, done, pages, skipped, waiting
from lycosa.collection.upkeep_journal import UpkeepTask, read_upkeep_journal, write_upkeep_journal
from lycosa.run import upkeep
from lycosa.run.forgotten import add_forgotten
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.urls import host_of
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

WORLD = PracticeWeb(seed=2, hosts=8, pages=120)
EXAMPLES = [url for url in WORLD.urls() if WORLD.topic(url) == "beekeeping"][:8]
WITH_CLOCK = {"clock": WallClock(), "notify": lambda line: None}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = lycosa.new(tmp_path_factory.mktemp("forgotten") / "bees", examples=EXAMPLES, seeds=[WORLD.front_page])
    crawl(folder, pages=15)
    return folder


@pytest.fixture
def bees(crawled, tmp_path):
    return copied(crawled, tmp_path / "bees")


def crawl(folder, *, pages, **options):
    with WorldServer(WORLD) as served:
        for _ in lycosa.crawl(folder, pages=pages, delay=0, resolve=[served.resolve], **options):
            pass
        return served.requests


def a_page_of(folder):
    with lycosa.open(folder) as collection:
        return [page.url for page in collection if page.url not in {*EXAMPLES, WORLD.front_page}][-1]


@pytest.mark.slow
def test_a_forgotten_page_does_not_come_back_by_import(bees, tmp_path):
    [archive] = (bees / "archive").glob("*.warc.gz")
    shutil.copy(archive, tmp_path / "copy.warc.gz")
    url = a_page_of(bees)
    assert upkeep.forget(bees, url, **WITH_CLOCK).pages == 1
    upkeep.import_archive(bees, tmp_path / "copy.warc.gz", **WITH_CLOCK)
    with lycosa.open(bees) as collection:
        assert collection.page(url) is None


@pytest.mark.slow
def test_a_forgotten_label_is_not_named_any_more(bees):
    url = a_page_of(bees)
    upkeep.label(bees, {WORLD.front_page: False}, **WITH_CLOCK)
    upkeep.label(bees, {url: False}, **WITH_CLOCK)
    upkeep.forget(bees, url, **WITH_CLOCK)
    assert (bees / "labels.txt").read_text() == f"bad {WORLD.front_page}\n"


@pytest.mark.slow
def test_a_forgotten_example_is_not_fetched_again(bees):
    upkeep.forget(bees, EXAMPLES[0], **WITH_CLOCK)
    asked = crawl(bees, pages=20)  # trains anew on the examples that are left
    assert asked
    assert EXAMPLES[0] not in asked


@pytest.mark.slow
def test_what_a_forgotten_page_leaves_room_for_waits_again_and_is_skipped_no_more(bees):
    crawl(bees, pages=60, per_host=4)
    before = skipped(bees)
    url = next(url for url in reversed(pages(bees)) if host_of(url) in set(map(host_of, before)))
    upkeep.forget(bees, url, **WITH_CLOCK)
    there = {each for each in waiting(bees) if host_of(each) == host_of(url)}
    assert there and there <= before.keys()
    assert not skipped(bees).keys() & waiting(bees).keys()
    named_by_it = set(WORLD.links(url))  # perhaps by no other page
    full = {each for each in before if host_of(each) != host_of(url) and each not in named_by_it}
    assert full and full <= skipped(bees).keys() | waiting(bees).keys()


@pytest.mark.slow
def test_a_forgetting_that_was_killed_is_finished_by_whoever_opens_the_collection_next(bees):
    with lycosa.open(bees) as opened:
        url = [page.url for page in opened][5]
    add_forgotten(bees, url)  # noted, and then nothing: as after a kill
    upkeep.rebuild(bees, **WITH_CLOCK)
    with lycosa.open(bees) as opened:
        assert opened.page(url) is None
        assert len(opened) == 14
    for path in bees.glob("archive/*.gz"):
        with path.open("rb") as file:
            targets = [record.rec_headers.get_header("WARC-Target-URI") or "" for record in ArchiveIterator(file)]
        assert targets
        assert not [target for target in targets if target.endswith(url)]


@pytest.mark.slow
def test_a_page_that_is_crawled_later_does_not_bring_a_forgotten_url_back(bees):
    url = a_page_of(bees)
    upkeep.forget(bees, url, **WITH_CLOCK)
    crawl(bees, pages=40)
    with sqlite3.connect(f"file:{bees / 'catalog.sqlite'}?mode=ro", uri=True) as catalog:
        for (table,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            text = str(catalog.execute(f"SELECT * FROM {table}").fetchall())
            assert not re.search(rf"{re.escape(url)}[\"'\\]", text), table  # other URLs may begin like it


@pytest.mark.slow
def test_a_reading_command_finishes_a_forgetting_that_was_killed(bees):
    url = a_page_of(bees)
    write_upkeep_journal(bees, UpkeepTask("forget"))
    add_forgotten(bees, url)  # and then nothing: as after a kill
    said = done("show", bees)
    assert "the interrupted removal is now complete" in said.err
    assert read_upkeep_journal(bees) is None
    assert url not in pages(bees)
