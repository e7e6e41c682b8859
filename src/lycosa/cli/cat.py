"""`lycosa cat`: reads one page of a collection."""

import re
import sys
from typing import Annotated

import typer

from lycosa import api
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import quoted
from lycosa.vocabulary.urls import checked_url

from .options import Json, Name, UrlArgument, print_json, standard_output

# Characters that control a terminal or the direction of text; tabs and line ends are harmless.
_TERMINAL_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def cat(
    name: Name,
    url: UrlArgument,
    markdown: Annotated[bool, typer.Option("--markdown", help="The page as Markdown, with its links.")] = False,
    html: Annotated[bool, typer.Option("--html", help="The page as it was sent.")] = False,
    as_json: Json = False,
) -> None:
    """Read a page of a collection. Prints its main text, from the archive."""
    if markdown and html:
        raise UsageError("--markdown and --html cannot be combined")
    page_url = checked_url(url)
    format = "markdown" if markdown else "html" if html else "text"
    with api.open(name) as collection:
        row = collection.row(page_url, **{format: True})
    if row is None:
        raise UsageError(f"{name} has no page {page_url}; to see why: lycosa explain {quoted(name)} {quoted(page_url)}")
    if as_json:
        print_json(row)
        return
    text = row[format]
    if not html or sys.stdout.isatty():
        text = without_controls(text)
    with standard_output() as out:
        out.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())


def without_controls(text: str) -> str:
    """The text without characters that control a terminal or the direction of text; tabs and line ends stay."""
    return _TERMINAL_CONTROLS.sub("", text)
