"""Text: tokens, 64-bit codes of words, scripts without spaces between words, and text that is safe to display.

A folded text is in lower case, with nothing but blanks between words, as UTF-8 (`folded`).

>>> tokens_of("The spider's 2 webs")
['the', 'spider', 's', '2', 'webs']
>>> unspaced_runs("honey 蜂蜜, or はちみつ")
['蜂蜜', 'はちみつ']
>>> printable("Bees\\x1b[31m\\n and \\u202ehoney")
'Bees and honey'
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import unescape
from itertools import pairwise
from secrets import randbits
from shlex import quote
from typing import NamedTuple

import numpy as np

from .records import Codes, Indices

UNSPACED = (  # scripts without spaces between words, such as Chinese and Thai, as a regex character class
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
has_unspaced = re.compile(f"[{UNSPACED}]").search
_find_runs = re.compile(f"[{UNSPACED}]+").findall


def unspaced_runs(text: str) -> list[str]:
    """The runs of characters of scripts without spaces between words, such as Chinese and Thai."""
    return [] if text.isascii() else _find_runs(text)


_COMBINING_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_gap = re.compile(f"[^\\w{_COMBINING_MARKS}\\x00-\\x7f]")  # a non-ASCII character that separates words
_gaps = _gap.findall
_word_or_run = re.compile(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])[\\w{_COMBINING_MARKS}])+")
_words_and_runs, _each_word_or_run = _word_or_run.findall, _word_or_run.finditer
_ASCII = bytes(range(128))
_FOLD_TABLE = bytes(  # for bytes.translate: ASCII letters in lower case, ASCII separators as blanks
    code if code >= 128 else ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "_" else ord(" ")
    for code in range(256)
)
_MAX_REPLACES = 20  # characters, up to which str.replace for each is faster than a regex
_SIGMA = "\u03a3"  # its lower case depends on whether it ends a word
_UNIT_SEPARATOR = "\x1f"  # the ASCII control character
SEPARATOR = b"|"  # a word between folded texts; no word folds to it
_FOLD_TABLE_WITH_SEPARATOR = _FOLD_TABLE[:0x1F] + SEPARATOR + _FOLD_TABLE[0x20:]  # of the unit separator


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the plural unless the number is 1.

    >>> counted(1, "page"), counted(45_000, "page"), counted(0, "entry", "entries")
    ('1 page', '45,000 pages', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def quoted(word: object) -> str:
    """A word of a command that the user can copy into a shell.

    >>> f"lycosa rebuild {quoted('bees')}", f"lycosa rebuild {quoted('my bees')}"
    ('lycosa rebuild bees', "lycosa rebuild 'my bees'")
    """
    return quote(str(word))


def grouped(number: int) -> str:
    """A number with thin spaces between thousands, for pages that a browser shows.

    >>> grouped(45_000).replace("\\u202f", "_")
    '45_000'
    """
    return f"{number:,}".replace(",", "\u202f")


def byte_size(size: float) -> str:
    """A number of bytes in decimal units.

    >>> byte_size(512), byte_size(1_540), byte_size(250_000_000)
    ('512 B', '1.5 kB', '250 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def whole_number(digits: str, maximum: int = 10**15) -> int | None:
    """Parses a non-negative integer; None for any other text, and for a number above `maximum`.

    Safe where `int` is not: `str.isdigit` accepts "²", which `int` rejects, and `int` refuses thousands of digits.

    >>> whole_number("42"), whole_number("²"), whole_number("-1"), whole_number("9" * 5000)
    (42, None, None, None)
    >>> whole_number("99", maximum=10)
    """
    number = int(digits) if len(digits) <= 40 and digits.isascii() and digits.isdigit() else None
    return number if number is not None and number <= maximum else None


def unescaped(text: str) -> str:
    """The text with its HTML character references replaced.

    Safe where `html.unescape` is not, which fails for a reference of thousands of digits.

    >>> unescaped("&lt;&#98;&#0000000098;&#" + "1" * 5000 + ";")
    '<bb\ufffd'
    """
    return unescape(_LARGE_REFERENCE.sub("&#65533", _LEADING_ZEROS.sub("&#0", text)) if "&#" in text else text)


def folded(text: str) -> bytes:
    """The text in lower case, with only blanks between words, as UTF-8."""
    return _with_non_ascii_folded(text).translate(_FOLD_TABLE)


def folded_texts(texts: Sequence[str]) -> bytes:
    """Texts folded in one pass, each followed by `SEPARATOR` as a word.

    >>> folded_texts(["The spider's web", "Bees!"])
    b'the spider s web | bees  | '
    """
    if any(_UNIT_SEPARATOR in text for text in texts):
        texts = [text.replace(_UNIT_SEPARATOR, " ") for text in texts]
    end = f" {_UNIT_SEPARATOR} "
    return _with_non_ascii_folded("".join([text + end for text in texts])).translate(_FOLD_TABLE_WITH_SEPARATOR)


def _with_non_ascii_folded(text: str) -> bytes:
    """The text with non-ASCII separators replaced by blanks and non-ASCII letters in lower case; ASCII is unchanged."""
    if text.isascii():
        return text.encode()
    non_ascii = _non_ascii(text)
    capitals = [letter for letter in non_ascii if letter != letter.lower()]
    if capitals:
        text = _in_lower_case(text, capitals)
        non_ascii = _non_ascii(text)
    gaps = _gaps(non_ascii)
    if len(gaps) == len(non_ascii):
        return text.encode("ascii", "replace")
    if len(gaps) > _MAX_REPLACES:
        text = _gap.sub(" ", text)
    else:
        for gap in gaps:
            text = text.replace(gap, " ")
    return text.encode("utf-8", "replace")


def _non_ascii(text: str) -> str:
    """The distinct non-ASCII characters of a text."""
    return "".join(set(text.encode("utf-8", "replace").translate(None, _ASCII).decode()))


def _in_lower_case(text: str, capitals: Sequence[str]) -> str:
    """The text with at least these capitals in lower case."""
    if len(capitals) > _MAX_REPLACES or _SIGMA in capitals:
        return text.lower()
    for letter in capitals:
        text = text.replace(letter, letter.lower())
    return text


def words_in(data: bytes) -> list[str]:
    """The tokens of a folded text, as `tokens_of` gives them."""
    if is_spaced(data):
        return data.decode().split()
    return _with_pairs(_words_and_runs(data.decode()))


def offsets_in_characters(data: bytes, starts: Indices) -> Indices:
    """Offsets in a text, given those in its UTF-8 bytes.

    >>> data = folded("The spider's, ééé, web")
    >>> offsets_in_characters(data, coded_words(data).starts).tolist()
    [0, 4, 11, 14, 19]
    """
    if data.isascii():
        return starts
    are_first = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80  # bytes that begin a character
    return np.asarray(np.cumsum(are_first)[starts] - 1)


def offsets_of_pairs(text: str) -> Indices:
    """The position of each token of a folded text that has a script without spaces, in characters."""
    offsets: list[int] = []
    for match in _each_word_or_run(text):
        pairs = len(_with_pairs([match[0]]))
        offsets.extend(range(match.start(), match.start() + pairs))
    return np.array(offsets, np.intp)


def is_spaced(data: bytes) -> bool:
    """Whether a folded text has no script without spaces."""
    return data.isascii() or not has_unspaced(data.translate(None, _ASCII).decode())


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


Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]  # one per word
_Characters = np.ndarray[tuple[int], np.dtype[np.uint8]]

