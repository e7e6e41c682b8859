import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.strategies import Adaptive
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Skip, SkipReason, Visit
from strategies.visits import url_of, visit_of


def alphas(strategy: Adaptive, relevances: list[float]) -> list[float]:
    """α after each of these pages."""
    seen = []
    for relevance in relevances:
        strategy.learn(visit_of("page", relevance))
        seen.append(strategy.alpha)
    return seen


def test_alpha_over_five_pages_by_hand() -> None:
    strategy = Adaptive(target=0.7, window=3, step=0.1)
    means = [0.2, 0.3, 0.5, 0.7, 0.9]  # of 0.2 | 0.2 0.4 | 0.2 0.4 0.9 | 0.4 0.9 0.8 | 0.9 0.8 1.0
    steps = [0.05, 0.04, 0.02, 0.0, -0.02]  # 0.1 · (0.7 - mean)
    assert steps == pytest.approx([0.1 * (0.7 - mean) for mean in means])
    assert alphas(strategy, [0.2, 0.4, 0.9, 0.8, 1.0]) == pytest.approx([0.55, 0.59, 0.61, 0.61, 0.59])
    assert strategy.recent_relevance == pytest.approx(0.9)


def test_by_default_it_steps_by_a_hundredth_over_25_pages_from_one_half() -> None:
    strategy = Adaptive(target=0.6)
    assert strategy.alpha == 0.5
    first = alphas(strategy, [1.0])
    assert first == pytest.approx([0.496])
    alphas(strategy, [0.0] * 24)
    assert strategy.recent_relevance == pytest.approx(1 / 25)
    alphas(strategy, [0.0])
    assert strategy.recent_relevance == 0.0
    before = strategy.alpha
    assert alphas(strategy, [0.0]) == pytest.approx([before + 0.006])


def test_pages_that_taught_the_topic_do_not_move_alpha() -> None:
    strategy, counting = Adaptive(target=0.7, example_urls=[url_of("taught")]), Adaptive(target=0.7)
    for each in (strategy, counting):
        for _ in range(50):
            each.learn(visit_of("taught", 1.0))
    assert strategy.alpha == 0.5 and strategy.recent_relevance is None
    assert counting.alpha < 0.4
    strategy.learn(visit_of("page", 0.2))
    assert strategy.alpha == pytest.approx(0.505) and strategy.recent_relevance == pytest.approx(0.2)


def test_relevance_gains_weight_below_the_target_and_loses_it_above() -> None:
    assert all(later > earlier for earlier, later in pairwise([0.5, *alphas(Adaptive(target=0.7), [0.69] * 9)]))
    assert all(later < earlier for earlier, later in pairwise([0.5, *alphas(Adaptive(target=0.7), [0.71] * 9)]))


@pytest.mark.slow
@given(
    relevances=st.lists(st.floats() | st.none(), max_size=40),
    target=st.floats(0.0, 1.0),
    step=st.floats(0.0, 1e9),
    alpha=st.floats(0.0, 1.0),
)
def test_alpha_stays_between_0_and_1(relevances: list[float | None], target: float, step: float, alpha: float) -> None:
    strategy = Adaptive(target=target, step=step, alpha=alpha)
    for relevance in relevances:
        visit = visit_of("page", relevance, 0.5)
        strategy.learn(visit)
        (candidate,) = strategy.propose(visit)
        assert 0.0 <= strategy.alpha <= 1.0
        assert 0.0 <= candidate.priority <= 1.0


def test_alpha_stops_at_its_bounds_and_comes_back_at_once() -> None:
    assert alphas(Adaptive(target=1.0, step=1.0, window=1), [0.0, 0.0, 1.0]) == [1.0, 1.0, 1.0]
    assert alphas(Adaptive(target=0.5, step=1.0, window=1), [0.0, 0.0, 1.0, 1.0, 1.0, 0.25]) == [
        1.0,
        1.0,
        0.5,
        0.0,
        0.0,
        0.25,
    ]


