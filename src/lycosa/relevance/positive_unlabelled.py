"""Relevance learnt from positive and unlabelled pages: the usual case, in which a user gives a few pages on the topic.

Pages of the crawl are *unlabelled*, not bad: a whole site may be on the topic. So are the texts of the built-in
background, one of which may be on it. Each has a responsibility r, the square root of the probability that it is on the
topic, found by alternating training and scoring. In a round, an unlabelled page is a bad example of weight 1 - r, or a
good one of weight 0.3 r if that is more; a text of the background is a bad example of weight 1 - r, or 0.3 (1 - r) once
there are more than 20 pages of the crawl:

    minimise (|w|² + b²) / 2 + Σ C_i max(0, 1 - y_i (w · x_i + b))²,

where the weights C_i of each class sum to `_STRENGTH` times half the number of pages. Scores of training pages are
leave-one-out scores, which the solution gives at no extra cost. The logit of relevance is linear in the score s,

    logit = slope * (s - threshold),

where the threshold has as many unlabelled pages above it as are estimated to be on the topic (`_share_on_topic`).

Where word vectors know enough of the words, the score has a second part, the *meaning*: the position of the vector of
the text along the direction that leads from the other pages to the good ones.

Elkan, Noto: Learning classifiers from only positive and unlabeled data (KDD 2008). Chapelle: Training a support vector
machine in the primal (2007). Scott, Blanchard, Handy: Classification with asymmetric label noise (COLT 2013).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import RecipeError

from .embedding import builtin_embedding
from .svm import MAX_TERM_LENGTH, MAX_TERMS, SLOPE, LinearModel, Meaning, calibrate
from .term_counts import CountedTerms, as_counted_terms

Terms = Mapping[str, int]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_UNLABELLED = 200  # pages of the crawl used for training; more do not improve the model
_ROUNDS = 6
_STRENGTH = 0.5  # of the loss, relative to the regularisation
_SELF_TRAINING_WEIGHT = 0.3  # weight of an unlabelled page that is certainly on the topic; an example has 1
_BACKGROUND_WEIGHT = 0.3  # weight of a background text once there are pages of the crawl
_MAX_FULL_BACKGROUND = 20  # pages of the crawl, up to which the background has full weight
_NEWTON_STEPS = 20
_MIN_RECURSION = 24  # rows; smaller matrices are inverted directly
_MEANING_WEIGHT = 2.0  # of text vectors, relative to words
_MEANING_WEIGHT_BESIDE_BAD = 0.7  # if there are enough bad examples, from which the weights of words are learnt better
_FEW_WORDS, _MEANING_WEIGHT_OF_FEW_WORDS = 50, 3.0  # if the good pages have fewer words in all, the weight is higher
_MIN_RELATIVE_SPREAD = 1e-4  # of positions by text vectors, relative to the largest; below, only words count
_RIDGE = 0.01  # added to the covariance of the vectors
_MIN_COVERAGE = 0.6  # share of the words of good pages in the table of word vectors; below, only words count
_PRIOR_SHARE = 0.25  # prior share of a crawl that is on the topic
_PRIOR_PAGES, _PRIOR_PAGES_BESIDE_GROUPS = 120.0, 10.0  # its weight in pages; the second if pages form two groups
_ODDS_PER_RATIO = 1.0  # odds of the share on the topic / ratio of tails
MIN_BAD = 5  # bad examples needed to calibrate the model by them instead of the crawl
_MIN_GAP = 0.05  # between the mean scores of good and bad; below, there is nothing to calibrate
_BAD_SHARE_ABOVE = 0.05  # share of bad examples above the threshold
_MIN_BETWEEN_SHARE = 0.85  # share of the variance of scores between two groups, from which they count as two
_SPREAD, _SPREAD_PAGES = 0.1, 3.0  # prior standard deviation of the scores of good pages, and its weight in pages
_STEEPNESS = 3.0  # difference in logit between the lower quartile of the others and the median of the good pages

_KERNEL_WORDS = 100_000  # that are in memory at once for each page
_GOOD, _BAD, _CRAWLED, _BACKGROUND = range(4)  # kinds of training pages


def train_from_positives(
    good: Sequence[Terms],
    bad: Sequence[Terms],
    unlabelled: Sequence[Terms],
    background: Sequence[Terms],
    *,
    pages: int = 0,
) -> LinearModel:
    """Trains the model; the same pages in the same order give the same model.

    bad: bad examples of the user, if any.
    unlabelled: pages of the crawl without the good and bad ones.
    background: texts on many subjects; needed until there are pages of the crawl.
    pages: number of pages of the crawl, if the unlabelled ones are a sample of them.
    """
    step = -(-len(unlabelled) // MAX_UNLABELLED) or 1
    documents = _Documents(good, bad, unlabelled[::step], background)
    others_are_bad = bool((documents.kinds[documents.is_calibrating] == _BAD).any())
    probabilities = documents.first_probabilities()
    weights = documents.weights(probabilities)
    active = np.ones(len(documents.kinds), np.bool_)
    for _ in range(_ROUNDS):
        labels = np.where(documents.is_good | (weights.as_good > weights.as_bad), 1.0, -1.0)
        solution = _solve(documents.kernel, labels, weights.costs(labels), active)
        active = solution.active
        combined = documents.combined(solution)
        calibration = _calibrate(
            combined.leave_one_out[documents.is_good],
            combined.leave_one_out[documents.is_calibrating],
            others_are_bad=others_are_bad,
            crawl_size=max(pages, len(unlabelled)),
        )
        # Damped, or rounds may oscillate.
        probabilities = (probabilities + calibration.probability(combined.leave_one_out)) / 2
        weights = documents.weights(probabilities)
    return documents.model(solution, combined, calibration)


@dataclass(frozen=True)
class _Weights:
    """The weight of each page as a good and as a bad example."""

    as_good: Floats
    as_bad: Floats

    def costs(self, labels: Floats) -> Floats:
        """The weights C_i of the loss, by which either class counts as much as the other."""
        weights = np.where(labels > 0, self.as_good, self.as_bad)
        sums = np.where(labels > 0, weights[labels > 0].sum(), weights[labels < 0].sum())
        costs: Floats = _STRENGTH * len(labels) / 2 * weights / sums + 1e-6
        return costs


@dataclass(frozen=True)
class _Solution:
    """The solution of the support vector machine: w = Σ multiplier_i x_i, b = Σ multiplier_i."""

    multipliers: Floats
    active: Bools  # pages within the margin
    leave_one_out: Floats  # the leave-one-out score of each page


@dataclass(frozen=True)
class _Calibration:
    threshold: float
    slope: float

    def probability(self, scores: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(self.slope * (scores - self.threshold), -30, 30))))


@dataclass(frozen=True)
class _CombinedScores:
    """Scores by words and word vectors: words + weight * meaning, with meaning scaled to the spread of words."""

    leave_one_out: Floats
    meaning: Meaning | None
    offset: float  # added to all scores, so that meaning is 0 at its origin


class _Documents:
    """Pages as vectors x_w = (1 + ln count_w) * idf_w of length 1, with their kernel x_i · x_j + 1."""

    def __init__(
        self, good: Sequence[Terms], bad: Sequence[Terms], unlabelled: Sequence[Terms], background: Sequence[Terms]
    ):
        pages_by_kind = [
            [as_counted_terms(terms) for terms in map(_usable, given) if terms]
            for given in (good, bad, unlabelled, background)
        ]
        if not pages_by_kind[_GOOD]:
            raise RecipeError("no good example has a word in it; give at least one page with text")
        if not any(pages_by_kind[_BAD:]):
            raise RecipeError("no bad example has a word in it; give at least one page with text")
        self.kinds = np.repeat(np.arange(4), list(map(len, pages_by_kind)))
        self.is_good = self.kinds == _GOOD
        has_enough_bad = len(pages_by_kind[_BAD]) >= MIN_BAD or not any(pages_by_kind[_CRAWLED:])
        other_kind = _BAD if has_enough_bad else _CRAWLED if pages_by_kind[_CRAWLED] else _BACKGROUND
        self.is_calibrating = self.kinds == other_kind  # the pages with which good ones are compared to calibrate
        pages = [terms for kind in pages_by_kind for terms in kind]
        self._rows = np.repeat(np.arange(len(pages)), list(map(len, pages)))
        codes = np.concatenate([terms.codes for terms in pages])
        by_code = np.argsort(codes)
        begins = np.flatnonzero(np.diff(codes[by_code], prepend=~codes[by_code[:1]]))  # first occurrence of each code
        all_words = [word for terms in pages for word in terms.words]
        words = [all_words[index] for index in by_code[begins].tolist()]
        order = sorted(range(len(words)), key=words.__getitem__)
        self.words, self._codes = [words[index] for index in order], codes[by_code[begins]][order]
        self._columns = np.empty(len(codes), np.intp)
        self._columns[by_code] = np.repeat(np.argsort(order), np.diff(begins, append=len(codes)))
        counts = np.concatenate([terms.counts for terms in pages]).astype(np.float64)
        document_frequencies = np.bincount(self._columns, minlength=len(self.words))
        self._idf = np.log((1 + len(pages)) / (1.0 + document_frequencies)) + 1.0
        values = (1.0 + np.log(counts)) * self._idf[self._columns]
        lengths = np.sqrt(np.bincount(self._rows, values * values))
        self._values = values / lengths[self._rows]
        self.kernel = self._kernel(document_frequencies)
        self.meaning_scores = _score_meaning(pages, self.kinds)
        self._has_evidence = self.meaning_scores is not None or self._shares_words()
        if sum(int(terms.counts.sum()) for terms in pages_by_kind[_GOOD]) < _FEW_WORDS:
            self._weight_of_meaning = _MEANING_WEIGHT_OF_FEW_WORDS
        else:
            self._weight_of_meaning = _MEANING_WEIGHT_BESIDE_BAD if other_kind == _BAD else _MEANING_WEIGHT

    def _kernel(self, document_frequencies: NDArray[np.int64]) -> Floats:
        """Words that occur on a single page affect only its length, which is 1."""
        is_shared = document_frequencies[self._columns] > 1
        column_of = np.cumsum(document_frequencies > 1) - 1
        rows, columns, values = self._rows[is_shared], column_of[self._columns[is_shared]], self._values[is_shared]
        shared_words = int(np.count_nonzero(document_frequencies > 1))
        kernel = np.zeros((len(self.kinds), len(self.kinds)))
        for start in range(0, shared_words, _KERNEL_WORDS):
            is_within = (columns >= start) & (columns < start + _KERNEL_WORDS)
            dense = np.zeros((len(self.kinds), min(_KERNEL_WORDS, shared_words - start)), np.float32)
            dense[rows[is_within], columns[is_within] - start] = values[is_within]
            kernel += dense @ dense.T
        np.fill_diagonal(kernel, 1.0)
        return kernel + 1.0

    def _shares_words(self) -> bool:
        """Whether a page of the crawl, if there are any, has a word of a good page. If none has, the groups that they
        form say nothing about the topic."""
        crawled = self.kinds == _CRAWLED
        return not crawled.any() or bool((self.kernel[np.ix_(self.is_good, crawled)] > 1.0).any())

    def first_probabilities(self) -> Floats:
        """Initial probabilities of unlabelled pages: 0, except for the upper group if they clearly form two groups.

        A model of the good examples against the background separates the groups of a crawl that is mostly on the topic;
        one trained against the crawl itself would not.
        """
        crawled = self.kinds == _CRAWLED
        probabilities = np.zeros(len(self.kinds))
        if crawled.any() and not crawled[~self.is_good].all():
            labels = np.where(self.is_good, 1.0, -1.0)
            weights = np.where(crawled, 1e-6, 1.0)
            solution = _solve(self.kernel, labels, _Weights(weights, weights).costs(labels), ~crawled)
            gap = _gap(solution.leave_one_out[crawled])
            if gap is not None:
                probabilities[crawled] = solution.leave_one_out[crawled] > gap
        return probabilities

    def weights(self, probabilities: Floats) -> _Weights:
        """probabilities: of being on the topic; only those of unlabelled pages and of the background are used."""
        crawled = self.kinds == _CRAWLED
        # The square root is cautious: a page of probability 0.5 has little weight as a bad example.
        responsibility = np.sqrt(probabilities) if self._has_evidence else np.zeros(len(probabilities))
        background = _BACKGROUND_WEIGHT if np.count_nonzero(crawled) > _MAX_FULL_BACKGROUND else 1.0
        as_bad = np.array([0.0, 1.0, 1.0, background]).take(self.kinds)
        as_good = np.array([1.0, 0.0, _SELF_TRAINING_WEIGHT, 0.0]).take(self.kinds)
        as_bad *= np.where(self.kinds >= _CRAWLED, 1.0 - responsibility, 1.0)
        as_good *= np.where(crawled, responsibility, 1.0)
        if not np.any(as_bad > as_good):  # all are certainly on the topic: take the least certain page as bad
            as_bad[np.argmin(np.where(self.is_good, np.inf, as_good))] = 1.0
        return _Weights(as_good, as_bad)

    def combined(self, solution: _Solution) -> _CombinedScores:
        """The scores by words, with those by word vectors added."""
        by_meaning = self.meaning_scores
        if by_meaning is None:
            return _CombinedScores(solution.leave_one_out, None, 0.0)
        others = self.is_calibrating
        spreads = [float(scores[others].std()) for scores in (solution.leave_one_out, by_meaning.leave_one_out)]
        largest = float(np.abs(by_meaning.leave_one_out - by_meaning.origin).max())
        # If the spread is less, the others have the same words with vectors, as by a template.
        if spreads[1] <= _MIN_RELATIVE_SPREAD * largest:
            return _CombinedScores(solution.leave_one_out, None, 0.0)
        scale = self._weight_of_meaning * (spreads[0] / spreads[1])
        offset = -scale * by_meaning.origin
        leave_one_out = solution.leave_one_out + scale * by_meaning.leave_one_out + offset
        return _CombinedScores(leave_one_out, by_meaning.direction.scaled(scale), offset)

    def model(self, solution: _Solution, combined: _CombinedScores, calibration: _Calibration) -> LinearModel:
        """The model by these scores, at distances (score - threshold) * slope / SLOPE."""
        scale = calibration.slope / SLOPE
        products = solution.multipliers[self._rows] * self._values
        weights = np.bincount(self._columns, products, len(self.words)) * scale
        heaviest = np.arange(len(weights))
        if len(weights) > MAX_TERMS:
            heaviest = np.sort(np.argsort(-np.abs(weights), kind="stable")[:MAX_TERMS])
        words = [self.words[index] for index in heaviest.tolist()]
        numbers = zip(self._idf[heaviest].tolist(), weights[heaviest].tolist(), strict=True)
        bias = float(solution.multipliers.sum()) + combined.offset
        return LinearModel(
            dict(zip(words, numbers, strict=True)),
            bias=(bias - calibration.threshold) * scale,
            idf_of_new=log((1 + len(self.kinds)) / 2) + 1.0,
            meaning=combined.meaning and combined.meaning.scaled(scale),
            codes=self._codes[heaviest],
        )


@dataclass(frozen=True)
class _MeaningScores:
    """The position of each page along the direction of the topic; leave-one-out for good pages."""

    direction: Meaning
    origin: float  # position of the mean of the others
    leave_one_out: Floats


def _score_meaning(pages: Sequence[CountedTerms], kinds: NDArray[np.int64]) -> _MeaningScores | None:
    """The direction of the good pages relative to all others, among text vectors; None if too few words of the good
    pages are in the table of word vectors."""
    (good,) = (kinds == _GOOD).nonzero()
    table = builtin_embedding()
    are_few = sum(int(pages[index].counts.sum()) for index in good) < _FEW_WORDS
    min_coverage = 1e-9 if are_few else _MIN_COVERAGE  # if there are few words, any known one is enough
    if np.mean([pages[index].coverage for index in good]) < min_coverage:
        return None
    vectors = np.array([terms.vector for terms in pages])
    if are_few:
        vectors[good] = [pages[index].vector_as_written for index in good]
    others = np.concatenate((vectors[kinds != _GOOD], table.background))
    origin = others.mean(axis=0)
    covariance = (others - origin).T @ (others - origin) / len(others) + _RIDGE * np.eye(vectors.shape[1])
    precision = np.linalg.inv(covariance)
    leave_one_out = vectors @ (precision @ (vectors[good].mean(axis=0) - origin))
    if len(good) > 1:
        total = vectors[good].sum(axis=0)
        for index in good:
            leave_one_out[index] = vectors[index] @ (precision @ ((total - vectors[index]) / (len(good) - 1) - origin))
    direction = precision @ (vectors[good].mean(axis=0) - origin)
    return _MeaningScores(Meaning(direction), float(origin @ direction), leave_one_out)


def _usable(terms: Terms) -> Terms:
    if isinstance(terms, CountedTerms) or max(map(len, terms), default=0) <= MAX_TERM_LENGTH:
        return terms
    return {word: count for word, count in terms.items() if len(word) <= MAX_TERM_LENGTH}


def _solve(kernel: Floats, labels: Floats, costs: Floats, active: Bools) -> _Solution:
    """The squared-hinge support vector machine by Newton's method on the set of active pages.

    With A = K + diag(1 / 2C) over the active pages, the multipliers are A⁻¹ y; they are exact once the set of pages
    within the margin no longer changes. The leave-one-out score of an active page is y_i - (A⁻¹ y)_i / (A⁻¹)_ii. With
    the Cholesky factor L of A, A⁻¹ = Wᵀ W for W = L⁻¹, which takes a third of the time of inverting A.

    active: the initial set, such as that of a similar problem.
    """
    for _ in range(_NEWTON_STEPS):
        (indices,) = active.nonzero()
        if not len(indices):
            active = np.ones(len(labels), np.bool_)
            continue
        whitening = _inverse_of_triangle(
            np.linalg.cholesky(kernel[np.ix_(indices, indices)] + np.diag(0.5 / costs[indices]))
        )
        active_multipliers = whitening.T @ (whitening @ labels[indices])
        scores = kernel[:, indices] @ active_multipliers
        within_margin = labels * scores < 1.0
        if np.array_equal(within_margin, active):
            break
        active, before = within_margin, active
    else:
        active = before  # the set that the multipliers belong to
    multipliers, leave_one_out = np.zeros(len(labels)), scores.copy()
    multipliers[indices] = active_multipliers
    leave_one_out[indices] = labels[indices] - active_multipliers / np.einsum("ij,ij->j", whitening, whitening)
    return _Solution(multipliers, active, leave_one_out)


def _inverse_of_triangle(lower: NDArray[np.floating]) -> Floats:
    """The inverse of a lower triangular matrix, by recursion on its halves."""
    half = len(lower) // 2
    if half < _MIN_RECURSION:
        return np.asarray(np.linalg.inv(lower))
    inverse = np.zeros_like(lower)
    upper_left = inverse[:half, :half] = _inverse_of_triangle(lower[:half, :half])
    lower_right = inverse[half:, half:] = _inverse_of_triangle(lower[half:, half:])
    inverse[half:, :half] = -lower_right @ (lower[half:, :half] @ upper_left)
    return inverse


def _calibrate(good: Floats, others: Floats, *, others_are_bad: bool, crawl_size: int) -> _Calibration:
    """Threshold and slope of the logit, from the leave-one-out scores of good pages and of others.

    others_are_bad: whether the others are known to be bad.
    crawl_size: number of pages of the crawl; the others may be a sample of them.
    """
    others = np.sort(others)
    if len(good) == 1:
        good = (good + _quantile(others, 0.5)) / 2  # a single example scores higher than pages like it would
    good = np.sort(good)
    if others_are_bad and good.mean() - others.mean() > _MIN_GAP:
        slope, offset = calibrate(good.tolist(), others.tolist())
        return _Calibration(-offset / slope, slope)
    share = _BAD_SHARE_ABOVE if others_are_bad else _share_on_topic(good, others, crawl_size)
    threshold = _quantile(others, 1.0 - share)
    middle, low = _quantile(good, 0.5), _quantile(others, 0.25)
    gap = None if others_are_bad else _gap_below(good, others)
    if gap is not None:  # the threshold must not cut through the upper group
        threshold, low = min(threshold, gap), min(low, _quantile(others[: others.searchsorted(gap)], 0.5))
    return _Calibration(threshold, _STEEPNESS / max(middle - low, 0.1))


def _share_on_topic(good: Floats, others: Floats, crawl_size: int) -> float:
    """The estimated share of the pages of a crawl that are on the topic, shrunk to a prior; both arguments are sorted.

    If the others form two groups with a gap between them, it is the share of the upper one. Otherwise, the least ratio
    of tails, P(other > t) / P(good > t), with t around the median of the good, is an upper bound, and the odds of the
    share are estimated as this ratio + 0.02. Then, with n pages and m = 120, or 10 if there are two groups,

        share' = (n share + m * 0.25) / (n + m),

    since in short crawls, whose length depends on the size of the topic, the scores say little about the share. The
    numbers were fitted on crawls of 150 to 1,000 pages whose truth is known.
    """
    gap = _gap_below(good, others)
    if gap is not None:
        share, prior_pages = float((others > gap).mean()), _PRIOR_PAGES_BESIDE_GROUPS
    else:
        spread = np.sqrt((good.var() * len(good) + _SPREAD**2 * _SPREAD_PAGES) / (len(good) + _SPREAD_PAGES))
        thresholds = _quantile(good, 0.5) + spread * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        good_tails = np.array([0.84, 0.69, 0.5, 0.31, 0.16])  # of a normal distribution
        ratio = float(((1.0 - others.searchsorted(thresholds, "right") / len(others)) / good_tails).min())
        odds = _ODDS_PER_RATIO * (min(ratio, 1.0) + 0.02)
        share, prior_pages = odds / (1.0 + odds), _PRIOR_PAGES
    count = max(crawl_size, len(others))
    return (share * count + _PRIOR_SHARE * prior_pages) / (count + prior_pages)


def _gap_below(good: Floats, others: Floats) -> float | None:
    """The score that separates the others into two groups, if any, of which the upper one is like the good pages; both
    arguments are sorted."""
    gap = _gap(others)
    return gap if gap is not None and _quantile(good, 0.5) > gap else None


def _quantile(ordered: Floats, share: float) -> float:
    """A quantile of sorted scores by linear interpolation: that of numpy, which takes ten times as long."""
    place = share * (len(ordered) - 1)
    index = min(int(place), len(ordered) - 2)
    if index < 0:
        return float(ordered[0])
    low, high = float(ordered[index]), float(ordered[index + 1])
    return low + (high - low) * (place - index)


def _gap(scores: Floats) -> float | None:
    """The threshold that splits scores into two groups with the most variance between them (Otsu's method); None if
    they are not clearly two: for a single normal distribution, 64 % of the variance lies between the halves."""
    ordered = np.sort(scores)
    count, total, variance = len(ordered), ordered.sum(), float(ordered.var())
    if count < 4 or variance < 1e-12:
        return None
    below = np.arange(1, count)
    sums = np.cumsum(ordered)[:-1]
    between = (sums / below - (total - sums) / (count - below)) ** 2 * below * (count - below) / count**2
    best = int(between.argmax())
    return float(ordered[best : best + 2].mean()) if between[best] > _MIN_BETWEEN_SHARE * variance else None
