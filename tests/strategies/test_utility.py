import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.strategies import BestFirst, Utility
from lycosa.strategies.utility import FORMS, cobb_douglas, linear
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Visit
from simulation import crawl_of, urls_of, visits_of
from strategies.visits import url_of, visit_of
from worlds import TOPICAL, TOPICAL_SEED

units = st.floats(0.0, 1.0)


def priority_of(strategy: Utility, relevance: float | None, standing: float | None) -> float:
    visit = visit_of("page", relevance, standing)
    strategy.learn(visit)
    (candidate,) = strategy.propose(visit)
    return candidate.priority


@pytest.mark.parametrize(
    ("relevance", "standing", "alpha", "utility"),
    [
        (0.81, 0.16, 0.5, 0.9 * 0.4),
        (0.5**4, 0.9**4, 0.25, 0.5 * 0.9**3),
        (0.3, 0.8, 1.0, 0.3),
        (0.3, 0.8, 0.0, 0.8),
        (0.0, 0.8, 0.5, 0.0),
        (0.0, 0.8, 0.0, 0.8),  # 0^0 is 1
        (0.3, 0.0, 1.0, 0.3),
    ],
)
def test_cobb_douglas_multiplies_powers(relevance: float, standing: float, alpha: float, utility: float) -> None:
    assert cobb_douglas(relevance, standing, alpha) == pytest.approx(utility)
    assert priority_of(Utility(alpha=alpha), relevance, standing) == pytest.approx(utility)


@pytest.mark.parametrize(
    ("relevance", "standing", "alpha", "utility"),
    [(0.8, 0.2, 0.5, 0.5), (0.8, 0.2, 0.25, 0.35), (0.3, 0.8, 1.0, 0.3), (0.3, 0.8, 0.0, 0.8), (0.0, 0.8, 0.5, 0.4)],
)
def test_linear_utility_is_a_weighted_mean(relevance: float, standing: float, alpha: float, utility: float) -> None:
    assert linear(relevance, standing, alpha) == pytest.approx(utility)
    assert priority_of(Utility(alpha=alpha, form="linear"), relevance, standing) == pytest.approx(utility)


@given(relevance=units, standing=units, alpha=units)
def test_utility_lies_between_what_it_is_made_of_and_cobb_douglas_below_linear(
    relevance: float, standing: float, alpha: float
) -> None:
    product, mean = (priority_of(Utility(alpha=alpha, form=form), relevance, standing) for form in FORMS)
    low, high = sorted((relevance, standing))
    assert low - 1e-12 <= product <= mean + 1e-12 <= high + 2e-12


def test_twice_the_relevance_and_twice_the_standing_is_twice_the_cobb_douglas_utility() -> None:
    assert cobb_douglas(0.6, 0.8, 0.3) == pytest.approx(2 * cobb_douglas(0.3, 0.4, 0.3))


@pytest.mark.parametrize("form", FORMS)
def test_a_page_of_unknown_standing_is_worth_its_relevance(form: str) -> None:
    visit = visit_of("page", 0.8)
    (candidate,) = Utility(alpha=0.25, form=form).propose(visit)
    assert candidate.priority == 0.8
    assert candidate.because["alpha"] == 1.0
    assert "standing" not in candidate.because


@pytest.mark.parametrize(("form", "utility"), [("cobb-douglas", 0.0), ("linear", 0.3)])
def test_a_page_of_unknown_relevance_has_none(form: str, utility: float) -> None:
    assert priority_of(Utility(form=form), None, 0.6) == pytest.approx(utility)
    assert priority_of(Utility(form=form), None, None) == 0.0


@pytest.mark.parametrize("form", FORMS)
@given(relevance=st.floats() | st.none(), standing=st.floats() | st.none(), alpha=units)
def test_whatever_a_model_says_a_priority_is_a_number_between_0_and_1(
    form: str, relevance: float | None, standing: float | None, alpha: float
) -> None:
    strategy = Utility(alpha=alpha, form=form, topic_words={"bee": 1})
    visit = visit_of("page", relevance, standing, links=[Link(url_of("a"), "a bee"), Link(url_of("b"))])
    strategy.learn(visit)
    candidates = list(strategy.propose(visit))
    assert len(candidates) == 2
    for candidate in candidates:
        assert 0.0 <= candidate.priority <= 1.0
        assert all(math.isfinite(value) for value in candidate.because.values())


