"""Strategies that know no topic: the baselines that the others have to beat."""

import random
from collections.abc import Iterable, Sequence
from typing import Literal

from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit


class BreadthFirst:
    """Takes the links in the order in which they were found: what a crawler does that knows no topic."""

    name = "breadth-first"
    scale: Literal["unit", "order"] = "order"
    exhaustive = True
    uses_standing = False

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, 0.0, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        pass

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        because = {"depth": depth}
        for link in event.open_links():
            yield Candidate(link.target, float(-depth), found_on, link.anchor, because, depth)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return max(waiting, offered)

    def state(self) -> Plain:
        return None

    def restore(self, state: Plain) -> None:
        pass


class RandomOrder:
    """Takes any waiting link with equal chance: the baseline that a strategy has to beat."""

    name = "random"
    scale: Literal["unit", "order"] = "order"
    exhaustive = True
    uses_standing = False

    def __init__(self, *, seed: int = 0):
        self._chance = random.Random(seed)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, self._chance.random(), because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        pass

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip):
            return
        found_on, depth = event.candidate.url, event.candidate.depth + 1
        for link in event.open_links():
            yield Candidate(link.target, self._chance.random(), found_on, link.anchor, {"chance": True}, depth)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return waiting  # one draw per URL, or pages with many in-links would come first

    def state(self) -> Plain:
        version, numbers, gauss = self._chance.getstate()
        return [version, list(numbers), gauss]

    def restore(self, state: Plain) -> None:
        version, numbers, gauss = state
        self._chance.setstate((version, tuple(numbers), gauss))
