"""A cache of parsed pages of a world."""

from collections import OrderedDict

from msgspec.structs import replace

from lycosa.vocabulary.records import Page, Url
from lycosa_lab.worlds import StudyWorld


class PageCache:
    """Parses pages of a world, with a least-recently-used cache.

    Links out of the world are dropped: they cannot be followed, and would fill the buffers of some strategies more than
    those of others.

    capacity: number of cached pages.
    """

    def __init__(self, world: StudyWorld, *, capacity: int = 6_000):
        self._world = world
        self._capacity = capacity
        self._cached: OrderedDict[Url, Page | None] = OrderedDict()

    def read(self, url: Url) -> Page | None:
        cached = self._cached
        if url in cached:
            cached.move_to_end(url)
            return cached[url]
        page = cached[url] = self._read(url)
        if len(cached) > self._capacity:
            cached.popitem(last=False)
        return page

    def _read(self, url: Url) -> Page | None:
        page, world = self._world.read(url), self._world
        if page is None or all(link.target in world for link in page.links):
            return page
        return replace(page, links=tuple(link for link in page.links if link.target in world))
