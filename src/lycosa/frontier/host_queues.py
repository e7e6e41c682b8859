"""Priority queues by host: the best waiting URL among the hosts to which a request may be sent now."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

from lycosa.vocabulary.records import Host
from lycosa.vocabulary.urls import host_of, site_of

from .shared_limits import HostPace, SharedLimit
from .spilled import QueueEntry, SpilledEntries

_FREE_WAIT = 0.1  # seconds for which waiting costs nothing
_MAX_BLOCKED_TRIED = 8  # hosts that are considered for waiting, the best first
_MAX_LISTINGS = 1_000  # and four for each host that has a queue; beyond, outdated ones are dropped
_MAX_PASSED_ON = 16  # hosts that are looked at for a free slot of one limit while another limit keeps them waiting
_ADDRESSES_KNOWN = 100_000  # of hosts; beyond, the oldest are forgotten
_MAX_TURNS = 1_000  # hosts for which requests on the way to others wait
_MAX_TURN = 60.0  # seconds until such a request is tried again
_READ_BACK = 16  # entries of a busy or resting host that are read back at a time
_KEPT_OF_A_HOST = 16  # entries at least that stay in memory where others are spilled


class _HostQueue:
    """The waiting entries of one host, and its state."""

    __slots__ = (
        "asked_at",
        "busy",
        "entries",
        "held",
        "is_parked",
        "is_suspended",
        "limits",
        "listed",
        "not_before",
        "slot",
    )

    def __init__(self) -> None:
        self.entries: list[QueueEntry] = []
        self.not_before = 0.0  # 0 for a host that does not rest
        self.busy = False
        self.is_suspended = False
        self.is_parked = False  # or has been since it was last idle
        self.slot = 0  # of its entries that are spilled, all of which come after those here; 0 where there are none
        self.asked_at = 0.0
        self.listed: QueueEntry | None = None  # by which the host is among the blocked
        self.limits: tuple[SharedLimit, ...] = ()  # of its registered domain and, once it is known, its address
        self.held: tuple[SharedLimit, ...] = ()  # of which it has a slot


class HostQueues:
    """A priority queue per host that has something waiting or in flight, or that rests; others are forgotten.

    A blocked host, one that is busy or resting, may have a better URL than the hosts that are idle. `pop` waits for it
    if, with w the seconds until it is expected to be idle,

        w <= patience  and  its priority > the best idle priority + slack * max(0, w - 0.1).

    Hosts on one address, or of one registered domain, share the slots of a `SharedLimit`: a request takes one, which
    rests for the delay when the request has ended. An idle host is parked where it finds a limit full, and listed again
    when a slot is free.

    Where entries may be spilled, idle hosts have all of theirs there in the end: then they are dormant, have no queue,
    and are compared with idle hosts by their best entry. Of a queue, the best entries are in memory. So whatever was
    spilled, the same entries come in the same order.

    delay: seconds a host rests after a request.
    is_current: whether an entry still counts: it was neither re-ranked nor settled since.
    per_address: slots of one address, and of one registered domain; None does not limit.
    slow_slots: slots of all hosts that are slow to answer; None does not tell them from others.
    spilled: entries that are not in memory; None where all are.
    read_back: reads entries back that were spilled, by their orders; they are current from then on.
    """

    def __init__(
        self,
        *,
        delay: float,
        patience: float,
        is_current: Callable[[QueueEntry], bool],
        per_address: int | None = None,
        slow_slots: int | None = None,
        spilled: SpilledEntries | None = None,
        read_back: Callable[[list[int]], list[QueueEntry]] = lambda orders: [],
    ):
        self.slack = inf
        self._spilled = spilled
        self._read_back = read_back
        self._per_address = per_address
        self._limits: dict[str, SharedLimit] = {}
        self._address_of: dict[Host, str] = {}
        self._resting_slots: list[tuple[float, int, SharedLimit]] = []
        self._slots_rested = 0
        self._parkings = 0
        self._pace = HostPace()
        self._slow = None if slow_slots is None else SharedLimit("slow hosts", slow_slots)
        self._turns: dict[Host, float] = {}  # for which requests on the way to others were told to come again
        self._delay = delay
        self._patience = patience
        self._is_current = is_current
        self._queues: dict[Host, _HostQueue] = {}
        self._busy: set[Host] = set()
        self._clear_listings()
        self._patient_until: float | None = None  # where the last `pop` chose to wait

    def _clear_listings(self) -> None:
        # Heaps of hosts by their best entry, or by when they may be asked again. A listing is not changed when its host
        # changes; an outdated one is dropped when popped, or when there are many of them.
        self._idle: list[tuple[float, int, Host]] = []
        self._blocked: list[tuple[float, int, Host]] = []
        self._resting: list[tuple[float, Host]] = []
        self._leaving: list[tuple[float, Host]] = []  # resting, with nothing waiting: forgotten when their rest is over
        for limit in (*self._limits.values(), *([self._slow] if self._slow else ())):
            limit.parked.clear()
        self._parkings = 0

    def push(self, host: Host, entry: QueueEntry) -> None:
        """Queues an entry; its host needs a new listing only if it is now the best."""
        queue = self._queues.get(host) or self._add_queue(host)
        entries = queue.entries
        heappush(entries, entry)
        if entries[0] is not entry:
            return
        if queue.busy:
            self._list_blocked(host, queue)
        else:
            self._list(host, queue)

    def spill(self, host: Host, entry: QueueEntry) -> bool:
        """Adds an entry to those of its host that are spilled, if it comes after one of them; False if it does not."""
        spilled = self._spilled
        if spilled is None:
            return False
        queue = self._queues.get(host)
        slot = spilled.slots[hash(host)] if queue is None else queue.slot
        if not slot or (queue is not None and spilled.is_better(slot, entry.rank, entry.order)):
            return False
        spilled.add_entry(slot, entry)
        return True

    def spill_down_to(self, count: int) -> Iterator[QueueEntry]:
        """Spills all but the best entries of each host, then those of idle hosts, the worst first, until about so many
        are left in memory; yields each as it goes, before which it must be current, and after which it is not."""
        spilled = self._spilled
        assert spilled is not None
        left, kept = 0, max(_KEPT_OF_A_HOST, count // (2 * len(self._queues) + 1))
        idle: list[tuple[float, int, Host]] = []
        for host, queue in self._queues.items():
            if len(queue.entries) > kept:
                queue.entries = sorted(filter(self._is_current, queue.entries))
                yield from self._spill_after(host, queue, kept)
            left += len(queue.entries)
            if queue.entries and not (queue.busy or queue.is_suspended or queue.is_parked or queue.not_before):
                idle.append((queue.entries[0].rank, queue.entries[0].order, host))
        idle.sort()
        while left > count and idle:
            _, _, host = idle.pop()
            queue = self._queues[host]
            left -= len(queue.entries)
            queue.entries = sorted(filter(self._is_current, queue.entries))
            yield from self._spill_after(host, queue, 0)
            self._remove_queue(host, queue)
            if queue.slot:
                spilled.rest(queue.slot)
        self._drop_outdated_listings()
        spilled.compact()

    def _spill_after(self, host: Host, queue: _HostQueue, count: int) -> Iterator[QueueEntry]:
        """Spills the entries of a queue, which are sorted, but for the first ones; the last first, so that the list of
        those that were spilled stays sorted."""
        spilled = self._spilled
        assert spilled is not None
        if len(queue.entries) > count:
            queue.slot = spilled.slot_for(hash(host))
        while len(queue.entries) > count:
            entry = queue.entries.pop()
            spilled.add_entry(queue.slot, entry)
            yield entry

    def pop(self, now: float) -> QueueEntry | None:
        """The best entry whose host is idle, unless a better one is worth waiting for; its host is now busy."""
        self._wake(now)
        self._patient_until = None
        host = self._best_idle()
        if host is None:
            return None
        queue = self._queues[host]
        if self.slack < inf:
            self._patient_until = self._wait_for_better(queue.entries[0], now)
            if self._patient_until is not None:
                return None
        heappop(self._idle)
        entry = heappop(queue.entries)
        self._occupy(host, queue, now)
        return entry

    def occupy(self, host: Host, now: float) -> None:
        """Makes a host busy for a request that is not of these queues, until `release`."""
        self._wake(now)
        self._occupy(host, self._queues.get(host) or self._add_queue(host), now)

    def acquire(self, host: Host, now: float) -> float | None:
        """Makes a host busy for a request on the way to another, until `release`; else when to ask for it again.

        Those who have to wait are told moments one after the other, so that they do not all come at once.
        """
        self._wake(now)
        queue = self._queues.get(host) or self._add_queue(host)
        if not queue.busy and not queue.is_suspended and not queue.not_before and self._full_limit(host, queue) is None:
            self._turns.pop(host, None)
            self._occupy(host, queue, now)
            return None
        if not queue.busy:
            self._list(host, queue)
        step = max(self._delay, _FREE_WAIT)
        moment = max(queue.not_before, now + step, self._turns.get(host, 0.0) + step)
        if len(self._turns) >= _MAX_TURNS:
            self._turns.clear()
        self._turns[host] = min(moment, max(queue.not_before, now + _MAX_TURN))
        return self._turns[host]

    def claim_address(self, host: Host, address: str) -> bool:
        """Notes the address of a host before it is connected to; False where that has no slot, so that it is not."""
        if self._per_address is None:
            return True
        queue = self._queues.get(host)
        if self._address_of.pop(host, None) != address and queue is not None:
            self._leave_limits(queue)
            queue.limits = ()
        self._address_of[host] = address
        if len(self._address_of) > _ADDRESSES_KNOWN:
            del self._address_of[next(iter(self._address_of))]
        if queue is None:
            return True
        if not queue.limits:
            self._join_limits(host, queue)
        if not queue.busy:
            return True
        own = self._limits[f"address {address}"]
        if own in queue.held:
            return True
        if own.is_full:
            return False
        own.in_use += 1
        queue.held = (*queue.held, own)
        return True

    def observe(self, host: Host, seconds: float) -> None:
        """Learns how long a host has taken to answer, or takes already: then its request leaves its place to others."""
        if self._slow is None:
            return
        self._pace.observe(host, seconds)
        queue = self._queues.get(host)
        if queue is not None and queue.busy and self._slow not in queue.held and self._pace.is_known_slow(host):
            self._slow.in_use += 1
            queue.held = (*queue.held, self._slow)

    @property
    def slow_in_flight(self) -> int:
        """How many requests are in flight to hosts that are slow to answer; those beyond their slots do not count."""
        return 0 if self._slow is None else min(self._slow.in_use, self._slow.slots)

    def _add_queue(self, host: Host) -> _HostQueue:
        queue = self._queues[host] = _HostQueue()
        if self._spilled is not None and (slot := self._spilled.slots[hash(host)]):
            queue.slot = slot
            self._spilled.wake(slot)
        if self._per_address is not None:
            self._join_limits(host, queue)
        return queue

    def _join_limits(self, host: Host, queue: _HostQueue) -> None:
        assert self._per_address is not None
        names = [f"site {site_of(host)}"]
        if address := self._address_of.get(host):
            names.append(f"address {address}")
        for name in names:
            limit = self._limits.get(name)
            if limit is None:
                limit = self._limits[name] = SharedLimit(name, self._per_address)
            limit.hosts += 1
            queue.limits = (*queue.limits, limit)

    def _leave_limits(self, queue: _HostQueue) -> None:
        for limit in queue.limits:
            limit.hosts -= 1
            self._drop_unused(limit)

    def _drop_unused(self, limit: SharedLimit) -> None:
        if not limit.hosts and not limit.in_use:
            self._limits.pop(limit.name, None)

    def _remove_queue(self, host: Host, queue: _HostQueue) -> None:
        del self._queues[host]
        self._leave_limits(queue)

    def _full_limit(self, host: Host, queue: _HostQueue) -> SharedLimit | None:
        """What keeps an idle host waiting; None if nothing does."""
        for limit in queue.limits:
            if limit.in_use >= limit.slots:
                return limit
        slow = self._slow
        return slow if slow is not None and slow.is_full and self._pace.is_slow(host) else None

    def _free(self, limit: SharedLimit) -> None:
        """A slot of a limit is free again."""
        limit.in_use -= 1
        self._unpark(limit)
        self._drop_unused(limit)

    def _unpark(self, limit: SharedLimit) -> None:
        """Lists the best hosts again that wait for a limit, as many as it has slots for."""
        room = limit.slots - limit.in_use
        while limit.parked and room > 0:
            _, _, host = heappop(limit.parked)
            self._parkings -= 1
            queue = self._queues.get(host)
            if queue is None:
                continue
            queue.is_parked = False
            if queue.busy or queue.is_suspended or queue.not_before:
                continue
            best = self._best(queue)
            if best is None:
                self._remove_queue(host, queue)
            else:
                heappush(self._idle, (best.rank, best.order, host))
                room -= 1

    def _pass_on(self, queue: _HostQueue) -> None:
        """A host that was listed has not made use of the slots that it was listed for."""
        for limit in queue.limits:
            if limit.parked:
                self._unpark(limit)
        if self._slow is not None and self._slow.parked:
            self._unpark(self._slow)

    def _occupy(self, host: Host, queue: _HostQueue, now: float) -> None:
        queue.busy, queue.asked_at, queue.is_parked = True, now, False
        self._busy.add(host)
        if queue.limits or self._slow is not None:
            queue.held = queue.limits
            if self._slow is not None and self._pace.is_slow(host):
                queue.held = (*queue.held, self._slow)
            for limit in queue.held:
                limit.in_use += 1
        self._list_blocked(host, queue)

    def release(self, host: Host, now: float) -> None:
        """The request of a host has ended: the host rests for its delay."""
        queue = self._queues[host]
        queue.busy = False
        self._busy.discard(host)
        if queue.held:
            self._let_slots_rest(queue, now + self._delay if self._delay else 0.0)
        if self._delay:
            queue.not_before = max(queue.not_before, now + self._delay)
        self._list(host, queue)

    def _let_slots_rest(self, queue: _HostQueue, until: float) -> None:
        held, queue.held = queue.held, ()
        for limit in held:
            if until and limit is not self._slow:
                self._slots_rested += 1
                heappush(self._resting_slots, (until, self._slots_rested, limit))
            else:
                self._free(limit)

    def suspend(self, host: Host, popped: QueueEntry) -> None:
        """Puts back what was popped last, and leaves its host out until `resume`; it was not asked."""
        queue = self._queues[host]
        queue.busy, queue.is_suspended = False, True
        self._busy.discard(host)
        heappush(queue.entries, popped)
        self._let_slots_rest(queue, 0.0)

    def resume(self, host: Host) -> None:
        """A host that was suspended takes part again."""
        queue = self._queues[host]
        queue.is_suspended = False
        if not queue.busy:
            self._list(host, queue)

    def remove_all(self, host: Host) -> list[QueueEntry]:
        """Empties the queue of a host; returns the entries that counted, the best first."""
        queue = self._queues.get(host)
        if queue is None:
            if self._spilled is None or not self._spilled.slots[hash(host)]:
                return []
            queue = self._add_queue(host)  # empty, and so forgotten by the next who looks at it
            heappush(self._idle, (-inf, 0, host))
        current = sorted(filter(self._is_current, queue.entries))
        current += self._all_spilled(queue)
        queue.entries = []  # what it is listed by is outdated now, and dropped when popped
        return current

    def _all_spilled(self, queue: _HostQueue) -> list[QueueEntry]:
        """Reads back all that was spilled of a host, the best first."""
        if self._spilled is None or not queue.slot:
            return []
        slot, queue.slot = queue.slot, 0
        return self._read_back(self._spilled.take(slot, len(self._spilled)))

    def hosts(self) -> Iterable[Host]:
        """The hosts that have a queue; dormant ones have none."""
        return self._queues

    def hold(self, host: Host, until: float) -> None:
        """Asks nothing of the host before the given moment."""
        queue = self._queues.get(host) or self._add_queue(host)
        queue.not_before = max(queue.not_before, until)
        if not queue.busy:
            self._list(host, queue)
            self._pass_on(queue)

    def holds(self, after: float) -> dict[Host, float]:
        """The hosts that rest beyond a moment, each with the end of its rest."""
        return {host: queue.not_before for host, queue in self._queues.items() if queue.not_before > after}

    def next_ready_at(self) -> float | None:
        """The earliest moment at which `pop` may succeed; 0 for at once, None while all hosts are busy or empty."""
        if self._patient_until is not None:
            return self._patient_until
        if self._best_idle() is not None:
            return 0.0
        slot_at = min((moment for moment, _, limit in self._resting_slots if limit.parked), default=inf)
        while self._resting:
            moment, host = self._resting[0]
            queue = self._queues.get(host)
            if queue is None or queue.busy or queue.not_before != moment:
                heappop(self._resting)
            elif self._best(queue):
                return min(moment, slot_at)
            else:
                heappush(self._leaving, heappop(self._resting))
        return None if slot_at == inf else slot_at

    def is_ready_within(self, seconds: float, now: float) -> bool:
        """Whether something waits at a host that is busy, or that may be asked within so many seconds."""
        if self._parkings or any(self._best(self._queues[host]) for host in self._busy):
            return True
        ready_at = self.next_ready_at()
        return ready_at is not None and ready_at - now <= seconds

    def forget_spilled(self) -> None:
        """Forgets all entries that are spilled, and the hosts that have no others and do not rest."""
        if self._spilled is not None:
            self._spilled.clear()
            for queue in self._queues.values():
                queue.slot = 0

    def drop_stale(self) -> None:
        """Drops the entries that no longer count, and the hosts that have no others."""
        for queue in self._queues.values():
            queue.entries = [entry for entry in queue.entries if self._is_current(entry)]
            heapify(queue.entries)
        self._rebuild_listings()

    def _drop_outdated_listings(self) -> None:
        """Lists all hosts anew where most listings are outdated."""
        listings = len(self._idle) + len(self._blocked) + len(self._resting) + len(self._leaving) + self._parkings
        if listings > 4 * len(self._queues) + _MAX_LISTINGS:
            self._rebuild_listings()

    def _rebuild_listings(self) -> None:
        self._clear_listings()
        for host, queue in list(self._queues.items()):
            queue.listed, queue.is_parked = None, False
            if queue.busy:
                self._list_blocked(host, queue)
            else:
                self._list(host, queue)

    def _best(self, queue: _HostQueue) -> QueueEntry | None:
        """The best entry that still counts; drops those before it that do not."""
        entries = queue.entries
        while entries and not self._is_current(entries[0]):
            heappop(entries)
        if not entries and queue.slot:
            self._fill(queue, _READ_BACK)
        return queue.entries[0] if queue.entries else None

    def _fill(self, queue: _HostQueue, count: int) -> None:
        """Reads back the best entries of a queue that has none in memory."""
        assert self._spilled is not None
        queue.entries = self._read_back(self._spilled.take(queue.slot, count))
        if not self._spilled.has_entries(queue.slot):
            queue.slot = 0

    def _list(self, host: Host, queue: _HostQueue) -> None:
        """Lists a host that is not busy by its best entry or the end of its rest; forgets it where it has neither."""
        if queue.is_suspended:
            return  # until it resumes
        if queue.slot and not queue.entries and not queue.not_before and self._spilled is not None:
            self._remove_queue(host, queue)
            self._spilled.rest(queue.slot)
            return
        best = self._best(queue)
        if queue.not_before:
            heappush(self._resting if best else self._leaving, (queue.not_before, host))
            self._list_blocked(host, queue)
        elif best:
            heappush(self._idle, (best.rank, best.order, host))
        else:
            self._remove_queue(host, queue)
            self._pass_on(queue)

    def _list_blocked(self, host: Host, queue: _HostQueue) -> None:
        """Lists a busy or resting host by its best entry, if that is better than the one it is listed by."""
        if self.slack == inf:
            return
        if queue.slot and not queue.entries and self._spilled is not None:
            best: QueueEntry | None = self._spilled.best(queue.slot)  # read back where it matters
        else:
            best = self._best(queue)
        if best is not None and (queue.listed is None or best < queue.listed):
            queue.listed = best
            heappush(self._blocked, (best.rank, best.order, host))

    def _wake(self, now: float) -> None:
        """Makes the hosts idle, and the slots free, whose rest is over."""
        while self._resting_slots and self._resting_slots[0][0] <= now:
            self._free(heappop(self._resting_slots)[2])
        for resting in (self._resting, self._leaving):
            while resting and resting[0][0] <= now:
                moment, host = heappop(resting)
                queue = self._queues.get(host)
                if queue is not None and not queue.busy and queue.not_before == moment:
                    queue.not_before = 0.0
                    self._list(host, queue)
        self._drop_outdated_listings()

    def _best_idle(self) -> Host | None:
        """The idle host of the best entry, which is then at the top of its heap; parks those that find a limit full."""
        host = self._best_with_queue()
        while self._spilled is not None and (dormant := self._spilled.best_dormant()) is not None:
            if host is not None and self._idle[0][:2] < dormant[:2]:
                break
            self._wake_dormant(dormant[2])
            host = self._best_with_queue()
        return host

    def _wake_dormant(self, slot: int) -> None:
        """Gives a dormant host its queue again, with its best entry; forgets it where it has none that counts."""
        assert self._spilled is not None
        self._spilled.wake(slot)
        found = self._read_back(self._spilled.take(slot, 1))
        if found:
            host = host_of(found[0].url)
            queue = self._add_queue(host)
            queue.entries = found
            self._list(host, queue)

    def _best_with_queue(self) -> Host | None:
        """The same, among the hosts that are not dormant."""
        idle, passed_on = self._idle, 0
        while idle:
            rank, order, host = idle[0]
            queue = self._queues.get(host)
            if queue is None or queue.busy or queue.is_suspended or queue.not_before:
                heappop(idle)
            elif (best := self._best(queue)) is None:
                heappop(idle)
                self._remove_queue(host, queue)
                self._pass_on(queue)
            elif (best.rank, best.order) != (rank, order):
                heapreplace(idle, (best.rank, best.order, host))
            elif (limit := self._full_limit(host, queue)) is not None:
                heappush(limit.parked, heappop(idle))
                queue.is_parked = True
                self._parkings += 1
                passed_on += 1
                if passed_on <= _MAX_PASSED_ON:  # more have a turn when a slot of that limit is free
                    self._pass_on(queue)
            else:
                return host
        return None

    def _wait_for_better(self, idle: QueueEntry, now: float) -> float | None:
        """Until when to wait for a better entry of a blocked host; None if none is worth it."""
        tried: list[tuple[float, int, Host]] = []
        wait_until = None
        while self._blocked and wait_until is None and len(tried) < _MAX_BLOCKED_TRIED:
            if self._blocked[0] >= (idle.rank, idle.order):
                break
            listing = heappop(self._blocked)
            queue = self._queues.get(listing[2])
            if queue is None or queue.listed is None or (queue.listed.rank, queue.listed.order) != listing[:2]:
                continue
            best = self._best(queue)
            expected = self._expected_wait(listing[2], queue, now)
            if best is None or expected is None:
                queue.listed = None
            elif best is not queue.listed:
                queue.listed = None
                self._list_blocked(listing[2], queue)
            else:
                tried.append(listing)
                slack = self.slack * max(0.0, expected - _FREE_WAIT)
                if (best.rank + slack, best.order) < (idle.rank, idle.order):
                    wait_until = now + expected
        for listing in tried:
            heappush(self._blocked, listing)
        return wait_until

    def _expected_wait(self, host: Host, queue: _HostQueue, now: float) -> float | None:
        """Seconds until a blocked host is likely to be free; None if that is too long, or if it is not blocked."""
        if self._pace.is_known_slow(host):
            return None
        if queue.busy:
            elapsed = now - queue.asked_at  # expected to take as long again
            return max(elapsed, _FREE_WAIT / 2) if elapsed < self._patience else None
        rest = queue.not_before - now
        return rest if 0.0 < rest <= self._patience else None
