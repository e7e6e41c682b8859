"""The WebKB data set as a world: university pages of 1996 and 1997, each with its class."""

import re
from pathlib import PurePosixPath

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import normalise

from .archives import list_files
from .documents import DocumentWorld, describe_category, required_path, store_pages
from .mount import LinkRewriter, mount

_HEADERS = re.compile(rb"(?:HTTP/[\d.]++ .*+\n)?+(?:[A-Za-z][A-Za-z-]*+:.*+\n(?:[ \t]++\S.*+\n)*+)++\r?\n")
_NOT_HTTP = re.compile(r"(?:ftp|file|gopher):/*", re.IGNORECASE)


class WebKB(DocumentWorld):
    """The WebKB pages of four universities and others, by class: student, faculty, staff, course, project, ...

    There are few links between them, so this world suits classifiers and features better than long crawls. Pages that
    were fetched by FTP or from files get http URLs; of pages with the same URL, the first is kept.

    Craven et al.: Learning to extract symbolic knowledge from the World Wide Web (AAAI 1998).
    """

    def __init__(self, *, path: str = ""):
        source = required_path(path, "webkb:path=FILE with webkb-data.gtar.gz of www.cs.cmu.edu, or a tar like it")
        urls: dict[str, Url] = {}
        classes: dict[Url, str] = {}
        for name in list_files(source, lambda name: "^" in name):
            url = _url(PurePosixPath(name).name)
            parts = name.split("/")
            if url is not None and len(parts) >= 3 and url not in classes:
                urls[name] = url
                classes[url] = f"universities/{parts[-3]}"
        if not urls:
            raise UsageError(f"{source} has no files named like http:^^host^path; is it the WebKB archive?")
        rewriter = LinkRewriter(classes, [])
        pages, links = store_pages(mount(source, urls, rewriter, strip=without_headers))
        leaves: dict[str, list[Url]] = {}
        for url in sorted(classes):
            leaves.setdefault(classes[url], []).append(url)
        super().__init__(
            pages,
            links,
            name="webkb",
            directory=[describe_category(name, leaves[name], pages) for name in sorted(leaves)],
            topics=classes,
            options={"path": source.name},
        )


def _url(file_name: str) -> Url | None:
    """The URL that a file is named after, such as http:^^host^path."""
    return normalise(_NOT_HTTP.sub("http://", file_name.replace("^", "/"), count=1))


def without_headers(content: bytes) -> bytes:
    """The body of a response that was stored with its HTTP headers."""
    headers = _HEADERS.match(content)
    return content[headers.end() :] if headers else content
