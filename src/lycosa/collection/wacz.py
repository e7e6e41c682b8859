"""A collection as one WACZ file for replay tools: its WARC files, an index of them, and a list of pages.

WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/) is a ZIP file:

    archive/*.warc.gz        the files of the collection, byte for byte
    indexes/index.cdx.gz     all CDXJ entries in order, in gzip members of 1024 lines
    indexes/index.idx        the first key of each member, and its location
    pages/pages.jsonl        URL, time, title, text and relevance of each page, the most relevant first
    datapackage.json         all of these with their sizes and hashes
    datapackage-digest.json  the hash of that

Everything is streamed. The same archive and catalog give the same bytes: the file has the time of the last fetch, not
of the export. A crawl may run meanwhile; what it commits after the start is left out.
"""

import gzip
import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import msgspec
from msgspec import Struct

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.text import quoted

from .archive import Archive
from .collection import Collection
from .events import ArchivePosition
from .json_text import to_json
from .rows import PageRow
from .warc import date_of

VERSION = "1.1.1"
_INDEX_NAME = "index.cdx.gz"
_LINES_PER_MEMBER = 1024  # CDXJ entries in a gzip member
_CHUNK = 1 << 20  # bytes copied at a time
_FIRST_ZIP_YEAR = 1980  # ZIP files have no earlier times
Progress = Callable[[int, int], None]  # pages written, and of how many


class Resource(Struct, frozen=True):
    """A file of the package, as listed in its manifest."""

    name: str
    path: str
    hash: str
    bytes: int


def write_wacz(
    collection: Collection,
    out: BinaryIO,
    *,
    software: str,
    description: str = "",
    progress: Progress = lambda done, total: None,
) -> int:
    """Writes the collection as WACZ, in memory that does not grow with it; returns the number of pages."""
    archive, catalog = collection.archive, collection.catalog
    ends = _committed_files(archive, catalog.position())
    last_fetch_at = catalog.last_fetch_at()
    if not ends or last_fetch_at is None:
        folder = collection.folder
        raise CollectionError(f"{folder} holds nothing yet; fill it with: lycosa crawl {quoted(folder)}")
    with ZipFile(out, "w") as zipped:
        package = _Package(zipped, last_fetch_at)
        for path, end in ends.items():
            _copy(path, end, package)
        _write_index(archive, ends, package)
        pages = _write_pages(collection, ends, package, progress)
        manifest = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "title": collection.folder.absolute().name,
            "description": description,
            "created": _iso_second(last_fetch_at),
            "software": software,
            "resources": package.resources,
        }
        data = msgspec.json.format(to_json(manifest), indent=2) + b"\n"
        package.write("datapackage.json", data)
        package.write("datapackage-digest.json", to_json({"path": "datapackage.json", "hash": _sha256(data)}) + b"\n")
    return pages


def _committed_files(archive: Archive, position: ArchivePosition | None) -> dict[Path, int]:
    """The files of the archive that the catalog covers, each with the offset where its committed part ends."""
    ends: dict[Path, int] = {}
    for path in archive.files() if position else ():
        is_last = position is not None and path.name == position.file
        ends[path] = position.offset if position and is_last else path.stat().st_size
        if is_last:
            break
    return ends


# ---------------------------------------------------------------- the ZIP file


