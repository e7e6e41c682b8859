"""Interest ratios of pages of an access log, estimated from the other pages that their users read.

The interest ratio of a page is how much more likely it is to satisfy a predicate, given who read it, than the pages
visited so far; 1 without evidence. A page satisfies the predicate of a crawl if it is relevant.
"""

import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from lycosa.logs.access_log import AccessLog
from lycosa.vocabulary.arrays import concatenated_ranges
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, JsonValue, Outcome, Page, Skip, Url, Visit

from .base import checked_number, clamped
from .interest import Tally, log_interest_ratios

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Signature = NDArray[np.int64]  # distinct features of a page, as numbers

FACTORS = ("frequency", "signature", "temporal")
_MAX_COUNTS = 16_000_000  # users times features: two matrices of 64 MB
_MAX_PAIRS = 60_000  # of a user and a page they read, updated after one visit
_FULL_UPDATE_SHARE = 0.2  # interval between full updates, as a share of the pages so far
_FIRST_UPDATE_DIVISOR = 5  # the first interval is shorter by this factor
_NOT_IN_LOG = -1  # instead of the id of a page
_MIN_SHARE = 1e-12  # lower bound of shares, for when there is no smoothing
_NO_IDS: Ids = np.empty(0, np.int64)
_MAX_WORDS = 20  # of a page, the most frequent
_MIN_PAGES = 3  # that must have had a word among their most frequent ones before it becomes a feature
_MAX_CANDIDATE_WORDS = 4_096  # words that may become features, whose pages are counted
_MAX_CLASSES = 5  # of a page
_MAX_VISITS = 1 << 26  # of a saved history


def compressed(column: NDArray[Any]) -> str:
    """An array as text (base64 of zlib), so that large states stay small and quick to save."""
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    return b64encode(zlib.compress(little.tobytes(), 1)).decode("ascii")


def decompressed(text: str, dtype: type[np.generic], *, max_length: int) -> NDArray[Any]:
    """The inverse of `compressed`, given the type of the numbers; ValueError if there are more than `max_length`.

    >>> decompressed(compressed(np.array([3, -1], np.int32)), np.int32, max_length=2).tolist()
    [3, -1]
    """
    inflate = zlib.decompressobj()
    size = max_length * np.dtype(dtype).itemsize
    try:
        data = inflate.decompress(b64decode(text), size + 1)
    except zlib.error as error:
        raise ValueError(f"a saved column is damaged: {error}") from None
    if len(data) > size or not inflate.eof:
        raise ValueError(f"a saved column is damaged, or longer than {max_length} numbers")
    stored = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
    return stored.astype(dtype)  # a copy, which may be written to


class PageClassifier(Protocol):
    """Gives the probabilities of topics for a page, as `relevance.Taxonomy` does."""

    @property
    def topics(self) -> tuple[str, ...]: ...

    def probabilities(self, page: Page) -> NDArray[np.float64]: ...


class Signatures(Protocol):
    """Extracts the signatures of pages, by which their users are compared."""

    size: int  # largest number of features

    def of(self, page: Page) -> Signature:
        """The features of a page; may add new features."""
        ...

    def state(self) -> JsonValue: ...

    def restore(self, state: JsonValue) -> None: ...


