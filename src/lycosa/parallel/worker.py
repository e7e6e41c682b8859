"""A worker: a process that crawls one shard of a collection, as the coordinator tells it to.

It is started as `python -m lycosa.parallel.worker`, and reads messages from its standard input.
"""

import asyncio
import os
import signal
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lycosa.collection.outbox import Outbox
from lycosa.collection.shards import may_be_behind, shard_folder
from lycosa.frontier.memory import MemoryFrontier
from lycosa.recipe import Budget, Recipe, uses_standing
from lycosa.relevance.term_counts import CountedTerms
from lycosa.run.crawl import MAX_HOLD, Crawl
from lycosa.run.guides import nested_strategies
from lycosa.run.host_slots import CurrentSlots
from lycosa.run.live import LiveRun, make_web
from lycosa.run.session import Session
from lycosa.strategies.base import SupportsSharing
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.event_loop import new_event_loop
from lycosa.vocabulary.records import Visit

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
    decode_to_worker,
    decompressed,
    framed,
    packed,
    read_frame,
    unpacked_candidates,
    unpacked_terms,
)
from .outbox import ShardFrontier, owner_by_domain

_TICK, _MIN_TICK = 0.2, 0.02  # seconds between reports: usually, and if the lease is nearly used up
# Visits after which the other workers hear what the strategy has learnt: at least so many, and a share of all.
_EVIDENCE_INTERVAL, _EVIDENCE_SHARE = 25, 0.05
_MAX_SAVE_INTERVAL = 2.0  # seconds after which URLs that came are saved, if no page is
_MIN_CONCURRENCY = 2  # fetches of one worker


