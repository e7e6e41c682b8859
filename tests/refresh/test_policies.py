"""What each refresh policy promises beyond what all do."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.refresh import HistoryTable, expected_changes, policy_for
from lycosa.refresh.policies import (
    LinkScoreOrUniform,
    OutLinks,
    Yield,
    YieldOrUniform,
    crawl_rates,
    crawl_values,
    interleave,
    weighted_sample,
)

DRAWS = 20_000
positive = st.floats(1e-6, 1e6)


def table(count: int, **columns: list[float]) -> HistoryTable:
    """Equal pages looked at at time 0, but for the columns given."""
    equal = HistoryTable(
        urls=[f"http://a/{number}" for number in range(count)],
        importance=np.ones(count),
        fetched_at=np.zeros(count),
        fetches=np.ones(count, dtype=np.int64),
        changes=np.zeros(count, dtype=np.int64),
        rate=np.full(count, 0.1),
        out_links=np.ones(count, dtype=np.int64),
        yielded=np.full(count, np.nan),
        link_score=np.full(count, np.nan),
    )
    return replace(equal, **{name: np.array(column) for name, column in columns.items()})


def shares(name: str, pages: HistoryTable) -> np.ndarray:
    """How often a policy takes each page when it may take one."""
    policy = policy_for(name, seed=3)
    chosen = [int(policy.choose(pages, 1.0, 1)[0]) for _ in range(DRAWS)]
    return np.bincount(chosen, minlength=len(pages)) / DRAWS


def near(*expected: float) -> object:
    """Equal within four standard errors."""
    return pytest.approx(expected, abs=4 * 0.5 / DRAWS**0.5)


def test_uniform_takes_each_page_as_often() -> None:
    assert shares("uniform", table(4)).tolist() == near(0.25, 0.25, 0.25, 0.25)


@pytest.mark.slow
def test_or_takes_pages_in_proportion_to_their_links() -> None:
    assert shares("or", table(3, out_links=[0, 1, 3])).tolist() == near(0.0, 0.25, 0.75)


@pytest.mark.slow
def test_yr_takes_pages_in_proportion_to_their_yield_and_none_that_has_no_second_look() -> None:
    assert shares("yr", table(4, yielded=[np.nan, 1.0, 4.0, 0.0])).tolist() == near(0.0, 0.2, 0.8, 0.0)


@pytest.mark.slow
def test_yr_takes_any_page_as_long_as_none_has_yielded() -> None:
    assert shares("yr", table(2, yielded=[np.nan, 0.0])).tolist() == near(0.5, 0.5)


@pytest.mark.slow
def test_yru_is_half_yr_and_half_uniform() -> None:
    assert shares("yru", table(4, yielded=[np.nan, 1.0, 4.0, 0.0])).tolist() == near(0.125, 0.225, 0.525, 0.125)


@pytest.mark.slow
def test_ldu_is_half_the_highest_link_score_and_half_uniform() -> None:
    assert shares("ldu", table(4, link_score=[np.nan, 1.0, 4.0, 0.0])).tolist() == near(0.125, 0.125, 0.625, 0.125)


@pytest.mark.slow
def test_draws_without_replacement_go_on_in_proportion_among_those_left() -> None:
    random = np.random.default_rng(1)
    seconds = [
        second
        for first, second in (weighted_sample(np.array([6.0, 3.0, 1.0]), 2, random) for _ in range(DRAWS))
        if first == 0
    ]
    assert np.bincount(seconds, minlength=3)[1] / len(seconds) == pytest.approx(0.75, abs=0.02)


def test_turns_pass_over_what_the_other_order_took() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        rows = interleave(np.array([0, 1, 2, 3]), np.array([0, 3, 1, 2]), 4, random).tolist()
        assert rows[0] == 0
        assert sorted(rows) == [0, 1, 2, 3]
        assert rows[1] in (1, 3)


def test_fixed_takes_the_oldest_first_and_never_looked_at_before_all() -> None:
    assert policy_for("fixed").choose(table(4, fetched_at=[3.0, 1.0, np.nan, 2.0]), 5.0, 3).tolist() == [2, 1, 3]


def test_fixed_leaves_pages_that_are_younger_than_asked_for() -> None:
    pages = table(4, fetched_at=[3.0, 1.0, 4.5, 2.0])
    assert policy_for("fixed", older_than=3.0).choose(pages, 5.0, 4).tolist() == [1, 3]


@given(importance=positive, rate=positive, age=positive)
def test_crawl_value_is_the_formula(importance: float, rate: float, age: float) -> None:
    x = np.longdouble(rate) * np.longdouble(age)
    if x < 1e-3:
        expected = importance * rate * age**2 * (0.5 - float(x) / 3 + float(x) ** 2 / 8)
    else:
        expected = float(importance / np.longdouble(rate) * (-np.expm1(-x) - x * np.exp(-x)))
    value = crawl_values(np.array([importance]), np.array([rate]), np.array([age]))[0]
    assert value == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@given(rate=positive, age=positive, later=st.floats(1.0, 10.0))
def test_crawl_value_never_falls_with_age(rate: float, age: float, later: float) -> None:
    young, old = crawl_values(np.ones(2), np.full(2, rate), np.array([age, age * later]))
    assert old >= young * (1 - 1e-9)


def test_crawl_value_is_small_for_pages_that_change_hardly_and_for_those_that_change_all_the_time() -> None:
    values = crawl_values(np.ones(4), np.array([0.0, 1e-9, 0.2, 1e4]), np.full(4, 10.0))
    assert values[2] == values.max()
    assert values[0] == 0.0
    assert values[[1, 3]] == pytest.approx([5e-8, 1e-4], rel=1e-3)


def test_crawl_value_goes_by_age_among_pages_without_value() -> None:
    pages = table(3, rate=[0.0, 0.0, 0.0], fetched_at=[2.0, 1.0, 3.0])
    assert policy_for("crawl-value").choose(pages, 5.0, 3).tolist() == [1, 0, 2]


@pytest.mark.slow
@given(pages=st.lists(st.tuples(positive, positive), min_size=1, max_size=30), budget=positive)
def test_crawl_rates_use_the_budget_and_satisfy_one_price(pages: list[tuple[float, float]], budget: float) -> None:
    importance, rate = (np.array(column) for column in zip(*pages, strict=True))
    looks = crawl_rates(importance, rate, budget)
    assert looks.sum() == pytest.approx(budget)
    assert np.all(looks > 0)
    prices = importance * rate / (looks * (looks + rate))  # the slope of μ·ρ/(ρ + Δ) is this λ for every page
    assert prices == pytest.approx(np.full(len(prices), prices[0]), rel=1e-5)


def test_crawl_rates_are_shared_alike_when_nothing_changes_or_matters() -> None:
    assert crawl_rates(np.zeros(4), np.ones(4), 2.0).tolist() == [0.5] * 4


@pytest.mark.slow
def test_lambda_starves_no_page() -> None:
    """Neither one without importance, nor one that never changes, nor one that always does."""
    pages = table(6, importance=[1.0, 1.0, 1.0, 0.0, 5.0, 1.0], rate=[0.1, 0.5, 0.0, 1.0, 100.0, 2.0])
    policy, looked_at = policy_for("lambda", per_time=1.0), np.zeros(6, dtype=np.int64)
    fetched_at = pages.fetched_at.copy()
    for now in range(1, 3_000):
        (row,) = policy.choose(replace(pages, fetched_at=fetched_at), float(now), 1)
        fetched_at[row] = now
        looked_at[row] += 1
    assert looked_at.min() > 0


@pytest.mark.slow
def test_lambda_looks_as_often_as_its_rates_say() -> None:
    pages = table(3, importance=[1.0, 2.0, 1.0], rate=[0.05, 0.2, 1.0])
    policy, looked_at = policy_for("lambda"), np.zeros(3)
    fetched_at = pages.fetched_at.copy()
    for now in range(1, 2_001):
        (row,) = policy.choose(replace(pages, fetched_at=fetched_at), float(now), 1)
        fetched_at[row] = now
        looked_at[row] += 1
    assert looked_at / 2_000 == pytest.approx(crawl_rates(pages.importance, pages.rate, 1.0), abs=0.05)


def test_as_many_changes_are_expected_as_poisson_pages_would_show() -> None:
    pages = table(4, rate=[0.5, 0.0, 2.0, 1.0], fetched_at=[0.0, 0.0, 9.0, np.nan])
    expected = 1 - np.exp(-5.0) + 1 - np.exp(-2.0)
    assert expected_changes(pages, np.array([0, 1, 2]), 10.0) == pytest.approx(expected)
    assert expected_changes(pages, np.array([3]), 10.0) == 1.0
    assert expected_changes(pages, np.array([], dtype=np.int64), 10.0) == 0.0


def test_the_weight_of_a_policy_can_be_asked_of_one_page() -> None:
    page = SimpleNamespace(out_links=3, yielded=0.5, link_score=7.0)
    assert (OutLinks.weight(page), Yield.weight(page), YieldOrUniform.weight(page)) == (3, 0.5, 0.5)
    assert LinkScoreOrUniform.weight(page) == 7.0
