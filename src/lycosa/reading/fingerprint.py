"""Exact and near duplicates: a digest of the words of a page, and a fingerprint that nearly equal pages share.

The fingerprint is 64 one-bit minhashes (Li and König, b-Bit Minwise Hashing, 2010) over shingles of four words: the
range of hashes is divided into 64 parts, and the minimum of each part gives one bit. A changed word changes four
shingles of hundreds, and a bit only where one of these was the minimum of its part: on average less than one bit, where
the bits of a simhash would change three or four times as often.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import xxhash

from lycosa.vocabulary.records import Codes, Url

NEAR = 3  # bits in which the fingerprints of near-duplicates may differ
FEWEST_WORDS = 20  # pages of fewer words have no fingerprint
_SHINGLE = 4  # words; single words would flag half of a topic's pages as copies of each other
_PARTS = 64
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], dtype=np.uint64)
_HALF, _TO_PART, _BIT = np.uint64(32), np.uint64(58), np.uint64(20)
_NONE = np.uint64((1 << 64) - 1)


def digest_of(words: Codes) -> int:
    """A 64-bit hash of the words in order."""
    digest: int = xxhash.xxh3_64_intdigest(words.tobytes())
    return digest


def fingerprint_of(words: Codes) -> int:
    """64 bits, of which near-duplicates share all but a few; 0 for pages that are too short."""
    count = len(words) - _SHINGLE + 1
    if len(words) < FEWEST_WORDS:
        return 0
    shingles = words[:count] * _FACTORS[0]
    for place in range(1, _SHINGLE):
        shingles += words[place : place + count] * _FACTORS[place]
        shingles ^= shingles >> _HALF
    shingles *= _FACTORS[0]
    least = np.full(_PARTS, _NONE)
    np.minimum.at(least, (shingles >> _TO_PART).astype(np.intp), shingles)
    if least.max() == _NONE:  # an empty part, as short pages have, takes the minimum of the next that is not
        filled = np.flatnonzero(least != _NONE)
        least = least[filled[np.searchsorted(filled, np.arange(_PARTS)) % len(filled)]]
    bits = np.packbits((least >> _BIT).astype(np.uint8) & 1)
    return int.from_bytes(bits.tobytes()) or 1


class NearDuplicates:
    """Finds a page seen earlier whose fingerprint differs in at most `NEAR` bits.

    Two such fingerprints agree in at least one of four blocks of 16 bits, so only pages that share a block are
    compared. Each value of a block keeps its latest `block_size` pages, so that the cost of `find` is bounded.
    """

    def __init__(self, *, block_size: int = 200):
        self._block_size = block_size
        self._pages: dict[int, Url] = {}  # by fingerprint
        self._blocks: dict[int, int | list[int]] = {}  # fingerprints by block; most have only one
        self._digests: set[int] = set()
        self._copies: Counter[int] = Counter()  # by digest

    def find(self, fingerprint: int) -> Url | None:
        """A near-duplicate seen earlier, or None."""
        if fingerprint == 0:
            return None
        for block in _blocks_of(fingerprint):
            found = self._blocks.get(block, 0)
            for other in (found,) if isinstance(found, int) else found:
                if other and (fingerprint ^ other).bit_count() <= NEAR:
                    return self._pages[other]
        return None

    def has_text(self, digest: int) -> bool:
        """Whether a page seen earlier has a text of this digest."""
        return digest in self._digests

    def copies(self, digest: int) -> int:
        """How many copies were seen of a text."""
        return self._copies[digest]

    def add_copy(self, digest: int) -> None:
        """Counts a page whose text, or nearly the same, was seen earlier."""
        if digest in self._digests:
            self._copies[digest] += 1

    def add(self, fingerprint: int, url: Url, digest: int = 0) -> None:
        """Remembers a page; of pages with the same fingerprint, the first."""
        if fingerprint:
            self._digests.add(digest)
        if fingerprint == 0 or fingerprint in self._pages:
            return
        self._pages[fingerprint] = url
        for block in _blocks_of(fingerprint):
            found = self._blocks.get(block)
            if found is None:
                self._blocks[block] = fingerprint
            elif isinstance(found, int):
                self._blocks[block] = [found, fingerprint]
            else:
                found.append(fingerprint)
                del found[: -self._block_size]


def _blocks_of(fingerprint: int) -> Iterator[int]:
    for place in range(4):
        yield place << 16 | fingerprint >> 16 * place & 0xFFFF
