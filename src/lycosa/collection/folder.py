"""The folder of a collection, which may be untrusted: its check, and the reader of its text files.

Only regular files and folders are allowed: links could lead elsewhere, even for writing; named pipes and devices could
block for ever. Therefore all names that Lycosa uses are checked before anything is opened.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa.vocabulary.files import read_regular_file
from lycosa.vocabulary.text import quoted

from .errors import SHARDS, disk_errors

_FILES = (
    "lycosa.toml",
    ".lock",
    ".id",
    "journal.json",
    "catalog.sqlite",
    "rebuilt.sqlite",
    "words.sqlite",
    "model.json",
    "standing.json",
    "labels.txt",
    "sample.txt",
    "steering.txt",
    "dropped.txt",
    "forgotten.txt",
    "seeds.txt",
    "report.html",
)
_SUFFIXES = ("", "-wal", "-shm", "-journal", ".new")
_FOLDERS = ("archive", "search", "search.new", "search.old", "rebuilt-search", "examples", "peer", SHARDS)
_SOCKETS = ("control",)  # of a running peer: connected to, never opened as a file
MAX_ENTRIES = 100_000  # files of one folder


def file_lines(
    path: Path, max_bytes: int, *, error: type[LycosaError] = CollectionError, way_out: str = "fix or delete it"
) -> list[str]:
    """The lines of a UTF-8 file in the folder of a collection; none if there is no file.

    max_bytes: size above which the file is refused.
    error, way_out: raised for a file that is not text, and the advice in its message.
    """
    if not path.exists():
        return []
    try:
        with disk_errors(path):
            return read_regular_file(path, max_bytes).decode().splitlines()
    except UnicodeDecodeError:
        raise error(f"{path}: not UTF-8 text; {way_out}") from None


def check_folder(folder: Path, *, links_allowed: Callable[[], bool] = lambda: False) -> None:
    """Raises CollectionError if something under a name that Lycosa uses is not a regular file or folder.

    links_allowed: whether links may be followed, because the user made them.
    """
    for path, mode in _paths_in_use(folder):
        if stat.S_ISLNK(mode):
            if not links_allowed():
                raise CollectionError(
                    f"{path} is a link, and {folder} was not made on this machine; remove the link, or if you know "
                    f"where it leads: lycosa trust {quoted(folder)}"
                )
            with disk_errors(path):
                mode = path.stat().st_mode if path.exists() else stat.S_IFREG
        is_folder = path.parent == folder and path.name in _FOLDERS
        if is_folder and not stat.S_ISDIR(mode):
            raise CollectionError(f"{path} is not a folder; remove it, then run: lycosa rebuild {quoted(folder)}")
        if not is_folder and not stat.S_ISREG(mode) and not (path.parent != folder and stat.S_ISDIR(mode)):
            raise CollectionError(f"{path} is no plain file; remove it, then go on")


def _paths_in_use(folder: Path) -> Iterator[tuple[Path, int]]:
    """The existing paths that Lycosa may open, and the mode of each, without following links."""
    for name in (*(f"{file}{suffix}" for file in _FILES for suffix in _SUFFIXES), *_FOLDERS):
        path = folder / name
        try:
            yield path, path.lstat().st_mode
        except OSError:
            continue  # does not exist
    for name in _FOLDERS:
        path = folder / name
        if not path.is_dir():
            continue
        with disk_errors(path), os.scandir(path) as entries:
            for number, entry in enumerate(entries):
                if number >= MAX_ENTRIES:
                    raise CollectionError(f"{path} has more than {MAX_ENTRIES:,} files; remove what is not of Lycosa")
                if entry.name not in _SOCKETS:
                    yield path / entry.name, entry.stat(follow_symlinks=False).st_mode
