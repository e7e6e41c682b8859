"""Counter-based random numbers: each is a hash of a key and a counter, the same on every machine and in any order.

The hash is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
"""

from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

Floats = NDArray[Any]  # of any precision
Ints = NDArray[Any]  # of any width

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53  # from whole numbers of 53 bits to [0, 1)
_MASK_64 = (1 << 64) - 1


def key(seed: int, purpose: str, *numbers: int) -> int:
    """The 64-bit key of the random numbers for one purpose in the world of a seed."""
    digest: int = xxhash.xxh3_64_intdigest(repr((seed, purpose, numbers)).encode())
    return digest


def subkey(rng_key: int, number: int) -> int:
    """A key derived from another one, for one of many pages, sites or the like; cheaper than `key`."""
    return (rng_key ^ ((number + 1) * 0xD1B54A32D192ED03)) * 0x9E3779B97F4A7C15 & _MASK_64


def uniforms_at(rng_key: int, counters: Ints) -> Floats:
    """A uniform random number in [0, 1) for each counter."""
    state = counters.astype(np.uint64)
    state *= _INCREMENT
    state += np.uint64(rng_key)
    state ^= state >> _SHIFTS[0]
    state *= _FIRST_FACTOR
    state ^= state >> _SHIFTS[1]
    state *= _SECOND_FACTOR
    state ^= state >> _SHIFTS[2]
    state >>= _SHIFTS[3]
    return state * _UNIT


def uniforms(rng_key: int, count: int) -> Floats:
    """`count` uniform random numbers in [0, 1), for the counters from 0 on."""
    return uniforms_at(rng_key, np.arange(count, dtype=np.uint64))


def normals(rng_key: int, count: int) -> Floats:
    """`count` standard normal random numbers, by the method of Box and Muller."""
    radius = np.sqrt(-2.0 * np.log1p(-uniforms(rng_key, count)))
    radius *= np.cos(2.0 * np.pi * uniforms(subkey(rng_key, 1), count))
    return radius
