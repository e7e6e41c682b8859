"""A directory such as editors make: for each topic some pages on it, of part of the sites, better ones more often."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lycosa.worlds.world import Category, Entry

from .addresses import Addresses
from .counter_rng import Floats, Ints, key, uniforms
from .pages import TextGenerator
from .plan import Options, Plan

SHARE = 0.025  # of a topic's pages
FEWEST = 12  # entries, where a topic has as many pages
_KNOWN_BONUS = np.array([3.0, 1.5, 0.0])  # home pages and sections are listed sooner than articles
KNOWN, STANDING_TELLS = 0.0, 1.5  # of the chance of a site to be known: for all, and by how well it stands
_AGAIN = 4.0  # each page of a site is listed later than the one before it


def known_sites(options: Options, plan: Plan) -> NDArray[np.bool_]:
    """The sites that the editors know; those whose home pages stand well more often."""
    home = plan.latent[plan.site_start[:-1]].astype(np.float64)
    probability = 1.0 / (1.0 + np.exp(-KNOWN - STANDING_TELLS * home))
    return uniforms(key(options.seed, "known sites"), len(probability)) < probability


def chosen_pages(options: Options, plan: Plan) -> list[NDArray[np.int64]]:
    """The pages listed under each topic, in the order of the list."""
    u = uniforms(key(options.seed, "directory"), len(plan))
    wanted = 0.8 * plan.latent + _KNOWN_BONUS[plan.kind] - np.log(-np.log(u + 1e-300))  # a draw without replacement
    wanted -= _AGAIN * _rank_within(plan.site_of_page.astype(np.int64) * options.topics + plan.topic, wanted)
    wanted[~known_sites(options, plan)[plan.site_of_page]] -= 1000.0
    order = uniforms(key(options.seed, "directory order"), len(plan))
    by_topic = np.argsort(plan.topic, kind="stable")
    bounds = np.searchsorted(plan.topic[by_topic], np.arange(options.topics + 1))
    chosen = []
    for topic in range(options.topics):
        pages = by_topic[bounds[topic] : bounds[topic + 1]]
        count = min(len(pages), max(FEWEST, round(SHARE * len(pages))))
        best = pages[np.argsort(-wanted[pages], kind="stable")[:count]]
        chosen.append(best[np.argsort(order[best], kind="stable")])
    return chosen


def _rank_within(groups: Ints, wanted: Floats) -> Ints:
    """How many of its group are wanted more than each."""
    order = np.lexsort((-wanted, groups))
    is_first = np.diff(groups[order], prepend=-1) != 0
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return ranks


def make_directory(
    options: Options, plan: Plan, prose: TextGenerator, addresses: Addresses, names: Sequence[str]
) -> tuple[Category, ...]:
    """All categories, the leaves of one top after those of the other."""
    categories = []
    for name, pages in zip(names, chosen_pages(options, plan), strict=True):
        urls = addresses.urls(pages)
        entries = (Entry(url, prose.description(page)) for url, page in zip(urls, pages.tolist(), strict=True))
        categories.append(Category(name, tuple(entries)))
    return tuple(categories)
