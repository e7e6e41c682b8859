"""The tokens of a text in their order: the one way in which texts, queries and rules are taken for words.

>>> tokens_of("The spider's 2 webs")
['the', 'spider', 's', '2', 'webs']
"""

import re
from collections.abc import Iterable
from itertools import pairwise

from .scripts import UNSPACED, has_unspaced

_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"  # belong to the letter before
_gap = re.compile(f"[^\\w{_MARKS}]")
_gaps = _gap.findall
_words_and_runs = re.compile(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])[\\w{_MARKS}])+").findall
_ASCII = bytes(range(128))
_LOWER_WORDS = bytes(
    code if code >= 128 else ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "_" else ord(" ")
    for code in range(256)
)
_FEW = 20  # replacing that many characters one by one is quicker than a regular expression


def folded(text: str) -> bytes:
    """The text in lower case, with nothing but blanks between its words."""
    data = text.encode("utf-8", "replace")
    if not text.isascii():
        others = "".join(set(data.translate(None, _ASCII).decode()))
        if others != others.lower():
            data = text.lower().encode("utf-8", "replace")
            others = "".join(set(data.translate(None, _ASCII).decode()))
        gaps = _gaps(others)
        if len(gaps) == len(others):
            data = text.encode("ascii", "replace")
        elif len(gaps) > _FEW:
            data = _gap.sub(" ", data.decode()).encode()
        else:
            for gap in gaps:
                data = data.replace(gap.encode(), b" ")
    return data.translate(_LOWER_WORDS)


def words_in(data: bytes) -> list[str]:
    """The words of a folded text."""
    text = data.decode()
    if text.isascii() or not has_unspaced(text):
        return text.split()
    return _with_pairs(_words_and_runs(text))


def tokens_of(text: str) -> list[str]:
    """Lower-case words; scripts without blanks (Chinese, Japanese, Thai, ...) give overlapping pairs of characters."""
    return words_in(folded(text))


def _with_pairs(words_and_runs: Iterable[str]) -> list[str]:
    tokens: list[str] = []
    for word in words_and_runs:
        if len(word) > 2 and has_unspaced(word[0]):
            tokens.extend(map("".join, pairwise(word)))
        else:
            tokens.append(word)
    return tokens
