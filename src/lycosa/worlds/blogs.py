"""Random graphs of blogs, one without times and one whose links have times; both are made by the same link process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lycosa.standing.graph_files import Graph, graph_from_edges
from lycosa.vocabulary.records import Plain

from .graphs import LinkGraph
from .timed_graphs import DAY, TimedLinkGraph, TimedLinks, sort_timed_links

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True)
class LinkShares:
    """Of all links, the shares that are made in each way; the rest leads to any blog there is.

    again: to a blog that the blog has linked to before.
    onward: to a blog that a blog it links to links to.
    back: to a blog that links to it.
    copied: to whatever a link of late leads to, a blog in the talk of the day.
    at_home: of those that are copied or lead anywhere, the share that stays in the community of the blog.
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
    """Some links by one of their ends, of which any may be drawn."""

    def __init__(self, ends: Ints, others: Ints, size: int):
        self._starts = np.zeros(size + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=size), out=self._starts[1:])
        self._others = others[np.argsort(ends, kind="stable")]

    def drawn(self, nodes: Ints, chance: Generator) -> Ints:
        """For each node any of those at the other end of its links, -1 where it has none."""
        starts = self._starts[nodes]
        counts = self._starts[nodes + 1] - starts
        places = starts + (chance.random(len(nodes)) * counts).astype(np.int64)
        found = np.full(len(nodes), -1, np.int64)
        has_any = counts > 0
        found[has_any] = self._others[places[has_any]]
        return found


def _link_targets(
    sources: Ints,
    ends: Ints,
    lately: Ints,
    born: Ints,
    community: Ints,
    pool: Ints,
    gone: Ints | None,
    habits: LinkShares,
    chance: Generator,
) -> Ints:
    """What each of the links leads to, given who makes them in the order of time.

    ends: where each round of links ends; what a round finds is what the rounds before it made.
    lately: where the links begin that a round may copy.
    born: how many blogs there are in each round; they are numbered by birth.
    community: of each blog, as a number.
    pool: blogs, in their order, each as often as it is likely to be met by a link that leads anywhere.
    gone: the round in which each blog ends, where some do; no link leads there any more.
    """
    targets = np.zeros(len(sources), np.int64)
    size = int(max(born.max(), sources.max() + 1))
    shares = np.cumsum([habits.again, habits.onward, habits.back, habits.copied])
    communities = int(community.max()) + 1
    at_homes = _Neighbours(community[pool], pool, communities)
    begin = 0
    for number, end in enumerate(ends.tolist()):
        by = sources[begin:end]
        home = np.where(chance.random(len(by)) < habits.at_home, community[by], -1)
        found = _anyone(pool, at_homes, home, int(born[number]), chance)
        if begin:
            forth = _Neighbours(sources[:begin], targets[:begin], size)
            back = _Neighbours(targets[:begin], sources[:begin], size)
            start = min(int(lately[number]), begin - 1)
            talk = targets[start:begin]
            by_community = _Neighbours(community[sources[start:begin]], talk, communities)
            ways = np.searchsorted(shares, chance.random(len(by)), side="right")
            again, onward, backward, copied = (np.flatnonzero(ways == way) for way in range(4))
            _put(found, again, forth.drawn(by[again], chance))
            read = forth.drawn(by[onward], chance)
            _put(found, onward, np.where(read < 0, -1, forth.drawn(np.maximum(read, 0), chance)))
            _put(found, backward, back.drawn(by[backward], chance))
            _put(found, copied, _copied(talk, by_community, home[copied], chance))
        if gone is not None:
            is_over = gone[found] <= number
            found[is_over] = _anyone(pool, at_homes, home[is_over], int(born[number]), chance)
        targets[begin:end] = found
        begin = end
    return targets


