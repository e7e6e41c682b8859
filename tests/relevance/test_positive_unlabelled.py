from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import LinearModel, background, train_from_positives
from lycosa.relevance.positive_unlabelled import _Documents, _gap, _quantile, _share_on_topic, _solve
from lycosa.relevance.svm import MAX_TERMS
from lycosa.relevance.term_counts import MAX_PAGE_TERMS, CountedTerms, PageCounts
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import RELEVANT, Page
from lycosa.vocabulary.text import codes_of
from relevance.topical_web import TopicalWeb, page_of

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
    web = TopicalWeb(seed=2)
    count = int(on_topic * 100)
    model = trained(web.on_topic(examples), web.on_topic(count) + web.off_topic(100 - count))
    assert share_relevant(model, web.on_topic(100)) >= 0.75
    assert share_relevant(model, web.off_topic(200)) <= 0.05


@pytest.mark.slow
def test_a_single_example_is_enough_where_the_topic_is_rare() -> None:
    web = TopicalWeb(seed=3)
    model = trained(web.on_topic(1), web.on_topic(5) + web.off_topic(95))
    assert share_relevant(model, web.on_topic(100)) >= 0.9
    assert share_relevant(model, web.off_topic(100)) <= 0.1


def test_a_crawl_wholly_off_the_topic_has_few_relevant_pages() -> None:
    web = TopicalWeb(seed=4)
    crawled = web.off_topic(150)
    assert share_relevant(trained(web.on_topic(5), crawled), crawled) <= 0.1


def test_bad_examples_count_as_bad() -> None:
    web = TopicalWeb(seed=5)
    bad = web.off_topic(20)
    model = trained(web.on_topic(5), [], bad)
    assert share_relevant(model, web.on_topic(50)) >= 0.9
    assert share_relevant(model, web.off_topic(50)) <= 0.2


@pytest.mark.slow
def test_the_same_pages_give_the_same_model() -> None:
    web = TopicalWeb(seed=6)
    good, crawled = web.on_topic(4), web.off_topic(30)
    assert trained(good, crawled).to_plain() == trained(good, crawled).to_plain()


@pytest.mark.parametrize(("good", "background", "missing"), [([{}], [{"a": 1}], "good"), ([{"a": 1}], [], "bad")])
def test_examples_without_words_are_refused(good: list, background: list, missing: str) -> None:
    with pytest.raises(RecipeError, match=f"no {missing} example has a word"):
        train_from_positives(good, [], [], background)


@pytest.fixture
def strange_words() -> list[dict[str, int]]:
    """The terms of pages of a site that makes up its words, as many as there can be."""
    return [{f"w{page}x{number}": 1 for number in range(8_000)} | {"honey": 1} for page in range(60)]


def test_a_model_of_pages_of_made_up_words_can_be_read_again(strange_words: list[dict[str, int]]) -> None:
    """It had more words than are read: it was not saved, and trained again by the next run."""
    model = train_from_positives([{"honey": 3, "bee": 2}], [{"ship": 2, "mast": 1}] * 5, strange_words, [])
    plain = model.to_plain()
    assert len(plain["terms"]) <= MAX_TERMS
    assert {"honey", "bee", "ship"} <= plain["terms"].keys()
    again = LinearModel.from_plain(plain)
    assert again.distance({"honey": 1, "bee": 1}) == model.distance({"honey": 1, "bee": 1})


def test_of_a_training_page_a_bounded_number_of_terms_is_in_memory(strange_words: list[dict[str, int]]) -> None:
    counted = CountedTerms(strange_words[0])
    assert counted.codes.tolist() == sorted(codes_of(strange_words[0]).tolist())[:MAX_PAGE_TERMS]
    assert set(codes_of(counted.plain).tolist()) == set(counted.codes.tolist())
    assert len(counted.codes) == len(counted.counts) == len(counted.words) == MAX_PAGE_TERMS


def test_a_kernel_computed_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [{f"w{word * page % 50}": word + 1 for word in range(40)} for page in range(1, 12)]
    whole = _Documents(pages[:3], pages[3:6], pages[6:], []).kernel
    monkeypatch.setattr("lycosa.relevance.positive_unlabelled._KERNEL_WORDS", 7)
    assert _Documents(pages[:3], pages[3:6], pages[6:], []).kernel == pytest.approx(whole, abs=1e-6)


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
            assert whole.leave_one_out[left_out] == pytest.approx(kernel[left_out, others] @ part.multipliers)


@given(st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=20), st.floats(0.0, 1.0))
def test_quantiles_are_those_of_numpy(scores: list[float], share: float) -> None:
    found = _quantile(np.sort(scores), share)
    assert found == pytest.approx(float(np.quantile(scores, share)), rel=1e-9, abs=1e-9)


def test_two_groups_are_told_from_one() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(0.0, 0.1, 80), random.normal(1.0, 0.1, 20)
    gap = _gap(np.concatenate((one, other)))
    assert gap is not None and one.max() < gap < other.min()
    assert _gap(one) is None
    assert _gap(np.zeros(10)) is None
    assert _gap(random.uniform(size=100)) is None


def test_the_estimated_share_on_the_topic_rises_with_the_pages_that_are_like_the_good_ones() -> None:
    random = np.random.default_rng(1)
    good, others = np.sort(random.normal(1.0, 0.3, 5)), random.normal(0.0, 0.3, 200)
    shares = []
    for alike in (0, 20, 60, 120):
        others[:alike] = random.normal(1.1, 0.4, alike)
        shares.append(_share_on_topic(good, np.sort(others), 1_000))
    assert all(less < more for less, more in pairwise(shares))
    none_alike = np.sort(random.normal(0.0, 0.3, 200))
    by_length = [_share_on_topic(good, none_alike, pages) for pages in (200, 1_000, 10_000)]
    assert all(more > less for more, less in pairwise(by_length)), "the longer the crawl, the less the prior counts"
    assert 0.0 < by_length[-1] < 0.05


def test_pages_that_differ_only_in_words_without_vectors_give_a_model_that_can_be_read() -> None:
    parts = [page_of("honey bee " + f"part xq{number % 5}zk{number % 3} " * 8) for number in range(60)]
    model = trained([page_of("honey bee"), parts[11]], parts[:11] + parts[12:])
    assert LinearModel.from_plain(model.to_plain()).to_plain() == model.to_plain()


def test_pages_without_any_word_of_the_topic_are_not_relevant() -> None:
    index = [page_of("vabe zuno keli " * 20 + f"dora{number}") for number in range(10)]
    others = [page_of(" ".join(f"w{number * 7 + step}x" for step in range(40)) + " filu") for number in range(50)]
    model = trained([page_of("xyzzyplugh quuxfrob")], index + others)
    assert model.meaning is None
    assert share_relevant(model, index + others) == 0.0
    assert model.relevance(page_of("quuxfrob " * 3 + "filu")) >= RELEVANT


@pytest.mark.parametrize("text", ["", "wool and yarn", "wasp"])
def test_a_page_without_a_word_that_speaks_for_the_topic_is_not_relevant(text: str) -> None:
    model = LinearModel({"honey": (1.0, 2.0), "wasp": (1.0, -0.5)}, bias=0.7, idf_of_new=1.0)
    page = page_of(text)
    assert model.relevance(page) < 0.2
    assert model.relevances_of([PageCounts.of(page)]) == [pytest.approx(model.relevance(page))]
    assert model.relevance(page_of("honey")) > 0.9
