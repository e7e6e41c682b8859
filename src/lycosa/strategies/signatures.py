"""Signatures of pages: the few features by which readers of different pages may be compared."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Page, Plain

Signature = NDArray[np.int64]  # features as numbers, each once

_WORDS = 20  # of a page, the most frequent
_RARE = 3  # pages that must have had a word before it is a feature
_MOST_REMEMBERED = 4_096  # words that may become features
_CLOSEST = 5  # classes of a page


class Classes(Protocol):
    """What tells how likely a page belongs to each of some classes, as `relevance.Taxonomy` does."""

    @property
    def topics(self) -> tuple[str, ...]: ...

    def chances(self, page: Page) -> NDArray[np.float64]: ...


class Signatures(Protocol):
    """What pages are compared by."""

    size: int  # how many features there may be

    def of(self, page: Page) -> Signature:
        """The features of a page, from which this may learn what features there are."""
        ...

    def state(self) -> Plain: ...

    def restore(self, state: Plain) -> None: ...


class WordSignatures:
    """The most frequent words of a page that other pages have had as well.

    Stop words are no terms of pages anyway; a word becomes a feature with the third page among whose most frequent
    words it is, as long as there are fewer than `size`.
    """

    def __init__(self, size: int = 512):
        self.size = size
        self._features: dict[int, int] = {}  # by the code of the word
        self._pages: dict[int, int] = {}  # that had a word which is no feature yet

    def of(self, page: Page) -> Signature:
        codes, counts = page.words.counted
        if len(codes) > _WORDS:
            codes = codes[np.lexsort((codes, -counts.astype(np.int64)))[:_WORDS]]
        found = [self._feature(code) for code in codes.tolist()]
        return np.array(sorted(feature for feature in found if feature is not None), np.int64)

    def _feature(self, code: int) -> int | None:
        feature = self._features.get(code)
        if feature is not None or len(self._features) >= self.size:
            return feature
        pages = self._pages.pop(code, 0) + 1
        if pages < _RARE:
            self._pages[code] = pages
            if len(self._pages) > _MOST_REMEMBERED:
                del self._pages[next(iter(self._pages))]  # seen longest ago
            return None
        feature = self._features[code] = len(self._features)
        if len(self._features) == self.size:
            self._pages.clear()
        return feature

    def state(self) -> Plain:
        return {"features": list(self._features), "pages": [list(self._pages), list(self._pages.values())]}

    def restore(self, state: Plain) -> None:
        self._features = {code: number for number, code in enumerate(state["features"])}
        self._pages = dict(zip(*state["pages"], strict=True))


class ClosestClasses:
    """The five classes of a taxonomy that are closest to a page."""

    def __init__(self, classes: Classes):
        self.size = len(classes.topics)
        self._classes = classes

    def of(self, page: Page) -> Signature:
        closest: Signature = np.argsort(-self._classes.chances(page), kind="stable")[:_CLOSEST]
        return np.sort(closest)

    def state(self) -> Plain:
        return None

    def restore(self, state: Plain) -> None:
        pass