def _anyone(pool: Ints, by_community: _Neighbours, home: Ints, born: int, chance: Generator) -> Ints:
    """For each number of a community a blog of it, where one was met that is born; else any that is."""
    there = max(1, int(np.searchsorted(pool, born)))
    found = pool[(chance.random(len(home)) * there).astype(np.int64)]
    at_home = np.flatnonzero(home >= 0)
    met = by_community.drawn(home[at_home], chance)
    _put(found, at_home, np.where(met < born, met, -1))
    return found


def _copied(talk: Ints, by_community: _Neighbours, home: Ints, chance: Generator) -> Ints:
    """For each number of a community what one of its links leads to; one of any where it has none, or is -1."""
    found = talk[(chance.random(len(home)) * len(talk)).astype(np.int64)]
    at_home = np.flatnonzero(home >= 0)
    _put(found, at_home, by_community.drawn(home[at_home], chance))
    return found


def _put(found: Ints, places: Ints, values: Ints) -> None:
    """Takes over the values that are known."""
    found[places[values >= 0]] = values[values >= 0]


def _pareto(places: Floats, exponent: float) -> Floats:
    """What each has, from where it stands in the order (0 to 1, the last has most): Pareto, with this
    exponent of the density."""
    return np.asarray((1.0 - places) ** (-1.0 / (exponent - 1.0)), dtype=np.float64)


def _sample_by_weight(shares: Floats, count: int, chance: Generator) -> Ints:
    """So many numbers, each in proportion to its share."""
    sums = np.cumsum(shares)
    drawn: Ints = np.minimum(np.searchsorted(sums, chance.random(count) * sums[-1]), len(shares) - 1)
    return drawn


ROUNDS = 60
EARLIEST = 60  # blogs born in the first round
SPARE = 1.12  # links made for each that is kept: some are made twice, some lead a blog to itself
ONLY_LINKED = 0.3  # of the blogs are there because somebody links to them; the others because they link