class _HashingWriter:
    """Passes bytes on to a file, hashing and counting them."""

    def __init__(self, out: IO[bytes]):
        self._out = out
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        self._out.write(data)
        self._hash.update(data)
        self.size += len(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


class _Package:
    """A ZIP file being written, and the resources in it so far.

    modified_at: the modification time of all its files.
    """

    def __init__(self, zipped: ZipFile, modified_at: float):
        self._zipped = zipped
        moment = datetime.fromtimestamp(modified_at, UTC)
        self._date_time = (max(moment.year, _FIRST_ZIP_YEAR), *moment.timetuple()[1:6])
        self.resources: list[Resource] = []

    @contextmanager
    def resource(self, path: str, *, is_compressed: bool = False) -> Iterator[_HashingWriter]:
        """A file to write, listed among the resources.

        is_compressed: whether its content is compressed already, and so is stored as it is.
        """
        with self._zipped.open(self._zip_info(path, is_compressed), "w", force_zip64=True) as out:
            hashing = _HashingWriter(out)
            yield hashing
        # Data packages allow only lower-case names.
        self.resources.append(Resource(path.rpartition("/")[2].lower(), path, hashing.digest, hashing.size))

    def write(self, path: str, data: bytes) -> None:
        """Writes a file that is not a resource."""
        self._zipped.writestr(self._zip_info(path, False), data)

    def _zip_info(self, path: str, is_compressed: bool) -> ZipInfo:
        info = ZipInfo(path, self._date_time)
        info.compress_type = ZIP_STORED if is_compressed else ZIP_DEFLATED
        info.create_system = 3  # Unix, wherever this runs
        info.external_attr = 0o644 << 16
        return info


def _copy(source: Path, end: int, package: _Package) -> None:
    with source.open("rb") as stream, package.resource(f"archive/{source.name}", is_compressed=True) as out:
        while end > 0 and (chunk := stream.read(min(_CHUNK, end))):
            out.write(chunk)
            end -= len(chunk)


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _iso_second(at: float) -> str:
    """A time as ISO 8601, to the second."""
    return date_of(at)[:19] + "Z"


# ---------------------------------------------------------------- the index


def _write_index(archive: Archive, ends: dict[Path, int], package: _Package) -> None:
    """All entries in the order of their keys, from one sorted file for each WARC file."""
    index_lines: list[bytes] = []
    with TemporaryDirectory(prefix="lycosa-") as folder, ExitStack() as files:
        sorted_files = []
        for number, (path, end) in enumerate(ends.items()):
            sorted_file = files.enter_context((Path(folder) / str(number)).open("w+", encoding="utf-8", newline="\n"))
            sorted_file.writelines(sorted(archive.cdxj_entries(path, end)))
            sorted_file.seek(0)
            sorted_files.append(sorted_file)
        entries = heapq.merge(*sorted_files)
        with package.resource(f"indexes/{_INDEX_NAME}", is_compressed=True) as out:
            while lines := list(islice(entries, _LINES_PER_MEMBER)):
                member = gzip.compress("".join(lines).encode(), mtime=0)
                key, moment, _ = lines[0].split(" ", 2)
                location = {
                    "offset": out.size,
                    "length": len(member),
                    "digest": _sha256(member),
                    "filename": _INDEX_NAME,
                }
                index_lines.append(f"{key} {moment} ".encode() + to_json(location) + b"\n")
                out.write(member)
    with package.resource("indexes/index.idx") as out:
        out.write(b"!meta 0 " + to_json({"format": "cdxj-gzip-1.0", "filename": _INDEX_NAME}) + b"\n")
        for line in index_lines:
            out.write(line)


# ---------------------------------------------------------------- the pages


def _write_pages(collection: Collection, ends: dict[Path, int], package: _Package, progress: Progress) -> int:
    end_by_name = {path.name: end for path, end in ends.items()}
    total, written = collection.catalog.count(), 0
    with package.resource("pages/pages.jsonl") as out:
        out.write(to_json({"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}) + b"\n")
        for page in collection.catalog.pages("relevance"):
            if page.place is None or page.place.offset >= end_by_name.get(page.place.file, 0):
                continue  # added after the start
            out.write(to_json(_page_line(page, collection.text_of(page))) + b"\n")
            written += 1
            progress(written, total)
    return written


def _page_line(page: PageRow, text: str) -> dict[str, object]:
    return {
        "id": str(page.number),
        "url": page.url,
        "ts": _iso_second(page.at),
        "title": page.title,
        "text": text,
        "relevance": page.relevance,
    }