class WordSignatures:
    """The most frequent words of a page, without stop words.

    A word becomes a feature when it is among the most frequent words of a third page, as long as there are fewer than
    `size` features.
    """

    def __init__(self, size: int = 512):
        self.size = size
        self._features: dict[int, int] = {}  # by the code of the word, its 64-bit hash
        self._pages: dict[int, int] = {}  # by the code of a word that is not a feature yet: pages that had it

    def of(self, page: Page) -> Signature:
        codes, counts = page.words.term_counts
        if len(codes) > _MAX_WORDS:
            codes = codes[np.lexsort((codes, -counts.astype(np.int64)))[:_MAX_WORDS]]
        found = [self._feature(code) for code in codes.tolist()]
        return np.array(sorted(feature for feature in found if feature is not None), np.int64)

    def _feature(self, code: int) -> int | None:
        feature = self._features.get(code)
        if feature is not None or len(self._features) >= self.size:
            return feature
        pages = self._pages.pop(code, 0) + 1
        if pages < _MIN_PAGES:
            self._pages[code] = pages
            if len(self._pages) > _MAX_CANDIDATE_WORDS:
                del self._pages[next(iter(self._pages))]  # seen longest ago
            return None
        feature = self._features[code] = len(self._features)
        if len(self._features) == self.size:
            self._pages.clear()
        return feature

    def state(self) -> JsonValue:
        return {"features": list(self._features), "pages": [list(self._pages), list(self._pages.values())]}

    def restore(self, state: JsonValue) -> None:
        self._features = {code: feature for feature, code in enumerate(state["features"])}
        self._pages = dict(zip(*state["pages"], strict=True))


class ClosestClasses:
    """The five most probable classes of a page by a taxonomy."""

    def __init__(self, classes: PageClassifier):
        self.size = len(classes.topics)
        self._classes = classes

    def of(self, page: Page) -> Signature:
        closest: Signature = np.argsort(-self._classes.probabilities(page), kind="stable")[:_MAX_CLASSES]
        return np.sort(closest)

    def state(self) -> JsonValue:
        return None

    def restore(self, state: JsonValue) -> None:
        pass


class SignatureCounts:
    """r_ij, pages visited that user i read and that have feature j, and r_ij^u, those that satisfy the predicate.

    The mean of r_ij^u / r_ij over the features of each user is kept up to date. Smoothed by s pages at the base rate
    p, (r_ij^u + s·p) / (r_ij + s) is the sum of a part without p and a part proportional to p, kept apart.
    """

    def __init__(self, user_count: int, feature_count: int, smoothing: float):
        self._smoothing = smoothing
        self._read = np.zeros((user_count, feature_count), np.float32)  # r_ij
        self._satisfying = np.zeros((user_count, feature_count), np.float32)  # r_ij^u
        self._feature_counts: Floats = np.zeros(user_count)  # features of the pages that each user read
        self._shares: Floats = np.zeros(user_count)  # sum over the features of r^u / (r + s)
        self._priors: Floats = np.zeros(user_count)  # sum over the features of s / (r + s)

    def add(self, users: NDArray[np.int32], weights: Floats, signature: Signature, satisfies: bool) -> None:
        """Counts a page with these features, read by these users."""
        counts = weights.astype(np.float32)
        if not counts.all():  # a weight that underflowed to 0: the feature would count as new each time
            users, counts = users[counts > 0.0], counts[counts > 0.0]
        if not len(users) or not len(signature):
            return
        cells = np.ix_(users, signature)
        read, satisfying = self._read[cells], self._satisfying[cells]
        is_new = read == 0.0
        more = counts[:, None]
        read_now = read + more
        satisfying_now = satisfying + more if satisfies else satisfying
        self._read[cells] = read_now
        if satisfies:
            self._satisfying[cells] = satisfying_now
        s = self._smoothing
        before = 1.0 / np.where(is_new, np.inf, read.astype(np.float64) + s)
        now = 1.0 / (read_now.astype(np.float64) + s)
        self._feature_counts[users] += is_new.sum(axis=1)
        self._shares[users] += (satisfying_now * now - satisfying * before).sum(axis=1)
        self._priors[users] += s * (now - before).sum(axis=1)

    def ratios(self, users: Ids, base_rate: float | Floats) -> Floats:
        """SF_i of users, relative to the base rate; NaN for users without features."""
        feature_counts = self._feature_counts[users]
        ratios: Floats = (self._shares[users] / base_rate + self._priors[users]) / np.where(
            feature_counts > 0, feature_counts, np.nan
        )
        return ratios


