"""Interest locality: how often consumers return to providers that served them before."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from lycosa_lab.worlds.peer_networks import Floats, Generator, Ints, RaggedArray, Trace

SHUFFLES = 99


def times_served(trace: Trace) -> tuple[Ints, Ints]:
    """T(j, i) where it is not 0: the consumer j of each pair of peers, and how often i served j."""
    width = int(trace.providers.max()) + 1 if len(trace) else 1
    pairs, counts = np.unique(trace.consumers.astype(np.int64) * width + trace.providers, return_counts=True)
    return pairs // width, counts


def return_probability(served: tuple[Ints, Ints], past: int) -> tuple[Ints, Floats]:
    """P(j, N): the share of the providers that served consumer j N = `past` times or more that did so once more.

    `served` is that of `times_served`. Consumers without such providers are left out.
    """
    consumers, counts = served
    size = int(consumers.max()) + 1 if len(consumers) else 0
    known = np.bincount(consumers[counts >= past], minlength=size)
    again = np.bincount(consumers[counts > past], minlength=size)
    have = np.flatnonzero(known)
    return have, again[have] / known[have]


def permute_providers(trace: Trace, groups: Ints, rng: Generator) -> Trace:
    """The same downloads, with providers permuted within each group."""
    providers = np.empty_like(trace.providers)
    providers[np.argsort(groups, kind="stable")] = trace.providers[np.lexsort((rng.random(len(trace)), groups))]
    return Trace(trace.consumers, trace.items, providers, trace.times)


def permuted_returns(trace: Trace, groups: Ints, past: Sequence[int], *, seed: int) -> Floats:
    """The mean of P(j, N) for each N of `past`, a row for each permutation of providers; NaN without consumers."""
    rng = np.random.default_rng([seed, 14])
    means = np.full((SHUFFLES, len(past)), np.nan)
    for row in means:
        served = times_served(permute_providers(trace, groups, rng))
        for place, many in enumerate(past):
            shares = return_probability(served, many)[1]
            if len(shares):
                row[place] = shares.mean()
    return means


def rows_by_consumer(trace: Trace, *, least: int) -> list[Ints]:
    """The row numbers of the downloads of each consumer that has `least` or more."""
    order = np.argsort(trace.consumers, kind="stable")
    ends = np.flatnonzero(np.diff(trace.consumers[order])) + 1
    return [rows for rows in np.split(order, ends) if len(rows) >= least]


def hits_of_provider(providers: Sequence[int], size: int | None) -> int:
    """How often the provider was in an LRU list of providers of that size (None: unlimited)."""
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for provider in providers:
        hits += provider in kept
        _use(kept, provider, size)
    return hits


def hits_of_holders(providers: Sequence[int], items: Sequence[int], libraries: RaggedArray, size: int | None) -> int:
    """How often a peer on such a list has the item; then it is the provider, the last used of several.

    `libraries` are the items of each peer.
    """
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    has = _holders_among(providers, items, libraries)
    for provider, item in zip(providers, items, strict=True):
        known = next((one for one in reversed(kept) if one in has[item]), None) if item in has else None
        hits += known is not None
        _use(kept, provider if known is None else known, size)
    return hits


def _holders_among(providers: Sequence[int], items: Sequence[int], libraries: RaggedArray) -> dict[int, set[int]]:
    """Which of these providers have each of these items; items that none has are left out."""
    known = np.unique(providers)
    rows = [libraries.row(int(provider)) for provider in known]
    owned, owners = np.concatenate(rows), np.repeat(known, [len(row) for row in rows])
    are_wanted = np.isin(owned, items)
    has: dict[int, set[int]] = {}
    for item, owner in zip(owned[are_wanted].tolist(), owners[are_wanted].tolist(), strict=True):
        has.setdefault(item, set()).add(owner)
    return has


def _use(kept: OrderedDict[int, None], provider: int, size: int | None) -> None:
    kept[provider] = None
    kept.move_to_end(provider)
    if size is not None and len(kept) > size:
        kept.popitem(last=False)
