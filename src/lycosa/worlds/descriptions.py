"""What a directory says about a page: its title and how its text begins."""

import html as markup
import re

from lycosa.reading.html import parse_html
from lycosa.vocabulary.records import Url

LONGEST = 400  # characters of a description, the title not counted
FEWEST_WORDS = 8  # of a paragraph that says something
_TITLE = re.compile(r"<title[^<>]*>(.{0,1000}?)</title", re.IGNORECASE | re.DOTALL)
_PARAGRAPH = re.compile(
    r"<p(?:\s[^<>]*)?>(.{0,5000}?)(?=</p\b|<p[\s>]|</div\b|</td\b|<h[1-6]\b|<table\b|<ul\b|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
_COPYRIGHT = frozenset(("©", "Copyright", "copyright"))
_PARAGRAPHS_LOOKED_AT = 12


def title_of(text: str) -> str:
    """What the page calls itself."""
    found = _TITLE.search(text)
    return " ".join(markup.unescape(found[1]).split()) if found else ""


def beginning_of(text: str, sentences: int = 2) -> str:
    """The first sentences of the first paragraph that says something; of all visible text where none does."""
    for paragraph, _ in zip(_PARAGRAPH.finditer(text), range(_PARAGRAPHS_LOOKED_AT), strict=False):
        words = _visible(paragraph[1])
        if len(words) >= FEWEST_WORDS and not _COPYRIGHT.intersection(words):
            break
    else:
        words = _visible(text)
    spoken = _SENTENCE_END.split(" ".join(words), maxsplit=sentences)[:sentences]
    return _cut(" ".join(spoken))


def description_of(text: str) -> str:
    """Title and beginning, as one line."""
    return f"{title_of(text)}. {beginning_of(text)}".strip(". ")


def _visible(fragment: str) -> list[str]:
    return parse_html(fragment, Url("http://page.invalid/")).text.split()


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else line[:LONGEST].rpartition(" ")[0]
