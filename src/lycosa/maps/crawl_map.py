"""What a crawl needs of a map, in memory."""

from collections.abc import Collection, Mapping, Sequence

from lycosa.vocabulary.records import Url

from .drawing import TopicMap

MOST_LINKS = 10_000  # that a map adds to one page; a hostile one may have millions


class CrawlMap:
    """The map of one topic by URL: its portals, the spokes of each, and the topics from whose pages it leads to them.

    Portals are all tied to one another. Nobody looks these ties up while crawling: whoever has met one portal is given
    them all.
    """

    def __init__(self, portals: Sequence[Url], spokes: Mapping[Url, Sequence[Url]], *, related: Collection[str] = ()):
        self.portals: tuple[Url, ...] = tuple(portals)
        self.spokes: Mapping[Url, tuple[Url, ...]] = {
            url: tuple(spokes.get(url, ())[:MOST_LINKS]) for url in self.portals
        }
        self.portal_of: Mapping[Url, Url] = {node: portal for portal, nodes in self.spokes.items() for node in nodes}
        self._places = {url: place for place, url in enumerate(self.portals)}
        self.related: frozenset[str] = frozenset(related)

    def __len__(self) -> int:
        return len(self.portals) + len(self.portal_of)

    def links_of(self, url: Url) -> tuple[Url, ...]:
        """Where the map leads from a page: from a portal to its spokes and the other portals, as many as one page may
        lead to; else to its portal."""
        place = self._places.get(url)
        if place is not None:
            return (self.spokes[url] + self.portals[:place] + self.portals[place + 1 :])[:MOST_LINKS]
        return (self.portal_of[url],) if url in self.portal_of else ()


def crawl_map_of(
    drawn: TopicMap, urls: Mapping[int, Url] | Sequence[Url], *, related: Collection[str] = ()
) -> CrawlMap:
    """A map just drawn, for a crawl in the same process. `urls` tells the URL of every number in it."""
    spokes = {urls[portal]: [urls[node] for node in nodes] for portal, nodes in drawn.spokes.items()}
    return CrawlMap([urls[portal] for portal in drawn.portals], spokes, related=related)
