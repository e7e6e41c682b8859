"""Every chart is well-formed SVG, whatever it is given."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.pictures import Bar, Mark, Series, bar_chart, counts_of, histogram, line_chart
from lycosa.pictures.axes import nice_ticks, number_label

SVG = "{http://www.w3.org/2000/svg}"
NAN, INFINITE = math.nan, math.inf
any_float = st.floats(allow_nan=True, allow_infinity=True)
any_points = st.lists(st.tuples(any_float, any_float), max_size=30)


def words(picture: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def count(picture: str, shape: str) -> int:
    return len(list(ElementTree.fromstring(picture).iter(SVG + shape)))


def test_a_line_chart_shows_axes_legend_and_marks():
    picture = line_chart(
        [Series("focused", [(0, 0.2), (500, 0.7)]), Series("breadth-first", [(0, 0.2), (500, 0.1)])],
        title="Harvest",
        x_title="pages",
        y_title="harvest rate",
        y_range=(0, 1),
        percent=True,
        marks=[Mark(250, "now random"), Mark(9000, "beyond")],
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
    ],
)
def test_a_chart_of_nothing_says_so(picture):
    assert words(picture) == ["no data yet"]


def test_labels_cannot_break_out_of_the_picture():
    nasty = '"><script>alert(1)</script>\x1b[31m\u202e&amp;'
    for picture in (
        bar_chart([Bar(nasty, 3, note=nasty)], title=nasty, x_title=nasty),
        line_chart([Series(nasty, [(0, 1), (1, 2)])], title=nasty, x_title=nasty, marks=[Mark(0.5, nasty)]),
        histogram([1, 2], title=nasty, x_title=nasty, y_title=nasty, split=0.5, split_label=nasty),
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
    assert counts_of([-1, 0, 0.49, 0.5, 1, 2, NAN, INFINITE], bins=2) == [3, 4]


def test_ticks_are_round():
    assert nice_ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert nice_ticks(3, 1780, 4) == [500, 1000, 1500]
    assert nice_ticks(2, 2) == nice_ticks(NAN, 1) == nice_ticks(0, INFINITE) == []


def test_numbers_are_short():
    labels = [number_label(value) for value in (0, 0.25, 12, 1500, 2_500_000, 3e9)]
    assert labels == ["0", "0.25", "12", "1\u202f500", "2.5M", "3G"]
    assert number_label(0.2, percent=True) == "20%"


@given(low=any_float, high=any_float, wanted=st.integers(0, 20))
def test_ticks_lie_within_and_are_few(low, high, wanted):
    ticks = nice_ticks(low, high, wanted)
    assert len(ticks) <= 4 * wanted + 1
    slack = 1e-6 * (high - low) if ticks else 0
    assert all(low - slack <= tick <= high + slack for tick in ticks)


@settings(max_examples=60, deadline=None)
@given(curves=st.lists(st.tuples(st.text(max_size=60), any_points), max_size=8), marks=st.lists(any_float, max_size=4))
def test_any_line_chart_is_well_formed_and_has_no_nan(curves, marks):
    picture = line_chart([Series(*curve) for curve in curves], marks=[Mark(x, "mark") for x in marks])
    ElementTree.fromstring(picture)
    assert "nan" not in "".join(line for line in picture.split("<") if not line.startswith("text")).lower()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.builds(Bar, st.text(max_size=60), any_float, st.none() | any_float, st.text(max_size=9)), max_size=9)
)
def test_any_bar_chart_is_well_formed(bars):
    ElementTree.fromstring(bar_chart(bars))
