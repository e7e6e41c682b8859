"""Baselines that know every degree of a graph: what could be had, not ways to crawl."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]

SAMPLES: Mapping[str, Callable[[Ints, Ints], Floats]] = {  # the weight of nodes by their in-degree and out-degree
    "sample-u": lambda ins, outs: np.ones(len(ins)),
    "sample-i": lambda ins, outs: ins.astype(np.float64),
    "sample-io": lambda ins, outs: (ins + outs).astype(np.float64),
}


def sampled(name: str, in_degrees: Ints, out_degrees: Ints, *, count: int, seed: int) -> Ints:
    """The first `count` nodes drawn one by one, each in proportion to its weight among those left; fewer where the
    others have no weight.

    Kumar, Lang, Marlow, Tomkins: Efficient discovery of authoritative resources (ICDE 2008).
    """
    weights = SAMPLES[name](in_degrees, out_degrees)
    nodes = np.flatnonzero(weights > 0)
    alarms = np.random.default_rng(seed).exponential(size=len(nodes)) / weights[nodes]
    if count < len(nodes):
        first = np.argpartition(alarms, count)[:count]
        nodes, alarms = nodes[first], alarms[first]
    return nodes[np.argsort(alarms)]
