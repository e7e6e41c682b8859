from collections.abc import Callable, Iterable

from msgspec.structs import replace

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, Host, Skip, SkipReason, Url

from .ladder import Ladder
from .memory import the_higher

_MANY = 10_000  # URLs; a frontier of so many evicts a tenth at once, since finding the worst looks at all
_MOST_STALE = 1_000  # entries, and as many more as there are that count
_UNKNOWN = Candidate(Url(""), 0.0)


class SequentialFrontier:
    """A quick frontier for one fetch at a time in a web that needs no manners: a world in memory, a graph.

    It knows no hosts, so nothing rests, is held or is waited for, `take` cares for no time and holds are ignored; it
    admits everything. URLs may be anything that can be a key; graphs use integers.

    limit: waiting URLs; past it, those of the lowest priority are evicted, of equals the newest (from 10 000 on, a
    tenth at once).
    """

    def __init__(self, *, limit: int = 1_000_000):
        self._limit = limit
        self._merge: Callable[[Url, float, float], float] = the_higher
        self._queue = Ladder()  # with stale candidates, which are dropped when popped
        # Every URL with the candidate that waits for it, or none where it is in flight or settled: one table, since in
        # a large graph each look into another one is a look into far memory.
        self._known: dict[Url, Candidate | None] = {}
        self._waiting = 0

    def rank_by(self, strategy: Strategy) -> None:
        """Merges priorities as a strategy does."""
        self._merge = strategy.merge

    def __len__(self) -> int:
        return self._waiting

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        known = self._known
        offered: list[Candidate] = []
        for candidate in candidates:
            url = candidate.url
            waiting = known.get(url, _UNKNOWN)
            if waiting is None:
                continue
            if waiting is _UNKNOWN:
                self._waiting += 1
            else:
                priority = self._merge(url, waiting.priority, candidate.priority)
                if priority == waiting.priority:
                    continue
                candidate = _offered_again(waiting, candidate, priority)
            known[url] = candidate
            offered.append(candidate)
        self._queue.push(offered)
        if self._waiting > self._limit:
            return self._evict()
        if len(self._queue) > 2 * self._waiting + _MOST_STALE:
            self._queue = Ladder(self._in_force())
        return []

    def _in_force(self) -> list[Candidate]:
        known = self._known
        return [candidate for candidate in self._queue if known.get(candidate.url) is candidate]

    def _evict(self) -> list[Skip]:
        excess = self._waiting - self._limit
        if self._limit >= _MANY:
            excess += self._limit // 10
        by_rank = sorted(self._in_force(), key=lambda candidate: -candidate.priority)
        self._queue, evicted = Ladder(by_rank[:-excess]), by_rank[: -excess - 1 : -1]
        for candidate in evicted:
            del self._known[candidate.url]
        self._waiting -= excess
        return [Skip(candidate, SkipReason.EVICTED) for candidate in evicted]

    def take(self, now: float = 0.0) -> Candidate | None:
        known, pop = self._known, self._queue.pop
        while (candidate := pop()) is not None:
            if known.get(candidate.url) is candidate:
                known[candidate.url] = None
                self._waiting -= 1
                return candidate
        return None

    def settle(self, url: Url) -> None:
        if self._known.get(url) is not None:
            self._waiting -= 1
        self._known[url] = None

    def give_back(self, candidate: Candidate) -> None:
        if self._known.get(candidate.url) is None:
            self._waiting += 1
        self._known[candidate.url] = candidate
        self._queue.push([candidate])

    def forget_waiting(self) -> None:
        self._known = dict.fromkeys(url for url, waiting in self._known.items() if waiting is None)
        self._waiting = 0
        self._queue = Ladder()

    def is_known(self, url: Url) -> bool:
        return url in self._known

    def hold(self, host: Host, until: float) -> None:
        """Does nothing: there are no hosts."""

    def next_ready_at(self) -> float | None:
        return 0.0 if self._waiting else None


def _offered_again(waiting: Candidate, offered: Candidate, priority: float) -> Candidate:
    """The offer that replaces a waiting one, which has not lost its failures and redirects by it."""
    if waiting.attempts or waiting.hops:
        return replace(offered, priority=priority, attempts=waiting.attempts, hops=waiting.hops)
    return offered if offered.priority == priority else replace(offered, priority=priority)
