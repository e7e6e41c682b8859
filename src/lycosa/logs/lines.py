"""Lines of a file, plain or gzipped, in blocks: however long the file or a line of it, little is held in memory."""

import hashlib
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.files import BLOCK, DamagedTextError, LineSplitter, is_gzip, pieces, unpacked

_WRAPPED = 1 << 32  # sizes of packed texts are told less multiples of this
LONGEST_LINE = 1 << 16  # bytes; of a longer one no more than this and one is handed on


class Block(NamedTuple):
    """Whole lines without their ends; or none, where all that was read so far is known from an earlier time."""

    lines: list[bytes]
    known_so_far: bool = False


class LogText:
    """The text of a log file; `size` and `digest` are those of what has been read of it."""

    def __init__(self, path: Path, *, known: Collection[tuple[int, bytes]] = (), read: Callable[[int], None]):
        self._path = path
        self._known = frozenset(known)  # size and digest of texts seen before
        self._marks = sorted({size for size, _ in self._known if size}, reverse=True)
        self._told = read  # how many bytes of the file have been read
        self._hash = _hash()
        self.size = 0

    @property
    def digest(self) -> bytes:
        return self._hash.digest()

    def is_known(self) -> bool:
        """Whether the whole text is known, found out without a look at its lines."""
        with self._opened() as file:
            size = _size_told_by(file)
            if not any(known % _WRAPPED == size % _WRAPPED for known, _ in self._known):
                return False
            hashed, size = _hash(), 0
            for data in pieces(unpacked(file)):
                hashed.update(data)
                size += len(data)
                self._told(file.tell())
            if (size, hashed.digest()) not in self._known:
                return False
            self.size, self._hash = size, hashed
            return True

    def blocks(self) -> Iterator[Block]:
        with self._opened() as file:
            text, splitter = unpacked(file), LineSplitter(longest_line=LONGEST_LINE)
            for data in pieces(text, self._next_read):
                self._hash.update(data)
                is_first = self.size == 0
                self.size += len(data)
                self._told(file.tell())
                if lines := splitter.add(data.removeprefix(BOM_UTF8) if is_first else data):
                    yield Block(lines[:-1].split(b"\n"))
                if self._marks and self._marks[-1] == self.size:
                    self._marks.pop()
                    if (self.size, self.digest) in self._known:
                        yield Block([], known_so_far=True)
                        splitter = LineSplitter(longest_line=LONGEST_LINE)  # drops the line that was begun
            if splitter.rest:
                yield Block([splitter.rest])

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            with self._path.open("rb") as file:
                yield file
        except DamagedTextError as error:
            raise LycosaError(
                f"{self._path} is a gzip file that is cut off or damaged ({error}); nothing of it was imported"
            ) from None
        except OSError as error:
            raise UsageError(f"cannot read {self._path}: {error.strerror or error}") from None

    def _next_read(self) -> int:
        while self._marks and self._marks[-1] <= self.size:
            self._marks.pop()
        return min(BLOCK, self._marks[-1] - self.size) if self._marks else BLOCK


def _hash() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=16)


def _size_told_by(file: BinaryIO) -> int:
    """The size of the text; of one that is packed no more than its last 32 bits, and only of its last part."""
    size = os.fstat(file.fileno()).st_size
    if size < 4 or not is_gzip(file):
        return size
    file.seek(-4, os.SEEK_END)
    told = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return told
