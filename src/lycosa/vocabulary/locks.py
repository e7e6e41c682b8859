"""Locks on files, each held by one process at a time: by `flock` where there is one, else (Windows) by filelock."""

from errno import EWOULDBLOCK
from typing import IO, Any, Self

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

BY_FLOCK = fcntl is not None  # a process that is killed gives up its locks, and a locked file may be renamed


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
