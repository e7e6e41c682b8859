"""Example pages: those that a user lists, and the built-in background texts.

A file of examples has one a line (a URL, a file name, or a text), or it is a browser's bookmarks or OPML.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.files import resolved
from lycosa.vocabulary.url_files import NumberedLine, content_lines, read_url_file, url_of_bare_host
from lycosa.vocabulary.urls import normalise

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d{1,5}(?:/\S*)?")


class Example(Struct, frozen=True):
    """One line of a file of examples."""

    kind: Literal["url", "file", "text"]
    value: str  # normalised URL, absolute path, or the text itself
    line: int  # number of the line in its file, from 1


def read_examples(path: Path, *, notify: Callable[[str], None] = lambda line: None) -> list[Example]:
    """The examples in a file; blank lines and lines that begin with # are skipped.

    notify: called with a message for each host name that is read as a URL, and if entries are left out.
    """
    listed = read_url_file(path, "examples")
    if listed.left_out:
        notify(listed.left_out_in_words(path))
    examples = [_example(path, line, notify) for line in listed.lines]
    if not examples:
        raise RecipeError(f"{path} has no examples; write one URL, file name or text a line")
    return examples


def examples_in(
    lines: Iterable[str], source: Path, *, notify: Callable[[str], None] = lambda line: None
) -> list[Example]:
    """The examples in the lines of `source`; file names are relative to its folder."""
    return [_example(source, line, notify) for line in content_lines(lines)]


def _example(path: Path, line: NumberedLine, notify: Callable[[str], None]) -> Example:
    number, text = line
    if text.lower().startswith(("http://", "https://")):
        url = normalise(text) if len(text.split()) == 1 else None
        if url is None:
            raise RecipeError(
                f"{path}:{number}: {_quoted(text)} is not a URL that can be fetched; correct or remove it"
            )
        return Example("url", url, number)
    file = _existing_file(path.parent, text)
    if file:
        return Example("file", str(file), number)
    if len(text.split()) > 1:
        return Example("text", text, number)
    url = url_of_bare_host(text, or_file=True)
    if url is not None:
        notify(f"{path}:{number}: {_quoted(text)} is read as {url}")
        return Example("url", url, number)
    hint = f"; if it is a host, write its scheme: http://{text}" if _HOST_AND_PORT.fullmatch(text) else ""
    raise RecipeError(
        f"{path}:{number}: {_quoted(text)} is neither a URL (https://…), nor a file, nor a text of several words{hint}"
    )


def _existing_file(folder: Path, line: str) -> Path | None:
    if len(line) > 1000 or "\0" in line:
        return None
    try:
        file = resolved(folder / line)
        return file if file.is_file() else None
    except OSError:
        return None


def _quoted(line: str) -> str:
    return repr(line if len(line) <= 80 else line[:79] + "…")


@cache
def background() -> tuple[str, ...]:
    """Texts on everyday subjects, which show the model what most pages are about if the user gives too few bad
    examples: some eighty paragraphs, most of them in English, some in German, French and Spanish. They were written for
    Lycosa and have its licence.
    """
    text = files(__package__).joinpath("background.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)
