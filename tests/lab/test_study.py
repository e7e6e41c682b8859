"""Running a study: every core, nothing twice, everything written."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from crawling import wait_until
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa_lab.results import Claim, Figure, Findings, read_results
from lycosa_lab.study import PACKAGES, code_fingerprint, run


class Nowhere:
    """A world of which a study about numbers needs nothing."""

    name = "nowhere"
    facts: Mapping[str, Any] = {"name": "nowhere", "pages": 0}


class Squares:
    """Claims that squares grow."""

    name = "squares"
    summary = "Squares grow."
    scales: Mapping[str, Any] = {"small": {"numbers": 5}, "paper": {"numbers": 50}}

    def __init__(self, folder: Path, *, fail_at: int | None = None):
        self._folder = folder  # where each job leaves a trace, in whatever process it ran
        self._fail_at = fail_at

    def default_world(self, size: Any) -> Any:
        return {}

    def jobs(self, world: Any, size: Any, seed: int) -> Sequence[Any]:
        return list(range(size["numbers"]))

    def prepare(self, world: Any, size: Any, seed: int) -> Any:
        return seed

    def work(self, world: Any, prepared: Any, job: Any) -> Any:
        if job == self._fail_at:
            raise KeyboardInterrupt
        with (self._folder / "trace").open("a") as out:
            out.write(f"{job}\n")
        return {"square": job * job + prepared}

    def conclude(self, world: Any, size: Any, outcomes: Sequence[Any], seed: int) -> Findings:
        squares = [outcome["square"] for outcome in outcomes]
        claim = Claim("squares.grow", "beyond", "they grow", None, str(squares), holds=squares == sorted(squares))
        rows = [{"number": number, "square": square} for number, square in enumerate(squares)]
        return Findings([claim], {"squares": rows}, {"curve": Figure("A <curve>", "of squares", "<svg></svg>")})


def run_it(study: Squares, out: Path, **options: Any):
    progress: list[tuple[int, int]] = []
    keywords = {"scale": "small", "seed": 3, "workers": 1, **options}
    results = run(study, Nowhere(), out=out, progress=lambda done, total: progress.append((done, total)), **keywords)
    return results, progress


def trace_of(folder: Path) -> list[int]:
    return sorted(map(int, (folder / "trace").read_text().split()))


@pytest.mark.parametrize("workers", [1, 2])
def test_all_jobs_are_done_once_on_one_core_or_two(tmp_path: Path, workers: int) -> None:
    results, progress = run_it(Squares(tmp_path), tmp_path / "out", workers=workers)
    assert trace_of(tmp_path) == [0, 1, 2, 3, 4]
    assert progress == [(done, 5) for done in range(6)]
    assert results.claims[0].measured == "[3, 4, 7, 12, 19]"


def test_everything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    results, _ = run_it(Squares(tmp_path), out)
    written = json.loads((out / "results.json").read_text())
    assert written["claims"] == [
        {
            "id": "squares.grow",
            "kind": "beyond",
            "says": "they grow",
            "paper": None,
            "measured": "[3, 4, 7, 12, 19]",
            "holds": True,
            "p": None,
            "reason": "",
        }
    ]
    assert (written["study"], written["scale"], written["seed"]) == ("squares", "small", 3)
    assert written["world"] == Nowhere.facts
    with (out / "squares.csv").open() as stream:
        assert list(csv.DictReader(stream))[2] == {"number": "2", "square": "7"}
    assert (out / "curve.svg").read_text() == "<svg></svg>"
    page = (out / "index.html").read_text()
    assert "A &lt;curve&gt;" in page and "they grow" in page and "<script" not in page
    assert list(read_results([tmp_path], warn=print)) == [(out, results)]


def test_a_page_with_the_first_rows_of_a_table_says_where_all_of_them_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lycosa_lab.results.ROWS_SHOWN", 3)
    run_it(Squares(tmp_path), tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "The first 3 of 5 rows; squares.csv beside this page has all of them for other programs." in page


def test_stopped_in_the_middle_it_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_it(Squares(tmp_path, fail_at=3), out)
    assert not (out / "results.json").exists()
    results, progress = run_it(Squares(tmp_path), out)
    assert trace_of(tmp_path) == [0, 1, 2, 3, 4]
    assert progress[0] == (3, 5)
    assert results.claims[0].measured == "[3, 4, 7, 12, 19]"


@pytest.mark.parametrize(
    "damaged", [b'[{"squ', b"[1", b"[]", b'"ab"', b"[3, 0.1]", b'[{"square": 7}, "long"]', b'[{"\xff": 1}, 1.0]']
)
def test_a_part_that_is_damaged_is_done_again(tmp_path: Path, damaged: bytes) -> None:
    out = tmp_path / "out"
    run_it(Squares(tmp_path), out)
    (out / "parts/00002.json").write_bytes(damaged)
    results, _ = run_it(Squares(tmp_path), out)
    assert trace_of(tmp_path) == [0, 1, 2, 2, 3, 4]
    assert results.claims[0].measured == "[3, 4, 7, 12, 19]"


def test_a_run_that_did_nothing_does_not_block_its_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_it(Squares(tmp_path, fail_at=0), tmp_path / "out")
    results, _ = run_it(Squares(tmp_path), tmp_path / "out", seed=4)
    assert results.seed == 4


def test_a_worker_that_is_killed_is_reported_and_the_rest_is_kept(tmp_path: Path) -> None:
    class Killed(Squares):
        def work(self, world: Any, prepared: Any, job: Any) -> Any:
            if job == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().work(world, prepared, job)

    with pytest.raises(LycosaError, match="a worker was ended"):
        run_it(Killed(tmp_path), tmp_path / "out", workers=2)
    results, _ = run_it(Squares(tmp_path), tmp_path / "out", workers=2)
    assert results.claims[0].measured == "[3, 4, 7, 12, 19]"


def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
sys.path[:0] = {sys.path!r}
from lab.test_study import Squares, run_it

class Slow(Squares):
    def work(self, world, prepared, job):
        begun = Path({str(tmp_path)!r}, f"{{job}}.begun")
        begun.write_text(str(__import__("os").getpid()))
        begun.rename(begun.with_suffix(".pid"))  # seen when it is whole
        time.sleep(60)

run_it(Slow(Path({str(tmp_path)!r})), Path({str(tmp_path)!r}, "out"), workers=2)
"""
    parent = subprocess.Popen([sys.executable, "-c", program])
    wait_until(lambda: len(list(tmp_path.glob("*.pid"))) >= 2, parent)
    workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_part_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    run_it(Squares(tmp_path), tmp_path / "out")
    (tmp_path / "out/parts/00000.json").unlink()
    (tmp_path / "out/parts/00000.json").mkdir()  # cannot be replaced by a file
    with pytest.raises(LycosaError, match="run the same command to continue"):
        run_it(Squares(tmp_path), tmp_path / "out")


