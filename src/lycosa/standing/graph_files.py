"""Graphs read from files, plain or gzipped: edge lists of node numbers, nodes with URLs, or GML.

Errors name the file and the line. `read_graph_in_links` is what the recipe's `[standing] graph` is read with.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from lycosa.vocabulary.errors import RecipeError, UsageError
from lycosa.vocabulary.files import (
    MAX_RATIO,
    DamagedTextError,
    LineTooLongError,
    decompressed,
    first_bytes,
    line_blocks,
)
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import normalise

Int32Array = np.ndarray[tuple[int], np.dtype[np.int32]]
RowArray = np.ndarray[tuple[int, int], np.dtype[np.signedinteger[Any]]]
_BLOCK = 1 << 20  # bytes of text parsed at a time
_MAX_LINE = 10 << 20  # bytes
_MAX_DEPTH = 100  # of brackets in GML
_GML_KEYS = frozenset(("id", "label", "source", "target"))  # whose values are read
_MAX_DIGITS = 18  # of a number, so that it fits 64 bits
_MAX_TABLE = 50_000_000  # node numbers up to this are marked in a table; larger ones are sorted
_NEWLINE = ord("\n")
_SEPARATORS = np.zeros(256, np.bool_)
_SEPARATORS[[ord(character) for character in " \t\r\n"]] = True
_GML_TOKEN = re.compile(r'"[^"]*"?|[\[\]]|[^\s\[\]"]+')


class Graph(Struct, frozen=True):
    """Nodes 0, 1, 2, ... and the targets of their links, in compressed sparse rows."""

    offsets: Int32Array  # links of node n are targets[offsets[n] : offsets[n + 1]]
    targets: Int32Array
    names: tuple[str, ...] | Int32Array | None = None  # texts, or the numbers of the file if these differ

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.offsets) - 1

    def in_degrees(self) -> Int32Array:
        """The number of links to each node."""
        return np.bincount(self.targets, minlength=len(self)).astype(np.int32)


def read_graph_in_links(path: Path) -> dict[Url, int]:
    """The number of in-links of each URL of a graph, whose nodes must be named by URLs."""
    graph = read_graph(path)
    if not isinstance(graph.names, tuple):
        raise RecipeError(f"{path}: this graph has numbers only; give one with URLs")
    in_links: dict[Url, int] = {}
    for name, count in zip(graph.names, graph.in_degrees().tolist(), strict=True):
        if url := normalise(name):
            in_links[url] = in_links.get(url, 0) + count  # several spellings of a URL may be nodes
    return in_links


def read_graph(path: Path) -> Graph:
    """The graph in a file of one of the three formats, recognised by its first words."""
    start = graph_file_start(path)
    lines = (line.split() for line in start.splitlines() if line.strip() and not line.startswith((b"#", b"%")))
    first = next(lines, [])
    if first[:1] in ([b"graph"], [b"Creator"]) or path.name.removesuffix(".gz").endswith(".gml"):
        return _parse_gml(path)
    if first[:1] in ([b"n"], [b"e"]):
        return _parse_nodes_and_edges(path)
    return _parse_edge_list(path)


def graph_from_edges(
    sources: Int32Array, targets: Int32Array, size: int, names: tuple[str, ...] | Int32Array | None = None
) -> Graph:
    """The graph of the given edges among `size` nodes; the edges of a node keep their order."""
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
    is_sorted = bool((sources[1:] >= sources[:-1]).all())
    return Graph(offsets, targets if is_sorted else targets[np.argsort(sources, kind="stable")], names)


def graph_line_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The text of a file in blocks of whole lines, each with the number of its first line."""
    with _readable(path), path.open("rb") as file:
        try:
            yield from line_blocks(decompressed(file, max_ratio=MAX_RATIO), longest_line=_MAX_LINE, size=_BLOCK)
        except DamagedTextError as damage:
            raise UsageError(
                f"{path}:{damage.line}: the file is cut short or damaged here ({damage}); fetch it again"
            ) from None
        except LineTooLongError as long:
            raise UsageError(f"{path}:{long.line}: this line has no end; is it a list of links?") from None


