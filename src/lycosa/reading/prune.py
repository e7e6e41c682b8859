"""Makes any HTML safe to parse in linear time: Lexbor is quadratic in nesting depth, in the attributes of one tag, and
in unclosed formatting elements.

A page with few, short tags is parsed as it is. In any other page, one linear scan keeps only the tags that the reader
needs: blocks down to a depth, elements that cannot nest in themselves, links, and those whose content is not text.
Anything that looks like a tag within a comment or raw text is dropped, so that the parser sees exactly the tags that
the scan has counted. An end tag closes only the innermost open block, so the count is never below the parser's.

Within SVG and MathML, no element has raw text, a slash closes an element, and HTML tags end them without an end tag.
There, the scan keeps track of the open elements. If it cannot tell whether the rest is markup, robots directives that
may be in it are obeyed.

A <frameset> replaces the body, unless certain elements precede it, of which the scan drops some. So it is dropped too,
and its frames become <iframe>, which may be anywhere.
"""

import re
from collections.abc import Generator, Iterator
from enum import Enum
from typing import NamedTuple

from lycosa.vocabulary.text import unescaped

# Regular expressions for text that looks like markup but is not: comments, and raw-text elements. Each matches in
# linear time, up to the end of the text if nothing closes the construct.

_RAW_TEXT = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")

# After a "<": comments, and what the parser treats as such, except those closed before the next "<" or ">", which
# hide nothing.
_COMMENT = "(?:!--(?![^<>]*+-->)(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>)?+)|(?!!--)[!?/](?![^<>]*+>)[^>]*+>?)"

# The name of a start tag followed by raw text; most other tags are ruled out by their first two letters.
_NAME_END = "(?=[\\t\\n\\f\\r />])"
_OTHER_RAW_TEXT = "|".join(name for name in _RAW_TEXT if name != "script")
_RAW_TEXT_NAME = (
    f"(?=[INSTXinstx][CEFIMOTYcefimoty])(?<!/)(?ai:(?P<script>script)|(?P<raw>{_OTHER_RAW_TEXT})){_NAME_END}"
)

# A script may hold a comment, which may hold scripts of its own, and these hide their end tags; "-->" ends them all.
_SCRIPT_IN_COMMENT = f"<script{_NAME_END}(?:[^<-]++|-(?!->)|<(?!/script{_NAME_END}))*+(?:</script{_NAME_END})?+"
_COMMENT_IN_SCRIPT = f"<!(?=--)(?:[^<-]++|-(?!->)|<(?!/?script{_NAME_END})|{_SCRIPT_IN_COMMENT})*+(?:-->)?+"
_IN_SCRIPT = f"(?:[^<]++|<(?!!--|/script{_NAME_END})|{_COMMENT_IN_SCRIPT})*+"
_IN_OTHER_RAW_TEXT = f"(?:[^<]++|<(?!/(?P=raw){_NAME_END}))*+"

# From the start tag to the end tag.
_CONTENT = f"(?(script)(?ai:{_IN_SCRIPT}))(?(raw)(?ai:{_IN_OTHER_RAW_TEXT}))"


FEW_TAGS = 1000
SHORT_PAGE = 32_000  # characters; even if all are in one tag, parsed in 0.1 s
LONG_TAG = 1000  # characters
MAX_DEPTH = 200  # of nested blocks
MAX_LISTS = 10  # of nested lists, each of which indents its content
MAX_HREF = 4000  # characters
_MAX_NOSCRIPT = 100  # elements, each of which the parser may leave open
_MAX_ATTRIBUTES = 40


def name_set(text: str) -> frozenset[str]:
    """A set of names of elements or attributes, given separated by blanks."""
    return frozenset(text.split())


