"""Strategies without a topic: the baselines that the others have to beat."""

from collections.abc import Iterable, Sequence
from random import Random

from lycosa.vocabulary.records import Candidate, JsonValue, Skip, Url, Visit

from .base import BaseStrategy, random_state, restore_random


class BreadthFirst(BaseStrategy):
    """Follows links in the order in which they were found."""

    name = "breadth-first"
    scale = "order"  # only the order of its priorities is meaningful

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 0.0, because={"seed": True}) for seed in seeds]

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        because = {"depth": depth}
        for link in event.open_links():
            yield Candidate(link.target, float(-depth), found_on, link.anchor, because, depth)


class RandomOrder(BaseStrategy):
    """Follows a waiting link chosen uniformly at random.

    seed: of the random numbers; not a URL.
    """

    name = "random"
    scale = "order"  # only the order of its priorities is meaningful

    def __init__(self, *, seed: int = 0):
        self._random = Random(seed)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, self._random.random(), because={"seed": True}) for seed in seeds]

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        for link in event.open_links():
            yield Candidate(link.target, self._random.random(), found_on, link.anchor, {"chance": True}, depth)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting  # one draw per URL: otherwise, pages with many in-links would come first

    def state(self) -> JsonValue:
        return random_state(self._random)

    def restore(self, state: JsonValue) -> None:
        restore_random(self._random, state)
