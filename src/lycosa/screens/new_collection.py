"""Creates a collection from the fields of a form; no field can name a file, code, cookies or another folder."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

from lycosa.frontier.admission import Scope
from lycosa.run.new import new_collection
from lycosa.run.options import ScopeOptions, scope_with_options
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import printable, whole_number

from .crawls import MAX_PAGES
from .library import Library

_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_MAX_LINES = 5_000


def create_collection(library: Library, form: Mapping[str, str]) -> str:
    """Creates a collection in the folder and returns its name; raises UsageError if fields are missing or invalid."""
    name = form.get("name", "").strip()
    if library.is_single:
        raise UsageError("these screens are of one collection; start lycosa ui in the folder above it")
    if not _NAME.fullmatch(name):
        raise UsageError("the name is missing, or has other characters than letters, digits, - and _")
    topic, examples = form.get("topic", "").strip(), _lines(form, "examples")
    seeds = _lines(form, "seeds")
    if not topic and not examples:
        raise UsageError("what is it about? give the topic in words, or example pages")
    if not seeds and not any(_is_url(line) for line in examples):
        raise UsageError("where should it start? give URLs to start from, or examples that are URLs")
    for line in seeds:
        if not _is_url(line):
            raise UsageError(f"{printable(line, 80)!r} is no URL to start from; write https://…")
    pages = None
    if size := form.get("pages", "").strip():
        pages = whole_number(size, maximum=MAX_PAGES)
        if not pages:
            raise UsageError("the size is a number of pages such as 500, or empty")
    scope: ScopeOptions = {}
    if hosts := form.get("hosts", "").split():
        scope["hosts"] = hosts
    if languages := form.get("languages", "").split():
        scope["languages"] = languages
    new_collection(
        library.root / name,
        topic=topic,
        examples=examples,
        negatives=_lines(form, "negatives"),
        seeds=seeds,
        contact=form.get("contact", "").strip(),
        scope=scope_with_options(Scope(), scope),
        pages=pages,
        target=_target(form.get("target", "").strip()),
    )
    return name


def _target(text: str) -> float | None:
    """The target of relevance; None if the field is empty."""
    if not text:
        return None
    try:
        target = float(text)
    except ValueError:
        target = math.nan
    if not 0.0 <= target <= 1.0:
        raise UsageError("the target of relevance is a number from 0 to 1 such as 0.7, or empty")
    return target


def _lines(form: Mapping[str, str], field: str) -> list[str]:
    """The lines of a field: URLs and texts; raises UsageError for file names."""
    lines = [line.strip() for line in form.get(field, "").splitlines() if line.strip()]
    if len(lines) > _MAX_LINES:
        raise UsageError(f"more than {_MAX_LINES} lines; lycosa new takes files")
    for line in lines:
        if not _is_url(line) and (line.startswith(("/", "~", ".", "\\")) or ".." in line or _is_file(line)):
            raise UsageError(
                f"{printable(line, 80)!r} may be the name of a file, which screens do not read; lycosa new does"
            )
    return lines


def _is_url(line: str) -> bool:
    return line.lower().startswith(("http://", "https://"))


def _is_file(line: str) -> bool:
    try:
        return Path(line).exists()
    except (OSError, ValueError):
        return False
