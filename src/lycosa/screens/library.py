"""The collections of a folder, by name; no name resolves to a path outside of it."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from lycosa.recipe import FILE_NAME
from lycosa.run.open import has_personal_pages
from lycosa.vocabulary.errors import UsageError

_MAX_ENTRIES = 10_000  # files and folders that are looked at


class NoSuchCollectionError(UsageError):
    """There is no collection of this name in the folder."""


class Library:
    """Finds the collections in a folder, or the folder itself if it is a collection.

    is_published: whether everybody may read it; collections with personal pages are not found then.
    """

    def __init__(self, root: Path, *, is_published: bool = False):
        if not root.is_dir():
            raise UsageError(f"{root} is no folder; give one with collections in it, or a collection")
        self.root = root.resolve()
        self.is_single = is_collection(self.root)
        self._is_published = is_published

    def published(self) -> "Library":
        """The same, for everybody."""
        return Library(self.root, is_published=True)

    def names(self) -> list[str]:
        """The names of the collections, in alphabetical order."""
        if self.is_single:
            return [self.root.name] if self._is_shown(self.root) else []
        folders = (entry for entry in plain_entries(self.root) if entry.is_dir(follow_symlinks=False))
        names = [entry.name for entry in folders if self._is_shown(Path(entry.path))]
        return sorted(names, key=lambda name: (name.casefold(), name))

    def hidden_names(self) -> set[str]:
        """The names of the collections that are not published, if these are published screens."""
        return {*Library(self.root).names()} - {*self.names()} if self._is_published else set()

    def folder(self, name: str) -> Path:
        """The folder of a collection; raises NoSuchCollectionError for every other name."""
        if self.is_single:
            if name == self.root.name and self._is_shown(self.root):
                return self.root
        elif is_plain(name):
            folder = self.root / name
            try:
                is_folder = stat.S_ISDIR(folder.lstat().st_mode)  # no link, wherever it leads
            except (OSError, ValueError):
                is_folder = False
            if is_folder and self._is_shown(folder):
                return folder
        raise NoSuchCollectionError("there is no such collection here")

    def _is_shown(self, folder: Path) -> bool:
        return is_collection(folder) and not (self._is_published and has_personal_pages(folder))


def plain_entries(folder: Path) -> "Iterator[os.DirEntry[str]]":
    """The files and folders with plain names among the first `_MAX_ENTRIES` of a folder."""
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in islice(entries, _MAX_ENTRIES) if is_plain(entry.name))
    except OSError as error:
        raise UsageError(f"{folder.name} cannot be read ({error.strerror}); give access to it") from None


def is_plain(name: str) -> bool:
    """Whether a name is a plain file name that can be part of a URL."""
    return (
        bool(name)
        and not name.startswith(".")
        and not set(name) & {"/", "\\", "\0", os.sep}
        and name.isprintable()  # as surrogates, by which Python reads bytes that are not UTF-8, are not
    )


def is_collection(folder: Path) -> bool:
    # Not with `Path`: its methods raise PermissionError for a folder of somebody else, such as lost+found.
    return os.path.isfile(folder / FILE_NAME) or os.path.isdir(folder / "archive")  # noqa: PTH112, PTH113
