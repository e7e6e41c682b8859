"""What peers are interested in, and which files they have of it."""

import numpy as np
from msgspec import Struct

from .sharing import Chance, Floats, Ints, Rows, distinct_rows, rows_of

CATEGORY_SKEW = 0.6  # exponent by which categories are liked unequally
MORE_INTERESTS = 0.5  # chance of one more interest than the least


class Files(Struct, frozen=True):
    """Files 0, 1, 2, ...: those of a category stand together, the best liked first."""

    firsts: Ints  # of each category, and the end
    skew: float  # Zipf's exponent

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def drawn(self, categories: Ints, chance: Chance) -> Ints:
        """A file for each of some categories, the k-th of a category in proportion to 1 / k^skew."""
        sizes = np.diff(self.firsts)
        longest = int(sizes.max())
        liking = np.concatenate([[0.0], np.cumsum(np.arange(1, longest + 1) ** -self.skew)])
        places = np.searchsorted(liking, chance.random(len(categories)) * liking[sizes[categories]], side="right") - 1
        found: Ints = self.firsts[categories] + np.minimum(places, sizes[categories] - 1)
        return found


def files_in(many: int, categories: int, skew: float) -> Files:
    """As many files, evenly over categories."""
    return Files(np.linspace(0, many, categories + 1).round().astype(np.int64), skew)


def interests_of(peers: int, categories: int, *, least: int, chance: Chance) -> Rows:
    """Some categories for each peer, popular ones more often, each once."""
    least = min(least, categories)
    liking = np.cumsum(np.arange(1, categories + 1) ** -CATEGORY_SKEW)
    wanted = np.minimum(least + chance.geometric(1.0 - MORE_INTERESTS, size=peers) - 1, categories)
    owners, liked = np.zeros(0, np.int64), np.zeros(0, np.int64)
    short = wanted
    rows = rows_of(owners, liked, peers)
    while short.any():  # those drawn twice are drawn again
        needy = np.repeat(np.arange(peers), short)
        drawn = np.searchsorted(liking, chance.random(len(needy)) * liking[-1], side="right")
        owners, liked = np.concatenate([owners, needy]), np.concatenate([liked, np.minimum(drawn, categories - 1)])
        rows = distinct_rows(owners, liked, peers, categories)
        short = wanted - rows.lengths()
    return rows


def library_sizes(peers: int, mean: float, spread: float, chance: Chance) -> Floats:
    """How many files each peer has: log-normal, at least one; `spread` is that of the logarithm."""
    median = mean / np.exp(spread**2 / 2)
    sizes: Floats = np.maximum(1.0, median * np.exp(spread * chance.standard_normal(peers)))
    return sizes


def libraries_of(sizes: Floats, interests: Rows, files: Files, own: float, chance: Chance) -> tuple[Rows, Files]:
    """Files of their interests for peers; and all files, to which those of one's own are added.

    A share `own` of what each has is its own, and nobody else has it. A file drawn twice is had once, so that large
    libraries are somewhat smaller.
    """
    owners = np.repeat(np.arange(len(sizes)), sizes.round().astype(np.int64))
    places = interests.offsets[owners] + (chance.random(len(owners)) * interests.lengths()[owners]).astype(np.int64)
    category = interests.values[places].astype(np.int64)
    is_own = chance.random(len(owners)) < own
    more = rows_of(category[is_own], np.flatnonzero(is_own), len(files.firsts) - 1)
    moved = np.concatenate([[0], np.cumsum(more.lengths())])  # by how much the files of a category have new numbers
    items = files.drawn(category, chance) + moved[category]
    ends = (files.firsts[1:] + moved[:-1])[np.repeat(np.arange(len(more)), more.lengths())]
    items[more.values] = ends + np.arange(len(more.values)) - np.repeat(more.offsets[:-1], more.lengths())
    every = Files(files.firsts + moved, files.skew)
    return distinct_rows(owners, items, len(sizes), len(every)), every
