"""The pages of a world as the lab reads them: each parsed once, and judged once for each topic."""

from collections import OrderedDict
from math import sqrt

import numpy as np
from msgspec.structs import replace

from lycosa.vocabulary.records import Codes, Page, Url
from lycosa.worlds import StudyWorld


class PageCache:
    """Reads pages of a world and keeps the last ones.

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


class TopicCosine:
    """The cosine between a topic and a page, both as raw counts of their terms."""

    def __init__(self, topic: Page):
        self._codes, counts = topic.words.counted
        self._weights = counts / (sqrt(float(counts @ counts)) or 1.0)
        self._known: dict[Url, float] = {}

    def __call__(self, page: Page) -> float:
        known = self._known.get(page.url)
        if known is None:
            known = self._known[page.url] = self._cosine(*page.words.counted)
        return known

    def _cosine(self, codes: Codes, counts: Codes) -> float:
        if not len(codes) or not len(self._codes):
            return 0.0
        places = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        shared = self._codes[places] == codes
        product = float(self._weights[places[shared]] @ counts[shared])
        return product / sqrt(float(counts @ counts))
