"""An anonymous temporary file for data that does not fit in memory."""

import os
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO

_BUFFER_SIZE = 1 << 16  # bytes
# Halves the time of a read; not available everywhere.
_pread: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)


class ScratchFile:
    """Bytes that are appended and read back; they are gone when the object is, or the process ends.

    The latest bytes are buffered in memory, so that little data needs no file.

    folder: where to put the file; None for the default folder of temporary files, which may be in memory.

    >>> scratch = ScratchFile()
    >>> scratch.append(b"one"), scratch.append(b"two"), scratch.read(3, 3)
    (0, 3, b'two')
    """

    def __init__(self, folder: Path | None = None):
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._bytes_on_disk = 0
        self._buffer = bytearray()

    def __len__(self) -> int:
        return self._bytes_on_disk + len(self._buffer)

    def append(self, data: bytes) -> int:
        """Appends bytes; returns their offset."""
        offset = self._bytes_on_disk + len(self._buffer)
        self._buffer += data
        if len(self._buffer) >= _BUFFER_SIZE:
            self._write()
        return offset

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            self._descriptor = self._file.fileno()
            weakref.finalize(self, self._file.close)
        self._file.seek(self._bytes_on_disk)
        rest = memoryview(self._buffer)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._bytes_on_disk += len(self._buffer)
        self._buffer = bytearray()

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from an offset on; fewer at the end."""
        start = offset - self._bytes_on_disk
        if 0 < size <= -start and _pread is not None:  # nearly always
            return _pread(self._descriptor, size, offset)
        if start >= 0:
            return bytes(self._buffer[start : start + size])
        assert self._file is not None
        if _pread is not None:
            on_disk = _pread(self._descriptor, min(size, -start), offset)
        else:
            self._file.seek(offset)
            on_disk = self._file.read(min(size, -start)) or b""
        return on_disk + bytes(self._buffer[: size + start]) if size + start > 0 else on_disk
