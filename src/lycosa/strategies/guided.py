"""A wrapper that adds the evidence of an access log to any strategy."""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Unpack

import numpy as np
from msgspec.structs import replace

from lycosa.logs.access_log import AccessLog
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, JsonValue, Skip, Url, Visit

from .base import BaseStrategy, require_unit_scale
from .best_first import BestFirst
from .collaborative import Ids, LogOffers, Offer, is_evicted
from .interest import logistic
from .log_evidence import EvidenceOptions, LogEvidence

_MAX_PROBABILITY = 0.999  # instead of 1, whose odds are infinite
_NO_IDS: Ids = np.empty(0, np.int64)
_MIN_PROBABILITY = 1e-6  # of a page without links or evidence, which is ranked after everything else


class Guided(BaseStrategy):
    """Adds the evidence of an access log to another strategy. (The other guide of a strategy, a map, is `Mapped`.)

    odds(priority) = odds(priority by `inner`) · interest ratio by `LogEvidence`, where odds(p) = p / (1 - p)

    The interest ratio of a page is how much more likely it is to be relevant, by who read it; 1 without evidence.

    A page is proposed again when its ratio changes. Pages without in-links, or with priority 0 by `inner`, are proposed
    if their ratio exceeds 1; the base rate, which is the share of the visited pages that satisfy the predicate, then
    replaces the priority by `inner`. A few pages read by people who read pages on the topic wait behind everything
    else, for when links run out. Without seeds, a crawl starts from pages drawn from the log. Without access_log, this
    is exactly the inner strategy. A page *satisfies* the predicate if its relevance is at least 0.5.

    inner: ranks the links of pages, from 0 to 1.
    access_log: who read what, when.
    most: limit of pages of the log offered, or offered again, after one visit: those whose ratios changed most. After a
        full update of the evidence, 25 times as many.
    ahead: pages that should wait at any time; if fewer wait, pages are drawn at random, or pages are offered that were
        read by people who read pages on the topic.
    min_candidates: random pages are drawn until so many pages were visited; None: as long as there are any.
    seed: of the random order in which pages are drawn; not a URL.
    evidence: see `LogEvidence`.
    """

    name = "guided"
    needs = frozenset({"log"})

    def __init__(
        self,
        inner: Strategy | None = None,
        access_log: AccessLog | None = None,
        *,
        min_candidates: int | None = None,
        ahead: int = 8,
        most: int = 200,
        seed: int = 0,
        **evidence: Unpack[EvidenceOptions],
    ):
        self.inner: Strategy = BestFirst() if inner is None else inner
        require_unit_scale(self.inner, "an access log", such_as=BestFirst.name)
        self.exhaustive = self.inner.exhaustive
        self.uses_standing = self.inner.uses_standing
        self.evidence = LogEvidence(access_log, **evidence)
        self._offers = LogOffers(self.evidence, max_offers=most, ahead=ahead, min_candidates=min_candidates, seed=seed)
        self._linked: dict[int, Candidate] = {}  # waiting pages of the log, as offered by the inner strategy
        self._draws_at_random = False  # pages of the log, since there are no seeds
        self._drawn_pages: dict[int, None] = {}  # waiting pages of the log that were drawn at random
        # URLs just ranked by the log: `merge` replaces their priority instead of merging it.
        self._reranked: set[Url] = set()

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        self._draws_at_random |= not seeds
        return [*self._add_log_evidence(self.inner.start(seeds), _NO_IDS), *self._draw_candidates()]

    def learn(self, event: Visit | Skip) -> None:
        self.inner.learn(event)
        page_id = self._offers.id_of(event.candidate.url)
        self._offers.learn(event)
        if page_id is not None and not self._offers.is_waiting(page_id):
            self._linked.pop(page_id, None)
            self._drawn_pages.pop(page_id, None)
        self.evidence.learn(event)
        if isinstance(event, Visit):
            self._reranked.clear()

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if is_evicted(event):
            return self._add_log_evidence(self.inner.propose(event), _NO_IDS)
        return [
            *self._add_log_evidence(self.inner.propose(event), self._offers.fallback_pages(event)),
            *self._draw_candidates(),
        ]

    def _add_log_evidence(self, candidates: Iterable[Candidate], fallback: Ids) -> list[Candidate]:
        """The candidates of the inner strategy, ranked by the evidence of the log too, and pages of the log.

        A page of the log is re-ranked when the inner strategy proposes it, when its evidence changed, or when
        links run out (`fallback`). Each is computed from the priority last given by the inner strategy, never from an
        earlier result of its own, so that the same evidence is not counted twice.
        """
        found = list(candidates)
        if not len(self.evidence.access_log.urls):
            return found
        for candidate in found:
            page_id = self._offers.id_of(candidate.url)
            if page_id is not None:
                self._remember_linked(page_id, candidate)
        linked = self._offers.ids_of(candidate.url for candidate in found)
        wanted = np.concatenate((linked, self._offers.changed_pages(), fallback))
        offers = self._offers.offer(np.unique(wanted))
        by_url = {offer.url: self._candidate(offer) for offer in offers}
        guided = [by_url.get(candidate.url, candidate) for candidate in found]
        for candidate in found:
            by_url.pop(candidate.url, None)
        return [*guided, *by_url.values()]

    def _remember_linked(self, page_id: int, candidate: Candidate) -> None:
        """Remembers what the inner strategy offered for a page of the log, from which later re-rankings start."""
        before = self._linked.get(page_id)
        if before is not None:
            merged = self.inner.merge(candidate.url, before.priority, candidate.priority)
            if merged == before.priority:
                return
            candidate = replace(candidate, priority=merged)
        self._linked[page_id] = candidate

    def _candidate(self, offer: Offer) -> Candidate:
        linked = self._linked.get(offer.page_id)
        if linked is not None and offer.log_ratio == 0.0:
            return linked
        probability = _MIN_PROBABILITY if linked is None else linked.priority
        if probability <= _MIN_PROBABILITY and offer.log_ratio > 0.0:
            probability = self.evidence.tally.base_rate
        priority = scale_odds(probability, offer.log_ratio)
        self._reranked.add(offer.url)
        because: Mapping[str, JsonValue] = {"readers": offer.factors}
        if linked is None:
            return Candidate(offer.url, priority, because=because, depth=1)
        return replace(linked, priority=priority, because={**linked.because, **because})

    def _draw_candidates(self) -> list[Candidate]:
        if not self._draws_at_random:
            return []
        drawn = self._offers.draw(len(self._drawn_pages))
        self._drawn_pages |= dict.fromkeys(offer.page_id for offer in drawn)
        tally = self.evidence.tally
        base_rate = tally.base_rate if tally.satisfying else 1.0  # without any satisfying page yet, they are the seeds
        return [
            Candidate(offer.url, scale_odds(base_rate, offer.log_ratio), because={"chance": True}) for offer in drawn
        ]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """A page re-ranked by the log takes its new priority; everything else is merged by the inner strategy."""
        return offered if url in self._reranked else self.inner.merge(url, waiting, offered)

    def state(self) -> JsonValue:
        linked = [
            [page_id, each.url, each.priority, each.found_on, each.anchor, dict(each.because), each.depth]
            for page_id, each in self._linked.items()
        ]
        return {
            "inner": self.inner.state(),
            "evidence": self.evidence.state(),
            "offers": self._offers.state(),
            "linked": linked,
            "draws": self._draws_at_random,
            "chances": list(self._drawn_pages),
        }

    def restore(self, state: JsonValue) -> None:
        self.inner.restore(state["inner"])
        self.evidence.restore(state["evidence"])
        self._offers.restore(state["offers"])
        self._linked = {
            page_id: Candidate(url, priority, found_on, anchor, because, depth)
            for page_id, url, priority, found_on, anchor, because, depth in state["linked"]
        }
        self._draws_at_random = state["draws"]
        self._drawn_pages = dict.fromkeys(state["chances"])


def scale_odds(probability: float, log_ratio: float) -> float:
    """The probability with odds multiplied by exp(log_ratio).

    >>> round(scale_odds(0.5, log(3.0)), 6)
    0.75
    """
    if log_ratio == 0.0 or probability == 0.0:
        return probability
    probability = min(_MAX_PROBABILITY, probability)
    return logistic(log(probability / (1.0 - probability)) + log_ratio)
