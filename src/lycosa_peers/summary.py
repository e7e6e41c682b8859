"""The summary of a collection for its buddies: which words occur on which pages, in a few bytes per page.

Pages are numbered, not named. Words are hashed; the hashes, and the page numbers of each, are ascending integers in
Elias–Fano code: the low bits verbatim, the high bits as the positions of ones. If the words of all pages do not fit,
each page keeps its most distinctive ones by tf·idf: a page on bees that mentions Tuesday once is then not found for
Tuesday. What a summary lists is exact, except for hash collisions, about one in ten thousand.
"""

import zlib
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from lycosa.vocabulary.records import Codes
from lycosa.vocabulary.text import codes_of

HASH_BITS = 32
MAX_TERMS = 1 << 20  # different words; a summary with more is refused
BYTES_PER_PAGE = 200
MIN_BYTES = 1 << 16  # minimum budget
MAX_OWN_BYTES, MAX_OWN_TERMS = 7 << 19, 7 << 17  # limits of our own summaries
MAX_FOREIGN_BYTES = 1 << 22  # limit of summaries of others, like MAX_TERMS; above MAX_OWN_BYTES, to leave room to grow
PAGES_PER_SEGMENT = 10_000  # bounds the memory of building one
_MAX_PAGES = 1 << 24
_MAX_WORDS_PER_PAGE = 512  # listed per page; more would not fit
_MAX_SEGMENTS = 256
MAX_BITS_READ = 1 << 20  # of lists of pages, for one query; reading them takes some 20 ms
_MIN_BITS_READ = 1 << 12  # that reading one list counts, however short it is
_HEADER_BYTES = 96  # of a segment beside its words, about
_HASH_SHIFT = np.uint64(HASH_BITS)  # from the code of a word, its 64-bit hash, to the hash in a summary

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
Bits = np.ndarray[tuple[int], np.dtype[np.uint8]]  # one to a byte
Hashes = np.ndarray[tuple[int], np.dtype[np.uint32]]
Counts = np.ndarray[tuple[int], np.dtype[np.uint32]]
Weights = np.ndarray[tuple[int], np.dtype[np.float64]]


# ---------------------------------------------------------------- Elias–Fano code


def low_widths(counts: Numbers, universe: int) -> Numbers:
    """The best number of low bits for `counts` numbers below `universe`: the largest w with counts << w <= universe."""
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
    """The numbers that were packed; None if the bytes are not the code of `count` numbers."""
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
    """The low bits of values one after the other, each with its own width, the lowest bit first."""
    starts = np.cumsum(widths) - widths
    bits = np.zeros(int(widths.sum()), np.uint8)
    for bit in range(int(widths.max(initial=0))):
        wide = widths > bit
        bits[starts[wide] + bit] = (values[wide] >> bit) & 1
    return np.packbits(bits).tobytes()


def pack_ones(places: Numbers, size: int) -> bytes:
    """`size` bits, with ones at some positions."""
    bits = np.zeros(size, np.uint8)
    bits[places] = 1
    return np.packbits(bits).tobytes()


def unpack_bits(data: bytes, start: int, end: int) -> Bits:
    """The bits from `start` to `end` of packed bytes."""
    first = start >> 3
    return np.unpackbits(np.frombuffer(data, np.uint8, (end + 7 >> 3) - first, first))[
        start - 8 * first : end - 8 * first
    ]


def read_values(bits: Bits, width: int, count: int) -> Numbers:
    """Values of one width from their bits."""
    if not width:
        return np.zeros(count, np.int64)
    powers: Numbers = np.int64(1) << np.arange(width, dtype=np.int64)
    return bits.reshape(count, width) @ powers


# ---------------------------------------------------------------- packing a segment

_Size = Annotated[int, Meta(ge=0, le=1 << 48)]


class BadSummaryError(ValueError):
    """Bytes that are not a summary."""


class PackedSegment(Struct, frozen=True, array_like=True):
    """A segment as it is sent and saved. `pages`, `words` and `terms` are numbers of them."""

    pages: Annotated[int, Meta(ge=0, le=_MAX_PAGES)]
    words: _Size  # on all pages together
    bits: Annotated[int, Meta(ge=8, le=HASH_BITS)]  # of a hash
    terms: Annotated[int, Meta(ge=0, le=MAX_TERMS)]  # different words
    hashes: tuple[bytes, bytes]  # of the words, in Elias–Fano code
    frequencies: bytes  # on how many pages each word occurs
    listed: bytes  # how many of these pages are listed; empty if all are
    numbers: tuple[bytes, bytes]  # of the listed pages, one word after the other, in Elias–Fano code