class UserRatios:
    """The ratios P(U|R_i) / P(U) and SF_i of users, as `LogEvidence` defines them, as logarithms; 0 if not significant.

    factors: "frequency", "signature" or both.
    user_count: number of users of the log.
    feature_count: largest number of features.
    significance: standard deviations by which a ratio must differ to count.
    trials_by_user: whether the standard deviation of P(U|R_i) is for the pages that the user read, instead of all
    visited.
    relative_to_user: whether SF_i is relative to P(U|R_i) instead of P(U).
    smoothing: pages at the base rate that are added to the counts of every user and feature.
    """

    def __init__(
        self,
        user_count: int,
        feature_count: int,
        *,
        factors: Collection[str],
        significance: float,
        trials_by_user: bool,
        relative_to_user: bool,
        smoothing: float,
    ):
        self._uses_frequency, self._uses_signature = ("frequency" in factors), ("signature" in factors)
        self._significance = significance
        self._trials_by_user = trials_by_user
        self._relative_to_user = relative_to_user
        self._smoothing = smoothing
        self._visited: Floats = np.zeros(user_count)  # q_i
        self._satisfying: Floats = np.zeros(user_count)  # q_i^u
        self._features = SignatureCounts(user_count, feature_count if self._uses_signature else 0, smoothing)
        self._ratios: Floats = np.full(user_count, np.nan)  # SF_i as last computed
        self._ratio_moments: Floats = np.zeros(3)  # of these: count, sum, sum of squares

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """For each user, whether any page that they read was visited."""
        return self._visited > 0

    @property
    def has_read_satisfying(self) -> NDArray[np.bool_]:
        """For each user, whether any visited page that they read satisfies the predicate."""
        return self._satisfying > 0

    def count(self, users: NDArray[np.int32], weights: Floats, signature: Signature, satisfies: bool) -> None:
        """Counts a visited page with its users."""
        self._visited[users] += weights
        if satisfies:
            self._satisfying[users] += weights
        self._features.add(users, weights, signature, satisfies)

    def reset_moments(self) -> None:
        """Resets the moments of SF_i, before all users are updated."""
        self._ratios[:] = np.nan
        self._ratio_moments[:] = 0.0

    def log_ratios(self, users: Ids, *, pages: int, base_rate: float) -> tuple[Floats, Floats]:
        """The logarithms for frequency and signature, given the number of visited pages and P(U) = `base_rate`."""
        nothing = np.zeros(len(users))
        frequency = self._frequency_log_ratios(users, pages, base_rate) if self._uses_frequency else nothing
        signature = self._signature_log_ratios(users, base_rate) if self._uses_signature else nothing
        return frequency, signature

    def _frequency_log_ratios(self, users: Ids, pages: int, base_rate: float) -> Floats:
        seen, satisfying = self._visited[users], self._satisfying[users]
        trials = seen if self._trials_by_user else float(pages)
        counted = np.where(seen > 0, seen, 1.0)
        deviations = np.abs(satisfying / counted - base_rate) / np.sqrt(base_rate * (1.0 - base_rate)) * np.sqrt(trials)
        logs = log_interest_ratios(satisfying, seen, base_rate, smoothing=self._smoothing)
        return np.where((seen > 0) & (deviations >= self._significance), logs, 0.0)

    def _shares(self, users: Ids, base_rate: float) -> Floats:
        """P(U|R_i) = (q_i^u + s · P(U)) / (q_i + s)."""
        s = self._smoothing
        shares: Floats = (self._satisfying[users] + s * base_rate) / np.maximum(self._visited[users] + s, _MIN_SHARE)
        return shares

    def _signature_log_ratios(self, users: Ids, base_rate: float) -> Floats:
        base = np.maximum(self._shares(users, base_rate), _MIN_SHARE) if self._relative_to_user else base_rate
        ratios, before = self._features.ratios(users, base), self._ratios[users]
        if self._relative_to_user:
            ratios[~np.isnan(ratios) & (base <= _MIN_SHARE)] = (
                1.0  # nothing they read satisfies the predicate, so no feature deviates
            )
        self._ratios[users] = ratios
        self._ratio_moments += _moments(ratios) - _moments(before)
        count, total, squares = self._ratio_moments.tolist()
        mean = total / max(1.0, count)
        deviation = max(0.0, squares / max(1.0, count) - mean * mean) ** 0.5
        is_known = ~np.isnan(ratios)
        is_significant = is_known
        if self._significance > 0:
            is_significant = (
                is_known & (deviation > _MIN_SHARE) & (np.abs(ratios - mean) >= self._significance * deviation)
            )
        return np.where(is_significant, np.log(np.maximum(np.where(is_known, ratios, 1.0), _MIN_SHARE)), 0.0)