def test_the_links_of_a_page_are_scored_by_the_alpha_to_which_the_page_has_led() -> None:
    strategy = Adaptive(target=0.75, step=1.0, form="linear", ranked_among=0)
    visit = visit_of("page", 0.5, 0.1)
    strategy.learn(visit)
    (candidate,) = strategy.propose(visit)
    assert candidate.because == {
        "relevance": 0.5,
        "standing": 0.1,
        "alpha": 0.75,
        "topicality_lately": 0.5,
        "utility": 0.4,
    }
    assert candidate.priority == pytest.approx(0.75 * 0.5 + 0.25 * 0.1)


def worths(strategy: Adaptive, pages: list[tuple[float, float]]) -> list[float]:
    """What the links of each of these pages, of a relevance and a standing, are worth."""
    found = []
    for relevance, standing in pages:
        visit = visit_of("page", relevance, standing)
        strategy.learn(visit)
        (candidate,) = strategy.propose(visit)
        found.append(candidate.priority)
    return found


def test_links_are_worth_what_the_page_of_that_rank_is_by_the_first_weight() -> None:
    strategy = Adaptive(target=1.0, step=1e9, form="linear")  # the first page brings α from 0.5 to 1
    pages = [(0.9, 0.5), (0.5, 0.7), (0.7, 0.1)]  # by the first weight: 0.7, 0.6, 0.4
    assert worths(strategy, pages) == pytest.approx([0.7, 0.6, 0.6])  # of three, relevance ranks the last second
    assert strategy.alpha == 1.0


def test_a_page_that_is_better_than_all_is_worth_as_much_whatever_the_weight() -> None:
    others = [(0.2, 0.4), (0.3, 0.3), (0.4, 0.2), (0.6, 0.4)]
    for target in (0.0, 1.0):
        strategy = Adaptive(target=target, step=1e9)
        worths(strategy, others)
        assert strategy.alpha == target
        published = Adaptive(target=target, step=1e9, ranked_among=0)
        worths(published, others)
        assert worths(strategy, [(0.9, 0.6)]) == pytest.approx([(0.9 * 0.6) ** 0.5])
        assert worths(published, [(0.9, 0.6)]) == pytest.approx([0.9 if target else 0.6])


unit = st.floats(0.0, 1.0)
some_pages = st.lists(st.tuples(unit, unit), min_size=1, max_size=40)


@pytest.mark.slow
@given(pages=some_pages, alpha=unit, form=st.sampled_from(["cobb-douglas", "linear"]), among=st.integers(1, 20))
def test_while_alpha_stays_links_are_worth_the_utility_itself(
    pages: list[tuple[float, float]], alpha: float, form: str, among: int
) -> None:
    settings = {"alpha": alpha, "form": form, "step": 0.0}
    published = worths(Adaptive(**settings, ranked_among=0), pages)
    assert worths(Adaptive(**settings, ranked_among=among), pages) == pytest.approx(published, abs=1e-9)


@pytest.mark.slow
@given(pages=some_pages, one=st.tuples(unit, unit), other=st.tuples(unit, unit), target=unit)
def test_a_page_of_higher_utility_is_never_worth_less(
    pages: list[tuple[float, float]], one: tuple[float, float], other: tuple[float, float], target: float
) -> None:
    found = []
    for page in (one, other):
        strategy = Adaptive(target=target, step=1.0)
        worths(strategy, pages)
        visit = visit_of("page", *page)
        (candidate,) = strategy.propose(visit)  # not learnt from: both are judged by the same weight and pages
        found.append((candidate.because["utility"], candidate.priority))
    (low, worth_of_low), (high, worth_of_high) = sorted(found)
    assert worth_of_low <= worth_of_high or low == high


@pytest.mark.slow
@given(pages=some_pages, stop_after=st.integers(0, 40), among=st.sampled_from([0, 1, 3, 500]))
def test_stopped_and_restored_links_are_worth_the_same(
    pages: list[tuple[float, float]], stop_after: int, among: int
) -> None:
    whole = worths(Adaptive(step=1.0, ranked_among=among), pages)
    first, second = (Adaptive(step=1.0, ranked_among=among) for _ in range(2))
    begun = worths(first, pages[:stop_after])
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + worths(second, pages[stop_after:]) == whole


