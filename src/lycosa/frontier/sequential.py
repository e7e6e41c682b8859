from collections.abc import Callable, Iterable
from heapq import nlargest

from msgspec.structs import replace

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Host, Skip, Url

from .ladder import Entry, Ladder
from .memory import EVICTED

_MANY = 10_000  # URLs; a frontier of so many evicts a tenth at once, since finding the worst looks at all
_MOST_STALE = 1_000  # entries, and as many more as there are that count


class SequentialFrontier:
    """A quick frontier for one fetch at a time in a web that needs no manners: a world in memory, a graph.

    It knows no hosts, so nothing rests, is held or is waited for, `take` cares for no time and holds are ignored; it
    admits everything. URLs may be anything that can be a key; graphs use integers.

    limit: waiting URLs; past it, those of the lowest priority are evicted, of equals the newest (from 10 000 on, a
    tenth at once).
    """

    def __init__(self, *, limit: int = 1_000_000):
        self._limit = limit
        self._merge: Callable[[float, float], float] = max
        self._queue = Ladder()  # by minus the priority; with stale entries, which are dropped when popped
        self._waiting: dict[Url, Entry] = {}
        self._taken: set[Url] = set()  # in flight or settled
        self._last_order = 0

    def rank_by(self, strategy: Strategy) -> None:
        """Merges priorities as a strategy does."""
        self._merge = strategy.merge

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        taken, waiting, order = self._taken, self._waiting, self._last_order
        entries: list[Entry] = []
        for candidate in candidates:
            url = candidate.url
            if url in taken:
                continue
            known = waiting.get(url)
            if known is not None:
                priority = self._merge(-known[0], candidate.priority)
                if priority == -known[0]:
                    continue
                candidate = _offered_again(known[2], candidate, priority)
            order += 1
            entry = (-candidate.priority, order, candidate)
            waiting[url] = entry
            entries.append(entry)
        self._last_order = order
        self._queue.push(entries)
        if len(waiting) > self._limit:
            return self._evict()
        if len(self._queue) > 2 * len(waiting) + _MOST_STALE:
            self._drop_stale()
        return []

    def _evict(self) -> list[Skip]:
        excess = len(self._waiting) - self._limit
        if self._limit >= _MANY:
            excess += self._limit // 10
        evicted = nlargest(excess, self._waiting.values())
        for _, _, candidate in evicted:
            del self._waiting[candidate.url]
        self._drop_stale()
        return [Skip(candidate, EVICTED) for _, _, candidate in evicted]

    def _drop_stale(self) -> None:
        self._queue = Ladder(self._waiting.values())

    def take(self, now: float = 0.0) -> Candidate | None:
        waiting, pop = self._waiting, self._queue.pop
        while (entry := pop()) is not None:
            candidate = entry[2]
            if waiting.get(candidate.url) is entry:
                del waiting[candidate.url]
                self._taken.add(candidate.url)
                return candidate
        return None

    def settle(self, url: Url) -> None:
        self._taken.add(url)
        self._waiting.pop(url, None)

    def give_back(self, candidate: Candidate) -> None:
        self._taken.discard(candidate.url)
        self._last_order += 1
        entry = (-candidate.priority, self._last_order, candidate)
        self._waiting[candidate.url] = entry
        self._queue.push([entry])

    def forget_waiting(self) -> None:
        self._waiting.clear()
        self._queue = Ladder()

    def is_known(self, url: Url) -> bool:
        return url in self._taken or url in self._waiting

    def hold(self, host: Host, until: float) -> None:
        """Does nothing: there are no hosts."""

    def next_ready_at(self) -> float | None:
        return 0.0 if self._waiting else None


def _offered_again(waiting: Candidate, offered: Candidate, priority: float) -> Candidate:
    """The offer that replaces a waiting one, which has not lost its failures and redirects by it."""
    if waiting.attempts or waiting.hops:
        return replace(offered, priority=priority, attempts=waiting.attempts, hops=waiting.hops)
    return offered if offered.priority == priority else replace(offered, priority=priority)