MAX_WORD_LENGTH = 64  # bytes; anything longer is not a word
_CHUNK_SIZE = 1 << 16  # bytes

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2 ** 64
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIXER = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF_BITS = np.uint64(32)
_ZERO = np.uint8(ord("0"))
_LANE = 8  # bytes; few words of that length have the code of another, and nobody can choose of which
_LOW_HALF = np.uint64((1 << 32) - 1)
_SECRET_FACTORS = np.array([randbits(64) | 1, randbits(64) | 1], np.uint64)  # of this process


class CodedWords(NamedTuple):
    """The words of a folded text in order.

    Codes mean the same in every process and on disk. Whoever writes a page can compute a word with the code of any
    other: what is remembered of a word for other pages goes by `secret_codes`.
    """

    codes: Codes
    are_numbers: Flags
    lengths: Indices  # of each, in bytes
    starts: Indices  # the offset of each, in bytes


def codes_of(words: Iterable[str]) -> Codes:
    """The codes of some words."""
    return coded_words(" ".join(words).encode("utf-8", "replace")).codes


def coded_words(data: bytes) -> CodedWords:
    """The words of a folded text.

    A long text is processed in chunks, which bounds memory; of a word longer than a chunk, only the beginning counts.
    """
    if len(data) <= _CHUNK_SIZE:
        return _coded_words_in_chunk(data, 0)
    chunks, start = [], 0
    while start < len(data):
        end = data.rfind(b" ", start, start + _CHUNK_SIZE)
        if end < 0:
            chunks.append(_coded_words_in_chunk(data[start : start + _CHUNK_SIZE], start))
            end = data.find(b" ", start + _CHUNK_SIZE)
        elif end > start:
            chunks.append(_coded_words_in_chunk(data[start:end], start))
        start = end + 1 if end >= 0 else len(data)
    return CodedWords(*map(np.concatenate, zip(*chunks, strict=True)))


