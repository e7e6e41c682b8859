"""How well pages stand, and what of that shows.

Standing (the papers' status) is alike within sites, within sections and along links. In-links from everywhere, most of
them from outside the world, follow from it by a power law; the features of a page follow from it with noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .chance import Floats, Ints, key, normals
from .options import Options

IN_LINK_EXPONENT = 2.1  # of the power law of in-links (Broder et al., Graph structure in the Web, 2000)
IN_LINK_SCALE = 8.0  # in-links up to which the law is flat
OF_SITE, OF_SECTION = 0.14, 0.10  # of the variance of standing
NEIGHBOUR = 1.0  # weight of the neighbour's in a page's own standing
BONUS = (0.6, 0.3, 0.0)  # standard deviations by which home pages, sections and articles stand above others
MOST_FOLDERS = 4


def latent_standing(
    options: Options, quality: Floats, site_of_page: Ints, section_of_page: Ints, kind: Ints, sections: int
) -> Floats:
    """Standing on a normal scale: alike within a site, within a section and between neighbours."""
    seed, homophily = options.seed, options.status_homophily
    of_site, of_section, neighbour = OF_SITE * homophily, OF_SECTION * homophily, NEIGHBOUR * homophily
    own = normals(key(seed, "page quality"), options.pages)
    own = (own + neighbour * np.roll(own, 1)) / np.sqrt(1.0 + neighbour**2)
    section = normals(key(seed, "section quality"), sections)[section_of_page]
    bonus = np.array(BONUS)[kind] * homophily
    latent = (
        np.sqrt(of_site) * quality[site_of_page]
        + np.sqrt(of_section) * section
        + np.sqrt(1.0 - of_site - of_section) * own
        + bonus
    )
    scaled: Floats = (latent - latent.mean()) / latent.std()
    return scaled


def in_links_of(latent: Floats) -> NDArray[np.int64]:
    """In-links from everywhere, in the order of the latent standing, by a power law."""
    ranks = np.empty(len(latent))
    ranks[np.argsort(latent, kind="stable")] = np.arange(len(latent))
    above = 1.0 - (ranks + 0.5) / len(latent)
    return np.floor(IN_LINK_SCALE * (above ** (-1.0 / (IN_LINK_EXPONENT - 1.0)) - 1.0)).astype(np.int64)


@dataclass(frozen=True)
class Features:
    """What shows of the standing of pages."""

    depth: NDArray[np.int8]  # folders in the address of an article
    words: NDArray[np.int16]  # of the text
    rarity: NDArray[np.float32]  # share of rare words
    figures: NDArray[np.float32]  # share of numbers
    cross_links: NDArray[np.int16]  # links meant to leave the site


def features_of(options: Options, latent: Floats, *, born: str = "") -> Features:
    """Each feature is a part that follows the standing, and a part that does not."""

    def feature(name: str, level: float, slope: float, spread: float) -> Floats:
        noise = normals(key(options.seed, f"feature {name}{born}"), len(latent))
        return np.clip(level + slope * latent + options.feature_noise * spread * noise, -60.0, 60.0)

    # Without homophily the number of links tells nothing either: it would tie the standing of a page to that of the
    # pages it leads to, since links to other sites lead to fit ones.
    links = feature("links", 0.0, 0.35 * options.status_homophily, 0.85)
    return Features(
        depth=np.clip(np.round(feature("depth", 2.3, -0.4, 0.9)), 1, MOST_FOLDERS).astype(np.int8),
        words=np.clip(np.exp(feature("words", 5.6, 0.17, 0.4)), 120, 900).astype(np.int16),
        rarity=np.clip(0.045 * np.exp(feature("rarity", 0.0, 0.25, 0.6)), 0.0, 0.3).astype(np.float32),
        figures=np.clip(0.02 * np.exp(feature("figures", 0.0, 0.3, 0.8)), 0.0, 0.2).astype(np.float32),
        cross_links=np.clip(4.2 * np.exp(links), 0, 60).astype(np.int16),
    )


def site_traffic(options: Options, in_links: Ints, site_start: Ints) -> NDArray[np.float32]:
    """Visitors of each site, of a million people."""
    noise = 1.2 * options.feature_noise * normals(key(options.seed, "traffic"), len(site_start) - 1)
    reach = np.log1p(np.add.reduceat(in_links, site_start[:-1])) - 4.0 + noise
    return np.exp(np.clip(reach, -20.0, 20.0)).astype(np.float32)
