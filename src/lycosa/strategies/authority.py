"""Strategies that look for the pages with the most in-links."""

from collections.abc import Iterable, Sequence
from random import Random

from lycosa.vocabulary.explanations import CLOCK_START
from lycosa.vocabulary.records import Candidate, JsonValue, Skip, Url, Visit

from .base import BaseStrategy, distinct_links, random_state, restore_random

# One mapping for all candidates: one for each page would take more memory than the candidates themselves.
_DRAWN_BECAUSE = {"drawn": True}
_LINKED_BECAUSE = {"in_links": True}


class CrawlAI(BaseStrategy):
    """Draws a waiting URL at random, with a probability proportional to its apparent in-degree.

    The apparent in-degree is the number of visited pages that link to the URL: a page counts once for each URL, links
    of a page to itself do not count, and a seed starts at 1.

    Every in-link sets an alarm at now + Exp(1); priority = -alarm, the earliest of a URL. The URL whose alarm is first
    is fetched next, and the clock advances to it. Since exponential times have no memory, the first of d alarms comes
    before all others with a probability proportional to d, whenever they were set. This is exact for one fetch at a
    time; with n fetches in flight, the last n alarms are not known yet.

    seed: of the random numbers.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """

    name = "crawl-ai"
    scale = "order"

    def __init__(self, *, seed: int = 0):
        self._random = Random(seed)
        self._now = CLOCK_START

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, -self._alarm(), because={"seed": True, **_DRAWN_BECAUSE}) for seed in seeds]

    def _alarm(self) -> float:
        return self._now + self._random.expovariate(1.0)

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit):
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

    def state(self) -> JsonValue:
        return {"now": self._now, "chance": random_state(self._random)}

    def restore(self, state: JsonValue) -> None:
        self._now = state["now"]
        restore_random(self._random, state["chance"])


class CrawlGAI(BaseStrategy):
    """Takes the waiting URL of the highest apparent in-degree, as `CrawlAI` defines it.

    priority = apparent in-degree

    Every in-link is offered with priority 1, and `merge` adds, so that the frontier counts. Among equals, the first to
    reach the number comes first. A URL evicted from the frontier starts at 1 again.

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
