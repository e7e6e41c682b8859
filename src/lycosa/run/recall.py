"""Estimates how many of the relevant pages within reach a crawl has found, and how many are left.

The crawl's own judge decides what is relevant. A page is within reach if a path of links leads to it from a visited
page, through pages that the crawl may fetch.
"""

from collections.abc import Callable, Iterable, Sequence
from math import exp, log, log1p, sqrt

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.collection.catalog import Catalog
from lycosa.collection.queries import Queries
from lycosa.frontier.durable import WaitingSample, waiting_sample
from lycosa.vocabulary.records import RELEVANT, JsonValue, Outcome, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.urls import key_of

RECALL_STATE = "recall"  # key in the state of the catalog: the estimate of the last checkpoint
HASH_SEED_STATE = "hash_seed"  # likewise: the seed of the hashes of URLs
RECALL_BEHIND = "recall_behind"  # likewise: whether pages were visited or scored since, so that it is outdated
# Reasons for which a URL was skipped that put it out of reach.
OUT_OF_REACH = (SkipReason.SCOPE, SkipReason.QUOTA, SkipReason.TRAP, SkipReason.FORGOTTEN)
_MAX_PAGES_TO_RECOUNT = 2_000  # of a collection whose links are read to show its recall, which takes about 0.5 s
MIN_RELEVANT = 20  # relevant pages that must be found before a crawl stops by its recall
SLOTS = 1 << 23  # of the hash table of URLs, one byte each
MAX_RELEVANT_PARENTS, MAX_OTHER_PARENTS = 4, 3  # pages that link to a URL; larger counts fall into the last cell
# Prior probability that a link leads to a relevant page, by the number of relevant pages (rows) and other pages
# (columns) that have the link: means over crawls of synthetic worlds. It counts as much as `PRIOR_WEIGHT` links.
PRIOR = (
    (0.02, 0.02, 0.015, 0.01),
    (0.35, 0.12, 0.08, 0.03),
    (0.70, 0.40, 0.20, 0.07),
    (0.83, 0.50, 0.22, 0.08),
    (0.92, 0.78, 0.50, 0.20),
)
PRIOR_WEIGHT = 2.0
# Weight of an outcome relative to the next of its cell: strategies follow the best links of a cell first.
RECENCY = 0.95
DISPERSION = 1.4  # standard error relative to that of independent links; fitted on crawls of synthetic worlds
# Of the offset between the logits of priority and probability: what was learnt counts half as much after outcomes with
# this much more information, Σ p (1 - p). Of the evidence for either model: after so many more relevant pages.
OFFSET_HALF_LIFE, EVIDENCE_HALF_LIFE = 1.0, 20.0
# Prior log odds of the model by priorities. Of links at the margin, both often say the same; of those far below, the
# cells say too much, as the best links were followed first.
PRIOR_LOG_ODDS = 3.0
OFFSET_DEVIATION = 2.0  # prior standard deviation of the offset
SLOPE_DEVIATION = 0.1  # standard deviation of the slope, which is 1, of one logit over the other
MIN_PRIORITY = 1e-4  # lower priorities count as this one, and those above 1 - MIN_PRIORITY as that
MAX_SAMPLE = 5_000  # waiting URLs whose priorities are read for an estimate
# Estimates are renewed at fixed numbers of visits, whatever the crawl: each is a share of 1/25, or at least ten
# visits, above the one before.
_VISITS_PER_RENEWAL, _MIN_RENEWAL_INTERVAL = 25, 10
_NORMAL_QUANTILE = 1.645  # 95 % quantile of the normal distribution
_MEAN_DECAY = 0.97  # weight of the logit of a priority in the mean, relative to the next
_OFFSET_LIMIT = 20.0

# State of a URL, in the two lowest bits of a slot; above them, the cell. Other: visited and not relevant, or skipped.
_UNKNOWN, _WAITING, _OTHER, _RELEVANT = range(4)
_COLUMNS = MAX_OTHER_PARENTS + 1
_CELLS = (MAX_RELEVANT_PARENTS + 1) * _COLUMNS
_PRIOR_OF_CELL = [share for row in PRIOR for share in row]
# The cell of a URL, by its cell before another page that links to it was visited.
_RELEVANT_PARENT_ADDED = [
    min(cell + _COLUMNS, cell % _COLUMNS + MAX_RELEVANT_PARENTS * _COLUMNS) for cell in range(_CELLS)
]
_OTHER_PARENT_ADDED = [cell + (cell % _COLUMNS < MAX_OTHER_PARENTS) for cell in range(_CELLS)]


