"""Search by facets and in other orders, versions, neighbours, comparisons, refreshes, maps, studies and exports."""

import asyncio
import csv
import io
import json
import sqlite3
import threading
from functools import partial
from pathlib import Path
from shutil import copytree
from urllib.parse import quote

import pytest

import lycosa
from crawling import rows
from lycosa.report import report_data
from lycosa.run.export import labels_of
from lycosa.run.open import open_for_reading
from lycosa.screens import exports, frontier, refreshes, search
from lycosa.screens.comparison import ComparedPart, Comparisons
from lycosa.screens.exports import ExportRequest, Exports, ExportStream
from lycosa.screens.fair_share import OWNER, ReaderSlots
from lycosa.screens.versions import diff
from lycosa.vocabulary.errors import CollectionError, LycosaError
from screens.serving import CHANGED, EVIL_TOPIC, GONE, STUDY, Browser
from sessions import NOW
from story.test_hostile_text import HOME, TITLES


@pytest.fixture
def copied(root, tmp_path):
    return Path(copytree(root, tmp_path / "copy"))


def found(browser, asked):
    return browser.get(f"/api/collections/bees/search?{asked}").json()


# ---------------------------------------------------------------- search


def catalog_rows(root, *columns):
    return rows(root / "bees", f"SELECT url, {', '.join(columns)} FROM pages")


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "honey"])
def test_answers_are_sorted_as_asked(root, browser, query):
    number = dict(catalog_rows(root, "number"))
    relevance = dict(catalog_rows(root, "coalesce(relevance, 0)"))
    keys = {
        "relevance": lambda url: -relevance[url],
        "newest": lambda url: -number[url],
        "oldest": lambda url: number[url],
    }
    for order, key in keys.items():
        shown = [
            hit["url"] for page in (1, 2) for hit in found(browser, f"q={query}&order={order}&page={page}")["hits"]
        ]
        assert set(shown) == set(number)
        assert [key(url) for url in shown] == sorted(map(key, shown)), order


