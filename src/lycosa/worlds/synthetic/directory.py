"""A directory such as editors make: for each topic some pages on it, of part of the sites, better ones more often."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lycosa.worlds.world import Category, Entry

from .addresses import Addresses
from .chance import key, uniforms
from .options import Options
from .plan import Plan
from .text import Prose

SHARE = 0.025  # of a topic's pages
FEWEST = 12  # entries, where a topic has as many pages
_KNOWN_BONUS = np.array([3.0, 1.5, 0.0])  # home pages and sections are listed sooner than articles


def known_sites(options: Options, plan: Plan) -> NDArray[np.bool_]:
    """The sites that the editors know; better ones more often."""
    chance = 1.0 / (1.0 + np.exp(-1.5 * plan.site_quality.astype(np.float64)))
    return uniforms(key(options.seed, "known sites"), len(chance)) < chance


def chosen_pages(options: Options, plan: Plan) -> list[NDArray[np.int64]]:
    """The pages listed under each topic, in the order of the list."""
    u = uniforms(key(options.seed, "directory"), len(plan))
    wanted = 0.8 * plan.latent + _KNOWN_BONUS[plan.kind] - np.log(-np.log(u + 1e-300))  # a draw without replacement
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


def make_directory(
    options: Options, plan: Plan, prose: Prose, addresses: Addresses, names: Sequence[str]
) -> tuple[Category, ...]:
    """All categories, the leaves of one top after those of the other."""
    categories = []
    for name, pages in zip(names, chosen_pages(options, plan), strict=True):
        urls = addresses.urls(pages)
        entries = (Entry(url, prose.description(page)) for url, page in zip(urls, pages.tolist(), strict=True))
        categories.append(Category(name, tuple(entries)))
    return tuple(categories)


def share_of_sites(options: Options, plan: Plan) -> float:
    """How many of the sites have a page in the directory."""
    pages = np.concatenate(chosen_pages(options, plan))
    return len(np.unique(plan.site_of_page[pages])) / len(plan.site_topic)
