"""Columns of numbers as text, so that a state of many numbers stays small and quick to save."""

from base64 import b64decode, b64encode
from typing import Any
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray


def packed(column: NDArray[Any]) -> str:
    """The numbers of a column as text; `unpacked` takes it back, given their type."""
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    return b64encode(compress(little.tobytes(), 1)).decode("ascii")


def unpacked(text: str, kind: type[np.generic]) -> NDArray[Any]:
    """
    >>> unpacked(packed(np.array([3, -1], np.int32)), np.int32).tolist()
    [3, -1]
    """
    stored = np.frombuffer(decompress(b64decode(text)), np.dtype(kind).newbyteorder("<"))
    return stored.astype(kind)  # a copy, which may be written to
