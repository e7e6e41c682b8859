"""What every study finds at the small scale, less what it cost: its claims as they are, its tables column by column."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lycosa_lab.studies import STUDIES

LEFT_OUT = {"league", "relevance-target"}  # they are there to show every change of judge and default strategy
STUDY_NAMES = [name for name in STUDIES if name not in LEFT_OUT]
PATIENCE = 1_800.0  # seconds that one study may take on a busy machine
# Processor time differs from run to run, and so does what peers in processes of their own answer, and what a simulation
# of the very same peers does; of the claims about these it is kept whether they hold.
COSTS = {"processor ms per page", "accepted pages per processor second"}  # measures
PROCESSES = {"peer-search": {"reality"}}  # tables
VARYING_CLAIMS = {"topic-driven.cost", "peer-search.simulation-agrees"}


def study(name: str, seed: int, work: Path) -> dict[str, Any]:
    """Runs a study by the command line."""
    out = work / name
    command = ["lab", "run", name, "--scale", "small", "--seed", str(seed), "--out", str(out), "--quiet"]
    program = [sys.executable, "-c", "import sys; sys.argv[0] = 'lycosa'; from lycosa.cli import main; main()"]
    ended = subprocess.run([*program, *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr
    return summary(json.loads((out / "results.json").read_text(encoding="utf-8")))


def summary(results: Mapping[str, Any]) -> dict[str, Any]:
    """Results without seconds and the wording of claims; a figure may differ in the seventh digit."""
    left_out = PROCESSES.get(results["study"], ())
    return {
        "world": _rounded(results["world"]),
        "claims": {claim["id"]: _claim(claim) for claim in results["claims"]},
        "tables": {name: _table(rows) for name, rows in results["tables"].items() if name not in left_out},
    }


def _claim(claim: Mapping[str, Any]) -> dict[str, Any]:
    figures = () if claim["id"] in VARYING_CLAIMS else ("paper", "measured", "p", "reason")
    return {fact: _rounded(claim[fact]) for fact in ("kind", "holds", *figures)}


def _table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many rows it has; of each column a digest, and the mean of its numbers."""
    kept = [row for row in rows if row.get("measure") not in COSTS]
    names = dict.fromkeys(key for row in kept for key in row)
    return {"rows": len(kept), **{f"column {name}": _column([row.get(name) for row in kept]) for name in names}}


def _column(values: Sequence[Any]) -> str:
    digest = hashlib.sha1(json.dumps(_rounded(values)).encode()).hexdigest()[:10]
    numbers = [value for value in values if isinstance(value, int | float)]
    return f"{digest}, mean {fmean(numbers):.6g}" if numbers else digest


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
