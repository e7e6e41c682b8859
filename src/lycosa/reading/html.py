"""Parses HTML: title, visible text, links with their offsets in it, and metadata.

Only this file and `markdown` use the parsers: Lexbor for pages, Resiliparse for the main text.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from lycosa.vocabulary.records import Link, Url
from lycosa.vocabulary.urls import Joiner, join

from .prune import MAX_HREF, ROBOTS_NAMES, prune
from .robots_directives import directives_in

MAX_LINKS = 5000  # of one page, by default
# What a page can make of few bytes is bounded: relative links have the length of its base, of which they need not
# repeat a character, each is stored with the URL of its page, and long anchors compress to nearly nothing. Of some
# thousand real pages, a compressed list of functions has most: 30 characters of URLs and 3 of anchors for each byte.
_LINK_OVERHEAD = 50  # characters that count for each link, besides its URL and that of the page
_URLS_PER_LINK, _ANCHORS_PER_LINK = 250, 100  # characters, on average if a page has as many links as it may
_URLS_PER_BYTE, _ANCHORS_PER_BYTE = 36, 10  # characters, of the page as sent
_SHORT_PAGE = 1_500  # bytes; shorter pages count as that long
_FEW_WORDS, _FEW_LINKS = 50, 5  # a page with fewer words, at most so many links, and scripts probably needs JavaScript
MAX_ANCHOR = 300  # characters
_MAX_ANCHOR_NODES = 300  # read for an anchor: in table cells, links nest, and each has the content of all inside it
MAX_TITLE = 500  # characters
_MAX_REL = 100  # characters
_RELS_FOR_ROBOTS = frozenset(("nofollow", "ugc", "sponsored"))
_MAX_TAGS = 20_000  # read for the main text: its extraction is quadratic in the number of siblings
BOILERPLATE_TAGS = ["nav", "footer", "aside"]
_BOILERPLATE_ROLES = "[role=navigation], [role=contentinfo], [role=complementary]"
INVISIBLE_TAGS = ["script", "style", "noscript", "template", "iframe", "noframes", "noembed"]

# Inserted before each link, so that one pass over the tree gives the text and the offset of every link. This control
# character has no use in text and, unlike private-use ones, does not widen a string of one-byte characters.
_MARK = "\x02"
_mark_reference = re.compile("&#(?:0*+2(?![0-9])|[xX]0*+2(?![0-9A-Fa-f]));?")
_runs_script = re.compile("<script(?![^>]{0,200}json)", re.IGNORECASE)  # JSON is data
_refresh_url = re.compile(r"url\s*+=\s*+[\"']?+([^\"'>]++)", re.IGNORECASE)


class Parsed(Struct, frozen=True, gc=False):
    """The parsed content of a page."""

    title: str
    text: str
    main: str  # the text without navigation, asides and footers
    links: tuple[Link, ...]
    canonical: Url | None
    language: str
    robots: frozenset[str]  # words of its robots metas, lower case
    links_beyond: int = 0  # number of hrefs beyond the limits, not resolved: some may be repetitions
    needs_script: bool = False  # hardly any text or links, but scripts


def parse_html(html: str, url: Url, *, max_links: int = MAX_LINKS, size: int | None = None) -> Parsed:
    """Parses a page; never fails.

    size: number of bytes of the page as sent, possibly compressed, which limits what is kept of its links.
    """
    size = len(html) if size is None else size
    html = prune(_strip_marks_and_references(html))
    tree = LexborHTMLParser(html)
    root, body = tree.root, tree.body
    metas = [node.attributes for node in tree.tags("meta")]
    base = base_of(tree, url)
    links = _Links(url, base, max_links, size)
    for meta in metas:
        if _lower_case_value(meta, "http-equiv") == "refresh":
            links.add_refresh(meta.get("content") or "")
    for tag, attribute in (("frame", "src"), ("iframe", "src"), ("area", "href")):
        for node in tree.tags(tag):
            links.add_plain(node, attribute)
    tree.strip_tags(INVISIBLE_TAGS)
    text = main = ""
    if body is not None:
        links.mark(tree.tags("a"))
        text = links.place_links(body.text(separator=" "))
        main = _without_boilerplate(tree, text, has_roles="role=" in html)
    return Parsed(
        title=_title(tree),
        text=text,
        main=main,
        links=tuple(links.found),
        canonical=_canonical(tree, base),
        language=(root.attributes.get("lang") or "")[:20] if root is not None else "",
        robots=frozenset(_robots_words(metas)),
        links_beyond=links.links_beyond,
        needs_script=len(links.found) <= _FEW_LINKS
        and len(text.split()) < _FEW_WORDS
        and _runs_script.search(html) is not None,
    )


def _without_boilerplate(tree: LexborHTMLParser, text: str, *, has_roles: bool) -> str:
    """The text without elements marked up as navigation, asides or footers, which are removed from the tree."""
    tree.strip_tags(BOILERPLATE_TAGS)
    if has_roles:
        strip_boilerplate_roles(tree)
    body = tree.body
    main = _strip_marks(body.text(separator=" ")) if body is not None else ""
    return main if main.strip() else text


def strip_boilerplate_roles(tree: LexborHTMLParser) -> None:
    """Removes elements with the role of navigation or the like, except the root."""
    nodes = [node for node in tree.css(_BOILERPLATE_ROLES) if node.tag != "html"]
    ids = {node.mem_id for node in nodes}
    for node in [node for node in nodes if not _has_ancestor(node, ids)]:
        node.decompose()


def _has_ancestor(node: LexborNode, ids: Container[int]) -> bool:
    ancestor = node.parent
    while ancestor is not None and ancestor.mem_id not in ids:
        ancestor = ancestor.parent
    return ancestor is not None


def _strip_marks(marked_text: str) -> str:
    return marked_text.replace(_MARK, "")


def _strip_marks_and_references(html: str) -> str:
    html = _strip_marks(html)
    # A blank: if it were removed, what is around it could become a reference.
    return _mark_reference.sub(" ", html) if "&#" in html else html


def _lower_case_value(attributes: Mapping[str, str | None], name: str) -> str:
    return (attributes.get(name) or "").strip().lower()


def _title(tree: LexborHTMLParser) -> str:
    for node in tree.tags("title"):
        if node.parent is None or node.parent.tag != "svg":
            return " ".join(node.text()[: 4 * MAX_TITLE].split())[:MAX_TITLE]
    return ""


def base_of(tree: LexborHTMLParser, url: Url) -> Url:
    """What the relative links of a page are relative to."""
    for node in tree.tags("base"):
        href = (node.attributes.get("href") or "").strip()
        if href:
            return (join(url, href) if len(href) <= MAX_HREF else None) or url
    return url


def _canonical(tree: LexborHTMLParser, base: Url) -> Url | None:
    for node in tree.tags("link"):
        attributes = node.attributes
        href = (attributes.get("href") or "").strip()
        if "canonical" in _lower_case_value(attributes, "rel").split() and 0 < len(href) <= MAX_HREF:
            return join(base, href)
    return None


def _robots_words(metas: Iterable[Mapping[str, str | None]]) -> Iterator[str]:
    for meta in metas:
        if _lower_case_value(meta, "name") in ROBOTS_NAMES:
            yield from directives_in(_lower_case_value(meta, "content"))


class _Links:
    """Collects the links of one page, each target once."""

    def __init__(self, url: Url, base: Url, max_links: int, size: int):
        self.found: list[Link] = []
        self.links_beyond = 0  # number of links dropped because the page has too many, or too long ones
        self._max_links = max_links
        most, size = max(max_links, MAX_LINKS), max(size, _SHORT_PAGE)
        self._url_characters_left = min(_URLS_PER_LINK * most, _URLS_PER_BYTE * size)
        self._anchor_characters_left = min(_ANCHORS_PER_LINK * most, _ANCHORS_PER_BYTE * size)
        self._page_length = len(url)
        self._join = Joiner(base)
        self._hrefs: set[str] = set()
        self._targets: set[Url] = {url}
        self._marked: list[tuple[Url, str, str]] = []  # target, anchor and rel of each link

    def add_refresh(self, content: str) -> None:
        """Adds the target of a `<meta http-equiv="refresh">`, given the value of its `content`."""
        match = _refresh_url.search(content)
        target = self._new_target(match[1]) if match else None
        if target:
            self.found.append(Link(target))

    def add_plain(self, node: LexborNode, attribute: str) -> None:
        """Adds the link in an attribute of an element without text, such as a frame."""
        attributes = node.attributes
        target = self._new_target(attributes.get(attribute))
        if target:
            anchor = self._within_limit((attributes.get("alt") or attributes.get("title") or "")[:MAX_ANCHOR])
            self.found.append(Link(target, anchor, _rel(attributes)))

    def mark(self, nodes: Iterable[LexborNode]) -> None:
        """Inserts a mark before each link to a new target."""
        new_target, marked = self._new_target, self._marked
        for node in nodes:
            attributes = node.attributes
            target = new_target(attributes.get("href"))
            if target:
                anchor = self._within_limit(_anchor(node, attributes))
                rel = _rel(attributes) if "rel" in attributes else ""
                marked.append((target, anchor, rel))
                node.insert_before(_MARK)

    def place_links(self, marked_text: str) -> str:
        """The text without marks; adds the marked links with their offsets in it."""
        first, *pieces = marked_text.split(_MARK)
        offset, found = len(first), self.found
        for piece, (target, anchor, rel) in zip(pieces, self._marked, strict=False):
            found.append(Link(target, anchor, rel, offset + len(piece) - len(piece.lstrip())))
            offset += len(piece)
        return first + "".join(pieces)

    def _within_limit(self, anchor: str) -> str:
        """The anchor; nothing if the page has had too many characters of them."""
        if self._anchor_characters_left <= 0:
            return ""
        self._anchor_characters_left -= len(anchor)
        return anchor

    def _new_target(self, href: str | None) -> Url | None:
        """The target of a link; None if the page has linked to it before."""
        if not href or href in self._hrefs or len(href) > MAX_HREF:
            return None
        self._hrefs.add(href)
        if len(self._targets) > self._max_links or self._url_characters_left <= 0:
            self.links_beyond += 1
            return None
        target = self._join(href.strip())
        if target is None or target in self._targets:
            return None
        self._url_characters_left -= self._page_length + len(target) + _LINK_OVERHEAD
        self._targets.add(target)
        return target


def _rel(attributes: Mapping[str, str | None]) -> str:
    rel = (attributes.get("rel") or "").lower()
    if len(rel) > _MAX_REL:  # truncation must not remove what robots have to obey
        rel = " ".join(sorted(rel.split(), key=lambda word: word not in _RELS_FOR_ROBOTS))
    return rel[:_MAX_REL]


def _anchor(link: LexborNode, attributes: Mapping[str, str | None]) -> str:
    """The text of a link; if it has none, the description of its image, or its title."""
    pieces: list[str] = []
    length, alt = 0, attributes.get("title")
    has_image = False
    for node in islice(link.traverse(include_text=True), _MAX_ANCHOR_NODES):
        if (text := node.text_content) is not None:
            pieces.append(text)
            length += len(text) + 1
            if length > 4 * MAX_ANCHOR:
                break
        elif not has_image and node.tag == "img" and "alt" in (image := node.attributes):
            alt, has_image = image["alt"], True
    return _clipped(_strip_marks(" ".join(pieces))) or _clipped(alt or "")


def _clipped(text: str) -> str:
    return " ".join(text[: 4 * MAX_ANCHOR].split())[:MAX_ANCHOR]


def main_text(html: str) -> str:
    """The main text of a page without navigation, footers and the like, one paragraph a line; may be empty."""
    from resiliparse.extract.html2text import (
        extract_plain_text,  # imported late: slow, and not needed by crawls
    )

    beginning = "<".join(prune(html).split("<", _MAX_TAGS)[:_MAX_TAGS])
    text: str = extract_plain_text(
        beginning, main_content=True, preserve_formatting=True, list_bullets=False, links=False, alt_texts=False
    )
    return text
