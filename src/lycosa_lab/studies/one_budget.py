"""How to split one request budget between new pages and refetches of stored pages.

Relevance is the ground truth of the world, not a classifier's, so that only the split is studied. Links to new pages
are found only by refetching known pages. Authorities are the most linked pages of the topic; a page is held while it is
stored, and fresh while it has not changed since its last fetch.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from lycosa.frontier.sequential import SequentialFrontier
from lycosa.loop import Loop
from lycosa.pictures import Series, line_chart
from lycosa.reading.words import FoldedWords
from lycosa.refresh import CrawlValue, Observation, RefreshPolicy, history_of
from lycosa.strategies import Utility
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import (
    REFRESH,
    RELEVANT,
    Candidate,
    Change,
    Fetch,
    JsonValue,
    Link,
    Outcome,
    Page,
    Url,
    Visit,
)
from lycosa_lab.freshness import require_synthetic
from lycosa_lab.results import Claim, Figure, Findings, Row
from lycosa_lab.statistics import summary
from lycosa_lab.study import Size
from lycosa_lab.tables import rounded
from lycosa_lab.topics import topics_of
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ON_TOPIC, NEAR_TOPIC, OFF_TOPIC = 0.9, 0.4, 0.1  # relevance of pages of the topic, of its siblings, of the rest
AUTHORITY_QUANTILE = 0.9  # of the topic's in-links from which a page is an authority
UNKNOWN_RATE = 0.02  # changes per day, assumed until some page was fetched twice
_NO_WORDS = FoldedWords(b"", stem="porter")


class DailyWorlds:
    """The states of a world on each day, computed once. Pages are identified by their numbers.

    worlds: the world on each day, from day 0, the start, on.
    last: the last day.
    """

    def __init__(self, world: SyntheticWorld, days: int):
        self.last = days
        self.worlds = [world.at(float(day)) for day in range(days + 1)]
        self._changes: dict[int, list[float]] = {}

    @property
    def end(self) -> SyntheticWorld:
        return self.worlds[-1]

    @cached_property
    def standing(self) -> Floats:
        """The standing of every page of all days, 0 to 1: sigmoid(s - median of s), with s = ln(1 + in-links)."""
        status = np.log1p(self.end.plan.in_links.astype(np.float64))
        weights: Floats = 1.0 / (1.0 + np.exp(np.median(status) - status))
        return weights

    @cached_property
    def _exists(self) -> list[Bools]:
        """Which pages exist on each day."""
        days = []
        for world in self.worlds:
            exists = np.zeros(len(self.end.plan), dtype=np.bool_)
            exists[world.numbers()] = True
            days.append(exists)
        return days

    def exists(self, day: int) -> Bools:
        """Which pages exist on a day."""
        return self._exists[day]

    def relevance(self, topic: str) -> Floats:
        """The relevance of every page to a topic."""
        top = topic.partition("/")[0]
        by_topic = [
            ON_TOPIC if name == topic else NEAR_TOPIC if name.partition("/")[0] == top else OFF_TOPIC
            for name in self.end.topics
        ]
        return np.array(by_topic)[self.end.plan.topic]

    def next_change(self, number: int, day: float) -> float:
        """When the text of a page first changes after a day; infinity if it does not before the end."""
        changes = self._changes.get(number)
        if changes is None:
            changes = self._changes[number] = self.end.changes(number).tolist()
        place = bisect_right(changes, day)
        return changes[place] if place < len(changes) else np.inf


class SimulatedCollection:
    """A collection in a simulated crawl: the stored pages, their histories, and the frontier."""

    def __init__(self, daily_worlds: DailyWorlds, topic: str, strategy: Strategy):
        self._daily_worlds, self.relevance = daily_worlds, daily_worlds.relevance(topic)
        self._importance = self.relevance * daily_worlds.standing
        self._frontier = SequentialFrontier()
        self._loop = Loop(strategy, self._frontier)
        self.stale_from: dict[int, float] = {}  # of each stored page, the day from which its copy is outdated
        self._links: dict[int, frozenset[Url]] = {}  # of the stored versions
        self._observations: list[Observation] = []

    def start(self, seeds: Sequence[int]) -> None:
        self._loop.start(cast("Sequence[Url]", seeds))

    def expand(self, day: int) -> bool:
        """Fetches the best waiting page; returns whether there was one."""
        candidate = self._frontier.take()
        if candidate is not None:
            self._fetch(candidate, day)
        return candidate is not None

    def refresh(self, policy: RefreshPolicy, day: int, requests: int) -> int:
        """Refetches stored pages; returns their number."""
        observations = [each for each in self._observations if cast("int", each.url) in self.stale_from]
        importance = {each.url: float(self._importance[cast("int", each.url)]) for each in observations}
        table = history_of(observations, importance=importance, unknown_rate=UNKNOWN_RATE)
        rows = policy.choose(table, float(day), requests).tolist()
        for row in rows:
            self._fetch(Candidate(table.urls[row], 0.0, lane=REFRESH), day)
        return len(rows)

    def _fetch(self, candidate: Candidate, day: int) -> None:
        does_exist = self._daily_worlds.exists(day)[cast("int", candidate.url)]
        fetch = Fetch(candidate.url, Outcome.OK if does_exist else Outcome.GONE, float(day))
        self._loop.step(candidate, fetch, self._assess)

    def _assess(self, candidate: Candidate, fetch: Fetch) -> Visit:
        """Stores the page as it is on the day, or drops it if it no longer exists."""
        url, number, day = candidate.url, cast("int", candidate.url), int(fetch.at)
        is_refetch = candidate.lane == REFRESH
        if fetch.outcome is Outcome.GONE:
            self.stale_from.pop(number, None)
            return Visit(candidate, fetch, change=Change.VANISHED if is_refetch else None)
        targets = cast("list[Url]", self._daily_worlds.worlds[day].links_of(number).targets.tolist())
        visit = Visit(
            candidate,
            fetch,
            Page(url, "", "", "", _NO_WORDS, tuple(map(Link, targets))),
            float(self.relevance[number]),
            standing=float(self._daily_worlds.standing[number]),
        )
        has_changed = self.stale_from.get(number, np.inf) <= day
        if is_refetch:
            before = self._links[number]
            new_links = tuple(dict.fromkeys(target for target in targets if target not in before))
            change = Change.CHANGED if has_changed or new_links else Change.UNCHANGED
            visit = replace(visit, change=change, new_links=new_links)
        self._links[number] = frozenset(targets)
        self._observations.append(Observation(url, fetch.at, changed=has_changed))
        self.stale_from[number] = self._daily_worlds.next_change(number, day)
        return visit


def simulate_budget_split(
    daily_worlds: DailyWorlds,
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
) -> dict[str, JsonValue]:
    """Measures of a collection that starts with `start_pages` pages and makes `requests` requests a day.

    Each request is for a new page with probability `expand`, otherwise for a stored page; if one kind has nothing left
    to fetch, the other gets its requests.

    seeds: numbers of the pages from which it starts.
    measured_from: the first day of which the collection counts.
    seed: of the random choices.
    """
    rng = np.random.default_rng(seed)
    collection = SimulatedCollection(daily_worlds, topic, strategy)
    collection.start(seeds)
    while len(collection.stale_from) < start_pages and collection.expand(0):
        pass
    measured = []
    for day in range(1, daily_worlds.last + 1):
        refetches = requests - int(rng.binomial(requests, expand))
        spent = collection.refresh(policy, day, refetches)
        while spent < requests and collection.expand(day):
            spent += 1
        if spent < requests:
            collection.refresh(policy, day, requests - spent)
        if day >= measured_from:
            measured.append(_holdings(collection, daily_worlds, day))
    held, fresh, worth = (float(column) for column in np.mean(np.array(measured), axis=0))
    return {"held": held, "fresh": fresh, "worth": worth, **_authorities(collection, daily_worlds)}


def _holdings(collection: SimulatedCollection, daily_worlds: DailyWorlds, day: int) -> tuple[int, int, float]:
    """Of a day: the number of stored relevant pages that exist, of fresh ones among them, and the sum of the standing
    of these."""
    numbers = np.array(list(collection.stale_from), dtype=np.int64)
    stale_from = np.array(list(collection.stale_from.values()))
    good = (collection.relevance[numbers] >= RELEVANT) & daily_worlds.exists(day)[numbers]
    fresh = good & (stale_from > day)
    return int(good.sum()), int(fresh.sum()), float(daily_worlds.standing[numbers[fresh]].sum())


def _authorities(collection: SimulatedCollection, daily_worlds: DailyWorlds) -> dict[str, JsonValue]:
    """The share of the topic's authorities that are stored at the end, and of those created since the start."""
    in_links = daily_worlds.end.plan.in_links
    on_topic = (collection.relevance >= RELEVANT) & daily_worlds.exists(daily_worlds.last)
    are_authorities = on_topic & (in_links >= np.quantile(in_links[on_topic], AUTHORITY_QUANTILE))
    held = np.zeros(len(are_authorities), dtype=np.bool_)
    held[list(collection.stale_from)] = True
    is_new = np.arange(len(are_authorities)) >= len(daily_worlds.worlds[0].plan)
    return {
        "authorities": float(held[are_authorities].mean()),
        "new_authorities": float(held[are_authorities & is_new].mean()) if (are_authorities & is_new).any() else None,
    }


