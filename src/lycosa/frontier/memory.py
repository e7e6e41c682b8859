"""A frontier in memory; `durable` keeps its candidates in SQLite."""

from collections.abc import Callable, Iterable
from heapq import nlargest
from math import inf

from msgspec.structs import replace

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Host, Skip, SkipReason, Url
from lycosa.vocabulary.urls import host_of, key_of

from .admission import Admission
from .host_queues import HostQueues, QueueEntry

SLACK = 0.5  # by which a priority from 0 to 1 must be higher to be worth a second of waiting
REFUSED_KNOWN = 100_000  # of the latest refused URLs that are remembered at least; others are refused once more


class MemoryFrontier:
    """A frontier with its candidates in memory; `DurableFrontier` has them on disk.

    delay: seconds between two requests to one host.
    patience: most seconds to wait for a busy or resting host that has something better; 0 never waits.
    limit: most URLs that wait; past it, the tenth of lowest priority is evicted (one by one below 10 000).
    """

    def __init__(
        self,
        *,
        clock: Clock,
        admission: Admission | None = None,
        delay: float = 1.0,
        patience: float = 2.0,
        limit: int = 1_000_000,
    ):
        self._clock = clock
        self._admission = admission or Admission()
        self._merge: Callable[[Url, float, float], float] = the_higher
        self._limit = limit
        self._waiting: dict[Url, QueueEntry] = {}
        self._in_flight: dict[Url, QueueEntry] = {}
        self._settled: set[int] = set()  # keys, not URLs: a quarter of the memory
        self._refused = LatestKeys(at_least=REFUSED_KNOWN)
        self._hosts = HostQueues(delay=delay, patience=patience, is_current=self._is_current)
        self._last_order = 0
        self._stale = 0  # entries in the queues that were re-ranked, settled or given back since
        self._candidates: dict[int, Candidate] = {}

    def rank_by(self, strategy: Strategy) -> None:
        """Merges priorities as a strategy does; waits for better ones where its priorities are on a scale."""
        self._merge = strategy.merge
        self._hosts.slack = SLACK if strategy.scale == "unit" else inf

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        skips: list[Skip] = []
        for candidate in candidates:
            entry = self._waiting.get(candidate.url)
            if entry is not None:
                self._offer_again(entry, candidate)
            elif not self.is_known(candidate.url):
                if refused := self._admission.refusal(candidate):
                    self._refused.add(key_of(candidate.url))
                    skips.append(refused)
                else:
                    self._enqueue(candidate)
        if len(self._waiting) > self._limit:
            skips += self._evict()
        return skips

    def is_known(self, url: Url) -> bool:
        """Whether a URL waits, is in flight, or is settled."""
        return url in self._waiting or url in self._in_flight or self.is_settled(url)

    def is_settled(self, url: Url) -> bool:
        key = key_of(url)
        return key in self._settled or key in self._refused

    def _offer_again(self, entry: QueueEntry, offered: Candidate) -> None:
        """Re-ranks a waiting URL; the offered candidate replaces it, but for its failed attempts and redirects."""
        waiting = -entry.rank
        merged = self._merge(offered.url, waiting, offered.priority)
        if merged != waiting:
            self._forget(entry)
            if entry.retries_and_hops:
                attempts, hops = entry.retries_and_hops
                offered = replace(offered, priority=merged, attempts=attempts, hops=hops)
            self._enqueue(offered if merged == offered.priority else replace(offered, priority=merged))
            self._count_stale()

    def _enqueue(self, candidate: Candidate) -> None:
        self._last_order += 1
        retries_and_hops = (candidate.attempts, candidate.hops) if candidate.attempts or candidate.hops else None
        entry = QueueEntry(-candidate.priority, self._last_order, candidate.url, retries_and_hops)
        self._waiting[candidate.url] = entry
        self._hosts.push(host_of(candidate.url), entry)
        self._remember(entry, candidate)

    def take(self, now: float) -> Candidate | None:
        entry = self._hosts.pop(now)
        if entry is None:
            return None
        self._in_flight[entry.url] = self._waiting.pop(entry.url)
        return self._recall(entry)

    def settle(self, url: Url) -> None:
        self._remove(url)
        self._settled.add(key_of(url))

    def give_back(self, candidate: Candidate) -> None:
        self._remove(candidate.url)
        self._enqueue(candidate)

    def _remove(self, url: Url) -> None:
        """Removes a URL that is in flight or waits."""
        entry = self._land(url)
        if entry is None and (entry := self._waiting.pop(url, None)):
            self._count_stale()
        if entry is not None:
            self._forget(entry)

    def _land(self, url: Url) -> QueueEntry | None:
        entry = self._in_flight.pop(url, None)
        if entry is not None:
            self._hosts.release(host_of(url), self._clock.now())
        return entry

    def occupy(self, host: Host, now: float) -> None:
        """Makes a host busy for a request of another lane, until `release`."""
        self._hosts.occupy(host, now)

    def release(self, host: Host, now: float) -> None:
        """The request of another lane has ended."""
        self._hosts.release(host, now)

    def hold(self, host: Host, until: float) -> None:
        self._hosts.hold(host, until)

    def next_ready_at(self) -> float | None:
        return self._hosts.next_ready_at()

    def is_ready_within(self, seconds: float, now: float) -> bool:
        """Whether something that waits may be taken within so many seconds."""
        return self._hosts.is_ready_within(seconds, now)

    def forget_waiting(self) -> None:
        """Empties the queue; what is settled or in flight stays so. What was refused is unknown again, as the scope may
        have changed."""
        for entry in self._waiting.values():
            self._forget(entry)
            self._admission.discount(entry.url)
        self._waiting.clear()
        self._refused = LatestKeys(at_least=REFUSED_KNOWN)
        self._drop_stale()

    def holds(self, after: float) -> dict[Host, float]:
        """The hosts that must not be asked before a moment later than `after`, each with that moment."""
        return self._hosts.holds(after)

    def _evicted(self, entry: QueueEntry) -> Skip:
        skip = Skip(self._recall(entry), SkipReason.EVICTED)
        del self._waiting[entry.url]
        self._forget(entry)
        self._admission.discount(entry.url)
        return skip

    def restore_settled(self, urls: Iterable[Url]) -> None:
        """Settles the URLs that an earlier run visited."""
        for url in urls:
            self._settled.add(key_of(url))
            self._admission.count(url)

    def _evict(self) -> list[Skip]:
        excess = len(self._waiting) - self._limit
        if self._limit >= 10_000:
            excess += self._limit // 10  # a tenth at once, as finding the worst looks at all
        skips = [self._evicted(entry) for entry in nlargest(excess, self._waiting.values())]
        self._drop_stale()
        return skips

    def _count_stale(self) -> None:
        self._stale += 1
        if self._stale > len(self._waiting) + 1_000:
            self._drop_stale()

    def _drop_stale(self) -> None:
        self._hosts.drop_stale()
        self._stale = 0

    def _is_current(self, entry: QueueEntry) -> bool:
        return self._waiting.get(entry.url) is entry

    # Where the candidates of entries are stored; `DurableFrontier` overrides these.

    def _remember(self, entry: QueueEntry, candidate: Candidate) -> None:
        self._candidates[entry.order] = candidate

    def _recall(self, entry: QueueEntry) -> Candidate:
        return self._candidates[entry.order]

    def _forget(self, entry: QueueEntry) -> None:
        del self._candidates[entry.order]


def the_higher(url: Url, waiting: float, offered: float) -> float:
    """Merges priorities before any strategy ranks: their maximum."""
    return max(waiting, offered)


class LatestKeys:
    """A set of integers that remembers the latest: at least `at_least` of them, fewer than twice as many."""

    def __init__(self, *, at_least: int):
        self._at_least = at_least
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, key: int) -> None:
        self._new.add(key)
        if len(self._new) >= self._at_least:
            self._new, self._old = set(), self._new

    def __contains__(self, key: int) -> bool:
        return key in self._new or key in self._old

    def __len__(self) -> int:
        return len(self._new) + len(self._old)
