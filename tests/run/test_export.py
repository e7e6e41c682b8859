"""What an export holds: pages chosen, texts read from the archive, passages; memory that does not grow with them."""

import io
import json
import tracemalloc
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

import lycosa
from collection.samples import collection_in, fetched, visit
from crawling import collection, done, listing, pages
from lycosa.collection import arrow_tables
from lycosa.collection.export import COLUMNS, exporter_for
from lycosa.collection.queries import Selection
from lycosa.run.export import ExportContent, labels_of, moment_of, rows, selection_of, write_export
from lycosa.run.open import open_for_reading
from lycosa.run.topic import add_labels
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from sessions import NOW, crawl
from worlds import TOPICAL, TOPICAL_SEED, topic_of

GOOD = [url for url in TOPICAL if topic_of(url) == "bees"]
BAD = [url for url in TOPICAL if topic_of(url) == "ships"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = collection(
        tmp_path_factory.mktemp("export") / "c", [TOPICAL_SEED], topic='examples = "good.txt"\nnegatives = "bad.txt"'
    )
    listing(folder / "good.txt", GOOD[:4])
    listing(folder / "bad.txt", BAD[:5])
    crawl(folder, TOPICAL, 15, strategy="best-first")
    return folder


def chosen(folder: Path, content: ExportContent = ExportContent(), **filters: object) -> list[dict]:
    wanted = selection_of(folder, now=NOW, **filters)
    with open_for_reading(folder) as opened:
        found = list(rows(opened, wanted, content, labels_of(folder)))
        assert opened.catalog.count_selected(wanted) == len({row["number"] for row in found}) or content.chunks
    return found


def urls(found: list[dict]) -> list[str]:
    return [row["url"] for row in found]


def test_without_filters_it_is_every_page_in_the_order_of_fetching(folder):
    found = chosen(folder)
    assert urls(found) == pages(folder)
    assert all(tuple(row) == COLUMNS for row in found)


def test_filters_choose_and_top_orders(folder):
    everything = chosen(folder)
    relevant = [row["url"] for row in everything if row["relevance"] >= 0.5]
    assert 0 < len(relevant) < len(everything)
    assert urls(chosen(folder, min_relevance=0.5)) == relevant
    best = sorted(everything, key=lambda row: (-row["relevance"], row["number"]))
    assert urls(chosen(folder, top=3)) == urls(best)[:3]
    assert urls(chosen(folder, top=3, min_relevance=1.0)) == []
    host = everything[0]["host"]
    assert urls(chosen(folder, hosts=[host.upper()])) == [row["url"] for row in everything if row["host"] == host]
    assert len(chosen(folder, hosts=[f"{host}:80"])) == len(chosen(folder, hosts=[host]))  # as its URLs have it
    assert chosen(folder, hosts=["other.example"]) == []
    assert len(chosen(folder, languages=["en", "unknown"])) == len(everything)
    assert chosen(folder, languages=["fr"]) == []


def test_since_is_the_time_of_fetching(folder):
    everything = chosen(folder)
    middle = everything[7]["at"]
    later = [row["url"] for row in everything if row["at"] >= middle]
    assert urls(chosen(folder, since=middle)) == later
    assert urls(chosen(folder, since=datetime.fromisoformat(middle))) == later
    assert chosen(folder, since="2100-01-01") == []


def test_a_label_is_an_example_or_what_label_noted(folder):
    stored = set(pages(folder))
    extra = next(url for url in pages(folder) if url not in GOOD[:4] and url not in BAD[:5])
    add_labels(folder, {Url(extra): False})
    try:
        bad = chosen(folder, label="bad")
        assert set(urls(bad)) == stored & {*BAD[:5], extra}
        assert {row["label"] for row in bad} == {"bad"}
        assert set(urls(chosen(folder, label="good"))) == stored & {*GOOD[:4]}
        assert {row["url"] for row in chosen(folder) if row["label"]} == stored & {*GOOD[:4], *BAD[:5], extra}
    finally:
        (folder / "labels.txt").unlink()


def test_the_texts_are_those_of_the_page(folder):
    row = chosen(folder, ExportContent(text=True, markdown=True, html=True, links=True), top=1)[0]
    page = TOPICAL[Url(row["url"])].decode()
    assert row["html"] == page
    assert row["text"].startswith(row["title"])
    assert row["markdown"].startswith(f"# {row['title']}")
    assert "<" not in row["markdown"]
    assert all(f'href="{link["target"]}"' in page and link["anchor"] for link in row["links"])
    assert f"]({row['links'][0]['target']})" in row["markdown"]


@pytest.mark.parametrize("markdown", [False, True])
def test_passages_are_rows(folder, markdown):
    whole = chosen(folder, ExportContent(text=not markdown, markdown=markdown))
    name = "markdown" if markdown else "text"
    pieces = chosen(folder, ExportContent(markdown=markdown, chunks=8))
    assert all(tuple(row) == (*COLUMNS, "chunk", "chunks", name) for row in pieces)
    for row in whole:
        own = [piece for piece in pieces if piece["url"] == row["url"]]
        assert [piece["chunk"] for piece in own] == list(range(1, len(own) + 1))
        assert {piece["chunks"] for piece in own} == {len(own)}
        assert " ".join(piece[name] for piece in own).split() == row[name].split()
        assert all(len(piece[name].split()) <= 8 for piece in own)


@pytest.mark.parametrize(
    "content",
    [
        ExportContent(chunks=5, html=True),
        ExportContent(chunks=5, links=True),
        ExportContent(chunks=5, text=True, markdown=True),
    ],
)
def test_passages_are_of_one_text(content):
    with pytest.raises(UsageError, match="--chunks"):
        content.check()


def test_pages_without_a_passage_are_not_counted_as_written(tmp_path):
    folder = collection(tmp_path / "c", [TOPICAL_SEED])
    texts = [b"<p>honey and wax</p>", b"<p> </p>", b"<p>bees and hives</p>"]
    with collection_in(folder) as opened:
        for number, body in enumerate(texts):
            url = Url(f"http://bees.example/{number}")
            opened.record(replace(visit(url), fetch=fetched(url, body=body, content=body)))
    out, progress = io.BytesIO(), []
    with open_for_reading(folder) as opened:
        content = ExportContent(chunks=2)
        written = write_export(opened, "jsonl", out, Selection(), content, progress=lambda *at: progress.append(at))
    urls = [json.loads(line)["url"] for line in out.getvalue().splitlines()]
    assert urls == [*["http://bees.example/0"] * 2, *["http://bees.example/2"] * 2]
    assert written == 2
    assert progress == [(1, 3), (2, 3)]


def test_rows_come_in_the_order_asked_for_and_the_top_ones_are_the_first_of_it(folder):
    everything = chosen(folder)
    best = urls(sorted(everything, key=lambda row: (-row["relevance"], row["number"])))
    assert urls(chosen(folder, order="relevance")) == best != urls(everything)
    assert urls(chosen(folder, order="url")) == sorted(urls(everything))
    assert urls(chosen(folder, order="number", top=3)) == urls(everything)[:3]
    assert urls(chosen(folder, order="importance", top=3)) == urls(everything)[:3]  # not known: as they were fetched


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"hosts": ["http://a.example/"]}, "--host"),
        ({"languages": ["english"]}, "--language"),
        ({"label": "fine"}, "good, bad"),
        ({"since": "yesterday"}, "2026-11-16"),
        ({"order": "size"}, "number, relevance, importance, url"),
        ({"since": "99999999999999999999d"}, "--since"),
        ({"top": -1}, "--top"),
    ],
)
def test_filters_that_mean_nothing_are_refused(folder, filters, said):
    with pytest.raises(UsageError, match=said):
        selection_of(folder, now=NOW, **filters)


