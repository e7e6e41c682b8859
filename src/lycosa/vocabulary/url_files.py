"""Files of URLs: one a line, the bookmarks that a browser exports (Netscape format), or OPML.

The format is detected from the beginning of the file; the default is one URL a line.
"""

import re
from collections.abc import Iterable, Iterator
from errno import EFBIG
from pathlib import Path
from typing import NamedTuple

from .errors import RecipeError
from .files import read_user_file
from .hosts import is_reserved
from .records import Url
from .text import unescaped
from .urls import has_known_suffix, normalise

MAX_BYTES = 50_000_000  # of a file; bookmarks contain icons
_BOOKMARKS = "<!doctype netscape-bookmark-file"
_VALUE = r"\"[^\"<]*+\"|'[^'<]*+'|[^\s\"'<>]++"
_TAG = re.compile(rf"<(a|outline)((?:\s++[\w:.-]++(?:\s*+=\s*+(?:{_VALUE}))?+)++)", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"(?<![\w:.-])([\w:.-]++)\s*+=\s*+({_VALUE})")
_HOST_AND_PATH = re.compile(r"((?:[\w-]{1,63}\.)+[^\W\d_][\w-]{0,62})(?::\d{1,5})?(?:[/?]\S*)?")
_FILE_SUFFIXES = frozenset(
    ("app", "cc", "md", "mov", "pl", "ps", "py", "rs", "sh", "zip")
)  # these are top-level domains too


class NumberedLine(NamedTuple):
    number: int  # from 1
    text: str


class UrlFile(NamedTuple):
    """The entries of a file.

    left_out: the number of bookmarks or OPML entries that are not pages, such as scripts and feeds; 0 for plain lines.
    """

    lines: list[NumberedLine]
    left_out: int = 0

    def left_out_in_words(self, path: Path) -> str:
        """
        >>> UrlFile([], 1).left_out_in_words(Path("bookmarks.html"))
        'bookmarks.html: 1 entry is not a page (scripts, feeds, local files) and was left out'
        """
        some = "entry is not a page" if self.left_out == 1 else "entries are not pages"
        were = "was" if self.left_out == 1 else "were"
        return f"{path}: {self.left_out:,} {some} (scripts, feeds, local files) and {were} left out"


def read_url_file(path: Path, what: str) -> UrlFile:
    """The lines of a file without blank lines and comments (#); of bookmarks and OPML, the URLs of pages.

    what: what the file lists, for messages: "seeds".
    """
    text = _read(path, what)
    start = text[:4096].lstrip().lower()
    if start.startswith(_BOOKMARKS):
        return _urls_in_tags(text, "a", ("href",))
    if start.startswith(("<opml", "<?xml")) and "<opml" in start:
        return _urls_in_tags(text, "outline", ("htmlurl", "url"))
    if start.startswith(("<!doctype html", "<html")):
        raise RecipeError(
            f"{path}: a web page, not a list of URLs; write one URL a line, or give a browser's exported bookmarks"
        )
    return UrlFile(list(content_lines(text.split("\n"))))


def content_lines(lines: Iterable[str]) -> Iterator[NumberedLine]:
    """The lines, stripped, without blank lines and comments (#)."""
    for number, line in enumerate(lines, 1):
        content = line.strip()
        if content and not content.startswith("#"):
            yield NumberedLine(number, content)


def _read(path: Path, what: str) -> str:
    try:
        content = read_user_file(path, MAX_BYTES)
    except OSError as error:
        advice = "; give fewer, or several files" if error.errno == EFBIG else ""
        raise RecipeError(f"cannot read the {what} in {path}: {error.strerror or error}{advice}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # of the text without its byte order mark
        raise RecipeError(f"{path}:{line}: the {what} are not UTF-8 text; save the file as UTF-8") from None


def _urls_in_tags(text: str, tag: str, keys: tuple[str, ...]) -> UrlFile:
    """For each tag, the URL in the first of these attributes that it has."""
    lines: list[NumberedLine] = []
    left_out, counted_to, number = 0, 0, 1  # `number` is that of the line at offset `counted_to`
    for match in _TAG.finditer(text):
        if match[1].lower() != tag:
            continue
        number += text.count("\n", counted_to, match.start())
        counted_to = match.start()
        attributes = {name.lower(): value for name, value in _ATTRIBUTE.findall(match[2])}
        value = next((attributes[key] for key in keys if key in attributes), None)
        if value is not None:
            url = normalise(unescaped(value[1:-1] if value[0] in "\"'" else value))
            if url is not None:
                lines.append(NumberedLine(number, url))
                continue
        left_out += value is not None or "xmlurl" in attributes
    return UrlFile(lines, left_out)


def url_of_bare_host(text: str, *, or_file: bool = False) -> Url | None:
    """The https:// URL for a host name without a scheme, with or without a path; None for other text.

    or_file: whether the text could also be a file name; then a host name must end in a known or reserved top-level
        domain, and one without a path not in a suffix of files, such as .py.

    >>> url_of_bare_host("www.example.org"), url_of_bare_host("mailto:me@example.org")
    ('https://www.example.org/', None)
    >>> url_of_bare_host("page.html", or_file=True) is None
    True
    """
    match = _HOST_AND_PATH.fullmatch(text)
    if match is None:
        return None
    name = match[1].lower()
    if or_file:
        is_name_only = match[1] == text and name.count(".") == 1
        if is_name_only and name.rpartition(".")[2] in _FILE_SUFFIXES:
            return None
        if not (has_known_suffix(name) or is_reserved(name)):
            return None
    return normalise(f"https://{text}")
