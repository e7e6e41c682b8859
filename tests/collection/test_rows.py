"""The fields of rows are the columns of the catalog."""

import sqlite3

import pytest

from lycosa.collection.errors import DamagedRowError
from lycosa.collection.events import RecordLocation
from lycosa.collection.rows import (
    LastLook,
    LookRow,
    NewExample,
    NewFetch,
    NewLook,
    NewPage,
    NewRun,
    NewSkip,
    NewTarget,
    RowReader,
    Vanishing,
    Version,
    columns_of,
    read_look,
    read_run,
    signed,
    unsigned,
)
from lycosa.collection.schema import migrate
from lycosa.vocabulary.records import Link

WRITTEN = {
    "pages": (NewPage, Version, LastLook, Vanishing),
    "fetches": (NewFetch,),
    "links": (Link,),
    "skips": (NewSkip,),
    "examples": (NewExample,),
    "runs": (NewRun,),
    "looks": (NewLook,),
    "new_links": (NewTarget,),
}


@pytest.mark.parametrize("table", WRITTEN)
def test_every_field_that_is_written_is_a_column_of_its_table(table):
    with sqlite3.connect(":memory:") as connection:
        migrate(connection)
        columns = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
    assert columns and set(columns_of(*WRITTEN[table])) <= columns


def test_a_row_is_read_by_the_names_of_its_fields_with_its_place_out_of_three_columns():
    row = (2, 5.0, "changed", 200, -1, 100, 3, 1, "a.warc.gz", 10, 20)
    place = RecordLocation("a.warc.gz", 10, 20)
    assert read_look(row) == LookRow(2, 5.0, "changed", 200, (1 << 64) - 1, 100, 3, 1, place)
    assert read_look((*row[:8], None, None, None)).place is None
    assert RowReader(LookRow, {"at": "looks.at"}).expressions[:2] == ["look", "looks.at"]


def test_a_damaged_row_names_the_column_that_cannot_be_converted():
    row = (5.0, "hunter", "[]", "{}", 1, None, None, None)
    assert read_run(row).scope == {}
    with pytest.raises(DamagedRowError, match=r"^the column scope of a row is damaged: the value is not JSON"):
        read_run((*row[:3], "{", *row[4:]))
    with pytest.raises(DamagedRowError, match=r"^a row is damaged"):
        read_run((5.0, 7, *row[2:]))


@pytest.mark.parametrize("number", [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_hashes_of_64_bits_survive_the_signed_integers_of_sqlite(number):
    assert -(1 << 63) <= signed(number) < 1 << 63
    assert unsigned(signed(number)) == number
