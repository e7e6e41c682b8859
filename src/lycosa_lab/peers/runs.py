"""Runs of the compiled search: a world, an algorithm and a random seed, and the outcome of every query.

A trace has the downloads of a world in order of time; its consumers are the askers of the queries. Churn is the coming
and going of peers; a session is a time during which a peer is up.
"""

import math
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.peer_networks import Floats, Generator, Ints, RaggedArray, Trace
from lycosa_peers.options import NodeOptions, options_for
from lycosa_peers.routing import query_number

from .records import (
    DOWN,
    NOBODY,
    OF_BUDDIES,
    OF_NEIGHBOURS,
    UP,
    KernelOptions,
    NetworkArrays,
    Outcomes,
    PeerQueries,
    empty_lists,
    new_scratch,
)

Bools = NDArray[np.bool_]

BEST_SHARE = 0.2  # of the peers: those that are up most
BEST_UPTIME = 0.45  # share of the time for which each of these is up, at least
MEDIAN_SESSION_SECONDS = 3_600.0
SESSION_SPREAD = 1.0  # standard deviation of the logarithm of the length of a session
UP_BEFORE_QUERY, UP_AFTER_QUERY = 300.0, 1_800.0  # seconds around a query for which its asker is up
MIN_UPTIME = 0.01  # share of the time


def uptimes(peer_count: int, rng: Generator) -> Floats:
    """The share u of the time for which each peer is up: 1 - u has a power law, so that the best fifth has u ≥ .45.

    Saroiu, Gummadi, Gribble: A measurement study of peer-to-peer file sharing systems (MMCN 2002).
    """
    power = math.log(BEST_SHARE) / math.log(1.0 - BEST_UPTIME)
    shares: Floats = np.maximum(MIN_UPTIME, 1.0 - (1.0 - rng.random(peer_count)) ** (1.0 / power))
    return shares


def churn_events(
    shares: Floats, trace: Trace, *, until: float, rng: Generator
) -> tuple[Bools, tuple[Floats, Ints, Ints]]:
    """Which peers are up initially, and every change in order of time: time, UP or DOWN, peer.

    Session lengths are log-normal, gaps between sessions exponential, with a mean that gives each peer its uptime.
    An asker is up from `UP_BEFORE_QUERY` before its query until `UP_AFTER_QUERY` after it.

    shares: of the time for which each peer is up (`uptimes`).
    """
    begins, ends, owners = _sessions(shares, until, rng)
    begins = np.concatenate([begins, trace.times - UP_BEFORE_QUERY])
    ends = np.concatenate([ends, trace.times + UP_AFTER_QUERY])
    owners = np.concatenate([owners, trace.consumers])
    begins, ends, owners = _merged(begins, ends, owners)
    is_up: Bools = np.zeros(len(shares), np.bool_)
    is_up[owners[begins <= 0.0]] = True
    later = begins > 0.0
    times = np.concatenate([begins[later], ends])
    kinds = np.concatenate([np.full(int(later.sum()), UP), np.full(len(ends), DOWN)])
    event_peers = np.concatenate([owners[later], owners])
    order = np.lexsort((event_peers, times))
    order = order[times[order] <= until]
    return is_up, (times[order], kinds[order], event_peers[order])


def _sessions(shares: Floats, until: float, rng: Generator) -> tuple[Floats, Floats, Ints]:
    """Sessions that overlap the time from 0 to `until`: their begins, ends and peers. Each peer is up at 0 with the
    probability of its share."""
    mean = MEDIAN_SESSION_SECONDS * math.exp(SESSION_SPREAD**2 / 2)
    peers = np.arange(len(shares))
    gap = mean * (1.0 - shares) / shares
    is_first_up = rng.random(len(peers)) < shares
    clock = np.where(is_first_up, -rng.random(len(peers)) * mean, rng.exponential(gap))
    parts: list[tuple[Floats, Floats, Ints]] = []
    while len(peers):
        lengths = MEDIAN_SESSION_SECONDS * np.exp(SESSION_SPREAD * rng.standard_normal(len(peers)))
        end = clock + lengths
        parts.append((clock, end, peers))
        clock = end + rng.exponential(gap)
        continues = clock < until
        peers, clock, gap = peers[continues], clock[continues], gap[continues]
    begins, ends, owners = (np.concatenate(column) for column in zip(*parts, strict=True))
    overlaps = (ends > 0.0) & (begins < until)
    return begins[overlaps], ends[overlaps], owners[overlaps]


