"""Likeness to the topic, against sums done by hand and by a slow way with dictionaries."""

from collections.abc import Mapping
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa_lab.retrieval import TermMatrix, atc_similarities, pooled_ranks, tfidf_similarities
from pages import GivenWords

Terms = Mapping[str, int]
some_terms = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9))

LN3, LN1_5 = log(3), log(1.5)
TOPIC = {"amber": 1, "bee": 1, "unheard": 5}
POOL = [{"amber": 2, "bee": 1}, {"bee": 1, "car": 1}, {"car": 4}]  # amber in one page, bee and car in two of three


def documents_of(*texts: Terms) -> TermMatrix:
    return TermMatrix.of([GivenWords(text).term_counts for text in texts])


def slow_cosines(topic: Terms, pool: list[Terms], *, atc: bool) -> list[float]:
    document_frequencies = {term: sum(term in text for text in pool) for term in set().union(*pool)}

    def weights(text: Terms) -> dict[str, float]:
        if atc:
            return {
                term: (0.5 + 0.5 * count / max(text.values())) * log(len(pool) / document_frequencies[term])
                for term, count in text.items()
                if term in document_frequencies
            }
        return {
            term: count * (1 + log(len(pool) / document_frequencies[term]))
            for term, count in text.items()
            if term in document_frequencies
        }

    def cosine(first: dict[str, float], second: dict[str, float]) -> float:
        lengths = sqrt(sum(w * w for w in first.values()) * sum(w * w for w in second.values()))
        return sum(first[term] * second[term] for term in first.keys() & second.keys()) / lengths if lengths else 0.0

    return [cosine(weights(topic), weights(text)) for text in pool]


def test_atc_by_hand():
    topic = (0.6 * LN3, 0.6 * LN1_5)  # .5 + .5 / 5 = .6; the word that no page has weighs nothing
    length = sqrt(topic[0] ** 2 + topic[1] ** 2)
    first = (1.0 * LN3, 0.75 * LN1_5)
    assert atc_similarities(GivenWords(TOPIC).term_counts, documents_of(*POOL)) == pytest.approx(
        [
            (topic[0] * first[0] + topic[1] * first[1]) / length / sqrt(first[0] ** 2 + first[1] ** 2),
            topic[1] * LN1_5 / length / sqrt(2 * LN1_5**2),
            0,
        ]
    )


def test_tfidf_by_hand():
    amber, bee, car = 1 + LN3, 1 + LN1_5, 1 + LN1_5
    length = sqrt(amber**2 + bee**2)
    assert tfidf_similarities(GivenWords(TOPIC).term_counts, documents_of(*POOL)) == pytest.approx(
        [
            (amber * 2 * amber + bee * bee) / length / sqrt((2 * amber) ** 2 + bee**2),
            bee * bee / length / sqrt(bee**2 + car**2),
            0,
        ]
    )


def test_the_best_page_has_rank_one_and_equals_share_their_mean_rank():
    pool = documents_of({"car": 1}, {"amber": 1}, {"car": 3}, {"amber": 1, "car": 1}, {"amber": 1, "car": 1})
    assert pooled_ranks(GivenWords({"amber": 1}).term_counts, pool).tolist() == [4.5, 1, 4.5, 2.5, 2.5]


def test_pages_without_words_and_topics_unheard_of_are_like_nothing():
    pool = documents_of({"bee": 1}, {}, {"car": 2})
    assert tfidf_similarities(GivenWords({"bee": 1}).term_counts, pool).tolist() == [1, 0, 0]
    for topic in ({}, {"unheard": 3}):
        assert tfidf_similarities(GivenWords(topic).term_counts, pool).tolist() == [0, 0, 0]
        assert pooled_ranks(GivenWords(topic).term_counts, pool).tolist() == [2, 2, 2]
    assert len(pooled_ranks(GivenWords({"bee": 1}).term_counts, documents_of())) == 0


@given(topic=some_terms, pool=st.lists(some_terms, max_size=8))
def test_any_pool_is_judged_as_the_slow_way_does(topic, pool):
    counted, documents = GivenWords(topic).term_counts, documents_of(*pool)
    assert atc_similarities(counted, documents) == pytest.approx(slow_cosines(topic, pool, atc=True))
    assert tfidf_similarities(counted, documents) == pytest.approx(slow_cosines(topic, pool, atc=False))
    assert pooled_ranks(counted, documents).sum() == pytest.approx(len(pool) * (len(pool) + 1) / 2)


@given(topic=some_terms, texts=st.lists(some_terms, min_size=1, max_size=8), chosen=st.sets(st.integers(0, 7)))
def test_chosen_documents_are_judged_as_if_there_were_no_others(topic, texts, chosen):
    places = [place for place in chosen if place < len(texts)]
    some, alone = documents_of(*texts).select_rows(places), documents_of(*(texts[place] for place in places))
    counted = GivenWords(topic).term_counts
    assert tfidf_similarities(counted, some) == pytest.approx(tfidf_similarities(counted, alone))
    assert atc_similarities(counted, some) == pytest.approx(atc_similarities(counted, alone))


@given(first=st.lists(some_terms, max_size=5), second=st.lists(some_terms, max_size=5))
def test_documents_put_together_are_as_if_made_together(first, second):
    together, sum_of_both = documents_of(*first, *second), documents_of(*first) + documents_of(*second)
    shared = together.select_rows(range(len(first))) + together.select_rows(range(len(first), len(first) + len(second)))
    for documents in (sum_of_both, shared):
        assert documents.codes.tolist() == together.codes.tolist()
        assert documents.starts.tolist() == together.starts.tolist()
        assert documents.columns.tolist() == together.columns.tolist()
        assert documents.counts.tolist() == together.counts.tolist()


def test_a_table_knows_its_rows_and_the_holders_of_each_term():
    documents = documents_of({"bee": 2}, {}, {"bee": 1, "car": 7})
    assert len(documents) == 3
    assert documents.rows.tolist() == [0, 2, 2]
    assert dict(zip(documents.codes.tolist(), documents.document_frequencies.tolist(), strict=True)) == {
        int(GivenWords({"bee": 1}).term_counts[0][0]): 2,
        int(GivenWords({"car": 1}).term_counts[0][0]): 1,
    }
    assert documents.largest_counts().tolist() == [2, 0, 7]
    assert np.isfinite(documents.sum_by_row(documents.counts)).all()
