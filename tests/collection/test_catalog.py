import gc
import os
import re
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from collection.samples import CARS, HOME, WOLF, every_kind_of_event, fetched, page_of, visit
from lycosa.collection import (
    ArchivePosition,
    Attempt,
    Catalog,
    FetchedExample,
    RecordLocation,
    RunStart,
    RunStop,
    Scores,
    schema,
)
from lycosa.collection.schema import MIGRATIONS, migrate, version_of
from lycosa.vocabulary.databases import open_database
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Fetch, LeftOut, LeftOutReason, Link, Outcome, Skip, SkipReason, Url
from lycosa.vocabulary.urls import host_of

PLACE = RecordLocation("t-1-00001.warc.gz", 100, 50)


@pytest.fixture
def catalog(tmp_path):
    catalog = Catalog(tmp_path / "catalog.sqlite", writable=True)
    yield catalog
    catalog.close()


def test_a_visit_is_listed_with_its_reasons(catalog):
    assert catalog.add(visit(WOLF, found_on=HOME), PLACE) == 1
    page = catalog.page(WOLF)
    assert (page.number, page.host, page.title, page.relevance) == (1, "spiders.example", f"Title of {WOLF}", 0.75)
    assert (page.found_on, page.anchor, page.because) == (HOME, "the wolf", {"parent": 0.25, "words": ["a"]})
    assert (page.digest, page.fingerprint, page.place) == ((1 << 64) - 5, 1 << 63, PLACE)
    assert (page.etag, page.status, page.language) == ('"abc"', 200, "en")
    assert catalog.page(WOLF).past.etag == '"abc"'
    assert list(catalog.fingerprints()) == [(WOLF, 1 << 63, (1 << 64) - 5)]
    assert catalog.page(HOME) is None


def test_a_page_that_asks_not_to_be_kept_is_only_in_the_history(catalog):
    assert catalog.add(visit(WOLF, left_out=LeftOut(LeftOutReason.NOINDEX)), PLACE) is None
    assert catalog.page(WOLF) is None
    assert [fetch.outcome for fetch in catalog.fetches(WOLF)] == [Outcome.OK]
    assert list(catalog.visited()) == [WOLF]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_rows_that_are_left_half_read_may_outlive_the_catalog(catalog):
    for url in (HOME, WOLF):
        catalog.add(visit(url), PLACE)
    pages = catalog.pages()
    next(pages)
    catalog.close()
    del pages
    gc.collect()


def test_every_kind_of_event_is_taken_in(catalog):
    for event in every_kind_of_event():
        catalog.add(event, PLACE)
    catalog.commit(ArchivePosition(PLACE.file, 150))
    summary = catalog.summary()
    assert summary.outcomes["ok"] == 7
    assert summary.outcomes["failed"] == 1
    assert [(run.strategy, run.seeds, run.stop_reason) for run in summary.runs] == [
        ("best-first", (HOME, CARS), None),
        ("best-first", (), "enough pages"),
    ]
    assert summary.runs[1].refresh == {"policy": "fixed", "budget": 3, "expand": 0.5}
    assert [(example.url, example.good) for example in catalog.examples()] == [(WOLF, True), (CARS, False)]
    assert catalog.position() == ArchivePosition(PLACE.file, 150)


def test_a_page_fetched_again_keeps_its_number_and_takes_its_new_links(catalog):
    links = (Link(HOME, "home"), Link(CARS, "cars", "nofollow", 7))
    catalog.add(visit(WOLF, page=page_of(WOLF, links=links)), PLACE)
    catalog.add(visit(HOME), PLACE)
    assert catalog.add(visit(WOLF, 0.5, page=page_of(WOLF, title="New", links=links[1:])), PLACE) == 1
    catalog.commit(None)
    assert catalog.add(visit(WOLF, 0.25, page=page_of(WOLF, title="Newer", links=links[1:])), PLACE) == 1
    assert [(page.number, page.title) for page in catalog.pages()] == [(1, "Newer"), (2, f"Title of {HOME}")]
    assert catalog.parents(HOME) == []
    (parent,) = catalog.parents(CARS)
    assert (parent.url, parent.anchor, parent.rel, parent.relevance) == (WOLF, "cars", "nofollow", 0.25)
    assert len(catalog.fetches(WOLF)) == 3


