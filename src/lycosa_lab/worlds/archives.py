"""Reads files from an untrusted folder or tar archive: nothing outside of it, with limits on number and size."""

import gzip
import lzma
import os
import posixpath
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TypeVar

from lycosa.vocabulary.errors import UsageError

MAX_FILES = 2_000_000
MAX_FILE_SIZE = 32_000_000  # bytes
MAX_TOTAL_SIZE = 8_000_000_000  # bytes
TAR_SUFFIXES = (".tar", ".tar.gz", ".gtar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")

NameFilter = Callable[[str], bool]
_Entry = TypeVar("_Entry")


def list_files(path: Path, wanted: NameFilter) -> list[str]:
    """The names of the wanted files of a folder or tar, relative to it, sorted."""
    return sorted(_names(path, wanted))


def read_files(path: Path, wanted: NameFilter) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the wanted files; a folder is read in order of names, a tar in its own order."""
    total = 0
    for name, content in _files(path, wanted):
        total += len(content)
        if total > MAX_TOTAL_SIZE:
            raise UsageError(f"{path} holds more than {MAX_TOTAL_SIZE // 10**9} GB; name a smaller folder or archive")
        yield name, content


def read_symlinks(path: Path, *, refuse_outside: bool = True) -> dict[str, str]:
    """The symbolic links of a folder or tar and their targets, both relative to it.

    refuse_outside: whether a link that leads out of the folder is an error; otherwise it is skipped. Out of a tar, it
    is always an error.
    """
    if not path.is_dir():
        links = _within_limit(path, ((name, member) for name, member, _ in _walk_tar(path) if member.issym()))
        return {name: _link_target(name, member.linkname) for name, member in links}
    inside, found = path.resolve(), {}
    for folder, folders, files in os.walk(path):
        folders.sort()
        for link in (Path(folder, name) for name in sorted((*folders, *files))):
            if not link.is_symlink():
                continue
            target = Path(os.path.normpath(inside / link.parent.relative_to(path) / link.readlink()))
            if target.is_relative_to(inside):
                found[link.relative_to(path).as_posix()] = target.relative_to(inside).as_posix()
            elif refuse_outside:
                raise UsageError(f"{link} is a link that leads out of {path}; remove it, or name a folder around both")
    return found


def gunzip(data: bytes, source: str) -> bytes:
    """The content of gzipped data, up to MAX_FILE_SIZE."""
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(data, MAX_FILE_SIZE + 1)
    except zlib.error as error:
        raise UsageError(f"{source} is not a gzip file ({error}); fetch it again") from None
    if len(content) > MAX_FILE_SIZE:
        raise _too_large(source)
    if not stream.eof:
        raise UsageError(f"{source} is cut short; fetch it again")
    return content


def _names(path: Path, wanted: NameFilter) -> Iterator[str]:
    if path.is_dir():
        found: Iterator[str] = (name for name, _ in _walk_folder(path))
    else:
        found = (name for name, member, _ in _walk_tar(path) if member.isfile())
    yield from filter(wanted, _within_limit(path, found))


def _within_limit(path: Path, found: Iterable[_Entry]) -> Iterator[_Entry]:
    """What was found at a path; UsageError for more than MAX_FILES entries."""
    for count, entry in enumerate(found, 1):
        if count > MAX_FILES:
            raise UsageError(f"{path} has more than {MAX_FILES} files; name a smaller folder or archive")
        yield entry


def _files(path: Path, wanted: NameFilter) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for name, file in _walk_folder(path):
            if wanted(name):
                if file.stat().st_size > MAX_FILE_SIZE:
                    raise _too_large(str(file))
                yield name, file.read_bytes()
        return
    for name, member, tar in _walk_tar(path):
        if member.isfile() and wanted(name):
            if member.size > MAX_FILE_SIZE:
                raise _too_large(f"{path}, member {name!r}")
            with _readable_archive(path):
                stream = tar.extractfile(member)
                content = stream.read() if stream is not None else b""
            yield name, content


def _walk_folder(path: Path) -> Iterator[tuple[str, Path]]:
    """Every file of a folder, without symbolic links, whose targets are either listed themselves or outside."""
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(path).as_posix(), file


def _walk_tar(path: Path) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    if not path.is_file():
        raise UsageError(f"there is no folder or archive {path}; name one that exists")
    if not path.name.endswith(TAR_SUFFIXES):
        raise UsageError(f"{path} is neither a folder nor a tar archive ({', '.join(TAR_SUFFIXES)})")
    with _readable_archive(path), tarfile.open(path, "r|*") as tar:
        for member in tar:
            _refuse_unsafe(path, member)
            yield _normal_name(member.name), member, tar
            tar.members = []  # type: ignore[attr-defined]  # a stream is read once, so no member needs to be kept


def _normal_name(name: str) -> str:
    return PurePosixPath(name).as_posix()


def _link_target(name: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), link))


def _refuse_unsafe(path: Path, member: tarfile.TarInfo) -> None:
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        raise UsageError(f"{path}, member {member.name!r} is a device or pipe; pack files and folders only")
    target = posixpath.join(posixpath.dirname(member.name), member.linkname) if member.issym() else member.linkname
    if _escapes(member.name) or _escapes(target):
        raise UsageError(f"{path}, member {member.name!r} leads out of the archive; pack it without such members")


def _escapes(name: str) -> bool:
    if name.startswith("/") or "\0" in name:
        return True
    depth = 0
    for part in name.split("/"):
        depth += {"..": -1, "": 0, ".": 0}.get(part, 1)
        if depth < 0:
            return True
    return False


@contextmanager
def _readable_archive(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, ValueError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise UsageError(f"{path} is cut short or is no archive ({error}); fetch it again") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from None


def _too_large(source: str) -> UsageError:
    return UsageError(f"{source} is larger than {MAX_FILE_SIZE // 10**6} MB, which no page is; leave it out")
