"""The export format `reading-list`: a list of links in Markdown."""

from collections.abc import Iterator
from typing import Any, BinaryIO


def write_reading_list(rows: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    """One line for each page: its title as a link, and how relevant it is."""
    for row in rows:
        title = " ".join((row["title"] or row["url"]).split())
        for mark in "\\[]":
            title = title.replace(mark, f"\\{mark}")
        relevance = "" if row["relevance"] is None else f" ({row['relevance']:.2f})"
        out.write(f"- [{title}](<{row['url']}>){relevance}\n".encode())
