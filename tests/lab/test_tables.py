"""Rows and curves of means, and who leads by rows of tests."""

from lycosa_lab.tables import lead_of, mean_curve, nan_if_none, pair_rows, ranked_by_mean, rounded

SCORES = {"a": [0.9, 0.8, 0.95, 0.85], "b": [0.5, 0.45, 0.5, 0.4], "c": [0.1, 0.12, 0.08, 0.1]}


def test_a_leader_is_ahead_of_each_of_the_others() -> None:
    rows = pair_rows("share", SCORES)
    assert lead_of(rows, "a", ("b", "c")).is_significant
    assert lead_of(rows, "b", ("c",)).is_significant
    assert not lead_of(rows, "b", ("a", "c")).is_ahead
    assert str(lead_of(rows, "c", ("a",))).startswith("not ahead")


def test_where_fewer_is_better_the_lowest_leads() -> None:
    rows = pair_rows("rank", SCORES)
    assert lead_of(rows, "c", ("a", "b"), lower_is_better=True).is_significant
    assert ranked_by_mean(SCORES, lower_is_better=True) == ["c", "b", "a"]


def test_nobody_leads_by_no_tests_or_by_unknown_ones() -> None:
    assert not lead_of([], "a", ("b",)).is_ahead
    assert lead_of([], "a", ("b",)).p == 1.0
    assert lead_of(pair_rows("share", SCORES), "d", ("b",)).p == 1.0
    nan = float("nan")
    lead = lead_of(pair_rows("share", {"a": [nan, nan], "b": [0.1, 0.2]}), "a", ("b",))
    assert not lead.is_ahead
    assert lead.p == 1.0


def test_numbers_have_six_digits_and_unknown_ones_are_none() -> None:
    assert [rounded(value) for value in (1 / 3, 1234567.0, float("nan"), float("inf"))] == [
        0.333333,
        1.23457e6,
        None,
        None,
    ]
    assert nan_if_none(None) != nan_if_none(None)
    assert nan_if_none(3) == 3.0


def test_a_curve_has_the_mean_and_its_error_at_every_point() -> None:
    curve = mean_curve("a", [10, 20], [[1.0, 3.0], [2.0, 2.0]])
    assert curve.points == [(10.0, 2.0), (20.0, 2.0)]
    assert curve.errors == [1.0, 0.0]
