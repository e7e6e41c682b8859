"""The frontier of a refresh: new links and pages to fetch again share one budget of requests and the same hosts."""

from collections.abc import Callable, Iterable, Sequence, Set
from math import inf
from random import Random

import numpy as np

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import LINKS, REFRESH, Candidate, Host, Skip, Url
from lycosa.vocabulary.urls import host_of

from .host_queues import HostQueues
from .memory import MemoryFrontier
from .spilled import QueueEntry

LANE_TIMEOUT = 60.0  # seconds; a lane that has nothing to take within them may lose its requests to the other


class Lanes:
    """A frontier of two lanes: waiting links, and stored pages to fetch again.

    `contracts.Frontier` says what the methods without a docstring do.

    Each request belongs to a lane, drawn beforehand: links ~ Binomial(requests, expand). `take` draws the lane at
    random in proportion to the requests left. A lane that has nothing to take now lets the other go first and keeps its
    requests; one that has nothing within `LANE_TIMEOUT` gives its requests to the other, unless that lane is disabled
    (`expand` is 0 or 1). At most one URL of a host is in flight, in either lane.

    links: the frontier of waiting links.
    refresh: pages to fetch again, most urgent first.
    requests: number of requests to make.
    expand: probability that a request is for a link.
    delay, per_address, slow_slots: as in `links`.
    substitutes: returns up to `count` further pages, next in urgency, that are on none of the given hosts; called when
        no page to fetch again can be taken within `LANE_TIMEOUT`.
    has_room: whether the collection may have another page, assuming that so many links in flight become pages. If it
        has no room even with none in flight, the requests of links go to the other lane.
    """

    def __init__(
        self,
        links: MemoryFrontier,
        refresh: Sequence[Candidate],
        *,
        requests: int,
        expand: float,
        random: Random,
        clock: Clock,
        delay: float = 1.0,
        per_address: int | None = None,
        slow_slots: int | None = None,
        substitutes: Callable[[int, Set[Host]], Sequence[Candidate]] = lambda count, hosts: (),
        has_room: Callable[[int], bool] = lambda in_flight: True,
    ):
        self._links = links
        self._clock = clock
        self._random = random
        self._substitutes = substitutes
        self._has_substitutes = True
        self._has_room = has_room
        self._lane_of: dict[Url, str] = {}  # of URLs in flight
        self._refresh: dict[Url, Candidate] = {}
        # Pages to fetch again have no priorities comparable with those of links, and none is worth waiting for: hence
        # queues of their own, without patience.
        self._refresh_hosts = HostQueues(
            delay=delay,
            patience=0.0,
            is_current=lambda entry: entry.url in self._refresh,
            per_address=per_address,
            slow_slots=slow_slots,
        )
        self._entries_in_flight: dict[Url, QueueEntry] = {}  # pages to fetch again that are in flight
        self._last_order = 0
        self._queue(refresh)
        for host, until in links.resting_beyond(clock.now()).items():
            self._refresh_hosts.hold(host, until)
        self._is_enabled = {LINKS: expand > 0.0, REFRESH: expand < 1.0}
        link_requests = int(np.random.default_rng(random.getrandbits(64)).binomial(requests, expand))
        self._requests_left = {LINKS: link_requests, REFRESH: requests - link_requests}

    def __len__(self) -> int:
        return len(self._links) + len(self._refresh)

    def rank_by(self, strategy: Strategy) -> None:
        self._links.rank_by(strategy)

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        return self._links.put(candidates)

    def is_known(self, url: Url) -> bool:
        return url in self._refresh or url in self._lane_of or self._links.is_known(url)

    def take(self, now: float) -> Candidate | None:
        for lane in self._lanes_in_turn(now):
            candidate = self._take_refresh(now) if lane == REFRESH else self._take_link(now)
            if candidate is not None:
                # `_may_take` lets a lane without requests of its own use those of the other.
                self._requests_left[lane if self._requests_left[lane] else _other_lane(lane)] -= 1
                self._lane_of[candidate.url] = lane
                return candidate
        return None

    def _lanes_in_turn(self, now: float) -> list[str]:
        """The lanes that may be taken from, the drawn one first."""
        requests = sum(self._requests_left.values())
        if not requests:
            return []
        # Drawn in proportion to the requests left, the lanes come in random order and both run out at the end, as if
        # all requests had been shuffled beforehand.
        first = LINKS if self._random.random() * requests < self._requests_left[LINKS] else REFRESH
        return [lane for lane in (first, _other_lane(first)) if self._may_take(lane, now)]

    def _may_take(self, lane: str, now: float) -> bool:
        """Whether a lane has requests, its own or those that the other lane cannot use."""
        other, is_full = _other_lane(lane), not self._has_room(0)
        # All links in flight may become pages; another is taken only if there is room for it as well.
        if lane == LINKS and (is_full or not self._has_room(self._links_in_flight())):
            return False
        # A full collection cannot use the requests of links; then they go to refresh even if `expand` is 1.
        may_use_others = self._is_enabled[lane] or is_full
        return self._requests_left[lane] > 0 or (
            may_use_others and self._requests_left[other] > 0 and not self._is_ready_soon(other, now)
        )

    def _is_ready_soon(self, lane: str, now: float) -> bool:
        """Whether a lane may have something to take within `LANE_TIMEOUT`."""
        if lane == REFRESH:
            return self._refresh_hosts.is_ready_within(LANE_TIMEOUT, now)
        return self._has_room(0) and self._links.is_ready_within(LANE_TIMEOUT, now)

    def _links_in_flight(self) -> int:
        return sum(lane == LINKS for lane in self._lane_of.values())

    # A URL taken from one lane makes its host busy in the queues of the other lane too.

    def _take_refresh(self, now: float) -> Candidate | None:
        entry = self._refresh_hosts.pop(now)
        if entry is None and self._has_substitutes and not self._is_ready_soon(REFRESH, now):
            self._queue_substitutes(now)
            entry = self._refresh_hosts.pop(now)
        if entry is None:
            return None
        self._links.occupy(host_of(entry.url), now)
        self._entries_in_flight[entry.url] = entry
        return self._refresh.pop(entry.url)

    def _take_link(self, now: float) -> Candidate | None:
        candidate = self._links.take(now)
        if candidate is not None:
            self._refresh_hosts.occupy(host_of(candidate.url), now)
        return candidate

    def _queue_substitutes(self, now: float) -> None:
        # All remaining requests, including those of links, may come to this lane. If fewer are returned than requested,
        # there are no more, even if holds change.
        requests = sum(self._requests_left.values())
        pages = self._substitutes(requests, self._refresh_hosts.resting_beyond(now + LANE_TIMEOUT).keys())
        self._has_substitutes = len(pages) == requests
        self._queue(pages)

    def settle(self, url: Url, *, is_kept: bool = False) -> list[Skip]:
        # A page fetched again was settled in the frontier of links at its first visit.
        return [] if self._release(url) == REFRESH else self._links.settle(url, is_kept=is_kept)

    def requeue(self, candidate: Candidate) -> None:
        if self._release(candidate.url) == REFRESH:
            self._queue([candidate])
        else:
            self._links.requeue(candidate)

    def postpone(self, candidate: Candidate) -> None:
        url = candidate.url
        entry = self._entries_in_flight.get(url)
        lane = self._release(url)
        if lane is None:
            return
        self._requests_left[lane] += 1
        if lane == LINKS:
            self._links.postpone(candidate)
        elif entry is not None:
            self._refresh[url] = candidate
            self._refresh_hosts.push(host_of(url), entry)

    def _release(self, url: Url) -> str | None:
        """Releases the host of a URL in flight; returns its lane."""
        lane = self._lane_of.pop(url, None)
        self._entries_in_flight.pop(url, None)
        if lane is not None:
            host, now = host_of(url), self._clock.now()
            self._refresh_hosts.release(host, now)
            if lane == REFRESH:  # for a link, `settle` or `requeue` releases the host
                self._links.release(host, now)
        return lane

    def _queue(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            self._last_order += 1
            self._refresh[candidate.url] = candidate
            # All have the same rank: pages are taken in the given order, most urgent first.
            self._refresh_hosts.push(host_of(candidate.url), QueueEntry(0.0, self._last_order, candidate.url))

    def clear_waiting(self) -> None:
        """Empties the lane of links."""
        self._links.clear_waiting()

    @property
    def has_delay(self) -> bool:
        return self._links.has_delay

    @property
    def slow_in_flight(self) -> int:
        return self._links.slow_in_flight

    def observe(self, host: Host, seconds: float) -> None:
        self._links.observe(host, seconds)
        self._refresh_hosts.observe(host, seconds)

    def acquire_or_retry_at(self, host: Host, now: float) -> float | None:
        retry_at = self._links.acquire_or_retry_at(host, now)
        if retry_at is None:
            self._refresh_hosts.occupy(host, now)
        return retry_at

    def release(self, host: Host, now: float) -> None:
        """Ends a request of neither lane."""
        self._links.release(host, now)
        self._refresh_hosts.release(host, now)

    def claim_address(self, host: Host, address: str) -> bool:
        return self._links.claim_address(host, address) and self._refresh_hosts.claim_address(host, address)

    def hold(self, host: Host, until: float) -> None:
        self._links.hold(host, until)
        self._refresh_hosts.hold(host, until)

    def next_ready_at(self) -> float | None:
        ready = {LINKS: self._links.next_ready_at, REFRESH: self._refresh_hosts.next_ready_at}
        now = self._clock.now()
        moments = [ready[lane]() for lane in (LINKS, REFRESH) if self._may_take(lane, now)]
        soonest = min((moment for moment in moments if moment is not None), default=inf)
        return None if soonest == inf else soonest


def _other_lane(lane: str) -> str:
    return REFRESH if lane == LINKS else LINKS
