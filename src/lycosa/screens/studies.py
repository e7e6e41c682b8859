"""Studies of the lab: the results that `lycosa lab run --out` wrote, read as untrusted data."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import read_regular_file
from lycosa.vocabulary.text import printable

from .library import Library, is_collection, is_plain
from .lines import clamp_page

RESULTS_FILE = "results.json"
STUDIES_PER_PAGE = 50
MAX_ROWS = 60  # of a table
MAX_COLUMNS = 30
MAX_TABLES = 30
MAX_FIGURES = 40
MAX_CLAIMS = 200
_MAX_STUDIES = 500
_MAX_DEPTH = 4  # levels of subfolders that are searched
_MAX_ENTRIES = 20_000  # files and folders that are looked at
_MAX_RESULTS_BYTES = 64 << 20
_MAX_FIGURE_BYTES = 4 << 20
_MAX_CELL_LENGTH = 120  # characters

Text = Annotated[str, Meta(max_length=100_000)]


class StudyClaim(Struct, frozen=True):
    """A statement that a run supports or refutes."""

    id: Text
    kind: Text  # where the statement comes from, such as a paper
    says: Text  # the statement
    measured: Text = ""  # what the run found, in words
    paper: Text | None = None  # what the paper reports
    holds: bool | None = None  # None for what is only reported
    p: float | None = None  # p-value
    reason: Text = ""  # why it likely does not hold here


class _Results(Struct, frozen=True):
    study: Text  # name
    scale: Text = ""  # of the sizes of the study, such as small
    seed: int = 0  # of the random numbers
    seconds: float = 0.0
    world: dict[str, Any] = {}  # name and options of the pages that were crawled offline
    claims: list[StudyClaim] = []
    tables: dict[str, list[dict[str, Any]]] = {}


class StudyLine(Struct, frozen=True):
    """A study in a list."""

    path: str  # of its folder
    study: str  # name
    scale: str
    seed: int  # of the random numbers
    hold: int  # number of claims that hold
    fail: int  # number of claims that do not
    reported: int  # number of claims that are only reported


class StudyList(Struct, frozen=True):
    studies: list[StudyLine]
    total: int  # studies
    page: int  # of the list, from 1
    last_page: int


class StudyTable(Struct, frozen=True):
    name: str
    columns: list[str]
    rows: list[list[str]]
    total: int  # rows


class StudyView(Struct, frozen=True):
    """The screen of one study."""

    line: StudyLine
    world: list[tuple[str, str]]
    seconds: float
    claims: list[StudyClaim]
    figures: list[str]  # names of files
    tables: list[StudyTable]


class Studies:
    """Finds and reads the studies of a folder; list entries are cached until a file changes."""

    def __init__(self, library: Library):
        self._root = library.root
        self._lines: dict[Path, tuple[object, StudyLine | None]] = {}  # with the version of the file

    def page(self, page: int) -> StudyList:
        lines = [line for folder in self._folders() if (line := self._cached_line(folder)) is not None]
        page, last_page, start = clamp_page(page, len(lines), STUDIES_PER_PAGE)
        return StudyList(lines[start : start + STUDIES_PER_PAGE], len(lines), page, last_page)

    def study(self, path: str) -> StudyView:
        folder = self._folder(path)
        results = _read(folder)
        if results is None:
            raise UsageError("the results of this study cannot be read; run it again: lycosa lab run")
        return StudyView(
            line=self._study_line(folder, results),
            world=[(printable(name, 60), _cell(value)) for name, value in list(results.world.items())[:MAX_COLUMNS]],
            seconds=results.seconds,
            claims=[_without_controls(claim) for claim in results.claims[:MAX_CLAIMS]],
            figures=_figures(folder),
            tables=[_table(name, rows) for name, rows in list(results.tables.items())[:MAX_TABLES]],
        )

    def figure(self, path: str, name: str) -> bytes:
        """A figure of a study, as SVG."""
        folder = self._folder(path)
        if name not in _figures(folder):
            raise UsageError("the study has no such figure")
        try:
            return read_regular_file(folder / name, _MAX_FIGURE_BYTES)
        except OSError:
            raise UsageError("the figure cannot be read") from None

    def _folder(self, path: str) -> Path:
        for folder in self._folders():
            if folder.relative_to(self._root).as_posix() == path:
                return folder
        raise UsageError("there is no such study here")

    def _folders(self) -> list[Path]:
        """The folders with results, in alphabetical order. Symbolic links are not followed; collections, and folders
        whose names are hidden or cannot be part of a URL, are not searched."""
        found, entries_left = list[Path](), _MAX_ENTRIES
        queue = deque([(self._root, 0)])
        while queue and entries_left > 0 and len(found) < _MAX_STUDIES:
            folder, depth = queue.popleft()
            for entry in _entries(folder, entries_left):
                entries_left -= 1
                if entry.name == RESULTS_FILE and entry.is_file(follow_symlinks=False) and depth:
                    found.append(folder)
                elif depth < _MAX_DEPTH and is_plain(entry.name) and entry.is_dir(follow_symlinks=False):
                    subfolder = Path(entry.path)
                    if not is_collection(subfolder):
                        queue.append((subfolder, depth + 1))
        return sorted(found)

    def _cached_line(self, folder: Path) -> StudyLine | None:
        try:
            file_status = (folder / RESULTS_FILE).lstat()
        except OSError:
            return None
        version = file_status.st_mtime_ns, file_status.st_size
        if self._lines.get(folder, (None, None))[0] != version:
            results = _read(folder)
            self._lines[folder] = version, self._study_line(folder, results) if results is not None else None
        return self._lines[folder][1]

    def _study_line(self, folder: Path, results: _Results) -> StudyLine:
        verdicts = [claim.holds for claim in results.claims]
        return StudyLine(
            path=folder.relative_to(self._root).as_posix(),
            study=printable(results.study, 100),
            scale=printable(results.scale, 40),
            seed=results.seed,
            hold=verdicts.count(True),
            fail=verdicts.count(False),
            reported=verdicts.count(None),
        )


def _entries(folder: Path, limit: int) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= limit:
                    return
                yield entry
    except OSError:
        return


def _read(folder: Path) -> _Results | None:
    """The results in a folder; None if the file is not that of a study."""
    try:
        return msgspec.json.decode(read_regular_file(folder / RESULTS_FILE, _MAX_RESULTS_BYTES), type=_Results)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _figures(folder: Path) -> list[str]:
    names = (entry.name for entry in _entries(folder, _MAX_ENTRIES) if entry.is_file(follow_symlinks=False))
    return sorted(name for name in names if name.endswith(".svg") and is_plain(name))[:MAX_FIGURES]


def _without_controls(claim: StudyClaim) -> StudyClaim:
    return StudyClaim(
        id=printable(claim.id, 120),
        kind=printable(claim.kind, 40),
        says=printable(claim.says, 1_000),
        measured=printable(claim.measured, 1_000),
        paper=None if claim.paper is None else printable(claim.paper, 1_000),
        holds=claim.holds,
        p=claim.p,
        reason=printable(claim.reason, 1_000),
    )


def _table(name: str, rows: Sequence[dict[str, Any]]) -> StudyTable:
    shown = rows[:MAX_ROWS]
    columns = list(dict.fromkeys(key for row in shown for key in row))[:MAX_COLUMNS]
    cells = [[_cell(row.get(column)) for column in columns] for row in shown]
    return StudyTable(printable(name, 100), [printable(column, 60) for column in columns], cells, len(rows))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else printable(str(value)[: 8 * _MAX_CELL_LENGTH], _MAX_CELL_LENGTH)
