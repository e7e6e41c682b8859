"""How often people come back to those who served them."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from lycosa.worlds.file_sharing import Rows, Trace
from lycosa.worlds.file_sharing.sharing import Floats, Ints


def times_served(trace: Trace) -> tuple[Ints, Ints]:
    """T(j, i) wherever it is not nought: the consumer j of each pair of peers, and how often i served j."""
    width = int(trace.providers.max()) + 1 if len(trace) else 1
    pairs, counts = np.unique(trace.consumers.astype(np.int64) * width + trace.providers, return_counts=True)
    return pairs // width, counts


def chance_of_return(trace: Trace, past: int) -> tuple[Ints, Floats]:
    """P(j, N): of those who served a consumer `past` times or more, the share that did so once more; by consumer.

    Consumers whom nobody served so often are left out.
    """
    consumers, counts = times_served(trace)
    size = int(consumers.max()) + 1 if len(consumers) else 0
    known = np.bincount(consumers[counts >= past], minlength=size)
    again = np.bincount(consumers[counts > past], minlength=size)
    have = np.flatnonzero(known)
    return have, again[have] / known[have]


def rows_by_consumer(trace: Trace, *, least: int) -> list[Ints]:
    """Where the downloads of each consumer with `least` or more stand in the trace, in order."""
    order = np.argsort(trace.consumers, kind="stable")
    ends = np.flatnonzero(np.diff(trace.consumers[order])) + 1
    return [rows for rows in np.split(order, ends) if len(rows) >= least]


def hits_of_provider(providers: Sequence[int], size: int | None) -> int:
    """How often the one who gave it was in a list of those last used, `size` long (None: as long as it takes)."""
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for provider in providers:
        hits += provider in kept
        _use(kept, provider, size)
    return hits


def hits_of_holders(providers: Sequence[int], items: Sequence[int], holders: Rows, size: int | None) -> int:
    """How often one on such a list has what is wanted; then that one gives it, the last used of several."""
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for provider, item in zip(providers, items, strict=True):
        have = set(holders.row(item).tolist())
        known = next((one for one in reversed(kept) if one in have), None)
        hits += known is not None
        _use(kept, provider if known is None else known, size)
    return hits


def _use(kept: OrderedDict[int, None], provider: int, size: int | None) -> None:
    kept[provider] = None
    kept.move_to_end(provider)
    if size is not None and len(kept) > size:
        kept.popitem(last=False)
