"""From distances to chances: the sigmoid that fits pages of which one knows whether they are good.

Platt: Probabilistic outputs for support vector machines (1999); Lin, Lin and Weng: A note on Platt's probabilistic
outputs for support vector machines (2007).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AT_ONE = 2.0  # slope of the sigmoid that is taken where nothing is known: 0.88 and 0.12 at distances of 1 and -1
_ROUNDS = 100
_SMALL = 1e-9


def sigmoid_between(good: Sequence[float], bad: Sequence[float]) -> tuple[float, float]:
    """Slope and offset of the sigmoid of a distance that is its chance to be of a good page.

    Both sides count alike, however many examples each has. The fewer they are, the nearer it stays to the sigmoid
    that is 0.88 and 0.12 where the good and the bad pages lie on average: what a model says of a page left out says
    little of the one that has learnt from all, where each page counts much. The bad must lie below the good.
    """
    ends = np.mean(good), np.mean(bad)
    middle, half = (ends[0] + ends[1]) / 2, (ends[0] - ends[1]) / 2
    line = np.stack(((np.array([*good, *bad]) - middle) / half, np.ones(len(good) + len(bad))))
    aim = np.array([1.0] * len(good) + [0.0] * len(bad))
    weight = np.array([0.5 / len(good)] * len(good) + [0.5 / len(bad)] * len(bad))
    doubt = 1.0 / min(len(good), len(bad))
    start = np.array([AT_ONE, 0.0])
    found = start.copy()

    def loss(at: Floats) -> float:
        height = at @ line
        return float(weight @ (np.logaddexp(0.0, height) - aim * height) + doubt / 2 * ((at - start) ** 2).sum())

    for _ in range(_ROUNDS):
        chance = 1.0 / (1.0 + np.exp(-(found @ line)))
        gradient = line @ (weight * (chance - aim)) + doubt * (found - start)
        curvature = (line * (weight * chance * (1.0 - chance))) @ line.T + doubt * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while loss(found - step) > loss(found) and np.abs(step).max() > _SMALL:
            step /= 2
        found = found - step
        if np.abs(step).max() <= _SMALL:
            break
    slope = float(found[0] / half)
    return slope, float(found[1] - slope * middle)
