"""A collection that is kept up by a refresh policy, once a day, in a world that goes on."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lycosa.refresh import HistoryTable, RefreshPolicy, change_rates
from lycosa.vocabulary.records import Plain
from lycosa_lab.worlds.synthetic import SyntheticWorld

from .evolution import Evolution

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ESTIMATED, KNOWN, UNASKED = "estimated", "known", "not asked for"  # how a policy comes by change rates
SUPPOSED = 0.02  # changes a day of a page, as long as no page was looked at twice


class Fetched:
    """What the looks of the past have told; on day 0 every page was looked at once."""

    def __init__(self, evolution: Evolution, *, rates: str):
        self._evolution, self._rates = evolution, rates
        count = len(evolution)
        self._urls = [evolution.world.url(number) for number in evolution.numbers.tolist()]
        self.looked_at = np.zeros(count)
        self.stale_from = evolution.next_change(np.arange(count), 0.0)
        self._fetches, self._changes = np.ones(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self.out_links = np.zeros(count, dtype=np.int64)
        self.yielded, self.link_score = np.full(count, np.nan), np.full(count, np.nan)
        self._past: list[tuple[Ints, Floats, Bools]] = []

    def table(self) -> HistoryTable:
        evolution = self._evolution
        return HistoryTable(
            urls=self._urls,
            importance=evolution.importance,
            fetched_at=self.looked_at,
            fetches=self._fetches,
            changes=self._changes,
            rate=evolution.rates if self._rates == KNOWN else self._estimated(),
            out_links=self.out_links,
            yielded=self.yielded,
            link_score=self.link_score,
        )

    def look(self, rows: Ints, day: float) -> Bools:
        """Notes that pages are looked at, and tells which have changed."""
        changed = self.stale_from[rows] <= day
        self._past.append((rows, day - self.looked_at[rows], changed))
        self._fetches[rows] += 1
        self._changes[rows] += changed
        self.looked_at[rows] = day
        self.stale_from[rows] = self._evolution.next_change(rows, day)
        return changed

    def _estimated(self) -> Floats:
        count = len(self._evolution)
        if self._rates == UNASKED or not self._past:
            return np.full(count, SUPPOSED)
        rows, intervals, changed = (np.concatenate(column) for column in zip(*self._past, strict=True))
        return change_rates(rows, intervals, changed, pages=count, unknown_rate=SUPPOSED)


class LinksSeen:
    """The links that looks have shown, and the pages born since the start that they led to."""

    def __init__(self, evolution: Evolution, *, authority: float):
        self._numbers = evolution.numbers.tolist()
        self._first_born, self._authority = len(evolution.world.plan), authority
        start = evolution.world
        self._shown = [set(start.links_of(number)[0].tolist()) for number in self._numbers]
        self._in_links: dict[int, int] = {}
        for links in self._shown:
            for target in links:
                self._in_links[target] = self._in_links.get(target, 0) + 1
        self.new_pages: set[int] = set()
        self.new_authorities: set[int] = set()

    def share_found(self, world: SyntheticWorld) -> float | None:
        """Of all authorities born by then, those that were found; None if there are none."""
        born = int((world.plan.in_links[self._first_born :] >= self._authority).sum())
        return len(self.new_authorities) / born if born else None

    def counts(self) -> Ints:
        return np.array([len(links) for links in self._shown], dtype=np.int64)

    def look(self, row: int, world: SyntheticWorld) -> tuple[int, int]:
        """How many links are new on a page, and how many links to their targets have been seen in all."""
        links = set(world.links_of(self._numbers[row])[0].tolist())
        new = links - self._shown[row]
        self._shown[row] = links
        for target in new:
            self._in_links[target] = self._in_links.get(target, 0) + 1
            if target >= self._first_born:
                self.new_pages.add(target)
                if world.plan.in_links[target] >= self._authority:
                    self.new_authorities.add(target)
        return len(new), sum(self._in_links[target] for target in new)


def keep_up(
    evolution: Evolution,
    policy: RefreshPolicy,
    *,
    budget: int,
    rates: str,
    measured_from: int,
    authority: float | None,
) -> Mapping[str, Plain]:
    """How fresh a policy keeps the pages with so many looks a day, from some day on to the end.

    rates: `KNOWN` tells the policy the true ones, `ESTIMATED` those that its own looks suggest, `UNASKED` none.
    authority: in-links from which a new page is an authority; None reads no links, for policies that need none.
    """
    fetched = Fetched(evolution, rates=rates)
    links = None if authority is None else LinksSeen(evolution, authority=authority)
    if links is not None:
        fetched.out_links += links.counts()
    fresh_days, found_changed, looks = np.zeros(len(evolution)), 0, 0
    weight = evolution.importance / evolution.importance.sum()
    curve = []
    for day in range(1, evolution.days):
        curve.append(float(weight @ (fetched.stale_from > day)))
        rows = policy.choose(fetched.table(), float(day), budget)
        since = np.maximum(fetched.looked_at[rows], measured_from)
        fresh_days[rows] += np.maximum(0.0, np.minimum(fetched.stale_from[rows], day) - since)
        waited = day - fetched.looked_at[rows]
        changed = fetched.look(rows, float(day))
        looks += len(rows)
        found_changed += int(changed.sum())
        if links is not None:
            world = evolution.world.at(float(day))
            for row, days in zip(rows.tolist(), waited.tolist(), strict=True):
                new, score = links.look(row, world)
                fetched.out_links[row] += new
                fetched.yielded[row], fetched.link_score[row] = new / days, score
    since = np.maximum(fetched.looked_at, measured_from)
    fresh_days += np.maximum(0.0, np.minimum(fetched.stale_from, evolution.days) - since)
    fresh = fresh_days / (evolution.days - measured_from)
    return {
        "freshness": float(fresh.mean()),
        "weighted_freshness": float(weight @ fresh),
        "looks": looks,
        "found_changed": found_changed,
        "new_pages": None if links is None else len(links.new_pages),
        "new_authorities": None if links is None else len(links.new_authorities),
        "authorities_found": None if links is None else links.share_found(evolution.world.at(float(evolution.days))),
        "curve": [round(value, 5) for value in curve],
    }
