"""The pages of a catalog as rows, and rows as a file or a folder for other programs."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from lycosa.vocabulary.plugins import find_by_name

from .arrow_tables import write_parquet
from .export_folders import CollectionInfo, write_dataset_folder, write_markdown_folder
from .json_text import to_json
from .rows import ExportRow, PageRow

COLUMNS = (  # of every row; dataset cards describe them, see `_COLUMN_DESCRIPTIONS` in export_folders.py
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
    "label",
)
WACZ = "wacz"  # a format of whole collections, not of rows: `wacz.py` writes it
Exporter = Callable[[Iterator[ExportRow], BinaryIO], None]  # writes rows, each with COLUMNS or more, to a file
FolderExporter = Callable[
    [Iterator[ExportRow], Path, Sequence[str], CollectionInfo], None
]  # writes rows to an empty folder
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_CONTROL_CHARACTERS_BUT_BREAKS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")  # except tabs and newlines
_LONG_COLUMNS = frozenset(("text", "markdown", "html"))
_starts_formula = re.compile(  # after characters that spreadsheets may ignore; includes full-width signs
    "[\\s\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]*"
    "[=+@\\-\\uff1d\\uff0b\\uff0d\\uff20]|[\\t\\r\\n]"
).match
_FORMULA_AFTER_SEMICOLON = re.compile("(;\\s*)(?=[=+@\\-\uff1d\uff0b\uff0d\uff20])")  # a semicolon may end a cell, too


def check_format(format: str) -> None:
    """Raises UsageError, which lists the formats, for an unknown one."""
    find_by_name({**FORMATS, **FOLDER_FORMATS, WACZ: None}, "lycosa.exporters", format, what="format")


def exporter_for(format: str, columns: Sequence[str] = COLUMNS) -> Exporter:
    """The exporter of a format, built-in or of a plug-in."""
    exporter = find_by_name(FORMATS, "lycosa.exporters", format, what="format")
    return partial(exporter, columns=columns) if format in FORMATS else exporter


def export_row(page: PageRow, label: str | None = None) -> ExportRow:
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
        "label": label,
    }


def iso(at: float) -> str:
    """A time as ISO 8601, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _write_jsonl(rows: Iterator[ExportRow], out: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    for row in rows:
        out.write(to_json(row) + b"\n")


def _write_urls(rows: Iterator[ExportRow], out: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    for row in rows:
        out.write(row["url"].encode() + b"\n")


def _write_csv(rows: Iterator[ExportRow], out: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=True)
    try:
        writer = csv.writer(text)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([csv_cell(row[name], is_long=name in _LONG_COLUMNS) for name in columns])
    finally:
        text.detach()  # otherwise, it would close the caller's file


def csv_cell(value: Any, *, is_long: bool = False) -> Any:
    """A value that no spreadsheet interprets as a formula; a list is written as JSON.

    is_long: whether it may have several lines.
    """
    if isinstance(value, (list, dict)):
        value = to_json(value).decode()
    if not isinstance(value, str):
        return value
    cleaned = (_CONTROL_CHARACTERS_BUT_BREAKS if is_long else _CONTROL_CHARACTERS).sub(" ", value)
    cleaned = _FORMULA_AFTER_SEMICOLON.sub(r"\1'", cleaned)
    return f"'{cleaned}" if _starts_formula(value) else cleaned


def _write_parquet(rows: Iterator[ExportRow], out: BinaryIO, columns: Sequence[str] = COLUMNS) -> None:
    write_parquet(rows, out, columns)


FORMATS: Mapping[str, Callable[..., None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "urls": _write_urls,
}
FOLDER_FORMATS: Mapping[str, FolderExporter] = {"markdown": write_markdown_folder, "huggingface": write_dataset_folder}