# Of the relevant pages: standing of the fresh ones summed, numbers of fresh and of stored ones, and the share of the
# stored ones that is fresh; of the authorities, and of those created since the start: the share that is stored.
MEASURES = ("worth", "fresh", "held", "freshness", "authorities", "new_authorities")
CURVES = {"pages fresh": "freshness", "authorities held": "authorities", "new ones held": "new_authorities"}
SUFFICIENT_SHARE = 0.95  # of the value at the best share


class OneBudget:
    name = "one-budget"
    summary = "How the split of one budget between new pages and known ones changes what a collection is worth."
    scales: Mapping[str, Size] = {
        "small": {
            "world_pages": 8_000,
            "topics": 3,
            "start_pages": 150,
            "days": 60,
            "budgets": [0.05, 0.1, 0.2],  # requests a day, as a share of the pages at the start
            "expand": [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0],  # shares of requests for new pages
        },
        "paper": {
            "world_pages": 20_000,
            "topics": 6,
            "start_pages": 150,
            "days": 120,
            "budgets": [0.05, 0.1, 0.2],
            "expand": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        },
    }

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        return {"pages": size["world_pages"], "topics": 8}

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        return [
            {"topic": topic.name, "budget": budget, "expand": expand, "seed": seed}
            for topic in topics_of(require_synthetic(world), size["topics"])
            for budget in size["budgets"]
            for expand in size["expand"]
        ]

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> tuple[DailyWorlds, Size]:
        return DailyWorlds(require_synthetic(world), size["days"]), size

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        daily_worlds, size = prepared
        (topic,) = (each for each in topics_of(world, size["topics"]) if each.name == job["topic"])
        numbers = [daily_worlds.worlds[0].number(url) for url in topic.seeds]
        measured = simulate_budget_split(
            daily_worlds,
            topic.name,
            [number for number in numbers if number is not None],
            strategy=Utility(),
            policy=CrawlValue(seed=job["seed"]),
            start_pages=size["start_pages"],
            requests=max(1, round(job["budget"] * size["start_pages"])),
            expand=job["expand"],
            measured_from=size["days"] - size["days"] // 4,
            seed=job["seed"],
        )
        return {**job, **measured, "freshness": measured["fresh"] / max(1.0, measured["held"])}

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        rows = _rows(outcomes)
        return Findings(
            claims=[_best_split(rows)],
            tables={"splits": rows, "topics": list(outcomes)},
            figures={"worth": _value_figure(rows), "found": _found_figure(rows)},
        )


