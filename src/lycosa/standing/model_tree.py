"""Learns a number from numbers: a tree of questions with a linear model at each end."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Plain

from .least_squares import Line
from .model_nodes import Node, depth_first, from_plain, grow, to_plain, whole
from .splitting import Floats

MOST_CELLS = 10_000_000  # rows times attributes of the training data, and nodes times attributes of a tree
LARGEST = 1e50  # of a value; beyond it sums of squares may overflow
SMOOTHING = 15.0  # rows that the model one level up counts like
_KIND = "model tree, 1"


class ModelTree:
    """M5′ model tree (Wang, Witten: Induction of model trees for predicting continuous classes, 1996; after Quinlan,
    1992), which grows, prunes and smooths as Weka's M5P does by default.

    smooth: on the way from the leaf to the root, mix the prediction with that of each model passed.

    With fewer than 4 rows, or where all targets are the same, it predicts their mean. Among attributes with the same
    gain the first is taken. Values that are not finite, or beyond 1e50, raise ValueError, in learning and predicting.

    >>> tree = ModelTree().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 7.0, 9.0])
    >>> print(tree.explain(["size"]))
    model 1 (5 rows): 1 + 2 * size
    """

    def __init__(self, *, smooth: bool = True):
        self.smooth = smooth
        self._root: Node | None = None
        self._width = 0

    def fit(self, X: ArrayLike, y: ArrayLike) -> "ModelTree":  # noqa: N803
        """Learn from the rows of X and their targets y; what was learnt before is forgotten."""
        table, target = _table(X), np.asarray(y, dtype=np.float64)
        if not table.size:
            raise ValueError(f"a table of {table.shape[0]} rows and {table.shape[1]} attributes teaches nothing")
        if table.size > MOST_CELLS:
            raise ValueError(f"a table of {table.size} values is too large; take a sample of up to {MOST_CELLS}")
        if target.shape != (len(table),):
            raise ValueError(f"{len(table)} rows need as many targets, not an array of shape {target.shape}")
        _check_range(target, "the target")
        columns = np.ascontiguousarray(table.T)
        self._set(grow(columns, target), table.shape[1])
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """One prediction for each row of X."""
        table = _table(X)
        self._check_width(table.shape[1])
        at = np.zeros(len(table), dtype=np.intp)
        rows = np.arange(len(table))
        while len(rows):
            questions = self._asked[at[rows]]
            rows, questions = rows[questions >= 0], questions[questions >= 0]
            here = at[rows]
            at[rows] = np.where(table[rows, questions] <= self._cuts[here], here + 1, self._rights[here])
        predictions: Floats = (table * self._weights[at]).sum(axis=1) + self._intercepts[at]
        return predictions

    def predict_one(self, row: Sequence[float]) -> float:
        """The prediction for one row, quicker than by way of an array."""
        self._check_width(len(row))
        for value in row:
            if not -LARGEST <= value <= LARGEST:
                raise ValueError(f"a value is {value}, which is not finite or beyond {LARGEST:g}")
        number = 0
        while (asked := self._questions[number]) is not None:
            attribute, cut, right = asked
            number = number + 1 if row[attribute] <= cut else right
        line = self._lines[number]
        return line.intercept + sum(weight * row[attribute] for attribute, weight in line.weights)

    def explain(self, names: Sequence[str] | None = None) -> str:
        """The tree and its linear models, to be read; `names` are those of the attributes."""
        root = self._learnt()
        names = [f"x{number}" for number in range(self._width)] if names is None else names
        if len(names) != self._width:
            raise ValueError(f"{self._width} attributes need as many names, not {len(names)}")
        questions: list[str] = []
        models: list[str] = []
        waiting = [(root, 0, "")]
        for line in self._lines:
            node, depth, asked = waiting.pop()
            indent = "|   " * (depth - 1)
            if node.split is None:
                models.append(f"model {len(models) + 1} ({node.rows} rows): {_formula(line, names)}")
                questions.append(f"{indent}{asked}: model {len(models)} ({node.rows} rows)")
                continue
            if asked:
                questions.append(f"{indent}{asked}:")
            name, cut = names[node.split.attribute], f"{node.split.cut:.6g}"
            waiting.append((node.split.right, depth + 1, f"{name} >  {cut}"))
            waiting.append((node.split.left, depth + 1, f"{name} <= {cut}"))
        return "\n".join([*questions, "", *models] if root.split is not None else models)

    def to_plain(self) -> Plain:
        """The tree as JSON can say it."""
        nodes = to_plain(self._learnt())
        return {"kind": _KIND, "smooth": self.smooth, "attributes": self._width, "nodes": nodes}

    @classmethod
    def from_plain(cls, plain: Plain, *, source: str = "the model tree") -> "ModelTree":
        """A tree that was saved; `source` names it where it cannot be used."""
        try:
            if plain["kind"] != _KIND:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_KIND!r}")
            if not isinstance(plain["smooth"], bool):
                raise ValueError("smooth is neither true nor false")
            width = whole(plain["attributes"], 1, MOST_CELLS)
            if len(plain["nodes"]) * width > MOST_CELLS:
                raise ValueError(f"nodes times attributes are more than {MOST_CELLS}")
            root = from_plain(plain["nodes"], width)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}; delete it and it is learnt anew") from None
        tree = cls(smooth=plain["smooth"])
        tree._set(root, width)
        return tree

    def _set(self, root: Node, width: int) -> None:
        """Number the nodes depth first, so that a left child comes next, and keep them as tables."""
        self._root, self._width = root, width
        nodes = list(depth_first(root))
        self._questions = _questions(nodes)
        self._lines = self._final_lines(nodes)
        self._asked = np.array([question[0] if question else -1 for question in self._questions], dtype=np.intp)
        self._cuts = np.array([question[1] if question else 0.0 for question in self._questions])
        self._rights = np.array([question[2] if question else 0 for question in self._questions], dtype=np.intp)
        self._intercepts = np.array([line.intercept for line in self._lines])
        self._weights = np.zeros((len(nodes), width))
        for number, line in enumerate(self._lines):
            for attribute, weight in line.weights:
                self._weights[number, attribute] = weight

    def _final_lines(self, nodes: list[Node]) -> list[Line]:
        """What each node predicts: smoothing mixes linear models, so that a mixture is one again."""
        lines = [node.line for node in nodes]
        if not self.smooth:
            return lines
        chain: list[tuple[Node, ...]] = [()] * len(nodes)  # ancestors, the nearest first
        for number, node in enumerate(nodes):
            if (question := self._questions[number]) is not None:
                chain[number + 1] = chain[question[2]] = (node, *chain[number])
                continue
            below = node.rows
            for above in chain[number]:
                lines[number] = _mixture(lines[number], below / (below + SMOOTHING), above.line)
                below = above.rows
        return lines

    def _learnt(self) -> Node:
        if self._root is None:
            raise ValueError("the tree has learnt nothing yet; fit it first")
        return self._root

    def _check_width(self, width: int) -> None:
        self._learnt()
        if width != self._width:
            raise ValueError(f"the tree knows {self._width} attributes, not {width}")


def _questions(nodes: list[Node]) -> list[tuple[int, float, int] | None]:
    """Of each node the attribute, the cut and the number of its right child; None at a leaf."""
    questions: list[tuple[int, float, int] | None] = [None] * len(nodes)
    half_done: list[int] = []  # nodes whose right child is still to come
    for number, node in enumerate(nodes):
        if node.split is not None:
            half_done.append(number)
        elif half_done and (split := nodes[parent := half_done.pop()].split) is not None:
            questions[parent] = split.attribute, split.cut, number + 1  # what follows a leaf is a right child
    return questions


def _mixture(line: Line, share: float, other: Line) -> Line:
    weights = {attribute: share * weight for attribute, weight in line.weights}
    for attribute, weight in other.weights:
        weights[attribute] = weights.get(attribute, 0.0) + (1.0 - share) * weight
    return Line(share * line.intercept + (1.0 - share) * other.intercept, tuple(sorted(weights.items())))


def _formula(line: Line, names: Sequence[str]) -> str:
    terms = "".join(
        f" {'-' if weight < 0 else '+'} {abs(weight):.5g} * {names[which]}" for which, weight in line.weights
    )
    return f"{line.intercept:.5g}{terms}"


def _table(values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"rows of attributes are expected, not an array of shape {table.shape}")
    _check_range(table, "an attribute")
    return table


def _check_range(values: Floats, what: str) -> None:
    if values.size and not float(np.abs(values).max()) <= LARGEST:  # NaN is not either
        raise ValueError(f"a value of {what} is not finite or beyond {LARGEST:g}")