def test_nothing_is_kept_before_commit_and_all_is_kept_after(tmp_path):
    path = tmp_path / "catalog.sqlite"
    catalog = Catalog(path, writable=True)
    catalog.connection.execute("CREATE TABLE waiting (url TEXT)")
    catalog.add(visit(HOME), PLACE)
    catalog.connection.execute("INSERT INTO waiting VALUES ('a')")
    catalog.commit(ArchivePosition("f", 1))
    catalog.add(visit(WOLF), PLACE)
    catalog.add(RunStart(1.0, "random", ()), None)
    catalog.put_state("strategy", {"seen": [1, 2]})
    catalog.connection.execute("INSERT INTO waiting VALUES ('b')")
    catalog.close()
    catalog = Catalog(path, writable=False)
    assert [page.url for page in catalog.pages()] == [HOME]
    assert catalog.connection.execute("SELECT url FROM waiting").fetchall() == [("a",)]
    assert (catalog.position(), catalog.get_state("strategy"), catalog.runs()) == (ArchivePosition("f", 1), None, [])
    catalog.close()


def test_skips_keep_their_first_reason(catalog):
    catalog.add_skips([Skip(Candidate(WOLF, 0.1, HOME), SkipReason.TRAP, "path too deep")], 5.0)
    catalog.add_skips([Skip(Candidate(WOLF, 0.1), SkipReason.NOFOLLOW)], 6.0)
    skip = catalog.skip(WOLF)
    assert (skip.reason, skip.found_on, skip.at) == ("trap: path too deep", HOME, 5.0)
    assert catalog.skip(HOME) is None
    assert catalog.summary().skipped == {"trap: path too deep": 1}
    assert list(catalog.visited()) == []


def test_an_attempt_is_history_but_not_settled(catalog):
    catalog.add(Attempt(Candidate(WOLF, 1.0), Fetch(WOLF, Outcome.FAILED, 1.0, detail="timeout")), PLACE)
    (fetch,) = catalog.fetches(WOLF)
    assert (fetch.outcome, fetch.detail, fetch.settled, fetch.place) == (Outcome.FAILED, "timeout", False, PLACE)
    assert list(catalog.visited()) == []


def test_pages_are_filtered_and_ordered(catalog):
    for url, relevance in ((HOME, 0.25), (WOLF, 0.75), (CARS, 0.5)):
        catalog.add(visit(url, relevance), PLACE)
    assert [page.url for page in catalog.pages("relevance")] == [WOLF, CARS, HOME]
    assert [page.url for page in catalog.pages(host="spiders.example")] == [HOME, WOLF]
    assert [page.url for page in catalog.pages("relevance", min_relevance=0.5, limit=1)] == [WOLF]
    assert [page.number for page in catalog.pages(after=1)] == [2, 3]


def test_scores_replace_relevance(catalog):
    catalog.add(visit(WOLF, 0.25), PLACE)
    catalog.add(Scores(1.0, "labelled", {WOLF: 1.0, HOME: 0.5}), None)
    assert catalog.page(WOLF).relevance == 1.0


def test_a_page_labelled_again_has_the_newest_label(catalog):
    catalog.add(FetchedExample(WOLF, True, fetched(WOLF)), PLACE)
    catalog.add(FetchedExample(WOLF, False, fetched(WOLF)), PLACE)
    assert [(example.url, example.good) for example in catalog.examples()] == [(WOLF, False)]


