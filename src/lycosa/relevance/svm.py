"""Relevance learnt from examples: a linear support vector machine over the words of pages.

A page is the vector of its words, x_w = (1 + ln count_w) * idf_w, scaled to length 1, with

    idf_w = 1 + ln((1 + pages) / (1 + pages with w)).

`fit` finds the hyperplane between good and bad examples, and `train` calibrates its distances to probabilities. From
good examples and unlabelled pages, `positive_unlabelled` trains the same kind of model.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import exp, log, sqrt
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import CollectionError, RecipeError
from lycosa.vocabulary.records import Codes, JsonValue, Page
from lycosa.vocabulary.text import codes_of

from .embedding import builtin_embedding
from .term_counts import PageCounts

MAX_TERMS = 200_000  # words of a model; those that matter least are left out
MAX_TERM_LENGTH = 200  # characters
_MAX_NUMBER = 1e6  # of a saved model, in absolute value
_MIN_IDF = 0.001  # of a saved model; trained ones have 1 or more
SLOPE = 2.0  # of the sigmoid of a distance: 0.88 and 0.12 at distances of 1 and -1
_FOLDS = 3  # of the examples, to calibrate
_MIN_GAP = 0.05  # between the mean distances of good and bad; below, there is nothing to calibrate
_NEWTON_STEPS = 100
_TOLERANCE = 1e-9  # Newton's method ends at a smaller step
_NO_CODE = np.uint64((1 << 64) - 1)
_SUBLINEAR_COUNTS = 1.0 + np.log(np.maximum(np.arange(1 << 16), 1))  # 1 + ln count, by count
_WITHOUT_EVIDENCE = -1.0  # the largest distance of a page without words, or whose words all speak against the topic
_FORMAT = "linear, sublinear tf-idf, 1"

Terms = Mapping[str, int]
Floats = NDArray[np.float64]
Columns = np.ndarray[tuple[int], np.dtype[np.intp]]
Values = np.ndarray[tuple[int], np.dtype[np.float64]]
SparseVector = tuple[Columns, Values]


class LinearModel:
    """A hyperplane between good and bad pages: relevance = 1 / (1 + exp(-2 * distance)), distance = weights · x + bias.

    Words of no example have weight 0 and the idf of the rarest word, so that they affect only the length of x: a page
    full of new words is near the hyperplane, however large the weights of two known ones are.

    A page without words is at a distance of at most -1, as bad pages are; so is one without any word of positive
    weight, if words alone decide.

    terms: word -> (idf, weight).
    idf_of_new: idf of words of no example.
    meaning: a direction among text vectors, along which distance grows; see `embedding`.
    codes: of the words in order, their 64-bit hashes, if already computed.
    """

    def __init__(
        self,
        terms: Mapping[str, tuple[float, float]],
        *,
        bias: float,
        idf_of_new: float,
        meaning: "Meaning | None" = None,
        codes: Codes | None = None,
    ):
        self._terms = dict(terms)
        self._bias = bias
        self._idf_of_new = idf_of_new
        self.meaning = meaning
        self._codes_in_order = codes

    @cached_property
    def _sorted(self) -> "_SortedTerms":
        codes = codes_of(self._terms) if self._codes_in_order is None else self._codes_in_order
        idfs, weights = _as_array(self._terms.values()).T
        order = np.argsort(codes)
        return _SortedTerms(
            np.append(codes[order], _NO_CODE), np.append(idfs[order], self._idf_of_new), np.append(weights[order], 0.0)
        )

    def relevance(self, page: Page) -> float:
        return self.relevance_of(*page.words.term_counts)

    def relevance_of(self, codes: Codes, counts: Codes) -> float:
        """The relevance of a page with these terms and counts."""
        return 1.0 / (1.0 + exp(-SLOPE * self._distance(codes, counts)))

    def relevances_of(self, pages: Sequence[PageCounts]) -> list[float]:
        """The relevance of many pages: equal to `relevance_of` up to rounding, ten times as fast."""
        if not pages:
            return []
        lengths = np.array([len(page.codes) for page in pages], np.intp)
        indices = self._code_index.find(np.concatenate([page.codes for page in pages]))
        values = self._sorted.idfs.take(indices)
        values *= _sublinear(np.concatenate([page.counts for page in pages]))
        squares, sums, highest = np.zeros(len(pages)), np.zeros(len(pages)), np.zeros(len(pages))
        begins, has_words = (np.cumsum(lengths) - lengths)[lengths > 0], lengths > 0
        if len(begins):
            squares[has_words] = np.add.reduceat(values * values, begins)
            values *= self._sorted.weights.take(indices)
            sums[has_words] = np.add.reduceat(values, begins)
            highest[has_words] = np.maximum.reduceat(values, begins)
        distances = self._bias + sums / np.maximum(np.sqrt(squares), 1e-9)
        if self.meaning is not None:
            vectors = np.array([page.with_vector().vector for page in pages])
            distances += self.meaning.along_vectors(vectors) * has_words
        has_evidence = has_words if self.meaning is not None else highest > 0.0
        distances = np.where(has_evidence, distances, np.minimum(distances, _WITHOUT_EVIDENCE))
        relevances: list[float] = (1.0 / (1.0 + np.exp(-SLOPE * np.clip(distances, -30.0, 30.0)))).tolist()
        return relevances

    @cached_property
    def _code_index(self) -> "_CodeIndex":
        return _CodeIndex(self._sorted.codes)

    def distance(self, terms: Terms) -> float:
        """The signed distance to the hyperplane, clipped to ±30; a good page is near 1, a bad one near -1."""
        return self._distance(codes_of(terms), np.fromiter(terms.values(), np.uint64, len(terms)))

    def _distance(self, codes: Codes, counts: Codes) -> float:
        if not len(codes):
            return max(-30.0, min(_WITHOUT_EVIDENCE, self._bias))
        table, indices = self._sorted, self._code_index.find(codes)
        values = table.idfs.take(indices)
        values *= 1.0 + np.log(counts)
        weights = table.weights.take(indices)
        distance = self._bias + float(weights @ values) / sqrt(float(values @ values))
        if self.meaning is not None:
            distance += self.meaning.along(codes, counts)
        elif weights.max() <= 0.0:
            distance = min(distance, _WITHOUT_EVIDENCE)
        return max(-30.0, min(30.0, distance))

    def contributions(self, terms: Terms) -> dict[str, float]:
        """The contribution of each word of a page to its distance, without words of no example."""
        if not terms:
            return {}
        new = (self._idf_of_new, 0.0)
        values = {term: self._terms.get(term, new)[0] * (1.0 + log(count)) for term, count in terms.items()}
        length = sqrt(sum(value * value for value in values.values()))
        return {term: self._terms[term][1] * value / length for term, value in values.items() if term in self._terms}

    def rescaled(self, origin: float, scale: float) -> "LinearModel":
        """The same hyperplane with every distance d replaced by (d - origin) * scale."""
        terms = {term: (idf, weight * scale) for term, (idf, weight) in self._terms.items()}
        meaning = self.meaning and self.meaning.scaled(scale)
        return LinearModel(terms, bias=(self._bias - origin) * scale, idf_of_new=self._idf_of_new, meaning=meaning)

    def weights_by_code(self) -> tuple[Codes, Floats]:
        """The codes of the words, and weight * idf of each: positive for the topic, negative against it."""
        codes, idfs, weights = self._sorted
        return codes[:-1], weights[:-1] * idfs[:-1]

    def word_vector_scores(self) -> tuple[Floats, Floats] | None:
        """For each row of the table of word vectors, its position along the direction of the topic, in standard
        deviations from the mean of all rows, and its length; None if the model has no direction."""
        if self.meaning is None:
            return None
        cosines, lengths = self.meaning.of_rows()
        return (cosines - cosines.mean()) / max(float(cosines.std()), 1e-9), lengths

    def to_plain(self) -> JsonValue:
        """The model as JSON-compatible data."""
        plain: dict[str, JsonValue] = {
            "kind": _FORMAT,
            "bias": self._bias,
            "idf_of_new": self._idf_of_new,
            "terms": {term: [idf, weight] for term, (idf, weight) in self._terms.items()},
        }
        if self.meaning is not None:
            plain["meaning"] = self.meaning.to_plain()
        return plain

    @classmethod
    def from_plain(cls, plain: JsonValue, *, source: str = "the model") -> "LinearModel":
        """The inverse of `to_plain`; `source` names the model in errors."""
        try:
            if plain["kind"] != _FORMAT:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_FORMAT!r}")
            bias, idf_of_new = _number(plain["bias"]), _idf(plain["idf_of_new"])
            terms = _checked_terms(plain["terms"])
            meaning = Meaning.from_plain(plain["meaning"]) if "meaning" in plain else None
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}") from None
        return cls(terms, bias=bias, idf_of_new=idf_of_new, meaning=meaning)


class _SortedTerms(NamedTuple):
    """The terms of a model, by code; the last place is for new words."""

    codes: Codes
    idfs: Floats
    weights: Floats


def _as_array(pairs: Collection[tuple[float, float]]) -> Floats:
    return np.fromiter(chain.from_iterable(pairs), np.float64, 2 * len(pairs)).reshape(-1, 2)


def _sublinear(counts: NDArray[np.unsignedinteger]) -> Floats:
    """1 + ln count for each count; from a table for 16-bit counts, as those of saved words are."""
    return _SUBLINEAR_COUNTS.take(counts) if counts.dtype == np.uint16 else 1.0 + np.log(counts.astype(np.float64))


class _CodeIndex:
    """Finds the codes of words in a sorted table; five times as fast as a binary search for many codes.

    The highest bits of a code are the number of its slot, which has the index of the code; few slots have several.

    codes: sorted; the last is a sentinel.
    """

    def __init__(self, codes: Codes):
        self._codes = codes
        self._shift = np.uint64(64 - max(18, len(codes).bit_length() + 4))
        slots = codes >> self._shift
        self._index_of_slot = np.full(int(slots[-1]) + 1, len(codes) - 1, np.int32)
        self._index_of_slot[slots[:-1]] = np.arange(len(codes) - 1)
        shared = slots[1:][slots[1:] == slots[:-1]]
        self._index_of_slot[shared] = -1

    def find(self, codes: Codes) -> Columns:
        """The index of each code; the last index if it is not in the table."""
        indices: Columns = self._index_of_slot.take((codes >> self._shift).view(np.int64)).astype(np.intp)
        (shared,) = (indices < 0).nonzero()
        if len(shared):
            indices[shared] = self._codes.searchsorted(codes[shared])
        indices[self._codes.take(indices) != codes] = len(self._codes) - 1
        return indices


class Meaning:
    """A direction among text vectors: along(text) = direction · e, where e is the vector of the text."""

    def __init__(self, direction: NDArray[np.floating]):
        self._direction = direction.astype(np.float32)

    def along(self, codes: Codes, counts: Codes) -> float:
        """direction · e for a text with these terms and counts."""
        return float(self._direction @ builtin_embedding().embed_counts(codes, counts))

    def along_vectors(self, vectors: NDArray[np.float32]) -> Floats:
        """direction · e for many texts, given their vectors, one a row."""
        vectors = vectors.reshape(-1, len(self._direction))
        # Row by row, so that the result for one text does not depend on the others, not even by rounding.
        along: Floats = np.einsum("ij,j->i", vectors, self._direction).astype(np.float64)
        return along

    def of_rows(self) -> tuple[Floats, Floats]:
        """For each row of the table of word vectors, its cosine to the direction times the length of the direction, and
        its own length."""
        table = builtin_embedding()
        return table.dot(self._direction) / np.maximum(table.lengths, 1e-9), table.lengths

    def scaled(self, factor: float) -> "Meaning":
        return Meaning(self._direction * factor)

    def to_plain(self) -> JsonValue:
        return self._direction.tolist()

    @classmethod
    def from_plain(cls, plain: JsonValue) -> "Meaning":
        direction = np.array([_number(value) for value in plain])
        if len(direction) != builtin_embedding().dimensions:
            raise ValueError("the direction of its meaning does not fit the table of word vectors")
        return cls(direction)


def _checked_terms(saved: JsonValue) -> dict[str, tuple[float, float]]:
    """Idf and weight of each word, checked all at once: each model is, when it is saved and when it is read."""
    if not isinstance(saved, dict) or len(saved) > MAX_TERMS:
        raise ValueError(f"terms are not a table of up to {MAX_TERMS} words")
    if max(map(len, saved), default=0) > MAX_TERM_LENGTH:
        raise ValueError(f"a word has more than {MAX_TERM_LENGTH} characters")
    if " ".join(saved).split() != list(saved):
        raise ValueError("a word has a blank in it")
    try:
        terms = msgspec.convert(saved, dict[str, tuple[float, float]])
    except msgspec.ValidationError:
        return _terms_checked_singly(saved)
    numbers = _as_array(terms.values())
    are_in_range = bool((np.abs(numbers) <= _MAX_NUMBER).all() and (numbers[:, 0] >= _MIN_IDF).all())
    return terms if are_in_range else _terms_checked_singly(saved)


def _terms_checked_singly(saved: Mapping[str, JsonValue]) -> dict[str, tuple[float, float]]:
    """The same, slower; the error names the number that is wrong."""
    return {term: (_idf(idf), _number(weight)) for term, (idf, weight) in saved.items()}


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MAX_NUMBER:
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)


def _idf(value: JsonValue) -> float:
    """A checked idf: if it were 0, a page could have a vector of length 0, which cannot be scaled to 1."""
    idf = _number(value)
    if idf < _MIN_IDF:
        raise ValueError(f"{idf:g} is too small for an idf")
    return idf


def train(good: Iterable[Page | Terms], bad: Iterable[Page | Terms], *, seed: int = 0) -> LinearModel:
    """Trains a model that separates good pages from bad ones; the same pages in the same order give the same model.

    Training pages are farther from the hyperplane than unseen ones. Therefore distances are calibrated by 3-fold
    cross-validation (Platt scaling): relevance estimates P(good | page) for equal numbers of good and bad pages.
    """
    examples = _Examples(good, bad)
    plane = _fit_plane(examples, examples.good, examples.bad, seed)
    good_distances, bad_distances = _cross_validated_distances(examples, seed)
    if not bad_distances:
        bad_distances = plane.distances(examples.bad)
    if not good_distances:
        middle = _mean(bad_distances)
        # A single good page cannot be left out; an unseen one is assumed halfway between it and the bad ones.
        good_distances = [(distance + middle) / 2 for distance in plane.distances(examples.good)]
    model = examples.model(plane)
    if _mean(good_distances) - _mean(bad_distances) < _MIN_GAP:
        return model
    slope, offset = calibrate(good_distances, bad_distances)
    return model.rescaled(-offset / slope, slope / SLOPE)


def fit(good: Iterable[Page | Terms], bad: Iterable[Page | Terms], *, seed: int = 0) -> LinearModel:
    """The hyperplane alone, uncalibrated: its margins are at distances 1 and -1."""
    examples = _Examples(good, bad)
    return examples.model(_fit_plane(examples, examples.good, examples.bad, seed))


def terms_in(page: Page | Terms) -> Terms:
    return page.terms if isinstance(page, Page) else page


@dataclass(frozen=True)
class _Hyperplane:
    """A hyperplane over the words of some examples; unknown words have weight 0 and the idf of new ones."""

    weights: Values
    bias: float
    idf: Values
    idf_of_new: float
    is_known: "np.ndarray[tuple[int], np.dtype[np.bool_]]"

    def row(self, document: SparseVector) -> SparseVector:
        """A document as a tf-idf vector of length 1."""
        columns, tf = document
        values = tf * self.idf[columns]
        return columns, values / np.sqrt(values @ values)

    def distances(self, documents: Iterable[SparseVector]) -> list[float]:
        rows = map(self.row, documents)
        return [self.bias + float(self.weights[columns] @ values) for columns, values in rows]


class _Examples:
    """Good and bad documents over one vocabulary, shared by all the models that are trained on parts of them.

    A document is a sparse vector of sublinear term frequencies, 1 + ln count.
    """

    def __init__(self, good: Iterable[Page | Terms], bad: Iterable[Page | Terms]):
        good_terms, bad_terms = ([terms for terms in map(terms_in, pages) if terms] for pages in (good, bad))
        if not good_terms or not bad_terms:
            missing = "good" if not good_terms else "bad"
            raise RecipeError(f"no {missing} example has a word in it; give at least one page with text")
        words = sorted(set().union(*good_terms, *bad_terms))
        word_of_code: dict[int, str] = {}  # words of the same code are one, as they are when pages are judged
        code_of_word = dict(zip(words, codes_of(words).tolist(), strict=True))
        for word, code in code_of_word.items():
            word_of_code.setdefault(code, word)
        self.words = list(word_of_code.values())
        self.is_short = np.array([len(word) <= MAX_TERM_LENGTH for word in self.words])
        column_of_code = {code: column for column, code in enumerate(word_of_code)}
        self._column_of_word = {word: column_of_code[code] for word, code in code_of_word.items()}
        self.good = [self._document(terms) for terms in good_terms]
        self.bad = [self._document(terms) for terms in bad_terms]

    def _document(self, terms: Terms) -> SparseVector:
        columns = np.fromiter(map(self._column_of_word.__getitem__, terms), np.intp, len(terms))
        return columns, 1.0 + np.log(np.fromiter(terms.values(), np.float64, len(terms)))

    def model(self, plane: _Hyperplane) -> LinearModel:
        known = plane.is_known.nonzero()[0].tolist()
        idf, weights = plane.idf.tolist(), plane.weights.tolist()
        terms = {self.words[index]: (idf[index], weights[index]) for index in known}
        return LinearModel(terms, bias=plane.bias, idf_of_new=plane.idf_of_new)


def _fit_plane(examples: _Examples, good: list[SparseVector], bad: list[SparseVector], seed: int) -> _Hyperplane:
    documents, width = good + bad, len(examples.words)
    containing = np.bincount(np.concatenate([columns for columns, _ in documents]), minlength=width)
    is_known = (containing > 0) & examples.is_short
    if np.count_nonzero(is_known) > MAX_TERMS:
        commonest = np.argsort(np.where(is_known, -containing, 0), kind="stable")[:MAX_TERMS]
        is_known = np.zeros(width, dtype=bool)
        is_known[commonest] = True
    idf_of_new = log((1 + len(documents)) / 2) + 1.0
    idf = np.where(is_known, np.log((1 + len(documents)) / (1.0 + containing)) + 1.0, idf_of_new)
    untrained = _Hyperplane(np.zeros(width), 0.0, idf, idf_of_new, is_known)
    rows = []
    for document in documents:
        columns, values = untrained.row(document)
        are_known = is_known[columns]
        rows.append((columns[are_known], values[are_known]))
    weights, bias = separate(rows, [True] * len(good) + [False] * len(bad), width, seed=seed)
    return _Hyperplane(np.array(weights), bias, idf, idf_of_new, is_known)


def _cross_validated_distances(examples: _Examples, seed: int) -> tuple[list[float], list[float]]:
    """Distances of good and bad documents by models trained without them; none for a class of one document."""
    classes = (examples.good, examples.bad)
    distances: tuple[list[float], list[float]] = ([], [])
    for fold in range(_FOLDS):
        good, bad = (pages if len(pages) < 2 else _without(pages, fold) for pages in classes)
        if len(good) == len(examples.good) and len(bad) == len(examples.bad):
            continue
        plane = _fit_plane(examples, good, bad, seed)
        for pages, found in zip(classes, distances, strict=True):
            if len(pages) > 1:
                found.extend(plane.distances(pages[fold::_FOLDS]))
    return distances


def _without(pages: list[SparseVector], fold: int) -> list[SparseVector]:
    return [page for number, page in enumerate(pages) if number % _FOLDS != fold]


def _mean(distances: list[float]) -> float:
    return sum(distances) / len(distances)


def separate(
    rows: Sequence[SparseVector],
    is_good: Sequence[bool],
    width: int,
    *,
    seed: int = 0,
    tolerance: float = 1e-3,
    max_rounds: int = 1_000,
) -> tuple[list[float], float]:
    """Weights and bias of the L2-loss linear support vector machine, with balanced classes: they minimise

        (|w|² + b²) / 2 + Σ C_i max(0, 1 - y_i (w · x_i + b))²,    C_i = rows / (2 * rows of the class of i).

    Dual coordinate descent with shrinking (Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method
    for large-scale linear SVM, 2008).

    rows: columns and values of each vector.
    width: number of columns.
    """
    class_costs = {label: len(rows) / (2 * sum(good is label for good in is_good)) for label in set(is_good)}
    signs = [1.0 if good else -1.0 for good in is_good]
    diagonal = [1 / (2 * class_costs[good]) for good in is_good]
    second_derivatives = [float(values @ values) + 1.0 + term for (_, values), term in zip(rows, diagonal, strict=True)]
    multipliers = [0.0] * len(rows)
    weights, bias = np.zeros(width), 0.0
    shuffler, active = random.Random(seed), list(range(len(rows)))
    for _ in range(max_rounds):
        shuffler.shuffle(active)
        largest_gradient, still_active = 0.0, []
        for number in active:
            columns, values = rows[number]
            sign, multiplier = signs[number], multipliers[number]
            gradient = sign * (float(weights[columns] @ values) + bias) - 1.0 + diagonal[number] * multiplier
            if multiplier == 0.0 and gradient > tolerance:
                continue  # beyond the margin: shrunk until the others have converged
            still_active.append(number)
            if multiplier == 0.0 and gradient >= 0.0:
                continue
            largest_gradient = max(largest_gradient, abs(gradient))
            multipliers[number] = max(0.0, multiplier - gradient / second_derivatives[number])
            step = (multipliers[number] - multiplier) * sign
            weights[columns] += step * values
            bias += step
        active = still_active
        if largest_gradient < tolerance:
            if len(active) == len(rows) or not _has_margin_violation(
                rows, signs, weights, bias, multipliers, tolerance
            ):
                break
            active = list(range(len(rows)))
    return weights.tolist(), bias


def _has_margin_violation(
    rows: Sequence[SparseVector],
    signs: Sequence[float],
    weights: Values,
    bias: float,
    multipliers: Sequence[float],
    tolerance: float,
) -> bool:
    """Whether a vector with multiplier 0 lies within the margin."""
    return any(
        sign * (float(weights[columns] @ values) + bias) < 1.0 - tolerance
        for (columns, values), sign, multiplier in zip(rows, signs, multipliers, strict=True)
        if multiplier == 0.0
    )


def calibrate(good: Sequence[float], bad: Sequence[float]) -> tuple[float, float]:
    """Platt scaling: the slope a and the offset b of P(good | distance) = 1 / (1 + exp(-(a * distance + b))).

    Minimises the log loss, both classes weighted equally, with an L2 penalty of strength 1 / min(good, bad) on the
    difference from the sigmoid that is 0.88 and 0.12 at the mean distances of good and bad: with few examples,
    cross-validated distances are weak evidence about the model trained on all. The mean of `bad` must be below that of
    `good`.

    Platt: Probabilistic outputs for support vector machines (1999); Lin, Lin and Weng: A note on Platt's probabilistic
    outputs for support vector machines (2007).
    """
    means = np.mean(good), np.mean(bad)
    middle, half = (means[0] + means[1]) / 2, (means[0] - means[1]) / 2
    inputs = np.stack(((np.array([*good, *bad]) - middle) / half, np.ones(len(good) + len(bad))))
    label = np.array([1.0] * len(good) + [0.0] * len(bad))
    weight = np.array([0.5 / len(good)] * len(good) + [0.5 / len(bad)] * len(bad))
    penalty = 1.0 / min(len(good), len(bad))
    prior = np.array([SLOPE, 0.0])
    solution = prior.copy()

    def loss(parameters: Floats) -> float:
        logits = parameters @ inputs
        return float(
            weight @ (np.logaddexp(0.0, logits) - label * logits) + penalty / 2 * ((parameters - prior) ** 2).sum()
        )

    for _ in range(_NEWTON_STEPS):
        probability = 1.0 / (1.0 + np.exp(-(solution @ inputs)))
        gradient = inputs @ (weight * (probability - label)) + penalty * (solution - prior)
        curvature = (inputs * (weight * probability * (1.0 - probability))) @ inputs.T + penalty * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while loss(solution - step) > loss(solution) and np.abs(step).max() > _TOLERANCE:
            step /= 2
        solution = solution - step
        if np.abs(step).max() <= _TOLERANCE:
            break
    slope = float(solution[0] / half)
    return slope, float(solution[1] - slope * middle)
