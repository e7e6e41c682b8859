"""The term counts of pages as arrays, computed once, so that training and re-scoring are fast."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Codes, Page
from lycosa.vocabulary.text import codes_of

from .embedding import Vector, builtin_embedding

Terms = Mapping[str, int]
MAX_PAGE_TERMS = 5_000  # of a page, for training: hundreds of pages are in memory; a book has some 10,000 terms
_NO_VECTOR: Vector = np.empty(0, np.float32)


class PageCounts(NamedTuple):
    """The term counts of a page, and its word vector: the input of a linear model."""

    codes: Codes  # of its terms
    counts: NDArray[np.unsignedinteger]  # of each term
    vector: Vector  # of its words, by the built-in table of word vectors; empty if not computed

    @classmethod
    def of(cls, page: Page) -> "PageCounts":
        """The counts of a page, without its vector."""
        return cls(*page.words.term_counts, _NO_VECTOR)

    def with_vector(self) -> "PageCounts":
        """The same with the vector, which takes longer to compute than everything else."""
        if len(self.vector):
            return self
        return self._replace(vector=builtin_embedding().embed_counts(self.codes, self.counts.astype(np.uint64)))


class CountedTerms(Mapping[str, int]):
    """The first `MAX_PAGE_TERMS` terms of a training page, as a mapping and, in the same order, as arrays."""

    def __init__(self, terms: Terms):
        self._terms = dict(islice(terms.items(), MAX_PAGE_TERMS))

    def __getitem__(self, word: str) -> int:
        return self._terms[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    @cached_property
    def words(self) -> list[str]:
        return list(self._terms)

    @cached_property
    def codes(self) -> Codes:
        return codes_of(self._terms)

    @cached_property
    def counts(self) -> Codes:
        return np.fromiter(self._terms.values(), np.uint64, len(self._terms))

    @cached_property
    def vector(self) -> NDArray[np.float64]:
        return builtin_embedding().embed_counts(self.codes, self.counts).astype(np.float64)

    @cached_property
    def coverage(self) -> float:
        """The share of these terms that are in the table of word vectors."""
        return builtin_embedding().coverage(self.codes, self.counts)


def as_counted_terms(terms: Terms) -> CountedTerms:
    """Converts terms to `CountedTerms`; a `CountedTerms` is returned unchanged, with its cached arrays."""
    return terms if isinstance(terms, CountedTerms) else CountedTerms(terms)
