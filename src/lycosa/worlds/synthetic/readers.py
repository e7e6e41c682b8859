"""People who read the world: each has interests, browses in sessions by day more than by night, and leaves accesses."""

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
from lycosa.worlds.world import Access

from .links import Attraction

DAY = 86_400.0  # seconds
SESSIONS_A_DAY = 1.5  # of the mean reader
KNOWN_PAGES = 6  # of each interest, where sessions begin
FROM_KNOWN_PAGES = 0.7  # of sessions; the others begin at a page that is popular among all
GOES_ON = 0.85  # chance after each page
INTERESTING = 6.0  # how many times rather a reader follows a link to a page of interest than another
STRAYS = 0.1  # chance to follow any link
DWELL = 40.0  # seconds on a page, on average
_HOURS = (1, 0.5, 0.3, 0.2, 0.2, 0.4, 1, 2, 3.5, 4.5, 5, 5, 4.5, 4.5, 5, 5, 4.5, 4.5, 5, 5.5, 6, 5.5, 4, 2)
_UP_TO_HOUR = tuple(accumulate(_HOURS))


@dataclass(frozen=True)
class BrowsedWeb:
    """What readers find: pages, their topics and links."""

    topic_of_page: NDArray[np.int16]
    links_of: Callable[[int], NDArray[np.int32]]
    url: Callable[[int], Url]
    exists: Callable[[int], bool]
    attraction: Attraction
    topics: int


def accesses(library: BrowsedWeb, *, users: int, days: float, seed: int) -> Iterator[Access]:
    """Everything that `users` readers read within some days, in the order of time; needs memory for readers only."""
    if users < 1 or not 0.0 < days <= 36_500.0:
        raise UsageError(f"readers are 1 or more and read for up to 36500 days, not {users} for {days} days")
    readers = (_Reader(library, user, days, random.Random(f"{seed} reader {user}")) for user in range(users))
    return merge(*(reader.reads() for reader in readers), key=attrgetter("at", "user"))


def interests(user: int, *, topics: int, seed: int) -> tuple[int, ...]:
    """The topics that a reader likes, one to three."""
    return _interests(random.Random(f"{seed} reader {user}"), topics)


def _interests(rng: random.Random, topics: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(topics), min(topics, rng.choice((1, 1, 2, 3)))))


class _Reader:
    def __init__(self, library: BrowsedWeb, user: int, days: float, rng: random.Random):
        self._library, self._user, self._end, self._rng = library, user, days * DAY, rng
        self._interests = _interests(rng, library.topics)
        self._eagerness = SESSIONS_A_DAY * rng.expovariate(1.0)
        self._known = [self._popular_page() for _ in range(KNOWN_PAGES * len(self._interests))]

    def reads(self) -> Iterator[Access]:
        now = 0.0
        for start in self._session_starts():
            now = max(now, start)
            page: int | None = self._first_page()
            while page is not None and now < self._end:
                yield Access(self._user, self._library.url(page), now)
                now += 1.0 + self._rng.expovariate(1.0 / DWELL)
                page = self._next_page(page) if self._rng.random() < GOES_ON else None

    def _session_starts(self) -> Iterator[float]:
        """Sessions come by chance, at the same rate each day, most of them by day."""
        worth = 0.0
        while worth < self._end / DAY:
            worth += self._rng.expovariate(max(self._eagerness, 1e-3))
            day, share = divmod(worth, 1.0)
            yield (day + _time_of_day(share)) * DAY

    def _first_page(self) -> int:
        if self._rng.random() < FROM_KNOWN_PAGES:
            return self._rng.choice(self._known)
        return self._popular_page()

    def _popular_page(self) -> int:
        topic, u = self._rng.choice(self._interests), self._rng.random()
        return int(self._library.attraction.fit(np.array([topic]), np.array([u]))[0])

    def _next_page(self, page: int) -> int | None:
        if not self._library.exists(page):
            return None
        targets = self._library.links_of(page)
        if not len(targets):
            return None
        if self._rng.random() < STRAYS:
            return int(self._rng.choice(targets))
        is_liked = np.isin(self._library.topic_of_page[targets], self._interests)
        return int(self._rng.choices(targets.tolist(), np.where(is_liked, INTERESTING, 1.0).tolist())[0])


def _time_of_day(share: float) -> float:
    """The part of the day that has passed when a share of the day's sessions has begun."""
    wanted = share * _UP_TO_HOUR[-1]
    hour = min(len(_HOURS) - 1, bisect_right(_UP_TO_HOUR, wanted))
    return (hour + (wanted - (_UP_TO_HOUR[hour] - _HOURS[hour])) / _HOURS[hour]) / 24.0