def _moments(ratios: Floats) -> Floats:
    known = ratios[~np.isnan(ratios)]
    return np.array((len(known), known.sum(), (known * known).sum()))


class Locality:
    """The temporal locality of a predicate: every page that a user read within `around` accesses before or after a page
    that satisfies it.

    The strength with which a page belongs to it is the weight of that access (the largest of several), which is 1 if
    accesses do not age. A page does not belong to it by being read twice.
    """

    def __init__(self, access_log: AccessLog, around: int):
        self._access_log = access_log
        self._around = around
        self.strength: Floats = np.zeros(len(access_log.urls))  # with which each page belongs to it
        # Numbers of pages visited that belong to it and that do not, each page by its strength; and of those of them
        # that satisfy the predicate.
        self.inside = self.outside = 0.0
        self.inside_satisfying = self.outside_satisfying = 0.0
        self._visited: NDArray[np.bool_] = np.zeros(len(access_log.urls), np.bool_)
        self._satisfying: NDArray[np.bool_] = np.zeros(len(access_log.urls), np.bool_)

    def add(self, page_id: int, satisfies: bool) -> Ids:
        """Adds a visited page; returns the pages whose strength has grown."""
        self._visited[page_id], self._satisfying[page_id] = True, satisfies
        strength = float(self.strength[page_id])
        self._count(strength, 1.0 - strength, satisfies)
        return self._extend(page_id) if satisfies else np.empty(0, np.int64)

    def _count(self, inside: float, outside: float, satisfies: bool) -> None:
        self.inside += inside
        self.outside += outside
        if satisfies:
            self.inside_satisfying += inside
            self.outside_satisfying += outside

    def _extend(self, page_id: int) -> Ids:
        """Adds the pages read shortly before or after one that satisfies the predicate; returns those that are new or
        stronger."""
        users, positions = self._access_log.positions_of(page_id)
        starts = self._access_log.walk_starts  # of the accesses of each user, in order of time, in one column for all
        first, last = starts[users], starts[users.astype(np.int64) + 1]
        accesses = first + positions
        steps = np.concatenate((np.arange(-self._around, 0), np.arange(1, self._around + 1)))
        near = accesses[:, None] + steps
        near = near[(near >= first[:, None]) & (near < last[:, None])]
        ids = self._access_log.url_ids[near]
        weights = self._access_log.weights[near]
        is_stronger = (weights > self.strength[ids]) & (ids != page_id)
        ids, weights = ids[is_stronger], weights[is_stronger]
        extended = np.unique(ids).astype(np.int64)
        before = self.strength[extended]
        np.maximum.at(self.strength, ids, weights)
        gained = self.strength[extended] - before
        for is_satisfying in (False, True):
            chosen = self._visited[extended] & (self._satisfying[extended] == is_satisfying)
            gain = float(gained[chosen].sum())
            self._count(gain, -gain, is_satisfying)
        return extended

    def log_ratios(self, ids: Ids, base_rate: float, smoothing: float) -> Floats:
        """log of f1 / P(U) for pages inside, of f2 / P(U) for pages outside, of a mixture in between."""
        if self.inside_satisfying + self.outside_satisfying == 0.0:
            return np.zeros(len(ids))  # the predicate has no locality yet
        satisfying = np.array([self.inside_satisfying, self.outside_satisfying])
        seen = np.array([self.inside, self.outside])
        inside, outside = log_interest_ratios(
            np.maximum(satisfying, 0.0), seen, base_rate, smoothing=smoothing
        ).tolist()
        ratios: Floats = outside + (inside - outside) * self.strength[ids]
        return ratios

    def recount(self) -> None:
        """Recomputes the incremental counts, which removes rounding errors."""
        strength, good = self.strength, self._satisfying
        self.inside = float(strength[self._visited].sum())
        self.outside = float(self._visited.sum()) - self.inside
        self.inside_satisfying = float(strength[good].sum())
        self.outside_satisfying = float(good.sum()) - self.inside_satisfying


