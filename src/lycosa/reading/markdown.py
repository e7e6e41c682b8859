"""Converts HTML to Markdown (CommonMark with GitHub's tables) that is safe to open.

Text is escaped, so that no page can inject HTML, links or headings. Links are absolute, and http or https only. Of an
image, only the description is kept, so that rendering the result fetches nothing.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import count, groupby

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lycosa.vocabulary.markdown import CONTROLS, SPACES, escape_line_start, escape_within_line, link_target
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import Joiner

from .html import BOILERPLATE_TAGS, INVISIBLE_TAGS, base_of, strip_boilerplate_roles
from .prune import MAX_HREF, name_set, prune

_MAX_DEPTH = 100  # of nested elements; deeper ones become plain text
_MAX_NESTING = 8  # of lists and quotations, since each level indents every line
_MAX_TARGETS = 2_000_000  # characters of all link targets of a page
_BREAK = "\x00"  # a forced line break while a paragraph is built; pages cannot contain one, see CONTROLS
_BACKTICKS = re.compile(r"`+")
_CODE_LANGUAGE = re.compile(r"(?:^|\s)lang(?:uage)?-([A-Za-z0-9+#-]{1,20})(?:\s|$)")
_CODE_LANGUAGES = name_set(  # only these are named: note-taking programs run blocks of others, such as "dataviewjs"
    "ada asm awk bash basic c c# c++ clojure cmake cobol console cpp cs csharp css csv d dart diff docker dockerfile "
    "elixir elm erlang f# fortran fsharp go graphql groovy haskell hcl html http ini java javascript jl js json jsx "
    "julia kotlin latex less lisp lua makefile markdown matlab md nginx nim objective-c objectivec ocaml octave pascal "
    "perl php plaintext powershell prolog protobuf ps1 py python r rb rs ruby rust sass scala scheme scss sh shell "
    "smalltalk solidity sparql sql svelte swift tcl tex text toml ts tsx turtle txt typescript verilog vhdl vim vue "
    "wasm xml yaml yml zig zsh"
)

_SKIPPED_TAGS = frozenset((*INVISIBLE_TAGS, *BOILERPLATE_TAGS, "button", "head", "input", "select", "svg", "textarea"))
_BLOCK_TAGS = name_set(
    "address article body caption center dd details dialog div dl dt fieldset figcaption figure form header hgroup "
    "html legend main p section summary table tbody td tfoot th thead tr"
)
_LAYOUT_BLOCKS = "table, p, ul, ol, dl, pre, blockquote, h1, h2, h3, h4, h5, h6, div"  # signs of a layout table
_ANY_BLOCK = f"{_LAYOUT_BLOCKS}, li, section, article"
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_EMPHASIS = {"b": "**", "strong": "**", "em": "*", "i": "*"}
_LIST_TAGS = frozenset(("ul", "ol", "menu", "dir"))
_CODE_TAGS = frozenset(("code", "kbd", "samp", "tt"))
_INLINE_TAGS = frozenset((*_CODE_TAGS, "a", "br", "img", "q"))


def markdown_of(html: str, url: Url) -> str:
    """The content of a page, without navigation, asides and footers, as Markdown; empty if there is no text."""
    tree = LexborHTMLParser(prune(html))
    strip_boilerplate_roles(tree)
    content = _main_content(tree)
    return "" if content is None else _BlockWriter(_LinkTargets(base_of(tree, url))).convert(content)


def _main_content(tree: LexborHTMLParser) -> LexborNode | None:
    """The element marked up as main content, if there is exactly one, else the body."""
    mains = tree.css("main, [role=main]")
    return mains[0] if len(mains) == 1 and mains[0].text().strip() else tree.body


class _LinkTargets:
    """Resolves link targets, up to a total length: a long base URL would lengthen every target."""

    def __init__(self, base: Url):
        self._join = Joiner(base)
        self._base_length = len(base)
        self._characters_left = _MAX_TARGETS

    def resolve(self, href: str) -> str | None:
        """The escaped target of a link; None if it does not lead to another web page."""
        if not href or len(href) > MAX_HREF or href.startswith("#") or self._characters_left <= 0:
            return None
        self._characters_left -= self._base_length + len(href)
        target = self._join(href)
        return None if target is None else link_target(target)


class _BlockWriter:
    """Turns elements into blocks of Markdown, each of one or more lines."""

    def __init__(self, targets: _LinkTargets, nesting: int = 0):
        self._targets = targets
        self._nesting = nesting
        self._blocks: list[str] = []
        self._paragraph: list[str] = []  # parts of the current paragraph

    def convert(self, node: LexborNode, depth: int = 0) -> str:
        """The blocks within an element."""
        self._walk(node, depth)
        self._end_paragraph()
        return "\n\n".join(self._blocks)

    def _convert_item(self, nodes: Iterable[LexborNode], depth: int) -> str:
        """The blocks of a list item, or of content between items."""
        last = None
        for node in nodes:
            if node.tag == "li":
                self._walk(node, depth)
                last = _last_tag(node)
            else:
                self._visit(node, depth)
        self._end_paragraph()
        if len(self._blocks) == 2 and last in _LIST_TAGS:
            return "\n".join(self._blocks)  # a text and its nested list, without a blank line
        return "\n\n".join(self._blocks)

    def _walk(self, node: LexborNode, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self._paragraph.append(escape_within_line(node.text(separator=" ")))
            return
        for child in node.iter(include_text=True):
            self._visit(child, depth + 1)

    def _visit(self, node: LexborNode, depth: int) -> None:
        tag = node.tag
        if tag == "-text":
            self._paragraph.append(escape_within_line(node.text_content or ""))
        elif not _is_hidden(node) and not self._write_special_block(node, tag or "", depth):
            self._visit_other(node, tag or "", depth)

    def _write_special_block(self, node: LexborNode, tag: str, depth: int) -> bool:
        """Writes a block that is more than paragraphs, such as a list; returns whether it was one."""
        if tag in _HEADINGS:
            self._end_paragraph()
            text = self._one_line(self._inline(node, depth))
            self._add(f"{'#' * _HEADINGS[tag]} {_with_closing_hashes_escaped(text)}" if text else "")
        elif tag == "pre":
            self._end_paragraph()
            self._add(_code_block(node))
        elif tag == "hr":
            self._end_paragraph()
            self._add("* * *")
        elif tag == "blockquote":
            self._end_paragraph()
            quoted = _BlockWriter(self._targets, self._nesting + 1).convert(node, depth)
            self._add(_indented(quoted, "> ", "> ", self._nesting))
        elif tag in _LIST_TAGS and any(child.tag == "li" for child in node.iter()):  # else mere indentation
            self._end_paragraph()
            self._add("\n".join(self._items(node, tag, depth)))
        elif tag == "table" and (rows := _data_rows(node)):
            self._end_paragraph()
            if (caption := node.css_first("caption")) is not None:
                self._paragraph.append(self._inline(caption, depth))
                self._end_paragraph()
            self._add(self._table(rows, depth))
        else:
            return False
        return True

    def _visit_other(self, node: LexborNode, tag: str, depth: int) -> None:
        if tag in _BLOCK_TAGS or tag in _LIST_TAGS or tag == "li":
            self._end_paragraph()
            self._walk(node, depth)
            self._end_paragraph()
        elif tag in _INLINE_TAGS or (tag in _EMPHASIS and node.css_first(_ANY_BLOCK) is None):
            self._paragraph.append(self._inline_element(node, tag, depth))
        else:
            self._walk(node, depth)

    def _add(self, block: str) -> None:
        if block:
            self._blocks.append(block)

    def _end_paragraph(self) -> None:
        lines = (SPACES.sub(" ", line).strip() for line in "".join(self._paragraph).split(_BREAK))
        self._paragraph.clear()
        self._add("\\\n".join(escape_line_start(line) for line in lines if line))

    # ------------------------------------------------------------ within a line

    def _inline(self, node: LexborNode, depth: int, *, links: bool = True) -> str:
        """The content of an element as inline Markdown."""
        if depth > _MAX_DEPTH:
            return escape_within_line(node.text(separator=" "))
        pieces: list[str] = []
        for child in node.iter(include_text=True):
            tag = child.tag
            if tag == "-text":
                pieces.append(escape_within_line(child.text_content or ""))
            elif tag is not None and not _is_hidden(child):
                piece = self._inline_element(child, tag, depth + 1, links=links)
                pieces.append(f" {piece} " if tag in _BLOCK_TAGS or tag in _HEADINGS or tag == "li" else piece)
        return "".join(pieces)

    def _inline_element(self, node: LexborNode, tag: str, depth: int, *, links: bool = True) -> str:
        if tag == "br":
            return _BREAK
        if tag == "img":
            return escape_within_line(node.attributes.get("alt") or "")
        if tag in _CODE_TAGS:
            return _inline_code(node.text())
        text = self._inline(node, depth, links=links and tag != "a")
        if tag == "a":
            return self._link(node, self._one_line(text)) if links else text
        if tag == "q":
            return f"“{text}”"
        mark = _EMPHASIS.get(tag, "")
        stripped = text.strip(f" {_BREAK}")
        if not mark or not stripped or stripped.startswith(mark[0]) or stripped.endswith(mark[0]):
            return text
        before, _, after = text.partition(stripped)
        return f"{before}{mark}{stripped}{mark}{after}"

    def _link(self, node: LexborNode, text: str) -> str:
        attributes = node.attributes
        text = text or escape_within_line(attributes.get("aria-label") or attributes.get("title") or "").strip()
        target = self._targets.resolve((attributes.get("href") or "").strip()) if text else None
        return f" {text} " if target is None else f"[{text}]({target})"

    @staticmethod
    def _one_line(text: str) -> str:
        return SPACES.sub(" ", text.replace(_BREAK, " ")).strip()

    # ------------------------------------------------------------ lists and tables

    def _items(self, node: LexborNode, tag: str, depth: int) -> Iterator[str]:
        numbers = count(_start_number(node))
        shown = (child for child in node.iter(include_text=True) if child.tag == "-text" or not _is_hidden(child))
        distinct_keys = count()
        # Each item separately; content between two items together.
        for _, nodes in groupby(shown, key=lambda child: next(distinct_keys) if child.tag == "li" else -1):
            if text := _BlockWriter(self._targets, self._nesting + 1)._convert_item(nodes, depth + 1):
                mark = f"{next(numbers)}. " if tag == "ol" else "- "
                yield _indented(text, mark, " " * len(mark), self._nesting)

    def _table(self, rows: list[list[LexborNode]], depth: int) -> str:
        lines = [[self._one_line(self._inline(cell, depth)).replace("|", "\\|") for cell in row] for row in rows]
        head, *body = lines
        head += [""] * (max(map(len, lines)) - len(head))  # cells beyond the header would not be rendered
        rule = ["---"] * len(head)
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *body))


def _is_hidden(node: LexborNode) -> bool:
    """Whether an element is invisible, such as a comment."""
    tag = node.tag
    return tag is None or tag in _SKIPPED_TAGS or tag.startswith(("-", "!")) or "hidden" in node.attributes


def _with_closing_hashes_escaped(heading: str) -> str:
    """A heading with trailing hashes escaped, which Markdown would drop."""
    text = heading.rstrip("#")
    return text + "\\#" * (len(heading) - len(text))


def _indented(text: str, first: str, others: str, nesting: int) -> str:
    """The text with one prefix for its first line and another for the rest; unchanged if nested too deeply."""
    if not text or nesting >= _MAX_NESTING:
        return text
    head, *rest = text.split("\n")
    return "\n".join([f"{first}{head}", *(f"{others}{line}" if line else others.rstrip() for line in rest)])


def _last_tag(node: LexborNode) -> str | None:
    """The tag of the last element within."""
    return next((child.tag for child in reversed(list(node.iter()))), None)


def _start_number(node: LexborNode) -> int:
    start = (node.attributes.get("start") or "").strip()
    number = whole_number(start, maximum=10**8)
    return 1 if number is None else number


def _data_rows(table: LexborNode) -> list[list[LexborNode]]:
    """The cells of a data table, row by row; empty for a layout table."""
    if any(node.mem_id != table.mem_id for node in table.css(_LAYOUT_BLOCKS)[:2]):
        return []
    rows = [[cell for cell in row.iter() if cell.tag in ("td", "th")] for row in table.css("tr")]
    rows = [row for row in rows if row]
    return rows if len(rows) > 1 and max(map(len, rows)) > 1 else []


def _longest_backtick_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _inline_code(text: str) -> str:
    """Inline code."""
    text = SPACES.sub(" ", CONTROLS.sub("", text)).strip()
    if not text:
        return ""
    fence = "`" * (_longest_backtick_run(text) + 1)
    return f"{fence} {text} {fence}" if text.startswith("`") or text.endswith("`") else f"{fence}{text}{fence}"


def _code_block(node: LexborNode) -> str:
    """A code block, with its language if a class names it."""
    lines = CONTROLS.sub("", node.text()).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not lines.strip():
        return ""
    inner = node.css_first("code")
    classes: Iterable[str] = (each.attributes.get("class") or "" for each in (node, inner) if each is not None)
    language = next((match[1] for value in classes if (match := _CODE_LANGUAGE.search(value))), "")
    language = language if language.lower() in _CODE_LANGUAGES else ""
    fence = "`" * max(3, _longest_backtick_run(lines) + 1)
    return f"{fence}{language}\n{lines}\n{fence}"
