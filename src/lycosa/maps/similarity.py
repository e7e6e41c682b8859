"""The similarity of texts, estimated from a sketch of 128 bytes per page."""

from collections.abc import Mapping

import numpy as np

from lycosa.vocabulary.records import Page

from .subgraph import Floats, Integers

SKETCH_BYTES = 128
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def text_sketch(page: Page) -> bytes:
    """The words of a page, hashed with signs into 128 sums of 1 + log(count), scaled to one byte each.

    The cosine of two sketches estimates that of the words (feature hashing: Weinberger et al., ICML 2009).
    """
    codes, counts = page.words.term_counts
    mixed = codes * _HASH_MULTIPLIER
    weights = 1.0 + np.log(np.maximum(counts.astype(np.float64), 1.0))
    signs = np.where(mixed >> np.uint64(63), -1.0, 1.0)
    buckets = (mixed >> np.uint64(40)).astype(np.int64) % SKETCH_BYTES
    sums = np.bincount(buckets, weights * signs, minlength=SKETCH_BYTES)
    largest = np.abs(sums).max()
    return (np.round(sums * (127.0 / largest)) if largest else sums).astype(np.int8).tobytes()


class SketchSimilarity:
    """max(0, cosine) of the sketches of pages; 0 for pages without a sketch."""

    def __init__(self, sketches: Mapping[int, bytes | None]):
        self._numbers: Integers = np.array(sorted(sketches), dtype=np.int64)
        rows = np.zeros((len(sketches), SKETCH_BYTES), dtype=np.float32)
        for index, number in enumerate(self._numbers.tolist()):
            sketch = sketches[number]
            if sketch is not None and len(sketch) == SKETCH_BYTES:
                rows[index] = np.frombuffer(sketch, dtype=np.int8)
        # Sketches are integers: a norm is 0 or at least 1.
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        self._rows = rows

    def __call__(self, pages: Integers, others: Integers) -> Floats:
        """The similarity of the i-th page and the i-th of the others, all given by number."""
        left, right = (self._rows[np.searchsorted(self._numbers, numbers)] for numbers in (pages, others))
        cosines: Floats = np.einsum("ij,ij->i", left, right).astype(np.float64)
        return np.maximum(cosines, 0.0)
