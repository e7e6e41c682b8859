"""What readers tell of pages not seen yet, by what was learnt of pages seen.

How others use it, in this order at every event:

    evidence.learn(event)             a Visit or a Skip
    evidence.changed                  pages of the log about which something new is known, by their numbers; only
                                      pages somebody read of whom another page was visited
    evidence.log_ratios(ids)          log of the interest ratio of each; 0 where nothing is known
    evidence.told(ids)                the factors by kind, for `because`
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lycosa.logs.readings import Readings
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import RELEVANT, Outcome, Plain, Skip, Url, Visit

from .history import History, told_by
from .interest import Tally
from .locality import Locality
from .reader_ratios import ReaderRatios
from .signatures import Classes, ClosestClasses, Signature, Signatures, WordSignatures
from .unit_scale import clamped

Ids = NDArray[np.int64]
Reals = NDArray[np.float64]

FACTORS = ("frequency", "signature", "temporal")
_MOST_CELLS = 16_000_000  # of readers times features: 128 MB
_MOST_PAIRS = 60_000  # of readers and what they read, looked at for one page
_LONGER = 0.2  # by which the pages between two full updates grow with the crawl
_SOONER = 5  # times sooner comes the first
_NOT_READ = -1  # the number of a page that is not in the log
_NONE: Ids = np.empty(0, np.int64)


class ReadersEvidence:
    """The interest ratio of pages that people read, learnt from which of their other pages satisfy a predicate.

    With P(U) the share of pages visited that satisfy the predicate, its factors are
    *frequency*, the product over the readers i of P(U|R_i) / P(U), where P(U|R_i) = q_i^u / q_i is the share of the
    pages visited and read by i; only readers count for whom |P(U|R_i) - P(U)| / sqrt(P(U)(1 - P(U)) / N) reaches
    `significance`;
    *signature*, the product over the readers of SF_i, the mean over all features j that i has met of
    (r_ij^u / r_ij) / P(V_i); only readers count whose SF_i is `significance` standard deviations from the mean of all;
    *temporal*, f1 / P(U) for pages read shortly before or after one that satisfies the predicate, f2 / P(U) for
    others, where f1 and f2 are the shares of such pages, and of others, that satisfy it.

    All in logarithms. Counts are smoothed as if `smoothing` more pages had been as usual, P(U) by half a page to each
    side. Accesses count by their weights. A page satisfies the predicate from a relevance of 0.5 on.

    After a page, its readers are looked at, and the pages they read, as far as the readers' ratios changed most; from
    time to time everything is. `state` has what was visited, not what follows from it.

    factors: which of them count.
    around: accesses before, and after, that are near.
    signatures: "words", or a taxonomy whose closest classes are the features.
    trials: N above: pages visited ("crawl", as the paper has it), or those of them that i read ("reader").
    base: P(V_i) above, which the paper leaves open: P(U) ("crawl"), so that SF_i tells readers apart as I^B does; or
    P(U|R_i) ("reader"), so that it tells only how evenly what i likes is spread over features.
    full_every: pages between full updates; a fifth of it for the first, whereafter they double; later a fifth of the
    crawl.
    clip: the largest logarithm of a factor, either way.
    half_life: days after which an access counts half; None: it counts as the readings say, which is mostly 1.

    Aggarwal: Collaborative crawling: mining user experiences for topical resource discovery (KDD 2002).
    """

    def __init__(
        self,
        readings: Readings | None,
        *,
        factors: Sequence[str] = FACTORS,
        significance: float = 2.0,
        around: int = 3,
        signatures: Literal["words"] | Classes = "words",
        trials: Literal["crawl", "reader"] = "crawl",
        base: Literal["crawl", "reader"] = "crawl",
        smoothing: float = 1.0,
        clip: float = 10.0,
        full_every: int = 25,
        half_life: float | None = None,
    ):
        readings = Readings.of(()) if readings is None else readings
        readings = readings if half_life is None else readings.aged(half_life)
        for name in set(factors) - set(FACTORS):
            raise UsageError(f"no factor {name!r}; there are {', '.join(FACTORS)}")
        if around < 1 or full_every < 1 or significance < 0 or smoothing < 0:
            raise UsageError("pages around, and between full updates, are 1 or more; no number is below 0")
        self.readings = readings
        self._factors = frozenset(factors)
        self._significance = significance
        self._around = around
        self._taxonomy = None if isinstance(signatures, str) else signatures
        self._by_reader = trials == "reader"
        self._from_reader = base == "reader"
        self._smoothing = smoothing
        self._clip = clip
        self._full_every = full_every
        self._people_to, _ = readings.readers
        self._read_from, self._read = readings.read
        self._read_weights = readings.all_read_weights if readings.is_aged else None
        self._begin()

    def _begin(self) -> None:
        urls, users = len(self.readings.urls), self.readings.users
        self.tally = Tally()
        self.changed: Ids = _NONE
        self.is_full = False  # whether the last event brought a full update
        self._locality = Locality(self.readings, self._around)
        self._signatures: Signatures
        if self._taxonomy is None:
            self._signatures = WordSignatures(max(16, min(512, _MOST_CELLS // max(1, users))))
        else:
            self._signatures = ClosestClasses(self._taxonomy)
        self._ratios = ReaderRatios(
            users,
            self._signatures.size,
            factors=self._factors,
            significance=self._significance,
            by_reader=self._by_reader,
            from_reader=self._from_reader,
            smoothing=self._smoothing,
        )
        self._frequency_of_reader: Reals = np.zeros(users)  # logarithms, as far as they are in the sums of the pages
        self._signature_of_reader: Reals = np.zeros(users)
        self._frequency: Reals = np.zeros(urls)  # sums over the readers of each page
        self._signature: Reals = np.zeros(urls)
        self._is_visited: NDArray[np.bool_] = np.zeros(urls, np.bool_)
        self._history = History()
        self._moved: dict[Url, int] = {}
        self._refreshed_at = 0

    # ------------------------------------------------------------ learning

    def learn(self, event: Visit | Skip) -> None:
        self.changed, self.is_full = _NONE, False
        if isinstance(event, Skip) or event.change is not None:
            return
        url = event.candidate.url
        number = self._number_of(url)
        if event.page is None:
            if event.fetch.outcome is Outcome.MOVED and event.fetch.location is not None and number != _NOT_READ:
                self._moved[event.fetch.location] = number
            return
        self._moved.pop(url, None)
        if number != _NOT_READ and self._is_visited[number]:
            return
        signature = np.empty(0, np.int64)
        if number != _NOT_READ and "signature" in self._factors:
            signature = self._signatures.of(event.page)
        self._take_in(number, clamped(event.relevance) >= RELEVANT, signature)

    def _number_of(self, url: Url) -> int:
        """What was read at a URL that has moved was read at the one it has moved to."""
        number = self.readings.id_of(url) if isinstance(url, str) else None
        return self._moved.get(url, _NOT_READ) if number is None else number

    def _take_in(self, number: int, satisfies: bool, signature: Signature) -> None:
        nearer = self._count(number, satisfies, signature)
        if len(self._history) >= self._refreshed_at + self._pages_between():
            self.refresh()
        elif number != _NOT_READ:
            self._update(number, nearer)

    def _pages_between(self) -> int:
        """Pages from the last full update to the next: few at first, since a small crawl may end before long."""
        so_far, usual = self._refreshed_at, self._full_every
        return max(1, usual // _SOONER, min(usual, so_far), int(_LONGER * so_far))

    def _count(self, number: int, satisfies: bool, signature: Signature) -> Ids:
        """Counts a page; returns those that are nearer in time to satisfying ones than before."""
        self._history.append(number, satisfies, signature)
        self.tally.learn(satisfies)
        if number == _NOT_READ:
            return _NONE
        self._is_visited[number] = True
        readers, weights = self.readings.readers_of(number), self.readings.reader_weights(number)
        self._ratios.count(readers, weights, signature, satisfies)
        return self._locality.add(number, satisfies) if "temporal" in self._factors else _NONE

    def _update(self, number: int, nearer: Ids) -> None:
        """Looks anew at the readers of a page and at what else they read; the paper's lazy update."""
        readers = self.readings.readers_of(number).astype(np.int64)
        frequency, signature = self._logs_of(readers)
        more_frequency = frequency - self._frequency_of_reader[readers]
        more_signature = signature - self._signature_of_reader[readers]
        change = np.abs(more_frequency) + np.abs(more_signature)
        first = np.argsort(-change, kind="stable")[: np.count_nonzero(change)]
        lengths = self._read_from[readers[first] + 1] - self._read_from[readers[first]]
        first = first[: max(1, int(np.searchsorted(np.cumsum(lengths), _MOST_PAIRS)))]
        chosen, lengths = readers[first], lengths[: len(first)]
        pairs = _places(self._read_from[chosen], lengths)
        urls, weights = self._read[pairs], 1.0 if self._read_weights is None else self._read_weights[pairs]
        np.add.at(self._frequency, urls, weights * np.repeat(more_frequency[first], lengths))
        np.add.at(self._signature, urls, weights * np.repeat(more_signature[first], lengths))
        self._frequency_of_reader[chosen] = frequency[first]
        self._signature_of_reader[chosen] = signature[first]
        touched = np.zeros(len(self._frequency), np.bool_)
        touched[urls] = True
        touched[nearer] = True
        self.changed = np.flatnonzero(touched)

    def refresh(self) -> None:
        """Looks at all readers and all pages anew; the paper's periodic update."""
        self._refreshed_at = len(self._history)
        self._locality.recount()
        self._ratios.forget_spread()
        everybody = np.arange(self.readings.users)
        self._frequency_of_reader, self._signature_of_reader = self._logs_of(everybody)
        self._frequency = self._summed(self._frequency_of_reader)
        self._signature = self._summed(self._signature_of_reader)
        self.changed, self.is_full = self._read_by(self._ratios.is_known), True

    def _read_by(self, chosen: NDArray[np.bool_]) -> Ids:
        """The pages that any of some readers read."""
        (readers,) = chosen.nonzero()
        starts = self._read_from[readers]
        touched = np.zeros(len(self._frequency), np.bool_)
        touched[self._read[_places(starts, self._read_from[readers + 1] - starts)]] = True
        return np.flatnonzero(touched)

    def _summed(self, of_reader: Reals) -> Reals:
        """The sum over the readers of every page."""
        logs = np.repeat(of_reader, np.diff(self._read_from))
        if self._read_weights is not None:
            logs *= self._read_weights
        sums: Reals = np.bincount(self._read, logs, len(self.readings.urls)).astype(np.float64, copy=False)
        return sums

    def _logs_of(self, users: Ids) -> tuple[Reals, Reals]:
        return self._ratios.logs(users, pages=self.tally.pages, usual=self.tally.usual)

    # ------------------------------------------------------------ telling

    def log_ratios(self, ids: Ids) -> Reals:
        """log of the interest ratio of pages of the log; 0 where nothing is known."""
        frequency, signature, temporal = self._parts(ids)
        return frequency + signature + temporal

    def log_ratio_of(self, url: Url) -> float | None:
        """log of the interest ratio; None for a URL that nobody read."""
        number = self._number_of(url)
        return None if number == _NOT_READ else float(self.log_ratios(np.array([number]))[0])

    def liked(self) -> Ids:
        """The pages that somebody read who read a page that satisfies the predicate."""
        return self._read_by(self._ratios.has_satisfied)

    def told(self, ids: Ids) -> list[Mapping[str, Plain]]:
        """The ratios of pages by kind, and how many people read each."""
        ratios = [np.exp(part).round(3).tolist() for part in self._parts(ids)]
        people = (self._people_to[ids + 1] - self._people_to[ids]).tolist()
        kinds = [(place, name) for place, name in enumerate(FACTORS) if name in self._factors]
        return [
            {**{name: ratios[place][row] for place, name in kinds}, "people": count} for row, count in enumerate(people)
        ]

    def _parts(self, ids: Ids) -> tuple[Reals, Reals, Reals]:
        clip = self._clip
        temporal = self._locality.log_ratios(ids, self.tally.usual, self._smoothing)
        return (
            np.clip(self._frequency[ids], -clip, clip),
            np.clip(self._signature[ids], -clip, clip),
            np.clip(temporal, -clip, clip),
        )

    # ------------------------------------------------------------ state

    def state(self) -> Plain:
        return {
            "history": self._history.state(),
            "features": self._signatures.state(),
            "moved": dict(self._moved),
            "refreshed_at": self._refreshed_at,
        }

    def restore(self, state: Plain) -> None:
        """Counts again what was visited, and looks again at what was looked at since the last full update."""
        self._begin()
        refreshed_at = state["refreshed_at"]
        for number, satisfies, signature in told_by(state["history"]):
            nearer = self._count(number, satisfies, signature)
            if len(self._history) == refreshed_at:
                self.refresh()
            elif len(self._history) > refreshed_at and number != _NOT_READ:
                self._update(number, nearer)
        self._signatures.restore(state["features"])
        self._moved = dict(state["moved"])
        self.changed, self.is_full = _NONE, False


def _places(starts: Ids, lengths: Ids) -> Ids:
    """The places of some runs in a column, one run after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
