import json
import random
from functools import cache
from math import exp, isfinite, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.reading.reader import page_of_html
from lycosa.standing import FEATURES, StandingModel, count_in_links, labelled, learn, median_prediction, prior
from lycosa.standing.features import information_specificity
from lycosa.vocabulary.contracts import Standing
from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa.vocabulary.records import Page, Url
from lycosa_lab.worlds.calibration import spearman
from lycosa_lab.worlds.synthetic import SyntheticWorld


@cache
def world() -> SyntheticWorld:
    return SyntheticWorld(pages=3000, topics=8, seed=3)


@cache
def pages(start: int, count: int) -> list[tuple[Page, float]]:
    """Some pages of the world and their status."""
    urls = random.Random(1).sample(list(world().urls()), 2000)[start : start + count]
    return [(page, world().log_in_links(page.url) or 0.0) for page in map(world().read, urls) if page is not None]


@cache
def learnt() -> StandingModel:
    return learn(pages(0, 600), traffic=world().site_traffic())


def explained(model: StandingModel, held_out: list[tuple[Page, float]]) -> float:
    """The share of the variance of the status that the model explains."""
    statuses = np.array([status for _, status in held_out])
    misses = statuses - [model.prediction(page) for page, _ in held_out]
    return float(1.0 - (misses**2).mean() / statuses.var())


def empty_page(number: int = 0) -> Page:
    return page_of_html(Url(f"http://a.example/{number}"), "")


@pytest.mark.slow
def test_a_model_tells_part_of_the_standing_of_pages_it_has_not_seen():
    assert explained(learnt(), pages(600, 400)) > 0.25


@pytest.mark.slow
def test_a_model_of_one_topic_tells_part_of_the_standing_on_others():
    topic = world().topics[0]
    on = [(page, status) for page, status in pages(0, 1500) if world().topic(page.url) == topic]
    off = [(page, status) for page, status in pages(0, 1500) if world().topic(page.url) != topic]
    model = learn(on, background=[page for page, _ in off[:200]], traffic=world().site_traffic())
    truth, told = zip(*((status, model.prediction(page)) for page, status in off[200:600]), strict=True)
    assert spearman(truth, told) > 0.3


def test_standing_is_the_sigmoid_of_the_prediction_less_theta():
    judge: Standing = learnt()
    for page, _ in pages(0, 20):
        assert judge.standing(page) == pytest.approx(1 / (1 + exp(learnt().theta - learnt().prediction(page))))


def test_half_of_the_pages_learnt_from_stand_above_the_middle():
    standings = sorted(learnt().standing(page) for page, _ in pages(0, 600))
    assert standings[299] <= 0.5 <= standings[300]
    assert learnt().theta == pytest.approx(median_prediction(learnt(), [page for page, _ in pages(0, 600)]))


def test_theta_can_be_the_median_of_other_pages():
    others = [page for page, _ in pages(600, 101)]
    model = learnt().with_theta(median_prediction(learnt(), others))
    assert sorted(map(model.standing, others))[50] == pytest.approx(0.5)
    assert median_prediction(model, []) == model.theta


@pytest.mark.parametrize("theta", [float("nan"), float("inf"), -1.0])
def test_a_theta_that_is_no_status_is_refused(theta):
    with pytest.raises(UsageError, match="theta"):
        learnt().with_theta(theta)


def test_the_same_pages_teach_the_same_model():
    assert learn(pages(0, 100)).to_plain() == learn(pages(0, 100)).to_plain()


def test_a_model_that_was_saved_predicts_the_same():
    plain = json.loads(json.dumps(learnt().to_plain()))
    again = StandingModel.from_plain(plain, traffic=world().site_traffic())
    assert again.to_plain() == learnt().to_plain()
    assert [again.standing(page) for page, _ in pages(0, 50)] == [learnt().standing(page) for page, _ in pages(0, 50)]


def test_a_model_loaded_without_its_traffic_takes_all_domains_as_unknown_and_says_so():
    again = StandingModel.from_plain(learnt().to_plain())
    assert "domains it was trained with is missing" in again.notes[0]
    assert again.features.traffic.of(pages(0, 1)[0][0].url) == learnt().features.traffic.unlisted_value


@pytest.mark.slow
def test_how_many_terms_are_characteristic_is_a_choice():
    term_counts = pages(600, 1)[0][0].words.term_counts
    for count in (1, 40):
        features = learn(pages(0, 200), characteristic=count).features
        assert features.background is not None
        assert features.specificity(term_counts) == information_specificity(term_counts, features.background, count)
    with pytest.raises(UsageError, match="characteristic"):
        learn(pages(0, 20), characteristic=0)


def test_a_model_can_be_read():
    said = learnt().explain()
    assert all(name in said for name in FEATURES)
    assert "sigmoid(prediction - " in said and "model 1 (" in said and "600 pages" in said


def test_nothing_stands_beyond_what_was_seen():
    farm = page_of_html(Url("http://farm.example/a/b/c/d/e/f/g/h"), "9 " + '<a href="/x">1</a>' * 3000)
    lowest, highest = learnt().ranges[-1]
    assert lowest <= learnt().prediction(farm) <= highest
    assert lowest <= learnt().prediction(empty_page()) <= highest


