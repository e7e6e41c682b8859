"""Strategies that follow an access log: they fetch what was read by people who read pages on the topic.

A page satisfies the predicate if its relevance is at least 0.5. The interest ratio of a page is how much more likely it
is to do so, by the evidence, than the pages visited so far: 1 without evidence. To offer a page is to propose it to the
frontier as a candidate.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.logs.access_log import AccessLog
from lycosa.vocabulary.records import Candidate, JsonValue, Skip, SkipReason, Url, Visit

from .base import BaseStrategy, checked_number
from .interest import logistic
from .linkage import NEUTRAL_PRIORITY, WEIGHTS, LinkageEvidence, UrlEvidence, linked_candidate
from .log_evidence import EvidenceOptions, LogEvidence, compressed, decompressed
from .url_sets import WaitingUrls

Ids = NDArray[np.int64]

_LEVEL_WIDTH = 0.25  # level = floor(log ratio / width); a page is offered again when its level changes
_FULL_UPDATE_FACTOR = 25  # after a full update of the evidence, so many times more pages are offered
_MIN_LEVEL, _MAX_LEVEL = -120, 120
_NOT_OFFERED, _DONE = -128, 127  # instead of a level: not offered yet; visited or rejected
_SKIPS_OF_ONE_LINK = (SkipReason.NOFOLLOW, SkipReason.UNFOLLOWED, SkipReason.REDIRECT)
_NO_IDS: Ids = np.empty(0, np.int64)


class Offer(Struct, frozen=True, gc=False):
    """A page of the log with its interest ratio by `LogEvidence`."""

    page_id: int
    url: Url
    log_ratio: float  # natural logarithm of the interest ratio
    factors: Mapping[str, JsonValue]  # the ratio by factor, for `because`


class LogOffers:
    """Which pages of a log are not offered yet, offered at some level, or done. URLs that are not in the log are
    called unread.

    max_offers: limit of pages offered, or offered again, after one visit: those whose ratios changed most. After a full
    update of the evidence, 25 times as many.
    ahead: pages that should wait at any time, so that a crawl with several fetches in flight does not run dry; if fewer
    wait, pages are drawn at random or offered for want of links (`fallback_pages`).
    min_candidates: random pages are drawn until so many pages were visited; None: as long as there are any.
    seed: of the random order in which pages are drawn, not a URL: accesses are drawn without replacement.
    """

    def __init__(
        self,
        evidence: LogEvidence,
        *,
        max_offers: int = 200,
        ahead: int = 8,
        min_candidates: int | None = None,
        seed: int = 0,
    ):
        access_log = evidence.access_log
        self._access_log = access_log
        self._evidence = evidence
        self._max_offers = checked_number("most", max_offers, 0, 1e6)
        self._ahead = checked_number("ahead", ahead, 0, 1e6)
        self._min_candidates = min_candidates and checked_number("min_candidates", min_candidates, 0, 1e6)
        self._levels = np.full(len(access_log.urls), _NOT_OFFERED, np.int8)
        self._draw_order = _random_order(access_log, checked_number("seed", seed, 0, 2**63))
        self._next_draw = 0
        self.waiting = 0  # number of pages that are offered and not done
        self._waiting_unread = WaitingUrls()

    def start(self, seeds: Sequence[Url]) -> list[Candidate]:
        """The seeds, with the priority of pages without evidence, and pages drawn at random if there are few seeds."""
        self.offer_urls(seeds)
        self.add_unread(seed for seed in seeds if self.id_of(seed) is None)
        return [*(Candidate(seed, NEUTRAL_PRIORITY, because={"seed": True}) for seed in seeds), *self.draw_candidates()]

    def add_unread(self, urls: Iterable[Url]) -> None:
        """Adds waiting URLs that are not in the log."""
        for url in urls:
            self._waiting_unread.add(url)

    def id_of(self, url: Url) -> int | None:
        """The id of a page in the log; None if it is not in it."""
        return self._access_log.id_of(url)

    def learn(self, event: Visit | Skip) -> None:
        """Records that the page of an event no longer waits."""
        self._waiting_unread.drop(event.candidate.url)
        page_id = self.id_of(event.candidate.url)
        if page_id is None or (isinstance(event, Skip) and event.reason in _SKIPS_OF_ONE_LINK):
            return  # it may be reached by another link, or by the log itself
        level = self._levels[page_id]
        self.waiting -= _NOT_OFFERED < level < _DONE
        self._levels[page_id] = _NOT_OFFERED if is_evicted(event) and level != _DONE else _DONE

    def is_waiting(self, page_id: int | None) -> bool:
        return page_id is not None and bool(_NOT_OFFERED < self._levels[page_id] < _DONE)

    def offer(self, ids: Ids) -> list[Offer]:
        """Offers of these pages by the present evidence, without those that are done."""
        ids = ids[self._levels[ids] != _DONE]
        logs = self._evidence.log_ratios(ids)
        self.waiting += int(np.count_nonzero(self._levels[ids] == _NOT_OFFERED))
        self._levels[ids] = _level(logs)
        urls = self._access_log.urls
        offers = zip(ids.tolist(), logs.tolist(), self._evidence.explain(ids), strict=True)
        return [Offer(page_id, urls[page_id], log, factors) for page_id, log, factors in offers]

    def offer_urls(self, urls: Iterable[Url]) -> list[Offer]:
        """Offers of the URLs that are in the log."""
        return self.offer(self.ids_of(urls))

    def ids_of(self, urls: Iterable[Url]) -> Ids:
        """The distinct ids of the URLs that are in the log, sorted."""
        ids = {page_id for url in urls if (page_id := self.id_of(url)) is not None}
        return np.array(sorted(ids), np.int64)

    def changed_pages(self) -> Ids:
        """The pages to offer after an event: new ones with a ratio above 1, and those whose level changed."""
        ids = self._evidence.changed
        old = self._levels[ids]
        ids = ids[old != _DONE]
        if not len(ids):
            return _NO_IDS
        logs, old = self._evidence.log_ratios(ids), self._levels[ids]
        is_new = old == _NOT_OFFERED
        change = np.where(is_new, logs / _LEVEL_WIDTH, _level(logs) - old.astype(np.int64))
        wanted = np.where(is_new, logs > 0.0, change != 0)
        chosen: Ids = ids[wanted]
        change = change[wanted]
        max_offers = self._max_offers * (_FULL_UPDATE_FACTOR if self._evidence.is_full_update else 1)
        if len(chosen) > max_offers:
            chosen = chosen[np.sort(np.argsort(-np.abs(change), kind="stable")[:max_offers])]
        return chosen

    def fallback_pages(self, event: Visit | Skip) -> Ids:
        """Pages for when links run out: if few pages wait after an event that changed the evidence, the best pages with
        a ratio of at least 1 that were read by users who also read a page that satisfies the predicate."""
        missing = self._ahead - self.waiting
        evidence_changed = self._evidence.is_full_update or self.id_of(event.candidate.url) is not None
        if missing <= 0 or not evidence_changed:
            return _NO_IDS
        ids = self._evidence.read_with_satisfying()
        ids = ids[self._levels[ids] == _NOT_OFFERED]
        logs = self._evidence.log_ratios(ids)
        ids, logs = ids[logs >= 0.0], logs[logs >= 0.0]
        return np.sort(ids[np.argsort(-logs, kind="stable")[:missing]])

    def draw_candidates(self) -> list[Candidate]:
        """Pages drawn at random if few URLs wait, in the log or not."""
        drawn = self.draw(self.waiting + len(self._waiting_unread))
        return [Candidate(each.url, logistic(each.log_ratio), because={"chance": True}) for each in drawn]

    def draw(self, waiting: int) -> list[Offer]:
        """`ahead` - `waiting` pages drawn at random.

        waiting: number of URLs that wait.
        """
        missing, drawn = self._ahead - waiting, list[int]()
        if self._min_candidates is not None and self._evidence.tally.pages >= self._min_candidates:
            return []
        while len(drawn) < missing and self._next_draw < len(self._draw_order):
            page_id = int(self._draw_order[self._next_draw])
            self._next_draw += 1
            if self._levels[page_id] == _NOT_OFFERED:
                drawn.append(page_id)
        return self.offer(np.array(drawn, np.int64))

    def state(self) -> JsonValue:
        return {"levels": compressed(self._levels), "turn": self._next_draw, "unread": self._waiting_unread.state()}

    def restore(self, state: JsonValue) -> None:
        self._levels = decompressed(state["levels"], np.int8, max_length=len(self._levels))
        self._next_draw = state["turn"]
        self._waiting_unread = WaitingUrls(state.get("unread", ()))  # missing in states of earlier versions
        self.waiting = int(np.count_nonzero((self._levels > _NOT_OFFERED) & (self._levels < _DONE)))


def is_evicted(event: Visit | Skip) -> bool:
    """Whether a page was evicted from the frontier or did not fit into it, and so may be offered again."""
    return isinstance(event, Skip) and event.reason in (SkipReason.EVICTED, SkipReason.SITE)


def _level(logs: NDArray[np.float64]) -> NDArray[np.int64]:
    levels: Ids = np.clip(np.floor(logs / _LEVEL_WIDTH), _MIN_LEVEL, _MAX_LEVEL).astype(np.int64)
    return levels


def _random_order(access_log: AccessLog, seed: int) -> Ids:
    """The pages in the order of their first access, when accesses are drawn at random without replacement."""
    accesses = np.bincount(access_log.url_ids, access_log.weights, len(access_log.urls))
    times = np.random.default_rng(seed).exponential(size=len(accesses))  # the first access is Exp(accesses)
    return np.argsort(times / np.maximum(accesses, 1e-300), kind="stable")


class Collaborative(BaseStrategy):
    """Fetches what was read by people who read pages that satisfy the predicate; follows no links.

    priority = ratio / (1 + ratio), with the interest ratio of `LogEvidence`

    Pages are proposed when their ratio exceeds 1, and again when it changes. Seeds have priority 0.5, a ratio of 1. If
    few pages wait, some are drawn at random from the log, so that no seeds are needed.

    access_log: who read what, when.
    min_candidates, ahead, most (max_offers), seed: see `LogOffers`.
    evidence: see `LogEvidence`.

    Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002).
    """

    name = "collaborative"
    needs = frozenset({"log"})
    exhaustive = False  # it does not propose every link

    def __init__(
        self,
        access_log: AccessLog | None = None,
        *,
        min_candidates: int | None = None,
        ahead: int = 8,
        most: int = 200,
        seed: int = 0,
        **evidence: Unpack[EvidenceOptions],
    ):
        self.evidence = LogEvidence(access_log, **evidence)
        self._offers = LogOffers(self.evidence, max_offers=most, ahead=ahead, min_candidates=min_candidates, seed=seed)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return self._offers.start(seeds)

    def learn(self, event: Visit | Skip) -> None:
        self._offers.learn(event)
        self.evidence.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        found = [
            Candidate(offer.url, logistic(offer.log_ratio), because={"readers": offer.factors}, depth=1)
            for offer in self._offers.offer(self._offers.changed_pages())
        ]
        return found if is_evicted(event) else [*found, *self._offers.draw_candidates()]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> JsonValue:
        return {"evidence": self.evidence.state(), "offers": self._offers.state()}

    def restore(self, state: JsonValue) -> None:
        self.evidence.restore(state["evidence"])
        self._offers.restore(state["offers"])


class Combined(BaseStrategy):
    """Combines the evidence of the access log with that of links.

    priority = ratio / (1 + ratio), ratio = ratio by `LogEvidence` · ratio by `LinkageEvidence`

    A ratio without evidence is 1. Proposed are pages whose ratio by the log exceeds 1, and pages linked from a page
    that satisfies the predicate, so that neither unread pages nor pages without in-links are missed. Seeds have
    priority 0.5; if few pages wait, some are drawn at random from the log.

    access_log: who read what, when.
    weights: of the factors of `LinkageEvidence`.
    min_candidates, ahead, most (max_offers), seed: see `LogOffers`.
    evidence: see `LogEvidence`.

    Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002), section 3.1.
    """

    name = "combined"
    needs = frozenset({"log"})
    exhaustive = False  # it does not propose every link

    def __init__(
        self,
        access_log: AccessLog | None = None,
        *,
        weights: Mapping[str, float] = WEIGHTS,
        min_candidates: int | None = None,
        ahead: int = 8,
        most: int = 200,
        seed: int = 0,
        **evidence: Unpack[EvidenceOptions],
    ):
        self.readers = LogEvidence(access_log, **evidence)
        self.links = LinkageEvidence(weights=weights, significance=evidence.get("significance", 2.0))
        self._offers = LogOffers(self.readers, max_offers=most, ahead=ahead, min_candidates=min_candidates, seed=seed)

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return self._offers.start(seeds)

    def learn(self, event: Visit | Skip) -> None:
        self._offers.learn(event)
        self.readers.learn(event)
        self.links.learn(event)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        """The pages whose evidence, by the log or by links, changed."""
        linked: dict[Url, UrlEvidence] = {}
        linked_ids: list[int] = []  # pages of the log
        found: list[Candidate] = []
        for evidence in self.links.evidence_for(self.links.changed):
            page_id = self._offers.id_of(evidence.url)
            if evidence.linked.satisfying == 0 and not self._offers.is_waiting(page_id):
                continue
            if page_id is None:
                self._offers.add_unread([evidence.url])
                found.append(linked_candidate(evidence))
            else:
                linked[evidence.url] = evidence
                linked_ids.append(page_id)
        offers = self._offers.offer(np.union1d(self._offers.changed_pages(), np.array(linked_ids, np.int64)))
        not_linked = [offer.url for offer in offers if offer.url not in linked]
        linked |= {evidence.url: evidence for evidence in self.links.evidence_for(not_linked)}
        found += [_combined_candidate(offer, linked.get(offer.url)) for offer in offers]
        return found if is_evicted(event) else [*found, *self._offers.draw_candidates()]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return offered

    def state(self) -> JsonValue:
        return {
            "readers": self.readers.state(),
            "links": self.links.state(),
            "offers": self._offers.state(),
        }

    def restore(self, state: JsonValue) -> None:
        self.readers.restore(state["readers"])
        self.links.restore(state["links"])
        self._offers.restore(state["offers"])


def _combined_candidate(offer: Offer, by_links: UrlEvidence | None) -> Candidate:
    """A page of the log, ranked by the evidence of the log and, if there is any, of links."""
    because: Mapping[str, JsonValue] = {"readers": offer.factors}
    if by_links is None:
        return Candidate(offer.url, logistic(offer.log_ratio), because=because, depth=1)
    linked = by_links.linked
    priority = logistic(offer.log_ratio + by_links.log_ratio)
    return Candidate(offer.url, priority, linked.found_on, linked.anchor, {**by_links.ratios, **because}, linked.depth)
