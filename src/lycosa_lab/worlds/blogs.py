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
        kinds = (self.again, self.onward, self.back, self.copied)
        if not (all(share >= 0 for share in kinds) and self.sum <= 1):
            raise ValueError("shares of links must not be negative, nor come to more than 1")
        if not 0 <= self.at_home <= 1:
            raise ValueError("at_home must be from 0 to 1")

    @property
    def sum(self) -> float:
        return self.again + self.onward + self.back + self.copied


class _Neighbours:
    """Links grouped by one of their ends, which is less than `node_count`, to sample the other end from."""

    def __init__(self, ends: Ints, others: Ints, node_count: int):
        self._starts = np.zeros(node_count + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=node_count), out=self._starts[1:])
        self._others = others[np.argsort(ends, kind="stable")]

    def sample(self, nodes: Ints, rng: Generator) -> Ints:
        """For each node a random neighbour, -1 where it has none."""
        starts = self._starts[nodes]
        counts = self._starts[nodes + 1] - starts
        indices = starts + (rng.random(len(nodes)) * counts).astype(np.int64)
        found = np.full(len(nodes), -1, np.int64)
        has_any = counts > 0
        found[has_any] = self._others[indices[has_any]]
        return found


def _link_targets(
    sources: Ints,
    round_ends: Ints,
    copy_starts: Ints,
    blog_counts: Ints,
    community: Ints,
    pool: Ints,
    end_rounds: Ints | None,
    shares: LinkShares,
    rng: Generator,
) -> Ints:
    """The targets of links, given their sources in order of time. Links are made in rounds; each sees the earlier ones.

    round_ends: for each round, the index at which its links end.
    copy_starts: for each round, the index of the first link that it may copy.
    blog_counts: for each round, how many blogs exist; blogs are numbered in the order in which they begin.
    community: the number of the community of each blog.
    pool: sorted numbers of blogs, repeated in proportion to the probability that a random link leads to them.
    end_rounds: the round in which each blog ends, if some do; no link leads to it from then on.
    """
    targets = np.zeros(len(sources), np.int64)
    size = int(max(blog_counts.max(), sources.max() + 1))
    cumulative = np.cumsum([shares.again, shares.onward, shares.back, shares.copied])
    community_count = int(community.max()) + 1
    pool_by_community = _Neighbours(community[pool], pool, community_count)
    round_begin = 0
    for round_number, round_end in enumerate(round_ends.tolist()):
        round_sources = sources[round_begin:round_end]
        home_community = np.where(rng.random(len(round_sources)) < shares.at_home, community[round_sources], -1)
        found = _random_targets(pool, pool_by_community, home_community, int(blog_counts[round_number]), rng)
        if round_begin:
            out_links = _Neighbours(sources[:round_begin], targets[:round_begin], size)
            in_links = _Neighbours(targets[:round_begin], sources[:round_begin], size)
            copy_start = min(int(copy_starts[round_number]), round_begin - 1)
            recent_targets = targets[copy_start:round_begin]
            by_community = _Neighbours(community[sources[copy_start:round_begin]], recent_targets, community_count)
            link_kinds = np.searchsorted(cumulative, rng.random(len(round_sources)), side="right")
            again, onward, backward, copied = (np.flatnonzero(link_kinds == link_kind) for link_kind in range(4))
            _fill_found(found, again, out_links.sample(round_sources[again], rng))
            linked = out_links.sample(round_sources[onward], rng)
            _fill_found(found, onward, np.where(linked < 0, -1, out_links.sample(np.maximum(linked, 0), rng)))
            _fill_found(found, backward, in_links.sample(round_sources[backward], rng))
            _fill_found(found, copied, _copied_targets(recent_targets, by_community, home_community[copied], rng))
        if end_rounds is not None:
            has_ended = end_rounds[found] <= round_number
            found[has_ended] = _random_targets(
                pool, pool_by_community, home_community[has_ended], int(blog_counts[round_number]), rng
            )
        targets[round_begin:round_end] = found
        round_begin = round_end
    return targets


