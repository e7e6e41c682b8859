"""Runs of the compiled search: a world, an algorithm and a seed, and the outcome of every question."""

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from lycosa.standing.graph_files import Graph
from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.peer_networks import RaggedArray, Trace
from lycosa_peers.options import NodeOptions, options_for
from lycosa_peers.routing import query_number

from .churn import Bools, churn_events, uptimes
from .records import NOBODY, OF_BUDDIES, OF_NEIGHBOURS, Network, Outcomes, Questions, Switches, no_lists, room

_WHOSE = {"nobody": NOBODY, "buddies": OF_BUDDIES, "neighbours": OF_NEIGHBOURS}


@cache
def compiled_kernel() -> ModuleType:
    """The module `kernel`, which needs numba."""
    try:
        from . import kernel
    except ImportError as error:
        raise UsageError(f"this study needs numba ({error}); install it with: pip install 'lycosa[lab]'") from None
    return kernel


def network_in(graph: Graph, trace: Trace, *, churns: bool, least: int, seed: int) -> Network:
    """The peers of an overlay, always up or with churn; askers of the trace are up when they ask."""
    rng = np.random.default_rng([seed, 11])
    is_up: Bools = np.ones(len(graph), np.bool_)
    events: Any = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    if churns:
        shares = uptimes(len(graph), rng)
        until = float(trace.times.max()) if len(trace) else 0.0
        is_up, events = churn_events(shares, trace, until=until, rng=rng)
    made: Network = compiled_kernel().network_of(graph.offsets, graph.targets, is_up, events, least=least, seed=seed)
    return made


def questions_of(trace: Trace, holders: RaggedArray, *, seed: int) -> Questions:
    """The questions of a trace; their ids are those of `routing.query_number`."""
    ids = np.array([query_number(seed, count) for count in range(len(trace))], np.uint64)
    return Questions(
        askers=trace.consumers.astype(np.int32),
        items=trace.items.astype(np.int32),
        times=trace.times,
        ids=ids,
        holder_offsets=holders.offsets,
        holders=holders.values,
    )


def switches_of(options: NodeOptions, seed: int) -> Switches:
    return Switches(
        floods=options.floods,
        keeps_buddies=options.keeps_buddies,
        adapts=options.adapts,
        demotes_unreachable=options.demotes_unreachable,
        indexes=_WHOSE[options.indexes],
        buddies=options.buddies,
        neighbour_indexes=options.neighbour_indexes,
        walkers=options.walkers,
        ttl=options.ttl,
        flood_ttl=options.flood_ttl,
        checkpoint=options.checkpoint,
        seed=seed,
    )


def run_questions(
    network: Network, questions: Questions, options: NodeOptions, *, seed: int, all_have_asked: bool = False
) -> Outcomes:
    """Asks all questions, beginning with empty buddy lists.

    A peer holds indexes of neighbours from its first search on; where `all_have_asked`, from the beginning.
    """
    many = len(questions.askers)
    indexed = options.neighbour_indexes if options.indexes == "neighbours" else 0
    outcomes = Outcomes(
        messages=np.zeros(many, np.int64),
        detours=np.zeros(many, np.int64),
        paths=np.full(many, -1, np.int64),
        stages=np.full(many, -1, np.int8),
        providers=np.full(many, -1, np.int32),
        transfers=np.zeros(many, np.int64),
        lists=no_lists(len(network.is_up), options.buddies, indexed, all_have_asked=all_have_asked),
    )
    own = network._replace(degrees=network.degrees.copy(), is_up=network.is_up.copy())
    switches = switches_of(options, seed)
    compiled_kernel().search(own, questions, switches, outcomes, room(len(own.is_up), len(own.neighbours), switches))
    return outcomes


def simulated(
    network: Network,
    questions: Questions,
    algorithm: str,
    *,
    seed: int,
    all_have_asked: bool = False,
    **changes: Any,
) -> Outcomes:
    """The same for an algorithm of `peers.options`, with some of its options changed."""
    return run_questions(
        network, questions, options_for(algorithm, **changes), seed=seed, all_have_asked=all_have_asked
    )


def warm_up() -> None:
    """Compiles the kernel, or loads it from its cache; once, before work is divided among processes."""
    ends = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32)
    trace = Trace(np.array([0]), np.array([0]), np.array([1]), np.array([100.0]))
    holders = RaggedArray(np.array([0, 1]), np.array([1], np.int32))
    network = network_in(Graph(*ends), trace, churns=True, least=1, seed=0)
    simulated(network, questions_of(trace, holders, seed=0), "random-walk", seed=0)
