"""Mounting HTML files as pages of a host: which files, at which URLs, and the rewriting of their links.

A link that resolves to a page of the world is left as it is. A link that means a page by another spelling (a folder for
its index page, other case, other escapes, the path of a file as the page would be installed, the URL of the original
site) is rewritten to the URL of that page. All other links are left dangling.
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
from lycosa.vocabulary.text import unescaped
from lycosa.vocabulary.urls import Joiner, join, normalise

from .archives import gunzip, read_files

Strip = Callable[[bytes], bytes]  # removes what is not HTML
_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")
_INDEX_NAMES = ("index.html", "index.htm", "index.xhtml", "index.shtml")
_SAFE = "/!$&'()*+,;=:@~"  # characters that a path need not escape
_LINK = re.compile(
    r"(<(?:a|area|frame|iframe)\s[^<>]{0,2000}?(?<=[\s\"'/])(?:href|src)\s*=\s*)(\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
_BASE = re.compile(r"<base\s[^<>]{0,2000}?(?<=[\s\"'/])href\s*=\s*[\"']?([^\s\"'<>]+)", re.IGNORECASE)
_FILE_SCHEME = re.compile(r"file:(?://localhost(?=/))?/*", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_html_name(name: str) -> bool:
    """Whether a file is HTML by its name, gzipped or not."""
    return _without_gz(name).lower().endswith(_SUFFIXES)


def file_url(base: str, name: str) -> Url | None:
    """The URL of a file below a base URL that ends in a slash; the suffix .gz is dropped.

    Bytes of the name that are not UTF-8 are escaped as they are.
    """
    return normalise(base + quote(_without_gz(name), safe=_SAFE, errors="surrogateescape"))


def as_utf8(text: str, content: bytes) -> bytes:
    """The text of a page in UTF-8, with a byte order mark where it would be decoded wrongly without one."""
    data = text.encode("utf-8", "replace")
    if data == content or text.isascii() or decode(data) == text:
        return data
    return codecs.BOM_UTF8 + data


class MountPoint(Struct, frozen=True):
    """A folder of pages, the URL at which it is mounted, and other names for it."""

    base: str  # URL, with a slash at its end
    folder: str = "/"  # the folder into which the pages would be installed, with a slash at its end
    patterns: tuple["re.Pattern[str]", ...] = ()  # of host/path, or of paths on the disk, that mean the base


class UrlVariants:
    """Finds the page that a URL means, ignoring case, escapes, query, the suffix .gz and the names of index pages."""

    def __init__(self, urls: Iterable[Url], aliases: Mapping[Url, Url] | None = None):
        self._pages: dict[str, Url] = {}
        for url in urls:
            self._pages.setdefault(_comparison_key(url), url)
        for alias, url in (aliases or {}).items():
            self._pages.setdefault(_comparison_key(alias), url)

    def page(self, url: str) -> Url | None:
        """The page that a URL means, None if there is none."""
        return self._pages.get(_comparison_key(url))


def _comparison_key(url: str) -> str:
    """What the spellings of a URL have in common; its scheme is ignored too."""
    name = unquote(url.partition("://")[2].partition("?")[0]).lower().removesuffix(".gz")
    folder, _, last = name.rpartition("/")
    return folder if last in _INDEX_NAMES or not last else name


class LinkRewriter:
    """Rewrites the links of pages that mean a page of the world by another spelling."""

    def __init__(
        self, urls: Iterable[Url], mount_points: Sequence[MountPoint], aliases: Mapping[Url, Url] | None = None
    ):
        self._urls = frozenset(urls)
        self._variants = UrlVariants(urls, aliases)
        self._folders = sorted(((each.folder, each.base) for each in mount_points), key=lambda pair: -len(pair[0]))
        self._patterns = [(pattern, each.base) for each in mount_points for pattern in each.patterns]

    def rewrite(self, url: Url, text: str, file: str) -> tuple[str, list[Url]]:
        """The HTML of a page with its links rewritten, and the other pages it links to, in order.

        file: the path at which the page would be installed.
        """
        base = _BASE.search(text)
        resolve = Joiner((join(url, unescaped(base[1])) if base else None) or url)
        targets: dict[Url, None] = {}
        resolved: dict[str, Url | None] = {}

        def rewritten(link: re.Match[str]) -> str:
            quoted = link[2]
            href = unescaped(quoted.strip("\"'")).strip()
            plain, hash_mark, fragment = href.partition("#")
            if not plain:
                return link[0]
            target = resolve(plain)
            if target in self._urls:
                targets[target] = None
                return link[0]
            if plain not in resolved:
                resolved[plain] = self._resolve(target, plain, file)
            page = resolved[plain]
            if page is None:
                return link[0]
            targets[page] = None
            return f'{link[1]}"{markup.escape(page + hash_mark + fragment)}"'

        text = _LINK.sub(rewritten, text)
        targets.pop(url, None)
        return text, list(targets)

    def _resolve(self, target: Url | None, href: str, file: str) -> Url | None:
        found = self._variants.page(target) if target is not None else None
        if found is None and (host_and_path := target.partition("://")[2] if target is not None else ""):
            found = self._by_pattern(host_and_path, rest_as_url=lambda rest: rest.partition("?")[0])
        if found is None and (path := _path_on_disk(href, file)):
            found = self._by_folder(path) or self._by_pattern(path, rest_as_url=_escaped)
        return found

    def _by_pattern(self, name: str, *, rest_as_url: Callable[[str], str]) -> Url | None:
        for pattern, base in self._patterns:
            match = pattern.match(name)
            if match is None:
                continue
            url = base + rest_as_url(name[match.end() :])
            found = self._variants.page(url) or self._variants.page(url.rstrip("/") + ".html")
            if found is not None:
                return found
        return None

    def _by_folder(self, path: str) -> Url | None:
        for folder, base in self._folders:
            if path.startswith(folder):
                found = self._variants.page(base + _escaped(path[len(folder) :]))
                if found is not None:
                    return found
        return None


class MountedPage(Struct, frozen=True, gc=False):
    """A page of a world, with its links rewritten."""

    url: Url
    html: bytes
    links: list[Url]  # to other pages of the world, each once


def mount(
    path: Path,
    urls: Mapping[str, Url],
    rewriter: LinkRewriter,
    *,
    folder: str = "/",
    strip: Strip = lambda content: content,
) -> Iterator[MountedPage]:
    """The files of a folder or tar that have URLs, as pages.

    folder: the folder into which the files would be installed, with a slash at its end.
    """
    for name, content in read_files(path, urls.__contains__):
        if _without_gz(name) != name:
            content = gunzip(content, f"{path}, {name}")
        content = strip(content)
        text, links = rewriter.rewrite(urls[name], decode(content), folder + name)
        yield MountedPage(urls[name], as_utf8(text, content), links)


def _without_gz(name: str) -> str:
    """The name of a file without its suffix .gz, in either case."""
    return name[:-3] if name.lower().endswith(".gz") else name


def _escaped(path: str) -> str:
    """A path on the disk as a path of a URL."""
    return quote(path, safe=_SAFE)


def _path_on_disk(href: str, file: str) -> str:
    """The path of the file that a link in `file` means; empty if it means none."""
    if scheme := _FILE_SCHEME.match(href):
        href = "/" + href[scheme.end() :]
    elif _SCHEME.match(href) or href.startswith("//"):
        return ""
    path = unquote(href.partition("?")[0])
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
    return joined + "/" if path.endswith("/") else joined