class RecallEstimate(Struct, frozen=True):
    """The share of the relevant pages within reach that was found, with a 90 % interval."""

    found: int  # number of relevant pages that were found
    relevant_left: float  # expected number of those that were not
    recall: float
    recall_low: float
    recall_high: float

    def reaches(self, target: float) -> bool:
        """Whether the crawl may stop at this recall: the low end of the interval reaches it, and at least
        `MIN_RELEVANT` relevant pages were found."""
        return self.found >= MIN_RELEVANT and self.recall_low >= target


def saved_recall(state: JsonValue) -> RecallEstimate | None:
    """The estimate saved under `RECALL_STATE`; None if there is none, or if another version wrote it."""
    try:
        return None if state is None else msgspec.convert(state, RecallEstimate)
    except msgspec.ValidationError:
        return None  # the next run estimates again


def current_recall(catalog: Catalog, pages: int) -> tuple[RecallEstimate | None, bool]:
    """The estimate of the last checkpoint, and whether pages were visited or scored since.

    If they were, and the collection has few pages, it is estimated again, which reads all links.

    pages: number of pages of the collection.
    """
    is_behind = bool(catalog.get_state(RECALL_BEHIND))
    if is_behind and pages <= _MAX_PAGES_TO_RECOUNT:
        return restored_recall(catalog).estimate(sample_of(catalog)), False
    return saved_recall(catalog.get_state(RECALL_STATE)), is_behind


def restored_recall(catalog: Queries) -> "RecallEstimator":
    """An estimator with every visit of a catalog; reads all links."""
    estimator = RecallEstimator(hash_seed=catalog.get_state(HASH_SEED_STATE, int) or 0)
    for visit in catalog.visits_with_links():
        estimator.add_visited(
            visit.url,
            is_relevant=visit.relevance is not None and visit.relevance >= RELEVANT,
            targets=visit.links,
            is_redirect=visit.outcome is Outcome.MOVED,
            priority=visit.priority,
        )
    for url in catalog.skipped_for(*OUT_OF_REACH):
        estimator.exclude(url)
    return estimator


def sample_of(catalog: Catalog) -> WaitingSample:
    """What waits, as the catalog has it, or a sample of it."""
    with catalog.reporting_errors():
        return waiting_sample(catalog.connection, MAX_SAMPLE)


