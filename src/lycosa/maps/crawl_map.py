"""What a crawl needs of a map, in memory."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy

from lycosa.vocabulary.records import Url

from .drawing import TopicMap

MOST_LINKS = 10_000  # that a map adds to one page; a hostile one may have millions


class CrawlMap:
    """The map of one topic by URL: where it leads from each of its pages, and from pages of related topics.

    Portals are tied to one another; `spokes_of` leaves these ties out, for those who propose all portals but once.
    """

    def __init__(self, portals: Sequence[Url], spokes: Mapping[Url, Sequence[Url]], *, related: Collection[str] = ()):
        self.portals: tuple[Url, ...] = tuple(portals[:MOST_LINKS])
        self.related: frozenset[str] = frozenset(related)
        self._twice = self.portals * 2  # those after a portal and then those before it are one stretch of this
        self._places = {url: place for place, url in enumerate(self.portals)}
        self._spokes = {url: tuple(spokes.get(url, ())[:MOST_LINKS]) for url in self.portals}
        self._portal_of = {node: (portal,) for portal, nodes in self._spokes.items() for node in nodes}

    def __len__(self) -> int:
        return len(self._places) + len(self._portal_of)

    def is_mapped(self, url: Url) -> bool:
        return url in self._portal_of or url in self._places

    def is_portal(self, url: Url) -> bool:
        return url in self._places

    def links_of(self, url: Url) -> tuple[Url, ...]:
        """Where the map leads from a page: from a portal to its spokes and the other portals, else to its portal."""
        place = self._places.get(url)
        if place is None:
            return self._portal_of.get(url, ())
        links = self._spokes[url] + self._twice[place + 1 : place + len(self.portals)]
        return links if len(links) <= MOST_LINKS else links[:MOST_LINKS]

    def spokes_of(self, url: Url) -> tuple[Url, ...]:
        """The same, less the ties of portals to one another."""
        spokes = self._spokes.get(url)
        return self._portal_of.get(url, ()) if spokes is None else spokes

    def related_portals(self, topic: str) -> tuple[Url, ...]:
        """Where the map leads from any page of another topic: to the portals, if that topic is a related one."""
        return self.portals if topic in self.related else ()

    def relating(self, topics: Collection[str]) -> "CrawlMap":
        """The same map with other related topics."""
        other = copy(self)
        other.related = frozenset(topics)
        return other


def crawl_map_of(
    drawn: TopicMap, urls: Mapping[int, Url] | Sequence[Url], *, related: Collection[str] = ()
) -> CrawlMap:
    """A map just drawn, for a crawl in the same process. `urls` tells the URL of every number in it."""
    spokes = {urls[portal]: [urls[node] for node in nodes] for portal, nodes in drawn.spokes.items()}
    return CrawlMap([urls[portal] for portal in drawn.portals], spokes, related=related)
