"""Made-up blogs: as many nodes and links as asked for, heavy-tailed, the same for the same seed."""

from itertools import pairwise

import numpy as np
import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.blogs import FIRST_DAY, BlogGraph, BlogPosts
from lycosa_lab.worlds.calibration import power_law_exponent
from lycosa_lab.worlds.registry import load_world, make_world, open_world, save_world
from lycosa_lab.worlds.timed_graphs import DAY


@pytest.fixture(scope="module")
def blogs() -> BlogGraph:
    return BlogGraph(nodes=20_000, links=92_000, seed=3)


@pytest.fixture(scope="module")
def posts() -> BlogPosts:
    return BlogPosts(nodes=60_000, links=12_000, days=24, seed=3)


@pytest.mark.parametrize(("nodes", "links"), [(2, 2), (50, 60), (1_000, 4_573), (20_000, 92_000)])
def test_there_are_as_many_nodes_and_links_as_asked_for_and_none_twice(nodes: int, links: int) -> None:
    if nodes == 2:
        with pytest.raises(UsageError, match="nodes must be 5 or more"):
            make_world("blogs", {"nodes": "2", "links": "2"})
        return
    world = BlogGraph(nodes=nodes, links=links, seed=1)
    sources = np.repeat(np.arange(nodes), world.out_degrees())
    targets = world.graph.targets
    assert len(world) == nodes
    assert len(targets) == links == len(set(zip(sources.tolist(), targets.tolist(), strict=True)))
    assert (sources != targets).all()
    assert ((world.in_degrees() + world.out_degrees()) > 0).all()


def test_degrees_are_heavy_tailed_and_most_blogs_are_in_reach(blogs: BlogGraph) -> None:
    for degrees in (blogs.in_degrees(), blogs.out_degrees()):
        exponent, _ = power_law_exponent(degrees)
        assert 1.8 < exponent < 3.0
        assert degrees.max() > 40 * degrees.mean()
    assert blogs.reachable_count(blogs.best_start()) > len(blogs) / 2


@pytest.mark.parametrize("kind", [BlogGraph, BlogPosts])
def test_the_same_seed_makes_the_same_world_and_another_another(kind: type[BlogGraph] | type[BlogPosts]) -> None:
    one, same, other = (kind(nodes=2_000, links=5_000, seed=seed) for seed in (1, 1, 2))
    assert one.facts == same.facts
    assert one.facts["fingerprint"] != other.facts["fingerprint"]


@pytest.mark.parametrize("kind", [BlogGraph, BlogPosts])
def test_a_saved_world_is_the_same_when_loaded(kind: type[BlogGraph] | type[BlogPosts], tmp_path) -> None:
    world = kind(nodes=500, links=1_000, seed=1)
    save_world(world, tmp_path / "w")
    loaded = load_world(tmp_path / "w")
    assert loaded.facts == world.facts
    assert loaded.name == world.name


def test_posts_are_as_many_as_asked_for_and_within_the_days(posts: BlogPosts) -> None:
    links = posts.timed_links
    assert len(links.times) + links.repeated == 12_000
    assert links.self_links == 0
    assert FIRST_DAY <= links.times[0] < links.times[-1] <= FIRST_DAY + 24 * DAY
    by_day = np.bincount(((links.times - FIRST_DAY) / DAY).astype(int), minlength=24)[:24]
    assert by_day.min() > 12_000 / 24 / 2
    by_hour = np.bincount((((links.times - FIRST_DAY) / 3600) % 24).astype(int), minlength=24)
    assert by_hour[[0, 1, 23]].sum() < by_hour[[11, 12, 13]].sum() / 2


def test_there_are_bursts_newcomers_and_departures(posts: BlogPosts) -> None:
    graph = posts.windowed(3 * DAY)
    sliding = graph.window_degrees()
    tops = []
    for day in (3, 10, 17, 24):
        sliding.move_to(FIRST_DAY + day * DAY)
        tops.append(set(sliding.most_linked(50).tolist()))
    stayed = [len(one & other) for one, other in pairwise(tops)]
    assert all(5 < count < 45 for count in stayed)
    fleeting = BlogPosts(nodes=60_000, links=12_000, days=24, seed=3, newcomers=1, departures=1)
    settled = BlogPosts(nodes=60_000, links=12_000, days=24, seed=3, newcomers=0, departures=0)
    shares = []
    for world in (fleeting, settled):
        quarters = [np.unique(part) for part in np.array_split(world.timed_links.targets, 4)]
        shares.append(np.isin(quarters[3], quarters[0]).mean())
    assert shares[0] < shares[1] / 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"nodes": "1"}, "nodes"),
        ({"links": "1"}, "links"),
        ({"activity": "1"}, "activity"),
        ({"copied": "0.9"}, "more than 1"),
        ({"back": "-0.1"}, "negative"),
        ({"back": "nan"}, "negative"),
        ({"at_home": "1.5"}, "at_home must be from 0 to 1"),
        ({"communities": "0"}, "communities must be 1 or more"),
        ({"communities": "-1"}, "communities must be 1 or more"),
    ],
)
@pytest.mark.parametrize("kind", ["blogs", "blog-posts"])
def test_what_cannot_be_is_refused(kind: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_world(kind, options)


def test_the_fewest_blogs_are_those_that_can_be_made() -> None:
    with pytest.raises(UsageError, match="nodes must be 5 or more"):
        make_world("blogs", {"nodes": "4", "links": "4"})
    assert make_world("blogs", {"nodes": "5", "links": "5"}).facts["links"] == 5


@pytest.mark.parametrize(
    "options",
    [
        {"days": "0"},
        {"days": "inf"},
        {"newcomers": "2"},
        {"linkers": "0"},
        {"linkers": "0.0001", "departures": "1", "nodes": "2", "links": "2"},  # the only linker ends too early
    ],
)
def test_posts_that_cannot_be_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        make_world("blog-posts", options)


def test_what_a_study_asks_for_holds_for_the_kind_it_means_where_the_user_says_nothing_else() -> None:
    asked = {"nodes": 300, "links": 700, "seed": 4}
    assert open_world("blogs", defaults=asked, default_kind="blogs").facts["links"] == 700
    said = open_world("blogs:links=900", defaults=asked, default_kind="blogs").facts
    assert (said["pages"], said["links"], said["seed"]) == (300, 900, 4)
    assert open_world("blogs:nodes=50,links=90", defaults={"pages": 7}).facts["seed"] == 1
