"""Lycosa from Python, on a made-up web over loopback HTTP."""

import asyncio
import gc
import signal
import sqlite3
import subprocess
import sys
from contextlib import aclosing, closing

import pytest

import lycosa
import lycosa.api
import lycosa.collection.collection
from crawling import PATIENCE
from lycosa.recipe import load_recipe
from lycosa.screens.frontier import frontier_view
from lycosa.screens.page import page_view
from lycosa.vocabulary.errors import CollectionError, RecipeError, UsageError
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

WORLD = PracticeWeb(seed=2, hosts=8, pages=120)
ON_TOPIC = [url for url in WORLD.urls() if WORLD.topic(url) == "beekeeping"]


@pytest.fixture(scope="module")
def served():
    with WorldServer(WORLD) as served:
        yield served


@pytest.fixture
def bees(tmp_path):
    return lycosa.new(tmp_path / "bees", examples=ON_TOPIC[:8], seeds=[WORLD.front_page])


def crawl(folder, served, **options):
    return lycosa.crawl(folder, delay=0, resolve=[served.resolve], **options)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory, served):
    folder = lycosa.new(
        tmp_path_factory.mktemp("api") / "bees", topic="keeping bees", examples=ON_TOPIC[:8], seeds=[WORLD.front_page]
    )
    assert sum(visit.is_kept for visit in crawl(folder, served, pages=30)) == 30
    return folder


def test_a_new_collection_keeps_what_it_was_told(tmp_path):
    folder = lycosa.new(
        tmp_path / "bees",
        topic="keeping bees",
        examples=["http://bees.example/hive", "A text about queens,\nhives and honey"],
        negatives=["http://ships.example/"],
        seeds=["http://bees.example"],
        contact="me@example.org",
    )
    assert folder == tmp_path / "bees"
    assert (folder / "seeds.txt").read_text() == "http://bees.example/\n"
    good = (folder / "examples" / "good.txt").read_text()
    assert good == "http://bees.example/hive\nA text about queens, hives and honey\n"
    assert 'contact = "me@example.org"' in (folder / "lycosa.toml").read_text()


def test_a_new_collection_keeps_the_tables_from_which_standing_is_learnt(tmp_path):
    (tmp_path / "links.csv").write_text("http://bees.example/,7\n")
    (tmp_path / "reach.csv").write_text("bees.example,40\n")
    folder = lycosa.new(
        tmp_path / "bees", topic="bees", in_links=tmp_path / "links.csv", traffic=str(tmp_path / "reach.csv")
    )
    source = load_recipe(folder).standing
    assert (folder / source.in_links).read_text() == "http://bees.example/,7\n"
    assert (folder / source.traffic).read_text() == "bees.example,40\n"
    with pytest.raises(lycosa.LycosaError, match=r"links\.csv:1"):
        lycosa.new(tmp_path / "ships", topic="ships", traffic=tmp_path / "links.csv")
    assert not (tmp_path / "ships").exists()


def test_examples_may_stand_in_a_file(tmp_path):
    (tmp_path / "pages.txt").write_text("http://bees.example/hive\n")
    folder = lycosa.new(tmp_path / "bees", examples=tmp_path / "pages.txt")
    assert (folder / "examples" / "good.txt").read_text() == "http://bees.example/hive\n"


@pytest.mark.slow
def test_a_crawl_gives_its_visits_and_says_why_it_ended(bees, served):
    run = crawl(bees, served, pages=12)
    assert run.stopped == ""
    visits = list(run)
    assert sum(visit.is_kept for visit in visits) == 12
    assert visits[0].fetch.url in ON_TOPIC[:8], "examples are starts, too, and come first"
    assert run.stopped == "12 pages, as requested"
    assert run.summary().pages == 12
    assert run.waiting() > 0
    assert len(list(run.pages())) == 12
    assert run.page(WORLD.front_page).title
    assert run.page(visits[0].fetch.url).number == 1
    run.close()


@pytest.mark.slow
def test_a_crawl_left_by_break_is_closed_and_goes_on_where_it_was(bees, served):
    run = crawl(bees, served, pages=12)
    for visit in run:
        if visit.is_kept:
            break
    assert run.stopped == "interrupted"
    with lycosa.open(bees) as collection:  # nobody holds the lock, and what was visited is there
        known = [page.url for page in collection]
        assert known == [visit.fetch.url]
        assert [each.stop_reason for each in collection.summary().runs] == ["interrupted"]
    later = [visit.fetch.url for visit in run]
    assert run.summary().pages == 12
    assert set(later).isdisjoint(known)
    run.close()


