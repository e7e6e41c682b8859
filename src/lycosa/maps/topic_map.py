"""The map of a topic: pages of earlier crawls, tied together so that a crawl that finds one of them finds them all.

A tie is a link that the map adds to those of the Web. Some pages are portals, which are all tied to one another; every
other page is a spoke, tied to one portal.

Shao: Exploring social networks in computer systems (Princeton University 2007), 4.3.2.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.records import Url

from .subgraph import Floats, Integers, Links, Subgraph

PORTAL_SHARE, MIN_PORTALS = 0.02, 10  # initial share of the pages that are portals, and their least number
Reach = Literal["near", "far", "mixed"]
REACHES: tuple[Reach, ...] = get_args(Reach)
Similarity = Callable[[Integers, Integers], Floats]  # of pairs of pages: 0 to 1
TieScore = Callable[[Integers, Integers], Floats]  # of pairs of a portal (by rank) and a node (by index)
REPAIR_ROUNDS = 20  # of random exchanges of ties that break a rule, before the rest is matched exactly
MAX_IMPROVEMENT_ROUNDS = 60  # of exchanges that raise the score
MIN_EXCHANGES = 0.001  # of the pairs: with over 1 / MIN_EXCHANGES of them, a round that exchanges no more is the last
NEAR, FAIRLY_NEAR = 2, 3  # links to follow from a portal to a page
MAX_BITMAP_WORDS = 40_000_000  # of 64 bits, in both tables of `Nearness`; further portals count as far from all pages
MAX_TIES = 10_000  # ties of one page; a hostile map may have millions


class TopicMap(Struct, frozen=True, dict=True):
    """Portals and the spokes of each, by number. All ties lead both ways."""

    portals: tuple[int, ...] = ()  # those with the most out-links first
    spokes: Mapping[int, tuple[int, ...]] = {}  # of every portal

    @cached_property
    def portal_of(self) -> Mapping[int, int]:
        """The portal of every spoke."""
        return {node: portal for portal, nodes in self.spokes.items() for node in nodes}

    def __len__(self) -> int:
        return len(self.portals) + len(self.portal_of)

    def ties_of(self, node: int) -> tuple[int, ...]:
        """The ties of a page: of a portal its spokes and the other portals, of a spoke its portal."""
        if node in self.spokes:
            return self.spokes[node] + tuple(portal for portal in self.portals if portal != node)
        return (self.portal_of[node],) if node in self.portal_of else ()


class UrlMap:
    """The map of one topic by URL, in memory: its portals, the spokes of each, and the related topics, from whose pages
    a crawl is sent to the portals.
    """

    def __init__(self, portals: Sequence[Url], spokes: Mapping[Url, Sequence[Url]], *, related: Collection[str] = ()):
        self.portals: tuple[Url, ...] = tuple(portals)
        self.spokes: Mapping[Url, tuple[Url, ...]] = {
            url: tuple(spokes.get(url, ())[:MAX_TIES]) for url in self.portals
        }
        self.portal_of: Mapping[Url, Url] = {node: portal for portal, nodes in self.spokes.items() for node in nodes}
        self._index_of = {url: index for index, url in enumerate(self.portals)}
        self.related: frozenset[str] = frozenset(related)

    def __len__(self) -> int:
        return len(self.portals) + len(self.portal_of)

    def ties_of(self, url: Url) -> tuple[Url, ...]:
        """The ties of a page: of a portal its spokes and other portals, at most MAX_TIES; of a spoke its portal."""
        index = self._index_of.get(url)
        if index is not None:
            return (self.spokes[url] + self.portals[:index] + self.portals[index + 1 :])[:MAX_TIES]
        return (self.portal_of[url],) if url in self.portal_of else ()


def url_map_of(drawn: TopicMap, urls: Mapping[int, Url] | Sequence[Url], *, related: Collection[str] = ()) -> UrlMap:
    """A map just drawn, for a crawl in the same process. urls: the URL of every number in it."""
    spokes = {urls[portal]: [urls[node] for node in nodes] for portal, nodes in drawn.spokes.items()}
    return UrlMap([urls[portal] for portal in drawn.portals], spokes, related=related)


# ---------------------------------------------------------------- drawing a map


def draw_map(
    pages: Sequence[int] | NDArray[Any],
    links: Links,
    *,
    seed: int,
    portal_share: float = PORTAL_SHARE,
    min_portals: int = MIN_PORTALS,
    reach: Reach = "mixed",
    similarity: Similarity | None = None,
) -> TopicMap:
    """The map of a topic.

    The pages with the most out-links to other pages of the topic are portals: `portal_share` of all, at least
    `min_portals`. Every other page is tied to one portal, as evenly as two rules allow: a portal has fewer spokes than
    out-links (one without out-links has none), and no page is tied to a portal that links to it. While that is
    impossible, the number of portals is doubled; it ends at the latest when all pages are portals.

    pages: the pages on the topic, by any numbers.
    links: hyperlinks; those from or to other pages are ignored.
    reach: "mixed" ties pages to random portals; "near" prefers portals within NEAR or FAIRLY_NEAR links, "far" others.
    similarity: if given, pages are preferably tied to portals that resemble them.
    """
    graph = Subgraph(pages, links)
    by_out_links = np.argsort(-graph.out_links, kind="stable")
    count = max(math.ceil(portal_share * graph.size), min_portals, 1)
    random = np.random.default_rng(seed)
    while True:
        portals = by_out_links[:count]
        ties = SpokeAssignment(graph, portals, random)
        if ties.find():
            break
        count *= 2
    score = _score(graph, portals, reach, similarity)
    if score is not None:
        ties.improve(score)
    return _topic_map(graph, portals, ties)


def _score(graph: Subgraph, portals: Integers, reach: Reach, similarity: Similarity | None) -> TieScore | None:
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


def _topic_map(graph: Subgraph, portals: Integers, ties: "SpokeAssignment") -> TopicMap:
    order = np.argsort(ties.ranks, kind="stable")
    nodes = graph.nodes[ties.nodes[order]].tolist()
    bounds = np.searchsorted(ties.ranks[order], np.arange(len(portals) + 1)).tolist()
    numbers: list[int] = graph.nodes[portals].tolist()
    return TopicMap(
        portals=tuple(numbers),
        spokes={number: tuple(nodes[bounds[rank] : bounds[rank + 1]]) for rank, number in enumerate(numbers)},
    )


class SpokeAssignment:
    """Ties each node of a subgraph that is not a portal to one portal, as evenly as the two rules of a map allow.

    Rule 1: a portal has fewer spokes than out-links. Rule 2: no node is tied to a portal that links to it, as that tie
    would add nothing. At first, the numbers of spokes of two portals differ by at most one, unless rule 1 allows one of
    them no more; where nodes have to be matched exactly, the numbers may then differ by more.

    `ranks[i]` is the portal of `nodes[i]`, as an index into the portals.
    """

    def __init__(self, graph: Subgraph, portals: Integers, random: "np.random.Generator"):
        self._graph = graph
        self._portals = portals
        self._random = random
        self._capacity: Integers = np.maximum(graph.out_links[portals] - 1, 0)  # spokes of each portal, by rule 1
        is_portal = np.zeros(graph.size, dtype=np.bool_)
        is_portal[portals] = True
        self.nodes: Integers = np.flatnonzero(~is_portal)
        self._rank_of: dict[int, int] = {}  # index into the portals, by node
        self.ranks: Integers = np.full(len(self.nodes), -1, dtype=np.int64)

    def find(self) -> bool:
        """Assigns a portal to every node; False if the rules cannot be kept.

        The first assignment is random with the right number of spokes each, so rule 1 holds and exchanges keep it. Few
        nodes break rule 2, as graphs are sparse: most are repaired by exchanging portals with random other nodes, which
        is fast; what remains is a bipartite matching problem with capacities, solved exactly by augmenting paths.
        """
        if self._capacity.sum() < len(self.nodes):
            return False
        self.ranks = self._random.permutation(np.repeat(np.arange(len(self._portals)), self._quotas()))
        for _ in range(REPAIR_ROUNDS):
            wrong = np.flatnonzero(self._breaks_rule(self.ranks, self.nodes))
            if not len(wrong):
                return True
            others = self._random.choice(len(self.nodes), size=len(wrong), replace=False)
            is_separate = ~np.isin(others, wrong)  # one node in two exchanges at once could break rule 2 again
            self._exchange(wrong[is_separate], others[is_separate])
        return self._match_exactly(np.flatnonzero(self._breaks_rule(self.ranks, self.nodes)))

    def improve(self, score: TieScore) -> None:
        """Raises the sum of scores by exchanging portals between pairs of nodes, as the rules allow.

        Each round splits the nodes at random into disjoint pairs, so that all exchanges of a round are independent and
        done at once; random pairing over many rounds approaches a local optimum without looking at all pairs.
        """
        half = len(self.nodes) // 2
        for _ in range(MAX_IMPROVEMENT_ROUNDS if half else 0):
            order = self._random.permutation(len(self.nodes))
            some, others = order[:half], order[half : 2 * half]
            before = score(self.ranks[some], self.nodes[some]) + score(self.ranks[others], self.nodes[others])
            after = score(self.ranks[others], self.nodes[some]) + score(self.ranks[some], self.nodes[others])
            better = np.flatnonzero(after > before + 1e-9)  # beyond rounding, or equal pairs would swap for ever
            self._exchange(some[better], others[better])
            if len(better) <= MIN_EXCHANGES * half and half > 1 / MIN_EXCHANGES:
                break

    def _breaks_rule(self, ranks: Integers, nodes: Integers) -> NDArray[np.bool_]:
        """Whether the portal links to the node (rule 2), pairwise."""
        return self._graph.has_links(self._portals[ranks], nodes)

    def _exchange(self, some: Integers, others: Integers) -> None:
        """Exchanges the portals of nodes, pairwise, where rule 2 holds for both afterwards."""
        wrong = self._breaks_rule(self.ranks[others], self.nodes[some])
        wrong |= self._breaks_rule(self.ranks[some], self.nodes[others])
        some, others = some[~wrong], others[~wrong]
        self.ranks[some], self.ranks[others] = self.ranks[others], self.ranks[some]

    def _quotas(self) -> Integers:
        """The number of spokes of each portal: min(capacity, level), with one level; the remainder is random."""
        count, capacity = len(self.nodes), self._capacity
        low, high = 0, count
        while low < high:  # bisection for the highest level at which there are nodes enough
            level = (low + high + 1) // 2
            if np.minimum(capacity, level).sum() <= count:
                low = level
            else:
                high = level - 1
        quotas = np.minimum(capacity, low)
        with_room = self._random.permutation(np.flatnonzero(capacity > low))
        quotas[with_room[: count - int(quotas.sum())]] += 1
        return quotas

    def _match_exactly(self, untied: Integers) -> bool:
        """Ties the last nodes by augmenting paths; False if some node cannot be tied at all.

        As in maximum bipartite matching, an assignment that leaves a node out can be extended if and only if there is
        an augmenting path from it, so failure of one node means that no assignment exists.
        """
        self.ranks[untied] = -1
        self._rank_of = {portal: rank for rank, portal in enumerate(self._portals.tolist())}
        tied: list[set[int]] = [set() for _ in self._portals]  # indices into `nodes`
        for index, rank in enumerate(self.ranks.tolist()):
            if rank >= 0:
                tied[rank].add(index)
        return all(self._augment(index, tied) for index in untied.tolist())

    def _augment(self, index: int, tied: list[set[int]]) -> bool:
        """Ties one node along a shortest augmenting path, found breadth first; False if there is none.

        The node goes to a portal, one of whose spokes moves to another portal, and so on, until a portal with free
        capacity is met.
        """
        unseen = set(range(len(self._portals)))  # ranks
        moved: dict[int, int] = {}  # by rank of a portal: the node that would move there, as an index into `nodes`
        queue: list[int] = []

        def consider(node: int) -> None:
            linking = self._graph.parents(int(self.nodes[node])).tolist()
            parents = {self._rank_of[parent] for parent in linking if parent in self._rank_of}
            for rank in sorted(unseen - parents):  # in a fixed order, so that a map depends only on its seed
                moved[rank] = node
                queue.append(rank)
            unseen.intersection_update(parents)  # only these portals can still be new to other nodes

        consider(index)
        while queue:
            rank = queue.pop(0)
            if len(tied[rank]) < self._capacity[rank]:
                self._apply_path(rank, moved, tied)
                return True
            for node in sorted(tied[rank]):
                if not unseen:
                    break
                consider(node)
        return False

    def _apply_path(self, rank: int, moved: dict[int, int], tied: list[set[int]]) -> None:
        """Moves every node of an augmenting path, from the portal at its end back to the node that had no portal."""
        while rank >= 0:
            node = moved[rank]
            before = int(self.ranks[node])
            if before >= 0:
                tied[before].remove(node)
            tied[rank].add(node)
            self.ranks[node] = rank
            rank = before


class Nearness:
    """How near pages are to portals: 1 within NEAR links from the portal, 1/2 within FAIRLY_NEAR, 0 beyond.

    Portals are processed 64 at a time: each is one bit of a word per page, and following all links once is one `or`
    over the words. So two bit tables hold all pairs of portals and pages.
    """

    def __init__(self, graph: Subgraph, portals: Integers):
        self._size = max(1, graph.size)
        blocks = min(-(-len(portals) // 64), MAX_BITMAP_WORDS // (2 * self._size))
        self._covered = 64 * blocks  # portals in the tables
        self._near = np.zeros((blocks, self._size), dtype=np.uint64)
        self._fairly_near = np.zeros_like(self._near)
        for block in range(blocks):
            some = portals[64 * block : 64 * block + 64]
            marks = np.zeros(self._size, dtype=np.uint64)
            marks[some] = np.uint64(1) << np.arange(len(some), dtype=np.uint64)
            for _ in range(NEAR):
                marks = graph.propagate(marks)
            self._near[block] = marks
            for _ in range(FAIRLY_NEAR - NEAR):
                marks = graph.propagate(marks)
            self._fairly_near[block] = marks

    def __call__(self, ranks: Integers, nodes: Integers) -> Floats:
        """The nearness of portals, given by rank, and nodes, given by index, pairwise."""
        nearness = np.zeros(len(ranks), dtype=np.float64)
        is_covered = ranks < self._covered
        blocks, bits = np.divmod(ranks[is_covered], 64)
        for table in (self._near, self._fairly_near):
            nearness[is_covered] += 0.5 * _bits(table[blocks, nodes[is_covered]], bits)
        return nearness


def _bits(words: NDArray[np.uint64], bits: Integers) -> NDArray[np.uint64]:
    return words >> bits.astype(np.uint64) & np.uint64(1)
