"""The pages of a catalog as a file for other programs."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, BinaryIO

import msgspec

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plugins import find_piece

from .queries import Queries
from .rows import PageRow

COLUMNS = (
    "url",
    "host",
    "title",
    "relevance",
    "standing",
    "number",
    "at",
    "depth",
    "found_on",
    "language",
    "status",
    "bytes",
    "digest",
    "state",
    "looked_at",
    "vanished_at",
)
Exporter = Callable[[Iterator[dict[str, Any]], BinaryIO], None]  # writes rows, each with these columns, to a file
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_BATCH = 5000  # rows of a Parquet row group


def export(catalog: Queries, format: str, out: BinaryIO) -> int:
    """Writes every page in the order of arrival; returns how many. Memory does not grow with them."""
    write = exporter_for(format)
    pages = _Counter(map(export_row, catalog.pages()))
    write(pages, out)
    return pages.count


def exporter_for(format: str) -> Exporter:
    """What writes this format: Lycosa's own, or that of a plug-in."""
    return find_piece(FORMATS, "lycosa.exporters", format, what="format")


def export_row(page: PageRow) -> dict[str, Any]:
    """A page as one row of every format."""
    return {
        "url": page.url,
        "host": page.host,
        "title": page.title,
        "relevance": page.relevance,
        "standing": page.standing,
        "number": page.number,
        "at": iso(page.at),
        "depth": page.depth,
        "found_on": page.found_on,
        "language": page.language,
        "status": page.status,
        "bytes": page.bytes,
        "digest": f"{page.digest:016x}",
        "state": page.state,
        "looked_at": iso(page.looked_at),
        "vanished_at": None if page.vanished_at is None else iso(page.vanished_at),
    }


def iso(at: float) -> str:
    """A moment as ISO 8601, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


class _Counter(Iterator[dict[str, Any]]):
    def __init__(self, rows: Iterable[dict[str, Any]]):
        self._rows = iter(rows)
        self.count = 0

    def __next__(self) -> dict[str, Any]:
        row = next(self._rows)
        self.count += 1
        return row


def _jsonl(pages: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    for page in pages:
        out.write(msgspec.json.encode(page) + b"\n")


def _urls(pages: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    for page in pages:
        out.write(page["url"].encode() + b"\n")


def _csv(pages: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([csv_cell(value) for value in page.values()] for page in pages)
    text.detach()


def csv_cell(value: Any) -> Any:
    """A value whose text no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    risky = value.startswith(("=", "+", "-", "@", "\t", "\r"))
    value = _CONTROL.sub(" ", value)
    return f"'{value}" if risky or value.lstrip().startswith(("=", "+", "-", "@")) else value


def _parquet(pages: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("Parquet needs another library: pip install 'lycosa[parquet]'") from error
    text, whole = pyarrow.string(), pyarrow.int64()
    kinds = {
        "relevance": pyarrow.float64(),
        "standing": pyarrow.float64(),
        "number": whole,
        "depth": whole,
        "status": whole,
        "bytes": whole,
    }
    schema = pyarrow.schema([(name, kinds.get(name, text)) for name in COLUMNS])
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        while rows := list(islice(pages, _BATCH)):
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


FORMATS: Mapping[str, Exporter] = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet, "urls": _urls}
