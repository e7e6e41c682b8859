"""The summary of a collection that its buddies hold: which words occur on which pages, in a few bytes for each page.

Pages are numbered, not named. Words are hashed; the hashes, and the page numbers of each, are ascending integers in
Elias–Fano code: the low bits of each as they are, the high bits as the positions of ones. Where the words of all pages
do not fit, each page keeps its most distinctive ones by tf·idf, as many as fit: a page on bees that mentions Tuesday
once is then not found for Tuesday. What a summary lists is exact, but for hash collisions, one in some ten thousand.
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

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
Bits = np.ndarray[tuple[int], np.dtype[np.uint8]]  # one to a byte


def low_widths(counts: Numbers, universe: int) -> Numbers:
    """How many low bits are best for so many numbers below a universe: the most for which counts << bits fits in it."""
    widths = np.zeros(len(counts), np.int64)
    for bits in range(1, max(universe, 1).bit_length()):
        widths += counts << bits <= universe
    return widths


def pack_ascending(numbers: Numbers, universe: int) -> tuple[bytes, bytes]:
    """Ascending numbers below a universe in Elias–Fano code: their low bits, and their high bits.

    >>> packed = pack_ascending(np.array([3, 4, 900]), 1000)
    >>> unpack_ascending(packed, 3, 1000).tolist()
    [3, 4, 900]
    """
    if not len(numbers):
        return b"", b""
    width = int(low_widths(np.array([len(numbers)]), universe)[0])
    ones = (numbers >> width) + np.arange(len(numbers))
    return pack_values(numbers, np.full(len(numbers), width)), pack_ones(ones, len(numbers) + (universe >> width))


def unpack_ascending(packed: tuple[bytes, bytes], count: int, universe: int) -> Numbers | None:
    """The numbers that were packed; None where these bytes do not hold so many."""
    lows, highs = packed
    if not count:
        return np.empty(0, np.int64) if not (lows or highs) else None
    width = int(low_widths(np.array([count]), universe)[0])
    if len(lows) != count * width + 7 >> 3 or len(highs) != count + (universe >> width) + 7 >> 3:
        return None
    ones = np.flatnonzero(np.unpackbits(np.frombuffer(highs, np.uint8)))
    if len(ones) != count:
        return None
    numbers = ((ones - np.arange(count)) << width) | read_values(unpack_bits(lows, 0, count * width), width, count)
    return numbers if bool((numbers[1:] > numbers[:-1]).all()) and int(numbers[-1]) < universe else None


def pack_values(values: Numbers, widths: Numbers) -> bytes:
    """The low bits of values one after the other, each of its own width, the lowest bit first."""
    starts = np.cumsum(widths) - widths
    bits = np.zeros(int(widths.sum()), np.uint8)
    for bit in range(int(widths.max(initial=0))):
        wide = widths > bit
        bits[starts[wide] + bit] = (values[wide] >> bit) & 1
    return np.packbits(bits).tobytes()


def pack_ones(places: Numbers, size: int) -> bytes:
    """So many bits, with ones at some places."""
    bits = np.zeros(size, np.uint8)
    bits[places] = 1
    return np.packbits(bits).tobytes()


def unpack_bits(data: bytes, start: int, end: int) -> Bits:
    """Some of the bits of packed bytes."""
    first = start >> 3
    return np.unpackbits(np.frombuffer(data, np.uint8, (end + 7 >> 3) - first, first))[
        start - 8 * first : end - 8 * first
    ]


def read_values(bits: Bits, width: int, count: int) -> Numbers:
    """The values of one width that bits spell."""
    if not width:
        return np.zeros(count, np.int64)
    powers: Numbers = np.int64(1) << np.arange(width, dtype=np.int64)
    return bits.reshape(count, width) @ powers


HASH_BITS = 32
MOST_TERMS = 1 << 20  # different words; what is more is taken of nobody
_MOST_PAGES = 1 << 24
_MOST_WORDS = 512  # of a page that are told; more would not fit
_HALF = np.uint64(HASH_BITS)

Hashes = np.ndarray[tuple[int], np.dtype[np.uint32]]
Counts = np.ndarray[tuple[int], np.dtype[np.uint32]]
Weights = np.ndarray[tuple[int], np.dtype[np.float64]]


_Size = Annotated[int, Meta(ge=0, le=1 << 48)]


class BadSummaryError(ValueError):
    """Bytes that are no summary."""


class PackedSegment(Struct, frozen=True, array_like=True):
    pages: Annotated[int, Meta(ge=0, le=_MOST_PAGES)]
    words: _Size  # on all pages together
    bits: Annotated[int, Meta(ge=8, le=HASH_BITS)]  # of a hash
    terms: Annotated[int, Meta(ge=0, le=MOST_TERMS)]
    hashes: tuple[bytes, bytes]
    frequencies: bytes  # on how many pages each word occurs
    listed: bytes  # how many of them are told; empty where all are
    numbers: tuple[bytes, bytes]  # these, of one word after the other


def pack_segment(pages: Sequence[Codes], room: int, most_terms: int) -> PackedSegment:
    """Pages in about so many bytes beside the head, each page given by the codes of its words."""
    distinct = [np.unique((page >> _HALF).astype(np.uint32), return_counts=True) for page in pages]
    bits = _fitting_bits([page for page, _ in distinct], room)
    distinct = [_shortened(*each, bits) for each in distinct]
    distinct, terms, frequencies = _most_frequent(distinct, most_terms)
    rarity = np.log1p(len(pages) / frequencies)
    best = [_most_distinctive(terms.searchsorted(page), times, rarity) for page, times in distinct]
    sizes = np.array([len(page) for page in best], np.int64)
    term = np.concatenate([np.empty(0, np.int64), *best])
    number = np.repeat(np.arange(len(pages)), sizes)
    rank = np.arange(len(term)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.lexsort((number, term))
    term, number, rank = term[order], number[order], rank[order]
    vocabulary = pack_ascending(terms.astype(np.int64), 1 << bits)
    counted = _pack_counts(frequencies)
    room -= sum(map(len, vocabulary)) + len(counted)
    is_listed = rank < _fitting_ranks(term, rank, len(terms), len(pages), room)
    listed = np.bincount(term[is_listed], minlength=len(terms))
    told = b"" if bool((listed == frequencies).all()) else _pack_counts(listed)
    lists = _pack_lists(number[is_listed], listed, len(pages))
    return PackedSegment(len(pages), sum(map(len, pages)), bits, len(terms), vocabulary, counted, told, lists)


def _most_frequent(
    distinct: list[tuple[Hashes, Numbers]], most: int
) -> tuple[list[tuple[Hashes, Numbers]], Hashes, Numbers]:
    """The words that are told at all, and on how many pages each is: of too many, those that are on most pages."""
    terms, frequencies = np.unique(
        np.concatenate([np.empty(0, np.uint32), *(page for page, _ in distinct)]), return_counts=True
    )
    if len(terms) <= most:
        return distinct, terms, frequencies
    kept = np.sort(np.argsort(-frequencies, kind="stable")[:most])
    terms, frequencies = terms[kept], frequencies[kept]
    are_told = [np.isin(page, terms, assume_unique=True) for page, _ in distinct]
    told = [(page[which], times[which]) for (page, times), which in zip(distinct, are_told, strict=True)]
    return told, terms, frequencies


def _most_distinctive(terms: Numbers, times: Numbers, rarity: Weights) -> Numbers:
    """The words of a page that tell it from others, the best first; no more than could be told of it."""
    weights = (1 + np.log(times)) * rarity[terms]
    return terms[np.argsort(-weights, kind="stable")[:_MOST_WORDS]]


def _fitting_bits(pages: Sequence[Hashes], room: int) -> int:
    """As many bits of a hash that the words alone take no more than half of the room, but not so few that words often
    collide."""
    many = len(np.unique(np.concatenate([np.empty(0, np.uint32), *pages])))
    bits = HASH_BITS
    while bits > 8 and many * (max(0, bits - many.bit_length()) + 6) > 8 * room / 2:
        if 1 << (bits - 1) < 128 * many:
            break
        bits -= 1
    return bits


def _shortened(page: Hashes, times: Numbers, bits: int) -> tuple[Hashes, Numbers]:
    """The hashes of a page in so many bits; words that become one are one."""
    if bits == HASH_BITS:
        return page, times
    hashes, where = np.unique(page >> np.uint32(HASH_BITS - bits), return_inverse=True)
    return hashes, np.bincount(where, weights=times, minlength=len(hashes)).astype(np.int64)


def _fitting_ranks(term: Numbers, rank: Numbers, terms: int, pages: int, room: int) -> int:
    """How many words of each page can be told."""
    fits, too_many = 0, _MOST_WORDS + 1
    while too_many - fits > 1:
        tried = (fits + too_many) // 2
        listed = np.bincount(term[rank < tried], minlength=terms)
        counts = len(_pack_counts(listed))
        if sum((int(sizes.sum()) + 7) >> 3 for sizes in list_sizes(listed, pages)) + counts <= room:
            fits = tried
        else:
            too_many = tried
    return fits


def list_sizes(listed: Numbers, pages: int) -> tuple[Numbers, Numbers]:
    """How many bits the lists of so many numbers take: their low bits, and the rest."""
    widths = low_widths(np.maximum(listed, 1), pages)
    return listed * widths, np.where(listed > 0, listed + (pages >> widths) + 1, 0)


def _pack_lists(numbers: Numbers, listed: Numbers, pages: int) -> tuple[bytes, bytes]:
    """The page numbers of all words, one after the other, those of each ascending."""
    if not len(numbers):
        return b"", b""
    _, tops = list_sizes(listed, pages)
    widths = np.repeat(low_widths(np.maximum(listed, 1), pages), listed)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(listed) - listed, listed)
    ones = np.repeat(np.cumsum(tops) - tops, listed) + (numbers >> widths) + within
    return pack_values(numbers, widths), pack_ones(ones, int(tops.sum()))


def _pack_counts(counts: Numbers) -> bytes:
    """Each in one byte, those from 255 on in four more behind all of them; compressed."""
    large = counts[counts >= 255].astype("<u4")
    return zlib.compress(np.minimum(counts, 255).astype(np.uint8).tobytes() + large.tobytes(), 6)


def unpack_counts(data: bytes, terms: int) -> Counts:
    try:
        plain = zlib.decompressobj().decompress(data, 5 * terms + 1)
    except zlib.error as error:
        raise BadSummaryError("its counts do not fit") from error
    counts = np.frombuffer(plain[:terms], np.uint8).astype(np.uint32)
    are_large = counts == 255
    if len(plain) != terms + 4 * int(are_large.sum()):
        raise BadSummaryError("its counts do not fit")
    counts[are_large] = np.frombuffer(plain[terms:], "<u4")
    return counts


BYTES_PER_PAGE = 200
LEAST_BYTES = 1 << 16  # that a small collection may take
MADE_BYTES, MADE_TERMS = 7 << 19, 7 << 17  # the most of a summary when it is made
TAKEN_BYTES = 1 << 22  # the most that is taken of others, as are MOST_TERMS, so that there is room to grow
PAGES_IN_SEGMENT = 10_000  # so that making one takes a bounded amount of memory
_MOST_SEGMENTS = 256
_HEAD = 96  # bytes of a segment beside its words


class Segment:
    """Some pages: for each word, on how many of them it occurs, and on which."""

    def __init__(self, packed: PackedSegment):
        self.packed = packed
        self.pages = packed.pages
        self.words = packed.words
        hashes = unpack_ascending(packed.hashes, packed.terms, 1 << packed.bits)
        if hashes is None:
            raise BadSummaryError("its hashes do not fit")
        self._hashes = hashes.astype(np.uint32)
        self._frequencies = unpack_counts(packed.frequencies, packed.terms)
        listed = unpack_counts(packed.listed, packed.terms) if packed.listed else self._frequencies
        if bool((listed > self._frequencies).any() or (self._frequencies > packed.pages).any()):
            raise BadSummaryError("a word on more pages than there are")
        self._listed = listed
        self.terms = packed.terms
        self.size = sum(map(len, (packed.frequencies, packed.listed, *packed.hashes, *packed.numbers))) + _HEAD
        low_ends, high_ends = map(np.cumsum, list_sizes(listed.astype(np.int64), packed.pages))
        for ends, data in zip((low_ends, high_ends), packed.numbers, strict=True):
            if len(data) != ((int(ends[-1]) + 7) >> 3 if packed.terms else 0):
                raise BadSummaryError("its page numbers do not fit")
        self._low_ends, self._high_ends = low_ends.astype(np.uint32), high_ends.astype(np.uint32)

    @classmethod
    def of(cls, pages: Sequence[Codes], *, room: int, terms: int = MADE_TERMS) -> "Segment":
        """The summary of pages in so many bytes, with so many different words at most, each page given by the codes of
        its words as often as they occur."""
        return cls(pack_segment(pages, room - _HEAD, terms))

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
        width = int(low_widths(np.array([count]), self.pages)[0])
        low_end, high_end = int(self._low_ends[place]), int(self._high_ends[place])
        lows = read_values(unpack_bits(self.packed.numbers[0], low_end - count * width, low_end), width, count)
        top = count + (self.pages >> width) + 1
        ones = np.flatnonzero(unpack_bits(self.packed.numbers[1], high_end - top, high_end))
        if len(ones) != count:
            return np.empty(0, np.int64)  # somebody's nonsense: the word is nowhere
        return ((ones - np.arange(count)) << width) | lows


class Summary:
    """A collection as its buddies know it: segments, of which the later ones hold what has come since."""

    def __init__(self, segments: Sequence[Segment] = ()):
        self.segments = tuple(segments)

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
        """The summary that bytes of a stranger are. Raises BadSummaryError where they are none, or too many."""
        return cls().followed_by(data)

    def followed_by(self, data: bytes) -> "Summary":
        """The summary with what has come since, which bytes of a stranger tell. Raises BadSummaryError like that."""
        if sum(segment.size for segment in self.segments) + len(data) > TAKEN_BYTES:
            raise BadSummaryError("too long")
        try:
            packed = _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadSummaryError(str(error)) from error
        if len(self.segments) + len(packed) > _MOST_SEGMENTS:
            raise BadSummaryError("too many parts")
        terms = sum(each.terms for each in packed)
        if terms > 8 * len(data) or sum(segment.terms for segment in self.segments) + terms > MOST_TERMS:
            raise BadSummaryError("too many words")
        return Summary((*self.segments, *map(Segment, packed)))


_decoder = msgspec.msgpack.Decoder(Annotated[list[PackedSegment], Meta(max_length=_MOST_SEGMENTS)])


def byte_budget(pages: int, of: int, *, least: int = LEAST_BYTES) -> int:
    """How many bytes the summary of some pages may take, of so many in all."""
    return max(least * pages // max(of, 1), min(pages * BYTES_PER_PAGE, MADE_BYTES * pages // max(of, 1)))


def term_budget(pages: int, of: int) -> int:
    """How many different words it may tell."""
    return MADE_TERMS * pages // max(of, 1)


def _common(some: Numbers, others: Numbers) -> Numbers:
    return np.intersect1d(some, others, assume_unique=True)