def test_what_is_no_number_counts_as_0_and_what_is_beyond_the_scale_as_its_end() -> None:
    assert priority_of(Utility(form="linear"), math.nan, 0.5) == 0.25
    assert priority_of(Utility(form="linear"), math.inf, 0.5) == 0.75
    assert priority_of(Utility(form="linear"), 0.5, -3.0) == 0.25


def test_seeds_come_first_and_links_say_why_they_come() -> None:
    strategy = Utility(alpha=0.5)
    (seed,) = strategy.start([url_of("seed")])
    assert (seed.priority, seed.because) == (1.0, {"seed": True})
    strategy.learn(visit_of("seed", 0.41, 0.16))
    visit = visit_of("page", 0.81, 0.16, links=["a", "b"], depth=3)
    strategy.learn(visit)
    a, b = strategy.propose(visit)
    assert (a.url, a.found_on, a.depth) == (url_of("a"), url_of("page"), 4)
    assert a.because == {
        "relevance": 0.81,
        "standing": 0.16,
        "alpha": 0.5,
        "topicality_lately": 0.61,
        "utility": 0.36,
    }
    assert b.because is a.because


def test_a_link_found_again_keeps_the_larger_utility() -> None:
    assert Utility().merge(url_of("a"), 0.3, 0.7) == Utility().merge(url_of("a"), 0.7, 0.3) == 0.7


def test_relevance_lately_is_the_mean_over_the_window_of_pages() -> None:
    strategy = Utility(window=3)
    assert strategy.recent_relevance is None
    messages = []
    for relevance in (0.2, 0.4, 0.9, 0.8, None):
        strategy.learn(visit_of("page", relevance))
        messages.append(strategy.recent_relevance)
    assert messages == pytest.approx([0.2, 0.3, 0.5, 0.7, 1.7 / 3])


def test_a_fetch_that_brought_no_page_is_no_page() -> None:
    strategy = Utility()
    strategy.learn(visit_of("page", 0.6))
    strategy.learn(Visit(Candidate(url_of("gone"), 0.5), Fetch(url_of("gone"), Outcome.GONE, 0.0)))
    assert strategy.recent_relevance == 0.6
    assert strategy.alpha == 0.5


def test_with_all_weight_on_relevance_it_is_best_first() -> None:
    options = {"topic_words": {"honey": 1, "queen": 1}, "enough": 3}
    best = visits_of(crawl_of(TOPICAL, BestFirst(**options)), [TOPICAL_SEED])
    utility = visits_of(crawl_of(TOPICAL, Utility(alpha=1.0, **options)), [TOPICAL_SEED])
    assert urls_of(best) == urls_of(utility)


def test_anchors_that_say_the_topics_words_help_until_enough_relevant_pages_were_seen() -> None:
    strategy = Utility(topic_words={"honey": 1, "bees": 1}, enough=2)
    links = [Link(url_of("a"), "Honey"), Link(url_of("b"), "Honey bees"), Link(url_of("c"), "ships")]
    visit = visit_of("page", 0.64, 0.25, links=links)
    strategy.learn(visit)
    helped = list(strategy.propose(visit))
    assert [candidate.priority for candidate in helped] == pytest.approx([0.55, 0.7, 0.4])
    assert [candidate.because.get("anchor") for candidate in helped] == [0.5, 1.0, None]
    strategy.learn(visit)
    assert [candidate.priority for candidate in strategy.propose(visit)] == pytest.approx([0.4] * 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": 1.2}, "alpha must lie between 0 and 1, not 1.2"),
        ({"alpha": math.nan}, "alpha must lie between 0 and 1"),
        ({"form": "cubic"}, "no utility of the form 'cubic'; there are cobb-douglas, linear"),
        ({"window": 0}, "window must be a number from 1 to 1,000,000, not 0"),
    ],
)
def test_options_that_make_no_sense_are_told(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Utility(**options)
