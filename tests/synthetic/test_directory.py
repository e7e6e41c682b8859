from collections import Counter

import numpy as np
import pytest

from lycosa.vocabulary.urls import host_of
from lycosa_lab.worlds.synthetic import SyntheticWorld
from synthetic.small_worlds import calibrated, small


def _listed(world: SyntheticWorld) -> list[int]:
    return [world.number(entry.url) or 0 for category in world.directory() for entry in category.entries]


def test_every_entry_is_on_the_topic_of_its_category() -> None:
    world = small()
    for category in world.directory():
        assert {world.topic(entry.url) for entry in category.entries} == {category.name}


def test_every_topic_lists_its_share_of_pages_but_at_least_twelve_none_twice() -> None:
    for world in (small(), calibrated(1)):
        sizes = Counter(world.topic_of_page.tolist())
        assert [category.name for category in world.directory()] == list(world.topics)
        for topic, category in enumerate(world.directory()):
            assert len(category.entries) == min(sizes[topic], max(12, round(0.025 * sizes[topic])))
            assert len({entry.url for entry in category.entries}) == len(category.entries)


def test_leaves_of_one_top_stand_side_by_side() -> None:
    tops = [category.name.split("/")[0] for category in calibrated(1).directory()]
    assert len([top for top, before in zip(tops, [None, *tops], strict=False) if top != before]) == len(set(tops))


def test_descriptions_have_10_to_25_words_most_on_topic() -> None:
    world = small()
    for topic, category in enumerate(world.directory()):
        own = set(world.words.words(world.words.leaves[topic] + np.arange(320)))
        own |= set(world.words.words(world.words.tops[world.words.top_of_leaf[topic]] + np.arange(300)))
        words = [entry.description.lower().rstrip(".").split() for entry in category.entries]
        assert all(10 <= len(description) <= 25 for description in words)
        assert 0.4 < np.mean([word in own for description in words for word in description]) < 0.8


def test_part_of_the_sites_is_listed_better_ones_more_often() -> None:
    world = calibrated(1)
    is_listed = np.zeros(len(world.hosts), dtype=bool)
    is_listed[world.site_of_page[_listed(world)]] = True
    assert 0.2 < is_listed.mean() < 0.7
    home = world.plan.latent[world.plan.site_start[:-1]]
    assert home[is_listed].mean() > home[~is_listed].mean() + 0.5


def test_listed_pages_stand_better_and_are_often_home_pages() -> None:
    world = calibrated(1)
    listed = _listed(world)
    assert world.status[listed].mean() > world.status.mean() + 0.5
    assert np.mean(world.plan.kind[listed] == 0) > 5 * np.mean(world.plan.kind == 0)


def test_traffic_is_known_of_every_site_and_follows_what_leads_to_it() -> None:
    world = small()
    traffic = world.site_traffic()
    assert list(traffic) == list(world.hosts) and min(traffic.values()) > 0
    in_links = np.add.reduceat(world.plan.in_links, world.plan.site_start[:-1])
    assert np.corrcoef(np.log(list(traffic.values())), np.log1p(in_links))[0, 1] == pytest.approx(0.6, abs=0.3)
    assert host_of(world.url(0)) in traffic
