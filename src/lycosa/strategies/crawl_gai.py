from collections.abc import Iterable, Sequence
from typing import Literal

from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .linked import linked_by

_BECAUSE = {"in_links": True}  # of all candidates


class CrawlGAI:
    """Takes the waiting URL of the highest apparent in-degree: the pages seen that link to it.

    The priority is that number: every in-link offers 1, and offers of a waiting URL are added up, so that the frontier
    does the counting. Of equals, the one comes first that was the first to have so many. A page counts once for each
    URL it links to, and not for itself; a seed counts as linked once. What a frontier evicts begins at 1 again.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """

    name = "crawl-gai"
    scale: Literal["unit", "order"] = "order"
    exhaustive = True
    uses_standing = False

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in dict.fromkeys(seeds)]

    def learn(self, event: Visit | Skip) -> None:
        pass

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        return [Candidate(link.target, 1.0, found_on, link.anchor, _BECAUSE, depth) for link in linked_by(event)]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting + offered

    def state(self) -> Plain:
        return None

    def restore(self, state: Plain) -> None:
        pass
