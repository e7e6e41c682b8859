"""Strategies that seek the pages with most in-links."""

from collections.abc import Iterable, Sequence
from random import Random

from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .base import BaseStrategy, distinct_links, random_state, restore_random

_DRAWN = "drawn"  # reason of candidates whose priority is minus a moment of this strategy's clock
_DRAWN_BECAUSE = {_DRAWN: True}  # of all of them, since one for each page takes more memory than the candidates


class CrawlAI(BaseStrategy):
    """Draws any waiting URL with a chance proportional to its apparent in-degree: the pages seen that link to it.

    Every in-link has an alarm of its own, set when it is seen to ring after a time drawn from Exp(1); the URL whose
    alarm rings first comes next, and the clock stands at that moment. The first of d such alarms rings before all
    others with a chance proportional to d, whenever they were set, so one draw for each link is exact, in a crawl that
    fetches one page at a time; with n fetches under way the last n rings are not known yet. A page counts once for each
    URL it links to, and not for itself; a seed counts as linked once. A URL found again keeps the earlier alarm.

    seed: of the draws.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """

    name = "crawl-ai"
    scale = "order"

    def __init__(self, *, seed: int = 0):
        self._random = Random(seed)
        self._now = 0.0

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, -self._alarm(), because={"seed": True, **_DRAWN_BECAUSE}) for seed in seeds]

    def _alarm(self) -> float:
        return self._now + self._random.expovariate(1.0)

    def learn(self, event: Visit | Skip) -> None:
        # What another strategy ranked says nothing of this clock.
        if isinstance(event, Visit) and _DRAWN in event.candidate.because:
            self._now = max(self._now, -event.candidate.priority)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        alarm = self._alarm
        return [
            Candidate(link.target, -alarm(), found_on, link.anchor, _DRAWN_BECAUSE, depth)
            for link in distinct_links(event)
        ]

    def state(self) -> Plain:
        return {"now": self._now, "chance": random_state(self._random)}

    def restore(self, state: Plain) -> None:
        self._now = state["now"]
        restore_random(self._random, state["chance"])


_LINKED_BECAUSE = {"in_links": True}  # of all candidates


class CrawlGAI(BaseStrategy):
    """Takes the waiting URL of the highest apparent in-degree: the pages seen that link to it.

    The priority is that number: every in-link offers 1, and offers of a waiting URL are added up, so that the frontier
    does the counting. Of equals, the one comes first that was the first to have so many. A page counts once for each
    URL it links to, and not for itself; a seed counts as linked once. What a frontier evicts begins at 1 again.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """

    name = "crawl-gai"
    scale = "order"

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 1.0, because={"seed": True}) for seed in dict.fromkeys(seeds)]

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return []
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        return [
            Candidate(link.target, 1.0, found_on, link.anchor, _LINKED_BECAUSE, depth) for link in distinct_links(event)
        ]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting + offered
