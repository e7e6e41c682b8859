"""The interval of the harvest rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.relevance.harvest import harvest_interval


@given(st.integers(0, 5_000), st.integers(0, 5_000))
def test_the_interval_holds_the_estimate_and_lies_within_the_shares_there_are(a, b):
    relevant, pages = sorted((a, b))
    low, high = harvest_interval(relevant, pages)
    assert 0.0 <= low <= (relevant / pages if pages else 0.5) <= high <= 1.0


@given(st.integers(1, 50), st.integers(2, 40))
def test_more_pages_of_the_same_share_make_it_narrower(relevant, times):
    few, many = harvest_interval(relevant, 100), harvest_interval(relevant * times, 100 * times)
    assert many[1] - many[0] < few[1] - few[0]


def test_a_rule_is_the_truth_by_itself():
    assert harvest_interval(3, 4, "rule") == (0.75, 0.75)
    assert harvest_interval(0, 0, "rule") == (0.0, 0.0)


@given(st.integers(0, 100))
def test_negatives_leave_more_open_below_and_the_crawl_above(relevant):
    crawl, negatives = harvest_interval(relevant, 100), harvest_interval(relevant, 100, "negatives")
    assert negatives[0] <= crawl[0] <= relevant / 100 <= negatives[1] <= crawl[1]


@pytest.mark.parametrize(
    ("calibration", "claimed", "true"),
    [  # percent of 140 pages, in crawls for development topics of the league
        ("crawl", 36, 71), ("crawl", 30, 86), ("crawl", 13, 56), ("crawl", 38, 37), ("crawl", 46, 79), ("crawl", 29, 9),
        ("negatives", 76, 21), ("negatives", 46, 14), ("negatives", 83, 8), ("negatives", 97, 99),
        ("negatives", 61, 71),
    ],
)  # fmt: skip
def test_it_holds_the_truth_of_crawls_that_are_mostly_on_the_topic_or_beside_it(calibration, claimed, true):
    low, high = harvest_interval(round(1.4 * claimed), 140, calibration)
    assert low <= true / 100 <= high
