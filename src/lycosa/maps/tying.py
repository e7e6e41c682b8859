"""Ties every page that is no portal to one portal, evenly, as the two rules of a map allow."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .subgraph import Floats, Integers, SubGraph

Score = Callable[[Integers, Integers], Floats]  # how well portals, by rank, and nodes, by place, go together: pairwise
QUICK_ROUNDS = 20  # in which ties that break a rule are exchanged at random; what is left is solved exactly
BETTER_ROUNDS = 60  # in which ties are exchanged that go better together, at most
FEW = 0.001  # of the ties: where no more are exchanged in a round, it was the last


class Ties:
    """Nodes of a sub-graph, each tied to one of some portals.

    No portal has as many spokes as it has out-links, and no node is tied to a page that links to it. Within these
    rules all portals have equally many spokes, but for those whose out-links do not allow it.
    """

    def __init__(self, graph: SubGraph, portals: Integers, random: np.random.Generator):
        self._graph = graph
        self._portals = portals
        self._random = random
        self._room: Integers = np.maximum(graph.out_links[portals] - 1, 0)
        is_portal = np.zeros(graph.size, dtype=np.bool_)
        is_portal[portals] = True
        self.nodes: Integers = np.flatnonzero(~is_portal)
        self._rank_of: dict[int, int] = {}  # of portals by place
        self.ranks: Integers = np.full(len(self.nodes), -1, dtype=np.int64)  # of the portal of each node

    def are_found(self) -> bool:
        """Finds the ties; tells whether there are such."""
        if self._room.sum() < len(self.nodes):
            return False
        self.ranks = self._random.permutation(np.repeat(np.arange(len(self._portals)), self._quotas()))
        for _ in range(QUICK_ROUNDS):
            wrong = np.flatnonzero(self._is_child(self.ranks, self.nodes))
            if not len(wrong):
                return True
            others = self._random.choice(len(self.nodes), size=len(wrong), replace=False)
            apart = ~np.isin(others, wrong)
            self._exchange(wrong[apart], others[apart])
        return self._solve(np.flatnonzero(self._is_child(self.ranks, self.nodes)))

    def improve(self, score: Score) -> None:
        """Exchanges ties, as the rules allow, wherever two of them score higher together when exchanged."""
        half = len(self.nodes) // 2
        for _ in range(BETTER_ROUNDS if half else 0):
            order = self._random.permutation(len(self.nodes))
            some, others = order[:half], order[half : 2 * half]
            before = score(self.ranks[some], self.nodes[some]) + score(self.ranks[others], self.nodes[others])
            after = score(self.ranks[others], self.nodes[some]) + score(self.ranks[some], self.nodes[others])
            better = np.flatnonzero(after > before + 1e-9)
            self._exchange(some[better], others[better])
            if len(better) <= FEW * half and half > 1 / FEW:
                break

    def _is_child(self, ranks: Integers, nodes: Integers) -> NDArray[np.bool_]:
        return self._graph.has(self._portals[ranks], nodes)

    def _exchange(self, some: Integers, others: Integers) -> None:
        """Exchanges the portals of nodes, pairwise, where neither comes to be tied to its parent."""
        wrong = self._is_child(self.ranks[others], self.nodes[some])
        wrong |= self._is_child(self.ranks[some], self.nodes[others])
        some, others = some[~wrong], others[~wrong]
        self.ranks[some], self.ranks[others] = self.ranks[others], self.ranks[some]

    def _quotas(self) -> Integers:
        """How many spokes each portal gets: as equal as room allows."""
        count, room = len(self.nodes), self._room
        low, high = 0, count
        while low < high:
            level = (low + high + 1) // 2
            if np.minimum(room, level).sum() <= count:
                low = level
            else:
                high = level - 1
        quotas = np.minimum(room, low)
        roomy = self._random.permutation(np.flatnonzero(room > low))
        quotas[roomy[: count - int(quotas.sum())]] += 1
        return quotas

    def _solve(self, untied: Integers) -> bool:
        """Ties the last nodes, others making room along a chain where they must; False where there is no way."""
        self.ranks[untied] = -1
        self._rank_of = {portal: rank for rank, portal in enumerate(self._portals.tolist())}
        tied: list[set[int]] = [set() for _ in self._portals]
        for index, rank in enumerate(self.ranks.tolist()):
            if rank >= 0:
                tied[rank].add(index)
        return all(self._make_room(index, tied) for index in untied.tolist())

    def _make_room(self, index: int, tied: list[set[int]]) -> bool:
        unseen = set(range(len(self._portals)))
        moved: dict[int, int] = {}  # portal to the node that would move there
        queue: list[int] = []

        def consider(node: int) -> None:
            places = self._graph.parents(int(self.nodes[node])).tolist()
            parents = {self._rank_of[place] for place in places if place in self._rank_of}
            for rank in sorted(unseen - parents):
                moved[rank] = node
                queue.append(rank)
            unseen.intersection_update(parents)

        consider(index)
        while queue:
            rank = queue.pop(0)
            if len(tied[rank]) < self._room[rank]:
                self._move_along(rank, moved, tied)
                return True
            for node in sorted(tied[rank]):
                if not unseen:
                    break
                consider(node)
        return False

    def _move_along(self, rank: int, moved: dict[int, int], tied: list[set[int]]) -> None:
        while rank >= 0:
            node = moved[rank]
            before = int(self.ranks[node])
            if before >= 0:
                tied[before].remove(node)
            tied[rank].add(node)
            self.ranks[node] = rank
            rank = before
