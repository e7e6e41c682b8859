"""Strategies that follow the links of the most relevant pages first."""

from collections.abc import Callable, Iterable, Mapping

from lycosa.vocabulary.records import RELEVANT, Candidate, JsonValue, Skip, Visit
from lycosa.vocabulary.text import tokens_of

from .anchors import AnchorBoost
from .base import BaseStrategy, clamped


class BestFirst(BaseStrategy):
    """Follows the links of the most relevant pages first.

    priority = relevance of the page on which the link was found; the highest if there are several

    If the topic is also given in words, `AnchorBoost` raises links whose anchors contain them.

    topic_words, split, enough: see `AnchorBoost`.

    Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001).
    """

    name = "best-first"

    def __init__(
        self,
        *,
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        self._anchors = AnchorBoost(topic_words, split=split, enough=enough)

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit):
            self._anchors.learn(event.relevance)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        relevance = clamped(event.relevance)
        return self._anchors.candidates(event, relevance, {"page": round(relevance, 4)})

    def scale_priorities(self, share: float) -> None:
        """Multiplies the priority of every link by `share` from now on: see `mapped.SupportsScaling`."""
        self._anchors.share = share

    def state(self) -> JsonValue:
        return {"relevant_seen": self._anchors.relevant_seen}

    def restore(self, state: JsonValue) -> None:
        self._anchors.relevant_seen = state["relevant_seen"]


class BaselineFocused(BaseStrategy):
    """Follows only the links of relevant pages, those of the most relevant first: the classic focused crawler.

    priority = relevance of the page on which the link was found; the highest if there are several

    Links of pages of relevance 0.5 or less are not followed, except those of seeds.

    Chakrabarti, van den Berg, Dom: Focused crawling: a new approach to topic-specific Web resource discovery (1999).
    """

    name = "baseline-focused"
    exhaustive = False  # it does not propose every link

    def __init__(self) -> None:
        self._share = 1.0  # factor of all priorities

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        relevance = clamped(event.relevance)
        if relevance <= RELEVANT and event.candidate.depth > 0:
            return []
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        priority, links, because = relevance, event.open_links(), {"page": round(relevance, 4)}
        if self._share != 1.0:
            priority *= self._share
            because["share"] = self._share
        return [Candidate(link.target, priority, found_on, link.anchor, because, depth) for link in links]

    def scale_priorities(self, share: float) -> None:
        """Multiplies the priority of every link by `share` from now on: see `mapped.SupportsScaling`."""
        self._share = share