def _merged(begins: Floats, ends: Floats, owners: Ints) -> tuple[Floats, Floats, Ints]:
    """The union of the intervals of each peer, as disjoint intervals."""
    order = np.lexsort((begins, owners))
    begins, ends, owners = begins[order], ends[order], owners[order]
    axis_offset = 1e9  # between the intervals of two peers, on one axis
    end_so_far = np.maximum.accumulate(ends + owners * axis_offset) - owners * axis_offset
    is_first = np.ones(len(owners), np.bool_)
    is_first[1:] = (owners[1:] != owners[:-1]) | (begins[1:] > end_so_far[:-1])
    firsts = np.flatnonzero(is_first)
    lasts = np.append(firsts[1:], len(owners)) - 1
    return begins[firsts], end_so_far[lasts], owners[firsts]


_INDEX_KINDS = {"nobody": NOBODY, "buddies": OF_BUDDIES, "neighbours": OF_NEIGHBOURS}


@cache
def compiled_kernel() -> ModuleType:
    """The module `kernel`, which needs numba."""
    try:
        from . import kernel
    except ImportError as error:
        raise UsageError(f"this study needs numba ({error}); install it with: pip install 'lycosa[lab]'") from None
    return kernel


def network_in(graph: Graph, trace: Trace, *, churns: bool, min_neighbours: int, seed: int) -> NetworkArrays:
    """The peers of an overlay, always up or with churn; askers of the trace are up when they ask.

    min_neighbours: neighbours that a peer tries to have up at any time.
    """
    rng = np.random.default_rng([seed, 11])
    is_up: Bools = np.ones(len(graph), np.bool_)
    events: Any = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    if churns:
        shares = uptimes(len(graph), rng)
        until = float(trace.times.max()) if len(trace) else 0.0
        is_up, events = churn_events(shares, trace, until=until, rng=rng)
    network: NetworkArrays = compiled_kernel().network_of(
        graph.offsets, graph.targets, is_up, events, min_neighbours=min_neighbours, seed=seed
    )
    return network


def queries_of(trace: Trace, holders: RaggedArray, *, seed: int) -> PeerQueries:
    """The queries of a trace; their ids are those of `routing.query_number`."""
    ids = np.array([query_number(seed, index) for index in range(len(trace))], np.uint64)
    return PeerQueries(
        askers=trace.consumers.astype(np.int32),
        items=trace.items.astype(np.int32),
        times=trace.times,
        ids=ids,
        holder_offsets=holders.offsets,
        holders=holders.values,
    )


def kernel_options(options: NodeOptions, seed: int) -> KernelOptions:
    return KernelOptions(
        floods=options.floods,
        keeps_buddies=options.keeps_buddies,
        adapts=options.adapts,
        demotes_unreachable=options.demotes_unreachable,
        indexes=_INDEX_KINDS[options.indexes],
        buddies=options.buddies,
        neighbour_indexes=options.neighbour_indexes,
        walkers=options.walkers,
        ttl=options.ttl,
        flood_ttl=options.flood_ttl,
        checkpoint=options.checkpoint,
        seed=seed,
    )


def run_queries(
    network: NetworkArrays, queries: PeerQueries, options: NodeOptions, *, seed: int, all_have_asked: bool = False
) -> Outcomes:
    """Makes all queries, starting with empty buddy lists.

    A peer holds indexes of neighbours from its first search on; with `all_have_asked`, from the beginning.
    """
    count = len(queries.askers)
    neighbour_indexes = options.neighbour_indexes if options.indexes == "neighbours" else 0
    outcomes = Outcomes(
        messages=np.zeros(count, np.int64),
        return_hops=np.zeros(count, np.int64),
        paths=np.full(count, -1, np.int64),
        stages=np.full(count, -1, np.int8),
        providers=np.full(count, -1, np.int32),
        transfers=np.zeros(count, np.int64),
        lists=empty_lists(len(network.is_up), options.buddies, neighbour_indexes, all_have_asked=all_have_asked),
    )
    own_network = network._replace(  # the search changes these
        degrees=network.degrees.copy(), is_up=network.is_up.copy()
    )
    compiled_options = kernel_options(options, seed)
    scratch = new_scratch(len(own_network.is_up), len(own_network.neighbours), compiled_options)
    compiled_kernel().search(own_network, queries, compiled_options, outcomes, scratch)
    return outcomes


def simulate(
    network: NetworkArrays,
    queries: PeerQueries,
    algorithm: str,
    *,
    seed: int,
    all_have_asked: bool = False,
    **changes: Any,
) -> Outcomes:
    """The same for an algorithm of `lycosa_peers.options`, with some of its options changed."""
    return run_queries(network, queries, options_for(algorithm, **changes), seed=seed, all_have_asked=all_have_asked)


def warm_up() -> None:
    """Compiles the kernel, or loads it from its cache; once, before work is divided among processes."""
    ends = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32)
    trace = Trace(np.array([0]), np.array([0]), np.array([1]), np.array([100.0]))
    holders = RaggedArray(np.array([0, 1]), np.array([1], np.int32))
    network = network_in(Graph(*ends), trace, churns=True, min_neighbours=1, seed=0)
    simulate(network, queries_of(trace, holders, seed=0), "random-walk", seed=0)