def _coded_words_in_chunk(data: bytes, start: int) -> CodedWords:
    """The words of one chunk, which begins at offset `start` of the text.

    A code is a polynomial hash of the bytes of a word. Prefix sums are computed once for the whole text; the hash of a
    word is the difference of two prefix sums, divided by the power at its first byte.
    """
    data = b" " + data + b" "
    characters = np.frombuffer(data, dtype=np.uint8)
    edges = _edges(characters)
    starts, ends = edges[::2] + 1, edges[1::2] + 1
    powers, inverses = _powers(1 << len(data).bit_length())
    sums = characters.astype(np.uint64)
    sums *= powers[: len(data)]
    sums = sums.cumsum(out=sums)[edges]
    codes = (sums[1::2] - sums[::2]) * inverses[starts]
    codes ^= codes >> _HALF_BITS
    codes *= _MIXER
    are_numbers = np.zeros(len(codes), np.bool_)
    # Unsigned: characters below "0" wrap around to large values.
    begin_with_digit = ((characters[starts] - _ZERO) < 10).nonzero()[0]
    bounds = zip(starts[begin_with_digit].tolist(), ends[begin_with_digit].tolist(), strict=True)
    are_numbers[begin_with_digit] = [data[start:end].isdigit() for start, end in bounds]
    return CodedWords(codes, are_numbers, ends - starts, starts + (start - 1))  # the blank was added


def secret_codes(data: bytes, words: CodedWords) -> Codes:
    """Codes of the words of a folded text that mean nothing to other processes, so that nobody can compute a word with
    the code of another: those of words that are longer than a lane are mixed with a keyed hash of their bytes."""
    (long,) = (words.lengths > _LANE).nonzero()
    codes = words.codes.copy()
    if not len(long):
        return codes
    lanes: Codes = np.ndarray((len(data) - _LANE + 1,), np.uint64, data, strides=(1,))  # from each byte on
    starts, lengths = words.starts[long], np.minimum(words.lengths[long], MAX_WORD_LENGTH)
    hashes = _mixed(lanes[starts])
    for offset in range(_LANE, int(lengths.max()) - _LANE, _LANE):
        (longer,) = (lengths > offset + _LANE).nonzero()
        hashes[longer] = _mixed(hashes[longer] ^ lanes[starts[longer] + offset])
    codes[long] ^= _mixed(hashes ^ lanes[starts + lengths - _LANE])  # the last lane overlaps the one before
    return codes


def _mixed(numbers: Codes) -> Codes:
    """A sum of secret multiples of the halves of each number: of two that differ, nobody can tell how their results do,
    as the difference in one half or the other changes at least 32 bits by an unknown number."""
    mixed: Codes = (numbers & _LOW_HALF) * _SECRET_FACTORS[0] + (numbers >> _HALF_BITS) * _SECRET_FACTORS[1]
    return mixed


def words_at(data: bytes, indices: Indices) -> list[bytes]:
    """Some words of a folded text, by their indices in the arrays of `coded_words`."""
    edges = _edges(np.frombuffer(b" " + data + b" ", dtype=np.uint8))  # valid for `data`: a blank was put before it
    bounds = zip(edges[::2][indices].tolist(), edges[1::2][indices].tolist(), strict=True)
    return [data[start:end] for start, end in bounds]


def _edges(characters: _Characters) -> Indices:
    """For each word, the index before its first character and the index of its last, alternating."""
    are_letters: Flags = characters > ord(" ")
    edges: Indices = (are_letters[1:] != are_letters[:-1]).nonzero()[0]
    return edges


@lru_cache(maxsize=8)
def _powers(count: int) -> tuple[Codes, Codes]:
    bases = np.full((2, count), [[_BASE], [_INVERSE]], dtype=np.uint64)
    bases[:, 0] = 1
    powers, inverses = np.cumprod(bases, axis=1)
    return powers, inverses


SEPARATOR_CODE = codes_of([SEPARATOR.decode()])[0]


_HARMLESS_FORMAT = frozenset("\u200c\u200d")  # zero-width joiners, needed by Persian, Indic scripts and emoji
_SPACES = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")


_LEADING_ZEROS = re.compile("&#0{2,}+")
_LARGE_REFERENCE = re.compile("&#[0-9]{9,}+")  # of no character: the last has seven digits, and one zero may remain
_TERMINAL_SEQUENCE = re.compile("(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]")


def printable(text: str, limit: int = 200) -> str:
    """One line of at most `limit` characters, safe to print: nothing in it can control a terminal or reorder text.

    Terminal sequences (CSI), and control, format (such as bidirectional overrides), surrogate and private-use
    characters are removed, white space is collapsed to single blanks, and truncated text ends in an ellipsis.
    """
    if text.isascii() and text.isprintable():
        line = " ".join(text[: 8 * limit].split())
    else:
        start = _TERMINAL_SEQUENCE.sub("", text[: 8 * limit])
        line = " ".join("".join(map(_harmless, start)).split())
    if len(line) > limit or len(text) > 8 * limit:
        return line[: max(0, limit - 1)].rstrip() + "…"
    return line


def _harmless(character: str) -> str:
    if character in _SPACES:
        return " "
    if unicodedata.category(character)[0] == "C" and character not in _HARMLESS_FORMAT:  # Cc, Cf, Cs, Co, Cn
        return ""
    return character
