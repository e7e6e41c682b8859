"""Webs of stored HTML documents, mounted as pages of hosts."""

import mmap
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
import xxhash

from lycosa.reading.html import parse_html
from lycosa.reading.reader import Reader
from lycosa.standing.graph_files import Graph, Int32Array, graph_from_edges
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Host, JsonValue, Outcome, Page, Url
from lycosa.vocabulary.text import unescaped
from lycosa.vocabulary.urls import host_of, normalise

from .archives import list_files, read_symlinks
from .mount import LinkRewriter, MountedPage, MountPoint, UrlVariants, file_url, is_html_name, mount
from .world import Access, Category, DirectoryEntry

PAGES_CACHED = 64  # parsed pages
_METADATA, _DIRECTORY = "documents.json", "directory.json"
_OFFSETS, _TARGETS = "links-offsets.npy", "links-targets.npy"
_ACCESSES = "accesses.msgpack"
_PAGES, _INDEX = "pages.bin", "pages.json"


class PageStore(Mapping[Url, bytes]):
    """The HTML of pages by URL, compressed, in memory or mapped from a file; iterates in insertion order.

    fingerprint: a hash of URLs and HTML, 16 hexadecimal digits.

    >>> store = PageStore.of([(Url("http://a.example/"), b"<p>Bees.")])
    >>> store[Url("http://a.example/")], len(store)
    (b'<p>Bees.', 1)
    """

    def __init__(
        self,
        urls: list[Url],
        ends: list[int],
        packed: bytes | bytearray | mmap.mmap,
        fingerprint: str,
        *,
        source: str = "memory",
    ):
        self.fingerprint = fingerprint
        self._source = source  # named in error messages
        self._packed = packed
        self._ends = ends  # in `packed`, of each compressed page
        self._starts = [0, *ends[:-1]]
        self._number = {url: number for number, url in enumerate(urls)}

    @classmethod
    def of(cls, pages: Iterable[tuple[Url, bytes]]) -> Self:
        """A store of the given pages; of two with the same URL, the first is kept."""
        packed, lengths, digest = bytearray(), {}, xxhash.xxh3_64()
        for url, html in pages:
            if url not in lengths:
                piece = zlib.compress(html, 3)
                packed += piece
                lengths[url] = len(piece)
                digest.update(f"{url} {len(html)} ".encode())
                digest.update(html)
        return cls(list(lengths), list(accumulate(lengths.values())), packed, digest.hexdigest())

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The store that `save` wrote, with the pages mapped into memory."""
        index = msgspec.json.decode((folder / _INDEX).read_bytes(), type=_Index)
        with (folder / _PAGES).open("rb") as file:
            size = file.seek(0, 2)
            packed = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        if len(index.urls) != len(index.lengths) or size != sum(index.lengths):
            raise UsageError(f"{folder / _PAGES} does not fit {folder / _INDEX}; make the world again")
        ends = list(accumulate(index.lengths))
        return cls(index.urls, ends, packed, index.fingerprint, source=str(folder / _PAGES))

    def save(self, folder: Path) -> None:
        lengths = [end - start for start, end in zip(self._starts, self._ends, strict=False)]
        (folder / _INDEX).write_bytes(msgspec.json.encode(_Index(list(self._number), lengths, self.fingerprint)))
        with (folder / _PAGES).open("wb") as file:
            file.write(self._packed)

    def number(self, url: Url) -> int | None:
        """The position of a page in the store."""
        return self._number.get(url)

    def __getitem__(self, url: Url) -> bytes:
        number = self._number[url]
        try:
            return zlib.decompress(self._packed[self._starts[number] : self._ends[number]])
        except zlib.error as error:
            raise UsageError(f"{self._source}: {url} is damaged ({error}); make the world again") from None

    def __contains__(self, url: object) -> bool:
        return url in self._number

    def __iter__(self) -> Iterator[Url]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)


class _Index(msgspec.Struct):
    """The pages of a store in order, with their lengths as compressed."""

    urls: list[Url]
    lengths: list[int]
    fingerprint: str


class DocumentWorld:
    """A web of stored HTML pages.

    links: the links between pages, by their positions in the store.
    topics: the category of each page, where it is known.
    options: what the world was made with, for its facts.
    accesses: what people read, in order of time, if that was recorded.
    """

    def __init__(
        self,
        pages: PageStore,
        links: Graph,
        *,
        name: str,
        directory: Sequence[Category] = (),
        topics: Mapping[Url, str] | None = None,
        options: Mapping[str, JsonValue] | None = None,
        accesses: Sequence[Access] = (),
    ):
        if not len(pages):
            raise UsageError(f"the world {name} has no page; name a folder or archive with HTML files in it")
        self.name = name
        self._pages = pages
        self._directory = tuple(directory)
        self._topics = topics or {}
        self._options = dict(options or {})
        self._links = links
        self._accesses = accesses
        self._reader = Reader(stem="porter")
        self.read = lru_cache(maxsize=PAGES_CACHED)(self._read)

    @cached_property
    def hosts(self) -> Collection[Host]:
        return sorted({host_of(url) for url in self._pages})

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        sizes = {"pages": len(self), "host_count": len(self.hosts), "links": len(self._links.targets)}
        if self._accesses:
            sizes["accesses"] = len(self._accesses)
        return {"name": self.name, **self._options, **sizes, "fingerprint": self._pages.fingerprint}

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, url: object) -> bool:
        return url in self._pages

    def urls(self) -> Iterable[Url]:
        return iter(self._pages)

    def page(self, url: Url) -> bytes | None:
        return self._pages.get(url)

    def _read(self, url: Url) -> Page | None:
        html = self._pages.get(url)
        return None if html is None else self._reader(Fetch(url, Outcome.OK, at=0.0, content=html))

    def redirect(self, url: Url) -> Url | None:
        """The page for a variant of its URL: a folder for its index page, other case, other escapes."""
        return None if url in self._pages else self._variants.page(url)

    @cached_property
    def _variants(self) -> UrlVariants:
        return UrlVariants(self._pages)

    def out_links(self, url: Url) -> Sequence[Url]:
        """The other pages of the world that a page links to, each once, without parsing it."""
        number = self._pages.number(url)
        if number is None:
            return ()
        offsets, targets = self._links.offsets, self._links.targets
        return [self._urls[target] for target in targets[offsets[number] : offsets[number + 1]].tolist()]

    def in_degrees(self) -> Int32Array:
        """How many other pages of the world link to each page."""
        return np.bincount(self._links.targets, minlength=len(self)).astype(np.int32)

    @cached_property
    def _urls(self) -> list[Url]:
        return list(self._pages)

    def robots(self, host: Host) -> str | None:
        return None

    def directory(self) -> Sequence[Category]:
        return self._directory

    def topic(self, url: Url) -> str | None:
        return self._topics.get(url)

    def log_in_links(self, url: Url) -> float | None:
        """None: links from outside the world are unknown."""
        return None

    def accesses(self) -> Sequence[Access]:
        """What people read, in order of time; empty if that was not recorded."""
        return self._accesses

    def save(self, folder: Path) -> None:
        names = list(dict.fromkeys(self._topics.values()))
        number = {name: index for index, name in enumerate(names)}
        numbers = [number.get(self._topics.get(url, ""), -1) for url in self._pages]
        metadata = _DocumentsMetadata(self.name, self._options, names, numbers)
        self._pages.save(folder)
        (folder / _METADATA).write_bytes(msgspec.json.encode(metadata))
        (folder / _DIRECTORY).write_bytes(msgspec.json.encode(self._directory))
        np.save(folder / _OFFSETS, self._links.offsets)
        np.save(folder / _TARGETS, self._links.targets)
        if self._accesses:
            (folder / _ACCESSES).write_bytes(msgspec.msgpack.encode(self._accesses))

    @classmethod
    def load(cls, folder: Path) -> "DocumentWorld":
        """The world that `save` wrote."""
        try:
            metadata = msgspec.json.decode((folder / _METADATA).read_bytes(), type=_DocumentsMetadata)
            directory = msgspec.json.decode((folder / _DIRECTORY).read_bytes(), type=tuple[Category, ...])
            pages = PageStore.load(folder)
            links = Graph(*(np.load(folder / name, allow_pickle=False) for name in (_OFFSETS, _TARGETS)))
            log = folder / _ACCESSES
            accesses = msgspec.msgpack.decode(log.read_bytes(), type=tuple[Access, ...]) if log.exists() else ()
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"{folder} holds no world of documents that can be read ({error}); make it again"
            ) from None
        numbers, names = metadata.topic_numbers, metadata.topics
        if len(numbers) != len(pages) or max(numbers, default=-1) >= len(names):
            raise UsageError(f"{folder / _METADATA} does not fit {folder / _INDEX}; make the world again")
        topics = {url: names[number] for url, number in zip(pages, numbers, strict=True) if number >= 0}
        if not _is_graph_of(len(pages), links):
            raise UsageError(f"{folder / _OFFSETS} and {folder / _TARGETS} do not fit the pages; make the world again")
        return DocumentWorld(
            pages,
            links,
            name=metadata.name,
            directory=directory,
            topics=topics,
            options=metadata.options,
            accesses=accesses,
        )


class _DocumentsMetadata(msgspec.Struct):
    name: str
    options: dict[str, JsonValue]
    topics: list[str]
    topic_numbers: list[int]  # index into topics for each page, -1 for none


class Documents(DocumentWorld):
    """HTML files of a folder or a tar, mounted as one host.

    path: the folder or tar.
    host: the name of that host.
    hosts: "folders" mounts each top-level folder as a host of its name; `host` then has the files that are in none.
    topics: "folders" makes the folders of pages their categories.
    """

    def __init__(self, *, path: str = "", host: str = "documents.example", hosts: str = "", topics: str = ""):
        source = required_path(path, "documents:path=FOLDER_OR_TAR")
        for option, value in (("hosts", hosts), ("topics", topics)):
            if value not in ("", "folders"):
                raise UsageError(f"documents: {option} can be 'folders' or left out, not {value!r}")
        root = f"{source.resolve().as_posix()}/" if source.is_dir() else "/"
        urls: dict[str, Url] = {}
        folders: dict[str, list[str]] = {}
        mount_points: dict[str, MountPoint] = {}

        def register_file(name: str) -> Url | None:
            top_folder, slash, rest = name.partition("/")
            if not (hosts and slash):
                top_folder, rest = "", name
            base = _base(top_folder or host)
            mount_points[base] = MountPoint(base, f"{root}{top_folder}/" if top_folder else root)
            folders[name] = rest.split("/")[:-1]
            return file_url(base, rest)

        for name in list_files(source, is_html_name):
            url = register_file(name)
            if url is not None:
                urls[name] = url
        aliases = {
            alias: urls[target]
            for name, target in read_symlinks(source).items()
            if target in urls and (alias := register_file(name)) is not None
        }
        rewriter = LinkRewriter(urls.values(), list(mount_points.values()), aliases)
        pages, links = store_pages(mount(source, urls, rewriter, folder=root))
        leaves: dict[str, list[Url]] = {}
        if topics == "folders":
            for name, url in urls.items():
                if folders[name]:
                    leaves.setdefault(category_name(folders[name][:2]), []).append(url)
        super().__init__(
            pages,
            links,
            name="documents",
            directory=[describe_category(name, listed, pages) for name, listed in leaves.items()],
            topics={url: name for name, listed in leaves.items() for url in listed},
            options={"path": source.name, "host": host, "hosts": hosts, "topics": topics},
        )


def required_path(path: str, example: str) -> Path:
    """The path that the user gave for the data of a world, which must exist."""
    if not path:
        raise UsageError(f"this world needs its data: give {example}")
    if not Path(path).exists():
        raise UsageError(f"there is no {path}; say {example}")
    return Path(path)


def store_pages(mounted: Iterable[MountedPage]) -> tuple[PageStore, Graph]:
    """The pages and the links between them; of two pages with the same URL, the first is kept."""
    ids: dict[Url, int] = {}  # of link targets, in the order in which they occur
    links: dict[Url, list[int]] = {}

    def contents() -> Iterator[tuple[Url, bytes]]:
        for page in mounted:
            links.setdefault(page.url, [ids.setdefault(target, len(ids)) for target in page.links])
            yield page.url, page.html

    pages = PageStore.of(contents())
    position = np.array([-1 if (number := pages.number(url)) is None else number for url in ids], np.int32)
    counts = np.array([len(links[url]) for url in pages], np.int64)
    sources = np.repeat(np.arange(len(pages), dtype=np.int32), counts)
    targets = position[np.array([target for url in pages for target in links[url]], np.int64)]
    return pages, graph_from_edges(sources[targets >= 0], targets[targets >= 0], len(pages))


def _is_graph_of(pages: int, links: Graph) -> bool:
    """Whether the arrays of a graph are valid for that number of pages."""
    offsets, targets = links.offsets, links.targets
    return (
        len(links) == pages
        and offsets[0] == 0
        and offsets[-1] == len(targets)
        and bool((np.diff(offsets) >= 0).all())
        and bool(((targets >= 0) & (targets < pages)).all())
    )


def category_name(parts: Sequence[str]) -> str:
    """The name of a category, "top/leaf"; a top-level category without subcategories is named "top/top"."""
    return "/".join(parts if len(parts) > 1 else (*parts, *parts))


def describe_category(name: str, urls: Iterable[Url], pages: PageStore) -> Category:
    """A category whose entries are described by the titles and first sentences of the pages."""
    return Category(name, tuple(DirectoryEntry(url, describe(pages[url].decode())) for url in urls))


def _base(host: str) -> str:
    base = normalise(f"http://{host}/")
    if base is None or base.count("/") != 3 or host != host_of(base):
        raise UsageError(f"documents: {host!r} is no name of a host; name folders and hosts like www.site.example")
    return base


# What a directory says about a page

MAX_DESCRIPTION = 400  # characters, without the title
MIN_WORDS = 8  # of a paragraph that counts as text
_TITLE = re.compile(r"<title[^<>]*>(.{0,1000}?)</title", re.IGNORECASE | re.DOTALL)
_PARAGRAPH = re.compile(
    r"<p(?:\s[^<>]*)?>(.{0,5000}?)(?=</p\b|<p[\s>]|</div\b|</td\b|<h[1-6]\b|<table\b|<ul\b|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
_COPYRIGHT = frozenset(("©", "Copyright", "copyright"))
_MAX_PARAGRAPHS = 12


def page_title(text: str) -> str:
    """The title of an HTML page, empty if it has none."""
    found = _TITLE.search(text)
    return " ".join(unescaped(found[1]).split()) if found else ""


def first_sentences(text: str, sentences: int = 2) -> str:
    """The first sentences of the first paragraph of MIN_WORDS or more; of all visible text where there is none."""
    for paragraph, _ in zip(_PARAGRAPH.finditer(text), range(_MAX_PARAGRAPHS), strict=False):
        words = _visible(paragraph[1])
        if len(words) >= MIN_WORDS and not _COPYRIGHT.intersection(words):
            break
    else:
        words = _visible(text)
    parts = _SENTENCE_END.split(" ".join(words), maxsplit=sentences)[:sentences]
    return _cut(" ".join(parts))


def describe(text: str) -> str:
    """Title and first sentences of an HTML page, as one line."""
    return f"{page_title(text)}. {first_sentences(text)}".strip(". ")


def _visible(fragment: str) -> list[str]:
    return parse_html(fragment, Url("http://page.invalid/")).text.split()


def _cut(line: str) -> str:
    """The line, or its first words; of Chinese and the like, which has no blanks, the first characters."""
    if len(line) <= MAX_DESCRIPTION:
        return line
    start = line[:MAX_DESCRIPTION]
    return start.rpartition(" ")[0] or start
