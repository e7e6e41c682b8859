"""Assessors, against sums done by hand."""

from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.text import codes_of
from lycosa_lab.classifiers import (
    LEARNERS,
    best_threshold,
    choose_features,
    correlation,
    exponentiated_gradient,
    rocchio,
    train_classifiers,
    widrow_hoff,
)
from lycosa_lab.retrieval import TermMatrix
from pages import GivenWords

some_terms = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9))


def documents_of(*texts):
    return TermMatrix.of([GivenWords(text).term_counts for text in texts])


def f1(accepted, are_positive):
    return 2 * (accepted & are_positive).sum() / (accepted.sum() + are_positive.sum())


def test_correlation_by_hand():
    # ten documents, four of them positive; the terms are in three positives and one negative, in one and three, ...
    with_term, positives_with_term = np.array([4, 4, 10, 0, 4]), np.array([3, 1, 4, 0, 4])
    found = correlation(with_term, positives_with_term, document_count=10, positive_count=4)
    by_hand = [(3 * 5 - 1 * 1) * sqrt(10) / 24, (1 * 3 - 3 * 3) * sqrt(10) / 24, 0, 0, (4 * 6) * sqrt(10) / 24]
    assert found == pytest.approx(by_hand)


def test_the_most_telling_terms_are_chosen_and_none_that_speaks_against():
    documents = documents_of({"bee": 9, "the": 1}, {"bee": 1, "hive": 1, "the": 1}, {"car": 1, "the": 1}, {"car": 5})
    are_positive = np.array([True, True, False, False])
    assert choose_features(documents, are_positive, 1).feature_codes.tolist() == codes_of(["bee"]).tolist()
    assert set(choose_features(documents, are_positive).feature_codes.tolist()) == set(
        codes_of(["bee", "hive", "the"]).tolist()
    )


def test_vectors_by_hand():
    documents = documents_of({"bee": 3, "car": 1}, {"bee": 1}, {"car": 1}, {})
    features = choose_features(documents, np.array([True, True, False, False]), 1)
    both, unheard = documents_of({"bee": 3, "car": 4}), documents_of({"bee": 1, "unheard": 1}, {"unheard": 1})
    assert features.feature_codes.tolist() == codes_of(["bee"]).tolist()
    assert features.vectors(documents)[:, 0] == pytest.approx([3 / sqrt(10), 1, 0, 0])  # equally rare: ln(4 / 2)
    assert features.vectors(both)[:, 0] == pytest.approx([3 / 5])
    assert features.vectors(unheard)[:, 0] == pytest.approx([log(2) / sqrt(log(2) ** 2 + log(4) ** 2), 0])


def test_rocchio_by_hand():
    vectors = np.array([[0.6, 0.8, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert rocchio(vectors[:2], np.array([1.0, 0.0])) == pytest.approx([16 * 0.6 - 4, 16 * 0.8, 0])
    assert rocchio(vectors, np.array([1.0, 0.0, 0.0])) == pytest.approx([16 * 0.6 - 4 / 2, 16 * 0.8, 0])


def test_two_steps_of_widrow_hoff_by_hand():
    vectors = np.array([[1.0, 0.0], [0.6, 0.8]])  # η = 1/4: first (.5, 0), then less .5 · .3 · (.6, .8)
    assert widrow_hoff(vectors, np.array([1.0, 0.0])) == pytest.approx([(0.5 + 0.41) / 3, -0.12 / 3])
    longer = 2 * vectors  # η = 1/16: first (.25, 0), then less .125 · .3 · (1.2, 1.6)
    assert widrow_hoff(longer, np.array([1.0, 0.0])) == pytest.approx([(0.25 + 0.205) / 3, -0.06 / 3])


def test_two_steps_of_eg_by_hand():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]])  # η = 2/3
    first = exp(4 / 3 * 0.5) / (exp(4 / 3 * 0.5) + 1)
    other = (1 - first) * exp(-4 / 3 * (1 - first))
    second = first / (first + other)
    weights = exponentiated_gradient(vectors, np.array([1.0, 0.0]))
    assert weights == pytest.approx([(0.5 + first + second) / 3, (1.5 - first - second + 1) / 3])
    assert weights == pytest.approx([0.638186, 0.361814], abs=1e-6)


