"""The reasons for a link, as numbers."""

from lycosa.run.reasons import factors_of, in_words


def test_the_parts_of_a_score_come_the_most_telling_first():
    found = factors_of({"parts": {"host": 0.1, "anchor": -2.0, "page": 1.0}})
    assert [(each.name, each.log_odds) for each in found] == [("anchor", -2.0), ("page", 1.0), ("host", 0.1)]
    assert found[1].words == "by the relevance of the pages that link to it"


def test_what_no_strategy_of_ours_wrote_is_bounded_and_harmless():
    assert factors_of({"seed": True}) == []
    assert factors_of({"parts": "none"}) == []
    assert factors_of({"parts": {"x": "y", "z": float("nan"), "w": float("inf")}}) == []
    assert len(factors_of({"parts": {str(number): 1.0 for number in range(1000)}})) == 20
    assert in_words({"seed": True}) == "a seed"
