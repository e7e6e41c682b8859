import random
from functools import cache

import numpy as np
import pytest

from lycosa.standing import Background
from lycosa_lab.worlds.calibration import (
    Statistic,
    explained_variance,
    measure,
    power_law_exponent,
    sample_pairs,
    similarity,
    spearman,
)
from lycosa_lab.worlds.synthetic import SyntheticWorld
from synthetic.small_worlds import calibrated, small

BOTH_SEEDS = pytest.mark.parametrize("seed", [1, 2])


@cache
def _measured(seed: int) -> list[Statistic]:
    return measure(calibrated(seed), sample=20_000, text_pairs=250, topics=1, seed=seed)


def _statistics(seed: int) -> dict[str, float]:
    return {statistic.name.partition(", from")[0]: statistic.measured for statistic in _measured(seed)}


@BOTH_SEEDS
def test_in_links_follow_a_power_law_with_an_exponent_near_that_of_the_web(seed: int) -> None:
    assert 1.95 < _statistics(seed)["in-degree exponent"] < 2.4
    assert power_law_exponent(calibrated(seed).plan.in_links)[0] == pytest.approx(2.1, abs=0.1)


@BOTH_SEEDS
def test_standing_is_local(seed: int) -> None:
    rho = {name: value for name, value in _statistics(seed).items() if name.startswith("Spearman")}
    at = {distance: rho[f"Spearman of standing, distance {distance}"] for distance in (1, 2, 3)}
    assert at[1] == pytest.approx(0.36, abs=0.03)
    assert max(at[2], at[3]) < 0.58 * at[1] and min(at[2], at[3]) > 0.05
    assert abs(rho["Spearman of standing, random pairs"]) < 0.04


@BOTH_SEEDS
def test_standing_is_less_local_across_sites(seed: int) -> None:
    at = {d: _statistics(seed)[f"Spearman of standing, distance {d}, across sites"] for d in (1, 2, 3)}
    assert at[1] == pytest.approx(0.17, abs=0.035)
    assert max(at[2], at[3]) < 0.42 * at[1]


@BOTH_SEEDS
def test_texts_are_the_less_alike_the_farther_apart_they_are(seed: int) -> None:
    found = _statistics(seed)
    near, further, far, random_pairs = (
        found[f"text similarity, {where}"] for where in ("distance 1", "distance 2", "distance 3", "random pairs")
    )
    assert 0.36 > near > further > far > 2 * random_pairs
    assert near > 0.22 and random_pairs < 0.05
    assert random_pairs < found["text similarity, distance 1, across sites"] < near


def test_topics_are_not_trivially_separable() -> None:
    world = SyntheticWorld(pages=400_000, seed=1)  # in which every topic is found on hundreds of sites
    found = {
        statistic.name: statistic.measured for statistic in measure(world, sample=100, text_pairs=250, topics=8, seed=1)
    }
    assert found["accuracy of evaluation classifiers"] == pytest.approx(0.78, abs=0.04)


def test_only_what_was_published_is_said_to_be() -> None:
    published = {statistic.name.partition(",")[0] for statistic in _measured(1) if statistic.published}
    assert published == {"in-degree exponent", "Spearman of standing", "accuracy of evaluation classifiers"}


@BOTH_SEEDS
def test_features_of_pages_tell_part_of_their_standing(seed: int) -> None:
    world = calibrated(seed)
    pages = [page for url in list(world.urls())[::20] if (page := world.read(url)) is not None]
    assert 0.3 < (explained_variance(world, pages, Background.of(pages)) or 0.0) < 0.43
    assert 0.2 < _statistics(seed)["variance of standing that 7 page features explain"] < 0.55  # of few pages


@BOTH_SEEDS
def test_pages_have_as_many_links_as_pages_have(seed: int) -> None:
    assert 10 < _statistics(seed)["links per page"] < 20
    out = np.diff(calibrated(seed).links.start)
    assert out.max() > 4 * np.median(out)


def test_without_status_homophily_no_distance_shows_any() -> None:
    world = SyntheticWorld(pages=30_000, status_homophily=0.0)
    pairs = sample_pairs(world, list(world.urls()), 12_000, random.Random(1))
    for level in pairs.values():
        rho = spearman(
            [world.log_in_links(root) or 0.0 for root, _ in level],
            [world.log_in_links(page) or 0.0 for _, page in level],
        )
        assert abs(rho) < 0.04


