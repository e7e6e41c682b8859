"""Words as arrays judge and train as words do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.reading import page_of_text
from lycosa.reading.words import FoldedWords
from lycosa.relevance.embedding import builtin_embedding
from lycosa.relevance.positive_unlabelled import _solve, train_from_positives
from lycosa.relevance.svm import LinearModel, _CodeIndex
from lycosa.relevance.term_counts import (
    MAX_PAGE_TERMS,
    CommonTerms,
    CountedTerms,
    PageCounts,
    TextTerms,
    as_counted_terms,
)
from lycosa.vocabulary.records import Url

GOOD = ["honey bees in their hive", "wax and honey of bees", "a swarm of bees leaves the hive"]
OTHER = ["ships under sail", "the mast of a ship", "a harbour for ships", "ropes, anchors and sails", "gold and silver"]
WORDS = st.lists(
    st.sampled_from(["bee", "hive", "honey", "ship", "mast", "sail", "zebra", "quark", "of", "the", "7"]), max_size=30
)


def terms_of(text: str) -> dict[str, int]:
    return dict(page_of_text(Url("text:"), "", text).terms)


@pytest.fixture(scope="module")
def model() -> LinearModel:
    return train_from_positives(list(map(terms_of, GOOD)), [], list(map(terms_of, OTHER)), [])


@pytest.mark.parametrize("stem", [False, True])
def test_terms_of_pages_have_their_strings_in_a_common_table(stem: bool) -> None:
    common = CommonTerms()
    pages = [page_of_text(Url("text:"), "", text, stem=stem) for text in (*GOOD, *OTHER, "二 漢字語 été", "", *GOOD)]
    counted = [common.terms(page.words, PageCounts.of(page)) for page in pages]
    assert [dict(terms) for terms in counted] == [dict(page.terms) for page in pages]
    assert all(terms.codes.tolist() == CountedTerms(terms).codes.tolist() for terms in counted)
    assert [len(terms) for terms in counted] == [len(page.terms) for page in pages]
    common.keep(counted[:2])
    assert dict(counted[0]) == dict(pages[0].terms)
    assert len(common) == len({*pages[0].terms, *pages[1].terms})


def test_of_a_page_of_too_many_terms_the_same_count_however_they_are_given() -> None:
    page = page_of_text(Url("text:"), "", " ".join(f"w{number:x}x" for number in range(2 * MAX_PAGE_TERMS)))
    counted, given = CommonTerms().terms(page.words, PageCounts.of(page)), CountedTerms(page.terms)
    assert len(counted) == MAX_PAGE_TERMS < len(page.terms)
    assert counted.codes.tolist() == given.codes.tolist()
    assert dict(counted) == dict(given)
    assert counted.vector == pytest.approx(given.vector, abs=1e-6)


def test_a_term_is_made_into_a_string_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    terms_of = FoldedWords.terms_of
    monkeypatch.setattr(FoldedWords, "terms_of", lambda *given: asked.extend(found := terms_of(*given)) or found)
    common = CommonTerms()
    for text in (*GOOD, *GOOD):
        page = page_of_text(Url("text:"), "", text)
        common.terms(page.words, PageCounts.of(page))
    assert len(asked) == len(set(asked)) == len(common)


def test_going_over_the_terms_of_a_page_does_not_make_a_dictionary_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a model of a plug-in does, with each page of a sample."""
    page = page_of_text(Url("text:"), "", " ".join(GOOD))
    counted, expected = CommonTerms().terms(page.words, PageCounts.of(page)), dict(page.terms)
    made: list[dict[str, int]] = []
    plain = type(counted).plain.fget
    monkeypatch.setattr(type(counted), "plain", property(lambda terms: made.append(plain(terms)) or made[-1]))
    assert dict(counted.items()) == {word: counted[word] for word in counted} == expected
    assert (counted.get("zebra"), "zebra" in counted, len(made)) == (None, False, 1)