class RecallEstimator:
    """Estimates recall from which pages link where, and from the priorities of links, for crawls by any strategy.

    The relevant pages that are left are those among the waiting links, and those that no visited page links to:

        left = Σ_i p_i + f0

    Two models give p_i, the probability that the waiting link i leads to a relevant page:

    *cells*: links fall into cells by the number of relevant and of other pages that have them. p_i is the share of
    relevant pages among the links followed from the cell of i, where the n-th last has weight RECENCY^n, shrunk to a
    prior.

    *priorities*: logit p_i = a + logit(priority of i). Strategies follow the best links first, so that what followed
    links led to says little of those left behind; where priorities are probabilities but for a factor, they do. The
    offset a is learnt from the outcomes y of followed links, one Newton step each, with variance C:

        1/C' = λ/C + p (1 - p),    a' = a + C' (y - p),    λ = 2^(-p (1 - p) / OFFSET_HALF_LIFE).

    A priority that is not between 0 and 1 is no probability: its logit counts as 0. A link without a page is a failure
    at the mean logit.

    The expected numbers by either model are averaged. The odds of the model by priorities are e^(PRIOR_LOG_ODDS + E),
    where E is the log likelihood ratio of the outcomes, each predicted before it was learnt from: with predictions p
    and p̃ of the two,

        E' = α E + log(p / p̃) if the page was relevant, else α E + log((1 - p) / (1 - p̃)),
        α = 2^(-(p + p̃) / 2 / EVIDENCE_HALF_LIFE).

    This is dynamic model averaging of logistic regressions (McCormick, Raftery, Madigan, Burd: Dynamic logistic
    regression and dynamic model averaging for binary classification, Biometrics 2012), with a fixed slope, and
    forgetting by information instead of time: a thousand links that led nowhere, as expected, say little new. Where
    priorities say nothing, as breadth-first's, cells decide.

    f0 is Chao's estimate of unseen classes (1984), for sampling without replacement (Chao, Lin 2012): relevant pages
    are the classes, and each visited relevant page is a sample of the pages that it links to. With f1 and f2 the number
    of relevant pages, found or expected among the waiting links, that one or two relevant pages link to, and q = found
    / (found + left) the share of samples taken,

        f0 = f1 (f1 - 1) / (2 (f2 + 1) + f1 · q / (1 - q)),

    but at most as many as are expected among the waiting links: where one page has thousands of links that no other
    page has, f1² / 2 would be millions.

    The interval is log-normal: left + 1, times or divided by exp(1.645 · DISPERSION · sqrt(ln(1 + var / (left + 1)²))),
    where var is the variance of the waiting links' outcomes, of the p_i, between the models, of a sample of the waiting
    links (of a Horvitz-Thompson sum, if it is not all of them), and of a geometric f0.

    A visit takes time proportional to its links, an estimate by cells constant time, and one by priorities time
    proportional to the waiting URLs read, `MAX_SAMPLE` at most. Memory is bounded: URLs that share one of `SLOTS` slots
    count as one, of a million about 11 % share theirs.

    >>> estimator = RecallEstimator()
    >>> links = ["http://a.example/1", "http://a.example/2"]
    >>> estimator.add_visited("http://a.example/", is_relevant=True, targets=links)
    >>> estimator.estimate().found
    1
    >>> estimator.add_visited("http://a.example/1", is_relevant=True)
    >>> estimator.add_visited("http://a.example/2", is_relevant=False)
    >>> estimator.estimate()
    RecallEstimate(found=2, relevant_left=0.0, recall=1.0, recall_low=1.0, recall_high=1.0)

    hash_seed: of the hashes of URLs, so that no site can compute URLs that share the slots of others; 0 in the lab.
    """

    def __init__(self, *, hash_seed: int = 0) -> None:
        self._hash_seed = hash_seed
        self._slots = bytearray(SLOTS)
        self._waiting = [0] * _CELLS  # number of waiting links
        self._trials = [0.0] * _CELLS  # links followed, and those that led to relevant pages, weighted by recency
        self._hits = [0.0] * _CELLS
        # Number of relevant pages found, by their number of relevant parents.
        self._relevant = [0] * (MAX_RELEVANT_PARENTS + 1)
        self._priorities = _PriorityModel()
        self._evidence = 0.0  # log likelihood ratio of the models by priorities and by cells; older outcomes count less
        self.visits = 0  # number of URLs visited

    def add(self, visit: Visit) -> None:
        """Adds a visit; of a page fetched again, only its new links count."""
        is_relevant = visit.is_kept and visit.relevance is not None and visit.relevance >= RELEVANT
        targets: Iterable[Url] = (link.target for link in visit.open_links())
        if visit.change is not None:
            self._add_links(visit.candidate.url, set(targets) & set(visit.new_links), is_relevant)
            return
        is_redirect = visit.fetch.outcome is Outcome.MOVED
        priority = visit.candidate.priority if visit.is_kept else None
        self.add_visited(
            visit.candidate.url, is_relevant=is_relevant, targets=targets, is_redirect=is_redirect, priority=priority
        )

    def add_visited(
        self,
        url: Url,
        *,
        is_relevant: bool,
        targets: Iterable[Url] = (),
        is_redirect: bool = False,
        priority: float | None = None,
    ) -> None:
        """Adds a visited URL and the links of its page.

        priority: of the URL when it was fetched; None without a page.
        """
        slot = self._slot(url)
        state, cell = self._slots[slot] & 3, self._slots[slot] >> 2
        if state in (_OTHER, _RELEVANT):
            return
        if state == _WAITING:
            self._waiting[cell] -= 1
        self.visits += 1
        if not is_redirect:  # its target is another visit
            if cell:
                self._learn_outcome(cell, priority, is_relevant=is_relevant)
            self._trials[cell] = RECENCY * self._trials[cell] + 1.0
            self._hits[cell] = RECENCY * self._hits[cell] + is_relevant
        self._relevant[cell // _COLUMNS] += is_relevant
        self._slots[slot] = cell << 2 | (_RELEVANT if is_relevant else _OTHER)
        self._add_links(url, set(targets), is_relevant)

    def _slot(self, url: Url) -> int:
        return key_of(url, self._hash_seed) % SLOTS

    def _learn_outcome(self, cell: int, priority: float | None, *, is_relevant: bool) -> None:
        """Learns from the outcome of a followed link which model predicts better, and the offset of priorities."""
        x = self._priorities.mean if priority is None else _logit_of(priority)
        if priority is not None:
            by_cell, by_priority = self._share(cell), self._priorities.probability(x)
            odds = by_priority / by_cell if is_relevant else (1.0 - by_priority) / (1.0 - by_cell)
            decay = 2.0 ** (-(by_cell + by_priority) / 2.0 / EVIDENCE_HALF_LIFE)
            self._evidence = self._evidence * decay + log(odds)
        self._priorities.learn(x, is_relevant=is_relevant)

    def _share(self, cell: int) -> float:
        """The share of links from a cell that lead to relevant pages."""
        prior = _PRIOR_OF_CELL[cell]
        return (self._hits[cell] + PRIOR_WEIGHT * prior) / (self._trials[cell] + PRIOR_WEIGHT)

    def exclude(self, url: Url) -> None:
        """Excludes a URL that was skipped, and so is out of reach."""
        slot = self._slot(url)
        state, cell = self._slots[slot] & 3, self._slots[slot] >> 2
        if state == _WAITING:
            self._waiting[cell] -= 1
        if state in (_WAITING, _UNKNOWN):
            self._slots[slot] = cell << 2 | _OTHER

    def _add_links(self, url: Url, targets: set[Url], is_relevant: bool) -> None:
        slots, waiting, seed = self._slots, self._waiting, self._hash_seed
        next_cells = _RELEVANT_PARENT_ADDED if is_relevant else _OTHER_PARENT_ADDED
        targets.discard(url)
        for target in targets:
            slot = key_of(target, seed) % SLOTS
            entry = slots[slot]
            state, cell = entry & 3, entry >> 2
            next_cell = next_cells[cell]
            if state == _WAITING:
                waiting[cell] -= 1
                waiting[next_cell] += 1
            elif state == _UNKNOWN:
                state = _WAITING
                waiting[next_cell] += 1
            elif state == _RELEVANT:
                self._relevant[cell // _COLUMNS] -= 1
                self._relevant[next_cell // _COLUMNS] += 1
            slots[slot] = next_cell << 2 | state

    @property
    def has_found_any(self) -> bool:
        """Whether any relevant page was found."""
        return any(self._relevant)

    def estimate(self, sample: WaitingSample | None = None) -> RecallEstimate | None:
        """The current estimate; None before the first relevant page.

        sample: waiting URLs with their priorities; without it, links are judged by their cells alone.
        """
        found = sum(self._relevant)
        if not found:
            return None
        if not any(self._waiting):
            return RecallEstimate(found, 0.0, 1.0, 1.0, 1.0)
        expected = self._expected_by_cells()
        if sample is not None and (by_priorities := self._expected_by_priorities(sample)) is not None:
            log_odds = max(-30.0, min(30.0, PRIOR_LOG_ODDS + self._evidence))
            expected = expected.averaged(by_priorities, 1.0 / (1.0 + exp(-log_odds)))
        relevant_by_parents = [sum(pair) for pair in zip(self._relevant, expected.by_parents, strict=True)]
        waiting_left = sum(expected.by_parents)
        unseen = min(_unseen(found, waiting_left, relevant_by_parents), waiting_left)
        variance = expected.variance + unseen + unseen**2
        left = waiting_left + unseen
        spread = exp(_NORMAL_QUANTILE * DISPERSION * sqrt(log1p(variance / (left + 1.0) ** 2)))
        high, low = (left + 1.0) * spread - 1.0, max(0.0, (left + 1.0) / spread - 1.0)
        return RecallEstimate(found, left, found / (found + left), found / (found + high), found / (found + low))

    def _expected_by_cells(self) -> "_Expected":
        by_parents, variance = [0.0] * (MAX_RELEVANT_PARENTS + 1), 0.0
        for cell, waiting in enumerate(self._waiting):
            share = self._share(cell)
            expected = waiting * share
            by_parents[cell // _COLUMNS] += expected
            variance += expected * (1.0 - share) * (1.0 + waiting / (self._trials[cell] + PRIOR_WEIGHT + 1.0))
        return _Expected(tuple(by_parents), variance)

    def _expected_by_priorities(self, sample: WaitingSample) -> "_Expected | None":
        """Each link of the sample counts as `interval` links; those that are still missing from all that wait, such as
        evicted ones, count as the least probable of the sample."""
        slots = self._slots
        waiting = [
            (entry, priority)
            for url, priority in sample.priorities
            if (entry := slots[self._slot(url)]) & 3 == _WAITING
        ]
        if not waiting:
            return None
        rows = np.array([entry >> 2 for entry, _ in waiting]) // _COLUMNS
        logits = _logits_of(np.array([priority for _, priority in waiting]))
        probabilities = self._priorities.probabilities(logits)
        lowest = int(probabilities.argmin())
        weights = np.full(len(waiting), min(float(sample.interval), sum(self._waiting) / len(waiting)))
        weights[lowest] += max(0.0, sum(self._waiting) - weights.sum())
        variances = weights * probabilities * (1.0 - probabilities)
        sampling_variance = sample.interval * (sample.interval - 1) * float((probabilities**2).sum())
        return _Expected(
            tuple(np.bincount(rows, weights * probabilities, len(self._relevant)).tolist()),
            float(variances.sum()) + self._priorities.variance_of_sum(variances, logits) + sampling_variance,
        )


class _Expected(Struct, frozen=True):
    """The relevant pages expected among the waiting links, by their number of relevant parents, and the variance."""

    by_parents: tuple[float, ...]
    variance: float

    def averaged(self, other: "_Expected", weight: float) -> "_Expected":
        """The average with those of another model, given its weight, with the variance within and between models."""
        pairs = zip(self.by_parents, other.by_parents, strict=True)
        between = weight * (1.0 - weight) * (sum(self.by_parents) - sum(other.by_parents)) ** 2
        return _Expected(
            tuple((1.0 - weight) * mine + weight * theirs for mine, theirs in pairs),
            (1.0 - weight) * self.variance + weight * other.variance + between,
        )


class _PriorityModel:
    """The model logit(p) = a + x of the probability that a link with logit x of its priority leads to a relevant page.

    >>> model = _PriorityModel()
    >>> for _ in range(200):
    ...     model.learn(-2.0, is_relevant=True)
    >>> model.probability(-2.0) > 0.9
    True
    """

    def __init__(self) -> None:
        self._offset = 0.0
        self._precision = 1.0 / OFFSET_DEVIATION**2  # of the offset
        self.mean = 0.0  # of x, exponentially weighted
        self._count = 0.0  # effective number of links in the mean

    def probability(self, x: float) -> float:
        return 1.0 / (1.0 + exp(-(self._offset + x)))

    def probabilities(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1.0 / (1.0 + np.exp(-(self._offset + x))))

    def learn(self, x: float, *, is_relevant: bool) -> None:
        p = self.probability(x)
        information = p * (1.0 - p)
        precision = max(self._precision * 2.0 ** (-information / OFFSET_HALF_LIFE), 1.0 / OFFSET_DEVIATION**2)
        self._precision = precision + information
        self._offset = max(-_OFFSET_LIMIT, min(_OFFSET_LIMIT, self._offset + (is_relevant - p) / self._precision))
        self._count = self._count * _MEAN_DECAY + 1.0
        self.mean += (x - self.mean) / self._count

    def variance_of_sum(self, variances: NDArray[np.float64], x: NDArray[np.float64]) -> float:
        """The variance of the sum of probabilities, given their variances p (1 - p), from those of offset and slope."""
        by_offset, by_slope = float(variances.sum()), float((variances * (x - self.mean)).sum())
        return by_offset**2 / self._precision + (by_slope * SLOPE_DEVIATION) ** 2


def _logit_of(priority: float) -> float:
    """The logit of a priority; 0 if it is no probability."""
    if not 0.0 <= priority <= 1.0:
        return 0.0
    clipped = min(max(priority, MIN_PRIORITY), 1.0 - MIN_PRIORITY)
    return log(clipped / (1.0 - clipped))


def _logits_of(priorities: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(priorities, MIN_PRIORITY, 1.0 - MIN_PRIORITY)
    return np.where((priorities >= 0.0) & (priorities <= 1.0), np.log(clipped / (1.0 - clipped)), 0.0)


class RecallTracker:
    """The estimate of recall of an open collection, kept up to date with each visit.

    It is restored from the catalog on first use, because that reads all links. As an estimate reads what waits, it is
    renewed at some numbers of visits only, some 4 % apart, and at the end. These are the same in every crawl, so that
    one that was interrupted stops where it would have stopped otherwise.

    hash_seed: of a new collection, as in `RecallEstimator`; another one keeps its own.
    """

    def __init__(self, catalog: Catalog, *, hash_seed: int = 0):
        self._catalog = catalog
        self._sample: Callable[[], WaitingSample] = lambda: sample_of(catalog)
        self._estimator: RecallEstimator | None = None  # None if it must be restored
        self._estimate: RecallEstimate | None = None
        self._estimated_at = 0  # number of visits at which the estimate was made
        self._due_at = 0  # number of visits at which it is renewed
        self._is_estimate_outdated = False  # by a visit or a skip since
        self._is_saved_outdated = bool(catalog.get_state(RECALL_BEHIND))
        if catalog.get_state(HASH_SEED_STATE) is None:
            catalog.put_state(HASH_SEED_STATE, hash_seed)

    def set_sampler(self, sample: Callable[[], WaitingSample]) -> None:
        """Sets the function that samples the waiting URLs, instead of from the catalog."""
        self._sample = sample

    def estimate(self) -> RecallEstimate | None:
        """The estimate, of at most 4 % or 10 fewer visits; None before the first relevant page."""
        if self._estimator is None:
            self._estimator, self._due_at = restored_recall(self._catalog), 0
        if self._estimator.visits >= self._due_at:
            self._estimate, self._due_at = None, 0
            self._estimated_at = self._estimator.visits
            if self._estimator.has_found_any:
                self._estimate = self._estimator.estimate(self._sample())
                self._due_at = next_renewal(self._estimator.visits)
            self._is_estimate_outdated = False
        return self._estimate

    def estimate_to_stop_by(self) -> RecallEstimate | None:
        """The estimate if there are as many visits as make a renewal due, else None."""
        estimate = self.estimate()
        assert self._estimator is not None
        visits = self._estimator.visits
        return estimate if visits == self._estimated_at and next_renewal(visits - 1) == visits else None

    def add(self, visit: Visit) -> None:
        self._is_saved_outdated = self._is_estimate_outdated = True
        if self._estimator is not None:
            self._estimator.add(visit)

    def exclude(self, skips: Sequence[Skip]) -> None:
        """Excludes the skipped URLs that are out of reach."""
        if self._estimator is not None:
            out_of_reach = [skip.candidate.url for skip in skips if skip.reason in OUT_OF_REACH]
            for url in out_of_reach:
                self._estimator.exclude(url)
            if out_of_reach:
                self._is_saved_outdated = self._is_estimate_outdated = True

    def invalidate(self) -> None:
        """Discards the estimator; it is restored from the catalog when it is next needed."""
        self._estimator, self._is_saved_outdated = None, True

    def finish(self, *, estimate_anew: bool) -> None:
        """Brings an outdated estimate up to date before the last checkpoint, or else notes that it is outdated.

        estimate_anew: whether also if the estimator must be restored for it, which reads all links.
        """
        if self._is_saved_outdated and (estimate_anew or self._estimator is not None):
            self._due_at = 0
            self.estimate()
        elif self._is_saved_outdated:
            self._catalog.put_state(RECALL_BEHIND, True)

    def save(self) -> None:
        """Writes the estimate to the catalog; the caller commits."""
        if self._estimator is not None and self._is_saved_outdated:
            self._catalog.put_state(RECALL_STATE, msgspec.to_builtins(self.estimate()))
            if self._catalog.get_state(RECALL_BEHIND):
                self._catalog.put_state(RECALL_BEHIND, False)
            self._is_saved_outdated = self._is_estimate_outdated


def next_renewal(visits: int) -> int:
    """The next number of visits after this one at which an estimate is renewed, whatever the crawl.

    >>> next_renewal(0), next_renewal(10), next_renewal(1_000)
    (10, 20, 1036)
    """
    renewal = 0
    while renewal <= visits:
        renewal += max(_MIN_RENEWAL_INTERVAL, renewal // _VISITS_PER_RENEWAL)
    return renewal


def _unseen(found: int, waiting_left: float, relevant_by_parents: Sequence[float]) -> float:
    """f0, the relevant pages that no visited page links to: the positive root of

        b f0² + (b w + found f1 - a) f0 - a w = 0  with  a = f1 max(0, f1 - 1), b = 2 (f2 + 1), w the waiting ones,

    which is the formula of `RecallEstimator` with q / (1 - q) = found / (w + f0).
    """
    f1, f2 = relevant_by_parents[1], relevant_by_parents[2]
    a, b = f1 * max(0.0, f1 - 1.0), 2.0 * (f2 + 1.0)
    half = (b * waiting_left + found * f1 - a) / 2.0
    return max(0.0, (sqrt(half**2 + a * b * waiting_left) - half) / b)
