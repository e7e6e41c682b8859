"""The table that is made of past looks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.refresh import Observation, history_of

A, B = "http://a/", "http://b/"

looks_of_any_kind = st.lists(
    st.builds(
        Observation,
        st.sampled_from([A, B, "http://c/"]),
        st.floats(-1e9, 1e9),
        st.booleans(),
        st.integers(0, 9),
        st.integers(0, 9),
        st.floats(0, 99),
    ),
    max_size=30,
)


def test_a_page_has_one_row_in_the_order_of_first_looks() -> None:
    table = history_of(
        [Observation(B, 1.0), Observation(A, 2.0), Observation(B, 5.0, changed=True)], importance={A: 0.25}
    )
    assert table.urls == [B, A]
    assert table.importance.tolist() == [1.0, 0.25]
    assert table.fetched_at.tolist() == [5.0, 2.0]
    assert table.fetches.tolist() == [2, 1]
    assert table.changes.tolist() == [1, 0]


def test_yield_and_link_score_are_those_of_the_latest_look_and_unknown_before_the_second() -> None:
    table = history_of(
        [
            Observation(A, 0.0, out_links=10, new_links=10, link_score=99.0),
            Observation(B, 0.0, out_links=3),
            Observation(A, 2.0, True, out_links=12, new_links=4, link_score=7.0),
            Observation(A, 6.0, True, out_links=9, new_links=2, link_score=5.0),
        ]
    )
    assert table.out_links.tolist() == [16, 3]
    assert table.yielded[0] == 0.5
    assert table.link_score[0] == 5.0
    assert np.isnan([table.yielded[1], table.link_score[1]]).all()


def test_the_first_look_is_no_change() -> None:
    assert history_of([Observation(A, 0.0, changed=True)]).changes.tolist() == [0]


def test_pages_that_changed_more_often_have_higher_rates() -> None:
    looks = [
        Observation(url, float(day), changed=day % every == 0) for url, every in ((A, 2), (B, 9)) for day in range(30)
    ]
    rates = history_of(looks).rate
    assert rates[0] > 2 * rates[1] > 0


def test_a_clock_that_was_put_back_gives_no_negative_ages_or_rates() -> None:
    table = history_of(
        [Observation(A, 100.0), Observation(A, 40.0, changed=True, new_links=3), Observation(A, 50.0, new_links=1)]
    )
    assert table.fetched_at.tolist() == [50.0]
    assert table.yielded.tolist() == [0.1]
    assert table.rate[0] > 0
    assert table.ages(10.0).tolist() == [0.0]


@pytest.mark.slow
@given(looks=looks_of_any_kind, now=st.floats(-1e9, 1e9))
def test_any_looks_make_a_table_of_sound_columns(looks: list[Observation], now: float) -> None:
    table = history_of(looks)
    assert len(table) == len({look.url for look in looks})
    assert table.fetches.sum() == len(looks)
    assert np.all(table.changes < np.maximum(1, table.fetches))
    assert np.all(np.isfinite(table.rate) & (table.rate > 0))
    assert np.all(table.ages(now) >= 0)
    assert not np.any(table.yielded < 0)


def test_some_rows_of_a_table_are_a_table() -> None:
    looks = [
        Observation("a", 1.0),
        Observation("b", 2.0),
        Observation("c", 3.0),
        Observation("b", 4.0, True, new_links=2),
    ]
    table = history_of(looks, importance={"b": 0.5})
    some = table.only([False, True, True])
    assert list(some.urls) == ["b", "c"]
    assert some.importance.tolist() == [0.5, 1.0]
    assert some.fetches.tolist() == [2, 1]
    assert some.rate.tolist() == table.rate.tolist()[1:]
    assert len(table.only([False, False, False])) == 0


def test_no_looks_make_an_empty_table() -> None:
    assert len(history_of([])) == 0


def test_without_second_looks_the_rate_is_the_one_given() -> None:
    assert history_of([Observation(A, 0.0)], unknown_rate=0.5).rate == pytest.approx([0.5])
