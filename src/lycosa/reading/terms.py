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

Stem = bool | str  # whether to stem by the page's language, or the name of an algorithm for all pages

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
_EXCLUDED_BYTES = frozenset(map(str.encode, _EXCLUDED))
_EXCLUDED_CODES = np.append(  # with a sentinel, so that every result of `searchsorted` is a valid index
    np.sort(codes_of(_EXCLUDED)), np.uint64((1 << 64) - 1)
)
_EXCLUDED_STEMS = dict.fromkeys(_EXCLUDED, "")
_NO_STEM, _NO_STEM_CODE = SEPARATOR, SEPARATOR_CODE  # stands for the stem of a word without a term: never a word
_NO_TERM = np.uint64(0)
_SLOT_BITS = 16  # of the tables of `Terms`: the logarithm of their size; larger ones do not fit into the L2 cache
_SLOT_SHIFT = np.uint64(64 - _SLOT_BITS)
_MOVED_SLOT_MASK = np.uint64((1 << _SLOT_BITS) - 1)


def algorithm_for(language: str, *, stem: Stem) -> str:
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

    A cache of two tables maps words, by their secret codes, to codes of terms, 0 for none. The highest bits of a secret
    code are its slot in the first table; the word that it displaces moves to the second, where the lowest bits are the
    slot. Only words that are in neither are decoded and stemmed. With a single table, a few words of every page would
    displace each other over and over.

    algorithm: the Snowball algorithm; empty for no stemming.
    """

    def __init__(self, algorithm: str):
        self._stemmer = Stemmer.Stemmer(algorithm, 0) if algorithm else None
        self._stems = _Stems(self._stemmer.stemWord) if self._stemmer else None
        self._words: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._terms: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._moved_words: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._moved_terms: Codes = np.zeros(1 << _SLOT_BITS, np.uint64)
        self._lock = Lock()  # so that no other thread sees the code of one word with the term of another

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """The terms of some words, and the number of words for each."""
        counts = Counter(words)
        if self._stems is None:
            excluded = _EXCLUDED.intersection(counts)
            for word in excluded.union(filter(_is_number, counts), filter(_is_too_long, counts)):
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
        words = secret_codes(data, coded)
        slots = (words >> _SLOT_SHIFT).view(np.int64)
        are_excluded = coded.are_numbers | (coded.lengths > MAX_WORD_LENGTH)
        with self._lock:
            terms = self._terms.take(slots)
            are_missing = self._words.take(slots) != words
            terms[are_excluded] = _NO_TERM
            are_missing[are_excluded] = False
            missing = are_missing.nonzero()[0]
            if len(missing):
                missing_words = words[missing]
                moved_slots = (missing_words & _MOVED_SLOT_MASK).view(np.int64)
                terms[missing] = self._moved_terms.take(moved_slots)
                are_new = (self._moved_words.take(moved_slots) != missing_words).nonzero()[0]
                if len(are_new):
                    missing, missing_words = missing[are_new], missing_words[are_new]
                    terms[missing] = new_terms = self._terms_at(data, missing, coded.codes[missing])
                    self._store(slots[missing], missing_words, new_terms)
        return terms

    def _store(self, slots: Indices, words: Codes, terms: Codes) -> None:
        """Stores terms in the first table; what was in their slots moves to the second."""
        moved = self._words[slots]
        moved_slots = (moved & _MOVED_SLOT_MASK).view(np.int64)
        self._moved_words[moved_slots], self._moved_terms[moved_slots] = moved, self._terms[slots]
        self._words[slots], self._terms[slots] = words, terms

    def _terms_at(self, data: bytes, indices: Indices, codes: Codes) -> Codes:
        """The codes of the terms of some words of a text, given their indices and codes."""
        if self._stemmer is None:
            return np.where(_EXCLUDED_CODES[_EXCLUDED_CODES.searchsorted(codes)] == codes, _NO_TERM, codes)
        words = words_at(data, indices)
        stems = [
            _NO_STEM if word in _EXCLUDED_BYTES else stem or _NO_STEM
            for word, stem in zip(words, self._stemmer.stemWords(words), strict=True)
        ]
        terms = coded_words(b" ".join(stems)).codes
        terms[terms == _NO_STEM_CODE] = _NO_TERM
        return terms


class _Stems(dict[str, str]):
    """A cache of the stems of words; empty for words that have no term."""

    def __init__(self, stem: Callable[[str], str]):
        super().__init__(_EXCLUDED_STEMS)
        self._stem = stem

    def __missing__(self, word: str) -> str:
        if _is_too_long(word) or _is_number(word):
            return ""
        if len(self) >= 50_000:
            self.clear()
            self.update(_EXCLUDED_STEMS)
        stem = self[word] = self._stem(word)
        return stem


def _is_number(word: str) -> bool:
    return word.isdigit() and word.isascii()


def _is_too_long(word: str) -> bool:
    return len(word) > MAX_WORD_LENGTH // 4 and len(word.encode()) > MAX_WORD_LENGTH


@lru_cache(maxsize=8)  # 2 MB each
def terms_for(algorithm: str) -> Terms:
    """The `Terms` of an algorithm, with a cache shared by all pages."""
    return Terms(algorithm)
