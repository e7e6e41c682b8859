"""M5′ model trees: regression trees with a linear model at each leaf.

`ModelTree` is the estimator; below it are the nodes, growing and pruning, the choice of splits, and the fitting of the
linear models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import JsonValue

Floats = NDArray[np.float64]

MAX_CELLS = 10_000_000  # rows times attributes of the training data, and nodes times attributes of a tree
MAX_ABSOLUTE_VALUE = 1e50  # absolute value of an attribute or a target; beyond it sums of squares may overflow
MAX_COEFFICIENT = 1e150  # absolute value of a number in a saved tree
MAX_DEPTH = 200  # levels; a split leaves at least a fifth on each side, so ten million rows need less than 80
SMOOTHING = 15.0  # weight of the model one level up, in rows
MIN_SPLIT_ROWS = 4  # rows
MIN_SPREAD = 0.05  # share of the standard deviation of all targets; rows that vary less are not split
MIN_ERROR = 1e-5  # likewise; a linear model with a smaller error needs no subtree
MIN_GAIN_MARGIN = 1e-6  # by which the gain of a later attribute must exceed that of an earlier one
RIDGE = 1e-8  # on standardised attributes, so that equal attributes share their weight
MAX_STANDARDISED_WEIGHT = 1.5  # a larger one is a sign of collinear attributes
MIN_DEVIATION = 1e-50  # of an attribute that counts as varying
_FORMAT = "model tree, 1"


@dataclass(frozen=True, slots=True)
class Line:
    """A linear function of a few attributes; `weights` pairs the number of an attribute with its weight."""

    intercept: float
    weights: tuple[tuple[int, float], ...] = ()

    def of(self, columns: Floats) -> Floats:
        """The value for each row of data; `columns` has one row per attribute."""
        values = np.full(columns.shape[1], self.intercept)
        for attribute, weight in self.weights:
            values += weight * columns[attribute]
        return values


@dataclass(frozen=True, slots=True)
class Split:
    """A test of one attribute: values up to `cut` go left, others right."""

    attribute: int
    cut: float
    left: "TreeNode"
    right: "TreeNode"


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a tree, with the linear model of its rows."""

    rows: int  # number of rows of the training data
    line: Line
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class _Subtree:
    """A pruned subtree, with the figures by which its parent is pruned."""

    node: TreeNode
    parameters: int  # number of coefficients; a split counts as one
    error: float  # sum of squared errors on the rows of the node
    tested: frozenset[int]  # attributes that it tested before it was pruned


