"""Assessors: linear classifiers, trained for each topic, that decide which crawled pages are good.

Menczer, Pant, Ruiz and Srinivasan, Evaluating Topic-Driven Web Crawlers, 2001, section 4.1, with the classifiers of
Lewis, Schapire, Callan and Papka, Training Algorithms for Linear Text Classifiers, 1996. A page is a vector of unit
length over all its terms, count · ln(training pages / training pages with the term), restricted to the features of the
topic; a term of no training page counts as if one page had it. Targets are 1 for positive and 0 for negative pages.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lycosa.vocabulary.records import Codes

from .retrieval import Floats, Indices, Matrix, TermMatrix

FEATURE_COUNT = 50
ROCCHIO_POSITIVE, ROCCHIO_NEGATIVE = 16.0, 4.0

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
Learner = Callable[[Matrix, Floats], Floats]  # vectors and their targets, in the order of training -> weights


@dataclass(frozen=True, eq=False)
class TopicFeatures:
    """The terms chosen as features of a topic, and the inverse document frequency of all terms in training pages."""

    vocabulary: Codes  # sorted
    idf: Floats  # of each term of the vocabulary; the last is for other terms
    feature_indices: Indices  # of the features in the vocabulary, ascending

    @property
    def feature_codes(self) -> Codes:
        """The codes of the features, ascending."""
        return self.vocabulary[self.feature_indices]

    def vectors(self, documents: TermMatrix) -> Matrix:
        """The features of each document, as components of the unit vector over all its terms."""
        # -1 for terms that are not in the vocabulary, and so the last of `idf`
        vocabulary_indices = documents.indices_in(self.vocabulary)
        weights = documents.counts * self.idf[vocabulary_indices][documents.columns]
        lengths = np.sqrt(documents.sum_by_row(weights**2))[documents.rows]
        feature_of_term = np.full(len(self.idf), -1)
        feature_of_term[self.feature_indices] = np.arange(len(self.feature_indices))
        features = feature_of_term[vocabulary_indices][documents.columns]
        are_features = (features >= 0) & (lengths > 0)
        vectors = np.zeros((len(documents), len(self.feature_indices)))
        vectors[documents.rows[are_features], features[are_features]] = weights[are_features] / lengths[are_features]
        return vectors


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """Accepts the documents whose weighted features reach a threshold."""

    features: TopicFeatures
    weights: Floats
    threshold: float  # above 0, so that a document without features is never accepted

    def accepts(self, documents: TermMatrix) -> Bools:
        return scores(self.features.vectors(documents), self.weights) >= self.threshold


def train_classifiers(
    positives: TermMatrix, negatives: TermMatrix, *, feature_count: int = FEATURE_COUNT, seed: int = 0
) -> dict[str, LinearClassifier]:
    """An classifier of each kind, by name; online learners see each page once, in an order shuffled by the seed."""
    documents = positives + negatives
    are_positive = np.arange(len(documents)) < len(positives)
    chosen = choose_features(documents, are_positive, feature_count)
    order = np.random.default_rng(seed).permutation(len(documents))
    vectors, targets = chosen.vectors(documents)[order], are_positive[order].astype(np.float64)
    classifiers = {}
    for name, learner in LEARNERS.items():
        weights = learner(vectors, targets)
        classifiers[name] = LinearClassifier(chosen, weights, best_threshold(scores(vectors, weights), targets > 0))
    return classifiers


def scores(vectors: Matrix, weights: Floats) -> Floats:
    """Vectors times weights, summed row by row, so that equal vectors have exactly equal scores."""
    products: Floats = (vectors * weights).sum(axis=1)
    return products


def choose_features(documents: TermMatrix, are_positive: Bools, count: int = FEATURE_COUNT) -> TopicFeatures:
    """Up to `count` terms with the highest positive correlation with positive documents; among equals, the smaller
    codes."""
    columns_of_positives = documents.columns[are_positive[documents.rows]]
    positives_with_term: Indices = np.bincount(columns_of_positives, minlength=len(documents.codes)).astype(np.intp)
    correlations = correlation(
        documents.document_frequencies,
        positives_with_term,
        document_count=len(documents),
        positive_count=int(are_positive.sum()),
    )
    best = np.sort(np.argsort(-correlations, kind="stable")[:count])
    idf = np.log(max(1, len(documents)) / np.maximum(1, np.append(documents.document_frequencies, 0)))
    return TopicFeatures(documents.codes, idf, best[correlations[best] > 0])


def correlation(
    with_term: Indices, positives_with_term: Indices, *, document_count: int, positive_count: int
) -> Floats:
    """The correlation coefficient of each term with positive documents, of Ng, Goh and Low, 1997.

    It is the one-sided root of χ²; 0 for a term that all or none of the documents have.

    with_term, positives_with_term: for each term the number of documents, and of positive ones, that have it.
    """
    negatives_with_term = with_term - positives_with_term
    positives_without, negative_count = positive_count - positives_with_term, document_count - positive_count
    negatives_without = negative_count - negatives_with_term
    determinant = positives_with_term * negatives_without - positives_without * negatives_with_term
    normaliser = np.sqrt(float(positive_count * negative_count) * with_term * (document_count - with_term))
    coefficients: Floats = determinant * np.sqrt(document_count) / np.where(normaliser > 0, normaliser, np.inf)
    return coefficients


def rocchio(vectors: Matrix, targets: Floats) -> Floats:
    """w = max(0, 16 · mean of the positive vectors − 4 · mean of the negative vectors)."""
    weights = np.zeros(vectors.shape[1])
    if (targets > 0).any():
        weights += ROCCHIO_POSITIVE * vectors[targets > 0].mean(axis=0)
    if (targets <= 0).any():
        weights -= ROCCHIO_NEGATIVE * vectors[targets <= 0].mean(axis=0)
    return np.maximum(weights, 0.0)


def widrow_hoff(vectors: Matrix, targets: Floats) -> Floats:
    """w ← w − 2η(w·x − y)x from 0, η = 1/(4X²) with X the longest vector; the mean of all w, the first among them."""
    weights = np.zeros(vectors.shape[1])
    longest_squared = float((vectors**2).sum(axis=1).max(initial=0.0))
    if not longest_squared:
        return weights
    rate, total = 1 / (4 * longest_squared), weights.copy()
    for vector, target in zip(vectors, targets.tolist(), strict=True):
        weights -= 2 * rate * (float(weights @ vector) - target) * vector
        total += weights
    return total / (len(vectors) + 1)


def exponentiated_gradient(vectors: Matrix, targets: Floats) -> Floats:
    """wᵢ ← wᵢ·exp(−2η(w·x − y)xᵢ), summing to 1, from equal ones; the mean of all w, the first among them.

    η = 2/(3R²) with R the largest span, from smallest to largest component, of any vector.
    """
    size = vectors.shape[1]
    weights = np.full(size, 1 / max(1, size))
    span = float((vectors.max(axis=1) - vectors.min(axis=1)).max(initial=0.0)) if size else 0.0
    if not span:
        return weights
    rate, total = 2 / (3 * span**2), weights.copy()
    for vector, target in zip(vectors, targets.tolist(), strict=True):
        weights *= np.exp(-2 * rate * (float(weights @ vector) - target) * vector)
        weights /= weights.sum()
        total += weights
    return total / (len(vectors) + 1)


LEARNERS: dict[str, Learner] = {"rocchio": rocchio, "widrow-hoff": widrow_hoff, "eg": exponentiated_gradient}


def best_threshold(scored: Floats, are_positive: Bools) -> float:
    """The threshold with the highest F1 on these documents; among equals, the strictest.

    It lies midway between the last score accepted and the first one rejected, and always above 0, the score of
    documents without features. Infinite if no document with a score above 0 is positive.
    """
    order = np.argsort(-scored, kind="stable")
    descending, hits = scored[order], np.cumsum(are_positive[order])
    accepted_counts = np.arange(1, len(order) + 1)
    f1 = 2 * hits / (accepted_counts + int(are_positive.sum()))
    # A threshold may not divide equal scores: whether each is the last of those equal to it.
    ends_a_tie = np.append(descending[1:] < descending[:-1], True)[: len(order)]
    f1[~(ends_a_tie & (descending > 0))] = 0.0
    if not f1.any():
        return float("inf")
    best = int(np.argmax(f1))
    next_score = max(0.0, float(descending[best + 1])) if best + 1 < len(descending) else 0.0
    midway = (float(descending[best]) + next_score) / 2
    return midway if midway > next_score else float(descending[best])
