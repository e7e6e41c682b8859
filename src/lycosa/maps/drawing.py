"""Draws the map of a topic: pages of past crawls, tied together by links that the Web does not have."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .nearness import Nearness
from .subgraph import Floats, Integers, Links, SubGraph
from .tying import Score, Ties

SHARE, FEWEST = 0.02, 10  # of all pages: the portals to begin with, and how many there are at least
Reach = Literal["near", "far", "mixed"]
REACHES: tuple[Reach, ...] = get_args(Reach)
Similarity = Callable[[Integers, Integers], Floats]  # of pages and pages, pairwise: 0 to 1


class TopicMap(Struct, frozen=True, dict=True):
    """Portals, which are all tied to one another, and the spokes of each. All ties lead both ways."""

    portals: tuple[int, ...] = ()  # those with most out-links first
    spokes: Mapping[int, tuple[int, ...]] = {}  # of every portal

    @cached_property
    def portal_of(self) -> Mapping[int, int]:
        """The portal of every page that is none."""
        return {node: portal for portal, nodes in self.spokes.items() for node in nodes}

    def __len__(self) -> int:
        return len(self.portals) + len(self.portal_of)

    def links_of(self, node: int) -> tuple[int, ...]:
        """Where the map leads from a page: from a portal to its spokes and the other portals, else to its portal."""
        if node in self.spokes:
            return self.spokes[node] + tuple(portal for portal in self.portals if portal != node)
        return (self.portal_of[node],) if node in self.portal_of else ()


def draw_map(
    good: Sequence[int] | NDArray[Any],
    links: Links,
    *,
    seed: int,
    share: float = SHARE,
    fewest: int = FEWEST,
    reach: Reach = "mixed",
    similarity: Similarity | None = None,
) -> TopicMap:
    """The map of a topic, as Shao draws it.

    The pages with most out-links to other good pages are portals: `share` of all, at least `fewest`. Every other page
    is tied to one portal, evenly spread, so that no portal has as many spokes as out-links (one without out-links has
    no spokes), and no page is tied to one that links to it. Where that cannot be, there are twice as many portals, and
    so on until all pages are. Which portal a page is tied to is drawn (`reach` mixed), or rather one a few links away
    (near), or rather one that is not (far); with a `similarity`, rather one that it resembles.

    good: the pages that are on the topic, by any numbers.
    links: hyperlinks; those from or to other pages count for nothing.

    Shao: Exploring social networks in computer systems (Princeton University 2007), 4.3.2.
    """
    graph = SubGraph(good, links)
    by_out_links = np.argsort(-graph.out_links, kind="stable")
    count = max(math.ceil(share * graph.size), fewest, 1)
    random = np.random.default_rng(seed)
    while True:
        portals = by_out_links[:count]
        ties = Ties(graph, portals, random)
        if ties.are_found():
            break
        count *= 2
    score = _score(graph, portals, reach, similarity)
    if score is not None:
        ties.improve(score)
    return _map_of(graph, portals, ties)


def _score(graph: SubGraph, portals: Integers, reach: Reach, similarity: Similarity | None) -> Score | None:
    if reach not in REACHES:
        raise ValueError(f"no reach {reach!r}; there are {', '.join(REACHES)}")
    sign = {"near": 1.0, "far": -1.0, "mixed": 0.0}[reach]
    nearness = Nearness(graph, portals) if sign else None
    if nearness is None and similarity is None:
        return None

    def score(ranks: Integers, nodes: Integers) -> Floats:
        total = np.zeros(len(ranks), dtype=np.float64)
        if nearness is not None:
            total += sign * nearness(ranks, nodes)
        if similarity is not None:
            total += similarity(graph.nodes[portals[ranks]], graph.nodes[nodes])
        return total

    return score


def _map_of(graph: SubGraph, portals: Integers, ties: Ties) -> TopicMap:
    order = np.argsort(ties.ranks, kind="stable")
    nodes = graph.nodes[ties.nodes[order]].tolist()
    bounds = np.searchsorted(ties.ranks[order], np.arange(len(portals) + 1)).tolist()
    names: list[int] = graph.nodes[portals].tolist()
    return TopicMap(
        portals=tuple(names),
        spokes={name: tuple(nodes[bounds[rank] : bounds[rank + 1]]) for rank, name in enumerate(names)},
    )
