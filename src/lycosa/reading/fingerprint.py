"""Exact and near-duplicates: a digest of the words of a page, and a fingerprint that near-duplicates almost share.

The fingerprint is 64 one-bit minhashes (Li and König, b-Bit Minwise Hashing, 2010) over shingles of four words: the
range of hashes is divided into 64 bins, and the minimum of each bin gives one bit. A changed word changes four shingles
of hundreds, and a bit only if one of these was the minimum of its bin: on average less than one bit, a third or a
quarter as many as in a simhash.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xxhash

from lycosa.vocabulary.key_table import KeyTable
from lycosa.vocabulary.records import Codes, Url
from lycosa.vocabulary.scratch_file import ScratchFile
from lycosa.vocabulary.urls import site_of

MAX_HAMMING_DISTANCE = 3  # bits in which the fingerprints of near-duplicates may differ
MIN_WORDS = 20  # pages of fewer words have no fingerprint
_SHINGLE_WORDS = 4  # words; single words would make half of a topic's pages near-duplicates
_BINS = 64
_BLOCK_VALUES = 1 << 16  # number of values of each of the four blocks of 16 bits of a fingerprint
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], dtype=np.uint64)
_HALF_BITS, _BIN_SHIFT, _BIT_SHIFT = np.uint64(32), np.uint64(58), np.uint64(20)
_EMPTY = np.uint64((1 << 64) - 1)


def digest_of(words: Codes) -> int:
    """A 64-bit hash of the words in order."""
    digest: int = xxhash.xxh3_64_intdigest(words.tobytes())
    return digest


def fingerprint_of(words: Codes) -> int:
    """64 bits, of which near-duplicates share all but a few; 0 for short pages."""
    count = len(words) - _SHINGLE_WORDS + 1
    if len(words) < MIN_WORDS:
        return 0
    shingles = words[:count] * _FACTORS[0]
    for position in range(1, _SHINGLE_WORDS):
        shingles += words[position : position + count] * _FACTORS[position]
        shingles ^= shingles >> _HALF_BITS
    shingles *= _FACTORS[0]
    minima = np.full(_BINS, _EMPTY)
    np.minimum.at(minima, (shingles >> _BIN_SHIFT).astype(np.intp), shingles)
    if minima.max() == _EMPTY:  # empty bins, as in short pages, take the minimum of the next non-empty one
        filled = np.flatnonzero(minima != _EMPTY)
        minima = minima[filled[np.searchsorted(filled, np.arange(_BINS)) % len(filled)]]
    bits = np.packbits((minima >> _BIT_SHIFT).astype(np.uint8) & 1)
    return int.from_bytes(bits.tobytes()) or 1


class NearDuplicates:
    """Finds an earlier page whose fingerprint differs in at most `MAX_HAMMING_DISTANCE` bits.

    Two such fingerprints agree in at least one of four blocks of 16 bits, so only pages that share a block are
    compared. For each value of a block, only the latest `max_compared` pages are compared, which bounds the cost of
    `find`. A page takes some 60 bytes of memory; its URL is in a file.

    folder: where to put that file.
    """

    def __init__(self, *, max_compared: int = 200, folder: Path | None = None):
        self._max_compared = max_compared
        self._fingerprints = array("Q")  # of pages, numbered from 1
        self._number_of = KeyTable()  # of a page, by fingerprint
        # The number of the latest page for each value of each block, or 0.
        self._latest = array("I", bytes(4 * _BLOCK_VALUES * 4))
        self._previous = array("I")  # four per page: number of the page before it with the same value of a block, or 0
        self._texts = KeyTable()  # digests of all texts with a fingerprint
        self._copies = KeyTable()  # number of copies, by digest and site
        self._followed_copies = KeyTable()  # number of copies whose links were followed, by digest
        self._urls = ScratchFile(folder)
        self._url_ends = array("Q", [0])  # in that file, in bytes

    def find(self, fingerprint: int) -> Url | None:
        """An earlier near-duplicate, or None."""
        if fingerprint == 0 or not self._fingerprints:
            return None
        fingerprints, previous = self._fingerprints, self._previous
        for position, block in enumerate(_blocks_of(fingerprint)):
            number, oldest, remaining = self._latest[block], 0, self._max_compared
            while number and remaining:
                if (fingerprint ^ fingerprints[number - 1]).bit_count() <= MAX_HAMMING_DISTANCE:
                    oldest = number
                number = previous[4 * number - 4 + position]
                remaining -= 1
            if oldest:
                start, end = self._url_ends[oldest - 1], self._url_ends[oldest]
                return Url(self._urls.read(start, end - start).decode("utf-8", "surrogatepass"))
        return None

    def has_text(self, digest: int) -> bool:
        """Whether an earlier page has a text with this digest."""
        return _signed(digest) in self._texts

    def copies(self, digest: int, url: Url) -> int:
        """The number of copies of a text so far on the site of a URL."""
        return self._copies[_copy_key(digest, url)]

    def followed_copies(self, digest: int) -> int:
        """The number of copies of a text so far, on all sites, whose links were followed."""
        return self._followed_copies[_signed(digest)]

    def add_duplicate(self, digest: int, url: Url, *, is_followed: bool) -> None:
        """Counts an exact or near-duplicate of an earlier text, found at a URL. is_followed: whether its links were."""
        if self.has_text(digest):
            self._copies.increment(_copy_key(digest, url))
            if is_followed:
                self._followed_copies.increment(_signed(digest))

    def add(self, fingerprint: int, url: Url, digest: int = 0) -> None:
        """Adds a page; of pages with the same fingerprint, only the first is remembered."""
        if fingerprint and not self.has_text(digest):
            self._texts[_signed(digest)] = 1
        key = _signed(fingerprint)
        if fingerprint == 0 or key in self._number_of:
            return
        self._fingerprints.append(fingerprint)
        self._number_of[key] = number = len(self._fingerprints)
        self._urls.append(url.encode("utf-8", "surrogatepass"))
        self._url_ends.append(len(self._urls))
        for block in _blocks_of(fingerprint):
            self._previous.append(self._latest[block])
            self._latest[block] = number


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _copy_key(digest: int, url: Url) -> int:
    return _signed(xxhash.xxh3_64_intdigest(f"{digest} {site_of(url)}".encode("utf-8", "surrogatepass")))


def _blocks_of(fingerprint: int) -> Iterator[int]:
    for position in range(4):
        yield position << 16 | fingerprint >> 16 * position & 0xFFFF
