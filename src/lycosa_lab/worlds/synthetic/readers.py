"""Simulated users of a synthetic world: each has interests and browses in sessions, mostly by day."""

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
MEAN_SESSIONS_PER_DAY = 1.5
MIN_SESSIONS_PER_DAY = 1e-3  # a rate drawn near 0 gives no finite time to the next session
KNOWN_PAGES_PER_INTEREST = 6
KNOWN_PAGE_PROBABILITY = 0.7  # of a session to begin at a known page; the others begin at a popular one
CONTINUATION_PROBABILITY = 0.85  # of reading another page after each
INTEREST_WEIGHT = 6.0  # of a link to a page of interest; others have weight 1
RANDOM_LINK_PROBABILITY = 0.1  # probability of following any link
MEAN_SECONDS_ON_PAGE = 40.0  # mean of the exponential number of seconds on a page, beyond the first second
_HOURLY_WEIGHTS = (1, 0.5, 0.3, 0.2, 0.2, 0.4, 1, 2, 3.5, 4.5, 5, 5, 4.5, 4.5, 5, 5, 4.5, 4.5, 5, 5.5, 6, 5.5, 4, 2)
_CUMULATIVE_WEIGHTS = tuple(accumulate(_HOURLY_WEIGHTS))


@dataclass(frozen=True)
class BrowsedWeb:
    """The web that users browse: pages, their topics and links."""

    topic_of_page: NDArray[np.int16]
    links_of: Callable[[int], NDArray[np.int32]]
    url: Callable[[int], Url]
    exists: Callable[[int], bool]
    target_sampler: TargetSampler
    topic_count: int


def simulate_accesses(web: BrowsedWeb, *, users: int, days: float, seed: int) -> Iterator[Access]:
    """All that some users read within some days, in order of time; the memory needed grows with the users only."""
    if users < 1 or not 0.0 < days <= 36_500.0:
        raise UsageError(
            f"{users} users who read for {days:g} days: at least 1 user, and more than 0 and at most 36500 days"
        )
    simulated = (_SimulatedUser(web, user, days, _user_rng(seed, user)) for user in range(users))
    return merge(*(user.accesses() for user in simulated), key=attrgetter("at", "user"))


def user_interests(user: int, *, topic_count: int, seed: int) -> tuple[int, ...]:
    """The one to three topics that a user of `simulate_accesses` is interested in."""
    return _draw_interests(_user_rng(seed, user), topic_count)


def _user_rng(seed: int, user: int) -> random.Random:
    return random.Random(f"{seed} reader {user}")


def _draw_interests(rng: random.Random, topic_count: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(topic_count), min(topic_count, rng.choice((1, 1, 2, 3)))))


class _SimulatedUser:
    """One user, by number, who reads for some days."""

    def __init__(self, web: BrowsedWeb, user: int, days: float, rng: random.Random):
        self._web, self._user, self._end, self._rng = web, user, days * DAY, rng
        self._interests = _draw_interests(rng, web.topic_count)  # first, as `user_interests` draws nothing else
        self._session_rate = max(MIN_SESSIONS_PER_DAY, MEAN_SESSIONS_PER_DAY * rng.expovariate(1.0))
        self._known_pages = [self._popular_page() for _ in range(KNOWN_PAGES_PER_INTEREST * len(self._interests))]

    def accesses(self) -> Iterator[Access]:
        now = 0.0
        for start in self._session_starts():
            now = max(now, start)
            page: int | None = self._first_page()
            while page is not None and now < self._end:
                yield Access(self._user, self._web.url(page), now)
                now += 1.0 + self._rng.expovariate(1.0 / MEAN_SECONDS_ON_PAGE)
                page = self._next_page(page) if self._rng.random() < CONTINUATION_PROBABILITY else None

    def _session_starts(self) -> Iterator[float]:
        """A Poisson process with the same rate each day, stretched within the day by the hourly weights."""
        days = 0.0
        while days < self._end / DAY:
            days += self._rng.expovariate(self._session_rate)
            day, share = divmod(days, 1.0)
            yield (day + _time_of_day(share)) * DAY

    def _first_page(self) -> int:
        if self._rng.random() < KNOWN_PAGE_PROBABILITY:
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
