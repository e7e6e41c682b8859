from collections.abc import Iterable, Sequence
from typing import Literal, Unpack

from lycosa.logs.readings import Readings
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .evidence_options import EvidenceOptions
from .interest import logistic
from .log_offers import LogOffers, is_evicted
from .readers import ReadersEvidence


class Collaborative:
    """Goes where people went who read pages that satisfy a predicate, whichever that is; follows no link.

    Pages of an access log are worth ratio / (1 + ratio), the interest ratio being that of `ReadersEvidence`. Those
    whose ratio exceeds 1 join, those that wait are offered again when theirs has changed. Seeds are worth 0.5, a
    ratio of 1. When few wait, pages are drawn by chance from the log, so that there need be no seeds.

    readings: who read what, when.
    min_candidates, ahead, most, seed: as `LogOffers` has them.
    evidence: as `ReadersEvidence` has it.

    Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002).
    """

    name = "collaborative"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = False
    uses_standing = False

    def __init__(
        self,
        readings: Readings | None = None,
        *,
        min_candidates: int | None = None,
        ahead: int = 8,
        most: int = 200,
        seed: int = 0,
        **evidence: Unpack[EvidenceOptions],
    ):
        self.evidence = ReadersEvidence(readings, **evidence)
        self._offers = LogOffers(self.evidence, most=most, ahead=ahead, min_candidates=min_candidates, seed=seed)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return self._offers.begin(seeds)

    def learn(self, event: Visit | Skip) -> None:
        self._offers.learn(event)
        self.evidence.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        found = [
            Candidate(offer.url, logistic(offer.log_ratio), because={"readers": offer.told}, depth=1)
            for offer in self._offers.made(self._offers.worth_offering())
        ]
        return found if is_evicted(event) else [*found, *self._offers.drawn_where_few_wait()]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> Plain:
        return {"evidence": self.evidence.state(), "offers": self._offers.state()}

    def restore(self, state: Plain) -> None:
        self.evidence.restore(state["evidence"])
        self._offers.restore(state["offers"])
