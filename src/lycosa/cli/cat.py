"""`lycosa cat`: reads one page of a collection."""

import re
import sys
from typing import Annotated

import typer

from lycosa import api
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.urls import checked_url

from .options import Json, Name, UrlArgument, print_json, standard_output

# What could steer a terminal or the order of reading; tabs and line ends are harmless.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def cat(
    name: Name,
    url: UrlArgument,
    markdown: Annotated[bool, typer.Option("--markdown", help="The page as Markdown, with its links.")] = False,
    html: Annotated[bool, typer.Option("--html", help="The page as it was sent.")] = False,
    as_json: Json = False,
) -> None:
    """Read a page of a collection. Its main text, from the archive."""
    if markdown and html:
        raise UsageError("--markdown and --html cannot be combined")
    wanted = checked_url(url)
    form = "markdown" if markdown else "html" if html else "text"
    with api.open(name) as collection:
        found = collection.row(wanted, **{form: True})
    if found is None:
        raise UsageError(f"{name} has no page {wanted}; why, says: lycosa explain {name} {wanted}")
    if as_json:
        print_json(found)
        return
    text = found[form]
    if not html or sys.stdout.isatty():
        text = without_controls(text)
    with standard_output() as out:
        out.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())


def without_controls(text: str) -> str:
    """The text in its lines, without what could steer a terminal or the order of reading."""
    return _STEERING.sub("", text)
