"""Strategies that go where people went."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.logs.readings import Readings
from lycosa.vocabulary.records import Candidate, Plain, Skip, SkipReason, Url, Visit

from .base import BaseStrategy
from .interest import logistic
from .linkage import WEIGHTS, LinkageEvidence, LinkEvidence, linked_candidate
from .readers import EvidenceOptions, ReadersEvidence, packed, unpacked
from .url_sets import WaitingUrls

Ids = NDArray[np.int64]

UNKNOWN = 0.5  # priority of what nothing is known of: a ratio of 1
_STEP = 0.25  # of the logarithm of a ratio; what changes by less is not offered again
_FULL = 25  # times as many pages are offered after a full update of the evidence
_LOWEST, _HIGHEST = -120, 120
_NEVER, _DONE = -128, 127  # levels of pages that were not offered, and of those that will not be
_NONE: Ids = np.empty(0, np.int64)


class Offer(Struct, frozen=True, gc=False):
    """A page of a log, and what its readers say of it."""

    number: int
    url: Url
    log_ratio: float
    told: Mapping[str, Plain]  # the factors by kind


class LogOffers:
    """The pages of a log on their way through a crawl: not offered, offered at some level, done.

    most: pages offered, or offered again, after one page; those whose ratios changed most. After a full update of the
    evidence, 25 times as many.
    ahead: pages that shall wait or be under way, lest a crawl of several fetches at once starve; where there are
    fewer, others are drawn, or taken from those in reserve.
    min_candidates: pages are drawn until so many were visited; None: as long as there are any.
    seed: of the order in which pages are drawn: as if accesses of the log were drawn by chance.
    """

    def __init__(
        self,
        evidence: ReadersEvidence,
        *,
        most: int = 200,
        ahead: int = 8,
        min_candidates: int | None = None,
        seed: int = 0,
    ):
        readings = evidence.readings
        self._readings = readings
        self._evidence = evidence
        self._most = most
        self._ahead = ahead
        self._min_candidates = min_candidates
        self._levels = np.full(len(readings.urls), _NEVER, np.int8)
        self._turns = _by_chance(readings, seed)
        self._turn = 0
        self.waiting = 0  # offered, and not done
        self._unread = WaitingUrls()

    def begin(self, seeds: Sequence[Url]) -> list[Candidate]:
        """Seeds at what nothing speaks for or against, and pages drawn where there are few."""
        self.made_of(seeds)
        self.expect_unread(seed for seed in seeds if self.number_of(seed) is None)
        return [*(Candidate(seed, UNKNOWN, because={"seed": True}) for seed in seeds), *self.drawn_where_few_wait()]

    def expect_unread(self, urls: Iterable[Url]) -> None:
        """URLs wait that are not in the log."""
        for url in urls:
            self._unread.add(url)

    def number_of(self, url: Url) -> int | None:
        """The number of a page in the log; graphs, which have integers for URLs, have no readers."""
        return self._readings.id_of(url) if isinstance(url, str) else None

    def learn(self, event: Visit | Skip) -> None:
        """The page of an event waits no longer."""
        self._unread.drop(event.candidate.url)
        number = self.number_of(event.candidate.url)
        if number is None or (isinstance(event, Skip) and event.reason is SkipReason.NOFOLLOW):
            return  # a link there that may not be followed says nothing of the page
        level = self._levels[number]
        self.waiting -= _NEVER < level < _DONE
        self._levels[number] = _NEVER if is_evicted(event) and level != _DONE else _DONE

    def is_waiting(self, number: int | None) -> bool:
        return number is not None and bool(_NEVER < self._levels[number] < _DONE)

    def made(self, ids: Ids) -> list[Offer]:
        """Offers of these pages, less those that are done, at what they are worth now."""
        ids = ids[self._levels[ids] != _DONE]
        logs = self._evidence.log_ratios(ids)
        self.waiting += int(np.count_nonzero(self._levels[ids] == _NEVER))
        self._levels[ids] = _level(logs)
        urls, told = self._readings.urls, self._evidence.told(ids)
        offers = zip(ids.tolist(), logs.tolist(), told, strict=True)
        return [Offer(number, urls[number], log, parts) for number, log, parts in offers]

    def made_of(self, urls: Iterable[Url]) -> list[Offer]:
        """Offers of those of the URLs that are in the log."""
        return self.made(self.numbers_of(urls))

    def numbers_of(self, urls: Iterable[Url]) -> Ids:
        """The numbers of those that are in the log, each once."""
        numbers = {number for url in urls if (number := self.number_of(url)) is not None}
        return np.array(sorted(numbers), np.int64)

    def worth_offering(self) -> Ids:
        """The pages of a ratio above 1 that were not offered, and those offered whose ratio is another now."""
        ids = self._evidence.changed
        old = self._levels[ids]
        ids = ids[old != _DONE]
        if not len(ids):
            return _NONE
        logs, old = self._evidence.log_ratios(ids), self._levels[ids]
        is_new = old == _NEVER
        change = np.where(is_new, logs / _STEP, _level(logs) - old.astype(np.int64))
        wanted = np.where(is_new, logs > 0.0, change != 0)
        chosen: Ids = ids[wanted]
        change = change[wanted]
        most = self._most * (_FULL if self._evidence.is_full else 1)
        if len(chosen) > most:
            chosen = chosen[np.sort(np.argsort(-np.abs(change), kind="stable")[:most])]
        return chosen

    def in_reserve(self, event: Visit | Skip) -> Ids:
        """The pages to fall back upon, where few wait after an event that says something of readers: those that
        people read who read pages that satisfy the predicate, and against which nothing speaks; the best of them."""
        missing = self._ahead - self.waiting
        says_something = self._evidence.is_full or self.number_of(event.candidate.url) is not None
        if missing <= 0 or not says_something:
            return _NONE
        ids = self._evidence.liked()
        ids = ids[self._levels[ids] == _NEVER]
        logs = self._evidence.log_ratios(ids)
        ids, logs = ids[logs >= 0.0], logs[logs >= 0.0]
        return np.sort(ids[np.argsort(-logs, kind="stable")[:missing]])

    def drawn_where_few_wait(self) -> list[Candidate]:
        """Pages drawn by chance, at what they are worth, where few pages wait, read or not."""
        drawn = self.drawn(self.waiting + len(self._unread))
        return [Candidate(each.url, logistic(each.log_ratio), because={"chance": True}) for each in drawn]

    def drawn(self, waiting: int) -> list[Offer]:
        """Pages drawn by chance, as many as are missing where so many wait."""
        missing, drawn = self._ahead - waiting, list[int]()
        if self._min_candidates is not None and self._evidence.tally.pages >= self._min_candidates:
            return []
        while len(drawn) < missing and self._turn < len(self._turns):
            number = int(self._turns[self._turn])
            self._turn += 1
            if self._levels[number] == _NEVER:
                drawn.append(number)
        return self.made(np.array(drawn, np.int64))

    def state(self) -> Plain:
        return {"levels": packed(self._levels), "turn": self._turn, "unread": self._unread.state()}

    def restore(self, state: Plain) -> None:
        self._levels = unpacked(state["levels"], np.int8)
        self._turn = state["turn"]
        self._unread = WaitingUrls(state.get("unread", ()))  # states of earlier versions have none
        self.waiting = int(np.count_nonzero((self._levels > _NEVER) & (self._levels < _DONE)))


def is_evicted(event: Visit | Skip) -> bool:
    """Whether a page was skipped for want of room, and so may be offered again."""
    return isinstance(event, Skip) and event.reason is SkipReason.EVICTED


def _level(logs: NDArray[np.float64]) -> NDArray[np.int64]:
    levels: Ids = np.clip(np.floor(logs / _STEP), _LOWEST, _HIGHEST).astype(np.int64)
    return levels


def _by_chance(readings: Readings, seed: int) -> Ids:
    """The order in which pages would come if accesses were drawn one after the other, each page counting once."""
    accesses = np.bincount(readings.walks, readings.weights, len(readings.urls))
    clocks = np.random.default_rng(seed).exponential(size=len(accesses))
    return np.argsort(clocks / np.maximum(accesses, 1e-300), kind="stable")


class Collaborative(BaseStrategy):
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
    needs = frozenset({"log"})
    exhaustive = False

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


class Combined(BaseStrategy):
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
    needs = frozenset({"log"})
    exhaustive = False

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
        linked: dict[Url, LinkEvidence] = {}
        read: list[int] = []
        found: list[Candidate] = []
        for told in self.links.told(self.links.changed):
            number = self._offers.number_of(told.url)
            if told.lead.satisfying == 0 and not self._offers.is_waiting(number):
                continue
            if number is None:
                self._offers.expect_unread([told.url])
                found.append(linked_candidate(told))
            else:
                linked[told.url] = told
                read.append(number)
        offers = self._offers.made(np.union1d(self._offers.worth_offering(), np.array(read, np.int64)))
        linked |= {told.url: told for told in self.links.told(each.url for each in offers if each.url not in linked)}
        found += [_combined_candidate(offer, linked.get(offer.url)) for offer in offers]
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


def _combined_candidate(offer: Offer, told: LinkEvidence | None) -> Candidate:
    """A page that was read, at what readers, and links if there are any, say of it."""
    because: Mapping[str, Plain] = {"readers": offer.told}
    if told is None:
        return Candidate(offer.url, logistic(offer.log_ratio), because=because, depth=1)
    lead = told.lead
    priority = logistic(offer.log_ratio + told.log_ratio)
    return Candidate(offer.url, priority, lead.found_on, lead.anchor, {**told.ratios, **because}, lead.depth)
