"""The default strategy: judges the link, not only the page it is on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from math import exp, log
from random import Random
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Candidate, Codes, Link, Page, Plain, Skip, Url, Visit
from lycosa.vocabulary.urls import host_of, key_of, path_of

from .base import (
    BaseStrategy,
    checked_share,
    clamped,
    distinct_links,
    packed,
    random_state,
    restore_random,
    unpacked,
)
from .target import STANDING_WEIGHTS, RelevanceTarget, StandingEvidence, best_changes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Marks = NDArray[np.bool_]

FEATURES = (
    "page",  # mean logit of the relevance of the pages that link here
    "best page",  # the highest of them
    "anchor",  # weights of the words of anchors by the judge: the highest
    "anchors",  # and their sum over the square root of their number, mean over the links that lead here
    "around",  # the same sum for the words around
    "address",  # the highest weight of the words of the URL
    "siblings",  # log odds ratio: how many of the links of the same pages led to relevant ones
    "neighbours",  # the same for the links up to three places before and after
    "anchor led",  # mean log odds ratio of what links with these words in their anchors led to
    "around led",  # and around them
    "directory",  # log odds ratio: how many pages of the same directory were relevant
    "host",  # and of the same host
    "links",  # log of the number of pages that link here
)
MAX_ROWS = 12_000  # links whose evidence is kept up to date, the latest; others keep the priority they had
MAX_VISITED = 50_000  # of the latest pages, whose relevance is known where further pages link to them
MAX_LINKS_PER_PAGE = 1_000  # of a page, that are scored one by one
PLACES = 1 << 17  # of words, directories and hosts, which are hashed into them
_ANCHOR_WORDS, _AROUND_WORDS, _ADDRESS_WORDS = 6, 24, 6  # of a link, that count
_AROUND = 100  # characters on each side of an anchor
_LOGIT_LIMIT = 8.0
_EXAMPLE_LOGIT = 3.0  # of an example page, at least: its links come first
_NEIGHBOURS = ((1, 1.0), (2, 0.6), (3, 0.35))  # places away, weight
_SMOOTHING = {"siblings": 3.0, "neighbours": 1.5, "words": 2.0, "sites": 5.0}  # pages that the base rate counts as
_ROWS_PER_VISIT = 800  # scored again for each page visited, on average
_OFFER_FROM = 0.1  # change of a logit that is worth telling the frontier
_MOST_OFFERS = 400  # waiting links that are ranked again at one page, the best


class WordWeights(Protocol):
    """The present model of the topic's words."""

    def weights_by_code(self) -> tuple[Codes, Floats]:
        """Words as codes, and what each says for the topic (> 0) or against it."""
        ...