def graph_file_start(path: Path) -> bytes:
    """The first bytes of the text of a file, by which its format is recognised."""
    with _readable(path):
        return first_bytes(path)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror or error}); name a file with the links of a graph"
        ) from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for first, block in graph_line_blocks(path):
        for line, text in enumerate(block[:-1].decode("utf-8", "replace").split("\n"), first):
            yield line, text.strip()


# Edge lists: two node numbers on each line


def _parse_edge_list(path: Path) -> Graph:
    blocks: list[RowArray] = [np.zeros((0, 2), np.int32)]
    for line, block in graph_line_blocks(path):
        pairs = parse_rows(block, 2)
        if pairs is None:
            pairs = _pairs_by_line(path, line, block)
        blocks.append(pairs.astype(np.int32) if not len(pairs) or pairs.max() < 1 << 31 else pairs)
    sources = np.concatenate([pairs[:, 0] for pairs in blocks])
    targets = np.concatenate([pairs[:, 1] for pairs in blocks])
    del blocks
    if not len(sources):
        raise UsageError(f"{path}:1: no links in it; a line must name two nodes by their numbers")
    size, names = compact_numbers(sources, targets)
    if names is not None:
        sources, targets = (np.searchsorted(names, ends).astype(np.int32) for ends in (sources, targets))
    return graph_from_edges(sources, targets, size, names)


def parse_rows(block: bytes, columns: int) -> RowArray | None:
    """The numbers of a block in which every line has `columns` of them; None if lines must be parsed one by one."""
    characters = np.frombuffer(block, np.uint8)
    are_digits = (characters - np.uint8(ord("0"))) < 10
    if not (are_digits | _SEPARATORS[characters]).all():
        return None
    boundaries = np.flatnonzero(np.diff(are_digits, prepend=False, append=False))
    starts, ends = boundaries[::2], boundaries[1::2]  # of each number
    line_ends = np.flatnonzero(characters == _NEWLINE)
    if len(starts) != columns * len(line_ends) or (ends - starts).max() > _MAX_DIGITS:
        return None
    if (starts[columns::columns] < line_ends[:-1]).any() or (ends[columns - 1 :: columns] > line_ends).any():
        return None
    return np.fromstring(block, np.int64, sep=" ").reshape(-1, columns)


def _pairs_by_line(path: Path, first: int, block: bytes) -> RowArray:
    pairs = []
    for line, text in enumerate(block.split(b"\n"), first):
        words = text.split()
        if words and not words[0].startswith((b"#", b"%")):
            shown = text.decode("utf-8", "replace").strip()
            if len(words) != 2:
                raise bad_line(path, line, shown, "a line must name two nodes")
            pairs.append([parse_node(path, line, word.decode("utf-8", "replace")) for word in words])
    return np.array(pairs, np.int64).reshape(-1, 2)


def compact_numbers(sources: Int32Array, targets: Int32Array) -> tuple[int, Int32Array | None]:
    """The number of nodes and, if their numbers have gaps, the sorted numbers that occur."""
    highest = int(max(sources.max(), targets.max()))
    if highest > _MAX_TABLE:
        names = np.union1d(sources, targets)
    else:
        are_nodes = np.zeros(highest + 1, np.bool_)
        are_nodes[sources] = True
        are_nodes[targets] = True
        names = np.flatnonzero(are_nodes).astype(np.int32)
    return len(names), None if len(names) == highest + 1 else names


# Nodes with URLs: "n 0 http://host/" and "e 0 1"


