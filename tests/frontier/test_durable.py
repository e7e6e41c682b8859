import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.frontier.durable import DurableFrontier, WaitingSample, best_waiting, waiting_hosts, waiting_sample
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Url


def reopened(connection: sqlite3.Connection) -> DurableFrontier:
    return DurableFrontier(connection, clock=SimulatedClock(), delay=0.0)


def order_of(frontier: DurableFrontier) -> list[Candidate]:
    taken = []
    while candidate := frontier.take(0.0):
        taken.append(candidate)
        frontier.settle(candidate.url)
    return taken


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "take", "save"]), st.integers(0, 9), st.floats(0, 1)),
        max_size=60,
    )
)
def test_a_reopened_frontier_goes_on_as_if_nothing_had_happened(steps: list[tuple[str, int, float]]) -> None:
    connection = sqlite3.connect(":memory:")
    frontier = reopened(connection)
    settled = []
    for step, page, priority in steps:
        if step == "put":
            frontier.put([Candidate(Url(f"http://h{page % 3}.example/{page}"), priority, because={"page": priority})])
        elif step == "save":
            frontier.save()
        elif candidate := frontier.take(0.0):
            frontier.settle(candidate.url)
            settled.append(candidate.url)
    frontier.save()
    again = reopened(connection)
    again.restore_settled(settled)
    assert len(again) == len(frontier)
    assert order_of(again) == order_of(frontier)


def test_what_was_in_flight_waits_again_after_a_kill() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = reopened(connection)
    frontier.put([Candidate(Url("http://a.example/"), 0.5)])
    frontier.take(0.0)
    frontier.save()
    assert [c.url for c in order_of(reopened(connection))] == ["http://a.example/"]


def test_what_came_and_went_between_two_saves_is_not_written() -> None:
    connection = sqlite3.connect(":memory:")
    frontier = reopened(connection)
    frontier.put([Candidate(Url("http://a.example/"), 0.5)])
    frontier.save()
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    frontier.put([Candidate(Url(f"http://b.example/{page}"), 0.9) for page in range(50)])
    for page in range(50):
        frontier.settle(Url(f"http://b.example/{page}"))
    frontier.save()
    assert statements == []
    frontier.settle(Url("http://a.example/"))
    frontier.save()
    assert statements == ["DELETE FROM frontier WHERE arrival = 1"]
    assert len(reopened(connection)) == 0


def test_a_sample_of_what_waits_is_one_in_so_many_arrivals_with_priorities() -> None:
    connection = sqlite3.connect(":memory:")
    assert waiting_sample(connection, 10) == WaitingSample(1, ())
    frontier = reopened(connection)
    frontier.put([Candidate(Url(f"http://a.example/{page}"), page / 100) for page in range(1, 100)])
    frontier.save()
    whole, tenth = waiting_sample(connection, 99), waiting_sample(connection, 10)
    assert whole.interval == 1
    assert sorted(whole.priorities) == sorted((Url(f"http://a.example/{page}"), page / 100) for page in range(1, 100))
    assert tenth.interval == 10
    assert 9 <= len(tenth.priorities) <= 10
    assert set(tenth.priorities) < set(whole.priorities)
    connection.execute("UPDATE frontier SET priority = 'high' WHERE arrival = 1")
    with pytest.raises(sqlite3.DatabaseError, match="damaged"):
        waiting_sample(connection, 99)
    connection.execute("UPDATE frontier SET priority = 1e6, candidate = '{' WHERE arrival = 1")
    with pytest.raises(sqlite3.DatabaseError, match="damaged"):
        waiting_sample(connection, 99)


@pytest.mark.parametrize(
    "damage", [b"{", b'{"url":"http://a.example/","priority":"x"}', b'{"url":"http://a.example/","anchor":"\xff"}']
)
def test_a_waiting_url_whose_candidate_is_damaged_is_taken_without_its_reasons(damage: bytes) -> None:
    connection = sqlite3.connect(":memory:")
    frontier = reopened(connection)
    frontier.put([Candidate(Url("http://a.example/"), 0.5, anchor="bees")])
    frontier.save()
    frontier = reopened(connection)
    connection.execute("UPDATE frontier SET candidate = ?", (damage,))
    assert order_of(frontier) == [Candidate(Url("http://a.example/"), 0.5)]


@pytest.mark.parametrize("in_memory", [5, 1_000])
def test_a_frontier_gives_the_sample_that_its_table_would_have(in_memory: int) -> None:
    connection = sqlite3.connect(":memory:")
    frontier = DurableFrontier(connection, clock=SimulatedClock(), delay=0.0, in_memory=in_memory)
    frontier.put([Candidate(Url(f"http://h{page % 7}.example/{page}"), page / 100) for page in range(1, 100)])
    frontier.save()
    for _ in range(10):
        candidate = frontier.take(0.0)
        assert candidate is not None
        frontier.settle(candidate.url)
    frontier.take(0.0)  # in flight
    frontier.put([Candidate(Url(f"http://h{page % 7}.example/{page}"), page / 100) for page in range(30, 50)])
    frontier.put([Candidate(Url(f"http://new.example/{page}"), 0.5) for page in range(9)])
    samples = [frontier.sample(size) for size in (10, 50, 1_000)]
    assert [each.interval for each in samples] == [10, 2, 1]
    assert len(samples[2].priorities) == 98
    frontier.save()
    assert [waiting_sample(connection, size) for size in (10, 50, 1_000)] == samples
    again = DurableFrontier(connection, clock=SimulatedClock(), delay=0.0, in_memory=in_memory)
    assert [again.sample(size) for size in (10, 50, 1_000)] == samples


def test_readers_see_what_waits_by_pages_the_best_first_and_by_host() -> None:
    connection = sqlite3.connect(":memory:")
    assert best_waiting(connection) == []
    assert waiting_hosts(connection) == []
    frontier = reopened(connection)
    urls = [Url(f"http://h{number % 3}.example:8080/{number}") for number in range(10)]
    frontier.put([Candidate(url, number / 10) for number, url in enumerate(urls)])
    frontier.save()
    pages = [best_waiting(connection, offset=offset, limit=4) for offset in (0, 4, 8)]
    assert [candidate.url for page in pages for candidate in page] == urls[::-1]
    assert [candidate.url for candidate in best_waiting(connection, host="h1.example:8080")] == [
        urls[7],
        urls[4],
        urls[1],
    ]
    assert waiting_hosts(connection, 2) == [("h0.example:8080", 4, 0.9), ("h1.example:8080", 3, 0.7)]