def test_the_summary_counts(catalog):
    assert catalog.summary().harvest_rate == 0.0
    catalog.add(RunStart(1.0, "best-first", (HOME,)), None)
    for number in range(4):
        catalog.add(visit(Url(f"http://a.example/{number}"), number / 4, at=float(number)), PLACE)
    catalog.add(visit(HOME, 0.9, at=9.0), PLACE)
    catalog.add(RunStop(2.0, "dry"), None)
    catalog.add(RunStart(3.0, "random", (HOME,)), None)
    summary = catalog.summary()
    assert (summary.pages, summary.relevant, summary.harvest_rate) == (5, 3, 0.6)
    assert list(summary.hosts.items()) == [("a.example", 4), ("spiders.example", 1)]
    assert (summary.first_at, summary.last_at, summary.languages) == (0.0, 9.0, {"en": 5})
    assert [(run.first_page, run.stop_reason) for run in summary.runs] == [(1, "dry"), (6, None)]


def test_hostile_text_is_stored(catalog):
    title = "a\x00b\ud800\x1b[31m"
    catalog.add(visit(HOME), PLACE)
    catalog.add(visit(WOLF, page=page_of(WOLF, title=title, links=(Link(HOME, "\udfff"),))), PLACE)
    catalog.commit(None)
    assert catalog.page(WOLF).title == "a\x00b?\x1b[31m"
    assert [parent.anchor for parent in catalog.parents(HOME)] == ["?"]
    assert catalog.count() == 2


def test_forgetting_leaves_no_trace(catalog):
    catalog.add(RunStart(1.0, "best-first", (HOME, CARS)), None)
    catalog.add(visit(HOME, page=page_of(HOME, links=(Link(CARS), Link(WOLF)))), PLACE)
    catalog.add(visit(WOLF, found_on=CARS, duplicate_of=CARS), PLACE)
    catalog.add(visit(CARS, page=page_of(CARS, links=(Link(HOME),))), PLACE)
    catalog.add(FetchedExample(CARS, True, fetched(CARS)), PLACE)
    catalog.add_skips([Skip(Candidate(Url("http://x.example/"), 0.1, CARS), SkipReason.NOFOLLOW)], 1.0)
    catalog.put_state("indexed_up_to", 3)
    assert catalog.forget(lambda url: "cars.example" in url) == 1
    catalog.commit(None)
    assert "cars.example" not in "\n".join(catalog.connection.iterdump())
    assert (catalog.indexed_up_to(), catalog.count()) == (2, 2)
    assert catalog.add(visit(CARS), PLACE) == 3


@pytest.mark.parametrize("forgotten", [HOME, WOLF, CARS])
def test_what_is_forgotten_may_be_forgotten_again(catalog, forgotten):
    for event in every_kind_of_event():
        catalog.add(event, PLACE)
    moved = Fetch(HOME, Outcome.MOVED, 1.7e9, status=301, location=forgotten, detail=f"to {forgotten}")
    catalog.add(Attempt(Candidate(Url("http://moved.example/"), 1.0), moved), PLACE)
    for url in (forgotten, Url("http://moved.example/"), forgotten):
        catalog.forget(lambda each, url=url: host_of(each) == host_of(url))
        catalog.commit(None)
        assert url not in "\n".join(catalog.connection.iterdump())


def test_pages_are_found_where_they_moved(catalog):
    catalog.add(visit(HOME, at=1.0), PLACE)
    catalog.add(visit(HOME, at=2.0), PLACE)
    moved = [(HOME, 1.0, RecordLocation("b", 1, 2)), (HOME, 2.0, RecordLocation("b", 3, 4))]
    catalog.relocate(moved)
    assert catalog.page(HOME).place == RecordLocation("b", 3, 4)
    assert [fetch.place for fetch in catalog.fetches(HOME)] == [RecordLocation("b", 1, 2), RecordLocation("b", 3, 4)]


# ---------------------------------------------------------------- versions and damage


