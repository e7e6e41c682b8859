"""Every chart is well-formed SVG, whatever it is given."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.pictures import (
    Bar,
    GroupedBar,
    Series,
    VerticalLine,
    bar_chart,
    bin_counts,
    grouped_bars,
    histogram,
    line_chart,
)
from lycosa.pictures.axes import nice_ticks, number_label

SVG = "{http://www.w3.org/2000/svg}"
NAN, INFINITE = math.nan, math.inf
any_float = st.floats(allow_nan=True, allow_infinity=True)
any_points = st.lists(st.tuples(any_float, any_float), max_size=30)


def words(picture: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def count(picture: str, shape: str) -> int:
    return len(list(ElementTree.fromstring(picture).iter(SVG + shape)))


def rectangles(picture: str) -> list[dict[str, float]]:
    """Place, size and shade of every rectangle, the paper first."""
    numbers = ("x", "y", "width", "height", "fill-opacity")
    return [
        {key: float(node.get(key) or 0) for key in numbers}
        for node in ElementTree.fromstring(picture).iter(f"{SVG}rect")
    ]


def error_lines(picture: str) -> list[tuple[float, float, float, float]]:
    """The upright part of each error bar, as x, y, x, y."""
    found = ElementTree.fromstring(picture).iter(f"{SVG}line")
    lines = [tuple(float(line.get(key) or 0) for key in ("x1", "y1", "x2", "y2")) for line in found if is_thin(line)]
    return [line for line in lines if line[0] == line[2]]


def is_thin(line: ElementTree.Element) -> bool:
    return line.get("stroke-width") == "1.3"


def test_a_line_chart_shows_axes_legend_and_marks():
    picture = line_chart(
        [Series("focused", [(0, 0.2), (500, 0.7)]), Series("breadth-first", [(0, 0.2), (500, 0.1)])],
        title="Harvest",
        x_title="pages",
        y_title="harvest rate",
        y_range=(0, 1),
        percent=True,
        marks=[VerticalLine(250, "now random"), VerticalLine(9000, "beyond")],
    )
    shown = words(picture)
    assert {"focused", "breadth-first", "pages", "harvest rate", "now random", "0", "500", "100%"} <= set(shown)
    assert "beyond" not in shown
    assert ElementTree.fromstring(picture).get("viewBox") == "0 0 760 330"
    assert count(picture, "polyline") == 2


def test_lines_differ_in_dash_so_that_grey_print_is_legible():
    picture = line_chart([Series(str(order), [(0, order), (1, order)]) for order in range(4)])
    dashes = [line.get("stroke-dasharray") for line in ElementTree.fromstring(picture).iter(f"{SVG}polyline")]
    assert len(set(dashes)) == 4


def test_a_point_that_is_no_number_interrupts_the_line():
    assert count(line_chart([Series("x", [(0, 1), (1, 2), (2, NAN), (3, 1), (4, 2)])]), "polyline") == 2


@pytest.mark.parametrize(
    "picture",
    [
        line_chart([]),
        line_chart([Series("nothing", [])]),
        line_chart([Series("nowhere", [(NAN, 1), (1, INFINITE)])]),
        bar_chart([]),
        bar_chart([Bar("unknown", NAN)]),
        histogram([]),
        histogram([0, 0, 0]),
        grouped_bars({}),
        grouped_bars({"empty": [], "unknown": [GroupedBar("x", NAN, 1)]}),
    ],
)
def test_a_chart_of_nothing_says_so(picture):
    assert words(picture) == ["no data yet"]


def test_labels_cannot_break_out_of_the_picture():
    nasty = '"><script>alert(1)</script>\x1b[31m\u202e&amp;'
    for picture in (
        bar_chart([Bar(nasty, 3, note=nasty)], title=nasty, x_title=nasty),
        line_chart([Series(nasty, [(0, 1), (1, 2)])], title=nasty, x_title=nasty, marks=[VerticalLine(0.5, nasty)]),
        histogram([1, 2], title=nasty, x_title=nasty, y_title=nasty, split=0.5, split_label=nasty),
        grouped_bars({nasty: [GroupedBar(nasty, 1)]}, title=nasty, y_title=nasty),
    ):
        assert "<script" not in picture and "\x1b" not in picture and "\u202e" not in picture
        assert count(picture, "script") == 0


def test_bars_show_labels_numbers_and_the_part_that_is_dark():
    picture = bar_chart([Bar("a.example", 1200, 300, "(25%)"), Bar("b.example", 40)])
    assert words(picture) == ["a.example", "1 200 (25%)", "b.example", "40"]
    widths = [float(bar.get("width") or 0) for bar in ElementTree.fromstring(picture).iter(f"{SVG}rect")][1:3]
    assert widths[1] == pytest.approx(widths[0] / 4, abs=0.02)


def test_a_histogram_draws_a_bar_for_each_bin_that_is_not_empty():
    picture = histogram([5, 0, 7, 1], split=0.5, split_label="relevant")
    assert count(picture, "rect") == 1 + 3
    assert "relevant" in words(picture)


def test_counting_puts_what_lies_outside_at_the_ends():
    assert bin_counts([-1, 0, 0.49, 0.5, 1, 2, NAN, INFINITE], bins=2) == [3, 4]


def test_ticks_are_round():
    assert nice_ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert nice_ticks(3, 1780, 4) == [500, 1000, 1500]
    assert nice_ticks(2, 2) == nice_ticks(NAN, 1) == nice_ticks(0, INFINITE) == []


def test_numbers_are_short():
    labels = [number_label(value) for value in (0, 0.25, 12, 1500, 2_500_000, 3e9)]
    assert labels == ["0", "0.25", "12", "1\u202f500", "2.5M", "3G"]
    assert number_label(0.2, percent=True) == "20%"


def test_error_bars_stand_at_the_markers_and_within_the_picture():
    plain = Series("x", [(0, 1), (1, 2), (2, 4)])
    with_errors = Series("x", plain.points, errors=[0.5, NAN, 2])
    lines = error_lines(line_chart([with_errors], height=330))
    assert len(lines) - len(error_lines(line_chart([plain], height=330))) == 2
    tallest = max(lines, key=lambda line: abs(line[1] - line[3]))
    assert 0 < min(tallest[1], tallest[3]) < max(tallest[1], tallest[3]) < 300


def test_every_point_of_a_curve_has_its_error_or_none_has():
    with pytest.raises(ValueError, match="1 errors for the 2 points of 'x'"):
        Series("x", [(0, 1), (1, 2)], errors=[0.1])


def test_grouped_bars_show_groups_names_values_and_errors():
    groups = {
        "Rocchio": [GroupedBar("best-first", 0.1283, 0.01), GroupedBar("pagerank", 0.0642, 0.02)],
        "EG": [GroupedBar("pagerank", 0.031), GroupedBar("best-first", NAN)],
    }
    picture = grouped_bars(groups, y_title="accepted", percent=True)
    assert {"Rocchio", "EG", "best-first", "pagerank", "accepted", "12.8%", "6.42%", "3.1%"} <= set(words(picture))
    samples, bars = rectangles(picture)[1:3], rectangles(picture)[3:]
    assert len(bars) == 3
    assert bars[0]["height"] == pytest.approx(2 * bars[1]["height"], rel=0.01)
    assert len(error_lines(picture)) == 2
    assert [bar["fill-opacity"] for bar in bars] == [samples[0]["fill-opacity"], *[samples[1]["fill-opacity"]] * 2]


def test_grouped_bars_differ_in_shade_so_that_grey_print_is_legible():
    bars = rectangles(grouped_bars({"all": [GroupedBar(str(order), 1 + order) for order in range(4)]}))[1:]
    assert len({bar["fill-opacity"] for bar in bars}) == 4


def test_negative_bars_hang_from_zero():
    up, down = rectangles(grouped_bars({"both": [GroupedBar("up", 2, 0.5), GroupedBar("down", -2, 0.5)]}))[3:]
    assert up["y"] + up["height"] == pytest.approx(down["y"], abs=0.02)
    assert up["height"] == pytest.approx(down["height"], abs=0.02)


def test_a_long_legend_leaves_room_for_the_bars():
    many = grouped_bars({"all": [GroupedBar(f"a strategy of a long name, number {order}", 1) for order in range(60)]})
    assert min(bar["height"] for bar in rectangles(many)[61:]) > 80


def test_values_are_left_out_where_there_is_no_room_for_them():
    many = {f"topic {number}": [GroupedBar(name, 123.4) for name in "abcdef"] for number in range(20)}
    assert "123" not in words(grouped_bars(many)) and "123" in words(grouped_bars({"one": many["topic 1"]}))


@given(low=any_float, high=any_float, wanted=st.integers(0, 20))
def test_ticks_lie_within_and_are_few(low, high, wanted):
    ticks = nice_ticks(low, high, wanted)
    assert len(ticks) <= 4 * wanted + 1
    slack = 1e-6 * (high - low) if ticks else 0
    assert all(low - slack <= tick <= high + slack for tick in ticks)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(curves=st.lists(st.tuples(st.text(max_size=60), any_points), max_size=8), marks=st.lists(any_float, max_size=4))
def test_any_line_chart_is_well_formed_and_has_no_nan(curves, marks):
    picture = line_chart([Series(*curve) for curve in curves], marks=[VerticalLine(x, "mark") for x in marks])
    ElementTree.fromstring(picture)
    assert "nan" not in "".join(line for line in picture.split("<") if not line.startswith("text")).lower()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.builds(Bar, st.text(max_size=60), any_float, st.none() | any_float, st.text(max_size=9)), max_size=9)
)
def test_any_bar_chart_is_well_formed(bars):
    ElementTree.fromstring(bar_chart(bars))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text(max_size=20), st.lists(st.builds(GroupedBar, st.text(max_size=9), any_float, any_float)))
)
def test_any_grouped_bars_are_well_formed_and_have_no_nan(groups):
    picture = grouped_bars(groups)
    ElementTree.fromstring(picture)
    assert "nan" not in "".join(line for line in picture.split("<") if not line.startswith("text")).lower()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(any_float, any_float, any_float), max_size=30))
def test_any_curve_with_errors_is_well_formed_and_has_no_nan(points):
    curve = Series("x", [(x, y) for x, y, _ in points], errors=[error for _, _, error in points])
    picture = line_chart([curve])
    ElementTree.fromstring(picture)
    assert "nan" not in "".join(line for line in picture.split("<") if not line.startswith("text")).lower()
