"""A study, run for a test."""

import json
import shutil
from pathlib import Path

import msgspec

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Results
from lycosa_lab.study import Study, run
from lycosa_lab.worlds import StudyWorld


def run_small(study: Study, world: StudyWorld, *, seed: int, out: Path) -> Results:
    """At the small scale, in this process."""
    return run(study, world, scale="small", seed=seed, out=out, workers=1, progress=lambda done, total: None)


def run_small_as_json(study: Study, world: StudyWorld, *, seed: int, out: Path) -> JsonValue:
    """The same, as `results.json` has it."""
    return json.loads(msgspec.json.encode(run_small(study, world, seed=seed, out=out)))


def copy_with_jobs_missing(folder: Path, out: Path) -> Path:
    """What a run has left, less the outcome of every third job: run there, a study prepares, does these jobs again, and
    concludes from them and the others."""
    shutil.copytree(folder, out)
    for part in sorted((out / "parts").iterdir())[::3]:
        part.unlink()
    return out
