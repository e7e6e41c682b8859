"""The reasons for a link, as numbers."""

from lycosa.run.reasons import factors_of, reasons_in_words, shown_priority
from lycosa.strategies.authority import CrawlAI
from lycosa.vocabulary.records import Url


def test_the_parts_of_a_score_come_the_most_telling_first():
    found = factors_of({"parts": {"host": 0.1, "anchor": -2.0, "page": 1.0}})
    assert [(each.name, each.log_odds) for each in found] == [("anchor", -2.0), ("page", 1.0), ("host", 0.1)]
    assert found[1].words == "the relevance of the pages that link to it"


def test_what_no_strategy_of_ours_wrote_is_bounded_and_harmless():
    assert factors_of({"seed": True}) == []
    assert factors_of({"parts": "none"}) == []
    assert factors_of({"parts": {"x": "y", "z": float("nan"), "w": float("inf")}}) == []
    assert len(factors_of({"parts": {str(number): 1.0 for number in range(1000)}})) == 20
    assert reasons_in_words({"seed": True}) == "a seed"


def test_a_score_of_crawl_ai_is_shown_from_the_start_of_its_clock():
    for candidate in CrawlAI().start([Url(f"http://a.example/{number}") for number in range(20)]):
        assert -20.0 < shown_priority(candidate.priority, candidate.because) < 0.0
    assert shown_priority(-3.0, {"depth": 3}) == -3.0
