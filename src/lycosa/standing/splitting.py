"""Where to cut a set of rows in two so that each part has targets more alike."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLEARLY = 1e-6  # by so much a later attribute must be better than an earlier one


def best_split(columns: Floats, target: Floats) -> tuple[int, float] | None:
    """The attribute and the cut whose parts vary least, or None where no attribute can be cut.

    columns: one row per attribute. A value up to the cut goes left. A fifth of the rows and one more stay on each side.
    A cut that gains nothing is still taken where there is no better one: the parts may be cut well.
    """
    rows = columns.shape[1]
    least = max(1, rows // 5)
    if rows < 2 * least + 2:
        return None
    order = columns.argsort(axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    before, after = values[:, least : rows - least - 1], values[:, least + 1 : rows - least]
    can_cut = after > before
    gains = np.where(can_cut, _gains(target[order], least), -np.inf)
    places = gains.argmax(axis=1)
    best, best_gain = -1, -np.inf
    for attribute, gain in enumerate(gains[np.arange(len(gains)), places].tolist()):
        if gain > best_gain + CLEARLY:
            best, best_gain = attribute, gain
    if best < 0:
        return None
    low, high = float(before[best, places[best]]), float(after[best, places[best]])
    middle = (low + high) / 2
    return best, middle if middle < high else low


def _gains(targets: Floats, least: int) -> Floats:
    """For each attribute's order of the targets, the gain with least + 1, least + 2, ... rows on the left.

    Where one part is constant, rounding decides between equals (a variance of 1e-16 is 6e-4 to the power 1/5), so the
    sums run in the order that was found to give what Weka gives.
    """
    rows = targets.shape[1]
    squares = targets * targets
    left = np.arange(least + 1.0, rows - least)
    right = rows - left
    until = rows - least - 1
    sums, squared = (np.add.accumulate(each, axis=1) for each in (targets, squares))
    rest, rest_squared = (_what_remains(each, least)[:, 1 : until - least + 1] for each in (targets, squares))
    whole = _spread(sums[:, -1:], squared[:, -1:], np.array([float(rows)]))
    gains: Floats = (
        whole
        - left / rows * _spread(sums[:, least:until], squared[:, least:until], left)
        - right / rows * _spread(rest, rest_squared, right)
    )
    return gains


def _what_remains(values: Floats, least: int) -> Floats:
    """Sums of all values but the first `least`, `least` + 1, ..."""
    total = np.add.accumulate(values[:, least:], axis=1)[:, -1:]
    return np.subtract.accumulate(np.concatenate((total, values[:, least:]), axis=1), axis=1)


def _spread(sums: Floats, squared: Floats, counts: Floats) -> Floats:
    """The fifth root of the variance."""
    spread: Floats = (np.abs(counts * squared - sums * sums) / (counts * counts)) ** 0.2
    return spread