class ModelTree:
    """M5′ model tree (Wang, Witten: Induction of model trees for predicting continuous classes, 1996; after Quinlan,
    1992), which grows, prunes and smooths as Weka's M5P does by default.

    smooth: on the way from the leaf to the root, mix the prediction p of n rows with that of each model q passed:
        (n * p + 15 * q) / (n + 15).

    With fewer than 4 rows, or where all targets are the same, it predicts their mean. Among attributes with the same
    gain the first is taken. Values that are not finite, or beyond 1e50, raise ValueError, in learning and predicting.

    >>> tree = ModelTree().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 7.0, 9.0])
    >>> print(tree.explain(["size"]))
    model 1 (5 rows): 1 + 2 * size
    """

    def __init__(self, *, smooth: bool = True):
        self.smooth = smooth
        self._root: TreeNode | None = None
        self._width = 0  # number of attributes

    def fit(self, X: ArrayLike, y: ArrayLike) -> "ModelTree":  # noqa: N803
        """Trains on the rows of X and their targets y; any earlier tree is discarded."""
        table, target = _table(X), np.asarray(y, dtype=np.float64)
        if not table.size:
            raise ValueError(f"a table of {table.shape[0]} rows and {table.shape[1]} attributes is empty")
        if table.size > MAX_CELLS:
            raise ValueError(f"a table of {table.size} values is too large; take a sample of up to {MAX_CELLS}")
        if target.shape != (len(table),):
            raise ValueError(f"{len(table)} rows need as many targets, not an array of shape {target.shape}")
        _check_range(target, "the target")
        columns = np.ascontiguousarray(table.T)
        self._set_tree(grow(columns, target), table.shape[1])
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """One prediction for each row of X."""
        table = _table(X)
        self._check_width(table.shape[1])
        node_of_row = np.zeros(len(table), dtype=np.intp)
        rows = np.arange(len(table))
        while len(rows):
            attributes = self._attributes[node_of_row[rows]]
            rows, attributes = rows[attributes >= 0], attributes[attributes >= 0]
            nodes = node_of_row[rows]
            node_of_row[rows] = np.where(table[rows, attributes] <= self._cuts[nodes], nodes + 1, self._rights[nodes])
        predictions: Floats = (table * self._weights[node_of_row]).sum(axis=1) + self._intercepts[node_of_row]
        return predictions

    def predict_one(self, row: Sequence[float]) -> float:
        """The prediction for one row; faster than with an array."""
        self._check_width(len(row))
        for value in row:
            if not -MAX_ABSOLUTE_VALUE <= value <= MAX_ABSOLUTE_VALUE:
                raise ValueError(f"a value is {value}, which is not finite or beyond {MAX_ABSOLUTE_VALUE:g}")
        number = 0
        while (test := self._tests[number]) is not None:
            attribute, cut, right = test
            number = number + 1 if row[attribute] <= cut else right
        line = self._lines[number]
        return line.intercept + sum(weight * row[attribute] for attribute, weight in line.weights)

    def explain(self, names: Sequence[str] | None = None) -> str:
        """The tree and its linear models as text; `names` are those of the attributes."""
        root = self._fitted_root()
        names = [f"x{number}" for number in range(self._width)] if names is None else names
        if len(names) != self._width:
            raise ValueError(f"{self._width} attributes need as many names, not {len(names)}")
        tests: list[str] = []
        models: list[str] = []
        waiting = [(root, 0, "")]
        for line in self._lines:
            node, depth, test = waiting.pop()
            indent = "|   " * (depth - 1)
            if node.split is None:
                models.append(f"model {len(models) + 1} ({node.rows} rows): {_formula(line, names)}")
                tests.append(f"{indent}{test}: model {len(models)} ({node.rows} rows)")
                continue
            if test:
                tests.append(f"{indent}{test}:")
            name, cut = names[node.split.attribute], f"{node.split.cut:.6g}"
            waiting.append((node.split.right, depth + 1, f"{name} >  {cut}"))
            waiting.append((node.split.left, depth + 1, f"{name} <= {cut}"))
        return "\n".join([*tests, "", *models] if root.split is not None else models)

    def to_plain(self) -> JsonValue:
        """The tree as JSON-compatible data."""
        nodes = nodes_to_plain(self._fitted_root())
        return {"kind": _FORMAT, "smooth": self.smooth, "attributes": self._width, "nodes": nodes}

    @classmethod
    def from_plain(cls, plain: JsonValue, *, source: str = "the model tree") -> "ModelTree":
        """The tree that `to_plain` wrote; `source` names it in the error where it cannot be used."""
        try:
            if plain["kind"] != _FORMAT:
                raise ValueError(f"its kind is {str(plain['kind'])[:40]!r}, not {_FORMAT!r}")
            if not isinstance(plain["smooth"], bool):
                raise ValueError("smooth is neither true nor false")
            width = checked_integer(plain["attributes"], 1, MAX_CELLS)
            if len(plain["nodes"]) * width > MAX_CELLS:
                raise ValueError(f"nodes times attributes are more than {MAX_CELLS}")
            root = nodes_from_plain(plain["nodes"], width)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CollectionError(f"cannot use {source}: {problem}") from None
        tree = cls(smooth=plain["smooth"])
        tree._set_tree(root, width)
        return tree

    def _set_tree(self, root: TreeNode, width: int) -> None:
        """Keeps the nodes as tables in depth-first order: a left child follows its parent."""
        self._root, self._width = root, width
        nodes = list(depth_first(root))
        self._tests = _tests(nodes)
        self._lines = self._smoothed_lines(nodes)
        self._attributes = np.array([test[0] if test else -1 for test in self._tests], dtype=np.intp)
        self._cuts = np.array([test[1] if test else 0.0 for test in self._tests])
        self._rights = np.array([test[2] if test else 0 for test in self._tests], dtype=np.intp)
        self._intercepts = np.array([line.intercept for line in self._lines])
        self._weights = np.zeros((len(nodes), width))
        for number, line in enumerate(self._lines):
            for attribute, weight in line.weights:
                self._weights[number, attribute] = weight

    def _smoothed_lines(self, nodes: list[TreeNode]) -> list[Line]:
        """The linear model of each node with smoothing applied: a mixture of linear models is one."""
        lines = [node.line for node in nodes]
        if not self.smooth:
            return lines
        ancestors: list[tuple[TreeNode, ...]] = [()] * len(nodes)  # ancestors, the nearest first
        for number, node in enumerate(nodes):
            if (test := self._tests[number]) is not None:
                ancestors[number + 1] = ancestors[test[2]] = (node, *ancestors[number])
                continue
            below = node.rows
            for above in ancestors[number]:
                lines[number] = _mixture(lines[number], below / (below + SMOOTHING), above.line)
                below = above.rows
        return lines

    def _fitted_root(self) -> TreeNode:
        if self._root is None:
            raise ValueError("the tree has learnt nothing yet; fit it first")
        return self._root

    def _check_width(self, width: int) -> None:
        self._fitted_root()
        if width != self._width:
            raise ValueError(f"the tree knows {self._width} attributes, not {width}")