def pack_segment(pages: Sequence[Codes], max_bytes: int, max_terms: int) -> PackedSegment:
    """Packs pages into about `max_bytes`, not counting the header; each page is given by the codes of its words."""
    # `distinct` has for each page its distinct hashes, and how often each occurs. `term`, `number` and `rank` have an
    # entry for each pair of a word and a page: index of the word, number of the page, rank of the word on the page.
    distinct = [np.unique((page >> _HASH_SHIFT).astype(np.uint32), return_counts=True) for page in pages]
    bits = _choose_hash_bits([page for page, _ in distinct], max_bytes)
    distinct = [_shortened(*each, bits) for each in distinct]
    distinct, terms, frequencies = _keep_most_frequent(distinct, max_terms)
    idf = np.log1p(len(pages) / frequencies)
    best = [_most_distinctive(terms.searchsorted(page), times, idf) for page, times in distinct]
    sizes = np.array([len(page) for page in best], np.int64)
    term = np.concatenate([np.empty(0, np.int64), *best])
    number = np.repeat(np.arange(len(pages)), sizes)
    rank = np.arange(len(term)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.lexsort((number, term))
    term, number, rank = term[order], number[order], rank[order]
    vocabulary = pack_ascending(terms.astype(np.int64), 1 << bits)
    packed_frequencies = _pack_counts(frequencies)
    max_bytes -= sum(map(len, vocabulary)) + len(packed_frequencies)
    is_listed = rank < _choose_words_per_page(term, rank, len(terms), len(pages), max_bytes)
    listed = np.bincount(term[is_listed], minlength=len(terms))
    packed_listed = b"" if bool((listed == frequencies).all()) else _pack_counts(listed)
    lists = _pack_lists(number[is_listed], listed, len(pages))
    return PackedSegment(
        len(pages), sum(map(len, pages)), bits, len(terms), vocabulary, packed_frequencies, packed_listed, lists
    )


def _keep_most_frequent(
    distinct: list[tuple[Hashes, Numbers]], max_terms: int
) -> tuple[list[tuple[Hashes, Numbers]], Hashes, Numbers]:
    """The most frequent words, at most `max_terms`, with their document frequencies."""
    terms, frequencies = np.unique(
        np.concatenate([np.empty(0, np.uint32), *(page for page, _ in distinct)]), return_counts=True
    )
    if len(terms) <= max_terms:
        return distinct, terms, frequencies
    kept = np.sort(np.argsort(-frequencies, kind="stable")[:max_terms])
    terms, frequencies = terms[kept], frequencies[kept]
    are_kept = [np.isin(page, terms, assume_unique=True) for page, _ in distinct]
    kept_words = [(page[which], times[which]) for (page, times), which in zip(distinct, are_kept, strict=True)]
    return kept_words, terms, frequencies


def _most_distinctive(terms: Numbers, times: Numbers, idf: Weights) -> Numbers:
    """The words of a page by (1 + log tf) * idf, the best first, at most `_MAX_WORDS_PER_PAGE`."""
    weights = (1 + np.log(times)) * idf[terms]
    return terms[np.argsort(-weights, kind="stable")[:_MAX_WORDS_PER_PAGE]]


def _choose_hash_bits(pages: Sequence[Hashes], max_bytes: int) -> int:
    """The number of bits of a hash: few enough for hashes to take at most half of the room, and enough for rare
    collisions."""
    count = len(np.unique(np.concatenate([np.empty(0, np.uint32), *pages])))
    bits = HASH_BITS
    while bits > 8 and count * (max(0, bits - count.bit_length()) + 6) > 8 * max_bytes / 2:
        if 1 << (bits - 1) < 128 * count:
            break
        bits -= 1
    return bits


def _shortened(page: Hashes, times: Numbers, bits: int) -> tuple[Hashes, Numbers]:
    """The hashes of a page in `bits` bits; the counts of words that collide are added."""
    if bits == HASH_BITS:
        return page, times
    hashes, where = np.unique(page >> np.uint32(HASH_BITS - bits), return_inverse=True)
    return hashes, np.bincount(where, weights=times, minlength=len(hashes)).astype(np.int64)


def _choose_words_per_page(term: Numbers, rank: Numbers, term_count: int, page_count: int, max_bytes: int) -> int:
    """The largest number of words of each page whose lists fit into the room."""
    fits, too_many = 0, _MAX_WORDS_PER_PAGE + 1
    while too_many - fits > 1:
        tried = (fits + too_many) // 2
        listed = np.bincount(term[rank < tried], minlength=term_count)
        count_bytes = len(_pack_counts(listed))
        if sum((int(sizes.sum()) + 7) >> 3 for sizes in list_sizes(listed, page_count)) + count_bytes <= max_bytes:
            fits = tried
        else:
            too_many = tried
    return fits


def list_sizes(listed: Numbers, page_count: int) -> tuple[Numbers, Numbers]:
    """The bits that lists of so many page numbers take: their low bits, and their high bits."""
    widths = low_widths(np.maximum(listed, 1), page_count)
    return listed * widths, np.where(listed > 0, listed + (page_count >> widths) + 1, 0)


def _pack_lists(numbers: Numbers, listed: Numbers, page_count: int) -> tuple[bytes, bytes]:
    """The page numbers of all words in Elias–Fano code, one word after the other, those of each ascending."""
    if not len(numbers):
        return b"", b""
    _, high_sizes = list_sizes(listed, page_count)
    widths = np.repeat(low_widths(np.maximum(listed, 1), page_count), listed)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(listed) - listed, listed)
    ones = np.repeat(np.cumsum(high_sizes) - high_sizes, listed) + (numbers >> widths) + within
    return pack_values(numbers, widths), pack_ones(ones, int(high_sizes.sum()))


