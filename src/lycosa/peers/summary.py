"""What a peer tells its buddies of its collection: which words occur on which of its pages, small enough to hold.

The pages of a summary are numbered, not named. Words are hashed; the hashes, and for each of them the numbers of
pages, are sorted numbers in the code of Elias and Fano (see `bits`). Where the words of all pages do not fit, each page
keeps those that tell it best from the others (by tf·idf), as many as fit: a page on bees that once says Tuesday is then
not found for Tuesday. What is told is told exactly, but for hashes that collide, one in some ten thousand.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from lycosa.vocabulary.codes import codes_of
from lycosa.vocabulary.records import Codes

from .bits import Numbers, ascending, bits_of, low_widths, values_in
from .packed_segment import MOST_TERMS, BadSummaryError, Packed, list_sizes, packed_of, unpacked_counts

BYTES_PER_PAGE = 200
LEAST_BYTES = 1 << 16  # that a small collection may take
MADE_BYTES, MADE_TERMS = 7 << 19, 7 << 17  # the most of a summary when it is made
TAKEN_BYTES = 1 << 22  # the most that is taken of others, as are MOST_TERMS, so that there is room to grow
PAGES_IN_SEGMENT = 10_000  # so that making one takes a bounded amount of memory
_MOST_SEGMENTS = 256
_HEAD = 96  # bytes of a segment beside its words


class Segment:
    """Some pages: for each word, on how many of them it occurs, and on which."""

    def __init__(self, packed: Packed):
        self.packed = packed
        self.pages = packed.pages
        self.words = packed.words
        hashes = ascending(packed.hashes, packed.terms, 1 << packed.bits)
        if hashes is None:
            raise BadSummaryError("its hashes do not fit")
        self._hashes = hashes.astype(np.uint32)
        self._frequencies = unpacked_counts(packed.frequencies, packed.terms)
        listed = unpacked_counts(packed.listed, packed.terms) if packed.listed else self._frequencies
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
        return cls(packed_of(pages, room - _HEAD, terms))

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


_decoder = msgspec.msgpack.Decoder(Annotated[list[Packed], Meta(max_length=_MOST_SEGMENTS)])


def room_for(pages: int, of: int, *, least: int = LEAST_BYTES) -> int:
    """How many bytes the summary of some pages may take, of so many in all."""
    return max(least * pages // max(of, 1), min(pages * BYTES_PER_PAGE, MADE_BYTES * pages // max(of, 1)))


def terms_for(pages: int, of: int) -> int:
    """How many different words it may tell."""
    return MADE_TERMS * pages // max(of, 1)


def _common(some: Numbers, others: Numbers) -> Numbers:
    return np.intersect1d(some, others, assume_unique=True)
