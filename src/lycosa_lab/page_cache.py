"""The pages of a world as the lab reads them: each parsed once."""

from collections import OrderedDict

from msgspec.structs import replace

from lycosa.vocabulary.records import Page, Url
from lycosa_lab.worlds import StudyWorld


class PageCache:
    """Reads pages of a world and keeps the last ones (least recently used first out).

    Links that lead out of the world are left out: nobody could follow them, and they would fill the buffers of the
    strategies, some more than others.

    capacity: pages kept.
    """

    def __init__(self, world: StudyWorld, *, capacity: int = 6_000):
        self._world = world
        self._capacity = capacity
        self._kept: OrderedDict[Url, Page | None] = OrderedDict()

    def read(self, url: Url) -> Page | None:
        kept = self._kept
        if url in kept:
            kept.move_to_end(url)
            return kept[url]
        page = kept[url] = self._read(url)
        if len(kept) > self._capacity:
            kept.popitem(last=False)
        return page

    def _read(self, url: Url) -> Page | None:
        page, world = self._world.read(url), self._world
        if page is None or all(link.target in world for link in page.links):
            return page
        return replace(page, links=tuple(link for link in page.links if link.target in world))