class BlogGraph(LinkGraph):
    """Blogs and their links, as many as one likes, with heavy-tailed in- and out-degrees.

    It grows: blogs are born one after the other, and each makes links, few or very many, from its birth on. A link
    leads to a blog that a blog read links to (onward), to one that links here (back), to where some other link leads
    (copied), which makes the rich richer, or to any; of the last two kinds most stay in the blog's community. Every
    blog has a link or is linked to; none links to itself, and none twice to the same.

    onward, back, copied, at_home: shares of links, as `LinkShares` has them.
    communities: how many; their sizes are heavy-tailed too. One for 700 blogs unless given.
    activity: exponent of the density of how many links blogs make.
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
        chance = np.random.default_rng([seed, 5])
        habits = LinkShares(onward=onward, back=back, copied=copied, at_home=at_home)
        many = max(1, nodes // 700) if communities is None else communities
        shape = {"onward": onward, "back": back, "copied": copied, "at_home": at_home, "communities": many}
        options = {"seed": seed, **shape, "activity": activity}
        super().__init__(_grown(nodes, links, habits, activity, many, chance), options=options)

    @classmethod
    def load(cls, folder: Path) -> LinkGraph:
        world = LinkGraph.load(folder)
        world.name = cls.name
        return world


def _grown(size: int, links: int, habits: LinkShares, activity: float, communities: int, chance: Generator) -> Graph:
    community = _sample_by_weight(_pareto(chance.random(communities), 2.0), size, chance)
    shares = _pareto(chance.random(size), activity)
    own = np.flatnonzero(chance.random(size) >= ONLY_LINKED)  # those there because they link
    linked = np.setdiff1d(np.arange(size), own)
    more = _sample_by_weight(shares, int((links - size) * SPARE), chance)
    births = np.arange(size) / size
    times = births[more] + (1.0 - births[more]) * chance.random(len(more))
    sources = np.concatenate([own, _sample_by_weight(shares, len(linked), chance), more])
    times = np.concatenate([births[own], births[linked], times])
    asked = np.concatenate([np.full(len(own), -1), linked, np.full(len(more), -1)])
    order = np.argsort(times, kind="stable")
    sources, times, asked = sources[order], times[order], asked[order]
    rounds = np.geomspace(min(1.0, EARLIEST / size), 1.0, ROUNDS)
    ends = np.searchsorted(times, rounds, side="right")
    born = np.maximum(2, np.ceil(rounds * size)).astype(np.int64)
    targets = _link_targets(
        sources, ends, np.zeros(ROUNDS, np.int64), born, community, np.arange(size), None, habits, chance
    )
    targets = np.where(asked >= 0, asked, targets)
    is_needed = np.zeros(len(order), np.bool_)
    is_needed[np.flatnonzero(order < size)] = True
    sources, targets = _distinct(sources, targets, is_needed, size, links, chance)
    shuffled = chance.permutation(size)
    sources, targets = shuffled[sources], shuffled[targets]
    order = np.lexsort((chance.random(links), sources))
    return graph_from_edges(sources[order].astype(np.int32), targets[order].astype(np.int32), size)


def _distinct(
    sources: Ints,
    targets: Ints,
    is_needed: np.ndarray[tuple[int], np.dtype[np.bool_]],
    size: int,
    links: int,
    chance: Generator,
) -> tuple[Ints, Ints]:
    """As many different links as asked for, the needed ones among them, none from a blog to itself."""
    is_own = (sources == targets) & is_needed
    targets = np.where(is_own, (targets + 1 + chance.integers(size - 1, size=len(targets))) % size, targets)
    keys = sources * size + targets
    keys, is_needed = keys[sources != targets], is_needed[sources != targets]
    needed = np.unique(keys[is_needed])
    others = np.setdiff1d(keys[~is_needed], needed)
    while len(needed) + len(others) < links:
        short = 2 * (links - len(needed) - len(others))
        ends = chance.integers(size, size=(2, short))
        found = (ends[0] * size + ends[1])[ends[0] != ends[1]]
        others = np.union1d(others, np.setdiff1d(found, needed))
    kept = np.concatenate([needed, chance.permutation(others)[: links - len(needed)]])
    return kept // size, kept % size


ROUNDS_A_DAY = 4
TALK = 2 * ROUNDS_A_DAY  # rounds for which a link is copied
EARLIER = 14.0  # days before the first one, so that some blogs are known by then
NIGHT = 0.6  # how much less is linked at night: 0 not at all less, 1 nothing
FIRST_DAY = 1_146_700_800.0  # 4 May 2006: any will do


class BlogPosts(TimedLinkGraph):
    """Blogs that post over some days; some of them, the linkers, link to blogs as they do.

    A link leads to a blog linked to before (again), to one that a blog read links to (onward), to one that links here
    (back), to one that others linked to in the last two days (copied), so that some get a burst of links and then
    none, or to any, by its renown, every other time a linker; of the last two kinds most stay in the blog's
    community. Some blogs begin after the first day, some end before the last, and are no longer linked to. Less is
    linked at night. What was linked in the two weeks before the first day shapes what comes, but is not told.

    again, onward, back, copied, at_home: shares of links, as `LinkShares` has them.
    newcomers, departures: shares of the blogs that begin, and that end, while one looks on.
    communities: how many; one for 30 000 blogs unless given.
    linkers: share of the blogs that link at all.
    activity: exponent of the density of how many links linkers make.
    renown: exponent of the density of how well blogs are known, which of every other blog goes with its activity.
    """

    name = "blog-posts"
    settings: Mapping[str, Plain] = MappingProxyType({})  # the keywords it was made with; none if it was loaded

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
        many = max(1, nodes // 30_000) if communities is None else communities
        shape = {"again": again, "onward": onward, "back": back, "copied": copied, "at_home": at_home}
        habits = LinkShares(**shape)
        chance = np.random.default_rng([seed, 6])
        lives = _lives(nodes, days, newcomers, departures, chance)
        places = chance.random((2, nodes))
        fame = _pareto(np.where(chance.random(nodes) < 0.5, places[0], places[1]), renown)
        are_linkers = chance.random(nodes) < linkers
        are_linkers[chance.integers(nodes)] = True  # there is at least one
        linking = np.where(are_linkers, _pareto(places[0], activity), 0.0)
        community = _sample_by_weight(_pareto(chance.random(many), 2.0), nodes, chance)
        made = _posted(links, days, lives, fame, linking, community, habits, chance)
        ways = {"newcomers": newcomers, "departures": departures, "communities": many}
        given: dict[str, Plain] = {"nodes": nodes, "links": links, "days": days, "communities": communities}
        options = {"seed": seed, **shape, **ways, "linkers": linkers, "activity": activity, "renown": renown}
        super().__init__(made, options=options)
        self.settings = {**options, **given}

    def made_again(self, seed: int) -> "BlogPosts":
        """A world made up with the same settings, but by another seed."""
        return BlogPosts(**{**self.settings, "seed": seed})


def _lives(size: int, days: float, newcomers: float, departures: float, chance: Generator) -> tuple[Floats, Floats]:
    """The day on which each blog begins, in order, and that on which it ends."""
    are_new = chance.random(size) < newcomers
    births = np.sort(np.where(are_new, chance.random(size) * days, -EARLIER))
    ends = np.where(chance.random(size) < departures, births + chance.random(size) * (days - births), days)
    return births, ends


def _posted(
    links: int,
    days: float,
    lives: tuple[Floats, Floats],
    fame: Floats,
    linking: Floats,
    community: Ints,
    habits: LinkShares,
    chance: Generator,
) -> TimedLinks:
    births, ends = lives
    size, lasts = len(births), ends - births
    in_sight = np.minimum(lasts, ends.clip(0.0))  # days from the first on
    made = round(links * float((linking * lasts).sum() / (linking * in_sight).sum()) * 1.02 + 6 * links**0.5) + 10
    sources = _sample_by_weight(linking * lasts, made, chance)
    moments = births[sources] + lasts[sources] * chance.random(made)
    order = np.argsort(moments, kind="stable")
    order = np.delete(order, _too_many(moments[order] >= 0, links, chance))
    sources, moments = sources[order], moments[order]
    rounds = np.arange(-EARLIER, days, 1 / ROUNDS_A_DAY) + 1 / ROUNDS_A_DAY
    closes = np.searchsorted(moments, rounds, side="right")
    closes[-1] = len(order)
    lately = np.concatenate([np.zeros(TALK, np.int64), closes])[: len(closes)]
    born = np.maximum(2, np.searchsorted(births, rounds, side="left"))
    gone = np.where(ends < days, np.searchsorted(rounds, ends), len(rounds) + 1)
    met = [
        _sample_by_weight(shares, max(1_000, size // 5), chance) for shares in (fame, np.where(linking > 0, fame, 0.0))
    ]
    pool = np.sort(np.concatenate(met))
    targets = _link_targets(sources, closes, lately, born, community, pool, gone, habits, chance)
    targets = np.where(targets == sources, (targets + chance.integers(1, size, size=len(targets))) % size, targets)
    shuffled: Ints = chance.permutation(size)
    told = np.flatnonzero(moments >= 0)
    times = np.round(FIRST_DAY + DAY * _by_day(moments[told]))
    return sort_timed_links(shuffled[sources[told]], shuffled[targets[told]], times, size)


def _too_many(are_told: NDArray[np.bool_], links: int, chance: Generator) -> Ints:
    """Which to leave out, by chance, so that as many are told as asked for."""
    told = np.flatnonzero(are_told)
    return chance.choice(told, max(0, len(told) - links), replace=False)


def _by_day(moments: Floats) -> Floats:
    """The same order of moments, but with few in the first hours of each day."""
    whole = np.floor(moments)
    part = moments - whole
    steps = np.linspace(0.0, 1.0, 97)
    density = steps - NIGHT / (2 * np.pi) * np.sin(2 * np.pi * steps)  # its slope is lowest at midnight
    return whole + np.interp(part, density, steps)