@pytest.mark.parametrize(
    ("scored", "are_positive", "threshold"),
    [
        ([0.5, 0.9, 0.8, 0.7, 0.6], [0, 1, 0, 1, 0], 0.65),  # three accepted: F1 = 4/5
        ([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 0, 1, 0], 0.85),  # F1 = 2/3 with one or with four: the stricter
        ([0.9, 0.8, 0.8, 0.2], [1, 1, 0, 0], 0.5),  # equals are accepted together
        ([0.4, 0.0, 0.0], [1, 1, 0], 0.2),  # never a score of 0
        ([0.4, -0.6], [1, 0], 0.2),
        ([0.0, 0.0], [1, 0], inf),
        ([0.3, 0.2], [0, 0], inf),
        ([], [], inf),
    ],
)
def test_thresholds_by_hand(scored, are_positive, threshold):
    found = best_threshold(np.array(scored, dtype=float), np.array(are_positive, dtype=bool))
    assert found == pytest.approx(threshold)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=12))
def test_no_other_threshold_has_a_higher_f1(examples):
    scored, are_positive = np.array([score for score, _ in examples]), np.array([positive for _, positive in examples])
    best = best_threshold(scored, are_positive)
    for other in scored[scored > 0]:
        if are_positive.any():
            assert f1(scored >= best, are_positive) >= f1(scored >= other, are_positive)


BEE_PAGES = [{"bee": 3, "hive": 1 + n, "page": 1, f"word{n}": 1} for n in range(5)]
OTHER_PAGES = [{"car": 3, "road": 1 + n % 3, "page": 1, f"other{n}": 1} for n in range(40)]


@pytest.mark.parametrize("seed", [0, 1])
def test_every_assessor_tells_topics_apart_that_share_no_words(seed):
    classifiers = train_classifiers(documents_of(*BEE_PAGES), documents_of(*OTHER_PAGES), seed=seed)
    assert set(classifiers) == {"rocchio", "widrow-hoff", "eg"} == set(LEARNERS)
    unseen = documents_of({"bee": 2, "hive": 1}, {"road": 2, "car": 1, "page": 1}, {"unheard": 4}, {})
    for classifier in classifiers.values():
        assert classifier.accepts(documents_of(*BEE_PAGES)).all()
        assert not classifier.accepts(documents_of(*OTHER_PAGES)).any()
        assert classifier.accepts(unseen).tolist() == [True, False, False, False]


def test_the_order_of_training_comes_from_the_seed():
    together = documents_of(*BEE_PAGES, *OTHER_PAGES)
    positives, negatives = together.select_rows(range(5)), together.select_rows(range(5, 45))

    def weights(seed):
        return {
            name: each.weights.tolist() for name, each in train_classifiers(positives, negatives, seed=seed).items()
        }

    assert weights(1) == weights(1)
    assert weights(1)["widrow-hoff"] != weights(2)["widrow-hoff"]
    assert weights(1)["rocchio"] == pytest.approx(weights(2)["rocchio"])  # the same up to rounding: order is no matter


def test_a_shared_vocabulary_makes_no_difference():
    together = documents_of(*BEE_PAGES, *OTHER_PAGES, {"bee": 1, "quite": 1, "elsewhere": 1})
    shared = train_classifiers(together.select_rows(range(5)), together.select_rows(range(5, 45)))
    alone = train_classifiers(documents_of(*BEE_PAGES), documents_of(*OTHER_PAGES))
    for name, classifier in shared.items():
        assert classifier.features.feature_codes.tolist() == alone[name].features.feature_codes.tolist()
        assert classifier.weights == pytest.approx(alone[name].weights)
        assert classifier.accepts(together).tolist() == alone[name].accepts(together).tolist()


def test_examples_that_nothing_tells_apart_accept_nothing():
    same = documents_of({"bee": 1}, {"bee": 2})
    for classifier in train_classifiers(same, same).values():
        assert not classifier.accepts(same).any()


@given(
    positives=st.lists(some_terms, max_size=4), negatives=st.lists(some_terms, max_size=6), pages=st.lists(some_terms)
)
def test_pages_are_judged_each_by_itself(positives, negatives, pages):
    for classifier in train_classifiers(documents_of(*positives), documents_of(*negatives)).values():
        assert np.isfinite(classifier.weights).all()
        one_by_one = [bool(classifier.accepts(documents_of(page))[0]) for page in pages]
        assert classifier.accepts(documents_of(*pages)).tolist() == one_by_one