def test_moments():
    at = datetime(2026, 11, 16, 8, 30, tzinfo=UTC).timestamp()
    assert moment_of("2026-11-16T08:30", now=0) == moment_of("2026-11-16T09:30+01:00", now=0) == at
    assert moment_of("12h", now=at) == at - 12 * 3600


def filled(folder: Path, count: int) -> Path:
    """A collection of pages of 100 KB."""
    folder.mkdir()
    with collection_in(folder) as opened:
        for number in range(count):
            url = Url(f"http://long.example/{number}")
            body = f"<title>{number}</title><p>{f'{number} words of page, ' * 5_000}</p>".encode()
            opened.record(replace(visit(url), fetch=fetched(url, body=body, content=body)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_memory_does_not_grow_with_the_pages(tmp_path, monkeypatch, format):
    monkeypatch.setattr(arrow_tables, "_BATCH_CHARACTERS", 1_000_000)
    content = ExportContent(text=True, html=True)
    peaks = []
    for count in (10, 50):
        folder = filled(tmp_path / str(count), count)
        with collection_in(folder, writable=False) as opened, (tmp_path / "out").open("wb") as out:
            tracemalloc.start()
            exporter_for(format, content.columns)(rows(opened, Selection(), content, {}), out)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 1_000_000, "the pages of the larger one take 10 MB"


FLAGS = {
    "jsonl": (["--text", "--top", "5"], {"text": True, "top": 5}),
    "csv": (["--host", "bees.example", "--links"], {"host": "bees.example", "links": True}),
    "urls": (["--min-relevance", "0.5"], {"min_relevance": 0.5}),
}


@pytest.mark.parametrize("format", FLAGS)
def test_python_and_the_command_line_export_the_same_bytes(folder, tmp_path, format):
    flags, options = FLAGS[format]
    by_command, by_python = tmp_path / "command", tmp_path / "python"
    done("export", folder, "--format", format, *flags, "--out", by_command)
    with lycosa.open(folder) as opened:
        assert opened.export(by_python, format=format, **options) == opened.count(**options) > 0
    assert by_python.read_bytes() == by_command.read_bytes()


def test_python_exports_folders_and_whole_archives_too(folder, tmp_path):
    with lycosa.open(folder) as opened:
        assert opened.export(str(tmp_path / "notes"), format="markdown", top=3) == 3
        assert len(list((tmp_path / "notes").glob("*.md"))) == 3
        assert opened.export(tmp_path / "all.wacz", format="wacz") == len(opened)
        assert zipfile.is_zipfile(tmp_path / "all.wacz")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"format": "wacz", "text": True}, "leave out text"),
        ({"format": "urls", "text": True}, "nothing but URLs"),
        ({"format": "no such"}, "no such"),
        ({"txet": True}, "txet"),
        ({"out": Path("no", "such", "folder", "file")}, "cannot write"),
    ],
)
def test_an_export_that_cannot_be_is_refused_before_anything_is_written(folder, tmp_path, asked, said):
    out = tmp_path / "out"
    with lycosa.open(folder) as opened, pytest.raises((lycosa.LycosaError, TypeError), match=said):
        opened.export(**{"out": out, **asked})
    assert not out.exists()


def test_rows_survive_json():
    out = io.BytesIO()
    exporter_for("jsonl", ("title",))(iter([{"title": "a\ud800b\u2028\n"}]), out)
    assert json.loads(out.getvalue()) == {"title": "a?b\u2028\n"}
    assert out.getvalue().count(b"\n") == 1