def _share_of_links_on_topic(world: SyntheticWorld) -> float:
    source = np.repeat(np.arange(len(world)), np.diff(world.links.start))
    return float((world.topic_of_page[source] == world.topic_of_page[world.links.target]).mean())


def test_without_topical_homophily_links_ignore_topics() -> None:
    world = small(topical_homophily=0.0)
    by_chance = float(((np.bincount(world.topic_of_page) / len(world)) ** 2).sum())
    assert _share_of_links_on_topic(small()) > 0.5
    assert _share_of_links_on_topic(world) == pytest.approx(by_chance, abs=0.04)


def test_feature_noise_drowns_what_features_tell() -> None:
    explained = []
    for noise in (0.2, 1.0, 30.0):
        world = small(feature_noise=noise)
        pages = [page for url in list(world.urls())[::3] if (page := world.read(url)) is not None]
        explained.append(explained_variance(world, pages, Background.of(pages)) or 0.0)
    assert explained[0] > explained[1] > explained[2] and explained[2] < 0.1


def _likeness_of_strangers(world: SyntheticWorld) -> tuple[float, float]:
    """Of texts on topics that have nothing to do with each other: within sites, and across."""
    tops = [world.topics[topic].split("/")[0] for topic in world.topic_of_page]
    pages = {number: page for number in range(0, len(world), 4) if (page := world.read(world.url(number))) is not None}
    background = Background.of(pages.values())
    likeness: dict[bool, list[float]] = {True: [], False: []}
    for step in (4, 1000):
        for one, other in ((number, (number + step) % len(world)) for number in pages):
            if tops[one] != tops[other]:
                is_within = bool(world.site_of_page[one] == world.site_of_page[other])
                likeness[is_within].append(similarity(pages[one], pages[other], background))
    assert min(map(len, likeness.values())) > 20
    return float(np.mean(likeness[True])), float(np.mean(likeness[False]))


def test_without_words_of_sites_a_site_does_not_make_texts_alike() -> None:
    within, across = _likeness_of_strangers(small())
    assert within > 4 * across
    within, across = _likeness_of_strangers(small(site_words=0.0))
    assert within < 1.5 * across


def test_words_of_sites_can_be_turned_down_and_leave_links_and_topics_alone() -> None:
    whole, half, none = (small(site_words=share) for share in (1.0, 0.5, 0.0))
    url = whole.url(77)
    assert whole.page(url) == small().page(url)
    assert len({world.page(url) for world in (whole, half, none)}) == 3
    assert whole.out_links(url) == none.out_links(url) and whole.topic(url) == none.topic(url)
    assert b"Please write to us" not in (none.page(url) or b"")


def test_rank_correlation_agrees_with_scipy() -> None:
    from scipy import stats  # takes a second, which only a process that needs it shall

    chance = np.random.default_rng(1)
    xs, ys = chance.integers(0, 9, 200), chance.integers(0, 9, 200)
    assert spearman(xs.tolist(), (xs + ys).tolist()) == pytest.approx(stats.spearmanr(xs, xs + ys).statistic)
    assert spearman([1.0, 1.0], [2.0, 3.0]) == 0.0


@pytest.mark.parametrize("exponent", [1.8, 2.1, 2.6])
def test_the_exponent_of_a_power_law_is_found(exponent: float) -> None:
    u = np.random.default_rng(1).random(50_000)
    values = np.floor(4.5 * u ** (-1.0 / (exponent - 1.0)) + 0.5).astype(np.int64)
    assert power_law_exponent(values)[0] == pytest.approx(exponent, abs=0.08)


class _Told:
    """A world that shows its pages and hides one thing or another that it knows."""

    def __init__(self, world: SyntheticWorld, *, hidden: tuple[str, ...]):
        self._world, self._hidden = world, hidden

    def __getattr__(self, name: str) -> object:
        if name in self._hidden:
            raise AttributeError(name)
        return getattr(self._world, name)


def _named(world: object) -> dict[str, float]:
    return {statistic.name: statistic.measured for statistic in measure(world, sample=100, text_pairs=30)}  # type: ignore[arg-type]


def test_a_world_gives_the_statistics_it_can() -> None:
    class WithoutTruth(_Told):
        def log_in_links(self, url: object) -> None:
            return None

        def directory(self) -> tuple[()]:
            return ()

    found = _named(WithoutTruth(SyntheticWorld(pages=600, topics=5), hidden=("site_traffic",)))
    assert any(name.startswith("text similarity") for name in found)
    assert not any(name.startswith(("Spearman", "accuracy", "share", "variance")) for name in found)
