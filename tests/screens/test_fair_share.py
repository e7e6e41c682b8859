"""Readers of published screens: one who asks a lot waits behind itself."""

import asyncio
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.screens import app, exports
from lycosa.screens.access_control import ScreenAccess
from lycosa.screens.fair_share import OWNER, BusyError, FairQueue, ReaderSlots
from lycosa.screens.library import Library
from screens.serving import PORT
from screens.test_access import PUBLIC
from screens.test_connections import happens


async def work(queue, reader, done, gate=None):
    async with queue.slot(reader):
        if gate is not None:
            await gate.wait()
        await asyncio.sleep(0)
        done.append(reader)


def test_readers_take_turns_however_much_one_asks():
    async def run():
        queue, done, gate = FairQueue(2, per_reader=2, max_waiting=100), [], asyncio.Event()
        many = [asyncio.create_task(work(queue, "a", done, gate)) for _ in range(50)]
        await asyncio.sleep(0)
        few = [asyncio.create_task(work(queue, reader, done, gate)) for reader in ("b", "c", OWNER)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*many, *few)
        assert max(map(done.index, ("b", "c", OWNER))) < 8

    asyncio.run(run())


def test_an_anonymous_reader_leaves_slots_to_others_and_does_not_wait_for_ever():
    async def run():
        queue, done, gate = FairQueue(4, per_reader=2, max_waiting=3), [], asyncio.Event()
        many = [asyncio.create_task(work(queue, "a", done, gate)) for _ in range(9)]
        await asyncio.sleep(0)
        await work(queue, "b", done)
        assert done == ["b"]
        gate.set()
        ended = await asyncio.gather(*many, return_exceptions=True)
        assert Counter(map(type, ended)) == {type(None): 5, BusyError: 4}
        await asyncio.gather(*(work(queue, OWNER, done) for _ in range(50)))

    asyncio.run(run())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 3)), max_size=30))
def test_no_slot_is_lost_whoever_gives_up(requests):
    async def run():
        queue, done, tasks, most = FairQueue(2, per_reader=1, max_waiting=5), [], [], 0
        for reader, gives_up, steps in requests:
            tasks.append(asyncio.create_task(work(queue, reader, done)))
            for _ in range(steps):
                await asyncio.sleep(0)
            if gives_up:
                tasks[len(tasks) // 2].cancel()
            most = max(most, queue._taken.total())
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert most <= 2
        assert not queue._taken and not queue._waiting

    asyncio.run(run())


def test_slots_that_are_not_waited_for():
    slots = ReaderSlots(3, per_reader=1)
    assert [slots.take(reader) for reader in ("a", "a", "b", OWNER, OWNER)] == [True, False, True, True, False]
    slots.release("a")
    assert [slots.take(reader) for reader in ("b", OWNER)] == [False, True]


class Anonymous:
    """Somebody who asks published screens, from an address."""

    def __init__(self, application, path, address, *, forwarded=""):
        self.status = 0
        headers = [(b"host", b"bees.example")] + [(b"x-forwarded-for", forwarded.encode())] * bool(forwarded)
        path, _, query = path.partition("?")
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
        scope |= {"root_path": "", "scheme": "http", "client": (address, 50_000)}
        self.task = asyncio.create_task(application(scope, self._wait, self._take))

    async def _wait(self):
        await asyncio.Event().wait()

    async def _take(self, message):
        self.status = message.get("status", self.status)


@pytest.mark.parametrize("is_proxied", [False, True])
def test_costly_requests_of_one_address_keep_nobody_else_from_reading(root, monkeypatch, is_proxied):
    may_end = threading.Event()

    def slow(*arguments, **keywords):
        may_end.wait()
        raise app.UsageError("not found")

    def reader(path, address):
        client, forwarded = ("127.0.0.1", f"10.0.0.1, {address}") if is_proxied else (address, "")
        return Anonymous(application, path, client, forwarded=forwarded)

    monkeypatch.setattr(app, "search_view", slow)
    application = app.make_app(Library(root), ScreenAccess(PORT, read_only=True, public_url=PUBLIC))

    async def run():
        many = [reader(f"/c/bees/search?q={number}", "192.0.2.1") for number in range(100)]
        try:
            await asyncio.sleep(0)
            other = reader("/c/bees", "192.0.2.2")
            await happens(lambda: other.status)
            assert other.status == 200
            await happens(lambda: sum(each.status == 503 for each in many) == 100 - 2 - app._MAX_WAITING)
        finally:
            may_end.set()
        await asyncio.gather(*(each.task for each in many))
        assert Counter(each.status for each in many) == {400: 2 + app._MAX_WAITING, 503: 58}

    asyncio.run(run())


@pytest.mark.parametrize("path", ["stored?url=http://text.example/", "export/file?format=jsonl&content=text"])
def test_stored_pages_and_exports_of_one_address_leave_some_to_others(root, monkeypatch, path):
    monkeypatch.setattr(exports, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(exports, "_MAX_QUEUED_CHUNKS", 1)
    application = app.make_app(Library(root), ScreenAccess(PORT, read_only=True, public_url=PUBLIC))
    may_read = asyncio.Event()

    class Slow(Anonymous):
        async def _take(self, message):
            await super()._take(message)
            await may_read.wait()

    async def run():
        many = [Slow(application, f"/c/bees/{path}", "192.0.2.1") for _ in range(9)]
        await happens(lambda: all(each.status for each in many))
        assert 0 < sum(each.status == 200 for each in many) < 5
        other = Slow(application, f"/c/bees/{path}", "192.0.2.2")
        await happens(lambda: other.status)
        assert other.status == 200
        may_read.set()
        await asyncio.gather(other.task, *(each.task for each in many))

    asyncio.run(run())
