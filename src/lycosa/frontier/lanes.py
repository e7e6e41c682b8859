from collections.abc import Callable, Iterable, Sequence, Set
from math import inf
from random import Random

import numpy as np

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import LINKS, REFRESH, Candidate, Host, Skip, Url
from lycosa.vocabulary.urls import host_of

from .host_queues import Entry, HostQueues
from .memory import MemoryFrontier

LANE_TIMEOUT = 60.0  # seconds that a lane is waited for while others could have its turns


class Lanes:
    """A frontier of two lanes over the same hosts: the links that wait, and pages of the collection to see again.

    For each of so many turns a lane is drawn beforehand, links with the probability `expand`. Turns are dealt at
    random; a lane whose hosts must all be left alone for now lets the other go first, and one in which nothing may be
    asked for within a minute leaves its turns to the other, but for a lane of which nothing at all is wanted. One URL
    of a host is in flight, whichever lane it is of.

    again: pages to see again, the most urgent first.
    instead: gives so many others, next in urgency, that are not of these hosts; they join the pages to see again when
        none of those may be asked for within a minute.
    has_room: whether one more link may be followed, should so many that are under way become pages. As soon as there
        is no room even without them, what is left of the turns of links goes to the other lane.
    """

    def __init__(
        self,
        links: MemoryFrontier,
        again: Sequence[Candidate],
        *,
        turns: int,
        expand: float,
        chance: Random,
        clock: Clock,
        delay: float = 1.0,
        instead: Callable[[int, Set[Host]], Sequence[Candidate]] = lambda count, hosts: (),
        has_room: Callable[[int], bool] = lambda under_way: True,
    ):
        self._links = links
        self._clock = clock
        self._chance = chance
        self._instead = instead
        self._is_anything_left = True  # that `instead` could give
        self._has_room = has_room
        self._in_flight: dict[Url, str] = {}  # and the lane of each
        self._again: dict[Url, Candidate] = {}
        self._again_hosts = HostQueues(delay=delay, patience=0.0, is_current=lambda entry: entry.url in self._again)
        self._order = 0
        self._queue(again)
        for host, until in links.holds(clock.now()).items():
            self._again_hosts.hold(host, until)
        self._open = {LINKS: expand > 0.0, REFRESH: expand < 1.0}
        drawn = int(np.random.default_rng(chance.getrandbits(64)).binomial(turns, expand))
        self._turns = {LINKS: drawn, REFRESH: turns - drawn}

    def __len__(self) -> int:
        return len(self._links) + len(self._again)

    def rank_by(self, strategy: Strategy) -> None:
        self._links.rank_by(strategy)

    def put(self, candidates: Iterable[Candidate]) -> list[Skip]:
        return self._links.put(candidates)

    def is_known(self, url: Url) -> bool:
        return url in self._again or url in self._in_flight or self._links.is_known(url)

    def take(self, now: float) -> Candidate | None:
        for lane in self._in_turn(now):
            candidate = self._take_again(now) if lane == REFRESH else self._take_link(now)
            if candidate is not None:
                self._turns[lane if self._turns[lane] else _other(lane)] -= 1
                self._in_flight[candidate.url] = lane
                return candidate
        return None

    def _in_turn(self, now: float) -> list[str]:
        """The lanes that may be taken from, the one drawn first."""
        left = sum(self._turns.values())
        if not left:
            return []
        first = LINKS if self._chance.random() * left < self._turns[LINKS] else REFRESH
        return [lane for lane in (first, _other(first)) if self._may_take(lane, now)]

    def _may_take(self, lane: str, now: float) -> bool:
        other, is_full = _other(lane), not self._has_room(0)
        if lane == LINKS and (is_full or not self._has_room(self._links_under_way())):
            return False
        may_stand_in = self._open[lane] or is_full
        return self._turns[lane] > 0 or (may_stand_in and self._turns[other] > 0 and not self._is_near(other, now))

    def _is_near(self, lane: str, now: float) -> bool:
        if lane == REFRESH:
            return self._again_hosts.may_give_within(LANE_TIMEOUT, now)
        return self._has_room(0) and self._links.may_give_within(LANE_TIMEOUT, now)

    def _links_under_way(self) -> int:
        return sum(lane == LINKS for lane in self._in_flight.values())

    def _take_again(self, now: float) -> Candidate | None:
        entry = self._again_hosts.pop(now)
        if entry is None and self._is_anything_left and not self._is_near(REFRESH, now):
            self._call_others(now)
            entry = self._again_hosts.pop(now)
        if entry is None:
            return None
        self._links.occupy(host_of(entry.url), now)
        return self._again.pop(entry.url)

    def _call_others(self, now: float) -> None:
        left = sum(self._turns.values())
        others = self._instead(left, self._again_hosts.holds(now + LANE_TIMEOUT).keys())
        self._is_anything_left = len(others) == left
        self._queue(others)

    def _take_link(self, now: float) -> Candidate | None:
        candidate = self._links.take(now)
        if candidate is not None:
            self._again_hosts.occupy(host_of(candidate.url), now)
        return candidate

    def settle(self, url: Url) -> None:
        if self._land(url) != REFRESH:
            self._links.settle(url)

    def give_back(self, candidate: Candidate) -> None:
        if self._land(candidate.url) == REFRESH:
            self._queue([candidate])
        else:
            self._links.give_back(candidate)

    def _land(self, url: Url) -> str | None:
        lane = self._in_flight.pop(url, None)
        if lane is not None:
            host, now = host_of(url), self._clock.now()
            self._again_hosts.release(host, now)
            if lane == REFRESH:
                self._links.release(host, now)
        return lane

    def _queue(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            self._order += 1
            self._again[candidate.url] = candidate
            self._again_hosts.push(host_of(candidate.url), Entry(0.0, self._order, candidate.url))

    def forget_waiting(self) -> None:
        """Empties the lane of links."""
        self._links.forget_waiting()

    def hold(self, host: Host, until: float) -> None:
        self._links.hold(host, until)
        self._again_hosts.hold(host, until)

    def next_ready_at(self) -> float | None:
        ready = {LINKS: self._links.next_ready_at, REFRESH: self._again_hosts.next_ready_at}
        now = self._clock.now()
        moments = [ready[lane]() for lane in (LINKS, REFRESH) if self._may_take(lane, now)]
        soonest = min((moment for moment in moments if moment is not None), default=inf)
        return None if soonest == inf else soonest


def _other(lane: str) -> str:
    return REFRESH if lane == LINKS else LINKS
