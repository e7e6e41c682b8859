"""Who reads the screens, and what one reader may take of them while others wait.

Whoever has the secret is one reader, and of anonymous ones, whom published screens admit, each network is.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from threading import Lock

OWNER = ""  # the reader who has the secret
READER: ContextVar[str] = ContextVar("reader", default=OWNER)  # of the request that is being answered


class BusyError(Exception):
    """A reader has too many requests that wait."""


class FairQueue:
    """Slots for work, given to the readers that wait for one in turn: one who asks a lot delays no other.

    per_reader: slots that one anonymous reader may have at a time.
    max_waiting: requests of one anonymous reader that may wait for a slot.
    """

    def __init__(self, slots: int, *, per_reader: int, max_waiting: int):
        self._slots = slots
        self._per_reader = per_reader
        self._max_waiting = max_waiting
        self._taken: Counter[str] = Counter()  # by reader
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by reader, in the order of their turns

    @asynccontextmanager
    async def slot(self, reader: str) -> AsyncIterator[None]:
        """A slot, as soon as it is the reader's turn; raises BusyError if too many of its requests wait."""
        if reader not in self._waiting and self._may_take(reader):
            self._taken[reader] += 1
        else:
            await self._turn(reader)
        try:
            yield
        finally:
            self._release(reader)

    def _may_take(self, reader: str) -> bool:
        return self._taken.total() < self._slots and (reader == OWNER or self._taken[reader] < self._per_reader)

    async def _turn(self, reader: str) -> None:
        waiting = self._waiting.setdefault(reader, deque())
        if reader != OWNER and len(waiting) >= self._max_waiting:
            raise BusyError
        turn = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it has just got the slot
                self._release(reader)
            elif turn in self._waiting.get(reader, ()):
                waiting.remove(turn)
                if not waiting:
                    del self._waiting[reader]
            raise

    def _release(self, reader: str) -> None:
        self._taken[reader] -= 1
        if not self._taken[reader]:
            del self._taken[reader]
        while (next_reader := next(filter(self._may_take, self._waiting), None)) is not None:
            turns = self._waiting.pop(next_reader)
            turn = turns.popleft()
            if turns:
                self._waiting[next_reader] = turns  # behind the others
            if not turn.done():  # cancelled
                self._taken[next_reader] += 1
                turn.set_result(None)


class ReaderSlots:
    """Slots that are taken at once or not at all, from any thread.

    per_reader: slots that one anonymous reader may have at a time.
    """

    def __init__(self, slots: int, *, per_reader: int):
        self._slots = slots
        self._per_reader = per_reader
        self._taken: Counter[str] = Counter()  # by reader
        self._lock = Lock()

    def take(self, reader: str) -> bool:
        """Takes a slot; False if there is none for this reader."""
        with self._lock:
            is_free = self._taken.total() < self._slots
            if is_free and (reader == OWNER or self._taken[reader] < self._per_reader):
                self._taken[reader] += 1
                return True
            return False

    def release(self, reader: str) -> None:
        with self._lock:
            self._taken[reader] -= 1
            if not self._taken[reader]:
                del self._taken[reader]
