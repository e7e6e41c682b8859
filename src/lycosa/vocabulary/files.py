"""Files written atomically or line by line, and text read in blocks of whole lines, plain or gzipped."""

import gzip
import os
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EBADF, EEXIST, EFBIG, EINVAL, EISDIR, ELOOP, ENOLCK, EOPNOTSUPP
from io import BufferedIOBase
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, cast

from .errors import LycosaError
from .locks import HAS_FLOCK, Lock

BLOCK_SIZE = 1 << 20  # bytes of text read at a time
MAX_RATIO = 100  # bytes of text for each byte of a gzipped table or graph, which compresses much less
_MIN_BOUND = 50_000_000  # bytes of text that any file may have
_GZIP_MAGIC = b"\x1f\x8b"
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)  # raised by decompressing a truncated or damaged file


# ---------------------------------------------------------------- writing


@contextmanager
def atomic_write(path: Path, *, private: bool = False, durable: bool = True, wait: bool = True) -> Iterator[BinaryIO]:
    """A file to write, which replaces `path` when the block ends; at any time, `path` has the old content or the new.

    The bytes go to `path` + ".new", which is fsynced and renamed to `path`; then the folder is fsynced. If the block
    raises, `path` stays as it was and the temporary file is removed; one left behind by a killed process is reused.
    Concurrent writers wait for each other. Symbolic links are followed. Pipes and devices are written directly. For a
    folder or a loop of links, OSError is raised.

    private: only the owner may read the file.
    durable: False skips fsync: faster, safe against a kill but not against a power failure.
    wait: False raises BlockingIOError, instead of waiting, while another process writes the file.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    target = resolved(path)
    if target.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    temporary = target.with_name(f"{target.name}.new")
    with _locked(temporary, 0o600 if private else 0o666, wait=wait) as file:
        try:
            if private and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o600)  # a file left behind by a killed process may be readable by others
            file.truncate(0)
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if not HAS_FLOCK:
                file.close()  # Windows cannot rename an open file
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    if durable:
        _sync_folder(target.parent)


def write_file(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Writes a whole file by `atomic_write`; text is encoded as UTF-8."""
    with atomic_write(path, durable=durable) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def append_lines(path: Path, lines: str) -> None:
    """Appends whole lines to a text file, durably: once this returns, they survive a power failure.

    A newline is added first if the last line lacks one (somebody may have edited the file). If the disk is full, the
    file stays as it was: part of a line would be read as a shorter line, or as an error.
    """
    with path.open("a+b", buffering=0) as file:  # unbuffered: a buffer would be flushed again on close
        size = file.seek(0, os.SEEK_END)
        try:
            file.seek(max(0, size - 1))
            rest = memoryview((lines if file.read(1) in (b"\n", b"") else f"\n{lines}").encode())
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` when the block ends and is deleted if the block raises.

    Raises FileExistsError if `path` exists and is not an empty folder.
    """
    target = path.absolute()
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise FileExistsError(EEXIST, "it is there already, and is not an empty folder", str(path))
    temporary = target.with_name(f".{target.name[:40]}-{token_hex(8)}")
    temporary.mkdir()
    try:
        yield temporary
        if target.exists():
            target.rmdir()
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """A file that the user named, written by `atomic_write`; disk errors become one line for the user."""
    try:
        with atomic_write(path) as file:
            yield file
    except OSError as error:
        raise LycosaError(f"cannot write {path}: {error.strerror}; give another file") from None


@contextmanager
def _locked(temporary: Path, mode: int, *, wait: bool) -> Iterator[BinaryIO]:
    """The file `temporary`, opened and locked for one writer at a time."""

    def create(path: str, flags: int) -> int:
        flags |= os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        return os.open(path, flags, mode)  # not truncated: another process may be writing it

    while True:
        if temporary.is_symlink():  # never made by Lycosa: in a folder from somebody else, it may lead to any file
            temporary.unlink(missing_ok=True)
        with open(temporary, "r+b", opener=create) as file:
            lock = None
            try:
                lock = Lock(file, wait=wait)
            except OSError as error:
                if error.errno not in (ENOLCK, EOPNOTSUPP) or not wait:  # not every file system can lock
                    raise
            try:
                # Otherwise, another writer renamed or removed it between our open and our lock: try again.
                if _is_same_file(file, temporary):
                    yield file
                    return
            finally:
                if lock is not None:
                    lock.close()


def _is_same_file(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Makes a rename within a folder durable, where folders can be opened (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (EBADF, EINVAL):  # file systems whose folders cannot be synced
            raise
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------- reading


def open_regular_file(path: Path, *, follow_link: bool = False) -> BinaryIO:
    """Opens a regular file for reading; raises OSError for a pipe, a device or a folder, and for a symbolic link unless
    `follow_link`. Never blocks, as opening a named pipe would.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.fdopen(os.open(path, flags if follow_link else flags | getattr(os, "O_NOFOLLOW", 0)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "it is not a regular file", str(path))
    return file


def read_regular_file(path: Path, limit: int) -> bytes:
    """The content of a regular file; symbolic links are followed. Raises OSError for anything else, and for files of
    more than `limit` bytes."""
    with open_regular_file(path, follow_link=True) as file:
        return read_rest(file, limit)


def read_user_file(path: Path, limit: int) -> bytes:
    """The content of a file that the user named: any file, a pipe, or standard input for `-`. Raises OSError, also for
    more than `limit` bytes."""
    if str(path) == "-":
        return read_rest(sys.stdin.buffer, limit)
    with path.open("rb") as file:
        return read_rest(file, limit)


def read_rest(file: BinaryIO, limit: int) -> bytes:
    """The rest of an open file; raises OSError if it is longer than `limit` bytes."""
    content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(EFBIG, f"it is larger than {limit:,} bytes")
    return content


def resolved(path: Path) -> Path:
    """The absolute path without symbolic links; it need not exist. Raises OSError if links form a loop."""
    with suppress(RuntimeError):  # of a loop; since Python 3.13, a part of it is returned
        if not (target := path.resolve()).is_symlink():
            return target
    raise OSError(ELOOP, os.strerror(ELOOP), str(path))


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a path is inside a folder once all symbolic links are resolved; it need not exist. Raises OSError if
    links form a loop."""
    return resolved(path).is_relative_to(resolved(folder))


class DamagedTextError(Exception):
    """The gzipped text is truncated or damaged; `line`, counted from 1, is the last line that could be read in part."""

    def __init__(self, reason: object, line: int = 1):
        super().__init__(str(reason))
        self.line = line


class LineTooLongError(Exception):
    """Line `line`, counted from 1, is longer than the reader allows."""

    def __init__(self, line: int):
        super().__init__(f"line {line} is too long")
        self.line = line


def is_gzip(file: BinaryIO) -> bool:
    """Whether an open file is gzip, by its first bytes; rewinds the file."""
    file.seek(0)
    start = file.read(2)
    file.seek(0)
    return start == _GZIP_MAGIC


def decompressed(file: BinaryIO, *, max_ratio: int | None = None) -> BufferedIOBase:
    """The decompressed content of an open gzip file; any other file is returned as it is.

    max_ratio: bytes of text for each byte of the file, beyond which a text of more than 50 MB counts as damaged; for
        readers whose memory grows with the text. None for no limit.
    """
    if not is_gzip(file):
        return cast(BufferedIOBase, file)
    if max_ratio is None:
        return gzip.GzipFile(fileobj=file)
    return _BoundedGzipFile(file, max(_MIN_BOUND, max_ratio * os.fstat(file.fileno()).st_size))


class _BoundedGzipFile(gzip.GzipFile):
    """A gzip file that is damaged where its text exceeds a size."""

    def __init__(self, file: BinaryIO, max_size: int):
        super().__init__(fileobj=file)
        self._size_left = max_size

    def read1(self, size: int = -1) -> bytes:
        data = super().read1(size)
        self._size_left -= len(data)
        if self._size_left < 0:
            raise gzip.BadGzipFile("its text is so much larger than the file that it says nothing")
        return data


def chunks(text: BufferedIOBase, size: int | Callable[[], int] = BLOCK_SIZE) -> Iterator[bytes]:
    """The text in chunks of `size` bytes; raises DamagedTextError, with the line, after yielding all before the damage.

    size: bytes, or a function that is called before each chunk.
    """
    line_ends, last_byte = 0, b""
    while True:
        chunk_size = size if isinstance(size, int) else size()
        pieces, read_size = [], 0
        damage: Exception | None = None
        try:
            while read_size < chunk_size and (piece := text.read1(chunk_size - read_size)):
                pieces.append(piece)
                read_size += len(piece)
        except _DAMAGE as error:
            damage = error
        if read_size:
            chunk = b"".join(pieces)
            line_ends, last_byte = line_ends + chunk.count(b"\n"), chunk[-1:]
            yield chunk
        if damage is not None:
            raise DamagedTextError(damage, line_ends if last_byte == b"\n" else line_ends + 1) from None
        if read_size < chunk_size:
            return


def first_bytes(path: Path, size: int = 4096) -> bytes:
    """The first `size` bytes of a text file, plain or gzipped; fewer if it is damaged."""
    with path.open("rb") as file:
        try:
            return next(chunks(decompressed(file), size), b"")
        except DamagedTextError:
            return b""


class LineSplitter:
    """Splits text that arrives in chunks into whole lines, holding one chunk and one unfinished line in memory.

    longest_line: bytes; a longer line is cut to `longest_line` + 1.

    >>> splitter = LineSplitter(longest_line=100)
    >>> splitter.add(b"one\\ntw"), splitter.line
    (b'one\\n', 2)
    >>> splitter.add(b"o\\nthree"), splitter.rest
    (b'two\\n', b'three')
    """

    def __init__(self, *, longest_line: int):
        self._longest_line = longest_line
        self.rest = b""  # the unfinished line
        self.is_cut = False  # whether that line was too long
        self.line = 1  # its number

    def add(self, chunk: bytes) -> bytes:
        """The lines that the chunk completes, with line ends; empty if it completes none."""
        end = chunk.rfind(b"\n") + 1
        whole_lines = b""
        if end:
            whole_lines = self.rest + chunk[:end]
            self.rest, self.is_cut = chunk[end:], False
            self.line += whole_lines.count(b"\n")
        elif not self.is_cut:
            self.rest += chunk
        if len(self.rest) > self._longest_line:
            self.rest, self.is_cut = self.rest[: self._longest_line + 1], True
        return whole_lines


def line_blocks(text: BufferedIOBase, *, longest_line: int, size: int = BLOCK_SIZE) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each line with its end, and the number of the first line of each block.

    Raises DamagedTextError or LineTooLongError, with the line number, after yielding all whole lines before it. An
    overlong line that fits into one read of `size` bytes is yielded all the same.
    """
    splitter, first = LineSplitter(longest_line=longest_line), 1
    for chunk in chunks(text, size):
        if whole_lines := splitter.add(chunk):
            yield first, whole_lines
            first = splitter.line
        if splitter.is_cut:
            raise LineTooLongError(first)
    if splitter.rest:
        yield first, splitter.rest + b"\n"


def numbered_lines(text: BufferedIOBase, *, longest_line: int) -> Iterator[tuple[int, bytes]]:
    """Each line without its end, and its number from 1; raises DamagedTextError and LineTooLongError."""
    for first, block in line_blocks(text, longest_line=longest_line):
        for number, line in enumerate(block[:-1].split(b"\n"), first):
            if len(line) > longest_line:
                raise LineTooLongError(number)
            yield number, line