_BLOCKS = name_set(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer "
    "h1 h2 h3 h4 h5 h6 header hgroup main menu nav ol pre section summary table template ul"
)
_LISTS = name_set("ol ul menu dir")
_KEPT_ELEMENTS = name_set(  # close each other or have no content
    "a li p tbody td tfoot th thead tr area base br hr img link meta head"
)
_READ_ATTRIBUTES = name_set("alt aria-label class content hidden href http-equiv lang name rel role src start title")
_MAX_NAME_LENGTH = max(map(len, _READ_ATTRIBUTES))
_KEPT_ONCE = frozenset(("html", "body"))  # the parser merges the attributes of later ones into the first

_HAS_LONG_TAG = re.compile(f"<[^>]{{{LONG_TAG}}}")
_QUOTED_END = re.compile("=\\s*+(?:\"[^\">]*+>|'[^'>]*+>)")  # possibly a ">" within an attribute

# Attributes as in the HTML standard: any character except these may be part of a name, and a quoted value ends at its
# quote or at the end of the page.
_BLANK = "\\t\\n\\f\\r "
_NAME = f"[^{_BLANK}/>][^{_BLANK}/>=]*+"
_EQUALS = f"[{_BLANK}]*+=[{_BLANK}]*+"
_VALUE = f"\"[^\"]*+(?:\"|\\Z)|'[^']*+(?:'|\\Z)|[^{_BLANK}>\"'][^{_BLANK}>]*+"
_ATTRIBUTE = re.compile(f"({_NAME})(?:{_EQUALS}({_VALUE})?+)?+")
_PLAIN_ATTRIBUTE = f"[{_BLANK}]++[^\\s\"'<>/=]++(?:=(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\\s\"'<>=`/]++))?+"
_ANY_NAME = f"[A-Za-z][^{_BLANK}/>]*+"
_IN_TAG = (
    f"(?:(?P<plain>(?:{_PLAIN_ATTRIBUTE}){{0,{_MAX_ATTRIBUTES}}}+[{_BLANK}]*+/?>)"
    f"|(?P<attributes>(?:[{_BLANK}/]++|{_NAME}(?:{_EQUALS}(?:{_VALUE})?+)?+)*+)(?P<end>>?))"
)
_MARKUP = re.compile(
    f"<(?:(?P<closes>/?)(?P<name>{_RAW_TEXT_NAME}|{_ANY_NAME}){_IN_TAG}(?P<content>{_CONTENT})|{_COMMENT})"
)
_ROOT = re.compile("<(?:html|body)", re.IGNORECASE)

# ---------------------------------------------------------------- SVG and MathML