def test_a_folder_with_another_run_is_refused(tmp_path: Path) -> None:
    run_it(Squares(tmp_path), tmp_path / "out")
    with pytest.raises(UsageError, match=r"holds another run, different in seed .* give another --out, or remove"):
        run_it(Squares(tmp_path), tmp_path / "out", seed=4)


def test_what_other_jobs_gave_is_not_taken(tmp_path: Path) -> None:
    class Cubes(Squares):
        def jobs(self, world: Any, size: Any, seed: int) -> Sequence[Any]:
            return [number**3 for number in range(size["numbers"])]

    run_it(Squares(tmp_path), tmp_path / "out")
    with pytest.raises(UsageError, match=r"different in jobs .* give another --out, or remove"):
        run_it(Cubes(tmp_path), tmp_path / "out")
    assert trace_of(tmp_path) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("changed", [{"code": "that of an older version"}, {"code": None, "jobs": None}])
def test_what_another_version_computed_is_not_taken(tmp_path: Path, changed: Mapping[str, Any]) -> None:
    """Neither one that names its code, nor one from before run.json had code and jobs."""
    out = tmp_path / "out"
    run_it(Squares(tmp_path), out)
    older = json.loads((out / "run.json").read_text()) | changed
    left = json.dumps({fact: value for fact, value in older.items() if value is not None})
    (out / "run.json").write_text(left)
    with pytest.raises(UsageError, match=r"another version of Lycosa.* give another --out, or remove"):
        run_it(Squares(tmp_path), out)
    assert (out / "run.json").read_text() == left


@pytest.mark.parametrize("run_file", [None, b"", b'{"study": "squ', b"[]", b'{"\xff": 1}'])
def test_parts_of_an_unknown_run_are_not_taken(tmp_path: Path, run_file: bytes | None) -> None:
    out = tmp_path / "out"
    run_it(Squares(tmp_path), out)
    (out / "run.json").unlink()
    if run_file is not None:
        (out / "run.json").write_bytes(run_file)
    with pytest.raises(UsageError, match=r"unknown run.* give another --out, or remove"):
        run_it(Squares(tmp_path), out)


def test_a_run_tells_its_jobs_and_the_code_of_this_package(tmp_path: Path) -> None:
    run_it(Squares(tmp_path), tmp_path / "out")
    facts = json.loads((tmp_path / "out/run.json").read_text())
    assert facts["jobs"] == [0, 1, 2, 3, 4]
    assert facts["code"] == code_fingerprint(PACKAGES)


def test_code_is_known_by_its_files_their_names_and_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fingerprint(folder: str, **changed: str) -> str:
        package = tmp_path / folder / "spider"
        files = {"strategies/best.py": "rank = max\n", "prior.json": "{}", "__init__.py": "", **changed}
        for path, text in files.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_text(text)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(tmp_path / folder)
            return code_fingerprint(["spider"])

    same = {
        fingerprint("one"),
        fingerprint("two"),
        fingerprint("three", **{"__pycache__/best.pyc": "compiled"}),
    }
    others = [
        fingerprint("four", **{"strategies/best.py": "rank = min\n"}),
        fingerprint("five", **{"prior.json": "[]"}),
        fingerprint("six", **{"strategies/worst.py": ""}),
        fingerprint("seven", **{"strategies/best.py": "", "prior.json": "rank = max\n{}"}),
    ]
    assert len(same) == 1
    assert len({*same, *others}) == 5


def test_code_is_that_of_every_package_that_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = code_fingerprint(["lycosa", "lycosa_of_tomorrow"])
    assert alone == code_fingerprint(["lycosa"])
    (tmp_path / "lycosa_of_tomorrow").mkdir()
    (tmp_path / "lycosa_of_tomorrow/__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert code_fingerprint(["lycosa", "lycosa_of_tomorrow"]) != alone


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="give another --out"):
        run_it(Squares(tmp_path), tmp_path / "out")


@pytest.mark.parametrize("content", [b'{"study": 3}', b'{"study": "\xff"}', b'{"tables": ' + b"[" * 100_000])
def test_files_that_are_no_results_are_reported_and_hide_no_others(tmp_path: Path, content: bytes) -> None:
    results, _ = run_it(Squares(tmp_path), tmp_path / "out")
    (tmp_path / "results.json").write_bytes(content)
    warnings: list[str] = []
    assert list(read_results([tmp_path], warn=warnings.append)) == [(tmp_path / "out", results)]
    assert len(warnings) == 1
    assert "not the results of a study" in warnings[0]
