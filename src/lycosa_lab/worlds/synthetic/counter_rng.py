"""Counter-based random numbers: each is a hash of a key and a counter, the same on every machine and in any order.

A key gives one stream of numbers. The hash is SplitMix64 (Steele, Lea and Flood, 2014), for arrays of counters; peers
have it for one number (`lycosa_peers.routing`).
"""

from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

Floats = NDArray[Any]  # of any precision
Ints = NDArray[Any]  # of any width

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_UNUSED_BITS = np.uint64(11)  # a float has 53 bits of precision
_TO_UNIT_INTERVAL = 2.0**-53  # from whole numbers of 53 bits to [0, 1)
_SUBKEY_FACTOR = 0xD1B54A32D192ED03  # odd, so that no two numbers give one subkey; not the increment of the counters
_NORMALS_SUBKEY = 1  # of the second stream that `normals` needs
_MASK_64 = (1 << 64) - 1


def stream_key(seed: int, purpose: str, *numbers: int) -> int:
    """The 64-bit key of the stream for one purpose in the world of a seed."""
    digest: int = xxhash.xxh3_64_intdigest(repr((seed, purpose, numbers)).encode())
    return digest


def subkey(rng_key: int, number: int) -> int:
    """A key derived from another one, for one of many pages, sites or the like; cheaper than `stream_key`."""
    return (rng_key ^ ((number + 1) * _SUBKEY_FACTOR)) * int(_INCREMENT) & _MASK_64


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
    state >>= _UNUSED_BITS
    return state * _TO_UNIT_INTERVAL


def uniforms(rng_key: int, count: int) -> Floats:
    """`count` uniform random numbers in [0, 1), for the counters from 0 on."""
    return uniforms_at(rng_key, np.arange(count, dtype=np.uint64))


def normals(rng_key: int, count: int) -> Floats:
    """`count` standard normal random numbers, by the method of Box and Muller.

    They use the streams of the key and of its subkey 1.
    """
    radius = np.sqrt(-2.0 * np.log1p(-uniforms(rng_key, count)))
    radius *= np.cos(2.0 * np.pi * uniforms(subkey(rng_key, _NORMALS_SUBKEY), count))
    return radius
