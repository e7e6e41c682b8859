"""A segment of a summary as bytes: what is in it, and how it is made of pages within a bound."""

import zlib
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from lycosa.vocabulary.records import Codes

from .bits import Numbers, low_widths, pack_ascending, packed_ones, packed_values

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


class Packed(Struct, frozen=True, array_like=True):
    pages: Annotated[int, Meta(ge=0, le=_MOST_PAGES)]
    words: _Size  # on all pages together
    bits: Annotated[int, Meta(ge=8, le=HASH_BITS)]  # of a hash
    terms: Annotated[int, Meta(ge=0, le=MOST_TERMS)]
    hashes: tuple[bytes, bytes]
    frequencies: bytes  # on how many pages each word occurs
    listed: bytes  # how many of them are told; empty where all are
    numbers: tuple[bytes, bytes]  # these, of one word after the other


def packed_of(pages: Sequence[Codes], room: int, most_terms: int) -> Packed:
    """Pages in about so many bytes beside the head, each page given by the codes of its words."""
    distinct = [np.unique((page >> _HALF).astype(np.uint32), return_counts=True) for page in pages]
    bits = _fitting_bits([page for page, _ in distinct], room)
    distinct = [_shortened(*each, bits) for each in distinct]
    distinct, terms, frequencies = _most_frequent(distinct, most_terms)
    rarity = np.log1p(len(pages) / frequencies)
    best = [_most_telling(terms.searchsorted(page), times, rarity) for page, times in distinct]
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
    return Packed(len(pages), sum(map(len, pages)), bits, len(terms), vocabulary, counted, told, lists)


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


def _most_telling(terms: Numbers, times: Numbers, rarity: Weights) -> Numbers:
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
        counts = len(_packed_counts(listed))
        if sum((int(sizes.sum()) + 7) >> 3 for sizes in list_sizes(listed, pages)) + counts <= room:
            fits = tried
        else:
            too_many = tried
    return fits


def list_sizes(listed: Numbers, pages: int) -> tuple[Numbers, Numbers]:
    """How many bits the lists of so many numbers take: their low bits, and the rest."""
    widths = low_widths(np.maximum(listed, 1), pages)
    return listed * widths, np.where(listed > 0, listed + (pages >> widths) + 1, 0)


def _packed_lists(numbers: Numbers, listed: Numbers, pages: int) -> tuple[bytes, bytes]:
    """The page numbers of all words, one after the other, those of each ascending."""
    if not len(numbers):
        return b"", b""
    _, tops = list_sizes(listed, pages)
    widths = np.repeat(low_widths(np.maximum(listed, 1), pages), listed)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(listed) - listed, listed)
    ones = np.repeat(np.cumsum(tops) - tops, listed) + (numbers >> widths) + within
    return packed_values(numbers, widths), packed_ones(ones, int(tops.sum()))


def _packed_counts(counts: Numbers) -> bytes:
    """Each in one byte, those from 255 on in four more behind all of them; compressed."""
    large = counts[counts >= 255].astype("<u4")
    return zlib.compress(np.minimum(counts, 255).astype(np.uint8).tobytes() + large.tobytes(), 6)


def unpacked_counts(data: bytes, terms: int) -> Counts:
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
