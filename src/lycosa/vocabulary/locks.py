"""File locks, each held by one process at a time: by `flock` where available, else (Windows) by filelock."""

import os
import stat
from contextlib import suppress
from errno import EINVAL, EWOULDBLOCK
from pathlib import Path
from typing import IO, Any, Self, TextIO

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

HAS_FLOCK = fcntl is not None  # locks end with their process, and a locked file can be renamed


def open_lock_file(path: Path) -> TextIO:
    """Opens a file to be locked, creating it if needed. Raises OSError for a link, a pipe or a device, since the holder
    of the lock writes its process number into the file.

    Whoever may read a file can lock it: those who may not write it are kept from reading it, too.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(
        os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666), "a+", encoding="ascii", errors="replace"
    )
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        raise OSError(EINVAL, "it is not a regular file", str(path))
    if HAS_FLOCK and (mode_for_writers := stat.S_IMODE(mode) & ~_read_only_bits(mode)) != stat.S_IMODE(mode):
        with suppress(PermissionError):  # it belongs to somebody else
            os.fchmod(file.fileno(), mode_for_writers)
    return file


def _read_only_bits(mode: int) -> int:
    """The permissions to read a file of those who may not write it."""
    readers_and_writers = ((stat.S_IRGRP, stat.S_IWGRP), (stat.S_IROTH, stat.S_IWOTH))
    return sum(reader for reader, writer in readers_and_writers if mode & reader and not mode & writer)


class Lock:
    """Locks an open file until `close`, which closes the file too, or until the process ends.

    Raises BlockingIOError if another process has the lock, unless `wait`, and other OSErrors if the file system cannot
    lock; the file then stays open.
    """

    def __init__(self, file: IO[Any], *, wait: bool = False):
        self._file = file
        self._second_lock: Any = (
            None  # Windows: a lock on a second file, since nobody could read the file itself while it is locked
        )
        if HAS_FLOCK:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return
        import filelock

        second_lock = filelock.FileLock(f"{file.name}.held", timeout=-1 if wait else 0)
        try:
            second_lock.acquire()
        except filelock.Timeout:
            raise BlockingIOError(EWOULDBLOCK, "another process has the lock", file.name) from None
        self._second_lock = second_lock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        if self._second_lock is not None:
            self._second_lock.release()
