from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.reading import page_of_text
from lycosa.reading.terms import StemmingOption
from lycosa.reading.words import FoldedWords
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import _powers, codes_of, folded

LANGUAGES = st.sampled_from(["", "en", "de", "ru", "tr", "hi", "ar", "ja"])
TEXT = st.text(max_size=300) | st.text(alphabet="абвеинослых aeénrstüğıनमताةالم", max_size=300)


@pytest.mark.slow
@given(TEXT, st.booleans() | st.just("porter"), LANGUAGES)
@example("The spider's 12 webs \u2014 \u00a9 2024, \u4f60\u597d\u4e16\u754c a1 1st", False, "en")
def test_codes_say_what_tokens_and_terms_say(text: str, stem: StemmingOption, language: str) -> None:
    words = FoldedWords(folded(text), stem=stem, language=language)
    assert np.array_equal(words.codes, codes_of(words.tokens))
    assert words.length == len(words.tokens)
    assert words.numbers == sum(token.isascii() and token.isdigit() for token in words.tokens)
    codes, counts = words.term_counts
    expected = sorted(zip(codes_of(words.terms).tolist(), words.terms.values(), strict=True))
    assert list(zip(codes.tolist(), counts.tolist(), strict=True)) == expected


@given(TEXT, st.booleans())
@example("The spider's webs \u2014 \u00a9 \u4f60\u597d\u4e16\u754c and webs", True)
def test_terms_are_placed_where_they_stand_in_the_text(text: str, stem: bool) -> None:
    text = text.lower()  # which is longer than the text for a few letters
    words = FoldedWords(folded(text), stem=stem)
    codes, offsets = words.term_positions
    counted = Counter(dict(zip(*(each.tolist() for each in words.term_counts), strict=True)))
    assert Counter(codes.tolist()) == counted
    for place, (code, start) in enumerate(zip(codes.tolist(), offsets.tolist(), strict=True)):
        end = int(offsets[place + 1]) if place + 1 < len(offsets) else len(text)
        assert code in words.codes_of([text[start : max(end, start + 2)]])[0].tolist()


TEXTS = st.lists(
    st.text(max_size=60) | st.sampled_from(["the spiders hunting", "\x1f|", "", "\u6771\u4eac\u90fd webs", "K \u212a"])
)


@pytest.mark.slow
@given(TEXTS, st.booleans())
def test_texts_have_the_terms_that_they_would_have_as_pages(texts: list[str], stem: bool) -> None:
    found = FoldedWords(b"", stem=stem).codes_of(texts)
    assert len(found) == len(texts)
    for codes, text in zip(found, texts, strict=True):
        terms = page_of_text(Url("text:"), "", text, stem=stem).terms
        expected = Counter(dict(zip(codes_of(terms).tolist(), terms.values(), strict=True)))
        assert Counter(codes.tolist()) == expected


def test_texts_have_their_terms_in_order_and_as_often_as_they_occur() -> None:
    texts = ["Webs of the 2 spiders", "", "a spider, a web, a spider", "x" * 80]
    terms = [["web", "spider"], [], ["spider", "web", "spider"], []]
    found = FoldedWords(b"", stem=True).codes_of(texts)
    assert [codes.tolist() for codes in found] == [codes_of(words).tolist() for words in terms]
    assert FoldedWords(b"").codes_of([]) == []


@pytest.mark.slow
def test_words_that_share_a_slot_of_the_cache_have_their_own_terms() -> None:
    words = [f"web{number}s" for number in range(40_000)]  # about 3 000 pairs of the same slot
    pages = [
        FoldedWords(" ".join(words[start : start + 5_000]).encode(), stem=True) for start in range(0, 40_000, 5_000)
    ]
    for page in (*pages, *(FoldedWords(page._data, stem=True) for page in pages)):
        assert page.term_counts[0].tolist() == sorted(codes_of(page.terms).tolist())


@pytest.mark.slow
@given(st.lists(st.text(alphabet="abc\u00e9", min_size=1, max_size=9), min_size=1, max_size=30))
def test_a_word_has_the_same_code_wherever_it_stands(words: list[str]) -> None:
    assert codes_of(words).tolist() == [int(codes_of([word])[0]) for word in words]


def test_different_words_have_different_codes() -> None:
    words = [f"{a}{b}" for a in "abcdefgh" for b in range(2_000)]
    assert len(set(codes_of(words).tolist())) == len(words)


@pytest.mark.slow
def test_a_long_text_has_the_same_codes_as_its_words() -> None:
    words = [f"word{number}" for number in range(40_000)]
    assert codes_of(words).tolist() == [int(code) for word in words for code in codes_of([word])]


def test_words_without_end_are_cut_and_cost_little() -> None:
    endless = "x" * 300_000
    assert len(codes_of(["a", endless, "b", endless])) == 4
    assert codes_of(["a", endless])[1] == codes_of([endless])[0]
    assert len(codes_of(["a", *[""] * 200_000, "b"])) == 2
    assert sum(table.nbytes for table in _powers(1 << 17)) <= 1 << 21
