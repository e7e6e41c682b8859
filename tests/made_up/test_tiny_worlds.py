"""The tiny worlds are what their names say."""

import re

from lycosa.vocabulary.urls import normalise
from worlds import CHAIN, LOOP, STAR, TOPICAL, TOPICAL_SEED, TWO_SITES, topic_of


def reachable(world, seed):
    found, waiting = {seed}, [seed]
    while waiting:
        for target in re.findall(r'href="([^"]+)"', world[waiting.pop()].decode()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def test_every_page_of_a_tiny_world_is_reachable_from_its_first():
    for world in (CHAIN, STAR, LOOP, TWO_SITES, TOPICAL):
        assert reachable(world, next(iter(world))) == set(world)
        assert all(normalise(url) == url for url in world)


def test_the_topical_world_has_twenty_pages_of_either_kind():
    kinds = [topic_of(url) for url in TOPICAL]
    assert (kinds.count("bees"), kinds.count("ships"), topic_of(TOPICAL_SEED)) == (20, 20, None)