def _pack_counts(counts: Numbers) -> bytes:
    """One byte per count, with four more bytes at the end for counts of 255 or more; compressed."""
    large = counts[counts >= 255].astype("<u4")
    return zlib.compress(np.minimum(counts, 255).astype(np.uint8).tobytes() + large.tobytes(), 6)


def unpack_counts(data: bytes, count: int) -> Counts:
    """The `count` counts that were packed; BadSummaryError if the bytes are not the code of so many."""
    try:
        plain = zlib.decompressobj().decompress(data, 5 * count + 1)
    except zlib.error as error:
        raise BadSummaryError("its counts do not fit") from error
    counts = np.frombuffer(plain[:count], np.uint8).astype(np.uint32)
    are_large = counts == 255
    if len(plain) != count + 4 * int(are_large.sum()):
        raise BadSummaryError("its counts do not fit")
    counts[are_large] = np.frombuffer(plain[count:], "<u4")
    return counts


# ---------------------------------------------------------------- segments and summaries


class Segment:
    """Some pages: for each word, its document frequency and its page numbers. `pages`, `words` and `terms` are numbers:
    of pages, of words on all of them together, of different words; `size` is in bytes."""

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
        self.size = sum(map(len, (packed.frequencies, packed.listed, *packed.hashes, *packed.numbers))) + _HEADER_BYTES
        low_ends, high_ends = map(np.cumsum, list_sizes(listed.astype(np.int64), packed.pages))
        for ends, data in zip((low_ends, high_ends), packed.numbers, strict=True):
            if len(data) != ((int(ends[-1]) + 7) >> 3 if packed.terms else 0):
                raise BadSummaryError("its page numbers do not fit")
        self._low_ends, self._high_ends = low_ends.astype(np.uint32), high_ends.astype(np.uint32)

    @classmethod
    def from_pages(cls, pages: Sequence[Codes], *, max_bytes: int, max_terms: int = MAX_OWN_TERMS) -> "Segment":
        """The segment of pages in about `max_bytes` bytes with at most `max_terms` different words; each page is given
        by the codes of its words, in any order, each as often as it occurs."""
        return cls(pack_segment(pages, max_bytes - _HEADER_BYTES, max_terms))

    def lists_of(self, codes: Codes) -> list[int] | None:
        """The indices of the words, those listed for the fewest pages first; None if one of them is on no page or, of
        several, listed for none."""
        counts = self._frequencies if len(codes) == 1 else self._listed
        indices = [self._index_of(int(code)) for code in codes]
        known = [index for index in indices if index is not None and counts[index]]
        return sorted(known, key=lambda index: int(counts[index])) if 0 < len(indices) == len(known) else None

    def bits_to_read(self, lists: Sequence[int]) -> int:
        """The size of the lists of pages that are read to find out whether a page is on all of them."""
        if len(lists) == 1:
            return 0
        sizes = (self._list_size(index) for index in lists)
        return sum(max(_MIN_BITS_READ, low_bits + high_bits) for low_bits, high_bits in sizes)

    def have_common_page(self, lists: Sequence[int]) -> bool:
        """Whether a page is on all of the lists."""
        if len(lists) == 1:
            return True
        common = self._numbers(lists[0])
        for index in lists[1:]:
            if not len(common):
                return False
            common = np.intersect1d(common, self._numbers(index), assume_unique=True)
        return bool(len(common))

    def frequency(self, code: int) -> int:
        """The number of pages on which a word occurs."""
        index = self._index_of(code)
        return 0 if index is None else int(self._frequencies[index])

    def _index_of(self, code: int) -> int | None:
        wanted = np.uint32(code >> (64 - self.packed.bits))
        index = int(self._hashes.searchsorted(wanted))
        return index if index < len(self._hashes) and self._hashes[index] == wanted else None

    def _list_size(self, index: int) -> tuple[int, int]:
        """The bits that a list of pages takes: its low bits, and its high bits."""
        low_bits, high_bits = list_sizes(self._listed[index : index + 1].astype(np.int64), self.pages)
        return int(low_bits[0]), int(high_bits[0])

    def _numbers(self, index: int) -> Numbers:
        count, (low_bits, high_bits) = int(self._listed[index]), self._list_size(index)
        low_end, high_end, width = int(self._low_ends[index]), int(self._high_ends[index]), low_bits // count
        lows = read_values(unpack_bits(self.packed.numbers[0], low_end - low_bits, low_end), width, count)
        ones = np.flatnonzero(unpack_bits(self.packed.numbers[1], high_end - high_bits, high_end))
        if len(ones) != count:
            return np.empty(0, np.int64)  # malformed: the word is on no page
        return ((ones - np.arange(count)) << width) | lows


