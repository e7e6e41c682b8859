"""A study, run for a test."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

import msgspec

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.results import Results
from lycosa_lab.study import Study, run
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.synthetic import SyntheticWorld


def run_small(study: Study, world: StudyWorld, *, seed: int, out: Path) -> Results:
    """At the small scale, in this process."""
    with texts_made_once(world):
        return run(study, world, scale="small", seed=seed, out=out, workers=1, progress=lambda done, total: None)


def run_small_as_json(study: Study, world: StudyWorld, *, seed: int, out: Path) -> JsonValue:
    """The same, as `results.json` has it."""
    return json.loads(msgspec.json.encode(run_small(study, world, seed=seed, out=out)))


@contextmanager
def texts_made_once(world: StudyWorld) -> Iterator[None]:
    """Meanwhile, a synthetic world of a few thousand pages keeps what it has generated: every crawl reads it again."""
    if not isinstance(world, SyntheticWorld):
        yield
        return
    with patch.object(world, "read", cache(world.read)), patch.object(world, "page", cache(world.page)):
        yield


def copy_with_jobs_missing(folder: Path, out: Path) -> Path:
    """What a run has left, less the outcomes of the first job and, of more than four, the last: run there, a study
    prepares, does these jobs again, and concludes from them and the others."""
    shutil.copytree(folder, out)
    parts = sorted((out / "parts").iterdir())
    for part in parts[:: max(4, len(parts) - 1)]:
        part.unlink()
    return out