def _random_targets(
    pool: Ints, by_community: _Neighbours, home_communities: Ints, blog_count: int, rng: Generator
) -> Ints:
    """A blog from the pool for each home community; any blog if that one does not exist yet, or the community is -1."""
    count = max(1, int(np.searchsorted(pool, blog_count)))
    found = pool[(rng.random(len(home_communities)) * count).astype(np.int64)]
    local = np.flatnonzero(home_communities >= 0)
    sampled = by_community.sample(home_communities[local], rng)
    _fill_found(found, local, np.where(sampled < blog_count, sampled, -1))
    return found


def _copied_targets(recent_targets: Ints, by_community: _Neighbours, home_communities: Ints, rng: Generator) -> Ints:
    """The target of a recent link of each home community; of any recent link if it has none, or is -1."""
    found = recent_targets[(rng.random(len(home_communities)) * len(recent_targets)).astype(np.int64)]
    local = np.flatnonzero(home_communities >= 0)
    _fill_found(found, local, by_community.sample(home_communities[local], rng))
    return found


def _fill_found(found: Ints, indices: Ints, values: Ints) -> None:
    """Writes the values that are not -1 to `found`, at the given indices."""
    found[indices[values >= 0]] = values[values >= 0]


def _pareto(quantiles: Floats, exponent: float) -> Floats:
    """The quantiles (0 to 1) of a Pareto distribution, given the exponent of its density."""
    return np.asarray((1.0 - quantiles) ** (-1.0 / (exponent - 1.0)), dtype=np.float64)


def _community_count(given: int | None, default: int) -> int:
    """The number of communities: the given one or the default, which is at least 1."""
    if given is None:
        return max(1, default)
    if given < 1:
        raise ValueError("communities must be 1 or more")
    return given


def _sample_by_weight(weights: Floats, count: int, rng: Generator) -> Ints:
    """`count` indices, each drawn in proportion to its weight."""
    sums = np.cumsum(weights)
    drawn: Ints = np.minimum(np.searchsorted(sums, rng.random(count) * sums[-1]), len(weights) - 1)
    return drawn


# Without times

