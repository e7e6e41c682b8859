"""Text: its tokens, the 64-bit codes of its words, scripts without blanks between words, and text that is safe to show.

>>> tokens_of("The spider's 2 webs")
['the', 'spider', 's', '2', 'webs']
>>> unspaced_runs("honey 蜂蜜, or はちみつ")
['蜂蜜', 'はちみつ']
>>> visible("Bees\\x1b[31m\\n and \\u202ehoney")
'Bees[31m and honey'
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from .records import Codes

UNSPACED = (  # as a character class of a regular expression
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
has_unspaced = re.compile(f"[{UNSPACED}]").search
_runs = re.compile(f"[{UNSPACED}]+").findall


def unspaced_runs(text: str) -> list[str]:
    """All that is written in such a script, piece by piece."""
    return [] if text.isascii() else _runs(text)


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


Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]  # one for each of some words

MAX_WORD_LENGTH = 64  # bytes; what is longer is no word
_STRETCH = 1 << 16  # bytes

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2 ** 64
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIXER = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_ZERO = np.uint8(ord("0"))


def codes_of(words: Iterable[str]) -> Codes:
    """The codes of some words."""
    return codes_in(" ".join(words).encode("utf-8", "replace"))[0]


def codes_in(data: bytes) -> tuple[Codes, Marks, Marks]:
    """The codes of the words between blanks, in their order, which of them are numbers, and which are too long.

    A long text is taken in stretches, so that the tables stay small; of a word longer than one, the beginning counts.
    """
    if len(data) <= _STRETCH:
        return _codes_in(data)
    stretches, start = [], 0
    while start < len(data):
        end = data.rfind(b" ", start, start + _STRETCH)
        if end < 0:
            stretches.append(_codes_in(data[start : start + _STRETCH]))
            end = data.find(b" ", start + _STRETCH)
        elif end > start:
            stretches.append(_codes_in(data[start:end]))
        start = end + 1 if end >= 0 else len(data)
    codes, are_numbers, are_too_long = map(np.concatenate, zip(*stretches, strict=True))
    return codes, are_numbers, are_too_long


def _codes_in(data: bytes) -> tuple[Codes, Marks, Marks]:
    """The same for one stretch.

    A code is a polynomial of the bytes of a word. The one of a whole text is summed up once; that of a word is the
    difference between two sums, divided by the power with which it begins.
    """
    data = b" " + data + b" "
    characters = np.frombuffer(data, dtype=np.uint8)
    are_letters = characters > ord(" ")
    before = (are_letters[1:] != are_letters[:-1]).nonzero()[0]  # the place before each edge of a word
    starts, ends = before[::2] + 1, before[1::2] + 1
    powers, inverses = _powers(1 << len(data).bit_length())
    sums = (characters * powers[: len(data)]).cumsum()[before]
    codes = (sums[1::2] - sums[::2]) * inverses[starts]
    codes ^= codes >> _HALF
    codes *= _MIXER
    are_numbers = np.zeros(len(codes), np.bool_)
    begin_with_digit = ((characters[starts] - _ZERO) < 10).nonzero()[0]  # what lies below "0" wraps around to above
    for word in begin_with_digit.tolist():
        are_numbers[word] = data[starts[word] : ends[word]].isdigit()
    return codes, are_numbers, ends - starts > MAX_WORD_LENGTH


@lru_cache(maxsize=8)
def _powers(count: int) -> tuple[Codes, Codes]:
    bases = np.full((2, count), [[_BASE], [_INVERSE]], dtype=np.uint64)
    bases[:, 0] = 1
    powers, inverses = np.cumprod(bases, axis=1)
    return powers, inverses


_HARMLESS_FORMAT = frozenset("\u200c\u200d")  # joiners: Persian, Indic scripts and emoji are misspelt without them
_SPACES = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def visible(text: str, limit: int = 200) -> str:
    """One line of at most `limit` characters with nothing in it that could steer a terminal, a page or reading order.

    Control, format (bidirectional overrides among them), surrogate and private-use characters go, all white space
    becomes single blanks, and text that had to be cut ends in an ellipsis.
    """
    if text.isascii() and text.isprintable():
        line = " ".join(text[: 8 * limit].split())
    else:
        line = " ".join("".join(map(_inert, text[: 8 * limit])).split())
    if len(line) > limit or len(text) > 8 * limit:
        return line[: max(0, limit - 1)].rstrip() + "…"
    return line


def _inert(character: str) -> str:
    if character in _SPACES:
        return " "
    if unicodedata.category(character)[0] == "C" and character not in _HARMLESS_FORMAT:  # Cc, Cf, Cs, Co, Cn
        return ""
    return character
