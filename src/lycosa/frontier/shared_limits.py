"""Limits that hosts share: on one address, on one registered domain, and of all hosts that are slow to answer."""

from typing import Any

from lycosa.vocabulary.records import Host
from lycosa.vocabulary.urls import site_of

SLOW = 1.0  # seconds from which on a response is slow
_QUICKER_EACH_TIME = 0.8  # of what a slow host took is expected after a quick response
_MAX_SLOW_HOSTS = 50_000  # that are remembered; beyond, the oldest are forgotten
_PROVEN_HOSTS = 50_000  # that are remembered at least
_NEW_HOSTS = 16  # over about so many first responses the share of slow ones is taken
_NEW_HOSTS_OF_A_SITE = 4
_MOST = 0.5  # share
_FEW = 0.1  # share


class SharedLimit:
    """The most requests at a time to hosts that have something in common."""

    __slots__ = ("hosts", "in_use", "name", "parked", "slots")

    def __init__(self, name: str, slots: int):
        self.name = name
        self.slots = slots
        self.in_use = 0  # by requests in flight, and by those whose slot rests
        self.hosts = 0  # that have a queue
        self.parked: list[tuple[float, int, Host]] = []  # heap of hosts that wait for a slot, by their best entry

    @property
    def is_full(self) -> bool:
        return self.in_use >= self.slots


class HostPace:
    """Which hosts are slow to answer; of a new one, whether most recent ones were, here or on its site."""

    def __init__(self) -> None:
        self._seconds: dict[Host, float] = {}  # that slow hosts are expected to take
        self._proven = LatestKeys(at_least=_PROVEN_HOSTS)  # hosts that have answered quickly
        self._slow_share = 0.0  # of the first responses of hosts; of each slow site, the first few count
        self._slow_sites: dict[str, float] = {}  # the share of each registered domain that had any

    def is_slow(self, host: Host) -> bool:
        """Whether a host is expected to take a second or more."""
        if host in self._seconds:
            return True
        if self._slow_share <= _MOST and not self._slow_sites:
            return False
        return hash(host) not in self._proven and (self._slow_share > _MOST or self._is_slow_site(site_of(host)))

    def is_known_slow(self, host: Host) -> bool:
        """The same, by its own responses alone."""
        return host in self._seconds

    def observe(self, host: Host, seconds: float) -> None:
        """Learns how long a host has taken, or takes already."""
        before = self._seconds.get(host)
        if before is None and hash(host) not in self._proven:
            self._count_first_response(site_of(host), is_slow=seconds >= SLOW)
        if before is not None:
            seconds = max(seconds, before * _QUICKER_EACH_TIME)
        if seconds >= SLOW:
            self._seconds[host] = seconds
            _drop_oldest(self._seconds)
            return
        if before is not None:
            del self._seconds[host]
        self._proven.add(hash(host))

    def _is_slow_site(self, site: str) -> bool:
        return self._slow_sites.get(site, 0.0) > _MOST

    def _count_first_response(self, site: str, *, is_slow: bool) -> None:
        if not self._is_slow_site(site):  # one with names without end does not speak for others
            self._slow_share += (is_slow - self._slow_share) / _NEW_HOSTS
        if is_slow or site in self._slow_sites:
            share = self._slow_sites.get(site, 0.0)
            self._slow_sites[site] = share + (is_slow - share) / _NEW_HOSTS_OF_A_SITE
            if self._slow_sites[site] < _FEW:
                del self._slow_sites[site]
            _drop_oldest(self._slow_sites)


def _drop_oldest(known: dict[Any, float]) -> None:
    if len(known) > _MAX_SLOW_HOSTS:
        del known[next(iter(known))]


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