ROUNDS = 60
FIRST_BLOGS = 60  # blogs born in the first round
OVERSAMPLING = 1.12  # links made for each that is kept, because duplicates and self-links are dropped
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
        if nodes < 5:  # of fewer, half of all pairs are fewer than the nodes
            raise ValueError("nodes must be 5 or more")
        if not nodes <= links <= nodes * (nodes - 1) // 4:
            raise ValueError(f"links must be from {nodes} to {nodes * (nodes - 1) // 4}")
        if not activity > 1:
            raise ValueError("activity must be more than 1")
        rng = np.random.default_rng([seed, 5])
        shares = LinkShares(onward=onward, back=back, copied=copied, at_home=at_home)
        community_count = _community_count(communities, nodes // 700)
        share_options = {"onward": onward, "back": back, "copied": copied, "at_home": at_home}
        options = {"seed": seed, **share_options, "communities": community_count, "activity": activity}
        super().__init__(_grow(nodes, links, shares, activity, community_count, rng), options=options)

    @classmethod
    def load(cls, folder: Path) -> LinkGraph:
        world = LinkGraph.load(folder)
        world.name = cls.name
        return world


def _grow(
    size: int, link_count: int, shares: LinkShares, activity: float, community_count: int, rng: Generator
) -> Graph:
    """A graph of `size` blogs; see `BlogGraph`."""
    community = _sample_by_weight(_pareto(rng.random(community_count), 2.0), size, rng)  # of each blog
    weights = _pareto(rng.random(size), activity)
    linking_blogs = np.flatnonzero(rng.random(size) >= ONLY_LINKED)  # blogs that exist because they link
    linked_blogs = np.setdiff1d(np.arange(size), linking_blogs)
    extra_sources = _sample_by_weight(weights, int((link_count - size) * OVERSAMPLING), rng)
    births = np.arange(size) / size
    times = births[extra_sources] + (1.0 - births[extra_sources]) * rng.random(len(extra_sources))
    sources = np.concatenate([linking_blogs, _sample_by_weight(weights, len(linked_blogs), rng), extra_sources])
    times = np.concatenate([births[linking_blogs], births[linked_blogs], times])
    # -1 where the target is to be drawn
    fixed_targets = np.concatenate([np.full(len(linking_blogs), -1), linked_blogs, np.full(len(extra_sources), -1)])
    order = np.argsort(times, kind="stable")
    sources, times, fixed_targets = sources[order], times[order], fixed_targets[order]
    rounds = np.geomspace(min(1.0, FIRST_BLOGS / size), 1.0, ROUNDS)
    round_ends = np.searchsorted(times, rounds, side="right")
    blog_counts = np.maximum(2, np.ceil(rounds * size)).astype(np.int64)
    copy_starts = np.zeros(ROUNDS, np.int64)
    targets = _link_targets(
        sources, round_ends, copy_starts, blog_counts, community, np.arange(size), None, shares, rng
    )
    targets = np.where(fixed_targets >= 0, fixed_targets, targets)
    is_needed = np.zeros(len(order), np.bool_)
    is_needed[np.flatnonzero(order < size)] = True
    sources, targets = _distinct(sources, targets, is_needed, size, link_count, rng)
    shuffled = rng.permutation(size)
    sources, targets = shuffled[sources], shuffled[targets]
    order = np.lexsort((rng.random(link_count), sources))
    return graph_from_edges(sources[order].astype(np.int32), targets[order].astype(np.int32), size)


def _distinct(
    sources: Ints, targets: Ints, is_needed: NDArray[np.bool_], size: int, link_count: int, rng: Generator
) -> tuple[Ints, Ints]:
    """`link_count` distinct links among `size` blogs, the needed ones among them, without self-links."""
    is_self_link = (sources == targets) & is_needed
    targets = np.where(is_self_link, (targets + 1 + rng.integers(size - 1, size=len(targets))) % size, targets)
    keys = sources * size + targets
    keys, is_needed = keys[sources != targets], is_needed[sources != targets]
    needed = np.unique(keys[is_needed])
    others = np.setdiff1d(keys[~is_needed], needed)
    while len(needed) + len(others) < link_count:
        missing = 2 * (link_count - len(needed) - len(others))
        ends = rng.integers(size, size=(2, missing))
        found = (ends[0] * size + ends[1])[ends[0] != ends[1]]
        others = np.union1d(others, np.setdiff1d(found, needed))
    kept = np.concatenate([needed, rng.permutation(others)[: link_count - len(needed)]])
    return kept // size, kept % size


# With times

ROUNDS_PER_DAY = 4
RECENT = 2 * ROUNDS_PER_DAY  # rounds for which a link may be copied
WARM_UP = 14.0  # days simulated before the first one, so that some blogs are well known by then
DAILY_CYCLE_DEPTH = 0.6  # depth of the daily cycle: 0 no cycle, 1 no links at midnight
FIRST_DAY = 1_146_700_800.0  # 4 May 2006; arbitrary


class BlogPosts(TimedLinkGraph):
    """Blogs that post over some days; a part of them, the linkers, link to other blogs.

    A link leads to a blog linked to before (again), to one linked from a blog it links to (onward), to one that links
    to it (back), to one that others linked to in the last two days (copied), which makes bursts of links, or to a
    random blog in proportion to its popularity, every other time a linker; of the last two kinds most stay in the
    blog's community. Some blogs begin after the first day, some end before the last and are no longer linked to. There
    are fewer links at night. Two weeks are simulated before the first day; their links influence later ones but are
    left out.

    again, onward, back, copied, at_home: shares of links, see `LinkShares`.
    newcomers, departures: shares of the blogs that begin, and that end, within the time that is observed.
    communities: how many; one for 30 000 blogs unless given.
    linkers: share of the blogs that link at all.
    activity: exponent of the density of the number of links of a linker.
    renown: exponent of the density of the popularity of blogs; for half of the blogs it follows their activity.
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
        if not 0 < days < np.inf:
            raise ValueError("days must be more than 0 and finite")
        if not (activity > 1 and renown > 1):
            raise ValueError("activity and renown must be more than 1")
        if not (0 <= newcomers <= 1 and 0 <= departures <= 1 and 0 < linkers <= 1):
            raise ValueError("newcomers, departures and linkers must be from 0 to 1")
        community_count = _community_count(communities, nodes // 30_000)
        share_options = {"again": again, "onward": onward, "back": back, "copied": copied, "at_home": at_home}
        shares = LinkShares(**share_options)
        rng = np.random.default_rng([seed, 6])
        lifetimes = _lifetimes(nodes, days, newcomers, departures, rng)
        quantiles = rng.random((2, nodes))
        popularity = _pareto(np.where(rng.random(nodes) < 0.5, quantiles[0], quantiles[1]), renown)
        is_linker = rng.random(nodes) < linkers
        is_linker[rng.integers(nodes)] = True  # there is at least one
        rates = np.where(is_linker, _pareto(quantiles[0], activity), 0.0)
        community = _sample_by_weight(_pareto(rng.random(community_count), 2.0), nodes, rng)
        timed = _simulate_posts(links, days, lifetimes, popularity, rates, community, shares, rng)
        lifetime_options = {"newcomers": newcomers, "departures": departures, "communities": community_count}
        given: dict[str, JsonValue] = {"nodes": nodes, "links": links, "days": days, "communities": communities}
        options = {
            "seed": seed,
            **share_options,
            **lifetime_options,
            "linkers": linkers,
            "activity": activity,
            "renown": renown,
        }
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
    link_count: int,
    days: float,
    lifetimes: tuple[Floats, Floats],
    popularity: Floats,
    rates: Floats,
    community: Ints,
    shares: LinkShares,
    rng: Generator,
) -> TimedLinks:
    """`link_count` links of the days that are observed.

    lifetimes: as of `_lifetimes`.
    rates: of each blog, in proportion to its links per day; 0 for those that do not link.
    community: the number of the community of each blog.
    """
    births, ends = lifetimes
    size, durations = len(births), ends - births
    observed = np.minimum(durations, ends.clip(0.0))  # days from the first day on
    if not (rates * observed).any():
        raise ValueError("all linkers end before the first day; give more linkers or fewer departures")
    surplus = float((rates * durations).sum() / (rates * observed).sum())  # links simulated for each observed one
    count = round(link_count * surplus * 1.02 + 6 * link_count**0.5) + 10
    sources = _sample_by_weight(rates * durations, count, rng)
    days_of_links = births[sources] + durations[sources] * rng.random(count)  # since the first day, negative before
    order = np.argsort(days_of_links, kind="stable")
    order = np.delete(order, _sample_excess(days_of_links[order] >= 0, link_count, rng))
    sources, days_of_links = sources[order], days_of_links[order]
    rounds = np.arange(-WARM_UP, days, 1 / ROUNDS_PER_DAY) + 1 / ROUNDS_PER_DAY
    round_ends = np.searchsorted(days_of_links, rounds, side="right")
    round_ends[-1] = len(order)
    copy_starts = np.concatenate([np.zeros(RECENT, np.int64), round_ends])[: len(round_ends)]
    blog_counts = np.maximum(2, np.searchsorted(births, rounds, side="left"))
    end_rounds = np.where(ends < days, np.searchsorted(rounds, ends), len(rounds) + 1)
    weights = (popularity, np.where(rates > 0, popularity, 0.0))  # of all blogs, and of linkers only
    pool = np.sort(np.concatenate([_sample_by_weight(each, max(1_000, size // 5), rng) for each in weights]))
    targets = _link_targets(sources, round_ends, copy_starts, blog_counts, community, pool, end_rounds, shares, rng)
    targets = np.where(targets == sources, (targets + rng.integers(1, size, size=len(targets))) % size, targets)
    shuffled: Ints = rng.permutation(size)
    kept = np.flatnonzero(days_of_links >= 0)
    times = np.round(FIRST_DAY + DAY * _with_daily_cycle(days_of_links[kept]))
    return sort_timed_links(shuffled[sources[kept]], shuffled[targets[kept]], times, size)


def _sample_excess(is_observed: NDArray[np.bool_], link_count: int, rng: Generator) -> Ints:
    """The indices of random observed links to drop, so that `link_count` of them are left."""
    observed = np.flatnonzero(is_observed)
    return rng.choice(observed, max(0, len(observed) - link_count), replace=False)


def _with_daily_cycle(moments: Floats) -> Floats:
    """The moments, in days, shifted within their day so that few lie around midnight; their order stays."""
    day = np.floor(moments)
    steps = np.linspace(0.0, 1.0, 97)
    cumulative = steps - DAILY_CYCLE_DEPTH / (2 * np.pi) * np.sin(2 * np.pi * steps)  # its slope is lowest at midnight
    return day + np.interp(moments - day, cumulative, steps)
