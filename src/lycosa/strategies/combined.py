from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Unpack

import numpy as np

from lycosa.logs.readings import Readings
from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .evidence_options import EvidenceOptions
from .intelligent import candidate_of
from .interest import logistic
from .linkage import WEIGHTS, LinkageEvidence, Told
from .log_offers import LogOffers, Offer, is_evicted
from .readers import ReadersEvidence


class Combined:
    """Goes where people went, and where links lead, that satisfy a predicate, whichever that is.

    A page is worth ratio / (1 + ratio), the ratio being the product of that of `ReadersEvidence` and that of
    `LinkageEvidence`; what is not known counts 1. Pages join whose readers' ratio exceeds 1, and those that a page
    links to which satisfies the predicate: so come pages that nobody has read, and pages that nothing links to. Seeds
    are worth 0.5; when few pages wait, others are drawn by chance from the log.

    readings: who read what, when.
    weights: of the factors of links.
    min_candidates, ahead, most, seed: as `LogOffers` has them.
    evidence: as `ReadersEvidence` has it.

    Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002), section 3.1.
    """

    name = "combined"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = False
    uses_standing = False

    def __init__(
        self,
        readings: Readings | None = None,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        min_candidates: int | None = None,
        ahead: int = 8,
        most: int = 200,
        seed: int = 0,
        **evidence: Unpack[EvidenceOptions],
    ):
        self.readers = ReadersEvidence(readings, **evidence)
        self.links = LinkageEvidence(weights=weights, significance=evidence.get("significance", 2.0))
        self._offers = LogOffers(self.readers, most=most, ahead=ahead, min_candidates=min_candidates, seed=seed)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return self._offers.begin(seeds)

    def learn(self, event: Visit | Skip) -> None:
        self._offers.learn(event)
        self.readers.learn(event)
        self.links.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        """What readers or links say something new of."""
        linked: dict[Url, Told] = {}
        read: list[int] = []
        found: list[Candidate] = []
        for told in self.links.told(self.links.changed):
            number = self._offers.number_of(told.url)
            if told.lead.satisfying == 0 and not self._offers.is_waiting(number):
                continue
            if number is None:
                self._offers.expect_unread([told.url])
                found.append(candidate_of(told))
            else:
                linked[told.url] = told
                read.append(number)
        offers = self._offers.made(np.union1d(self._offers.worth_offering(), np.array(read, np.int64)))
        linked |= {told.url: told for told in self.links.told(each.url for each in offers if each.url not in linked)}
        found += [_candidate(offer, linked.get(offer.url)) for offer in offers]
        return found if is_evicted(event) else [*found, *self._offers.drawn_where_few_wait()]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> Plain:
        return {
            "readers": self.readers.state(),
            "links": self.links.state(),
            "offers": self._offers.state(),
        }

    def restore(self, state: Plain) -> None:
        self.readers.restore(state["readers"])
        self.links.restore(state["links"])
        self._offers.restore(state["offers"])


def _candidate(offer: Offer, told: Told | None) -> Candidate:
    """A page that was read, at what readers, and links if there are any, say of it."""
    because: Mapping[str, Plain] = {"readers": offer.told}
    if told is None:
        return Candidate(offer.url, logistic(offer.log_ratio), because=because, depth=1)
    lead = told.lead
    priority = logistic(offer.log_ratio + told.log_ratio)
    return Candidate(offer.url, priority, lead.found_on, lead.anchor, {**told.ratios, **because}, lead.depth)
