"""Terms of words: the word itself or its stem; stop words, numbers and single Latin letters have none.

The code of a word or term is a 64-bit hash of it; a folded text is in lower case, with single blanks between words, as
UTF-8.

>>> words = ["the", "spider", "s", "2", "webs", "and", "webs"]
>>> Terms("").counts(words)
Counter({'webs': 2, 'spider': 1})
>>> Terms(algorithm_for("en", stem=True)).counts(words)
{'spider': 1, 'web': 2}
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import Lock

import numpy as np
import Stemmer

from lycosa.vocabulary.records import Codes, Indices
from lycosa.vocabulary.text import (
    MAX_WORD_LENGTH,
    SEPARATOR,
    SEPARATOR_CODE,
    CodedWords,
    coded_words,
    codes_of,
    secret_codes,
    words_at,
)

from .stop_words import STOP_WORDS

StemmingOption = bool | str  # whether to stem by the page's language, or the name of an algorithm for all pages

_ALGORITHMS = {  # of Snowball, by ISO 639-1 code
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

_SINGLE_CHARACTERS = frozenset(filter(str.isalnum, map(chr, range(0x250)))) | {"_"}  # Latin letters and digits
_EXCLUDED = STOP_WORDS | _SINGLE_CHARACTERS
_EXCLUDED_CODES = np.append(  # with a sentinel, so that every result of `searchsorted` is a valid index
    np.sort(codes_of(_EXCLUDED)), np.uint64((1 << 64) - 1)
)
_NO_STEM, _NO_STEM_CODE = SEPARATOR, SEPARATOR_CODE  # stands for the stem of a word without a term: never a word
_NO_TERM = np.uint64(0)
_MAX_STEMS = 50_000  # in the cache of an algorithm: some 10 MB
_SLOT_BITS = 16  # of the tables of `Terms`: the logarithm of their size; larger ones do not fit into the L2 cache
_SLOT_SHIFT = np.uint64(64 - _SLOT_BITS)
_MOVED_SLOT_MASK = np.uint64((1 << _SLOT_BITS) - 1)


def algorithm_for(language: str, *, stem: StemmingOption) -> str:
    """The stemming algorithm for a page in a language; empty for no stemming.

    If `stem` is True, an unknown language is stemmed as English, and one without a Snowball algorithm is not stemmed.

    >>> algorithm_for("de", stem=True), algorithm_for("", stem=True), algorithm_for("ja", stem=True)
    ('german', 'english', '')
    >>> algorithm_for("de", stem=False), algorithm_for("de", stem="porter")
    ('', 'porter')
    """
    if isinstance(stem, str):
        return stem
    return _ALGORITHMS.get(language or "en", "") if stem else ""


class Terms:
    """The terms of words, as strings and as codes.

    A cache of two tables maps the secret codes of words to codes of terms, 0 for none. The highest bits of a secret
    code are its slot in the first table; the word that it displaces moves to the second, where the lowest bits are the
    slot. Only words that are in neither are decoded and stemmed. With a single table, a few words of every page would
    displace each other over and over.

    algorithm: the Snowball algorithm; empty for no stemming.
    """

    def __init__(self, algorithm: str):
        self._stemmer = Stemmer.Stemmer(algorithm, 0) if algorithm else None
        self._stems = _Stems(self._stemmer.stemWord) if self._stemmer else None
        self._word_codes: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)  # secret ones
        self._term_codes: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._moved_word_codes: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._moved_term_codes: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._lock = Lock()  # so that no other thread sees the code of one word with the term of another

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """The terms of some words, and the number of words for each."""
        counts = Counter(words)
        if self._stems is None:
            for word in [word for word in counts if word in _EXCLUDED or _is_number(word) or _is_too_long(word)]:
                del counts[word]
            return counts
        terms: dict[str, int] = {}
        for word, count in counts.items():
            if term := self._stems[word]:
                terms[term] = terms.get(term, 0) + count
        return terms

    def of_words(self, words: Iterable[str]) -> list[str]:
        """The term of each word; all of them must have one."""
        return list(words) if self._stems is None else [self._stems[word] for word in words]

    def codes(self, data: bytes, coded: CodedWords) -> Codes:
        """The code of the term of each word of a folded text, 0 for none, given the result of `coded_words`."""
        word_codes = secret_codes(data, coded)
        slots = (word_codes >> _SLOT_SHIFT).view(np.int64)
        # Numbers and words that are too long are never in the tables, of which they would take all slots.
        are_without_term = coded.are_numbers | (coded.lengths > MAX_WORD_LENGTH)
        with self._lock:
            term_codes = self._term_codes.take(slots)
            are_missing = self._word_codes.take(slots) != word_codes
            term_codes[are_without_term] = _NO_TERM
            are_missing[are_without_term] = False
            missing = are_missing.nonzero()[0]
            if len(missing):
                missing_codes = word_codes[missing]
                moved_slots = (missing_codes & _MOVED_SLOT_MASK).view(np.int64)
                term_codes[missing] = self._moved_term_codes.take(moved_slots)
                are_new = self._moved_word_codes.take(moved_slots) != missing_codes
                if are_new.any():
                    new = missing[are_new]
                    term_codes[new] = new_terms = self._terms_at(data, new, coded.codes[new])
                    self._store(slots[new], missing_codes[are_new], new_terms)
        return term_codes

    def _store(self, slots: Indices, word_codes: Codes, term_codes: Codes) -> None:
        """Stores terms in the first table; what was in their slots moves to the second."""
        moved = self._word_codes[slots]
        moved_slots = (moved & _MOVED_SLOT_MASK).view(np.int64)
        self._moved_word_codes[moved_slots], self._moved_term_codes[moved_slots] = moved, self._term_codes[slots]
        self._word_codes[slots], self._term_codes[slots] = word_codes, term_codes

    def _terms_at(self, data: bytes, indices: Indices, codes: Codes) -> Codes:
        """The codes of the terms of some words of a text, given their indices and codes."""
        are_excluded = _EXCLUDED_CODES[_EXCLUDED_CODES.searchsorted(codes)] == codes
        if self._stemmer is None:
            return np.where(are_excluded, _NO_TERM, codes)
        stems = self._stemmer.stemWords(words_at(data, indices))
        terms = coded_words(b" ".join(stem or _NO_STEM for stem in stems)).codes
        terms[are_excluded | (terms == _NO_STEM_CODE)] = _NO_TERM
        return terms


class _Stems(dict[str, str]):
    """A cache of the stems of words; empty for words that have no term."""

    def __init__(self, stem: Callable[[str], str]):
        super().__init__()
        self._stem = stem

    def __missing__(self, word: str) -> str:
        if _is_too_long(word) or _is_number(word):
            return ""  # not kept, as there are too many
        if len(self) >= _MAX_STEMS:
            self.clear()
        stem = self[word] = "" if word in _EXCLUDED else self._stem(word)
        return stem


def _is_number(word: str) -> bool:
    return word.isdigit() and word.isascii()


def _is_too_long(word: str) -> bool:
    # A character takes at most four bytes: most words need not be encoded.
    return len(word) > MAX_WORD_LENGTH // 4 and len(word.encode()) > MAX_WORD_LENGTH


@lru_cache(maxsize=8)  # 2 MB each
def terms_for(algorithm: str) -> Terms:
    """The `Terms` of an algorithm, with a cache shared by all pages."""
    return Terms(algorithm)
