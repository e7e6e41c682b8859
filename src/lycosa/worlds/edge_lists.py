"""Graphs out of files: pairs of node numbers, nodes with URLs, or GML; plain or gzipped. Trouble is told by line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import DamagedTextError, LineTooLongError, first_bytes, line_blocks, unpacked

Numbers = np.ndarray[tuple[int], np.dtype[np.int32]]
Pairs = np.ndarray[tuple[int, int], np.dtype[np.signedinteger[Any]]]
_BLOCK = 1 << 20  # bytes of text read at a time
_LONGEST_LINE = 10 << 20  # bytes
_LARGEST_DIGITS = 18  # of a number, so that it fits 64 bits
_LARGEST_MASK = 50_000_000  # node numbers up to here are told apart by a table of them all
_NEWLINE = ord("\n")
_SEPARATORS = np.zeros(256, np.bool_)
_SEPARATORS[[ord(character) for character in " \t\r\n"]] = True
_GML_WORD = re.compile(r'"[^"]*"?|[\[\]]|[^\s\[\]"]+')


class Graph(Struct, frozen=True):
    """Nodes 0, 1, 2, ... and what each links to, row behind row."""

    offsets: Numbers  # where the row of each node begins, and where the last one ends
    targets: Numbers
    names: tuple[str, ...] | Numbers | None = (
        None  # of the nodes: texts, or their numbers in the file where these differ
    )

    def __len__(self) -> int:
        return len(self.offsets) - 1


def graph_in(path: Path) -> Graph:
    """The graph that a file tells, in whichever of the three ways."""
    start = beginning_of(path)
    words = [line.split() for line in start.splitlines() if line.strip() and not line.startswith((b"#", b"%"))]
    first = words[0] if words else []
    if first[:1] in ([b"graph"], [b"Creator"]) or path.name.removesuffix(".gz").endswith(".gml"):
        return _from_gml(path)
    if first[:1] in ([b"n"], [b"e"]):
        return _from_listed(path)
    return _from_pairs(path)


def graph_of(sources: Numbers, targets: Numbers, size: int, names: tuple[str, ...] | Numbers | None = None) -> Graph:
    """The graph of some arcs among `size` nodes; arcs of a node keep their order."""
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=size), out=offsets[1:])
    is_sorted = bool((sources[1:] >= sources[:-1]).all())
    return Graph(offsets, targets if is_sorted else targets[np.argsort(sources, kind="stable")], names)


def blocks_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The text in blocks of whole lines, each with the number of its first line."""
    with _readable(path), path.open("rb") as file:
        try:
            yield from line_blocks(unpacked(file), longest_line=_LONGEST_LINE, size=_BLOCK)
        except DamagedTextError as damage:
            raise UsageError(
                f"{path}:{damage.line}: the file is cut short or damaged here ({damage}); fetch it again"
            ) from None
        except LineTooLongError as long:
            raise UsageError(f"{path}:{long.line}: this line has no end; is it a list of links?") from None


def beginning_of(path: Path) -> bytes:
    """The first bytes of the text, to tell its format by."""
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
    for first, block in blocks_of(path):
        for line, text in enumerate(block[:-1].decode("utf-8", "replace").split("\n"), first):
            yield line, text.strip()


# Pairs of numbers


def _from_pairs(path: Path) -> Graph:
    stretches: list[Pairs] = [np.zeros((0, 2), np.int32)]
    for line, block in blocks_of(path):
        pairs = rows_at_once(block, 2)
        if pairs is None:
            pairs = _pairs_by_line(path, line, block)
        stretches.append(pairs.astype(np.int32) if not len(pairs) or pairs.max() < 1 << 31 else pairs)
    sources = np.concatenate([pairs[:, 0] for pairs in stretches])
    targets = np.concatenate([pairs[:, 1] for pairs in stretches])
    del stretches
    if not len(sources):
        raise UsageError(f"{path}:1: no links in it; a line is to name two nodes by their numbers")
    size, names = numbered_anew(sources, targets)
    if names is not None:
        sources, targets = (np.searchsorted(names, ends).astype(np.int32) for ends in (sources, targets))
    return graph_of(sources, targets, size, names)


