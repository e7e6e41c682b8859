"""The term counts of pages as arrays, computed once, so that training and re-scoring are fast."""

from collections.abc import ItemsView, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Codes, Page, Words
from lycosa.vocabulary.text import codes_of

from .embedding import Vector, builtin_embedding

Terms = Mapping[str, int]
MAX_PAGE_TERMS = 5_000  # of a page, by their codes, for training: hundreds are in memory; a book has some 10,000
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
    """The terms of a training page, as a mapping, and as arrays in the order of their codes: the model that is trained
    with them must not depend on where they come from, not even by rounding. Of a page with more than `MAX_PAGE_TERMS`,
    those count whose codes are the lowest."""

    def __init__(self, terms: Terms):
        self._given = dict(terms)
        if len(terms) > MAX_PAGE_TERMS:
            words = list(terms)
            chosen = codes_of(words).argsort(kind="stable")[:MAX_PAGE_TERMS]
            self._given = {words[index]: terms[words[index]] for index in chosen.tolist()}

    @property
    def plain(self) -> dict[str, int]:
        """The same as a dictionary."""
        return self._given

    def __getitem__(self, word: str) -> int:
        return self.plain[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)

    @cached_property
    def _sorted(self) -> tuple[list[str], Codes, Codes]:
        words, codes = list(self._given), codes_of(self._given)
        counts = np.fromiter(self._given.values(), np.uint64, len(words))
        order = codes.argsort(kind="stable")
        return [words[index] for index in order.tolist()], codes[order], counts[order]

    @cached_property
    def words(self) -> list[str]:
        return self._sorted[0]

    @property
    def codes(self) -> Codes:
        return self._sorted[1]

    @property
    def counts(self) -> NDArray[np.unsignedinteger]:
        return self._sorted[2]

    @cached_property
    def vector(self) -> NDArray[np.float64]:
        return builtin_embedding().embed_counts(self.codes, self.counts).astype(np.float64)

    @property
    def vector_as_written(self) -> NDArray[np.float64]:
        """The vector of the words as they are written, where these are known; else that of the terms."""
        return self.vector

    @cached_property
    def coverage(self) -> float:
        """The share of these terms that are in the table of word vectors."""
        return builtin_embedding().coverage(self.codes, self.counts)


class TextTerms(CountedTerms):
    """The terms of a text that the user wrote, and its words as they are written.

    A stem can stand for unlike words (*divers* for *diverse* and *diversity*). On a page, other words make up for that;
    in a topic of a few words, they do not.
    """

    def __init__(self, page: Page):
        super().__init__(page.terms)
        self._as_written = CountedTerms(page.words.as_written.terms)

    @cached_property
    def vector_as_written(self) -> NDArray[np.float64]:
        vector = self._as_written.vector
        return vector if vector.any() else self.vector


class CommonTerms:
    """The terms of many pages by their codes, so that each is made into a string once, and each page is two arrays: a
    tenth of the memory and of the time of a dictionary for each."""

    def __init__(self) -> None:
        self._terms: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def terms(self, words: Words, page: PageCounts) -> CountedTerms:
        """The terms of a page, given their counts."""
        if len(page.codes) > MAX_PAGE_TERMS:
            page = PageCounts(page.codes[:MAX_PAGE_TERMS], page.counts[:MAX_PAGE_TERMS], _NO_VECTOR)
        codes = page.codes
        new = [code for code in codes.tolist() if code not in self._terms]
        if new:
            self._terms.update(zip(new, words.terms_of(np.array(new, np.uint64)), strict=True))
        return _CodedTerms(page, self._terms)

    def keep(self, pages: Iterable[CountedTerms]) -> None:
        """Drops all terms but those of these pages."""
        codes = {code for page in pages for code in page.codes.tolist()}
        for code in self._terms.keys() - codes:
            del self._terms[code]


class _CodedTerms(CountedTerms):
    """Terms as arrays, with their strings in a common table."""

    def __init__(self, page: PageCounts, strings: Mapping[int, str]):
        self._page, self._strings = page, strings

    @property
    def codes(self) -> Codes:
        return self._page.codes

    @property
    def counts(self) -> NDArray[np.unsignedinteger]:
        return self._page.counts

    @cached_property
    def vector(self) -> NDArray[np.float64]:
        return self._page.with_vector().vector.astype(np.float64)

    @property
    def plain(self) -> dict[str, int]:
        return dict(zip(self.words, self.counts.tolist(), strict=True))

    @cached_property
    def words(self) -> list[str]:
        return [self._strings[code] for code in self.codes.tolist()]

    def __getitem__(self, word: str) -> int:
        (code,) = codes_of([word])
        index = int(self.codes.searchsorted(code))
        if index == len(self.codes) or self.codes[index] != code:
            raise KeyError(word)
        return int(self.counts[index])

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.codes)

    def items(self) -> ItemsView[str, int]:
        return self.plain.items()


def as_counted_terms(terms: Terms) -> CountedTerms:
    """Converts terms to `CountedTerms`; a `CountedTerms` is returned unchanged, with its cached arrays."""
    return terms if isinstance(terms, CountedTerms) else CountedTerms(terms)
