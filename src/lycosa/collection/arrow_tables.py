"""Rows of an export as Arrow tables with typed columns. The only file that uses pyarrow, imported on demand."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from lycosa.vocabulary.errors import UsageError

from .rows import ExportRow

_TIMESTAMP_COLUMNS = frozenset(("at", "looked_at", "vanished_at"))
_INT_COLUMNS = frozenset(("number", "depth", "status", "bytes", "chunk", "chunks"))
_FLOAT_COLUMNS = frozenset(("relevance", "standing"))
_BATCH_ROWS = 5000
_BATCH_CHARACTERS = 1 << 22  # of text and links in a batch, which bounds memory
_LINK_SIZE = 100  # memory that a link takes beside its texts, in characters


def import_pyarrow(feature: str) -> Any:
    """Imports pyarrow; raises UsageError, with how to install it for the feature, if it is missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(f"{feature} needs another library: pip install 'lycosa[parquet]'") from error
    return pyarrow


def require_pandas() -> None:
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise UsageError("to_pandas needs other libraries: pip install 'lycosa[pandas]'") from error


def schema_of(columns: Sequence[str], pyarrow: Any) -> Any:
    """The Arrow schema of these columns: times are timestamps in UTC, to the millisecond."""
    text = pyarrow.string()
    link = pyarrow.struct([("target", text), ("anchor", text), ("rel", text)])
    return pyarrow.schema([(name, _type_of(name, pyarrow, link)) for name in columns])


def _type_of(column: str, pyarrow: Any, link: Any) -> Any:
    if column in _TIMESTAMP_COLUMNS:
        return pyarrow.timestamp("ms", tz="UTC")
    if column in _INT_COLUMNS:
        return pyarrow.int64()
    if column in _FLOAT_COLUMNS:
        return pyarrow.float64()
    return pyarrow.list_(link) if column == "links" else pyarrow.string()


def batched_tables(rows: Iterator[ExportRow], schema: Any, pyarrow: Any) -> Iterator[Any]:
    """The rows as tables of some thousand rows each, fewer if they have much text."""
    batch: list[ExportRow] = []
    characters = 0
    for row in rows:
        batch.append(_with_datetimes(row))
        characters += sum(map(_size, row.values()))
        if len(batch) >= _BATCH_ROWS or characters >= _BATCH_CHARACTERS:
            yield pyarrow.Table.from_pylist(batch, schema=schema)
            batch, characters = [], 0
    if batch:
        yield pyarrow.Table.from_pylist(batch, schema=schema)


def _size(value: object) -> int:
    """The characters of a text, or of all links of a page."""
    if isinstance(value, list):
        return sum(_LINK_SIZE + sum(map(_size, link.values())) for link in value)
    return len(value) if isinstance(value, str) else 0


def _with_datetimes(row: ExportRow) -> ExportRow:
    return {**row, **{name: datetime.fromisoformat(row[name]) for name in _TIMESTAMP_COLUMNS if row.get(name)}}


def table_of(rows: Iterator[ExportRow], columns: Sequence[str]) -> Any:
    """All rows as one Arrow table, in memory."""
    pyarrow = import_pyarrow("to_arrow")
    schema = schema_of(columns, pyarrow)
    return pyarrow.concat_tables([schema.empty_table(), *batched_tables(rows, schema, pyarrow)])


def write_parquet(rows: Iterator[ExportRow], out: BinaryIO, columns: Sequence[str]) -> None:
    """Writes the rows as one Parquet file."""
    pyarrow = import_pyarrow("Parquet")
    schema = schema_of(columns, pyarrow)
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        for table in batched_tables(rows, schema, pyarrow):
            writer.write_table(table)
