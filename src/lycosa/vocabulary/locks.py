"""File locks, each held by one process at a time: by `flock` where available, else (Windows) by filelock."""

import os
import stat
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
    of the lock writes its process number into the file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(
        os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666), "a+", encoding="ascii", errors="replace"
    )
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "it is not a regular file", str(path))
    return file


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
