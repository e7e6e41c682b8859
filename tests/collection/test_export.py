import csv
import io
import json
import re
import sys
from datetime import UTC, datetime

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection.samples import CARS, HOME, HTML, WOLF, page_of, visit
from lycosa.collection import Catalog, RecordLocation, arrow_tables
from lycosa.collection.export import COLUMNS, csv_cell, export_row, exporter_for
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url

TITLES = {HOME: '=HYPERLINK("http://x")', WOLF: "\t@SUM(1)\x1b[31m", CARS: 'quotes " and, commas\r\n-x'}


@pytest.fixture
def catalog(tmp_path):
    catalog = Catalog(tmp_path / "catalog.sqlite", writable=True)
    for url, title in TITLES.items():
        catalog.add(visit(url, found_on=HOME, page=page_of(url, title=title)), RecordLocation("f", 1, 2))
    yield catalog
    catalog.close()


def exported(catalog, format):
    out = io.BytesIO()
    exporter_for(format)(map(export_row, catalog.pages()), out)
    return out.getvalue()


def test_jsonl_tells_every_page(catalog):
    rows = [json.loads(line) for line in exported(catalog, "jsonl").splitlines()]
    assert [row["title"] for row in rows] == list(TITLES.values())
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == {
        "url": WOLF, "host": "spiders.example", "title": TITLES[WOLF], "relevance": 0.75, "standing": None, "number": 2,
        "at": "2023-11-14T22:13:20.000+00:00", "depth": 1, "found_on": HOME, "language": "en", "status": 200,
        "bytes": len(HTML), "digest": "fffffffffffffffb",
        "state": "kept", "looked_at": "2023-11-14T22:13:20.000+00:00", "vanished_at": None,
        "label": None,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["x;=1+1", "x; =1+1", "x;\uff1d1", "a;b;@SUM(1)"])
def test_no_semicolon_begins_a_formula(text):
    assert not re.search(r";\s*[=+@\-\uff1d]", csv_cell(text))


def test_csv_holds_no_formula_and_no_control_character(catalog):
    rows = list(csv.DictReader(io.StringIO(exported(catalog, "csv").decode(), newline="")))
    assert [row["url"] for row in rows] == list(TITLES)
    assert [row["title"] for row in rows] == [
        '\'=HYPERLINK("http://x")',
        "' @SUM(1) [31m",
        'quotes " and, commas -x',
    ]
    assert rows[0]["relevance"] == "0.75"


@pytest.mark.slow
def test_parquet_is_read_by_pyarrow(catalog):
    for number in range(12_000):
        catalog.add(visit(Url(f"http://many.example/{number}"), None), None)
    table = pyarrow.parquet.read_table(io.BytesIO(exported(catalog, "parquet")))
    assert table.num_rows == 12_003
    assert tuple(table.column_names) == COLUMNS
    assert table.column("title").to_pylist()[:3] == list(TITLES.values())
    assert table.column("relevance").to_pylist()[2:4] == [0.75, None]


def test_parquet_has_real_times(catalog):
    table = pyarrow.parquet.read_table(io.BytesIO(exported(catalog, "parquet")))
    for name in ("at", "looked_at", "vanished_at"):
        assert table.schema.field(name).type == pyarrow.timestamp("ms", tz="UTC")
    assert table.column("at").to_pylist()[0] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert table.column("vanished_at").to_pylist()[0] is None


def test_parquet_of_no_pages_has_the_columns(tmp_path):
    catalog = Catalog(tmp_path / "catalog.sqlite", writable=True)
    table = pyarrow.parquet.read_table(io.BytesIO(exported(catalog, "parquet")))
    catalog.close()
    assert (table.num_rows, tuple(table.column_names)) == (0, COLUMNS)


def test_urls_one_a_line(catalog):
    assert exported(catalog, "urls").decode().splitlines() == list(TITLES)


def test_an_unknown_format_names_the_known(catalog):
    with pytest.raises(UsageError, match="jsonl, csv, parquet, urls"):
        exporter_for("xml")


def test_parquet_without_its_library_says_how_to_get_it(catalog, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'lycosa\[parquet\]'"):
        exported(catalog, "parquet")


CELLS = st.text(st.sampled_from("=+-@\t\r\n \"',;|\0\ufeff\u200b\uff1d\uff20a1\x1b"), max_size=12) | st.text(
    max_size=12
)


@given(CELLS, st.booleans())
def test_no_text_is_a_formula_in_a_cell(text, is_long):
    cell = csv_cell(text, is_long=is_long)
    bare = re.sub(r"^[\s\ufeff\u200b\u2060\u200e\u200f\u00ad]+", "", cell)
    assert not bare.startswith(("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
    assert not cell.startswith(("\t", "\r", "\n"))
    allowed = {"\t", "\n"} if is_long else set()
    assert not [mark for mark in cell if (mark < " " or "\x7f" <= mark <= "\x9f") and mark not in allowed]


@pytest.mark.slow
@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_every_row_of_a_csv_has_its_cells(rows):
    out = io.BytesIO()
    exporter_for("csv", ("title", "text"))(({"title": title, "text": text} for title, text in rows), out)
    read = list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))
    assert read == [["title", "text"], *([csv_cell(title), csv_cell(text, is_long=True)] for title, text in rows)]


def test_a_list_in_a_cell_is_json():
    assert json.loads(csv_cell([{"target": "http://a.example/", "anchor": '"=1'}])) == [
        {"target": "http://a.example/", "anchor": '"=1'}
    ]


def test_no_semicolon_begins_a_formula_in_a_list():
    cell = csv_cell([{"target": "http://a.example/", "anchor": "x; =cmd()\x7f"}])
    assert json.loads(cell) == [{"target": "http://a.example/", "anchor": "x; '=cmd() "}]


def test_batches_are_small_where_pages_have_many_links():
    link = {"target": "http://a.example/", "anchor": "", "rel": ""}
    rows = [{"url": f"http://a.example/{number}", "links": [link] * 10_000} for number in range(12)]
    schema = arrow_tables.schema_of(("url", "links"), pyarrow)
    tables = list(arrow_tables.batched_tables(iter(rows), schema, pyarrow))
    assert len(tables) > 2
    assert sum(table.num_rows for table in tables) == 12
