"""The history of a collection as refresh policies want it. Time is in seconds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from msgspec import Struct

from lycosa.collection import Catalog
from lycosa.collection.rows import RefreshState
from lycosa.refresh import HistoryTable, Look, history_of
from lycosa.vocabulary.records import Change, Url

LEAST = 0.01  # importance of any page, so that none is never seen again
_UNKNOWN = 0.5  # relevance or standing where no page of the collection tells any

_ALTERED = frozenset((Change.CHANGED, Change.VANISHED, Change.RETURNED))
_IN_VAIN = frozenset((Change.FAILED, Change.REFUSED))


class Typical(Struct, frozen=True):
    """The average page, which stands in for what is not known of another."""

    relevance: float = _UNKNOWN
    standing: float = _UNKNOWN

    def importance(self, relevance: float | None, standing: float | None) -> float:
        """Relevance × standing; never so little that a page is never seen again."""
        known_relevance = self.relevance if relevance is None else relevance
        return max(LEAST, known_relevance * (self.standing if standing is None else standing))


def history_in(catalog: Catalog, now: float, *, is_wanted: Callable[[Url], bool] = lambda url: True) -> HistoryTable:
    """The pages that may be seen again, with how often and when they were seen, and how often they had changed.

    A page that has vanished is due again after as long as it had been gone when it was last seen to be: soon at first,
    then less and less often.
    """
    every = list(catalog.refresh_states())
    pages, typical = [page for page in every if is_wanted(page.url) and _is_due(page, now)], typical_of(every)
    importance = {page.url: typical.importance(page.relevance, page.standing) for page in pages}
    table = history_of(_looks(catalog, {page.number for page in pages}), importance=importance)
    looked_at = {page.url: page.looked_at for page in pages}
    return replace(table, fetched_at=np.array([looked_at[url] for url in table.urls], dtype=np.float64))


def typical_of(pages: Iterable[RefreshState]) -> Typical:
    pages = list(pages)
    return Typical(_mean(page.relevance for page in pages), _mean(page.standing for page in pages))


def _is_due(page: RefreshState, now: float) -> bool:
    return page.vanished_at is None or now - page.looked_at >= page.looked_at - page.vanished_at


def _looks(catalog: Catalog, wanted: set[int]) -> Iterator[Look]:
    scores = catalog.link_scores()
    for number, url, look in catalog.all_looks():
        if number in wanted and look.change not in _IN_VAIN:
            changed = look.change in _ALTERED
            yield Look(url, look.at, changed, look.links or 0, look.new_links, float(scores.get(number, 0.0)))


def _mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else _UNKNOWN
