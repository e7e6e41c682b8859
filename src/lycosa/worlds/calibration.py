"""How like the Web a world is: figures that others measured there, measured here.

Status locality is measured as Pant and Srinivasan did (Status Locality on the Web, 2013): links sampled level by level
from random roots, so that a distance is an upper bound.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lycosa.relevance import train
from lycosa.vocabulary.records import RELEVANT, Page, Url
from lycosa.vocabulary.urls import key_of, site_of

from .synthetic.features import FEATURES, Idf, features_of, idf_of, similarity
from .world import StudyWorld

Pair = tuple[Url, Url]
Floats = NDArray[np.float64]

DISTANCES = (1, 2, 3)
MOST_READ_FOR_LINKS = 60_000  # pages; the in-links of larger worlds are counted only where the world counts them
EXAMPLES = 250  # of each side, and as many held out
FEWEST_EXAMPLES = 20
PAGES_OF_SITE = 3  # as examples; directories list few pages of one site


class Figure(NamedTuple):
    """One figure of a world beside the one that was published."""

    name: str
    measured: float
    published: str


@runtime_checkable
class KnowsLinks(Protocol):
    """A world that tells its links without making up texts."""

    def out_links(self, url: Url) -> Sequence[Url]: ...

    def in_degrees(self) -> NDArray[np.int64]: ...


def figures(world: StudyWorld, *, sample: int = 5000, texts: int = 400, seed: int = 1) -> list[Figure]:
    """The figures that a world can give, with `sample` pages for links and `texts` for what needs reading."""
    chance = random.Random(seed)
    urls = list(world.urls())
    pairs = sampled_pairs(world, urls, sample, chance)
    found = [*_link_figures(world, urls), *_status_figures(world, pairs)]
    sampled = list(_pages(world, chance.sample(urls, min(len(urls), 2 * texts))))
    if not any(page.text for page in sampled):
        return found
    idf = idf_of(sampled)
    found.extend(_similarity_figures(world, pairs, idf, texts))
    found.extend(_classifier_figures(world, urls, chance, seed))
    found.extend(_feature_figures(world, chance.sample(urls, min(len(urls), 4 * texts)), idf))
    return found


def sampled_pairs(
    world: StudyWorld, urls: Sequence[Url], sample: int, chance: random.Random
) -> dict[int | None, list[Pair]]:
    """Pairs of a root and a page at each distance; under None, pairs without any link between them."""
    links = _links_of(world)
    roots = chance.sample(urls, min(sample, len(urls)))
    level = [(root, root) for root in roots]
    pairs: dict[int | None, list[Pair]] = {}
    for distance in DISTANCES:
        further = [(root, target) for root, page in level for target in links(page) if target != root]
        level = chance.sample(further, min(sample, len(further)))
        pairs[distance] = level
    union = [page for level in pairs.values() for _, page in level] + roots
    chance.shuffle(union)
    pairs[None] = [(one, other) for one, other in zip(union[::2], union[1::2], strict=False) if one != other][:sample]
    return pairs


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Rank correlation, ties at their mean rank; 0 where one side is constant."""
    ranks = [_ranks(np.asarray(values, dtype=np.float64)) for values in (xs, ys)]
    if len(xs) < 2 or any(rank.std() == 0.0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def power_law_exponent(values: NDArray[np.int64], *, fewest: int = 200) -> tuple[float, int]:
    """Exponent and least value of the tail that fits a power law best (Clauset, Shalizi and Newman, 2009)."""
    best = (np.inf, 0.0, 0)
    values = np.sort(values[values > 0])
    for least in (1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 40, 50):
        tail = values[np.searchsorted(values, least) :]
        if len(tail) < min(fewest, len(values)):
            break
        exponent = 1.0 + len(tail) / float(np.log(tail / (least - 0.5)).sum())
        seen, counts = np.unique(tail, return_counts=True)
        above = 1.0 - np.cumsum(counts) / len(tail)
        expected = ((seen + 0.5) / (least - 0.5)) ** (1.0 - exponent)
        best = min(best, (float(np.abs(above - expected).max()), exponent, least))
    return best[1], best[2]


def _ranks(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2.0)[inverse]


def _links_of(world: StudyWorld) -> Callable[[Url], Sequence[Url]]:
    if isinstance(world, KnowsLinks):
        return world.out_links

    def read_links(url: Url) -> Sequence[Url]:
        page = world.read(url)
        return [link.target for link in page.links] if page else []

    return read_links


def _pages(world: StudyWorld, urls: Sequence[Url]) -> Iterator[Page]:
    return (page for page in map(world.read, urls) if page is not None)


def _link_figures(world: StudyWorld, urls: Sequence[Url]) -> Iterator[Figure]:
    if isinstance(world, KnowsLinks):
        degrees = world.in_degrees()
    elif len(urls) <= MOST_READ_FOR_LINKS:
        number = {url: place for place, url in enumerate(urls)}
        targets = (number.get(link.target) for page in _pages(world, urls) for link in page.links)
        degrees = np.bincount([target for target in targets if target is not None], minlength=len(urls))
    else:
        return
    if degrees.sum() == 0:
        return
    exponent, least = power_law_exponent(degrees)
    yield Figure(f"in-degree exponent, from {least} in-links on", exponent, "2.1")
    yield Figure("links per page", float(degrees.sum()) / len(urls), "some 10 to 20")


def _status_figures(world: StudyWorld, pairs: dict[int | None, list[Pair]]) -> Iterator[Figure]:
    published = {
        1: ("0.36", "0.17"),
        2: ("more than 45 % lower", "more than 61 % lower"),
        3: ("more than 45 % lower", "more than 61 % lower"),
        None: ("-0.01", ""),
    }
    for distance, level in pairs.items():
        known = [(root, page, world.standing(root), world.standing(page)) for root, page in level]
        told = [(root, page, one, other) for root, page, one, other in known if one is not None and other is not None]
        if not told:
            continue
        overall, across = published[distance]
        yield Figure(f"Spearman of standing, {_where(distance)}", _spearman_of(told), overall)
        if distance is not None:
            crossing = [row for row in told if _site(row[0]) != _site(row[1])]
            if crossing:
                yield Figure(f"Spearman of standing, {_where(distance)}, across sites", _spearman_of(crossing), across)


def _site(url: Url) -> str:
    """The site of a page; nodes of a graph have none, and so are all of one."""
    return site_of(url) if isinstance(url, str) else ""


def _spearman_of(rows: Sequence[tuple[Url, Url, float, float]]) -> float:
    return spearman([row[2] for row in rows], [row[3] for row in rows])


def _where(distance: int | None) -> str:
    return "random pairs" if distance is None else f"distance {distance}"


def _similarity_figures(
    world: StudyWorld, pairs: dict[int | None, list[Pair]], idf: Idf, texts: int
) -> Iterator[Figure]:
    published = {1: "about 0.3", 2: "about 0.2", 3: "about 0.15", None: "about 0.02"}
    for distance, level in pairs.items():
        both = ((world.read(root), world.read(page)) for root, page in level[:texts])
        similarities = [similarity(one, other, idf) for one, other in both if one is not None and other is not None]
        if similarities:
            yield Figure(
                f"text similarity, {_where(distance)}", sum(similarities) / len(similarities), published[distance]
            )


def _classifier_figures(
    world: StudyWorld, urls: Sequence[Url], chance: random.Random, seed: int, *, topics: int = 3
) -> Iterator[Figure]:
    names = [category.name for category in world.directory()]
    if len(names) < 2:
        return
    shuffled = chance.sample(urls, len(urls))
    rates = [_accuracy(world, name, shuffled, seed) for name in chance.sample(names, min(topics, len(names)))]
    told = [rate for rate in rates if rate is not None]
    if told:
        yield Figure("accuracy of evaluation classifiers", sum(told) / len(told), "0.78")
    in_directory = {site_of(entry.url) for category in world.directory() for entry in category.entries}
    sites = {site_of(host) for host in world.hosts}
    yield Figure("share of sites in the directory", len(in_directory & sites) / len(sites), "")


def _accuracy(world: StudyWorld, name: str, urls: Sequence[Url], seed: int) -> float | None:
    """How often a classifier is right on pages of sites that it has not learnt from, half of them on topic."""
    sides: list[list[Url]] = [[], [], [], []]
    taken: Counter[tuple[str, bool]] = Counter()
    for url in urls:
        topic, site = world.topic(url), site_of(url)
        is_good, side = topic == name, 2 * (topic != name) + key_of(site) % 2
        if topic is not None and taken[site, is_good] < PAGES_OF_SITE and len(sides[side]) < EXAMPLES:
            taken[site, is_good] += 1
            sides[side].append(url)
    count = min(map(len, sides))
    if count < FEWEST_EXAMPLES:
        return None
    good, good_held_out, bad, bad_held_out = (list(_pages(world, side[:count])) for side in sides)
    model = train(good, bad, seed=seed)
    right = sum(model.relevance(page) >= RELEVANT for page in good_held_out)
    right += sum(model.relevance(page) < RELEVANT for page in bad_held_out)
    return right / (len(good_held_out) + len(bad_held_out))


def _feature_figures(world: StudyWorld, urls: Sequence[Url], idf: Idf) -> Iterator[Figure]:
    explained = explained_variance(world, urls, idf)
    if explained is not None:
        yield Figure("variance of standing that seven page features explain", explained, "")


def explained_variance(world: StudyWorld, urls: Sequence[Url], idf: Idf) -> float | None:
    """How much of the standing of pages a linear model of their features explains; None where too little is known."""
    traffic: Mapping[str, float] = getattr(world, "site_traffic", dict)()
    told = [(page, world.standing(page.url)) for page in _pages(world, urls)]
    rows = [(features_of(page, idf, traffic), standing) for page, standing in told if standing is not None]
    target = np.array([standing for _, standing in rows])
    if len(rows) < 10 * len(FEATURES) or target.var() == 0.0:
        return None
    matrix = np.array([[1.0, *features] for features, _ in rows])
    residual = target - matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
    freedom = (len(rows) - 1) / (len(rows) - matrix.shape[1])
    explained: float = 1.0 - freedom * float((residual**2).mean() / target.var())
    return explained
