"""In-links counted from links at hand: those of past collections, or of a graph."""

from array import array
from collections.abc import Iterable

import numpy as np

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import key_of


def count_in_links(links: Iterable[tuple[Url, Url]]) -> dict[Url, int]:
    """How many other pages link to each page, from the links' sources and targets in any order.

    Links within a site count like others, as in-links do for publications; those of a page to itself do not, and a
    page that links twice counts once. Pages that are only sources have 0.
    """
    numbers: dict[Url, int] = {}
    keys, targets = array("q"), array("q")
    for source, target in links:
        numbers.setdefault(source, len(numbers))
        number = numbers.setdefault(target, len(numbers))
        if source != target:
            keys.append(key_of(f"{source} {target}"))
            targets.append(number)
    _, firsts = np.unique(np.frombuffer(keys, np.int64), return_index=True)
    counts = np.bincount(np.frombuffer(targets, np.int64)[firsts], minlength=len(numbers))
    return dict(zip(numbers, counts.tolist(), strict=True))
