"""What several parts do with arrays of numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def concatenated_ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """The indices of several ranges, one range after the other: of the rows of a sparse matrix, say.

    >>> concatenated_ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    begins = np.cumsum(lengths) - lengths  # where each range begins among the indices
    return np.repeat(starts.astype(np.int64) - begins, lengths) + np.arange(int(lengths.sum()))
