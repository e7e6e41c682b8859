"""Array functions that several packages use."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def concatenated_ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """The indices of several ranges, concatenated; for example, of some rows of a sparse matrix.

    >>> concatenated_ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    begins = np.cumsum(lengths) - lengths  # where each range begins in the result
    return np.repeat(starts.astype(np.int64) - begins, lengths) + np.arange(int(lengths.sum()))
