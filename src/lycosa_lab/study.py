"""The interface of studies, and how they are run: jobs on every core, saved as they complete, then the conclusion."""

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import msgspec

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import atomic_write, write_file
from lycosa.vocabulary.records import JsonValue
from lycosa_lab.worlds import StudyWorld

from .results import Findings, Results, write_results

Progress = Callable[[int, int], None]  # jobs done, of how many
Size = Mapping[str, Any]  # parameters of a study at one scale, by name
RUN_FILE = "run.json"
CONTRACT = ("name", "summary", "scales", "default_world", "jobs", "prepare", "work", "conclude")  # of `Study`
PACKAGES = ("lycosa", "lycosa_lab", "lycosa_peers")  # whose code studies run


class Study(Protocol):
    """Code that states a paper's claim and tests it."""

    name: str
    summary: str  # one sentence, for `lycosa lab list`
    scales: Mapping[str, Size]  # "small" and "paper"

    def default_world(self, size: Size) -> Mapping[str, JsonValue]:
        """Options of the default world; `kind` names its kind if it is not synthetic."""
        ...

    def jobs(self, world: StudyWorld, size: Size, seed: int) -> Sequence[JsonValue]:
        """The units of work, as plain data; each can run in a process of its own."""
        ...

    def prepare(self, world: StudyWorld, size: Size, seed: int) -> Any:
        """The shared, read-only input of all jobs; computed once."""
        ...

    def work(self, world: StudyWorld, prepared: Any, job: JsonValue) -> JsonValue:
        """The outcome of one job, as a dictionary of plain data; deterministic, except for costs."""
        ...

    def conclude(self, world: StudyWorld, size: Size, outcomes: Sequence[JsonValue], seed: int) -> Findings:
        """Claims, tables and figures from the outcomes of all jobs, in order."""
        ...


def run(
    study: Study,
    world: StudyWorld,
    *,
    scale: str,
    seed: int,
    out: Path,
    workers: int | None = None,
    progress: Progress,
    packages: Sequence[str] = PACKAGES,
) -> Results:
    """Runs a study into a folder; completed jobs of the same code, study and world found there are reused.

    packages: whose code the study runs.
    """
    size = study.scales[scale]
    workers = workers or os.cpu_count() or 1
    began = time.monotonic()
    jobs = study.jobs(world, size, seed)
    run_facts = {"study": study.name, "scale": scale, "size": size, "seed": seed, "world": world.facts, "jobs": jobs}
    parts = _parts_folder(out, {**run_facts, "code": code_fingerprint(packages)})
    done = {number: outcome for number in range(len(jobs)) if (outcome := _read_part(parts, number)) is not None}
    earlier_seconds = sum(seconds for _, seconds in done.values())
    progress(len(done), len(jobs))
    waiting = [number for number in range(len(jobs)) if number not in done]
    if waiting:
        prepared = study.prepare(world, size, seed)
        for number, outcome, seconds in _run_jobs(study, world, prepared, jobs, waiting, workers):
            done[number] = outcome, seconds
            _write_part(parts, number, outcome, seconds)
            progress(len(done), len(jobs))
    outcomes = [done[number][0] for number in range(len(jobs))]
    findings = study.conclude(world, size, outcomes, seed)
    results = Results(
        study=study.name,
        scale=scale,
        seed=seed,
        world=world.facts,
        claims=findings.claims,
        tables=findings.tables,
        seconds=round(time.monotonic() - began + earlier_seconds / workers, 1),
    )
    write_results(out, results, findings.figures, summary=study.summary)
    return results


