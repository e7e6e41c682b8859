"""Locks on files, each held by one process at a time: by `flock` where there is one, else (Windows) by filelock."""

import os
import stat
from errno import EINVAL, EWOULDBLOCK
from pathlib import Path
from typing import IO, Any, Self, TextIO

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

BY_FLOCK = fcntl is not None  # a process that is killed gives up its locks, and a locked file may be renamed


def open_lock_file(path: Path) -> TextIO:
    """Opens a file to be locked, and makes it where there is none; raises OSError for a link, a pipe or a device, as
    what holds the lock writes its number into it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(
        os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666), "a+", encoding="ascii", errors="replace"
    )
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "it is not a regular file", str(path))
    return file


class Lock:
    """Locks an opened file until `close`, which closes the file too, or until the process ends.

    Raises BlockingIOError where another has the lock, unless it is to `wait`, and other OSErrors where the file system
    cannot lock; the file stays open then.
    """

    def __init__(self, file: IO[Any], *, wait: bool = False):
        self._file = file
        self._beside: Any = None  # a lock on another file, as Windows would let nobody read the one that is locked
        if BY_FLOCK:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return
        import filelock

        beside = filelock.FileLock(f"{file.name}.held", timeout=-1 if wait else 0)
        try:
            beside.acquire()
        except filelock.Timeout:
            raise BlockingIOError(EWOULDBLOCK, "another process has the lock", file.name) from None
        self._beside = beside

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        if self._beside is not None:
            self._beside.release()
