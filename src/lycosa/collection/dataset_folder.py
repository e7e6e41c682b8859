"""A dataset in the layout of Hugging Face: Parquet files in `data`, and a dataset card, README.md."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from lycosa.vocabulary.markdown import escape_markdown
from lycosa.vocabulary.text import counted

from .arrow_tables import batched_tables, import_pyarrow, schema_of
from .front_matter import yaml_text
from .rows import ExportRow

_SHARD_BYTES = 500_000_000  # size from which a new file is started
_LANGUAGE = re.compile("[a-z]{2,3}")
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M", 10_000_000: "1M<n<10M"}
_MEANINGS = {
    "url": "address of the page",
    "host": "its host",
    "title": "its title",
    "relevance": "how well it fits the topic, 0 to 1, as estimated by the crawler",
    "standing": "how much it matters on the Web, 0 to 1, where it was estimated",
    "number": "order of arrival",
    "at": "when it was fetched",
    "depth": "links from a seed",
    "found_on": "the page that led to it",
    "language": "its language, ISO 639-1; empty where unknown",
    "status": "HTTP status",
    "bytes": "size of the answer",
    "digest": "hash of its words",
    "state": "kept, or vanished from the Web since",
    "looked_at": "when it was last asked for",
    "vanished_at": "when it was found to be gone",
    "label": "good or bad, where somebody said so",
    "text": "main text",
    "markdown": "the page as Markdown",
    "html": "the page as it was sent",
    "links": "its links: target, anchor, rel",
    "chunk": "number of the passage on its page, from 1",
    "chunks": "passages of the page",
}


class About(Struct, frozen=True):
    """Facts for the card."""

    name: str  # of the collection
    topic: str  # in words; may be empty
    software: str


class _RowCounts(Struct):
    """Counts of the rows written."""

    languages: Counter[str]  # of pages
    rows: int = 0
    pages: int = 0


def write_dataset_folder(rows: Iterator[ExportRow], folder: Path, columns: Sequence[str], about: About) -> None:
    """Writes the rows as files in `data`, and the card."""
    pyarrow = import_pyarrow("a dataset")
    schema = schema_of(columns, pyarrow)
    tally = _RowCounts(Counter())
    (folder / "data").mkdir()
    batches = batched_tables(_counting(rows, tally), schema, pyarrow)
    table = next(batches, schema.empty_table())
    for number in count():
        path = folder / "data" / f"train-{number:05d}.parquet"
        with path.open("wb") as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
            while table is not None and file.tell() < _SHARD_BYTES:
                writer.write_table(table)
                table = next(batches, None)
        if table is None:
            break
    (folder / "README.md").write_text(_card(columns, schema, about, tally), encoding="utf-8", errors="replace")


def _counting(rows: Iterator[ExportRow], tally: _RowCounts) -> Iterator[ExportRow]:
    last = None
    for row in rows:
        tally.rows += 1
        if row["number"] != last:
            last = row["number"]
            tally.pages += 1
            tally.languages[row["language"]] += 1
        yield row


def _card(columns: Sequence[str], schema: Any, about: About, tally: _RowCounts) -> str:
    languages = sorted(filter(_LANGUAGE.fullmatch, tally.languages))
    size = next((name for limit, name in _SIZES.items() if tally.rows < limit), "n>10M")
    name, topic = escape_markdown(about.name), escape_markdown(about.topic)
    pages = counted(tally.pages, "web page")
    holds = pages if tally.rows == tally.pages else f"{counted(tally.rows, 'passage')} of {pages}"
    lines = [
        "---",
        f"pretty_name: {yaml_text(about.name)}",
        *(["language:", *(f"- {language}" for language in languages)] if languages else []),
        "size_categories:",
        f"- {size}",
        "tags:",
        "- web-crawl",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*.parquet",
        "---",
        "",
        f"# {name}",
        "",
        f"{holds}, collected by a focused crawl ({escape_markdown(about.software)})"
        + (f" on the topic “{topic}”." if topic else "."),
        "",
        "| column | type | |",
        "|---|---|---|",
        *(f"| `{column}` | {schema.field(column).type} | {_MEANINGS.get(column, '')} |" for column in columns),
        "",
        "The pages belong to their authors: before you publish this, see what they allow. Relevance is an estimate.",
        "",
    ]
    return "\n".join(lines)