def _parse_nodes_and_edges(path: Path) -> Graph:
    names: dict[int, str] = {}
    edges = _Edges()
    for line, text in _lines(path):
        words = text.split(None, 2)
        if not words or words[0].startswith(("#", "%")):
            continue
        if len(words) != 3 or words[0] not in ("n", "e"):
            raise bad_line(path, line, text, "a line must be 'n NUMBER URL' or 'e FROM TO'")
        if words[0] == "n":
            _declare(path, line, names, parse_node(path, line, words[1]), words[2])
        else:
            edges.append(line, parse_node(path, line, words[1]), parse_node(path, line, words[2]))
    return _graph_of_named_nodes(path, names, edges)


def _declare(path: Path, line: int, names: dict[int, str], number: int, name: str) -> None:
    if number in names:
        raise UsageError(f"{path}:{line}: node {number} was declared before; give every node a number of its own")
    names[number] = name


class _Edges:
    """Links between nodes by their numbers, and the lines that name them, as arrays: there may be many millions."""

    def __init__(self) -> None:
        self._lines, self._sources, self._targets = array("q"), array("q"), array("q")

    def append(self, line: int, source: int, target: int) -> None:
        self._lines.append(line)
        self._sources.append(source)
        self._targets.append(target)

    def indices(self, path: Path, names: Iterable[int]) -> tuple[Int32Array, Int32Array]:
        """The sources and targets as positions among the declared nodes; raises for a node that is not declared."""
        index_of = {number: index for index, number in enumerate(names)}
        sources, targets = array("i"), array("i")
        for line, *ends in zip(self._lines, self._sources, self._targets, strict=True):
            for end, indices in zip(ends, (sources, targets), strict=True):
                if (index := index_of.get(end)) is None:
                    raise UsageError(f"{path}:{line}: there is no node {end}; declare it, or leave the link out")
                indices.append(index)
        return np.array(sources, np.int32), np.array(targets, np.int32)


def _graph_of_named_nodes(path: Path, names: dict[int, str], edges: _Edges) -> Graph:
    if not names:
        raise UsageError(f"{path}:1: no nodes in it; name a file with the links of a graph")
    sources, targets = edges.indices(path, names)
    return graph_from_edges(sources, targets, len(names), tuple(names.values()))


# GML


def _parse_gml(path: Path) -> Graph:
    names: dict[int, str] = {}
    edges = _Edges()
    open_brackets: list[tuple[str, int, dict[str, str]]] = []  # key, line and attributes of each
    key, line = "", 0
    for line, text in _lines(path):
        for word in () if text.startswith("#") else _GML_TOKEN.findall(text):
            if word == "[":
                if len(open_brackets) >= _MAX_DEPTH:
                    raise bad_line(path, line, text, f"brackets may be {_MAX_DEPTH} deep")
                open_brackets.append((key, line, {}))
                key = ""
            elif word == "]":
                if not open_brackets:
                    raise bad_line(path, line, text, "no bracket is open")
                kind, opened_at, attributes = open_brackets.pop()
                if kind == "node":
                    number = parse_node(path, opened_at, attributes.get("id", "nothing"))
                    _declare(path, opened_at, names, number, attributes.get("label", f"{number}"))
                elif kind == "edge":
                    source, target = (
                        parse_node(path, opened_at, attributes.get(end, "nothing")) for end in ("source", "target")
                    )
                    edges.append(opened_at, source, target)
            elif not key:
                key = word
            else:
                if open_brackets and key in _GML_KEYS:
                    open_brackets[-1][2].setdefault(key, word.strip('"'))
                key = ""
    if open_brackets:
        raise UsageError(
            f"{path}:{line}: the bracket of line {open_brackets[-1][1]} is never closed; is the file whole?"
        )
    return _graph_of_named_nodes(path, names, edges)


def parse_node(path: Path, line: int, word: str) -> int:
    """The number of a node as a file writes it."""
    number = whole_number(word, maximum=10**_MAX_DIGITS - 1)
    if number is None:
        raise bad_line(path, line, word, "a node must be a whole number from 0 on")
    return number


def bad_line(path: Path, line: int, text: str, rule: str) -> UsageError:
    """The error of a line that breaks a rule."""
    return UsageError(f"{path}:{line}: {rule}, not {text[:80]!r}")
