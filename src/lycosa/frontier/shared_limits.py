"""Limits that hosts share: on one address, on one registered domain, and of all hosts that are slow to answer."""

from lycosa.vocabulary.records import Host

SLOW = 1.0  # seconds from which on a response is slow
_QUICKER_EACH_TIME = 0.8  # of what a slow host took is expected after a quick response
_MAX_SLOW_HOSTS = 50_000  # that are remembered; beyond, the oldest are forgotten
_PROVEN_HOSTS = 50_000  # that are remembered at least
_NEW_HOSTS = 16  # over about so many first responses the share of slow ones is taken


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
    """Which hosts are slow to answer; of a new one, whether most new ones have been of late."""

    def __init__(self) -> None:
        self._seconds: dict[Host, float] = {}  # that slow hosts are expected to take
        self._proven = LatestKeys(at_least=_PROVEN_HOSTS)  # hosts that have answered quickly
        self._slow_share = 0.0  # of the new hosts of late

    def is_slow(self, host: Host) -> bool:
        """Whether a host is expected to take a second or more."""
        return host in self._seconds or (self._slow_share > 0.5 and hash(host) not in self._proven)

    def is_known_slow(self, host: Host) -> bool:
        """The same, by its own responses alone."""
        return host in self._seconds

    def observe(self, host: Host, seconds: float) -> None:
        """Learns how long a host has taken, or takes already."""
        before = self._seconds.get(host)
        if before is None and hash(host) not in self._proven:
            self._slow_share += ((seconds >= SLOW) - self._slow_share) / _NEW_HOSTS
        if before is not None:
            seconds = max(seconds, before * _QUICKER_EACH_TIME)
        if seconds >= SLOW:
            self._seconds[host] = seconds
            if len(self._seconds) > _MAX_SLOW_HOSTS:
                del self._seconds[next(iter(self._seconds))]
            return
        if before is not None:
            del self._seconds[host]
        self._proven.add(hash(host))


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
