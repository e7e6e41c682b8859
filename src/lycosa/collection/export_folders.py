"""Exports that are folders: Markdown files with front matter, one for each page, for note-taking programs and language
models; or a dataset in the layout of Hugging Face, Parquet files in `data` and a dataset card, README.md."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec import Struct

from lycosa.vocabulary.markdown import escape_markdown
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import path_of

from .arrow_tables import batched_tables, import_pyarrow, schema_of
from .rows import ExportRow

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+\+00:00")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def front_matter(fields: Mapping[str, object]) -> str:
    """The fields that are not None as YAML for the top of a Markdown file, escaped, since values are untrusted.

    >>> print(front_matter({"title": 'a "b"\\n---', "relevance": 0.5, "label": None}))
    ---
    title: "a \\"b\\"\\n---"
    relevance: 0.5
    ---
    """
    return "\n".join(["---", *_yaml_lines(fields), "---"])


def _yaml_lines(fields: Mapping[str, object]) -> Sequence[str]:
    return [f"{name}: {scalar}" for name, value in fields.items() if (scalar := yaml_scalar(value)) is not None]


def yaml_scalar(value: object) -> str | None:
    """A text, a number or a time in UTC as one line of YAML; None for None and for numbers that are not finite."""
    if isinstance(value, (int, float)):
        return repr(value) if isfinite(value) else None
    if not isinstance(value, str):
        return None
    return value if _TIME.fullmatch(value) else yaml_text(value)


def yaml_text(text: str) -> str:
    """A text in double quotes, with all special characters escaped."""
    return f'"{"".join(map(_escaped, text.encode("utf-8", "replace").decode()))}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_FRONT_MATTER_COLUMNS = (
    "title",
    "url",
    "host",
    "language",
    "relevance",
    "standing",
    "at",
    "found_on",
    "label",
    "state",
)
# Embeddings, overrides and isolates, by which text would be shown in another order; no page needs them as text.
_BIDI_CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_YAML_WORDS = frozenset(("no", "on", "off", "yes", "nan", "inf"))  # which are not texts unless quoted
_MAX_SLUG = 60  # characters
_NOT_ALPHANUMERIC = re.compile("[^a-z0-9]+")


def write_markdown_folder(rows: Iterator[ExportRow], folder: Path, columns: Sequence[str], info: object) -> None:
    """Writes a file for each row, which has a column `markdown`."""
    for row in rows:
        head, body = front_matter({name: row[name] for name in _FRONT_MATTER_COLUMNS}), row["markdown"]
        text = f"{head}\n\n{body.translate(_BIDI_CONTROLS)}\n"
        (folder / file_name(row["number"], row["title"], row["url"])).write_bytes(text.encode("utf-8", "replace"))


def file_name(number: int, title: str, url: str) -> str:
    """A safe file name for any title and URL: the page's number, then ASCII letters and digits.

    >>> file_name(7, "../../Wolf spiders: CON", "http://a.example/"), file_name(8, "蜂蜜", "http://a.example/honey.html")
    ('000007-wolf-spiders-con.md', '000008-honey-html.md')
    """
    return f"{number:06d}-{_slug(title) or _slug(path_of(url)) or 'page'}.md"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text[: 10 * _MAX_SLUG]).encode("ascii", "ignore").decode().lower()
    return _NOT_ALPHANUMERIC.sub("-", plain).strip("-")[:_MAX_SLUG].rstrip("-")


_SHARD_BYTES = 500_000_000  # size of a Parquet file from which the next one is started
_LANGUAGE = re.compile("[a-z]{2,3}")
_SIZE_CATEGORIES = {
    1_000: "n<1K",
    10_000: "1K<n<10K",
    100_000: "10K<n<100K",
    1_000_000: "100K<n<1M",
    10_000_000: "1M<n<10M",
}
_COLUMN_DESCRIPTIONS = {
    "url": "address of the page",
    "host": "its host",
    "title": "its title",
    "relevance": "how well it fits the topic, 0 to 1, as estimated by the crawler",
    "standing": "its importance, 0 to 1, as estimated by the crawler; empty if it was not",
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
    "label": "good or bad, if it was labelled; empty otherwise",
    "text": "main text",
    "markdown": "the page as Markdown",
    "html": "the page as it was sent",
    "links": "its links: target, anchor, rel",
    "chunk": "number of the passage on its page, from 1",
    "chunks": "passages of the page",
}


class CollectionInfo(Struct, frozen=True):
    """What a dataset card says about the collection."""

    name: str
    topic: str  # in words; may be empty
    software: str  # name and version of the crawler


class _RowCounts(Struct):
    """Counts of the rows written."""

    languages: Counter[str]  # of pages
    rows: int = 0
    pages: int = 0


def write_dataset_folder(rows: Iterator[ExportRow], folder: Path, columns: Sequence[str], info: CollectionInfo) -> None:
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
    (folder / "README.md").write_text(_card(columns, schema, info, tally), encoding="utf-8", errors="replace")


def _counting(rows: Iterator[ExportRow], tally: _RowCounts) -> Iterator[ExportRow]:
    last = None
    for row in rows:
        tally.rows += 1
        if row["number"] != last:
            last = row["number"]
            tally.pages += 1
            tally.languages[row["language"]] += 1
        yield row


def _card(columns: Sequence[str], schema: Any, info: CollectionInfo, tally: _RowCounts) -> str:
    languages = sorted(filter(_LANGUAGE.fullmatch, tally.languages))
    size = next((name for limit, name in _SIZE_CATEGORIES.items() if tally.rows < limit), "n>10M")
    name, topic = escape_markdown(info.name), escape_markdown(info.topic)
    pages = counted(tally.pages, "web page")
    contents = pages if tally.rows == tally.pages else f"{counted(tally.rows, 'passage')} of {pages}"
    lines = [
        "---",
        f"pretty_name: {yaml_text(info.name)}",
        *(
            [
                "language:",
                *(f"- {yaml_text(language) if language in _YAML_WORDS else language}" for language in languages),
            ]
            if languages
            else []
        ),
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
        f"{contents}, collected by a focused crawl ({escape_markdown(info.software)})"
        + (f" on the topic “{topic}”." if topic else "."),
        "",
        "| column | type | |",
        "|---|---|---|",
        *(
            f"| `{column}` | {schema.field(column).type} | {_COLUMN_DESCRIPTIONS.get(column, '')} |"
            for column in columns
        ),
        "",
        "The pages belong to their authors: before you publish this, see what they allow. Relevance is an estimate.",
        "",
    ]
    return "\n".join(lines)
