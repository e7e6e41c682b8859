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
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.relevance.embedding import builtin_embedding
from lycosa.vocabulary.records import Candidate, Codes, JsonValue, Link, Outcome, Page, Skip, Url, Visit
from lycosa.vocabulary.urls import is_node, key_of, secure_key_of

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
from .target import STANDING_WEIGHTS, FoundLink, RelevanceTarget, StandingEvidence, best_changes, logistic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Hashes = NDArray[np.uint16]
WordIds = NDArray[np.uint32]
RowNumbers = NDArray[np.int32]
RowFloats = NDArray[np.float32]

FEATURES = (
    "page",  # mean logit of the relevance of the pages that link here
    "anchor",  # the highest weight, by the judge, of a word of the anchors
    "neighbours",  # log odds ratio of the links up to three places before and after: how many led to relevant pages
    "anchor led",  # mean over the words of the anchors of the log odds ratio of what links with this word led to
    "around led",  # the same for the words of the context: the text around the anchors
    "host",  # log odds ratio of the pages of the same host: how many were relevant
    "anchor meaning",  # how near the anchors are to the topic by word vectors, in standard deviations over all words
    "around meaning",  # the same for the context
)
ALIVE = "alive"  # change of the log odds for the probability that the link is dead (`_dead_link_adjustment`)
_PART_NAMES = (*FEATURES, ALIVE)  # terms of the log odds, as `because` lists them
_PAGE, _ANCHOR, _NEIGHBOURS, _LED_TO, _HOST, _MEANING = 0, 1, 2, slice(3, 5), 5, slice(6, 8)  # columns of features
MAX_ROWS = 36_000  # latest links that are scored again as pages arrive; others keep their priority
MAX_VISITED = 50_000  # latest pages whose relevance is remembered, for further links to them
MAX_LINKS_PER_PAGE = 1_000  # of a page, that are scored one by one
# For hosts, for folders and patterns of URLs, and for words without a vector; bucket 0 is for none.
HASH_BUCKETS = 1 << 16
_MAX_ANCHOR_WORDS, _MAX_CONTEXT_WORDS = 6, 16  # of a link, that count
_LINK_WORDS = _MAX_ANCHOR_WORDS + _MAX_CONTEXT_WORDS
_CODE_BYTES = 8  # of the code of a word, its 64-bit hash
_MAX_ANCHOR_BYTES, _MAX_CONTEXT_BYTES = _CODE_BYTES * _MAX_ANCHOR_WORDS, _CODE_BYTES * _MAX_CONTEXT_WORDS
# By which a sum over the words is divided: the square root of their number for the anchor.
_ANCHOR_DIVISORS = np.sqrt(np.maximum(np.arange(_MAX_ANCHOR_WORDS + 1), 1.0))
_CONTEXT_DIVISORS = np.maximum(np.arange(_MAX_CONTEXT_WORDS + 1), 1.0)
_CONTEXT_CHARACTERS = 60  # on each side of an anchor
_MAX_COUNTED_LINKS = 4  # links to a visited page whose words count; those of further ones would add little
_MAX_DEAD_RERANKS = 10  # dead links of a pattern, after which one more changes logits by less than `_MIN_LOGIT_CHANGE`
_NO_LINK: FoundLink = (Url(""), None, "", 0)  # in the slot of a removed URL
_DEAD_OUTCOMES = frozenset((Outcome.GONE, Outcome.UNWANTED, Outcome.FORBIDDEN))
_LOGIT_LIMIT = 8.0  # of the logit of a page's relevance, in absolute value
_MIN_EXAMPLE_LOGIT = 3.0  # of an example page, at least, so that its links rank high
_NEIGHBOUR_WEIGHTS = np.array((0.35, 0.6, 1.0, 0.0, 1.0, 0.6, 0.35))  # weights of the three before and the three after
_SMOOTHING = {"neighbours": 1.5, "words": 2.0, "hosts": 5.0, "patterns": 0.5}  # pages at the base rate added to counts
_SUFFIXES = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9]{0,4}){1,2}$")  # file type in a file name: .html, .jpg.htm
_ROWS_PER_VISIT = 200  # scored again for each page visited, on average
_MIN_LOGIT_CHANGE = 0.1  # from which a waiting link is offered to the frontier again
_MAX_OFFERS = 100  # waiting links that are offered again after one page, the best
# Pages of a word, or their relevance, from which other workers hear of them; and the most at a time: the largest number
# of 16 bits.
_MIN_EVIDENCE, _MAX_EVIDENCE = 0.01, 65_504.0


class WordEvidence(Struct, frozen=True):
    """Visited pages, and the words of the links to them, counted by word id.

    word_ids: of the words that were counted, as 32-bit numbers.
    word_pages, word_relevance: of each word, pages that links with it led to, and their summed relevance, as 16-bit
        floating-point numbers.
    pages, relevance: number of pages, and their summed relevance.
    """

    word_ids: bytes
    word_pages: bytes
    word_relevance: bytes
    pages: float
    relevance: float


class WordWeights(Protocol):
    """The current model of the topic's words."""

    def weights_by_code(self) -> tuple[Codes, Floats]:
        """The codes (64-bit hashes) of words, and the weight of each: positive for the topic, negative against it."""
        ...

    def word_vector_scores(self) -> tuple[Floats, Floats] | None:
        """For each row of the table of word vectors, how near the word is to the topic, in standard deviations, and the
        length of its vector, which is its weight in a text; None if the model has no word vectors."""
        ...


