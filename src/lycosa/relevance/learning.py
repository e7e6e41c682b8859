"""How a linear model is learnt from good and bad pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

import numpy as np

from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import Page

from .platt import sigmoid_between
from .separating import Columns, Values, separate
from .svm import MAX_TERM_LENGTH, MAX_TERMS, SLOPE, LinearModel, Terms, terms_in

_FOLDS = 3
_CLOSEST = 0.05  # distance between good and bad below which there is nothing to scale

Document = tuple[Columns, Values]  # its words, and 1 + log of how often each occurs


def train(good: Iterable[Page | Terms], bad: Iterable[Page | Terms], *, seed: int = 0) -> LinearModel:
    """The model that tells the good pages from the bad; the same pages in the same order give the same model.

    Pages a model has learnt from lie farther from its hyperplane than others do. So it is moved and scaled by where
    pages lie that it has not seen, left out of the learning in turn, until relevance is the chance of a page to be
    good where good and bad ones are as many.
    """
    examples = _Examples(good, bad)
    plane = _plane(examples, examples.good, examples.bad, seed)
    good_at, bad_at = _left_out_distances(examples, seed)
    if not bad_at:
        bad_at = plane.distances(examples.bad)
    if not good_at:
        middle = _mean(bad_at)
        good_at = [(at + middle) / 2 for at in plane.distances(examples.good)]  # one not seen loses half its lead
    model = examples.model(plane)
    if _mean(good_at) - _mean(bad_at) < _CLOSEST:
        return model
    slope, offset = sigmoid_between(good_at, bad_at)
    return model.moved(-offset / slope, slope / SLOPE)


def fit(good: Iterable[Page | Terms], bad: Iterable[Page | Terms], *, seed: int = 0) -> LinearModel:
    """The hyperplane alone, with 1 and -1 at its margins; `train` sets it where pages not seen belong."""
    examples = _Examples(good, bad)
    return examples.model(_plane(examples, examples.good, examples.bad, seed))


@dataclass(frozen=True)
class _Plane:
    """A hyperplane over the words of some examples; those it does not know have weight 0 and the idf of new ones."""

    weights: Values
    bias: float
    idf: Values
    idf_of_new: float
    is_known: "np.ndarray[tuple[int], np.dtype[np.bool_]]"

    def row(self, document: Document) -> Document:
        """A page as a vector of length 1."""
        columns, damped = document
        values = damped * self.idf[columns]
        return columns, values / np.sqrt(values @ values)

    def distances(self, documents: Iterable[Document]) -> list[float]:
        rows = map(self.row, documents)
        return [self.bias + float(self.weights[columns] @ values) for columns, values in rows]


class _Examples:
    """Good and bad pages over one table of words, made once for all the models that are learnt from parts of them."""

    def __init__(self, good: Iterable[Page | Terms], bad: Iterable[Page | Terms]):
        good_terms, bad_terms = ([terms for terms in map(terms_in, pages) if terms] for pages in (good, bad))
        if not good_terms or not bad_terms:
            missing = "good" if not good_terms else "bad"
            raise RecipeError(f"no {missing} example has a word in it; give at least one page with text")
        self.words = sorted(set().union(*good_terms, *bad_terms))
        self.may_be_known = np.array([len(word) <= MAX_TERM_LENGTH for word in self.words])
        self._places = {word: place for place, word in enumerate(self.words)}
        self.good = [self._document(terms) for terms in good_terms]
        self.bad = [self._document(terms) for terms in bad_terms]

    def _document(self, terms: Terms) -> Document:
        columns = np.fromiter(map(self._places.__getitem__, terms), np.intp, len(terms))
        return columns, 1.0 + np.log(np.fromiter(terms.values(), np.float64, len(terms)))

    def model(self, plane: _Plane) -> LinearModel:
        known = plane.is_known.nonzero()[0].tolist()
        idf, weights = plane.idf.tolist(), plane.weights.tolist()
        terms = {self.words[place]: (idf[place], weights[place]) for place in known}
        return LinearModel(terms, bias=plane.bias, idf_of_new=plane.idf_of_new)


def _plane(examples: _Examples, good: list[Document], bad: list[Document], seed: int) -> _Plane:
    documents, width = good + bad, len(examples.words)
    containing = np.bincount(np.concatenate([columns for columns, _ in documents]), minlength=width)
    is_known = (containing > 0) & examples.may_be_known
    if np.count_nonzero(is_known) > MAX_TERMS:
        commonest = np.argsort(np.where(is_known, -containing, 0), kind="stable")[:MAX_TERMS]
        is_known = np.zeros(width, dtype=bool)
        is_known[commonest] = True
    idf_of_new = log((1 + len(documents)) / 2) + 1.0
    idf = np.where(is_known, np.log((1 + len(documents)) / (1.0 + containing)) + 1.0, idf_of_new)
    unlearnt = _Plane(np.zeros(width), 0.0, idf, idf_of_new, is_known)
    rows = []
    for document in documents:
        columns, values = unlearnt.row(document)
        are_known = is_known[columns]
        rows.append((columns[are_known], values[are_known]))
    weights, bias = separate(rows, [True] * len(good) + [False] * len(bad), width, seed=seed)
    return _Plane(np.array(weights), bias, idf, idf_of_new, is_known)


def _left_out_distances(examples: _Examples, seed: int) -> tuple[list[float], list[float]]:
    """Where good and bad pages lie for models that have not seen them; nothing where there is but one page."""
    kinds = (examples.good, examples.bad)
    distances: tuple[list[float], list[float]] = ([], [])
    for fold in range(_FOLDS):
        good, bad = (pages if len(pages) < 2 else _without(pages, fold) for pages in kinds)
        if len(good) == len(examples.good) and len(bad) == len(examples.bad):
            continue
        plane = _plane(examples, good, bad, seed)
        for pages, found in zip(kinds, distances, strict=True):
            if len(pages) > 1:
                found.extend(plane.distances(pages[fold::_FOLDS]))
    return distances


def _without(pages: list[Document], fold: int) -> list[Document]:
    return [page for number, page in enumerate(pages) if number % _FOLDS != fold]


def _mean(distances: list[float]) -> float:
    return sum(distances) / len(distances)
