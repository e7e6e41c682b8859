"""Word vectors: compare texts by meaning, even if they have no words in common.

A table has a vector v_w for each of tens of thousands of English words. The vector of a text is

    e = Σ_w count_w v_w / |Σ_w count_w v_w|,

so that the cosine of two texts on the same subject is high. The length of v_w is the weight of the word: uninformative
words have short vectors. The built-in table, `embedding.npz`, was made by `training/embedding`, which lists its
sources.

>>> table = builtin_embedding()
>>> volcano, lava, piano = (table.embed_terms({word: 1}) for word in ("volcano", "lava", "piano"))
>>> bool(volcano @ lava > volcano @ piano)
True
"""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Codes
from lycosa.vocabulary.text import coded_words, codes_of

Vector = np.ndarray[tuple[int], np.dtype[np.float32]]  # of length 1, or 0 for a text without known words
Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]  # one a row
Counts = np.ndarray[tuple[int], np.dtype[np.uint64]]  # how often each word occurs in a text
Floats = NDArray[np.float32]
Rows = np.ndarray[tuple[int], np.dtype[np.intp]]

TABLE = "embedding.npz"
_ROWS_PER_BATCH = 4_096  # converted to floats, which take four times the memory of the table
_NO_CODE = np.uint64((1 << 64) - 1)


class Embedding:
    """A table of word vectors: v_w = scales[row] * vectors[row], where row = rows[w].

    codes: of all words of the table, including English stems; forms of one word may share a row.
    rows: the row of each word.
    vectors: 8-bit numbers, to keep the table small.
    background: vectors of texts on many subjects, used as negatives if there are no others.
    """

    def __init__(self, codes: Codes, rows: Rows, vectors: NDArray[np.int8], scales: Floats, background: Vectors):
        if not (len(codes) == len(rows) and len(vectors) == len(scales) and rows.max(initial=0) < len(vectors)):
            raise ValueError("words, rows, vectors and scales of the table do not fit each other")
        order = np.argsort(codes)
        # The last code is a sentinel, so that every result of `searchsorted` is a valid index.
        self._codes = np.append(codes[order], _NO_CODE)
        self._rows = np.append(rows[order], 0)
        self._vectors = vectors
        self._scales = scales
        self.background = background
        # The latest text with its vector: that of a page is needed twice, to score the page and to store it.
        self._last: tuple[Codes, Counts, Vector] | None = None

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    def __len__(self) -> int:
        """The number of words."""
        return len(self._codes) - 1

    def embed_terms(self, terms: Mapping[str, int]) -> Vector:
        """The vector of a text, from its words and their counts."""
        return self._vector_of(codes_of(terms), np.fromiter(terms.values(), np.float32, len(terms)))

    def embed_counts(self, codes: Codes, counts: Counts) -> Vector:
        """The vector of a text, from the codes of its terms and their counts."""
        last = self._last  # read once: another thread may replace it
        if last is not None and last[0] is codes and np.array_equal(last[1], counts):
            return last[2]
        vector = self._vector_of(codes, counts.astype(np.float32))
        self._last = codes, counts, vector
        return vector

    def coverage(self, codes: Codes, counts: Counts) -> float:
        """The share of these terms, weighted by count, that are in the table; 0 without terms.

        About 0.9 for English prose, and rarely above 0.3 for other languages.
        """
        return float(counts[self._known(codes)[0]].sum() / (counts.sum() or 1))

    @property
    def row_count(self) -> int:
        """The number of different vectors."""
        return len(self._vectors)

    def rows_of(self, codes: Codes) -> Rows:
        """The row of each word; -1 for unknown words."""
        indices = self._codes.searchsorted(codes)
        return np.where(self._codes[indices] == codes, self._rows[indices], -1)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """The length of the vector of each row."""
        squares = np.einsum("ij,ij->i", self._vectors, self._vectors, dtype=np.float64)
        return np.asarray(np.sqrt(squares) * self._scales)

    def dot(self, direction: Floats) -> NDArray[np.float64]:
        """The dot product of each row with a direction."""
        parts = (
            self._vectors[first : first + _ROWS_PER_BATCH] for first in range(0, len(self._vectors), _ROWS_PER_BATCH)
        )
        products = np.concatenate([part.astype(np.float32) @ direction for part in parts])
        return np.asarray(products * self._scales, np.float64)

    def _vector_of(self, codes: Codes, counts: Floats) -> Vector:
        """The sum of the vectors of known words, weighted by count and scaled to length 1."""
        known, rows = self._known(codes)
        return normalised((counts[known] * self._scales[rows]) @ self._vectors[rows].astype(np.float32))

    def _known(self, codes: Codes) -> tuple[Rows, Rows]:
        """The indices of the codes of known words, and their rows."""
        indices = self._codes.searchsorted(codes)
        known = (self._codes[indices] == codes).nonzero()[0]
        return known, self._rows[indices[known]]


@cache
def builtin_embedding() -> Embedding:
    """The built-in word vectors, read on first use."""
    with files(__package__).joinpath(TABLE).open("rb") as file:
        return read_table(file)


def read_table(file: IO[bytes]) -> Embedding:
    """Reads a table that `write_table` wrote."""
    with np.load(file, allow_pickle=False) as arrays:
        # Codes are computed from the bytes: 100,000 words as strings would take 4 MB, and making them 20 % of the time.
        codes = coded_words(arrays["words"].tobytes().replace(b"\n", b" ")).codes
        background = normalised(arrays["background"].astype(np.float32))
        return Embedding(codes, arrays["rows"].astype(np.intp), arrays["vectors"], arrays["scales"], background)


def write_table(file: IO[bytes], words: Sequence[str], rows: Rows, vectors: Vectors, background: Vectors) -> None:
    """Writes a table, its vectors rounded to 8 bits a number."""
    scales = _scales(vectors)
    arrays = {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "rows": rows.astype(np.uint32),
        "vectors": np.rint(vectors / scales[:, None]).astype(np.int8),
        "scales": scales,
        "background": np.rint(background / _scales(background)[:, None]).astype(np.int8),
    }
    with ZipFile(file, "w") as archive:
        for name, array in arrays.items():  # uncompressed: vectors hardly shrink, and decompression would take 0.1 s
            entry = ZipInfo(f"{name}.npy")  # without a date, so that the same table gives the same bytes
            entry.compress_type = ZIP_STORED if name == "vectors" else ZIP_DEFLATED
            with archive.open(entry, "w") as member:
                np.save(member, array)


def _scales(vectors: Vectors) -> Floats:
    """The scale of each vector, by which its largest number becomes 127."""
    scales: Floats = np.maximum(np.abs(vectors).max(axis=1) / 127, 1e-9).astype(np.float32)
    return scales


def normalised(vectors: Floats) -> Floats:
    """The same vectors, of length 1; those of length 0 stay as they are."""
    lengths = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    scaled: Floats = np.divide(vectors, np.where(lengths > 0.0, lengths, 1.0), dtype=np.float32)
    return scaled