def _tests(nodes: list[TreeNode]) -> list[tuple[int, float, int] | None]:
    """Attribute, cut and number of the right child of each node; None at a leaf."""
    tests: list[tuple[int, float, int] | None] = [None] * len(nodes)
    awaiting_right: list[int] = []  # nodes whose right child comes later
    for number, node in enumerate(nodes):
        if node.split is not None:
            awaiting_right.append(number)
        elif awaiting_right and (split := nodes[parent := awaiting_right.pop()].split) is not None:
            tests[parent] = split.attribute, split.cut, number + 1  # what follows a leaf is a right child
    return tests


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
    if values.size and not float(np.abs(values).max()) <= MAX_ABSOLUTE_VALUE:  # NaN is not either
        raise ValueError(f"a value of {what} is not finite or beyond {MAX_ABSOLUTE_VALUE:g}")


def depth_first(node: TreeNode) -> Iterator[TreeNode]:
    """The node and all below it, left before right."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if node.split is not None:
            waiting += (node.split.right, node.split.left)


def nodes_to_plain(root: TreeNode) -> list[JsonValue]:
    """The nodes as JSON-compatible data, in depth-first order, left before right."""
    return [
        {"rows": node.rows, "intercept": node.line.intercept, "weights": [list(pair) for pair in node.line.weights]}
        | ({} if node.split is None else {"attribute": node.split.attribute, "cut": node.split.cut})
        for node in depth_first(root)
    ]


def nodes_from_plain(nodes: JsonValue, attributes: int) -> TreeNode:
    """The tree that `nodes_to_plain` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    if not isinstance(nodes, list):
        raise ValueError("`nodes` is not a list")
    reader = iter(nodes)
    root = _read(reader, attributes, 1)
    if any(True for _ in reader):
        raise ValueError("there are nodes that belong nowhere")
    return root


def _read(nodes: Iterator[JsonValue], attributes: int, depth: int) -> TreeNode:
    plain = next(nodes, None)
    if plain is None:
        raise ValueError("a node is missing")
    if depth > MAX_DEPTH:
        raise ValueError(f"it is deeper than {MAX_DEPTH} levels")
    rows = checked_integer(plain["rows"], 1, 1 << 53)
    weights = tuple((checked_integer(which, 0, attributes - 1), _number(weight)) for which, weight in plain["weights"])
    if len({which for which, _ in weights}) != len(weights):
        raise ValueError("an attribute has two weights")
    line = Line(_number(plain["intercept"]), weights)
    if "cut" not in plain and "attribute" not in plain:
        return TreeNode(rows, line)
    attribute, cut = checked_integer(plain["attribute"], 0, attributes - 1), _number(plain["cut"])
    left = _read(nodes, attributes, depth + 1)
    right = _read(nodes, attributes, depth + 1)
    if left.rows + right.rows != rows:
        raise ValueError(f"{left.rows} and {right.rows} rows are not the {rows} above them")
    return TreeNode(rows, line, Split(attribute, cut, left, right))


