"""Strategies that look for the pages with the most in-links: those of Kumar and others, by apparent in-degree (AI)."""

from collections.abc import Iterable, Sequence
from random import Random

from lycosa.vocabulary.explanations import CLOCK_START
from lycosa.vocabulary.records import Candidate, JsonValue, Skip, Url, Visit

from .base import BaseStrategy, distinct_links, random_state, restore_random

# `Candidate.because`, shared by all candidates: a mapping for each page would take more memory than the candidates.
_DRAWN_BECAUSE = {"drawn": True}
_LINKED_BECAUSE = {"in_links": True}


class CrawlAI(BaseStrategy):
    """Draws a waiting URL at random, with a probability proportional to its apparent in-degree.

    The apparent in-degree of a URL is the number of visited pages that link to it: however often a page links to it, it
    counts once; a link of a page to itself does not count; and a seed starts at 1.

    Every in-link sets an alarm at now + Exp(1); priority = -alarm, the earliest of a URL. The URL whose alarm is first
    is fetched next, and the clock advances to it. Since exponential times have no memory, the first of d alarms comes
    before all others with a probability proportional to d, whenever they were set. This is exact for one fetch at a
    time; with n fetches in flight, the links of these n pages have set no alarms yet.

    seed: of the random numbers; not a URL.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """

    name = "crawl-ai"
    scale = "order"  # only the order of its priorities is meaningful

    def __init__(self, *, seed: int = 0):
        self._random = Random(seed)
        self._now = CLOCK_START  # so late that priorities of other strategies do not advance it

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [
            Candidate(seed, -self._alarm(), because={"seed": True, **_DRAWN_BECAUSE}) for seed in dict.fromkeys(seeds)
        ]

    def _alarm(self) -> float:
        """The time of a new alarm."""
        return self._now + self._random.expovariate(1.0)

    def learn(self, event: Visit | Skip) -> None:
        if isinstance(event, Visit):  # perhaps of another strategy, if the queue is re-ranked from history
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
    """Greedy: takes the waiting URL of the highest apparent in-degree, as `CrawlAI` defines it.

    priority = apparent in-degree

    Every in-link is offered with priority 1, and `merge` adds up, so that the frontier does the counting. Among equals,
    the one that reached the number first is taken first. A URL evicted from the frontier starts at 1 again.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """

    name = "crawl-gai"
    scale = "order"  # only the order of its priorities is meaningful

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
