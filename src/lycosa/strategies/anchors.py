"""What the anchors of links say about the topic."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from lycosa.vocabulary.records import RELEVANT, Candidate, Plain, Visit


class AnchorBoost:
    """Finds the way to the topic from seeds that are off it: until `enough` relevant pages were seen, a link whose
    anchor says the words of the topic is worth up to half of what is missing to 1 more than its page is.

    split: gives the words of an anchor as `topic_words` spells them.
    """

    def __init__(
        self, topic_words: Mapping[str, int] | None, *, split: Callable[[str], Iterable[str]], enough: int
    ) -> None:
        self._topic_words = frozenset(topic_words or ())
        self._split = split
        self._enough = enough
        self.relevant_seen = 0
        self.share = 1.0  # of what links are worth that they are offered at

    def learn(self, relevance: float | None) -> None:
        """Of a page just visited."""
        if relevance is not None and relevance >= RELEVANT:
            self.relevant_seen += 1

    def candidates(self, visit: Visit, worth: float, because: Mapping[str, Plain]) -> Sequence[Candidate]:
        """The links of a page that is worth so much for this reason."""
        found_on, depth = visit.candidate.url, visit.candidate.depth + 1
        links, share = visit.open_links(), self.share
        if share != 1.0:
            because = {**because, "share": share}
        if not self._topic_words or self.relevant_seen >= self._enough:
            priority = share * worth
            return [Candidate(link.target, priority, found_on, link.anchor, because, depth) for link in links]
        candidates = []
        for link in links:
            priority, its_because = worth, because
            if said := self._share_said(link.anchor):
                priority += 0.5 * said * (1 - worth)
                its_because = {**because, "anchor": round(said, 4)}
            candidates.append(Candidate(link.target, share * priority, found_on, link.anchor, its_because, depth))
        return candidates

    def _share_said(self, anchor: str) -> float:
        words = self._topic_words.intersection(self._split(anchor))
        return len(words) / len(self._topic_words)