@pytest.mark.slow
@settings(deadline=None)
@given(texts=st.lists(WORDS, max_size=8))
def test_many_pages_are_judged_as_one_by_one(model: LinearModel, texts: list[list[str]]) -> None:
    pages = [page_of_text(Url("text:"), "", " ".join(words)) for words in texts]
    together = model.relevances_of([PageCounts.of(page) for page in pages])
    assert together == pytest.approx([model.relevance(page) for page in pages], rel=1e-6)


def test_the_vector_of_a_page_is_made_when_it_is_asked_for() -> None:
    page = page_of_text(Url("text:"), "", GOOD[0])
    counts = PageCounts.of(page)
    assert len(counts.vector) == 0
    assert counts.with_vector().vector.tolist() == builtin_embedding().embed_counts(*page.words.term_counts).tolist()


@pytest.mark.slow
@given(
    table=st.sets(st.integers(0, 2**64 - 2), max_size=60),
    wanted=st.lists(st.integers(0, 2**64 - 2), max_size=60),
    near=st.booleans(),
)
def test_codes_are_found_where_a_binary_search_finds_them(table: set[int], wanted: list[int], near: bool) -> None:
    if near:  # many in one slot
        table, wanted = {code % 50 for code in table}, [code % 70 for code in wanted]
    codes = np.array([*sorted(table), 2**64 - 1], np.uint64)
    indices = _CodeIndex(codes).find(np.array([*wanted, *sorted(table)], np.uint64))
    ordered = sorted(table)
    assert indices.tolist() == [ordered.index(code) if code in table else len(ordered) for code in (*wanted, *ordered)]


def test_terms_counted_before_give_the_same_model(model: LinearModel) -> None:
    good, others = [[CountedTerms(terms_of(text)) for text in texts] for texts in (GOOD, OTHER)]
    assert train_from_positives(good, [], others, []).to_plain() == model.to_plain()
    assert as_counted_terms(good[0]) is good[0]
    assert dict(good[0]) == terms_of(GOOD[0]) and len(good[0]) == len(terms_of(GOOD[0]))


@pytest.mark.slow
@settings(deadline=None)
@given(seed=st.integers(0, 1000), count=st.integers(2, 120))
def test_the_solver_finds_what_an_inverse_gives(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.random((count, 30))
    vectors /= np.sqrt((vectors**2).sum(axis=1))[:, None]
    kernel, labels = vectors @ vectors.T + 1.0, np.where(np.arange(count) % 3 == 0, 1.0, -1.0)
    costs = chance.random(count) * 3 + 0.01
    solution = _solve(kernel, labels, costs, np.ones(count, np.bool_))
    (indices,) = solution.active.nonzero()
    inverse = np.linalg.inv(kernel[np.ix_(indices, indices)] + np.diag(0.5 / costs[indices]))
    found = inverse @ labels[indices]
    assert solution.multipliers[indices] == pytest.approx(found, rel=1e-6, abs=1e-9)
    assert solution.leave_one_out[indices] == pytest.approx(
        labels[indices] - found / np.diag(inverse), rel=1e-6, abs=1e-9
    )


def test_a_text_has_the_vector_of_its_words_as_they_are_written() -> None:
    page = page_of_text(Url("text:"), "", "cultural diversity", stem=True)
    terms, as_written = TextTerms(page), {"cultural": 1, "diversity": 1}
    assert dict(terms) == dict(page.terms) != as_written
    assert terms.vector.tolist() == CountedTerms(page.terms).vector.tolist()
    assert terms.vector_as_written == pytest.approx(builtin_embedding().embed_terms(as_written), abs=1e-6)
    assert terms.vector_as_written != pytest.approx(terms.vector, abs=0.01)


def test_a_text_of_words_known_by_their_stems_only_has_the_vector_of_these() -> None:
    terms = TextTerms(page_of_text(Url("text:"), "", "volcanoing", stem=True))
    assert not builtin_embedding().embed_terms({"volcanoing": 1}).any()
    assert terms.vector_as_written.tolist() == terms.vector.tolist() != [0.0] * len(terms.vector)
