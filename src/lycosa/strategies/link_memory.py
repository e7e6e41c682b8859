"""Which pages link to the URLs that wait."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.records import Plain, Url

from .interest import Ids
from .settled import number_of

NO_PAGE = -1  # of a URL that is settled: there was no page
_PARENTS = 4  # of a URL that are remembered, the latest


class Lead(Struct):
    """A URL that waits, and what is known of it."""

    found_on: Url
    anchor: str
    depth: int
    parents: list[int]  # the latest pages that link here, by number
    linking: int = 0  # pages that link here
    satisfying: int = 0  # of these
    tokens: tuple[int, ...] | None = None  # of the URL, once they were asked for; not saved


class Parent(Struct):
    """A page visited some of whose links wait."""

    words: Ids
    targets: dict[Url, None]  # that wait
    seen: int = 0  # pages that it links to and that were visited
    satisfying: int = 0  # of these


class LinkMemory:
    """The URLs that wait, the pages that link to them, and what came of those visited.

    waiting, pages, visited: how many of each are remembered; the oldest are forgotten.
    """

    def __init__(self, *, waiting: int, pages: int, visited: int):
        self._most = waiting, pages, visited
        self.leads: dict[Url, Lead] = {}  # those looked at longest ago first
        self._parents: dict[int, Parent] = {}
        self._visited: dict[int, int] = {}  # by key: 1 satisfies, 0 does not, or NO_PAGE
        self._last_parent = 0

    def judged(self, url: Url) -> int | None:
        """1 for a page that satisfies the predicate, 0 for another, NO_PAGE, or None for what is not settled."""
        return self._visited.get(number_of(url))

    def parents_of(self, lead: Lead | None) -> list[Parent]:
        """The pages that link to a URL and are remembered."""
        return [self._parents[number] for number in lead.parents if number in self._parents] if lead else []

    def link(self, here: Url, depth: int, links: Iterable[tuple[Url, str]], words: Ids, satisfies: bool) -> list[Url]:
        """Notes where a page links to, by URL and anchor; returns the URLs that wait."""
        self._last_parent += 1
        number, parent = self._last_parent, Parent(words, {})
        for target, anchor in links:
            judged = self.judged(target)
            if judged is not None:
                parent.seen += judged != NO_PAGE
                parent.satisfying += judged == 1
                continue
            lead = self.leads.get(target)
            if lead is None:
                lead = self.leads[target] = Lead(here, anchor, depth, [])
            lead.linking += 1
            lead.satisfying += satisfies
            lead.parents.append(number)
            if len(lead.parents) > _PARENTS:
                self._part(lead.parents.pop(0), target)
            parent.targets[target] = None
        if parent.targets:
            self._parents[number] = parent
        return list(parent.targets)

    def settle(self, url: Url, judged: int) -> None:
        """What came of a URL; nothing leads to it any more."""
        key = number_of(url)
        self._visited.pop(key, None)
        self._visited[key] = judged
        self.drop(url)

    def drop(self, url: Url) -> None:
        """Forgets a URL, which may come back."""
        lead = self.leads.pop(url, None)
        for number in lead.parents if lead else ():
            self._part(number, url)

    def move(self, url: Url, target: Url) -> None:
        """What is known of a URL is known of the one it has moved to, unless that is known already."""
        lead = self.leads.get(url)
        if lead is None or target in self.leads or self.judged(target) is not None:
            return
        self.leads[target] = replace(lead, parents=list(lead.parents))
        for parent in self.parents_of(lead):
            parent.targets[target] = None

    def siblings(self, parents: Iterable[Parent], most: int) -> list[Url]:
        """Some of the waiting URLs to which the same pages link."""
        found: dict[Url, None] = {}
        for parent in parents:
            found |= dict.fromkeys(islice(parent.targets, most))
        return list(islice(found, most))

    def oldest(self, most: int) -> list[Url]:
        return list(islice(self.leads, most))

    def look_at(self, urls: Iterable[Url]) -> None:
        """They are the youngest now."""
        for url in urls:
            self.leads[url] = self.leads.pop(url)

    def forget(self) -> None:
        """Keeps no more than it may."""
        waiting, pages, visited = self._most
        while len(self.leads) > waiting:
            self.drop(next(iter(self.leads)))
        while len(self._parents) > pages:
            del self._parents[next(iter(self._parents))]
        while len(self._visited) > visited:
            del self._visited[next(iter(self._visited))]

    def _part(self, number: int, url: Url) -> None:
        parent = self._parents.get(number)
        if parent is not None:
            parent.targets.pop(url, None)
            if not parent.targets:
                del self._parents[number]

    def state(self) -> Plain:
        places = {url: place for place, url in enumerate(self.leads)}
        return {
            "leads": [
                [url, lead.found_on, lead.anchor, lead.depth, lead.parents, lead.linking, lead.satisfying]
                for url, lead in self.leads.items()
            ],
            "parents": [
                [number, parent.words.tolist(), [places[url] for url in parent.targets], parent.seen, parent.satisfying]
                for number, parent in self._parents.items()
            ],
            "visited": [list(self._visited), list(self._visited.values())],
            "last_parent": self._last_parent,
        }

    def restore(self, state: Plain) -> None:
        self.leads = {url: Lead(*known) for url, *known in state["leads"]}
        urls = list(self.leads)
        self._parents = {
            number: Parent(np.array(words, np.int64), _urls_at(targets, urls), seen, satisfying)
            for number, words, targets, seen, satisfying in state["parents"]
        }
        self._visited = dict(zip(*state["visited"], strict=True))
        self._last_parent = state["last_parent"]


def _urls_at(places: Sequence[int], urls: Sequence[Url]) -> dict[Url, None]:
    return dict.fromkeys(urls[place] for place in places)
