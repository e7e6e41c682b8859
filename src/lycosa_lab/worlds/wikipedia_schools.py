"""Wikipedia for Schools 2007 as a world, and walks of people through it, as the game Wikispeedia recorded them.

West, Leskovec: Human wayfinding in information networks (WWW 2012).
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from lycosa.reading.reader import Reader
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import DamagedTextError, LineTooLongError, decompressed, numbered_lines
from lycosa.vocabulary.records import Fetch, Link, Outcome, Url

from .archives import list_files
from .documents import DocumentWorld, PageStore, category_name, first_sentences, required_path, store_pages
from .mount import LinkRewriter, MountPoint, file_url, is_html_name, mount
from .world import Access, Category, DirectoryEntry

BASE = "http://schools-wikipedia.example/"
_INDEX = "wp/index/"
_INDEX_START = _INDEX + "subject.htm"
HOME_PAGE = Url(BASE + "index.htm")
SUBJECT_INDEX = Url(BASE + _INDEX_START)  # the page from which all index pages are reached
_COLUMNS = "person, time, seconds, articles separated by ';', and any others"
_BACK = "<"  # instead of an article: back to the previous one
_MAX_LINE = 1 << 20  # bytes


class WikipediaSchools(DocumentWorld):
    """Wikipedia for Schools 2007: articles with real links, and a subject index that serves as the directory.

    The index pages are pages of this world too, and the articles they list link to them: a crawler that finds the one
    on its topic has found a hub, as on the Web. The topic of an article is the first subject that lists it.

    walks: a file of walks of people through the articles, see `read_walks`; they become the accesses of the world.
    """

    def __init__(self, *, path: str = "", walks: str = ""):
        source = required_path(
            path, "wikipedia-schools:path=FILE with a tar or folder of Wikipedia for Schools 2007 (wpcd/wp/...)"
        )
        urls = _urls(source)
        rewriter = LinkRewriter(urls.values(), [MountPoint(BASE)])
        pages, links = store_pages(mount(source, urls, rewriter))
        directory = list(_directory(pages))
        accesses = read_walks(Path(walks), _articles(pages)) if walks else ()
        super().__init__(
            pages,
            links,
            name="wikipedia-schools",
            directory=directory,
            topics={entry.url: subject.name for subject in reversed(directory) for entry in subject.entries},
            options={"path": source.name, **({"walks": Path(walks).name} if walks else {})},
            accesses=accesses,
        )


def _urls(source: Path) -> dict[str, Url]:
    """The URLs of the HTML files of the archive, by file name."""
    names = list_files(source, is_html_name)
    index_start = next((name for name in names if name.endswith(_INDEX_START)), None)
    if index_start is None:
        raise UsageError(f"{source} has no {_INDEX_START}; is it the archive of Wikipedia for Schools 2007?")
    top = index_start.removesuffix(_INDEX_START)
    found = ((name, file_url(BASE, name.removeprefix(top))) for name in names if name.startswith(top))
    return {name: url for name, url in found if url is not None}


def _directory(pages: PageStore) -> Iterator[Category]:
    """The subjects that list articles, in breadth-first order from the first index page."""
    reader = Reader()
    queue, seen = deque([SUBJECT_INDEX]), set[Url]()
    while queue:
        subject = queue.popleft()
        page = reader(Fetch(subject, Outcome.OK, at=0.0, content=pages[subject]))
        links = page.links if page is not None else ()
        prefix = subject.removesuffix("htm")
        subsubjects = [link.target for link in links if link.target.startswith(prefix) and link.target in pages]
        queue.extend(subsubject for subsubject in subsubjects if subsubject not in seen)
        seen.update(subsubjects)
        entries = tuple(_entry(link, pages) for link in links if _is_article(link.target, pages))
        if entries:
            name = subject.removeprefix(BASE + _INDEX + "subject.").removesuffix(".htm")
            yield Category(category_name(name.split(".")), entries)


def _articles(pages: PageStore) -> dict[str, Url]:
    """The URLs of the articles, by name."""
    return {article_name(url.rpartition("/")[2].removesuffix(".htm")): url for url in pages if _is_article(url, pages)}


def _is_article(url: Url, pages: PageStore) -> bool:
    return url.startswith(BASE + "wp/") and not url.startswith(BASE + _INDEX) and url in pages


def _entry(link: Link, pages: PageStore) -> DirectoryEntry:
    return DirectoryEntry(link.target, f"{link.anchor}. {first_sentences(pages[link.target].decode())}")


# Walks of people through the articles


def article_name(name: str) -> str:
    """The name of an article without percent escapes; some files escape twice."""
    return unquote(unquote(name)).replace(" ", "_")


def read_walks(path: Path, articles: Mapping[str, Url]) -> tuple[Access, ...]:
    """What people read of the given articles, in order of time.

    The file, plain or gzipped, has one walk on each line: person, start, duration in seconds, names of articles. The
    articles of a walk are taken to be read at equal intervals; going back is not an access.

    articles: URLs by name, without escapes.
    """
    accesses: list[Access] = []
    users: dict[str, int] = {}
    for walk in sorted(_walks(path), key=lambda walk: walk.start):
        user = users.setdefault(walk.person, len(users))
        step = walk.seconds / max(1, len(walk.names))
        for index, name in enumerate(walk.names):
            url = articles.get(article_name(name))
            if url is not None:
                accesses.append(Access(user, url, walk.start + index * step))
    if not accesses:
        raise UsageError(f"{path}: no walk leads through an article of this world; give walks through its articles")
    return tuple(sorted(accesses, key=lambda access: access.at))


class _Walk(NamedTuple):
    """A walk of one person from article to article."""

    person: str
    start: float  # seconds since 1970
    seconds: float  # that it took
    names: list[str]  # of the articles


def _walks(path: Path) -> Iterator[_Walk]:
    try:
        with path.open("rb") as file:
            for number, data in numbered_lines(decompressed(file), longest_line=_MAX_LINE):
                line = data.decode()
                if line.strip() and not line.startswith("#"):
                    yield _walk(line.rstrip("\r").split("\t"), f"{path}, line {number}")
    except (OSError, DamagedTextError, LineTooLongError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); give a file of walks, such as paths_unfinished.tsv"
        ) from None


def _walk(fields: list[str], where: str) -> _Walk:
    try:
        person, start, seconds, names = fields[:4]
        walk = _Walk(person, float(start), float(seconds), [name for name in names.split(";") if name != _BACK])
    except ValueError:
        raise UsageError(f"{where} is no walk; columns are {_COLUMNS}, separated by tabs") from None
    if not (abs(walk.start) < 1e12 and 0.0 <= walk.seconds < 1e9):
        raise UsageError(f"{where}: a walk cannot begin at {start} and take {seconds} seconds")
    return walk


# What gives the subjects of articles away

_RELATED_SUBJECTS = re.compile(rb'<h3 id="siteSub">.*?</h3>', re.DOTALL)


def without_related_subjects(html: bytes) -> bytes:
    """An article without its line "Related subjects", which links to the home page and the index pages that list it."""
    return _RELATED_SUBJECTS.sub(b"", html)


def index_pages(name: str) -> tuple[Url, ...]:
    """Where the index page of a category may be; a subject without parts has its name twice, "Countries/Countries"."""
    parts = name.split("/")
    spellings = [parts, parts[:1]] if len(parts) == 2 and parts[0] == parts[1] else [parts]
    return tuple(Url(f"{BASE}{_INDEX}subject.{'.'.join(each)}.htm") for each in spellings)
