"""A collection that grows and is kept fresh out of one budget, in a world that goes on.

Pages are judged by what the world knows of them, not by a classifier: what is studied here is how requests are shared.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.reading.words import FoldedWords
from lycosa.refresh import Look, RefreshPolicy, history_of
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import (
    REFRESH,
    RELEVANT,
    Candidate,
    Change,
    Fetch,
    Link,
    Outcome,
    Page,
    Plain,
    Url,
    Visit,
)
from lycosa_lab.worlds.synthetic import SyntheticWorld

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ON_TOPIC, NEAR_TOPIC, OFF_TOPIC = 0.9, 0.4, 0.1  # relevance of pages of the topic, of its siblings, of the rest
AUTHORITIES = 0.9  # quantile of the topic's in-links from which a page is an authority
SUPPOSED = 0.02  # changes a day of a page, as long as no page was looked at twice
_NO_WORDS = FoldedWords(b"", stem=True)


class Days:
    """A world on each of its days, made once. Pages go by their numbers."""

    def __init__(self, world: SyntheticWorld, days: int):
        self.last = days
        self.on = [world.at(float(day)) for day in range(days + 1)]
        self._changes: dict[int, list[float]] = {}

    @property
    def end(self) -> SyntheticWorld:
        return self.on[-1]

    @cached_property
    def standing(self) -> Floats:
        """The esteem of every page that ever is, 0 to 1: the sigmoid of its status less the median."""
        status = np.log1p(self.end.plan.in_links.astype(np.float64))
        weights: Floats = 1.0 / (1.0 + np.exp(np.median(status) - status))
        return weights

    @cached_property
    def _there(self) -> list[Bools]:
        """Which pages there are on each day."""
        days = []
        for world in self.on:
            there = np.zeros(len(self.end.plan), dtype=np.bool_)
            there[world.numbers()] = True
            days.append(there)
        return days

    def there(self, day: int) -> Bools:
        return self._there[day]

    def relevance(self, topic: str) -> Floats:
        """How well every page fits a topic."""
        kin = topic.partition("/")[0]
        by_topic = [
            ON_TOPIC if name == topic else NEAR_TOPIC if name.partition("/")[0] == kin else OFF_TOPIC
            for name in self.end.topics
        ]
        return np.array(by_topic)[self.end.plan.topic]

    def next_change(self, number: int, day: float) -> float:
        """When the text of a page changes for the first time after a day; infinite if not before the end."""
        changes = self._changes.get(number)
        if changes is None:
            changes = self._changes[number] = self.end.changes(number).tolist()
        place = bisect_right(changes, day)
        return changes[place] if place < len(changes) else np.inf


class Holdings:
    """The pages that were fetched, the history of each, and what waits to be fetched."""

    def __init__(self, days: Days, topic: str, strategy: Strategy):
        self._days, self.relevance = days, days.relevance(topic)
        self._importance = self.relevance * days.standing
        self._frontier = SequentialFrontier()
        self._loop = Loop(strategy, self._frontier)
        self.stale_from: dict[int, float] = {}  # of the pages held
        self._links: dict[int, frozenset[Url]] = {}  # that the version held has
        self._looks: list[Look] = []

    def start(self, seeds: Sequence[int]) -> None:
        self._loop.start(cast("Sequence[Url]", seeds))

    def expand(self, day: int) -> bool:
        """Spends a request on the best page that waits; returns whether there was one."""
        candidate = self._frontier.take()
        if candidate is not None:
            self._fetch(candidate, day)
        return candidate is not None

    def refresh(self, policy: RefreshPolicy, day: int, requests: int) -> int:
        """Spends requests on pages that are held; returns how many."""
        looks = [look for look in self._looks if cast("int", look.url) in self.stale_from]
        importance = {look.url: float(self._importance[cast("int", look.url)]) for look in looks}
        table = history_of(looks, importance=importance, unknown_rate=SUPPOSED)
        rows = policy.choose(table, float(day), requests).tolist()
        for row in rows:
            self._fetch(Candidate(table.urls[row], 0.0, lane=REFRESH), day)
        return len(rows)

    def _fetch(self, candidate: Candidate, day: int) -> None:
        is_there = self._days.there(day)[cast("int", candidate.url)]
        fetch = Fetch(candidate.url, Outcome.OK if is_there else Outcome.GONE, float(day))
        self._loop.step(candidate, fetch, self._assess)

    def _assess(self, candidate: Candidate, fetch: Fetch) -> Visit:
        """Holds the page as it is on the day, or lets go of one that is there no longer."""
        url, number, day = candidate.url, cast("int", candidate.url), int(fetch.at)
        is_again = candidate.lane == REFRESH
        if fetch.outcome is Outcome.GONE:
            self.stale_from.pop(number, None)
            return Visit(candidate, fetch, change=Change.VANISHED if is_again else None)
        targets = cast("list[Url]", self._days.on[day].links_of(number)[0].tolist())
        visit = Visit(
            candidate,
            fetch,
            Page(url, "", "", "", _NO_WORDS, tuple(map(Link, targets))),
            float(self.relevance[number]),
            standing=float(self._days.standing[number]),
        )
        has_changed = self.stale_from.get(number, np.inf) <= day
        if is_again:
            before = self._links[number]
            new_links = tuple(dict.fromkeys(target for target in targets if target not in before))
            change = Change.CHANGED if has_changed or new_links else Change.UNCHANGED
            visit = replace(visit, change=change, new_links=new_links)
        self._links[number] = frozenset(targets)
        self._looks.append(Look(url, fetch.at, changed=has_changed))
        self.stale_from[number] = self._days.next_change(number, day)
        return visit


def share_budget(
    days: Days,
    topic: str,
    seeds: Sequence[int],
    *,
    strategy: Strategy,
    policy: RefreshPolicy,
    start_pages: int,
    requests: int,
    expand: float,
    measured_from: int,
    seed: int,
) -> dict[str, Plain]:
    """What a collection of `start_pages` has become, when each request of so many a day goes to a new page with the
    chance `expand`, and else to one that is held; where either has nothing left to fetch, the other gets its requests.
    """
    chance = np.random.default_rng(seed)
    holdings = Holdings(days, topic, strategy)
    holdings.start(seeds)
    while len(holdings.stale_from) < start_pages and holdings.expand(0):
        pass
    measured = []
    for day in range(1, days.last + 1):
        again = requests - int(chance.binomial(requests, expand))
        spent = holdings.refresh(policy, day, again)
        while spent < requests and holdings.expand(day):
            spent += 1
        if spent < requests:
            holdings.refresh(policy, day, requests - spent)
        if day >= measured_from:
            measured.append(_fresh(holdings, days, day))
    held, fresh, worth = (float(column) for column in np.mean(np.array(measured), axis=0))
    return {"held": held, "fresh": fresh, "worth": worth, **_authorities(holdings, days)}


def _fresh(holdings: Holdings, days: Days, day: int) -> tuple[int, int, float]:
    """Pages on the topic that are held and still there; those of them that are fresh; the standing of these, summed."""
    numbers = np.array(list(holdings.stale_from), dtype=np.int64)
    stale_from = np.array(list(holdings.stale_from.values()))
    good = (holdings.relevance[numbers] >= RELEVANT) & days.there(day)[numbers]
    fresh = good & (stale_from > day)
    return int(good.sum()), int(fresh.sum()), float(days.standing[numbers[fresh]].sum())


def _authorities(holdings: Holdings, days: Days) -> dict[str, Plain]:
    """The share of the topic's authorities that are held at the end, and of those born since the start."""
    in_links, on_topic = days.end.plan.in_links, (holdings.relevance >= RELEVANT) & days.there(days.last)
    leading = on_topic & (in_links >= np.quantile(in_links[on_topic], AUTHORITIES))
    held = np.zeros(len(leading), dtype=np.bool_)
    held[list(holdings.stale_from)] = True
    born = np.arange(len(leading)) >= len(days.on[0].plan)
    return {
        "authorities": float(held[leading].mean()),
        "new_authorities": float(held[leading & born].mean()) if (leading & born).any() else None,
    }
