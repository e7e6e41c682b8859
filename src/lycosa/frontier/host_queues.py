"""Priority queues by host: the best waiting URL among the hosts to which a request may be sent now.

A waiting URL is an entry: its rank is minus its priority, and its order the number of its arrival. A host is idle if it
may be requested, busy while a request to it is in flight, and resting until its delay or its hold, a time before which
it gets no request, is over. It is suspended while its site may have used up its quota of pages, parked while a limit
that it shares with other hosts has no free slot, and dormant while all its entries are spilled, that is, not in memory.

A host is listed as an item of a heap (a listing), by its best entry or by a time. Its spilled entries are in a list on
disk, which has a number.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

from lycosa.vocabulary.networks import machine_at, network_of
from lycosa.vocabulary.records import Host
from lycosa.vocabulary.urls import host_of, site_of

from .shared_limits import HostPace, SharedLimit, SiteShares
from .spilled import BOOST, QueueEntry, SpilledEntries

_FREE_WAIT = 0.1  # seconds of waiting that cost nothing
_MIN_EXPECTED_WAIT = 0.05  # seconds until a request that has just begun is expected to end
_MIN_RETRY_SPACING = 0.1  # seconds between the retries of redirect requests to one host
_MAX_UNAVAILABLE_CONSIDERED = 8  # busy or resting hosts, best first, that `pop` may wait for
_MAX_LISTINGS = 1_000  # plus four per host with a queue; beyond that, outdated ones are dropped
_MAX_SLOT_OFFERS = 16  # hosts tried for a free slot of one limit while another limit is full
_MAX_ADDRESSES = 100_000  # of hosts; beyond that, the oldest are forgotten
_NETWORK_SHARE = 8  # times the slots of one address that an IPv6 network has; large CDNs have few networks
_MAX_RETRY_HOSTS = 1_000  # hosts with redirect requests that wait
_MAX_RETRY_WAIT = 60.0  # seconds until such a request is retried
_READ_BATCH = 16  # spilled entries of a busy or resting host read at a time
_BEHIND_FACTOR = 0.02  # of the priority of a URL whose registered domain is over its share, when compared with others
_MIN_IN_MEMORY = 16  # entries of a host that stay in memory when others are spilled


_Listing = tuple[float, int, Host]  # rank and order of the best entry of a host, and the host


class _HostQueue:
    """The waiting entries of one host, and its state."""

    __slots__ = (
        "busy",
        "entries",
        "is_parked",
        "is_suspended",
        "limits",
        "listed_entry",
        "not_before",
        "occupied_limits",
        "requested_at",
        "spilled_list_number",
    )

    def __init__(self) -> None:
        self.entries: list[QueueEntry] = []
        self.not_before = 0.0  # 0 for a host that does not rest
        self.busy = False
        self.is_suspended = False  # by `suspend`, until `resume`
        self.is_parked = False  # now, or at some time since it was last idle
        self.spilled_list_number = 0  # of the list of its spilled entries, which rank after those here; 0 for none
        self.requested_at = 0.0  # when the latest request began
        self.listed_entry: QueueEntry | None = None  # the entry by which it is listed among unavailable hosts
        self.limits: tuple[SharedLimit, ...] = ()  # of its registered domain and, once known, its address and network
        self.occupied_limits: tuple[SharedLimit, ...] = ()  # of which its request has a slot


class HostQueues:
    """A priority queue for each host that has URLs waiting or in flight, or is resting; other hosts are forgotten.

    An unavailable host (busy or resting) may have a better URL than the idle hosts. `pop` waits for it if, where w is
    the number of seconds until it is expected to be idle,

        w <= patience  and  its priority > the best idle priority + wait_cost * max(0, w - 0.1).

    Boosts do not count there: boosted URLs are first among those of idle hosts, and do not hold up others. With an
    infinite `wait_cost`, `pop` never waits.

    Hosts on one address, or of one registered domain, share the slots of a `SharedLimit`: a request takes a slot, which
    then rests for the delay. So do those in one IPv6 network, which has `_NETWORK_SHARE` times as many. An idle host
    whose limit is full is parked, and listed again when a slot is free.

    The hosts of a registered domain that is over its share of the latest requests (`SiteShares`) come behind others:
    one of them is next, or waited for, only if no other host is idle, or if its priority is more than fifty times as
    high as theirs. With an infinite `wait_cost` priorities only define an order, and only the former counts.

    If entries may be spilled, a host whose entries are all spilled is dormant: it has no queue, and is compared with
    idle hosts by its best entry. Of every queue, the best entries are in memory, so that spilling does not change the
    order.

    delay: seconds that a host rests after a request.
    is_current: whether an entry is still valid, neither re-ranked nor settled since.
    per_address: slots of one address, of one registered domain, and an eighth of those of an IPv6 network; None for no
        limit.
    shares: which registered domains are over their share; None if they have no limit.
    slow_slots: slots of all slow hosts together; None for no limit.
    spilled: the entries that are not in memory; None if all are.
    read_back: reads spilled entries by their orders; they are current from then on.
    """

    def __init__(
        self,
        *,
        delay: float,
        patience: float,
        is_current: Callable[[QueueEntry], bool],
        per_address: int | None = None,
        shares: SiteShares | None = None,
        slow_slots: int | None = None,
        spilled: SpilledEntries | None = None,
        read_back: Callable[[list[int]], list[QueueEntry]] = lambda orders: [],
    ):
        self.wait_cost = inf  # priority that a second of waiting costs, see above
        self._spilled = spilled
        self._read_back = read_back
        self._per_address = per_address
        self._limits: dict[str, SharedLimit] = {}
        self._address_of: dict[Host, str] = {}
        self._resting_slots: list[tuple[float, int, SharedLimit]] = []  # heap: end of rest, tie-breaker, limit
        self._resting_slot_number = 0  # the tie-breaker of the latest one
        self._parked_count = 0  # hosts in the heaps of all limits
        self._shares = shares
        self._pace = HostPace()
        self._slow_limit = None if slow_slots is None else SharedLimit("slow hosts", slow_slots)
        self._retry_at: dict[Host, float] = {}  # the latest time that was returned for a host by `acquire_or_retry_at`
        self._delay = delay
        self._patience = patience
        self._is_current = is_current
        self._queues: dict[Host, _HostQueue] = {}
        self._busy: set[Host] = set()
        self._clear_listings()
        self._patient_until: float | None = None  # set if the last `pop` chose to wait

    def _clear_listings(self) -> None:
        # Heaps of hosts by their best entry, or by the time at which they are free. A listing (an item of a heap) is
        # not updated when its host changes; outdated ones are dropped when popped, or when there are many.
        self._idle: list[_Listing] = []
        self._behind: dict[str, list[_Listing]] = {}  # idle hosts by registered domain that are or were over a share
        self._best_heap = self._idle  # of the idle hosts: the one whose top is the best
        self._unavailable: list[_Listing] = []
        self._resting: list[tuple[float, Host]] = []  # the end of the rest, and the host
        self._leaving: list[tuple[float, Host]] = []  # resting, with an empty queue: forgotten when their rest is over
        for limit in (*self._limits.values(), *([self._slow_limit] if self._slow_limit else ())):
            limit.parked.clear()
        self._parked_count = 0

    def push(self, host: Host, entry: QueueEntry) -> None:
        """Queues an entry; its host is listed again only if this is now its best entry."""
        queue = self._queues.get(host) or self._add_queue(host)
        entries = queue.entries
        heappush(entries, entry)
        if entries[0] is not entry:
            return
        if queue.busy:
            self._list_unavailable(host, queue)
        else:
            self._list(host, queue)

    def spill(self, host: Host, entry: QueueEntry) -> bool:
        """Spills an entry if it ranks after a spilled entry of its host; returns whether it did."""
        spilled = self._spilled
        if spilled is None:
            return False
        queue = self._queues.get(host)
        list_number = spilled.list_of[hash(host)] if queue is None else queue.spilled_list_number
        if not list_number or (queue is not None and spilled.is_better(list_number, entry.rank, entry.order)):
            return False
        spilled.add_entry(list_number, entry)
        return True

    def spill_down_to(self, count: int) -> Iterator[QueueEntry]:
        """Spills all but the best entries of each host, then all entries of idle hosts, worst first, until about
        `count` are left in memory.

        Yields each spilled entry, for the caller to make it no longer current (`is_current`) before the next. It must
        be run to its end, as only then the listings are those of what is left.
        """
        spilled = self._spilled
        assert spilled is not None
        in_memory, kept_per_host = 0, max(_MIN_IN_MEMORY, count // (2 * len(self._queues) + 1))
        idle: list[_Listing] = []
        for host, queue in self._queues.items():
            if len(queue.entries) > kept_per_host:
                queue.entries = sorted(filter(self._is_current, queue.entries))
                yield from self._spill_after(host, queue, kept_per_host)
            in_memory += len(queue.entries)
            if queue.entries and not (queue.busy or queue.is_suspended or queue.is_parked or queue.not_before):
                idle.append((queue.entries[0].rank, queue.entries[0].order, host))
        idle.sort()
        while in_memory > count and idle:
            _, _, host = idle.pop()
            queue = self._queues[host]
            in_memory -= len(queue.entries)
            queue.entries = sorted(filter(self._is_current, queue.entries))
            yield from self._spill_after(host, queue, 0)
            self._remove_queue(host, queue)
            if queue.spilled_list_number:
                spilled.make_dormant(queue.spilled_list_number)
        self._drop_outdated_listings()
        spilled.compact()

    def _spill_after(self, host: Host, queue: _HostQueue, count: int) -> Iterator[QueueEntry]:
        """Spills all but the first `count` entries of a sorted queue; last first, to keep the spilled list sorted."""
        spilled = self._spilled
        assert spilled is not None
        if len(queue.entries) > count:
            site_key = 0 if self._shares is None else hash(site_of(host))
            queue.spilled_list_number = spilled.list_for(hash(host), site_key)
        while len(queue.entries) > count:
            entry = queue.entries.pop()
            spilled.add_entry(queue.spilled_list_number, entry)
            yield entry

    def pop(self, now: float) -> QueueEntry | None:
        """The best entry whose host is idle, unless a better one is worth waiting for; its host is now busy."""
        self._end_rests(now)
        self._patient_until = None
        host = self._best_idle()
        if host is None:
            return None
        queue = self._queues[host]
        if self.wait_cost < inf:
            self._patient_until = self._wait_for_better(queue.entries[0], now)
            if self._patient_until is not None:
                return None
        self._count_request(host, heappop(self._best_heap))
        entry = heappop(queue.entries)
        self._occupy(host, queue, now)
        return entry

    def occupy(self, host: Host, now: float) -> None:
        """Makes a host busy until `release`, for a request that is not from these queues."""
        self._end_rests(now)
        self._occupy(host, self._queues.get(host) or self._add_queue(host), now)

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        """Makes a host busy until `release`, for a redirect request; if it is not free, returns when to retry.

        Callers that must wait get successive times, so that they do not all retry at once.
        """
        self._end_rests(now)
        queue = self._queues.get(host) or self._add_queue(host)
        if not queue.busy and not queue.is_suspended and not queue.not_before and self._full_limit(host, queue) is None:
            self._retry_at.pop(host, None)
            self._occupy(host, queue, now)
            return None
        if not queue.busy:
            self._list(host, queue)
        spacing = max(self._delay, _MIN_RETRY_SPACING)
        retry_at = max(queue.not_before, now + spacing, self._retry_at.get(host, 0.0) + spacing)
        if len(self._retry_at) >= _MAX_RETRY_HOSTS:
            self._retry_at.clear()
        self._retry_at[host] = min(retry_at, max(queue.not_before, now + _MAX_RETRY_WAIT))
        return self._retry_at[host]

    def claim_address(self, host: Host, address: str) -> bool:
        """Records the address of a host before connecting to it; False if that address, or its network, has no free
        slot."""
        if self._per_address is None:
            return True
        address = machine_at(address)
        queue = self._queues.get(host)
        if self._address_of.pop(host, None) != address and queue is not None:
            self._leave_limits(queue)
            queue.limits = ()
        self._address_of[host] = address
        if len(self._address_of) > _MAX_ADDRESSES:
            del self._address_of[next(iter(self._address_of))]
        if queue is None:
            return True
        if not queue.limits:
            self._join_limits(host, queue)
        if not queue.busy:
            return True
        missing = [limit for limit in queue.limits if limit not in queue.occupied_limits]
        if any(limit.is_full for limit in missing):
            return False
        for limit in missing:
            limit.in_use += 1
        queue.occupied_limits = (*queue.occupied_limits, *missing)
        return True

    def observe(self, host: Host, seconds: float) -> None:
        """Records how long a host took to answer, or has been taking; a slow request no longer counts as in flight."""
        if self._slow_limit is None:
            return
        self._pace.observe(host, seconds)
        queue = self._queues.get(host)
        if (
            queue is not None
            and queue.busy
            and self._slow_limit not in queue.occupied_limits
            and self._pace.is_known_slow(host)
        ):
            self._slow_limit.in_use += 1
            queue.occupied_limits = (*queue.occupied_limits, self._slow_limit)

    @property
    def slow_in_flight(self) -> int:
        """The number of requests in flight to slow hosts; those beyond their slots do not count."""
        return 0 if self._slow_limit is None else min(self._slow_limit.in_use, self._slow_limit.slots)

    def _add_queue(self, host: Host) -> _HostQueue:
        queue = self._queues[host] = _HostQueue()
        if self._spilled is not None and (list_number := self._spilled.list_of[hash(host)]):
            queue.spilled_list_number = list_number
            self._spilled.wake(list_number)
        if self._per_address is not None:
            self._join_limits(host, queue)
        return queue

    def _join_limits(self, host: Host, queue: _HostQueue) -> None:
        assert self._per_address is not None
        slots_by_name = {f"site {site_of(host)}": self._per_address}
        if address := self._address_of.get(host):
            slots_by_name[f"address {address}"] = self._per_address
            if (network := network_of(address)) != address:
                slots_by_name[f"network {network}"] = self._per_address * _NETWORK_SHARE
        for name, slots in slots_by_name.items():
            limit = self._limits.get(name)
            if limit is None:
                limit = self._limits[name] = SharedLimit(name, slots)
            limit.host_count += 1
            queue.limits = (*queue.limits, limit)

    def _leave_limits(self, queue: _HostQueue) -> None:
        for limit in queue.limits:
            limit.host_count -= 1
            self._drop_unused(limit)

    def _drop_unused(self, limit: SharedLimit) -> None:
        if not limit.host_count and not limit.in_use:
            self._limits.pop(limit.name, None)

    def _remove_queue(self, host: Host, queue: _HostQueue) -> None:
        del self._queues[host]
        self._leave_limits(queue)

    def _full_limit(self, host: Host, queue: _HostQueue) -> SharedLimit | None:
        """The full limit that an idle host must wait for, if any."""
        for limit in queue.limits:
            if limit.is_full:
                return limit
        slow = self._slow_limit
        return slow if slow is not None and slow.is_full and self._pace.is_expected_slow(host) else None

    def _free_slot(self, limit: SharedLimit) -> None:
        """Frees a slot of a limit, lists a host that is parked for it, and forgets a limit that no host has now."""
        limit.in_use -= 1
        self._unpark(limit)
        self._drop_unused(limit)

    def _unpark(self, limit: SharedLimit) -> None:
        """Lists the best hosts parked for a limit, as many as it has free slots."""
        free_slots = limit.slots - limit.in_use
        while limit.parked and free_slots > 0:
            rank, order, host = limit.parked[0]
            queue = self._queues.get(host)
            is_parked = queue is not None and queue.is_parked
            best = self._best(queue) if is_parked and queue is not None else None
            if best is not None and (best.rank, best.order) != (rank, order):
                heapreplace(limit.parked, (best.rank, best.order, host))  # it has lost the entry by which it was listed
                continue
            heappop(limit.parked)
            self._parked_count -= 1
            if queue is None or not is_parked:  # the listing is outdated
                continue
            queue.is_parked = False
            if queue.busy or queue.is_suspended or queue.not_before:
                continue
            if best is None:
                self._remove_queue(host, queue)
            else:
                heappush(self._idle, (best.rank, best.order, host))
                free_slots -= 1

    def _offer_unused_slots(self, queue: _HostQueue) -> None:
        """Lists hosts that are parked for the limits of this host, which was listed for a slot and will not use it."""
        for limit in queue.limits:
            if limit.parked:
                self._unpark(limit)
        if self._slow_limit is not None and self._slow_limit.parked:
            self._unpark(self._slow_limit)

    def _occupy(self, host: Host, queue: _HostQueue, now: float) -> None:
        queue.busy, queue.requested_at, queue.is_parked = True, now, False
        self._busy.add(host)
        if queue.limits or self._slow_limit is not None:
            queue.occupied_limits = queue.limits
            if self._slow_limit is not None and self._pace.is_expected_slow(host):
                queue.occupied_limits = (*queue.occupied_limits, self._slow_limit)
            for limit in queue.occupied_limits:
                limit.in_use += 1
        self._list_unavailable(host, queue)

    def release(self, host: Host, now: float) -> None:
        """Ends the request of a host, which then rests for its delay."""
        queue = self._queues[host]
        queue.busy = False
        self._busy.discard(host)
        if queue.occupied_limits:
            self._let_slots_rest(queue, now + self._delay if self._delay else 0.0)
        if self._delay:
            queue.not_before = max(queue.not_before, now + self._delay)
        self._list(host, queue)

    def _let_slots_rest(self, queue: _HostQueue, until: float) -> None:
        occupied_limits, queue.occupied_limits = queue.occupied_limits, ()
        for limit in occupied_limits:
            if until and limit is not self._slow_limit:
                self._resting_slot_number += 1
                heappush(self._resting_slots, (until, self._resting_slot_number, limit))
            else:
                self._free_slot(limit)

    def suspend(self, host: Host, popped: QueueEntry) -> None:
        """Puts back the entry popped last, which was not requested, and excludes its host until `resume`."""
        queue = self._queues[host]
        queue.busy, queue.is_suspended = False, True
        self._busy.discard(host)
        heappush(queue.entries, popped)
        self._let_slots_rest(queue, 0.0)

    def resume(self, host: Host) -> None:
        """Includes a suspended host again."""
        queue = self._queues[host]
        queue.is_suspended = False
        if not queue.busy:
            self._list(host, queue)

    def remove_all(self, host: Host) -> list[QueueEntry]:
        """Empties the queue of a host; returns its current entries, best first."""
        queue = self._queues.get(host)
        if queue is None:
            if self._spilled is None or not self._spilled.list_of[hash(host)]:
                return []
            queue = self._add_queue(host)  # empty, and so removed on the next look-up
            heappush(self._idle, (-inf, 0, host))  # before all others, so that the next look-up comes across it
        current = sorted(filter(self._is_current, queue.entries))
        current += self._all_spilled(queue)
        queue.entries = []  # its listings are outdated now, and dropped when popped
        return current

    def _all_spilled(self, queue: _HostQueue) -> list[QueueEntry]:
        """Reads all spilled entries of a host, best first."""
        if self._spilled is None or not queue.spilled_list_number:
            return []
        list_number, queue.spilled_list_number = queue.spilled_list_number, 0
        return self._read_back(self._spilled.take(list_number, len(self._spilled)))

    def hosts(self) -> Iterable[Host]:
        """The hosts that have a queue; dormant ones have none."""
        return self._queues

    def hold(self, host: Host, until: float) -> None:
        """Blocks requests to the host until the given time."""
        queue = self._queues.get(host) or self._add_queue(host)
        queue.not_before = max(queue.not_before, until)
        if not queue.busy:
            self._list(host, queue)
            self._offer_unused_slots(queue)

    def resting_beyond(self, after: float) -> dict[Host, float]:
        """The hosts that rest, for their delay or a hold, beyond a given time, each with the end of its rest."""
        return {host: queue.not_before for host, queue in self._queues.items() if queue.not_before > after}

    def next_ready_at(self) -> float | None:
        """The earliest time at which `pop` may succeed; 0 for now, None while all hosts are busy or empty."""
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

    def best_idle_priority(self) -> float | None:
        """The priority by which the best idle host is listed, without a boost; None if none is."""
        ranks = [self._idle[0][0]] if self._idle else []
        if self._spilled is not None and (dormant := self._spilled.best_dormant_of(None)) is not None:
            ranks.append(dormant[0])
        if not ranks:
            return None
        rank = min(ranks)
        return -rank - BOOST if rank < -BOOST / 2 else -rank

    def is_ready_within(self, seconds: float, now: float) -> bool:
        """Whether something waits for a host that is busy, or free within so many seconds."""
        if self._parked_count or any(self._best(self._queues[host]) for host in self._busy):
            return True
        ready_at = self.next_ready_at()
        return ready_at is not None and ready_at - now <= seconds

    def forget_spilled(self) -> None:
        """Forgets all spilled entries, and hosts that have no others and do not rest."""
        if self._spilled is not None:
            self._spilled.clear()
            for queue in self._queues.values():
                queue.spilled_list_number = 0

    def drop_outdated(self) -> None:
        """Drops entries that are no longer current, and hosts without others."""
        for queue in self._queues.values():
            queue.entries = [entry for entry in queue.entries if self._is_current(entry)]
            heapify(queue.entries)
        self._rebuild_listings()

    def _drop_outdated_listings(self) -> None:
        """Rebuilds the listings if most are outdated."""
        listings = (
            len(self._idle)
            + sum(map(len, self._behind.values()))
            + len(self._unavailable)
            + len(self._resting)
            + len(self._leaving)
            + self._parked_count
        )
        if listings > 4 * len(self._queues) + _MAX_LISTINGS:
            self._rebuild_listings()

    def _rebuild_listings(self) -> None:
        self._clear_listings()
        for host, queue in list(self._queues.items()):
            queue.listed_entry, queue.is_parked = None, False
            if queue.busy:
                self._list_unavailable(host, queue)
            else:
                self._list(host, queue)

    def _best(self, queue: _HostQueue) -> QueueEntry | None:
        """The best current entry; drops those before it that are not, and reads spilled ones if none is in memory."""
        entries = queue.entries
        while entries and not self._is_current(entries[0]):
            heappop(entries)
        if not entries and queue.spilled_list_number:
            assert self._spilled is not None
            queue.entries = self._read_back(self._spilled.take(queue.spilled_list_number, _READ_BATCH))
            if not self._spilled.has_entries(queue.spilled_list_number):
                queue.spilled_list_number = 0
        return queue.entries[0] if queue.entries else None

    def _list(self, host: Host, queue: _HostQueue) -> None:
        """Lists a host that is not busy by its best entry or the end of its rest; forgets it if it has neither."""
        if queue.is_suspended:
            return  # until it resumes
        if queue.spilled_list_number and not queue.entries and not queue.not_before and self._spilled is not None:
            self._remove_queue(host, queue)
            self._spilled.make_dormant(queue.spilled_list_number)
            return
        best = self._best(queue)
        if queue.not_before:
            heappush(self._resting if best else self._leaving, (queue.not_before, host))
            self._list_unavailable(host, queue)
        elif best:
            heappush(self._idle, (best.rank, best.order, host))
        else:
            self._remove_queue(host, queue)
            self._offer_unused_slots(queue)

    def _list_unavailable(self, host: Host, queue: _HostQueue) -> None:
        """Lists an unavailable host by its best entry, unless it is listed by a better one."""
        if self.wait_cost == inf:
            return
        if queue.spilled_list_number and not queue.entries and self._spilled is not None:
            best: QueueEntry | None = self._spilled.best(queue.spilled_list_number)  # read from disk only when needed
        else:
            best = self._best(queue)
        if best is not None and (queue.listed_entry is None or best < queue.listed_entry):
            queue.listed_entry = best
            heappush(self._unavailable, (best.rank, best.order, host))

    def _end_rests(self, now: float) -> None:
        """Makes hosts idle, and slots free, whose rest is over."""
        while self._resting_slots and self._resting_slots[0][0] <= now:
            self._free_slot(heappop(self._resting_slots)[2])
        for resting in (self._resting, self._leaving):
            while resting and resting[0][0] <= now:
                moment, host = heappop(resting)
                queue = self._queues.get(host)
                if queue is not None and not queue.busy and queue.not_before == moment:
                    queue.not_before = 0.0
                    self._list(host, queue)
        self._drop_outdated_listings()

    def _best_idle(self) -> Host | None:
        """The idle host with the best entry, which is then at the top of its heap; parks hosts whose limit is full."""
        host = self._best_idle_with_queue()
        while self._spilled is not None and (dormant := self._best_dormant(self._spilled)) is not None:
            place, list_number = dormant
            if host is not None and self._place_of(self._best_heap[0]) < place:
                break
            self._wake_dormant(list_number)
            host = self._best_idle_with_queue()
        return host

    def _best_dormant(self, spilled: SpilledEntries) -> tuple[tuple[float, float, int], int] | None:
        """The first place among dormant hosts, and the list of its host."""
        if spilled.is_unused:
            return None
        over = frozenset(map(hash, () if self._shares is None else self._shares.over))
        spilled.list_apart(over)
        return min(
            (
                (self._place(rank, order, is_behind=site_key in over), list_number)
                for site_key, (rank, order, list_number) in spilled.best_dormant()
            ),
            default=None,
        )

    def _wake_dormant(self, list_number: int) -> None:
        """Recreates the queue of a dormant host with its best entry; forgets the host if no entry is current.

        list_number: of its list of spilled entries.
        """
        assert self._spilled is not None
        self._spilled.wake(list_number)
        entries = self._read_back(self._spilled.take(list_number, 1))
        if entries:
            host = host_of(entries[0].url)
            queue = self._add_queue(host)
            queue.entries = entries
            self._list(host, queue)

    def _best_idle_with_queue(self) -> Host | None:
        """The idle host with the best entry among those that are not dormant, and not behind others."""
        self._best_heap = self._idle
        if self._shares is None:
            return self._best_of(self._idle)
        # First those behind, because hosts that they leave slots to are listed among the others.
        self._behind = {site: heap for site, heap in self._behind.items() if self._best_of(heap) is not None}
        host = self._best_of(self._idle)
        while host is not None and (site := site_of(host)) in self._shares.over:
            heappush(self._behind.setdefault(site, []), heappop(self._idle))
            self._offer_unused_slots(self._queues[host])
            host = self._best_of(self._idle)
        for heap in self._behind.values():
            if host is None or self._place_of(heap[0]) < self._place_of(self._best_heap[0]):
                host, self._best_heap = heap[0][2], heap
        return host

    def _place_of(self, listing: _Listing) -> tuple[float, float, int]:
        """The sort key of an idle host, best first: its rank, or behind others if its domain is over its share."""
        rank, order, host = listing
        return self._place(rank, order, is_behind=self._shares is not None and site_of(host) in self._shares.over)

    def _place(self, rank: float, order: int, *, is_behind: bool) -> tuple[float, float, int]:
        if not is_behind:
            return rank, rank, order
        return inf if self.wait_cost == inf else _BEHIND_FACTOR * rank, rank, order

    def _count_request(self, host: Host, listing: _Listing) -> None:
        """Counts a request to an idle host, and which registered domains with better URLs are passed over for it."""
        if self._shares is None:
            return
        passed_over = {site for site, heap in self._behind.items() if heap and heap[0] < listing}
        if self._spilled is not None:
            for site in self._shares.over:
                dormant, limit = self._spilled.best_dormant_of(hash(site)), self._limits.get(f"site {site}")
                if dormant is not None and dormant[:2] < listing[:2] and not (limit is not None and limit.is_full):
                    passed_over.add(site)
        for site in sorted(passed_over):
            self._shares.pass_over(site)
        self._shares.add(host)

    def _best_of(self, listings: list[_Listing]) -> Host | None:
        """The host with the best entry of a heap of idle hosts, at its top then; parks hosts whose limit is full."""
        slot_offers = 0
        while listings:
            rank, order, host = listings[0]
            queue = self._queues.get(host)
            if queue is None or queue.busy or queue.is_suspended or queue.not_before:
                heappop(listings)
            elif (best := self._best(queue)) is None:
                heappop(listings)
                self._remove_queue(host, queue)
                self._offer_unused_slots(queue)
            elif (best.rank, best.order) != (rank, order):
                heapreplace(listings, (best.rank, best.order, host))
            elif (limit := self._full_limit(host, queue)) is not None:
                heappush(limit.parked, heappop(listings))
                queue.is_parked = True
                self._parked_count += 1
                slot_offers += 1
                if slot_offers <= _MAX_SLOT_OFFERS:  # others follow when a slot of that limit is free
                    self._offer_unused_slots(queue)
            else:
                return host
        return None

    def _wait_for_better(self, best_idle: QueueEntry, now: float) -> float | None:
        """The time until which to wait for a better entry of an unavailable host; None if none is worth it.

        best_idle: the best entry of the idle hosts.
        """
        tried: list[_Listing] = []
        wait_until = None
        while self._unavailable and wait_until is None and len(tried) < _MAX_UNAVAILABLE_CONSIDERED:
            if self._unavailable[0][:2] >= (best_idle.rank, best_idle.order):
                break
            listing = heappop(self._unavailable)
            if tried and listing == tried[-1]:  # listed twice, as it was dormant in between
                continue
            queue = self._queues.get(listing[2])
            listed = None if queue is None else queue.listed_entry
            if queue is None or listed is None or (listed.rank, listed.order) != listing[:2]:
                continue
            best = self._best(queue)
            expected = self._expected_wait(listing[2], queue, now)
            if best is None or expected is None:
                queue.listed_entry = None
            elif best is not listed:
                queue.listed_entry = None
                self._list_unavailable(listing[2], queue)
            else:
                tried.append(listing)
                cost = self.wait_cost * max(0.0, expected - _FREE_WAIT)
                is_better = (best.rank_without_boost + cost, best.order) < (
                    best_idle.rank_without_boost,
                    best_idle.order,
                )
                if is_better and self._place_of(listing) < self._place_of(self._best_heap[0]):
                    wait_until = now + expected
        for listing in tried:
            heappush(self._unavailable, listing)
        return wait_until

    def _expected_wait(self, host: Host, queue: _HostQueue, now: float) -> float | None:
        """Seconds until an unavailable host is expected to be idle; None if that is too long, or if it is idle."""
        if self._pace.is_known_slow(host):
            return None
        if queue.busy:
            elapsed = now - queue.requested_at  # expected to take as long again as it has so far
            return max(elapsed, _MIN_EXPECTED_WAIT) if elapsed < self._patience else None
        rest = queue.not_before - now
        return rest if 0.0 < rest <= self._patience else None
