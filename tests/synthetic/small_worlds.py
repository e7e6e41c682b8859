"""Synthetic worlds that several tests look at, made once."""

from functools import cache

from lycosa_lab.worlds.synthetic import SyntheticWorld


@cache
def small(*, seed: int = 3, **options: float) -> SyntheticWorld:
    return SyntheticWorld(pages=3000, topics=8, seed=seed, **options)


@cache
def calibrated(seed: int) -> SyntheticWorld:
    return SyntheticWorld(pages=40_000, seed=seed)
