"""The folder `peer` of a collection: what a peer keeps between its runs."""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from lycosa.run.trust import is_made_here, record_made_here
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.files import atomic_write, read_regular_file
from lycosa.vocabulary.locks import Lock, open_lock_file
from lycosa.vocabulary.text import quoted

FOLDER = "peer"
_MAX_BYTES = 1 << 30
T = TypeVar("T")


class PeerFolder:
    """Files of one peer, each written atomically, and its lock."""

    def __init__(self, collection: Path):
        self.folder = collection / FOLDER
        self._is_ours = False  # whether this object made the folder, which need not be checked then

    def path(self, name: str) -> Path:
        """The path of a file; checks that the folder is not a link, which an untrusted collection may contain."""
        if self.folder.is_symlink():
            raise CollectionError(f"{self.folder} is a link; remove it, and serve again as a new peer")
        if not self._is_ours and self.folder.exists() and not is_made_here(self.folder):
            raise CollectionError(
                f"{self.folder} was not made on this machine: its key and friends may be somebody else's; remove it to "
                f"be a new peer, or if it is yours: lycosa trust {quoted(self.folder.parent)}"
            )
        return self.folder / name

    def _make(self) -> None:
        if not self.folder.exists():
            self.folder.mkdir(mode=0o700)
            record_made_here(self.folder)
            self._is_ours = True

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if there is none."""
        try:
            return read_regular_file(self.path(name), _MAX_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CollectionError(f"cannot read {self.path(name)}: {error.strerror}; check its permissions") from error

    def write(self, name: str, data: bytes) -> None:
        """Writes a file that only its owner may read, atomically."""
        path = self.path(name)
        try:
            self._make()
            with atomic_write(path, private=True) as file:
                file.write(data)
        except OSError as error:
            raise CollectionError(
                f"cannot write {path}: {error.strerror}; make room, or check its permissions"
            ) from error

    def read_json(self, name: str, record_type: type[T]) -> T | None:
        """The record in a JSON file; None if there is no file.

        A damaged file is an error, not treated as missing: it may say who is trusted.
        """
        data = self.read(name)
        try:
            return None if data is None else msgspec.json.decode(data, type=record_type)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise CollectionError(
                f"{self.path(name)} is damaged; restore it from a backup, or delete it to begin without it"
            ) from None

    def write_json(self, name: str, what: object) -> None:
        self.write(name, msgspec.json.encode(what))

    def remove(self, name: str) -> None:
        try:
            self.path(name).unlink(missing_ok=True)
        except OSError as error:
            raise CollectionError(
                f"cannot delete {self.path(name)}: {error.strerror}; check its permissions"
            ) from error

    def lock(self) -> Lock | None:
        """Locks the peer for this process until the lock is closed; None if another process has the lock."""
        try:
            path = self.path(".lock")
            self._make()
            file = open_lock_file(path)
        except OSError as error:
            raise CollectionError(f"cannot use {self.folder}: {error.strerror}; check its permissions") from error
        try:
            lock = Lock(file)
        except BlockingIOError:
            file.close()
            return None
        except OSError as error:
            file.close()
            raise CollectionError(
                f"cannot lock {self.folder}: {error.strerror}; move it to a file system that has locks"
            ) from error
        for leftover in self.folder.glob("*.new"):
            with suppress(OSError):  # it does no harm
                leftover.unlink()
        return lock
