"""Simulated readers of a synthetic world: each has interests and browses in sessions, mostly by day."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.world import Access

from .links import TargetSampler

DAY = 86_400.0  # seconds
SESSIONS_PER_DAY = 1.5  # of the mean reader
KNOWN_PAGES = 6  # of each interest of a reader
FROM_KNOWN_PAGES = 0.7  # share of sessions that begin at a known page; the others begin at a popular one
CONTINUES = 0.85  # probability of another page after each
INTEREST_WEIGHT = 6.0  # of a link to a page of interest; others have weight 1
RANDOM_LINK_PROBABILITY = 0.1  # probability of following any link
MEAN_SECONDS_ON_PAGE = 40.0  # mean of the exponential number of seconds on a page, beyond the first second
_HOURLY_WEIGHTS = (1, 0.5, 0.3, 0.2, 0.2, 0.4, 1, 2, 3.5, 4.5, 5, 5, 4.5, 4.5, 5, 5, 4.5, 4.5, 5, 5.5, 6, 5.5, 4, 2)
_CUMULATIVE_WEIGHTS = tuple(accumulate(_HOURLY_WEIGHTS))


@dataclass(frozen=True)
class BrowsedWeb:
    """The web that readers browse: pages, their topics and links."""

    topic_of_page: NDArray[np.int16]
    links_of: Callable[[int], NDArray[np.int32]]
    url: Callable[[int], Url]
    exists: Callable[[int], bool]
    target_sampler: TargetSampler
    topics: int  # how many there are


def simulate_accesses(web: BrowsedWeb, *, users: int, days: float, seed: int) -> Iterator[Access]:
    """All that `users` readers read within some days, in order of time; the memory needed grows with readers only."""
    if users < 1 or not 0.0 < days <= 36_500.0:
        raise UsageError(f"readers are 1 or more and read for up to 36500 days, not {users} for {days} days")
    readers = (_Reader(web, user, days, random.Random(f"{seed} reader {user}")) for user in range(users))
    return merge(*(reader.reads() for reader in readers), key=attrgetter("at", "user"))


def reader_interests(user: int, *, topics: int, seed: int) -> tuple[int, ...]:
    """The one to three topics that a reader is interested in."""
    return _interests(random.Random(f"{seed} reader {user}"), topics)


def _interests(rng: random.Random, topics: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(topics), min(topics, rng.choice((1, 1, 2, 3)))))


class _Reader:
    """One reader, by number, who reads for some days."""

    def __init__(self, web: BrowsedWeb, user: int, days: float, rng: random.Random):
        self._web, self._user, self._end, self._rng = web, user, days * DAY, rng
        self._interests = _interests(rng, web.topics)
        self._session_rate = SESSIONS_PER_DAY * rng.expovariate(1.0)
        self._known_pages = [self._popular_page() for _ in range(KNOWN_PAGES * len(self._interests))]

    def reads(self) -> Iterator[Access]:
        now = 0.0
        for start in self._session_starts():
            now = max(now, start)
            page: int | None = self._first_page()
            while page is not None and now < self._end:
                yield Access(self._user, self._web.url(page), now)
                now += 1.0 + self._rng.expovariate(1.0 / MEAN_SECONDS_ON_PAGE)
                page = self._next_page(page) if self._rng.random() < CONTINUES else None

    def _session_starts(self) -> Iterator[float]:
        """A Poisson process with the same rate each day, stretched within the day by the hourly weights."""
        days = 0.0
        while days < self._end / DAY:
            days += self._rng.expovariate(max(self._session_rate, 1e-3))
            day, share = divmod(days, 1.0)
            yield (day + _time_of_day(share)) * DAY

    def _first_page(self) -> int:
        if self._rng.random() < FROM_KNOWN_PAGES:
            return self._rng.choice(self._known_pages)
        return self._popular_page()

    def _popular_page(self) -> int:
        topic, u = self._rng.choice(self._interests), self._rng.random()
        return int(self._web.target_sampler.sample_by_fitness(np.array([topic]), np.array([u]))[0])

    def _next_page(self, page: int) -> int | None:
        if not self._web.exists(page):
            return None
        targets = self._web.links_of(page)
        if not len(targets):
            return None
        if self._rng.random() < RANDOM_LINK_PROBABILITY:
            return int(self._rng.choice(targets))
        is_interesting = np.isin(self._web.topic_of_page[targets], self._interests)
        return int(self._rng.choices(targets.tolist(), np.where(is_interesting, INTEREST_WEIGHT, 1.0).tolist())[0])


def _time_of_day(share: float) -> float:
    """The fraction of a day after which a share of its sessions has begun."""
    wanted = share * _CUMULATIVE_WEIGHTS[-1]
    hour = min(len(_HOURLY_WEIGHTS) - 1, bisect_right(_CUMULATIVE_WEIGHTS, wanted))
    return (hour + (wanted - (_CUMULATIVE_WEIGHTS[hour] - _HOURLY_WEIGHTS[hour])) / _HOURLY_WEIGHTS[hour]) / 24.0
