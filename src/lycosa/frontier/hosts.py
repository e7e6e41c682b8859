"""Whose turn it is: the best waiting URL among the hosts that may be asked now."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from msgspec import Struct

from lycosa.vocabulary.records import Host, Url


class Entry(Struct, order=True, gc=False):
    """A waiting URL in the queue of its host; the smallest is the best."""

    rank: float  # minus its priority
    order: int  # first come, first served among equals
    url: Url


class _Queue:
    __slots__ = ("busy", "entries", "not_before")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.not_before = 0.0
        self.busy = False


class HostQueues:
    """One queue per host. `is_current` tells entries that still count from those re-ranked or settled since."""

    def __init__(self, *, delay: float, is_current: Callable[[Entry], bool]):
        self._delay = delay
        self._is_current = is_current
        self._queues: dict[Host, _Queue] = {}
        self._idle: list[tuple[float, int, Host]] = []  # rank and order of a host's best; checked when popped
        self._resting: list[tuple[float, Host]] = []  # the moment a host may be asked again

    def push(self, host: Host, entry: Entry) -> None:
        queue = self._queues.get(host)
        if queue is None:
            queue = self._queues[host] = _Queue()
        entries = queue.entries
        heappush(entries, entry)
        if entries[0] is entry and not queue.busy:
            if queue.not_before:
                heappush(self._resting, (queue.not_before, host))
            else:
                heappush(self._idle, (entry.rank, entry.order, host))

    def pop(self, now: float) -> Entry | None:
        """The best entry whose host is idle; the host is busy from now on."""
        resting, idle = self._resting, self._idle
        while resting and resting[0][0] <= now:
            host = heappop(resting)[1]
            queue = self._queues[host]
            if queue.busy or queue.not_before > now:
                continue
            queue.not_before = 0.0
            if best := self._best(queue):
                heappush(idle, (best.rank, best.order, host))
        while idle:
            rank, order, host = heappop(idle)
            queue = self._queues[host]
            if queue.busy or queue.not_before > now:
                continue
            best = self._best(queue)
            if best is None:
                continue
            if (best.rank, best.order) != (rank, order):
                heappush(idle, (best.rank, best.order, host))
                continue
            queue.busy = True
            return heappop(queue.entries)
        return None

    def _best(self, queue: _Queue) -> Entry | None:
        entries = queue.entries
        while entries and not self._is_current(entries[0]):
            heappop(entries)
        return entries[0] if entries else None

    def release(self, host: Host, now: float) -> None:
        """The host's URL in flight has landed: the host rests for its delay."""
        queue = self._queues[host]
        queue.busy = False
        self._rest(host, queue, now + self._delay if self._delay else 0.0)

    def hold(self, host: Host, until: float) -> None:
        """Asks nothing of the host before the given moment."""
        queue = self._queues.setdefault(host, _Queue())
        self._rest(host, queue, until)

    def _rest(self, host: Host, queue: _Queue, until: float) -> None:
        queue.not_before = max(queue.not_before, until)
        if queue.busy:
            return
        if queue.not_before:
            heappush(self._resting, (queue.not_before, host))
        elif best := self._best(queue):
            heappush(self._idle, (best.rank, best.order, host))

    def next_ready_at(self) -> float | None:
        """The earliest moment at which `pop` may succeed; 0 for at once, None while all hosts are busy or empty."""
        while self._idle:
            host = self._idle[0][2]
            queue = self._queues[host]
            if not queue.busy and not queue.not_before and self._best(queue):
                return 0.0
            heappop(self._idle)
        while self._resting:
            moment, host = self._resting[0]
            queue = self._queues[host]
            if not queue.busy and queue.not_before <= moment and self._best(queue):
                return moment
            heappop(self._resting)
            if queue.not_before > moment and not queue.busy and self._best(queue):
                heappush(self._resting, (queue.not_before, host))
        return None

    def drop_stale(self) -> None:
        """Frees the entries that no longer count."""
        for queue in self._queues.values():
            queue.entries = [entry for entry in queue.entries if self._is_current(entry)]
            heapify(queue.entries)