def test_pages_come_and_go_in_the_order_of_a_crawl_that_was_not_stopped() -> None:
    pages = [(0.1, 0.9), (0.8, 0.2), (0.5, 0.5), (0.9, 0.3), (0.3, 0.7), (0.6, 0.4)]
    for stop_after in range(len(pages)):
        whole, first, second = (Adaptive(target=1.0, step=0.2, ranked_among=3) for _ in range(3))
        worths(first, pages[:stop_after])
        second.restore(json.loads(json.dumps(first.state())))
        assert worths(second, pages[stop_after:]) == worths(whole, pages)[stop_after:]


def test_what_an_older_version_left_does_not_do() -> None:
    with pytest.raises(KeyError):
        Adaptive().restore({"last": [0.5], "relevant_seen": 1, "alpha": 0.8})


def test_pages_that_are_as_good_as_each_other_are_worth_the_middle_of_their_places() -> None:
    strategy = Adaptive(target=1.0, step=1e9)  # by relevance alone, of which a judge may know but two values
    worths(strategy, [(0.0, 0.9), (1.0, 0.0), (1.0, 0.25), (1.0, 0.49)])
    assert strategy.alpha == 1.0
    assert worths(strategy, [(1.0, 0.81)]) == pytest.approx([0.5])  # of 0, 0.5, 0.7 and 0.9 by the first weight


def test_reasons_tell_what_a_utility_counts_as_once_the_weight_has_moved() -> None:
    strategy = Adaptive(target=1.0, step=1e9)
    worths(strategy, [(0.2, 0.8), (0.4, 0.9)])
    visit = visit_of("page", 0.6, 0.9)
    strategy.learn(visit)
    (candidate,) = strategy.propose(visit)
    assert candidate.because["utility"] == 0.6
    assert candidate.because["worth"] == round(candidate.priority, 4) == round((0.6 * 0.9) ** 0.5, 4)


def test_only_pages_move_alpha() -> None:
    strategy = Adaptive()
    gone = Candidate(url_of("gone"), 0.5)
    strategy.learn(Skip(gone, SkipReason.NOFOLLOW))
    strategy.learn(Visit(gone, Fetch(gone.url, Outcome.GONE, 0.0)))
    assert (strategy.alpha, strategy.recent_relevance) == (0.5, None)


def test_without_a_model_of_standing_it_goes_by_relevance_while_alpha_moves_on() -> None:
    strategy = Adaptive(target=0.7, step=0.1)
    visit = visit_of("page", 0.2)
    strategy.learn(visit)
    (candidate,) = strategy.propose(visit)
    assert candidate.priority == pytest.approx(0.2)
    assert strategy.alpha == pytest.approx(0.55)


def test_with_a_step_of_0_alpha_stays() -> None:
    assert alphas(Adaptive(step=0.0, alpha=0.3), [0.1, 0.9]) == [0.3, 0.3]


@pytest.mark.slow
@given(
    relevances=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60),
    stop_after=st.integers(0, 60),
)
def test_stopped_and_restored_alpha_goes_on_to_the_last_digit(relevances: list[float], stop_after: int) -> None:
    whole = alphas(Adaptive(), relevances)
    first, second = Adaptive(), Adaptive()
    begun = alphas(first, relevances[:stop_after])
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + alphas(second, relevances[stop_after:]) == whole


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target": 7.0}, "target must lie between 0 and 1, not 7"),
        ({"target": math.nan}, "target must lie between 0 and 1"),
        ({"step": -0.1}, "step must be a number from 0 to 1,000,000,000, not -0.1"),
        ({"step": math.inf}, "step must be a number"),
        ({"alpha": -0.1}, "alpha must lie"),
        ({"ranked_among": -1}, "ranked_among must be a number from 0 to 1,000,000, not -1"),
    ],
)
def test_options_that_make_no_sense_are_told(options: dict[str, float], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Adaptive(**options)
