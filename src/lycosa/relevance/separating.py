"""A hyperplane between two kinds of sparse vectors."""

import random
from collections.abc import Sequence

import numpy as np

Columns = np.ndarray[tuple[int], np.dtype[np.intp]]
Values = np.ndarray[tuple[int], np.dtype[np.float64]]
Row = tuple[Columns, Values]


def separate(
    rows: Sequence[Row],
    is_good: Sequence[bool],
    width: int,
    *,
    seed: int = 0,
    tolerance: float = 1e-3,
    most_rounds: int = 1_000,
) -> tuple[list[float], float]:
    """Weights and bias of the L2-loss linear support vector machine, both kinds counting alike.

    Dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale
    linear SVM, 2008), with C = 1 shared out evenly between the kinds and the bias as one more weight.

    rows: columns and values of each vector. width: how many columns there are.
    """
    share = {kind: len(rows) / (2 * sum(good is kind for good in is_good)) for kind in set(is_good)}
    signs = [1.0 if good else -1.0 for good in is_good]
    slopes = [1 / (2 * share[good]) for good in is_good]
    curvatures = [float(values @ values) + 1.0 + slope for (_, values), slope in zip(rows, slopes, strict=True)]
    multipliers = [0.0] * len(rows)
    weights, bias = np.zeros(width), 0.0
    chance, active = random.Random(seed), list(range(len(rows)))
    for _ in range(most_rounds):
        chance.shuffle(active)
        worst, still_active = 0.0, []
        for number in active:
            columns, values = rows[number]
            sign, multiplier = signs[number], multipliers[number]
            gradient = sign * (float(weights[columns] @ values) + bias) - 1.0 + slopes[number] * multiplier
            if multiplier == 0.0 and gradient > tolerance:
                continue  # well on its side; looked at again at the end
            still_active.append(number)
            if multiplier == 0.0 and gradient >= 0.0:
                continue
            worst = max(worst, abs(gradient))
            multipliers[number] = max(0.0, multiplier - gradient / curvatures[number])
            step = (multipliers[number] - multiplier) * sign
            weights[columns] += step * values
            bias += step
        active = still_active
        if worst < tolerance:
            if len(active) == len(rows) or not _violated(rows, signs, weights, bias, multipliers, tolerance):
                break
            active = list(range(len(rows)))
    return weights.tolist(), bias


def _violated(
    rows: Sequence[Row],
    signs: Sequence[float],
    weights: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    bias: float,
    multipliers: Sequence[float],
    tolerance: float,
) -> bool:
    """Whether a vector left aside has come to lie within the margin."""
    return any(
        sign * (float(weights[columns] @ values) + bias) < 1.0 - tolerance
        for (columns, values), sign, multiplier in zip(rows, signs, multipliers, strict=True)
        if multiplier == 0.0
    )
