"""Where a walker goes: drawn evenly, drawn again the same, never back, never to one that is known to be down."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lycosa_peers.routing import MAX_ATTEMPTS, clamped, draw, flood_targets, next_hop, query_number, splitmix64

names = [f"n{number}" for number in range(7)]


def test_mix_is_the_finaliser_of_splitmix64() -> None:
    state, numbers = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        numbers.append(splitmix64(state))
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]  # as published


def test_draws_are_even_and_differ_with_everything_they_are_drawn_for() -> None:
    drawn = np.array([draw(1, query_number(1, q), w, s, 10) for q in range(10) for w in range(16) for s in range(100)])
    counts = np.bincount(drawn, minlength=10)
    assert ((counts - 1600) ** 2 / 1600).sum() < 30  # chi square of 9 degrees, p about .0005
    base = [draw(1, 2, 3, step, 1 << 30) for step in range(50)]
    for seed, query, walker, attempt in ((2, 2, 3, 0), (1, 3, 3, 0), (1, 2, 4, 0), (1, 2, 3, 1)):
        assert base != [draw(seed, query, walker, step, 1 << 30, attempt) for step in range(50)]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1))
def test_a_draw_is_in_range_whatever_it_is_for(seed: int, query: int, walker: int, step: int) -> None:
    assert all(0 <= draw(seed, query, walker, step, among) < among for among in (1, 2, 1000, 2**31))


def test_no_two_queries_of_a_simulation_have_one_id() -> None:
    assert len({query_number(seed, count) for seed in range(3) for count in range(2000)}) == 6000


def test_a_walker_goes_to_each_of_the_others_as_often_and_not_back() -> None:
    for came_from in (names[0], names[3], names[6]):
        counts = Counter(next_hop(9, query, 1, 5, names, came_from) for query in range(6000))
        assert set(counts) == set(names) - {came_from}
        assert all(abs(count - 1000) < 120 for count in counts.values())


def test_a_walker_in_a_dead_end_goes_back() -> None:
    assert next_hop(9, 1, 1, 5, ["a"], "a") == "a"
    assert next_hop(9, 1, 1, 5, []) is None


def test_a_walker_is_drawn_again_where_the_one_chosen_is_down() -> None:
    first = [next_hop(9, query, 1, 5, names) for query in range(500)]
    again = [next_hop(9, query, 1, 5, names, None, {"n2", "n5"}) for query in range(500)]
    assert {"n2", "n5"}.isdisjoint(again)
    assert [a for a, b in zip(first, again, strict=True) if a != b] == [a for a in first if a in ("n2", "n5")]
    assert next_hop(9, 1, 1, 5, names, None, names) is None
    assert MAX_ATTEMPTS == 64


def test_a_flood_goes_to_all_others_that_are_up() -> None:
    assert flood_targets(names, "n0", {"n3"}) == ["n1", "n2", "n4", "n5", "n6"]


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**20))
def test_a_time_to_live_never_grows(ttl: int, max_ttl: int) -> None:
    assert clamped(ttl, max_ttl) <= min(ttl, max_ttl)
