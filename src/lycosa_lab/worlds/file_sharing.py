"""A random world of people who share files, fitted to measurements of Kazaa."""

import math
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np
from msgspec import Struct

from lycosa.standing.graph_files import read_graph
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue

from .peer_networks import (
    Floats,
    Generator,
    Ints,
    PeerNetwork,
    RaggedArray,
    Sharing,
    Trace,
    group_by_row,
    group_distinct,
    preferential_attachment,
    with_min_degree,
)

CATEGORY_SKEW = 0.6  # Zipf exponent of the number of peers interested in a category
MORE_INTERESTS = 0.5  # probability of each additional interest
QUERY_EXPONENT = 0.93  # of the tail of the number of queries: nine of ten people send fewer than ten
MAX_QUERIES = 10_000  # of one person
MANY_QUERIES = 10  # queries from which somebody counts as a heavy user
# Beta distributions of the probability that a person tries a new provider; that of heavy users is larger.
NOVELTY_FEW, NOVELTY_MANY = (0.21, 0.75), (0.48, 0.75)
WEEK = 7 * 86_400.0  # seconds
PAUSE = 300.0  # mean number of seconds between two queries of a sitting
ATTEMPTS = 12  # to find a file that was not downloaded before


class FileSharing(PeerNetwork):
    """Peers on an overlay: consumers, who download, and providers, who have files; all of them have interests.

    Fitted to published measurements of one week of Kazaa (how many queries people send, how many different providers
    serve them, how often they return to one) and to the cost of random walks in a simulation of it. Files are the items
    of `Sharing`.
    Shao: Exploring social networks in computer systems (Princeton University 2007), sections 5.2 and 5.4.

    consumers, providers: numbers of them.
    queries: mean number of queries of a consumer, each of whom sends `least_queries` or more; None: as measured.
    files, categories, library: numbers of files that several peers may have, of categories, and of files of a provider
        on average.
    library_spread: standard deviation of the logarithm of a provider's number of files.
    own_files: the share of a provider's files that no other peer has.
    skew: exponent of Zipf's law of how many peers have a file.
    interests: the least number of categories that a peer is interested in.
    neighbours: the least number of neighbours of a peer.
    repeats: 1 as measured, 0 if consumers never prefer a provider that served them before.
    sitting: mean number of queries that a consumer sends in one session (a sitting).
    overlay: a file with the links between peers, which also sets how many peers there are; a random network by
        preferential attachment unless given.
    """

    name = "file-sharing"
    settings: Mapping[str, JsonValue] = MappingProxyType({})  # the keywords it was made with; empty if it was loaded

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
                "interests must be 1 or more, categories as many or more, and files as many as categories or more"
            )
        if not (1 <= library < math.inf and 1 <= sitting < math.inf):
            raise ValueError("library and sitting must be 1 or more, and finite")
        if not (0 <= library_spread <= 5 and 0 <= skew <= 5 and 0 <= repeats <= 1 and 0 <= own_files <= 1):
            raise ValueError("library_spread and skew must be from 0 to 5, repeats and own_files from 0 to 1")
        if queries is not None and not least_queries - 0.5 < queries < math.inf:
            raise ValueError("queries must be least_queries or more, and finite")
        rng = np.random.default_rng([seed, 8])
        if overlay:
            if not Path(overlay).is_file():
                raise UsageError(f"there is no file {overlay}; say file-sharing:overlay=FILE")
            graph = with_min_degree(read_graph(Path(overlay)), min_degree=neighbours, rng=rng)
            if len(graph) <= consumers:
                raise UsageError(
                    f"{overlay} has {len(graph)} peers, and {consumers} are consumers; say consumers=FEWER"
                )
            providers = len(graph) - consumers
        else:
            graph = preferential_attachment(consumers + providers, min_degree=neighbours, rng=rng)
        size = consumers + providers
        peer_interests = sample_interests(size, categories, minimum=interests, rng=rng)
        sizes = np.where(np.arange(size) < consumers, 0.0, _sample_library_sizes(size, library, library_spread, rng))
        libraries, catalog = _sample_libraries(
            sizes, peer_interests, make_files(files, categories, skew), own_files, rng
        )
        counts = _sample_query_counts(consumers, minimum=least_queries, mean=queries, rng=rng)
        trace = _simulate_downloads(
            consumers, counts, peer_interests, libraries, catalog, repeats=repeats, sitting=sitting, rng=rng
        )
        given: dict[str, JsonValue] = {
            "least_queries": least_queries, "queries": queries, "files": files, "categories": categories,
            "library": library, "library_spread": library_spread, "own_files": own_files, "skew": skew,
            "interests": interests, "neighbours": neighbours, "repeats": repeats, "sitting": sitting,
            "overlay": Path(overlay).name if overlay else "", "seed": seed,
        }  # fmt: skip
        options = {"consumers": consumers, "providers": providers, **given}
        sharing = Sharing(libraries, peer_interests, categories, len(catalog), trace, catalog.category_starts)
        super().__init__(graph, sharing, options=options)
        self.settings = {**options, "overlay": overlay}

    def with_seed(self, seed: int) -> Self:
        """A world made with the same settings and another seed."""
        return type(self)(**{**self.settings, "seed": seed})


