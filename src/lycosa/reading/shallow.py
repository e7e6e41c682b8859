"""Keeps the parser out of trouble: Lexbor is quadratic in nesting depth, in the attributes of one tag, and in the
formatting elements left open.

A page with few, short tags goes to the parser as it is. On any other page one linear scan keeps only the tags that
reading needs: blocks down to a depth, elements that cannot nest by themselves, links, and those whose content is not
text. Of the open blocks only the innermost counts as closed by an end tag, so the count is never below the parser's.
"""

import re

FEW_TAGS = 1000
SHORT_PAGE = 32_000  # characters; even with all of them in one tag, parsed in a tenth of a second
LONG_TAG = 1000  # characters
MAX_DEPTH = 200  # blocks within blocks
_MAX_UNSEEN = 100  # noscript elements, each of which may stay open for the parser
_MAX_ATTRIBUTES = 40
_MAX_HREF = 4000  # characters


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_BLOCKS = _names(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer "
    "frameset h1 h2 h3 h4 h5 h6 header hgroup main menu nav ol pre search section summary table template ul"
)
_KEPT = _names(  # close each other or have no content; raw text must keep its end tag
    "a li p tbody td tfoot th thead tr "
    "area base br frame hr img link meta head "
    "iframe noembed noframes script style textarea title xmp"
)
_ONCE = frozenset(("html", "body"))  # the parser merges the attributes of later ones into the first

_LONG = re.compile(f"<[^>]{{{LONG_TAG}}}")
_QUOTED_END = re.compile("=\\s*+(?:\"[^\">]*+>|'[^'>]*+>)")  # a ">" within an attribute, perhaps
_ATTRIBUTE = "[\\t\\n\\f\\r ]++[^\\s\"'<>/=]++(?:=(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\\s\"'<>=`/]++))?+"
_TAG = re.compile(
    f"<(/?)([A-Za-z][^\\t\\n\\f\\r />]*+)(?:((?:{_ATTRIBUTE}){{0,{_MAX_ATTRIBUTES}}}+[\\t\\n\\f\\r ]*+/?>)|[^>]*+>?)"
)
_HREF = re.compile("\\shref\\s*=\\s*(?:\"([^\">]*+)|'([^'>]*+)|([^\\s\"'>]++))", re.IGNORECASE)
_ROOT = re.compile("<(?:html|body)", re.IGNORECASE)


def shallow(html: str) -> str:
    """The same page, safe to parse in time linear in its length."""
    return html if _is_harmless(html) else _TAG.sub(_Pruning().keep, html)


def _is_harmless(html: str) -> bool:
    few_tags = html.count("<") <= FEW_TAGS
    if few_tags and len(html) <= SHORT_PAGE:
        return True
    return few_tags and not _LONG.search(html) and not _QUOTED_END.search(html) and len(_ROOT.findall(html)) <= 4


class _Pruning:
    """One pass over the tags of a page."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._too_deep = 0  # blocks left out that are still open
        self._unseen = 0
        self._seen: set[str] = set()

    def keep(self, tag: re.Match[str]) -> str:
        """What stands for a tag: itself, a plainer one, or a blank."""
        closes, name = tag[1], tag[2]
        if not name.isascii():
            return " "
        name = name.lower()
        if name in _BLOCKS:
            return self._block(tag, name)
        if name == "noscript":
            self._unseen += not closes
            return _plain(tag, name) if self._unseen <= _MAX_UNSEEN else " "
        if name in _KEPT or (name in _ONCE and self._is_first(closes + name)):
            return _plain(tag, name)
        return " "

    def _is_first(self, name: str) -> bool:
        is_first = name not in self._seen
        self._seen.add(name)
        return is_first

    def _block(self, tag: re.Match[str], name: str) -> str:
        if tag[1]:
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


def _plain(tag: re.Match[str], name: str) -> str:
    if tag[1]:
        return f"</{name}>"
    if tag[3]:
        return tag[0]
    href = _HREF.search(tag[0][: 2 * _MAX_HREF]) if name in ("a", "area", "base", "link") else None
    if not href:
        return f"<{name}>"
    value = (href[1] or href[2] or href[3] or "")[:_MAX_HREF].replace('"', "&quot;")
    return f'<{name} href="{value}">'
