"""The reasons for a link, as numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.run.reasons import _PHRASES, factors_of, reasons_in_words, shown_priority
from lycosa.strategies.authority import CrawlAI
from lycosa.vocabulary.records import Url


def test_the_parts_of_a_score_come_the_most_telling_first():
    found = factors_of({"parts": {"host": 0.1, "anchor": -2.0, "page": 1.0}})
    assert [(each.name, each.log_odds) for each in found] == [("anchor", -2.0), ("page", 1.0), ("host", 0.1)]
    assert found[1].words == "the relevance of the pages that link to it"


def test_what_no_strategy_of_ours_wrote_is_bounded_and_harmless():
    assert factors_of({"seed": True}) == []
    assert factors_of({"parts": "none"}) == []
    assert factors_of({"parts": {"x": "y", "z": float("nan"), "w": float("inf"), "v": 10**400}}) == []
    assert len(factors_of({"parts": {str(number): 1.0 for number in range(1000)}})) == 20
    assert reasons_in_words({"seed": True}) == "a seed"


def test_factors_are_numbers_without_exponents() -> None:
    words = reasons_in_words({"parts": {"anchor": 5.2, "page": -7.3, "host": -12.0}, "words": 1840.0})
    assert "180 × as likely" in words and "0.0007 × as likely" in words and "less than 0.0001 × as likely" in words
    assert "1,840 × as likely" in words and "e-" not in words and "e+" not in words


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["page", "alpha", "people"]) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(_PHRASES)), PLAIN, max_size=4))
def test_reasons_of_any_form_are_put_into_words(because):
    assert reasons_in_words(because)


@pytest.mark.parametrize("value", [[1], {"page": 1e9}, {"page": 10**400}, {"page": "much"}, 7])
@pytest.mark.parametrize("key", ["parts", "standing_parts", "weighed", "readers", "page"])
def test_forged_reasons_are_shown_as_they_are(key, value):
    assert reasons_in_words({key: value})


def test_a_score_of_crawl_ai_is_shown_from_the_start_of_its_clock():
    for candidate in CrawlAI().start([Url(f"http://a.example/{number}") for number in range(20)]):
        assert -20.0 < shown_priority(candidate.priority, candidate.because) < 0.0
    assert shown_priority(-3.0, {"depth": 3}) == -3.0
