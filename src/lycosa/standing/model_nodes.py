"""The nodes of a model tree: how they are grown and pruned, and how they are written down."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Plain

from .least_squares import Line, fit_line
from .splitting import Floats, best_split

FEWEST_TO_SPLIT = 4  # rows
SAME_ENOUGH = 0.05  # of the standard deviation of all targets: rows that vary less are not split
EXACT_ENOUGH = 1e-5  # of the same: a model that errs less needs no subtree
DEEPEST = 200  # levels; a split leaves at least a fifth on each side, so ten million rows need less than 80
LARGEST = 1e150  # of numbers in a model


@dataclass(frozen=True, slots=True)
class Split:
    attribute: int
    cut: float  # values up to it go left
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Node:
    rows: int  # of the training data that came here
    line: Line
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class _Grown:
    node: Node
    parameters: int
    error: float  # sum of squares on the rows of the node
    tested: frozenset[int]  # attributes tested below before anything was pruned


def grow(columns: Floats, target: Floats) -> Node:
    """The pruned tree for these rows; `columns` has one row per attribute."""
    return _grow(columns, target, float(target.std()), np.arange(len(target))).node


def _grow(columns: Floats, target: Floats, spread: float, rows: NDArray[np.intp]) -> _Grown:
    here, wanted = columns[:, rows], target[rows]
    best = None
    if len(rows) >= FEWEST_TO_SPLIT and float(wanted.std()) >= SAME_ENOUGH * spread > 0.0:
        best = best_split(here, wanted)
    if best is None:
        mean = float(wanted.mean())
        return _Grown(Node(len(rows), Line(mean)), 1, float(np.square(wanted - mean).sum()), frozenset())
    attribute, cut = best
    goes_left = here[attribute] <= cut
    left = _grow(columns, target, spread, rows[goes_left])
    right = _grow(columns, target, spread, rows[~goes_left])
    tested = left.tested | right.tested | {attribute}
    line = fit_line(here, wanted, sorted(tested))
    alone = _Grown(Node(len(rows), line), len(line.weights) + 1, float(np.square(wanted - line.of(here)).sum()), tested)
    split = Split(attribute, cut, left.node, right.node)
    parameters = left.parameters + right.parameters + 1
    whole = _Grown(Node(len(rows), line, split), parameters, left.error + right.error, tested)
    expected = _expected_error(alone)
    return alone if expected <= _expected_error(whole) or expected < EXACT_ENOUGH * spread else whole


def _expected_error(grown: _Grown) -> float:
    """The error on rows not seen: that on the rows seen, and more the more parameters there are for each row."""
    rows, parameters = grown.node.rows, grown.parameters
    error = sqrt(grown.error / rows)
    return error * (rows + 2 * parameters) / (rows - parameters) if rows > parameters else 10.0 * error


def depth_first(node: Node) -> Iterator[Node]:
    """The node and all below it, left before right."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if node.split is not None:
            waiting += (node.split.right, node.split.left)


def to_plain(root: Node) -> list[Plain]:
    """The nodes as JSON can say it: one with a cut is followed by all on its left, then by all on its right."""
    return [
        {"rows": node.rows, "intercept": node.line.intercept, "weights": [list(pair) for pair in node.line.weights]}
        | ({} if node.split is None else {"attribute": node.split.attribute, "cut": node.split.cut})
        for node in depth_first(root)
    ]


def from_plain(nodes: Plain, attributes: int) -> Node:
    """The tree of these nodes. Raises KeyError, TypeError or ValueError where they make none."""
    if not isinstance(nodes, list):
        raise ValueError("nodes are no list")
    reader = iter(nodes)
    root = _read(reader, attributes, 1)
    if any(True for _ in reader):
        raise ValueError("there are nodes that belong nowhere")
    return root


def _read(nodes: Iterator[Plain], attributes: int, depth: int) -> Node:
    plain = next(nodes, None)
    if plain is None:
        raise ValueError("a node is missing")
    if depth > DEEPEST:
        raise ValueError(f"it is deeper than {DEEPEST} levels")
    rows = whole(plain["rows"], 1, 1 << 53)
    weights = tuple((whole(which, 0, attributes - 1), _number(weight)) for which, weight in plain["weights"])
    if len({which for which, _ in weights}) != len(weights):
        raise ValueError("an attribute has two weights")
    line = Line(_number(plain["intercept"]), weights)
    if "cut" not in plain and "attribute" not in plain:
        return Node(rows, line)
    attribute, cut = whole(plain["attribute"], 0, attributes - 1), _number(plain["cut"])
    left = _read(nodes, attributes, depth + 1)
    right = _read(nodes, attributes, depth + 1)
    if left.rows + right.rows != rows:
        raise ValueError(f"{left.rows} and {right.rows} rows are not the {rows} above them")
    return Node(rows, line, Split(attribute, cut, left, right))


def whole(value: Plain, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{str(value)[:40]!r} is no whole number from {least} to {most}")
    return value


def _number(value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:  # NaN is not
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)