class SegmentedSummary:
    """The summary of a collection: segments, in the order in which their pages were added. `pages` and `words` are
    their numbers in all segments."""

    def __init__(self, segments: Sequence[Segment] = ()):
        self.segments = tuple(segments)

    @property
    def pages(self) -> int:
        return sum(segment.pages for segment in self.segments)

    @property
    def words(self) -> int:
        return sum(segment.words for segment in self.segments)

    def may_have(self, words: Iterable[str]) -> bool:
        """Whether there may be a page with all the words. If more than `MAX_BITS_READ` would have to be read to find
        out, as only in a summary that lies or is very large, there may be one."""
        codes, bits_left = codes_of(words), MAX_BITS_READ
        for segment in self.segments:
            if (lists := segment.lists_of(codes)) is not None:
                bits_left -= segment.bits_to_read(lists)
                if bits_left < 0 or segment.have_common_page(lists):
                    return True
        return False

    def frequency(self, word: str) -> int:
        """The number of pages on which a word occurs."""
        code = int(codes_of([word])[0])
        return sum(segment.frequency(code) for segment in self.segments)

    def packed(self) -> bytes:
        return msgspec.msgpack.encode([segment.packed for segment in self.segments])

    @classmethod
    def unpacked(cls, data: bytes) -> "SegmentedSummary":
        """Decodes an untrusted summary. Raises BadSummaryError if it is malformed or too large."""
        return cls().extended(data)

    def extended(self, data: bytes) -> "SegmentedSummary":
        """The summary with untrusted segments added. Raises BadSummaryError like `unpacked`."""
        if sum(segment.size for segment in self.segments) + len(data) > MAX_FOREIGN_BYTES:
            raise BadSummaryError("too long")
        try:
            packed = _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadSummaryError(str(error)) from error
        if len(self.segments) + len(packed) > _MAX_SEGMENTS:
            raise BadSummaryError("too many parts")
        terms = sum(each.terms for each in packed)
        if terms > 8 * len(data) or sum(segment.terms for segment in self.segments) + terms > MAX_TERMS:
            raise BadSummaryError("too many words")
        return SegmentedSummary((*self.segments, *map(Segment, packed)))


_decoder = msgspec.msgpack.Decoder(Annotated[list[PackedSegment], Meta(max_length=_MAX_SEGMENTS)])


def byte_budget(pages: int, total_pages: int, *, min_bytes: int = MIN_BYTES) -> int:
    """The bytes that the segment of `pages` of the `total_pages` of a collection may take."""
    return max(
        min_bytes * pages // max(total_pages, 1),
        min(pages * BYTES_PER_PAGE, MAX_OWN_BYTES * pages // max(total_pages, 1)),
    )


def term_budget(pages: int, total_pages: int) -> int:
    """The number of different words that this segment may have."""
    return MAX_OWN_TERMS * pages // max(total_pages, 1)
