"""The pages visited, as what readers' evidence follows from."""

from array import array
from collections.abc import Iterator

import numpy as np

from lycosa.vocabulary.records import Plain

from .packed import packed, unpacked
from .signatures import Signature


class History:
    """Numbers of pages in the order of their visits, whether each satisfies the predicate, and its signature."""

    def __init__(self) -> None:
        self._pages = array("i")
        self._satisfying = array("B")
        self._lengths = array("B")  # of the signatures
        self._features = array("H")  # the signatures, one after the other

    def __len__(self) -> int:
        return len(self._pages)

    def append(self, page: int, satisfies: bool, signature: Signature) -> None:
        self._pages.append(page)
        self._satisfying.append(satisfies)
        self._lengths.append(len(signature))
        self._features.extend(signature.tolist())

    def state(self) -> Plain:
        return {
            "pages": packed(np.array(self._pages, np.int32)),
            "satisfying": packed(np.array(self._satisfying, np.uint8)),
            "lengths": packed(np.array(self._lengths, np.uint8)),
            "features": packed(np.array(self._features, np.uint16)),
        }


def told_by(state: Plain) -> Iterator[tuple[int, bool, Signature]]:
    """The visits of a history that was saved."""
    pages, satisfying = unpacked(state["pages"], np.int32), unpacked(state["satisfying"], np.uint8)
    features = unpacked(state["features"], np.uint16).astype(np.int64)
    ends = np.cumsum(unpacked(state["lengths"], np.uint8), dtype=np.int64).tolist()
    start = 0
    for page, satisfies, end in zip(pages.tolist(), satisfying.tolist(), ends, strict=True):
        yield page, bool(satisfies), features[start:end]
        start = end
