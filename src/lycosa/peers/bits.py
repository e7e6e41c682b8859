"""Sorted numbers in few bits (Elias–Fano): the low bits of each as they are, the high bits as the places of ones.

>>> packed = pack_ascending(np.array([3, 4, 900]), 1000)
>>> ascending(packed, 3, 1000).tolist()
[3, 4, 900]
"""

import numpy as np

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
Bits = np.ndarray[tuple[int], np.dtype[np.uint8]]  # one to a byte


def low_widths(counts: Numbers, universe: int) -> Numbers:
    """How many low bits are best for so many numbers below a universe: the most for which counts << bits fits in it."""
    widths = np.zeros(len(counts), np.int64)
    for bits in range(1, max(universe, 1).bit_length()):
        widths += counts << bits <= universe
    return widths


def pack_ascending(numbers: Numbers, universe: int) -> tuple[bytes, bytes]:
    """Ascending numbers below a universe."""
    if not len(numbers):
        return b"", b""
    width = int(low_widths(np.array([len(numbers)]), universe)[0])
    ones = (numbers >> width) + np.arange(len(numbers))
    return packed_values(numbers, np.full(len(numbers), width)), packed_ones(ones, len(numbers) + (universe >> width))


def ascending(packed: tuple[bytes, bytes], count: int, universe: int) -> Numbers | None:
    """The numbers that were packed; None where these bytes do not hold so many."""
    lows, highs = packed
    if not count:
        return np.empty(0, np.int64) if not (lows or highs) else None
    width = int(low_widths(np.array([count]), universe)[0])
    if len(lows) != count * width + 7 >> 3 or len(highs) != count + (universe >> width) + 7 >> 3:
        return None
    ones = np.flatnonzero(np.unpackbits(np.frombuffer(highs, np.uint8)))
    if len(ones) != count:
        return None
    numbers = ((ones - np.arange(count)) << width) | values_in(bits_of(lows, 0, count * width), width, count)
    return numbers if bool((numbers[1:] > numbers[:-1]).all()) and int(numbers[-1]) < universe else None


def packed_values(values: Numbers, widths: Numbers) -> bytes:
    """The low bits of values one after the other, each of its own width, the lowest bit first."""
    starts = np.cumsum(widths) - widths
    bits = np.zeros(int(widths.sum()), np.uint8)
    for bit in range(int(widths.max(initial=0))):
        wide = widths > bit
        bits[starts[wide] + bit] = (values[wide] >> bit) & 1
    return np.packbits(bits).tobytes()


def packed_ones(places: Numbers, size: int) -> bytes:
    """So many bits, with ones at some places."""
    bits = np.zeros(size, np.uint8)
    bits[places] = 1
    return np.packbits(bits).tobytes()


def bits_of(data: bytes, start: int, end: int) -> Bits:
    """Some of the bits of packed bytes."""
    first = start >> 3
    return np.unpackbits(np.frombuffer(data, np.uint8, (end + 7 >> 3) - first, first))[
        start - 8 * first : end - 8 * first
    ]


def values_in(bits: Bits, width: int, count: int) -> Numbers:
    """The values of one width that bits spell."""
    if not width:
        return np.zeros(count, np.int64)
    powers: Numbers = np.int64(1) << np.arange(width, dtype=np.int64)
    return bits.reshape(count, width) @ powers
