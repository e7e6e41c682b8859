"""The parts of `Candidate.because` that programs may read. Everything else in it is for people only."""

from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import Struct

from .records import JsonValue

# The start of the simulated clock of the strategy `crawl-ai`, whose priorities are minus a time of that clock. In the
# history of a collection, priorities of other strategies, such as -depth, are earlier times, and must not advance it.
CLOCK_START = 1e6


class UtilityParts(Struct, frozen=True):
    """How a strategy that weighs relevance against standing computed the priority of the links of a page."""

    relevance: float  # of the page
    alpha: float  # the weight of relevance against standing
    utility: float
    standing: float | None = None  # of the page; None if unknown

    @classmethod
    def from_because(cls, because: Mapping[str, JsonValue]) -> Self | None:
        """The parts; None for candidates of other strategies.

        >>> UtilityParts.from_because({"relevance": 0.9, "standing": 0.4, "alpha": 0.5, "utility": 0.6, "share": 0.6})
        UtilityParts(relevance=0.9, alpha=0.5, utility=0.6, standing=0.4)
        >>> UtilityParts.from_because({"seed": True})
        """
        if "alpha" not in because:
            return None
        try:
            return msgspec.convert(because, cls)
        except msgspec.ValidationError:
            return None


def weight_of_relevance(because: Mapping[str, JsonValue]) -> float | None:
    """α, if the strategy weighed relevance against standing, else None.

    >>> weight_of_relevance({"weighed": {"relevance": 0.4, "standing": 0.7, "alpha": 0.25}})
    0.25
    """
    parts, weighed = UtilityParts.from_because(because), because.get("weighed")
    alpha = parts.alpha if parts else weighed.get("alpha") if isinstance(weighed, Mapping) else None
    return alpha if isinstance(alpha, float) else None


def is_found_by_readers(because: Mapping[str, JsonValue], found_on: str | None) -> bool:
    """Whether a URL is known only from an access log: no page visited so far links to it."""
    return found_on is None and ("readers" in because or "chance" in because)
