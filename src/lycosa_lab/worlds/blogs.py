"""Random graphs of blogs: `BlogGraph` without times, `BlogPosts` with times, by the same link process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lycosa.standing.graph_files import Graph, graph_from_edges
from lycosa.vocabulary.records import JsonValue

from .graphs import LinkGraph
from .timed_graphs import DAY, TimedLinkGraph, TimedLinks, sort_timed_links

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Generator = np.random.Generator


# The link process


@dataclass(frozen=True)
class LinkShares:
    """The shares of links by kind; the rest leads to random blogs.

    again: to a blog that the blog has linked to before.
    onward: to a blog that is linked to by a blog it links to.
    back: to a blog that links to it.
    copied: to the target of a recent link of any blog.
    at_home: of the copied and the random links, the share that stays in the community of the blog.
    """

    again: float = 0.0
    onward: float = 0.3
    back: float = 0.1
    copied: float = 0.4
    at_home: float = 0.7

    def __post_init__(self) -> None:
        if min(self.again, self.onward, self.back, self.copied) < 0 or self.sum > 1:
            raise ValueError("shares of links must not be negative, nor come to more than 1")

    @property
    def sum(self) -> float:
        return self.again + self.onward + self.back + self.copied


class _Neighbours:
    """Links grouped by one of their ends, to sample the other end from."""

    def __init__(self, ends: Ints, others: Ints, size: int):
        self._starts = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=size), out=self._starts[1:])
        self._others = others[np.argsort(ends, kind="stable")]

    def sample(self, nodes: Ints, rng: Generator) -> Ints:
        """For each node a random neighbour, -1 where it has none."""
        starts = self._starts[nodes]
        counts = self._starts[nodes + 1] - starts
        places = starts + (rng.random(len(nodes)) * counts).astype(np.int64)
        found = np.full(len(nodes), -1, np.int64)
        has_any = counts > 0
        found[has_any] = self._others[places[has_any]]
        return found


def _link_targets(
    sources: Ints,
    ends: Ints,
    recent: Ints,
    born: Ints,
    community: Ints,
    pool: Ints,
    ended: Ints | None,
    shares: LinkShares,
    rng: Generator,
) -> Ints:
    """The targets of links, given their sources in order of time. Links are made in rounds; each sees the earlier ones.

    ends: for each round, the index at which its links end.
    recent: for each round, the index of the first link that it may copy.
    born: for each round, how many blogs exist; blogs are numbered by birth.
    community: the number of the community of each blog.
    pool: sorted numbers of blogs, repeated in proportion to the probability that a random link leads to them.
    ended: the round in which each blog ends, if some do; no link leads to it from then on.
    """
    targets = np.zeros(len(sources), np.int64)
    size = int(max(born.max(), sources.max() + 1))
    cumulative = np.cumsum([shares.again, shares.onward, shares.back, shares.copied])
    communities = int(community.max()) + 1
    pool_by_community = _Neighbours(community[pool], pool, communities)
    begin = 0
    for number, end in enumerate(ends.tolist()):
        by = sources[begin:end]
        home = np.where(rng.random(len(by)) < shares.at_home, community[by], -1)
        found = _random_targets(pool, pool_by_community, home, int(born[number]), rng)
        if begin:
            out_links = _Neighbours(sources[:begin], targets[:begin], size)
            in_links = _Neighbours(targets[:begin], sources[:begin], size)
            start = min(int(recent[number]), begin - 1)
            recent_targets = targets[start:begin]
            by_community = _Neighbours(community[sources[start:begin]], recent_targets, communities)
            ways = np.searchsorted(cumulative, rng.random(len(by)), side="right")
            again, onward, backward, copied = (np.flatnonzero(ways == way) for way in range(4))
            _put(found, again, out_links.sample(by[again], rng))
            read = out_links.sample(by[onward], rng)
            _put(found, onward, np.where(read < 0, -1, out_links.sample(np.maximum(read, 0), rng)))
            _put(found, backward, in_links.sample(by[backward], rng))
            _put(found, copied, _copied_targets(recent_targets, by_community, home[copied], rng))
        if ended is not None:
            is_over = ended[found] <= number
            found[is_over] = _random_targets(pool, pool_by_community, home[is_over], int(born[number]), rng)
        targets[begin:end] = found
        begin = end
    return targets


def _random_targets(pool: Ints, by_community: _Neighbours, home: Ints, born: int, rng: Generator) -> Ints:
    """For each community a blog of it from the pool; any blog where that one is not born yet, or `home` is -1."""
    count = max(1, int(np.searchsorted(pool, born)))
    found = pool[(rng.random(len(home)) * count).astype(np.int64)]
    at_home = np.flatnonzero(home >= 0)
    sampled = by_community.sample(home[at_home], rng)
    _put(found, at_home, np.where(sampled < born, sampled, -1))
    return found


def _copied_targets(recent: Ints, by_community: _Neighbours, home: Ints, rng: Generator) -> Ints:
    """For each community the target of one of its recent links; of any recent link where it has none, or is -1."""
    found = recent[(rng.random(len(home)) * len(recent)).astype(np.int64)]
    at_home = np.flatnonzero(home >= 0)
    _put(found, at_home, by_community.sample(home[at_home], rng))
    return found


def _put(found: Ints, places: Ints, values: Ints) -> None:
    """Writes the values that are not -1 to their places."""
    found[places[values >= 0]] = values[values >= 0]


def _pareto(quantiles: Floats, exponent: float) -> Floats:
    """The quantiles (0 to 1) of a Pareto distribution, given the exponent of its density."""
    return np.asarray((1.0 - quantiles) ** (-1.0 / (exponent - 1.0)), dtype=np.float64)


def _sample_by_weight(weights: Floats, count: int, rng: Generator) -> Ints:
    """`count` indices, each drawn in proportion to its weight."""
    sums = np.cumsum(weights)
    drawn: Ints = np.minimum(np.searchsorted(sums, rng.random(count) * sums[-1]), len(weights) - 1)
    return drawn


# Without times

ROUNDS = 60
FIRST_BLOGS = 60  # blogs born in the first round
SPARE = 1.12  # links made for each that is kept, because duplicates and self-links are dropped
ONLY_LINKED = 0.3  # share of blogs that exist because they are linked to; the others exist because they link


class BlogGraph(LinkGraph):
    """A graph of blogs of any size, with heavy-tailed in- and out-degrees.

    It grows: blogs are born one after the other, and each makes links, few or very many, from its birth on. A link
    leads to a blog linked from one it links to (onward), to one that links to it (back), to the target of another link
    (copied: preferential attachment), or to a random blog; of the last two kinds most stay in the blog's community.
    Every blog has a link or is linked to; there are no self-links and no duplicates.

    onward, back, copied, at_home: shares of links, see `LinkShares`.
    communities: how many; their sizes are heavy-tailed too. One for 700 blogs unless given.
    activity: exponent of the density of the number of links of a blog.
    """

    name = "blogs"

    def __init__(
        self,
        *,
        nodes: int = 343_743,
        links: int = 1_571_772,
        seed: int = 1,
        onward: float = 0.25,
        back: float = 0.15,
        copied: float = 0.5,
        at_home: float = 0.7,
        communities: int | None = None,
        activity: float = 2.6,
    ):
        if nodes < 2:
            raise ValueError("nodes must be 2 or more")
        if not nodes <= links <= nodes * (nodes - 1) // 4:
            raise ValueError(f"links must be from {nodes} to {nodes * (nodes - 1) // 4}")
        if not activity > 1:
            raise ValueError("activity must be more than 1")
        rng = np.random.default_rng([seed, 5])
        shares = LinkShares(onward=onward, back=back, copied=copied, at_home=at_home)
        count = max(1, nodes // 700) if communities is None else communities
        shape = {"onward": onward, "back": back, "copied": copied, "at_home": at_home, "communities": count}
        options = {"seed": seed, **shape, "activity": activity}
        super().__init__(_grow(nodes, links, shares, activity, count, rng), options=options)

    @classmethod
    def load(cls, folder: Path) -> LinkGraph:
        world = LinkGraph.load(folder)
        world.name = cls.name
        return world


def _grow(size: int, links: int, shares: LinkShares, activity: float, communities: int, rng: Generator) -> Graph:
    community = _sample_by_weight(_pareto(rng.random(communities), 2.0), size, rng)
    weights = _pareto(rng.random(size), activity)
    linking = np.flatnonzero(rng.random(size) >= ONLY_LINKED)  # blogs that exist because they link
    linked = np.setdiff1d(np.arange(size), linking)
    more = _sample_by_weight(weights, int((links - size) * SPARE), rng)
    births = np.arange(size) / size
    times = births[more] + (1.0 - births[more]) * rng.random(len(more))
    sources = np.concatenate([linking, _sample_by_weight(weights, len(linked), rng), more])
    times = np.concatenate([births[linking], births[linked], times])
    given = np.concatenate([np.full(len(linking), -1), linked, np.full(len(more), -1)])  # targets; -1: to be drawn
    order = np.argsort(times, kind="stable")
    sources, times, given = sources[order], times[order], given[order]
    rounds = np.geomspace(min(1.0, FIRST_BLOGS / size), 1.0, ROUNDS)
    ends = np.searchsorted(times, rounds, side="right")
    born = np.maximum(2, np.ceil(rounds * size)).astype(np.int64)
    recent = np.zeros(ROUNDS, np.int64)
    targets = _link_targets(sources, ends, recent, born, community, np.arange(size), None, shares, rng)
    targets = np.where(given >= 0, given, targets)
    is_needed = np.zeros(len(order), np.bool_)
    is_needed[np.flatnonzero(order < size)] = True
    sources, targets = _distinct(sources, targets, is_needed, size, links, rng)
    shuffled = rng.permutation(size)
    sources, targets = shuffled[sources], shuffled[targets]
    order = np.lexsort((rng.random(links), sources))
    return graph_from_edges(sources[order].astype(np.int32), targets[order].astype(np.int32), size)


def _distinct(
    sources: Ints, targets: Ints, is_needed: NDArray[np.bool_], size: int, links: int, rng: Generator
) -> tuple[Ints, Ints]:
    """`links` distinct links, the needed ones among them, without self-links."""
    is_self_link = (sources == targets) & is_needed
    targets = np.where(is_self_link, (targets + 1 + rng.integers(size - 1, size=len(targets))) % size, targets)
    keys = sources * size + targets
    keys, is_needed = keys[sources != targets], is_needed[sources != targets]
    needed = np.unique(keys[is_needed])
    others = np.setdiff1d(keys[~is_needed], needed)
    while len(needed) + len(others) < links:
        missing = 2 * (links - len(needed) - len(others))
        ends = rng.integers(size, size=(2, missing))
        found = (ends[0] * size + ends[1])[ends[0] != ends[1]]
        others = np.union1d(others, np.setdiff1d(found, needed))
    kept = np.concatenate([needed, rng.permutation(others)[: links - len(needed)]])
    return kept // size, kept % size


# With times

ROUNDS_PER_DAY = 4
RECENT = 2 * ROUNDS_PER_DAY  # rounds for which a link may be copied
WARM_UP = 14.0  # days simulated before the first one, so that some blogs are well known by then
NIGHT = 0.6  # depth of the daily cycle: 0 no cycle, 1 no links at midnight
FIRST_DAY = 1_146_700_800.0  # 4 May 2006; arbitrary


class BlogPosts(TimedLinkGraph):
    """Blogs that post over some days; a part of them, the linkers, link to other blogs.

    A link leads to a blog linked to before (again), to one linked from a blog it links to (onward), to one that links
    to it (back), to one that others linked to in the last two days (copied), which makes bursts of links, or to a
    random blog, by its renown, every other time a linker; of the last two kinds most stay in the blog's community.
    Some blogs begin after the first day, some end before the last and are no longer linked to. There are fewer links
    at night. Two weeks are simulated before the first day; their links influence later ones but are left out.

    again, onward, back, copied, at_home: shares of links, see `LinkShares`.
    newcomers, departures: shares of the blogs that begin, and that end, within the time that is observed.
    communities: how many; one for 30 000 blogs unless given.
    linkers: share of the blogs that link at all.
    activity: exponent of the density of the number of links of a linker.
    renown: exponent of the density of how well blogs are known; for half of the blogs it goes with their activity.
    """

    name = "blog-posts"
    settings: Mapping[str, JsonValue] = MappingProxyType({})  # the keywords it was made with; empty if it was loaded

    def __init__(
        self,
        *,
        nodes: int = 3_000_000,
        links: int = 340_000,
        days: float = 24.0,
        seed: int = 1,
        again: float = 0.15,
        onward: float = 0.2,
        back: float = 0.05,
        copied: float = 0.35,
        at_home: float = 0.7,
        newcomers: float = 0.3,
        departures: float = 0.2,
        communities: int | None = None,
        linkers: float = 0.15,
        activity: float = 2.6,
        renown: float = 2.1,
    ):
        if nodes < 2 or links < 2:
            raise ValueError("nodes and links must be 2 or more")
        if not days > 0:
            raise ValueError("days must be more than 0")
        if not (activity > 1 and renown > 1):
            raise ValueError("activity and renown must be more than 1")
        if not (0 <= newcomers <= 1 and 0 <= departures <= 1 and 0 < linkers <= 1):
            raise ValueError("newcomers, departures and linkers must be from 0 to 1")
        count = max(1, nodes // 30_000) if communities is None else communities
        shape = {"again": again, "onward": onward, "back": back, "copied": copied, "at_home": at_home}
        shares = LinkShares(**shape)
        rng = np.random.default_rng([seed, 6])
        lifetimes = _lifetimes(nodes, days, newcomers, departures, rng)
        quantiles = rng.random((2, nodes))
        fame = _pareto(np.where(rng.random(nodes) < 0.5, quantiles[0], quantiles[1]), renown)
        is_linker = rng.random(nodes) < linkers
        is_linker[rng.integers(nodes)] = True  # there is at least one
        rates = np.where(is_linker, _pareto(quantiles[0], activity), 0.0)
        community = _sample_by_weight(_pareto(rng.random(count), 2.0), nodes, rng)
        timed = _simulate_posts(links, days, lifetimes, fame, rates, community, shares, rng)
        ways = {"newcomers": newcomers, "departures": departures, "communities": count}
        given: dict[str, JsonValue] = {"nodes": nodes, "links": links, "days": days, "communities": communities}
        options = {"seed": seed, **shape, **ways, "linkers": linkers, "activity": activity, "renown": renown}
        super().__init__(timed, options=options)
        self.settings = {**options, **given}

    def with_seed(self, seed: int) -> "BlogPosts":
        """A world made with the same settings and another seed."""
        return BlogPosts(**{**self.settings, "seed": seed})


def _lifetimes(size: int, days: float, newcomers: float, departures: float, rng: Generator) -> tuple[Floats, Floats]:
    """The day on which each blog begins, sorted, and the day on which it ends."""
    is_new = rng.random(size) < newcomers
    births = np.sort(np.where(is_new, rng.random(size) * days, -WARM_UP))
    ends = np.where(rng.random(size) < departures, births + rng.random(size) * (days - births), days)
    return births, ends


def _simulate_posts(
    links: int,
    days: float,
    lifetimes: tuple[Floats, Floats],
    fame: Floats,
    rates: Floats,
    community: Ints,
    shares: LinkShares,
    rng: Generator,
) -> TimedLinks:
    births, ends = lifetimes
    size, durations = len(births), ends - births
    observed = np.minimum(durations, ends.clip(0.0))  # days from the first day on
    surplus = float((rates * durations).sum() / (rates * observed).sum())  # links simulated for each observed one
    count = round(links * surplus * 1.02 + 6 * links**0.5) + 10
    sources = _sample_by_weight(rates * durations, count, rng)
    moments = births[sources] + durations[sources] * rng.random(count)  # in days
    order = np.argsort(moments, kind="stable")
    order = np.delete(order, _sample_excess(moments[order] >= 0, links, rng))
    sources, moments = sources[order], moments[order]
    rounds = np.arange(-WARM_UP, days, 1 / ROUNDS_PER_DAY) + 1 / ROUNDS_PER_DAY
    closes = np.searchsorted(moments, rounds, side="right")
    closes[-1] = len(order)
    recent = np.concatenate([np.zeros(RECENT, np.int64), closes])[: len(closes)]
    born = np.maximum(2, np.searchsorted(births, rounds, side="left"))
    ended = np.where(ends < days, np.searchsorted(rounds, ends), len(rounds) + 1)
    weights = (fame, np.where(rates > 0, fame, 0.0))  # of all blogs, and of linkers only
    pool = np.sort(np.concatenate([_sample_by_weight(each, max(1_000, size // 5), rng) for each in weights]))
    targets = _link_targets(sources, closes, recent, born, community, pool, ended, shares, rng)
    targets = np.where(targets == sources, (targets + rng.integers(1, size, size=len(targets))) % size, targets)
    shuffled: Ints = rng.permutation(size)
    kept = np.flatnonzero(moments >= 0)
    times = np.round(FIRST_DAY + DAY * _with_daily_cycle(moments[kept]))
    return sort_timed_links(shuffled[sources[kept]], shuffled[targets[kept]], times, size)


def _sample_excess(is_observed: NDArray[np.bool_], links: int, rng: Generator) -> Ints:
    """The indices of random observed links to drop, so that `links` of them are left."""
    observed = np.flatnonzero(is_observed)
    return rng.choice(observed, max(0, len(observed) - links), replace=False)


def _with_daily_cycle(moments: Floats) -> Floats:
    """The moments, in days, shifted within their day so that few lie around midnight; their order stays."""
    day = np.floor(moments)
    steps = np.linspace(0.0, 1.0, 97)
    cumulative = steps - NIGHT / (2 * np.pi) * np.sin(2 * np.pi * steps)  # its slope is lowest at midnight
    return day + np.interp(moments - day, cumulative, steps)
