"""The default strategy: scores each link, not only the page it is on."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from math import exp, log
from random import Random
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from lycosa.relevance.embedding import builtin_embedding
from lycosa.vocabulary.records import Candidate, Codes, JsonValue, Link, Outcome, Page, Skip, Url, Visit
from lycosa.vocabulary.urls import is_node, key_of

from .base import (
    BaseStrategy,
    checked_number,
    checked_share,
    clamped,
    distinct_links,
    packed,
    random_state,
    restore_random,
    unpacked,
)
from .target import STANDING_WEIGHTS, RelevanceTarget, StandingEvidence, best_changes, logistic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Marks = NDArray[np.bool_]
Hashes = NDArray[np.uint16]
Words = NDArray[np.uint32]

FEATURES = (
    "page",  # mean logit of the relevance of the pages that link here
    "anchor",  # the highest weight, by the judge, of a word of the anchors
    "neighbours",  # log odds ratio: how many of the links up to three places before and after led to relevant pages
    "anchor led",  # mean log odds ratio of what links with these words in their anchors led to
    "around led",  # and around them
    "host",  # log odds ratio: how many pages of the same host were relevant
    "anchor meaning",  # how near the meaning of the anchors is to the topic, in standard deviations of that of words
    "around meaning",  # and that of the text around them
)
ALIVE = "alive"  # what the log odds lose where there may be no page, by what became of URLs of the same pattern
_PART_NAMES = (*FEATURES, ALIVE)
_PAGE, _ANCHOR, _BESIDE, _LED, _HOST, _MEANING = 0, 1, 2, slice(3, 5), 5, slice(6, 8)  # columns of features
MAX_ROWS = 12_000  # links whose evidence is kept up to date, the latest; others keep the priority they had
MAX_VISITED = 50_000  # of the latest pages, whose relevance is known where further pages link to them
MAX_LINKS_PER_PAGE = 1_000  # of a page, that are scored one by one
PLACES = 1 << 16  # of hosts, and of words without a vector, which are hashed into them; 0 for none
_ANCHOR_WORDS, _AROUND_WORDS = 6, 16  # of a link, that count
_PARTS = (0, _ANCHOR_WORDS)  # where the words of the anchor and those around it begin
_PLACES_IN_ANCHOR, _PLACES_AROUND = np.arange(_ANCHOR_WORDS), np.arange(_AROUND_WORDS)
_BYTES = 8  # of the code of a word
_ANCHOR_BYTES, _AROUND_BYTES = _BYTES * _ANCHOR_WORDS, _BYTES * _AROUND_WORDS
_AROUND = 60  # characters on each side of an anchor
_ENOUGH = 4  # links to a visited page whose words count; those of further ones would say little more
_ENOUGH_DEAD = 10  # links of a pattern that led to no page; what one more changes is below _OFFER_FROM
_NUMBERS = np.uint64(1 << 17)  # more than there are numbers of words
_NUMBER = _NUMBERS - np.uint64(1)
_NO_LINK = (Url(""), None, "", 0)
_NO_PAGE = frozenset((Outcome.GONE, Outcome.UNWANTED, Outcome.FORBIDDEN))
_LOGIT_LIMIT = 8.0
_EXAMPLE_LOGIT = 3.0  # of an example page, at least: its links come first
_NEIGHBOURS = np.array((0.35, 0.6, 1.0, 0.0, 1.0, 0.6, 0.35))  # weights of the three before and the three after
_SMOOTHING = {"neighbours": 1.5, "words": 2.0, "hosts": 5.0, "patterns": 0.5}  # pages that the base rate counts as
_SUFFIXES = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9]{0,4}){1,2}$")  # of a file name, that tell its type: .html, .jpg.htm
_ROWS_PER_VISIT = 200  # scored again for each page visited, on average
_OFFER_FROM = 0.1  # change of a logit that is worth telling the frontier
_MAX_OFFERS = 100  # waiting links that are ranked again at one page, the best


class WordWeights(Protocol):
    """The current model of the topic's words."""

    def weights_by_code(self) -> tuple[Codes, Floats]:
        """Words as codes, and the weight of each: positive for the topic, negative against it."""
        ...

    def meanings(self) -> tuple[Floats, Floats] | None:
        """For each row of the table of word vectors, how near the word is to the topic, in standard deviations, and its
        weight in a text of several words; None if the model has no word vectors."""
        ...


