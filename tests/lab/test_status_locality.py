"""Status locality is found where it is, is not found where it is not, and its claims follow from its tables."""

import json
import random
from collections import Counter
from math import log1p
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from lycosa.reading import Reader
from lycosa.vocabulary.records import Fetch, Outcome, Url
from lycosa_lab.statistics import Correlation, p_of_larger_correlation, spearman
from lycosa_lab.studies.status_locality import AT_RANDOM, StatusLocality, lies_across_sites, pairs_by_distance
from lycosa_lab.study import run
from lycosa_lab.test_bed import in_links_of
from lycosa_lab.worlds.synthetic import SyntheticWorld
from worlds import CHAIN, STAR, TWO_SITES


class Tiny(StatusLocality):
    scales: ClassVar = {"small": {"sample": 3_000, "world_pages": 12_000}}


class Closed(dict):
    """A tiny web as a world that knows its links and nothing else."""

    name = "tiny"

    def urls(self):
        return list(self)

    def out_links(self, url: Url) -> list[Url]:
        page = Reader()(Fetch(url, Outcome.OK, 0.0, content=self[url]))
        return list(dict.fromkeys(link.target for link in page.links))

    def in_degrees(self):
        linked = Counter(target for url in self for target in self.out_links(url))
        return np.array([linked[url] for url in self])

    def log_in_links(self, url: Url) -> float | None:
        return None


def results_of(folder, *, seed=11, **options):
    world = SyntheticWorld(pages=12_000, topics=10, seed=seed, **options)
    results = run(Tiny(), world, scale="small", seed=seed, out=folder, workers=1, progress=lambda done, total: None)
    return json.loads(msgspec.json.encode(results))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(tmp_path_factory.mktemp("study"))


def test_it_holds_where_links_seek_their_like(results) -> None:
    decays, cross_site = results["claims"]
    assert (decays["id"], cross_site["id"]) == ("status-locality.decays", "status-locality.cross-site")
    assert decays["holds"] is True, decays
    assert decays["kind"] == "calibration"  # the world was fitted to it


def test_it_fails_where_links_do_not(tmp_path) -> None:
    decays, cross_site = results_of(tmp_path, status_homophily=0.0)["claims"]
    assert decays["holds"] is False
    assert cross_site["holds"] is False
    assert "not alike" in decays["reason"]


def test_the_claim_can_be_recomputed_from_the_table(results) -> None:
    rows = {row["distance"]: row for row in results["tables"]["correlations"] if row["pairs"] == "all pairs"}
    holds = rows["1"]["rho"] > 0 and rows["1"]["p"] < 0.05 and abs(rows["random"]["rho"]) < 0.05
    holds &= all(rows[distance]["p_below_distance_1"] < 0.05 for distance in ("2", "3", "random"))
    assert results["claims"][0]["holds"] == holds
    assert all(row["n"] <= 3_000 for row in rows.values())


def test_the_same_seed_gives_the_same_and_another_other_figures(results, tmp_path) -> None:
    assert results_of(tmp_path / "again")["claims"] == results["claims"]
    assert results_of(tmp_path / "other", seed=12)["claims"] != results["claims"]


def test_pairs_are_as_far_apart_as_they_say() -> None:
    pairs = pairs_by_distance(Closed(CHAIN), sample=100, seed=1)
    a, b, c, d = CHAIN
    assert set(pairs["1"]) == {(a, b), (b, c), (c, d)}
    assert set(pairs["2"]) == {(a, c), (b, d)}
    assert set(pairs["3"]) == {(a, d)}
    assert all(root != page for root, page in pairs[AT_RANDOM])


def test_pairs_across_sites_have_other_domains() -> None:
    assert lies_across_sites(("http://one.example/", "http://two.test/"))
    assert not lies_across_sites(("http://a.one.example/", "http://b.one.example/x"))
    assert not lies_across_sites((1, 2))  # nodes of a graph
    crossing = [
        pair for pair in pairs_by_distance(Closed(TWO_SITES), sample=100, seed=1)["1"] if lies_across_sites(pair)
    ]
    assert crossing == [("http://one.example/", "http://two.test/")]


def test_in_links_are_counted_where_the_world_does_not_know_them() -> None:
    source = in_links_of(Closed(STAR))
    hub, *leaves = STAR
    assert source.status(hub) == pytest.approx(log1p(8))
    assert [source.status(leaf) for leaf in leaves] == pytest.approx([log1p(1)] * 8)
    assert source.status(Url("http://nowhere.example/")) is None
    assert "within" in source.description


def test_a_second_counter_has_about_half_and_always_the_same() -> None:
    world = SyntheticWorld(pages=2_000, topics=4, seed=3)
    source = in_links_of(world)
    urls = list(world.urls())[:800]
    first, second, other = (source.sampled(seed=seed) for seed in (1, 1, 2))
    assert [first.status(url) for url in urls] == [second.status(url) for url in urls]
    assert [first.status(url) for url in urls] != [other.status(url) for url in urls]
    everything = sum(world.plan.in_links[:800].tolist())
    seen = sum(2.718281828459045 ** (first.status(url) or 0.0) - 1 for url in urls)
    assert seen == pytest.approx(everything / 2, rel=0.1)
    assert spearman([source.status(url) for url in urls], [first.status(url) for url in urls]).rho > 0.8


def test_a_correlation_is_told_from_a_weaker_one() -> None:
    chance = random.Random(4)
    xs = [chance.gauss(0, 1) for _ in range(2_000)]
    strong, weak = (spearman(xs, [x + chance.gauss(0, noise) for x in xs]) for noise in (1.0, 4.0))
    assert strong.rho > weak.rho > 0
    assert p_of_larger_correlation(strong, weak) < 0.001
    assert p_of_larger_correlation(weak, strong) > 0.999
    assert p_of_larger_correlation(strong, Correlation(float("nan"), float("nan"), 2)) != p_of_larger_correlation(
        strong, strong
    )
    assert spearman([1, 1, 1, 1], [1, 2, 3, 4]).rho != spearman([1, 1, 1, 1], [1, 2, 3, 4]).rho  # not a number
