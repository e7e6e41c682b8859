"""A wrapper that adds a map of earlier crawls to any strategy: portals first, then the pages tied to them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import Candidate, JsonValue, Outcome, Page, Skip, Url, Visit

from .base import BaseStrategy, checked_share, require_unit_scale
from .best_first import BaselineFocused

_DEAD = frozenset((Outcome.GONE, Outcome.UNWANTED))
_UNREACHABLE = frozenset((Outcome.FORBIDDEN, Outcome.REFUSED, Outcome.FAILED, Outcome.BUSY))
PORTALS_AT_ONCE = 10_000  # proposed after one visit; the rest of a larger map follows after later visits


class CrawlMap(Protocol):
    """Pages on the topic found by earlier crawls, some of them portals. Portals are tied to one another, and every
    other page (a spoke) is tied to one portal."""

    @property
    def spokes(self) -> Mapping[Url, Sequence[Url]]:
        """The spokes of each portal; portals in the order in which to visit them."""
        ...

    @property
    def portal_of(self) -> Mapping[Url, Url]:
        """The portal of each spoke."""
        ...

    @property
    def related(self) -> Collection[str]:
        """The related topics: from pages on these, too, the map leads to its portals."""
        ...


@runtime_checkable
class SupportsScaling(Protocol):
    """A strategy that can multiply its own priorities by a factor, so that candidates need not be copied."""

    def scale_priorities(self, share: float) -> None:
        """Multiplies the priority of every link by `share` from now on, and adds it to `because`."""
        ...


class NoMap:
    """The empty map."""

    spokes: Mapping[Url, Sequence[Url]] = {}
    portal_of: Mapping[Url, Url] = {}
    related: Collection[str] = ()


class Mapped(BaseStrategy):
    """Adds links of a map of past crawls to those that another strategy proposes.

    priority = map_priority for links of the map, share * (priority by `inner`) for links of pages

    After a visit to a page of the map, its spokes or its portal are proposed; after the first visit to a portal, or to
    a page on a related topic, all portals are. Pages of the map that are dead or unreachable are not proposed again.

    inner: ranks the links of pages, from 0 to 1.
    crawl_map: the map; without it, this is the inner strategy with scaled priorities.
    map_priority: a higher one favours known pages, a lower one new pages.
    share: factor of the priorities of the inner strategy, 0 to 1.
    topic_of: the topic of a page, or None; without it, no page is on a related topic.

    Shao: Exploring social networks in computer systems (Princeton University 2007), chapter 4.
    """

    name = "mapped"
    needs = frozenset({"map"})

    def __init__(
        self,
        inner: Strategy | None = None,
        crawl_map: CrawlMap | None = None,
        *,
        map_priority: float = 0.6,
        share: float = 0.6,
        topic_of: Callable[[Page], str | None] | None = None,
    ):
        self.inner: Strategy = BaselineFocused() if inner is None else inner
        require_unit_scale(self.inner, "a map", such_as=BaselineFocused.name)
        self.exhaustive = self.inner.exhaustive
        self.uses_standing = self.inner.uses_standing
        self._map: CrawlMap = NoMap() if crawl_map is None else crawl_map
        self._spokes, self._portal_of = self._map.spokes, self._map.portal_of
        self._map_priority = checked_share("map priority", map_priority)
        self._share = checked_share("share", share)
        self._propose_inner: Callable[[Visit | Skip], Iterable[Candidate]] = self._scaled
        if isinstance(self.inner, SupportsScaling):
            self.inner.scale_priorities(self._share)
            self._propose_inner = self.inner.propose
        self._topic_of = topic_of if self._map.related else None
        self._portals_left = len(self._spokes)  # number of portals, at the end of the order, that were not proposed yet
        self._dead: dict[Url, float] = {}
        self._unreachable: dict[Url, None] = {}  # pages of the map that this crawl cannot fetch

    @property
    def dead(self) -> Mapping[Url, float]:
        """Dead pages of the map, with the time at which they were found dead."""
        return self._dead

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        return self.inner.start(seeds)

    def learn(self, event: Visit | Skip) -> None:
        self.inner.learn(event)
        if isinstance(event, Visit) and event.page is not None:
            return
        url = event.candidate.url
        if url not in self._spokes and url not in self._portal_of:
            return
        if isinstance(event, Skip) or event.fetch.outcome in _UNREACHABLE:
            self._unreachable[url] = None
        elif event.fetch.outcome in _DEAD:
            self._dead[url] = event.fetch.at

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        # Once all portals were proposed, only visits to portals add anything.
        if self._portals_left or event.candidate.url in self._spokes:
            return [*self._propose_inner(event), *self._propose_map(event)]
        return self._propose_inner(event)

    def _propose_map(self, event: Visit | Skip) -> Sequence[Candidate]:
        """Candidates for the links of the map from a page that was fetched or redirected."""
        if isinstance(event, Skip) or (event.page is None and event.fetch.outcome is not Outcome.MOVED):
            return ()
        url = event.candidate.url
        if url in self._spokes:
            spokes = self._spokes[url]
            others = [portal for portal in self._next_portals() if portal != url] if self._portals_left else ()
            return self._candidates([*spokes, *others] if others else spokes, event, {"map": url})
        if url in self._portal_of:
            return self._candidates([self._portal_of[url]], event, {"map": url})
        topic = self._topic_of(event.page) if self._topic_of is not None and event.page is not None else None
        if topic is None or topic not in self._map.related:
            return ()
        return self._candidates(self._next_portals(), event, {"map_topic": topic})

    def _next_portals(self) -> Sequence[Url]:
        """The portals to propose next, up to `PORTALS_AT_ONCE`; each is returned once."""
        first = len(self._spokes) - self._portals_left
        portals = list(islice(self._spokes, first, first + PORTALS_AT_ONCE))
        self._portals_left -= len(portals)
        return portals

    def _scaled(self, event: Visit | Skip) -> list[Candidate]:
        """The candidates of the inner strategy, scaled here because it cannot do so itself."""
        share = self._share
        inner_because: Mapping[str, JsonValue] = {}
        scaled_because: Mapping[str, JsonValue] = {}
        scaled = []
        for candidate in self.inner.propose(event):
            if candidate.because is not inner_because:  # candidates of a page share one mapping; keep it that way
                inner_because = candidate.because
                scaled_because = {**inner_because, "share": share}
            scaled.append(
                Candidate(
                    candidate.url,
                    share * candidate.priority,
                    candidate.found_on,
                    candidate.anchor,
                    scaled_because,
                    candidate.depth,
                    candidate.hops,
                    candidate.attempts,
                    candidate.lane,
                )
            )
        return scaled

    def _candidates(self, targets: Iterable[Url], visit: Visit, because: Mapping[str, JsonValue]) -> list[Candidate]:
        """Candidates for pages of the map, without those that are dead or unreachable."""
        if self._dead or self._unreachable:
            targets = [target for target in targets if target not in self._dead and target not in self._unreachable]
        url, depth, priority = visit.candidate.url, visit.candidate.depth + 1, self._map_priority
        return [Candidate(target, priority, url, "", because, depth) for target in targets]

    def merge(self, url: Url, waiting: float, offered: float) -> float:
        return self.inner.merge(url, waiting, offered)

    def state(self) -> JsonValue:
        return {
            "inner": self.inner.state(),
            "portals_left": self._portals_left,
            "dead": [[url, at] for url, at in self._dead.items()],
            "closed": list(self._unreachable),
        }

    def restore(self, state: JsonValue) -> None:
        self.inner.restore(state["inner"])
        self._portals_left = state.get("portals_left", len(self._spokes))  # earlier versions saved none: propose all
        self._dead = dict(state["dead"])
        self._unreachable = dict.fromkeys(state["closed"])
