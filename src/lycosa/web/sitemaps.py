"""Sitemaps (sitemaps.org): lists of a site's pages, as XML or plain text, gzipped or not."""

from contextlib import suppress
from xml.parsers import expat

from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import join, normalise

from .encodings import decoded

MAX_BYTES = 10_000_000  # of one sitemap, unzipped
_MAX_URL_LENGTH = 2_048  # characters, by the protocol
_MAX_ELEMENTS = 1_000  # before the first URL, and per URL: images and translations have elements of their own
_MAX_NAMES = 1_000  # of elements and attributes; a thousand times as many would take many seconds and 250 MB
_MAX_MARKUP = 65_536  # bytes of one tag or comment, all of whose attributes the parser reads before it reports any


class _StopParsingError(Exception):
    """Stops the XML parser: the sitemap is too long, or has something that no sitemap needs."""


def unzipped(content: bytes) -> bytes:
    """The first `MAX_BYTES` of a sitemap that may be gzipped."""
    return decoded(content, "gzip", MAX_BYTES)[0] if content.startswith(b"\x1f\x8b") else content


def parse_sitemap(url: Url, content: bytes, limit: int) -> tuple[list[Url], list[Url]]:
    """The pages and the further sitemaps that a sitemap lists, at most `limit` of each."""
    content = unzipped(content)
    xml = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if xml.startswith(b"<"):
        pages, sitemaps = _urls_in_xml(xml, limit)
        return _absolute(url, pages), _absolute(url, sitemaps)
    lines = content.decode("utf-8-sig", "replace").splitlines()[: 2 * limit]
    urls = (
        normalise(line) for line in lines if line.startswith(("http://", "https://")) and len(line) <= _MAX_URL_LENGTH
    )
    return [page for page in urls if page is not None][:limit], []


def _absolute(base: Url, urls: list[str]) -> list[Url]:
    return [target for text in urls if (target := join(base, text)) is not None]


def _urls_in_xml(content: bytes, limit: int) -> tuple[list[str], list[str]]:
    pages: list[str] = []
    sitemaps: list[str] = []
    path: list[str] = []
    text: list[str] = []
    names: set[str] = set()
    elements_since_url = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal elements_since_url
        names.add(tag)
        names.update(attributes)
        path.append(tag.rpartition(":")[2].lower())
        text.clear()
        elements_since_url += 1
        if len(path) > 16 or elements_since_url > _MAX_ELEMENTS or len(names) > _MAX_NAMES:
            raise _StopParsingError

    def data(characters: str) -> None:
        if path and path[-1] == "loc" and len(text) < _MAX_URL_LENGTH:
            text.append(characters)

    def end(_tag: str) -> None:
        nonlocal elements_since_url
        if path[-2:] in (["url", "loc"], ["sitemap", "loc"]):
            listed = pages if path[-2] == "url" else sitemaps
            elements_since_url = 0
            location = "".join(text).strip()
            if location and len(location) <= _MAX_URL_LENGTH:
                listed.append(location)
            if len(listed) >= limit:
                raise _StopParsingError
        path.pop()

    def refuse(*_: object) -> None:
        raise _StopParsingError

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse  # without a doctype, there are no entities to expand
    with suppress(expat.ExpatError, _StopParsingError, ValueError, LookupError):  # the last two for unknown encodings
        for offset in range(0, len(content), _MAX_MARKUP):
            parser.Parse(content[offset : offset + _MAX_MARKUP], False)
            if offset - parser.CurrentByteIndex >= _MAX_MARKUP:
                break
        else:
            parser.Parse(b"", True)
    return pages, sitemaps
