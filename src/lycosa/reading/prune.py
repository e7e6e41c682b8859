"""Makes any HTML safe to parse in linear time: Lexbor is quadratic in nesting depth, in the attributes of one tag, and
in the formatting elements left open.

A page with few, short tags goes to the parser as it is. On any other page one linear scan keeps only the tags that
reading needs: blocks down to a depth, elements that cannot nest by themselves, links, and those whose content is not
text. What looks like a tag within a comment or raw text is not passed on: the parser, whatever it makes of the elements
around, sees the tags that the scan has counted and no others. Of the open blocks only the innermost counts as
closed by an end tag, so the count is never below the parser's.
"""

import re

# Regular expressions for what is no markup though it may look like markup: comments, and elements of raw text. Each
# matches in time linear in the length of the text, up to its end where nothing else ends what has begun.

_RAW_TEXT = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")

# Behind a "<": comments, and what the parser takes for such, less those closed before the next "<" or ">", which hide
# nothing.
_COMMENT = "(?:!--(?![^<>]*+-->)(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>)?+)|(?!!--)[!?/](?![^<>]*+>)[^>]*+>?)"

# The name of a start tag with raw text behind it; most other tags are ruled out by their first two letters.
_END = "(?=[\\t\\n\\f\\r />])"
_OTHERS = "|".join(name for name in _RAW_TEXT if name != "script")
_RAW_TEXT_NAME = f"(?=[INSTXinstx][CEFIMOTYcefimoty])(?<!/)(?ai:(?P<script>script)|(?P<raw>{_OTHERS})){_END}"

# A script may hold a comment, which may hold scripts of its own, and these hide their end tags; "-->" ends them all.
_SCRIPT_IN_COMMENT = f"<script{_END}(?:[^<-]++|-(?!->)|<(?!/script{_END}))*+(?:</script{_END})?+"
_COMMENT_IN_SCRIPT = f"<!(?=--)(?:[^<-]++|-(?!->)|<(?!/?script{_END})|{_SCRIPT_IN_COMMENT})*+(?:-->)?+"
_IN_SCRIPT = f"(?:[^<]++|<(?!!--|/script{_END})|{_COMMENT_IN_SCRIPT})*+"
_IN_OTHERS = f"(?:[^<]++|<(?!/(?P=raw){_END}))*+"

# What follows the start tag up to the end tag; nothing if a slash ends the tag, as it may in SVG.
_CONTENT = f"(?(script)(?:(?<=/>)|(?ai:{_IN_SCRIPT})))(?(raw)(?:(?<=/>)|(?ai:{_IN_OTHERS})))"


FEW_TAGS = 1000
SHORT_PAGE = 32_000  # characters; even with all of them in one tag, parsed in a tenth of a second
LONG_TAG = 1000  # characters
MAX_DEPTH = 200  # blocks within blocks
MAX_HREF = 4000  # characters
_MAX_NOSCRIPT = 100  # elements, each of which may stay open for the parser
_MAX_ATTRIBUTES = 40


def names(text: str) -> frozenset[str]:
    """The names of some elements, separated by blanks."""
    return frozenset(text.split())


_BLOCKS = names(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer "
    "frameset h1 h2 h3 h4 h5 h6 header hgroup main menu nav ol pre section summary table template ul"
)
_KEPT = names(  # close each other or have no content
    "a li p tbody td tfoot th thead tr area base br frame hr img link meta head"
)
_READ_ATTRIBUTES = names("alt aria-label class content hidden href http-equiv lang name rel role src start title")
_LONGEST_NAME = max(map(len, _READ_ATTRIBUTES))
_ONCE = frozenset(("html", "body"))  # the parser merges the attributes of later ones into the first

_LONG = re.compile(f"<[^>]{{{LONG_TAG}}}")
_QUOTED_END = re.compile("=\\s*+(?:\"[^\">]*+>|'[^'>]*+>)")  # a ">" within an attribute, perhaps

