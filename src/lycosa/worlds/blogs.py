"""A made-up graph of blogs that link to blogs."""

from pathlib import Path

import numpy as np

from .blog_links import Chance, Habits, Ints, drawn_by, heavy_tailed, targets_for
from .edge_lists import Graph, graph_of
from .graphs import LinkGraph

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

    onward, back, copied, at_home: shares of links, as `Habits` has them.
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
        habits = Habits(onward=onward, back=back, copied=copied, at_home=at_home)
        many = max(1, nodes // 700) if communities is None else communities
        shape = {"onward": onward, "back": back, "copied": copied, "at_home": at_home, "communities": many}
        options = {"seed": seed, **shape, "activity": activity}
        super().__init__(_grown(nodes, links, habits, activity, many, chance), options=options)

    @classmethod
    def load(cls, folder: Path) -> LinkGraph:
        world = LinkGraph.load(folder)
        world.name = cls.name
        return world


def _grown(size: int, links: int, habits: Habits, activity: float, communities: int, chance: Chance) -> Graph:
    community = drawn_by(heavy_tailed(chance.random(communities), 2.0), size, chance)
    shares = heavy_tailed(chance.random(size), activity)
    own = np.flatnonzero(chance.random(size) >= ONLY_LINKED)  # those there because they link
    linked = np.setdiff1d(np.arange(size), own)
    more = drawn_by(shares, int((links - size) * SPARE), chance)
    births = np.arange(size) / size
    times = births[more] + (1.0 - births[more]) * chance.random(len(more))
    sources = np.concatenate([own, drawn_by(shares, len(linked), chance), more])
    times = np.concatenate([births[own], births[linked], times])
    asked = np.concatenate([np.full(len(own), -1), linked, np.full(len(more), -1)])
    order = np.argsort(times, kind="stable")
    sources, times, asked = sources[order], times[order], asked[order]
    rounds = np.geomspace(min(1.0, EARLIEST / size), 1.0, ROUNDS)
    ends = np.searchsorted(times, rounds, side="right")
    born = np.maximum(2, np.ceil(rounds * size)).astype(np.int64)
    targets = targets_for(
        sources, ends, np.zeros(ROUNDS, np.int64), born, community, np.arange(size), None, habits, chance
    )
    targets = np.where(asked >= 0, asked, targets)
    is_needed = np.zeros(len(order), np.bool_)
    is_needed[np.flatnonzero(order < size)] = True
    sources, targets = _distinct(sources, targets, is_needed, size, links, chance)
    shuffled = chance.permutation(size)
    sources, targets = shuffled[sources], shuffled[targets]
    order = np.lexsort((chance.random(links), sources))
    return graph_of(sources[order].astype(np.int32), targets[order].astype(np.int32), size)


def _distinct(
    sources: Ints,
    targets: Ints,
    is_needed: np.ndarray[tuple[int], np.dtype[np.bool_]],
    size: int,
    links: int,
    chance: Chance,
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
