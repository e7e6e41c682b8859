"""A higher priority for links whose anchors contain words of the topic."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from lycosa.vocabulary.records import RELEVANT, Candidate, JsonValue, Visit


class AnchorBoost:
    """Raises the priority of links whose anchors contain words of the topic, which helps when seeds are off the topic.

    priority = page_value + 0.5 * overlap * (1 - page_value)

    Here, page_value is the relevance or utility of the page, and overlap the share of the topic's words that occur in
    the anchor. After `enough` relevant pages, priority = page_value.

    topic_words: words of the topic; without them, priority = page_value.
    split: splits an anchor into words, normalised like `topic_words`.
    enough: number of relevant pages after which anchors no longer count.
    """

    def __init__(
        self, topic_words: Mapping[str, int] | None, *, split: Callable[[str], Iterable[str]], enough: int
    ) -> None:
        self._topic_words = frozenset(topic_words or ())
        self._split = split
        self._enough = enough
        self.relevant_seen = 0
        self.share = 1.0  # factor applied to all priorities

    def learn(self, relevance: float | None) -> None:
        """Counts the page if it is relevant."""
        if relevance is not None and relevance >= RELEVANT:
            self.relevant_seen += 1

    def candidates(self, visit: Visit, page_value: float, because: Mapping[str, JsonValue]) -> Sequence[Candidate]:
        """Candidates for the links of a page of this value, 0 to 1."""
        found_on, depth = visit.candidate.url, visit.candidate.depth + 1
        links, share = visit.open_links(), self.share
        if share != 1.0:
            because = {**because, "share": share}
        if not self._topic_words or self.relevant_seen >= self._enough:
            priority = share * page_value
            return [Candidate(link.target, priority, found_on, link.anchor, because, depth) for link in links]
        candidates = []
        for link in links:
            priority, link_because = page_value, because
            if overlap := self._overlap(link.anchor):
                priority += 0.5 * overlap * (1 - page_value)
                link_because = {**because, "anchor": round(overlap, 4)}
            candidates.append(Candidate(link.target, share * priority, found_on, link.anchor, link_because, depth))
        return candidates

    def _overlap(self, anchor: str) -> float:
        """The share of the topic's words that occur in an anchor."""
        words = self._topic_words.intersection(self._split(anchor))
        return len(words) / len(self._topic_words)