class VisitHistory:
    """The visits in order: the id of the page, whether it satisfies the predicate, and its signature."""

    def __init__(self) -> None:
        self._pages = array("i")
        self._satisfying = array("B")
        self._lengths = array("B")  # of the signatures
        self._features = array("H")  # the signatures, one after the other

    def __len__(self) -> int:
        return len(self._pages)

    def append(self, page_id: int, satisfies: bool, signature: Signature) -> None:
        self._pages.append(page_id)
        self._satisfying.append(satisfies)
        self._lengths.append(len(signature))
        self._features.extend(signature.tolist())

    def state(self) -> JsonValue:
        return {
            "pages": compressed(np.array(self._pages, np.int32)),
            "satisfying": compressed(np.array(self._satisfying, np.uint8)),
            "lengths": compressed(np.array(self._lengths, np.uint8)),
            "features": compressed(np.array(self._features, np.uint16)),
        }


def saved_visits(state: JsonValue) -> Iterator[tuple[int, bool, Signature]]:
    """The visits of a saved history: page id, whether the page satisfies the predicate, and its signature."""
    pages = decompressed(state["pages"], np.int32, max_length=_MAX_VISITS)
    satisfying = decompressed(state["satisfying"], np.uint8, max_length=len(pages))
    lengths = decompressed(state["lengths"], np.uint8, max_length=len(pages))
    features = decompressed(state["features"], np.uint16, max_length=int(lengths.sum())).astype(np.int64)
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    start = 0
    for page_id, satisfies, end in zip(pages.tolist(), satisfying.tolist(), ends, strict=True):
        yield page_id, bool(satisfies), features[start:end]
        start = end


class EvidenceOptions(TypedDict, total=False):
    """The keywords of `LogEvidence`, for strategies that pass them on."""

    factors: Sequence[str]
    significance: float
    around: int
    signatures: Literal["words"] | PageClassifier
    trials: Literal["crawl", "reader"]
    base: Literal["crawl", "reader"]
    smoothing: float
    clip: float
    full_every: int
    half_life: float | None


