"""Which topics cite which: the links between pages of different topics, counted."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from .subgraph import Floats, Integers, Links, pairs_in

LEAST_LIFT = 1.5  # times as many links to a topic as one would expect: it is related
LEAST_SIGMAS = 3.0  # by which they are more than chance brings
LEAST_SHARE = 0.02  # of all links, where there is but one other topic and nothing to expect by
OTHERS = "others"  # the topic of what is none of the others; related to none


class CitationMatrix(Struct, frozen=True):
    """How many links lead from pages of each topic to pages of each.

    Chakrabarti, Joshi, Punera, Pennock: The structure of broad topics on the Web (WWW 2002).
    """

    topics: tuple[str, ...]
    links: tuple[tuple[int, ...], ...]  # rows cite columns

    @property
    def counts(self) -> Integers:
        return np.array(self.links, dtype=np.int64).reshape(len(self.topics), len(self.topics))

    def affinity(self) -> Floats:
        """The share of the links of each topic (rows) that lead to each (columns)."""
        counts = self.counts
        shares: Floats = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return shares

    def lift(self) -> Floats:
        """Links between topics, as times those expected if links that leave a topic fell on all others as the links of
        the others do; 1 within a topic, of others, and where nothing is expected."""
        counts, expected = self._leaving()
        return np.where(expected > 0, counts / np.where(expected > 0, expected, 1.0), 1.0)

    def related(self, topic: str) -> tuple[str, ...]:
        """The topics that cite a topic, or that it cites, more than chance brings; the closest first."""
        if topic not in self.topics or topic == OTHERS:
            return ()
        place = self.topics.index(topic)
        lift = self.lift()
        is_related = self._is_related()
        found = [
            (-max(lift[place, other], lift[other, place]), name)
            for other, name in enumerate(self.topics)
            if name not in (topic, OTHERS) and (is_related[place, other] or is_related[other, place])
        ]
        return tuple(name for _, name in sorted(found))

    def _is_related(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        if len(self.topics) - (OTHERS in self.topics) <= 2:
            return self.affinity() >= LEAST_SHARE
        counts, expected = self._leaving()
        surprising = counts - expected >= LEAST_SIGMAS * np.sqrt(np.maximum(expected, 1.0))
        return surprising & (self.lift() >= LEAST_LIFT)

    def _leaving(self) -> tuple[Integers, Floats]:
        counts = self.counts
        np.fill_diagonal(counts, 0)
        if OTHERS in self.topics:
            counts[self.topics.index(OTHERS)] = counts[:, self.topics.index(OTHERS)] = 0
        going, coming = counts.sum(axis=1), counts.sum(axis=0)
        from_elsewhere = coming[None, :] - counts + 0.5  # to each topic, from all but the one that cites
        in_all = (counts.sum() - going - coming + 0.5 * len(counts))[:, None]
        expected: Floats = going[:, None] * from_elsewhere / np.maximum(in_all, 0.5)
        np.fill_diagonal(expected, 0.0)
        if OTHERS in self.topics:
            expected[:, self.topics.index(OTHERS)] = 0.0
        return counts, expected


def cited(topics: Sequence[str], topic_of: Mapping[int, int], links: Links) -> CitationMatrix:
    """Counts links between pages. `topic_of` tells the place of a page's topic; other pages count for nothing."""
    numbers = np.fromiter(topic_of, dtype=np.int64, count=len(topic_of))
    order = np.argsort(numbers)
    numbers = numbers[order]
    places = np.fromiter(topic_of.values(), dtype=np.int64, count=len(topic_of))[order]
    counts = np.zeros((len(topics), len(topics)), dtype=np.int64)
    pairs = pairs_in(links)
    if len(numbers) and len(pairs):
        found = np.searchsorted(numbers, pairs).clip(max=len(numbers) - 1)
        inside = (numbers[found] == pairs).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
        np.add.at(counts, (places[found[inside, 0]], places[found[inside, 1]]), 1)
    return CitationMatrix(tuple(topics), tuple(map(tuple, counts.tolist())))


def summed(matrices: Iterable[Mapping[tuple[str, str], int]]) -> CitationMatrix:
    """One matrix of counts that were made apart."""
    total: dict[tuple[str, str], int] = {}
    for matrix in matrices:
        for pair, count in matrix.items():
            total[pair] = total.get(pair, 0) + count
    topics = sorted({topic for pair in total for topic in pair})
    return CitationMatrix(
        tuple(topics), tuple(tuple(total.get((citing, other), 0) for other in topics) for citing in topics)
    )
