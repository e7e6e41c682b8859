"""The words of a page: its tokens in order, and its terms with their counts.

Tokens are all words, folded to lower case; terms are the words less stop words, numbers and single letters.

>>> terms_of(["the", "spider", "s", "2", "webs", "and", "webs"])
Counter({'webs': 2, 'spider': 1})
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
import Stemmer

from lycosa.vocabulary.records import Codes
from lycosa.vocabulary.text import MAX_WORD_LENGTH, Marks, codes_in, codes_of, has_unspaced, words_in

from .stop_words import STOP_WORDS

_SINGLE = frozenset(filter(str.isalnum, map(chr, range(0x250)))) | {"_"}  # Latin letters and digits


class FoldedWords:
    """The words of a folded text, computed when first asked for: most pages are judged by their codes alone."""

    def __init__(self, data: bytes, *, stem: bool = False):
        self._data = data
        self._stem = stem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FoldedWords) and (self._data, self._stem) == (other._data, other._stem)

    def __hash__(self) -> int:
        return hash((self._data, self._stem))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(words_in(self._data))

    @cached_property
    def terms(self) -> dict[str, int]:
        return terms_of(self.tokens, stem=self._stem)

    @cached_property
    def codes(self) -> Codes:
        """The codes of all tokens, in order."""
        return self._codes[0]

    @property
    def length(self) -> int:
        return len(self._codes[0])

    @cached_property
    def numbers(self) -> int:
        """How many tokens are numbers."""
        return int(np.count_nonzero(self._codes[1]))

    @cached_property
    def counted(self) -> tuple[Codes, Codes]:
        """The codes of all terms, sorted, and the count of each; as `terms`, without making strings."""
        if self._stem:
            codes = codes_of(self.terms)
            order = np.argsort(codes)
            return codes[order], np.fromiter(self.terms.values(), np.uint64, len(codes))[order]
        codes, are_numbers, are_too_long = self._codes
        codes = codes[~(are_numbers | are_too_long)]
        if not len(codes):
            return codes, codes
        codes.sort()
        lasts = (codes[1:] != codes[:-1]).nonzero()[0]
        edges = np.empty(len(lasts) + 2, np.intp)
        edges[0], edges[1:-1], edges[-1] = -1, lasts, len(codes) - 1
        counts = edges[1:] - edges[:-1]
        codes = codes[edges[1:]]
        are_counted = _UNCOUNTED[_UNCOUNTED.searchsorted(codes)] != codes
        return codes[are_counted], counts[are_counted].astype(np.uint64)

    @cached_property
    def _codes(self) -> tuple[Codes, Marks, Marks]:
        if self._data.isascii() or not has_unspaced(self._data.decode()):
            return codes_in(self._data)
        return codes_in(" ".join(self.tokens).encode())


def terms_of(tokens: Iterable[str], *, stem: bool = False) -> dict[str, int]:
    """The count of each word, without stop words, numbers and single letters; with `stem`, of each Porter stem."""
    counts = Counter(tokens)
    if not stem:
        unwanted = STOP_WORDS.intersection(counts).union(_SINGLE.intersection(counts), filter(_is_number, counts))
        for word in unwanted.union(filter(_is_too_long, counts)):
            del counts[word]
        return counts
    terms: dict[str, int] = {}
    for word, count in counts.items():
        if term := _STEMS[word]:
            terms[term] = terms.get(term, 0) + count
    return terms


def _is_number(word: str) -> bool:
    return word.isdigit() and word.isascii()


def _is_too_long(word: str) -> bool:
    return len(word) > MAX_WORD_LENGTH // 4 and len(word.encode()) > MAX_WORD_LENGTH


class _Stems(dict[str, str]):
    """A cache of the stems of words; empty for words that are no terms."""

    def __init__(self, stem: Callable[[str], str]):
        super().__init__(_NO_TERMS)
        self._stem = stem

    def __missing__(self, word: str) -> str:
        if _is_too_long(word) or _is_number(word):
            return ""
        if len(self) >= 50_000:
            self.clear()
            self.update(_NO_TERMS)
        term = self[word] = self._stem(word)
        return term


_NO_TERMS = dict.fromkeys(STOP_WORDS | _SINGLE, "")
_UNCOUNTED = np.append(  # codes; the sentinel at the end makes every place that `searchsorted` finds a valid one
    np.sort(codes_of(STOP_WORDS | _SINGLE)), np.uint64((1 << 64) - 1)
)
_STEMS = _Stems(Stemmer.Stemmer("porter", 0).stemWord)
