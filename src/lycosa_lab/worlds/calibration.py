"""How similar a world is to the Web: published statistics of the Web, measured on the world.

Standing is here `StudyWorld.log_in_links`. Status locality is measured as by Pant and Srinivasan (Status Locality on
the Web, 2013): links are sampled level by level from random roots, so that a distance is an upper bound.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.relevance import train
from lycosa.standing import FEATURES, Background, FeatureExtractor, Traffic
from lycosa.vocabulary.records import RELEVANT, Page, Url
from lycosa.vocabulary.urls import key_of, site_of

from .world import StudyWorld

Pair = tuple[Url, Url]
Halves = tuple[list[Url], list[Url]]  # pages for training and pages held out, of different sites
Floats = NDArray[np.float64]

DISTANCES = (1, 2, 3)
EXAMPLES = 150  # of each class, and as many held out; one of each site, as directories list few pages of a site
MIN_EXAMPLES = 20


class Statistic(NamedTuple):
    """A statistic of a world, with the published value if there is one."""

    name: str
    measured: float
    published: str


def measure(
    world: StudyWorld, *, sample: int = 40_000, text_pairs: int = 300, topics: int = 10, seed: int = 1
) -> list[Statistic]:
    """The statistics that can be measured on a world.

    sample: pages from which links are followed, and links followed at each distance.
    text_pairs: pairs of pages compared at each distance; twice as many pages are read for the other statistics.
    topics: number of classifiers to train.
    """
    rng = random.Random(seed)
    urls = list(world.urls())
    pairs = sample_pairs(world, urls, sample, rng)
    statistics = [*_link_statistics(world, urls), *_status_statistics(world, pairs)]
    pages_read = list(_pages(world, rng.sample(urls, min(len(urls), 2 * text_pairs))))
    if not any(page.text for page in pages_read):
        return statistics
    background = Background.of(pages_read)
    statistics.extend(_similarity_statistics(world, pages_read, background, text_pairs, rng))
    statistics.extend(_classifier_statistics(world, urls, pages_read, topics, rng, seed))
    explained = explained_variance(world, pages_read, background)
    if explained is not None:
        statistics.append(Statistic(f"variance of standing that {len(FEATURES)} page features explain", explained, ""))
    return statistics


def sample_pairs(
    world: StudyWorld, urls: Sequence[Url], sample: int, rng: random.Random
) -> dict[int | None, list[Pair]]:
    """Pairs of a root and a page at each distance; under None, random pairs."""
    roots = rng.sample(urls, min(sample, len(urls)))
    level = [(root, root) for root in roots]
    pairs: dict[int | None, list[Pair]] = {}
    for distance in DISTANCES:
        further = [(root, target) for root, page in level for target in world.out_links(page) if target != root]
        level = rng.sample(further, min(sample, len(further)))
        pairs[distance] = level
    union = [page for level in pairs.values() for _, page in level] + roots
    rng.shuffle(union)
    pairs[None] = [(one, other) for one, other in zip(union[::2], union[1::2], strict=False) if one != other][:sample]
    return pairs


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's rank correlation, ties at their mean rank; 0 if one side is constant."""
    ranks = [_ranks(np.asarray(values, dtype=np.float64)) for values in (xs, ys)]
    if len(xs) < 2 or any(rank.std() == 0.0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def similarity(one: Page, other: Page, background: Background) -> float:
    """Cosine of the tf-idf vectors of two pages; `background` gives the idf."""
    vectors = [
        (codes, counts * background.idf(codes)) for codes, counts in (one.words.term_counts, other.words.term_counts)
    ]
    (first, weights), (second, other_weights) = vectors
    norms = np.sqrt((weights @ weights) * (other_weights @ other_weights))
    _, first_indices, second_indices = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return float(weights[first_indices] @ other_weights[second_indices] / norms) if norms else 0.0


def power_law_exponent(values: NDArray[np.int64], *, min_tail: int = 200) -> tuple[float, int]:
    """Exponent and minimum of the tail that fits a power law best (Clauset, Shalizi and Newman, 2009)."""
    best = (np.inf, 0.0, 0)
    values = np.sort(values[values > 0])
    for minimum in (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 40, 50):
        tail = values[np.searchsorted(values, minimum) :]
        if len(tail) < min(min_tail, len(values)):
            break
        exponent = 1.0 + len(tail) / float(np.log(tail / (minimum - 0.5)).sum())
        seen, counts = np.unique(tail, return_counts=True)
        above = 1.0 - np.cumsum(counts) / len(tail)
        expected = ((seen + 0.5) / (minimum - 0.5)) ** (1.0 - exponent)
        best = min(best, (float(np.abs(above - expected).max()), exponent, minimum))
    return best[1], best[2]


def _ranks(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2.0)[inverse]


def _pages(world: StudyWorld, urls: Iterable[Url]) -> Iterator[Page]:
    return (page for page in map(world.read, urls) if page is not None)


def _link_statistics(world: StudyWorld, urls: Sequence[Url]) -> Iterator[Statistic]:
    degrees = world.in_degrees()
    if degrees.sum() == 0:
        return
    exponent, minimum = power_law_exponent(degrees)
    yield Statistic(f"in-degree exponent, from {minimum} in-links on", exponent, "2.1")
    yield Statistic("links per page", float(degrees.sum()) / len(urls), "")


def _status_statistics(world: StudyWorld, pairs: dict[int | None, list[Pair]]) -> Iterator[Statistic]:
    published = {
        1: ("0.36", "0.17"),
        2: ("more than 45 % lower", "more than 61 % lower"),
        3: ("more than 45 % lower", "more than 61 % lower"),
        None: ("-0.01", ""),
    }
    for distance, level in pairs.items():
        with_standing = [(root, page, world.log_in_links(root), world.log_in_links(page)) for root, page in level]
        rows = [(root, page, a, b) for root, page, a, b in with_standing if a is not None and b is not None]
        if not rows:
            continue
        overall, across = published[distance]
        yield Statistic(f"Spearman of standing, {_distance_label(distance)}", _spearman_of(rows), overall)
        if distance is not None:
            crossing = [row for row in rows if _is_across_sites(row[:2])]
            if crossing:
                yield Statistic(
                    f"Spearman of standing, {_distance_label(distance)}, across sites", _spearman_of(crossing), across
                )


def _is_across_sites(pair: Pair) -> bool:
    """Whether two pages are of different sites; nodes of a graph have no sites."""
    one, other = pair
    return isinstance(one, str) and site_of(one) != site_of(other)


def _spearman_of(rows: Sequence[tuple[Url, Url, float, float]]) -> float:
    return spearman([row[2] for row in rows], [row[3] for row in rows])


def _distance_label(distance: int | None) -> str:
    return "random pairs" if distance is None else f"distance {distance}"


def _similarity_statistics(
    world: StudyWorld, pages_read: Sequence[Page], background: Background, text_pairs: int, rng: random.Random
) -> Iterator[Statistic]:
    """Mean text similarity by distance; links are followed from pages that were read already."""
    by_url = {page.url: page for page in pages_read}
    pairs = sample_pairs(world, list(by_url), len(pages_read), rng)
    for distance, level in pairs.items():
        subsets = {"": level, ", across sites": [pair for pair in level if distance == 1 and _is_across_sites(pair)]}
        for label, subset in subsets.items():
            page_pairs = ((by_url.get(url) or world.read(url) for url in pair) for pair in subset[:text_pairs])
            values = [
                similarity(one, other, background) for one, other in page_pairs if one is not None and other is not None
            ]
            if values:
                yield Statistic(f"text similarity, {_distance_label(distance)}{label}", sum(values) / len(values), "")


def _classifier_statistics(
    world: StudyWorld, urls: Sequence[Url], pages_read: Sequence[Page], topic_count: int, rng: random.Random, seed: int
) -> Iterator[Statistic]:
    names = [category.name for category in world.directory()]
    if len(names) < 2:
        return
    wanted = rng.sample(names, min(topic_count, len(names)))
    good = _one_of_each_site(world, rng.sample(urls, len(urls)), wanted)
    rates = [_accuracy(world, name, good[name], pages_read, seed) for name in wanted]
    known = [rate for rate in rates if rate is not None]
    if known:
        yield Statistic("accuracy of evaluation classifiers", sum(known) / len(known), "0.78")
    in_directory = {site_of(entry.url) for category in world.directory() for entry in category.entries}
    sites = {site_of(host) for host in world.hosts}
    yield Statistic("share of sites in the directory", len(in_directory & sites) / len(sites), "")


def _one_of_each_site(world: StudyWorld, urls: Sequence[Url], names: Sequence[str]) -> dict[str, Halves]:
    """Pages on each topic, one of each site; a hash of the site decides in which half it is."""
    found: dict[str, Halves] = {name: ([], []) for name in names}
    taken: set[tuple[str, str]] = set()
    missing = 2 * len(names)
    for url in urls:
        topic = world.topic(url)
        if topic is None or topic not in found:
            continue
        site = site_of(url)
        half = found[topic][key_of(site) % 2]
        if len(half) < EXAMPLES and (topic, site) not in taken:
            taken.add((topic, site))
            half.append(url)
            missing -= len(half) == EXAMPLES
            if not missing:
                break
    return found


def _accuracy(world: StudyWorld, topic: str, good: Halves, pages_read: Sequence[Page], seed: int) -> float | None:
    """Accuracy of a classifier on pages of sites it was not trained on, half of them on topic."""
    others: tuple[dict[str, Page], dict[str, Page]] = ({}, {})
    for page in pages_read:
        if world.topic(page.url) not in (None, topic):
            site = site_of(page.url)
            others[key_of(site) % 2].setdefault(site, page)
    count = min(map(len, (*good, *others)))
    if count < MIN_EXAMPLES:
        return None
    training_pages, held_out = (list(_pages(world, half[:count])) for half in good)
    bad, bad_held_out = (list(half.values())[:count] for half in others)
    model = train(training_pages, bad, seed=seed)
    correct = sum(model.relevance(page) >= RELEVANT for page in held_out)
    correct += sum(model.relevance(page) < RELEVANT for page in bad_held_out)
    return correct / (len(held_out) + len(bad_held_out))


def explained_variance(world: StudyWorld, pages: Iterable[Page], background: Background) -> float | None:
    """Adjusted R² of a linear model of standing by page features; None if too little is known."""
    traffic: Mapping[str, float] = getattr(world, "site_traffic", dict)()
    features = FeatureExtractor(background, Traffic(traffic))
    known = [(page, world.log_in_links(page.url)) for page in pages]
    rows = [(features.of(page), standing) for page, standing in known if standing is not None]
    target = np.array([standing for _, standing in rows])
    if len(rows) < 10 * len(FEATURES) or target.var() == 0.0:
        return None
    matrix = np.array([[1.0, *row] for row, _ in rows])
    residual = target - matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
    adjustment = (len(rows) - 1) / (len(rows) - matrix.shape[1])
    explained: float = 1.0 - adjustment * float((residual**2).mean() / target.var())
    return explained