@pytest.mark.parametrize("seeds", ["{", "[1]", "7", '["nonsense"]', b"\x00"])
def test_forgetting_leaves_nothing_of_seeds_that_cannot_be_read(catalog, seeds):
    catalog.add(RunStart(0.0, "hunter", (HOME,)), PLACE)
    catalog.commit(None)
    catalog.connection.execute("UPDATE runs SET seeds = ?", (seeds,))
    catalog.forget(lambda url: False)
    assert catalog.connection.execute("SELECT seeds FROM runs").fetchall() == [("[]",)]


def test_an_older_catalog_is_brought_up_to_date(tmp_path):
    path = tmp_path / "catalog.sqlite"
    with Catalog(path, writable=True).connection as connection:
        assert version_of(connection) == len(MIGRATIONS)
    newer = (*MIGRATIONS, "ALTER TABLE pages ADD COLUMN weight REAL; UPDATE pages SET weight = 0.5")
    catalog = Catalog(path, writable=True)
    catalog.add(visit(HOME), PLACE)
    catalog.commit(None)
    catalog.close()
    for writable in (False, True):
        catalog = Catalog(path, writable=writable, migrations=newer)
        assert version_of(catalog.connection) == len(newer)
        assert catalog.connection.execute("SELECT url, weight FROM pages").fetchall() == [(HOME, 0.5)]
        catalog.close()


@pytest.mark.parametrize("writable", [True, False])
def test_several_connections_may_bring_an_older_catalog_up_to_date(tmp_path, writable):
    barrier = Barrier(6)

    def open_together(path):
        barrier.wait()
        connection = schema.connect(path, writable=writable, migrations=MIGRATIONS)
        version = version_of(connection)
        connection.close()
        return version

    with ThreadPoolExecutor(6) as threads:
        for run in range(5):
            path = tmp_path / f"{run}.sqlite"
            with closing(sqlite3.connect(path)) as connection:
                migrate(connection, MIGRATIONS[:2])
            assert list(threads.map(open_together, [path] * 6)) == [len(MIGRATIONS)] * 6


def test_a_step_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "catalog.sqlite"
    Catalog(path, writable=True).close()
    with pytest.raises(CollectionError):
        Catalog(path, writable=True, migrations=(*MIGRATIONS, "CREATE TABLE half (a); DROP TABLE nowhere"))
    catalog = Catalog(path, writable=True)
    assert version_of(catalog.connection) == len(MIGRATIONS)
    assert catalog.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchone() is None
    catalog.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_a_kill_while_an_older_catalog_is_brought_up_to_date_leaves_it_as_it_was(tmp_path, version):
    path = tmp_path / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        migrate(connection, MIGRATIONS[:version])
        before = set(connection.iterdump())
    child = os.fork()
    if child == 0:  # killed with the step done, and not yet whole
        connection = sqlite3.connect(path)
        connection.create_function("kill", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
        migrate(connection, (*MIGRATIONS[:version], f"{MIGRATIONS[version]}; SELECT kill()"))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with closing(sqlite3.connect(path)) as connection:
        assert version_of(connection) == version
        assert set(connection.iterdump()) == before
    catalog = Catalog(path, writable=True)
    assert version_of(catalog.connection) == len(MIGRATIONS)
    assert catalog.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    catalog.close()


LAID_OUT_OTHERWISE = {
    "in one line": lambda sql: " ".join(re.sub(r"--[^\n]*", "", sql).split()),
    "without blanks in brackets": lambda sql: re.sub(r"\(\s+|\s+(?=\))", lambda found: found[0].strip(), sql),
    "with blanks in brackets": lambda sql: sql.replace("(", "(\n    ").replace(")", "\n)"),
    "with comments": lambda sql: sql.replace(",", ",  -- a comment\n"),
}


@pytest.mark.parametrize("layout", LAID_OUT_OTHERWISE.values(), ids=LAID_OUT_OTHERWISE)
@pytest.mark.parametrize("writable", [True, False])
def test_a_catalog_whose_statements_another_version_laid_out_otherwise_is_opened(tmp_path, layout, writable):
    path = tmp_path / "catalog.sqlite"
    Catalog(path, writable=True).close()
    with closing(sqlite3.connect(path)) as connection:
        statements = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql <> ''").fetchall()
        connection.execute("PRAGMA writable_schema = ON")
        for name, sql in statements:
            bare = re.sub(r"--[^\n]*", "", sql)
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (layout(bare), name))
        connection.commit()
    Catalog(path, writable=writable).close()