def checked_integer(value: JsonValue, minimum: int, maximum: int) -> int:
    """A saved value that is an integer from `minimum` to `maximum`; else ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise ValueError(f"{str(value)[:40]!r} is no whole number from {minimum} to {maximum}")
    return value


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_COEFFICIENT:  # NaN is not
        raise ValueError(f"{str(value)[:40]!r} is no number in range")
    return float(value)


def grow(columns: Floats, target: Floats) -> TreeNode:
    """The pruned tree for these rows; `columns` has one row per attribute."""
    return _grow(columns, target, float(target.std()), np.arange(len(target))).node


def _grow(columns: Floats, target: Floats, deviation: float, rows: NDArray[np.intp]) -> _Subtree:
    """The pruned subtree for some rows; `deviation` is the standard deviation of all targets."""
    values, targets = columns[:, rows], target[rows]
    best = None
    if len(rows) >= MIN_SPLIT_ROWS and float(targets.std()) >= MIN_SPREAD * deviation > 0.0:
        best = best_split(values, targets)
    if best is None:
        mean = float(targets.mean())
        return _Subtree(TreeNode(len(rows), Line(mean)), 1, float(np.square(targets - mean).sum()), frozenset())
    attribute, cut = best
    goes_left = values[attribute] <= cut
    left = _grow(columns, target, deviation, rows[goes_left])
    right = _grow(columns, target, deviation, rows[~goes_left])
    tested = left.tested | right.tested | {attribute}
    line = fit_line(values, targets, sorted(tested))
    as_leaf = _Subtree(
        TreeNode(len(rows), line), len(line.weights) + 1, float(np.square(targets - line.of(values)).sum()), tested
    )
    split = Split(attribute, cut, left.node, right.node)
    parameters = left.parameters + right.parameters + 1
    as_split = _Subtree(TreeNode(len(rows), line, split), parameters, left.error + right.error, tested)
    expected = _expected_error(as_leaf)
    return as_leaf if expected <= _expected_error(as_split) or expected < MIN_ERROR * deviation else as_split


def _expected_error(grown: _Subtree) -> float:
    """The error expected on unseen rows: rmse * (rows + 2 * parameters) / (rows - parameters)."""
    rows, parameters = grown.node.rows, grown.parameters
    error = sqrt(grown.error / rows)
    return error * (rows + 2 * parameters) / (rows - parameters) if rows > parameters else 10.0 * error


def best_split(columns: Floats, target: Floats) -> tuple[int, float] | None:
    """The attribute and the cut of the highest gain, or None if no attribute can be cut.

    With n rows, n_1 of them up to the cut, and s(…) the fifth root of the variance of the target:
    gain = s(all) - n_1 / n * s(left) - n_2 / n * s(right). At least a fifth of the rows and one more go to each side.
    A cut without gain is taken if there is no better one: its parts may have good splits.

    columns: one row per attribute.
    """
    rows = columns.shape[1]
    minimum = max(1, rows // 5)
    if rows < 2 * minimum + 2:
        return None
    order = columns.argsort(axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    before, after = values[:, minimum : rows - minimum - 1], values[:, minimum + 1 : rows - minimum]
    can_cut = after > before
    gains = np.where(can_cut, _gains(target[order], minimum), -np.inf)
    best_cuts = gains.argmax(axis=1)
    best, best_gain = -1, -np.inf
    for attribute, gain in enumerate(gains[np.arange(len(gains)), best_cuts].tolist()):
        if gain > best_gain + MIN_GAIN_MARGIN:
            best, best_gain = attribute, gain
    if best < 0:
        return None
    low, high = float(before[best, best_cuts[best]]), float(after[best, best_cuts[best]])
    middle = (low + high) / 2
    return best, middle if middle < high else low


def _gains(targets: Floats, minimum: int) -> Floats:
    """The gains with minimum + 1, minimum + 2, … rows on the left, for the targets in the order of each attribute.

    If one part is constant, rounding breaks ties (the fifth root of a variance of 1e-16 is 6e-4), so the sums are in
    the order that gives the same results as Weka.
    """
    rows = targets.shape[1]
    squares = targets * targets
    left = np.arange(minimum + 1.0, rows - minimum)
    right = rows - left
    until = rows - minimum - 1
    sums, square_sums = (np.add.accumulate(each, axis=1) for each in (targets, squares))
    rest, rest_square_sums = (_suffix_sums(each, minimum)[:, 1 : until - minimum + 1] for each in (targets, squares))
    all_rows = _fifth_root_of_variance(sums[:, -1:], square_sums[:, -1:], np.array([float(rows)]))
    gains: Floats = (
        all_rows
        - left / rows * _fifth_root_of_variance(sums[:, minimum:until], square_sums[:, minimum:until], left)
        - right / rows * _fifth_root_of_variance(rest, rest_square_sums, right)
    )
    return gains


def _suffix_sums(values: Floats, minimum: int) -> Floats:
    """The sums of all values but the first `minimum`, `minimum` + 1, …"""
    total = np.add.accumulate(values[:, minimum:], axis=1)[:, -1:]
    return np.subtract.accumulate(np.concatenate((total, values[:, minimum:]), axis=1), axis=1)


def _fifth_root_of_variance(sums: Floats, square_sums: Floats, counts: Floats) -> Floats:
    """The fifth root of the variance, from the sums of values and of squares, and the numbers of values."""
    spread: Floats = (np.abs(counts * square_sums - sums * sums) / (counts * counts)) ** 0.2
    return spread


def fit_line(columns: Floats, target: Floats, attributes: list[int]) -> Line:
    """Least squares with backward elimination, over some attributes.

    First the attribute of the largest standardised weight is dropped while that is above `MAX_STANDARDISED_WEIGHT`;
    then the one of the smallest, as long as Akaike's criterion falls: AIC = squared error / full squared error * (rows
    - full parameters) + 2 * parameters.
    """
    rows = len(target)
    taken = columns[attributes]
    means = taken.mean(axis=1)
    taken = taken - means[:, None]
    deviations = np.sqrt((taken * taken).sum(axis=1) / max(1, rows - 1))
    varying = deviations > np.maximum(1e-12 * np.abs(means), MIN_DEVIATION)
    if not varying.all():
        attributes = [attribute for attribute, varies in zip(attributes, varying.tolist(), strict=True) if varies]
        taken, means, deviations = taken[varying], means[varying], deviations[varying]
    mean = float(target.mean())
    equations = _NormalEquations(taken / deviations[:, None], target - mean)
    chosen = list(range(len(attributes)))
    weights = equations.solve(chosen)
    deviation = float(np.sqrt(equations.target @ equations.target / max(1, rows - 1)))
    while chosen and float(np.abs(weights).max()) > MAX_STANDARDISED_WEIGHT * deviation:
        del chosen[int(np.abs(weights).argmax())]
        weights = equations.solve(chosen)
    chosen, weights = equations.simplify(chosen, weights)
    slopes = weights / deviations[chosen]
    return Line(
        mean - float(slopes @ means[chosen]),
        tuple((attributes[index], slope) for index, slope in zip(chosen, slopes.tolist(), strict=True)),
    )


class _NormalEquations:
    """The normal equations of standardised attributes, one per row, and a centred target."""

    def __init__(self, attributes: Floats, target: Floats):
        self._attributes = attributes
        self.target = target
        self._products = attributes @ attributes.T
        self._target_products = attributes @ target

    def solve(self, chosen: list[int]) -> Floats:
        """The weights of the chosen attributes."""
        products = self._products[chosen][:, chosen]
        products.flat[:: len(chosen) + 1] += RIDGE
        weights: Floats = np.linalg.solve(products, self._target_products[chosen]).astype(np.float64, copy=False)
        return weights

    def error(self, chosen: list[int], weights: Floats) -> float:
        """The sum of squared errors with these weights."""
        residuals = self.target - weights @ self._attributes[chosen]
        return float(residuals @ residuals)

    def simplify(self, chosen: list[int], weights: Floats) -> tuple[list[int], Floats]:
        """Drops the attribute of the smallest weight as long as Akaike's criterion falls."""
        full_error = self.error(chosen, weights)
        degrees_of_freedom = len(self.target) - len(chosen) - 1
        criterion = degrees_of_freedom + 2.0 * (len(chosen) + 1)
        while chosen and full_error > 0.0:
            weakest = int(np.abs(weights).argmin())
            fewer = chosen[:weakest] + chosen[weakest + 1 :]
            fewer_weights = self.solve(fewer)
            fewer_criterion = self.error(fewer, fewer_weights) / full_error * degrees_of_freedom + 2.0 * (
                len(fewer) + 1
            )
            if not fewer_criterion < criterion:
                break
            chosen, weights, criterion = fewer, fewer_weights, fewer_criterion
        return chosen, weights
