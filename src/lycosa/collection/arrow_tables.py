"""Rows of an export as Arrow tables with typed columns. The only file that uses pyarrow, imported on demand."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from lycosa.vocabulary.errors import UsageError

Row = dict[str, Any]
_TIMES = frozenset(("at", "looked_at", "vanished_at"))
_WHOLE_NUMBERS = frozenset(("number", "depth", "status", "bytes", "chunk", "chunks"))
_NUMBERS = frozenset(("relevance", "standing"))
_BATCH_ROWS = 5000
_BATCH_CHARACTERS = 1 << 22  # of text in a batch, which bounds memory


def arrow(what: str) -> Any:
    """The library; UsageError, with how to install it, if it is missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(f"{what} needs another library: pip install 'lycosa[parquet]'") from error
    return pyarrow


def require_pandas() -> None:
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise UsageError("to_pandas needs other libraries: pip install 'lycosa[pandas]'") from error


def schema_of(columns: Sequence[str], *, what: str = "Parquet") -> Any:
    """The Arrow schema of these columns: times are timestamps in UTC, to the millisecond."""
    pyarrow = arrow(what)
    text = pyarrow.string()
    link = pyarrow.struct([("target", text), ("anchor", text), ("rel", text)])
    return pyarrow.schema([(name, _type_of(name, pyarrow, link)) for name in columns])


def _type_of(column: str, pyarrow: Any, link: Any) -> Any:
    if column in _TIMES:
        return pyarrow.timestamp("ms", tz="UTC")
    if column in _WHOLE_NUMBERS:
        return pyarrow.int64()
    if column in _NUMBERS:
        return pyarrow.float64()
    return pyarrow.list_(link) if column == "links" else pyarrow.string()


def tables(rows: Iterator[Row], schema: Any) -> Iterator[Any]:
    """The rows as tables of some thousand rows each, fewer if they have much text."""
    pyarrow = arrow("an Arrow table")
    batch: list[Row] = []
    characters = 0
    for row in rows:
        batch.append(_with_times(row))
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(batch) >= _BATCH_ROWS or characters >= _BATCH_CHARACTERS:
            yield pyarrow.Table.from_pylist(batch, schema=schema)
            batch, characters = [], 0
    if batch:
        yield pyarrow.Table.from_pylist(batch, schema=schema)


def _with_times(row: Row) -> Row:
    return {**row, **{name: datetime.fromisoformat(row[name]) for name in _TIMES if row.get(name)}}


def table_of(rows: Iterator[Row], columns: Sequence[str]) -> Any:
    """All rows as one Arrow table, in memory."""
    schema = schema_of(columns, what="to_arrow")
    return arrow("to_arrow").concat_tables([schema.empty_table(), *tables(rows, schema)])


def write_parquet(rows: Iterator[Row], out: BinaryIO, columns: Sequence[str]) -> None:
    """Writes the rows as one Parquet file."""
    schema = schema_of(columns)
    with arrow("Parquet").parquet.ParquetWriter(out, schema) as writer:
        for table in tables(rows, schema):
            writer.write_table(table)