def test_without_a_query_all_pages_are_listed_the_most_relevant_first(root, browser):
    answer = found(browser, "")
    assert answer["total"] == len(TITLES) + 1
    scores = [hit["relevance"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert all(hit["snippet"] for hit in answer["hits"])


@pytest.mark.parametrize("query", ["", "honey"])
def test_a_facet_leads_to_as_many_pages_as_it_says(root, browser, query):
    """Every value of every facet, as the first 200 answers are all there are."""
    followed = 0
    for facet in found(browser, f"q={query}")["facets"]:
        for value in facet["values"]:
            narrowed = found(browser, f"q={query}&{facet['parameter']}={quote(value['value'])}")
            assert narrowed["total"] == value["count"], (facet["parameter"], value)
            assert narrowed["chosen"] == {facet["parameter"]: value["value"]}
            followed += 1
    assert followed >= 3


def test_the_screen_lists_no_facet_that_all_results_have(browser):
    """All pages are of one host, and only some are relevant."""
    counts = {each["parameter"]: each["values"] for each in found(browser, "q=honey")["facets"]}
    aside = browser.get("/c/bees/search?q=honey").text.partition("<aside")[2]
    total = found(browser, "q=honey")["total"]
    assert [value["count"] for value in counts["host"]] == [total]
    assert "host=text.example" not in aside
    for value in counts["min_relevance"]:
        assert (f"min_relevance={value['value']}" in aside) == (value["count"] < total)
    assert "min_relevance=" in aside


def test_facets_count_what_the_catalog_has(root, browser, monkeypatch):
    monkeypatch.setattr(search.time, "time", lambda: NOW + 3 * 86_400)
    facets = {
        each["parameter"]: {value["value"]: value["count"] for value in each["values"]}
        for each in found(browser, "q=honey")["facets"]
    }
    scores = [relevance or 0.0 for _, relevance in catalog_rows(root, "relevance")]
    assert facets["host"] == {"text.example": len(TITLES) + 1}
    assert facets["min_relevance"] == {
        value: count for value in ("0.95", "0.8", "0.5") if (count := sum(each >= float(value) for each in scores))
    }


def test_dates_and_labels_are_facets(copied):
    browser = Browser(copied)
    browser.post("/c/bees/label", {"url": f"{HOME}plus", "label": "bad"})
    facets = {each["parameter"]: each["values"] for each in found(browser, "q=honey")["facets"]}
    assert facets["label"] == [{"value": "bad", "text": "bad", "count": 1}]
    assert list(labels_of(copied / "bees").values()) == ["bad"]
    assert "since" not in facets  # the pages are of 2023
    assert found(browser, "q=honey&since=365d")["total"] == 0
    assert [hit["url"] for hit in found(browser, "label=bad")["hits"]] == [f"{HOME}plus"]


# ---------------------------------------------------------------- one page


def test_waiting_urls_of_a_host_have_no_page_after_the_last_that_can_be_shown(root, monkeypatch):
    host = frontier.frontier_view(root / "bees", now=0.0).hosts[0]
    assert host.waiting >= 4
    monkeypatch.setattr(frontier, "MAX_COUNTED", 0)  # as for a host beyond the largest ones
    monkeypatch.setattr(frontier, "WAITING_PER_PAGE", 1)
    monkeypatch.setattr(frontier, "MAX_WAITING", 3)
    pages = [frontier.frontier_view(root / "bees", now=0.0, host=host.host, page=page) for page in (1, 2, 3, 4)]
    assert [(each.page, each.last_page) for each in pages] == [(1, 2), (2, 3), (3, 3), (3, 3)]


def test_the_difference_of_two_versions_is_shown(browser):
    view = browser.get(f"/api/collections/few/versions?url={quote(CHANGED, safe='')}").json()
    assert (view["old"], view["new"]) == (1, 2)
    added = " ".join(line["text"] for line in view["lines"] if line["kind"] == "added")
    removed = " ".join(line["text"] for line in view["lines"] if line["kind"] == "removed")
    assert "swarm" in added
    assert "hives" in removed
    same = browser.get(f"/api/collections/few/versions?url={quote(CHANGED, safe='')}&old=2&new=2").json()
    assert (same["added"], same["removed"]) == (0, 0)
    oldest = browser.get(f"/api/collections/few/versions?url={quote(CHANGED, safe='')}&new=1").json()
    assert (oldest["old"], oldest["new"], oldest["added"]) == (1, 2, view["added"]), "not with itself"
    once = browser.get(f"/api/collections/bees/versions?url={quote(CHANGED, safe='')}").json()
    assert once["old"] is None
    assert browser.get("/c/few/versions?url=http://unknown.example/").status_code == 400


def test_a_difference_of_hostile_length_is_bounded_and_whole_otherwise():
    lines = [str(number % 7) for number in range(1_000)]
    assert [line.kind for line in diff(lines, lines)] == ["gap"]
    kinds = [line.kind for line in diff(lines, [*lines[:500], "x", *lines[500:]])]
    assert kinds.count("added") - kinds.count("removed") == 1


def test_neighbours_are_the_links_in_both_directions(browser):
    view = browser.get(f"/api/collections/bees/neighbours?url={quote(HOME + 'plus', safe='')}").json()
    assert [each["url"] for each in view["linked_from"]] == [HOME]
    assert f"{HOME}more/plus" in {each["url"] for each in view["leads_to"] if not each["is_stored"]}
    home = browser.get(f"/api/collections/bees/neighbours?url={quote(HOME, safe='')}").json()
    assert sum(each["is_stored"] for each in home["leads_to"]) == len(TITLES)


# ---------------------------------------------------------------- comparisons


def test_two_collections_are_compared_as_their_urls_say(root, browser):
    view = browser.get("/api/compare?one=bees&other=few").json()
    one, other = ({url for (url,) in rows(root / name, "SELECT url FROM pages")} for name in ("bees", "few"))
    assert view["both"] == len(one & other)
    assert (view["one"]["only"], view["other"]["only"]) == (len(one - other), len(other - one))
    assert {page["url"] for page in view["one"]["only_pages"]} <= one - other
    assert view["overlap"] == pytest.approx(len(one & other) / len(one | other))
    assert view["one"]["curve"][-1][0] == len(one)
    assert view["one"]["hosts"] == 1


def test_runs_of_a_collection_are_compared(browser):
    view = browser.get("/api/compare?one=few&other=few&one_run=1&other_run=2").json()
    assert [(run["what"], run["pages"]) for run in view["one"]["runs"]] == [
        ("hunter", 6),
        ("refresh by crawl-value", view["other"]["pages"]),
    ]
    assert view["one"]["pages"] == 6
    assert view["both"] == 0
    assert "few" in browser.get("/compare?one=few&other=few&one_run=1&other_run=2").text


def test_a_comparison_is_kept_until_a_collection_changes(root, monkeypatch):
    made = []
    real = Comparisons.compare.__globals__["_compare"]
    monkeypatch.setitem(Comparisons.compare.__globals__, "_compare", lambda *sides: made.append(1) or real(*sides))
    sides = [ComparedPart(name, root / name, None) for name in ("bees", "few")]
    comparisons = Comparisons()
    assert comparisons.compare(*sides) is comparisons.compare(*sides)
    assert len(made) == 1
    (root / "few" / "sample.txt").touch()
    comparisons.compare(*sides)
    (root / "few" / "sample.txt").unlink()
    assert len(made) == 2


# ---------------------------------------------------------------- refreshes


def test_a_refresh_shows_what_changed_and_vanished(root, browser):
    view = browser.get("/api/collections/few/refresh").json()
    counts = {each["name"]: each["count"] for each in view["counts"]}
    seen = dict(rows(root / "few", "SELECT change, count(*) FROM looks WHERE look > 1 GROUP BY 1"))
    assert counts == seen
    assert counts["changed"] >= 1
    assert view["kind"] == "changed"
    assert CHANGED in {page["url"] for page in view["changed"]}
    gone = browser.get("/api/collections/few/refresh?kind=vanished").json()
    assert [page["url"] for page in gone["changed"]] == [GONE] * counts.get("vanished", 0)
    assert browser.get("/api/collections/bees/refresh").json()["run"] is None
    assert "No refresh yet" in browser.get("/c/bees/refresh").text


def test_forgotten_pages_are_not_counted_among_those_of_a_run(copied, monkeypatch):
    monkeypatch.setattr(refreshes, "CHANGES_PER_PAGE", 2)
    first, forgotten, *others = [url for (url,) in rows(copied / "few", "SELECT url FROM pages ORDER BY number")]
    with sqlite3.connect(copied / "few" / "catalog.sqlite") as catalog:
        catalog.execute("UPDATE runs SET first_page = 1")  # as if the refresh had found all pages
    catalog.close()
    lycosa.forget(copied / "few", forgotten)
    browser = Browser(copied)
    views = [browser.get(f"/api/collections/few/refresh?kind=new&page={page}").json() for page in (1, 2, 3)]
    assert views[0]["total"] == len([first, *others])
    assert [page["url"] for view in views for page in view["changed"]] == [first, *others]
    compared = browser.get("/api/compare?one=few&other=bees").json()["one"]["runs"]
    assert [run["pages"] for run in compared] == [0, len([first, *others])]
    with open_for_reading(copied / "few") as collection:
        assert [run.pages for run in report_data(collection).runs] == [0, len([first, *others])]


def test_a_refresh_is_a_process_of_its_own(copied):
    browser = Browser(copied)
    answer = browser.post("/c/few/refresh", {"requests": "20", "expand": "0.25", "resolve": "*=evil", "policy": "x"})
    assert answer.headers["location"] == "/c/few/refresh"
    [[_, *words]] = browser.launched
    assert words == [
        *("-P", "-m", "lycosa", "refresh", str(copied / "few"), "--budget", "20", "--expand", "0.25", "--quiet")
    ]
    assert browser.post("/c/new/refresh", {"requests": "5", "expand": "0.5"}).status_code == 503  # it has no pages


# ---------------------------------------------------------------- maps and studies


def test_an_atlas_shows_its_topics_and_portals(browser):
    assert browser.get("/api/maps").json() == {"atlases": ["atlas"]}
    view = browser.get("/api/maps/atlas").json()
    assert [topic["name"] for topic in view["topics"]] == [EVIL_TOPIC]
    assert view["topics"][0]["pages"] == 30
    assert len(view["portals"]) == view["topics"][0]["portals"]
    assert sum(each["count"] for each in view["portals"]) + len(view["portals"]) == 30
    assert view["citing"] == [[3, 1], [0, 2]]
    assert browser.get("/maps/atlas?topic=none").status_code == 400


def test_a_study_shows_its_claims_tables_and_figures(browser):
    [line] = browser.get("/api/studies").json()["studies"]
    assert (line["path"], line["hold"], line["fail"], line["reported"]) == ("results/small", 1, 1, 1)
    view = browser.get("/api/studies/results/small").json()
    assert [claim["id"] for claim in view["claims"]] == [claim["id"] for claim in STUDY["claims"]]
    [table] = view["tables"]
    assert (table["total"], len(table["rows"])) == (70, 60)
    assert view["figures"] == ["one.svg"]
    assert '<img loading="lazy" src="/figures/results/small/one.svg"' in browser.get("/studies/results/small").text


# ---------------------------------------------------------------- exports


def test_an_export_has_the_pages_that_were_chosen(root, browser):
    answer = browser.get("/c/bees/export/file?format=jsonl&most=5")
    assert answer.headers["content-disposition"] == 'attachment; filename="bees.jsonl"'
    scores = [json.loads(line)["relevance"] for line in answer.text.splitlines()]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    urls = browser.get("/c/bees/export/file?format=urls").text.split()
    assert set(urls) == {url for url, _ in catalog_rows(root, "number")}
    assert browser.get("/c/bees/export/file?format=urls&host=other.example").text == ""
    assert "hives" in browser.get("/c/bees/export/file?content=text&most=1&format=jsonl&min_relevance=0.01").text


def test_a_table_has_no_formula_of_a_hostile_title(browser):
    text = browser.get("/c/bees/export/file?format=csv").text
    titles = [row["title"] for row in csv.DictReader(io.StringIO(text))]
    assert len(titles) == len(TITLES) + 1
    assert [title for title in titles if title.lstrip()[:1] in ("=", "+", "-", "@", "\t")] == []


def test_what_cannot_be_exported_is_said_in_a_line(browser):
    for asked in ("format=parquet", "format=../x", "content=secrets", "host=not%20a%20host", "language=%27"):
        assert browser.get(f"/c/bees/export/file?{asked}").status_code == 400, asked
    assert browser.get("/c/new/export/file").status_code == 503
    assert "17" not in browser.get("/c/bees/export?most=3").text
    assert "3 of" in browser.get("/c/bees/export?most=3").text


def test_exports_are_few_at_a_time_and_one_that_nobody_reads_ends(root, monkeypatch):
    monkeypatch.setattr(exports, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(exports, "_MAX_QUEUED_CHUNKS", 1)
    monkeypatch.setattr(exports, "_POLL_INTERVAL", 0.01)
    before = set(threading.enumerate())  # threads of other tests may end meanwhile
    several = Exports()
    opened = [several.open(root / "bees", ExportRequest()) for _ in range(exports.MAX_CONCURRENT_EXPORTS)]
    with pytest.raises(exports.LycosaError, match="being written already"):
        several.open(root / "bees", ExportRequest())
    for stream in opened:
        stream.close()
        stream.join()
    assert set(threading.enumerate()) <= before
    several.open(root / "bees", ExportRequest()).close()


@pytest.mark.parametrize("failure", [CollectionError("damaged"), OSError("no disk"), ValueError("a defect")])
def test_an_export_that_fails_breaks_off_and_a_defect_is_not_hidden(monkeypatch, failure):
    def write(pipe):
        pipe.write(b"a page")
        raise failure

    async def read():
        return [chunk async for chunk in stream]

    monkeypatch.setattr(exports, "_POLL_INTERVAL", 0.01)
    printed = []
    monkeypatch.setattr(threading, "excepthook", lambda args: printed.append(args.exc_value))
    slots = ReaderSlots(1, per_reader=1)
    slots.take(OWNER)
    stream = ExportStream(write, partial(slots.release, OWNER))
    timer = threading.Timer(2.0, stream.close)  # ends the test if the stream does not
    timer.start()
    is_defect = isinstance(failure, ValueError)
    with pytest.raises(LycosaError if is_defect else type(failure), match="broke off" if is_defect else str(failure)):
        asyncio.run(read())
    stream.join()
    assert printed == [failure] * is_defect
    assert slots.take(OWNER)
    timer.cancel()
    timer.join()