def rows_at_once(block: bytes, columns: int) -> Pairs | None:
    """The numbers of a stretch in which every line has so many; None where some line must be looked at."""
    characters = np.frombuffer(block, np.uint8)
    are_digits = (characters - np.uint8(ord("0"))) < 10
    if not (are_digits | _SEPARATORS[characters]).all():
        return None
    edges = np.flatnonzero(np.diff(are_digits, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    line_ends = np.flatnonzero(characters == _NEWLINE)
    if len(starts) != columns * len(line_ends) or (ends - starts).max() > _LARGEST_DIGITS:
        return None
    if (starts[columns::columns] < line_ends[:-1]).any() or (ends[columns - 1 :: columns] > line_ends).any():
        return None
    return np.fromstring(block, np.int64, sep=" ").reshape(-1, columns)


def _pairs_by_line(path: Path, first: int, block: bytes) -> Pairs:
    pairs = []
    for line, text in enumerate(block.split(b"\n"), first):
        words = text.split()
        if words and not words[0].startswith((b"#", b"%")):
            shown = text.decode("utf-8", "replace").strip()
            if len(words) != 2:
                raise bad_line(path, line, shown, "a line is to name two nodes")
            pairs.append([node_number(path, line, word.decode("utf-8", "replace")) for word in words])
    return np.array(pairs, np.int64).reshape(-1, 2)


def numbered_anew(sources: Numbers, targets: Numbers) -> tuple[int, Numbers | None]:
    """How many nodes there are; where their numbers leave gaps, also these numbers in their order."""
    highest = int(max(sources.max(), targets.max()))
    if highest > _LARGEST_MASK:
        names = np.union1d(sources, targets)
    else:
        are_nodes = np.zeros(highest + 1, np.bool_)
        are_nodes[sources] = True
        are_nodes[targets] = True
        names = np.flatnonzero(are_nodes).astype(np.int32)
    return len(names), None if len(names) == highest + 1 else names


# Nodes with URLs: "n 0 http://host/" and "e 0 1"


def _from_listed(path: Path) -> Graph:
    names: dict[int, str] = {}
    arcs: list[tuple[int, int, int]] = []
    for line, text in _lines(path):
        words = text.split(None, 2)
        if not words or words[0].startswith(("#", "%")):
            continue
        if len(words) != 3 or words[0] not in ("n", "e"):
            raise bad_line(path, line, text, "a line is to be 'n NUMBER URL' or 'e FROM TO'")
        if words[0] == "n":
            _declare(path, line, names, node_number(path, line, words[1]), words[2])
        else:
            arcs.append((line, node_number(path, line, words[1]), node_number(path, line, words[2])))
    return _named(path, names, arcs)


def _declare(path: Path, line: int, names: dict[int, str], number: int, name: str) -> None:
    if number in names:
        raise UsageError(f"{path}:{line}: node {number} was declared before; give every node a number of its own")
    names[number] = name


def _named(path: Path, names: dict[int, str], arcs: list[tuple[int, int, int]]) -> Graph:
    if not names:
        raise UsageError(f"{path}:1: no nodes in it; name a file with the links of a graph")
    place = {number: order for order, number in enumerate(names)}
    for line, source, target in arcs:
        for end in (source, target):
            if end not in place:
                raise UsageError(f"{path}:{line}: there is no node {end}; declare it, or leave the link out")
    sources = np.array([place[source] for _, source, _ in arcs], np.int32)
    targets = np.array([place[target] for _, _, target in arcs], np.int32)
    return graph_of(sources, targets, len(names), tuple(names.values()))


# GML


def _from_gml(path: Path) -> Graph:
    names: dict[int, str] = {}
    arcs: list[tuple[int, int, int]] = []
    opened: list[tuple[str, int, dict[str, str]]] = []  # the brackets around: what, since which line, what it says
    key, line = "", 0
    for line, text in _lines(path):
        for word in () if text.startswith("#") else _GML_WORD.findall(text):
            if word == "[":
                opened.append((key, line, {}))
                key = ""
            elif word == "]":
                if not opened:
                    raise bad_line(path, line, text, "no bracket is open")
                kind, since, says = opened.pop()
                if kind == "node":
                    number = node_number(path, since, says.get("id", "nothing"))
                    _declare(path, since, names, number, says.get("label", f"{number}"))
                elif kind == "edge":
                    source, target = (
                        node_number(path, since, says.get(end, "nothing")) for end in ("source", "target")
                    )
                    arcs.append((since, source, target))
            elif not key:
                key = word
            else:
                if opened:
                    opened[-1][2].setdefault(key, word.strip('"'))
                key = ""
    if opened:
        raise UsageError(f"{path}:{line}: the bracket of line {opened[-1][1]} is never closed; is the file whole?")
    return _named(path, names, arcs)


def node_number(path: Path, line: int, word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= _LARGEST_DIGITS):
        raise bad_line(path, line, word, "a node is to be a whole number from 0 on")
    return int(word)


def bad_line(path: Path, line: int, text: str, rule: str) -> UsageError:
    return UsageError(f"{path}:{line}: {rule}, not {text[:80]!r}")
