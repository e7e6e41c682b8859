"""Finding the most linked pages of a graph: baselines that know, measures, and the study."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lab.study_runs import run_small
from lycosa.standing.graph_files import graph_from_edges
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.studies import STUDIES
from lycosa_lab.studies.authority_static import (
    SAMPLES,
    as_graph,
    choose_source,
    linkers_of,
    most_linked,
    performances,
    sample_nodes,
)
from lycosa_lab.worlds.blogs import BlogGraph
from lycosa_lab.worlds.graphs import LinkGraph
from lycosa_lab.worlds.synthetic import SyntheticWorld

INS, OUTS = np.array([1, 2, 3, 0]), np.array([3, 2, 1, 0])
SMALL = BlogGraph(nodes=3_000, links=13_000, seed=2)


def graph_with(arcs: list[tuple[int, int]], size: int) -> LinkGraph:
    sources, targets = (np.array(ends, np.int32) for ends in zip(*arcs, strict=True))
    return LinkGraph(graph_from_edges(sources, targets, size))


def test_the_baselines_are_no_strategies() -> None:
    assert not set(SAMPLES) & set(STRATEGIES)


@pytest.mark.parametrize(
    ("name", "weights"), [("sample-u", [1, 1, 1, 1]), ("sample-i", [1, 2, 3, 0]), ("sample-io", [4, 4, 4, 0])]
)
def test_a_baseline_draws_in_proportion_to_its_degrees(name: str, weights: list[int]) -> None:
    from scipy.stats import chisquare  # takes a second, which only a process that needs it shall

    draws = 3_000
    orders = [sample_nodes(name, INS, OUTS, count=4, seed=seed).tolist() for seed in range(draws)]
    firsts = Counter(order[0] for order in orders)
    positive = [node for node, weight in enumerate(weights) if weight]
    assert set(firsts) == set(positive)
    expected = [draws * weights[node] / sum(weights) for node in positive]
    assert chisquare([firsts[node] for node in positive], expected).pvalue > 0.01
    assert all(sorted(order) == positive for order in orders)


def test_a_baseline_that_stops_early_draws_as_one_that_does_not() -> None:
    degrees = np.arange(50)
    whole = sample_nodes("sample-i", degrees, degrees, count=50, seed=4)
    assert sample_nodes("sample-i", degrees, degrees, count=7, seed=4).tolist() == whole[:7].tolist()
    assert len(whole) == 49


def test_links_count_once_and_not_to_oneself() -> None:
    graph = as_graph(graph_with([(0, 1), (0, 1), (1, 1), (2, 1), (2, 0)], 3))
    assert graph.in_degrees().tolist() == [1, 2, 0]


def test_any_world_has_a_graph() -> None:
    world = SyntheticWorld(pages=300, topics=3)
    graph = as_graph(world)
    assert graph.in_degrees().tolist() == world.in_degrees().tolist()


def test_performances_are_those_counted_by_hand() -> None:
    """Targets are 1 (three in-links) and 0 (two)."""
    graph = graph_with([(3, 1), (4, 1), (2, 1), (2, 0), (3, 0), (4, 2)], 5)
    targets = most_linked(graph, 2)
    assert np.flatnonzero(targets).tolist() == [0, 1]
    found = list(performances(graph, np.array([4, 2, 1, 0, 3]), targets, [1, 2, 3, 4, 5, 9]))
    assert [each.nodes for each in found] == [1, 2, 3, 4, 5, 5]
    assert [each.crawl for each in found] == [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]
    # After three nodes 1 has two in-links and 2 has one; after four, 0 and 2 have one each and share a place.
    assert [each.rank for each in found] == [0.0, 0.0, 0.5, 0.75, 1.0, 1.0]


def test_performances_are_those_of_a_ranking_of_everything() -> None:
    chance = np.random.default_rng(1)
    order = chance.permutation(len(SMALL))[:2_000]
    targets = most_linked(SMALL, 40)
    for found in performances(SMALL, order, targets, [100, 900, 2_000]):
        crawled = order[: found.nodes]
        apparent = Counter(target for node in crawled.tolist() for target in SMALL.links(node).tolist())
        ranks = []
        for _ in range(200):
            shuffled = chance.permutation(crawled)
            best = sorted(shuffled.tolist(), key=lambda node: -apparent[node])[:40]
            ranks.append(targets[best].mean())
        assert found.rank == pytest.approx(np.mean(ranks), abs=0.02)
        assert found.crawl == targets[crawled].mean() * found.nodes / 40


def test_linkers_are_those_counted_by_hand() -> None:
    """0 and 1 are linked to best, by 2 and 3 and by 3 and 4; 2 and 3 are the next."""
    graph = graph_with([(2, 0), (3, 0), (3, 1), (4, 1), (5, 2), (5, 3)], 6)
    found = linkers_of(graph, 1, well_linked_count=4)
    assert (found.share, found.spread) == (0.75, 0.25)
    assert found.by_chance == pytest.approx((0.75 * 0.25 / 2) ** 0.5)


def test_linkers_differ_by_no_more_than_chance_where_links_are_dealt_at_random() -> None:
    chance = np.random.default_rng(3)
    ends = chance.integers(2_000, size=60_000), (2_000 * chance.random(60_000) ** 3).astype(int)
    alike = linkers_of(as_graph(graph_with(list(zip(*ends, strict=True)), 2_000)), 50, well_linked_count=300)
    assert alike.spread == pytest.approx(alike.by_chance, rel=0.2)
    # The same, but that every other of them is linked to by well linked nodes only.
    sources = np.where(ends[1] % 2, ends[0], ends[0] % 300)
    apart = linkers_of(as_graph(graph_with(list(zip(sources, ends[1], strict=True)), 2_000)), 50, well_linked_count=300)
    assert apart.spread > 3 * apart.by_chance


def test_the_source_is_of_the_largest_strong_component() -> None:
    graph = graph_with([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 0)], 6)
    sources = {choose_source(graph, seed) for seed in range(40)}
    assert sources == {0, 1, 2}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    return [
        run_small(STUDIES["authority-static"], SMALL, seed=seed, out=tmp_path_factory.mktemp("out"))
        for seed in (5, 5, 6)
    ]


def test_the_study_computes_its_claims_from_its_tables(results) -> None:
    first = results[0]
    claims = {claim.id.partition(".")[2]: claim for claim in first.claims}
    assert set(claims) == {"crawlers-start-faster", "greedy-ranks-worst", "order-reverses"}
    means = {(row["measure"], row["strategy"]): row["mean"] for row in first.tables["means"]}
    early = "crawl performance over the first fifth"
    least = min(means[early, "crawl-gai"], means[early, "crawl-ai"])
    assert claims["crawlers-start-faster"].holds == (least > means[early, "sample-i"])
    middle = "rank performance at 15% of the nodes"
    others = [means[middle, name] for name in ("crawl-ai", "sample-i", "sample-io")]
    assert claims["greedy-ranks-worst"].holds == (means[middle, "crawl-gai"] < min(others))
    assert claims["order-reverses"].holds is None
    for claim in claims.values():
        assert claim.holds is not False or claim.reason
    curve = [row for row in first.tables["curves"] if row["algorithm"] == "sample-u"]
    assert curve[-1]["nodes"] == 900
    ranks = {row["nodes"]: row["rank"] for row in first.tables["curves"] if row["algorithm"] == "crawl-gai"}
    for share in (1, 5, 15, 30):
        assert means[f"rank performance at {share}% of the nodes", "crawl-gai"] == pytest.approx(
            ranks[30 * share], abs=1e-6
        )
    assert curve[-1]["crawl"] == pytest.approx(0.3, abs=0.15)


def test_one_seed_gives_one_result_and_another_another(results) -> None:
    one, same, other = results
    assert (one.claims, one.tables) == (same.claims, same.tables)
    assert one.claims[0].measured != other.claims[0].measured


def test_a_graph_without_links_between_pages_is_refused() -> None:
    study = STUDIES["authority-static"]
    with pytest.raises(UsageError, match="has none; give a graph"):
        study.prepare(graph_with([(0, 0), (3, 3)], 200), study.scales["small"], 1)


def test_the_claim_fails_where_no_way_leads_to_what_is_most_linked(tmp_path: Path) -> None:
    """A ring of a thousand pages, and ten pages to which a hundred others link, that the ring does not know."""
    ring = [(node, (node + 1) % 1_000) for node in range(1_000)]
    fans = [(1_010 + fan, 1_000 + (fan + step) % 10) for fan in range(100) for step in range(5)]
    world = graph_with([*ring, *fans], 1_110)
    study = STUDIES["authority-static"]
    results = run_small(study, world, seed=5, out=tmp_path)
    assert results.claims[0].holds is False
    assert "crawl-ai is not above sample-i" in results.claims[0].reason
