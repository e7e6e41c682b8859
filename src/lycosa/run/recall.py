"""Estimates how many of the relevant pages within reach a crawl has found, and how many are left.

The crawl's own judge decides what is relevant. A page is within reach if a path of links leads to it from a visited
page.
"""

from collections.abc import Iterable, Sequence
from math import exp, log1p, sqrt

import msgspec
from msgspec import Struct

from lycosa.collection.catalog import Catalog
from lycosa.collection.queries import Queries
from lycosa.vocabulary.records import RELEVANT, JsonValue, Outcome, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.urls import key_of

RECALL_STATE = "recall"  # key in the state of the catalog: the estimate of the last checkpoint
RECALL_BEHIND = "recall_behind"  # likewise: whether pages were scored again since, so that the estimate is outdated
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
DISPERSION = 1.5  # standard error relative to that of independent links; fitted on crawls of synthetic worlds
_NORMAL_QUANTILE = 1.645  # 95 % quantile of the normal distribution

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

    found: int  # relevant pages
    relevant_left: float
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


def current_recall(catalog: Queries, pages: int) -> tuple[RecallEstimate | None, bool]:
    """The estimate of the last checkpoint, and whether pages were scored again since.

    If they were, and the collection has few pages, it is estimated again, which reads all links.
    """
    is_behind = bool(catalog.get_state(RECALL_BEHIND))
    if is_behind and pages <= _MAX_PAGES_TO_RECOUNT:
        return restored_recall(catalog).estimate(), False
    return saved_recall(catalog.get_state(RECALL_STATE)), is_behind


def restored_recall(catalog: Queries) -> "RecallEstimator":
    """An estimator with every visit of a catalog; reads all links."""
    estimator = RecallEstimator()
    for visit in catalog.visits_with_links():
        estimator.add_visited(
            visit.url,
            is_relevant=visit.relevance is not None and visit.relevance >= RELEVANT,
            targets=visit.links,
            is_redirect=visit.outcome is Outcome.MOVED,
        )
    for url in catalog.skipped_for(*OUT_OF_REACH):
        estimator.leave_out(url)
    return estimator