def _rows(outcomes: Sequence[JsonValue]) -> list[Row]:
    """Means over topics of each budget and split, and their share of the best split of the same budget."""
    rows: list[dict[str, JsonValue]] = []
    for budget, expand in dict.fromkeys((each["budget"], each["expand"]) for each in outcomes):
        same = [each for each in outcomes if (each["budget"], each["expand"]) == (budget, expand)]
        known = {name: [each[name] for each in same if each[name] is not None] for name in MEASURES}
        worth = summary(known["worth"])
        rows.append(
            {
                "budget": budget,
                "expand": expand,
                **{name: rounded(summary(values).mean) for name, values in known.items()},
                "worth_standard_error": rounded(worth.standard_error),
                "topics": len(same),
            }
        )
    best = {budget: max(row["worth"] for row in rows if row["budget"] == budget) for budget in _budgets(rows)}
    return [{**row, "share_of_best": rounded(row["worth"] / best[row["budget"]])} for row in rows]


def _best_split(rows: Sequence[Row]) -> Claim:
    recommended = _recommended(rows)
    splits = []
    for budget in _budgets(rows):
        own = [row for row in rows if row["budget"] == budget]
        best = max(own, key=lambda row: row["worth"])
        near = [row["expand"] for row in own if row["share_of_best"] >= SUFFICIENT_SHARE]
        splits.append(
            f"at {budget:.0%} a day {best['expand']:g} (at least {SUFFICIENT_SHARE:.0%} of its worth from {min(near):g}"
            f" to {max(near):g}; {own[0]['share_of_best']:.0%} at {own[0]['expand']:g}, {own[-1]['share_of_best']:.0%}"
            f" at {own[-1]['expand']:g})"
        )
    return Claim(
        id="one-budget.best-split",
        kind="beyond",
        text="The share of requests spent on new pages at which the fresh pages on the topic are worth most, for each"
        " budget (requests a day, of the pages at the start), and the one share that is best for all of them",
        paper=None,
        measured=f"{'; '.join(splits)}; for all budgets {recommended:g}",
        holds=None,
    )


