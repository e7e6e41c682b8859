"""The words around the links of a page."""

from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lycosa.reading.words import terms_of, tokens_of
from lycosa.vocabulary.records import Link, Plain, Url

Column = NDArray[np.float64]


def keywords_near(text: str, links: Sequence[Link], keywords: Container[str], *, near: int) -> dict[str, Column]:
    """For each keyword that stands near some link, its Σ 1 / distance at every link.

    The distance is counted in words from the first word of the link, which itself is at 1; what is more than `near`
    words away does not count. A word stands for a keyword if it is one, or else if its stem is.
    """
    words, places_of_links = _words_and_places(text, links)
    terms = {word: word if word in keywords else _stem_of(word) for word in set(words)}
    wanted = {word: term for word, term in terms.items() if term in keywords}
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        if word in wanted:
            places.setdefault(wanted[word], []).append(place)
    offsets = np.arange(-near, near + 1)
    weights = 1.0 / (np.abs(offsets) + 1)
    found: dict[str, Column] = {}
    for keyword, at in places.items():
        reached = (np.array(at)[:, None] + (offsets + near)).ravel()
        at_words = np.bincount(reached, np.tile(weights, len(at)), len(words) + 2 * near + 1)
        at_links = np.asarray(at_words[places_of_links + near], dtype=np.float64)
        if at_links.any():
            found[keyword] = at_links
    return found


def _words_and_places(text: str, links: Sequence[Link]) -> tuple[list[str], NDArray[np.intp]]:
    """All words, and the number of the word at which each link begins."""
    words: list[str] = []
    before: dict[int, int] = {}  # words before a place in the text
    start = 0
    for position in sorted({link.position for link in links}):
        words += tokens_of(text[start:position])
        before[position] = len(words)
        start = position
    words += tokens_of(text[start:])
    return words, np.array([before[link.position] for link in links], dtype=np.intp)


@lru_cache(maxsize=50_000)
def _stem_of(word: str) -> str:
    """Empty for stop words and numbers."""
    return next(iter(terms_of([word], stem=True)), "")


class Surroundings:
    """What is remembered of a page: where its links lead, and which keywords stand near them."""

    def __init__(self, targets: Sequence[Url], depth: int, columns: Mapping[str, Column]):
        self.targets = targets
        self.depth = depth
        self.keywords = list(columns)
        self.inputs = np.array(list(columns.values())).reshape(len(columns), len(targets))  # keyword by link

    def near(self, link: int) -> dict[str, float]:
        """The keywords near a link, by its number."""
        return {key: value for key, value in zip(self.keywords, self.inputs[:, link].tolist(), strict=True) if value}

    def state(self) -> Plain:
        """Inputs as (number of keyword, number of link, value), without zeros."""
        rows, columns = self.inputs.nonzero()
        values = self.inputs[rows, columns]
        return [list(self.targets), self.depth, self.keywords, rows.tolist(), columns.tolist(), values.tolist()]

    @classmethod
    def from_state(cls, state: Plain) -> Self:
        targets, depth, keywords, rows, columns, values = state
        page = cls(targets, depth, dict.fromkeys(keywords, np.zeros(len(targets))))
        page.inputs[rows, columns] = values
        return page


class Memory:
    """The pages remembered, the ones used least lately forgotten first.

    limit: pages; those on which somebody stands are kept beyond it.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._pages: OrderedDict[Url, Surroundings] = OrderedDict()

    def __contains__(self, url: Url) -> bool:
        return url in self._pages

    def recall(self, url: Url) -> Surroundings:
        self._pages.move_to_end(url)
        return self._pages[url]

    def keep(self, url: Url, page: Surroundings, *, occupied: Container[Url]) -> None:
        self._pages[url] = page
        excess = len(self._pages) - self._limit
        if excess > 0:
            for old in self._unused(occupied)[:excess]:
                del self._pages[old]

    def _unused(self, occupied: Container[Url]) -> list[Url]:
        newest = next(reversed(self._pages))
        return [url for url in self._pages if url not in occupied and url != newest]

    def state(self) -> Plain:
        return [[url, page.state()] for url, page in self._pages.items()]

    def restore(self, state: Iterable[Plain]) -> None:
        self._pages = OrderedDict((url, Surroundings.from_state(page)) for url, page in state)
