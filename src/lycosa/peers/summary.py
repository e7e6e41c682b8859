"""What a peer tells its buddies of its collection: which words occur on which of its pages, small enough to hold.

The pages of a summary are numbered, not named. Words are hashed; the hashes, and for each of them the numbers of
pages, are sorted numbers in the code of Elias and Fano (see `bits`). Where the words of all pages do not fit, each page
keeps those that tell it best from the others (by tf·idf), as many as fit: a page on bees that once says Tuesday is then
not found for Tuesday. What is told is told exactly, but for hashes that collide, one in some ten thousand.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from lycosa.vocabulary.codes import codes_of
from lycosa.vocabulary.records import Codes

from .bits import Numbers, ascending, bits_of, low_widths, pack_ascending, packed_ones, packed_values, values_in

BYTES_PER_PAGE = 200
LEAST_BYTES = 1 << 16  # that a small collection may take
MOST_BYTES = 7 << 19  # 3.5 MB, in all
PAGES_IN_SEGMENT = 10_000  # so that making one takes a bounded amount of memory
HASH_BITS = 32
_MOST_SEGMENTS = 64
_MOST_PAGES = 1 << 24
_MOST_WORDS = 512  # of a page that are told; more would not fit
_HALF = np.uint64(HASH_BITS)

Hashes = np.ndarray[tuple[int], np.dtype[np.uint32]]
Weights = np.ndarray[tuple[int], np.dtype[np.float64]]

_Size = Annotated[int, Meta(ge=0, le=1 << 48)]


class BadSummaryError(ValueError):
    """Bytes that are no summary."""


class _Packed(Struct, frozen=True, array_like=True):
    pages: Annotated[int, Meta(ge=0, le=_MOST_PAGES)]
    words: _Size  # on all pages together
    bits: Annotated[int, Meta(ge=8, le=HASH_BITS)]  # of a hash
    terms: Annotated[int, Meta(ge=0, le=1 << 28)]
    hashes: tuple[bytes, bytes]
    frequencies: bytes  # on how many pages each word occurs
    listed: bytes  # how many of them are told; empty where all are
    numbers: tuple[bytes, bytes]  # these, of one word after the other


class Segment:
    """Some pages: for each word, on how many of them it occurs, and on which."""

    def __init__(self, packed: _Packed):
        self.packed = packed
        self.pages = packed.pages
        self.words = packed.words
        hashes = ascending(packed.hashes, packed.terms, 1 << packed.bits)
        if hashes is None:
            raise BadSummaryError("its hashes do not fit")
        self._hashes = hashes.astype(np.uint32)
        self._frequencies = _unpacked_counts(packed.frequencies, packed.terms)
        listed = _unpacked_counts(packed.listed, packed.terms) if packed.listed else self._frequencies
        if bool((listed > self._frequencies).any() or (self._frequencies > packed.pages).any()):
            raise BadSummaryError("a word on more pages than there are")
        self._listed = listed
        low_ends, high_ends = (np.cumsum(sizes) for sizes in _list_sizes(listed, packed.pages))
        for ends, data in zip((low_ends, high_ends), packed.numbers, strict=True):
            if len(data) != ((int(ends[-1]) + 7) >> 3 if packed.terms else 0):
                raise BadSummaryError("its page numbers do not fit")
        self._low_ends, self._high_ends = low_ends.astype(np.uint32), high_ends.astype(np.uint32)

    @classmethod
    def of(cls, pages: Sequence[Codes], *, room: int) -> "Segment":
        """The summary of pages in so many bytes, each page given by the codes of its words as often as they occur."""
        return cls(_packed(pages, room - 96))

    def pages_with(self, codes: Codes) -> int:
        """On how many pages all of the words occur, as far as the summary tells."""
        places = [self._place(int(code)) for code in codes]
        if len(places) == 1 and places[0] is not None:
            return int(self._frequencies[places[0]])
        if not places or any(place is None or not self._listed[place] for place in places):
            return 0
        known = sorted((place for place in places if place is not None), key=lambda place: int(self._listed[place]))
        return len(reduce(_common, map(self._numbers, known)))

    def frequency(self, code: int) -> int:
        """On how many pages a word occurs."""
        place = self._place(code)
        return 0 if place is None else int(self._frequencies[place])

    def _place(self, code: int) -> int | None:
        wanted = np.uint32(code >> (64 - self.packed.bits))
        place = int(self._hashes.searchsorted(wanted))
        return place if place < len(self._hashes) and self._hashes[place] == wanted else None

    def _numbers(self, place: int) -> Numbers:
        count = int(self._listed[place])
        width = int(low_widths(self._listed[place : place + 1], self.pages)[0])
        low_end, high_end = int(self._low_ends[place]), int(self._high_ends[place])
        lows = values_in(bits_of(self.packed.numbers[0], low_end - count * width, low_end), width, count)
        top = count + (self.pages >> width) + 1
        ones = np.flatnonzero(bits_of(self.packed.numbers[1], high_end - top, high_end))
        if len(ones) != count:
            return np.empty(0, np.int64)  # somebody's nonsense: the word is nowhere
        return ((ones - np.arange(count)) << width) | lows


class Summary:
    """A collection as its buddies know it: segments, of which the later ones hold what has come since."""

    def __init__(self, segments: Sequence[Segment] = ()):
        self.segments = tuple(segments)
        if len(self.segments) > _MOST_SEGMENTS:
            raise BadSummaryError("too many parts")

    @property
    def pages(self) -> int:
        return sum(segment.pages for segment in self.segments)

    @property
    def words(self) -> int:
        return sum(segment.words for segment in self.segments)

    def may_have(self, words: Iterable[str]) -> bool:
        """Whether there is a page with all the words, as far as the summary tells."""
        codes = codes_of(words)
        return bool(len(codes)) and any(segment.pages_with(codes) for segment in self.segments)

    def frequency(self, word: str) -> int:
        """On how many pages a word occurs."""
        code = int(codes_of([word])[0])
        return sum(segment.frequency(code) for segment in self.segments)

    def packed(self) -> bytes:
        return msgspec.msgpack.encode([segment.packed for segment in self.segments])

    @classmethod
    def unpacked(cls, data: bytes) -> "Summary":
        """The summary that bytes of a stranger are. Raises BadSummaryError where they are none."""
        try:
            packed = _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadSummaryError(str(error)) from error
        if any(each.terms > 8 * len(data) for each in packed):
            raise BadSummaryError("more words than so few bytes could tell")
        return cls([Segment(each) for each in packed])


_decoder = msgspec.msgpack.Decoder(Annotated[list[_Packed], Meta(max_length=_MOST_SEGMENTS)])


def room_for(pages: int, of: int, *, least: int = LEAST_BYTES) -> int:
    """How many bytes the summary of some pages may take, of so many in all."""
    return max(least, min(pages * BYTES_PER_PAGE, MOST_BYTES * pages // max(of, 1)))


def _packed(pages: Sequence[Codes], room: int) -> _Packed:
    distinct = [np.unique((page >> _HALF).astype(np.uint32), return_counts=True) for page in pages]
    hashes, bits = _fitting_hashes([page for page, _ in distinct], room)
    terms, frequencies = np.unique(np.concatenate([np.empty(0, np.uint32), *hashes]), return_counts=True)
    rarity = np.log1p(len(pages) / frequencies)
    best = [
        _most_telling(terms.searchsorted(page), times, rarity)
        for page, (_, times) in zip(hashes, distinct, strict=True)
    ]
    sizes = np.array([len(page) for page in best], np.int64)
    term = np.concatenate([np.empty(0, np.int64), *best])
    number = np.repeat(np.arange(len(pages)), sizes)
    rank = np.arange(len(term)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.lexsort((number, term))
    term, number, rank = term[order], number[order], rank[order]
    vocabulary = pack_ascending(terms.astype(np.int64), 1 << bits)
    counted = _packed_counts(frequencies)
    room -= sum(map(len, vocabulary)) + len(counted)
    is_listed = rank < _fitting_ranks(term, rank, len(terms), len(pages), room)
    listed = np.bincount(term[is_listed], minlength=len(terms))
    told = b"" if bool((listed == frequencies).all()) else _packed_counts(listed)
    lists = _packed_lists(number[is_listed], listed, len(pages))
    return _Packed(len(pages), sum(map(len, pages)), bits, len(terms), vocabulary, counted, told, lists)


def _most_telling(terms: Numbers, times: Numbers, rarity: Weights) -> Numbers:
    """The words of a page that tell it from others, the best first; no more than could be told of it."""
    weights = (1 + np.log(times)) * rarity[terms]
    return terms[np.argsort(-weights, kind="stable")[:_MOST_WORDS]]


def _fitting_hashes(pages: Sequence[Hashes], room: int) -> tuple[list[Hashes], int]:
    """Hashes for which the words alone take no more than half of the room, but not so short that they often collide."""
    everything = np.unique(np.concatenate([np.empty(0, np.uint32), *pages]))
    bits = HASH_BITS
    while bits > 8 and len(everything) * (max(0, bits - len(everything).bit_length()) + 6) > 8 * room / 2:
        if 1 << (bits - 1) < 128 * len(everything):
            break
        bits -= 1
    shift = np.uint32(HASH_BITS - bits)
    return [page >> shift for page in pages], bits  # where two words of a page become one, it counts twice


def _fitting_ranks(term: Numbers, rank: Numbers, terms: int, pages: int, room: int) -> int:
    """How many words of each page can be told."""
    fits, too_many = 0, _MOST_WORDS + 1
    while too_many - fits > 1:
        tried = (fits + too_many) // 2
        listed = np.bincount(term[rank < tried], minlength=terms)
        counts = len(_packed_counts(listed))
        if sum((int(sizes.sum()) + 7) >> 3 for sizes in _list_sizes(listed, pages)) + counts <= room:
            fits = tried
        else:
            too_many = tried
    return fits


def _list_sizes(listed: Numbers, pages: int) -> tuple[Numbers, Numbers]:
    """How many bits the lists of so many numbers take: their low bits, and the rest."""
    widths = low_widths(np.maximum(listed, 1), pages)
    return listed * widths, np.where(listed > 0, listed + (pages >> widths) + 1, 0)


def _packed_lists(numbers: Numbers, listed: Numbers, pages: int) -> tuple[bytes, bytes]:
    """The page numbers of all words, one after the other, those of each ascending."""
    if not len(numbers):
        return b"", b""
    _, tops = _list_sizes(listed, pages)
    widths = np.repeat(low_widths(np.maximum(listed, 1), pages), listed)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(listed) - listed, listed)
    ones = np.repeat(np.cumsum(tops) - tops, listed) + (numbers >> widths) + within
    return packed_values(numbers, widths), packed_ones(ones, int(tops.sum()))


def _packed_counts(counts: Numbers) -> bytes:
    """Each in one byte, those from 255 on in four more behind all of them; compressed."""
    large = counts[counts >= 255].astype("<u4")
    return zlib.compress(np.minimum(counts, 255).astype(np.uint8).tobytes() + large.tobytes(), 6)


def _unpacked_counts(data: bytes, terms: int) -> Numbers:
    try:
        plain = zlib.decompressobj().decompress(data, 5 * terms + 1)
    except zlib.error as error:
        raise BadSummaryError("its counts do not fit") from error
    counts = np.frombuffer(plain[:terms], np.uint8).astype(np.int64)
    are_large = counts == 255
    if len(plain) != terms + 4 * int(are_large.sum()):
        raise BadSummaryError("its counts do not fit")
    counts[are_large] = np.frombuffer(plain[terms:], "<u4")
    return counts


def _common(some: Numbers, others: Numbers) -> Numbers:
    return np.intersect1d(some, others, assume_unique=True)
