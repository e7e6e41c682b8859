"""The words of a page: its tokens in order, and its terms with their counts.

Tokens are all words in lower case; terms are the words without stop words, numbers and single letters. The code of a
word or term is a 64-bit hash of it; a folded text is in lower case, with single blanks between words, as UTF-8.

>>> terms_of(["the", "spider", "s", "2", "webs", "and", "webs"])
Counter({'webs': 2, 'spider': 1})
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from lycosa.vocabulary.records import Codes, Indices
from lycosa.vocabulary.text import (
    SEPARATOR,
    CodedWords,
    coded_words,
    folded_texts,
    is_spaced,
    offsets_in_characters,
    offsets_of_pairs,
    words_at,
    words_in,
)

from .terms import StemmingOption, algorithm_for, terms_for


class FoldedWords:
    """The words of a folded text, computed on first use: for most pages, only codes are needed.

    stem, language: see `algorithm_for`.
    """

    def __init__(self, data: bytes, *, stem: StemmingOption = False, language: str = ""):
        self._data = data
        self._algorithm = algorithm_for(language, stem=stem)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FoldedWords) and (self._data, self._algorithm) == (other._data, other._algorithm)

    def __hash__(self) -> int:
        return hash((self._data, self._algorithm))

    def __copy__(self) -> "FoldedWords":
        """The same words, of which nothing is computed yet: a tenth of the memory."""
        return FoldedWords(self._data, stem=self._algorithm)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(words_in(self._data))

    @cached_property
    def terms(self) -> dict[str, int]:
        return terms_for(self._algorithm).counts(self.tokens)

    @cached_property
    def codes(self) -> Codes:
        """The codes of all tokens, in order."""
        return self._coded.codes

    @property
    def length(self) -> int:
        return len(self._coded.codes)

    @cached_property
    def numbers(self) -> int:
        """How many tokens are numbers."""
        return int(np.count_nonzero(self._coded.are_numbers))

    @cached_property
    def term_counts(self) -> tuple[Codes, Codes]:
        """The sorted codes of all terms, and the count of each: like `terms`, without making strings."""
        codes = np.sort(self._terms[1])
        if not len(codes):
            return codes, codes
        lasts = (codes[1:] != codes[:-1]).nonzero()[0]
        edges = np.empty(len(lasts) + 2, np.intp)
        edges[0], edges[1:-1], edges[-1] = -1, lasts, len(codes) - 1
        return codes[edges[1:]], (edges[1:] - edges[:-1]).astype(np.uint64)

    @cached_property
    def term_positions(self) -> tuple[Codes, Indices]:
        """The codes of all terms in order, and the position of each in the text, in characters."""
        indices, codes = self._terms
        if self._spaced is not self._data:
            return codes, offsets_of_pairs(self._data.decode())[indices]
        return codes, offsets_in_characters(self._data, self._coded.starts[indices])

    def terms_of(self, codes: Codes) -> list[str]:
        """Some terms, by their sorted codes; the words of the text are not all made into strings."""
        indices, all_codes = self._terms
        places = codes.searchsorted(all_codes)
        places[places == len(codes)] = 0
        (found,) = (codes[places] == all_codes).nonzero()
        index_of = np.empty(len(codes), np.intp)
        index_of[places[found]] = indices[found]
        words = words_at(self._spaced, index_of)
        return terms_for(self._algorithm).of_words([word.decode() for word in words])

    def codes_of(self, texts: Sequence[str]) -> list[Codes]:
        """For each text, the codes of its terms in order, stemmed like those of the page."""
        data = folded_texts(texts)
        if not is_spaced(data):
            parts = data.split(SEPARATOR)[:-1]
            data = " ".join(word for part in parts for word in (*words_in(part), SEPARATOR.decode())).encode()
        coded = coded_words(data)
        # By their bytes: a page can have words with the code of the separator.
        are_separators = np.frombuffer(data, np.uint8)[coded.starts] == SEPARATOR[0]
        terms = terms_for(self._algorithm).codes(data, coded)
        terms[are_separators] = 0
        indices = (terms != 0).nonzero()[0]
        ends, terms = indices.searchsorted(are_separators.nonzero()[0]), terms[indices]
        return [terms[start:end] for start, end in pairwise((0, *ends.tolist()))]

    @cached_property
    def as_written(self) -> "FoldedWords":
        """The same words, unstemmed."""
        if not self._algorithm:
            return self
        words = FoldedWords(self._data)
        words._coded = self._coded
        return words

    @cached_property
    def _coded(self) -> CodedWords:
        return coded_words(self._spaced)

    @cached_property
    def _terms(self) -> tuple[Indices, Codes]:
        """The indices of the tokens that have terms, and the codes of these terms."""
        codes = terms_for(self._algorithm).codes(self._spaced, self._coded)
        indices = (codes != 0).nonzero()[0]  # faster than a boolean mask
        return indices, codes[indices]

    @cached_property
    def _spaced(self) -> bytes:
        """The folded text with blanks between all tokens."""
        return self._data if is_spaced(self._data) else " ".join(self.tokens).encode()


def terms_of(tokens: Iterable[str], *, stem: StemmingOption = False, language: str = "") -> dict[str, int]:
    """The count of each word, without stop words, numbers and single letters; with `stem`, of each stem."""
    return terms_for(algorithm_for(language, stem=stem)).counts(tokens)
