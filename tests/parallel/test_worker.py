"""What a worker confirms, shares and reports, over a session that only counts."""

import zlib
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from lycosa.frontier.memory import MemoryFrontier
from lycosa.parallel import worker as worker_module
from lycosa.parallel.messages import Arrived, Evidence, FromWorker, Lease, Parcel, Report, WorkerMessageError, packed
from lycosa.parallel.worker import Worker
from lycosa.run.crawl import Status
from lycosa.strategies import Mapped
from lycosa.strategies.hunter import Hunter
from lycosa.vocabulary.clock import SimulatedClock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Url


class CountingSession:
    """As much of a session as a worker uses; `checkpoint` only counts."""

    def __init__(self, strategy: Strategy):
        self.clock = SimulatedClock(0.0)
        self.frontier = MemoryFrontier(clock=self.clock)
        self.status = Status()
        self.loop = SimpleNamespace(strategy=strategy, put=self.frontier.put)
        self.journal = SimpleNamespace(record_skips=lambda skips: None)
        self.checkpoints_made = 0

    def checkpoint(self) -> None:
        self.checkpoints_made += 1


class Harness:
    """A worker, and what it has sent."""

    def __init__(self, strategy: Strategy | None = None):
        self.session: Any = CountingSession(strategy or Hunter())
        self.sent: list[FromWorker] = []
        outbox: Any = SimpleNamespace(number=1, batches=lambda: ())
        run: Any = None
        self.worker = Worker(self.session, run, outbox, self.sent.append)

    def receive(self, number: int) -> None:
        encoded = msgspec.json.encode(Candidate(Url(f"http://a.example/{number}"), 0.5))
        self.worker.handle(Parcel(0, 1, number, packed([encoded])))

    def confirmed(self) -> list[int]:
        self.worker.tick()
        return [message.last for message in self.sent if isinstance(message, Arrived)]

    def report(self) -> Report:
        self.worker.tick()
        return [message for message in self.sent if isinstance(message, Report)][-1]


def test_only_what_a_checkpoint_has_saved_is_confirmed():
    harness = Harness()
    harness.receive(1)
    assert harness.confirmed() == []
    harness.session.checkpoint()
    harness.receive(2)  # after the checkpoint, before the next report
    assert harness.confirmed() == [1]
    harness.session.checkpoint()
    assert harness.confirmed() == [1, 2]


def test_what_came_is_saved_soon_although_no_page_is(monkeypatch):
    monkeypatch.setattr(worker_module, "_MAX_SAVE_INTERVAL", -1.0)
    harness = Harness()
    harness.receive(1)
    assert harness.confirmed() == [1]
    assert harness.session.checkpoints_made == 1


def test_a_worker_is_idle_only_while_nothing_waits_and_then_gives_up_its_lease():
    harness = Harness()
    harness.worker.handle(Lease(7))
    assert harness.session.status.page_budget == 7
    assert harness.report().is_idle
    assert harness.session.status.page_budget == 0
    harness.receive(1)
    report = harness.report()
    assert (report.is_idle, report.received, report.leases, report.waiting) == (False, 1, 1, 1)
    harness.session.frontier.take(0.0)
    assert not harness.report().is_idle, "it is in flight"


@pytest.mark.parametrize("strategy", [Hunter(), Mapped(inner=Hunter())])
def test_damaged_evidence_ends_a_worker_with_one_clear_line(strategy):
    with pytest.raises(WorkerMessageError, match="what another worker has learnt cannot be used: damaged evidence"):
        Harness(strategy).worker.handle(Evidence(zlib.compress(b"nonsense")))
