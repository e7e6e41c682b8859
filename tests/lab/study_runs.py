"""A study, run for a test."""

import json
from pathlib import Path

import msgspec

from lycosa.vocabulary.records import Plain
from lycosa_lab.results import Results
from lycosa_lab.study import Study, run
from lycosa_lab.worlds import StudyWorld


def run_small(study: Study, world: StudyWorld, *, seed: int, out: Path) -> Results:
    """At the small scale, in this process."""
    return run(study, world, scale="small", seed=seed, out=out, workers=1, progress=lambda done, total: None)


def run_small_as_json(study: Study, world: StudyWorld, *, seed: int, out: Path) -> Plain:
    """The same, as `results.json` has it."""
    return json.loads(msgspec.json.encode(run_small(study, world, seed=seed, out=out)))