class Hunter(BaseStrategy):
    """Follows the links that are most likely to lead to relevant pages.

    priority = P(there is a page) / (1 + exp(-(intercept + Σ weight_i * feature_i)))

    The features are listed in `FEATURES`: the relevance of the linking pages, how near the anchor and the text around
    it are to the topic, and the outcomes of similar links: those next to it, those with the same words in and around
    their anchors, and those to the same host. The weights were learnt on many topics (`hunter.json`).

    The latest `MAX_ROWS` links are kept in a table. As pages arrive, waiting links are scored again, some 200 per page;
    those whose order changes are offered to the frontier again.

    For exploration, `sample` random links of the seeds are followed first; later, for a share `explore` of the pages, a
    random link of the page is followed next.

    With a target below 1, priority = α · P + (1 - α) · S, where P is the probability above, S the expected standing of
    the page (`StandingEvidence`), and α the least weight that meets the target (`RelevanceTarget`). With a target of 1,
    standing is not needed.

    target: the least mean relevance of pages, subject to which standing is maximised; 1 ranks by relevance alone, 0 by
        standing alone.
    judge: returns the current model of the topic's words, or None.
    example_urls: pages from which the topic was learnt.
    domain_reach: log of the reach of a URL's domain minus that of the median domain; 0 if unknown.
    sample: number of random links of the seeds that are followed first.
    explore: share of pages of which a random link is followed.
    """

    name = "hunter"

    def __init__(
        self,
        *,
        target: float = 1.0,
        judge: Callable[[], WordWeights | None] = lambda: None,
        example_urls: Iterable[Url] = (),
        domain_reach: Callable[[Url], float] = lambda url: 0.0,
        sample: int = 0,
        explore: float = 0.0,
        seed: int = 0,
    ):
        self._judge = judge
        self._example_urls = dict.fromkeys(example_urls)
        self._sample = checked_number("sample", sample, 0, 1_000)
        self._explore = checked_share("explore", explore)
        self._random = Random(seed)
        self._weights, self._intercept = _learnt_weights()
        self._model: WordWeights | None = None
        self.uses_standing = checked_share("target", target) < 1.0
        self.target = RelevanceTarget(target, StandingEvidence(domain_reach)) if self.uses_standing else None
        self._table = _LinkTable(None if self.target is None else self.target.evidence)
        self._to_sample: dict[Url, int] = {}  # links to draw from each seed
        self._visits_since_scored = 0

    @property
    def alpha(self) -> float | None:
        """The current weight of relevance; None if there is no target."""
        return None if self.target is None else self.target.alpha

    @property
    def recent_relevance(self) -> float | None:
        """Mean relevance of the last pages; None if there is no target."""
        return None if self.target is None else self.target.recent_relevance

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        """The examples, whose links come first, and the seeds."""
        starts = list(dict.fromkeys((*self._example_urls, *seeds)))
        new = [url for url in starts if url not in self._to_sample]
        for number, url in enumerate(new):
            self._to_sample[url] = self._sample // len(new) + (number < self._sample % len(new))
        because = {True: {"example": True}, False: {"seed": True}}
        return [Candidate(url, 1.0, because=because[url in self._example_urls]) for url in starts]

    def learn(self, event: Visit | Skip) -> None:
        table, url = self._table, event.candidate.url
        predicted = table.predicted(url)
        if _is_dead(event):
            table.note_fetch(url, is_dead=True)
        if isinstance(event, Skip) or event.page is None or event.relevance is None:
            table.drop(url)
        elif event.change is None:
            if self.target is not None and url not in self._example_urls:
                self.target.add(url, event.relevance, predicted)
            table.note_fetch(url, is_dead=False)
            table.settle(url, self._logit(url, event.relevance))

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip) or event.page is None:
            return self._ranked_like(event.candidate.url) if _is_dead(event) else ()
        links = list(distinct_links(event))
        logit = self._logit(event.candidate.url, event.relevance)
        self._use_present_model()
        rows, slots = self._table.add(event, links[:MAX_LINKS_PER_PAGE], logit)
        candidates = self._rest(event, links[MAX_LINKS_PER_PAGE:], logit)
        self._visits_since_scored += 1
        if self._visits_since_scored * _ROWS_PER_VISIT >= len(self._table):
            self._visits_since_scored = 0
            candidates += self._rescored()
        else:
            new, features = self._table.features_of_new(rows, slots)
            candidates += self._candidates(new, features, self._table.standing(new, rows))
        return self._with_samples(event, candidates)

    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        """The waiting links whose priority changes because pages were scored again."""
        self._table.update_standings(standings or {})
        self._table.rejudge({url: self._logit(Url(url), relevance) for url, relevance in relevances.items()})
        if self.target is not None:
            self.target.rejudge(relevances)
        self._visits_since_scored = 0
        self._use_present_model()
        return self._rescored()

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """The new priority, which rests on more evidence; examples, seeds and samples keep their first place."""
        return waiting if waiting >= 1.0 else offered

    def _logit(self, url: Url, relevance: float | None) -> float:
        share = min(max(clamped(relevance), 1e-4), 1.0 - 1e-4)
        logit = min(max(log(share / (1.0 - share)), -_LOGIT_LIMIT), _LOGIT_LIMIT)
        return max(logit, _EXAMPLE_LOGIT) if url in self._example_urls else logit

    def _rest(self, visit: Visit, links: Sequence[Link], logit: float) -> list[Candidate]:
        """Candidates for links beyond `MAX_LINKS_PER_PAGE`, scored by the relevance of their page alone."""
        if not links:
            return []
        depth, found_on = visit.candidate.depth + 1, visit.candidate.url
        weight = self._weights[FEATURES.index("page")]
        score = self._intercept + weight * logit
        because: dict[str, JsonValue] = {"parts": {"page": round(float(weight * logit), 2)}}
        if self.target is not None:
            relevance, standing = score, self.target.evidence.by_page_alone(visit.standing)
            score = float(self.target.weighed(np.array(relevance), np.array(standing)))
            because["weighed"] = self.target.explain(relevance, standing)
            new = [(each.target, found_on, each.anchor, depth) for each in links if not self._table.knows(each.target)]
            self.target.evidence.older.add(new, np.tile([relevance, standing, score], (len(new), 1)))
        return [Candidate(link.target, _logistic(score), found_on, link.anchor, because, depth) for link in links]

    def _rescored(self) -> list[Candidate]:
        """Candidates for new links, and for the best of the waiting links whose priority has changed."""
        table = self._table
        (slots,) = table.is_waiting.nonzero()
        features = table.features(slots)
        scores = features @ self._weights
        scores += self._alive(slots, scores)
        standing, older = table.standing(slots), []
        if self.target is not None:
            relevance, expected = scores + self._intercept, standing.sum(axis=1)
            self.target.solve(relevance, expected)
            scores = self.target.weighed(relevance, expected) - self._intercept
            older = self.target.moved(least=_OFFER_FROM, max_offers=_MAX_OFFERS)
        is_new = table.is_new[slots]
        offered = np.where(is_new, scores, table.scores[slots])
        best = best_changes(scores, offered, least=_OFFER_FROM, max_offers=_MAX_OFFERS)
        chosen = np.sort(np.concatenate((best, np.flatnonzero(is_new))))
        return older + self._candidates(slots[chosen], features[chosen], standing[chosen])

    def _ranked_like(self, url: Url) -> list[Candidate]:
        """Candidates for the best waiting links whose URLs resemble one that turned out to be dead."""
        slots = self._table.slots_like(url, max_offers=_MAX_OFFERS)
        if not len(slots):
            return []
        features = self._table.features(slots, is_latest=False)
        return self._candidates(slots, features, self._table.standing(slots, is_complete=False))

    def _candidates(self, slots: Ints, features: Floats, standing: Floats) -> list[Candidate]:
        """Candidates for some links, from their features and the parts of their expected standing."""
        if not len(slots):
            return []
        table = self._table
        parts = np.empty((len(slots), len(_PART_NAMES)))
        np.multiply(features, self._weights, out=parts[:, :-1])
        scores = parts[:, :-1].sum(axis=1)
        parts[:, -1] = alive = self._alive(slots, scores)
        scores += alive
        because: list[dict[str, JsonValue]] = [{"parts": _named(_PART_NAMES, part)} for part in parts.round(2).tolist()]
        if self.target is not None:
            relevance, expected = scores + self._intercept, standing.sum(axis=1)
            scores = self.target.weighed(relevance, expected) - self._intercept
            offered = np.stack((relevance, expected, scores + self._intercept), axis=1)
            self.target.evidence.offered[slots] = offered
            for each, part, (known, likely, _) in zip(
                because, standing.round(2).tolist(), offered.tolist(), strict=True
            ):
                each["standing_parts"] = _named(STANDING_WEIGHTS, part)
                each["weighed"] = self.target.explain(known, likely)
        table.scores[slots], table.is_new[slots] = scores, False
        priorities = logistic(scores + self._intercept)
        return list(map(table.candidate, slots.tolist(), priorities.tolist(), because))

    def _alive(self, slots: Ints, scores: Floats) -> Floats:
        """The reduction of scores (log odds of relevance if there is a page) for the probability that the link is dead.

        With P = 1 / (1 + exp(-x)) and a share d of dead links, logit(P (1 - d)) = x + ln(1 - d) - ln(1 + d exp(x)).
        """
        if not self._table.has_dead:
            return np.zeros(len(scores))
        dead = self._table.dead_share(slots)
        logits = np.minimum(scores + self._intercept, 30.0)
        return np.asarray(np.log1p(-dead) - np.log1p(dead * np.exp(logits)))

    def _with_samples(self, visit: Visit, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates, with random ones first when it is time to explore."""
        drawn = self._to_sample.pop(visit.candidate.url, 0)
        if self._explore and self._random.random() < self._explore:
            drawn += 1
        if not drawn:
            return candidates
        own = [place for place, each in enumerate(candidates) if each.found_on == visit.candidate.url]
        for place in self._random.sample(own, min(drawn, len(own))):
            each = candidates[place]
            because = {"sample": True, **each.because}
            candidates[place] = Candidate(each.url, 1.0, each.found_on, each.anchor, because, each.depth)
            self._table.pin(each.url)
        return candidates

    def _use_present_model(self) -> None:
        model = self._judge()
        if model is not self._model:
            self._model = model
            self._table.use_model(model)

    def state(self) -> JsonValue:
        return {
            "table": self._table.state(),
            "to_sample": self._to_sample,
            "random": random_state(self._random),
            "visits_since_scored": self._visits_since_scored,
            **({} if self.target is None else {"target": self.target.state()}),
        }

    def restore(self, state: JsonValue) -> None:
        self._table.restore(state["table"])
        self._to_sample = dict(state["to_sample"])
        restore_random(self._random, state["random"])
        self._visits_since_scored = state["visits_since_scored"]
        if self.target is not None:
            self.target.restore(state["target"])


def _is_dead(event: Visit | Skip) -> bool:
    """Whether a link led to no page."""
    return isinstance(event, Visit) and event.fetch.outcome in _NO_PAGE and event.change is None


def _learnt_weights() -> tuple[Floats, float]:
    """Weights and intercept, learnt on many topics; see `training/hunter`."""
    learnt = msgspec.json.decode(files(__package__).joinpath("hunter.json").read_bytes())
    return np.array([learnt["weights"][name] for name in FEATURES]), learnt["intercept"]


def _named(names: Iterable[str], values: Iterable[float]) -> dict[str, JsonValue]:
    return {name: value for name, value in zip(names, values, strict=True) if value}


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + exp(-min(max(logit, -30.0), 30.0)))


class _LinkTable:
    """The latest links: a row for each link, a slot for each target URL.

    All evidence is computed from the rows; when the oldest rows are dropped, their counts of words are kept. The ratios
    of words and hosts are those of the last time that all features were computed.

    evidence: of the standing of these links; None if standing is not used.
    """

    def __init__(self, evidence: StandingEvidence | None = None) -> None:
        self._evidence = evidence
        self._numbers = _NumberCache()
        capacity = MAX_ROWS + MAX_LINKS_PER_PAGE
        self._count = 0  # of rows
        self._slots: Ints = np.zeros(capacity, np.int64)  # where each row leads
        self._parents: Ints = np.zeros(capacity, np.int64)  # the page of each row; those of a page side by side
        self._words: Words = np.zeros((capacity, _ANCHOR_WORDS + _AROUND_WORDS), np.uint32)  # numbered, see _numbered
        # Per row, in the columns of `FEATURES`: logit of the page's relevance, highest weight of a word of the anchor,
        # nearness to the topic of the anchor and of the text around it; for what these words led to, the divisors of
        # sums over them.
        self._facts: Floats = np.zeros((capacity, len(FEATURES)))
        self._logits: list[float] = []  # of the relevance of each parent
        self._parent_urls: list[Url] = []
        self._slot_of: dict[Url, int] = {}
        self._visited: dict[int, float] = {}  # relevance of the latest pages, by the keys of their URLs
        self._links: list[tuple[Url, Url | None, str, int]] = []  # of each slot: URL, page, anchor, depth
        self.is_waiting: Marks = np.zeros(capacity, np.bool_)
        self.is_new: Marks = np.zeros(capacity, np.bool_)  # not given to the frontier yet
        self.scores: Floats = np.zeros(capacity)  # as the frontier has them
        self._in_links: Ints = np.zeros(capacity, np.int64)  # rows that lead to each slot
        self._outcomes: Floats = np.full(capacity, np.nan)  # relevance of each slot that was visited; NaN for others
        self._sites: Hashes = np.zeros((capacity, 3), np.uint16)  # host, folder and pattern of URLs, hashed
        self._seen = np.zeros(_word_count())  # pages that words led to, of rows that were dropped
        self._good = np.zeros(_word_count())  # and the relevance of these pages, summed up
        self._pages, self._relevant = 0.0, 0.0
        self._fetched = np.zeros(PLACES)  # links that were followed, by the folders and patterns of their URLs
        self._dead = np.zeros(PLACES)  # and that led to no page
        self._fetches, self._dead_fetches = 0, 0
        # Of each word: its weight, its nearness to the topic times what it counts, the latter, and 1.
        self._lexicon = _empty_lexicon()
        self._word_ratios = np.zeros(_word_count(), np.float32)
        self._host_ratios = np.zeros(PLACES, np.float32)

    def __len__(self) -> int:
        return self._count

    def use_model(self, model: WordWeights | None) -> None:
        """Uses new weights of words from now on."""
        self._lexicon = _empty_lexicon()
        if model is not None:
            codes, weights = model.weights_by_code()
            self._lexicon[_numbered(codes), 0] = weights
        if model is not None and (meanings := model.meanings()) is not None:
            nearness, counts = meanings
            self._lexicon[PLACES:, 1], self._lexicon[PLACES:, 2] = nearness * counts, counts
        self._weigh_all_words()

    def _weigh_all_words(self) -> None:
        for start in range(0, self._count, MAX_LINKS_PER_PAGE):  # in parts, which bounds memory
            self._weigh_words(slice(start, min(start + MAX_LINKS_PER_PAGE, self._count)))

    def _weigh_words(self, rows: slice) -> None:
        values = self._lexicon.take(self._words[rows], axis=0)
        sums, facts = np.add.reduceat(values, _PARTS, axis=1), self._facts[rows]
        values[:, :_ANCHOR_WORDS, 0].max(axis=1, initial=0.0, out=facts[:, _ANCHOR])
        np.divide(sums[:, :, 1], np.maximum(sums[:, :, 2], 1e-9), out=facts[:, _MEANING])
        np.maximum(sums[:, :, 3], 1.0, out=facts[:, _LED])
        np.sqrt(facts[:, _LED.start], out=facts[:, _LED.start])

    # ------------------------------------------------------------ what happens

    def note_fetch(self, url: Url, *, is_dead: bool) -> None:
        """Records that a link was followed, and whether it was dead."""
        self._fetches += 1
        self._dead_fetches += is_dead
        for place in self._site(url)[1:]:
            self._fetched[place] += 1.0
            if is_dead:
                self._dead[place] += 1.0

    def _site(self, url: Url) -> tuple[int, ...]:
        slot = self._slot_of.get(url)
        return _sites_of(url) if slot is None else tuple(self._sites[slot].tolist())

    def slots_like(self, url: Url, *, max_offers: int) -> Ints:
        """The best waiting links to the folder of a dead URL; none if so many URLs of its pattern were dead before that
        one more changes little."""
        _, folder, pattern = _sites_of(url)
        if self._dead[pattern] > _ENOUGH_DEAD:
            return np.empty(0, np.int64)
        used = len(self._links)
        (slots,) = (self.is_waiting[:used] & (self._sites[:used, 1] == folder)).nonzero()
        if len(slots) > max_offers:
            slots = np.sort(slots[np.argpartition(-self.scores[slots], max_offers)[:max_offers]])
        return np.asarray(slots)

    def settle(self, url: Url, logit: float) -> None:
        """Records the relevance of a visited page."""
        self._pages += 1.0
        relevance = _logistic(logit)
        self._relevant += relevance
        self._visited[key_of(url)] = relevance
        if len(self._visited) > MAX_VISITED:
            del self._visited[next(iter(self._visited))]
        if self._evidence is not None:
            self._evidence.older.pop(url)
        slot = self._slot_of.get(url)
        if slot is not None:
            self._outcomes[slot] = relevance
            self.is_waiting[slot] = False

    def drop(self, url: Url) -> None:
        """Removes a link that is dead or not to be followed; another page may offer it again."""
        slot = self._slot_of.pop(url, None)
        if slot is not None:
            self.is_waiting[slot] = False
            self._links[slot] = _NO_LINK  # it may be one that is to be forgotten
        if self._evidence is not None:
            self._evidence.older.pop(url)

    def pin(self, url: Url) -> None:
        """Fixes the place of a link that is followed next whatever its score."""
        if url in self._slot_of:  # not of the end of a very long list
            self.is_waiting[self._slot_of[url]] = False
        if self._evidence is not None:
            self._evidence.older.pop(url)

    def knows(self, url: Url) -> bool:
        """Whether a link is in the table, or was followed recently."""
        return url in self._slot_of or key_of(url) in self._visited

    def predicted(self, url: Url) -> float | None:
        """The log odds of relevance with which a link was last offered; None if standing is not used."""
        if self._evidence is None:
            return None
        slot = self._slot_of.get(url)
        return self._evidence.older.relevance(url) if slot is None else float(self._evidence.offered[slot, 0])

    def rejudge(self, logits: Mapping[str, float]) -> None:
        for place, url in enumerate(self._parent_urls):
            self._logits[place] = logits.get(url, self._logits[place])
        self._spread_logits()
        for url, slot in self._slot_of.items():
            if url in logits and not np.isnan(self._outcomes[slot]):
                self._outcomes[slot] = _logistic(logits[url])
        relevances = {key_of(url): _logistic(logit) for url, logit in logits.items()}
        self._visited.update((key, relevance) for key, relevance in relevances.items() if key in self._visited)
        if relevances:
            self._pages, self._relevant = float(len(relevances)), sum(relevances.values())

    def _spread_logits(self) -> None:
        self._facts[: self._count, _PAGE] = np.array(self._logits)[self._parents[: self._count]]

    def update_standings(self, standings: Mapping[str, float]) -> None:
        """Replaces the standings of pages, by URL."""
        for place, url in enumerate(self._parent_urls):
            if self._evidence is not None and url in standings:
                self._evidence.set_parent(place, standings[url])

    def add(self, visit: Visit, links: Sequence[Link], logit: float) -> tuple[slice, slice]:
        """Adds the links of a page; returns their rows and the slots of new URLs."""
        if self._count + len(links) > MAX_ROWS:
            self._drop_oldest(len(links))
        rows, first = slice(self._count, self._count + len(links)), len(self._links)
        if not links:
            return rows, slice(first, first)
        page, url, depth, slot_of = visit.page, visit.candidate.url, visit.candidate.depth + 1, self._slot_of
        assert page is not None
        new = [link for link in links if link.target not in slot_of]
        self._links += [(link.target, url, link.anchor, depth) for link in new]
        slot_of.update((link.target, slot) for slot, link in enumerate(new, first))
        if self._evidence is not None:
            self._evidence.add_parent(url, visit.standing)
            self._evidence.add_links([link.target for link in new])
        if new:
            self._add_slots(slice(first, len(self._links)), [link.target for link in new])
        self._slots[rows] = to = np.array([slot_of[link.target] for link in links], np.int64)
        self._parents[rows], self._facts[rows, _PAGE] = len(self._logits), logit
        self._in_links[to] += 1
        (read,) = ((to >= first) | np.isnan(self._outcomes.take(to)) | (self._in_links.take(to) <= _ENOUGH)).nonzero()
        self._words[rows] = 0
        if len(read):
            words = _words_of(page, links if len(read) == len(links) else [links[place] for place in read.tolist()])
            self._words[rows.start + read] = self._numbers.numbered(words).reshape(len(read), -1)
        self._weigh_words(rows)
        self._logits.append(logit)
        self._parent_urls.append(url)
        self._count = rows.stop
        return rows, slice(first, len(self._links))

    def _add_slots(self, slots: slice, urls: Sequence[Url]) -> None:
        """Adds URLs that are not in the table."""
        outcomes = np.array([self._visited.get(key_of(url), np.nan) for url in urls])
        self._outcomes[slots], self._in_links[slots], self._sites[slots] = outcomes, 0, list(map(_sites_of, urls))
        self.is_waiting[slots], self.is_new[slots], self.scores[slots] = np.isnan(outcomes), True, 0.0

    def _drop_oldest(self, room: int) -> None:
        """Drops the oldest pages: those whose rows are all in the first quarter of the table, or among the first `room`
        rows if that is more. Their counts of words are kept."""
        wanted = max(room, MAX_ROWS // 4)
        first = int(self._parents[wanted]) if wanted < self._count else len(self._logits)
        dropped = int(np.searchsorted(self._parents[: self._count], first))
        self._count_words(self._seen, self._good, slice(0, dropped))
        kept = slice(dropped, self._count)
        still_used = np.zeros(len(self._links), np.bool_)
        still_used[self._slots[kept]] = True
        place = np.cumsum(still_used) - 1
        self._count -= dropped
        for name in self._ROWS:
            rows = getattr(self, name)
            rows[: self._count] = rows[kept].copy()
        self._slots[: self._count] = place[self._slots[: self._count]]
        self._parents[: self._count] -= first
        self._logits, self._parent_urls = self._logits[first:], self._parent_urls[first:]
        places, are_used = place.tolist(), still_used.tolist()
        self._slot_of = {url: places[slot] for url, slot in self._slot_of.items() if are_used[slot]}
        before = len(self._links)
        if self._evidence is not None:
            (waiting,) = (self.is_waiting[:before] & ~still_used).nonzero()
            self._evidence.older.add([self._links[slot] for slot in waiting.tolist()], self._evidence.offered[waiting])
            self._evidence.keep(first, still_used)
        self._links = [link for link, is_used in zip(self._links, are_used, strict=True) if is_used]
        for name in self._SLOTS:
            slots = getattr(self, name)
            slots[: len(self._links)] = slots[:before][still_used]
        self.is_waiting[len(self._links) :] = False
        self._in_links[: len(self._links)] = np.bincount(self._slots[: self._count], minlength=len(self._links))

    # ------------------------------------------------------------ what it says

    def candidate(self, slot: int, priority: float, because: Mapping[str, JsonValue]) -> Candidate:
        url, found_on, anchor, depth = self._links[slot]
        return Candidate(url, priority, found_on, anchor, because, depth)

    def features(self, slots: Ints, *, is_latest: bool = True) -> Floats:
        """The features of some slots, computed from all rows.

        is_latest: whether the ratios of words and hosts are computed again; otherwise those of the last time are used.
        """
        base = self._base_rate()
        if is_latest:
            self.update_ratios()
        if not len(slots):
            return np.empty((0, len(FEATURES)))
        chosen, at = self._rows_of(slots, rows := slice(0, self._count))
        evidence = self._evidence_of(rows, chosen)
        counts = np.maximum(np.bincount(at, minlength=len(slots)), 1)
        found = np.empty((len(slots), len(FEATURES)))
        for place, column in enumerate(evidence.T):
            found[:, place] = np.bincount(at, column, len(slots))
        beside = found[:, [_BESIDE, _HOST]]
        found /= counts[:, None]
        found[:, _BESIDE], found[:, _HOST] = beside.T
        found[:, _ANCHOR] = 0.0
        np.maximum.at(found[:, _ANCHOR], at, evidence[:, _ANCHOR])
        return self._with_ratios(found, slots, base)

    def features_of_new(self, rows: slice, slots: slice) -> tuple[Ints, Floats]:
        """The waiting slots among new ones, and their features; each has a single row, of the page just added."""
        waiting = slots.start + self.is_waiting[slots].nonzero()[0]
        if not len(waiting):
            return waiting, np.empty((0, len(FEATURES)))
        (chosen,) = ((to := self._slots[rows]) >= slots.start).nonzero()
        if len(chosen) > len(waiting):
            chosen = chosen[self.is_waiting[to[chosen]]]
        return waiting, self._with_ratios(self._evidence_of(rows, chosen), waiting, self._base_rate())

    def _evidence_of(self, rows: slice, chosen: Ints) -> Floats:
        """The features of some rows. In the columns of `neighbours` and `host` are, instead, the relevant and all
        outcomes of the links beside them, which are summed over the rows of each URL.

        rows: a range of whole pages, from which `chosen` selects.
        """
        found = self._facts[rows].take(chosen, axis=0)
        ratios = self._word_ratios.take(self._words[rows].take(chosen, axis=0))
        found[:, _LED] = np.add.reduceat(ratios, _PARTS, axis=1) / found[:, _LED]
        outcomes = self._outcomes.take(self._slots[rows])
        found[:, _BESIDE], found[:, _HOST] = _sums_of_neighbours(self._parents[rows], outcomes, chosen)
        return found

    def _with_ratios(self, found: Floats, slots: Ints, base: float) -> Floats:
        """The evidence, with the ratios of `neighbours` and `host` in place of sums."""
        found[:, _BESIDE] = _log_odds_ratio(found[:, _BESIDE], found[:, _HOST], base, "neighbours")
        found[:, _HOST] = self._host_ratios.take(self._sites[:, 0].take(slots))
        return found

    @property
    def has_dead(self) -> bool:
        """Whether any link led to no page."""
        return self._dead_fetches > 0

    def dead_share(self, slots: Ints) -> Floats:
        """The probability that a link is dead: the share of its URL pattern, smoothed towards that of the folder, which
        is smoothed towards that of all links."""
        smoothing, dead = _SMOOTHING["patterns"], np.full(len(slots), self._dead_fetches / (self._fetches + 10.0))
        for places in self._sites[slots, 1:].T:
            dead = (self._dead[places] + smoothing * dead) / (self._fetched[places] + smoothing)
        return dead

    def standing(self, slots: Ints, rows: slice | None = None, *, is_complete: bool = True) -> Floats:
        """The parts of the expected standing of some slots, from all rows or from those of one page.

        is_complete: whether these are all waiting slots.
        """
        if self._evidence is None:
            return np.empty((len(slots), 0))
        of = rows or slice(0, self._count)
        chosen, at = self._rows_of(slots, of)
        return self._evidence.parts(slots, at, self._parents[of][chosen], is_complete=is_complete and rows is None)

    def _rows_of(self, slots: Ints, rows: slice) -> tuple[Ints, Ints]:
        """The rows that lead to some slots, and for each the index into `slots`."""
        place_of = np.full(len(self._links), -1)
        place_of[slots] = np.arange(len(slots))
        at = place_of[self._slots[rows]]
        (chosen,) = (at >= 0).nonzero()
        return chosen, at[chosen]

    def _base_rate(self) -> float:
        return min(max((self._relevant + 1.0) / (self._pages + 4.0), 0.02), 0.9)

    def update_ratios(self) -> None:
        """Computes the log odds ratios of words and of hosts."""
        base = self._base_rate()
        seen, good = self._seen.copy(), self._good.copy()
        self._count_words(seen, good, slice(0, self._count))
        self._word_ratios = _ratios_of_places(good, seen, base, "words")
        (known,) = (~np.isnan(self._outcomes[: len(self._links)])).nonzero()
        hosts, outcomes = self._sites[known, 0], self._outcomes[known]
        pages = np.bincount(hosts, minlength=PLACES)
        self._host_ratios = _ratios_of_places(np.bincount(hosts, outcomes, PLACES), pages, base, "hosts")

    def _count_words(self, seen: Floats, good: Floats, rows: slice) -> None:
        """Adds the outcomes of rows to the counts of their words; a page with n links to it counts 1 / n for each."""
        outcomes = self._outcomes[self._slots[rows]]
        (known,) = (~np.isnan(outcomes) & self._words[rows].take(_PARTS, axis=1).any(axis=1)).nonzero()
        slots = self._slots[rows][known]
        share = 1.0 / np.bincount(slots)[slots] if len(slots) else np.empty(0)
        words = self._words[rows][known]
        width = words.shape[1]
        seen += np.bincount(words.ravel(), np.repeat(share, width), len(seen))
        good += np.bincount(words.ravel(), np.repeat(share * outcomes[known], width), len(good))

    # ------------------------------------------------------------ its state

    _ROWS = ("_slots", "_parents", "_words", "_facts")
    _SLOTS = ("is_waiting", "is_new", "scores", "_in_links", "_outcomes", "_sites")
    _NOT_SAVED = frozenset({"_words", "_facts"})  # computed from the rest, or packed on their own

    def state(self) -> JsonValue:
        lengths = {**dict.fromkeys(self._ROWS, self._count), **dict.fromkeys(self._SLOTS, len(self._links))}
        return {
            "arrays": {
                name: packed(_narrowed(getattr(self, name)[:length]))
                for name, length in lengths.items()
                if name not in self._NOT_SAVED
            },
            "row_words": _packed_words(self._words[: self._count]),
            "ratios": [_packed_places(each) for each in (self._word_ratios, self._host_ratios)],
            "links": self._links,
            "dropped": [slot for slot, (url, *_) in enumerate(self._links) if url == ""],
            "visited": [
                packed(np.array(list(self._visited), np.int64)),
                packed(np.array(list(self._visited.values()))),
            ],
            "parents": self._parent_urls,
            "logits": self._logits,
            "words": [_packed_places(each) for each in (self._seen, self._good)],
            "pages": [self._pages, self._relevant],
            "fetches": [self._fetches, self._dead_fetches],
            "patterns": [_packed_places(each) for each in (self._fetched, self._dead)],
            **({} if self._evidence is None else {"standing": self._evidence.state()}),
        }

    def restore(self, state: JsonValue) -> None:
        self._links = [tuple(link) for link in state["links"]]
        for name in {*self._ROWS, *self._SLOTS} - self._NOT_SAVED:
            kept, column = unpacked(state["arrays"][name]), getattr(self, name)
            column[: len(kept)] = kept
        words = _unpacked_words(state["row_words"])
        self._count = len(words)
        self._words[: self._count] = words
        self._weigh_all_words()
        dropped = set(state["dropped"])
        self._slot_of = {link[0]: slot for slot, link in enumerate(self._links) if slot not in dropped}
        self._parent_urls, self._logits = list(state["parents"]), list(state["logits"])
        self._spread_logits()
        keys, relevances = map(unpacked, state["visited"])
        self._visited = dict(zip(keys.tolist(), relevances.tolist(), strict=True))
        ratios_of_words, ratios_of_hosts = state["ratios"]
        self._word_ratios = _unpacked_places(ratios_of_words, _word_count())
        self._host_ratios = _unpacked_places(ratios_of_hosts)
        self._seen, self._good = (_unpacked_places(each, _word_count()) for each in state["words"])
        self._pages, self._relevant = state["pages"]
        self._fetches, self._dead_fetches = state["fetches"]
        self._fetched, self._dead = (_unpacked_places(each) for each in state["patterns"])
        if self._evidence is not None:
            self._evidence.restore(state["standing"])


def _words_of(page: Page, links: Sequence[Link]) -> Codes:
    """The codes of the words of anchors and of the text around them, of one link after the other; 0 in empty places.

    The words around an anchor are those that begin up to `_AROUND` characters before or after it.
    """
    codes, offsets = page.words.term_positions
    words, text = codes.tobytes(), page.text
    text_at = len(page.title) + 1  # a blank stands between title and text
    windows: list[int] = []  # of each link: around it from, anchor from, to, around it to
    for link in links:
        at = text_at + link.position
        after = at + len(link.anchor)
        windows += (max(at - _AROUND, text_at), at, after, after + _AROUND)
    places = iter((_BYTES * offsets.searchsorted(windows)).tolist())
    rows: list[bytes] = []
    apart: dict[int, str] = {}  # anchors that are not in the text, such as those of images, by their places in `rows`
    for link, first, at, after, last in zip(links, places, places, places, places, strict=True):
        if not text.startswith(link.anchor, link.position):
            apart[len(rows)] = link.anchor
        rows.append(words[at : min(after, at + _ANCHOR_BYTES)].ljust(_ANCHOR_BYTES, b"\0"))
        rows.append((words[first:at] + words[after:last])[:_AROUND_BYTES].ljust(_AROUND_BYTES, b"\0"))
    if apart:
        for place, spoken in zip(apart, page.words.codes_of(list(apart.values())), strict=True):
            rows[place] = spoken[:_ANCHOR_WORDS].tobytes().ljust(_ANCHOR_BYTES, b"\0")
    return np.frombuffer(b"".join(rows), np.uint64)


def _sites_of(url: str) -> tuple[int, int, int]:
    """The hashes of a URL's host, of its top folder, and of its pattern in that folder.

    A pattern is the file type and whether there is a query: http://a.example/img/2/3.jpg.htm has the folder /img and
    the pattern of every .jpg.htm below it.
    """
    if is_node(url):
        return 0, 0, 0
    address, _, query = url.partition("?")
    _, _, host, *path = address.split("/", 4)
    suffix = _SUFFIXES.search(path[-1]) if path and "." in path[-1] else None
    return _places_of(host, path[0] if len(path) > 1 else "", suffix[0].lower() if suffix else "", bool(query))


@lru_cache(maxsize=10_000)
def _places_of(host: str, first: str, suffix: str, has_query: bool) -> tuple[int, int, int]:
    folder = f"{host}/{first}"
    return _place(host), _place(folder), _place(f"{folder} {suffix} {'?' if has_query else ''}")


def _place(name: str) -> int:
    return key_of(name) % (PLACES - 1) + 1


def _numbered(codes: Codes) -> Words:
    """Numbers of words: `PLACES` + row for words in the table of word vectors; for others, a hash from 1 to 65,535."""
    rows = builtin_embedding().rows_of(codes)
    numbers = np.where(rows < 0, codes % np.uint64(PLACES - 1) + np.uint64(1), (rows + PLACES).astype(np.uint64))
    return numbers.astype(np.uint32)


class _NumberCache:
    """A direct-mapped cache of the numbers of words: most words of a page were seen before.

    The highest 16 bits of a code are its place; an entry is the code without its lowest 17 bits, and the number there.
    Words whose codes differ in these bits alone have one number; of a million words, there are hardly two.
    """

    def __init__(self) -> None:
        self._entries: Codes = np.zeros(1 << 16, np.uint64)

    def numbered(self, codes: Codes) -> Words:
        """The same as the function `_numbered`, cached; 0 for the code 0, which is that of no word."""
        places = (codes >> np.uint64(48)).view(np.int64)
        entries = self._entries.take(places)
        (missing,) = ((entries ^ codes) >= _NUMBERS).nonzero()
        if len(missing):
            wanted = codes[missing]
            found = (wanted & ~_NUMBER) | (_numbered(wanted) * (wanted != 0))
            entries[missing] = self._entries[places[missing]] = found
        return (entries & _NUMBER).astype(np.uint32)


def _word_count() -> int:
    """The number of different numbers of words."""
    return PLACES + builtin_embedding().row_count


def _empty_lexicon() -> Floats:
    """See `_LinkTable._lexicon`; number 0 is no word."""
    lexicon = np.zeros((_word_count(), 4))
    lexicon[1:, 3] = 1.0
    return lexicon


def _sums_of_neighbours(parents: Ints, outcomes: Floats, chosen: Ints) -> tuple[Floats, Floats]:
    """For some rows, how many outcomes of neighbouring rows of the same parent were relevant, and how many are known,
    weighted by nearness."""
    reach = len(_NEIGHBOURS) // 2
    known = outcomes == outcomes  # all but NaN
    good, seen, places = np.where(known, outcomes, 0.0), known.astype(np.float64), chosen
    if parents[0] != parents[-1]:  # zeros between the rows of two pages
        places = np.arange(len(parents)) + reach * (parents - parents[0])
        spread = np.zeros((2, int(places[-1]) + 1))
        spread[0, places], spread[1, places] = good, seen
        (good, seen), places = spread, places.take(chosen)
    places = places + reach
    return np.convolve(good, _NEIGHBOURS).take(places), np.convolve(seen, _NEIGHBOURS).take(places)


def _ratios_of_places(good: NDArray[Any], seen: NDArray[Any], base: float, kind: str) -> NDArray[np.float32]:
    """Log odds ratios of hash buckets; 0 for buckets without data."""
    ratios = np.zeros(len(seen), np.float32)
    (known,) = (seen != 0.0).nonzero()  # faster than `nonzero` of floats
    ratios[known] = _log_odds_ratio(good[known], seen[known], base, kind)
    ratios[0] = 0.0
    return ratios


def _log_odds_ratio(good: NDArray[Any], seen: NDArray[Any], base: float, kind: str) -> Floats:
    """log odds(good / seen) - log odds(base), with good / seen smoothed towards the base rate."""
    smoothing = _SMOOTHING[kind]
    share = np.minimum(np.maximum((good + smoothing * base) / (seen + smoothing), 1e-3), 1.0 - 1e-3)
    return np.asarray(np.log(share / (1.0 - share)) - log(base / (1.0 - base)))


def _packed_words(rows: Words) -> JsonValue:
    """Rows of numbered words, which have 17 bits, as plain data without empty places."""
    counts = np.add.reduceat(rows > 0, _PARTS, axis=1, dtype=np.uint8)
    words = rows[rows > 0]
    return [packed(counts), packed(words.astype(np.uint16)), packed(np.packbits(words >= 1 << 16))]


def _unpacked_words(plain: JsonValue) -> Words:
    counts, low, high = map(unpacked, plain)
    are_words = np.concatenate((counts[:, :1] > _PLACES_IN_ANCHOR, counts[:, 1:] > _PLACES_AROUND), axis=1)
    rows = np.zeros(are_words.shape, np.uint32)
    rows[are_words] = low.astype(np.uint32) + (np.unpackbits(high, count=len(low)).astype(np.uint32) << 16)
    return rows


def _packed_places(array: NDArray[Any]) -> JsonValue:
    (known,) = (array != 0.0).nonzero()
    return [packed(_narrowed(known)), packed(array[known])]


def _unpacked_places(plain: JsonValue, size: int = PLACES) -> NDArray[Any]:
    known, values = map(unpacked, plain)
    array = np.zeros(size, values.dtype)
    array[known] = values
    return array


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """The same non-negative integers in the smallest type that holds them."""
    if array.dtype != np.int64 or not len(array):
        return array
    return array.astype(np.min_scalar_type(array.max()))
