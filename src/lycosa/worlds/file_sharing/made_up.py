"""A made-up world of people who share files."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain
from lycosa.worlds.edge_lists import graph_in

from .asking import activities, asked
from .network import PeerNetwork
from .overlays import connected, preferential
from .sharing import Sharing
from .tastes import files_in, interests_of, libraries_of, library_sizes


class FileSharing(PeerNetwork):
    """Peers on an overlay: consumers, who ask, and providers, who have files, all with interests.

    Fitted to what was published of one week of Kazaa (how much people ask, of how many others they get what they ask
    for, how often they come back to them), and to the cost of random walks in a simulation of it.
    Shao: Exploring social networks in computer systems (Princeton University 2007), sections 5.2 and 5.4.

    queries: each consumer asks `least_queries` times or more, this often on average; unless given, as measured.
    files, categories, library: how many there are that several may have, and how many each provider has on average.
    library_spread: of the logarithm of that; with much of it, some have very many.
    own_files: the share of these that nobody else has.
    skew: Zipf's exponent of how many have a file.
    interests: categories that each peer likes, at least.
    neighbours: each peer has, at least.
    repeats: 1 as measured, 0 where nobody comes back to whom they know.
    sitting: queries that a person asks at a time, on average.
    overlay: a file with links between peers, as many as there are peers; a network that grew by preferential attachment
        unless given.
    """

    name = "file-sharing"
    settings: Mapping[str, Plain] = MappingProxyType({})  # the keywords it was made with; none if it was loaded

    def __init__(
        self,
        *,
        consumers: int = 2_000,
        providers: int = 7_091,
        least_queries: int = 11,
        queries: float | None = 11.631,
        files: int = 5_000,
        categories: int = 20,
        library: float = 150.0,
        library_spread: float = 1.2,
        own_files: float = 0.04,
        skew: float = 0.8,
        interests: int = 1,
        neighbours: int = 4,
        repeats: float = 1.0,
        sitting: float = 4.0,
        overlay: str = "",
        seed: int = 1,
    ):
        for name, value in {"consumers": consumers, "providers": providers, "least_queries": least_queries}.items():
            if value < 1:
                raise ValueError(f"{name} must be 1 or more")
        if not 1 <= interests <= categories <= files:
            raise ValueError(
                "of interests, categories and files each must be as many as of those before, and 1 or more"
            )
        if not (library >= 1 and sitting >= 1):
            raise ValueError("library and sitting must be 1 or more")
        if not (0 <= library_spread <= 5 and 0 <= skew <= 5 and 0 <= repeats <= 1 and 0 <= own_files <= 1):
            raise ValueError("library_spread and skew must be from 0 to 5, repeats and own_files from 0 to 1")
        if queries is not None and not queries > least_queries - 0.5:
            raise ValueError("queries must be more than least_queries")
        chance = np.random.default_rng([seed, 8])
        if overlay:
            if not Path(overlay).is_file():
                raise UsageError(f"there is no file {overlay}; say file-sharing:overlay=FILE")
            graph = connected(graph_in(Path(overlay)), least=neighbours, chance=chance)
            if len(graph) <= consumers:
                raise UsageError(
                    f"{overlay} has {len(graph)} peers, and {consumers} are consumers; say consumers=FEWER"
                )
            providers = len(graph) - consumers
        else:
            graph = preferential(consumers + providers, least=neighbours, chance=chance)
        size = consumers + providers
        liked = interests_of(size, categories, least=interests, chance=chance)
        sizes = np.where(np.arange(size) < consumers, 0.0, library_sizes(size, library, library_spread, chance))
        libraries, every = libraries_of(sizes, liked, files_in(files, categories, skew), own_files, chance)
        counts = activities(consumers, least=least_queries, mean=queries, chance=chance)
        trace = asked(consumers, counts, liked, libraries, every, repeats=repeats, sitting=sitting, chance=chance)
        given: dict[str, Plain] = {
            "least_queries": least_queries, "queries": queries, "files": files, "categories": categories,
            "library": library, "library_spread": library_spread, "own_files": own_files, "skew": skew,
            "interests": interests, "neighbours": neighbours, "repeats": repeats, "sitting": sitting,
            "overlay": Path(overlay).name if overlay else "", "seed": seed,
        }  # fmt: skip
        options = {"consumers": consumers, "providers": providers, **given}
        super().__init__(graph, Sharing(libraries, liked, categories, len(every), trace, every.firsts), options=options)
        self.settings = {**options, "overlay": overlay}

    def made_again(self, seed: int) -> Self:
        """A world made up with the same settings, but by another seed."""
        return type(self)(**{**self.settings, "seed": seed})