@given(st.text(max_size=300), st.text(alphabet="a/?&%", max_size=30))
@settings(max_examples=50)
def test_every_page_has_a_standing(text, path):
    page = page_of_html(Url(f"http://a.example/{path}"), text)
    for model in (learnt(), prior()):
        assert 0.0 < model.standing(page) < 1.0 and isfinite(model.prediction(page))


# Where there is nothing to learn


@pytest.mark.parametrize(
    ("taught", "reason"),
    [
        (lambda: [], "of 0 pages are known, and 10 are needed"),
        (lambda: pages(0, 9), "of 9 pages are known, and 10 are needed"),
        (lambda: [(page, 2.0) for page, _ in pages(0, 30)], "have the same number"),
        (lambda: [(empty_page(number), number / 10) for number in range(30)], "look alike"),
        (lambda: [(page, float("nan")) for page, _ in pages(0, 30)], "of 0 pages are known"),
    ],
    ids=["none", "few", "constant", "alike", "no numbers"],
)
def test_pages_that_teach_nothing_leave_the_prior_model_and_a_reason(taught, reason):
    model = learn(taught())
    assert reason in model.notes[0] and "built-in model" in model.notes[1]
    assert model.tree is prior().tree
    assert 0.0 < model.standing(pages(700, 1)[0][0]) < 1.0


def test_the_prior_model_has_its_middle_at_the_pages_at_hand():
    few = [page for page, _ in pages(0, 9)]
    assert learn(pages(0, 9)).theta == pytest.approx(median_prediction(prior(), few))


def test_a_status_that_features_do_not_tell_makes_all_pages_alike_and_says_so():
    (one, _), (other, _) = pages(0, 2)
    model = learn([(page, float(status)) for page in (one, other) for status in (0, 1, 2, 3, 4)] * 3)
    assert "say nothing about importance" in model.notes[0]
    assert [model.standing(page) for page, _ in pages(600, 5)] == [0.5] * 5


def test_the_prior_model_ranks_pages_of_a_world_better_than_chance():
    assert "other webs" in prior().notes[0]
    truth, told = zip(*((status, prior().prediction(page)) for page, status in pages(0, 600)), strict=True)
    assert spearman(truth, told) > 0.3


def test_the_prior_model_goes_by_neither_words_nor_reach():
    asked = {feature for node in prior().to_plain()["tree"]["nodes"] for feature, _ in node["weights"]}
    assert asked and asked.isdisjoint({2, 6})


# What is known


def test_links_are_counted_once_from_each_other_page():
    a, b, c = (Url(f"http://{name}.example/") for name in "abc")
    assert count_in_links([(a, b), (c, b), (a, b), (b, b), (b, a)]) == {a: 1, b: 2, c: 0}
    assert count_in_links([]) == {}


def test_pages_of_unknown_in_links_teach_nothing():
    (first, _), (second, _) = pages(0, 2)
    assert list(labelled([first, second], {second.url: 7})) == [(second, log1p(7))]


# Hostile files


def _with(plain: dict[str, object], path: str, value: object) -> object:
    *way, last = path.split(".")
    copy = at = json.loads(json.dumps(plain))
    for step in way:
        at = at[step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kind", "relevance"),
        ("kind", ...),
        ("theta", "2"),
        ("theta", float("nan")),
        ("theta", 1e9),
        ("seen", [[0, 1]] * 7),
        ("seen", [[1, 0]] * 8),
        ("seen", [[0, float("inf")]] * 8),
        ("seen", [[-9, 1]] * 8),
        ("seen", 8),
        ("pages", -1),
        ("notes", "a"),
        ("notes", [1]),
        ("characteristic", 0),
        ("characteristic", True),
        ("neutral", None),
        ("domains", ...),
        ("background", 3),
        ("background.pages", -5),
        ("background.containing", ["a"]),
        ("background.containing", {"a b": 2}),
        ("background.containing", {"": 2}),
        ("background.containing", {"a" * 300: 2}),
        ("background.containing", {"a": 1e9}),
        ("background.containing", {"a": 10**9}),
        ("tree", None),
        ("tree.attributes", 3),
        ("tree.nodes", []),
        ("tree.nodes", [{"rows": 1, "intercept": 0, "weights": [[7, 1]]}]),
    ],
)
def test_a_saved_model_that_was_tampered_with_is_refused(path, value):
    plain = _with(learn(pages(0, 50)).to_plain(), path, value)
    with pytest.raises(CollectionError, match=r"cannot use my\.json: "):
        StandingModel.from_plain(plain, source="my.json")


@pytest.mark.parametrize("plain", [None, [], "standing", 3, {}])
def test_what_is_no_model_is_refused(plain):
    with pytest.raises(CollectionError, match="cannot use the model of standing"):
        StandingModel.from_plain(plain)


def test_weights_without_measure_still_give_a_standing():
    plain = learn(pages(0, 50)).to_plain()
    plain["tree"]["nodes"] = [{"rows": 50, "intercept": 1e150, "weights": [[0, -1e150], [3, 1e150]]}]
    assert 0.0 <= StandingModel.from_plain(plain).standing(pages(0, 1)[0][0]) <= 1.0
