"""Linear models with as few attributes as do."""

from dataclasses import dataclass

import numpy as np

from .splitting import Floats

RIDGE = 1e-8  # on standardised attributes, so that attributes that say the same share their weight
TOO_STEEP = 1.5  # standard deviations of the target per standard deviation of an attribute: a sign of collinearity
SMALLEST_SPREAD = 1e-50  # of an attribute that counts as varying


@dataclass(frozen=True, slots=True)
class Line:
    """A linear function of a few attributes; `weights` pairs the number of an attribute with its weight."""

    intercept: float
    weights: tuple[tuple[int, float], ...] = ()

    def of(self, columns: Floats) -> Floats:
        """Its value for each row; `columns` has one row per attribute."""
        values = np.full(columns.shape[1], self.intercept)
        for attribute, weight in self.weights:
            values += weight * columns[attribute]
        return values


def fit_line(columns: Floats, target: Floats, attributes: list[int]) -> Line:
    """Least squares on those of `attributes` that earn their place.

    First the steepest attribute is dropped while it is too steep; then the attribute of the smallest standardised
    weight, as long as Akaike's criterion falls.
    """
    rows = len(target)
    taken = columns[attributes]
    means = taken.mean(axis=1)
    taken = taken - means[:, None]
    deviations = np.sqrt((taken * taken).sum(axis=1) / max(1, rows - 1))
    varying = deviations > np.maximum(1e-12 * np.abs(means), SMALLEST_SPREAD)
    if not varying.all():
        attributes = [attribute for attribute, varies in zip(attributes, varying.tolist(), strict=True) if varies]
        taken, means, deviations = taken[varying], means[varying], deviations[varying]
    middle = float(target.mean())
    problem = _Problem(taken / deviations[:, None], target - middle)
    chosen = list(range(len(attributes)))
    weights = problem.solve(chosen)
    deviation = float(np.sqrt(problem.target @ problem.target / max(1, rows - 1)))
    while chosen and float(np.abs(weights).max()) > TOO_STEEP * deviation:
        del chosen[int(np.abs(weights).argmax())]
        weights = problem.solve(chosen)
    chosen, weights = problem.simplify(chosen, weights)
    slopes = weights / deviations[chosen]
    return Line(
        middle - float(slopes @ means[chosen]),
        tuple((attributes[place], slope) for place, slope in zip(chosen, slopes.tolist(), strict=True)),
    )


class _Problem:
    """Standardised attributes, one per row, and the centred target they shall explain."""

    def __init__(self, attributes: Floats, target: Floats):
        self._attributes = attributes
        self.target = target
        self._products = attributes @ attributes.T
        self._goal = attributes @ target

    def solve(self, chosen: list[int]) -> Floats:
        products = self._products[chosen][:, chosen]
        products.flat[:: len(chosen) + 1] += RIDGE
        weights: Floats = np.linalg.solve(products, self._goal[chosen]).astype(np.float64, copy=False)
        return weights

    def error(self, chosen: list[int], weights: Floats) -> float:
        misses = self.target - weights @ self._attributes[chosen]
        return float(misses @ misses)

    def simplify(self, chosen: list[int], weights: Floats) -> tuple[list[int], Floats]:
        full = self.error(chosen, weights)
        free = len(self.target) - len(chosen) - 1
        criterion = free + 2.0 * (len(chosen) + 1)
        while chosen and full > 0.0:
            weakest = int(np.abs(weights).argmin())
            fewer = chosen[:weakest] + chosen[weakest + 1 :]
            lighter = self.solve(fewer)
            reached = self.error(fewer, lighter) / full * free + 2.0 * (len(fewer) + 1)
            if not reached < criterion:
                break
            chosen, weights, criterion = fewer, lighter, reached
        return chosen, weights
