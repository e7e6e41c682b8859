"""Words as numbers: every word has one 64-bit code, the same in every process and at every place of a text."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from .records import Codes

LONGEST_WORD = 64  # bytes; what is longer is no word

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2 ** 64
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIXER = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)


def codes_of(words: Iterable[str]) -> Codes:
    """The codes of some words."""
    return codes_in(" ".join(words).encode("utf-8", "replace"))[0]


def codes_in(data: bytes) -> tuple[Codes, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The codes of the words between blanks, in their order, and which of them say something: no numbers, not too long.

    A code is a polynomial of the bytes of a word. The one of a whole text is summed up once; that of a word is the
    difference between two sums, divided by the power with which it begins.
    """
    data = b" " + data + b" "
    characters = np.frombuffer(data, dtype=np.uint8)
    edges = np.flatnonzero(np.diff(characters > ord(" "))) + 1
    starts, ends = edges[::2], edges[1::2]
    powers, inverses = _powers(1 << len(data).bit_length())
    sums = np.cumsum(characters * powers[: len(data)])
    codes = (sums[ends - 1] - sums[starts - 1]) * inverses[starts]
    codes ^= codes >> _HALF
    codes *= _MIXER
    no_digits = np.cumsum((characters - np.uint8(ord("0"))) > 9, dtype=np.int32)  # below "0" wraps around to above
    return codes, (no_digits[ends - 1] != no_digits[starts - 1]) & (ends - starts <= LONGEST_WORD)


@lru_cache(maxsize=8)
def _powers(count: int) -> tuple[Codes, Codes]:
    bases = np.full((2, count), [[_BASE], [_INVERSE]], dtype=np.uint64)
    bases[:, 0] = 1
    powers, inverses = np.cumprod(bases, axis=1)
    return powers, inverses