class Hunter(BaseStrategy):
    """Follows the links that are likeliest to lead to relevant pages.

    priority = 1 / (1 + exp(-(intercept + Σ weight_i * feature_i)))

    The features are listed in `FEATURES`: what links from relevant pages, what the anchor, the words around it and the
    URL say of the topic, and what came of links like it: those on the same pages, those next to it, those with the same
    words, those into the same directory or host. The weights were learnt on many topics (`hunter.json`). Evidence of
    the latest `MAX_ROWS` links is kept in a table, and what waits is scored again as pages arrive, some 800 links a
    page; the frontier is told where the order changes.

    A few links of the seeds are drawn at random and followed first, so that the topic is seen beside the rest of its
    web; later, a share of `explore` of the pages has a random link followed next.

    With a target below 1, the priority is α · P + (1 - α) · S: P is the probability above, S the standing that the page
    is expected to have (`StandingEvidence`), and α the least weight at which pages stay relevant enough
    (`RelevanceTarget`). At 1, no standing is needed.

    target: mean relevance that the pages are to have at least, while those of high standing are sought; 1 goes by
        relevance alone, 0 by standing alone.
    judge: gives the present model of the topic's words, None where there is none.
    taught: pages from which the topic was learnt.
    domain_reach: log of the reach of a URL's domain, less that of the median domain; 0 where it is not known.
    sample: random links of the seeds that are followed first.
    explore: share of pages one of whose links is followed whatever its score.
    """

    name = "hunter"

    def __init__(
        self,
        *,
        target: float = 1.0,
        judge: Callable[[], WordWeights | None] = lambda: None,
        taught: Iterable[Url] = (),
        domain_reach: Callable[[Url], float] = lambda url: 0.0,
        sample: int = 4,
        explore: float = 0.0,
        seed: int = 0,
    ):
        self._judge = judge
        self._taught = dict.fromkeys(taught)
        self._sample = sample
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
        """The weight of relevance at present; None where it alone counts."""
        return None if self.target is None else self.target.alpha

    @property
    def lately(self) -> float | None:
        """Mean relevance of the last pages; None where it decides nothing."""
        return None if self.target is None else self.target.lately

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        """The examples, whose links come first, and the seeds."""
        starts = list(dict.fromkeys((*self._taught, *seeds)))
        new = [url for url in starts if url not in self._to_sample]
        for number, url in enumerate(new):
            self._to_sample[url] = self._sample // len(new) + (number < self._sample % len(new))
        because = {True: {"example": True}, False: {"seed": True}}
        return [Candidate(url, 1.0, because=because[url in self._taught]) for url in starts]

    def learn(self, event: Visit | Skip) -> None:
        table, url = self._table, event.candidate.url
        predicted = table.predicted(url)
        if isinstance(event, Skip) or event.page is None or event.relevance is None:
            table.drop(url)
        elif event.change is None:
            if self.target is not None and url not in self._taught:
                self.target.add(url, event.relevance, predicted)
            table.settle(url, self._logit(url, event.relevance))

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip) or event.page is None:
            return ()
        links = list(distinct_links(event))
        logit = self._logit(event.candidate.url, event.relevance)
        rows = self._table.add(event, links[:MAX_LINKS_PER_PAGE], logit)
        candidates = self._rest(event, links[MAX_LINKS_PER_PAGE:], logit)
        self._visits_since_scored += 1
        if self._visits_since_scored * _ROWS_PER_VISIT >= len(self._table):
            self._visits_since_scored = 0
            candidates += self._rescored(new=rows)
        else:
            candidates += self._scored(rows)
        return self._with_samples(event, candidates)

    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        """Pages were judged anew: the waiting links whose priority changes by that."""
        self._table.restand(standings or {})
        self._table.rejudge({url: self._logit(Url(url), relevance) for url, relevance in relevances.items()})
        if self.target is not None:
            self.target.rejudge(relevances)
        self._visits_since_scored = 0
        return self._rescored(new=None)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """A link is offered anew because more is known of it; examples, seeds and samples keep their first place."""
        return waiting if waiting >= 1.0 else offered

    def _logit(self, url: Url, relevance: float | None) -> float:
        share = min(max(clamped(relevance), 1e-4), 1.0 - 1e-4)
        logit = min(max(log(share / (1.0 - share)), -_LOGIT_LIMIT), _LOGIT_LIMIT)
        return max(logit, _EXAMPLE_LOGIT) if url in self._taught else logit

    def _rest(self, visit: Visit, links: Sequence[Link], logit: float) -> list[Candidate]:
        """The links of a very long list: by their page alone."""
        depth, found_on = visit.candidate.depth + 1, visit.candidate.url
        weight = self._weights[FEATURES.index("page")] + self._weights[FEATURES.index("best page")]
        score = self._intercept + weight * logit
        because: dict[str, Plain] = {"parts": {"page": round(float(weight * logit), 2)}}
        if self.target is not None:
            relevance, standing = score, self.target.evidence.by_page_alone(visit.standing)
            score = float(self.target.weighed(np.array(relevance), np.array(standing)))
            because["weighed"] = self.target.explain(relevance, standing)
            new = [(each.target, found_on, each.anchor, depth) for each in links if not self._table.knows(each.target)]
            self.target.evidence.older.add(new, np.tile([relevance, standing, score], (len(new), 1)))
        return [Candidate(link.target, _logistic(score), found_on, link.anchor, because, depth) for link in links]

    def _scored(self, rows: Ints) -> list[Candidate]:
        """Candidates for the links that are new with these rows."""
        table = self._table
        slots = np.unique(table.slots[rows])
        slots = slots[table.is_new[slots] & table.is_waiting[slots]]
        return self._candidates(slots, table.features(self._word_table(), slots, rows), table.standing(slots, rows))

    def _rescored(self, new: Ints | None) -> list[Candidate]:
        """Candidates for new links, and for those that wait whose priority has changed, the best of them."""
        table = self._table
        (slots,) = table.is_waiting.nonzero()
        features = table.features(self._word_table(), slots, None)
        scores = features @ self._weights
        standing, older = table.standing(slots, None), []
        if self.target is not None:
            relevance, expected = scores + self._intercept, standing.sum(axis=1)
            self.target.solve(relevance, expected)
            scores = self.target.weighed(relevance, expected) - self._intercept
            older = self.target.moved(least=_OFFER_FROM, most=_MOST_OFFERS)
        is_new = table.is_new[slots]
        told = np.where(is_new, scores, table.scores[slots])
        best = best_changes(scores, told, least=_OFFER_FROM, most=_MOST_OFFERS)
        chosen = np.sort(np.concatenate((best, np.flatnonzero(is_new))))
        return older + self._candidates(slots[chosen], features[chosen], standing[chosen])

    def _candidates(self, slots: Ints, features: Floats, standing: Floats) -> list[Candidate]:
        """Candidates for some links, by their features and the parts of the standing that they are expected to have."""
        table = self._table
        parts = features * self._weights
        scores = parts.sum(axis=1)
        because: list[dict[str, Plain]] = [{"parts": _named(FEATURES, part)} for part in parts.round(2).tolist()]
        if self.target is not None:
            relevance, expected = scores + self._intercept, standing.sum(axis=1)
            scores = self.target.weighed(relevance, expected) - self._intercept
            told = np.stack((relevance, expected, scores + self._intercept), axis=1)
            self.target.evidence.told[slots] = told
            for each, part, (known, likely, _) in zip(because, standing.round(2).tolist(), told.tolist(), strict=True):
                each["standing_parts"] = _named(STANDING_WEIGHTS, part)
                each["weighed"] = self.target.explain(known, likely)
        table.scores[slots], table.is_new[slots] = scores, False
        priorities = 1.0 / (1.0 + np.exp(-np.clip(scores + self._intercept, -30.0, 30.0)))
        return list(map(table.candidate, slots.tolist(), priorities.tolist(), because))

    def _with_samples(self, visit: Visit, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates, with random ones first where it is time for them."""
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

    def _word_table(self) -> Floats:
        """What the judge says of each hashed word."""
        model = self._judge()
        if model is not self._model or model is None:
            self._model = model
            self._table.use_model(model)
        return self._table.word_weights

    def state(self) -> Plain:
        return {
            "table": self._table.state(),
            "to_sample": self._to_sample,
            "random": random_state(self._random),
            "visits_since_scored": self._visits_since_scored,
            **({} if self.target is None else {"target": self.target.state()}),
        }

    def restore(self, state: Plain) -> None:
        self._table.restore(state["table"])
        self._to_sample = dict(state["to_sample"])
        restore_random(self._random, state["random"])
        self._visits_since_scored = state["visits_since_scored"]
        if self.target is not None:
            self.target.restore(state["target"])


def _learnt_weights() -> tuple[Floats, float]:
    """Weights and intercept, learnt on many topics; `training/hunter` says on which."""
    learnt = msgspec.json.decode(files(__package__).joinpath("hunter.json").read_bytes())
    return np.array([learnt["weights"][name] for name in FEATURES]), learnt["intercept"]


def _named(names: Iterable[str], values: Iterable[float]) -> dict[str, Plain]:
    return {name: value for name, value in zip(names, values, strict=True) if value}


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + exp(-min(max(logit, -30.0), 30.0)))


class _LinkTable:
    """The latest links, a row for each that a page has, and a slot for each URL that links lead to.

    All evidence is computed from the rows; what the oldest rows said of words and sites stays when they are dropped.

    evidence: keeps what is known of the standing of these links; None where it does not count.
    """

    def __init__(self, evidence: StandingEvidence | None = None) -> None:
        self._evidence = evidence
        self._count = 0  # of rows
        capacity = MAX_ROWS + MAX_LINKS_PER_PAGE
        self._all_slots: Ints = np.zeros(capacity, np.int64)  # where each row leads
        self._all_parents: Ints = np.zeros(capacity, np.int64)  # the page of each row; those of a page side by side
        self._all_words: NDArray[np.int32] = np.zeros((capacity, _ANCHOR_WORDS + _AROUND_WORDS), np.int32)  # hashed
        self._logits: list[float] = []  # of each parent
        self._parent_urls: list[Url] = []
        self._slot_of: dict[Url, int] = {}
        self._visited: dict[int, float] = {}  # relevance of the latest pages, by the keys of their URLs
        self._links: list[tuple[Url, Url | None, str, int]] = []  # of each slot: URL, page, anchor, depth
        self.is_waiting: Marks = np.empty(0, np.bool_)
        self.is_new: Marks = np.empty(0, np.bool_)  # not given to the frontier yet
        self.scores: Floats = np.empty(0)  # as of the last time that the frontier was told
        self._outcomes: Floats = np.empty(0)  # relevance of each slot that was visited; NaN for others
        self._address: NDArray[np.int32] = np.empty((0, _ADDRESS_WORDS), np.int32)
        self._sites: NDArray[np.int32] = np.empty((0, 2), np.int32)  # directory and host, hashed
        self._seen = np.zeros(PLACES)  # pages that words and sites led to, of rows that were dropped
        self._good = np.zeros(PLACES)  # and the relevance of these pages, summed up
        self._pages, self._relevant = 0.0, 0.0
        self.word_weights: Floats = np.zeros(PLACES)

        self._ratios: Floats | None = None  # of words; None where pages have come since

    def __len__(self) -> int:
        return self._count

    @property
    def slots(self) -> Ints:
        return self._all_slots[: self._count]

    @property
    def _parents(self) -> Ints:
        return self._all_parents[: self._count]

    @property
    def _words(self) -> NDArray[np.int32]:
        return self._all_words[: self._count]

    def use_model(self, model: WordWeights | None) -> None:
        self.word_weights = np.zeros(PLACES)
        if model is not None:
            codes, weights = model.weights_by_code()
            self.word_weights[_hashed(codes)] = weights

    # ------------------------------------------------------------ what happens

    def settle(self, url: Url, logit: float) -> None:
        """A page was visited."""
        self._pages += 1.0
        relevance = _logistic(logit)
        self._relevant += relevance
        self._visited[_key(url)] = relevance
        if len(self._visited) > MAX_VISITED:
            del self._visited[next(iter(self._visited))]
        if self._evidence is not None:
            self._evidence.older.pop(url)
        slot = self._slot_of.get(url)
        if slot is not None:
            self._outcomes[slot] = relevance
            self.is_waiting[slot] = False

    def drop(self, url: Url) -> None:
        """A link led to no page, or is not to be followed; another page may offer it again."""
        slot = self._slot_of.pop(url, None)
        if slot is not None:
            self.is_waiting[slot] = False
        if self._evidence is not None:
            self._evidence.older.pop(url)

    def pin(self, url: Url) -> None:
        """A link that is followed next whatever is learnt of it."""
        if url in self._slot_of:  # not of the end of a very long list
            self.is_waiting[self._slot_of[url]] = False
        if self._evidence is not None:
            self._evidence.older.pop(url)

    def knows(self, url: Url) -> bool:
        """Whether a link is in the table, or was followed lately."""
        return url in self._slot_of or _key(url) in self._visited

    def predicted(self, url: Url) -> float | None:
        """The log odds of relevance that the frontier was told of a link; None where standing does not count."""
        if self._evidence is None:
            return None
        slot = self._slot_of.get(url)
        return self._evidence.older.relevance(url) if slot is None else float(self._evidence.told[slot, 0])

    def rejudge(self, logits: Mapping[str, float]) -> None:
        for place, url in enumerate(self._parent_urls):
            self._logits[place] = logits.get(url, self._logits[place])
        for url, slot in self._slot_of.items():
            if url in logits and not np.isnan(self._outcomes[slot]):
                self._outcomes[slot] = _logistic(logits[url])
        relevances = {_key(url): _logistic(logit) for url, logit in logits.items()}
        self._visited.update((key, relevance) for key, relevance in relevances.items() if key in self._visited)
        if relevances:
            self._pages, self._relevant = float(len(relevances)), sum(relevances.values())

    def restand(self, standings: Mapping[str, float]) -> None:
        """Pages have these standings from now on."""
        for place, url in enumerate(self._parent_urls):
            if self._evidence is not None and url in standings:
                self._evidence.set_parent(place, standings[url])

    def add(self, visit: Visit, links: Sequence[Link], logit: float) -> Ints:
        """Adds the links of a page; returns their rows."""
        if self._count + len(links) > MAX_ROWS:
            self._drop_oldest(len(links))
        page, candidate = visit.page, visit.candidate
        assert page is not None
        parent = len(self._logits)
        self._logits.append(logit)
        self._parent_urls.append(candidate.url)
        if self._evidence is not None:
            self._evidence.add_parent(candidate.url, visit.standing)
        new = [link for link in links if link.target not in self._slot_of]
        self._add_slots(new, candidate.url, candidate.depth + 1, page)
        start, end = self._count, self._count + len(links)
        self._all_slots[start:end] = [self._slot_of[link.target] for link in links]
        self._all_parents[start:end] = parent
        self._all_words[start:end] = _words_of(page, links)
        self._count = end
        return np.arange(start, end)

    def _add_slots(self, links: Sequence[Link], found_on: Url, depth: int, page: Page) -> None:
        start = len(self._links)
        for number, link in enumerate(links):
            self._slot_of[link.target] = start + number
            self._links.append((link.target, found_on, link.anchor, depth))
        if self._evidence is not None:
            self._evidence.add_links([link.target for link in links])
        outcomes = np.array([self._visited.get(_key(link.target), np.nan) for link in links])
        self.is_waiting = np.concatenate((self.is_waiting, np.isnan(outcomes)))
        self.is_new = np.concatenate((self.is_new, np.ones(len(links), np.bool_)))
        self.scores = np.concatenate((self.scores, np.zeros(len(links))))
        self._outcomes = np.concatenate((self._outcomes, outcomes))
        urls = [link.target if isinstance(link.target, str) else "" for link in links]  # in a graph, they are numbers
        words = page.words.codes_of([path_of(url).replace("_", " ") for url in urls])
        self._address = np.concatenate((self._address, _matrix(words, _ADDRESS_WORDS)))
        sites = np.array([_sites_of(url) for url in urls], np.int32).reshape(-1, 2)
        self._sites = np.concatenate((self._sites, sites))

    def _drop_oldest(self, room: int) -> None:
        """Drops the rows of the oldest pages, a quarter of the table at least; what their words led to stays."""
        wanted = max(room, MAX_ROWS // 4)
        first = int(self._parents[wanted]) if wanted < len(self._parents) else len(self._logits)
        kept = self._parents >= first
        self._count_words(self._seen, self._good, ~kept)
        still_used = np.zeros(len(self._links), np.bool_)
        still_used[self.slots[kept]] = True
        place = np.cumsum(still_used) - 1
        slots, parents, words = place[self.slots[kept]], self._parents[kept] - first, self._words[kept]
        self._count = len(slots)
        self.slots[:], self._parents[:], self._words[:] = slots, parents, words
        self._logits, self._parent_urls = self._logits[first:], self._parent_urls[first:]
        self._slot_of = {url: int(place[slot]) for url, slot in self._slot_of.items() if still_used[slot]}
        if self._evidence is not None:
            (waiting,) = (self.is_waiting & ~still_used).nonzero()
            self._evidence.older.add([self._links[slot] for slot in waiting.tolist()], self._evidence.told[waiting])
            self._evidence.keep(first, still_used)
        self._links = [link for link, used in zip(self._links, still_used.tolist(), strict=True) if used]
        for name in self._SLOTS:
            setattr(self, name, getattr(self, name)[still_used])

    # ------------------------------------------------------------ what it says

    def candidate(self, slot: int, priority: float, because: Mapping[str, Plain]) -> Candidate:
        url, found_on, anchor, depth = self._links[slot]
        return Candidate(url, priority, found_on, anchor, because, depth)

    def features(self, word_weights: Floats, slots: Ints, rows: Ints | None) -> Floats:
        """The features of some slots, from all rows or from these alone."""
        found = np.zeros((len(slots), len(FEATURES)))
        if not len(slots):
            return found
        is_complete = rows is None
        rows, at = self._rows_of(slots, rows)
        links = np.maximum(np.bincount(at, minlength=len(slots)), 1)
        base = self._base_rate()

        def mean(values: Floats) -> Floats:
            return np.asarray(np.bincount(at, values, len(slots)) / links)

        parents = self._parents[rows]
        logits = np.array(self._logits)[parents]
        words = self._words[rows]
        said = word_weights[words]
        ratios = self._word_ratios(base, again=is_complete)[words]
        anchor, around = slice(0, _ANCHOR_WORDS), slice(_ANCHOR_WORDS, None)
        has_words = words > 0
        anchor_counts, around_counts = has_words[:, anchor].sum(1), has_words[:, around].sum(1)
        found[:, 0] = mean(logits)
        found[:, 1] = _maximum(at, logits, len(slots), -_LOGIT_LIMIT)
        found[:, 2] = _maximum(at, said[:, anchor].max(1), len(slots), 0.0)
        found[:, 3] = mean(said[:, anchor].sum(1) / np.sqrt(np.maximum(anchor_counts, 1)))
        found[:, 4] = mean(said[:, around].sum(1) / np.sqrt(np.maximum(around_counts, 1)))
        found[:, 5] = word_weights[self._address[slots]].max(1)
        siblings, neighbours = self._sibling_outcomes(), self._neighbour_outcomes(rows)
        good, seen = (np.bincount(at, each[parents], len(slots)) for each in siblings)
        found[:, 6] = _log_odds_ratio(good, seen, base, "siblings")
        good, seen = (np.bincount(at, each, len(slots)) for each in neighbours)
        found[:, 7] = _log_odds_ratio(good, seen, base, "neighbours")
        found[:, 8] = mean(ratios[:, anchor].sum(1) / np.sqrt(np.maximum(anchor_counts, 1)))
        found[:, 9] = mean(ratios[:, around].sum(1) / np.maximum(around_counts, 1))
        good, seen = (each[self._sites[slots]] for each in self._site_outcomes())
        found[:, 10:12] = _log_odds_ratio(good, seen, base, "sites")
        found[:, 12] = np.log(links)
        return found

    def standing(self, slots: Ints, rows: Ints | None) -> Floats:
        """The parts of the standing that is expected of some slots, from all rows or from these alone."""
        if self._evidence is None:
            return np.empty((len(slots), 0))
        is_complete = rows is None
        rows, at = self._rows_of(slots, rows)
        return self._evidence.parts(slots, at, self._parents[rows], is_complete=is_complete)

    def _rows_of(self, slots: Ints, rows: Ints | None) -> tuple[Ints, Ints]:
        """Of all rows or of these, those that lead to some slots, and the place of the slot among them for each."""
        place = np.full(len(self._links), -1)
        place[slots] = np.arange(len(slots))
        rows = np.arange(self._count) if rows is None else rows
        at = place[self.slots[rows]]
        return rows[at >= 0], at[at >= 0]

    def _base_rate(self) -> float:
        return min(max((self._relevant + 1.0) / (self._pages + 4.0), 0.02), 0.9)

    def _sibling_outcomes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """For each parent: the summed relevance of the pages visited that it links to, and their number."""
        outcomes = self._outcomes[self.slots]
        known = ~np.isnan(outcomes)
        parents, count = self._parents[known], len(self._logits)
        return np.bincount(parents, outcomes[known], count), np.bincount(parents, minlength=count)

    def _neighbour_outcomes(self, rows: Ints) -> tuple[Floats, Floats]:
        """For each row: the weighted relevance of the pages visited that the links next to it lead to, and weights."""
        outcomes, parents = self._outcomes[self.slots], self._parents
        good, seen = np.zeros(len(rows)), np.zeros(len(rows))
        for distance, weight in _NEIGHBOURS:
            for other in (rows - distance, rows + distance):
                inside = (other >= 0) & (other < len(parents))
                other = np.where(inside, other, 0)
                counts = inside & (parents[other] == parents[rows]) & ~np.isnan(outcomes[other])
                good += np.where(counts, weight * np.nan_to_num(outcomes[other]), 0.0)
                seen += np.where(counts, weight, 0.0)
        return good, seen

    def _word_ratios(self, base: float, *, again: bool) -> Floats:
        """What links with each hashed word led to, as log odds ratios; as of the last time, or computed again."""
        if self._ratios is not None and not again:
            return self._ratios
        seen, good = self._seen.copy(), self._good.copy()
        self._count_words(seen, good, np.ones(len(self.slots), np.bool_))
        ratios = np.zeros(PLACES)
        (known,) = seen.nonzero()
        ratios[known] = _log_odds_ratio(good[known], seen[known], base, "words")
        ratios[0] = 0.0
        self._ratios = ratios
        return ratios

    def _count_words(self, seen: Floats, good: Floats, rows: Marks) -> None:
        """Adds what the words of rows led to; a page that n links led to counts 1 / n for each."""
        outcomes = self._outcomes[self.slots]
        (known,) = (rows & ~np.isnan(outcomes)).nonzero()
        slots = self.slots[known]
        share = 1.0 / np.bincount(slots, minlength=len(self._links))[slots]
        words = self._words[known]
        width = words.shape[1]
        seen += np.bincount(words.ravel(), np.repeat(share, width), PLACES)
        good += np.bincount(words.ravel(), np.repeat(share * outcomes[known], width), PLACES)

    def _site_outcomes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """For each hashed directory and host: the summed relevance of its pages that were visited, and their number."""
        (known,) = (~np.isnan(self._outcomes)).nonzero()
        sites = self._sites[known]
        seen = np.bincount(sites.ravel(), minlength=PLACES)
        good = np.bincount(sites.ravel(), np.repeat(self._outcomes[known], 2), PLACES)
        return good, seen

    # ------------------------------------------------------------ its state

    _ROWS = ("slots", "_parents", "_words")
    _SLOTS = ("is_waiting", "is_new", "scores", "_outcomes", "_address", "_sites")

    def state(self) -> Plain:
        (places,) = self._seen.nonzero()
        return {
            "arrays": {name: packed(getattr(self, name)) for name in (*self._ROWS, *self._SLOTS)},
            "ratios": None if self._ratios is None else packed(self._ratios[(known := self._ratios.nonzero()[0])]),
            "known": None if self._ratios is None else packed(known),
            "links": self._links,
            "dropped": [slot for slot, link in enumerate(self._links) if self._slot_of.get(link[0]) != slot],
            "visited": [
                packed(np.array(list(self._visited), np.int64)),
                packed(np.array(list(self._visited.values()))),
            ],
            "parents": self._parent_urls,
            "logits": self._logits,
            "words": [packed(places), packed(self._seen[places]), packed(self._good[places])],
            "pages": [self._pages, self._relevant],
            **({} if self._evidence is None else {"standing": self._evidence.state()}),
        }

    def restore(self, state: Plain) -> None:
        arrays = {name: unpacked(packed) for name, packed in state["arrays"].items()}
        if (
            arrays["_words"].shape[1:] != self._words.shape[1:]
            or arrays["_address"].shape[1:] != self._address.shape[1:]
        ):
            raise KeyError("words")  # of another version, which kept another number of them
        self._count = len(arrays["slots"])
        for name in self._ROWS:
            getattr(self, name)[:] = arrays[name]
        for name in self._SLOTS:
            setattr(self, name, arrays[name])
        self._ratios = None
        if state["ratios"] is not None:
            self._ratios = np.zeros(PLACES)
            self._ratios[unpacked(state["known"])] = unpacked(state["ratios"])
        self._links = [tuple(link) for link in state["links"]]
        dropped = set(state["dropped"])
        self._slot_of = {link[0]: slot for slot, link in enumerate(self._links) if slot not in dropped}
        self._parent_urls, self._logits = list(state["parents"]), list(state["logits"])
        keys, relevances = map(unpacked, state["visited"])
        self._visited = dict(zip(keys.tolist(), relevances.tolist(), strict=True))
        places, seen, good = map(unpacked, state["words"])
        self._seen, self._good = np.zeros(PLACES), np.zeros(PLACES)
        self._seen[places], self._good[places] = seen, good
        self._pages, self._relevant = state["pages"]
        if self._evidence is not None:
            self._evidence.restore(state["standing"])


def _words_of(page: Page, links: Sequence[Link]) -> NDArray[np.int32]:
    """The hashed words of the anchors of links and of the text around them, a row for each."""
    text = page.text
    around = [
        text[max(0, link.position - _AROUND) : link.position]
        + " "
        + text[link.position + len(link.anchor) : link.position + len(link.anchor) + _AROUND]
        for link in links
    ]
    codes = page.words.codes_of([*(link.anchor for link in links), *around])
    anchors = _matrix(codes[: len(links)], _ANCHOR_WORDS)
    return np.concatenate((anchors, _matrix(codes[len(links) :], _AROUND_WORDS)), axis=1)


def _key(url: str) -> int:
    return key_of(url) if isinstance(url, str) else url  # in a graph, URLs are numbers


def _sites_of(url: str) -> tuple[int, int]:
    """Directory and host, hashed."""
    if not url:
        return 0, 0
    return key_of(url.rpartition("/")[0]) % (PLACES - 1) + 1, key_of(f"host {host_of(url)}") % (PLACES - 1) + 1


def _matrix(texts: Sequence[Codes], width: int) -> NDArray[np.int32]:
    """The first words of each text, hashed; 0 where there are fewer."""
    matrix = np.zeros((len(texts), width), np.int32)
    lengths = np.array([min(len(codes), width) for codes in texts], np.intp)
    if lengths.sum():
        matrix[np.arange(width) < lengths[:, None]] = _hashed(np.concatenate([codes[:width] for codes in texts]))
    return matrix


def _hashed(codes: Codes) -> NDArray[np.int32]:
    return (codes % np.uint64(PLACES - 1)).astype(np.int32) + 1


def _maximum(at: Ints, values: Floats, count: int, least: float) -> Floats:
    found = np.full(count, least)
    np.maximum.at(found, at, values)
    return found


def _log_odds_ratio(good: NDArray[Any], seen: NDArray[Any], base: float, kind: str) -> Floats:
    """log odds of the share of good among those seen, less that of the base rate, towards which it is smoothed."""
    smoothing = _SMOOTHING[kind]
    share = np.clip((good + smoothing * base) / (seen + smoothing), 1e-3, 1.0 - 1e-3)
    return np.asarray(np.log(share / (1.0 - share)) - log(base / (1.0 - base)))