class LogEvidence:
    """The interest ratio of pages in an access log, learnt from which other pages of their users satisfy a predicate.

    With P(U) the share of pages visited that satisfy the predicate, its factors are
    *frequency*, the product over the users i of P(U|R_i) / P(U), where P(U|R_i) = q_i^u / q_i is the share of the
    pages visited and read by i; only users count for whom |P(U|R_i) - P(U)| / sqrt(P(U)(1 - P(U)) / N) reaches
    `significance`;
    *signature*, the product over the users of SF_i, the mean over all features j of pages that i read of
    (r_ij^u / r_ij) / P(V_i), where r_ij counts the visited pages with feature j that i read, and r_ij^u those of them
    that satisfy the predicate; only users count whose SF_i is `significance` standard deviations from the mean of all;
    *temporal*, f1 / P(U) for pages read shortly before or after one that satisfies the predicate, f2 / P(U) for
    others, where f1 and f2 are the shares of such pages, and of others, that satisfy it.

    All are logarithms. Counts are smoothed by `smoothing` pages at the base rate, P(U) by half a page on each side.
    Accesses are weighted. A page satisfies the predicate if its relevance is at least 0.5.

    Updates are lazy: after a page, only those of its users whose ratios changed most, and the pages they read, are
    updated; from time to time, a full update covers all. The saved state is the history of visits, which is replayed.

    How a strategy uses it, at every event:

        evidence.learn(event)        a Visit or a Skip
        evidence.changed             ids of the pages of the log whose evidence changed
        evidence.log_ratios(ids)     log of the interest ratio of each; 0 without evidence
        evidence.explain(ids)        the ratio of each by factor, for `because`

    factors: those that count.
    around: accesses before, and after, that count as near in time.
    signatures: "words", or a taxonomy whose closest classes are the features.
    trials: N above: all pages visited ("crawl", as in the paper), or those of them that i read ("reader").
    base: P(V_i) above, which the paper leaves open: with P(U) ("crawl"), SF_i separates users; with P(U|R_i)
    ("reader"), it measures only how evenly the satisfying pages of i are spread over features.
    full_every: pages between full updates; at first a fifth of it, then doubling, later a fifth of the pages so far.
    clip: the largest absolute logarithm of a factor.
    half_life: days after which the weight of an access has halved; None: weights as in the access log, mostly 1.

    Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002).
    """

    def __init__(
        self,
        access_log: AccessLog | None,
        *,
        factors: Sequence[str] = FACTORS,
        significance: float = 2.0,
        around: int = 3,
        signatures: Literal["words"] | PageClassifier = "words",
        trials: Literal["crawl", "reader"] = "crawl",
        base: Literal["crawl", "reader"] = "crawl",
        smoothing: float = 1.0,
        clip: float = 10.0,
        full_every: int = 25,
        half_life: float | None = None,
    ):
        access_log = AccessLog.of(()) if access_log is None else access_log
        access_log = access_log if half_life is None else access_log.decayed(half_life)
        if unknown := sorted(set(factors) - set(FACTORS)):
            raise UsageError(f"no factor {unknown[0]!r}; there are {', '.join(FACTORS)}")
        self.access_log = access_log
        self._factors = frozenset(factors)
        self._significance = checked_number("significance", significance, 0.0)
        self._around = checked_number("around", around, 1, 1e4)
        self._taxonomy = None if isinstance(signatures, str) else signatures
        self._trials_by_user = trials == "reader"
        self._relative_to_user = base == "reader"
        self._smoothing = checked_number("smoothing", smoothing, 0.0)
        self._clip = checked_number("clip", clip, 1e-6)
        self._full_every = checked_number("full_every", full_every, 1)
        self._user_starts, _ = access_log.users_by_url
        self._url_starts, self._urls = access_log.urls_by_user  # ids of the pages that each user read, in one column
        self._url_weights = access_log.urls_by_user_weights if access_log.is_decayed else None
        self._reset()

    def _reset(self) -> None:
        url_count, user_count = len(self.access_log.urls), self.access_log.users
        self.tally = Tally()
        self.changed: Ids = _NO_IDS
        self.is_full_update = False  # whether the last event brought a full update
        self._locality = Locality(self.access_log, self._around)
        self._signatures: Signatures
        if self._taxonomy is None:
            self._signatures = WordSignatures(max(16, min(512, _MAX_COUNTS // max(1, user_count))))
        else:
            self._signatures = ClosestClasses(self._taxonomy)
        self._ratios = UserRatios(
            user_count,
            self._signatures.size,
            factors=self._factors,
            significance=self._significance,
            trials_by_user=self._trials_by_user,
            relative_to_user=self._relative_to_user,
            smoothing=self._smoothing,
        )
        self._frequency_of_user: Floats = np.zeros(user_count)  # logarithms, as included in the sums of the pages
        self._signature_of_user: Floats = np.zeros(user_count)
        self._frequency: Floats = np.zeros(url_count)  # sums over the users of each page
        self._signature: Floats = np.zeros(url_count)
        self._is_visited: NDArray[np.bool_] = np.zeros(url_count, np.bool_)
        self._history = VisitHistory()
        self._moved: dict[Url, int] = {}  # targets of redirects, with the ids of the URLs that moved
        self._last_full_update = 0  # number of visits at that time

    # ------------------------------------------------------------ learning

    def learn(self, event: Visit | Skip) -> None:
        self.changed, self.is_full_update = _NO_IDS, False
        if isinstance(event, Skip) or event.change is not None:
            return
        url = event.candidate.url
        page_id = self._page_id(url)
        if event.page is None:
            if event.fetch.outcome is Outcome.MOVED and event.fetch.location is not None and page_id != _NOT_IN_LOG:
                self._moved[event.fetch.location] = page_id
            return
        self._moved.pop(url, None)
        if page_id != _NOT_IN_LOG and self._is_visited[page_id]:
            return
        signature = np.empty(0, np.int64)
        if page_id != _NOT_IN_LOG and "signature" in self._factors:
            signature = self._signatures.of(event.page)
        self._add_visit(page_id, clamped(event.relevance) >= RELEVANT, signature)

    def _page_id(self, url: Url) -> int:
        """The id of a page in the log; the target of a redirect has the id of the URL that moved."""
        page_id = self.access_log.id_of(url)
        return self._moved.get(url, _NOT_IN_LOG) if page_id is None else page_id

    def _add_visit(self, page_id: int, satisfies: bool, signature: Signature) -> None:
        strengthened = self._count(page_id, satisfies, signature)
        if len(self._history) >= self._last_full_update + self._full_update_interval():
            self.update_all()
        elif page_id != _NOT_IN_LOG:
            self._update(page_id, strengthened)

    def _full_update_interval(self) -> int:
        """The interval between full updates, in pages: short at first, since a crawl may be small."""
        so_far, every = self._last_full_update, self._full_every
        return max(1, every // _FIRST_UPDATE_DIVISOR, min(every, so_far), int(_FULL_UPDATE_SHARE * so_far))

    def _count(self, page_id: int, satisfies: bool, signature: Signature) -> Ids:
        """Counts a page; returns the pages whose temporal strength has grown."""
        self._history.append(page_id, satisfies, signature)
        self.tally.learn(satisfies)
        if page_id == _NOT_IN_LOG:
            return _NO_IDS
        self._is_visited[page_id] = True
        users, weights = self.access_log.users_of(page_id), self.access_log.user_weights(page_id)
        self._ratios.count(users, weights, signature, satisfies)
        return self._locality.add(page_id, satisfies) if "temporal" in self._factors else _NO_IDS

    def _update(self, page_id: int, strengthened: Ids) -> None:
        """Updates the users of a page and what else they read: the paper's lazy update.

        strengthened: pages whose temporal strength has grown.
        """
        users = self.access_log.users_of(page_id).astype(np.int64)
        frequency, signature = self._log_ratios_of_users(users)
        more_frequency = frequency - self._frequency_of_user[users]
        more_signature = signature - self._signature_of_user[users]
        change = np.abs(more_frequency) + np.abs(more_signature)
        first = np.argsort(-change, kind="stable")[: np.count_nonzero(change)]
        lengths = self._url_starts[users[first] + 1] - self._url_starts[users[first]]
        first = first[: max(1, int(np.searchsorted(np.cumsum(lengths), _MAX_PAIRS)))]
        chosen, lengths = users[first], lengths[: len(first)]
        pairs = concatenated_ranges(self._url_starts[chosen], lengths)
        urls, weights = self._urls[pairs], 1.0 if self._url_weights is None else self._url_weights[pairs]
        np.add.at(self._frequency, urls, weights * np.repeat(more_frequency[first], lengths))
        np.add.at(self._signature, urls, weights * np.repeat(more_signature[first], lengths))
        self._frequency_of_user[chosen] = frequency[first]
        self._signature_of_user[chosen] = signature[first]
        touched = np.zeros(len(self._frequency), np.bool_)
        touched[urls] = True
        touched[strengthened] = True
        self.changed = np.flatnonzero(touched)

    def update_all(self) -> None:
        """Updates all users and all pages: the paper's periodic update."""
        self._last_full_update = len(self._history)
        self._locality.recount()
        self._ratios.reset_moments()
        all_users = np.arange(self.access_log.users)
        self._frequency_of_user, self._signature_of_user = self._log_ratios_of_users(all_users)
        self._frequency = self._sum_over_users(self._frequency_of_user)
        self._signature = self._sum_over_users(self._signature_of_user)
        self.changed, self.is_full_update = self._pages_read_by(self._ratios.is_known), True

    def _pages_read_by(self, chosen: NDArray[np.bool_]) -> Ids:
        """The pages that any of the chosen users read."""
        (users,) = chosen.nonzero()
        starts = self._url_starts[users]
        touched = np.zeros(len(self._frequency), np.bool_)
        touched[self._urls[concatenated_ranges(starts, self._url_starts[users + 1] - starts)]] = True
        return np.flatnonzero(touched)

    def _sum_over_users(self, of_user: Floats) -> Floats:
        """The sum over the users of every page."""
        logs = np.repeat(of_user, np.diff(self._url_starts))
        if self._url_weights is not None:
            logs *= self._url_weights
        sums: Floats = np.bincount(self._urls, logs, len(self.access_log.urls)).astype(np.float64, copy=False)
        return sums

    def _log_ratios_of_users(self, users: Ids) -> tuple[Floats, Floats]:
        return self._ratios.log_ratios(users, pages=self.tally.pages, base_rate=self.tally.base_rate)

    # ------------------------------------------------------------ evidence

    def log_ratios(self, ids: Ids) -> Floats:
        """log of the interest ratio of pages of the log; 0 without evidence."""
        frequency, signature, temporal = self._factor_log_ratios(ids)
        return frequency + signature + temporal

    def log_ratio_of(self, url: Url) -> float | None:
        """log of the interest ratio; None for a URL that nobody read."""
        page_id = self._page_id(url)
        return None if page_id == _NOT_IN_LOG else float(self.log_ratios(np.array([page_id]))[0])

    def read_with_satisfying(self) -> Ids:
        """The pages read by users who read a page that satisfies the predicate."""
        return self._pages_read_by(self._ratios.has_read_satisfying)

    def explain(self, ids: Ids) -> list[Mapping[str, JsonValue]]:
        """The ratios of each page by factor, and its number of readers."""
        ratios = [np.exp(part).round(3).tolist() for part in self._factor_log_ratios(ids)]
        readers = (self._user_starts[ids + 1] - self._user_starts[ids]).tolist()
        used_factors = [(index, name) for index, name in enumerate(FACTORS) if name in self._factors]
        return [
            {**{name: ratios[index][row] for index, name in used_factors}, "people": count}
            for row, count in enumerate(readers)
        ]

    def _factor_log_ratios(self, ids: Ids) -> tuple[Floats, Floats, Floats]:
        """The clipped logarithms of the factors, in the order of `FACTORS`."""
        clip = self._clip
        temporal = self._locality.log_ratios(ids, self.tally.base_rate, self._smoothing)
        return (
            np.clip(self._frequency[ids], -clip, clip),
            np.clip(self._signature[ids], -clip, clip),
            np.clip(temporal, -clip, clip),
        )

    # ------------------------------------------------------------ state

    def state(self) -> JsonValue:
        return {
            "history": self._history.state(),
            "features": self._signatures.state(),
            "moved": dict(self._moved),
            "refreshed_at": self._last_full_update,
        }

    def restore(self, state: JsonValue) -> None:
        """Replays the history, with the lazy updates since the last full one."""
        self._reset()
        last_full_update = state["refreshed_at"]
        for page_id, satisfies, signature in saved_visits(state["history"]):
            strengthened = self._count(page_id, satisfies, signature)
            if len(self._history) == last_full_update:
                self.update_all()
            elif len(self._history) > last_full_update and page_id != _NOT_IN_LOG:
                self._update(page_id, strengthened)
        self._signatures.restore(state["features"])
        self._moved = dict(state["moved"])
        self.changed, self.is_full_update = _NO_IDS, False
