"""The coordinator, with workers that do not crawl: what it hands out, when it ends, and what it does not believe."""

import asyncio
import gc
import inspect
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from lycosa.parallel import coordinator as coordinator_module
from lycosa.parallel.coordinator import Coordinator, CrawlTotals
from lycosa.recipe import Budget, Recipe
from lycosa.run.crawl import INTERRUPTED, NOTHING_LEFT

COMMAND = inspect.signature(Coordinator).parameters["command"].default
FAKE_WORKER = Path(__file__).with_name("fake_worker.py")


@pytest.fixture(autouse=True)
def no_pipe_is_left_open(monkeypatch):
    """What is closed after its event loop has ended, asyncio complains of on standard error."""
    gc.collect()
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    yield
    gc.collect()
    assert complaints == []


def coordinator_of(behaviour: str, *, workers: int = 2, pages_before: int = 40, **budget: object) -> Coordinator:
    return Coordinator(
        Path(),
        Recipe(stop=Budget(**{"dry_after": 0, **budget})),
        workers,
        hash_seed=1,
        allow_private=False,
        resolve=(),
        totals=CrawlTotals(pages=pages_before, relevant=0, bytes_kept=0, pages_since_relevant=0),
        retrain_at=(),
        began=time.time(),
        notify=lambda line: None,
        command=(sys.executable, str(FAKE_WORKER), behaviour),
    )


async def end_of(coordinator: Coordinator) -> None:
    async with aclosing(coordinator.visits()) as visits:
        async for _ in visits:
            pass


async def first_of(visits: AsyncGenerator[object, None]) -> object:
    """The first visit. Not `anext` with a default, which in Python 3.11 leaves a generator that is cancelled."""
    return await anext(visits)


@pytest.mark.parametrize(("workers", "pages"), [(1, 41), (2, 43), (3, 500), (3, 41)])
def test_leases_use_up_the_budget_and_never_exceed_it(workers, pages):
    coordinator = coordinator_of("endless", workers=workers, pages=pages)
    asyncio.run(end_of(coordinator))
    assert coordinator.totals.pages == pages
    assert coordinator.stop_reason == f"{pages} pages, as requested"
    assert coordinator.is_all_saved
    assert not coordinator.failure


def test_nothing_is_left_only_when_every_parcel_has_arrived():
    """The first page of each worker is found by a URL that the one before has sent it."""
    coordinator = coordinator_of("relay", workers=3, pages_before=0, pages=900)
    asyncio.run(end_of(coordinator))
    assert coordinator.stop_reason == NOTHING_LEFT
    reached = [worker.report.pages for worker in coordinator._workers if worker.report is not None]
    assert len(reached) == 3
    assert all(reached), "a parcel was under way when the crawl ended"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("garbage", "sent nonsense: a message of 4,294,967,295 bytes"),
        ("other form", "sent nonsense: a message of another form"),
        ("stranger", "or 900"),
        ("impostor", "sent nonsense: the number of a shard is"),
        ("failing", "the disk is full"),
        ("dying", "of 2 ended unexpectedly"),
    ],
)
def test_a_worker_that_fails_or_is_not_understood_ends_the_crawl(behaviour, reason):
    coordinator = coordinator_of(behaviour)
    asyncio.run(end_of(coordinator))
    assert reason in coordinator.failure
    assert "\n" not in coordinator.failure
    assert all(worker.process.returncode is not None for worker in coordinator._workers)
    if behaviour in ("failing", "dying", "garbage"):
        assert not coordinator.is_all_saved


@pytest.mark.parametrize(("behaviour", "limit"), [("hanging", "_STOP_TIMEOUT"), ("silent", "_MAX_SILENCE")])
def test_a_worker_that_hangs_is_killed(monkeypatch, behaviour, limit):
    monkeypatch.setattr(coordinator_module, limit, 0.5)
    coordinator = coordinator_of(behaviour, pages=40)
    if behaviour == "silent":
        coordinator.set_page_budget(900)
    asyncio.run(end_of(coordinator))
    assert "does not answer, and was killed" in coordinator.failure
    assert not coordinator.is_all_saved


def test_an_interrupt_before_the_workers_have_begun_ends_the_crawl():
    coordinator = coordinator_of("endless")
    coordinator.interrupt()
    asyncio.run(end_of(coordinator))
    assert coordinator.stop_reason == INTERRUPTED
    assert coordinator.is_all_saved


def test_what_fails_after_nobody_iterates_any_more_is_seen():
    async def left_early(coordinator: Coordinator) -> None:
        async with aclosing(coordinator.visits()) as visits:
            task = asyncio.create_task(first_of(visits))
            while not coordinator._workers or coordinator._workers[-1].report is None:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    coordinator = coordinator_of("late failure")
    asyncio.run(left_early(coordinator))
    assert coordinator.failure == "the disk is full"
    assert not coordinator.is_all_saved


def test_a_machine_that_starts_no_process_is_one_clear_line():
    coordinator = coordinator_of("endless")
    coordinator._command = ("/no/such/program",)
    with pytest.raises(coordinator_module.LycosaError, match="cannot start a worker: No such file"):
        asyncio.run(end_of(coordinator))


def test_workers_import_nothing_from_the_folder_in_which_the_command_is_given(tmp_path, monkeypatch):
    (tmp_path / "msgspec.py").write_text("raise SystemExit('code of a stranger')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    coordinator = coordinator_of("endless")
    coordinator._command = COMMAND
    asyncio.run(end_of(coordinator))
    assert "there is no collection" in coordinator.failure
