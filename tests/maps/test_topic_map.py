"""The laws of a drawn map, on any graph."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.maps import REACHES, TopicMap, draw_map

NAMES = st.integers(0, 10**6)


@st.composite
def graphs(draw):
    """Pages by any numbers, some of them good, and links among them, a few pages having many."""
    names = draw(st.lists(NAMES, unique=True, max_size=60))
    good = [name for name in names if draw(st.booleans())] if draw(st.booleans()) else names
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(0, 12)) * len(names)
    skew = draw(st.sampled_from([1.0, 2.0, 5.0]))
    sources = (len(names) * random.random(count) ** skew).astype(int)
    targets = random.integers(0, max(1, len(names)), count)
    return good, [(names[source], names[target]) for source, target in zip(sources, targets, strict=True)]


def draws(**fixed):
    return st.fixed_dictionaries(
        {
            "seed": st.integers(0, 1000),
            "min_portals": st.integers(1, 10),
            "portal_share": st.sampled_from([0.02, 0.2]),
            "reach": st.sampled_from(REACHES),
            "similarity": st.sampled_from([None, lambda some, others: 1.0 / (1.0 + np.abs(some - others))]),
            **fixed,
        }
    )


def out_links_within(good, links):
    return {page: {target for source, target in links if source == page and target in good} - {page} for page in good}


def reached_from(drawn: TopicMap, start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        for node in drawn.ties_of(waiting.pop()):
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(graphs(), draws())
def test_a_map_keeps_the_laws(graph, options):
    good, links = graph
    drawn = draw_map(good, links, **options)
    out_links = out_links_within(set(good), links)
    assert sorted([*drawn.portals, *drawn.portal_of]) == sorted(good)  # every page is a portal, or tied to one
    for portal in drawn.portals:
        others = set(drawn.portals) - {portal}
        assert others <= set(drawn.ties_of(portal)), "the portals are a complete graph"
        spokes = drawn.spokes[portal]
        assert not spokes or len(spokes) < len(out_links[portal])
        assert not out_links[portal] & set(spokes), "nobody is tied to a page that links to it"
        assert portal not in drawn.ties_of(portal)
    for node in good:
        assert all(node in drawn.ties_of(other) for other in drawn.ties_of(node)), "links lead both ways"
        assert reached_from(drawn, node) == set(good)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(graphs(), draws())
def test_portals_are_the_pages_with_most_out_links(graph, options):
    good, links = graph
    drawn = draw_map(good, links, **options)
    out_links = {page: len(targets) for page, targets in out_links_within(set(good), links).items()}
    counts = [out_links[portal] for portal in drawn.portals]
    assert all(more >= fewer for more, fewer in pairwise(counts))
    assert all(out_links[node] <= counts[-1] for node in drawn.portal_of)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(graphs(), draws(reach=st.just("mixed"), similarity=st.none()))
def test_portals_double_only_while_no_ties_can_keep_the_rules(graph, options):
    networkx = pytest.importorskip("networkx")
    good, links = graph
    drawn = draw_map(good, links, **options)
    first = min(len(good), max(int(np.ceil(options["portal_share"] * len(good))), options["min_portals"]))
    sizes = [min(len(good), first * 2**step) for step in range(20)]
    assert len(drawn.portals) in sizes
    earlier = [size for size in sizes if size < len(drawn.portals)]
    out_links = out_links_within(set(good), links)
    if not earlier:
        return
    ranked = sorted(good, key=lambda page: -len(out_links[page]))  # stable, as the drawing is
    portals, rest = ranked[: earlier[-1]], ranked[earlier[-1] :]
    flows = networkx.DiGraph()
    flows.add_nodes_from(["from", "to"])
    for portal in portals:
        flows.add_edge("from", ("portal", portal), capacity=max(0, len(out_links[portal]) - 1))
        for node in rest:
            if node not in out_links[portal]:
                flows.add_edge(("portal", portal), ("node", node), capacity=1)
    for node in rest:
        flows.add_edge(("node", node), "to", capacity=1)
    assert networkx.maximum_flow_value(flows, "from", "to") < len(rest)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(graphs(), draws())
def test_a_map_is_the_same_for_the_same_seed_and_however_links_are_given(graph, options):
    good, links = graph
    once = draw_map(good, links, **options)
    assert draw_map(good, iter(links), **options) == once
    assert draw_map(np.array(good, dtype=int), np.array(links, dtype=int).reshape(-1, 2), **options) == once
    assert draw_map(good, links + links, **options) == once


def wheel(hubs: int, leaves: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Hubs that share the leaves out among them, two to a leaf; leaves link to the next leaf."""
    pages = list(range(hubs + leaves))
    links = [((leaf + other) % hubs, hubs + leaf) for leaf in range(leaves) for other in (0, 1)]
    links += [(hubs + leaf, hubs + (leaf + 1) % leaves) for leaf in range(leaves)]
    return pages, links


def test_spokes_are_spread_evenly():
    drawn = draw_map(*wheel(10, 400), seed=1)
    assert len(drawn.portals) == 10
    assert {len(drawn.spokes[portal]) for portal in drawn.portals} == {40}


def test_two_in_a_hundred_are_portals_and_ten_at_least():
    assert len(draw_map(*wheel(30, 1470), seed=1).portals) == 30
    assert len(draw_map(*wheel(10, 190), seed=1).portals) == 10
    assert draw_map([3, 1, 2], [], seed=1).portals == (3, 1, 2)
    assert draw_map([], [(1, 2)], seed=1) == TopicMap()


def test_without_links_all_pages_become_portals():
    assert len(draw_map(range(50), [], seed=1).portals) == 50


def mean_distance(drawn: TopicMap, links) -> float:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph(links)
    distances = [
        min(networkx.single_source_shortest_path_length(graph, portal, cutoff=4).get(node, 5), 5)
        for node, portal in drawn.portal_of.items()
    ]
    return float(np.mean(distances))


def neighbourhoods():
    """Hubs on a ring that link to the pages around them, so that near and far differ."""
    random = np.random.default_rng(5)
    size = 600
    links = []
    for page in range(size):
        count, width = (60, 50) if page % 30 == 0 else (3, 10)
        links += [(page, int(page + step) % size) for step in random.integers(-width, width + 1, count) if step]
    return list(range(size)), links


@pytest.mark.slow
def test_near_maps_tie_pages_to_portals_a_few_links_away_and_far_maps_to_others():
    good, links = neighbourhoods()
    near, mixed, far = (
        mean_distance(draw_map(good, links, seed=3, reach=reach), links) for reach in ("near", "mixed", "far")
    )
    assert near < mixed - 0.3
    assert mixed <= far


def test_similar_pages_are_tied_where_a_similarity_is_given():
    good, links = neighbourhoods()

    def alike(some, others):
        return (some % 7 == others % 7).astype(float)

    def share_alike(drawn):
        return np.mean([node % 7 == portal % 7 for node, portal in drawn.portal_of.items()])

    plain, weighted = draw_map(good, links, seed=3), draw_map(good, links, seed=3, similarity=alike)
    assert share_alike(weighted) > 3 * share_alike(plain)


def test_a_page_given_twice_and_an_unknown_reach_are_refused():
    with pytest.raises(ValueError, match="given twice"):
        draw_map([1, 2, 1], [], seed=1)
    with pytest.raises(ValueError, match="no reach"):
        draw_map([1, 2], [], seed=1, reach="sideways")