def code_fingerprint(packages: Sequence[str] = PACKAGES) -> str:
    """A digest of all files of the packages, including data; a package that is not installed counts as empty.

    A package may also be a single module. The version number would not do: the code changes between releases.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in packages:
        spec = find_spec(name)
        if spec is None:
            continue
        if spec.submodule_search_locations is None and spec.origin is not None:
            digest.update(f"{name}\0".encode() + Path(spec.origin).read_bytes())
        for folder in map(Path, spec.submodule_search_locations or ()):
            for path in sorted(folder.rglob("*")):
                if "__pycache__" in path.parts or not path.is_file():
                    continue
                content = path.read_bytes()
                digest.update(f"{name}/{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()


# ---------------------------------------------------------------- outcomes on disk


def _parts_folder(out: Path, run_facts: Mapping[str, Any]) -> Path:
    """The folder of parts, one file for the outcome of each job; UsageError if it has parts of another run."""
    description = msgspec.json.encode(run_facts, order="sorted")
    try:
        parts = out / "parts"
        parts.mkdir(parents=True, exist_ok=True)
        run_file = out / RUN_FILE
        earlier = run_file.read_bytes() if run_file.exists() else b""
        if earlier != description:
            if any(parts.iterdir()):
                raise UsageError(
                    f"{out} holds {_difference(earlier, description)}; give another --out, or remove {out}"
                )
            write_file(run_file, description)
    except OSError as error:
        raise UsageError(f"cannot write into {out}: {error.strerror}; give another --out") from None
    return parts


def _difference(found: bytes, description: bytes) -> str:
    """How the run in a folder differs from the one that is to continue there."""
    try:
        earlier = msgspec.json.decode(found, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return f"parts of an unknown run, as {RUN_FILE} does not tell which"
    requested = msgspec.json.decode(description, type=dict[str, Any])
    others = [fact for fact in requested if fact != "code" and fact in earlier and earlier[fact] != requested[fact]]
    if others:
        return f"another run, different in {', '.join(others)} ({RUN_FILE} tells which)"
    return "a run of another version of Lycosa or of a plug-in, whose results may differ"


def _read_part(parts: Path, number: int) -> tuple[JsonValue, float] | None:
    path = parts / f"{number:05d}.json"
    if not path.exists():
        return None
    try:
        outcome, seconds = msgspec.json.decode(path.read_bytes(), type=tuple[dict[str, Any], float])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError):
        return None  # damaged: the job runs again
    return outcome, seconds


def _write_part(parts: Path, number: int, outcome: JsonValue, seconds: float) -> None:
    path = parts / f"{number:05d}.json"
    try:
        with atomic_write(path, durable=False) as file:  # a part damaged by a power failure is computed again
            file.write(msgspec.json.encode([outcome, seconds]))
    except OSError as error:
        raise LycosaError(
            f"cannot write {path}: {error.strerror}; make room, then run the same command to continue"
        ) from None


# ---------------------------------------------------------------- jobs on every core

_inherited: tuple[Study, StudyWorld, Any] | None = None  # by forked workers


def _run_jobs(
    study: Study, world: StudyWorld, prepared: Any, jobs: Sequence[JsonValue], numbers: Sequence[int], workers: int
) -> Iterator[tuple[int, JsonValue, float]]:
    """The outcomes as they arrive, with the number of the job and its seconds."""
    global _inherited
    _inherited = study, world, prepared
    try:
        if workers == 1 or len(numbers) == 1:
            for number in numbers:
                yield _timed(number, jobs[number])
            return
        # A world of a million pages is inherited, not copied: hence fork.
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(min(workers, len(numbers)), mp_context=context, initializer=_init_worker) as pool:
            futures = [pool.submit(_timed, number, jobs[number]) for number in numbers]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BrokenProcessPool:
                raise LycosaError(
                    "a worker was ended, perhaps for want of memory; run the same command to continue, "
                    "perhaps with --workers 1"
                ) from None
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        _inherited = None


def _init_worker() -> None:
    """Makes a worker end silently on an interrupt, and when its parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="watching the parent", daemon=True).start()


def _timed(number: int, job: JsonValue) -> tuple[int, JsonValue, float]:
    if _inherited is None:
        raise LycosaError("a worker was started without its study")
    study, world, prepared = _inherited
    began = time.monotonic()
    return number, study.work(world, prepared, job), time.monotonic() - began
