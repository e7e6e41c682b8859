"""Choosing rows: at random by weight, highest first, or by turns of the two; never a row twice."""

import numpy as np

from .history import Floats, Ints

Chance = np.random.Generator


def drawn(weights: Floats, budget: int, chance: Chance) -> Ints:
    """Rows drawn one after the other, each in proportion to its weight among those left; exact.

    Each row waits for a time that is exponential at the rate of its weight, and the first to come are taken. Rows
    without a weight (none, negative, NaN) come when no others are left, each as likely.
    """
    weights = np.where(weights > 0, np.minimum(weights, np.finfo(np.float64).max), 0.0)
    waits = chance.exponential(size=len(weights))
    with np.errstate(divide="ignore", over="ignore"):
        keys = np.log(waits) - np.log(weights)  # logarithms, so that no weight is too small or too large
    return first(budget, keys, waits)


def highest(values: Floats, budget: int, chance: Chance, *, then: Floats | None = None) -> Ints:
    """The rows of the highest values (NaN counts as lowest), equals by the higher `then`, else in random order."""
    values = np.where(np.isnan(values), -np.inf, values)
    ties = [] if then is None else [-then]
    return first(budget, -values, *ties, chance.random(len(values)))


def by_turns(one: Ints, other: Ints, budget: int, chance: Chance) -> Ints:
    """Takes from two orders of the same rows, the toss of a coin saying from which, and no row twice."""
    orders = one.tolist(), other.tolist()
    position, taken, chosen = [0, 0], set[int](), list[int]()
    for side in chance.integers(2, size=max(0, min(budget, len(one)))).tolist():
        order, at = orders[side], position[side]
        while order[at] in taken:
            at += 1
        position[side] = at + 1
        taken.add(order[at])
        chosen.append(order[at])
    return np.array(chosen, dtype=np.int64)


def first(budget: int, keys: Floats, *ties: Floats) -> Ints:
    """The rows of the smallest keys, equals by the smallest of the next key, and so on."""
    budget = max(0, min(budget, len(keys)))
    if budget == 0:
        return np.empty(0, dtype=np.int64)
    rows = np.arange(len(keys))
    if budget < len(keys):
        rows = np.flatnonzero(keys <= np.partition(keys, budget - 1)[budget - 1])
    order = np.lexsort([key[rows] for key in (keys, *ties)][::-1])
    return rows[order[:budget]]
