from math import exp

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lycosa.relevance.svm import SLOPE, calibrate

DISTANCES = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=30)


def probability(at: float, sigmoid: tuple[float, float]) -> float:
    return 1.0 / (1.0 + exp(-(sigmoid[0] * at + sigmoid[1])))


def drawn(good: tuple[float, float], bad: tuple[float, float], count: int) -> tuple[list[float], list[float]]:
    draw = np.random.default_rng(7)
    return draw.normal(*good, count).tolist(), draw.normal(*bad, count).tolist()


@pytest.mark.slow
def test_with_many_examples_it_is_a_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression  # takes a second, which only a process that needs it shall

    good, bad = drawn((0.4, 0.5), (-0.8, 0.3), 4000)
    slope, offset = calibrate(good, bad)
    model = LogisticRegression(C=1e6).fit(np.array([*good, *bad])[:, None], [1] * len(good) + [0] * len(bad))
    assert slope == pytest.approx(model.coef_[0][0], rel=0.05)
    assert offset == pytest.approx(model.intercept_[0], rel=0.05)


def test_probabilities_are_met_as_often_as_they_say() -> None:
    good, bad = drawn((0.2, 0.5), (-0.6, 0.5), 3000)  # for which a sigmoid is the truth
    sigmoid = calibrate(good, bad)
    for low in (0.2, 0.4, 0.6, 0.8):
        hits = [sum(low <= probability(at, sigmoid) < low + 0.2 for at in side) for side in (good, bad)]
        assert hits[0] / sum(hits) == pytest.approx(low + 0.1, abs=0.07)


def test_where_good_pages_spread_the_border_moves_towards_the_bad() -> None:
    good, bad = drawn((1.0, 1.0), (-1.0, 0.2), 500)
    slope, offset = calibrate(good, bad)
    assert -offset / slope < -0.2


def test_one_example_of_each_side_stays_near_the_middle() -> None:
    slope, offset = calibrate([3.0], [1.0])
    assert slope == pytest.approx(SLOPE, rel=0.2)
    assert -offset / slope == pytest.approx(2.0)


@pytest.mark.slow
@given(good=DISTANCES, bad=DISTANCES, shift=st.floats(-5.0, 5.0), scale=st.floats(0.1, 10.0))
def test_where_the_distances_begin_and_in_which_unit_they_are_does_not_matter(
    good: list[float], bad: list[float], shift: float, scale: float
) -> None:
    assume(np.mean(good) - np.mean(bad) > 0.05)
    one = calibrate(good, bad)
    other = calibrate([at * scale + shift for at in good], [at * scale + shift for at in bad])
    for at in (*good, *bad):
        assert probability(at * scale + shift, other) == pytest.approx(probability(at, one), abs=1e-4)
    assert np.isfinite(one).all()


@pytest.mark.slow
@given(good=DISTANCES, bad=DISTANCES)
def test_both_sides_count_alike_however_many_they_are(good: list[float], bad: list[float]) -> None:
    assume(len(bad) >= len(good) and np.mean(good) - np.mean(bad) > 0.05)
    few, many = calibrate(good * 20, bad * 20), calibrate(good * 20, bad * 400)
    assert many == pytest.approx(few, rel=1e-4, abs=1e-4)
