from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from lycosa.reading.words import tokens_of
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .anchors import WayIn
from .unit_scale import clamped


class BestFirst:
    """Follows the links of the most relevant pages first.

    A link is worth the relevance of the best page it was found on; where the topic was also given in words, their
    anchors help to find the way in.

    topic_words, split, enough: as `WayIn` has them.

    Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001).
    """

    name = "best-first"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True
    uses_standing = False

    def __init__(
        self,
        *,
        topic_words: Mapping[str, int] | None = None,
        split: Callable[[str], Iterable[str]] = tokens_of,
        enough: int = 20,
    ):
        self._way_in = WayIn(topic_words, split=split, enough=enough)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit):
            self._way_in.learn(event.relevance)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        relevance = clamped(event.relevance)
        return self._way_in.candidates(event, relevance, {"page": round(relevance, 4)})

    def leave_room(self, share: float) -> None:
        self._way_in.share = share

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return max(waiting, offered)

    def state(self) -> Plain:
        return {"relevant_seen": self._way_in.relevant_seen}

    def restore(self, state: Plain) -> None:
        self._way_in.relevant_seen = state["relevant_seen"]
