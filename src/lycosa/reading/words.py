"""Words: the tokens of a page in their order, and its terms, counted once.

>>> tokens_of("The spider's 2 webs")
['the', 'spider', 's', '2', 'webs']
>>> terms_of(tokens_of("The spider's 2 webs, and webs"))
{'spider': 1, 'webs': 2}
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

import Stemmer

from .stop_words import STOP_WORDS

_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"  # belong to the letter before
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_has_unspaced = re.compile(f"[{_UNSPACED}]").search
_words = re.compile(f"[\\w{_MARKS}]+").findall
_words_and_runs = re.compile(f"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[\\w{_MARKS}])+").findall
_ASCII_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
_ASCII_WORDS |= {code: chr(code + 32) for code in range(ord("A"), ord("Z") + 1)}
_LONGEST_WORD = 64  # characters; what is longer is no word, and is cut


def tokens_of(text: str) -> list[str]:
    """Lower-case words; scripts that set no blanks (Chinese, Japanese, Thai, ...) give overlapping pairs of characters."""
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    text = text.lower()
    if not _has_unspaced(text):
        found: list[str] = _words(text)
        return found
    tokens: list[str] = []
    for word in _words_and_runs(text):
        if len(word) > 2 and _has_unspaced(word[0]):
            tokens.extend(map("".join, pairwise(word)))
        else:
            tokens.append(word)
    return tokens


def terms_of(tokens: Iterable[str], *, stem: bool = False) -> dict[str, int]:
    """How often each word occurs, less stop words, numbers and single characters; stemmed (Porter) if so asked."""
    counts = Counter(tokens)
    for word in counts.keys() & STOP_WORDS:
        del counts[word]
    terms = {word: count for word, count in counts.items() if len(word) > 1 and not word.isdigit()}
    return _stemmed(terms) if stem else terms


def _stemmed(terms: dict[str, int]) -> dict[str, int]:
    stemmed: dict[str, int] = {}
    for word, count in zip(stems_of(list(terms)), terms.values(), strict=True):
        stemmed[word] = stemmed.get(word, 0) + count
    return stemmed


def stems_of(words: Sequence[str]) -> list[str]:
    """The Porter stem of each word."""
    stems: list[str] = _stemmer().stemWords(words)
    return stems


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("porter", 20_000)  # remembers that many words
