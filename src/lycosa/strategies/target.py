"""A target for mean relevance: finds the weight of relevance against expected standing that meets it."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa.vocabulary.records import Candidate, JsonValue, Url
from lycosa.vocabulary.urls import host_of, is_node, key_of, site_of

from .base import clamped, packed, unpacked

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
FoundLink = tuple[Url, Url | None, str, int]  # URL, page on which it was found, anchor, depth

WINDOW = 100  # pages over which mean relevance is controlled
LOOKAHEAD_LINKS = 25  # links assumed to be followed next
MAX_OLDER_LINKS = 10_000  # waiting links that are no longer in the strategy's table, whose estimates are kept
STANDING_WEIGHTS = {  # from a regression on true in-links in synthetic worlds: training/hunter/standing_weights.py
    "parents": 0.4,  # mean log odds of the standing of the pages that link here
    "sites": 1.7,  # ln(1 + other sites that link here), less the mean of all waiting links
    "domain": 0.1,  # ln(1 + reach of the domain), less the median of all domains in the table of reach
}
_STEPS = 12  # of the bisection: the weight is exact to 1 / 4096
_BIAS_LIMIT = 6.0  # of the correction of estimates, in log odds
_BIAS_PRIOR = 4.0  # weight of the prior "no correction", in pages
_LOGIT_LIMIT = 8.0  # of log odds of standing, in absolute value


def logit(share: float) -> float:
    """Log odds, finite for every share from 0 to 1."""
    bounded = min(max(share, 1e-4), 1.0 - 1e-4)
    return float(np.clip(np.log(bounded / (1.0 - bounded)), -_LOGIT_LIMIT, _LOGIT_LIMIT))


def logistic(logits: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.minimum(np.maximum(logits, -30.0), 30.0))))


def least_weight(relevance: Floats, standing: Floats, *, needed: float, count: int) -> float | None:
    """The least α in [0, 1] for which the best `count` links by α · relevance + (1 - α) · standing have the mean
    relevance `needed` or more; None if relevance alone does not reach it.

    This maximises the summed standing of the links taken, subject to their mean relevance: α = λ / (1 + λ) for the
    Lagrange multiplier λ of the constraint. The mean relevance never falls as α grows, so bisection finds α.

    >>> least_weight(np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.5, 0.9]), needed=0.5, count=1)
    0.5
    """
    if not len(relevance):
        return None
    count = min(count, len(relevance))

    def mean_relevance(alpha: float) -> float:
        values = (alpha + 1e-9) * relevance + (1.0 - alpha) * standing  # breaks ties in favour of relevance
        return float(relevance[np.argpartition(-values, count - 1)[:count]].mean())

    needed -= 1e-9
    if mean_relevance(1.0) < needed:
        return None
    if mean_relevance(0.0) >= needed:
        return 0.0
    too_low, enough = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (too_low + enough) / 2
        too_low, enough = (too_low, middle) if mean_relevance(middle) >= needed else (middle, enough)
    return enough


class _RecentPage(Struct, frozen=True):
    relevance: float  # 0 to 1
    predicted: float | None  # log odds before it was fetched; None for seeds


class RelevanceTarget:
    """Maximises the expected standing of pages, subject to a mean relevance of at least `target`.

    value of a link = α · P(relevant) + (1 - α) · standing

    α is the least for which the best 25 waiting links have the mean relevance T + (T - mean of the last n) · n / 100,
    where n ≤ 100 pages: 100 such links compensate for the deficit or surplus of the last pages. If no weight reaches
    that, α = 1, and relevance alone decides.

    Estimates may be biased if a topic is unlike those on which the weights were learnt. To correct this, a constant b
    is added to all log odds, with Σ (estimate - relevance) + 4 b = 0 over the last pages, examples excluded.

    evidence: of the standing of links.
    """

    def __init__(self, target: float, evidence: "StandingEvidence"):
        self.target = target
        self.evidence = evidence
        self.alpha = 1.0
        self.is_attainable = True
        self._bias = 0.0
        self._pages: dict[Url, _RecentPage] = {}  # the last

    def __len__(self) -> int:
        """The number of pages over which the mean is taken."""
        return len(self._pages)

    @property
    def recent_relevance(self) -> float | None:
        """Mean relevance of the last pages; None before the first."""
        return sum(page.relevance for page in self._pages.values()) / len(self._pages) if self._pages else None

    def add(self, url: Url, relevance: float | None, predicted: float | None) -> None:
        """Adds a visited page that is not an example; `predicted` is its estimated relevance, in log odds."""
        self._pages.pop(url, None)
        self._pages[url] = _RecentPage(clamped(relevance), predicted)
        if len(self._pages) > WINDOW:
            del self._pages[next(iter(self._pages))]

    def rejudge(self, relevances: Mapping[str, float]) -> None:
        for url, page in self._pages.items():
            if url in relevances:
                self._pages[url] = _RecentPage(clamped(relevances[url]), page.predicted)

    def update_alpha(self, relevance: Floats, standing: Floats) -> None:
        """Finds α for the waiting links: those of the table, with estimates in log odds, and older ones."""
        older = self.evidence.older.estimates()
        relevance, standing = np.concatenate((relevance, older[:, 0])), np.concatenate((standing, older[:, 1]))
        self._bias = self._solve_bias()
        deficit = sum(self.target - page.relevance for page in self._pages.values()) / WINDOW
        alpha = least_weight(
            logistic(relevance + self._bias), logistic(standing), needed=self.target + deficit, count=LOOKAHEAD_LINKS
        )
        if len(relevance):
            self.is_attainable = alpha is not None
            self.alpha = 1.0 if alpha is None else alpha

    def value_logits(self, relevance: Floats, standing: Floats) -> Floats:
        """The log odds of the values of links."""
        values = self.alpha * logistic(relevance + self._bias) + (1.0 - self.alpha) * logistic(standing)
        return np.asarray(np.log(values / (1.0 - values)))

    def revalued_older(self, *, min_change: float, max_offers: int) -> list[Candidate]:
        """Candidates for the best of the older links whose value has changed by `min_change` or more, in log odds."""
        older = self.evidence.older
        relevance, standing, offered = older.estimates().T
        values = self.value_logits(relevance, standing)
        chosen = np.sort(best_changes(values, offered, min_change=min_change, max_offers=max_offers)).tolist()
        return older.candidates_with_new_values(chosen, values, self.explain)

    def explain(self, relevance: float, standing: float) -> JsonValue:
        """What the value of a link is computed from, for `because`."""
        corrected, expected = logistic(np.array([relevance + self._bias, standing])).tolist()
        return {"relevance": round(corrected, 4), "standing": round(expected, 4), "alpha": round(self.alpha, 4)}

    def _solve_bias(self) -> float:
        known = [page for page in self._pages.values() if page.predicted is not None]
        predicted = np.array([page.predicted for page in known], np.float64)
        total_relevance = sum(page.relevance for page in known)
        low, high = -_BIAS_LIMIT, _BIAS_LIMIT
        for _ in range(_STEPS):
            middle = (low + high) / 2
            is_too_high = float(logistic(predicted + middle).sum()) - total_relevance + _BIAS_PRIOR * middle > 0.0
            low, high = (low, middle) if is_too_high else (middle, high)
        return (low + high) / 2

    def state(self) -> JsonValue:
        pages = [[url, page.relevance, page.predicted] for url, page in self._pages.items()]
        return {"alpha": self.alpha, "is_in_reach": self.is_attainable, "bias": self._bias, "pages": pages}

    def restore(self, state: JsonValue) -> None:
        self.alpha, self.is_attainable, self._bias = state["alpha"], state["is_in_reach"], state["bias"]
        self._pages = {url: _RecentPage(relevance, predicted) for url, relevance, predicted in state["pages"]}


class StandingEvidence:
    """The expected standing of links before they are followed.

    log odds = .4 · mean log odds of the standing of the pages that link here
             + 1.7 · (ln(1 + other sites that link here) - mean of what waits)
             + .1 · (ln(1 + reach of the domain) - median of all domains in the table of reach)

    If all pages are of one site, linking pages are counted instead of sites. Unknown terms are 0. Links and pages are
    those of the strategy's table of the latest links, in the same order.

    reach: for a URL, ln(1 + reach of its domain) less the median; 0 for unknown domains, or without a table of reach.
    """

    def __init__(self, reach: Callable[[Url], float]):
        self._reach_of = reach
        self._parent_standings: list[float] = []  # log odds of the standing of each page, NaN if unknown
        self._parent_sites: list[int] = []  # of each page, as hashes
        self._link_sites: Ints = np.empty(0, np.int64)  # of each link, as hashes
        self._link_reach: Floats = np.empty(0)  # of each link, as `reach` gives it
        self._mean_log_sites = 0.0  # mean ln(1 + sites) of waiting links
        self.offered: Floats = np.empty(
            (0, 3)
        )  # log odds of relevance, standing and value, as last offered to the frontier
        self.older = OlderLinks()

    def add_parent(self, url: Url, standing: float | None) -> None:
        self._parent_standings.append(np.nan if standing is None else logit(clamped(standing)))
        self._parent_sites.append(_site_key(url))

    def set_parent(self, index: int, standing: float) -> None:
        self._parent_standings[index] = logit(clamped(standing))

    def add_links(self, urls: Sequence[Url]) -> None:
        self._link_sites = np.concatenate((self._link_sites, np.array([_site_key(url) for url in urls], np.int64)))
        self._link_reach = np.concatenate(
            (self._link_reach, np.array([self._reach_of(url) for url in urls], np.float64))
        )
        self.offered = np.concatenate((self.offered, np.zeros((len(urls), 3))))
        for url in urls:
            self.older.pop(url)

    def keep(self, first_parent: int, links: Bools) -> None:
        """Drops the pages before `first_parent`, and all but the marked links."""
        self._parent_standings, self._parent_sites = (
            self._parent_standings[first_parent:],
            self._parent_sites[first_parent:],
        )
        self._link_sites, self._link_reach, self.offered = (
            self._link_sites[links],
            self._link_reach[links],
            self.offered[links],
        )

    def parts(self, links: Ints, link_index: Ints, parents: Ints, *, is_complete: bool) -> Floats:
        """The three terms of the log odds of some links, one link a row.

        link_index, parents: for each occurrence of a link on a page, the index into `links`, and that of the page.
        is_complete: whether `links` are all waiting links, so that the mean can be updated.
        """
        parts = np.zeros((len(links), len(STANDING_WEIGHTS)))
        standings = np.array(self._parent_standings, np.float64)[parents]
        is_known = ~np.isnan(standings)
        counts = np.bincount(link_index[is_known], minlength=len(links))
        parts[:, 0] = np.bincount(link_index[is_known], standings[is_known], len(links)) / np.maximum(counts, 1)
        sites, site_index = np.unique(np.array(self._parent_sites, np.int64), return_inverse=True)
        parent_site_index = site_index[parents]
        is_other = sites[parent_site_index] != self._link_sites[links][link_index]
        if len(sites) > 1:
            pairs = np.unique(link_index[is_other] * len(sites) + parent_site_index[is_other])  # each site once
            parts[:, 1] = np.log1p(np.bincount(pairs // len(sites), minlength=len(links)))
        else:
            parts[:, 1] = np.log1p(np.bincount(link_index, minlength=len(links)))
        if is_complete and len(links):
            self._mean_log_sites = float(parts[:, 1].mean())
        parts[:, 1] -= self._mean_log_sites
        parts[:, 2] = self._link_reach[links]
        parts *= list(STANDING_WEIGHTS.values())
        return np.clip(parts, -_LOGIT_LIMIT, _LOGIT_LIMIT)

    def by_page_alone(self, standing: float | None) -> float:
        """The log odds for a link of which only the standing of its page is known."""
        page_logit = 0.0 if standing is None else logit(clamped(standing))
        return STANDING_WEIGHTS["parents"] * page_logit - STANDING_WEIGHTS["sites"] * self._mean_log_sites

    def state(self) -> JsonValue:
        return {
            "parents": packed(np.array(self._parent_standings)),
            "parent_sites": self._parent_sites,
            "sites": packed(self._link_sites),
            "reach": packed(self._link_reach),
            "usual": self._mean_log_sites,
            "told": packed(self.offered),
            "older": self.older.state(),
        }

    def restore(self, state: JsonValue) -> None:
        self._parent_standings, self._parent_sites = unpacked(state["parents"]).tolist(), list(state["parent_sites"])
        self._link_sites, self._link_reach, self.offered = (
            unpacked(state[name]) for name in ("sites", "reach", "told")
        )
        self._mean_log_sites = state["usual"]
        self.older.restore(state["older"])


class OlderLinks:
    """Waiting links that are no longer in the strategy's table of the latest links: their estimates of relevance and
    standing are frozen, but their value is computed again when α changes.

    Beyond 10 000 links, those with the lowest max(relevance, standing) are dropped and keep their priority. The value
    of a link never exceeds that maximum (bias aside), so every link that stays has a higher value at its best α than a
    dropped one can have at any α. At other α, a dropped link may still have a higher value than some that stay.
    """

    def __init__(self) -> None:
        self._links: dict[Url, tuple[Url | None, str, int]] = {}  # page on which it was found, anchor, depth
        self._offered: dict[Url, tuple[float, float, float]] = {}  # log odds of relevance, standing and value

    def __len__(self) -> int:
        return len(self._links)

    def add(self, links: Sequence[FoundLink], offered: Floats) -> None:
        """offered: the log odds of relevance, standing and value of each, as last offered to the frontier."""
        for (url, found_on, anchor, depth), estimates in zip(links, offered.tolist(), strict=True):
            self._links[url], self._offered[url] = (found_on, anchor, depth), tuple(estimates)
        if len(self._links) > MAX_OLDER_LINKS:
            urls, highest = list(self._links), self.estimates()[:, :2].max(axis=1)
            for index in np.argpartition(-highest, MAX_OLDER_LINKS)[MAX_OLDER_LINKS:].tolist():
                self.pop(urls[index])

    def pop(self, url: Url) -> None:
        """Removes a link that no longer waits or is in the table again."""
        if self._links.pop(url, None) is not None:
            del self._offered[url]

    def relevance(self, url: Url) -> float | None:
        """The log odds of relevance of a link; None if it is not here."""
        return self._offered[url][0] if url in self._offered else None

    def estimates(self) -> Floats:
        """The log odds of relevance, standing and value of each, as last offered to the frontier."""
        return np.array(list(self._offered.values())).reshape(-1, 3)

    def candidates_with_new_values(
        self, indices: Sequence[int], values: Floats, explain: Callable[[float, float], JsonValue]
    ) -> list[Candidate]:
        """Candidates for the links at some indices; values: the new values of all links, in log odds."""
        urls, priorities, candidates = list(self._links), logistic(values), []
        for index in indices:
            url, (found_on, anchor, depth) = urls[index], self._links[urls[index]]
            relevance, standing, _ = self._offered[url]
            self._offered[url] = (relevance, standing, float(values[index]))
            because = {"weighed": explain(relevance, standing)}
            candidates.append(Candidate(url, float(priorities[index]), found_on, anchor, because, depth))
        return candidates

    def state(self) -> JsonValue:
        return [[url, *link, *self._offered[url]] for url, link in self._links.items()]

    def restore(self, state: JsonValue) -> None:
        self._links = {url: (found_on, anchor, depth) for url, found_on, anchor, depth, *_ in state}
        self._offered = {url: tuple(estimates) for url, _, _, _, *estimates in state}


def best_changes(scores: Floats, offered: Floats, *, min_change: float, max_offers: int) -> Ints:
    """The indices of the best scores that differ by `min_change` or more from those offered before, at most
    `max_offers`.

    A score that has fallen is ranked by its old value: not offered again, it would be taken before better ones.
    """
    changed = np.flatnonzero(np.abs(scores - offered) >= min_change)
    if len(changed) > max_offers:
        ranks = np.maximum(scores, offered)[changed]
        changed = changed[np.argpartition(-ranks, max_offers)[:max_offers]]
    return changed


def _site_key(url: Url) -> int:
    """The hash of a URL's site; 0 for a node of a lab graph, which has none."""
    return 0 if is_node(url) else key_of(site_of(host_of(url)))
