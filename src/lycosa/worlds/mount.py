"""Files become pages of a host: which files, under which URLs, and what their links then mean.

A link is left as it is written where it already means a page of the world. Where it means one in another spelling
(a folder for its index page, other case, other escapes, a path on the disk that the page was packed for, an address
that the site has elsewhere) it is rewritten to the URL of that page; all other links are left to dangle.
"""

import codecs
import html as markup
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from lycosa.reading.decode import decode
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import Joiner, join, normalise

from .archives import gunzip, read_files

Strip = Callable[[bytes], bytes]
_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")
_INDEX_NAMES = ("index.html", "index.htm", "index.xhtml", "index.shtml")
_IN_PATHS = "/!$&'()*+,;=:@~"  # what a path may say as it is
_LINK = re.compile(
    r"(<(?:a|area|frame|iframe)\s[^<>]{0,2000}?\b(?:href|src)\s*=\s*)(\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
_BASE = re.compile(r"<base\s[^<>]{0,2000}?\bhref\s*=\s*[\"']?([^\s\"'<>]+)", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_html_name(name: str) -> bool:
    """Whether a file is HTML by its name, gzipped or not."""
    return name.lower().removesuffix(".gz").endswith(_SUFFIXES)


def file_url(base: str, name: str) -> Url | None:
    """The URL of a file below a base that ends in a slash; gzipped pages go by the name they had before."""
    return normalise(base + quote(name.removesuffix(".gz"), safe=_IN_PATHS))


def as_utf8(text: str, content: bytes) -> bytes:
    """The text of a page in UTF-8, so marked that no reader takes it for what its bytes were before."""
    data = text.encode("utf-8", "replace")
    if data == content or text.isascii() or decode(data) == text:
        return data
    return codecs.BOM_UTF8 + data


class Site(Struct, frozen=True):
    """A folder of pages, where it is mounted, and how else it is spoken of."""

    base: str  # URL, with a slash at its end
    place: str = "/"  # the folder on the disk that the pages were packed for, with a slash at its end
    patterns: tuple["re.Pattern[str]", ...] = ()  # of host/path, or of paths on the disk, that mean the base


class UrlVariants:
    """Tells which page of a world a URL means, though it may spell it otherwise."""

    def __init__(self, urls: Iterable[Url], aliases: Mapping[Url, Url] | None = None):
        self._pages: dict[str, Url] = {}
        for url in urls:
            self._pages.setdefault(_loosely(url), url)
        for alias, url in (aliases or {}).items():
            self._pages.setdefault(_loosely(alias), url)

    def page(self, url: str) -> Url | None:
        """The page that is meant, None where there is none."""
        return self._pages.get(_loosely(url))


def _loosely(url: str) -> str:
    name = unquote(url.partition("://")[2].partition("?")[0]).lower().removesuffix(".gz")
    folder, _, last = name.rpartition("/")
    return folder if last in _INDEX_NAMES or not last else name


class LinkRewriter:
    """Sets the links of pages right."""

    def __init__(self, urls: Iterable[Url], sites: Sequence[Site], aliases: Mapping[Url, Url] | None = None):
        self._urls = frozenset(urls)
        self._spellings = UrlVariants(urls, aliases)
        self._places = sorted(((site.place, site.base) for site in sites), key=lambda pair: -len(pair[0]))
        self._patterns = [(pattern, site.base) for site in sites for pattern in site.patterns]

    def set_right(self, url: Url, text: str, place: str) -> tuple[str, list[Url]]:
        """The page with links that mean pages, and these in their order; `place` is its file on the disk."""
        base = _BASE.search(text)
        joined = Joiner((join(url, markup.unescape(base[1])) if base else None) or url)
        targets: dict[Url, None] = {}
        known: dict[str, Url | None] = {}

        def replaced(link: re.Match[str]) -> str:
            quoted = link[2]
            href = markup.unescape(quoted.strip("\"'")).strip()
            plain, mark, fragment = href.partition("#")
            if not plain:
                return link[0]
            target = joined(plain)
            if target in self._urls:
                targets[target] = None
                return link[0]
            if plain not in known:
                known[plain] = self._meant(target, plain, place)
            meant = known[plain]
            if meant is None:
                return link[0]
            targets[meant] = None
            return f'{link[1]}"{markup.escape(meant + mark + fragment)}"'

        text = _LINK.sub(replaced, text)
        targets.pop(url, None)
        return text, list(targets)

    def _meant(self, target: Url | None, href: str, place: str) -> Url | None:
        found = self._spellings.page(target) if target is not None else None
        if found is None and (spoken := target.partition("://")[2] if target is not None else ""):
            found = self._by_pattern(spoken)
        if found is None and (path := _on_disk(href, place)):
            found = self._by_place(path) or self._by_pattern(path)
        return found

    def _by_pattern(self, spoken: str) -> Url | None:
        for pattern, base in self._patterns:
            match = pattern.match(spoken)
            if match is None:
                continue
            address = base + spoken[match.end() :]
            found = self._spellings.page(address) or self._spellings.page(address.rstrip("/") + ".html")
            if found is not None:
                return found
        return None

    def _by_place(self, path: str) -> Url | None:
        for place, base in self._places:
            if path.startswith(place):
                found = self._spellings.page(base + quote(path[len(place) :], safe=_IN_PATHS))
                if found is not None:
                    return found
        return None


class MountedPage(Struct, frozen=True, gc=False):
    """A page as it stands in its world."""

    url: Url
    html: bytes
    links: list[Url]  # to other pages of the world, each once


def mounted(
    path: Path,
    urls: Mapping[str, Url],
    signposts: LinkRewriter,
    *,
    place: str = "/",
    strip: Strip = lambda content: content,
) -> Iterator[MountedPage]:
    """The files of a folder or tar that have URLs, as pages; `strip` takes off what is not HTML."""
    for name, content in read_files(path, urls.__contains__):
        if name.endswith(".gz"):
            content = gunzip(content, f"{path}, {name}")
        content = strip(content)
        text, links = signposts.set_right(urls[name], decode(content), place + name)
        yield MountedPage(urls[name], as_utf8(text, content), links)


def _on_disk(href: str, place: str) -> str:
    """The file that a link means on the disk; empty where it means none."""
    if href[:5].lower() == "file:":
        href = "/" + href[5:].lstrip("/")
    elif _SCHEME.match(href) or href.startswith("//"):
        return ""
    path = unquote(href.partition("?")[0])
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    return joined + "/" if path.endswith("/") else joined
