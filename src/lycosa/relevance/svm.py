"""Relevance learnt from examples: a linear support vector machine over the words of pages."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, isfinite, log, sqrt

import numpy as np

from lycosa.vocabulary.codes import codes_of
from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import Codes, Page, Plain

from .separating import Row, separate

MAX_TERMS = 200_000  # of a model; the rarest are left out
_MAX_TERM_LENGTH = 200  # characters
_SLOPE = 2.0  # of the sigmoid: at a distance of 1 and -1 the relevance is 0.88 and 0.12
_FOLDS = 3
_CLOSEST = 0.05  # distance between good and bad below which there is nothing to scale
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
        return 1.0 / (1.0 + exp(-_SLOPE * self._distance(*page.words.counted)))

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
            if any(len(term) > _MAX_TERM_LENGTH for term in saved):
                raise ValueError(f"a word has more than {_MAX_TERM_LENGTH} characters")
            if any(term.split() != [term] for term in saved):
                raise ValueError("a word has a blank in it")
            terms = {term: (_number(idf), _number(weight)) for term, (idf, weight) in saved.items()}
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}; delete it and it is learnt anew") from None
        return cls(terms, bias=bias, idf_of_new=idf_of_new)


def _number(value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > 1e6:
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)


def _damped(count: int) -> float:
    return 1.0 + log(max(1, count))


def train(good: Iterable[Page | Terms], bad: Iterable[Page | Terms], *, seed: int = 0) -> LinearModel:
    """The model that tells the good pages from the bad; the same pages in the same order give the same model.

    Pages a model has learnt from lie farther from its hyperplane than others do. So it is moved and scaled until the
    pages it has not seen, left out of the learning in turn, lie at 1 and -1 on average.
    """
    good_terms, bad_terms = _terms_of(good), _terms_of(bad)
    model = fit(good_terms, bad_terms, seed=seed)
    good_at, bad_at = _left_out_distances(good_terms, bad_terms, seed)
    if bad_at is None:
        bad_at = _mean_distance(model, bad_terms)
    if good_at is None:
        good_at = (_mean_distance(model, good_terms) + bad_at) / 2  # one not seen loses half its lead
    if good_at - bad_at < _CLOSEST:
        return model
    return model.moved((good_at + bad_at) / 2, 2.0 / (good_at - bad_at))


def _left_out_distances(good: list[Terms], bad: list[Terms], seed: int) -> tuple[float | None, float | None]:
    """Where good and bad pages lie on average for models that have not seen them; None where there is but one page."""
    distances: tuple[list[float], list[float]] = ([], [])
    for fold in range(_FOLDS):
        rests = [pages if len(pages) < 2 else _without(pages, fold) for pages in (good, bad)]
        if len(rests[0]) == len(good) and len(rests[1]) == len(bad):
            continue
        model = fit(rests[0], rests[1], seed=seed)
        for pages, found in zip((good, bad), distances, strict=True):
            if len(pages) > 1:
                found.extend(model.distance(terms) for terms in pages[fold::_FOLDS])
    good_at, bad_at = (sum(found) / len(found) if found else None for found in distances)
    return good_at, bad_at


def _without(pages: list[Terms], fold: int) -> list[Terms]:
    return [terms for number, terms in enumerate(pages) if number % _FOLDS != fold]


def _mean_distance(model: LinearModel, pages: list[Terms]) -> float:
    return sum(map(model.distance, pages)) / len(pages)


def fit(good: Iterable[Page | Terms], bad: Iterable[Page | Terms], *, seed: int = 0) -> LinearModel:
    """The hyperplane alone, with 1 and -1 at its margins; `train` sets it where pages not seen belong."""
    good_terms, bad_terms = _terms_of(good), _terms_of(bad)
    if not good_terms or not bad_terms:
        missing = "good" if not good_terms else "bad"
        raise RecipeError(f"no {missing} example has a word in it; give at least one page with text")
    documents = good_terms + bad_terms
    idf = _idf(documents)
    places = {term: place for place, term in enumerate(idf)}
    rows = [_row(terms, places, idf) for terms in documents]
    weights, bias = separate(rows, [True] * len(good_terms) + [False] * len(bad_terms), len(idf), seed=seed)
    terms = {term: (idf[term], weight) for term, weight in zip(idf, weights, strict=True)}
    return LinearModel(terms, bias=bias, idf_of_new=_rarity(len(documents), 1))


def _terms_of(pages: Iterable[Page | Terms]) -> list[Terms]:
    return [terms for terms in map(terms_in, pages) if terms]


def terms_in(page: Page | Terms) -> Terms:
    return page.terms if isinstance(page, Page) else page


def _rarity(documents: int, containing: int) -> float:
    return log((1 + documents) / (1 + containing)) + 1.0


def _idf(documents: Sequence[Terms]) -> dict[str, float]:
    containing: dict[str, int] = {}
    for terms in documents:
        for term in terms:
            if len(term) <= _MAX_TERM_LENGTH:
                containing[term] = containing.get(term, 0) + 1
    kept = sorted(containing, key=lambda term: (-containing[term], term))[:MAX_TERMS]
    return {term: _rarity(len(documents), containing[term]) for term in sorted(kept)}


def _row(terms: Terms, places: Mapping[str, int], idf: Mapping[str, float]) -> Row:
    """A page as a vector of length 1."""
    values = {places[term]: _damped(count) * idf[term] for term, count in terms.items() if term in places}
    vector = np.array(list(values.values()))
    return np.array(list(values), dtype=np.intp), vector / (sqrt(float(vector @ vector)) or 1.0)
