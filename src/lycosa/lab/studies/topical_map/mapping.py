"""Maps drawn from a crawl in the lab."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.maps import CrawlMap, Reach, Resemblance, TopicMap, crawl_map_of, draw_map
from lycosa.vocabulary.records import Url

from .pages import JudgedPages


class Drawn(NamedTuple):
    """A map, and the pages by whose places it goes."""

    name: str
    map: TopicMap
    urls: Sequence[Url]
    links: int  # hyperlinks among the pages

    def for_crawl(self, *, related: Sequence[str] = ()) -> CrawlMap:
        """As a crawl uses it, which goes to the portals also where it meets pages on the related topics."""
        return crawl_map_of(self.map, self.urls, related=related)


def drawn(
    name: str, good: Sequence[Url], pages: JudgedPages, *, seed: int, reach: Reach = "mixed", by_text: bool = False
) -> Drawn:
    """The map of some good pages."""
    links = links_among(good, pages)
    similarity = Resemblance({place: pages.sketch(url) for place, url in enumerate(good)}) if by_text else None
    topic_map = draw_map(range(len(good)), links, seed=seed, reach=reach, similarity=similarity)
    return Drawn(name, topic_map, good, len(links))


def links_among(urls: Sequence[Url], pages: JudgedPages) -> NDArray[np.int64]:
    """The hyperlinks from one page to another, by their places in the sequence, one a row."""
    number = {url: place for place, url in enumerate(urls)}
    found = [
        (source, number[link.target])
        for source, url in enumerate(urls)
        if (judged := pages.judged(url)) is not None
        for link in judged.page.links
        if link.target in number
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)