_FOREIGN_START = re.compile(f"(?ai:<(?:svg|math)){_NAME_END}")
_FOREIGN_NAMES = frozenset(("svg", "math"))
_CDATA = "!\\[CDATA\\[(?P<cdata>(?:[^\\]]++|\\](?!\\]>))*+)(?P<cdata_end>\\]\\]>)?+"
_FOREIGN_MARKUP = re.compile(f"<(?:(?P<closes>/?)(?P<name>{_ANY_NAME}){_IN_TAG}|{_CDATA}|{_COMMENT})")
# Raw text that is the same if parsed as markup: without "<", except in CDATA sections.
_MARKUP_FREE_RAW_TEXT = re.compile(
    f"(?P<content>[^<]*+(?:<!\\[CDATA\\[(?:[^\\]<]++|\\](?!\\]>))*+\\]\\]>[^<]*+)*+)</(?P<name>[A-Za-z]++)[{_BLANK}]*+>"
)
# Elements within which HTML is parsed, and start tags that end them:
# https://html.spec.whatwg.org/multipage/parsing.html#parsing-main-inforeign
_INTEGRATION_POINTS = {"svg": name_set("foreignobject desc title"), "math": name_set("mi mo mn ms mtext")}
_HTML_ENCODINGS = frozenset(("text/html", "application/xhtml+xml"))
_ENDS_FOREIGN = name_set(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
_FONT_ATTRIBUTES = frozenset(("color", "face", "size"))
_VOID_ELEMENTS = name_set("area base br col embed hr img input link meta param source track wbr")
_NOT_SHOWN = frozenset(("script", "style", "iframe", "noembed", "noframes"))
_MAX_OPEN_FOREIGN = 500  # elements within SVG and MathML
_META = re.compile(f"(?ai:<meta)(?=[{_BLANK}/])")
_MAX_META_LENGTH = 2000  # characters
_MAX_METAS = 500  # that are read where each of their characters may be read again for the next
ROBOTS_NAMES = ("robots", "lycosa")  # names of the metas whose robots directives are obeyed


def prune(html: str) -> str:
    """The same page, safe to parse in time linear in its length."""
    if _is_fast_to_parse(html):
        return html
    if _FOREIGN_START.search(html):
        return "".join(_Pruner().pieces(html))
    return _MARKUP.sub(_Pruner().replacement, html)


def _is_fast_to_parse(html: str) -> bool:
    has_few_tags = html.count("<") <= FEW_TAGS
    if has_few_tags and len(html) <= SHORT_PAGE:
        return True
    return (
        has_few_tags
        and not _HAS_LONG_TAG.search(html)
        and not _QUOTED_END.search(html)
        and len(_ROOT.findall(html)) <= 4
    )


class _Pruner:
    """One pass over the markup of a page."""

    def __init__(self) -> None:
        self._open: list[str] = []  # names of the open blocks, innermost last
        self._open_lists = 0  # number of lists among these
        self._too_deep = 0  # number of open blocks that were dropped
        self._noscripts = 0  # number of start tags so far
        self._seen: set[str] = set()  # names of `_KEPT_ONCE`, with the slash of an end tag

    def pieces(self, html: str) -> Iterator[str]:
        """The pieces that replace a page that may contain SVG or MathML."""
        position = 0
        while True:
            for markup in _MARKUP.finditer(html, position):
                yield html[position : markup.start()]
                yield self.replacement(markup)
                position = markup.end()
                name = (markup["name"] or "").lower()
                if name in _FOREIGN_NAMES and not markup["closes"] and not _is_self_closing(markup):
                    break
            else:
                yield html[position:]
                return
            foreign = _ForeignContent(name)
            position = yield from self._foreign_pieces(html, position, foreign)
            if foreign.is_uncertain:
                yield from _possible_directives(html[position:])
                yield _MARKUP.sub(self.replacement, html[position:])
                return

    def _foreign_pieces(self, html: str, position: int, foreign: "_ForeignContent") -> Generator[str, None, int]:
        """The pieces that replace SVG or MathML; returns its end, or the place from which parsing is uncertain."""
        tags = _FOREIGN_MARKUP.finditer(html, position)
        while (markup := next(tags, None)) is not None:
            if foreign.is_shown:
                yield html[position : markup.start()]
            name = (markup["name"] or "").lower()
            content = None
            if name in _RAW_TEXT and not markup["closes"] and not foreign.has_no_raw_text:
                content = _MARKUP_FREE_RAW_TEXT.match(html, markup.end())
                if content is None or content["name"].lower() != name:
                    foreign.is_uncertain = True
                    return markup.start()
            elif not foreign.process(markup, name):
                return markup.start()
            position = markup.end() if content is None else content.end()
            if content is not None:
                yield f" {content['content'].replace('<', '&lt;')}" if name not in _NOT_SHOWN else " "
                tags = _FOREIGN_MARKUP.finditer(html, position)
            elif markup["cdata"] is not None:
                yield f" {markup['cdata'].replace('&', '&amp;').replace('<', '&lt;')}" if foreign.is_shown else " "
            elif name == "iframe" and not markup["closes"] and markup["end"] != "":
                yield f"{_simplified(markup, name)}</iframe>"
            else:
                # These would hide what follows.
                is_dropped = name in _RAW_TEXT or (name == "template" and not markup["closes"])
                yield " " if is_dropped else self.replacement(markup)
            if not foreign.is_open:
                return position
        yield html[position:]
        return len(html)

    def replacement(self, markup: re.Match[str]) -> str:
        """The replacement of a tag: itself, a simpler tag, or a blank. Not the empty string: a "<" before it could then
        form a tag with the text after it."""
        name: str | None = markup["name"]
        if markup["end"] == "":
            return " "  # a tag cut off by the end of the page
        if name in _KEPT_ELEMENTS:
            return markup[0] if markup["plain"] else _simplified(markup, name)
        if name is None or not name.isascii():
            return " "
        name = name.lower()
        if name in _BLOCKS:
            return self._block(markup, name)
        if name in _RAW_TEXT:
            return _simplified_raw_text(markup, name)
        if name == "frame" and not markup["closes"]:
            return f"{_simplified(markup, 'iframe')}</iframe>"
        if name == "noscript":
            self._noscripts += not markup["closes"]
            return _simplified(markup, name) if self._noscripts <= _MAX_NOSCRIPT else " "
        if name in _KEPT_ELEMENTS or (name in _KEPT_ONCE and self._note_first(markup["closes"] + name)):
            return _simplified(markup, name)
        return " "

    def _note_first(self, name: str) -> bool:
        """Notes a name; returns whether it is the first time."""
        is_first = name not in self._seen
        self._seen.add(name)
        return is_first

    def _block(self, tag: re.Match[str], name: str) -> str:
        if tag["closes"]:
            if self._too_deep:
                self._too_deep -= 1
                return " "
            if self._open and self._open[-1] == name:
                self._open.pop()
                self._open_lists -= name in _LISTS
        elif len(self._open) >= MAX_DEPTH or (name in _LISTS and self._open_lists >= MAX_LISTS):
            self._too_deep += 1
            return " "
        else:
            self._open.append(name)
            self._open_lists += name in _LISTS
        return _simplified(tag, name)


class _ElementType(Enum):
    FOREIGN = "an element of SVG or MathML"
    INTEGRATION_POINT = "an element of SVG or MathML whose content is HTML"
    HTML = "an element of HTML within an integration point"


class _Element(NamedTuple):
    name: str
    element_type: _ElementType
    root: str  # svg or math


class _ForeignContent:
    """The open elements from the start tag of SVG or MathML (foreign content) on, as in the HTML standard's parser.

    After misnested HTML elements, they are no longer known: from then on all count as open, and anything that HTML
    parses differently makes the rest uncertain.
    """

    def __init__(self, root: str) -> None:
        self._open = [_Element(root, _ElementType.FOREIGN, root)]
        self._is_known = True
        self.is_uncertain = False

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    @property
    def is_shown(self) -> bool:
        """Whether the following text is visible."""
        return self._open[-1].element_type is not _ElementType.FOREIGN or self._open[-1].name not in _NOT_SHOWN

    @property
    def has_no_raw_text(self) -> bool:
        """Whether what follows is certainly within SVG or MathML."""
        return self._is_known and self._open[-1].element_type is _ElementType.FOREIGN

    def process(self, markup: re.Match[str], name: str) -> bool:
        """Processes a tag; False if parsing is uncertain from here on."""
        if markup["cdata"] is not None:
            is_text = self._is_known and self._open[-1].element_type is not _ElementType.HTML
            self.is_uncertain = not is_text and (">" in markup["cdata"] or not markup["cdata_end"])
        elif name and markup["end"] != "":
            if len(self._open) >= _MAX_OPEN_FOREIGN:
                self._is_known = False
            if self._is_known:
                (self._end if markup["closes"] else self._start)(markup, name)
        return not self.is_uncertain

    def _start(self, tag: re.Match[str], name: str) -> None:
        if self._open[-1].element_type is _ElementType.FOREIGN and (
            name in _ENDS_FOREIGN or (name == "font" and not _FONT_ATTRIBUTES.isdisjoint(_attributes(tag)))
        ):
            while self._open and self._open[-1].element_type is _ElementType.FOREIGN:
                self._open.pop()
            if not self._open:
                return
        inner = self._open[-1]
        if inner.element_type is _ElementType.FOREIGN:
            root = "svg" if inner.name == "annotation-xml" and name == "svg" else inner.root
            is_point = name in _INTEGRATION_POINTS[root]
            if root == "math" and name == "annotation-xml":
                is_point = unescaped(_attributes(tag).get("encoding", "")).lower() in _HTML_ENCODINGS
            if not _is_self_closing(tag):
                self._open.append(
                    _Element(name, _ElementType.INTEGRATION_POINT if is_point else _ElementType.FOREIGN, root)
                )
        elif name in _FOREIGN_NAMES:
            if not _is_self_closing(tag):
                self._open.append(_Element(name, _ElementType.FOREIGN, name))
        elif name in ("mglyph", "malignmark", "plaintext"):
            self._is_known = False
        elif name not in _VOID_ELEMENTS:
            self._open.append(_Element(name, _ElementType.HTML, inner.root))

    def _end(self, tag: re.Match[str], name: str) -> None:
        for position in range(len(self._open) - 1, -1, -1):
            element = self._open[position]
            if element.name == name:
                del self._open[position:]
                return
            if element.element_type is _ElementType.HTML:
                break
        self._is_known = False


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    """The attributes of a tag, verbatim."""
    attributes: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(tag["plain"] or tag["attributes"]):
        attributes.setdefault(key.lower(), value[1:-1] if value[:1] in ("'", '"') else value)
    return attributes


def _is_self_closing(tag: re.Match[str]) -> bool:
    """Whether a tag is self-closing, with a slash that is not part of an attribute."""
    if not tag[0].endswith("/>"):
        return False
    inside = (tag["plain"] or f"{tag['attributes']}>")[:-1]
    last = 0
    for attribute in _ATTRIBUTE.finditer(inside):
        last = attribute.end()
    return last < len(inside)


def _possible_directives(html: str) -> Iterator[str]:
    """The robots directives in the rest of a page, if everything that looks like a tag were one; a <meta> that is too
    long to be read forbids everything, as do too many."""
    for number, match in enumerate(_META.finditer(html)):
        limit = match.end() + _MAX_META_LENGTH
        tag = _FOREIGN_MARKUP.match(html, match.start(), limit) if number < _MAX_METAS else None
        attributes = _attributes(tag) if tag is not None else {}
        if number == _MAX_METAS or (tag is not None and tag["end"] == "" and tag.end() == limit):
            yield '<meta name="robots" content="noindex,nofollow">'
            return
        if unescaped(attributes.get("name", "")).strip().lower() in ROBOTS_NAMES:
            yield f'<meta name="robots" content="{_unquoted(attributes.get("content", ""))}">'
    if "nofollow" in unescaped(html).lower():
        yield '<meta name="robots" content="nofollow">'


def _simplified_raw_text(element: re.Match[str], name: str) -> str:
    """The start tag of a raw-text element with its visible content, without "<"; or its end tag."""
    tag, content = _simplified(element, name), element["content"]
    if name == "xmp":  # has no character references
        return f" {content.replace('&', '&amp;').replace('<', '&lt;')}"
    return tag + content.replace("<", "&lt;") if name in ("title", "textarea") else tag


def _simplified(tag: re.Match[str], name: str) -> str:
    """A tag with only the attributes that the reader needs, without duplicates, quoted."""
    if tag["closes"]:
        return f"</{name}>"
    if plain := tag["plain"]:
        return f"<{name}{plain}"
    attributes: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(tag["attributes"]):
        if len(key) <= _MAX_NAME_LENGTH and (key := key.lower()) in _READ_ATTRIBUTES:
            attributes.setdefault(key, value)
    attributes_text = "".join(f' {key}="{_unquoted(value)}"' for key, value in attributes.items())
    return f"<{name}{attributes_text}>"


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        value = value[1:].removesuffix(value[0])
    return value.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
