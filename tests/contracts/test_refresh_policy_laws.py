"""What every refresh policy promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.refresh import POLICIES, HistoryTable, expected_changes, policy_for
from lycosa.testing import chooses_the_same_with_the_same_seed, chooses_within_the_budget
from lycosa.vocabulary.errors import UsageError

every_policy = pytest.mark.parametrize("name", POLICIES)

amounts = st.floats(0.0, 1e12) | st.sampled_from([0.0, 1e-300, 1e300, np.nan, np.inf])
times = st.floats(-1e10, 1e10) | st.just(np.nan)


@st.composite
def tables(draw: st.DrawFn) -> HistoryTable:
    rows = draw(st.lists(st.tuples(amounts, times, amounts, st.integers(0, 2**40), amounts, amounts), max_size=12))
    importance, fetched_at, rate, out_links, yielded, score = zip(*rows, strict=True) if rows else [()] * 6
    return HistoryTable(
        urls=[f"http://a/{number}" for number in range(len(rows))],
        importance=np.array(importance, dtype=np.float64),
        fetched_at=np.array(fetched_at, dtype=np.float64),
        fetches=np.ones(len(rows), dtype=np.int64),
        changes=np.zeros(len(rows), dtype=np.int64),
        rate=np.array(rate, dtype=np.float64),
        out_links=np.array(out_links, dtype=np.int64),
        yielded=np.array(yielded, dtype=np.float64),
        link_score=np.array(score, dtype=np.float64),
    )


def pages(count: int) -> HistoryTable:
    """Pages that differ in every column, looked at on days 0 to 9 in turn."""
    number = np.arange(count)
    return HistoryTable(
        urls=[f"http://a/{each}" for each in number],
        importance=(number % 7) / 7,
        fetched_at=(number % 10).astype(np.float64),
        fetches=np.full(count, 2),
        changes=number % 2,
        rate=0.01 + (number % 5) / 10,
        out_links=number % 11,
        yielded=np.where(number % 3, number / count, np.nan),
        link_score=np.where(number % 3, number % 13, np.nan),
    )


@pytest.mark.slow
@every_policy
@settings(max_examples=60, deadline=None)
@given(table=tables(), now=st.floats(-1e10, 1e10), budget=st.integers(-1, 20))
@pytest.mark.filterwarnings("error")
def test_chooses_as_many_rows_as_it_may_and_none_twice(name: str, table: HistoryTable, now: float, budget: int) -> None:
    chooses_within_the_budget(policy_for(name), table, now=now, budget=budget)
    rows = policy_for(name).choose(table, now, budget)
    assert len(rows) == max(0, min(budget, len(table)))
    assert 0.0 <= expected_changes(table, rows, now) <= len(rows)


@every_policy
def test_chooses_nothing_from_an_empty_table(name: str) -> None:
    assert len(policy_for(name).choose(pages(0), 1.0, 5)) == 0


@every_policy
def test_chooses_each_page_once_when_the_budget_is_larger_than_the_table(name: str) -> None:
    assert sorted(policy_for(name).choose(pages(30), 20.0, 1_000).tolist()) == list(range(30))


@every_policy
def test_chooses_the_same_with_the_same_seed_call_after_call(name: str) -> None:
    chooses_the_same_with_the_same_seed(POLICIES[name], pages(40))


@every_policy
def test_does_not_change_the_table(name: str) -> None:
    table, untouched = pages(40), pages(40)
    policy_for(name).choose(table, 20.0, 10)
    for column in ("importance", "fetched_at", "rate", "out_links", "yielded", "link_score"):
        np.testing.assert_array_equal(getattr(table, column), getattr(untouched, column))


@every_policy
def test_chooses_when_nothing_matters(name: str) -> None:
    table = replace(pages(30), importance=np.zeros(30))
    assert len(policy_for(name).choose(table, 20.0, 10)) == 10


@every_policy
def test_chooses_when_the_clock_is_behind_the_last_look(name: str) -> None:
    table = pages(30)
    rows = policy_for(name).choose(table, -100.0, 10)
    assert len(rows) == 10
    assert expected_changes(table, rows, -100.0) == 0.0


@every_policy
def test_the_unit_of_time_is_of_no_matter(name: str) -> None:
    days = pages(60)
    hours = replace(days, fetched_at=days.fetched_at * 24, rate=days.rate / 24, yielded=days.yielded / 24)
    chosen = policy_for(name, seed=2).choose(days, 20.0, 15).tolist()
    assert policy_for(name, seed=2).choose(hours, 480.0, 15).tolist() == chosen


def test_a_policy_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="uniform, or, yr, yru, ldu, fixed, crawl-value, lambda"):
        policy_for("newest")


def test_an_option_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="'uniform' has no option 'age'; it takes seed"):
        policy_for("uniform", age=3)
