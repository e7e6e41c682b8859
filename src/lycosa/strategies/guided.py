from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Unpack

import numpy as np
from msgspec.structs import replace

from lycosa.logs.readings import Readings
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .base import BaseStrategy
from .best_first import BestFirst
from .collaborative import Ids, LogOffers, Offer, is_evicted
from .interest import logistic
from .readers import EvidenceOptions, ReadersEvidence

_SURE = 0.999  # a strategy's 1, which would be beyond all evidence
_NONE: Ids = np.empty(0, np.int64)
_LAST = 1e-6  # the chance of a page that nothing speaks for


class Guided(BaseStrategy):
    """Follows another strategy, and beside the links of pages what people read who read pages on the topic.

    Where people read a page, what the other strategy says it is worth is taken for a chance, whose odds are multiplied
    by the interest ratio of `ReadersEvidence`; it is offered again when that has changed. Pages that nothing links to,
    or that are worth 0, join where the ratio exceeds 1, at the chance of any page so multiplied. A few that people read
    who read pages on the topic wait behind all else, so that a crawl whose links run out goes on with them. A crawl
    that begins without seeds draws them from the log. Without readings, all is as the other strategy has it.

    inner: decides what the links of pages are worth, from 0 to 1.
    readings: who read what, when.
    min_candidates, ahead, most, seed: as `LogOffers` has them.
    evidence: as `ReadersEvidence` has it.
    """

    name = "guided"
    needs = frozenset({"log"})

    def __init__(
        self,
        inner: Strategy | None = None,
        readings: Readings | None = None,
        *,
        min_candidates: int | None = None,
        ahead: int = 8,
        most: int = 200,
        seed: int = 0,
        **evidence: Unpack[EvidenceOptions],
    ):
        self.inner: Strategy = BestFirst() if inner is None else inner
        if self.inner.scale != "unit":
            raise UsageError(
                f"an access log goes only with a strategy whose priorities are from 0 to 1, such as {BestFirst.name}; "
                f"those of {self.inner.name} are not"
            )
        self.exhaustive = self.inner.exhaustive
        self.uses_standing = self.inner.uses_standing
        self.evidence = ReadersEvidence(readings, **evidence)
        self._offers = LogOffers(self.evidence, most=most, ahead=ahead, min_candidates=min_candidates, seed=seed)
        self._linked: dict[int, Candidate] = {}  # waiting pages of the log, as the inner strategy offered them
        self._draws = False
        self._chances: dict[int, None] = {}  # waiting pages of the log that were drawn by chance
        self._reranked: set[Url] = set()  # URLs just offered at what readers say, which replaces what they waited at

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        self._draws |= not seeds
        return [*self._guided(self.inner.start(seeds), _NONE), *self._drawn()]

    def learn(self, event: Visit | Skip) -> None:
        self.inner.learn(event)
        number = self._offers.number_of(event.candidate.url)
        self._offers.learn(event)
        if number is not None and not self._offers.is_waiting(number):
            self._linked.pop(number, None)
            self._chances.pop(number, None)
        self.evidence.learn(event)
        if isinstance(event, Visit):
            self._reranked.clear()

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if is_evicted(event):
            return self._guided(self.inner.propose(event), _NONE)
        return [*self._guided(self.inner.propose(event), self._offers.in_reserve(event)), *self._drawn()]

    def _guided(self, candidates: Iterable[Candidate], in_reserve: Ids) -> list[Candidate]:
        """The candidates of the inner strategy, those that people read at what these say, and others they read."""
        found = list(candidates)
        if not len(self.evidence.readings.urls):
            return found
        for candidate in found:
            number = self._offers.number_of(candidate.url)
            if number is not None:
                self._link(number, candidate)
        linked = self._offers.numbers_of(candidate.url for candidate in found)
        wanted = np.concatenate((linked, self._offers.worth_offering(), in_reserve))
        offers = self._offers.made(np.unique(wanted))
        read = {offer.url: self._candidate(offer) for offer in offers}
        guided = [read.get(candidate.url, candidate) for candidate in found]
        for candidate in found:
            read.pop(candidate.url, None)
        return [*guided, *read.values()]

    def _link(self, number: int, candidate: Candidate) -> None:
        """Keeps in mind what the inner strategy says a page of the log is worth."""
        known = self._linked.get(number)
        if known is not None:
            merged = self.inner.merge(candidate.url, known.priority, candidate.priority)
            if merged == known.priority:
                return
            candidate = replace(candidate, priority=merged)
        self._linked[number] = candidate

    def _candidate(self, offer: Offer) -> Candidate:
        linked = self._linked.get(offer.number)
        if linked is not None and offer.log_ratio == 0.0:
            return linked
        chance = _LAST if linked is None else linked.priority
        if chance <= _LAST and offer.log_ratio > 0.0:
            chance = self.evidence.tally.usual
        priority = multiplied(chance, offer.log_ratio)
        self._reranked.add(offer.url)
        because: Mapping[str, Plain] = {"readers": offer.told}
        if linked is None:
            return Candidate(offer.url, priority, because=because, depth=1)
        return replace(linked, priority=priority, because={**linked.because, **because})

    def _drawn(self) -> list[Candidate]:
        if not self._draws:
            return []
        drawn = self._offers.drawn(len(self._chances))
        self._chances |= dict.fromkeys(offer.number for offer in drawn)
        tally = self.evidence.tally
        usual = tally.usual if tally.satisfying else 1.0  # they are the seeds
        return [Candidate(offer.url, multiplied(usual, offer.log_ratio), because={"chance": True}) for offer in drawn]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """What readers say anew replaces what they said before; all else is for the inner strategy to merge."""
        return offered if url in self._reranked else self.inner.merge(url, waiting, offered)

    def state(self) -> Plain:
        linked = [
            [number, each.url, each.priority, each.found_on, each.anchor, dict(each.because), each.depth]
            for number, each in self._linked.items()
        ]
        return {
            "inner": self.inner.state(),
            "evidence": self.evidence.state(),
            "offers": self._offers.state(),
            "linked": linked,
            "draws": self._draws,
            "chances": list(self._chances),
        }

    def restore(self, state: Plain) -> None:
        self.inner.restore(state["inner"])
        self.evidence.restore(state["evidence"])
        self._offers.restore(state["offers"])
        self._linked = {
            number: Candidate(url, priority, found_on, anchor, because, depth)
            for number, url, priority, found_on, anchor, because, depth in state["linked"]
        }
        self._draws = state["draws"]
        self._chances = dict.fromkeys(state["chances"])


def multiplied(chance: float, log_ratio: float) -> float:
    """A chance whose odds are multiplied by a ratio.

    >>> round(multiplied(0.5, log(3.0)), 6)
    0.75
    """
    if log_ratio == 0.0 or chance == 0.0:
        return chance
    chance = min(_SURE, chance)
    return logistic(log(chance / (1.0 - chance)) + log_ratio)
