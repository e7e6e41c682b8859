"""Change rates from looks that lie any time apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.refresh.rates import UNKNOWN_RATE, change_rates, maximum_likelihood_rates, typical_rate

lengths = st.floats(1e-3, 1e3)
intervals = st.lists(st.tuples(st.integers(0, 3), lengths, st.booleans()), min_size=1, max_size=40)
History = list[tuple[int, float, bool]]


def columns(history: History) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, times, changed = zip(*history, strict=True)
    return np.array(rows), np.array(times), np.array(changed)


@pytest.mark.slow
@given(history=intervals, changes=st.floats(0.1, 3.0), time=lengths)
def test_the_rate_solves_the_equation(history: History, changes: float, time: float) -> None:
    rows, times, changed = columns(history)
    rates = maximum_likelihood_rates(rows, times, changed, pages=4, prior_changes=changes, prior_time=time)
    for row, rate in enumerate(rates):
        own, quiet = times[(rows == row) & changed], times[(rows == row) & ~changed]
        with np.errstate(over="ignore"):
            left = (own / np.expm1(rate * own)).sum() + changes / rate
        assert left == pytest.approx(quiet.sum() + time, rel=1e-6)


@pytest.mark.slow
@given(history=intervals)
def test_every_rate_is_finite_and_positive(history: History) -> None:
    rates = change_rates(*columns(history), pages=5)
    assert np.all(np.isfinite(rates))
    assert np.all(rates > 0)


@pytest.mark.slow
@given(history=intervals, scale=st.floats(1e-4, 1e6))
def test_times_that_are_longer_by_a_factor_give_rates_that_are_lower_by_it(history: History, scale: float) -> None:
    rows, times, changed = columns(history)
    rates = change_rates(rows, times, changed, pages=4, unknown_rate=0.1)
    scaled = change_rates(rows, times * scale, changed, pages=4, unknown_rate=0.1 / scale)
    assert scaled * scale == pytest.approx(rates, rel=1e-6)


@pytest.mark.slow
@given(times=st.lists(lengths, min_size=1, max_size=20), data=st.data())
def test_one_more_change_gives_a_higher_rate(times: list[float], data: st.DataObject) -> None:
    changed = np.array(data.draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times))))
    which = data.draw(st.integers(0, len(times) - 1))
    less, more = changed.copy(), changed.copy()
    less[which], more[which] = False, True
    rows, arguments = np.zeros(len(times), dtype=np.int64), {"pages": 1, "prior_changes": 0.5, "prior_time": 1.0}
    low, high = (float(maximum_likelihood_rates(rows, np.array(times), each, **arguments)[0]) for each in (less, more))
    assert high > low


@pytest.mark.slow
@given(history=intervals)
def test_the_order_of_looks_is_of_no_matter(history: History) -> None:
    assert change_rates(*columns(history[::-1]), pages=4) == pytest.approx(change_rates(*columns(history), pages=4))


def test_recovers_the_rates_of_simulated_pages() -> None:
    random = np.random.default_rng(8)
    true, looks = np.array([0.02, 0.1, 0.5, 1.0]), 20_000
    rows = np.repeat(np.arange(4), looks)
    times = random.exponential(2.0, size=len(rows))
    changed = random.random(len(rows)) < -np.expm1(-true[rows] * times)
    assert change_rates(rows, times, changed, pages=4) == pytest.approx(true, rel=0.06)


def regular_rate(intervals: int, changes: float, length: float) -> float:
    """The estimate of Cho and Garcia-Molina for intervals of one length, which has little bias."""
    return float(-np.log((intervals - changes + 0.5) / (intervals + 0.5)) / length)


def test_agrees_with_the_estimate_for_regular_looks() -> None:
    rows, times, changed = np.zeros(1_000, dtype=np.int64), np.full(1_000, 7.0), np.arange(1_000) < 300
    rate = change_rates(rows, times, changed, pages=1, unknown_rate=0.05)[0]
    assert rate == pytest.approx(regular_rate(1_000, 300, 7.0), rel=0.01)


def test_pages_seen_once_are_taken_for_typical_ones() -> None:
    times, changed = np.array([5.0, 5.0, 5.0]), np.array([True, False, False])
    rates = change_rates(np.array([0, 0, 0]), times, changed, pages=2, unknown_rate=0.1)
    assert rates[1] == pytest.approx(typical_rate(times, changed, unknown_rate=0.1))


@pytest.mark.parametrize("pages", [1, 1_000])
def test_a_quick_second_look_that_finds_no_change_tells_next_to_nothing(pages: int) -> None:
    rows = np.arange(pages)
    rates = change_rates(rows, np.full(pages, 2.0), np.zeros(pages, dtype=bool), pages=pages)
    assert rates == pytest.approx(np.full(pages, UNKNOWN_RATE), rel=0.01)


def test_many_long_looks_outweigh_what_was_supposed() -> None:
    day, changed = 86_400.0, np.arange(1_000) < 632  # as on pages that change once a day
    assert typical_rate(np.full(1_000, day), changed) * day == pytest.approx(1.0, rel=0.05)


def test_without_any_second_look_all_rates_are_the_one_given() -> None:
    nothing = np.array([], dtype=np.int64)
    rates = change_rates(nothing, nothing.astype(float), nothing.astype(bool), pages=2, unknown_rate=0.25)
    assert rates == pytest.approx([0.25, 0.25])


def test_intervals_that_are_not_positive_tell_nothing() -> None:
    rows, changed = np.array([0, 0, 0, 0]), np.array([True, True, True, False])
    rates = change_rates(rows, np.array([0.0, -3.0, np.nan, 2.0]), changed, pages=1)
    assert rates == pytest.approx(change_rates(rows[3:], np.array([2.0]), changed[3:], pages=1))
