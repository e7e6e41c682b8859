import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance import LinearModel, background, least_like, retrain, train
from lycosa.vocabulary.records import RELEVANT, Page
from relevance.topical_web import MadeUpWeb, page_of

BACKGROUND = [page_of(text) for text in background()]


def share_relevant(model: LinearModel, pages: list[Page]) -> float:
    return sum(model.relevance(one) >= RELEVANT for one in pages) / len(pages)


def test_the_background_is_wide() -> None:
    assert len(background()) >= 70
    assert all(50 <= len(text.split()) <= 110 for text in background())
    assert len(set().union(*(page.terms for page in BACKGROUND))) > 2000


def test_a_background_alone_calls_everything_relevant_that_shares_the_vocabulary_of_the_web() -> None:
    web = MadeUpWeb(seed=1)
    model = train(web.on_topic(20), BACKGROUND)
    assert share_relevant(model, web.on_topic(50)) == 1.0
    assert share_relevant(model, web.off_topic(50)) >= 0.9


@pytest.mark.parametrize("on_topic", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("pages", [100, 300])
def test_after_retraining_only_pages_on_the_topic_are_relevant(on_topic: float, pages: int) -> None:
    web = MadeUpWeb(seed=2)
    examples = web.on_topic(20)
    count = int(on_topic * pages)
    model = retrain(examples, BACKGROUND, web.on_topic(count) + web.off_topic(pages - count))
    assert share_relevant(model, web.on_topic(100)) >= 0.95
    assert share_relevant(model, web.off_topic(200)) <= 0.05


@pytest.mark.parametrize("examples", [1, 2, 5])
def test_few_examples_are_enough_to_retrain(examples: int) -> None:
    web = MadeUpWeb(seed=3)
    model = retrain(web.on_topic(examples), BACKGROUND, web.on_topic(100) + web.off_topic(100))
    assert share_relevant(model, web.on_topic(100)) >= 0.9
    assert share_relevant(model, web.off_topic(100)) <= 0.1


def test_an_empty_crawl_changes_nothing() -> None:
    examples = MadeUpWeb(seed=4).on_topic(3)
    assert retrain(examples, BACKGROUND, []).to_plain() == train(examples, BACKGROUND).to_plain()


@given(st.lists(st.tuples(st.floats(0, 1), st.integers())), st.floats(0, 1), st.floats(0, 1))
def test_the_least_alike_are_the_lowest(scored: list[tuple[float, int]], share: float, below: float) -> None:
    taken = least_like(scored, share, below=below, fewest=0.0)
    assert len(taken) <= share * len(scored)
    assert len(taken) <= sum(score < below for score, _ in scored)
    assert taken == [thing for _, thing in sorted(scored, key=lambda pair: pair[0])][: len(taken)]


def test_some_are_always_taken() -> None:
    assert least_like([(0.9, "b"), (0.8, "a"), *[(1.0, "c")] * 38], below=0.0) == ["a", "b"]
