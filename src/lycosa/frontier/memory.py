"""A frontier in memory; `durable` keeps its candidates in SQLite."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from heapq import nlargest
from math import inf

from msgspec.structs import replace

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.key_table import KeySet
from lycosa.vocabulary.records import Candidate, Host, Skip, SkipReason, Url
from lycosa.vocabulary.urls import host_of, site_of

from .admission import Admission, NamedUrls
from .host_queues import HostQueues
from .quotas import Quotas
from .shared_limits import SITE_SHARE, LatestKeys, SiteShares
from .spilled import BOOST, QueueEntry, SpilledEntries

WAIT_COST = 0.5  # difference in priority (0 to 1) that is worth one second of waiting
MIN_REFUSED_KNOWN = 100_000  # latest refused URLs that are remembered; others may be refused again


class MemoryFrontier:
    """A frontier with its candidates in memory; `DurableFrontier` has them on disk. `contracts.Frontier` says what the
    methods without a docstring do.

    A boosted URL is one that the user put first, by itself, its host or a pattern. Entries are spilled if they are not
    in memory, and outdated in the queue of their host if their URL was re-ranked, settled or requeued since.

    delay: seconds between two requests to one host.
    patience: largest number of seconds to wait for a busy or resting host with a better URL; 0 never waits.
    per_address: limit of concurrent requests to hosts of one address, or of one registered domain, including the delay
        after each; None for no limit.
    site_share: share of the latest requests that a registered domain of several hosts may have while other hosts are
        free; 1 for no limit, and without `per_address` there is none either.
    named_sites: returns the registered domains that the user has named, to which that does not apply.
    slow_slots: limit of concurrent requests to slow hosts; None for no limit.
    limit: of waiting URLs; beyond it, the lowest tenth is evicted (one by one below 10 000).
    boosted: hosts, URLs and patterns that are boosted from the start; see `boost`.
    spilled: the entries that are not in memory; None if all are.
    in_memory: approximate number of entries to keep in memory.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        admission: Admission | None = None,
        delay: float = 1.0,
        patience: float = 2.0,
        per_address: int | None = None,
        site_share: float = SITE_SHARE,
        named_sites: Callable[[], Set[str]] = frozenset,
        slow_slots: int | None = None,
        limit: int = 1_000_000,
        boosted: Iterable[str] = (),
        spilled: SpilledEntries | None = None,
        in_memory: int = 0,
    ):
        self._clock = clock
        self._admission = admission or Admission()
        # The priority of a URL that waits and is proposed again, from both its priorities; of the strategy.
        self._merge: Callable[[Url, float, float], float] = higher_priority
        self._limit = limit
        self._waiting: dict[Url, QueueEntry] = {}  # those in memory
        self._spilled = spilled
        self._max_in_memory = in_memory
        self._in_flight: dict[Url, QueueEntry] = {}
        self._settled = KeySet()  # hashes of the URLs
        self._refused = LatestKeys(at_least=MIN_REFUSED_KNOWN)
        # By registered domain, the requests that others got because its share of the requests was used up.
        self.passed_over: Counter[str] = Counter()
        shares = None
        if per_address is not None and site_share < 1.0:
            shares = SiteShares(max_share=site_share, named=named_sites, passed_over=self.passed_over)
        self._host_queues = HostQueues(
            delay=delay,
            patience=patience,
            is_current=self._is_current,
            per_address=per_address,
            shares=shares,
            slow_slots=slow_slots,
            spilled=spilled,
            read_back=self._read_back,
        )
        self.has_delay = delay > 0.0
        self._last_order = 0
        self._outdated_count = 0  # outdated entries in the queues
        self._candidates: dict[int, Candidate] = {}
        self._sites = _SiteHosts()  # filled if sites have a quota
        self._boosted = NamedUrls(boosted)

    def named(self, name: str) -> list[Url]:
        """The waiting URLs that a host with its subdomains, a URL or a pattern names."""
        urls = NamedUrls((name,))
        return [entry.url for entry in self._entries() if entry.url in urls]

    def block(self, names: tuple[str, ...], dropped: frozenset[int] = frozenset()) -> list[Skip]:
        """Blocks these hosts with their subdomains, these URLs, and those that match these patterns, and no others;
        returns what waited there, and what is in flight, which is not tried again.

        dropped: keys (`secure_key_of`) of further URLs that may not wait.
        """
        self._admission.block(NamedUrls(names), dropped)
        blocked_by = self._admission.blocked_by
        entries = self._entries() if names or dropped else ()
        found = [(entry, blocked) for entry in entries if (blocked := blocked_by(entry.url))]
        skips = []
        for entry, blocked in found:
            skips.append(self._drop(entry, *blocked))
            self._refused.add(hash(entry.url))
        if skips:
            self._drop_outdated()
        in_flight = self._in_flight.values()
        return skips + [Skip(self._candidate_of(each), *why) for each in in_flight if (why := blocked_by(each.url))]

    def boost(self, names: Iterable[str]) -> None:
        """Ranks these URLs, those of these hosts and their subdomains, and those that match these patterns above all
        others; replaces earlier boosts.

        A boost changes ranks alone: a candidate is taken with the priority with which it was put, and its host is
        waited for no longer than that priority is worth.
        """
        previous, self._boosted = self._boosted, NamedUrls(names)
        if self._boosted.names == previous.names:
            return
        changed = [
            entry
            for entry in (*self._entries(), *self._in_flight.values())
            if (entry.url in previous) != (entry.url in self._boosted)
        ]
        for entry in sorted(changed, key=lambda entry: entry.order):  # equals keep their order
            self._replace_entry(entry, self._candidate_of(entry))
        self._spill()

    def _replace_entry(self, entry: QueueEntry, candidate: Candidate) -> None:
        """Ranks a URL, waiting or in flight, by its candidate."""
        if self._in_flight.get(entry.url) is entry:
            self._delete_candidate(entry)
            self._in_flight[entry.url] = self._add_entry(candidate)
            return
        if not self._discard_spilled(entry):
            self._count_outdated()
        self._delete_candidate(entry)
        self._enqueue(candidate)

    def _boost_of(self, url: Url) -> float:
        """What is added to the priority of a URL to rank it."""
        return BOOST if self._boosted and url in self._boosted else 0.0

    def _priority_of(self, entry: QueueEntry) -> float:
        """The priority of the candidate; that of a boosted URL cannot be told from its rank, which adding the boost has
        rounded."""
        return self._candidate_of(entry).priority if self._boost_of(entry.url) else -entry.rank

    def set_quotas(self, quotas: Quotas) -> None:
        """Replaces the quotas. Waiting URLs are not checked; if the quotas differ, the caller must put them again."""
        self._admission.quota_usage.quotas = quotas
        for site in list(self._sites.suspended):
            self._resume_all(site)
        self._sites = _SiteHosts()
        if quotas.per_site is not None:
            for host in self._host_queues.hosts():
                self._sites.hosts.setdefault(site_of(host), {})[host] = None
            for entry in self._spilled_entries():
                host = host_of(entry.url)
                self._sites.hosts.setdefault(site_of(host), {})[host] = None
            self._sites.in_flight.update(site_of(host_of(url)) for url in self._in_flight)

    def rank_by(self, strategy: Strategy) -> None:
        """Uses the strategy's `merge`; waits for better URLs only if its priorities are from 0 to 1."""
        self._merge = strategy.merge
        self._host_queues.wait_cost = WAIT_COST if strategy.scale == "unit" else inf

    def __len__(self) -> int:
        return len(self._waiting) + (len(self._spilled) if self._spilled is not None else 0)

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        skips: list[Skip] = []
        if self._spilled and not self._spilled.has_all_ranks:
            candidates = list(candidates)
            self._prefetch_spilled(candidates)
        may_have_spilled, has_boosts = self._may_have_spilled, bool(self._boosted)
        waiting, merge = self._waiting, self._merge
        for candidate in candidates:
            url = candidate.url
            entry = waiting.get(url)
            if entry is None and may_have_spilled:
                entry = self._find_spilled(url)
            if entry is not None:
                priority = self._priority_of(entry) if has_boosts else -entry.rank
                merged = merge(url, priority, candidate.priority)
                if merged != priority:
                    self._rerank(entry, candidate, merged)
            elif url not in self._in_flight and not self.is_settled(url):
                if refused := self._admission.refuse_or_count(candidate):
                    if refused.reason is not SkipReason.SITE:  # that one may be proposed again
                        self._refused.add(hash(url))
                    skips.append(refused)
                else:
                    self._enqueue(candidate)
        if len(self) > self._limit:
            skips += self._evict()
        self._spill()
        return skips

    def is_known(self, url: Url) -> bool:
        """Whether a URL waits, is in flight, or is settled."""
        return self.is_settled(url) or self.is_waiting(url)

    def is_waiting(self, url: Url) -> bool:
        """Whether a URL waits or is in flight; one that was settled may do so once more."""
        return url in self._waiting or url in self._in_flight or self._is_spilled(url)

    def _is_spilled(self, url: Url) -> bool:
        return self._spilled is not None and hash(url) in self._spilled.waiting

    def is_settled(self, url: Url) -> bool:
        key = hash(url)
        return self._settled[key] > 0 or key in self._refused  # the first is faster than `in`

    def _rerank(self, entry: QueueEntry, offered: Candidate, merged: float) -> None:
        """Re-ranks a waiting URL; the offered candidate replaces it, except for failed attempts and redirects."""
        if entry.retries_and_hops:
            attempts, hops = entry.retries_and_hops
            offered = replace(offered, priority=merged, attempts=attempts, hops=hops)
        self._replace_entry(entry, offered if merged == offered.priority else replace(offered, priority=merged))

    def _enqueue(self, candidate: Candidate) -> None:
        self._queue(self._add_entry(candidate))

    def _add_entry(self, candidate: Candidate) -> QueueEntry:
        """A new entry for a candidate, which is stored."""
        self._last_order += 1
        retries_and_hops = (candidate.attempts, candidate.hops) if candidate.attempts or candidate.hops else None
        rank = -(candidate.priority + self._boost_of(candidate.url))
        entry = QueueEntry(rank, self._last_order, candidate.url, retries_and_hops)
        self._store_candidate(entry, candidate)
        return entry

    def _queue(self, entry: QueueEntry) -> None:
        host = host_of(entry.url)
        if self._host_queues.spill(host, entry):
            self._waiting.pop(entry.url, None)  # in case it waited at another rank
        else:
            self._waiting[entry.url] = entry
            self._host_queues.push(host, entry)
        if self._has_site_quota:
            self._sites.hosts.setdefault(site_of(host), {})[host] = None

    @property
    def _has_site_quota(self) -> bool:
        return self._admission.quota_usage.quotas.per_site is not None

    def take(self, now: float) -> Candidate | None:
        while (entry := self._host_queues.pop(now)) is not None:
            if self._has_site_quota and not self._reserve(entry):
                continue
            self._in_flight[entry.url] = self._waiting.pop(entry.url)
            self._spill()
            return self._candidate_of(entry)
        return None

    def _reserve(self, entry: QueueEntry) -> bool:
        """Counts an entry as in flight on its site; False if the fetches in flight may already fill the quota of the
        site. Then the host is suspended until one of them completes."""
        host, sites = host_of(entry.url), self._sites
        site = site_of(host)
        if self._admission.quota_usage.is_site_full(host, in_flight=sites.in_flight[site]):
            self._host_queues.suspend(host, entry)
            sites.suspended.setdefault(site, []).append(host)
            return False
        sites.in_flight[site] += 1
        return True

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        key = hash(url)
        if is_kept and key not in self._settled:  # a replayed visit was counted before
            self._admission.quota_usage.add(host_of(url))
        self._remove(url)
        self._settled.add(key)
        return self._drop_over_quota(host_of(url)) if is_kept else []

    def _drop_over_quota(self, host: Host) -> list[Skip]:
        """Drops the waiting URLs of a host, or of all hosts of its site, if the quota is used up."""
        quota_usage = self._admission.quota_usage
        hosts = [host] if quota_usage.is_host_full(host) else []
        if quota_usage.is_site_full(host):
            hosts = list(self._sites.hosts.pop(site_of(host), ()))
            self._resume_all(site_of(host))
        skips = []
        for each in hosts:
            exceeded = quota_usage.exceeded_quota_text(each)
            for entry in self._host_queues.remove_all(each):
                skips.append(self._drop(entry, SkipReason.QUOTA, exceeded))
                self._refused.add(hash(entry.url))
        return skips

    def requeue(self, candidate: Candidate) -> None:
        self._remove(candidate.url)
        if not self._refuse_if_blocked(candidate.url):
            self._enqueue(candidate)

    def postpone(self, candidate: Candidate) -> None:
        entry = self._end_flight(candidate.url)
        if entry is None:
            return
        if self._refuse_if_blocked(entry.url):
            self._delete_candidate(entry)
        else:
            self._queue(entry)

    def _refuse_if_blocked(self, url: Url) -> bool:
        """Refuses a URL that was in flight if it was blocked meanwhile; returns whether it was."""
        if self._admission.blocked_by(url) is None:
            return False
        self._refused.add(hash(url))
        self._admission.discount(url)
        return True

    def _remove(self, url: Url) -> None:
        """Removes a URL that is in flight or waiting."""
        entry = self._end_flight(url)
        if entry is None and (entry := self._waiting.pop(url, None)):
            self._count_outdated()
        if entry is None and self._spilled is not None and (order := self._spilled.waiting[hash(url)]):
            entry = QueueEntry(0.0, order, url)
            self._spilled.discard(hash(url))
        if entry is not None:
            self._delete_candidate(entry)

    def _end_flight(self, url: Url) -> QueueEntry | None:
        entry = self._in_flight.pop(url, None)
        if entry is not None:
            host = host_of(url)
            self._host_queues.release(host, self._clock.now())
            if self._has_site_quota:
                self._release_site(site_of(host))
        return entry

    def _resume_all(self, site: str) -> None:
        for host in self._sites.suspended.pop(site, ()):
            self._host_queues.resume(host)

    def _release_site(self, site: str) -> None:
        """Resumes the suspended hosts of a site, best first, when one of its fetches completes. All are resumed,
        because any of them may have nothing left by its turn."""
        sites = self._sites
        sites.in_flight[site] -= 1
        if not sites.in_flight[site]:
            del sites.in_flight[site]
        self._resume_all(site)

    def occupy(self, host: Host, now: float) -> None:
        """Makes a host busy until `release`, for a request of another lane."""
        self._host_queues.occupy(host, now)

    def release(self, host: Host, now: float) -> None:
        """Ends the request of another lane."""
        self._host_queues.release(host, now)

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        """Makes a host busy until `release`, for a redirect request; if it is not free, returns when to retry."""
        return self._host_queues.acquire_or_retry_at(host, now)

    def claim_address(self, host: Host, address: str) -> bool:
        """Records the address of a host before connecting to it; False if that address has no free slot."""
        return self._host_queues.claim_address(host, address)

    def observe(self, host: Host, seconds: float) -> None:
        self._host_queues.observe(host, seconds)

    @property
    def slow_in_flight(self) -> int:
        return self._host_queues.slow_in_flight

    def hold(self, host: Host, until: float) -> None:
        self._host_queues.hold(host, until)

    def next_ready_at(self) -> float | None:
        return self._host_queues.next_ready_at()

    def waiting_hosts(self) -> Iterable[Host]:
        """The hosts with URLs in memory that wait, are in flight, or did so until just now."""
        return self._host_queues.hosts()

    @property
    def in_flight(self) -> int:
        """The number of URLs in flight."""
        return len(self._in_flight)

    @property
    def best_idle_priority(self) -> float | None:
        """The priority of the best URL of a host that is free, without its boost; None if there is none. An estimate:
        the URL may have been taken or ranked again."""
        return self._host_queues.best_idle_priority()

    def is_ready_within(self, seconds: float, now: float) -> bool:
        """Whether a waiting URL may be taken within so many seconds."""
        return bool(self._sites.suspended) or self._host_queues.is_ready_within(seconds, now)

    def clear_waiting(self) -> None:
        """Empties the queue; URLs settled or in flight stay so. Refused URLs are unknown again, since the scope may
        have changed."""
        for entry in self._waiting.values():
            self._delete_candidate(entry)
            self._admission.discount(entry.url)
        self._waiting.clear()
        if self._spilled:
            self._forget_spilled()
        self._sites.hosts.clear()
        self._refused = LatestKeys(at_least=MIN_REFUSED_KNOWN)
        self._drop_outdated()

    def resting_beyond(self, after: float) -> dict[Host, float]:
        """The hosts that rest, for their delay or a hold, beyond `after`, each with the end of its rest."""
        return self._host_queues.resting_beyond(after)

    def _drop(self, entry: QueueEntry, reason: SkipReason, detail: str = "") -> Skip:
        """Removes a waiting URL and returns its skip."""
        skip = Skip(self._candidate_of(entry), reason, detail)
        if self._waiting.pop(entry.url, None) is None:
            self._discard_spilled(entry)
        self._delete_candidate(entry)
        self._admission.discount(entry.url)
        return skip

    def restore_settled(self, urls: Iterable[Url]) -> None:
        """Settles the URLs that an earlier run visited."""
        for url in urls:
            self._settled.add(hash(url))
            self._admission.count(url)

    def _evict(self) -> list[Skip]:
        excess = len(self) - self._limit
        if self._limit >= 10_000:
            excess += self._limit // 10  # a tenth at once, since finding the worst scans all
        skips = [self._drop(entry, SkipReason.EVICTED) for entry in self._worst(excess)]
        self._drop_outdated()
        return skips

    def _worst(self, count: int) -> list[QueueEntry]:
        """The entries of the lowest priority; among equals, the latest."""
        return nlargest(count, self._waiting.values())

    def _count_outdated(self) -> None:
        self._outdated_count += 1
        if self._outdated_count > len(self._waiting) + 1_000:
            self._drop_outdated()

    def _drop_outdated(self) -> None:
        self._host_queues.drop_outdated()
        self._outdated_count = 0

    def _is_current(self, entry: QueueEntry) -> bool:
        return self._waiting.get(entry.url) is entry

    # Entries that are not in memory.

    @property
    def _may_have_spilled(self) -> bool:
        """Whether entries may be spilled."""
        return self._spilled is not None and not self._spilled.is_unused

    def _spill(self) -> None:
        """Spills entries if too many are in memory."""
        if self._spilled is not None and len(self._waiting) > self._max_in_memory:
            for entry in self._host_queues.spill_down_to(self._max_in_memory // 2):
                del self._waiting[entry.url]

    def _discard_spilled(self, entry: QueueEntry) -> bool:
        """Removes an entry that may be spilled; returns whether it was."""
        if self._spilled is None or self._spilled.is_unused or self._spilled.waiting[hash(entry.url)] != entry.order:
            return False
        self._spilled.discard(hash(entry.url))
        return True

    def _entries(self) -> Iterator[QueueEntry]:
        """All waiting entries."""
        yield from self._waiting.values()
        yield from self._spilled_entries()

    # `DurableFrontier` overrides these; without a table of candidates, nothing is spilled.

    def _spilled_entries(self) -> Iterable[QueueEntry]:
        """All spilled entries, in order of arrival."""
        return ()

    def _find_spilled(self, url: Url) -> QueueEntry | None:
        """The entry of a spilled URL; None for any other URL."""
        return None

    def _prefetch_spilled(self, candidates: Sequence[Candidate]) -> None:
        """Prefetches the entries of candidates that are spilled."""

    def _read_back(self, orders: list[int]) -> list[QueueEntry]:
        """Reads spilled entries, which are in memory from then on."""
        return []

    def _forget_spilled(self) -> None:
        """Forgets all spilled entries."""

    # Where the candidates of entries are stored; `DurableFrontier` overrides these.

    def _store_candidate(self, entry: QueueEntry, candidate: Candidate) -> None:
        self._candidates[entry.order] = candidate

    def _candidate_of(self, entry: QueueEntry) -> Candidate:
        return self._candidates[entry.order]

    def _delete_candidate(self, entry: QueueEntry) -> None:
        del self._candidates[entry.order]


def higher_priority(url: Url, waiting: float, offered: float) -> float:
    """The default `merge`: the maximum."""
    return max(waiting, offered)


class _SiteHosts:
    """The hosts of each registered domain, kept if sites have a quota."""

    def __init__(self) -> None:
        self.hosts: dict[str, dict[Host, None]] = {}  # of each site, those on which something has waited
        self.in_flight: Counter[str] = Counter()  # fetches in flight, by site
        self.suspended: dict[str, list[Host]] = {}  # hosts excluded until a fetch of their site completes