# Interests and files


class FileCatalog(Struct, frozen=True):
    """Files 0, 1, 2, ...: those of a category are numbered consecutively, the most popular first."""

    category_starts: Ints  # the first file of each category, and the number of all files
    skew: float  # exponent of Zipf's law

    def __len__(self) -> int:
        """How many files there are."""
        return int(self.category_starts[-1])

    def sample(self, categories: Ints, rng: Generator) -> Ints:
        """A file for each of the given categories; the k-th of a category has weight 1 / k^skew."""
        sizes = np.diff(self.category_starts)
        largest = int(sizes.max())
        cumulative = np.concatenate([[0.0], np.cumsum(np.arange(1, largest + 1) ** -self.skew)])
        draws = rng.random(len(categories)) * cumulative[sizes[categories]]
        ranks = np.searchsorted(cumulative, draws, side="right") - 1
        files: Ints = self.category_starts[categories] + np.minimum(ranks, sizes[categories] - 1)
        return files


def make_files(count: int, category_count: int, skew: float) -> FileCatalog:
    """`count` files, evenly distributed over categories."""
    return FileCatalog(np.linspace(0, count, category_count + 1).round().astype(np.int64), skew)


def sample_interests(peer_count: int, category_count: int, *, minimum: int, rng: Generator) -> RaggedArray:
    """`minimum` or more distinct categories for each peer, the k-th category with weight 1 / k^CATEGORY_SKEW."""
    minimum = min(minimum, category_count)
    cumulative = np.cumsum(np.arange(1, category_count + 1) ** -CATEGORY_SKEW)
    wanted = np.minimum(minimum + rng.geometric(1.0 - MORE_INTERESTS, size=peer_count) - 1, category_count)
    owners, liked = np.zeros(0, np.int64), np.zeros(0, np.int64)
    missing = wanted
    rows = group_by_row(owners, liked, peer_count)
    while missing.any():  # duplicates are drawn again
        lacking = np.repeat(np.arange(peer_count), missing)
        drawn = np.searchsorted(cumulative, rng.random(len(lacking)) * cumulative[-1], side="right")
        owners = np.concatenate([owners, lacking])
        liked = np.concatenate([liked, np.minimum(drawn, category_count - 1)])
        rows = group_distinct(owners, liked, peer_count, category_count)
        missing = wanted - rows.lengths()
    return rows


def _sample_library_sizes(peer_count: int, mean: float, spread: float, rng: Generator) -> Floats:
    """How many files each peer has: log-normal, at least one; `spread` is the standard deviation of the logarithm."""
    median = mean / np.exp(spread**2 / 2)
    sizes: Floats = np.maximum(1.0, median * np.exp(spread * rng.standard_normal(peer_count)))
    return sizes


def _sample_libraries(
    sizes: Floats, interests: RaggedArray, catalog: FileCatalog, own_share: float, rng: Generator
) -> tuple[RaggedArray, FileCatalog]:
    """The files of each peer, of categories it is interested in, and the catalog with the files that only one peer has
    added.

    A share `own_share` of the files of a peer is its own: no other peer has them. A file that is drawn twice counts
    once, so large libraries come out somewhat smaller than `sizes`.
    """
    owners = np.repeat(np.arange(len(sizes)), sizes.round().astype(np.int64))
    indices = interests.offsets[owners] + (rng.random(len(owners)) * interests.lengths()[owners]).astype(np.int64)
    category = interests.values[indices].astype(np.int64)
    is_own = rng.random(len(owners)) < own_share
    added = group_by_row(category[is_own], np.flatnonzero(is_own), len(catalog.category_starts) - 1)
    shift = np.concatenate([[0], np.cumsum(added.lengths())])  # added to the numbers of the files of each category
    items = catalog.sample(category, rng) + shift[category]
    ends = (catalog.category_starts[1:] + shift[:-1])[np.repeat(np.arange(len(added)), added.lengths())]
    items[added.values] = ends + np.arange(len(added.values)) - np.repeat(added.offsets[:-1], added.lengths())
    extended = FileCatalog(catalog.category_starts + shift, catalog.skew)
    return group_distinct(owners, items, len(sizes), len(extended)), extended


# Downloads


def _sample_query_counts(person_count: int, *, minimum: int, mean: float | None, rng: Generator) -> Ints:
    """The number of queries of each person: a power law from `minimum` on, with the exponent that gives `mean`."""
    exponent = QUERY_EXPONENT if mean is None else minimum / (mean - minimum + 0.5)
    counts = np.floor(minimum * (1.0 - rng.random(person_count)) ** (-1.0 / exponent))
    return np.minimum(counts, MAX_QUERIES).astype(np.int64)


