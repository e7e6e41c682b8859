"""Files out of a folder or a tar archive that somebody else packed: nothing outside of it, nothing without end."""

import gzip
import lzma
import os
import posixpath
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from lycosa.vocabulary.errors import UsageError

MOST_FILES = 2_000_000
LARGEST_FILE = 32_000_000  # bytes
LARGEST_TOTAL = 8_000_000_000  # bytes
TAR_SUFFIXES = (".tar", ".tar.gz", ".gtar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")

Wanted = Callable[[str], bool]


def list_files(path: Path, wanted: Wanted) -> list[str]:
    """The wanted files of a folder or tar by their names within it, sorted."""
    return sorted(_names(path, wanted))


def read_files(path: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """The wanted files and what is in them; a folder in the order of names, a tar in its own."""
    total = 0
    for name, content in _files(path, wanted):
        total += len(content)
        if total > LARGEST_TOTAL:
            raise UsageError(f"{path} holds more than {LARGEST_TOTAL // 10**9} GB; name a smaller folder or archive")
        yield name, content


def read_symlinks(path: Path, *, refuse_outside: bool = True) -> dict[str, str]:
    """Where the symbolic links of a folder or tar lead within it: name by name."""
    if not path.is_dir():
        return {name: _joined(name, member.linkname) for name, member, _ in _in_tar(path) if member.issym()}
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
    """What a gzipped file holds, up to the size of the largest file that is read."""
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(data, LARGEST_FILE + 1)
    except zlib.error as error:
        raise UsageError(f"{source} is not a gzip file ({error}); fetch it again") from None
    if len(content) > LARGEST_FILE:
        raise _too_large(source)
    if not stream.eof:
        raise UsageError(f"{source} is cut short; fetch it again")
    return content


def _names(path: Path, wanted: Wanted) -> Iterator[str]:
    if path.is_dir():
        found: Iterator[str] = (name for name, _ in _in_folder(path))
    else:
        found = (name for name, member, _ in _in_tar(path) if member.isfile())
    for count, name in enumerate(found, 1):
        if count > MOST_FILES:
            raise UsageError(f"{path} has more than {MOST_FILES} files; name a smaller folder or archive")
        if wanted(name):
            yield name


def _files(path: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for name, file in _in_folder(path):
            if wanted(name):
                if file.stat().st_size > LARGEST_FILE:
                    raise _too_large(str(file))
                yield name, file.read_bytes()
        return
    for name, member, tar in _in_tar(path):
        if member.isfile() and wanted(name):
            if member.size > LARGEST_FILE:
                raise _too_large(f"{path}, member {name!r}")
            with _trouble_told(path):
                stream = tar.extractfile(member)
                content = stream.read() if stream is not None else b""
            yield name, content


def _in_folder(path: Path) -> Iterator[tuple[str, Path]]:
    """Every file of a folder. Links are passed over: what they lead to is inside under its own name, or not ours."""
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(path).as_posix(), file


def _in_tar(path: Path) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    if not path.is_file():
        raise UsageError(f"there is no folder or archive {path}; name one that exists")
    if not path.name.endswith(TAR_SUFFIXES):
        raise UsageError(f"{path} is neither a folder nor a tar archive ({', '.join(TAR_SUFFIXES)})")
    with _trouble_told(path), tarfile.open(path, "r|*") as tar:
        for member in tar:
            _check(path, member)
            yield _plain(member.name), member, tar
            tar.members = []  # type: ignore[attr-defined]  # a stream never goes back, so none need be remembered


def _plain(name: str) -> str:
    return PurePosixPath(name).as_posix()


def _joined(name: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), link))


def _check(path: Path, member: tarfile.TarInfo) -> None:
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
def _trouble_told(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise UsageError(f"{path} is cut short or is no archive ({error}); fetch it again") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from None


def _too_large(source: str) -> UsageError:
    return UsageError(f"{source} is larger than {LARGEST_FILE // 10**6} MB, which no page is; leave it out")
