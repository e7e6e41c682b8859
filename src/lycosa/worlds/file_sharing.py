"""A random world of people who share files, fitted to measurements of Kazaa."""

from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np
from msgspec import Struct

from lycosa.standing.graph_files import read_graph
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain

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

CATEGORY_SKEW = 0.6  # exponent by which categories are liked unequally
MORE_INTERESTS = 0.5  # chance of one more interest than the least


class FileCatalog(Struct, frozen=True):
    """Files 0, 1, 2, ...: those of a category stand together, the best liked first."""

    firsts: Ints  # of each category, and the end
    skew: float  # Zipf's exponent

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def drawn(self, categories: Ints, chance: Generator) -> Ints:
        """A file for each of some categories, the k-th of a category in proportion to 1 / k^skew."""
        sizes = np.diff(self.firsts)
        longest = int(sizes.max())
        liking = np.concatenate([[0.0], np.cumsum(np.arange(1, longest + 1) ** -self.skew)])
        places = np.searchsorted(liking, chance.random(len(categories)) * liking[sizes[categories]], side="right") - 1
        found: Ints = self.firsts[categories] + np.minimum(places, sizes[categories] - 1)
        return found


def make_files(many: int, categories: int, skew: float) -> FileCatalog:
    """As many files, evenly over categories."""
    return FileCatalog(np.linspace(0, many, categories + 1).round().astype(np.int64), skew)


def sample_interests(peers: int, categories: int, *, least: int, chance: Generator) -> RaggedArray:
    """Some categories for each peer, popular ones more often, each once."""
    least = min(least, categories)
    liking = np.cumsum(np.arange(1, categories + 1) ** -CATEGORY_SKEW)
    wanted = np.minimum(least + chance.geometric(1.0 - MORE_INTERESTS, size=peers) - 1, categories)
    owners, liked = np.zeros(0, np.int64), np.zeros(0, np.int64)
    short = wanted
    rows = group_by_row(owners, liked, peers)
    while short.any():  # those drawn twice are drawn again
        needy = np.repeat(np.arange(peers), short)
        drawn = np.searchsorted(liking, chance.random(len(needy)) * liking[-1], side="right")
        owners, liked = np.concatenate([owners, needy]), np.concatenate([liked, np.minimum(drawn, categories - 1)])
        rows = group_distinct(owners, liked, peers, categories)
        short = wanted - rows.lengths()
    return rows


def sample_library_sizes(peers: int, mean: float, spread: float, chance: Generator) -> Floats:
    """How many files each peer has: log-normal, at least one; `spread` is that of the logarithm."""
    median = mean / np.exp(spread**2 / 2)
    sizes: Floats = np.maximum(1.0, median * np.exp(spread * chance.standard_normal(peers)))
    return sizes


def sample_libraries(
    sizes: Floats, interests: RaggedArray, files: FileCatalog, own: float, chance: Generator
) -> tuple[RaggedArray, FileCatalog]:
    """Files of their interests for peers; and all files, to which those of one's own are added.

    A share `own` of what each has is its own, and nobody else has it. A file drawn twice is had once, so that large
    libraries are somewhat smaller.
    """
    owners = np.repeat(np.arange(len(sizes)), sizes.round().astype(np.int64))
    places = interests.offsets[owners] + (chance.random(len(owners)) * interests.lengths()[owners]).astype(np.int64)
    category = interests.values[places].astype(np.int64)
    is_own = chance.random(len(owners)) < own
    more = group_by_row(category[is_own], np.flatnonzero(is_own), len(files.firsts) - 1)
    moved = np.concatenate([[0], np.cumsum(more.lengths())])  # by how much the files of a category have new numbers
    items = files.drawn(category, chance) + moved[category]
    ends = (files.firsts[1:] + moved[:-1])[np.repeat(np.arange(len(more)), more.lengths())]
    items[more.values] = ends + np.arange(len(more.values)) - np.repeat(more.offsets[:-1], more.lengths())
    every = FileCatalog(files.firsts + moved, files.skew)
    return group_distinct(owners, items, len(sizes), len(every)), every


ACTIVITY = 0.93  # exponent of the tail of how much people ask: nine of ten ask less than ten times
MOST_QUERIES = 10_000  # of one person
OFTEN = 10  # queries of those who ask often
# Of the beta distributions of how often a person tries somebody new: those who ask often do it more.
NOVELTY, NOVELTY_OF_MANY = (0.21, 0.75), (0.48, 0.75)
WEEK = 7 * 86_400.0  # seconds
PAUSE = 300.0  # seconds between two of them, on average
ATTEMPTS = 12  # at finding something not yet asked for


def sample_query_counts(people: int, *, least: int, mean: float | None, chance: Generator) -> Ints:
    """How often each person asks: a power law from `least` on; where a mean is given, of the exponent that has it."""
    exponent = ACTIVITY if mean is None else least / (mean - least + 0.5)
    drawn = np.floor(least * (1.0 - chance.random(people)) ** (-1.0 / exponent))
    return np.minimum(drawn, MOST_QUERIES).astype(np.int64)


