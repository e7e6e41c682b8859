import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lycosa.standing.model_tree import MAX_CELLS, MAX_DEPTH, ModelTree
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import JsonValue

Floats = NDArray[np.float64]
REFERENCE = Path(__file__).parents[3] / "shared/data/m5p"
SETS = sorted(path.name.removesuffix(".train.csv") for path in REFERENCE.glob("*.train.csv"))
NOT_ATTRIBUTES = {"y", "m5p", "m5p_unsmoothed"}

ZERO_TO_NINE = np.arange(10.0)[:, None]
STEP = np.where(ZERO_TO_NINE[:, 0] < 5, 0.0, 10.0)
LEAST_SQUARES_SLOPE = 125 / 82.5  # of the step: sum of (x - 4.5)(y - 5), by that of (x - 4.5) squared
LEAST_SQUARES_AT_0 = 5 - 4.5 * LEAST_SQUARES_SLOPE


def leaves(tree: ModelTree) -> int:
    return sum("cut" not in node for node in tree.to_plain()["nodes"])


def made_up(seed: int, rows: int = 120, attributes: int = 3) -> tuple[Floats, Floats]:
    """A target with a step, a bend and noise, where no two values are the same."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, attributes))
    bent = np.where(table[:, 0] > 0.2, 3 + 2 * table[:, -1], -table[:, -1])
    return table, bent + rng.normal(size=rows) / 3


# --- by hand


def test_a_line_is_one_linear_model() -> None:
    tree = ModelTree().fit(ZERO_TO_NINE, 3 * ZERO_TO_NINE[:, 0] - 2)
    assert tree.predict([[100.0]]) == pytest.approx([298.0])
    assert tree.explain(["depth"]) == "model 1 (10 rows): -2 + 3 * depth"


def test_a_step_is_cut_in_the_middle_between_its_sides() -> None:
    tree = ModelTree(smooth=False).fit(ZERO_TO_NINE, STEP)
    assert tree.predict([[-7.0], [4.5], [4.6], [50.0]]).tolist() == [0.0, 0.0, 10.0, 10.0]
    assert tree.explain(["depth"]).splitlines() == [
        "depth <= 4.5: model 1 (5 rows)",
        "depth >  4.5: model 2 (5 rows)",
        "",
        "model 1 (5 rows): 0",
        "model 2 (5 rows): 10",
    ]


@pytest.mark.parametrize(("x", "leaf"), [(2.0, 0.0), (4.5, 0.0), (8.0, 10.0)])
def test_smoothing_mixes_five_rows_of_the_leaf_with_fifteen_of_the_root(x: float, leaf: float) -> None:
    tree = ModelTree(smooth=True).fit(ZERO_TO_NINE, STEP)
    root = LEAST_SQUARES_AT_0 + LEAST_SQUARES_SLOPE * x
    assert tree.predict([[x]]) == pytest.approx([(5 * leaf + 15 * root) / 20])


def test_smoothing_passes_every_model_between_leaf_and_root() -> None:
    target = np.repeat([0.0, 10.0, 50.0], [4, 4, 8])
    tree = ModelTree().fit(np.arange(16.0)[:, None], target)
    root, inner, leaf, *_ = tree.to_plain()["nodes"]
    assert [root["rows"], inner["rows"], leaf["rows"]] == [16, 8, 4]
    at = {"root": root, "inner": inner}
    root_says, inner_says = (at[name]["intercept"] + at[name]["weights"][0][1] * 1.0 for name in ("root", "inner"))
    by_hand = (8 * (4 * leaf["intercept"] + 15 * inner_says) / 19 + 15 * root_says) / 23
    assert tree.predict([[1.0]]) == pytest.approx([by_hand])


def test_what_chance_alone_made_is_pruned_to_the_mean() -> None:
    rng = np.random.default_rng(4)
    tree = ModelTree().fit(rng.normal(size=(400, 1)), rng.normal(size=400))
    assert leaves(tree) <= 3
    assert np.ptp(tree.predict(rng.normal(size=(100, 1)))) < 1.0


def test_of_two_attributes_that_say_the_same_the_first_is_cut() -> None:
    tree = ModelTree(smooth=False).fit(np.hstack([ZERO_TO_NINE, ZERO_TO_NINE]), STEP)
    assert tree.to_plain()["nodes"][0]["attribute"] == 0


def test_a_cut_that_gains_nothing_alone_opens_the_way_to_one_that_does() -> None:
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 4)
    target = np.where(corners[:, 0] == corners[:, 1], 0.0, 8.0)
    tree = ModelTree(smooth=False).fit(corners, target)
    assert tree.predict(corners) == pytest.approx(target, abs=1e-6)


def test_an_attribute_that_never_changes_is_not_used() -> None:
    table = np.hstack([np.full((10, 1), 7.3), ZERO_TO_NINE])
    tree = ModelTree().fit(table, 3 * ZERO_TO_NINE[:, 0])
    assert tree.predict([[0.0, 5.0]]) == pytest.approx([15.0])


# --- too little, or wrong


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_up_to_three_rows_give_their_mean(rows: int) -> None:
    tree = ModelTree().fit(ZERO_TO_NINE[:rows], STEP[4 : 4 + rows])
    assert tree.predict([[0.0], [99.0]]) == pytest.approx([STEP[4 : 4 + rows].mean()] * 2)


def test_a_constant_target_gives_that_constant() -> None:
    tree = ModelTree().fit(ZERO_TO_NINE, np.full(10, 0.25))
    assert tree.predict([[3.0], [-1e9]]).tolist() == [0.25, 0.25]


def test_rows_that_are_all_the_same_give_the_mean() -> None:
    assert ModelTree().fit(np.ones((10, 2)), STEP).predict([[5.0, 5.0]]) == pytest.approx([5.0])


@pytest.mark.parametrize(
    ("table", "target", "told"),
    [
        ([], [], "rows of attributes"),
        ([1.0, 2.0], [1.0, 2.0], "rows of attributes"),
        (np.zeros((0, 3)), [], "0 rows and 3 attributes"),
        (np.zeros((3, 0)), [1.0, 2.0, 3.0], "3 rows and 0 attributes"),
        (np.zeros((3, 1)), [1.0, 2.0], "3 rows need as many targets"),
        (np.zeros((3, 1)), [[1.0], [2.0], [3.0]], "3 rows need as many targets"),
        ([[1.0], [float("nan")]], [1.0, 2.0], "attribute is not finite"),
        ([[1.0], [float("-inf")]], [1.0, 2.0], "attribute is not finite"),
        ([[1.0], [1e60]], [1.0, 2.0], "attribute is not finite or beyond 1e"),
        ([[1.0], [2.0]], [1.0, float("nan")], "target is not finite"),
        ([[1.0], [2.0]], [float("inf"), 1.0], "target is not finite"),
        (np.zeros((MAX_CELLS + 1, 1)), np.zeros(MAX_CELLS + 1), "take a sample"),
        ([["a"], ["b"]], [1.0, 2.0], "could not convert"),
    ],
)
def test_what_nothing_can_be_learnt_from_is_refused(table: JsonValue, target: JsonValue, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ModelTree().fit(table, target)


def test_a_question_must_have_the_attributes_that_were_learnt() -> None:
    tree = ModelTree().fit(*made_up(1))
    with pytest.raises(ValueError, match="knows 3 attributes, not 2"):
        tree.predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="knows 3 attributes, not 4"):
        tree.predict_one([1.0, 2.0, 3.0, 4.0])
    for wrong in (float("nan"), float("inf"), -1e60):
        with pytest.raises(ValueError, match="not finite"):
            tree.predict([[1.0, 2.0, wrong]])
        with pytest.raises(ValueError, match="not finite"):
            tree.predict_one([1.0, 2.0, wrong])
    with pytest.raises(ValueError, match="3 attributes need as many names"):
        tree.explain(["one"])


def test_a_tree_that_has_learnt_nothing_says_so() -> None:
    tree = ModelTree()
    for ask in (tree.explain, tree.to_plain, lambda: tree.predict([[1.0]]), lambda: tree.predict_one([1.0])):
        with pytest.raises(ValueError, match="fit it first"):
            ask()


def test_no_rows_have_no_predictions() -> None:
    assert ModelTree().fit(*made_up(1)).predict(np.zeros((0, 3))).tolist() == []


# --- laws


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([4, 5, 9, 40, 150]), st.integers(1, 6), st.booleans())
@settings(max_examples=40)
def test_predictions_are_finite_and_the_same_one_by_one(seed: int, rows: int, attributes: int, smooth: bool) -> None:
    rng = np.random.default_rng(seed)
    table = rng.standard_cauchy(size=(rows, attributes)) * 10.0 ** rng.integers(-30, 30)
    table[:, 0] = table[:, 0].round()
    tree = ModelTree(smooth=smooth).fit(table, rng.standard_cauchy(size=rows))
    predictions = tree.predict(table)
    assert np.isfinite(predictions).all()
    assert [tree.predict_one(row) for row in table.tolist()] == pytest.approx(predictions.tolist(), rel=1e-6, abs=1e-9)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([-50.0, 3.0]), st.sampled_from([-2.0, 0.5, 32.0]), st.booleans())
@settings(max_examples=25)
def test_a_target_moved_and_scaled_moves_and_scales_predictions(
    seed: int, shift: float, scale: float, smooth: bool
) -> None:
    table, target = made_up(seed)
    tree, moved = (
        ModelTree(smooth=smooth).fit(table, target),
        ModelTree(smooth=smooth).fit(table, scale * target + shift),
    )
    asked = made_up(seed + 1)[0]
    assert moved.predict(asked) == pytest.approx(scale * tree.predict(asked) + shift, rel=1e-6, abs=1e-6)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25)
def test_the_order_of_the_rows_does_not_matter(seed: int, smooth: bool) -> None:
    table, target = made_up(seed)
    order = np.random.default_rng(seed).permutation(len(target))
    asked = made_up(seed + 1)[0]
    tree, shuffled = (
        ModelTree(smooth=smooth).fit(table, target),
        ModelTree(smooth=smooth).fit(table[order], target[order]),
    )
    assert shuffled.predict(asked) == pytest.approx(tree.predict(asked), rel=1e-6, abs=1e-6)


def test_what_is_given_is_left_as_it_was() -> None:
    table, target = made_up(3)
    before = table.copy(), target.copy()
    ModelTree().fit(table, target).predict(table)
    assert (table == before[0]).all() and (target == before[1]).all()


# --- saved


@pytest.mark.slow
@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=15)
def test_a_saved_tree_predicts_as_before(seed: int, smooth: bool) -> None:
    table, target = made_up(seed)
    tree = ModelTree(smooth=smooth).fit(table, target)
    plain = json.loads(json.dumps(tree.to_plain()))
    loaded = ModelTree.from_plain(plain)
    assert loaded.predict(table).tolist() == tree.predict(table).tolist()
    assert loaded.explain() == tree.explain() and loaded.to_plain() == plain


PLAIN: dict[str, JsonValue] = ModelTree().fit(ZERO_TO_NINE, STEP).to_plain()
ROOT, LEFT, RIGHT = PLAIN["nodes"]
ENDLESS = [{**ROOT, "rows": 5 + level} for level in range(2 * MAX_DEPTH, 0, -1)]


def with_nodes(*nodes: JsonValue) -> JsonValue:
    return {**PLAIN, "nodes": list(nodes)}


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        "tree",
        {},
        {**PLAIN, "kind": "pickled"},
        {**PLAIN, "smooth": 1},
        {**PLAIN, "attributes": 0},
        {**PLAIN, "attributes": True},
        {**PLAIN, "attributes": MAX_CELLS},
        {**PLAIN, "attributes": 10**400},
        {**PLAIN, "nodes": "no"},
        {**PLAIN, "nodes": {}},
        {**PLAIN, "nodes": 3},
        with_nodes(),
        with_nodes(None),
        with_nodes([]),
        with_nodes(ROOT),
        with_nodes(ROOT, LEFT),
        with_nodes(ROOT, LEFT, RIGHT, None),
        with_nodes(ROOT, LEFT, RIGHT, LEFT),
        with_nodes(ROOT, LEFT, {**RIGHT, "rows": 6}),
        with_nodes(ROOT, LEFT, {**RIGHT, "rows": 0}),
        with_nodes(ROOT, LEFT, {**RIGHT, "rows": 5.0}),
        with_nodes(ROOT, LEFT, {**RIGHT, "intercept": float("nan")}),
        with_nodes(ROOT, LEFT, {**RIGHT, "intercept": 10**400}),
        with_nodes(ROOT, LEFT, {**RIGHT, "intercept": 1e200}),
        with_nodes(ROOT, LEFT, {**RIGHT, "weights": None}),
        with_nodes(ROOT, LEFT, {**RIGHT, "weights": [1]}),
        with_nodes(ROOT, LEFT, {**RIGHT, "weights": [[1, 1.0]]}),
        with_nodes(ROOT, LEFT, {**RIGHT, "weights": [[-1, 1.0]]}),
        with_nodes(ROOT, LEFT, {**RIGHT, "weights": [[0, 1.0], [0, 1.0]]}),
        with_nodes(ROOT, LEFT, {**RIGHT, "weights": [[0, "1"]]}),
        with_nodes({**ROOT, "attribute": 1}, LEFT, RIGHT),
        with_nodes({**ROOT, "cut": float("inf")}, LEFT, RIGHT),
        with_nodes({key: value for key, value in ROOT.items() if key != "cut"}, LEFT, RIGHT),
        with_nodes(*ENDLESS),
    ],
)
def test_a_tree_that_cannot_be_is_refused_by_name(plain: JsonValue) -> None:
    with pytest.raises(CollectionError, match=r"standing\.json") as told:
        ModelTree.from_plain(plain, source="standing.json")
    assert "\n" not in str(told.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted({*PLAIN, *ROOT})), inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.sampled_from(sorted(PLAIN)), JSON, st.sampled_from(sorted(ROOT)), JSON)
def test_whatever_json_says_is_a_tree_or_refused(
    member: str, value: JsonValue, of_node: str, node_value: JsonValue
) -> None:
    for plain in ({**PLAIN, member: value}, with_nodes({**ROOT, of_node: node_value}, LEFT, RIGHT)):
        try:
            tree = ModelTree.from_plain(plain)
        except CollectionError:
            continue
        assert ModelTree.from_plain(tree.to_plain()).explain() == tree.explain()


# --- beside the original


def reference(name: str, part: str) -> tuple[Floats, dict[str, Floats]]:
    with (REFERENCE / f"{name}.{part}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {column: np.array([float(row[column]) for row in rows]) for column in rows[0]}
    return np.column_stack([columns[column] for column in columns if column not in NOT_ATTRIBUTES]), columns


@pytest.mark.skipif(not SETS, reason="the predictions of Weka's M5P are not on this machine")
@pytest.mark.parametrize(("column", "smooth"), [("m5p", True), ("m5p_unsmoothed", False)])
@pytest.mark.parametrize("name", SETS)
def test_it_predicts_what_weka_predicts(name: str, column: str, smooth: bool) -> None:
    table, known = reference(name, "train")
    asked, expected = reference(name, "test")
    tree = ModelTree(smooth=smooth).fit(table, known["y"])
    assert np.mean(np.abs(tree.predict(asked) - expected[column]) <= 0.0011) >= 0.999


@pytest.mark.skipif(not SETS, reason="the trees of Weka's M5P are not on this machine")
@pytest.mark.parametrize("name", SETS)
def test_it_grows_the_tree_that_weka_grows(name: str) -> None:
    table, known = reference(name, "train")
    names = [column for column in known if column not in NOT_ATTRIBUTES]
    tree = ModelTree().fit(table, known["y"])
    printed = (REFERENCE / f"{name}.tree.txt").read_text(encoding="utf-8")
    questions = r"^[| ]*(\w+) (<=|> ) (\S+?) ?:"
    theirs = [(asked, side, float(cut)) for asked, side, cut in re.findall(questions, printed, re.MULTILINE)]
    ours = [(asked, side, float(cut)) for asked, side, cut in re.findall(questions, tree.explain(names), re.MULTILINE)]
    assert [one[:2] for one in ours] == [one[:2] for one in theirs]
    assert [one[2] for one in ours] == pytest.approx([one[2] for one in theirs], abs=0.0011)
    assert leaves(tree) == int(printed.partition("Number of Rules : ")[2].split()[0])
