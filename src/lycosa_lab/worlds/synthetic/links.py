"""The links of a synthetic world: navigation within a site, and links across sites by topic, fitness and standing.

Links across sites lead to fit pages (Bianconi and Barabási, 2001) and, as far as there is homophily, to pages of
similar standing; the topic of their targets is mostly that of their sources (Davison, Topical locality, 2000).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .counter_rng import Floats, Ints, normals, stream_key, subkey, uniforms
from .plan import Options, PageKind, WorldPlan, topic_looseness
from .vocabulary import Vocabulary

SECTIONS_SHOWN = 4  # sections of its site in the navigation of every page
ARTICLES_LISTED = 20  # on the page of a section
FEATURED = 6  # pages of its site that a home page links to
SIBLING_PROBABILITIES = (0.9, 0.6, 0.3)  # of an article's links to random articles of its section
SAME_SITE_PROBABILITY = 0.4  # of its link to a random page of its site
# Shares of links across sites to the same leaf topic and to others of the same top; the rest leads to any.
SAME_LEAF, SAME_TOP = 0.87, 0.07
KERNEL_SHARE = 0.37  # share of links across sites that lead to pages of similar standing
KERNEL_WIDTH = 0.08  # standard deviation of the difference in rank
FITNESS_POWER = 1.22  # corrects the power law of in-links, which sampling within topics flattens
SIBLINGS_COMPARED = 7  # candidates of which a link takes the one closest in standing to its page


@dataclass(frozen=True)
class Links:
    """The links of all pages in compressed sparse rows: navigation first, then the links in the text."""

    start: NDArray[np.int64]  # links of page n are target[start[n] : start[n + 1]]
    target: NDArray[np.int32]
    navigation: NDArray[np.int16]  # how many links of each page are navigation

    def of(self, page: int) -> NDArray[np.int32]:
        return self.target[self.start[page] : self.start[page + 1]]


class PageLinks(NamedTuple):
    """The links of a page: navigation first, then those in the text."""

    targets: NDArray[np.int32]
    navigation_count: int


Pair = tuple[Ints, Ints]  # sources and targets of links


class TargetSampler:
    """Chooses targets for links across sites: pages of a topic by fitness, or by rank of standing.

    The fitness of a page is the weight with which links choose it: a power of its in-links, with log-normal noise.
    """

    def __init__(self, options: Options, plan: WorldPlan):
        order = np.lexsort((plan.latent, plan.topic))
        fitness = (1.0 + plan.in_links) ** FITNESS_POWER * np.exp(
            0.5 * normals(stream_key(options.seed, "fitness"), len(plan))
        )
        self._pages = order.astype(np.int32)  # by topic, then by standing
        self._bounds = np.searchsorted(plan.topic[order], np.arange(options.topics + 1))  # of topics in `_pages`
        self._total = np.concatenate(([0.0], np.cumsum(fitness[order])))

    def topic_shares(self) -> Floats:
        """The cumulative shares of topics in all pages, without the last."""
        shares: Floats = self._bounds[1:-1] / self._bounds[-1]
        return shares

    def sample_by_fitness(self, topics: Ints, u: Floats) -> Ints:
        """A page of each given topic, in proportion to fitness; `u` are uniform random numbers."""
        low, high = self._total[self._bounds[topics]], self._total[self._bounds[topics + 1]]
        indices = np.searchsorted(self._total, low + u * (high - low), side="right") - 1
        pages: Ints = self._pages[np.clip(indices, self._bounds[topics], self._bounds[topics + 1] - 1)]
        return pages

    def at_rank(self, topics: Ints, ranks: Floats) -> Ints:
        """The page of each given topic at the given rank (0 to 1) of standing."""
        low, high = self._bounds[topics], self._bounds[topics + 1]
        pages: Ints = self._pages[np.minimum(low + (ranks * (high - low)).astype(np.int64), high - 1)]
        return pages


def make_links(options: Options, plan: WorldPlan, words: Vocabulary) -> Links:
    """The links of all pages, without duplicates and self-links."""
    navigation = [*_up_links(plan), *_section_links(plan)]
    in_text = [*_listings(options, plan), *_sibling_links(options, plan), _cross_links(options, plan, words)]
    source = np.concatenate([pair[0] for pair in (*navigation, *in_text)])
    target = np.concatenate([pair[1] for pair in (*navigation, *in_text)])
    navigation_count = sum(len(pair[0]) for pair in navigation)
    sort_key = np.arange(len(source), dtype=np.uint32)  # navigation keeps its order, links in the text are shuffled
    sort_key[navigation_count:] = (
        uniforms(stream_key(options.seed, "places"), len(source) - navigation_count) * 2.0**31
    ).astype(np.uint32)
    sort_key[navigation_count:] |= np.uint32(1 << 31)
    order = np.argsort(source.astype(np.uint64) << np.uint64(32) | sort_key, kind="stable")
    source, target, is_navigation = source[order], target[order], order < navigation_count
    del order, sort_key
    first = np.unique(source.astype(np.int64) * len(plan) + target, return_index=True)[1]
    is_kept = np.zeros(len(source), dtype=bool)
    is_kept[first] = True
    is_kept &= source != target
    source, target, is_navigation = source[is_kept], target[is_kept], is_navigation[is_kept]
    counts = np.bincount(source, minlength=len(plan))
    return Links(
        start=np.concatenate(([0], np.cumsum(counts))),
        target=target.astype(np.int32),
        navigation=np.bincount(source[is_navigation], minlength=len(plan)).astype(np.int16),
    )


def _up_links(plan: WorldPlan) -> list[Pair]:
    """Links of all other pages to their home page."""
    pages = np.arange(len(plan), dtype=np.int32)
    inner = pages[plan.kind != PageKind.HOME]
    return [(inner, plan.site_start[plan.site_of_page[inner]])]


def _section_page(plan: WorldPlan, sections: Ints, sites: Ints) -> Ints:
    return plan.site_start[sites] + 1 + sections - plan.first_section[sites]


def _section_links(plan: WorldPlan) -> list[Pair]:
    """Links of articles to their section, of every page to the first sections of its site, of home pages to all."""
    pages = np.arange(len(plan), dtype=np.int32)
    articles = pages[plan.kind == PageKind.ARTICLE]
    pairs = [(articles, _section_page(plan, plan.section_of_page[articles], plan.site_of_page[articles]))]
    section_counts = np.diff(plan.first_section)
    for number in range(int(section_counts.max())):
        shown = pages if number < SECTIONS_SHOWN else plan.site_start[:-1]
        shown = shown[section_counts[plan.site_of_page[shown]] > number]
        pairs.append((shown, plan.site_start[plan.site_of_page[shown]] + 1 + number))
    return pairs


def _listings(options: Options, plan: WorldPlan) -> list[Pair]:
    """Links of sections to their first articles, and of home pages to random pages of the site."""
    sections = np.arange(len(plan.section_topic))
    sites = np.searchsorted(plan.first_section, sections, side="right") - 1
    listed = np.minimum(plan.section_size, ARTICLES_LISTED)
    source = np.repeat(_section_page(plan, sections, sites), listed)
    index = np.arange(len(source)) - np.repeat(np.cumsum(listed) - listed, listed)
    pairs = [(source, np.repeat(plan.section_start, listed) + index)]
    homes, sizes = plan.site_start[:-1], np.diff(plan.site_start)
    for number in range(FEATURED):
        u = uniforms(stream_key(options.seed, "featured", number), len(homes))
        pairs.append((homes, homes + (u * sizes).astype(np.int64)))
    return pairs


def _sibling_links(options: Options, plan: WorldPlan) -> list[Pair]:
    """Links of articles to the next and previous, and to random ones of the section and of the site."""
    articles = np.flatnonzero(plan.kind == PageKind.ARTICLE)
    section = plan.section_of_page[articles]
    start, size = plan.section_start[section].astype(np.int64), plan.section_size[section]
    index = articles - start
    pairs: list[Pair] = [(articles, start + (index + step) % size) for step in (1, -1)]
    for number, share in enumerate(SIBLING_PROBABILITIES):
        is_linking = uniforms(stream_key(options.seed, "siblings", number), len(articles)) < share
        pairs.append(
            (
                articles[is_linking],
                _sibling(options, plan, number, articles[is_linking], start[is_linking], size[is_linking]),
            )
        )
    is_linking = uniforms(stream_key(options.seed, "site links"), len(articles)) < SAME_SITE_PROBABILITY
    u = uniforms(stream_key(options.seed, "site link"), len(articles))
    site = plan.site_of_page[articles]
    anywhere = plan.site_start[site] + (u * np.diff(plan.site_start)[site]).astype(np.int64)
    return [*pairs, (articles[is_linking], anywhere[is_linking])]


def _sibling(options: Options, plan: WorldPlan, number: int, articles: Ints, start: Ints, size: Ints) -> Ints:
    """An article of the same section for each; with homophily, the one closest in standing of several candidates."""
    nearest = start + (uniforms(stream_key(options.seed, "sibling", number), len(articles)) * size).astype(np.int64)
    prefers_similar = (
        uniforms(stream_key(options.seed, "sibling looks", number), len(articles)) < options.status_homophily
    )
    for candidate in range(1, SIBLINGS_COMPARED):
        u = uniforms(stream_key(options.seed, "sibling", number, candidate), len(articles))
        other = start + (u * size).astype(np.int64)
        gaps = [np.abs(plan.latent[page] - plan.latent[articles]) for page in (other, nearest)]
        is_closer = prefers_similar & (other != articles) & ((gaps[0] < gaps[1]) | (nearest == articles))
        nearest = np.where(is_closer, other, nearest)
    return nearest


def _cross_links(options: Options, plan: WorldPlan, words: Vocabulary) -> Pair:
    """Links across sites: to fit pages, or, for a share of them, to pages of similar standing."""
    source = np.repeat(np.arange(len(plan), dtype=np.int32), plan.cross_links)
    ranks = np.empty(len(plan), dtype=np.float32)
    ranks[np.argsort(plan.latent, kind="stable")] = (np.arange(len(plan)) + 0.5) / len(plan)
    target_sampler = TargetSampler(options, plan)
    topics = _linked_topics(
        options, plan.topic[source], target_sampler.topic_shares(), words, stream_key(options.seed, "cross")
    )
    rng_key = stream_key(options.seed, "cross targets")
    target = target_sampler.sample_by_fitness(topics, uniforms(rng_key, len(source)))
    by_standing = uniforms(subkey(rng_key, 1), len(source)) < KERNEL_SHARE * options.status_homophily
    width = KERNEL_WIDTH * normals(subkey(rng_key, 2), int(by_standing.sum()))
    rank = np.abs(ranks[source[by_standing]] + width)
    rank = np.where(rank > 1.0, 2.0 - rank, rank)
    target[by_standing] = target_sampler.at_rank(topics[by_standing], rank)
    return source, target


def _linked_topics(options: Options, topics: Ints, shares: Floats, words: Vocabulary, rng_key: int) -> Ints:
    """The topic of the target of a link across sites, for each given topic of its source."""
    u = uniforms(rng_key, len(topics)) / max(options.topical_homophily, 1e-9)
    any_topic = np.searchsorted(shares, uniforms(subkey(rng_key, 1), len(topics)), side="right")
    related = words.related(topics, uniforms(subkey(rng_key, 2), len(topics)))
    looseness = topic_looseness(options)[topics]  # how many times as often as usual links stray from the topic
    same = 1.0 - (1.0 - SAME_LEAF) * looseness
    return np.where(u < same, topics, np.where(u < same + SAME_TOP * looseness, related, any_topic))
