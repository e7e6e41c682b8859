from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.waiting_only import WaitingOnly
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.records import Candidate, Url


def candidate(name: str, priority: float) -> Candidate:
    return Candidate(Url(f"http://{name}.example/"), priority)


def test_what_is_put_is_set_aside_and_what_waited_is_taken():
    frontier = MemoryFrontier(clock=SimulatedClock(0.0), delay=0.0)
    frontier.put([candidate("a", 0.1), candidate("b", 0.2)])
    only = WaitingOnly(frontier)
    better = candidate("c", 0.9)
    assert only.put([better]) == []
    assert only.is_known(better.url)
    assert len(only) == 2
    taken = [only.take(0.0), only.take(0.0), only.take(0.0)]
    assert [each and each.url for each in taken] == ["http://b.example/", "http://a.example/", None]
    assert only.set_aside == [better]
    for each in taken[:2]:
        only.settle(each.url)
    assert only.next_ready_at() is None
    frontier.put(only.set_aside)
    assert frontier.take(0.0) == better


def test_what_is_given_back_waits_again():
    frontier = MemoryFrontier(clock=SimulatedClock(0.0), delay=0.0)
    frontier.put([candidate("a", 0.1)])
    only = WaitingOnly(frontier)
    taken = only.take(0.0)
    only.requeue(taken)
    only.hold("a.example", 5.0)
    assert only.take(4.0) is None
    assert only.next_ready_at() == 5.0
    assert only.take(5.0) == taken
