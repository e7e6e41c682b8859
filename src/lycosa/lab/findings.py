"""What a study found: claims that were computed, the tables behind them, and pictures."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from lycosa.vocabulary.records import Plain

Kind = Literal["paper", "beyond", "calibration"]
Row = Mapping[str, Plain]


class Claim(Struct, frozen=True):
    """A sentence that a run can bear out or refute."""

    id: str  # "study.claim"
    kind: Kind  # of a paper; ours; or one to which the world was fitted, so that it proves nothing
    says: str
    paper: str | None  # what the paper reports
    measured: str
    holds: bool | None  # None for what is only reported
    p: float | None = None
    reason: str = ""  # why it likely does not hold here


class Picture(Struct, frozen=True):
    """A drawing and what it shows."""

    title: str
    caption: str
    svg: str


class Findings(Struct, frozen=True):
    """All that a study concludes; claims can be recomputed from the tables."""

    claims: Sequence[Claim]
    tables: Mapping[str, Sequence[Row]]
    pictures: Mapping[str, Picture] = {}


class Results(Struct, frozen=True):
    """A finished study as `results.json` has it."""

    study: str
    scale: str
    seed: int
    world: Mapping[str, Plain]
    claims: Sequence[Claim]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    seconds: float