class RecallEstimator:
    """Estimates recall from which pages link where, for crawls by any strategy.

    The relevant pages that are left are those among the waiting links, and those that no visited page links to:

        left = Σ_c waiting_c · p_c + f0

    Links fall into cells c by the number of relevant and of other pages that have them. p_c is the share of relevant
    pages among the links followed from cell c, where the n-th last has weight RECENCY^n, shrunk to a prior. f0 is
    Chao's estimate of unseen classes (1984), for sampling without replacement (Chao, Lin 2012): relevant pages are the
    classes, and each visited relevant page is a sample of the pages that it links to. With f1 and f2 the number of
    relevant pages, found or expected among the waiting links, that one or two relevant pages link to, and q = found /
    (found + left) the share of samples taken,

        f0 = f1 (f1 - 1) / (2 (f2 + 1) + f1 · q / (1 - q)),

    but at most as many as are expected among the waiting links: where one page has thousands of links that no other
    page has, f1² / 2 would be millions.

    The interval is log-normal: left + 1, times or divided by exp(1.645 · DISPERSION · sqrt(ln(1 + var / (left + 1)²))),
    where var is the variance of the waiting links' outcomes and of p_c, and that of a geometric f0.

    A visit takes time proportional to its links, an estimate constant time. Memory is bounded: with more than a million
    URLs, some share a slot and count as one.

    >>> estimator = RecallEstimator()
    >>> links = ["http://a.example/1", "http://a.example/2"]
    >>> estimator.add_visited("http://a.example/", is_relevant=True, targets=links)
    >>> estimator.estimate().found
    1
    >>> estimator.add_visited("http://a.example/1", is_relevant=True)
    >>> estimator.add_visited("http://a.example/2", is_relevant=False)
    >>> estimator.estimate()
    RecallEstimate(found=2, relevant_left=0.0, recall=1.0, recall_low=1.0, recall_high=1.0)
    """

    def __init__(self) -> None:
        self._slots = bytearray(SLOTS)
        self._waiting = [0] * _CELLS
        self._trials = [0.0] * _CELLS  # links followed, and those that led to relevant pages, weighted by recency
        self._hits = [0.0] * _CELLS
        self._relevant = [0] * (MAX_RELEVANT_PARENTS + 1)  # relevant pages found, by their number of relevant parents

    def add(self, visit: Visit) -> None:
        """Adds a visit; of a page fetched again, only its new links count."""
        is_relevant = visit.is_kept and visit.relevance is not None and visit.relevance >= RELEVANT
        targets: Iterable[Url] = (link.target for link in visit.open_links())
        if visit.change is not None:
            self._add_links(visit.candidate.url, set(targets) & set(visit.new_links), is_relevant)
            return
        is_redirect = visit.fetch.outcome is Outcome.MOVED
        self.add_visited(visit.candidate.url, is_relevant=is_relevant, targets=targets, is_redirect=is_redirect)

    def add_visited(
        self, url: Url, *, is_relevant: bool, targets: Iterable[Url] = (), is_redirect: bool = False
    ) -> None:
        """Adds a visited URL and the links of its page."""
        slot = key_of(url) % SLOTS
        state, cell = self._slots[slot] & 3, self._slots[slot] >> 2
        if state in (_OTHER, _RELEVANT):
            return
        if state == _WAITING:
            self._waiting[cell] -= 1
        if not is_redirect:  # its target is another visit
            self._trials[cell] = RECENCY * self._trials[cell] + 1.0
            self._hits[cell] = RECENCY * self._hits[cell] + is_relevant
        self._relevant[cell // _COLUMNS] += is_relevant
        self._slots[slot] = cell << 2 | (_RELEVANT if is_relevant else _OTHER)
        self._add_links(url, set(targets), is_relevant)

    def leave_out(self, url: Url) -> None:
        """Excludes a URL that was skipped, and so is out of reach."""
        slot = key_of(url) % SLOTS
        state, cell = self._slots[slot] & 3, self._slots[slot] >> 2
        if state == _WAITING:
            self._waiting[cell] -= 1
        if state in (_WAITING, _UNKNOWN):
            self._slots[slot] = cell << 2 | _OTHER

    def _add_links(self, url: Url, targets: set[Url], is_relevant: bool) -> None:
        slots, waiting = self._slots, self._waiting
        next_cells = _RELEVANT_PARENT_ADDED if is_relevant else _OTHER_PARENT_ADDED
        targets.discard(url)
        for target in targets:
            slot = key_of(target) % SLOTS
            state, cell = slots[slot] & 3, slots[slot] >> 2
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

    def estimate(self) -> RecallEstimate | None:
        """The current estimate; None before the first relevant page."""
        found = sum(self._relevant)
        if not found:
            return None
        if not any(self._waiting):
            return RecallEstimate(found, 0.0, 1.0, 1.0, 1.0)
        relevant_by_parents = list(map(float, self._relevant))
        waiting_left = variance = 0.0
        for cell, waiting in enumerate(self._waiting):
            weight = self._trials[cell] + PRIOR_WEIGHT
            share = (self._hits[cell] + PRIOR_WEIGHT * _PRIOR_OF_CELL[cell]) / weight
            expected = waiting * share
            waiting_left += expected
            relevant_by_parents[cell // _COLUMNS] += expected
            variance += expected * (1.0 - share) * (1.0 + waiting / (weight + 1.0))
        unseen = min(_unseen(found, waiting_left, relevant_by_parents), waiting_left)
        variance += unseen + unseen**2
        left = waiting_left + unseen
        spread = exp(_NORMAL_QUANTILE * DISPERSION * sqrt(log1p(variance / (left + 1.0) ** 2)))
        high, low = (left + 1.0) * spread - 1.0, max(0.0, (left + 1.0) / spread - 1.0)
        return RecallEstimate(found, left, found / (found + left), found / (found + high), found / (found + low))


class RecallTracker:
    """The estimate of recall of an open collection, kept up to date with each visit.

    It is restored from the catalog on first use, because that reads all links.
    """

    def __init__(self, catalog: Catalog):
        self._catalog = catalog
        self._estimator: RecallEstimator | None = None  # None if it must be restored
        self._is_saved_outdated = bool(catalog.get_state(RECALL_BEHIND))

    def estimate(self) -> RecallEstimate | None:
        """The current estimate; None before the first relevant page."""
        if self._estimator is None:
            self._estimator = restored_recall(self._catalog)
        return self._estimator.estimate()

    def add(self, visit: Visit) -> None:
        self._is_saved_outdated = True
        if self._estimator is not None:
            self._estimator.add(visit)

    def leave_out(self, skips: Sequence[Skip]) -> None:
        """Excludes the skipped URLs that are out of reach."""
        if self._estimator is not None:
            for skip in skips:
                if skip.reason in OUT_OF_REACH:
                    self._estimator.leave_out(skip.candidate.url)

    def invalidate(self) -> None:
        """Discards the estimator; it is restored from the catalog when it is next needed."""
        self._estimator, self._is_saved_outdated = None, True

    def finish(self, *, estimate: bool) -> None:
        """Brings an outdated estimate up to date before the last checkpoint, or else notes that it is outdated."""
        if self._is_saved_outdated and estimate:
            self.estimate()
        elif self._is_saved_outdated:
            self._catalog.put_state(RECALL_BEHIND, True)

    def save(self) -> None:
        """Writes the estimate to the catalog; the caller commits."""
        if self._estimator is not None and self._is_saved_outdated:
            self._catalog.put_state(RECALL_STATE, msgspec.to_builtins(self._estimator.estimate()))
            if self._catalog.get_state(RECALL_BEHIND):
                self._catalog.put_state(RECALL_BEHIND, False)
            self._is_saved_outdated = False


def _unseen(found: int, waiting_left: float, relevant_by_parents: Sequence[float]) -> float:
    """f0, the relevant pages that no visited page links to: the positive root of

        b f0² + (b w + found f1 - a) f0 - a w = 0  with  a = f1 max(0, f1 - 1), b = 2 (f2 + 1), w the waiting ones,

    which is the formula of `RecallEstimator` with q / (1 - q) = found / (w + f0).
    """
    f1, f2 = relevant_by_parents[1], relevant_by_parents[2]
    a, b = f1 * max(0.0, f1 - 1.0), 2.0 * (f2 + 1.0)
    half = (b * waiting_left + found * f1 - a) / 2.0
    return max(0.0, (sqrt(half**2 + a * b * waiting_left) - half) / b)
