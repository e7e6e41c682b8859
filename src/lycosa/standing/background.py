"""How rare words are."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log

import numpy as np

from lycosa.vocabulary.codes import codes_of
from lycosa.vocabulary.records import Codes, Page, Plain

from .model_nodes import whole
from .splitting import Floats

MAX_TERMS = 200_000  # of a background; the rarest are left out
MAX_TERM_LENGTH = 200  # characters
_MOST_PAGES = 1 << 53
_NO_CODE = np.uint64((1 << 64) - 1)


class Background:
    """Pages against which the words of others are held: the inverse document frequency (IDF) of each word in them.

    IDF is 1 + ln((1 + pages) / (1 + pages with the word)). Words of no page count like those of one, so that a page of
    the background itself, which knows all its own words, is measured like any other.

    containing: word -> how many pages have it; words of one page need not be told.
    """

    def __init__(self, containing: Mapping[str, int], pages: int):
        self._containing = {term: count for term, count in containing.items() if count > 1}
        self.pages = pages
        self.rarest = 1.0 + log((1 + max(pages, 1)) / 2)  # IDF of what is in one page, or in none
        codes = codes_of(self._containing)
        order = np.argsort(codes)
        counts = np.fromiter(self._containing.values(), np.float64, len(self._containing))
        self._codes = np.append(codes[order], _NO_CODE)  # the last is for all other words
        self._idfs = np.append((1.0 + np.log((1.0 + pages) / (1.0 + counts)))[order], self.rarest)

    @classmethod
    def of(cls, pages: Iterable[Page]) -> "Background":
        """The background that some pages make."""
        containing: Counter[str] = Counter()
        count = 0
        for page in pages:
            count += 1
            containing.update(page.terms.keys())
        return cls.counted(containing, count)

    @classmethod
    def counted(cls, containing: Counter[str], pages: int) -> "Background":
        """The background of pages whose words were counted, held to the limits of one that is saved."""
        shared = {term: count for term, count in containing.items() if count > 1 and _is_one_word(term)}
        if len(shared) > MAX_TERMS:
            shared = dict(Counter(shared).most_common(MAX_TERMS))
        return cls(shared, pages)

    def __len__(self) -> int:
        """How many words are in more than one page."""
        return len(self._containing)

    def idf(self, codes: Codes) -> Floats:
        """The IDF of each of some words, given by their codes."""
        places = self._codes.searchsorted(codes)
        found: Floats = np.where(self._codes[places] == codes, self._idfs[places], self.rarest)
        return found

    def to_plain(self) -> Plain:
        return {"pages": self.pages, "containing": self._containing}

    @classmethod
    def from_plain(cls, plain: Plain) -> "Background":
        """The background that was saved. Raises KeyError, TypeError or ValueError where it makes none."""
        pages, saved = whole(plain["pages"], 0, _MOST_PAGES), plain["containing"]
        if not isinstance(saved, dict) or len(saved) > MAX_TERMS:
            raise ValueError(f"the background is not a table of up to {MAX_TERMS} words")
        if not all(map(_is_one_word, saved)):
            raise ValueError(f"a word has a blank in it or more than {MAX_TERM_LENGTH} characters")
        return cls({term: whole(count, 1, pages) for term, count in saved.items()}, pages)


def _is_one_word(term: str) -> bool:
    return len(term) <= MAX_TERM_LENGTH and term.split() == [term]
