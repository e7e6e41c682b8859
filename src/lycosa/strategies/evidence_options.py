from collections.abc import Sequence
from typing import Literal, TypedDict

from .signatures import Classes


class EvidenceOptions(TypedDict, total=False):
    """The keywords of `ReadersEvidence`, for strategies that pass them on."""

    factors: Sequence[str]
    significance: float
    around: int
    signatures: Literal["words"] | Classes
    trials: Literal["crawl", "reader"]
    base: Literal["crawl", "reader"]
    smoothing: float
    clip: float
    full_every: int
    half_life: float | None
