"""What came of a refresh, in numbers and by name."""

from collections import Counter
from heapq import nlargest
from typing import Any

from msgspec import Struct

from lycosa.vocabulary.records import Change, Url, Visit

from .histories import Typical

NAMED = 5  # pages of each kind that a result names, the most important


class Named(Struct, frozen=True):
    """A page that a result names."""

    url: Url
    title: str
    importance: float


class Refreshed(Struct, frozen=True):
    """A refresh in numbers. Pages *looked at* were in the collection before; *new* ones were not."""

    policy: str
    budget: int
    requests: int  # made; those for robots.txt aside
    looked_at: int
    unchanged: int
    changed: int
    vanished: int
    returned: int  # had vanished before
    still_gone: int
    failed: int  # could not be had this time
    refused: int  # not looked at, as their addresses are not ones to connect to
    new: int
    led_nowhere: int  # links that were followed and brought no page
    changed_pages: list[Named]
    new_pages: list[Named]
    vanished_pages: list[Named]
    returned_pages: list[Named]
    expected_changes: dict[str, float]  # that each policy would find with the same budget a day from now
    pages: int  # in the collection
    stopped: str


class Tally:
    """Folds the visits of a refresh."""

    def __init__(self) -> None:
        self.counts: Counter[Change | str] = Counter()
        self.known: dict[Url, Named] = {}  # the pages that are to be seen again, as they were
        self.typical = Typical()  # page of the collection
        self._named: dict[Change | str, list[Named]] = {}

    def add(self, visit: Visit) -> None:
        kind = visit.change or ("new" if visit.is_kept else "led nowhere")
        self.counts[kind] += 1
        if kind in ("new", Change.CHANGED, Change.VANISHED, Change.RETURNED):
            named = self._named.setdefault(kind, [])
            named.append(self._called(visit))
            if len(named) > 20 * NAMED:
                self._named[kind] = _most_important(named)

    def _called(self, visit: Visit) -> Named:
        url = visit.candidate.url
        if visit.page is None or not visit.is_kept:
            return self.known.get(url, Named(url, "", 0.0))
        return Named(url, visit.page.title, round(self.typical.importance(visit.relevance, visit.standing), 4))

    @property
    def looked_at(self) -> int:
        return sum(self.counts[change] for change in Change if change is not Change.REFUSED)

    def result(self, **more: Any) -> Refreshed:
        counts = self.counts
        return Refreshed(
            looked_at=self.looked_at,
            unchanged=counts[Change.UNCHANGED],
            changed=counts[Change.CHANGED],
            vanished=counts[Change.VANISHED],
            returned=counts[Change.RETURNED],
            still_gone=counts[Change.STILL_GONE],
            failed=counts[Change.FAILED],
            refused=counts[Change.REFUSED],
            new=counts["new"],
            led_nowhere=counts["led nowhere"],
            changed_pages=self._most(Change.CHANGED),
            new_pages=self._most("new"),
            vanished_pages=self._most(Change.VANISHED),
            returned_pages=self._most(Change.RETURNED),
            **more,
        )

    def _most(self, kind: Change | str) -> list[Named]:
        return _most_important(self._named.get(kind, []))


def _most_important(pages: list[Named]) -> list[Named]:
    return nlargest(NAMED, pages, key=lambda page: page.importance)
