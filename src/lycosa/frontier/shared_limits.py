"""Limits shared by hosts: of one address, of one registered domain, and of all slow hosts."""

from collections import Counter, deque
from collections.abc import Callable, Set
from typing import Any

from lycosa.vocabulary.records import Host
from lycosa.vocabulary.urls import site_of

SLOW_RESPONSE = 1.0  # seconds; a response that takes longer is slow
_SPEED_UP = 0.8  # by which a faster response multiplies the expected response time of a slow host, at most
_MAX_SLOW_HOSTS = 50_000  # that are remembered; beyond that, the oldest are forgotten
_MIN_FAST_HOSTS = 50_000  # that are remembered
_WINDOW = 16  # first responses over which the share of slow ones is averaged
_SITE_WINDOW = 4  # the same for one site
_MIN_SLOW_SHARE = 0.5  # share of slow responses above which further hosts count as slow
SHARE_WINDOW = 100  # requests, of which a registered domain of several hosts may have a share
SITE_SHARE = 0.25  # of these requests, by default
_MAX_PASSED_OVER = 1_000  # registered domains whose requests that others had are counted
_MAX_FAST_SHARE = 0.1  # share of slow responses below which a site is no longer remembered


class SharedLimit:
    """A limit of concurrent requests to a group of hosts: each needs a slot, which then rests for a delay.

    slots: the number of slots.
    """

    __slots__ = ("host_count", "in_use", "name", "parked", "slots")

    def __init__(self, name: str, slots: int):
        self.name = name
        self.slots = slots
        self.in_use = 0  # slots of requests in flight, and resting ones
        self.host_count = 0  # hosts that have a queue
        self.parked: list[tuple[float, int, Host]] = []  # heap of hosts that wait for a slot, by their best entry

    @property
    def is_full(self) -> bool:
        return self.in_use >= self.slots


class SiteShares:
    """Which registered domains are over their share of the latest requests, and for that come behind others.

    The delay bounds the share of a host, but a domain of many hosts always has a free one. A domain is over its share
    if it had `max_share` of the last `SHARE_WINDOW` requests, on several hosts.

    >>> shares = SiteShares(max_share=0.25)
    >>> for number in range(25):
    ...     shares.add(Host(f"n{number}.farm.example"))
    >>> shares.over
    {'farm.example'}

    named: returns the registered domains that have no such limit, because the user has named them.
    passed_over: counts, by registered domain over its share, the requests for which it was passed over.
    """

    def __init__(
        self,
        *,
        max_share: float,
        named: Callable[[], Set[str]] = frozenset,
        passed_over: Counter[str] | None = None,
    ):
        self.over: set[str] = set()
        self.passed_over: Counter[str] = Counter() if passed_over is None else passed_over
        self._max_requests = max_share * SHARE_WINDOW
        self._named = named
        self._latest: deque[tuple[str, Host]] = deque()
        self._requests: Counter[str] = Counter()  # of each registered domain, among the latest
        self._hosts: dict[str, Counter[Host]] = {}  # the same, of each host

    def add(self, host: Host) -> None:
        """Counts a request."""
        site = site_of(host)
        self._latest.append((site, host))
        self._requests[site] += 1
        self._hosts.setdefault(site, Counter())[host] += 1
        self._update(site)
        if len(self._latest) > SHARE_WINDOW:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        site, host = self._latest.popleft()
        hosts = self._hosts[site]
        self._requests[site] -= 1
        hosts[host] -= 1
        if not hosts[host]:
            del hosts[host]
        self._update(site)
        if not hosts:
            del self._requests[site], self._hosts[site]

    def _update(self, site: str) -> None:
        is_over = self._requests[site] >= self._max_requests and len(self._hosts[site]) > 1
        if is_over and site not in self._named():
            self.over.add(site)
        else:
            self.over.discard(site)

    def pass_over(self, site: str) -> None:
        """Counts a request that went to another domain, though this one had a better URL."""
        if site in self.passed_over or len(self.passed_over) < _MAX_PASSED_OVER:
            self.passed_over[site] += 1


class HostPace:
    """Which hosts are slow to answer; a new host counts as slow if most recent ones were, overall or on its site."""

    def __init__(self) -> None:
        self._seconds: dict[Host, float] = {}  # expected response time of slow hosts
        self._fast = LatestKeys(at_least=_MIN_FAST_HOSTS)  # hosts with a fast response
        self._slow_share = 0.0  # of first responses; of a slow site, only the first few count
        self._slow_sites: dict[str, float] = {}  # the share of slow responses by registered domain

    def is_expected_slow(self, host: Host) -> bool:
        """Whether a host is expected to take a second or more; a host without responses, by those of others."""
        if host in self._seconds:
            return True
        if self._slow_share <= _MIN_SLOW_SHARE and not self._slow_sites:
            return False
        return hash(host) not in self._fast and (
            self._slow_share > _MIN_SLOW_SHARE or self._is_slow_site(site_of(host))
        )

    def is_known_slow(self, host: Host) -> bool:
        """Whether a host is expected to be slow by its own responses, not by those of other hosts."""
        return host in self._seconds

    def observe(self, host: Host, seconds: float) -> None:
        """Records how long a host took, or has been taking."""
        expected = self._seconds.get(host)
        if expected is None and hash(host) not in self._fast:
            self._count_first_response(site_of(host), is_slow=seconds >= SLOW_RESPONSE)
        if expected is not None:
            seconds = max(seconds, expected * _SPEED_UP)
        if seconds >= SLOW_RESPONSE:
            self._seconds[host] = seconds
            _drop_oldest(self._seconds)
            return
        if expected is not None:
            del self._seconds[host]
        self._fast.add(hash(host))

    def _is_slow_site(self, site: str) -> bool:
        return self._slow_sites.get(site, 0.0) > _MIN_SLOW_SHARE

    def _count_first_response(self, site: str, *, is_slow: bool) -> None:
        if not self._is_slow_site(site):  # one site with endless subdomains must not count for others
            self._slow_share += (is_slow - self._slow_share) / _WINDOW
        if is_slow or site in self._slow_sites:
            share = self._slow_sites.get(site, 0.0)
            self._slow_sites[site] = share + (is_slow - share) / _SITE_WINDOW
            if self._slow_sites[site] < _MAX_FAST_SHARE:
                del self._slow_sites[site]
            _drop_oldest(self._slow_sites)


def _drop_oldest(latest: dict[Any, float]) -> None:
    if len(latest) > _MAX_SLOW_HOSTS:
        del latest[next(iter(latest))]


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
