"""The frontier of a worker: what it owns waits there, what others own is sent to them until it has arrived."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.collection.outbox import OUTBOX_TABLE, Outbox
from lycosa.frontier.memory import MemoryFrontier
from lycosa.parallel.messages import unpacked_candidates
from lycosa.parallel.outbox import ShardFrontier, owner_by_domain
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Url
from lycosa.vocabulary.urls import host_of

SHARDS = {"a.example": 0, "b.example": 1, "c.example": 2}


def owner_of(url: Url) -> int:
    return SHARDS[host_of(url)]


def candidate(name: str, priority: float = 0.5) -> Candidate:
    return Candidate(Url(f"http://{name[0]}.example/{name[1:]}"), priority)


@pytest.fixture
def connection():
    connection = sqlite3.connect(":memory:")
    connection.execute(OUTBOX_TABLE)
    yield connection
    connection.close()


def frontier_over(connection: sqlite3.Connection) -> ShardFrontier:
    return ShardFrontier(MemoryFrontier(clock=SimulatedClock(0.0)), Outbox(connection), owner_of=owner_of, number=0)


def sent(frontier: ShardFrontier) -> list[tuple[int, str, float]]:
    """To which shard what was sent, at which priority."""
    return [
        (batch.receiver, each.url.removeprefix("http://"), each.priority)
        for batch in frontier.batches()
        for each in unpacked_candidates(batch.candidates)
    ]


def kept(connection: sqlite3.Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT number FROM outbox ORDER BY number")]


def test_own_urls_wait_and_others_are_sent_once(connection):
    frontier = frontier_over(connection)
    frontier.put([candidate("a1"), candidate("b1"), candidate("c1"), candidate("b2"), candidate("b1")])
    assert len(frontier) == 1
    assert sorted(sent(frontier)) == [(1, "b.example/1", 0.5), (1, "b.example/2", 0.5), (2, "c.example/1", 0.5)]
    frontier.put([candidate("b1"), candidate("b1", 0.4), candidate("b1", 0.52)])
    assert sent(frontier) == []
    assert frontier.is_known(candidate("b1").url)
    assert not frontier.is_known(candidate("b9").url)


def test_a_url_is_sent_again_if_its_priority_rises(connection):
    frontier = frontier_over(connection)
    frontier.put([candidate("b1", 0.3)])
    frontier.put([candidate("b1", 0.6)])
    frontier.put([candidate("b1", 0.5)])
    assert sent(frontier) == [(1, "b.example/1", 0.3), (1, "b.example/1", 0.6)]


def test_what_is_sent_stays_until_it_has_arrived(connection):
    frontier = frontier_over(connection)
    frontier.put([candidate("b1"), candidate("c1"), candidate("b2")])
    assert sent(frontier)
    assert kept(connection) == [1, 2, 3]
    frontier.arrived(1, 1)
    assert kept(connection) == [2, 3]
    frontier.arrived(1, 99)
    assert kept(connection) == [2], "another shard has not confirmed what is for it"


def test_what_has_not_arrived_is_sent_again_after_reopening(connection):
    frontier = frontier_over(connection)
    frontier.put([candidate("b1"), candidate("c1"), candidate("b2")])
    assert sent(frontier)
    frontier.arrived(1, 1)
    reopened = frontier_over(connection)
    assert sent(reopened) == [(2, "c.example/1", 0.5), (1, "b.example/2", 0.5)]
    reopened.put([candidate("b3")])
    assert kept(connection) == [2, 3, 4]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3_000)), max_size=9), st.integers(1, 1_200))
def test_batches_have_everything_in_its_order(extra, many):
    connection = sqlite3.connect(":memory:")
    connection.execute(OUTBOX_TABLE)
    frontier = frontier_over(connection)
    urls = [candidate(f"b{number}") for number in range(many)] + [
        candidate(f"{host}x{number}") for host, number in extra
    ]
    frontier.put(urls)
    last, received = 0, []
    for batch in frontier.batches():
        received += [each.url for each in unpacked_candidates(batch.candidates)]
        last = max(last, batch.last)
    foreign = list(dict.fromkeys(each.url for each in urls if owner_of(each.url)))
    assert sorted(received) == sorted(foreign)
    assert last == len(foreign)
    connection.close()


@given(st.integers(1, 64), st.integers(0, 1 << 32))
def test_the_hosts_of_a_registered_domain_have_one_owner(shards, seed):
    owner = owner_by_domain(shards, seed)
    owners = {
        owner(Url(f"http://{host}/{path}")) for host in ("x.co.uk", "www.x.co.uk", "y.www.x.co.uk:81") for path in "pq"
    }
    assert len(owners) == 1
    assert owners <= set(range(shards))
