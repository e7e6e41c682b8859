"""What is where, about what, and how well it stands: sites, sections and pages as columns of numbers.

The pages of a site lie side by side: its home page, its sections, then the articles of each section.
"""

from dataclasses import asdict, dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from .chance import key, normals
from .options import Options
from .sites import near_topics, section_bounds, section_words, site_sizes, site_topics
from .standing import features_of, in_links_of, latent_standing, site_traffic
from .words import Vocabulary

MOST_SECTIONS = 12  # of a site
SECTIONS_STAY, SECTIONS_NEAR = 0.90, 0.06  # share of sections about the topic of their site, or one of its field
ARTICLES_STAY, ARTICLES_NEAR = 0.95, 0.03  # of articles about that of their section, or one of its field


class Kind(IntEnum):
    HOME = 0
    SECTION = 1
    ARTICLE = 2


@dataclass(frozen=True)
class Plan:
    """The columns of a world; pages, sections and sites are known by their numbers."""

    site_start: NDArray[np.int32]  # first page of each site, and the end
    site_topic: NDArray[np.int16]
    site_quality: NDArray[np.float32]
    first_section: NDArray[np.int32]  # of each site, and the end
    section_topic: NDArray[np.int16]
    section_word: NDArray[np.int32]  # in its address: a word of the vocabulary, or -1 - a neutral name
    section_start: NDArray[np.int32]  # its first article
    section_size: NDArray[np.int32]  # articles
    site_of_page: NDArray[np.int32]
    section_of_page: NDArray[np.int32]  # the first of its site for a home page
    kind: NDArray[np.int8]
    topic: NDArray[np.int16]
    latent: NDArray[np.float32]  # standing on a normal scale
    in_links: NDArray[np.int64]  # from everywhere
    depth: NDArray[np.int8]  # folders in the address
    words: NDArray[np.int16]  # of the text
    rarity: NDArray[np.float32]  # share of rare words
    figures: NDArray[np.float32]  # share of numbers
    cross_links: NDArray[np.int16]  # links meant to leave the site
    site_traffic: NDArray[np.float32]  # reach, visitors of a million

    def __len__(self) -> int:
        return len(self.topic)

    @property
    def status(self) -> NDArray[np.float64]:
        return np.log1p(self.in_links)


COLUMNS = tuple(field.name for field in fields(Plan))


def make_plan(options: Options, words: Vocabulary) -> Plan:
    """Lays out the world; the same options give the same columns."""
    seed, sites = options.seed, options.site_count
    sizes = site_sizes(options)
    site_start = np.concatenate(([0], np.cumsum(sizes)))
    sections_of = np.clip(np.round(np.sqrt(sizes) / 1.3), 1, MOST_SECTIONS).astype(np.int64)
    sections_of = np.minimum(sections_of, sizes - 2)
    first_section = np.concatenate(([0], np.cumsum(sections_of)))
    section_start, section_size = section_bounds(seed, sizes, site_start, sections_of, first_section)

    site_of_page = np.repeat(np.arange(sites), sizes)
    place = np.arange(options.pages) - site_start[site_of_page]
    kind = np.where(place == 0, Kind.HOME, np.where(place <= sections_of[site_of_page], Kind.SECTION, Kind.ARTICLE))
    section_of_page = first_section[site_of_page] + np.clip(place - 1, 0, None)
    articles = np.flatnonzero(kind == Kind.ARTICLE)
    section_of_page[articles] = np.searchsorted(section_start, articles, side="right") - 1

    site_topic = site_topics(options, sizes)
    topics_above = np.repeat(site_topic, sections_of)
    section_topic = near_topics(options, "section", topics_above, SECTIONS_STAY, SECTIONS_NEAR, words)
    topic = section_topic[section_of_page]
    topic[articles] = near_topics(options, "article", topic[articles], ARTICLES_STAY, ARTICLES_NEAR, words)
    topic[site_start[:-1]] = site_topic

    quality = normals(key(seed, "site quality"), sites)
    latent = latent_standing(options, quality, site_of_page, section_of_page, kind, len(section_topic))
    in_links = in_links_of(latent)
    features = asdict(features_of(options, latent))
    features["depth"] = np.where(kind == Kind.ARTICLE, features["depth"], kind).astype(np.int8)
    return Plan(
        site_start=site_start.astype(np.int32),
        site_topic=site_topic.astype(np.int16),
        site_quality=quality.astype(np.float32),
        first_section=first_section.astype(np.int32),
        section_topic=section_topic.astype(np.int16),
        section_word=section_words(seed, section_topic, words).astype(np.int32),
        section_start=section_start.astype(np.int32),
        section_size=section_size.astype(np.int32),
        site_of_page=site_of_page.astype(np.int32),
        section_of_page=section_of_page.astype(np.int32),
        kind=kind.astype(np.int8),
        topic=topic.astype(np.int16),
        latent=latent.astype(np.float32),
        in_links=in_links,
        site_traffic=site_traffic(options, in_links, site_start),
        **features,
    )
