"""A folder of Markdown files, one for each page, with front matter: for note-taking programs and language models."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from lycosa.vocabulary.urls import path_of

from .front_matter import front_matter
from .rows import ExportRow

_FACTS = ("title", "url", "host", "language", "relevance", "standing", "at", "found_on", "label", "state")
_MAX_SLUG = 60  # characters
_OTHERS = re.compile("[^a-z0-9]+")


def write_markdown_folder(rows: Iterator[ExportRow], folder: Path, columns: Sequence[str], about: object) -> None:
    """Writes a file for each row, which has a column `markdown`."""
    for row in rows:
        text = f"{front_matter({name: row[name] for name in _FACTS})}\n\n{row['markdown']}\n"
        (folder / file_name(row["number"], row["title"], row["url"])).write_bytes(text.encode("utf-8", "replace"))


def file_name(number: int, title: str, url: str) -> str:
    """A safe file name for any title and URL: the page's number, then ASCII letters and digits.

    >>> file_name(7, "../../Wolf spiders: CON", "http://a.example/"), file_name(8, "蜂蜜", "http://a.example/honey.html")
    ('000007-wolf-spiders-con.md', '000008-honey-html.md')
    """
    return f"{number:06d}-{_slug(title) or _slug(path_of(url)) or 'page'}.md"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text[: 10 * _MAX_SLUG]).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")[:_MAX_SLUG].rstrip("-")
