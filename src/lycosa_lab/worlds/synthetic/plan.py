"""The plan of a synthetic world: sites, sections and pages, their topics and their standing, as columns of numbers.

The pages of a site are numbered consecutively: its home page, its sections, then the articles of each section.

Standing (the papers' status) is similar within sites, within sections and along links. In-links from everywhere, most
of them from outside the world, follow from it by a power law; the features of a page follow from it with noise.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from enum import IntEnum
from heapq import heapify, heapreplace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError

from .counter_rng import Floats, Ints, normals, stream_key, uniforms
from .vocabulary import PER_LEAF, SECTION_NAMES, Vocabulary

MIN_SITE = 4  # pages
MAX_SECTIONS = 12  # of a site
SECTIONS_SAME, SECTIONS_NEAR = (
    0.90,
    0.06,
)  # share of sections on the topic of their site, or on one of the same top-level topic
ARTICLES_SAME, ARTICLES_NEAR = (
    0.95,
    0.03,
)  # share of articles on the topic of their section, or one of the same top-level topic
SIZE_EXPONENT = 2.1  # of the power law of the sizes of sites
LARGEST_SITE_POWER = 0.7  # the largest site has sites ** 0.7 times the weight of the smallest; each gets MIN_SITE more
LOOSENESS_SPREAD, MAX_LOOSENESS = 0.6, 3.0  # of `topic_looseness`: standard deviation of its logarithm, and limit
TOPICAL_HOSTS, TOPICAL_SECTIONS = 0.4, 0.25  # share of names in URLs that are words of the topic
IN_LINK_EXPONENT = 2.1  # of the power law of in-links (Broder et al., Graph structure in the Web, 2000)
IN_LINK_SCALE = 8.0  # in-links below which the density is flat
SITE_VARIANCE, SECTION_VARIANCE = 0.14, 0.10  # shares of the variance of standing
NEIGHBOUR_WEIGHT = 1.0  # of the previous page's standing in a page's own
KIND_BONUS = (0.6, 0.3, 0.0)  # added to the standing of home pages, sections and articles, in standard deviations
MAX_FOLDERS = 4  # in the URL of an article


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a synthetic world: numbers of pages, sites (None: one for 40 pages) and leaf topics, and a seed of
    random choices. The last four are 1 as measured on the Web, 0 to turn a property off."""

    pages: int = 40_000
    sites: int | None = None
    topics: int = 37
    seed: int = 1
    status_homophily: float = 1.0  # that linked pages are of similar standing
    topical_homophily: float = 1.0  # that links and sites keep to one topic
    feature_noise: float = 1.0  # of the features that follow from standing
    site_words: float = 1.0  # words that the pages of a site share

    def __post_init__(self) -> None:
        if self.topics < 2 or self.topics > 2000:
            raise UsageError(f"a synthetic world has 2 to 2000 topics, not {self.topics}")
        if self.pages < 20 * self.topics or self.pages > 20_000_000:
            raise UsageError(
                f"a synthetic world of {self.topics} topics has {20 * self.topics} to 20000000 pages, not {self.pages}"
            )
        if not self.topics <= self.site_count <= self.pages // (MIN_SITE + 1):
            max_sites = self.pages // (MIN_SITE + 1)
            raise UsageError(
                f"a synthetic world of {self.pages} pages has {self.topics} to {max_sites} sites, not {self.site_count}"
            )
        if self.seed < 0:
            raise UsageError(f"the seed of a synthetic world is 0 or more, not {self.seed}")
        for name in ("status_homophily", "topical_homophily", "site_words"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name} lies between 0 (none) and 1 (as measured), not {getattr(self, name)}")
        if not 0.0 <= self.feature_noise <= 1e6:
            raise UsageError(f"feature_noise is 0 or more, not {self.feature_noise}")

    @property
    def site_count(self) -> int:
        return self.sites if self.sites is not None else max(self.topics, self.pages // 40)


class PageKind(IntEnum):
    """The kinds of pages."""

    HOME = 0
    SECTION = 1
    ARTICLE = 2


@dataclass(frozen=True)
class WorldPlan:
    """The columns of a world, indexed by the numbers of pages, sections or sites. Their names are names of files."""

    site_start: NDArray[np.int32]  # the first page of each site, and the end
    site_topic: NDArray[np.int16]
    site_quality: NDArray[np.float32]  # what its pages share of their standing, as a standard normal variable
    first_section: NDArray[np.int32]  # the first section of each site, and the end
    section_topic: NDArray[np.int16]
    section_word: NDArray[np.int32]  # in its URL: index of a word of the vocabulary, or -1 - index of a neutral name
    section_start: NDArray[np.int32]  # its first article
    section_size: NDArray[np.int32]  # articles
    site_of_page: NDArray[np.int32]
    section_of_page: NDArray[np.int32]  # for a home page, the first section of its site
    kind: NDArray[np.int8]  # `PageKind`
    topic: NDArray[np.int16]
    latent: NDArray[np.float32]  # standing, as a standard normal variable
    in_links: NDArray[np.int64]  # from everywhere
    depth: NDArray[np.int8]  # folders in the URL
    words: NDArray[np.int16]  # number of words of the text
    rarity: NDArray[np.float32]  # share of rare words
    figures: NDArray[np.float32]  # share of numbers
    cross_links: NDArray[np.int16]  # number of links drawn across sites
    site_traffic: NDArray[np.float32]  # visitors of a million people

    def __len__(self) -> int:
        return len(self.topic)

    @property
    def status(self) -> NDArray[np.float64]:
        """ln(1 + in-links) of each page."""
        return np.log1p(self.in_links)


COLUMNS = tuple(field.name for field in fields(WorldPlan))


def make_plan(options: Options, words: Vocabulary) -> WorldPlan:
    """The plan for the given options; the same options give the same columns."""
    seed, sites = options.seed, options.site_count
    sizes = draw_site_sizes(options)
    site_start = np.concatenate(([0], np.cumsum(sizes)))
    section_counts = np.clip(np.round(np.sqrt(sizes) / 1.3), 1, MAX_SECTIONS).astype(np.int64)
    section_counts = np.minimum(section_counts, sizes - 2)
    first_section = np.concatenate(([0], np.cumsum(section_counts)))
    section_start, section_size = draw_section_bounds(seed, sizes, site_start, section_counts, first_section)

    site_of_page = np.repeat(np.arange(sites), sizes)
    index_in_site = np.arange(options.pages) - site_start[site_of_page]
    kind = np.where(
        index_in_site == 0,
        PageKind.HOME,
        np.where(index_in_site <= section_counts[site_of_page], PageKind.SECTION, PageKind.ARTICLE),
    )
    section_of_page = first_section[site_of_page] + np.clip(index_in_site - 1, 0, None)
    articles = np.flatnonzero(kind == PageKind.ARTICLE)
    section_of_page[articles] = np.searchsorted(section_start, articles, side="right") - 1

    site_topic = draw_site_topics(options, sizes)
    topics_of_sites = np.repeat(site_topic, section_counts)
    section_topic = draw_near_topics(options, "section", topics_of_sites, SECTIONS_SAME, SECTIONS_NEAR, words)
    topic = section_topic[section_of_page]
    topic[articles] = draw_near_topics(options, "article", topic[articles], ARTICLES_SAME, ARTICLES_NEAR, words)
    topic[site_start[:-1]] = site_topic

    quality = normals(stream_key(seed, "site quality"), sites)
    latent = draw_latent_standing(options, quality, site_of_page, section_of_page, kind, len(section_topic))
    in_links = in_links_from_latent(latent)
    features = asdict(draw_features(options, latent))
    features["depth"] = np.where(kind == PageKind.ARTICLE, features["depth"], kind).astype(np.int8)
    return WorldPlan(
        site_start=site_start.astype(np.int32),
        site_topic=site_topic.astype(np.int16),
        site_quality=quality.astype(np.float32),
        first_section=first_section.astype(np.int32),
        section_topic=section_topic.astype(np.int16),
        section_word=draw_section_words(seed, section_topic, words).astype(np.int32),
        section_start=section_start.astype(np.int32),
        section_size=section_size.astype(np.int32),
        site_of_page=site_of_page.astype(np.int32),
        section_of_page=section_of_page.astype(np.int32),
        kind=kind.astype(np.int8),
        topic=topic.astype(np.int16),
        latent=latent.astype(np.float32),
        in_links=in_links,
        site_traffic=draw_site_traffic(options, in_links, site_start),
        **features,
    )


# Sites, sections and topics


def draw_site_sizes(options: Options) -> Ints:
    """Site sizes from a power law that sum to the number of pages, in random order."""
    sites, spare = options.site_count, options.pages - MIN_SITE * options.site_count
    ranks = (np.arange(sites) + 0.5) / sites
    weights = np.minimum(ranks ** (-1.0 / (SIZE_EXPONENT - 1.0)), sites**LARGEST_SITE_POWER)
    bounds = np.round(np.cumsum(weights) / weights.sum() * spare).astype(np.int64)
    sizes = MIN_SITE + np.diff(bounds, prepend=0)
    shuffled: Ints = sizes[np.argsort(uniforms(stream_key(options.seed, "site order"), sites), kind="stable")]
    return shuffled


def draw_section_bounds(
    seed: int, sizes: Ints, site_start: Ints, section_counts: Ints, first_section: Ints
) -> tuple[Ints, Ints]:
    """The first article and the number of articles of each section; the shares of sections are 0.4 to 1.4."""
    site = np.repeat(np.arange(len(sizes)), section_counts)
    shares = np.cumsum(0.4 + uniforms(stream_key(seed, "section sizes"), len(site)))
    before = np.concatenate(([0.0], shares))[first_section[:-1]]
    whole = shares[first_section[1:] - 1] - before
    articles = (sizes - 1 - section_counts)[site]
    ends = np.round((shares - before[site]) / whole[site] * articles).astype(np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    starts[first_section[:-1]] = 0
    offset = (site_start[:-1] + 1 + section_counts)[site]
    return offset + starts, ends - starts


def draw_site_topics(options: Options, sizes: Ints) -> Ints:
    """The main topic of each site, such that the shares of topics follow rank ** -0.5, with ranks from 10 on."""
    shares = (np.arange(options.topics) + 10.0) ** -0.5
    shares = shares[np.argsort(uniforms(stream_key(options.seed, "topic shares"), options.topics), kind="stable")]
    pages_owed = [(-float(share), topic) for topic, share in enumerate(shares / shares.sum() * options.pages)]
    heapify(pages_owed)
    topics = np.empty(len(sizes), dtype=np.int64)
    for site in np.argsort(-sizes, kind="stable").tolist():
        balance, topic = pages_owed[0]
        topics[site] = topic
        heapreplace(pages_owed, (balance + float(sizes[site]), topic))
    return topics


def topic_looseness(options: Options) -> Floats:
    """For each topic, how many times as often as usual its pages, links and words stray from it: log-normal."""
    factors: Floats = np.exp(LOOSENESS_SPREAD * normals(stream_key(options.seed, "looseness"), options.topics)).clip(
        0.0, MAX_LOOSENESS
    )
    return factors


def draw_near_topics(options: Options, purpose: str, topics: Ints, same: float, near: float, words: Vocabulary) -> Ints:
    """A topic near each given one: the same with probability `same`, one of the same top with `near`, else any."""
    looseness = topic_looseness(options)[topics]
    u = uniforms(stream_key(options.seed, f"{purpose} stays"), len(topics)) / max(options.topical_homophily, 1e-9)
    other = (uniforms(stream_key(options.seed, f"{purpose} topic"), len(topics)) * options.topics).astype(np.int64)
    related = words.related(topics, uniforms(stream_key(options.seed, f"{purpose} sibling"), len(topics)))
    stays = 1.0 - (1.0 - same) * looseness
    return np.where(u < stays, topics, np.where(u < stays + near * looseness, related, other))


def draw_section_words(seed: int, topics: Ints, words: Vocabulary) -> Ints:
    """The name of each section in URLs: the index of a word of its topic, or -1 - the index of a neutral name."""
    is_topical = uniforms(stream_key(seed, "section names"), len(topics)) < TOPICAL_SECTIONS
    pick = uniforms(stream_key(seed, "section words"), len(topics))
    topical = words.leaves[topics] + (PER_LEAF * pick**2).astype(np.int64)
    return np.where(is_topical, topical, -1 - (len(SECTION_NAMES) * pick).astype(np.int64))


def draw_host_names(seed: int, topics: Ints, words: Vocabulary, unused: Iterator[str]) -> list[str]:
    """A host name for each site; a share TOPICAL_HOSTS of them begins with a word of the topic."""
    is_topical = uniforms(stream_key(seed, "host names"), len(topics)) < TOPICAL_HOSTS
    pick = (PER_LEAF * uniforms(stream_key(seed, "host words"), len(topics)) ** 2).astype(np.int64)
    return [
        f"{word}-{name}.example" if topical else f"{name}.example"
        for word, name, topical in zip(
            words.words(words.leaves[topics] + pick), islice(unused, len(topics)), is_topical.tolist(), strict=True
        )
    ]


# Standing, and the features that follow from it


def draw_latent_standing(
    options: Options, quality: Floats, site_of_page: Ints, section_of_page: Ints, kind: Ints, section_count: int
) -> Floats:
    """Standing as a standard normal variable, correlated within sites, within sections and between neighbours."""
    seed, homophily = options.seed, options.status_homophily
    of_site, of_section, neighbour = (
        SITE_VARIANCE * homophily,
        SECTION_VARIANCE * homophily,
        NEIGHBOUR_WEIGHT * homophily,
    )
    own = normals(stream_key(seed, "page quality"), options.pages)
    own = (own + neighbour * np.roll(own, 1)) / np.sqrt(1.0 + neighbour**2)
    section = normals(stream_key(seed, "section quality"), section_count)[section_of_page]
    bonus = np.array(KIND_BONUS)[kind] * homophily
    latent = (
        np.sqrt(of_site) * quality[site_of_page]
        + np.sqrt(of_section) * section
        + np.sqrt(1.0 - of_site - of_section) * own
        + bonus
    )
    scaled: Floats = (latent - latent.mean()) / latent.std()
    return scaled


def in_links_from_latent(latent: Floats) -> NDArray[np.int64]:
    """In-links by a power law, in the order of the latent standing."""
    ranks = np.empty(len(latent))
    ranks[np.argsort(latent, kind="stable")] = np.arange(len(latent))
    above = 1.0 - (ranks + 0.5) / len(latent)
    return np.floor(IN_LINK_SCALE * (above ** (-1.0 / (IN_LINK_EXPONENT - 1.0)) - 1.0)).astype(np.int64)


@dataclass(frozen=True)
class PageFeatures:
    """The features of pages that depend on their standing."""

    depth: NDArray[np.int8]  # folders in the URL of an article
    words: NDArray[np.int16]  # number of words of the text
    rarity: NDArray[np.float32]  # share of rare words
    figures: NDArray[np.float32]  # share of numbers
    cross_links: NDArray[np.int16]  # number of links drawn across sites


def draw_features(options: Options, latent: Floats, *, purpose_suffix: str = "") -> PageFeatures:
    """Features of the form f(level + slope * latent + feature_noise * spread * normal), clipped.

    purpose_suffix: for other random numbers than those of the pages of the start.
    """

    def feature(name: str, level: float, slope: float, spread: float) -> Floats:
        noise = normals(stream_key(options.seed, f"feature {name}{purpose_suffix}"), len(latent))
        return np.clip(level + slope * latent + options.feature_noise * spread * noise, -60.0, 60.0)

    # Without homophily the number of links must not depend on standing either: since links across sites lead to fit
    # pages, it would correlate the standing of a page with that of the pages it links to.
    links = feature("links", 0.0, 0.35 * options.status_homophily, 0.85)
    return PageFeatures(
        depth=np.clip(np.round(feature("depth", 2.3, -0.4, 0.9)), 1, MAX_FOLDERS).astype(np.int8),
        words=np.clip(np.exp(feature("words", 5.6, 0.17, 0.4)), 120, 900).astype(np.int16),
        rarity=np.clip(0.045 * np.exp(feature("rarity", 0.0, 0.25, 0.6)), 0.0, 0.3).astype(np.float32),
        figures=np.clip(0.02 * np.exp(feature("figures", 0.0, 0.3, 0.8)), 0.0, 0.2).astype(np.float32),
        cross_links=np.clip(4.2 * np.exp(links), 0, 60).astype(np.int16),
    )


def draw_site_traffic(options: Options, in_links: Ints, site_start: Ints) -> NDArray[np.float32]:
    """Visitors of each site, of a million people: log-normal around its in-links."""
    noise = 1.2 * options.feature_noise * normals(stream_key(options.seed, "traffic"), len(site_start) - 1)
    reach = np.log1p(np.add.reduceat(in_links, site_start[:-1])) - 4.0 + noise
    return np.exp(np.clip(reach, -20.0, 20.0)).astype(np.float32)
