"""The directory of a synthetic world: for each topic a sample of its pages, those of higher standing more often."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lycosa_lab.worlds.world import Category, DirectoryEntry

from .addresses import Addresses
from .counter_rng import Floats, Ints, key, uniforms
from .plan import Options, WorldPlan
from .text import TextGenerator

SHARE = 0.025  # of a topic's pages
MIN_ENTRIES = 12  # of a topic, if it has as many pages
_KIND_BONUS = np.array([3.0, 1.5, 0.0])  # in the score of home pages, sections and articles
KNOWN_LEVEL, KNOWN_SLOPE = 0.0, 1.5  # logit of the probability that a site is known: level, and slope by standing
_REPEAT_PENALTY = 4.0  # in the score of a page, for each better page of the same site and topic


def known_sites(options: Options, plan: WorldPlan) -> NDArray[np.bool_]:
    """Which sites are known to the editors: a logistic model of the standing of the home page."""
    home = plan.latent[plan.site_start[:-1]].astype(np.float64)
    probability = 1.0 / (1.0 + np.exp(-KNOWN_LEVEL - KNOWN_SLOPE * home))
    return uniforms(key(options.seed, "known sites"), len(probability)) < probability


def chosen_pages(options: Options, plan: WorldPlan) -> list[NDArray[np.int64]]:
    """The pages listed under each topic, in order: the ones of the highest score, of known sites first."""
    u = uniforms(key(options.seed, "directory"), len(plan))
    score = 0.8 * plan.latent + _KIND_BONUS[plan.kind] - np.log(-np.log(u + 1e-300))  # Gumbel noise: a weighted sample
    score -= _REPEAT_PENALTY * _rank_within(plan.site_of_page.astype(np.int64) * options.topics + plan.topic, score)
    score[~known_sites(options, plan)[plan.site_of_page]] -= 1000.0
    order = uniforms(key(options.seed, "directory order"), len(plan))
    by_topic = np.argsort(plan.topic, kind="stable")
    bounds = np.searchsorted(plan.topic[by_topic], np.arange(options.topics + 1))
    chosen = []
    for topic in range(options.topics):
        pages = by_topic[bounds[topic] : bounds[topic + 1]]
        count = min(len(pages), max(MIN_ENTRIES, round(SHARE * len(pages))))
        best = pages[np.argsort(-score[pages], kind="stable")[:count]]
        chosen.append(best[np.argsort(order[best], kind="stable")])
    return chosen


def _rank_within(groups: Ints, score: Floats) -> Ints:
    """For each element, how many of its group have a higher score."""
    order = np.lexsort((-score, groups))
    is_first = np.diff(groups[order], prepend=-1) != 0
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return ranks


def make_directory(
    options: Options, plan: WorldPlan, text: TextGenerator, addresses: Addresses, names: Sequence[str]
) -> tuple[Category, ...]:
    """All leaf categories, grouped by top category."""
    categories = []
    for name, pages in zip(names, chosen_pages(options, plan), strict=True):
        urls = addresses.urls(pages)
        entries = (DirectoryEntry(url, text.description(page)) for url, page in zip(urls, pages.tolist(), strict=True))
        categories.append(Category(name, tuple(entries)))
    return tuple(categories)
