"""Words as numbers: every word has one 64-bit code, the same in every process and at every place of a text."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from .records import Codes

Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]  # one for each of some words

LONGEST_WORD = 64  # bytes; what is longer is no word
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
    return codes, are_numbers, ends - starts > LONGEST_WORD


@lru_cache(maxsize=8)
def _powers(count: int) -> tuple[Codes, Codes]:
    bases = np.full((2, count), [[_BASE], [_INVERSE]], dtype=np.uint64)
    bases[:, 0] = 1
    powers, inverses = np.cumprod(bases, axis=1)
    return powers, inverses
