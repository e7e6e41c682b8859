import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.frontier import sequential
from lycosa.frontier.sequential import LadderQueue
from lycosa.vocabulary.records import Candidate, Url

PRIORITIES = st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.5, -7.0]) | st.floats(allow_nan=False), max_size=60)


def candidates(priorities: list[float], order: int) -> list[Candidate]:
    return [Candidate(Url(f"u{order + number}"), priority) for number, priority in enumerate(priorities)]


def ranked(waiting: list[Candidate]) -> list[Candidate]:
    return sorted(waiting, key=lambda candidate: -candidate.priority)


@pytest.mark.slow
@given(st.lists(st.tuples(PRIORITIES, st.integers(0, 40)), max_size=12))
def test_a_ladder_is_a_sorted_list_whatever_comes_and_goes(turns: list[tuple[list[float], int]]) -> None:
    rung, sequential._RUNG_SIZE = sequential._RUNG_SIZE, 5  # so that small examples climb
    try:
        queue, plain, order = LadderQueue(), list[Candidate](), 0
        for priorities, pops in turns:
            pushed = candidates(priorities, order)
            order += len(pushed)
            queue.push(pushed)
            plain = ranked([*plain, *pushed])
            for _ in range(pops):
                assert queue.pop() == (plain.pop(0) if plain else None)
            assert len(queue) == len(plain) and ranked(list(queue)) == plain
    finally:
        sequential._RUNG_SIZE = rung


@pytest.mark.slow
def test_a_ladder_of_many_gives_them_in_order() -> None:
    pushed = candidates([float(number * 7_919 % 50_021) for number in range(50_000)], 0)
    queue = LadderQueue(pushed[:20_000])
    for start in range(20_000, 50_000, 1_000):
        queue.push(pushed[start : start + 1_000])
    assert [queue.pop() for _ in pushed] == ranked(pushed)
