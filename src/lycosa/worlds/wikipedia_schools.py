"""An encyclopaedia for schools, as it stood in 2007."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path

from lycosa.reading.reader import Reader
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Link, Outcome, Url

from .archives import names_in
from .descriptions import beginning_of
from .documents import DocumentWorld, given_path, leaf_name, stored
from .mounting import Signposts, Site, is_page, mounted, url_of
from .page_store import PageStore
from .walks import plain_name, walks_in
from .world import Category, Entry

BASE = "http://schools-wikipedia.example/"
_INDEX = "wp/index/"
_FIRST_SUBJECT = _INDEX + "subject.htm"


class WikipediaSchools(DocumentWorld):
    """Wikipedia for Schools 2007: articles with real links, and a subject index that serves as directory.

    The index pages are pages of this web as they are, each linked from the articles that it lists; a crawler that
    finds the one on its topic has found a hub, as on the Web. An article is about the first subject that lists it.

    walks: a file of walks that people took through the articles, as `walks_in` reads it; they are its readers.
    """

    def __init__(self, *, path: str = "", walks: str = ""):
        source = given_path(
            path, "wikipedia-schools:path=FILE with a tar or folder of Wikipedia for Schools 2007 (wpcd/wp/...)"
        )
        urls = _urls(source)
        signposts = Signposts(urls.values(), [Site(BASE)])
        pages, links = stored(mounted(source, urls, signposts))
        directory = list(_directory(pages))
        accesses = walks_in(Path(walks), _articles(pages)) if walks else ()
        super().__init__(
            pages,
            links,
            name="wikipedia-schools",
            directory=directory,
            topics={entry.url: leaf.name for leaf in reversed(directory) for entry in leaf.entries},
            options={"path": source.name, **({"walks": Path(walks).name} if walks else {})},
            accesses=accesses,
        )


def _urls(source: Path) -> dict[str, Url]:
    names = names_in(source, is_page)
    first = next((name for name in names if name.endswith(_FIRST_SUBJECT)), None)
    if first is None:
        raise UsageError(f"{source} has no {_FIRST_SUBJECT}; is it the archive of Wikipedia for Schools 2007?")
    top = first.removesuffix(_FIRST_SUBJECT)
    found = ((name, url_of(BASE, name.removeprefix(top))) for name in names if name.startswith(top))
    return {name: url for name, url in found if url is not None}


def _directory(pages: PageStore) -> Iterator[Category]:
    """The subjects that list articles, in the order in which a walk from the first index page meets them."""
    reader = Reader()
    waiting, met = deque([Url(BASE + _FIRST_SUBJECT)]), set[Url]()
    while waiting:
        subject = waiting.popleft()
        read = reader(Fetch(subject, Outcome.OK, at=0.0, content=pages[subject]))
        links = read.links if read is not None else ()
        below = subject.removesuffix("htm")
        parts = [link.target for link in links if link.target.startswith(below) and link.target in pages]
        waiting.extend(part for part in parts if part not in met)
        met.update(parts)
        entries = tuple(_entry(link, pages) for link in links if _is_article(link.target, pages))
        if entries:
            name = subject.removeprefix(BASE + _INDEX + "subject.").removesuffix(".htm")
            yield Category(leaf_name(name.split(".")), entries)


def _articles(pages: PageStore) -> dict[str, Url]:
    """The articles by their names."""
    return {plain_name(url.rpartition("/")[2].removesuffix(".htm")): url for url in pages if _is_article(url, pages)}


def _is_article(url: Url, pages: PageStore) -> bool:
    return url.startswith(BASE + "wp/") and not url.startswith(BASE + _INDEX) and url in pages


def _entry(link: Link, pages: PageStore) -> Entry:
    return Entry(link.target, f"{link.anchor}. {beginning_of(pages[link.target].decode())}")
