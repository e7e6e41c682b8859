"""The coordinator of a crawl by several workers: starts them, and hands out what they share.

A lease is a number of pages that a worker may add. Leases are small, and go to workers that have good URLs first, so
that the crawl as a whole follows the best ones: a worker waits while the best URL that it may fetch has less than half
the priority of the best of another, but no longer than a second.

The coordinator passes on the URLs that workers send each other. It receives the messages of a worker in their order, so
that nothing is left as soon as every worker reports that it is idle and has received as many parcels as were passed on
to it.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from lycosa.recipe import Recipe
from lycosa.relevance.positive_unlabelled import MAX_UNLABELLED
from lycosa.run.crawl import INTERRUPTED, NOTHING_LEFT, Status
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import RELEVANT
from lycosa.vocabulary.text import counted

from .messages import (
    Arrived,
    Ended,
    Evidence,
    FromWorker,
    Lease,
    Notice,
    Parcel,
    Pause,
    Report,
    Sample,
    SendSample,
    Start,
    Steer,
    Stop,
    ToWorker,
    Train,
    Trained,
    UseModel,
    Visited,
    VisitSummary,
    WorkerMessageError,
    decode_from_worker,
    framed,
    read_frame,
    unpacked_visits,
)

_MAX_LEASE = 100  # pages at once
_MIN_LEASE = 4  # pages, as long as the budget has so many for every worker
_MIN_SHARE_OF_BEST = 0.5  # of the best priority of all workers, that a worker needs to get a lease at once
_MAX_TURN = 1.0  # seconds that a worker waits for a lease while others have better URLs
_MAX_UNSENT = 8 << 20  # bytes that a worker has not read yet, beyond which nobody gets a lease
_SAMPLE_SIZE = MAX_UNLABELLED  # pages of all shards, for training
_TRAINER = 0  # number of the worker that trains the model
_CHECK_INTERVAL = 0.5  # seconds
_CLOSE_TIMEOUT = 2.0  # seconds
# Seconds that a worker may send nothing, as while it trains, or while it saves everything after it was told to stop,
# before it is taken to hang.
_MAX_SILENCE, _STOP_TIMEOUT = 600.0, 120.0


class _WorkerProcess:
    """A worker, as the coordinator knows it."""

    def __init__(self, number: int, process: asyncio.subprocess.Process):
        self.number = number
        self.process = process
        self.report: Report | None = None
        self.leased = 0  # pages that it may add in all
        self.leases = 0  # number of leases that it was sent
        self.parcels = 0  # passed on to it
        self.waits_since: float | None = None  # for a lease
        self.silent = 0.0  # seconds since the last message, without those in which this process did not run
        self.ended: Ended | None = None

    def send(self, message: ToWorker) -> None:
        stream = self.process.stdin
        if self.ended is None and stream is not None and not stream.is_closing():
            stream.write(framed(message))  # after the end of the process, this does nothing

    @property
    def unsent(self) -> int:
        """The number of bytes that the worker has not read yet."""
        return 0 if self.process.stdin is None else self.process.stdin.transport.get_write_buffer_size()

    @property
    def is_idle(self) -> bool:
        return self.report is not None and self.report.is_idle and self.report.received == self.parcels


def _nonsense(worker: _WorkerProcess, error: WorkerMessageError) -> str:
    return f"worker {worker.number + 1} sent nonsense: {error}"


class CrawlTotals:
    """The figures of a crawl by several workers; those at its start are of the whole collection."""

    def __init__(self, *, pages: int, relevant: int, bytes_kept: int, pages_since_relevant: int):
        self.pages_at_start = pages
        self._at_start = (pages, relevant, bytes_kept)
        self.pages, self.relevant, self.bytes_kept = self._at_start
        self.pages_since_relevant = pages_since_relevant
        self.waiting = 0

    @classmethod
    def of(cls, status: Status) -> Self:
        """The figures at a start where the crawl of one process stands."""
        return cls(
            pages=status.pages,
            relevant=status.relevant,
            bytes_kept=status.bytes_kept,
            pages_since_relevant=status.pages_since_relevant,
        )

    def set(self, status: Status, *, waiting: int) -> None:
        """Takes over the figures of a crawl by one process."""
        self.pages, self.relevant, self.bytes_kept = status.pages, status.relevant, status.bytes_kept
        self.waiting = waiting

    def update(self, reports: Sequence[Report]) -> None:
        pages, relevant, bytes_kept = self._at_start
        self.pages = pages + sum(report.pages for report in reports)
        self.relevant = relevant + sum(report.relevant for report in reports)
        self.bytes_kept = bytes_kept + sum(report.bytes_kept for report in reports)
        self.waiting = sum(report.waiting for report in reports)

    def add(self, visit: VisitSummary) -> None:
        if visit.title is not None and visit.left_out is None:
            is_relevant = visit.relevance is not None and visit.relevance >= RELEVANT
            self.pages_since_relevant = 0 if is_relevant else self.pages_since_relevant + 1


class Coordinator:
    """Runs workers over the shards of a collection.

    totals: updated with every report.
    retrain_at: numbers of pages at which the model of the topic is trained again; empty if it is not.
    began: start of the run, by time.time().
    notify: called with messages for the user.
    command: starts a worker.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        shards: int,
        *,
        hash_seed: int,
        allow_private: bool,
        resolve: tuple[str, ...],
        totals: CrawlTotals,
        retrain_at: Sequence[int],
        began: float,
        notify: Callable[[str], None],
        command: Sequence[str] = (sys.executable, "-P", "-m", "lycosa.parallel.worker"),
    ):
        self._command = command
        self._starts = [
            Start(str(folder.absolute()), number, shards, hash_seed, recipe, allow_private, resolve)
            for number in range(shards)
        ]
        self.totals = totals
        self._retrain_at = [size for size in sorted(retrain_at) if size > totals.pages]
        self._began = began
        self._notify = notify
        self._budget = recipe.stop
        self._workers: list[_WorkerProcess] = []
        self._inbox: asyncio.Queue[tuple[_WorkerProcess, FromWorker | None]] = asyncio.Queue(maxsize=1_000)
        self._samples: dict[int, bytes] | None = None  # while the model is being trained, by worker
        self._is_stopping = False
        self.is_paused = False
        self.stop_reason = ""
        self.failure = ""  # why a worker has failed; empty if none has
        self.bytes_received = 0  # from the workers

    # ------------------------------------------------------------ commands of the user

    def interrupt(self) -> None:
        """Stops all workers after their current page."""
        self._stop(INTERRUPTED)

    def pause(self, *, is_paused: bool) -> None:
        self.is_paused = is_paused
        self._broadcast(Pause(is_paused))

    def set_page_budget(self, pages: int) -> None:
        self._budget = replace(self._budget, pages=pages)

    @property
    def page_budget(self) -> int | None:
        """The number of pages that the collection is to have."""
        return self._budget.pages

    def steer(self) -> None:
        """Has the workers read the user's commands again."""
        self._broadcast(Steer())

    @property
    def is_all_saved(self) -> bool:
        """Whether every worker has ended with everything saved; else its shard has to catch up with its archive."""
        return all(worker.ended is not None and not worker.ended.error for worker in self._workers)

    # ------------------------------------------------------------ run

    async def visits(self) -> AsyncGenerator[VisitSummary, None]:
        """Runs the workers; what they visit, in the order in which it is reported. All workers have ended after it."""
        readers: list[asyncio.Task[None]] = []
        try:
            for start in self._starts:
                worker = await self._started(start.number, readers)
                worker.send(start)
                if self.is_paused:
                    worker.send(Pause(is_paused=True))
                if self._is_stopping:
                    worker.send(Stop())
            while any(worker.ended is None for worker in self._workers):
                for summary in await self._next():
                    yield summary
        finally:
            await _to_its_end(self._end(readers))

    async def _started(self, number: int, readers: list["asyncio.Task[None]"]) -> _WorkerProcess:
        """Starts a worker, and a reader of its messages; if this is cancelled meanwhile, both are there all the same,
        to be ended."""
        starting = asyncio.create_task(self._process())
        try:
            await asyncio.shield(starting)
        finally:
            worker = _WorkerProcess(number, await starting)
            self._workers.append(worker)
            readers.append(asyncio.create_task(self._read(worker)))
        return worker

    async def _process(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },  # the user's code is found where it is here
            )
        except OSError as error:
            raise LycosaError(f"cannot start a worker: {error.strerror or error}") from None

    async def _next(self) -> Sequence[VisitSummary]:
        """Handles the next message; returns what was visited."""
        visits: Sequence[VisitSummary] = ()
        began = time.monotonic()
        try:
            async with asyncio.timeout(_CHECK_INTERVAL):
                worker, message = await self._inbox.get()
        except TimeoutError:
            pass
        else:
            visits = self._handle(worker, message)
        self._check_silence(min(time.monotonic() - began, 2 * _CHECK_INTERVAL))
        if not self._is_stopping:
            self._check_limits()
            self._train_if_due()
            self._hand_out()
        return visits

    async def _read(self, worker: _WorkerProcess) -> None:
        """Reads the messages of a worker until it ends."""
        stream = worker.process.stdout
        assert stream is not None
        try:
            while (frame := await read_frame(stream)) is not None:
                self.bytes_received += len(frame)
                await self._inbox.put((worker, decode_from_worker(frame)))
        except WorkerMessageError as error:
            await self._inbox.put((worker, Ended(_nonsense(worker, error))))
            while await stream.read(1 << 16):  # so that it can end
                pass
        await self._inbox.put((worker, None))

    async def _end(self, readers: Sequence["asyncio.Task[None]"]) -> None:
        """Waits for all processes; kills what does not end."""
        self._stop(INTERRUPTED)
        for worker in self._workers:
            if worker.process.stdin is not None:
                worker.process.stdin.close()  # also tells a worker to stop
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_TIMEOUT):
                while any(worker.ended is None for worker in self._workers):
                    self._handle(*await self._inbox.get())  # nobody iterates any more
                for worker in self._workers:
                    await worker.process.wait()
        for worker in self._workers:
            if worker.process.returncode is None:
                self._kill(worker)
                await worker.process.wait()
        await self._close_pipes(readers)

    async def _close_pipes(self, readers: Sequence["asyncio.Task[None]"]) -> None:
        """Reads the pipes of ended processes to their ends, by which asyncio closes them."""
        with suppress(TimeoutError):  # a process that one of them has started may keep its pipe open
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                while pending := [reader for reader in readers if not reader.done()]:
                    while not self._inbox.empty():
                        self._inbox.get_nowait()  # a reader may wait for room
                    await asyncio.wait(pending, timeout=_CHECK_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
                for worker in self._workers:
                    if worker.process.stdin is not None:
                        with suppress(ConnectionError):
                            await worker.process.stdin.wait_closed()
                for _ in range(3):  # asyncio notes the end of a process in the next steps of its loop
                    await asyncio.sleep(0)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    def _check_silence(self, seconds: float) -> None:
        """Kills workers that have sent nothing for a long time, which ends the crawl.

        seconds: that have passed.
        """
        limit = _STOP_TIMEOUT if self._is_stopping else _MAX_SILENCE
        for worker in self._workers:
            worker.silent += seconds
            if worker.ended is None and worker.silent > limit:
                self._kill(worker)

    def _kill(self, worker: _WorkerProcess) -> None:
        worker.process.kill()
        worker.ended = Ended("it was killed")
        self._fail(f"{self._named(worker)} does not answer, and was killed")

    def _named(self, worker: _WorkerProcess) -> str:
        return f"worker {worker.number + 1} of {len(self._starts)}"

    # ------------------------------------------------------------ messages

    def _handle(self, worker: _WorkerProcess, message: FromWorker | None) -> Sequence[VisitSummary]:
        worker.silent = 0.0
        try:
            return self._handle_message(worker, message)
        except WorkerMessageError as error:
            self._fail(_nonsense(worker, error))
            return ()

    def _handle_message(self, worker: _WorkerProcess, message: FromWorker | None) -> Sequence[VisitSummary]:
        match message:
            case Report():
                self._update(worker, message)
            case Visited():
                visits = unpacked_visits(message.visits)
                for visit in visits:
                    self.totals.add(visit)
                return visits
            case Parcel(sender=sender, receiver=receiver):
                self._check_numbers(worker, sender, receiver)
                self._workers[receiver].parcels += 1
                self._workers[receiver].send(message)
            case Arrived(sender=sender, receiver=receiver):
                self._check_numbers(worker, receiver, sender)
                self._workers[sender].send(message)
            case Evidence():
                for other in self._workers:
                    if other is not worker:
                        other.send(message)
            case Sample():
                self._collect_sample(worker, message)
            case Trained():
                for other in self._workers:
                    if other is not worker:
                        other.send(UseModel())
                self._samples = None
            case Notice():
                self._notify(message.line)
            case Ended():
                worker.ended = message
                if message.error:
                    self._fail(message.error)
            case None:
                if worker.ended is None:
                    worker.ended = Ended("it was killed")
                    self._fail(f"{self._named(worker)} ended unexpectedly")
        return ()

    def _check_numbers(self, worker: _WorkerProcess, own: int, other: int) -> None:
        """Raises WorkerMessageError unless these are the numbers of a worker and of another one."""
        if own != worker.number or other >= len(self._workers) or other == own:
            raise WorkerMessageError(f"the number of a shard is {own} or {other}")

    def _update(self, worker: _WorkerProcess, report: Report) -> None:
        worker.report = report
        if report.is_idle and report.leases == worker.leases:  # it has given up the rest of its lease
            worker.leased = report.pages
        self.totals.update([each.report for each in self._workers if each.report is not None])

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        self._stop(reason)

    def _stop(self, reason: str) -> None:
        if not self._is_stopping:
            self._is_stopping, self.stop_reason = True, reason
            for worker in self._workers:
                worker.silent = 0.0
            self._broadcast(Stop())

    def _broadcast(self, message: ToWorker) -> None:
        for worker in self._workers:
            worker.send(message)

    # ------------------------------------------------------------ what the workers share

    def _check_limits(self) -> None:
        """Stops if a limit of the budget is reached, or if nothing is left."""
        budget, totals = self._budget, self.totals
        minutes = (time.time() - self._began) / 60
        if budget.pages is not None and totals.pages >= budget.pages:
            self._stop(f"{counted(totals.pages, 'page')}, as requested")
        elif budget.bytes is not None and totals.bytes_kept >= budget.bytes:
            self._stop(f"the pages have {totals.bytes_kept} bytes")
        elif budget.minutes is not None and minutes >= budget.minutes:
            self._stop("1 minute has passed" if budget.minutes == 1 else f"{budget.minutes:g} minutes have passed")
        elif budget.dry_after and totals.pages_since_relevant >= budget.dry_after:
            self._stop(
                f"the harvest has dried up: none of the last {budget.dry_after} pages was relevant "
                "(use --dry-after 0 to continue anyway)"
            )
        elif all(worker.is_idle for worker in self._workers) and len(self._workers) == len(self._starts):
            self._stop(NOTHING_LEFT)

    def _hand_out(self) -> None:
        """Gives leases to the workers that have used up theirs and have good URLs, or have waited long enough."""
        if self.is_paused or any(worker.unsent > _MAX_UNSENT for worker in self._workers):
            return
        now = time.monotonic()
        best = max((each.report.best or 0.0 for each in self._workers if each.report is not None), default=0.0)
        for worker in self._workers:
            report = worker.report
            if report is None or worker.is_idle or report.pages + report.in_flight < worker.leased:
                worker.waits_since = None
                continue
            worker.waits_since = now if worker.waits_since is None else worker.waits_since
            has_good = report.best is None or report.best >= _MIN_SHARE_OF_BEST * best
            if (has_good or now - worker.waits_since >= _MAX_TURN) and (pages := self._lease_size()):
                worker.leased += pages
                worker.leases += 1
                worker.waits_since = None
                worker.send(Lease(worker.leased))

    def _lease_size(self) -> int:
        """The number of pages of the next lease; 0 if the whole budget is handed out."""
        if self._budget.pages is None:
            return _MAX_LEASE
        leased = sum(max(0, each.leased - (each.report.pages if each.report else 0)) for each in self._workers)
        free = self._budget.pages - self.totals.pages - leased
        return max(0, min(free, max(_MIN_LEASE, min(_MAX_LEASE, free // (2 * len(self._workers))))))

    def _train_if_due(self) -> None:
        """Asks all workers for samples of their pages if the collection has reached the next size."""
        if self._retrain_at and self._samples is None and self.totals.pages >= self._retrain_at[0]:
            self._retrain_at = [size for size in self._retrain_at if size > self.totals.pages]
            self._samples = {}
            self._broadcast(SendSample(-(-_SAMPLE_SIZE // len(self._workers))))

    def _collect_sample(self, worker: _WorkerProcess, sample: Sample) -> None:
        if self._samples is not None:
            self._samples[worker.number] = sample.terms
            if len(self._samples) == len(self._workers):
                parts = tuple(terms for _, terms in sorted(self._samples.items()))
                self._workers[_TRAINER].send(Train(parts, self.totals.pages))


async def _to_its_end(work: Coroutine[None, None, None]) -> None:
    """Awaits something that must not be cut short; a cancellation is raised after it."""
    task, cancellation = asyncio.create_task(work), None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancellation = error
    task.result()
    if cancellation is not None:
        raise cancellation
