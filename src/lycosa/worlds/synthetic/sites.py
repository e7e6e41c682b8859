"""How pages lie in sites and sections, and what each is about."""

from collections.abc import Iterator
from heapq import heapify, heapreplace
from itertools import islice

import numpy as np

from .chance import Floats, Ints, key, normals, uniforms
from .options import SMALLEST_SITE, Options
from .words import PER_LEAF, SECTION_NAMES, Vocabulary

SIZE_EXPONENT = 2.1  # of the power law of the sizes of sites
LARGEST_SITE = 0.7  # the largest has as many times the pages of a small one as there are sites, to this power
LOOSENESS, MOST_LOOSE = 0.6, 3.0  # spread of ln how loosely topics hold together, and its most
BETRAYING_HOSTS, BETRAYING_SECTIONS = 0.4, 0.25  # of the names in addresses


def site_sizes(options: Options) -> Ints:
    """Sizes from a power law that add up to the number of pages, in random order."""
    sites, spare = options.site_count, options.pages - SMALLEST_SITE * options.site_count
    ranks = (np.arange(sites) + 0.5) / sites
    weights = np.minimum(ranks ** (-1.0 / (SIZE_EXPONENT - 1.0)), sites**LARGEST_SITE)
    bounds = np.round(np.cumsum(weights) / weights.sum() * spare).astype(np.int64)
    sizes = SMALLEST_SITE + np.diff(bounds, prepend=0)
    shuffled: Ints = sizes[np.argsort(uniforms(key(options.seed, "site order"), sites), kind="stable")]
    return shuffled


def section_bounds(
    seed: int, sizes: Ints, site_start: Ints, sections_of: Ints, first_section: Ints
) -> tuple[Ints, Ints]:
    site = np.repeat(np.arange(len(sizes)), sections_of)
    shares = np.cumsum(0.4 + uniforms(key(seed, "section sizes"), len(site)))
    before = np.concatenate(([0.0], shares))[first_section[:-1]]
    whole = shares[first_section[1:] - 1] - before
    articles = (sizes - 1 - sections_of)[site]
    ends = np.round((shares - before[site]) / whole[site] * articles).astype(np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    starts[first_section[:-1]] = 0
    offset = (site_start[:-1] + 1 + sections_of)[site]
    return offset + starts, ends - starts


def site_topics(options: Options, sizes: Ints) -> Ints:
    """A main topic for each site, so that topics have pages by mildly different shares."""
    shares = (np.arange(options.topics) + 10.0) ** -0.5
    shares = shares[np.argsort(uniforms(key(options.seed, "topic shares"), options.topics), kind="stable")]
    owed = [(-float(share), topic) for topic, share in enumerate(shares / shares.sum() * options.pages)]
    heapify(owed)
    topics = np.empty(len(sizes), dtype=np.int64)
    for site in np.argsort(-sizes, kind="stable").tolist():
        most, topic = owed[0]
        topics[site] = topic
        heapreplace(owed, (most + float(sizes[site]), topic))
    return topics


def looseness_of_topics(options: Options) -> Floats:
    """How many times as often as usual things stray from each topic; topics differ in how well they hold together."""
    factors: Floats = np.exp(LOOSENESS * normals(key(options.seed, "looseness"), options.topics)).clip(0.0, MOST_LOOSE)
    return factors


def near_topics(options: Options, what: str, topics: Ints, stay: float, sibling: float, words: Vocabulary) -> Ints:
    """The same topics for most, one of the same top for some, any for the rest."""
    looseness = looseness_of_topics(options)[topics]
    u = uniforms(key(options.seed, f"{what} stays"), len(topics)) / max(options.topical_homophily, 1e-9)
    other = (uniforms(key(options.seed, f"{what} topic"), len(topics)) * options.topics).astype(np.int64)
    near = words.related(topics, uniforms(key(options.seed, f"{what} sibling"), len(topics)))
    stays = 1.0 - (1.0 - stay) * looseness
    return np.where(u < stays, topics, np.where(u < stays + sibling * looseness, near, other))


def section_words(seed: int, topics: Ints, words: Vocabulary) -> Ints:
    """What stands for each section in addresses: a word of its topic, or -1 - the number of a neutral name."""
    is_topical = uniforms(key(seed, "section names"), len(topics)) < BETRAYING_SECTIONS
    pick = uniforms(key(seed, "section words"), len(topics))
    topical = words.leaves[topics] + (PER_LEAF * pick**2).astype(np.int64)
    return np.where(is_topical, topical, -1 - (len(SECTION_NAMES) * pick).astype(np.int64))


def host_names(seed: int, topics: Ints, words: Vocabulary, unused: Iterator[str]) -> list[str]:
    """A name for each site; some betray what it is about."""
    betrays = uniforms(key(seed, "host names"), len(topics)) < BETRAYING_HOSTS
    pick = (PER_LEAF * uniforms(key(seed, "host words"), len(topics)) ** 2).astype(np.int64)
    return [
        f"{word}-{name}.example" if betrayed else f"{name}.example"
        for word, name, betrayed in zip(
            words.words(words.leaves[topics] + pick), islice(unused, len(topics)), betrays.tolist(), strict=True
        )
    ]
