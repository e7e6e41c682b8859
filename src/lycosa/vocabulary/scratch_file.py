"""A file without a name, for what is too much for memory and need not outlive the process."""

import os
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO

_BUFFER = 1 << 16  # bytes
pread: Callable[[int, int, int], bytes] | None = getattr(
    os, "pread", None
)  # which takes half the time, where there is one


class ScratchFile:
    """Bytes that are appended and read back; the system removes them when the process ends, however it ends.

    The last ones are in memory, so that there is no file while they are few.

    folder: on whose disk the file is to be; None for that of temporary files, which may be memory.

    >>> scratch = ScratchFile()
    >>> scratch.append(b"one"), scratch.append(b"two"), scratch.read(3, 3)
    (0, 3, b'two')
    """

    def __init__(self, folder: Path | None = None):
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._on_disk = 0
        self._last = bytearray()

    def __len__(self) -> int:
        return self._on_disk + len(self._last)

    def append(self, data: bytes) -> int:
        """Adds bytes; returns where they begin."""
        place = self._on_disk + len(self._last)
        self._last += data
        if len(self._last) >= _BUFFER:
            self._write()
        return place

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            self._number = self._file.fileno()
            weakref.finalize(self, self._file.close)
        self._file.seek(self._on_disk)
        left = memoryview(self._last)
        while left:
            left = left[self._file.write(left) :]
        self._on_disk += len(self._last)
        self._last = bytearray()

    def read(self, place: int, size: int) -> bytes:
        """The bytes from a place on, fewer at the end."""
        start = place - self._on_disk
        if start >= 0:
            return bytes(self._last[start : start + size])
        assert self._file is not None
        if pread is not None:
            found = pread(self._number, min(size, -start), place)
        else:
            self._file.seek(place)
            found = self._file.read(min(size, -start)) or b""
        return found + bytes(self._last[: size + start]) if size + start > 0 else found
