"""Webs of documents: pages that people wrote, mounted as hosts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from lycosa.reading.reader import Reader
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Host, Outcome, Page, Plain, Url
from lycosa.vocabulary.urls import host_of, normalise

from .archives import links_in, names_in
from .descriptions import description_of
from .mounting import Mounted, Signposts, Site, Spellings, is_page, mounted, url_of
from .page_store import PageStore
from .world import Category, Entry

PAGES_KEPT = 64  # parsed; whoever reads a page often keeps it
_ABOUT, _DIRECTORY = "documents.json", "directory.json"


class DocumentWorld:
    """A web of stored HTML.

    topics: the name of the category that a page is about, for the pages of which that is known.
    options: what the world was made with, for its facts.
    links: how many links lead from one page to another as their markup has them, where they were counted.
    """

    def __init__(
        self,
        pages: PageStore,
        *,
        name: str,
        directory: Sequence[Category] = (),
        topics: Mapping[Url, str] | None = None,
        options: Mapping[str, Plain] | None = None,
        links: int | None = None,
    ):
        if not len(pages):
            raise UsageError(f"the world {name} has no page; name a folder or archive with HTML files in it")
        self.name = name
        self._pages = pages
        self._directory = tuple(directory)
        self._topics = topics or {}
        self._options = dict(options or {})
        self._links = links
        self._reader = Reader(stem=True)
        self.read = lru_cache(maxsize=PAGES_KEPT)(self._read)

    @cached_property
    def hosts(self) -> Collection[Host]:
        return sorted({host_of(url) for url in self._pages})

    @property
    def facts(self) -> Mapping[str, Plain]:
        sizes = {"pages": len(self), "hosts": len(self.hosts), "links": self._links}
        return {"name": self.name, **self._options, **sizes}

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
        """A page under another spelling of its URL: a folder for its index page, other case, other escapes."""
        return None if url in self._pages else self._spellings.page(url)

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self._pages)

    def robots(self, host: Host) -> str | None:
        return None

    def directory(self) -> Sequence[Category]:
        return self._directory

    def topic(self, url: Url) -> str | None:
        return self._topics.get(url)

    def standing(self, url: Url) -> float | None:
        """Unknown: links from outside the world were never counted."""
        return None

    def save(self, folder: Path) -> None:
        names = list(dict.fromkeys(self._topics.values()))
        number = {name: place for place, name in enumerate(names)}
        numbers = [number.get(self._topics.get(url, ""), -1) for url in self._pages]
        about = _About(self.name, self._options, names, numbers, self._links)
        self._pages.save(folder)
        (folder / _ABOUT).write_bytes(msgspec.json.encode(about))
        (folder / _DIRECTORY).write_bytes(msgspec.json.encode(self._directory))

    @classmethod
    def load(cls, folder: Path) -> "DocumentWorld":
        """The world that `save` wrote there."""
        try:
            about = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=_About)
            directory = msgspec.json.decode((folder / _DIRECTORY).read_bytes(), type=tuple[Category, ...])
            pages = PageStore.load(folder)
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"{folder} holds no world of documents that can be read ({error}); make it again"
            ) from None
        topics = {
            url: about.topics[number] for url, number in zip(pages, about.topic_numbers, strict=False) if number >= 0
        }
        return DocumentWorld(
            pages, name=about.name, directory=directory, topics=topics, options=about.options, links=about.links
        )


class _About(msgspec.Struct):
    name: str
    options: dict[str, Plain]
    topics: list[str]
    topic_numbers: list[int]  # of each page, -1 for none
    links: int | None


class Documents(DocumentWorld):
    """HTML files of one's own: a folder or a tar, as one host or, with hosts=folders, its first folders as hosts.

    With topics=folders, the folders that pages are in are categories.
    """

    def __init__(self, *, path: str = "", host: str = "documents.example", hosts: str = "", topics: str = ""):
        source = given_path(path, "documents:path=FOLDER_OR_TAR")
        for option, value in (("hosts", hosts), ("topics", topics)):
            if value not in ("", "folders"):
                raise UsageError(f"documents: {option} can be 'folders' or left out, not {value!r}")
        place = f"{source.resolve().as_posix()}/" if source.is_dir() else "/"
        urls: dict[str, Url] = {}
        folders: dict[str, list[str]] = {}
        sites: dict[str, Site] = {}

        def address(name: str) -> Url | None:
            first, slash, rest = name.partition("/")
            if not (hosts and slash):
                first, rest = "", name
            base = _base(first or host)
            sites[base] = Site(base, f"{place}{first}/" if first else place)
            folders[name] = rest.split("/")[:-1]
            return url_of(base, rest)

        for name in names_in(source, is_page):
            url = address(name)
            if url is not None:
                urls[name] = url
        aliases = {
            alias: urls[target]
            for name, target in links_in(source).items()
            if target in urls and (alias := address(name)) is not None
        }
        signposts = Signposts(urls.values(), list(sites.values()), aliases)
        pages, links = stored(mounted(source, urls, signposts, place=place))
        leaves: dict[str, list[Url]] = {}
        if topics == "folders":
            for name, url in urls.items():
                if folders[name]:
                    leaves.setdefault(leaf_name(folders[name][:2]), []).append(url)
        super().__init__(
            pages,
            name="documents",
            directory=[described(name, listed, pages) for name, listed in leaves.items()],
            topics={url: name for name, listed in leaves.items() for url in listed},
            options={"path": source.name, "host": host, "hosts": hosts, "topics": topics},
            links=links,
        )


def given_path(path: str, example: str) -> Path:
    """The path a user gave for a world's data."""
    if not path:
        raise UsageError(f"this world needs its data: say {example}")
    if not Path(path).exists():
        raise UsageError(f"there is no {path}; say {example}")
    return Path(path)


def stored(mounting: Iterable[Mounted]) -> tuple[PageStore, int]:
    """The pages, and how many links there are between them."""
    counts: list[int] = []

    def counted() -> Iterator[tuple[Url, bytes]]:
        for page in mounting:
            counts.append(len(page.links))
            yield page.url, page.html

    return PageStore.of(counted()), sum(counts)


def leaf_name(parts: Sequence[str]) -> str:
    """The name of a category, "top/leaf"; a top without parts is a leaf of its own."""
    return "/".join(parts if len(parts) > 1 else (*parts, *parts))


def described(name: str, urls: Iterable[Url], pages: PageStore) -> Category:
    """A category that says of each page what it says of itself."""
    return Category(name, tuple(Entry(url, description_of(pages[url].decode())) for url in urls))


def _base(host: str) -> str:
    base = normalise(f"http://{host}/")
    if base is None or base.count("/") != 3 or host != host_of(base):
        raise UsageError(f"documents: {host!r} is no name of a host; name folders and hosts like www.site.example")
    return base