def _recommended(rows: Sequence[Row]) -> float:
    """The share of requests for new pages whose value, relative to the best of each budget, has the highest mean."""
    shares = list(dict.fromkeys(row["expand"] for row in rows))
    mean = {share: summary(row["share_of_best"] for row in rows if row["expand"] == share).mean for share in shares}
    return float(max(shares, key=lambda share: mean[share]))


def _value_figure(rows: Sequence[Row]) -> Figure:
    title = "What a collection is worth, by the share of requests for new pages"
    series = [
        Series(
            f"{budget:.0%} a day",
            [(row["expand"], row["share_of_best"]) for row in rows if row["budget"] == budget],
        )
        for budget in _budgets(rows)
    ]
    return Figure(
        title,
        "The standing of all fresh pages on the topic, summed, in the last quarter of the days, as a share of that of"
        " the best split; means over topics. Budgets are requests a day, of the pages at the start.",
        line_chart(series, title=title, x_title="share of requests for new pages", y_title="worth, of the best"),
    )


def _found_figure(rows: Sequence[Row]) -> Figure:
    budget = _budgets(rows)[len(_budgets(rows)) // 2]
    own = [row for row in rows if row["budget"] == budget]
    series = [
        Series(name, [(row["expand"], row[column]) for row in own if row[column] is not None])
        for name, column in CURVES.items()
    ]
    title = f"Freshness and authorities, {budget:.0%} a day"
    return Figure(
        title,
        "Of the pages on the topic that are held, the share that is fresh; of the topic's authorities, and of those of"
        " them born since the start, the share that is held. Only who looks again sees the links to new pages.",
        line_chart(series, title=title, x_title="share of requests for new pages", y_title="share"),
    )


def _budgets(rows: Sequence[Mapping[str, JsonValue]]) -> list[float]:
    return list(dict.fromkeys(row["budget"] for row in rows))
