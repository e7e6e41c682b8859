from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from lycosa.reading.words import tokens_of
from lycosa.vocabulary.records import RELEVANT, Candidate, Plain, Skip, Url, Visit


class BestFirst:
    """Follows the links of the most relevant pages first.

    A link is worth the relevance of the best page it was found on. Where the topic was also given in words, a link
    whose anchor says them is worth up to half of what is missing to 1 more, until `enough` relevant pages were seen.

    split: gives the words of an anchor as `topic_words` spells them.

    Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001).
    """

    name = "best-first"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True

    def __init__(
        self,
        *,
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        self._topic_words = frozenset(topic_words or ())
        self._split = split
        self._enough = enough
        self._relevant_seen = 0

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit) and event.relevance is not None and event.relevance >= RELEVANT:
            self._relevant_seen += 1

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        page_relevance = event.relevance or 0.0
        page_says: dict[str, Plain] = {"page": round(page_relevance, 4)}
        searching = self._topic_words and self._relevant_seen < self._enough
        for link in event.open_links():
            priority, because = page_relevance, page_says
            if searching and (said := self._share_said(link.anchor)):
                priority += 0.5 * said * (1 - page_relevance)
                because = {**page_says, "anchor": round(said, 4)}
            yield Candidate(link.target, priority, found_on, link.anchor, because, depth)

    def _share_said(self, anchor: str) -> float:
        words = self._topic_words.intersection(self._split(anchor))
        return len(words) / len(self._topic_words)

    def merge(self, waiting: float, offered: float) -> float:
        return max(waiting, offered)

    def state(self) -> Plain:
        return {"relevant_seen": self._relevant_seen}

    def restore(self, state: Plain) -> None:
        self._relevant_seen = state["relevant_seen"]