def _simulate_downloads(
    consumers: int,
    counts: Ints,
    interests: RaggedArray,
    libraries: RaggedArray,
    catalog: FileCatalog,
    *,
    repeats: float,
    sitting: float,
    rng: Generator,
) -> Trace:
    """What the consumers (the first of the peers) downloaded from the others, in order of time.

    With a probability of their own, consumers try a new provider; otherwise they return to one that served them, in
    proportion to how often it did. A new provider is drawn, in proportion to its files, from those that have files of
    one of the consumer's interests. The file is any of that provider's in the category that was not downloaded before.

    consumers: how many.
    counts: of the queries of each.
    """
    providers = _Providers(consumers, libraries, catalog)
    few, many = (rng.beta(*shape, size=consumers) for shape in (NOVELTY_FEW, NOVELTY_MANY))
    novelty = 1.0 - repeats * (1.0 - np.where(counts < MANY_QUERIES, few, many))
    consumer_columns, item_columns, provider_columns, time_columns = [], [], [], []
    for person in range(consumers):
        own_interests = interests.row(person)
        downloads = _downloads_of(int(counts[person]), own_interests, float(novelty[person]), providers, rng)
        consumer_columns.append(np.full(len(downloads), person))
        item_columns.append(np.array([item for item, _ in downloads], np.int64))
        provider_columns.append(np.array([provider for _, provider in downloads], np.int64))
        time_columns.append(_query_times(len(downloads), sitting, rng))
    times = np.concatenate(time_columns)
    order = np.argsort(times, kind="stable")
    consumer_column, items, provider_column = (
        np.concatenate(columns)[order] for columns in (consumer_columns, item_columns, provider_columns)
    )
    return Trace(consumer_column, items, provider_column, times[order])


class _Providers:
    """The providers of each category, and their files in it."""

    def __init__(self, consumers: int, libraries: RaggedArray, catalog: FileCatalog):
        owners = np.repeat(np.arange(len(libraries)), libraries.lengths())
        category = np.searchsorted(catalog.category_starts, libraries.values, side="right") - 1
        order = np.argsort(category, kind="stable")
        order = order[owners[order] >= consumers]
        begins = np.searchsorted(category[order], np.arange(len(catalog.category_starts)))
        # Reading single numbers is faster from memory views and lists than from arrays.
        self._owners = owners[order].data  # one entry for each file, so that providers are drawn by their files
        self._begins = begins.tolist()  # of each category: its first entry in `_owners`
        self._firsts = catalog.category_starts.tolist()  # of each category: its first file
        self._offsets, self.items = libraries.offsets.data, libraries.values.data  # the files of all peers, in turn

    def draw(self, category: int, u: float) -> tuple[int, int, int] | None:
        """A provider of a category, by a uniform draw `u` from 0 to 1, and the range of `items` that are its files in
        it; None if there is none."""
        low, high = self._begins[category], self._begins[category + 1]
        if low == high:
            return None
        provider = self._owners[low + int(u * (high - low))]
        row = self._offsets[provider], self._offsets[provider + 1]
        begin = bisect_left(self.items, self._firsts[category], *row)
        return provider, begin, bisect_left(self.items, self._firsts[category + 1], begin, row[1])


def _downloads_of(
    count: int, interests: Ints, novelty: float, providers: _Providers, rng: Generator
) -> list[tuple[int, int]]:
    """Up to `count` downloads of one person: items and their providers."""
    earlier_draws: list[tuple[int, int, int]] = []  # the result of `_Providers.draw` for each download so far
    downloads: list[tuple[int, int]] = []
    downloaded: set[int] = set()
    items, categories = providers.items, interests.tolist()
    for draws in rng.random((count, ATTEMPTS, 3)).tolist():
        for attempt, (u_new, u_provider, u_file) in enumerate(draws):
            if earlier_draws and u_new >= novelty and attempt < ATTEMPTS // 2:
                drawn: tuple[int, int, int] | None = earlier_draws[int(u_provider * len(earlier_draws))]
            else:
                # The low digits of a draw are as good as another draw, which would change all worlds made so far.
                drawn = providers.draw(categories[int(u_new * 1e6) % len(categories)], u_provider)
            if drawn is None:
                continue
            provider, begin, end = drawn
            item = items[begin + int(u_file * (end - begin))]
            if item not in downloaded:
                downloaded.add(item)
                earlier_draws.append(drawn)
                downloads.append((item, provider))
                break
    return downloads


def _query_times(count: int, per_sitting: float, rng: Generator) -> Floats:
    """When somebody sends queries within a week: sittings at uniform times, with exponential pauses within each."""
    begins_sitting = rng.random(count) < 1.0 / per_sitting
    begins_sitting[:1] = True
    sitting = np.cumsum(begins_sitting) - 1
    starts = np.sort(rng.random(int(sitting[-1]) + 1 if count else 0)) * WEEK
    pauses = np.where(begins_sitting, 0.0, rng.exponential(PAUSE, size=count))
    passed = np.cumsum(pauses)
    times: Floats = starts[sitting] + passed - passed[begins_sitting][sitting] if count else np.zeros(0)
    return np.maximum.accumulate(times) if count else times
