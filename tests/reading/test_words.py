import re
import string

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.language import iso_639_1
from lycosa.reading.stop_words import STOP_WORDS
from lycosa.reading.terms import _ALGORITHMS
from lycosa.reading.words import terms_of
from lycosa.vocabulary.text import tokens_of

LATIN = st.text(st.characters(max_codepoint=0x2FF) | st.sampled_from("–—’“”…€ẞΑΒΓαβгд"), max_size=200)


@given(st.text(st.characters(max_codepoint=127), max_size=300))
def test_ascii_words_are_what_the_pattern_finds(text: str) -> None:
    assert tokens_of(text) == re.findall(r"\w+", text.lower())


@given(LATIN)
def test_other_words_are_what_the_pattern_finds(text: str) -> None:
    assert tokens_of(text) == re.findall(r"[\w\u0300-\u036f]+", text.lower())


@given(st.text(max_size=300))
def test_tokens_are_lower_case_and_hold_no_blank(text: str) -> None:
    for token in tokens_of(text):
        assert token and token == "".join(token.split())
        assert not any(letter in string.ascii_uppercase for letter in token)


def test_text_with_much_odd_punctuation_has_the_same_words() -> None:
    odd = "".join(map(chr, range(0x2010, 0x2060)))
    assert tokens_of(f"Über{odd}den Wolken") == ["über", "den", "wolken"]


def test_scripts_without_blanks_give_pairs_of_characters() -> None:
    assert tokens_of("東京都 2024 Tokyo") == ["東京", "京都", "2024", "tokyo"]
    assert tokens_of("猫") == ["猫"]
    assert "ภา" in tokens_of("ภาษาไทย")


def test_marks_stay_with_their_letters() -> None:
    assert tokens_of("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_terms_leave_out_stop_words_numbers_and_single_characters() -> None:
    assert terms_of(tokens_of("The spider and 8 legs, x 2024 der die; legs!")) == {"spider": 1, "legs": 2}


def test_stemmed_terms_are_counted_together() -> None:
    assert terms_of(tokens_of("hunting hunted hunts the hunter"), stem=True) == {"hunt": 3, "hunter": 1}


@pytest.mark.parametrize(
    ("language", "term"), [("de", "bien"), ("fi", "biene"), ("", "bienen"), ("en", "bienen"), ("ja", "bienen")]
)
def test_stems_are_those_of_the_language(language: str, term: str) -> None:
    assert terms_of(["bienen"], stem=True, language=language) == {term: 1}
    assert terms_of(["bienen"], language=language) == {"bienen": 1}


def test_there_is_an_algorithm_for_every_language_named() -> None:
    assert set(_ALGORITHMS.values()) == set(Stemmer.algorithms()) - {"porter", "dutch_porter"}
    assert all(iso_639_1(code) == code for code in _ALGORITHMS)


@given(st.lists(st.sampled_from(["web", "webs", "the", "7", "a", "spiders", "x" * 80])), st.booleans())
def test_terms_count_what_is_left(tokens: list[str], stem: bool) -> None:
    kept = [token for token in tokens if token in ("web", "webs", "spiders")]
    assert sum(terms_of(tokens, stem=stem).values()) == len(kept)


def test_stop_words_are_tokens() -> None:
    assert all(tokens_of(word) == [word] for word in STOP_WORDS)
