import random

import numpy as np
import pytest

from lycosa.relevance.svm import separate


def made_up(rows: int, width: int, seed: int) -> tuple[np.ndarray, list[bool]]:
    rng = np.random.default_rng(seed)
    matrix = rng.random((rows, width)) * (rng.random((rows, width)) < 0.2)
    is_good = [bool(good) for good in matrix[:, 0] + matrix[:, 1] > 0.3]
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return matrix, is_good


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_the_machine_that_liblinear_finds(seed: int) -> None:
    from sklearn.svm import LinearSVC  # takes a second, which only a process that needs it shall

    matrix, is_good = made_up(150, 40, seed)
    sparse = [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in matrix]
    weights, bias = separate(sparse, is_good, 40, tolerance=1e-5)
    reference = LinearSVC(class_weight="balanced", tol=1e-6, max_iter=100_000).fit(matrix, is_good)
    assert np.allclose(weights, reference.coef_[0], atol=2e-3)
    assert bias == pytest.approx(reference.intercept_[0], abs=2e-3)


def test_the_order_of_the_rows_hardly_matters_and_the_same_seed_gives_the_same() -> None:
    matrix, is_good = made_up(80, 30, 4)
    sparse = [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in matrix]
    once, again = (separate(sparse, is_good, 30, seed=5) for _ in range(2))
    assert once == again
    order = list(range(80))
    random.Random(6).shuffle(order)
    other = separate([sparse[number] for number in order], [is_good[number] for number in order], 30)
    assert np.allclose(once[0], other[0], atol=0.02)