# Attributes as the HTML standard reads them: any character but these may be part of a name, and a quoted value ends at
# its quote or at the end of the page.
_BLANK = "\\t\\n\\f\\r "
_NAME = f"[^{_BLANK}/>][^{_BLANK}/>=]*+"
_EQUALS = f"[{_BLANK}]*+=[{_BLANK}]*+"
_VALUE = f"\"[^\"]*+(?:\"|\\Z)|'[^']*+(?:'|\\Z)|[^{_BLANK}>\"'][^{_BLANK}>]*+"
_ATTRIBUTE = re.compile(f"({_NAME})(?:{_EQUALS}({_VALUE})?+)?+")
_PLAIN_ATTRIBUTE = f"[{_BLANK}]++[^\\s\"'<>/=]++(?:=(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\\s\"'<>=`/]++))?+"
_MARKUP = re.compile(
    f"<(?:(?P<closes>/?)(?P<name>{_RAW_TEXT_NAME}|[A-Za-z][^{_BLANK}/>]*+)"
    f"(?:(?P<plain>(?:{_PLAIN_ATTRIBUTE}){{0,{_MAX_ATTRIBUTES}}}+[{_BLANK}]*+/?>)"
    f"|(?P<attributes>(?:[{_BLANK}/]++|{_NAME}(?:{_EQUALS}(?:{_VALUE})?+)?+)*+)(?P<end>>?))(?P<content>{_CONTENT})"
    f"|{_COMMENT})"
)
_ROOT = re.compile("<(?:html|body)", re.IGNORECASE)


def prune(html: str) -> str:
    """The same page, safe to parse in time linear in its length."""
    return html if _is_harmless(html) else _MARKUP.sub(_Pruner().replacement, html)


def _is_harmless(html: str) -> bool:
    few_tags = html.count("<") <= FEW_TAGS
    if few_tags and len(html) <= SHORT_PAGE:
        return True
    return few_tags and not _LONG.search(html) and not _QUOTED_END.search(html) and len(_ROOT.findall(html)) <= 4


class _Pruner:
    """One pass over the markup of a page."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._too_deep = 0  # blocks left out that are still open
        self._noscripts = 0
        self._seen: set[str] = set()

    def replacement(self, markup: re.Match[str]) -> str:
        """What replaces a tag: itself, a plainer one, or a blank. Nothing would not do: a "<" before it would form a
        tag with the text after it."""
        name: str | None = markup["name"]
        if markup["end"] == "":
            return " "  # a tag that the page ends in is none
        if name in _KEPT:
            return markup[0] if markup["plain"] else _plain(markup, name)
        if name is None or not name.isascii():
            return " "
        name = name.lower()
        if name in _BLOCKS:
            return self._block(markup, name)
        if name in _RAW_TEXT:
            return _raw(markup, name)
        if name == "noscript":
            self._noscripts += not markup["closes"]
            return _plain(markup, name) if self._noscripts <= _MAX_NOSCRIPT else " "
        if name in _KEPT or (name in _ONCE and self._is_first(markup["closes"] + name)):
            return _plain(markup, name)
        return " "

    def _is_first(self, name: str) -> bool:
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
        elif len(self._open) >= MAX_DEPTH:
            self._too_deep += 1
            return " "
        else:
            self._open.append(name)
        return _plain(tag, name)


def _raw(element: re.Match[str], name: str) -> str:
    """The start tag of an element of raw text, and of its content what is shown, such that no "<" is left; or its end
    tag."""
    tag, content = _plain(element, name), element["content"]
    if name == "xmp":  # does not know references
        return f" {content.replace('&', '&amp;').replace('<', '&lt;')}"
    if not content and not element["closes"]:
        return f"{tag}</{name}>"  # the parser would look for content behind a tag with a slash at its end
    return tag + content.replace("<", "&lt;") if name in ("title", "textarea") else tag


def _plain(tag: re.Match[str], name: str) -> str:
    """A tag with the attributes that reading needs, each of them once and quoted."""
    if tag["closes"]:
        return f"</{name}>"
    if plain := tag["plain"]:
        return f"<{name}{plain}"
    read: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(tag["attributes"]):
        if len(key) <= _LONGEST_NAME and (key := key.lower()) in _READ_ATTRIBUTES and len(value) <= MAX_HREF + 2:
            read.setdefault(key, value)
    written = "".join(f' {key}="{_unquoted(value)}"' for key, value in read.items())
    return f"<{name}{written}>"


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        value = value[1:].removesuffix(value[0])
    return value.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
