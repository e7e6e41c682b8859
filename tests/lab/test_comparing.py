"""Who leads, by rows of tests."""

from lycosa.lab.comparing import leads, order_of, pair_rows

SCORES = {"a": [0.9, 0.8, 0.95, 0.85], "b": [0.5, 0.45, 0.5, 0.4], "c": [0.1, 0.12, 0.08, 0.1]}


def test_a_leader_is_ahead_of_each_of_the_others() -> None:
    rows = pair_rows("share", SCORES)
    assert leads(rows, "a", ("b", "c")).is_significant
    assert leads(rows, "b", ("c",)).is_significant
    assert not leads(rows, "b", ("a", "c")).is_ahead
    assert str(leads(rows, "c", ("a",))).startswith("not ahead")


def test_where_fewer_is_better_the_lowest_leads() -> None:
    rows = pair_rows("rank", SCORES)
    assert leads(rows, "c", ("a", "b"), fewer_is_better=True).is_significant
    assert order_of(SCORES, fewer_is_better=True) == ["c", "b", "a"]


def test_nobody_leads_by_no_tests_or_by_unknown_ones() -> None:
    assert not leads([], "a", ("b",)).is_ahead
    assert leads([], "a", ("b",)).p == 1.0
    nan = float("nan")
    lead = leads(pair_rows("share", {"a": [nan, nan], "b": [0.1, 0.2]}), "a", ("b",))
    assert not lead.is_ahead
    assert lead.p == 1.0