def share_of_recipe(recipe: Recipe, shards: int) -> Recipe:
    """The recipe of one worker: the coordinator keeps the budget, and the fetches in flight are shared."""
    requests = recipe.requests
    concurrency = max(_MIN_CONCURRENCY, -(-requests.concurrency // shards))
    return replace(recipe, stop=Budget(dry_after=0), requests=replace(requests, concurrency=concurrency))


class Worker:
    """Crawls a shard.

    send: sends a message to the coordinator.
    """

    def __init__(self, session: Session, run: LiveRun, frontier: ShardFrontier, send: Callable[[FromWorker], None]):
        self._session = session
        self._run = run
        self._frontier = frontier
        self._waiting: MemoryFrontier = session.frontier
        self._send = send
        self._status_at_start = (session.status.pages, session.status.relevant, session.status.bytes_kept)
        self._received = self._leases = 0  # parcels and leases
        self._unsaved_mail: dict[int, int] = {}  # by sender: the last number that arrived since the last checkpoint
        self._mail_since = 0.0
        self._checkpoints = session.checkpoints_made
        self._visits: list[bytes] = []  # encoded summaries, to be sent
        self._encode = msgspec.json.Encoder().encode
        self._no_tick_before, self._visits_not_shared = 0.0, 0
        self.is_stopping = False
        self._sharing = next(
            (each for each in nested_strategies(session.loop.strategy) if isinstance(each, SupportsSharing)), None
        )
        if self._sharing is not None:
            self._sharing.begin_sharing()
        session.status.set_page_budget(session.status.pages)  # until a lease comes

    def handle(self, message: ToWorker) -> None:
        """Does what the coordinator says."""
        session, status = self._session, self._session.status
        match message:
            case Lease():
                self._leases += 1
                status.set_page_budget(self._status_at_start[0] + message.pages)
            case Parcel():
                self._receive(message)
            case Arrived():
                self._frontier.arrived(message.receiver, message.last)
            case Evidence():
                self._add_evidence(message)
            case SendSample():
                terms = self._run.topic.sample(message.size)
                self._send(Sample(packed([self._encode(getattr(each, "plain", each)) for each in terms])))
            case Train():
                sample = [CountedTerms(terms) for part in message.sample for terms in unpacked_terms(part)]
                self._run.topic.train_on(sample, pages=message.pages)
                self._send(Trained())
            case UseModel():
                self._run.topic.use_saved()
            case Steer():
                session.state.apply_steering()
            case Pause(is_paused=is_paused):
                (status.pause if is_paused else status.resume)()
            case Stop():
                self.stop()
            case Start():
                raise WorkerMessageError("it has begun already")
        status.woken.set()

    def stop(self) -> None:
        """Ends the crawl after the current page."""
        self.is_stopping = True
        self._session.status.interrupt()

    def _receive(self, parcel: Parcel) -> None:
        session = self._session
        self._confirm_mail()
        skips = session.loop.put(unpacked_candidates(parcel.candidates))
        session.journal.record_skips(skips)
        self._received += 1
        if not self._unsaved_mail:
            self._mail_since = time.monotonic()
        self._unsaved_mail[parcel.sender] = parcel.last

    def observe(self, visit: Visit) -> None:
        """Notes a visit for the next report."""
        fetch, page = visit.fetch, visit.page
        self._visits_not_shared += 1
        self._visits.append(
            self._encode(
                VisitSummary(
                    visit.candidate,
                    fetch.outcome,
                    fetch.at,
                    fetch.status,
                    fetch.detail,
                    None if page is None else page.title,
                    visit.relevance,
                    visit.standing,
                    visit.duplicate_of,
                    visit.left_out,
                    len(fetch.body),
                )
            )
        )
        status = self._session.status
        if (
            status.pages + self._waiting.in_flight >= (status.page_budget or 0)
            and time.monotonic() > self._no_tick_before
        ):
            self.tick()  # so that the next lease comes before this one is used up

    def tick(self) -> None:
        """Sends what there is, and reports."""
        self._no_tick_before = time.monotonic() + _MIN_TICK
        self._save_mail()
        if self._visits:
            self._send(Visited(packed(self._visits)))
            self._visits = []
        for batch in self._frontier.batches():
            self._send(Parcel(self._frontier.number, batch.receiver, batch.last, batch.candidates))
        self._share_evidence()
        self._send(self._report())

    def _add_evidence(self, message: Evidence) -> None:
        if self._sharing is not None:
            try:
                self._sharing.add_evidence(decompressed(message.evidence))
            except ValueError as error:
                raise WorkerMessageError(f"what another worker has learnt cannot be used: {error}") from None

    def _share_evidence(self) -> None:
        """Sends what the strategy has learnt if it can be shared and is enough."""
        enough = max(_EVIDENCE_INTERVAL, _EVIDENCE_SHARE * self._session.status.pages)
        if self._sharing is not None and self._visits_not_shared >= enough:
            self._visits_not_shared = 0
            self._send(Evidence(zlib.compress(self._sharing.new_evidence())))

    def _save_mail(self) -> None:
        """Confirms the URLs that a checkpoint has saved; makes one if none was made for a while."""
        self._confirm_mail()
        if self._unsaved_mail and time.monotonic() - self._mail_since > _MAX_SAVE_INTERVAL:
            self._session.checkpoint()
            self._confirm_mail()

    def _confirm_mail(self) -> None:
        """Confirms all URLs that came if a checkpoint was made since; called before others come."""
        if self._session.checkpoints_made != self._checkpoints:
            self._checkpoints = self._session.checkpoints_made
            for sender, last in self._unsaved_mail.items():
                self._send(Arrived(sender, self._frontier.number, last))
            self._unsaved_mail.clear()

    def _report(self) -> Report:
        session, status, waiting = self._session, self._session.status, self._waiting
        pages, relevant, bytes_kept = self._status_at_start
        ready_at = waiting.next_ready_at()
        nothing_soon = ready_at is None or ready_at - session.clock.now() > MAX_HOLD
        is_idle = nothing_soon and not waiting.in_flight
        if is_idle:
            status.set_page_budget(status.pages)  # the coordinator may give the rest of the lease to others
        return Report(
            status.pages - pages,
            status.relevant - relevant,
            status.bytes_kept - bytes_kept,
            len(waiting),
            waiting.in_flight,
            waiting.best_idle_priority if session.loop.strategy.scale == "unit" else None,
            is_idle,
            self._received,
            self._leases,
        )


async def crawl_shard(start: Start, stream: asyncio.StreamReader, send: Callable[[FromWorker], None]) -> None:
    """Crawls a shard until the coordinator stops it, or goes away."""
    folder, recipe = Path(start.folder), share_of_recipe(start.recipe, start.shards)
    shard = shard_folder(folder, start.number)
    with Session(
        folder, recipe, clock=WallClock(), notify=lambda line: send(Notice(line)), rerank=False, shard=shard
    ) as session:
        if not may_be_behind(folder):  # the coordinator was killed before, and the next command gathers
            raise CollectionError(f"{folder} has no shards to crawl any more")
        slots = CurrentSlots()
        web = make_web(
            recipe, clock=session.clock, allow_private=start.allow_private, resolve=start.resolve, slots=slots
        )
        try:
            run = LiveRun(session, web, slots, is_worker=True)
            await run.learn_topic()
            if uses_standing(recipe):
                run.learn_standing()
            frontier = ShardFrontier(
                session.frontier,
                Outbox(session.collection.catalog.connection),
                owner_of=owner_by_domain(start.shards, start.hash_seed),
                number=start.number,
            )
            with session.loop.using_frontier(frontier):
                worker = Worker(session, run, frontier, send)
                await _crawl(worker, run.crawl(web, may_get_more=lambda: not worker.is_stopping), stream)
                worker.tick()
        finally:
            await web.close()


async def _crawl(worker: Worker, crawl: Crawl, stream: asyncio.StreamReader) -> None:
    """Crawls, and meanwhile listens to the coordinator and reports to it."""
    tasks = [asyncio.create_task(_listen(worker, stream)), asyncio.create_task(_report(worker))]
    for task in tasks:
        task.add_done_callback(lambda task: worker.stop())
    try:
        async with aclosing(crawl.visits()) as visits:
            async for visit in visits:
                worker.observe(visit)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _listen(worker: Worker, stream: asyncio.StreamReader) -> None:
    """Handles messages until the coordinator closes the stream, or is killed."""
    while (frame := await read_frame(stream)) is not None:
        worker.handle(decode_to_worker(frame))


async def _report(worker: Worker) -> None:
    while True:
        worker.tick()
        await asyncio.sleep(_TICK)


async def _main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the coordinator decides
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever prints, prints for people

    def send(message: FromWorker) -> None:
        unsent = memoryview(framed(message))
        while unsent:
            unsent = unsent[out.write(unsent) :]

    stream = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    frame = await read_frame(stream)
    start = None if frame is None else decode_to_worker(frame)
    if not isinstance(start, Start):
        return 2
    with suppress(BrokenPipeError):  # the coordinator was killed: everything is saved
        try:
            await crawl_shard(start, stream, send)
        except LycosaError as error:
            send(Ended(str(error)))
            return 1
        send(Ended())
    return 0


def main() -> int:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_main())


if __name__ == "__main__":
    sys.exit(main())
