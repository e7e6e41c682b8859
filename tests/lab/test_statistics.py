"""Statistics agree with scipy and with sums done by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa_lab.statistics import bootstrap_interval, holds_or_none, holm, paired_t, pairwise, spearman, summary

NAN = math.nan
some_floats = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20)
some_p_values = st.lists(st.floats(0, 1), max_size=12)


def test_a_summary_by_hand():
    assert summary([1, 2, 3, 4]).mean == 2.5
    assert summary([1, 2, 3, 4]).standard_error == pytest.approx(math.sqrt(5 / 3) / 2)
    assert summary(iter([5.0, NAN, 7.0])) == summary([5, 7])
    assert summary([5, 7]).n == 2


def test_too_few_values_have_no_error():
    assert math.isnan(summary([]).mean) and summary([]).n == 0
    assert summary([3]).mean == 3 and math.isnan(summary([3]).standard_error)


@given(some_floats)
def test_the_standard_error_is_that_of_scipy(values):
    from scipy import stats  # takes a second, which only a process that needs it shall

    assert summary(values).standard_error == pytest.approx(float(stats.sem(values)))


def test_a_paired_test_by_hand():
    test = paired_t([3, 5, 7], [1, 4, 4])  # differences 2, 1, 3: mean 2, standard error 1 / √3
    assert (test.difference, test.n) == (2, 3)
    assert test.t == pytest.approx(2 * math.sqrt(3))
    assert test.p == pytest.approx(1 - math.sqrt(12 / 14))  # with two degrees of freedom: 1 - √(t² / (t² + 2))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30))
def test_a_paired_test_is_that_of_scipy_both_ways_round(pairs):
    from scipy import stats

    first, second = zip(*pairs, strict=True)
    test, reverse = paired_t(first, second), paired_t(second, first)
    assert (reverse.difference, reverse.t, reverse.p) == (-test.difference, -test.t, test.p)
    assert 0 <= test.p <= 1
    if np.ptp(np.subtract(first, second)) > 1e-9:
        expected = stats.ttest_rel(first, second)
        assert (test.t, test.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_differences_of_nought_are_no_difference():
    test = paired_t([0.1, 0.5, 0.9], [0.1, 0.5, 0.9])
    assert (test.difference, test.t, test.p) == (0, 0, 1)


def test_constant_differences_prove_as_much_as_their_signs():
    from scipy import stats

    first = [0.1, 0.2, 0.3, 0.7, 0.9]
    test = paired_t(first, [value + 0.3 for value in first])  # no two of these differences are the same to the last bit
    assert test.difference == pytest.approx(-0.3)
    assert (test.t, test.p) == (-math.inf, 1 / 16)
    assert test.p == pytest.approx(stats.binomtest(0, 5).pvalue)


def test_pairs_with_a_missing_half_do_not_count():
    assert paired_t([1, NAN, 3, 4], [0, 1, NAN, 1]) == paired_t([1, 4], [0, 1])


def test_pairs_with_a_missing_half_do_not_count_in_a_correlation():
    assert spearman([1, 2, NAN, 3, 4], [1, 3, 9, 2, 4]) == spearman([1, 2, 3, 4], [1, 3, 2, 4])
    assert spearman([1, 2, NAN], [1, 2, 3]).n == 2


def test_fewer_than_two_pairs_prove_nothing():
    assert math.isnan(paired_t([], []).difference) and paired_t([], []).n == 0
    one = paired_t([2], [1])
    assert one.difference == 1 and math.isnan(one.t) and math.isnan(one.p)


def test_lists_of_different_length_are_no_pairs():
    with pytest.raises(ValueError, match="3 and 2 values"):
        paired_t([1, 2, 3], [1, 2])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1, 1]
    assert holm([]) == []


def test_what_was_no_test_does_not_count_in_holm():
    corrected = holm([0.01, NAN, 0.04])
    assert math.isnan(corrected[1])
    assert [corrected[0], corrected[2]] == holm([0.01, 0.04])


@given(some_p_values)
def test_holm_only_raises_keeps_the_order_and_stays_below_bonferroni(p_values):
    corrected = holm(p_values)
    for p, q in zip(p_values, corrected, strict=True):
        assert p <= q <= 1
    by_p = [q for _, q in sorted(zip(p_values, corrected, strict=True))]
    assert by_p == sorted(by_p)
    if p_values:
        assert min(corrected) == min(1, len(p_values) * min(p_values))


def test_every_two_columns_are_compared():
    table = {"best": [3.0, 5.0, 7.0], "middle": [1.0, 4.0, 4.0], "worst": [0.0, 1.0, 1.0]}
    comparisons = pairwise(table)
    assert [(each.first, each.second) for each in comparisons] == [
        ("best", "middle"),
        ("best", "worst"),
        ("middle", "worst"),
    ]
    assert [each.test for each in comparisons] == [paired_t(table[a.first], table[a.second]) for a in comparisons]
    assert [each.holm_p for each in comparisons] == holm([each.test.p for each in comparisons])
    assert pairwise({"alone": [1.0, 2.0]}) == []


def test_the_bootstrap_comes_near_the_normal_interval():
    values = np.random.default_rng(5).normal(10, 2, 200)
    low, high = bootstrap_interval(values)
    around = summary(values)
    assert low == pytest.approx(around.mean - 1.96 * around.standard_error, abs=0.05)
    assert high == pytest.approx(around.mean + 1.96 * around.standard_error, abs=0.05)


def test_the_bootstrap_repeats_with_its_seed_and_widens_with_confidence():
    values = [1.03, 4.11, 2.27, 8.42, 5.59, 7.31]
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)
    low, high = bootstrap_interval(values, confidence=0.5)
    lower, higher = bootstrap_interval(values, confidence=0.99)
    assert lower < low < high < higher


@given(some_floats)
def test_a_bootstrap_interval_lies_within_the_values(values):
    low, high = bootstrap_interval(values, rounds=50)
    slack = 1e-9 * max(map(abs, values))
    assert min(values) - slack <= low <= high <= max(values) + slack


def test_a_bootstrap_of_fewer_than_two_values_tells_nothing():
    assert all(map(math.isnan, (*bootstrap_interval([]), *bootstrap_interval([1]), *bootstrap_interval([1, NAN]))))


def test_a_claim_that_fails_anyway_fails_whatever_was_not_tested():
    assert holds_or_none(False, 0.2, math.nan) is False and holds_or_none(False, math.nan) is False
    assert holds_or_none(True, 0.2, math.nan) is None
    assert holds_or_none(True, 0.01) is True and holds_or_none(False, 0.2) is False


def test_a_test_without_p_may_be_a_gain_only_in_the_right_direction():
    rises, falls, empty = paired_t([2.0], [1.0]), paired_t([1.0], [2.0]), paired_t([], [])
    assert [test.is_gain_or_unknown for test in (rises, falls, empty)] == [True, False, True]
    assert not any(test.is_gain for test in (rises, falls, empty))
    assert [holds_or_none(test.is_gain_or_unknown, test.p) for test in (rises, falls, empty)] == [None, False, None]
    by_chance = paired_t([1.0, 2.0, 3.1], [1.1, 1.9, 3.0])
    assert by_chance.difference > 0 and not by_chance.is_gain_or_unknown
