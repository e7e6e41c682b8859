from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from lycosa.vocabulary.records import Candidate, Plain, Skip, Url, Visit

from .interest import logistic
from .linkage import WEIGHTS, LinkageEvidence, Told

UNKNOWN = 0.5  # priority of what nothing is known of


class Intelligent:
    """Learns while it crawls what in links leads to pages that satisfy a predicate, whichever that is.

    A link is worth the logistic of Σ weight · log of interest ratio over the factors that `LinkageEvidence` knows:
    words of the pages that link there, tokens of its URL, pages that satisfy the predicate or do not and link there,
    and siblings. A waiting URL is worth something else once another page links to it or a sibling was visited. A page
    satisfies the predicate from a relevance of 0.5 on; seeds are worth 0.5, as is all that nothing is known of.

    weights, significance, smoothing, clip: as `LinkageEvidence` has them.

    Aggarwal, Al-Garawi, Yu: Intelligent crawling on the World Wide Web with arbitrary predicates (WWW 2001).
    """

    name = "intelligent"
    scale: Literal["unit", "order"] = "unit"
    exhaustive = True
    uses_standing = False

    def __init__(
        self,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        significance: float = 2.0,
        smoothing: float = 10.0,
        clip: float = 5.0,
    ):
        self.evidence = LinkageEvidence(weights=weights, significance=significance, smoothing=smoothing, clip=clip)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return [Candidate(seed, UNKNOWN, because={"seed": True}) for seed in seeds]

    def learn(self, event: Visit | Skip) -> None:
        self.evidence.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [candidate_of(told) for told in self.evidence.told(self.evidence.changed)]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> Plain:
        return self.evidence.state()

    def restore(self, state: Plain) -> None:
        self.evidence.restore(state)


def candidate_of(told: Told) -> Candidate:
    """A URL at what its links tell of it."""
    lead = told.lead
    because = told.ratios or {"links": 1.0}
    return Candidate(told.url, logistic(told.log_ratio), lead.found_on, lead.anchor, because, lead.depth)
