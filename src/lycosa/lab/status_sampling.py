"""Pairs of a page and one so many links away, drawn as Pant and Srinivasan drew them (Status locality, 2013)."""

import random
from collections.abc import Mapping, Sequence

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import site_of
from lycosa.worlds import StudyWorld
from lycosa.worlds.calibration import DISTANCES, sample_pairs

Pair = tuple[Url, Url]  # a root, and a page that may be reached from it
AT_RANDOM = "random"


def pairs_by_distance(world: StudyWorld, *, sample: int, seed: int) -> Mapping[str, Sequence[Pair]]:
    """Up to `sample` pairs at each distance, and as many of roots with pages of all levels, put together by chance.

    Roots are pages at random. Links are drawn from the pages of the level before, so that a distance is an upper bound
    and each page drawn belongs to the root that led to it.
    """
    chance = random.Random(seed)
    levels = sample_pairs(world, list(world.urls()), sample, chance)
    pairs: dict[str, Sequence[Pair]] = {str(distance): levels[distance] for distance in DISTANCES}
    roots = list(dict.fromkeys(root for level in pairs.values() for root, _ in level))
    met = [*roots, *(page for level in pairs.values() for _, page in level)]
    drawn = chance.sample(met, min(sample, len(met)))
    pairs[AT_RANDOM] = [(root, page) for page in drawn if (root := chance.choice(roots)) != page]
    return pairs


def lies_across_sites(pair: Pair) -> bool:
    """Whether the two have different registered domains; nodes of a graph without addresses have none."""
    root, page = pair
    return isinstance(root, str) and site_of(root) != site_of(page)