@pytest.mark.slow
def test_a_crawl_left_by_an_exception_is_closed(bees, served):
    run = crawl(bees, served, pages=12)
    with pytest.raises(ZeroDivisionError):
        for visit in run:
            1 / (not visit.is_kept)
    gc.collect()
    assert run.stopped == "interrupted"
    assert sum(visit.is_kept for visit in crawl(bees, served, pages=12)) == 11


def test_a_crawl_can_be_asked_while_it_runs(bees, served):
    run = crawl(bees, served, pages=5)
    counts = [run.summary().pages for visit in run if visit.is_kept]
    assert counts == [1, 2, 3, 4, 5]
    run.close()


def test_a_second_loop_within_the_first_is_refused(bees, served):
    run = crawl(bees, served, pages=5)
    with pytest.raises(UsageError, match="under way"):
        for _ in run:
            next(iter(run))


def test_two_crawls_of_one_collection_are_refused(bees, served):
    with pytest.raises(CollectionError, match="another process is writing to"):
        for _ in crawl(bees, served, pages=5):
            next(iter(crawl(bees, served, pages=5)))


@pytest.mark.slow
def test_ctrl_c_stops_a_crawl_cleanly(bees, served):
    code = f"""
import lycosa
for visit in lycosa.crawl({str(bees)!r}, delay=0.2, concurrency=2, resolve=[{served.resolve!r}]):
    print(visit.fetch.url, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = [process.stdout.readline().strip(), process.stdout.readline().strip()]
    process.send_signal(signal.SIGINT)
    _, trouble = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in trouble.splitlines()  # asyncio may warn of a step that it had no time to begin
    with lycosa.open(bees) as collection:
        assert collection.summary().runs[-1].stop_reason == "interrupted"
        known = [page.url for page in collection]
    assert set(seen) <= set(known)
    later = [visit.fetch.url for visit in crawl(bees, served, pages=len(known) + 5) if visit.is_kept]
    assert len(later) == 5
    assert set(later).isdisjoint(known)


@pytest.mark.slow
def test_within_an_event_loop_one_writes_async_for(bees, served):
    async def visits():
        run = crawl(bees, served, pages=5)
        with pytest.raises(UsageError, match="async for"):
            next(iter(run))
        async with aclosing(aiter(run)) as stream:
            return [visit async for visit in stream], run.stopped

    found, stopped = asyncio.run(visits())
    assert sum(visit.is_kept for visit in found) == 5
    assert stopped == "5 pages, as requested"


def test_what_the_command_line_would_print_is_told(bees, served):
    messages = []
    list(crawl(bees, served, pages=3, notify=messages.append))
    assert "fetching 8 example pages" in messages


def test_scope_and_strategy_are_those_of_the_call(bees, served):
    host = WORLD.hosts[0]
    run = crawl(bees, served, pages=10, hosts=[host], strategy="breadth-first")
    assert {visit.fetch.url.split("/")[2] for visit in run} == {host}
    assert run.summary().runs[0].strategy == "breadth-first"
    run.close()


@pytest.mark.slow
def test_an_open_collection_lists_finds_and_reads_pages(crawled):
    with lycosa.open(crawled) as collection:
        pages = list(collection)
        assert len(collection) == len(pages) == 30
        assert [page.number for page in pages] == list(range(1, 31))
        best = next(collection.pages("relevance", limit=1))
        assert best.relevance == max(page.relevance for page in pages)
        hits = collection.search("honey", limit=5, min_relevance=0.5)
        assert hits
        assert all(hit.relevance >= 0.5 for hit in hits)
        assert "honey" in collection.text(hits[0].url).lower()
        assert collection.html(hits[0].url) == WORLD.page(hits[0].url)
        assert collection.fetch(hits[0].url).status == 200
        assert collection.summary().pages == 30
        assert collection.waiting() > 0


def test_pages_are_given_as_rows_and_counted_by_the_same_keywords(crawled):
    with lycosa.open(crawled) as collection:
        rows = list(collection.rows(top=5, text=True))
        assert [row["url"] for row in rows] == [page.url for page in collection.pages("relevance", limit=5)]
        assert all(row["text"] == collection.text(row["url"]) for row in rows)
        assert collection.count() == 30
        assert collection.count(host=rows[0]["host"]) == len(list(collection.pages(host=rows[0]["host"]))) < 30
        assert collection.row(rows[0]["url"], markdown=True)["markdown"] == collection.markdown(rows[0]["url"])
        assert collection.row("http://nowhere.example/") is None
        with pytest.raises(TypeError, match="no keyword 'hosts'; there are"):
            collection.count(hosts=["portal.example"])


def test_an_open_collection_explains_shows_and_reports(crawled, tmp_path):
    with lycosa.open(crawled) as collection:
        page = next(collection.pages("relevance", limit=1))
        facts = collection.explain(page.url)
        assert (facts["state"], facts["page"]) == ("stored", page)
        assert collection.explain("http://nowhere.example/")["state"] == "unknown"
        with pytest.raises(UsageError, match="not a URL"):
            collection.explain("no URL at all")
        shown = collection.overview()
        assert (shown.facts.pages, shown.waiting) == (30, collection.waiting())
        assert page.url not in {hit.url for hit in collection.similar(page.url, limit=3)}
        assert collection.similar("http://nowhere.example/") == []
        assert "<title>bees" in collection.write_report(tmp_path / "bees.html").read_text()
        assert collection.write_report() == crawled / "report.html"


@pytest.mark.slow
def test_pages_are_labelled_and_the_model_learns(bees, served):
    with pytest.raises(UsageError, match="no URL to label"):
        lycosa.label(bees)
    noted = lycosa.label(bees, good=[ON_TOPIC[9]])
    assert (noted.judged, noted.missing) == (None, 9), "before the first crawl there is nothing to learn from"
    list(crawl(bees, served, pages=12))
    with lycosa.open(bees) as collection:
        off_topic = next(page.url for page in collection if page.url not in ON_TOPIC)
    learnt = lycosa.label(bees, bad=[off_topic])
    assert (learnt.judged, learnt.missing) == (12, 0)
    with lycosa.open(bees) as collection:
        assert {row["url"] for row in collection.rows(label="bad")} == {off_topic}


@pytest.mark.slow
def test_a_page_is_forgotten_and_a_collection_made_anew_from_its_archive(bees, served):
    list(crawl(bees, served, pages=8))
    with lycosa.open(bees) as collection:
        url = next(iter(collection)).url
    done = lycosa.forget(bees, url)
    assert (done.pages, done.was_known) == (1, True)
    (bees / "catalog.sqlite").unlink()
    assert lycosa.rebuild(bees) == 7
    with lycosa.open(bees) as collection:
        assert collection.page(url) is None
        assert collection.explain(url)["state"] == "forgotten"


def test_pages_of_a_warc_file_are_imported(bees, crawled):
    (archive,) = sorted((crawled / "archive").glob("*.warc.gz"))[:1]
    done = lycosa.import_archive(bees, archive)
    with lycosa.open(bees) as collection:
        assert len(collection) == done.pages > 0


def test_a_url_is_known_however_it_is_spelt(crawled):
    with lycosa.open(crawled) as collection:
        assert collection.page("HTTP://portal.example").url == WORLD.front_page
        assert collection.page("no URL at all") is None
        with pytest.raises(UsageError, match="has no page"):
            collection.text("http://nowhere.example/")
        with pytest.raises(UsageError, match="no order 'size'; there are number, relevance"):
            collection.pages("size")


def test_mistakes_are_named_before_anything_is_asked(tmp_path, bees):
    with pytest.raises(UsageError, match="there is no collection"):
        lycosa.crawl(tmp_path / "nothing")
    with pytest.raises(UsageError, match="there is no collection"):
        lycosa.open(tmp_path / "nothing")
    with pytest.raises(CollectionError, match="holds nothing yet"):
        lycosa.open(bees)
    with pytest.raises(RecipeError, match="no strategy 'depth-last'; there are"):
        lycosa.crawl(bees, strategy="depth-last")
    with pytest.raises(UsageError, match="resolve"):
        lycosa.crawl(bees, resolve=["nonsense"])
    with pytest.raises(UsageError, match="is there already"):
        lycosa.new(bees)
    with pytest.raises(UsageError, match="give a list"):
        lycosa.new(tmp_path / "other", examples="http://bees.example/")
    with pytest.raises(RecipeError, match="seeds:2: not a URL"):
        lycosa.new(tmp_path / "other", seeds=["http://bees.example/", "gopher://old.example/"])
    with pytest.raises(RecipeError, match="examples:1: 'hive'"):
        lycosa.new(tmp_path / "other", examples=["hive"])


def refresh(folder, served, **options):
    with lycosa.open(folder) as collection:
        return collection.refresh(delay=0, resolve=[served.resolve], **options)


def test_a_refresh_gives_its_visits_and_says_what_came_of_it(crawled, served):
    run = refresh(crawled, served, budget=10, expand=0)
    assert {visit.change for visit in run} == {"unchanged"}
    assert (run.result.looked_at, run.result.requests, run.stopped) == (10, 10, "10 requests made, as requested")
    seen = next(page for page in run.pages() if run.looks(page.url))
    assert [look.change for look in run.looks(seen.url)] == ["new", "unchanged"]
    run.close()


def test_a_refresh_left_by_break_is_closed_and_says_what_came_of_it(crawled, served):
    run = refresh(crawled, served, budget=20, expand=0, policy="fixed")
    for visit in run:
        assert visit.change
        break
    assert run.stopped == "interrupted"
    assert run.result.looked_at >= 1
    assert sum(bool(visit.change) for visit in refresh(crawled, served, budget=2, expand=0)) == 2


def test_new_pages_come_with_a_refresh_and_bear_no_change(crawled, served):
    visits = list(refresh(crawled, served, budget=6, expand=1))
    assert len(visits) == 6
    assert all(visit.change is None for visit in visits)


def test_a_refresh_that_makes_no_sense_is_named_before_anything_is_asked(crawled):
    with lycosa.open(crawled) as collection:
        with pytest.raises(UsageError, match="1 or more"):
            collection.refresh(budget=0)
        with pytest.raises(UsageError, match="no refresh policy 'often'; there are"):
            collection.refresh(budget=1, policy="often")
        with pytest.raises(UsageError, match="from 0"):
            collection.refresh(budget=1, expand=2)


def test_an_iterator_that_is_still_held_when_the_event_loop_ends_is_closed_in_order(bees, served, caplog):
    held = []

    async def leave_early(run):
        visits = run.__aiter__()
        held.append(visits)
        async for _ in visits:
            break

    run = crawl(bees, served, pages=10)
    asyncio.run(leave_early(run))
    assert "error occurred during closing" not in caplog.text
    assert run.stopped == "interrupted"


def test_a_crawl_that_has_ended_finds_the_pages_it_left_out_of_the_index(bees, served, monkeypatch):
    monkeypatch.setattr(lycosa.collection.collection, "_MAX_INDEXED_ON_CLOSE", 5)
    run = crawl(bees, served, pages=12)
    list(run)
    url = next(iter(run.pages())).url
    assert run.search("")
    assert len(run.similar(url, limit=20)) > 5
    run.close()


def test_labels_that_cannot_be_meant_are_told(bees):
    with pytest.raises(UsageError, match="is given as good and as bad"):
        lycosa.label(bees, good=[ON_TOPIC[0]], bad=[ON_TOPIC[0]])
    with pytest.raises(UsageError, match="give a list of URLs"):
        lycosa.label(bees, good=ON_TOPIC[0])
    with pytest.raises(UsageError, match="give a list of URLs"):
        lycosa.label(bees, bad=ON_TOPIC[0])


def test_damage_to_the_waiting_urls_names_the_way_out(bees, served):
    list(crawl(bees, served, pages=6))
    path = bees / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'frontier'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = b"\xee" * size
    path.write_bytes(data)
    with lycosa.open(bees) as collection:
        for read in (
            collection.waiting,
            collection.overview,
            collection.report,
            lambda: collection.explain("http://nowhere.example/"),
            lambda: frontier_view(bees, now=0.0),
            lambda: page_view(bees, "http://nowhere.example/"),
        ):
            with pytest.raises(CollectionError, match=f"lycosa rebuild {bees}"):
                read()
