"""Relevance learnt from examples: a linear support vector machine over the words of pages."""

from collections.abc import Mapping
from math import exp, sqrt

import numpy as np

from lycosa.vocabulary.codes import codes_of
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Codes, Page, Plain

from .platt import AT_ONE

MAX_TERMS = 200_000  # of a model; the rarest are left out
MAX_TERM_LENGTH = 200  # characters
SLOPE = AT_ONE  # of the sigmoid of a distance
_NO_CODE = np.uint64((1 << 64) - 1)
_KIND = "linear, sublinear tf-idf, 1"

Terms = Mapping[str, int]


class LinearModel:
    """A hyperplane between good and bad pages; relevance is a sigmoid of the distance to it.

    A page is the vector of its words, each (1 + log count) * idf, brought to length 1. Words that were in no example
    count in the length like the rarest that were, and speak for neither side: a page full of new words lies near the
    middle, however strongly two known ones speak.
    """

    def __init__(self, terms: Mapping[str, tuple[float, float]], *, bias: float, idf_of_new: float):
        self._terms = dict(terms)  # word -> idf, weight
        self._bias = bias
        self._idf_of_new = idf_of_new
        codes = codes_of(terms)
        order = np.argsort(codes)
        self._codes = np.append(codes[order], _NO_CODE)  # the last is for new words
        self._idfs = np.append(np.array([idf for idf, _ in terms.values()])[order], idf_of_new)
        self._weights = np.append(np.array([weight for _, weight in terms.values()])[order], 0.0)

    def relevance(self, page: Page) -> float:
        return 1.0 / (1.0 + exp(-SLOPE * self._distance(*page.words.counted)))

    def distance(self, terms: Terms) -> float:
        """How far on the good side of the hyperplane, within ±30; a good page is near 1, a bad one near -1."""
        return self._distance(codes_of(terms), np.fromiter(terms.values(), np.uint64, len(terms)))

    def _distance(self, codes: Codes, counts: Codes) -> float:
        if not len(codes):
            return self._bias
        places = self._codes.searchsorted(codes)
        places[self._codes[places] != codes] = len(self._codes) - 1
        values = self._idfs[places] * (1.0 + np.log(counts))
        distance = self._bias + float(self._weights[places] @ values) / sqrt(float(values @ values))
        return max(-30.0, min(30.0, distance))

    def moved(self, by: float, scale: float) -> "LinearModel":
        """The same hyperplane farther to the good side, all distances from it scaled."""
        terms = {term: (idf, weight * scale) for term, (idf, weight) in self._terms.items()}
        return LinearModel(terms, bias=(self._bias - by) * scale, idf_of_new=self._idf_of_new)

    def to_plain(self) -> Plain:
        """The model as JSON can say it."""
        return {
            "kind": _KIND,
            "bias": self._bias,
            "idf_of_new": self._idf_of_new,
            "terms": {term: [idf, weight] for term, (idf, weight) in self._terms.items()},
        }

    @classmethod
    def from_plain(cls, plain: Plain, *, source: str = "the model") -> "LinearModel":
        """A model that was saved; `source` names it where it cannot be used."""
        try:
            if plain["kind"] != _KIND:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_KIND!r}")
            bias, idf_of_new = _number(plain["bias"]), _number(plain["idf_of_new"])
            saved = plain["terms"]
            if not isinstance(saved, dict) or len(saved) > MAX_TERMS:
                raise ValueError(f"terms are not a table of up to {MAX_TERMS} words")
            if any(len(term) > MAX_TERM_LENGTH for term in saved):
                raise ValueError(f"a word has more than {MAX_TERM_LENGTH} characters")
            if any(term.split() != [term] for term in saved):
                raise ValueError("a word has a blank in it")
            terms = {term: (_number(idf), _number(weight)) for term, (idf, weight) in saved.items()}
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}; delete it and it is learnt anew") from None
        return cls(terms, bias=bias, idf_of_new=idf_of_new)


def _number(value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e6:
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)


def terms_in(page: Page | Terms) -> Terms:
    return page.terms if isinstance(page, Page) else page
