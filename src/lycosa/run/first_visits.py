"""The first visits of a collection, reduced to links and word counts, so that re-ranking needs no archive."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from lycosa.reading.words import FoldedWords
from lycosa.vocabulary.records import Codes, Visit

_NO_WORDS = FoldedWords(b"")
MAX_VISITS = 1_500  # of about 12 KB each; the last re-ranking is at 1,280 pages


class SlimVisit(NamedTuple):
    """A visit without text and body, with the codes (hashes) and counts of the terms of its page."""

    visit: Visit
    codes: Codes | None  # None without a page
    counts: NDArray[np.uint32] | None

    @property
    def term_counts(self) -> tuple[Codes, Codes] | None:
        """The same as `Words.term_counts`."""
        if self.codes is None or self.counts is None:
            return None
        return self.codes, self.counts.astype(np.uint64)


class FirstVisits:
    """All visits of a collection, up to `MAX_VISITS`; beyond that, none are kept.

    They can be replayed to a strategy that uses only links and relevance.
    """

    def __init__(self) -> None:
        self._visits: list[SlimVisit] | None = []

    @property
    def is_complete(self) -> bool:
        """Whether all visits of the collection are in memory."""
        return self._visits is not None

    def __iter__(self) -> Iterator[SlimVisit]:
        return iter(self._visits or ())

    def add(self, visit: Visit) -> None:
        if self._visits is None:
            return
        if len(self._visits) >= MAX_VISITS:
            self.drop()
            return
        page = visit.page and replace(visit.page, text="", main="", words=_NO_WORDS)
        slim = replace(visit, fetch=replace(visit.fetch, body=b"", content=b""), page=page)
        if visit.page is None:
            self._visits.append(SlimVisit(slim, None, None))
        else:
            codes, counts = visit.page.words.term_counts
            self._visits.append(SlimVisit(slim, codes, counts.astype(np.uint32)))

    def drop(self) -> None:
        """Discards all visits; none are kept from now on."""
        self._visits = None
