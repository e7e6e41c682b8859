"""Citations between topics: the number of links from the pages of each topic to the pages of each."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from .subgraph import Floats, Integers, Links, link_array

MIN_LIFT = 1.5  # observed over expected links, the least of related topics
MIN_SIGMAS = 3.0  # standard deviations, of a Poisson distribution, by which observed links must exceed the expected
MIN_SHARE = 0.02  # of the links of a topic, if there is only one other topic, and so no expected number
OTHERS = "others"  # the topic of pages on no named topic; related to none


class CitationMatrix(Struct, frozen=True):
    """The number of links from pages of each topic to pages of each topic.

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
        """Observed over expected links between topics; 1 within a topic, for OTHERS, and where none are expected.

        The expected number assumes that the links leaving a topic are distributed over the others like the links of all
        other topics: out(i) · (in(j) − n(i, j) + ½) / (total − out(i) − in(i) + ½ · topics).
        """
        counts, expected = self._observed_and_expected()
        return np.where(expected > 0, counts / np.where(expected > 0, expected, 1.0), 1.0)

    def related(self, topic: str) -> tuple[str, ...]:
        """The topics that cite a topic, or that it cites, significantly more often than expected, by falling lift."""
        if topic not in self.topics or topic == OTHERS:
            return ()
        index = self.topics.index(topic)
        lift = self.lift()
        is_related = self._is_related()
        found = [
            (-max(lift[index, other], lift[other, index]), name)
            for other, name in enumerate(self.topics)
            if name not in (topic, OTHERS) and (is_related[index, other] or is_related[other, index])
        ]
        return tuple(name for _, name in sorted(found))

    def _is_related(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        if len(self.topics) - (OTHERS in self.topics) <= 2:
            return self.affinity() >= MIN_SHARE
        counts, expected = self._observed_and_expected()
        significant = counts - expected >= MIN_SIGMAS * np.sqrt(np.maximum(expected, 1.0))
        return significant & (self.lift() >= MIN_LIFT)

    def _observed_and_expected(self) -> tuple[Integers, Floats]:
        counts = self.counts
        np.fill_diagonal(counts, 0)
        if OTHERS in self.topics:
            counts[self.topics.index(OTHERS)] = counts[:, self.topics.index(OTHERS)] = 0
        outgoing, incoming = counts.sum(axis=1), counts.sum(axis=0)
        # Of the links that neither leave nor enter topic i, those that enter j, and all; both smoothed.
        rest_to_topic = incoming[None, :] - counts + 0.5
        rest = (counts.sum() - outgoing - incoming + 0.5 * len(counts))[:, None]
        expected: Floats = outgoing[:, None] * rest_to_topic / np.maximum(rest, 0.5)
        np.fill_diagonal(expected, 0.0)
        if OTHERS in self.topics:
            expected[:, self.topics.index(OTHERS)] = 0.0
        return counts, expected


def count_citations(topics: Sequence[str], topic_of: Mapping[int, int], links: Links) -> CitationMatrix:
    """Counts links between topics. topic_of: the index of the topic of a page; other pages are ignored."""
    pages = np.fromiter(topic_of, dtype=np.int64, count=len(topic_of))
    order = np.argsort(pages)
    pages = pages[order]
    topic_indices = np.fromiter(topic_of.values(), dtype=np.int64, count=len(topic_of))[order]
    counts = np.zeros((len(topics), len(topics)), dtype=np.int64)
    pairs = link_array(links)
    if len(pages) and len(pairs):
        position = np.searchsorted(pages, pairs).clip(max=len(pages) - 1)
        is_counted = (pages[position] == pairs).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
        np.add.at(counts, (topic_indices[position[is_counted, 0]], topic_indices[position[is_counted, 1]]), 1)
    return CitationMatrix(tuple(topics), tuple(map(tuple, counts.tolist())))


def sum_citations(counts_by_collection: Iterable[Mapping[tuple[str, str], int]]) -> CitationMatrix:
    """The sum of the counts of several collections, each by citing and cited topic, as one matrix."""
    total: dict[tuple[str, str], int] = {}
    for counts in counts_by_collection:
        for pair, count in counts.items():
            total[pair] = total.get(pair, 0) + count
    topics = sorted({topic for pair in total for topic in pair})
    return CitationMatrix(
        tuple(topics), tuple(tuple(total.get((citing, cited), 0) for cited in topics) for citing in topics)
    )
