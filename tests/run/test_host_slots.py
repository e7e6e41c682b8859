from lycosa.frontier.memory import MemoryFrontier
from lycosa.run.host_slots import CurrentSlots
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Host, Url

HOST = Host("a.example")


def test_without_a_crawl_it_is_everybodys_turn() -> None:
    slots = CurrentSlots()
    slots.hold(HOST, 100.0)
    assert slots.acquire_or_retry_at(HOST, 0.0) is None
    slots.release(HOST, 0.0)
    assert slots.claim_address(HOST, "192.0.2.1")
    assert not slots.has_delay


def test_the_frontier_of_the_crawl_under_way_is_asked() -> None:
    clock, slots = SimulatedClock(10.0), CurrentSlots()
    frontier = MemoryFrontier(clock=clock, delay=1.0)
    frontier.put([Candidate(Url("http://a.example/"), 0.5)])
    slots.connect(frontier)
    assert slots.has_delay
    assert slots.acquire_or_retry_at(HOST, 10.0) is None
    assert frontier.take(10.0) is None  # it is busy
    assert slots.acquire_or_retry_at(HOST, 10.0) == 11.0
    assert slots.acquire_or_retry_at(HOST, 10.0) == 12.0  # those who wait come one after the other
    slots.release(HOST, 10.0)
    assert frontier.next_ready_at() == 11.0
    assert frontier.take(11.0) is not None
