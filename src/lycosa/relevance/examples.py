"""Example pages: those that a user lists, and texts that stand for what is off the topic.

A file of examples has one a line: a URL, the name of a file, or a text.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.urls import normalise

MAX_BYTES = 10_000_000


class Example(Struct, frozen=True):
    """One line of a file of examples."""

    kind: Literal["url", "file", "text"]
    value: str  # normalised URL, absolute path, or the text itself
    line: int  # number of the line in its file, from 1


def read_examples(path: Path) -> list[Example]:
    """The examples in a file; blank lines and lines that begin with # are skipped."""
    examples = examples_in(_lines(path), path)
    if not examples:
        raise RecipeError(f"{path} has no examples; write one URL, file name or text a line")
    return examples


def examples_in(lines: Iterable[str], source: Path) -> list[Example]:
    """The examples in the lines of `source`; the files they name are relative to its folder."""
    return [
        _example(source, number, line.strip())
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise RecipeError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB; give fewer, or name files")
        return content.decode("utf-8-sig").split("\n")
    except OSError as error:
        raise RecipeError(f"cannot read the examples in {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RecipeError(f"the examples in {path} are not UTF-8 text; save the file as UTF-8") from None


def _example(path: Path, number: int, line: str) -> Example:
    if line.lower().startswith(("http://", "https://")):
        url = normalise(line) if len(line.split()) == 1 else None
        if url is None:
            raise RecipeError(f"{path}:{number}: {_short(line)} is not a URL that can be fetched; correct or remove it")
        return Example("url", url, number)
    file = _file(path.parent, line)
    if file:
        return Example("file", str(file), number)
    if len(line.split()) > 1:
        return Example("text", line, number)
    raise RecipeError(
        f"{path}:{number}: {_short(line)} is neither a URL (http://...), nor a file, nor a text of several words"
    )


def _file(folder: Path, line: str) -> Path | None:
    if len(line) > 1000 or "\0" in line:
        return None
    try:
        file = (folder / line).resolve()
        return file if file.is_file() else None
    except OSError:
        return None


def _short(line: str) -> str:
    return repr(line if len(line) <= 80 else line[:79] + "…")


@cache
def background() -> tuple[str, ...]:
    """Texts on everyday subjects, the bad examples where the user gives none: some eighty paragraphs, most in English,
    some in German, French and Spanish."""
    text = files(__package__).joinpath("background.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)
