"""A study, run for a test."""

from pathlib import Path

from lycosa.lab.findings import Results
from lycosa.lab.study import Study, run
from lycosa.worlds import StudyWorld


def ran(study: Study, world: StudyWorld, *, seed: int, out: Path) -> Results:
    """At the small scale, in this process."""
    return run(study, world, scale="small", seed=seed, out=out, workers=1, told=lambda done, total: None)