def asked(
    consumers: int,
    counts: Ints,
    interests: RaggedArray,
    libraries: RaggedArray,
    files: FileCatalog,
    *,
    repeats: float,
    sitting: float,
    chance: Generator,
) -> Trace:
    """What consumers (the first of the peers) downloaded from the others, in the order of time.

    A person tries somebody new with a chance of their own, or returns to one who served them, in proportion to how
    often that one did. Somebody new is drawn, in proportion to the files, from those who have files of one of the
    person's interests. What is asked for is any file of that provider in the category, once.

    repeats: 1 as measured, 0 where nobody comes back except by chance.
    sitting: queries that a person asks at a time, on average.
    """
    market = _Providers(consumers, libraries, files)
    few, many = (chance.beta(*shape, size=consumers) for shape in (NOVELTY, NOVELTY_OF_MANY))
    novelty = 1.0 - repeats * (1.0 - np.where(counts < OFTEN, few, many))
    who, what, whom, when = [], [], [], []
    for person in range(consumers):
        liked = interests.row(person)
        bought = _download_all(int(counts[person]), liked, float(novelty[person]), market, chance)
        who.append(np.full(len(bought), person))
        what.append(np.array([item for item, _ in bought], np.int64))
        whom.append(np.array([provider for _, provider in bought], np.int64))
        when.append(_query_times(len(bought), sitting, chance))
    times = np.concatenate(when)
    order = np.argsort(times, kind="stable")
    items, providers = np.concatenate(what)[order], np.concatenate(whom)[order]
    return Trace(np.concatenate(who)[order], items, providers, times[order])


class _Providers:
    """Providers by category, and what they have of it."""

    def __init__(self, consumers: int, libraries: RaggedArray, files: FileCatalog):
        owners = np.repeat(np.arange(len(libraries)), libraries.lengths())
        category = np.searchsorted(files.firsts, libraries.values, side="right") - 1
        order = np.argsort(category, kind="stable")
        order = order[owners[order] >= consumers]
        begins = np.searchsorted(category[order], np.arange(len(files.firsts)))
        # Reading one number is quicker from these than from arrays.
        self._owners = owners[order].data  # one for each file, so that one with many files is met often
        self._begins, self._firsts = begins.tolist(), files.firsts.tolist()
        self._offsets, self.items = libraries.offsets.data, libraries.values.data

    def stall(self, category: int, share: float) -> tuple[int, int, int] | None:
        """A provider with files of a category, and where those stand among all items; None where nobody has any."""
        low, high = self._begins[category], self._begins[category + 1]
        if low == high:
            return None
        provider = self._owners[low + int(share * (high - low))]
        row = self._offsets[provider], self._offsets[provider + 1]
        begin = bisect_left(self.items, self._firsts[category], *row)
        return provider, begin, bisect_left(self.items, self._firsts[category + 1], begin, row[1])


def _download_all(
    many: int, liked: Ints, novelty: float, market: _Providers, chance: Generator
) -> list[tuple[int, int]]:
    served: list[tuple[int, int, int]] = []  # by whom, and with what; as often as they did
    bought: list[tuple[int, int]] = []
    had: set[int] = set()
    items, interests = market.items, liked.tolist()
    for own in chance.random((many, ATTEMPTS, 3)).tolist():
        for tried, (new, one, other) in enumerate(own):
            if served and new >= novelty and tried < ATTEMPTS // 2:
                stall: tuple[int, int, int] | None = served[int(one * len(served))]
            else:
                stall = market.stall(interests[int(new * 1e6) % len(interests)], one)
            if stall is None:
                continue
            provider, begin, end = stall
            item = items[begin + int(other * (end - begin))]
            if item not in had:
                had.add(item)
                served.append(stall)
                bought.append((item, provider))
                break
    return bought


def _query_times(many: int, at_a_time: float, chance: Generator) -> Floats:
    """When somebody asks within a week: at some sittings, a few times each."""
    begins_sitting = chance.random(many) < 1.0 / at_a_time
    begins_sitting[:1] = True
    sitting = np.cumsum(begins_sitting) - 1
    starts = np.sort(chance.random(int(sitting[-1]) + 1 if many else 0)) * WEEK
    pauses = np.where(begins_sitting, 0.0, chance.exponential(PAUSE, size=many))
    passed = np.cumsum(pauses)
    times: Floats = starts[sitting] + passed - passed[begins_sitting][sitting] if many else np.zeros(0)
    return np.maximum.accumulate(times) if many else times


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
            graph = with_min_degree(read_graph(Path(overlay)), least=neighbours, chance=chance)
            if len(graph) <= consumers:
                raise UsageError(
                    f"{overlay} has {len(graph)} peers, and {consumers} are consumers; say consumers=FEWER"
                )
            providers = len(graph) - consumers
        else:
            graph = preferential_attachment(consumers + providers, least=neighbours, chance=chance)
        size = consumers + providers
        liked = sample_interests(size, categories, least=interests, chance=chance)
        sizes = np.where(np.arange(size) < consumers, 0.0, sample_library_sizes(size, library, library_spread, chance))
        libraries, every = sample_libraries(sizes, liked, make_files(files, categories, skew), own_files, chance)
        counts = sample_query_counts(consumers, least=least_queries, mean=queries, chance=chance)
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
