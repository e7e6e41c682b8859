from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import LinearModel, background, train_from_positives
from lycosa.relevance.positive_unlabelled import USUAL_SHARE, _gap, _solve, shrink_to_usual_share
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import RELEVANT, Page
from relevance.topical_web import MadeUpWeb, page_of

BACKGROUND = [page_of(text).terms for text in background()]


def trained(good: list[Page], crawled: list[Page], bad: list[Page] | None = None) -> LinearModel:
    terms = ([page.terms for page in pages] for pages in (good, bad or [], crawled))
    return train_from_positives(*terms, BACKGROUND)


def share_relevant(model: LinearModel, pages: list[Page]) -> float:
    return sum(model.relevance(one) >= RELEVANT for one in pages) / len(pages)


def test_the_background_is_wide() -> None:
    assert len(background()) >= 70
    assert all(50 <= len(text.split()) <= 110 for text in background())
    assert len(set().union(*BACKGROUND)) > 2000


@pytest.mark.slow
@pytest.mark.parametrize("on_topic", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("examples", [2, 5, 20])
def test_pages_of_the_crawl_teach_what_is_off_the_topic(on_topic: float, examples: int) -> None:
    web = MadeUpWeb(seed=2)
    count = int(on_topic * 100)
    model = trained(web.on_topic(examples), web.on_topic(count) + web.off_topic(100 - count))
    assert share_relevant(model, web.on_topic(100)) >= 0.75
    assert share_relevant(model, web.off_topic(200)) <= 0.05


@pytest.mark.slow
def test_a_single_example_is_enough_where_the_topic_is_rare() -> None:
    web = MadeUpWeb(seed=3)
    model = trained(web.on_topic(1), web.on_topic(5) + web.off_topic(95))
    assert share_relevant(model, web.on_topic(100)) >= 0.9
    assert share_relevant(model, web.off_topic(100)) <= 0.1


def test_a_crawl_wholly_off_the_topic_has_few_relevant_pages() -> None:
    web = MadeUpWeb(seed=4)
    crawled = web.off_topic(150)
    assert share_relevant(trained(web.on_topic(5), crawled), crawled) <= 0.1


def test_bad_examples_count_as_bad() -> None:
    web = MadeUpWeb(seed=5)
    bad = web.off_topic(20)
    model = trained(web.on_topic(5), [], bad)
    assert share_relevant(model, web.on_topic(50)) >= 0.9
    assert share_relevant(model, web.off_topic(50)) <= 0.2


@pytest.mark.slow
def test_the_same_pages_give_the_same_model() -> None:
    web = MadeUpWeb(seed=6)
    good, crawled = web.on_topic(4), web.off_topic(30)
    assert trained(good, crawled).to_plain() == trained(good, crawled).to_plain()


@pytest.mark.parametrize(("good", "background", "missing"), [([{}], [{"a": 1}], "good"), ([{"a": 1}], [], "bad")])
def test_examples_without_words_are_refused(good: list, background: list, missing: str) -> None:
    with pytest.raises(RecipeError, match=f"no {missing} example has a word"):
        train_from_positives(good, [], [], background)


def test_words_too_long_to_save_are_left_out() -> None:
    model = train_from_positives([{"a": 1, "b" * 300: 1}], [], [], [{"c": 1}])
    assert LinearModel.from_plain(model.to_plain()).to_plain() == model.to_plain()


@pytest.mark.slow
@given(st.integers(2, 12), st.integers(2, 30), st.integers(0, 1000))
def test_left_out_scores_are_those_of_machines_trained_without_the_page(good: int, bad: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = np.repeat([1.0, -1.0], [good, bad])
    points = random.normal(size=(good + bad, 8)) + 0.5 * labels[:, None]
    kernel = points @ points.T + 1.0
    costs = np.full(len(labels), 0.05)  # soft: every page is within the margin, with or without another
    whole = _solve(kernel, labels, costs, np.ones(len(labels), np.bool_))
    for left_out in (0, len(labels) - 1):
        others = np.delete(np.arange(len(labels)), left_out)
        part = _solve(kernel[np.ix_(others, others)], labels[others], costs[others], np.ones(len(others), np.bool_))
        if whole.active.all() and part.active.all():
            assert whole.left_out[left_out] == pytest.approx(kernel[left_out, others] @ part.multipliers)


def test_two_groups_are_told_from_one() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(0.0, 0.1, 80), random.normal(1.0, 0.1, 20)
    gap = _gap(np.concatenate((one, other)))
    assert gap is not None and one.max() < gap < other.min()
    assert _gap(one) is None
    assert _gap(np.zeros(10)) is None
    assert _gap(random.uniform(size=100)) is None


def share_of(relevances: np.ndarray) -> float:
    return float((relevances >= RELEVANT).mean())


@given(st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.2, 0.5, 0.7]), min_size=1, max_size=300))
def test_shrinking_keeps_the_order_of_pages_and_moves_the_share_towards_the_usual_one(relevances: list[float]) -> None:
    before = np.array(relevances)
    after = shrink_to_usual_share(before)
    in_order = after[np.argsort(before)].tolist()
    assert all(0.0 <= low <= high <= 1.0 for low, high in pairwise(in_order))
    farther = abs(share_of(after) - USUAL_SHARE) - abs(share_of(before) - USUAL_SHARE)
    assert farther <= 1.0 / len(relevances), "a page at most, by rounding"


@pytest.mark.parametrize(("share", "shrunk"), [(0.08, 0.131), (0.35, 0.35), (0.7, 0.600)])
def test_a_share_moves_by_three_tenths_in_log_odds(share: float, shrunk: float) -> None:
    scores = np.random.default_rng(1).normal(size=2_000)
    relevances = 1.0 / (1.0 + np.exp(np.quantile(scores, 1.0 - share) - scores))
    assert share_of(relevances) == pytest.approx(share, abs=0.001)
    assert share_of(shrink_to_usual_share(relevances)) == pytest.approx(shrunk, abs=0.002)


@pytest.mark.parametrize("others", [[], [0.1 + number / 1_000 for number in range(70)]])
def test_pages_of_equal_scores_stay_on_one_side(others: list[float]) -> None:
    relevances = np.array([0.3] * 50 + others)
    assert share_of(shrink_to_usual_share(relevances)) == 0.0


def test_two_groups_of_pages_stay_as_they_are() -> None:
    relevances = np.array([0.9] * 60 + [0.1] * 15)
    assert shrink_to_usual_share(relevances) is relevances
    assert len(shrink_to_usual_share(np.empty(0))) == 0
