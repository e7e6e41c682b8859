"""Counts of in-links: at once, of a collection or a graph, or page by page as a crawl proceeds."""

from array import array
from collections.abc import Iterable

import numpy as np

from lycosa.vocabulary.records import JsonValue, Url
from lycosa.vocabulary.urls import secure_key_of


def count_in_links(links: Iterable[tuple[Url, Url]]) -> dict[Url, int]:
    """The number of other pages that link to each page, from sources and targets of links in any order.

    Links within a site count; self-links do not, and a page that links twice counts once. Pages that are only sources
    have 0.
    """
    numbers: dict[Url, int] = {}
    pairs = array("q")  # source and target by their numbers
    for source, target in links:
        numbers.setdefault(source, len(numbers))
        number = numbers.setdefault(target, len(numbers))
        if source != target:
            pairs.append(numbers[source] << 32 | number)
    targets = np.unique(np.frombuffer(pairs, np.int64)) & 0xFFFF_FFFF
    counts = np.bincount(targets, minlength=len(numbers))
    return dict(zip(numbers, counts.tolist(), strict=True))


class InLinkIndex:
    """Counts the in-links of URLs, fetched or not, over the pages seen so far.

    A page counts once for each other URL it links to; a page seen again is ignored. URLs are kept as 64-bit keys.

    >>> index = InLinkIndex()
    >>> index.add(Url("http://a.example/"), [Url("http://b.example/")] * 2)
    >>> index.count(Url("http://b.example/"))
    1
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._in_links: dict[int, int] = {}

    def add(self, url: Url, targets: Iterable[Url]) -> None:
        """Counts the links of a page that was fetched."""
        source = secure_key_of(url)
        if source in self._seen:
            return
        self._seen.add(source)
        in_links = self._in_links
        for target in set(targets):
            key = secure_key_of(target)
            if key != source:
                in_links[key] = in_links.get(key, 0) + 1

    def count(self, url: Url) -> int:
        """The number of pages seen so far that link to a URL."""
        return self._in_links.get(secure_key_of(url), 0)

    def __len__(self) -> int:
        """The number of pages seen."""
        return len(self._seen)

    def state(self) -> JsonValue:
        return {"seen": list(self._seen), "linked": list(self._in_links), "counts": list(self._in_links.values())}

    def restore(self, state: JsonValue) -> None:
        self._seen = set(state["seen"])
        self._in_links = dict(zip(state["linked"], state["counts"], strict=True))
