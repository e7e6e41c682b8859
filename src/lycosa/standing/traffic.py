"""How many people a site reaches."""

from collections.abc import Mapping
from math import log1p

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import host_of, site_of

LARGEST_REACH = 1e15


class Traffic:
    """ln(1 + reach) of the registered domain of a page, from a table.

    A domain that the table does not have counts like the median one of it (`neutral`); without a table, all count 0.

    reach: registered domain -> reach, in whatever unit, the same for all.
    neutral: what other domains count, where it is not to be the median.
    """

    def __init__(self, reach: Mapping[str, float] | None = None, *, neutral: float | None = None):
        self._reach = reach or {}
        values = np.fromiter(self._reach.values(), np.float64, len(self._reach))
        if not ((values >= 0.0) & (values <= LARGEST_REACH)).all():
            raise UsageError(f"the reach of a domain is to be a number from 0 to {LARGEST_REACH:g}; correct the table")
        median = float(np.median(np.log1p(values))) if len(values) else 0.0
        self.neutral = median if neutral is None else neutral

    def __len__(self) -> int:
        """How many domains the table has."""
        return len(self._reach)

    def of(self, url: Url) -> float:
        if not self._reach or not isinstance(url, str):  # the nodes of a graph are no addresses
            return self.neutral
        reach = self._reach.get(site_of(host_of(url)))
        return self.neutral if reach is None else log1p(reach)