class Hunter(BaseStrategy):
    """Follows the links that are most likely to lead to relevant pages.

    priority = P(there is a page) / (1 + exp(-(intercept + Σ weight_i * feature_i)))

    The features are listed in `FEATURES`: the relevance of the linking pages, how near the anchor and its context (the
    text around it) are to the topic, and the outcomes of similar links: those next to it, those with the same words in
    anchor or context, and those to the same host. The weights were learnt on many topics (`hunter.json`).

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
    seed: of the random numbers; not a URL.
    hash_seed: of the hashes of hosts, folders and patterns of URLs, so that no site can compute names that are counted
        with those of another; saved with the state. 0 where no site is hostile.
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
        hash_seed: int = 0,
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
        self._table = _LinkTable(None if self.target is None else self.target.evidence, hash_seed=hash_seed)
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
        predicted_logit = table.predicted_logit(url)
        if _is_dead(event):
            table.record_fetch(url, is_dead=True)
        if isinstance(event, Skip) or event.page is None or event.relevance is None:
            table.drop(url)
        elif event.change is None:
            if self.target is not None and url not in self._example_urls:
                self.target.add(url, event.relevance, predicted_logit)
            table.record_fetch(url, is_dead=False)
            table.settle(url, self._logit(url, event.relevance))

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Skip) or event.page is None:
            return self._rerank_similar(event.candidate.url) if _is_dead(event) else ()
        links = list(distinct_links(event))
        logit = self._logit(event.candidate.url, event.relevance)
        self._update_model()
        rows, slots = self._table.add(event, links[:MAX_LINKS_PER_PAGE], logit)
        candidates = self._candidates_by_page_alone(event, links[MAX_LINKS_PER_PAGE:], logit)
        self._visits_since_scored += 1
        if self._visits_since_scored * _ROWS_PER_VISIT >= len(self._table):
            self._visits_since_scored = 0
            candidates += self._rescore()
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
        self._update_model()
        return self._rescore()

    def begin_sharing(self) -> None:
        self._table.begin_sharing()

    def new_evidence(self) -> bytes:
        return msgspec.msgpack.encode(self._table.new_evidence())

    def add_evidence(self, encoded: bytes) -> None:
        try:
            evidence = msgspec.msgpack.decode(encoded, type=WordEvidence)
        except msgspec.DecodeError as error:
            raise ValueError(f"damaged evidence: {error}") from None
        self._table.add_evidence(evidence)

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        """The new priority, which rests on more evidence; examples, seeds and samples keep the highest."""
        return waiting if waiting >= 1.0 else offered

    def _logit(self, url: Url, relevance: float | None) -> float:
        share = min(max(clamped(relevance), 1e-4), 1.0 - 1e-4)
        logit = min(max(log(share / (1.0 - share)), -_LOGIT_LIMIT), _LOGIT_LIMIT)
        return max(logit, _MIN_EXAMPLE_LOGIT) if url in self._example_urls else logit

    def _candidates_by_page_alone(self, visit: Visit, links: Sequence[Link], logit: float) -> list[Candidate]:
        """Candidates for links beyond `MAX_LINKS_PER_PAGE`, scored by the relevance of their page alone."""
        if not links:
            return []
        depth, found_on = visit.candidate.depth + 1, visit.candidate.url
        weight = self._weights[FEATURES.index("page")]
        score = self._intercept + weight * logit
        because: dict[str, JsonValue] = {"parts": {"page": round(float(weight * logit), 2)}}
        if self.target is not None:
            relevance, standing = score, self.target.evidence.by_page_alone(visit.standing)
            score = float(self.target.value_logits(np.array(relevance), np.array(standing)))
            because["weighed"] = self.target.explain(relevance, standing)
            new = [(each.target, found_on, each.anchor, depth) for each in links if not self._table.knows(each.target)]
            self.target.evidence.older.add(new, np.tile([relevance, standing, score], (len(new), 1)))
        return [Candidate(link.target, _logistic(score), found_on, link.anchor, because, depth) for link in links]

    def _rescore(self) -> list[Candidate]:
        """Candidates for new links, and for the best of the waiting links whose priority has changed."""
        table = self._table
        (slots,) = table.is_waiting.nonzero()
        features = table.features(slots)
        scores = features @ self._weights
        scores += self._dead_link_adjustment(slots, scores)
        standing, older = table.standing(slots), []
        if self.target is not None:
            relevance, expected = scores + self._intercept, standing.sum(axis=1)
            self.target.update_alpha(relevance, expected)
            scores = self.target.value_logits(relevance, expected) - self._intercept
            older = self.target.revalued_older(min_change=_MIN_LOGIT_CHANGE, max_offers=_MAX_OFFERS)
        is_new = table.is_new[slots]
        offered = np.where(is_new, scores, table.scores[slots])
        best = best_changes(scores, offered, min_change=_MIN_LOGIT_CHANGE, max_offers=_MAX_OFFERS)
        chosen = np.sort(np.concatenate((best, np.flatnonzero(is_new))))
        return older + self._candidates(slots[chosen], features[chosen], standing[chosen])

    def _rerank_similar(self, url: Url) -> list[Candidate]:
        """Candidates for the best waiting links whose URLs resemble one that turned out to be dead."""
        slots = self._table.similar_slots(url, max_offers=_MAX_OFFERS)
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
        parts[:, -1] = alive = self._dead_link_adjustment(slots, scores)
        scores += alive
        because: list[dict[str, JsonValue]] = [
            {"parts": _nonzero_by_name(_PART_NAMES, part)} for part in parts.round(2).tolist()
        ]
        if self.target is not None:
            relevance, expected = scores + self._intercept, standing.sum(axis=1)
            scores = self.target.value_logits(relevance, expected) - self._intercept
            offered = np.stack((relevance, expected, scores + self._intercept), axis=1)
            self.target.evidence.offered[slots] = offered
            for each, part, (link_relevance, link_standing, _) in zip(
                because, standing.round(2).tolist(), offered.tolist(), strict=True
            ):
                each["standing_parts"] = _nonzero_by_name(STANDING_WEIGHTS, part)
                each["weighed"] = self.target.explain(link_relevance, link_standing)
        table.scores[slots], table.is_new[slots] = scores, False
        priorities = logistic(scores + self._intercept)
        return list(map(table.candidate, slots.tolist(), priorities.tolist(), because))

    def _dead_link_adjustment(self, slots: Ints, scores: Floats) -> Floats:
        """The change of scores (log odds of relevance if there is a page) for the probability that the link is dead.

        With P = 1 / (1 + exp(-x)) and a share d of dead links, logit(P (1 - d)) = x + ln(1 - d) - ln(1 + d exp(x)).
        """
        if not self._table.has_dead_links:
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
        own = [index for index, each in enumerate(candidates) if each.found_on == visit.candidate.url]
        for index in self._random.sample(own, min(drawn, len(own))):
            each = candidates[index]
            because = {"sample": True, **each.because}
            candidates[index] = Candidate(each.url, 1.0, each.found_on, each.anchor, because, each.depth)
            self._table.pin(each.url)
        return candidates

    def _update_model(self) -> None:
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
    return isinstance(event, Visit) and event.fetch.outcome in _DEAD_OUTCOMES and event.change is None


def _learnt_weights() -> tuple[Floats, float]:
    """Weights and intercept, learnt on many topics; see `training/hunter`."""
    learnt = msgspec.json.decode(files(__package__).joinpath("hunter.json").read_bytes())
    return np.array([learnt["weights"][name] for name in FEATURES]), learnt["intercept"]


def _nonzero_by_name(names: Iterable[str], values: Iterable[float]) -> dict[str, JsonValue]:
    return {name: value for name, value in zip(names, values, strict=True) if value}


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + exp(-min(max(logit, -30.0), 30.0)))


class _LinkTable:
    """The latest links: a row for each link, a slot for each target URL.

    All features are computed from the rows; when the oldest rows are dropped, their counts of words are kept. The
    ratios of words and hosts are those of the last time that all features were computed.

    evidence: of the standing of these links, and of older ones that wait but were dropped from the table; None if
        standing is not used.
    hash_seed: see `Hunter`.
    """

    def __init__(self, evidence: StandingEvidence | None = None, *, hash_seed: int = 0) -> None:
        self._standing_evidence = evidence
        self._hash_seed = hash_seed
        self._word_id_cache = _WordIdCache()
        capacity = MAX_ROWS + MAX_LINKS_PER_PAGE
        self._count = 0  # of rows
        self._slots: RowNumbers = np.zeros(capacity, np.int32)  # where each row leads
        self._parents: RowNumbers = np.zeros(capacity, np.int32)  # the page of each row; those of a page side by side
        # Ids of the words of each row, in a column: anchor, then context. Numpy adds up many columns faster than rows.
        self._words: WordIds = np.zeros((_LINK_WORDS, capacity), np.uint32)
        # For the anchor and for the context of each row: the number of words, and how near they are to the topic.
        self._word_counts = np.zeros((2, capacity), np.uint8)
        self._nearness: RowFloats = np.zeros((2, capacity), np.float32)
        self._anchor_weights: RowFloats = np.zeros(capacity, np.float32)  # highest weight of a word of each anchor
        self._logits: list[float] = []  # of the relevance of each parent
        self._parent_urls: list[Url] = []
        self._slot_of: dict[Url, int] = {}
        self._visited: dict[int, float] = {}  # relevance of the latest pages, by the keys of their URLs
        self._links: list[FoundLink] = []  # of each slot
        self.is_waiting: Bools = np.zeros(capacity, np.bool_)
        self.is_new: Bools = np.zeros(capacity, np.bool_)  # not given to the frontier yet
        self.scores: Floats = np.zeros(capacity)  # as last offered to the frontier
        self._in_links: Ints = np.zeros(capacity, np.int64)  # rows that lead to each slot
        self._outcomes: Floats = np.full(capacity, np.nan)  # relevance of each slot that was visited; NaN for others
        self._sites: Hashes = np.zeros((capacity, 3), np.uint16)  # host, folder and pattern of URLs, hashed
        self._dropped_word_pages = np.zeros(_word_id_count())  # by word: pages that dropped rows with it led to
        self._dropped_word_relevance = np.zeros(_word_id_count())  # by word: summed relevance of these pages
        self._pages, self._relevant = 0.0, 0.0  # visited pages, and their summed relevance
        # The same counts, as far as other workers know them; None as long as nothing is shared.
        self._shared_words: tuple[Floats, Floats] | None = None
        self._shared_pages, self._shared_relevant = 0.0, 0.0
        self._pattern_fetches = np.zeros(HASH_BUCKETS)  # by folder or pattern of a URL: links that were followed
        self._pattern_dead = np.zeros(HASH_BUCKETS)  # by folder or pattern: those of them that were dead
        self._fetches, self._dead_fetches = 0, 0  # numbers of links that were followed, and of those that were dead
        self._word_weights: RowFloats = np.zeros(_word_id_count(), np.float32)  # by word id, by the judge
        # By word id: nearness to the topic times length of its vector, and that length; None without word vectors.
        self._word_nearness: tuple[RowFloats, RowFloats] | None = None
        self._word_ratios = np.zeros(_word_id_count(), np.float32)
        self._host_ratios = np.zeros(HASH_BUCKETS, np.float32)

    def __len__(self) -> int:
        return self._count

    def use_model(self, model: WordWeights | None) -> None:
        """Uses the word weights of another model from now on."""
        self._word_weights = np.zeros(_word_id_count(), np.float32)
        self._word_nearness = None
        if model is not None:
            codes, weights = model.weights_by_code()
            self._word_weights[_word_ids(codes)] = weights
        if model is not None and (vector_scores := model.word_vector_scores()) is not None:
            nearness, lengths = vector_scores
            self._word_nearness = _by_word_id(nearness * lengths), _by_word_id(lengths)
        self._weigh_all_words()

    def _weigh_all_words(self) -> None:
        for start in range(0, self._count, MAX_LINKS_PER_PAGE):  # in parts, which bounds memory
            self._weigh_words(slice(start, min(start + MAX_LINKS_PER_PAGE, self._count)))

    def _weigh_words(self, rows: slice) -> None:
        """Computes what depends on the words of rows and the model."""
        weights = self._word_weights.take(self._words[:_MAX_ANCHOR_WORDS, rows])
        np.maximum.reduce(weights, axis=0, initial=0.0, out=self._anchor_weights[rows])
        if self._word_nearness is None:
            self._nearness[:, rows] = 0.0
            return
        nearness, lengths = (_group_sums(each.take(self._words[:, rows])) for each in self._word_nearness)
        np.divide(nearness, np.maximum(lengths, 1e-9), out=self._nearness[:, rows])

    def _set_words(self, rows: slice, words: WordIds) -> None:
        """Sets the words of rows: the ids of each, in a column."""
        self._words[:, rows] = words
        self._word_counts[:, rows] = _group_sums((words != 0).view(np.uint8))
        self._weigh_words(rows)

    # ------------------------------------------------------------ updates

    def record_fetch(self, url: Url, *, is_dead: bool) -> None:
        """Records that a link was followed, and whether it was dead."""
        self._fetches += 1
        self._dead_fetches += is_dead
        for bucket in self._url_hashes_of(url)[1:]:
            self._pattern_fetches[bucket] += 1.0
            if is_dead:
                self._pattern_dead[bucket] += 1.0

    def _url_hashes_of(self, url: Url) -> tuple[int, ...]:
        slot = self._slot_of.get(url)
        return _url_hashes(url, self._hash_seed) if slot is None else tuple(self._sites[slot].tolist())

    def similar_slots(self, url: Url, *, max_offers: int) -> Ints:
        """The best waiting links to the folder of a dead URL; none if so many URLs of its pattern were dead before that
        one more changes little."""
        _, folder, pattern = _url_hashes(url, self._hash_seed)
        if self._pattern_dead[pattern] > _MAX_DEAD_RERANKS:
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
        self._visited[secure_key_of(url)] = relevance
        if len(self._visited) > MAX_VISITED:
            del self._visited[next(iter(self._visited))]
        if self._standing_evidence is not None:
            self._standing_evidence.older.pop(url)
        slot = self._slot_of.get(url)
        if slot is not None:
            self._outcomes[slot] = relevance
            self.is_waiting[slot] = False

    def drop(self, url: Url) -> None:
        """Removes a link that is dead or not to be followed; another page may offer it again."""
        slot = self._slot_of.pop(url, None)
        if slot is not None:
            self.is_waiting[slot] = False
            self._links[slot] = _NO_LINK  # a removed URL must not stay in the saved state
        if self._standing_evidence is not None:
            self._standing_evidence.older.pop(url)

    def pin(self, url: Url) -> None:
        """Stops scoring a link that was given the highest priority."""
        if url in self._slot_of:  # links beyond `MAX_LINKS_PER_PAGE` are not
            self.is_waiting[self._slot_of[url]] = False
        if self._standing_evidence is not None:
            self._standing_evidence.older.pop(url)

    def knows(self, url: Url) -> bool:
        """Whether a link is in the table, or was followed recently."""
        return url in self._slot_of or secure_key_of(url) in self._visited

    def predicted_logit(self, url: Url) -> float | None:
        """The log odds of relevance with which a link was last offered; None if standing is not used."""
        if self._standing_evidence is None:
            return None
        slot = self._slot_of.get(url)
        return (
            self._standing_evidence.older.relevance(url)
            if slot is None
            else float(self._standing_evidence.offered[slot, 0])
        )

    def rejudge(self, logits: Mapping[str, float]) -> None:
        for index, url in enumerate(self._parent_urls):
            self._logits[index] = logits.get(url, self._logits[index])
        for url, slot in self._slot_of.items():
            if url in logits and not np.isnan(self._outcomes[slot]):
                self._outcomes[slot] = _logistic(logits[url])
        relevances = {secure_key_of(url): _logistic(logit) for url, logit in logits.items()}
        self._visited.update((key, relevance) for key, relevance in relevances.items() if key in self._visited)
        if relevances:
            self._pages, self._relevant = float(len(relevances)), sum(relevances.values())

    def update_standings(self, standings: Mapping[str, float]) -> None:
        """Replaces the standings of pages, by URL."""
        for index, url in enumerate(self._parent_urls):
            if self._standing_evidence is not None and url in standings:
                self._standing_evidence.set_parent(index, standings[url])

    def add(self, visit: Visit, links: Sequence[Link], logit: float) -> tuple[slice, slice]:
        """Adds the links of a page; returns their rows and the slots of new URLs."""
        if self._count + len(links) > MAX_ROWS:
            self._drop_oldest(len(links))
        rows, first = slice(self._count, self._count + len(links)), len(self._links)
        if not links:
            return rows, slice(first, first)
        page, url, depth, slot_of = visit.page, visit.candidate.url, visit.candidate.depth + 1, self._slot_of
        assert page is not None
        slots = [slot_of.get(link.target, -1) for link in links]
        new: list[Url] = []
        if -1 in slots:
            for index, slot in enumerate(slots):
                if slot < 0:
                    link = links[index]
                    slots[index] = slot_of[link.target] = first + len(new)
                    new.append(link.target)
                    self._links.append((link.target, url, link.anchor, depth))
        if self._standing_evidence is not None:
            self._standing_evidence.add_parent(url, visit.standing)
            self._standing_evidence.add_links(new)
        if new:
            self._add_slots(slice(first, len(self._links)), new)
        self._slots[rows] = targets = np.array(slots, np.int64)
        self._parents[rows] = len(self._logits)
        self._in_links[targets] += 1
        has_few_links = self._in_links.take(targets) <= _MAX_COUNTED_LINKS
        is_counted = has_few_links | np.isnan(self._outcomes.take(targets))
        counted = is_counted.nonzero()[0].tolist()
        words = np.zeros((_LINK_WORDS, len(links)), np.uint32)
        if counted:
            codes = _word_codes(page, links if len(counted) == len(links) else [links[index] for index in counted])
            words[:, counted] = self._word_id_cache.word_ids(codes).reshape(-1, _LINK_WORDS).T
        self._set_words(rows, words)
        self._logits.append(logit)
        self._parent_urls.append(url)
        self._count = rows.stop
        return rows, slice(first, len(self._links))

    def _add_slots(self, slots: slice, urls: Sequence[Url]) -> None:
        """Adds URLs that are not in the table."""
        outcomes = np.array([self._visited.get(secure_key_of(url), np.nan) for url in urls])
        self._outcomes[slots], self._in_links[slots] = outcomes, 0
        self._sites[slots] = [_url_hashes(url, self._hash_seed) for url in urls]
        self.is_waiting[slots], self.is_new[slots], self.scores[slots] = np.isnan(outcomes), True, 0.0

    def _drop_oldest(self, room: int) -> None:
        """Drops the oldest pages: those whose rows are all in the first quarter of the table, or among the first `room`
        rows if that is more. Their counts of words are kept."""
        wanted = max(room, MAX_ROWS // 4)
        first = int(self._parents[wanted]) if wanted < self._count else len(self._logits)
        dropped = int(np.searchsorted(self._parents[: self._count], first))
        self._count_words(self._dropped_word_pages, self._dropped_word_relevance, slice(0, dropped))
        kept = slice(dropped, self._count)
        still_used = np.zeros(len(self._links), np.bool_)
        still_used[self._slots[kept]] = True
        new_slot = np.cumsum(still_used) - 1
        self._count -= dropped
        for name in self._ROW_ARRAYS:
            rows = getattr(self, name)
            rows[..., : self._count] = rows[..., kept].copy()
        self._slots[: self._count] = new_slot[self._slots[: self._count]]
        self._parents[: self._count] -= first
        self._logits, self._parent_urls = self._logits[first:], self._parent_urls[first:]
        new_slots, are_used = new_slot.tolist(), still_used.tolist()
        self._slot_of = {url: new_slots[slot] for url, slot in self._slot_of.items() if are_used[slot]}
        before = len(self._links)
        if self._standing_evidence is not None:
            (waiting,) = (self.is_waiting[:before] & ~still_used).nonzero()
            self._standing_evidence.older.add(
                [self._links[slot] for slot in waiting.tolist()], self._standing_evidence.offered[waiting]
            )
            self._standing_evidence.keep(first, still_used)
        self._links = [link for link, is_used in zip(self._links, are_used, strict=True) if is_used]
        for name in self._SLOT_ARRAYS:
            slots = getattr(self, name)
            slots[: len(self._links)] = slots[:before][still_used]
        self.is_waiting[len(self._links) :] = False
        self._in_links[: len(self._links)] = np.bincount(self._slots[: self._count], minlength=len(self._links))

    # ------------------------------------------------------------ scores

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
        chosen, slot_index = self._rows_leading_to(slots, rows := slice(0, self._count))
        of_rows = self._features_of_rows(rows, chosen)
        counts = np.maximum(np.bincount(slot_index, minlength=len(slots)), 1)
        features = np.empty((len(FEATURES), len(slots)))
        for number, column in enumerate(of_rows):
            features[number] = np.bincount(slot_index, column, len(slots))
        neighbour_sums = features[[_NEIGHBOURS, _HOST]]
        features /= counts
        features[[_NEIGHBOURS, _HOST]] = neighbour_sums
        features[_ANCHOR] = 0.0
        np.maximum.at(features[_ANCHOR], slot_index, of_rows[_ANCHOR])
        return self._with_ratios(features, slots, base)

    def features_of_new(self, rows: slice, slots: slice) -> tuple[Ints, Floats]:
        """The waiting slots among new ones, and their features; each has a single row, of the page just added."""
        waiting = slots.start + self.is_waiting[slots].nonzero()[0]
        if not len(waiting):
            return waiting, np.empty((0, len(FEATURES)))
        (chosen,) = ((targets := self._slots[rows]) >= slots.start).nonzero()
        if len(chosen) > len(waiting):
            chosen = chosen[self.is_waiting[targets[chosen]]]
        return waiting, self._with_ratios(self._features_of_rows(rows, chosen), waiting, self._base_rate())

    def _features_of_rows(self, rows: slice, chosen: Ints) -> Floats:
        """The features of some rows, one after the other, each with its value for every row; except that `neighbours`
        and `host` are the summed relevance and the number of the visited neighbours, which the caller sums over the
        rows of each URL.

        rows: a range of whole pages, from which `chosen` selects.
        """
        features = np.empty((len(FEATURES), len(chosen)))
        parents = self._parents[rows]
        features[_PAGE] = np.array(self._logits[parents[0] : parents[-1] + 1]).take(parents.take(chosen) - parents[0])
        features[_ANCHOR] = self._anchor_weights[rows].take(chosen)
        sums = _group_sums(self._word_ratios.take(self._words[:, rows].take(chosen, axis=1)))
        anchor_words, context_words = self._word_counts[:, rows].take(chosen, axis=1)
        np.divide(sums[0], _ANCHOR_DIVISORS.take(anchor_words), out=features[_LED_TO.start])
        np.divide(sums[1], _CONTEXT_DIVISORS.take(context_words), out=features[_LED_TO.start + 1])
        features[_MEANING] = self._nearness[:, rows].take(chosen, axis=1)
        outcomes = self._outcomes.take(self._slots[rows])
        features[_NEIGHBOURS], features[_HOST] = _neighbour_sums(parents, outcomes, chosen)
        return features

    def _with_ratios(self, features: Floats, slots: Ints, base: float) -> Floats:
        """The features of each slot, in a row, with the ratios of `neighbours` and `host` in place of the sums."""
        features[_NEIGHBOURS] = _log_odds_ratio(features[_NEIGHBOURS], features[_HOST], base, _SMOOTHING["neighbours"])
        features[_HOST] = self._host_ratios.take(self._sites[slots, 0])
        return features.T

    @property
    def has_dead_links(self) -> bool:
        """Whether any link led to no page."""
        return self._dead_fetches > 0

    def dead_share(self, slots: Ints) -> Floats:
        """The probability that a link is dead: the share of dead links of its URL pattern, smoothed towards that of the
        folder, which is smoothed towards that of all links."""
        smoothing, dead = _SMOOTHING["patterns"], np.full(len(slots), self._dead_fetches / (self._fetches + 10.0))
        for buckets in self._sites[slots, 1:].T:
            dead = (self._pattern_dead[buckets] + smoothing * dead) / (self._pattern_fetches[buckets] + smoothing)
        return dead

    def standing(self, slots: Ints, rows: slice | None = None, *, is_complete: bool = True) -> Floats:
        """The parts of the expected standing of some slots, from all rows or from those of one page.

        is_complete: whether these are all waiting slots.
        """
        if self._standing_evidence is None:
            return np.empty((len(slots), 0))
        searched = rows or slice(0, self._count)
        chosen, slot_index = self._rows_leading_to(slots, searched)
        is_complete = is_complete and rows is None
        return self._standing_evidence.parts(
            slots, slot_index, self._parents[searched][chosen].astype(np.int64), is_complete=is_complete
        )

    def _rows_leading_to(self, slots: Ints, rows: slice) -> tuple[Ints, Ints]:
        """The rows that lead to some slots, and for each the index into `slots`."""
        index_of = np.full(len(self._links), -1)
        index_of[slots] = np.arange(len(slots))
        slot_index = index_of[self._slots[rows]]
        (chosen,) = (slot_index >= 0).nonzero()
        return chosen, slot_index[chosen]

    def _base_rate(self) -> float:
        return min(max((self._relevant + 1.0) / (self._pages + 4.0), 0.02), 0.9)

    def update_ratios(self) -> None:
        """Computes the log odds ratios of words and of hosts."""
        base = self._base_rate()
        pages, relevant = self._count_all_words()
        self._word_ratios = _bucket_ratios(relevant, pages, base, _SMOOTHING["words"])
        (known,) = (~np.isnan(self._outcomes[: len(self._links)])).nonzero()
        hosts, outcomes = self._sites[known, 0], self._outcomes[known]
        host_pages = np.bincount(hosts, minlength=HASH_BUCKETS)
        host_relevant = np.bincount(hosts, outcomes, HASH_BUCKETS)
        self._host_ratios = _bucket_ratios(host_relevant, host_pages, base, _SMOOTHING["hosts"])

    def _count_words(self, pages: Floats, relevant: Floats, rows: slice) -> None:
        """Adds the visited pages that rows lead to, and their relevance, to the counts of their words; a page with n
        links to it counts 1 / n for each."""
        outcomes = self._outcomes.take(self._slots[rows])
        (known,) = (outcomes == outcomes).nonzero()  # all but NaN
        words = self._words[:, rows].take(known, axis=1)
        (with_words,) = (words[0] | words[_MAX_ANCHOR_WORDS] != 0).nonzero()
        known, words = known.take(with_words), words.take(with_words, axis=1)
        slots = self._slots[rows].take(known)
        share = 1.0 / np.bincount(slots)[slots] if len(slots) else np.empty(0)
        (indices,) = words.ravel().nonzero()  # half of the places for words are empty
        words_in_use, rows_in_use = words.ravel().take(indices), indices % max(len(known), 1)
        pages += np.bincount(words_in_use, share.take(rows_in_use), len(pages))
        relevant += np.bincount(words_in_use, (share * outcomes.take(known)).take(rows_in_use), len(relevant))

    # ------------------------------------------------------------ evidence of other workers

    def begin_sharing(self) -> None:
        self._shared_words = self._count_all_words()
        self._shared_pages, self._shared_relevant = self._pages, self._relevant

    def new_evidence(self) -> WordEvidence:
        known_pages, known_relevance = self._words_known_to_others()
        all_pages, all_relevance = self._count_all_words()
        new_pages, new_relevance = all_pages - known_pages, all_relevance - known_relevance
        (changed,) = (np.maximum(np.abs(new_pages), np.abs(new_relevance)) > _MIN_EVIDENCE).nonzero()
        # What is rounded away, or too much for the format, comes with the next evidence.
        pages, relevance = (
            each[changed].clip(-_MAX_EVIDENCE, _MAX_EVIDENCE).astype("<f2") for each in (new_pages, new_relevance)
        )
        known_pages[changed] += pages
        known_relevance[changed] += relevance
        evidence = WordEvidence(
            changed.astype("<u4").tobytes(),
            pages.tobytes(),
            relevance.tobytes(),
            self._pages - self._shared_pages,
            self._relevant - self._shared_relevant,
        )
        self._shared_pages, self._shared_relevant = self._pages, self._relevant
        return evidence

    def add_evidence(self, evidence: WordEvidence) -> None:
        """Raises ValueError for evidence that no table has given."""
        ids = np.frombuffer(evidence.word_ids, "<u4").astype(np.int64)
        pages, relevance = (np.frombuffer(each, "<f2") for each in (evidence.word_pages, evidence.word_relevance))
        are_ids = bool((ids[1:] > ids[:-1]).all()) and (not len(ids) or ids[-1] < _word_id_count())
        counts = (pages, relevance, np.array([evidence.pages, evidence.relevance]))
        if (
            not are_ids
            or not len(ids) == len(pages) == len(relevance)
            or not all(np.isfinite(each).all() for each in counts)
        ):
            raise ValueError("damaged evidence: no counts of words")
        for counted in ((self._dropped_word_pages, self._dropped_word_relevance), self._words_known_to_others()):
            for words, new in zip(counted, (pages, relevance), strict=True):
                words[ids] += new
        self._pages += evidence.pages
        self._relevant += evidence.relevance
        self._shared_pages += evidence.pages
        self._shared_relevant += evidence.relevance

    def _words_known_to_others(self) -> tuple[Floats, Floats]:
        if self._shared_words is None:
            self._shared_words = np.zeros(_word_id_count()), np.zeros(_word_id_count())
        return self._shared_words

    def _count_all_words(self) -> tuple[Floats, Floats]:
        """By word, the pages that all links with it led to, and their summed relevance."""
        pages, relevance = self._dropped_word_pages.copy(), self._dropped_word_relevance.copy()
        self._count_words(pages, relevance, slice(0, self._count))
        return pages, relevance

    # ------------------------------------------------------------ state

    # The arrays with an entry for each row, and for each slot; their names are the keys of the saved state.
    _ROW_ARRAYS = ("_slots", "_parents", "_words", "_word_counts", "_nearness", "_anchor_weights")
    _SLOT_ARRAYS = ("is_waiting", "is_new", "scores", "_in_links", "_outcomes", "_sites")
    # Packed on their own, or computed from the rest.
    _NOT_SAVED = frozenset({"_words", "_word_counts", "_nearness", "_anchor_weights", "_sites"})

    def state(self) -> JsonValue:
        lengths = {**dict.fromkeys(self._ROW_ARRAYS, self._count), **dict.fromkeys(self._SLOT_ARRAYS, len(self._links))}
        return {
            "arrays": {
                name: packed(_narrowed(getattr(self, name)[:length]))
                for name, length in lengths.items()
                if name not in self._NOT_SAVED
            },
            "row_words": _packed_words(self._words[:, : self._count]),
            "ratios": [_packed_sparse(self._word_ratios)],
            "links": self._links,
            "dropped": [slot for slot, link in enumerate(self._links) if not link[0]],
            "visited": [
                packed(np.array(list(self._visited), np.int64)),
                packed(np.array(list(self._visited.values()))),
            ],
            "parents": self._parent_urls,
            "logits": self._logits,
            "words": [_packed_sparse(each) for each in (self._dropped_word_pages, self._dropped_word_relevance)],
            "pages": [self._pages, self._relevant],
            "fetches": [self._fetches, self._dead_fetches],
            "by_hash": {
                "seed": self._hash_seed,
                "slots": packed(self._sites[: len(self._links)]),
                "hosts": _packed_sparse(self._host_ratios),
                "patterns": [_packed_sparse(each) for each in (self._pattern_fetches, self._pattern_dead)],
            },
            **({} if self._standing_evidence is None else {"standing": self._standing_evidence.state()}),
        }

    def restore(self, state: JsonValue) -> None:
        self._links = [tuple(link) for link in state["links"]]
        for name in {*self._ROW_ARRAYS, *self._SLOT_ARRAYS} - self._NOT_SAVED:
            kept, column = unpacked(state["arrays"][name]), getattr(self, name)
            column[: len(kept)] = kept
        words = _unpacked_words(state["row_words"])
        self._count = words.shape[1]
        self._set_words(slice(0, self._count), words)
        dropped = set(state["dropped"])
        self._slot_of = {link[0]: slot for slot, link in enumerate(self._links) if slot not in dropped}
        self._parent_urls, self._logits = list(state["parents"]), list(state["logits"])
        keys, relevances = map(unpacked, state["visited"])
        self._visited = dict(zip(keys.tolist(), relevances.tolist(), strict=True))
        self._word_ratios = _unpacked_sparse(state["ratios"][0], _word_id_count())
        self._dropped_word_pages, self._dropped_word_relevance = (
            _unpacked_sparse(each, _word_id_count()) for each in state["words"]
        )
        self._pages, self._relevant = state["pages"]
        self._fetches, self._dead_fetches = state["fetches"]
        self._restore_hashed(state.get("by_hash"))
        if self._standing_evidence is not None:
            self._standing_evidence.restore(state["standing"])

    def _restore_hashed(self, state: JsonValue | None) -> None:
        """Restores what is counted by hashes of parts of URLs; of an older version, whose hashes had no seed, nothing:
        counts of dead links begin anew."""
        used = len(self._links)
        if state is None:
            self._sites[:used] = [_url_hashes(url, self._hash_seed) if url else (0, 0, 0) for url, *_ in self._links]
            return
        self._hash_seed, self._sites[:used] = state["seed"], unpacked(state["slots"])
        self._host_ratios = _unpacked_sparse(state["hosts"])
        self._pattern_fetches, self._pattern_dead = (_unpacked_sparse(each) for each in state["patterns"])


def _word_codes(page: Page, links: Sequence[Link]) -> Codes:
    """The codes of the words of anchor and context, of one link after the other, padded with 0.

    The context of a link are the words that begin up to `_CONTEXT_CHARACTERS` characters before or after its anchor.
    """
    codes, offsets = page.words.term_positions
    words, text = codes.tobytes(), page.text
    text_start = len(page.title) + 1  # a blank stands between title and text
    starts = np.array([link.position for link in links]) + text_start
    ends = starts + np.array([len(link.anchor) for link in links])
    boundaries = (np.maximum(starts - _CONTEXT_CHARACTERS, text_start), starts, ends, ends + _CONTEXT_CHARACTERS)
    bounds = _CODE_BYTES * offsets.searchsorted(np.concatenate(boundaries))  # the same, in bytes of `words`
    groups: list[bytes] = []  # anchor and context of each link
    not_in_text: dict[int, str] = {}  # anchors that are not in the text, such as those of images, by index in `groups`
    for link, first, start, end, last in zip(links, *bounds.reshape(4, -1).tolist(), strict=True):
        if not text.startswith(link.anchor, link.position):
            not_in_text[len(groups)] = link.anchor
        groups.append(words[start : min(end, start + _MAX_ANCHOR_BYTES)].ljust(_MAX_ANCHOR_BYTES, b"\0"))
        groups.append((words[first:start] + words[end:last])[:_MAX_CONTEXT_BYTES].ljust(_MAX_CONTEXT_BYTES, b"\0"))
    if not_in_text:
        for index, anchor_codes in zip(not_in_text, page.words.codes_of(list(not_in_text.values())), strict=True):
            groups[index] = anchor_codes[:_MAX_ANCHOR_WORDS].tobytes().ljust(_MAX_ANCHOR_BYTES, b"\0")
    return np.frombuffer(b"".join(groups), np.uint64)


def _url_hashes(url: str, seed: int) -> tuple[int, int, int]:
    """The buckets of a URL's host, of its top folder, and of its pattern in that folder, by hashes with a seed.

    A pattern is the file type and whether there is a query: http://a.example/img/2/3.jpg.htm has the folder /img and
    the pattern of every .jpg.htm below it.
    """
    if is_node(url):  # of a lab graph: a number without a host
        return 0, 0, 0
    address, _, query = url.partition("?")
    _, _, host, *path = address.split("/", 4)
    suffix = _SUFFIXES.search(path[-1]) if path and "." in path[-1] else None
    folder = path[0] if len(path) > 1 else ""
    return _hash_url_parts(host, folder, suffix[0].lower() if suffix else "", bool(query), seed)


@lru_cache(maxsize=10_000)
def _hash_url_parts(host: str, first: str, suffix: str, has_query: bool, seed: int) -> tuple[int, int, int]:
    folder = f"{host}/{first}"
    pattern = f"{folder} {suffix} {'?' if has_query else ''}"
    return _hash_bucket(host, seed), _hash_bucket(folder, seed), _hash_bucket(pattern, seed)


def _hash_bucket(name: str, seed: int) -> int:
    return key_of(name, seed) % (HASH_BUCKETS - 1) + 1


def _word_ids(codes: Codes) -> WordIds:
    """Ids of words by their codes: `HASH_BUCKETS` + row for words in the table of word vectors; for others, a hash from
    1 to 65,535."""
    rows = builtin_embedding().rows_of(codes)
    hashes = codes % np.uint64(HASH_BUCKETS - 1) + np.uint64(1)
    return np.where(rows < 0, hashes, (rows + HASH_BUCKETS).astype(np.uint64)).astype(np.uint32)


class _WordIdCache:
    """A cache of word ids: most words of a page were seen before.

    It has two tables, like that of `Terms`: the highest 16 bits of a code are its index in the first; the word that it
    displaces moves to the second, where the lowest 16 bits are the index. With a single table, a few words of every
    page would displace each other over and over.
    """

    def __init__(self) -> None:
        self._codes, self._moved_codes = np.zeros((2, 1 << 16), np.uint64)
        self._ids, self._moved_ids = np.zeros((2, 1 << 16), np.uint32)

    def word_ids(self, codes: Codes) -> WordIds:
        """The same as the function `_word_ids`, cached; 0 for the code 0, which is that of no word."""
        indices = (codes >> np.uint64(48)).view(np.int64)
        ids: WordIds = self._ids.take(indices)
        (missing,) = (self._codes.take(indices) != codes).nonzero()
        if len(missing):
            wanted = codes[missing]
            moved = (wanted & np.uint64(0xFFFF)).view(np.int64)
            found = self._moved_ids.take(moved)
            (new,) = (self._moved_codes.take(moved) != wanted).nonzero()
            if len(new):
                found[new] = _word_ids(wanted[new]) * (wanted[new] != 0)
                self._store(indices[missing[new]], wanted[new], found[new])
            ids[missing] = found
        return ids

    def _store(self, indices: Ints, codes: Codes, ids: WordIds) -> None:
        """Stores ids in the first table; what was at their indices moves to the second."""
        displaced = self._codes[indices]
        moved = (displaced & np.uint64(0xFFFF)).view(np.int64)
        self._moved_codes[moved], self._moved_ids[moved] = displaced, self._ids[indices]
        self._codes[indices], self._ids[indices] = codes, ids


def _word_id_count() -> int:
    """The number of word ids."""
    return HASH_BUCKETS + builtin_embedding().row_count


def _by_word_id(of_vectors: Floats) -> RowFloats:
    """Values by word id, given those of the words that have vectors; 0 for others."""
    values = np.zeros(_word_id_count(), np.float32)
    values[HASH_BUCKETS:] = of_vectors
    return values


def _group_sums(columns: NDArray[Any]) -> NDArray[Any]:
    """The sums over the words of the anchor, and over those of the context, of each row."""
    sums = np.empty((2, columns.shape[1]), columns.dtype)
    np.add.reduce(columns[:_MAX_ANCHOR_WORDS], axis=0, dtype=sums.dtype, out=sums[0])
    np.add.reduce(columns[_MAX_ANCHOR_WORDS:], axis=0, dtype=sums.dtype, out=sums[1])
    return sums


def _neighbour_sums(parents: RowNumbers, outcomes: Floats, chosen: Ints) -> tuple[Floats, Floats]:
    """For some rows, the summed relevance and the number of the visited targets of neighbouring rows of the same
    parent, weighted by nearness."""
    max_distance = len(_NEIGHBOUR_WEIGHTS) // 2
    is_known = outcomes == outcomes  # all but NaN
    relevant, pages, indices = np.where(is_known, outcomes, 0.0), is_known.astype(np.float64), chosen
    if parents[0] != parents[-1]:  # zeros between the rows of two pages
        indices = np.arange(len(parents)) + max_distance * (parents - parents[0])
        padded = np.zeros((2, int(indices[-1]) + 1))
        padded[0, indices], padded[1, indices] = relevant, pages
        (relevant, pages), indices = padded, indices.take(chosen)
    indices = indices + max_distance
    weights = _NEIGHBOUR_WEIGHTS  # which are the same backwards: a correlation is a convolution
    relevant, pages = np.correlate(relevant, weights, "full"), np.correlate(pages, weights, "full")
    return relevant.take(indices), pages.take(indices)


def _bucket_ratios(relevant: NDArray[Any], pages: NDArray[Any], base: float, smoothing: float) -> NDArray[np.float32]:
    """Log odds ratios of hash buckets; 0 for buckets without data."""
    ratios = np.zeros(len(pages), np.float32)
    (known,) = (pages != 0.0).nonzero()  # faster than `nonzero` of floats
    ratios[known] = _log_odds_ratio(relevant[known], pages[known], base, smoothing)
    ratios[0] = 0.0
    return ratios


def _log_odds_ratio(relevant: NDArray[Any], pages: NDArray[Any], base: float, smoothing: float) -> Floats:
    """log odds(share) - log odds(base), where share = relevant / pages, smoothed by `smoothing` pages at the base
    rate."""
    share = np.minimum(np.maximum((relevant + smoothing * base) / (pages + smoothing), 1e-3), 1.0 - 1e-3)
    return np.asarray(np.log(share / (1.0 - share)) - log(base / (1.0 - base)))


def _packed_words(columns: WordIds) -> JsonValue:
    """The word ids of rows, which have 17 bits, as plain data without the padding."""
    counts, rows = _group_sums((columns != 0).view(np.uint8)).T, columns.T
    words = rows[rows > 0]
    return [packed(counts), packed(words.astype(np.uint16)), packed(np.packbits(words >= 1 << 16))]


def _unpacked_words(plain: JsonValue) -> WordIds:
    counts, low, high = map(unpacked, plain)
    are_words = np.concatenate(
        (counts[:, :1] > np.arange(_MAX_ANCHOR_WORDS), counts[:, 1:] > np.arange(_MAX_CONTEXT_WORDS)), axis=1
    )
    rows = np.zeros(are_words.shape, np.uint32)
    rows[are_words] = low.astype(np.uint32) + (np.unpackbits(high, count=len(low)).astype(np.uint32) << 16)
    return rows.T


def _packed_sparse(array: NDArray[Any]) -> JsonValue:
    (known,) = (array != 0.0).nonzero()
    return [packed(_narrowed(known)), packed(array[known])]


def _unpacked_sparse(plain: JsonValue, size: int = HASH_BUCKETS) -> NDArray[Any]:
    known, values = map(unpacked, plain)
    array = np.zeros(size, values.dtype)
    array[known] = values
    return array


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """The same non-negative integers in the smallest type that holds them."""
    if array.dtype.kind != "i" or not len(array):
        return array
    return array.astype(np.min_scalar_type(array.max()))