def test_a_newer_catalog_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "catalog.sqlite"
    catalog = Catalog(path, writable=True)
    catalog.connection.execute("PRAGMA user_version = 99")
    catalog.close()
    for writable in (True, False):
        with pytest.raises(CollectionError, match=r"newer Lycosa \(schema 99.*lycosa rebuild"):
            Catalog(path, writable=writable)


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 99", "newer Lycosa"),
        ("PRAGMA user_version = -5", "its schema version is -5"),
        ("DROP TABLE skips", "not those of a catalog"),
    ],
)
def test_a_refused_catalog_is_closed(tmp_path, monkeypatch, statement, message, writable):
    path = tmp_path / "catalog.sqlite"
    Catalog(path, writable=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    opened = []
    monkeypatch.setattr(schema, "open_database", lambda *a, **k: opened.append(open_database(*a, **k)) or opened[-1])
    with pytest.raises(CollectionError, match=message):
        Catalog(path, writable=writable)
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    assert opened


@pytest.mark.parametrize("writable", [True, False])
def test_a_damaged_catalog_names_the_way_out(tmp_path, writable):
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"this is not a database, it is a long line of text\n" * 100)
    with pytest.raises(CollectionError, match=f"lycosa rebuild {tmp_path}"):
        Catalog(path, writable=writable)


def test_damage_found_while_reading_names_the_way_out(tmp_path):
    path = tmp_path / "catalog.sqlite"
    catalog = Catalog(path, writable=True)
    for number in range(500):
        catalog.add(visit(Url(f"http://a.example/{number}")), PLACE)
    catalog.commit(None)
    catalog.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : -4096] = b"\xff" * (len(data) - 4096 - len(data) // 3)
    path.write_bytes(data)
    with pytest.raises(CollectionError, match="lycosa rebuild"):
        catalog = Catalog(path, writable=False)
        list(catalog.pages())
        list(catalog.visited())


def test_a_missing_catalog_names_the_way_out(tmp_path):
    with pytest.raises(CollectionError, match="lycosa rebuild"):
        Catalog(tmp_path / "catalog.sqlite", writable=False)


def test_a_catalog_in_use_is_one_line(tmp_path):
    path = tmp_path / "catalog.sqlite"
    first = Catalog(path, writable=True)
    first.add(RunStart(1.0, "random", ()), None)
    second = Catalog(path, writable=True)
    second.connection.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(CollectionError, match="in use by another program"):
        second.add(RunStart(1.0, "random", ()), None)
    first.close()
    second.close()


def test_sqlite_has_what_we_use():
    assert sqlite3.sqlite_version_info >= (3, 33)


def test_a_full_disk_is_one_line_wherever_rows_are_written(catalog):
    catalog.add(RunStart(1.0, "random", ()), None)
    (pages,) = catalog.connection.execute("PRAGMA page_count").fetchone()
    catalog.connection.execute(f"PRAGMA max_page_count = {pages}")
    catalog.add(visit(WOLF, page=page_of(WOLF, title="wolves " * 20_000)), PLACE)
    with pytest.raises(CollectionError, match="make room"):
        catalog.add(visit(WOLF), PLACE)  # visited twice: the rows of the first visit are written
    with pytest.raises(CollectionError, match="make room"):
        catalog.commit(ArchivePosition(PLACE.file, 150))
